// The drawings of the comparison: distributions, and one ladder of two runs.

import { shortAddress } from './report_model.js';
import { drawArrow } from './report_ladder.js';
import { el, figure, plusMinus, roleTag, scrolling, short, svg } from './report_ui.js';

const ROW = 30;
const COLUMNS_PX = 210 + 70 + 70 + 118 + 24; // beside the drawing, as compare.css has it

const valueOf = (row, v) => (/mos/.test(row.key) ? figure(v, 2) : short(v));

function said(row, spread) {
  return `median ${valueOf(row, spread.median)}${plusMinus(spread.bound)}, 5 to 95 % ${valueOf(row, spread.low)} to ${valueOf(row, spread.high)}, lowest ${valueOf(row, spread.min)}, highest ${valueOf(row, spread.max)}`;
}

function box(add, x, s, y, edge, ink) {
  const end = (v) => add('line', { x1: x(v), x2: x(v), y1: y - 4, y2: y + 4, stroke: edge, 'stroke-width': 1.4 });
  add('line', { x1: x(s.min), x2: Math.max(x(s.max), x(s.min) + 1), y1: y, y2: y, stroke: edge, 'stroke-width': 1.4 });
  end(s.min);
  end(s.max);
  add('rect', { x: x(s.low), width: Math.max(2, x(s.high) - x(s.low)), y: y - 4.5, height: 9, rx: 2, fill: edge, opacity: 0.5 });
  add('rect', { x: x(s.median) - 1.25, width: 2.5, y: y - 7, height: 14, rx: 1, fill: ink });
}

// A above B on one scale.
function distribution(row, width) {
  const { a, b, limit } = row;
  const values = [a.min, a.max, b.min, b.max, ...(limit ? [limit.value] : [])];
  const high = Math.max(...values);
  const low = /mos|audio_(level|peak)/.test(row.key) ? Math.min(...values) - 0.1 : Math.min(0, ...values);
  const span = high - low || 1;
  const x = (v) => 14 + ((v - low) / span) * (width - 28);
  const node = svg('svg', { width, height: 50, role: 'img', 'aria-label': `${row.name}: A ${said(row, a)}; B ${said(row, b)}` });
  const add = (tag, attributes, text) => node.appendChild(svg(tag, attributes, text));
  const step = [1, 2, 5, 10].map((f) => f * 10 ** Math.floor(Math.log10(span / 3))).find((s) => span / s <= Math.min(5, width / 60)) || span;
  for (let v = Math.ceil(low / step) * step; v <= high + step / 1000; v += step) {
    add('line', { x1: x(v), x2: x(v), y1: 2, y2: 34, stroke: 'var(--grid)' });
    add('text', { class: 'axis', x: x(v), y: 47, 'text-anchor': 'middle' }, Number(v.toPrecision(6)));
  }
  if (limit) add('line', { x1: x(limit.value), x2: x(limit.value), y1: 0, y2: 36, stroke: 'var(--fail)', 'stroke-width': 1.5, 'stroke-dasharray': '2 2' });
  box(add, x, a, 10, 'var(--edge)', 'var(--ink-2)');
  box(add, x, b, 26, 'var(--accent)', 'var(--accent)');
  return node;
}

// room: the width of the card
export function drawMeasure(model, row, room) {
  const width = Math.max(200, room > 620 ? room - COLUMNS_PX : room - 24);
  return el('div', { class: 'dist', 'data-measure': row.key, title: row.key },
    el('h3', null, row.name, el('span', null, row.unit), ' ', roleTag(model, row.role), row.dir === 'out' ? el('span', null, 'says') : ''),
    ...[row.a, row.b].map((s) => el('span', { class: 'num' }, valueOf(row, s.median), el('small', null, plusMinus(s.bound)))),
    el('span', { class: `d ${row.change.kind}` }, row.change.words), distribution(row, width));
}

// ---- the ladder ----

function heads(add, columns, x, small, height) {
  columns.forEach((c, i) => {
    const [a, b] = [c.a, c.b].map((address) => shortAddress(address || ''));
    add('text', { x: x(i), y: 16, 'text-anchor': 'middle', class: 'axis strong' }, c.name);
    add('text', { x: x(i), y: 31, 'text-anchor': 'middle', class: 'axis' }, a === b || !a || !b || small ? b || a : `${a} → ${b}`);
    add('line', { x1: x(i), x2: x(i), y1: 40, y2: height - 4, stroke: 'var(--edge)', 'stroke-opacity': 0.55 });
  });
}

