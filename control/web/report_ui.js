// Nodes of the run's pages. Texts are inserted through textContent alone: nothing that a peer
// sent can become markup.

import { icon, scrolling, shape } from './dom.js';

export { icon, scrolling, shape };

const SVG = 'http://www.w3.org/2000/svg';

// el('a', {class: 'btn', href: '/'}, 'text', node): attributes; `on` has event handlers.
export function el(tag, attributes, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes || {})) {
    if (name === 'on') for (const [event, work] of Object.entries(value)) node.addEventListener(event, work);
    else if (value === true) node.setAttribute(name, '');
    else if (value !== undefined && value !== null && value !== false) node.setAttribute(name, value);
  }
  node.append(...children.filter((c) => c !== null && c !== undefined && c !== ''));
  return node;
}

export function svg(tag, attributes, text) {
  const node = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes || {})) {
    if (value !== undefined && value !== null) node.setAttribute(name, value);
  }
  if (text !== undefined) node.textContent = text;
  return node;
}

export function badge(status, text, small) {
  const word = text || status[0].toUpperCase() + status.slice(1);
  return el('span', { class: `badge ${status}${small ? ' small' : ''}` }, shape(status), word);
}

export function roleTag(model, role) {
  return el('span', { class: `role ${model.roleClass(role)}` }, role);
}

// An unknown value is a dash, never a zero.
export function figure(value, digits) {
  if (value === undefined || value === null || value === '') return '–';
  if (digits === undefined || typeof value !== 'number') return String(value);
  return value.toFixed(digits);
}

// One decimal below 100, none above; none for whole numbers.
export function short(value) {
  if (value === undefined || value === null) return '–';
  if (Number.isInteger(value) || Math.abs(value) >= 100) return value.toFixed(0);
  return value.toFixed(Math.abs(value) < 1 ? 2 : 1);
}

// The error bound of a figure, rounded up; a tiny excess of a decimal fraction in binary is not.
export function plusMinus(bound) {
  return typeof bound === 'number' ? ` ± ${(Math.ceil(bound * 100 - 1e-9) / 100).toFixed(2)}` : '';
}

// What a condition measured: two decimals, of ms one below 100 and none above. As many more as are needed to stand on the same
// side of each limit: 4.449 does not become 4.45 where "at least 4.45" was asked for.
export function measured(verdict) {
  const parts = /^(-?\d+\.\d{2,})( .*)?$/.exec(verdict.actual || '');
  if (!parts) return figure(verdict.actual);
  const value = Number(parts[1]);
  const rest = parts[2] || '';
  const limits = ((verdict.expected || '').match(/-?\d+(\.\d+)?/g) || []).map(Number);
  const least = !/^ ms\b/.test(rest) ? 2 : Math.abs(value) < 100 ? 1 : 0;
  for (let digits = least; digits < 6; digits += 1) {
    const text = value.toFixed(digits);
    if (limits.every((limit) => Math.sign(Number(text) - limit) === Math.sign(value - limit))) return text + rest;
  }
  return verdict.actual;
}

export function plural(count, word) {
  return `${count.toLocaleString('en')} ${word}${count === 1 ? '' : 's'}`;
}

export function duration(seconds) {
  if (!Number.isFinite(seconds)) return '–';
  if (seconds < 60) return `${short(seconds)} s`;
  const whole = Math.round(seconds);
  const hours = Math.floor(whole / 3600);
  const minutes = Math.floor((whole % 3600) / 60);
  return hours ? `${hours} h ${minutes} min` : `${minutes} min ${whole % 60} s`;
}

// "2026-11-24 14:32:15" (UTC) as seconds since 1970.
export function seconds(text) {
  return text ? Date.parse(`${text.replace(' ', 'T')}Z`) / 1000 : undefined;
}

// "today 02:30", "yesterday 14:00", else the date; in UTC, as everything on these pages.
export function when(text) {
  if (!text) return '–';
  const day = (offset) => new Date(Date.now() + offset * 86400e3).toISOString().slice(0, 10);
  const [date, time] = text.split(' ');
  if (date === day(0)) return `today ${time.slice(0, 5)}`;
  if (date === day(-1)) return `yesterday ${time.slice(0, 5)}`;
  return `${date} ${time.slice(0, 5)}`;
}

export function bytes(count) {
  if (count < 1000) return `${count} B`;
  if (count < 1e6) return `${Math.round(count / 1000)} kB`;
  return `${(count / 1e6).toFixed(1)} MB`;
}

// columns: [title, row -> text or node, 'num' | 'wide-only' | undefined]
export function table(caption, rows, columns) {
  const head = el('tr', null, ...columns.map(([title, , kind]) => el('th', { scope: 'col', class: kind }, title)));
  const lines = rows.map((row) => el('tr', null, ...columns.map(
    ([, cell, kind]) => el('td', { class: kind }, cell(row)))));
  return scrolling(el('table', null, el('caption', { class: 'sr' }, caption), el('thead', null, head), el('tbody', null, ...lines)), caption);
}

const openFolds = new Map(); // by their key: a page that is drawn again keeps them

// The way here, above the heading: [[text, address]], the last one without an address.
export function crumbs(parts) {
  const own = parts.filter(([text]) => text);
  const list = el('ol', { class: 'crumbs' }, ...own.map(([text, href]) => el('li', null, href ? el('a', { href }, text) : text)));
  const node = el('nav', { 'aria-label': 'Breadcrumb', id: 'crumbs' }, list);
  const old = document.getElementById('crumbs');
  if (old) old.replaceWith(node);
  else document.getElementById('main').prepend(node);
}

// A line that shows what is folded below it. make(): its content, made when it is opened.
export function fold(text, make, open, key) {
  const body = el('div', { hidden: true });
  const mark = el('span', null, icon('right'));
  const button = el('button', { class: 'more', type: 'button', 'aria-expanded': 'false' }, mark, ...[].concat(text));
  const show = (shown) => {
    if (shown && !body.firstChild) body.append(make());
    body.hidden = !shown;
    button.setAttribute('aria-expanded', String(shown));
    mark.replaceChildren(icon(shown ? 'down' : 'right'));
  };
  button.addEventListener('click', () => {
    show(body.hidden);
    if (key) openFolds.set(key, !body.hidden);
  });
  if (openFolds.has(key) ? openFolds.get(key) : open) show(true);
  return el('div', { class: 'fold-box' }, button, body);
}

// A table of any length: `size` rows are shown, a button shows more.
export function pages(rows, size, draw) {
  const box = el('div');
  let shown = 0;
  const more = el('button', { class: 'btn small', type: 'button', on: { click: () => next() } });
  const next = () => {
    const part = rows.slice(shown, shown + size);
    shown += part.length;
    more.remove();
    box.append(draw(part));
    if (shown < rows.length) {
      more.textContent = `Show ${Math.min(size, rows.length - shown)} of ${rows.length - shown} more`;
      box.append(el('p', { class: 'body pager' }, more));
    }
  };
  next();
  return box;
}

// What the controller says has changed (GET /runs/ID/differences): a list of sentences, the one that
// explains most failed conditions first, and what was not compared.
export function changeList({ differences, further, not_compared: left }) {
  const items = differences.map((d) => el('li', { title: d.explains.length ? `May explain: ${d.explains.join('; ')}` : null }, d.sentence));
  if (further) items.push(el('li', { class: 'soft' }, `${further} more`));
  return el('div', null,
    items.length ? el('ol', { class: 'changed' }, ...items) : el('p', { class: 'empty' }, 'Nothing that is more than chance.'),
    ...left.map((sentence) => el('p', { class: 'empty' }, sentence)));
}
