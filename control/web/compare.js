// Two runs beside each other: /runs/compare?a=ID&b=ID, an id or a session id each.

import { KEYS } from './nav.js';
import { api, asPage, byId, startPage } from './page.js';
import { conditions, descriptions, folded, headers, ladder, meaning, measures } from './compare_model.js';
import { drawLadder, drawMeasure } from './compare_draw.js';
import { differences } from './report_facts.js';
import { capital, makeModel, withoutRole } from './report_model.js';
import { copyText } from './report_share.js';
import { badge, changeList, crumbs, el, fold, icon, measured, plural, roleTag, shape, svg, table, when } from './report_ui.js';

const PICKED = 100; // runs of the test to choose from
const page = { a: null, b: null, runs: [], only: true, group: 0, sdp: null };

const letter = (side) => el('span', { class: `ab${side === 'b' ? ' b' : ''}` }, side.toUpperCase());

// ---- the head ----

function firstDifference(rows) {
  const at = rows.findIndex((r) => !r.a || !r.b);
  if (at < 0) return null;
  const own = rows.slice(at);
  const end = own.findIndex((r) => r.a && r.b);
  const part = end < 0 ? own : own.slice(0, end);
  const a = part.find((r) => r.a);
  const b = part.find((r) => r.b);
  return { a: a && a.a, b: b && b.b };
}

function sentence(rows) {
  const found = firstDifference(rows);
  if (!rows.length) return ['No SIP message can be compared.'];
  if (!found) return ['The messages of the two runs are alike.'];
  const { a, b } = found;
  if (a && b && a.of && a.of === b.of) return [`The first difference on the wire is the answer to ${a.of}: `, [b.text], ' in place of ', [a.text], '.'];
  if (a && b) return ['The first difference on the wire: ', [b.text], ' in place of ', [a.text], '.'];
  return ['The first difference on the wire: ', [(a || b).text], a ? ' is missing in run B.' : ' is new in run B.'];
}

function title(found) {
  const [broke, fixed] = [found.broke.length, found.fixed.length];
  if (broke) return `${capital(plural(broke, 'condition'))} broke between these runs`;
  if (fixed) return `${capital(plural(fixed, 'condition'))} hold${fixed === 1 ? 's' : ''} again`;
  return 'No condition changed between these runs';
}

function drawHead(found, rows) {
  byId('title').textContent = title(found);
  document.title = `${title(found)} – Offhook`;
  const { run } = page.b;
  const runsOf = (name, value) => `/runs?${new URLSearchParams({ [name]: value })}`;
  crumbs([[run.project_name, runsOf('project', run.project_name)], [run.test_name, run.test_id ? `/tests/${run.test_id}` : runsOf('test', run.test_name)], ['Compare']]);
  byId('sentence').hidden = false;
  byId('sentence').replaceChildren(...sentence(rows).map((p) => (Array.isArray(p) ? el('b', null, p[0]) : p)));
  for (const side of ['a', 'b']) {
    const own = page[side].run;
    const list = byId(`pick-${side}`);
    const known = page.runs.some((r) => r.session_id === own.session_id) ? page.runs : [{ ...own }, ...page.runs];
    list.replaceChildren(...known.map((r) => el('option', { value: r.session_id, selected: r.session_id === own.session_id },
      `Run ${r.id}, ${when(r.started_at)}, ${r.status}`)));
    byId(`note-${side}`).textContent = own.started_at ? `${own.started_at} UTC` : '';
    byId(`badge-${side}`).replaceChildren(badge(own.phase === 'done' ? own.status : 'running', null, true));
  }
}

function drawTools() {
  const only = el('button', { class: 'btn', type: 'button', id: 'only', 'aria-pressed': String(page.only),
    on: { click: () => { page.only = !page.only; draw(); byId('only').focus(); } } }, 'Only differences');
  const share = el('button', { class: 'btn', type: 'button', id: 'share', on: { click: () => copyText(location.href, 'The link was copied. Who can sign in here can read it.', `The address is ${location.href}`) } }, icon('share'), 'Share');
  const reports = ['a', 'b'].map((side) => el('a', { class: 'btn', href: `/run/details/${page[side].run.session_id}` }, `Report ${side.toUpperCase()}`));
  byId('tools').replaceChildren(only, share, ...reports);
}

// ---- conditions, surroundings ----

function outcome(verdict) {
  if (!verdict) return el('span', { class: 'soft' }, 'not asked');
  return el('span', { class: verdict.passed ? '' : 'bad' }, shape(verdict.passed ? 'passed' : 'failed'), el(verdict.passed ? 'span' : 'b', null, measured(verdict)));
}

function pairs(caption, list) {
  const of = ({ a, b }) => b || a;
  const box = table(caption, list, [['Condition', (p) => capital(withoutRole(of(p), of(p).text))], ['Role', (p) => roleTag(page.b, of(p).role)],
    ['A', (p) => outcome(p.a)], ['B', (p) => outcome(p.b)]]);
  box.firstChild.classList.add('cmp');
  return box;
}

