// Nodes of pages. Texts are inserted through textContent: nothing that a user, a peer or a
// receiver wrote can become markup.

export const byId = (id) => document.getElementById(id);

export function element(tag, text, className) {
  const node = document.createElement(tag);
  if (text !== undefined && text !== null) node.textContent = String(text);
  if (className) node.className = className;
  return node;
}

export function link(text, address) {
  const node = element('a', text);
  node.href = address;
  return node;
}

const SVG = 'http://www.w3.org/2000/svg';

// A symbol of the frame's sprite, as decoration: a text stands beside it.
export function symbol(name, className) {
  const node = document.createElementNS(SVG, 'svg');
  node.setAttribute('class', className);
  node.setAttribute('aria-hidden', 'true');
  const use = document.createElementNS(SVG, 'use');
  use.setAttribute('href', `#${name}`);
  node.append(use);
  return node;
}

export const icon = (name) => symbol(`i-${name}`, 'i');
export const shape = (status) => symbol(`s-${status}`, `s s-${status}`);

// Shape and word: colour is never the only sign.
export function badge(status, word) {
  const node = element('span', null, `badge small ${status}`);
  node.append(shape(status), element('span', word || status));
  return node;
}

// Verdicts of runs, given newest first, drawn with the oldest left. Height carries the verdict, colour repeats it.
// A bar is a link to its run for the mouse; the keyboard has the list of runs.
const BARS = { failed: 'f', errored: 'e', stopped: 'x' };

function bar(run) {
  const node = link(null, `/run/details/${run.session_id}`);
  node.className = BARS[run.status] || '';
  node.tabIndex = -1;
  node.title = run.status;
  return node;
}

export function strip(runs) {
  const node = element('span', null, 'strip');
  const bad = runs.filter((r) => r.status !== 'passed').length;
  node.setAttribute('role', 'group');
  node.setAttribute('aria-label', runs.length ? `last ${runs.length} runs, ${bad} not passed` : 'no run');
  node.append(...runs.map(bar).reverse());
  return node;
}

// What a control is, also after a redraw: its text, and in a table its row, which is known by the first link.
function identity(control) {
  if (!control || !control.closest('main')) return '';
  const row = control.closest('tr');
  const first = row && row.querySelector('a[href]');
  return `${first ? first.href : ''} ${control.href || ''} ${control.ariaLabel || control.textContent}`;
}

// Redraw, and put the focus back to where it was.
export function keepingFocus(draw) {
  const held = document.activeElement;
  const wanted = identity(held);
  draw();
  if (!wanted || held.isConnected) return;
  const again = [...document.querySelectorAll('main a, main button')].find((n) => identity(n) === wanted);
  if (again) again.focus();
}

const sized = new ResizeObserver((entries) => {
  for (const { target } of entries) {
    if (target.scrollWidth > target.clientWidth) target.tabIndex = 0;
    else target.removeAttribute('tabindex');
  }
});

// A box whose content may be wider than the page: while it is, the keyboard can scroll it.
export function scrolling(content, name) {
  const node = element('div', null, 'scroll');
  node.setAttribute('role', 'group');
  node.setAttribute('aria-label', name);
  if (content) node.append(content);
  sized.observe(node);
  return node;
}

export function empty(title, text) {
  const node = element('div', null, 'empty');
  node.append(element('b', title), element('span', text));
  return node;
}
