// Capacity searches: list, form.

import { all, api, byId, fill, link, onSubmit, options, startPage, timeNode, values } from './page.js';
import { searchBadge, searchLimit } from './capacity_words.js';
import { when } from './report_ui.js';

const POLL_MS = 5000;

async function drawList() {
  const searches = (await all('/capacity-searches', 'capacity_searches')).reverse();
  fill('searches', searches, [
    ['State', searchBadge],
    ['Test', (s) => link(s.test_name, `/capacity/${s.id}`), 'wide'],
    ['Capacity', (s) => (s.result ? s.result.text : '–'), 'wide'],
    ['Limit', (s) => searchLimit(s) || '–', 'wide-only'],
    ['Trials', (s) => s.trial_count, 'num'],
    ['Started', (s) => timeNode(s.created_at, when)],
  ], 'There is no search yet.');
  return searches.some((s) => s.status === 'running');
}

async function follow() {
  if (await drawList().catch(() => true)) setTimeout(follow, POLL_MS);
}

async function start(form) {
  const { capacity_search: search } = await api('POST', '/capacity-searches', new URLSearchParams(values(form)));
  location.assign(`/capacity/${search.id}`);
}

startPage(async () => {
  const select = byId('form').elements.test_id;
  options(select, (await all('/tests', 'tests')).map((t) => [t.id, t.name]), '– choose –');
  select.value = new URLSearchParams(location.search).get('test') || '';
  onSubmit('form', start);
  if (await drawList()) setTimeout(follow, POLL_MS);
});
