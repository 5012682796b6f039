// All tests with their last verdicts, the worst first.

import {
  ago, api, badge, button, buttonTwice, buttons, byId, complain, element, fill, link, may, options, setValues, startPage, strip,
  timeNode, toast, values,
} from './page.js';
import { readVerdicts, RUNS_MAX } from './verdicts.js';

const ORDER = ['failed', 'flaky', 'errored', 'stopped', 'queued', 'unknown', 'passed'];
const WORDS = { queued: 'never run', unknown: `not in the last ${RUNS_MAX} runs` };
const KEPT = ['project_id', 'agentpool_id', 'steps', 'conditions', 'description', 'tags', 'scenario', 'record',
  'callback_on_failure', 'callback_template_name', 'callback_url', 'retries_on_failure'];

let found = [];

async function start(test) {
  const { data } = await api('POST', `/tests/${test.id}/run`);
  toast(element('span', `${test.name} was started. `), link('Report', data.report_url));
}

// The secret of its callback is not readable, so the copy has none.
async function duplicate(test) {
  const whole = (await api('GET', `/tests/${test.id}`)).test;
  const copy = { name: `${test.name} (copy)` };
  for (const name of KEPT) if (whole[name] !== undefined && whole[name] !== null) copy[name] = whole[name];
  await api('POST', '/tests', copy);
  await load();
  toast(element('span', `${copy.name} was made.`));
}

function actions({ test }) {
  const list = [];
  if (may('run')) list.push(button('Run', () => start(test)));
  if (may('write')) {
    list.push(button('Duplicate', () => duplicate(test)), buttonTwice('Delete', async () => {
      await api('DELETE', `/tests/${test.id}`);
      await load();
      toast(element('span', `${test.name} was deleted.`));
    }));
  }
  return buttons(...list);
}

function draw() {
  const filter = values(byId('form'));
  const search = new URLSearchParams(filter);
  history.replaceState(null, '', search.size ? `/tests?${search}` : '/tests');
  const shown = found.filter(({ test, state }) => (!filter.name || test.name.toLowerCase().includes(filter.name.toLowerCase()))
    && (!filter.project || test.project_name === filter.project) && (!filter.state || state === filter.state)
    && (!filter.tag || JSON.parse(test.tags || '[]').includes(filter.tag)));
  fill('tests', shown, [
    ['Last verdict', (t) => badge(t.state === 'unknown' ? 'queued' : t.state, WORDS[t.state] || t.state)],
    ['Test', (t) => link(t.test.name, `/runs?test=${encodeURIComponent(t.test.name)}`), 'wide'],
    ['Project', (t) => t.test.project_name, 'wide-only'],
    ['Last 21 runs', (t) => strip(t.runs.map((r) => r.status).reverse())],
    ['Last run', (t) => (t.last ? timeNode(t.last.started_at, ago) : '–')],
    ['', actions],
  ], found.length ? 'No test matches. Clear a filter.' : 'There is no test yet. Run a scenario, or add one with the API.');
}

async function load() {
  found = (await readVerdicts()).tests;
  found.sort((a, b) => ORDER.indexOf(a.state) - ORDER.indexOf(b.state) || a.test.name.localeCompare(b.test.name));
  draw();
}

startPage(async () => {
  const form = byId('form');
  const scenario = link('Run a scenario', '/scenarios');
  scenario.className = 'btn';
  byId('tools').append(scenario);
  form.addEventListener('submit', (event) => event.preventDefault());
  form.addEventListener('input', draw);
  const asked = Object.fromEntries(new URLSearchParams(location.search));
  const { projects } = await api('GET', '/projects?count=1000');
  options(form.elements.project, projects.map((p) => [p.name, p.name]), 'all');
  setValues(form, asked);
  await load().catch(complain);
});