function drawConditions(found) {
  const changed = [...found.broke, ...found.fixed, ...found.other];
  const nodes = changed.length ? [pairs('Conditions that differ', changed)] : [el('p', { class: 'empty' }, 'Every condition has the same outcome in both runs.')];
  const count = changed.length + found.passed.length + found.failed.length;
  byId('conditions-note').textContent = `${changed.length} of ${count} changed`;
  if (found.failed.length) nodes.push(fold(`${plural(found.failed.length, 'condition')} failed in both`, () => pairs('Failed in both', found.failed), !page.only));
  if (found.passed.length) nodes.push(fold(`${found.passed.length} hold in both`, () => pairs('Hold in both', found.passed), !page.only));
  byId('verdicts').replaceChildren(...nodes);
}

const row = (name, ...value) => el('dl', { class: 'dl' }, el('dt', null, name), el('dd', null, ...value));
const gone = (text) => (text ? el('del', null, text) : el('span', { class: 'soft' }, 'none'));
const added = (text) => (text ? el('ins', null, text) : el('span', { class: 'soft' }, 'none'));
const arrow = () => el('span', { class: 'arrow' }, ' → ');

function drawAround() {
  const { changed, same } = differences(page.a, page.b);
  const nodes = changed.map(([name, a, b]) => row(name, gone(a), arrow(), added(b)));
  for (const [name, key] of [['Test', 'test_name'], ['Scenario', 'testcase_name'], ['Pool', 'agentpool_name']]) {
    const [a, b] = [page.a.run[key] || '', page.b.run[key] || ''];
    if (a !== b) nodes.push(row(name, gone(a), arrow(), added(b)));
    else if (a) same.push(name);
  }
  if (same.length) nodes.push(row('Unchanged', el('span', { class: 'soft' }, same.join(', ').toLowerCase())));
  byId('facts').replaceChildren(...nodes);
}

// Runs in progress are not compared: the section is left out.
async function drawChanged() {
  const { a, b } = page;
  if (a.run.phase !== 'done' || b.run.phase !== 'done') return;
  byId('changed').replaceChildren(changeList(await api('GET', `/runs/${b.run.session_id}/differences?with=${a.run.session_id}`)));
  byId('changed-card').hidden = false;
}

// ---- measures ----

function drawMeasures() {
  const all = measures(page.a, page.b);
  const differ = all.filter((r) => r.change.moved > 0);
  const same = all.filter((r) => !r.change.moved);
  const room = byId('dists').clientWidth;
  const nodes = [];
  if (!all.length) nodes.push(el('p', { class: 'empty' }, 'No measure is in both runs.'));
  else {
    nodes.push(el('div', { class: 'dist h wide-only' }, el('span', null, 'Measure'), el('span', { class: 'num', title: 'Median' }, letter('a')),
      el('span', { class: 'num', title: 'Median' }, letter('b')), el('span', { class: 'num' }, 'Change'), el('span')));
  }
  nodes.push(...differ.map((r) => drawMeasure(page.b, r, room)));
  if (same.length) {
    nodes.push(fold(`${plural(same.length, differ.length ? 'more measure' : 'measure')} ${same.length === 1 ? 'does' : 'do'} not differ`,
      () => el('div', null, ...same.map((r) => drawMeasure(page.b, r, room))), !page.only));
  }
  byId('dists').replaceChildren(...nodes);
}

// ---- messages ----

function groupsOf(number) {
  return ['a', 'b'].map((side) => page[side].conversations.find((c) => c.number === number) || null);
}

function legend(text, side, line) {
  const key = svg('svg', { viewBox: '0 0 26 8', 'aria-hidden': 'true' });
  key.append(svg('line', { x1: 0, x2: 26, y1: 4, y2: 4, ...line }));
  return el('span', { class: 'key-line' }, key, text, letter(side));
}

function drawSip(merged) {
  const numbers = page.b.conversations.map((c) => c.number).filter((n) => page.a.conversations.some((c) => c.number === n));
  const filters = [legend('only', 'a', { stroke: 'var(--ink-3)', 'stroke-width': 1.6, 'stroke-dasharray': '4 3' }),
    legend('only', 'b', { stroke: 'var(--accent)', 'stroke-width': 2.4 })];
  if (numbers.length > 1) {
    const list = el('select', { class: 'in', 'aria-label': 'Call', on: { change: () => { page.group = Number(list.value); draw(); } } },
      ...numbers.map((n) => el('option', { value: n, selected: n === page.group }, `Call ${n}`)));
    filters.unshift(list);
  }
  byId('sip-filters').replaceChildren(...filters);
  byId('sip-note').textContent = page.group ? `Call ${page.group} of each${merged.omitted ? `; ${merged.omitted} further messages are left out` : ''}` : 'All messages';
  byId('ladder').replaceChildren(drawLadder(merged, page.only ? folded(merged.rows) : merged.rows, byId('ladder').clientWidth));
}

