// A run in progress: what its calls do now, and the newest figures.

import { holds, measureName, stateNow } from './report_model.js';
import { el, figure, fold, pages, plural, roleTag, shape, short, svg, table } from './report_ui.js';

const FIGURES = [['rtp_mos', 2], ['rtp_lost_pct'], ['rtp_jitter'], ['rtp_rtt']];
const SPARK = 60; // points of a line
const FEW = 8; // calls that are listed without being asked for
const PAGE = 25;
const STATES_MOST = 5000; // what the report's data has

const COLUMNS = ['calling', 'called', 'ringing', 'talking', 'on hold'];

function spark(points, name) {
  const values = points.map((p) => p.avg);
  const low = Math.min(...values);
  const span = Math.max(...values) - low || 1;
  const node = svg('svg', { viewBox: '0 0 120 36', preserveAspectRatio: 'none', role: 'img',
    'aria-label': `${name} of the last ${plural(points.length, 'interval')}: ${short(low)} to ${short(low + (values.length > 1 ? span : 0))}` });
  node.append(svg('path', { d: values.map((v, i) => `${i ? 'L' : 'M'}${((i / Math.max(1, values.length - 1)) * 120).toFixed(1)} ${(32 - ((v - low) / span) * 28).toFixed(1)}`).join(''),
    fill: 'none', stroke: 'var(--accent)', 'stroke-width': 1.6, 'vector-effect': 'non-scaling-stroke' }));
  return node;
}

// The newest figure of the role that does worst.
function tile(model, measure, digits) {
  const lines = model.report.series.filter((s) => s.measure === measure && s.dir !== 'out');
  if (!lines.length) return null;
  const last = (s) => s.points[s.points.length - 1];
  const worst = lines.reduce((a, b) => ((measure === 'rtp_mos') === (last(b).avg < last(a).avg) ? b : a));
  const { avg, t } = last(worst);
  const broken = model.limits.some((l) => l.measure === measure && l.role === worst.role && !holds(l, avg));
  return el('div', { class: 'tile', 'data-measure-now': measure, title: measure },
    el('h3', null, measureName(measure)),
    el('div', { class: `v${broken ? ' bad' : ''}` }, digits ? figure(avg, digits) : short(avg), el('small', null, worst.unit)),
    spark(worst.points.slice(-SPARK), measureName(measure)),
    el('div', { class: 'd' }, `${worst.role}, at ${short(t + model.report.interval_s - model.start)} s`));
}

function countTile(model, live) {
  const up = live.filter((c) => ['talking', 'on hold'].includes(stateNow(c).word)).length;
  const over = model.calls.filter((c) => !c.live);
  const lost = over.filter((c) => !c.established && c.expected_end === false).length;
  return el('div', { class: 'tile', 'data-measure-now': 'calls' }, el('h3', null, 'Legs up'),
    el('div', { class: 'v' }, String(up)), el('div', { class: 'd' }, `${live.length} in progress, ${over.length} ended`),
    el('div', { class: lost ? 'd bad' : 'd' }, lost ? `${lost} failed` : 'none failed'));
}

function roleRow(model, role) {
  const own = model.calls.filter((c) => c.role === role);
  const registrations = model.report.registrations.filter((r) => r.role === role);
  const counts = Object.fromEntries(COLUMNS.map((word) => [word, 0]));
  for (const c of own.filter((one) => one.live)) {
    const { word } = stateNow(c);
    if (word in counts) counts[word] += 1;
  }
  return { role, counts, ended: own.filter((c) => !c.live).length, failed: own.filter((c) => !c.live && c.expected_end === false).length,
    registered: new Set(registrations.filter((r) => r.ok).map((r) => r.account)).size,
    refused: registrations.filter((r) => !r.ok).length };
}

function liveCalls(model, live) {
  const rows = [...live].sort((a, b) => b.start - a.start);
  return pages(rows, PAGE, (part) => table('Calls in progress', part, [
    ['Call', (c) => el('span', null, shape('running'), ' ', c.call)],
    ['Of', (c) => el('span', null, roleTag(model, c.role), ` ${figure(c.account)}`), 'wide-only'],
    ['State', (c) => el('span', { 'data-state': stateNow(c).key }, stateNow(c).word, ' ', el('span', { class: 'key' }, stateNow(c).key))],
    ['For s', (c) => short(Math.max(0, model.latest - stateNow(c).t)), 'num']]));
}

// The card of the calls now; hidden when the run is over.
export function drawLive(model, card, host) {
  card.hidden = model.run.phase === 'done';
  if (card.hidden) {
    host.replaceChildren();
    return;
  }
  const live = model.calls.filter((c) => c.live);
  const tiles = [countTile(model, live), ...FIGURES.map(([measure, digits]) => tile(model, measure, digits))].filter(Boolean);
  const nodes = [el('div', { class: 'tiles' }, ...tiles)];
  if (model.roles.length) {
    nodes.push(table('States of the calls of each role', model.roles.map((role) => roleRow(model, role)), [
      ['Role', (r) => roleTag(model, r.role)], ['Registered', (r) => (r.refused ? `${r.registered}, ${r.refused} refused` : String(r.registered)), 'num'],
      ...COLUMNS.map((word) => [word[0].toUpperCase() + word.slice(1), (r) => String(r.counts[word]), 'num']),
      ['Ended', (r) => String(r.ended), 'num'], ['Failed', (r) => el('span', { class: r.failed ? 'bad' : '' }, String(r.failed)), 'num']]));
  }
  if (live.length) nodes.push(fold(`${plural(live.length, 'leg')} in progress`, () => liveCalls(model, live), live.length <= FEW, 'live'));
  if (live.length && model.roles.length > 1) nodes.push(el('p', { class: 'note body' }, 'A call between two roles has two legs, one of each role. The report has them as one call.'));
  if (model.report.states.length >= STATES_MOST) {
    nodes.push(el('p', { class: 'note body' }, `The first ${STATES_MOST.toLocaleString('en')} states are shown; later calls are in the plots.`));
  }
  host.replaceChildren(...nodes);
}
