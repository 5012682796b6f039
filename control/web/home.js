// What is broken, since when; and, until the first run, what to do next.

import { ago, all, api, byId, element, empty, fill, link, shape, since, startPage, strip, timeNode, complain, badge } from './page.js';
import { drawFirst } from './first.js';
import { readVerdicts, RUNS_MAX } from './verdicts.js';

const POLL_MS = 5000;
const BROKEN = ['failed', 'flaky', 'errored'];

const plural = (n, word) => `${n} ${word}${n === 1 ? '' : 's'}`;

function headline(tests) {
  const failing = tests.filter((t) => t.state === 'failed');
  byId('title').textContent = failing.length ? `${failing.length} of ${plural(tests.length, 'test')} fail`
    : tests.length ? `No failing test of ${tests.length}` : 'No test yet';
  const parts = failing.slice(0, 2).map((t) => `${t.test.name} fails since ${since(t.since)}.`);
  if (failing.length > 2) parts.push(`${failing.length - 2} more fail.`);
  const flaky = tests.filter((t) => t.state === 'flaky').length;
  if (flaky) parts.push(`${plural(flaky, 'test')} only sometimes passed.`);
  const errored = tests.filter((t) => t.state === 'errored').length;
  if (errored) parts.push(`${plural(errored, 'test')} could not be judged.`);
  const unknown = tests.filter((t) => t.state === 'unknown').length;
  if (unknown) parts.push(`Nothing is said of ${plural(unknown, 'test')}: not in the last ${RUNS_MAX} runs.`);
  byId('sentence').textContent = parts.join(' ');
  byId('sentence').hidden = !parts.length;
}

function brokenRow({ test, runs, state, since: begin, last }) {
  const row = element('div', null, 'broken');
  const said = element('div');
  const name = element('h3');
  name.append(link(test.name, `/runs?test=${encodeURIComponent(test.name)}`), element('span', test.project_name, 'note'));
  const bad = runs.find((r) => r.status === 'failed' || r.status === 'errored');
  said.append(name, element('p', bad ? bad.result_description : ''));
  const past = element('div', null, 'hist');
  const words = state === 'flaky' ? `${runs.filter((r) => r.status === 'failed').length} of ${plural(runs.length, 'run')} failed`
    : `${state === 'errored' ? 'not judged' : 'failing'} since ${since(begin)}`;
  past.append(strip(runs.map((r) => r.status).reverse()), element('span', words));
  const tools = element('div', null, 'tools');
  const report = link('Report', `/run/details/${(bad || last).session_id}`);
  report.className = 'btn small';
  tools.append(report);
  row.append(shape(state), said, past, tools);
  return row;
}

function drawAgents(agents) {
  const online = agents.filter((a) => a.state !== 'offline').length;
  byId('agents-count').textContent = `${online} of ${agents.length} online`;
  fill('agents', agents, [
    ['Agent', (a) => link(a.name, '/agents'), 'wide'],
    ['Pool', (a) => a.pool_name, 'wide-only'],
    ['State', (a) => badge(a.state === 'online' ? 'passed' : 'stopped', a.state)],
    ['Jobs', (a) => `${a.in_use} of ${a.capacity}`, 'num'],
    ['Seen', (a) => timeNode(a.last_seen, ago)],
  ], 'No agent has joined.');
}

function row(className, ...nodes) {
  const node = element('div', null, className);
  node.append(...nodes);
  return node;
}

function drawDaily(found, agents, schedules) {
  const { tests, runs } = found;
  headline(tests);
  const broken = tests.filter((t) => BROKEN.includes(t.state));
  broken.sort((a, b) => BROKEN.indexOf(a.state) - BROKEN.indexOf(b.state));
  byId('broken-count').textContent = broken.length;
  byId('broken').replaceChildren(...(broken.length ? broken.map(brokenRow)
    : [empty('Nothing is broken', 'No test whose last run is known fails.')]));
  const passing = tests.filter((t) => t.state === 'passed');
  byId('passing-count').textContent = passing.length;
  fill('passing', passing.slice(0, 20), [
    ['Test', (t) => link(t.test.name, `/run/details/${t.last.session_id}`), 'wide'],
    ['Project', (t) => t.test.project_name, 'wide-only'],
    ['Last 21 runs', (t) => strip(t.runs.map((r) => r.status).reverse())],
    ['Last run', (t) => timeNode(t.last.started_at, ago)],
  ], 'No test passed.');
  drawAgents(agents);
  const running = runs.filter((r) => r.status === 'running');
  byId('running-count').textContent = running.length;
  byId('running').replaceChildren(...(running.length ? running.slice(0, 20).map((r) => row('live', shape('running'),
    link(r.test_name || r.testcase_name, `/run/details/${r.session_id}`), timeNode(r.started_at, ago)))
    : [empty('Nothing runs', 'Start a test, or wait for a schedule.')]));
  const next = schedules.filter((s) => s.enabled && s.next_at).sort((a, b) => a.next_at.localeCompare(b.next_at)).slice(0, 5);
  byId('next').replaceChildren(...(next.length ? next.map((s) => row('next', element('b', s.next_at.slice(11, 16)),
    link(s.name, '/schedules'), element('span', s.next_at.slice(0, 10), 'soft')))
    : [empty('Nothing is planned', 'A schedule starts tests at given times.')]));
}

async function draw() {
  const [found, agents] = await Promise.all([readVerdicts(), all('/agents', 'agents')]);
  const first = found.total === 0;
  byId('first').hidden = !first;
  byId('daily').hidden = first;
  if (first) await drawFirst(agents);
  else drawDaily(found, agents, await all('/schedules', 'schedules'));
}

async function follow() {
  await draw().catch(complain);
  setTimeout(follow, POLL_MS);
}

startPage(async () => {
  await draw();
  setTimeout(follow, POLL_MS);
});
