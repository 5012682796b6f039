// The curve of a capacity search: the share of trials that hold by the load, each trial, the interval.

import { load, searchSentence, unitOf } from './capacity_words.js';
import { svg } from './report_ui.js';

const WIDTH = 760;
const HEIGHT = 280;
const LEFT = 44;
const RIGHT = 12;
const TOP = 10;
const BOTTOM = 40;
const RADIUS = 5;

// The loads are on a logarithmic axis, as the search is.
function scales(search) {
  const ratio = Math.log(search.max / search.min);
  return {
    x: (value) => LEFT + (Math.log(value / search.min) / ratio) * (WIDTH - LEFT - RIGHT),
    y: (share) => TOP + (1 - share) * (HEIGHT - TOP - BOTTOM),
  };
}

// 1, 2 and 5 of each power of ten, and both ends where they are apart from these.
function ticks(search, x) {
  const inner = [];
  for (let power = Math.floor(Math.log10(search.min)); power <= Math.log10(search.max); power += 1) {
    for (const leading of [1, 2, 5]) inner.push(Number((leading * 10 ** power).toPrecision(1)));
  }
  const ends = [search.min, search.max];
  const apart = (value) => ends.every((end) => Math.abs(x(value) - x(end)) > 36);
  return [...ends, ...inner.filter((v) => v > search.min && v < search.max && apart(v))];
}

function axes(search, { x, y }) {
  const nodes = [];
  for (let percent = 0; percent <= 100; percent += 25) {
    nodes.push(svg('line', { x1: LEFT, x2: WIDTH - RIGHT, y1: y(percent / 100), y2: y(percent / 100), stroke: 'var(--grid)' }),
      svg('text', { class: 'axis bare', x: LEFT - 6, y: y(percent / 100) + 4, 'text-anchor': 'end' }, `${percent} %`));
  }
  for (const value of ticks(search, x)) {
    nodes.push(svg('line', { x1: x(value), x2: x(value), y1: TOP, y2: HEIGHT - BOTTOM, stroke: 'var(--grid)' }),
      svg('text', { class: 'axis bare', x: x(value), y: HEIGHT - BOTTOM + 16,
        'text-anchor': value === search.max ? 'end' : value === search.min ? 'start' : 'middle' }, String(value)));
  }
  nodes.push(svg('text', { class: 'axis bare', x: WIDTH - RIGHT, y: HEIGHT - 6, 'text-anchor': 'end' }, unitOf(search)));
  return nodes;
}

function interval(search, { x }) {
  const { result } = search;
  if (!result) return [];
  const from = x(result.lower === null ? search.min : result.lower);
  const to = x(result.upper === null ? search.max : result.upper);
  return [svg('rect', { x: from, y: TOP, width: Math.max(to - from, 2), height: HEIGHT - TOP - BOTTOM, fill: 'var(--accent-soft)' })];
}

const COLOURS = { held: 'var(--pass)', failed: 'var(--fail)', saturated: 'var(--error)' };

// A disc that held hangs from the top; a square that failed, or a triangle of a saturated tester, stands on the bottom. Trials at one load
// are stacked.
function mark(search, { x, y }, trial, number, before) {
  const cx = x(trial.load);
  const held = trial.outcome === 'held';
  const cy = held ? y(1) + RADIUS + 2 + before * (2 * RADIUS + 2) : y(0) - RADIUS - 2 - before * (2 * RADIUS + 2);
  const shown = { fill: COLOURS[trial.outcome], 'fill-opacity': trial.discarded ? 0.3 : 1, class: `trial ${trial.outcome}` };
  const node = held ? svg('circle', { ...shown, cx, cy, r: RADIUS })
    : trial.outcome === 'failed' ? svg('rect', { ...shown, x: cx - RADIUS + 0.5, y: cy - RADIUS + 0.5, width: 2 * RADIUS - 1, height: 2 * RADIUS - 1 })
      : svg('path', { ...shown, d: `M${cx} ${cy - RADIUS}l${RADIUS} ${2 * RADIUS}h${-2 * RADIUS}z` });
  node.append(svg('title', null, `trial ${number}: ${load(search, trial.load)}, ${trial.outcome}${trial.discarded ? ', does not count' : ''}`));
  return node;
}

function marks(search, scale) {
  const seen = new Map();
  return search.trials.map((trial, i) => {
    if (!COLOURS[trial.outcome]) return null;
    const place = `${trial.load} ${trial.outcome === 'held'}`;
    const before = seen.get(place) || 0;
    seen.set(place, before + 1);
    return mark(search, scale, trial, i + 1, before);
  }).filter(Boolean);
}

export function searchPlot(search) {
  const scale = scales(search);
  const points = search.curve.map((p) => `${scale.x(p.load).toFixed(1)},${scale.y(p.share).toFixed(1)}`).join(' ');
  const node = svg('svg', { class: 'curve', viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: 'img',
    'aria-label': `Share of trials that hold by the load. ${searchSentence(search)}` });
  node.append(...interval(search, scale), ...axes(search, scale));
  if (search.result) node.append(svg('polyline', { points, fill: 'none', stroke: 'var(--a)', 'stroke-width': 2 }));
  node.append(...marks(search, scale));
  return node;
}
