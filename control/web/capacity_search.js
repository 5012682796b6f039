// One capacity search: what was found, the curve, its trials.

import { api, button, byId, element, empty, keepingFocus, link, may, reading, startPage, timeNode, toast } from './page.js';
import { confirmed } from './ask.js';
import { searchPlot } from './capacity_plot.js';
import { load, outcomeBadge, searchBadge, searchSentence, unitOf } from './capacity_words.js';
import { crumbs, el, plural, scrolling, table, when } from './report_ui.js';

const POLL_MS = 2000;
const PATH = `/capacity-searches/${location.pathname.split('/')[2]}`;

let search = null;

const fact = (name, ...value) => el('span', null, `${name} `, ...value);
const bold = (text) => el('b', null, text);

function drawHead() {
  document.title = `Capacity of ${search.test_name} – Offhook`;
  crumbs([[search.project_name], ['Capacity searches', '/capacity'], [search.test_name]]);
  byId('title').replaceChildren(element('span', `Capacity of ${search.test_name}`), searchBadge(search));
  byId('sentence').hidden = false;
  byId('sentence').textContent = searchSentence(search);
  byId('facts').replaceChildren(...[
    search.test_id && fact('Test', link(search.test_name, `/tests/${search.test_id}`)),
    fact('Loads', bold(`${search.min} to ${search.max} ${unitOf(search)}`)),
    fact('Trial', bold(`${search.trial_s} s`), `, warm-up ${search.warm_up_s} s, cool-down ${search.cool_down_s} s`),
    fact('Result at most', bold(`${search.width_percent} %`), ' wide'),
    fact('Agents', bold(search.agentpool_name)),
    fact('Started', timeNode(search.created_at, when)),
    search.stopped_at && fact('Ended', timeNode(search.stopped_at, when)),
  ].filter(Boolean));
}

async function stop() {
  await api('POST', `${PATH}/stop`, {});
  await refresh();
  toast(element('span', 'The search is being stopped.'));
}

async function remove() {
  if (await confirmed(`Delete the search of ${search.test_name}?`, 'Its result and its curve are deleted; its runs stay. This cannot be undone.',
    [['Delete', true], ['Keep it', false]]) !== true) return;
  await api('DELETE', PATH);
  location.assign('/capacity');
}

function drawTools() {
  const running = search.status === 'running';
  const again = link('Search again', `/capacity?test=${search.test_id}`);
  again.className = 'btn';
  byId('tools').replaceChildren(...[
    running && may('run') && button('Stop', stop),
    !running && search.test_id && may('run') && again,
    !running && may('write') && button('Delete', remove, 'danger'),
  ].filter(Boolean));
}

function result(trial) {
  const words = element('span', trial.sentence || '–');
  if (trial.discarded) words.append(' ', element('span', 'Does not count: the target or the tester had not recovered.', 'soft'));
  return words;
}

function drawTrials() {
  const { trials } = search;
  byId('trials-count').textContent = plural(trials.length, 'run');
  const rows = trials.map((trial, i) => ({ ...trial, number: i + 1 })).reverse();
  byId('trials').replaceChildren(rows.length ? table(`Trials of ${search.test_name}`, rows, [
    ['Outcome', outcomeBadge],
    ['Trial', (t) => link(`Trial ${t.number}`, `/run/details/${t.session_id}`)],
    ['Load', (t) => load(search, t.load), 'num'],
    ['Result', result, 'wide'],
    ['Started', (t) => timeNode(t.started_at, when), 'num wide-only'],
  ]) : empty('No trial', 'Its runs are listed here.'));
}

async function refresh() {
  search = (await api('GET', PATH)).capacity_search;
  keepingFocus(() => {
    drawHead();
    drawTools();
    byId('curve').replaceChildren(scrolling(searchPlot(search), 'Curve'));
    drawTrials();
  });
}

async function follow() {
  await reading(refresh);
  if (search.status === 'running') setTimeout(follow, POLL_MS);
}

startPage(async () => {
  await refresh();
  if (search.status === 'running') setTimeout(follow, POLL_MS);
});
