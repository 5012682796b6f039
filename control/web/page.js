// What pages have in common, and their start.

import { loadSession, may } from './api.js';
import { complain } from './form.js';

export * from './api.js';
export * from './dom.js';
export * from './form.js';
export * from './format.js';
export * from './table.js';

// Load and draw, then set data-drawn: the page is complete.
export async function startPage(draw) {
  try {
    await loadSession();
    for (const node of document.querySelectorAll('[data-right]')) node.hidden = !may(node.dataset.right);
    await draw();
    document.body.dataset.drawn = 'done';
  } catch (error) {
    complain(error);
  }
}
