// The page of one test: how it does, since when, what it is.

import {
  ago, all, api, badge, button, byId, element, empty, icon, keepingFocus, link, may, reading, startPage, strip, timeNode, toast,
} from './page.js';
import { crumbs, el, plural, table, when } from './report_ui.js';
import { halves, passRate, tile, TRENDS } from './trend.js';
import { lastFigures } from './last_figures.js';
import { startDialog } from './test_start.js';
import { conditionWords, namesOf, roleTag, rolesOf, stepNodes } from './test_words.js';

const POLL_MS = 5000;
const RUNS = 10;
const ID = location.pathname.split('/')[2];
const WORDS = { never_run: 'never run' };
const LAST = { failed: 'It failed', errored: 'There was no verdict', passed: 'It passed', stopped: 'It was stopped' };

let test = null;
let descriptions = null;

// What its runs say, in one sentence.
function sentence(verdict) {
  const { state, streak, since, cause, runs, last } = verdict;
  const why = cause ? `: ${cause}` : '';
  if (state === 'never_run') return 'It has not run yet. Start it to get a verdict.';
  if (state === 'stopped') return 'All of its runs were stopped, so there is no verdict.';
  if (state === 'flaky') {
    const bad = runs.filter((r) => r.status === 'failed').length;
    return `It passes only sometimes: ${bad} of the last ${runs.length} runs failed, since ${when(since)}${why}.`;
  }
  if (streak > 1) return `${{ failed: 'It has failed', errored: 'It could not be judged', passed: 'It has passed' }[state]} ${streak} times in a row, since ${when(since)}${why}.`;
  return `${LAST[state] || LAST[last.status]} ${when(since)}${why}.`;
}

function fact(name, ...value) {
  return el('span', null, `${name} `, ...value);
}

function drawHead(verdict, pools) {
  const state = verdict.state === 'never_run' ? 'queued' : verdict.state;
  document.title = `${test.name} – Offhook`;
  crumbs([[verdict.project_name, `/tests?${new URLSearchParams({ project: verdict.project_name })}`], ['Tests', '/tests'], [test.name]]);
  byId('title').replaceChildren(element('span', test.name), badge(state, WORDS[verdict.state] || verdict.state));
  byId('sentence').hidden = false;
  byId('sentence').textContent = sentence(verdict).replace(/\.\.$/, '.');
  byId('description').hidden = !test.description;
  byId('description').textContent = test.description || '';
  const last = verdict.last;
  byId('since').replaceChildren(...(verdict.runs.length ? [strip(verdict.runs), fact('Last run', el('b', null, when(last.started_at))),
    link('Last report', `/run/details/${last.session_id}`)] : []));
  const tags = JSON.parse(test.tags || '[]'); // a text in the API
  const pool = pools.find((p) => p.id === test.agentpool_id);
  byId('facts').replaceChildren(...[
    pool && fact('Runs in', el('b', null, pool.name)),
    tags.length && fact('Tags', el('b', null, tags.join(', '))),
    test.scenario && fact('Scenario', el('b', null, test.scenario)),
    test.retries_on_failure && fact('After a failure', el('b', null, plural(test.retries_on_failure, 'more run'))),
    test.updated_at && fact('Changed', timeNode(test.updated_at, ago)),
  ].filter(Boolean));
}

async function start() {
  const { data } = await api('POST', `/tests/${test.id}/run`, {});
  toast(element('span', `${test.name} was started. `), link('Report', data.report_url));
  await refresh();
}

async function startWith() {
  const report = await startDialog(test, descriptions);
  if (!report) return;
  toast(element('span', `${test.name} was started with other values. `), link('Report', report));
  await refresh();
}

function tool(id, text, picture, address) {
  return el('a', { class: 'btn', id, href: address }, icon(picture), text);
}

function drawTools() {
  const tools = [];
  if (may('run')) {
    const go = button('', start, 'primary');
    go.className = 'btn primary';
    go.id = 'start';
    go.append(icon('play'), 'Start');
    const other = button('Start with …', startWith);
    other.className = 'btn';
    other.id = 'start-with';
    tools.push(go, other, tool('capacity', 'Find capacity', 'plot', `/capacity?test=${test.id}`));
  }
  if (may('write')) {
    tools.push(tool('edit', 'Edit', 'save', `/tests/${test.id}/edit`), tool('duplicate', 'Duplicate', 'plus', `/tests/new?copy=${test.id}`));
  }
  byId('tools').replaceChildren(...tools);
}