function drawHeaders(rows) {
  const found = headers(rows);
  const nodes = found.slice(0, 40).map((f) => row(f.name, gone(f.a), arrow(), added(f.b), el('span', { class: 'soft' },
    ` ${f.where.length > 2 ? `${f.where.length} messages: ${f.where.slice(0, 2).join(', ')} …` : f.where.join(', ')}`)));
  if (!found.length) nodes.push(row('Changed', el('span', { class: 'soft' }, 'none of those that are compared')));
  nodes.push(row('Left out', el('span', { class: 'soft' }, 'Call-ID, tags, branches, dates, routes, contacts, keys: they differ in every run')));
  byId('headers').replaceChildren(...nodes);
}

function sdpRows(rows) {
  return rows.flatMap((r) => {
    if (r.fold) return [fold(`${r.fold.length} lines alike`, () => el('div', null, ...sdpRows(r.fold)))];
    if (r.a !== undefined && r.b !== undefined) return [el('div', null, el('span', null, r.a))];
    const words = meaning(r.b === undefined ? r.a : r.b);
    const line = r.b === undefined ? el('div', { class: 'm' }, el('span', null, r.a)) : el('div', { class: 'p' }, el('span', null, r.b));
    return words && !r.silent ? [line, el('div', { class: 'w' }, el('span', null, words))] : [line];
  });
}

// Words stand once, after the last of the lines that they explain.
function quiet(rows) {
  return rows.map((r, i) => {
    const next = rows[i + 1];
    const line = r.a === undefined ? r.b : r.a;
    const other = next && !next.fold && (next.a === undefined || next.b === undefined) ? next.a || next.b : null;
    return other && meaning(other) === meaning(line || '') ? { ...r, silent: true } : r;
  });
}

function drawSdp(rows) {
  const all = descriptions(rows);
  byId('sdp-card').hidden = !all.length;
  if (!all.length) return;
  const shown = all.find((d) => d.name === page.sdp) || all.find((d) => d.changed) || all[0];
  byId('sdp-filters').replaceChildren(el('span', { class: 'group', role: 'group', 'aria-label': 'Part' }, ...all.map((d) => el('button', { class: 'btn small', type: 'button',
    'aria-pressed': String(d === shown), on: { click: () => { page.sdp = d.name; drawSdp(rows); } } }, `${d.name}, ${d.changed ? plural(d.changed, 'line') : 'same'}`))));
  byId('sdp').replaceChildren(...sdpRows(quiet(page.only ? folded(shown.rows) : shown.rows)));
}

// ---- the whole ----

function draw() {
  const found = conditions(page.a, page.b);
  const [groupA, groupB] = groupsOf(page.group);
  const merged = ladder(page.a, page.b, groupA, groupB);
  drawHead(found, merged.rows);
  drawTools();
  drawConditions(found);
  drawAround();
  drawMeasures();
  drawSip(merged);
  drawHeaders(merged.rows);
  drawSdp(merged.rows);
}

async function read(id) {
  const { run } = await api('GET', `/runs/${encodeURIComponent(id)}`);
  const answer = await fetch(`/run/details/${run.session_id}/data`, { ...asPage(), cache: 'no-store' });
  if (!answer.ok) throw new Error(`The report of run ${run.id} could not be read: the controller answered ${answer.status}.`);
  return makeModel(await answer.json());
}

function go(a, b) {
  location.assign(`/runs/compare?a=${encodeURIComponent(a)}&b=${encodeURIComponent(b)}`);
}

const exchange = () => go(page.b.run.session_id, page.a.run.session_id);

KEYS.push(['X', 'Exchange A and B']);

startPage(async () => {
  const asked = new URLSearchParams(location.search);
  if (!asked.get('a') || !asked.get('b')) throw new Error('Name two runs: /runs/compare?a=ID&b=ID, or choose them in the list of runs.');
  [page.a, page.b] = await Promise.all(['a', 'b'].map((side) => read(asked.get(side))));
  const { test_id: test } = page.b.run;
  if (test) page.runs = (await api('GET', `/runs?filtername=test_id&filterval=${test}&count=${PICKED}`)).runs;
  const numbers = page.a.conversations.map((c) => c.number);
  const worst = page.b.conversations.filter((c) => numbers.includes(c.number)).sort((p, q) => q.bad - p.bad || p.number - q.number)[0];
  page.group = worst ? worst.number : 0;
  byId('exchange').replaceChildren(icon('swap'));
  byId('exchange').addEventListener('click', exchange);
  for (const side of ['a', 'b']) {
    byId(`pick-${side}`).addEventListener('change', () => go(byId('pick-a').value, byId('pick-b').value));
  }
  document.addEventListener('keydown', (event) => {
    if (event.key.toLowerCase() === 'x' && !event.ctrlKey && !event.metaKey && !event.altKey && !event.target.closest('input, select, textarea, dialog')) exchange();
  });
  draw();
  await drawChanged();
  let width = byId('ladder').clientWidth;
  new ResizeObserver(() => {
    if (byId('ladder').clientWidth === width) return;
    width = byId('ladder').clientWidth;
    draw();
  }).observe(byId('ladder'));
});
