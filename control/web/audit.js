// Who changed what, the latest first. The filters are in the address, so that a view can be shared.

import { api, badge, element, fill, startPage, timeNode } from './page.js';
import { asked, connect, showRange } from './paged.js';

const PAGE = 100;
const DONE = { POST: 'made', PUT: 'changed', DELETE: 'deleted' };
const WORDS = {
  web_user: 'user', credential_pool: 'accounts', agent_pool: 'agent pool', callback_template: 'callback template', appimage: 'prompt',
  api_key: 'API key', capacity_search: 'capacity search of',
};

// "changed test IVR", with the request below it.
function what(entry) {
  const node = element('span');
  const words = entry.actor_kind === 'retention' ? `deleted ${entry.record}` : entry.kind === 'run' && entry.method === 'POST' ? `started ${entry.record}`
    : entry.kind && entry.outcome === 'changed' ? `${DONE[entry.method]} ${WORDS[entry.kind] || entry.kind} ${entry.record}` : entry.record || '';
  node.append(element('span', `${words} `), element('span', entry.actor_kind === 'command' ? `offhook-controller ${entry.path}` : `${entry.method} ${entry.path}`, 'key'));
  return node;
}

async function draw() {
  const filter = asked();
  const search = new URLSearchParams({ start: filter.start || 0, count: PAGE });
  for (const name of ['actor', 'kind', 'outcome']) if (filter[name]) search.set(name, filter[name]);
  if (filter.since) search.set('since', `${filter.since} 00:00:00`);
  const page = await api('GET', `/audit?${search}`);
  fill('audit', page.audit, [
    ['When', (e) => timeNode(e.at, (text) => text)],
    ['Who', (e) => ({ schedule: `schedule ${e.actor}`, capacity_search: `capacity search of ${e.actor}` }[e.actor_kind] || e.actor || '–')],
    ['What', what, 'wide'],
    ['From', (e) => e.address || '–', 'wide-only'],
    ['', (e) => (e.outcome === 'refused' ? badge('failed', 'refused') : '')],
  ], 'No entry matches. Clear a filter.');
  showRange(page.audit.length, page.total);
}

startPage(async () => {
  connect(draw, PAGE);
  await draw();
});
