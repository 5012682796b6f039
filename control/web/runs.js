// All runs, newest first. The filters are in the address, so that a view can be shared.

import { api, badge, button, byId, element, fill, keepingFocus, link, may, reading, since, startPage, timeNode, toast } from './page.js';
import { confirmed } from './ask.js';
import { asked, connect, showRange } from './paged.js';

const PAGE = 50;
const COLUMNS = { status: 'session_status', test: 'test_name', project: 'project_name', tag: 'tags' };
const POLL_MS = 2000;

function query(filter) {
  const search = new URLSearchParams({ start: filter.start || 0, count: PAGE });
  for (const [name, column] of Object.entries(COLUMNS)) {
    if (!filter[name]) continue;
    search.append('filtername', column);
    search.append('filterval', filter[name]);
  }
  if (filter.since) search.set('startdate', Date.parse(filter.since) / 1000);
  return search;
}

// The runs that are chosen to be compared, the older one first.
const chosen = new Map();

function drawCompare() {
  const compare = byId('compare');
  compare.disabled = chosen.size !== 2;
  byId('chosen').textContent = chosen.size === 2 ? '' : `Choose two runs to compare; ${chosen.size || 'none'} chosen.`;
}

function choice(run) {
  const box = element('input');
  box.type = 'checkbox';
  box.id = `choose-${run.id}`;
  box.checked = chosen.has(run.id);
  box.setAttribute('aria-label', `Compare run ${run.id}`);
  box.addEventListener('change', () => {
    if (box.checked) chosen.set(run.id, run.session_id);
    else chosen.delete(run.id);
    drawCompare();
  });
  return box;
}

function compare() {
  const [a, b] = [...chosen].sort(([one], [other]) => one - other).map(([, session]) => session);
  location.assign(`/runs/compare?a=${a}&b=${b}`);
}

function stop(run) {
  if (run.status !== 'running' || !may('run')) return '';
  return button('Stop', async () => {
    await api('POST', `/runs/${run.id}/stop`);
    await draw();
  });
}

async function remove(run) {
  const name = `run ${run.id} of ${run.test_name || run.testcase_name}`;
  if (await confirmed(`Delete run ${run.id}?`, `Verdict, metrics, SIP messages and files of ${name} are deleted. This cannot be undone.`,
    [['Delete', true], ['Keep it', false]]) !== true) return;
  await api('DELETE', `/runs/${run.id}`);
  chosen.delete(run.id);
  await draw();
  toast(element('span', `${name[0].toUpperCase()}${name.slice(1)} was deleted.`));
}

// What may be done with a run, as far as the user's rights go.
function actions(run) {
  if (run.status === 'running' || !may('write')) return stop(run);
  return button('Delete', () => remove(run), 'danger');
}

async function draw() {
  const filter = asked();
  const page = await api('GET', `/runs?${query(filter)}`);
  const focus = document.activeElement && document.activeElement.id;
  keepingFocus(() => fill('runs', page.runs, [
    ['Compare', choice],
    ['Verdict', (r) => badge(r.status)],
    ['Test', (r) => link(r.test_name || r.testcase_name, `/run/details/${r.session_id}`), 'wide'],
    ['Project', (r) => r.project_name || '–', 'wide-only'],
    ['Result', (r) => r.result_description, 'wide'],
    ['Started', (r) => timeNode(r.started_at, since)],
    ['', actions],
  ], 'No run matches. Clear a filter, or start a test.'));
  if (focus && focus.startsWith('choose-') && byId(focus)) byId(focus).focus({ preventScroll: true });
  drawCompare();
  showRange(page.runs.length, page.total);
  return page.runs.some((r) => r.status === 'running');
}

// Follow runs in progress; a new one is seen at the next load.
async function follow() {
  await reading(draw);
  setTimeout(follow, POLL_MS);
}

startPage(async () => {
  connect(draw, PAGE);
  byId('compare').addEventListener('click', compare);
  await draw();
  setTimeout(follow, POLL_MS);
});
