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

// Verdicts of runs, the oldest left. Height carries the verdict, colour repeats it.
const BARS = { failed: 'f', errored: 'e', stopped: 'x' };

export function strip(statuses) {
  const node = element('span', null, 'strip');
  const bad = statuses.filter((s) => s !== 'passed').length;
  node.setAttribute('role', 'img');
  node.setAttribute('aria-label', `last ${statuses.length} runs, ${bad} not passed`);
  node.append(...statuses.map((s) => element('i', null, BARS[s] || '')));
  return node;
}

export function empty(title, text) {
  const node = element('div', null, 'empty');
  node.append(element('b', title), element('span', text));
  return node;
}
