// All tests with their last verdicts, the worst first. The filters are in the address, so that a view can be shared.

import {
  ago, api, badge, button, buttonTwice, buttons, byId, element, fill, keepingFocus, link, may, options, reading, setValues,
  startPage, strip, timeNode, toast,
} from './page.js';

const PAGE = 100;
const TYPING_MS = 250;
const STATES = ['failed', 'flaky', 'errored', 'stopped', 'never_run', 'passed'];
const WORDS = { never_run: 'never run' };

const asked = () => Object.fromEntries(new URLSearchParams(location.search));

async function start(test) {
  const { data } = await api('POST', `/tests/${test.test_id}/run`);
  toast(element('span', `${test.test_name} was started. `), link('Report', data.report_url));
}

function way(text, address) {
  const node = link(text, address);
  node.className = 'btn small';
  return node;
}

function actions(test) {
  const list = [];
  if (may('run')) list.push(button('Run', () => start(test)));
  if (may('write')) {
    list.push(way('Edit', `/tests/${test.test_id}/edit`), way('Duplicate', `/tests/new?copy=${test.test_id}`), buttonTwice('Delete', async () => {
      await api('DELETE', `/tests/${test.test_id}`);
      await load();
      toast(element('span', `${test.test_name} was deleted.`));
    }));
  }
  return buttons(...list);
}

function chip(word, state, count, chosen) {
  const node = element('button', `${word} ${count}`, 'chip');
  node.type = 'button';
  node.setAttribute('aria-pressed', String(chosen));
  node.addEventListener('click', () => reading(() => go({ ...asked(), start: '', state: chosen ? '' : state })));
  return node;
}

function draw(page, filter) {
  const total = Object.values(page.states).reduce((a, b) => a + b, 0);
  byId('states').replaceChildren(chip('all', '', total, !filter.state), ...STATES.filter((s) => page.states[s] || filter.state === s)
    .map((s) => chip(WORDS[s] || s, s, page.states[s], filter.state === s)));
  fill('tests', page.verdicts, [
    ['Last verdict', (t) => badge(t.state === 'never_run' ? 'queued' : t.state, WORDS[t.state] || t.state)],
    ['Test', (t) => link(t.test_name, `/tests/${t.test_id}`), 'wide'],
    ['Project', (t) => t.project_name, 'wide-only'],
    ['Last 21 runs', (t) => strip(t.runs)],
    ['Last run', (t) => (t.last ? timeNode(t.last.started_at, ago) : '–')],
    ['', actions],
  ], total ? 'No test matches. Clear a filter.' : 'There is no test. Run a scenario, make a test, or clear the filters.');
  const at = Number(filter.start || 0);
  byId('previous').hidden = at === 0;
  byId('next').hidden = at + page.verdicts.length >= page.total;
  byId('range').textContent = page.total > PAGE ? `${at + 1} to ${at + page.verdicts.length} of ${page.total}` : '';
}

let latest = 0; // an answer that a later request has overtaken is dropped

async function load() {
  const filter = asked();
  const search = new URLSearchParams({ start: filter.start || 0, count: PAGE });
  for (const name of ['name', 'project', 'tag', 'state']) if (filter[name]) search.set(name, filter[name]);
  const own = ++latest;
  const page = await api('GET', `/tests/verdicts?${search}`);
  if (own === latest) keepingFocus(() => draw(page, filter));
}

function go(changes) {
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(changes)) if (value && value !== '0') search.set(name, value);
  history.replaceState(null, '', search.size ? `/tests?${search}` : '/tests');
  return load();
}

startPage(async () => {
  const form = byId('form');
  const scenario = link('Run a scenario', '/scenarios');
  scenario.className = 'btn';
  byId('tools').append(scenario);
  if (may('write')) {
    const imported = link('Import a capture', '/tests/import');
    imported.className = 'btn';
    byId('tools').append(imported);
    const made = link('New test', '/tests/new');
    made.className = 'btn primary';
    byId('tools').append(made);
  }
  form.addEventListener('submit', (event) => event.preventDefault());
  let typing;
  form.addEventListener('input', () => {
    clearTimeout(typing);
    typing = setTimeout(() => reading(() => go({ ...asked(), start: '', name: form.elements.name.value,
      project: form.elements.project.value, tag: form.elements.tag.value })), TYPING_MS);
  });
  const turn = (by) => reading(() => go({ ...asked(), start: String(Math.max(0, Number(asked().start || 0) + by)) }));
  byId('previous').addEventListener('click', () => turn(-PAGE));
  byId('next').addEventListener('click', () => turn(PAGE));
  const { projects } = await api('GET', '/projects?count=1000');
  options(form.elements.project, projects.map((p) => [p.name, p.name]), 'all');
  setValues(form, asked());
  await load();
});
