// A line over some days as a small drawing, with its text beside it.

import { element } from './dom.js';

const SVG = 'http://www.w3.org/2000/svg';
const WIDTH = 200;
const HEIGHT = 36;
const HALF = 7;    // days that are compared with those before

function draw(tag, attributes) {
  const node = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  return node;
}

// values: a number, or null where nothing was measured: the line has a gap there
function path(values, low, high) {
  const x = (i) => (i / (values.length - 1)) * WIDTH;
  const y = (v) => (high > low ? HEIGHT - 2 - ((v - low) / (high - low)) * (HEIGHT - 4) : HEIGHT / 2);
  let text = '';
  let pen = 'M';
  values.forEach((v, i) => {
    if (v === null) {
      pen = 'M';
      return;
    }
    text += `${pen}${x(i).toFixed(1)} ${y(v).toFixed(1)}`;
    if (pen === 'M') text += 'h0'; // a day alone is a dot
    pen = 'L';
  });
  return text;
}

export function sparkline(values, words) {
  const known = values.filter((v) => v !== null);
  const svg = draw('svg', { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, preserveAspectRatio: 'none', role: 'img', 'aria-label': words });
  svg.append(draw('path', { class: 'half', d: `M${WIDTH / 2} 0V${HEIGHT}` }));
  if (known.length) svg.append(draw('path', { class: 'line', d: path(values, Math.min(...known), Math.max(...known)) }));
  return svg;
}

const mean = (values) => (values.length ? values.reduce((a, b) => a + b, 0) / values.length : null);

// The newest days, and the days before them. @return [now, before]; null: nothing measured
export function halves(values) {
  const known = (part) => part.filter((v) => v !== null);
  return [mean(known(values.slice(-HALF))), mean(known(values.slice(0, -HALF)))];
}

// Pass rate in per cent: passed runs of all runs with a verdict. @return [newest days, days before them]; null: no verdict
export function passRate(trend) {
  const rate = (list) => {
    const sum = (member) => list.reduce((n, d) => n + d[member], 0);
    return sum('passed') + sum('failed') ? (100 * sum('passed')) / (sum('passed') + sum('failed')) : null;
  };
  return [rate(trend.slice(-HALF)), rate(trend.slice(0, -HALF))];
}

// The tiles of a trend of the API, in their order.
export const TRENDS = [
  { member: 'pass_rate', name: 'Runs that passed', unit: '%', digits: 1, better: 1, least: 0.1 },
  { member: 'mos', name: 'MOS, lowest 5 %', digits: 2, better: 1, least: 0.02 },
  { member: 'pdd_ms', name: 'Post-dial delay, 95 %', unit: 'ms', digits: 0, better: -1, least: 5 },
  { member: 'register_ms', name: 'Registration, 95 %', unit: 'ms', digits: 0, better: -1, least: 2 },
];

// kind: {name, unit, digits, better: 1 more is better, -1 less, least: the smallest change worth a word}
export function tile(kind, days, [now, before]) {
  const node = element('div', null, 'tile');
  const value = element('div', now === null ? '–' : now.toFixed(kind.digits), 'v');
  if (now !== null && kind.unit) value.append(element('small', kind.unit));
  const said = element('div', null, 'd');
  const change = now === null || before === null ? null : now - before;
  if (change === null) said.textContent = now === null ? 'not measured in 7 days' : 'nothing to compare with';
  else if (Math.abs(change) < kind.least) said.textContent = 'as before';
  else {
    said.append(element('b', `${change < 0 ? '▼' : '▲'} ${Math.abs(change).toFixed(kind.digits)}`,
      change * kind.better > 0 ? 'ok' : 'bad'), ` from ${before.toFixed(kind.digits)}`);
  }
  const known = days.filter((v) => v !== null);
  const range = known.length ? `${Math.min(...known).toFixed(kind.digits)} to ${Math.max(...known).toFixed(kind.digits)}` : 'nothing measured';
  node.append(element('h3', kind.name), value, sparkline(days, `${kind.name}, ${days.length} days: ${range}`), said);
  return node;
}
