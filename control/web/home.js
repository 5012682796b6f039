// What is broken, since when; and, until the first run, what to do next.

import {
  ago, all, api, badge, button, byId, element, empty, figure, fill, icon, keepingFocus, link, may, poll, reading, shape, since,
  startPage, strip, timeNode, toast,
} from './page.js';
import { drawFirst } from './first.js';
import { halves, passRate, tile, TRENDS } from './trend.js';

const POLL_MS = 5000;
const REDRAW_MS = 60000; // "4 min ago" goes on without a change

// Where a record of this kind is changed.
const PAGES = {
  tests: '/tests', projects: '/projects', targets: '/targets', 'credential-pools': '/accounts', 'agent-pools': '/pools',
  schedules: '/schedules', 'callback-templates': '/callbacks', appimages: '/prompts',
};

const plural = (n, word) => `${n} ${word}${n === 1 ? '' : 's'}`;

function headline({ tests, broken }) {
  const count = Object.values(tests).reduce((a, b) => a + b, 0);
  byId('title').textContent = tests.failed ? `${tests.failed} of ${plural(count, 'test')} ${tests.failed === 1 ? 'fails' : 'fail'}`
    : count ? `No failing test of ${count}` : 'No test yet';
  const failing = broken.filter((t) => t.state === 'failed');
  const parts = failing.slice(0, 2).map((t) => (t.streak > 1 ? `${t.test_name} fails since ${since(t.since)}, ${t.streak} runs.`
    : `${t.test_name} failed ${since(t.since)}.`));
  if (tests.failed > 2) parts.push(`${tests.failed - 2} more fail.`);
  if (tests.flaky) parts.push(`${plural(tests.flaky, 'test')} only sometimes passed.`);
  if (tests.errored) parts.push(`${plural(tests.errored, 'test')} could not be judged.`);
  byId('sentence').textContent = parts.join(' ');
  byId('sentence').hidden = !parts.length;
}

async function start(test) {
  const { data } = await api('POST', `/tests/${test.test_id}/run`);
  toast(element('span', `${test.test_name} was started. `), link('Report', data.report_url));
}

function history(test) {
  const failed = test.runs.filter((r) => r.status === 'failed').length;
  const node = element('span', { flaky: 'flaky since ', errored: 'not judged since ', failed: test.streak > 1 ? 'since ' : 'once, ' }[test.state]);
  const time = element('b');
  time.append(timeNode(test.since, since));
  node.append(time, test.state === 'flaky' ? `, ${failed} of ${test.runs.length} failed` : test.streak > 1 ? `, ${plural(test.streak, 'run')}` : '');
  return node;
}

const told = new Map(); // by address and run: an answer that was asked for

// Ask for what stays the same until the test runs again.
function askOnce(address, run) {
  const key = `${address} ${run}`;
  if (!told.has(key)) told.set(key, api('GET', address));
  return told.get(key).catch((reason) => {
    told.delete(key); // asked for again with the next drawing
    throw reason;
  });
}

// What the failed runs of a flaky test have in common, or else what changed with the last one.
async function explanation(test, bad) {
  const { flakiness } = test.flaky ? await askOnce(`/tests/${test.test_id}/flakiness`, test.runs[0].id) : {};
  if (flakiness && flakiness.sentence) return `What the failed runs have in common: ${flakiness.sentence}`;
  const { differences: [first] } = await askOnce(`/runs/${bad.session_id}/differences`, bad.id);
  return first ? `What changed since the last passed run: ${first.sentence}` : '';
}

// Say it below the cause.
function explain(node, test, bad) {
  explanation(test, bad).then((text) => {
    node.hidden = !text;
    node.textContent = text;
  }).catch(() => {}); // the cause is shown without it
}

function brokenRow(test) {
  const row = element('div', null, 'broken');
  const said = element('div');
  const name = element('h3');
  name.append(link(test.test_name, `/tests/${test.test_id}`), element('span', test.project_name, 'note'));
  const more = element('p', '', 'note changed');
  more.hidden = true;
  said.append(name, element('p', test.cause), more);
  const past = element('div', null, 'hist');
  past.append(strip(test.runs), history(test));
  const tools = element('div', null, 'tools');
  const bad = test.runs.find((r) => r.status === 'failed' || r.status === 'errored');
  if (bad.status === 'failed') explain(more, test, bad);
  const report = link('Report', `/run/details/${bad.session_id}`);
  report.className = 'btn small';
  report.ariaLabel = `Report of ${test.test_name}`;
  tools.append(report);
  if (may('run')) {
    const again = button('', () => start(test), 'square');
    again.ariaLabel = `Rerun ${test.test_name}`;
    again.append(icon('rerun'));
    tools.append(again);
  }
  row.append(shape(test.state), said, past, tools);
  return row;
}

function more(id, count, shown, word) {
  byId(id).hidden = count <= shown;
  byId(id).replaceChildren(icon('right'), `${count - shown} more ${word}`);
}

function load(agent) {
  const node = element('div', `${agent.in_use} of ${agent.capacity}`, 'load');
  const meter = element('span', null, 'meter');
  const part = element('i');
  part.style.width = `${agent.capacity ? Math.min(100, (100 * agent.in_use) / agent.capacity) : 0}%`;
  meter.append(part);
  node.append(meter);
  return node;
}