function messageRow(node, row, y, { x, place, width, gutter, small }) {
  const { a, b } = row;
  const m = b || a;
  const onlyA = !b;
  const onlyB = !a;
  const ink = onlyA ? 'var(--ink-3)' : onlyB ? 'var(--accent)' : 'var(--ink-2)';
  const kind = onlyA ? ' only-a' : onlyB ? ' only-b' : '';
  const group = svg('g', { class: `cmp-row${kind}`, role: 'img', 'aria-label':
    `${onlyA ? 'only A' : onlyB ? 'only B' : 'both'}: ${m.text}, ${a ? `A ${a.t.toFixed(3)} s` : ''} ${b ? `B ${b.t.toFixed(3)} s` : ''}` });
  const add = (tag, attributes, text) => group.appendChild(svg(tag, attributes, text));
  if (onlyB) add('rect', { x: 0, width, y, height: ROW, fill: 'var(--accent-soft)' });
  const time = (one, at, strong) => add('text', { x: at, y: y + 20, 'text-anchor': 'end', class: strong ? 'axis strong' : 'axis' }, one ? one.t.toFixed(small ? 2 : 3) : '–');
  time(a, gutter / 2 - 6);
  time(b, gutter - 12, onlyB);
  drawArrow(add, { from: x(place.get(m.from)), to: x(place.get(m.to)), y: y + 21, ink, width: onlyB ? 2.4 : 1.5,
    dash: onlyA ? '4 3' : null, text: m.text, note: m.m.sdp ? 'SDP' : '', kind });
  node.append(group);
}

function foldRow(node, row, y, width, open) {
  const first = row.fold[0].b.text;
  const last = row.fold[row.fold.length - 1].b.text;
  const words = `${row.fold.length} alike: ${first} to ${last}`;
  const group = svg('g', { class: 'fold-row', role: 'button', tabindex: 0, 'aria-label': `Show ${words}` });
  const add = (tag, attributes, text) => group.appendChild(svg(tag, attributes, text));
  add('rect', { x: 0, width, y: y + 3, height: ROW - 6, fill: 'var(--bg)' });
  add('path', { d: `M16 ${y + 11}l4 4-4 4`, fill: 'none', stroke: 'var(--ink-2)', 'stroke-width': 1.6 });
  add('text', { x: 30, y: y + 19, class: 'axis label' }, words);
  group.addEventListener('click', open);
  group.addEventListener('keydown', (event) => { if (['Enter', ' '].includes(event.key)) { event.preventDefault(); open(); } });
  node.append(group);
}

// rows: of compare_model.js, folded or not. A folded one opens where it stands.
export function drawLadder(merged, rows, room) {
  const small = room < 500;
  const gutter = small ? 92 : 128;
  const pad = small ? 40 : 62;
  const used = new Set(rows.flatMap((r) => (r.fold ? [] : [r.b || r.a])).flatMap((m) => [m.from, m.to]));
  const columns = merged.columns.filter((c) => !small || !used.size || used.has(c.key)); // a narrow page leaves out what has no difference
  const space = Math.max(small ? 92 : 120, columns.length > 1 ? (Math.max(280, room) - gutter - 2 * pad - 8) / (columns.length - 1) : 0);
  const x = (i) => gutter + pad + space * i;
  const width = Math.max(280, room, columns.length ? x(columns.length - 1) + pad : 0);
  const height = 50 + rows.length * ROW;
  const place = new Map(columns.map((c, i) => [c.key, i]));
  const node = svg('svg', { width, height, role: 'group', 'aria-label': 'SIP messages of both runs' });
  const add = (tag, attributes, text) => node.appendChild(svg(tag, attributes, text));
  add('text', { x: gutter / 2 - 6, y: 16, 'text-anchor': 'end', class: 'axis strong' }, 'A s');
  add('text', { x: gutter - 12, y: 16, 'text-anchor': 'end', class: 'axis strong' }, 'B s');
  heads(add, columns, x, small, height);
  rows.forEach((row, i) => {
    const y = 46 + i * ROW;
    if (!row.fold) messageRow(node, row, y, { x, place, width, gutter, small });
    else foldRow(node, row, y, width, () => scroll.replaceWith(drawLadder(merged, [...rows.slice(0, i), ...row.fold, ...rows.slice(i + 1)], room)));
  });
  const scroll = scrolling(node, 'SIP messages of both runs');
  if (!rows.length) scroll.replaceChildren(el('p', { class: 'empty' }, 'No message was recorded in both runs.'));
  return scroll;
}
