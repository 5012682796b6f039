// The report of a project run: which tests failed and why, each with a link to its report.
// Drawn from PAGE/data (docs/reference/report.md).

import { byId } from './dom.js';
import { asPage, loadSession } from './api.js';
import { capital } from './report_model.js';
import { badge, duration, el, figure, fold, pages, plural, seconds, shape, table, when } from './report_ui.js';

const POLL_MS = 2000;
const SHOWN = 25;
const NAMED = 2; // tests that the sentence names
const ORDER = ['failed', 'errored', 'stopped', 'running'];
const PAGE = location.pathname.replace(/\/$/, '');
let drawn = '';

// The last attempt of each run; an attempt is a run of its own, of the same test.
function lastAttempts(runs) {
  const found = [];
  for (const run of runs) {
    const before = run.attempt > 1 ? found.findIndex((r) => r.test_name === run.test_name && r.attempt === run.attempt - 1) : -1;
    if (before >= 0) found[before] = run;
    else found.push(run);
  }
  return found;
}

function sentence(doc, runs) {
  const of = (status) => runs.filter((r) => r.status === status);
  const name = (r) => [r.test_name];
  const parts = [];
  for (const [status, words] of [['failed', 'failed'], ['errored', 'could not be judged'], ['stopped', 'stopped']]) {
    const own = of(status);
    if (!own.length) continue;
    parts.push(`${own.length} of ${plural(doc.total_tests, 'test')} ${words}: `);
    own.slice(0, NAMED).forEach((r, i) => parts.push(i ? ', ' : '', name(r)));
    parts.push(own.length > NAMED ? `, and ${own.length - NAMED} more. ` : '. ');
  }
  const missing = doc.total_tests - of('passed').length - of('failed').length - of('errored').length - of('stopped').length;
  if (doc.run_status === 'running' || missing > 0) parts.push(`${plural(missing, 'test')} ${missing === 1 ? 'has' : 'have'} not ended. `);
  if (!parts.length) parts.push(`All ${plural(doc.total_tests, 'test')} passed.`);
  return parts;
}

function linked(run) {
  return run.link ? el('a', { href: run.link }, run.test_name) : el('span', null, run.test_name);
}

function attempts(run) {
  return run.attempt > 1 ? ` attempt ${run.attempt}` : '';
}

function broken(run) {
  return el('div', { class: 'cond', 'data-status': run.status }, shape(run.status),
    el('h3', null, linked(run), el('span', { class: 'note' }, attempts(run))),
    el('p', null, run.result_description || (run.status === 'running' ? 'It runs.' : '–')));
}

function draw(doc) {
  const runs = lastAttempts(doc.runs);
  const bad = runs.filter((r) => r.status !== 'passed').sort((a, b) => ORDER.indexOf(a.status) - ORDER.indexOf(b.status));
  const passed = runs.filter((r) => r.status === 'passed');
  document.title = `${capital(doc.run_status)}: ${doc.project_name} – Offhook`;
  byId('title').replaceChildren(el('span', { id: 'name' }, doc.project_name), el('span', { id: 'status', role: 'status' }, badge(doc.run_status)));
  byId('sentence').hidden = false;
  byId('sentence').replaceChildren(...sentence(doc, runs).map((p) => (Array.isArray(p) ? el('b', null, p[0]) : p)));
  const fact = (name, value) => el('span', null, `${name} `, el('b', null, value));
  const facts = [fact('Started', `${when(doc.created_at)} UTC`), fact('Tests', figure(doc.total_tests))];
  if (doc.stopped_at) facts.push(fact('Took', duration(seconds(doc.stopped_at) - seconds(doc.created_at))));
  byId('facts').replaceChildren(...facts);
  const over = runs.filter((r) => r.status !== 'running').length;
  byId('progress').hidden = doc.run_status !== 'running';
  byId('progress').value = doc.total_tests ? over / doc.total_tests : 0;
  byId('progress').textContent = `${over} of ${doc.total_tests}`;
  byId('tests-note').textContent = `${passed.length} of ${doc.total_tests} passed`;
  const nodes = [];
  if (bad.length) nodes.push(pages(bad, SHOWN, (part) => el('div', null, ...part.map(broken))));
  if (passed.length) {
    nodes.push(fold(`${plural(passed.length, 'test')} passed`, () => pages(passed, SHOWN, (part) => table('Tests that passed', part, [
      ['Test', (r) => el('span', null, shape('passed'), ' ', linked(r))], ['Attempt', (r) => figure(r.attempt), 'num'],
      ['Result', (r) => figure(r.result_description), 'wide-only']])), !bad.length, 'passed'));
  }
  if (!runs.length) nodes.push(el('p', { class: 'empty' }, 'No test has begun yet.'));
  byId('runs').replaceChildren(...nodes);
}

async function refresh() {
  let again = true;
  try {
    const answer = await fetch(`${PAGE}/data`, { ...asPage(), cache: 'no-store' });
    if (!answer.ok) throw new Error(`the controller answered ${answer.status}`);
    const text = await answer.text();
    const doc = JSON.parse(text);
    if (text !== drawn) draw(doc);
    drawn = text;
    byId('failure').hidden = true;
    again = doc.run_status === 'running';
  } catch (error) {
    byId('failure').hidden = false;
    byId('failure').textContent = `The report could not be loaded: ${error.message}. Trying again.`;
  }
  if (again) setTimeout(refresh, POLL_MS);
  document.body.dataset.drawn = again ? 'partly' : 'done';
}

async function start() {
  if (!PAGE.startsWith('/kiosk/')) await loadSession();
  await refresh();
}

start();