function drawAgents({ agents, agents_total: total }) {
  const online = agents.filter((a) => a.state !== 'offline').length;
  byId('agents-count').textContent = `${online} of ${agents.length} online${total > agents.length ? `, ${total} in all` : ''}`;
  fill('agents', agents, [
    ['Agent', (a) => link(a.name, '/agents'), 'wide'],
    ['Pool', (a) => a.pool_name, 'wide-only'],
    ['State', (a) => badge(a.state === 'online' ? 'passed' : 'stopped', a.state)],
    ['Jobs', (a) => (a.state === 'offline' ? '–' : load(a)), 'num'],
    ['Clock', (a) => (a.clock_offset_us === null ? '–' : `${figure(a.clock_offset_us / 1000, 1)} ms`), 'num wide-only'],
    ['Seen', (a) => timeNode(a.last_seen, ago), 'num'],
  ], 'No agent has joined.');
}

function row(className, ...nodes) {
  const node = element('div', null, className);
  node.append(...nodes);
  return node;
}

const rows = (id, list, make, ...nothing) => byId(id).replaceChildren(...(list.length ? list.map(make) : [empty(...nothing)]));

function liveRow(run) {
  const name = link(run.test_name, `/run/details/${run.session_id}`);
  const queued = run.phase === 'queued' || run.phase === 'dispatching';
  const stop = may('run') && run.phase !== 'stopping' ? button('Stop', () => api('POST', `/runs/${run.id}/stop`), 'quiet') : element('span', '');
  if (stop.tagName === 'BUTTON') stop.ariaLabel = `Stop ${run.test_name}`;
  const meter = element('div', null, 'meter');
  const part = element('i');
  part.style.width = `${100 * run.progress}%`;
  meter.append(part);
  const words = element('span', `${run.phase}${queued ? '' : `, ${Math.round(100 * run.progress)} %`}, `, 'note');
  words.append(timeNode(run.started_at || run.created_at, ago));
  return row('live', shape(queued ? 'queued' : 'running'), name, stop, ...(queued ? [] : [meter]), words);
}

function changeRow(change) {
  const words = element('span', change.created ? 'new: ' : 'changed: ');
  words.append(link(change.name, PAGES[change.kind]));
  return row('next change', icon(change.created ? 'plus' : 'save'), words, timeNode(change.at, ago));
}

function lastReport(test) {
  const node = link(null, `/run/details/${test.last.session_id}`);
  node.append(timeNode(test.last.started_at, ago));
  node.ariaLabel = `${node.textContent}: last report of ${test.test_name}`;
  return node;
}

function drawDaily(overview) {
  const { tests, broken, passing, running, trend } = overview;
  headline(overview);
  byId('broken-count').textContent = tests.failed + tests.flaky + tests.errored;
  rows('broken', broken, brokenRow, 'Nothing is broken', 'No test fails.');
  more('broken-more', tests.failed + tests.flaky + tests.errored, broken.length, 'tests');
  const days = (member) => trend.map((d) => d[member]);
  byId('trends').replaceChildren(...TRENDS.map((k) => tile(k, days(k.member),
    k.member === 'pass_rate' ? passRate(trend) : halves(days(k.member)))));
  byId('passing-count').textContent = `${tests.passed}, by last run`;
  fill('passing', passing, [
    ['Test', (t) => link(t.test_name, `/tests/${t.test_id}`), 'wide'],
    ['Project', (t) => t.project_name, 'wide-only'],
    ['Last 21 runs', (t) => strip(t.runs)],
    ['MOS', (t) => figure(t.last.mos, 2), 'num wide-only'],
    ['Last run', (t) => lastReport(t), 'num'],
  ], 'No test passed.');
  more('passing-more', tests.passed, passing.length, 'tests');
  drawAgents(overview);
  byId('running-count').textContent = overview.running_total;
  rows('running', running, liveRow, 'Nothing runs', 'Start a test, or wait for a schedule.');
  rows('next', overview.next, (s) => row('next', element('b', s.next_at.slice(11, 16)), link(s.name, '/schedules'),
    element('span', since(s.next_at).slice(0, 10).replace(/ .*/, ''), 'soft')), 'Nothing is planned', 'A schedule starts tests at given times.');
  rows('changes', overview.changes, changeRow, 'Nothing was changed', 'New and changed records are listed here.');
}

let shown = null;
let drawnAt = 0;
let first = true; // no run yet

async function draw() {
  if (first) {
    first = (await api('GET', '/runs?count=1')).total === 0;
    byId('first').hidden = !first;
    byId('daily').hidden = first;
    if (first) {
      await drawFirst(await all('/agents', 'agents'));
      return;
    }
  }
  const found = await poll('/overview');
  if (!found && Date.now() - drawnAt < REDRAW_MS) return;
  shown = found ? found.overview : shown;
  drawnAt = Date.now();
  keepingFocus(() => drawDaily(shown));
}

async function follow() {
  if (!document.hidden) await reading(draw);
  setTimeout(follow, POLL_MS);
}

startPage(async () => {
  await draw();
  setTimeout(follow, POLL_MS);
});