function drawTrends(trend) {
  const days = (member) => trend.map((d) => d[member]);
  byId('trends').replaceChildren(...TRENDS.map((k) => tile(k, days(k.member), k.member === 'pass_rate' ? passRate(trend) : halves(days(k.member)))));
}

function drawRuns(runs, total) {
  byId('runs-count').textContent = total > runs.length ? `the last ${runs.length} of ${total}` : `${total}`;
  byId('runs-all').href = `/runs?${new URLSearchParams({ test: test.name })}`;
  byId('runs').replaceChildren(runs.length ? table(`Runs of ${test.name}`, runs, [
    ['Verdict', (r) => badge(r.status)],
    ['Run', (r) => link(`Run ${r.id}`, `/run/details/${r.session_id}`)],
    ['Result', (r) => r.result_description || '–', 'wide wide-only'],
    ['Started', (r) => timeNode(r.started_at, when), 'num'],
  ]) : empty('No run', 'Its runs are listed here.'));
}

let measured = ''; // session id of the run whose figures stand beside the conditions

async function drawConditions(last) {
  if (measured === (last ? last.session_id : null)) return;
  measured = last ? last.session_id : null;
  const { figureOf } = await lastFigures(test, last);
  const roles = rolesOf(test.steps);
  const rows = conditionWords(test.conditions || [], descriptions);
  byId('conditions').replaceChildren(...(rows.length ? rows.map((c) => el('div', { class: 'word-row' }, roleTag(c.role, roles),
    el('span', null, el('b', null, c.words), ' ', figureOf(c.set, c.entry)), el('span', { class: 'note' }, c.scope))) : [empty('No condition', 'Only the built-in checks are judged: registrations, and that calls are placed.')]));
}

let compared = 0; // the newest run when the failed runs were compared with the passed ones

// Of a flaky test, say what the failed runs have in common.
async function drawCommon({ flaky, runs }) {
  byId('common').hidden = !flaky;
  if (!flaky || compared === runs[0].id) return;
  const { flakiness } = await api('GET', `/tests/${ID}/flakiness`);
  compared = runs[0].id;
  byId('common').textContent = flakiness.sentence ? `What the failed runs have in common: ${flakiness.sentence}`
    : 'The failed runs have nothing in common that could not be chance: agent, peer, codec and hour of the day were compared with the passed runs.';
}

function line(...nodes) {
  return el('div', { class: 'next side-row' }, ...nodes);
}

function drawSchedules(schedules) {
  const own = schedules.filter((s) => s.test_id === test.id
    || (s.project_id === test.project_id && (!(s.test_ids || []).length || s.test_ids.includes(test.id))));
  byId('schedules').replaceChildren(...(own.length ? own.map((s) => line(el('span', null, link(s.name, '/schedules'), ' ',
    el('span', { class: 'key' }, s.cron || s.run_at || '')), el('span', { class: 'soft' }, s.enabled ? when(s.next_at) : 'switched off')))
    : [empty('No schedule', 'It runs only when somebody starts it.')]));
}

function drawCallbacks() {
  const told = [test.callback_on_failure && 'it fails', test.callback_on_recovery && 'it passes again'].filter(Boolean);
  byId('callbacks').replaceChildren(told.length && test.callback_url ? line(el('span', null, `When ${told.join(' or ')}: `,
    el('span', { class: 'mono' }, test.callback_url)), el('span', { class: 'soft' }, test.callback_template_name || 'usual body'))
    : empty('No callback', 'Nobody is told when it fails.'));
}

async function refresh() {
  const runs = new URLSearchParams({ count: RUNS, filtername: 'test_id', filterval: test.id });
  const [{ verdict, trend }, listed, pools] = await Promise.all([api('GET', `/tests/${ID}/verdict`), api('GET', `/runs?${runs}`),
    all('/agent-pools', 'agent_pools')]);
  keepingFocus(() => {
    drawHead(verdict, pools);
    drawTrends(trend);
    drawRuns(listed.runs, listed.total);
  });
  await drawCommon(verdict);
  await drawConditions(verdict.last);
}

async function follow() {
  if (!document.hidden) await reading(refresh);
  setTimeout(follow, POLL_MS);
}

startPage(async () => {
  test = (await api('GET', `/tests/${ID}`)).test;
  descriptions = (await api('GET', '/descriptions')).descriptions;
  drawTools();
  const names = await namesOf(test.steps, descriptions);
  byId('test-steps').replaceChildren(...(test.steps.length ? stepNodes(test.steps, descriptions, names) : [empty('No step', 'The test does nothing yet.')]));
  drawCallbacks();
  drawSchedules(await all('/schedules', 'schedules'));
  await refresh();
  setTimeout(follow, POLL_MS);
});
