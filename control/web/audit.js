// Who changed what, the latest first. The filters are in the address, so that a view can be shared.

import { api, badge, byId, complain, during, element, fill, setValues, startPage, timeNode, values } from './page.js';

const PAGE = 100;
const DONE = { POST: 'made', PUT: 'changed', DELETE: 'deleted' };
const WORDS = {
  web_user: 'user', credential_pool: 'accounts', agent_pool: 'agent pool', callback_template: 'callback template', appimage: 'prompt',
  api_key: 'API key',
};

const asked = () => Object.fromEntries(new URLSearchParams(location.search));

// "changed test IVR", with the request below it.
function what(entry) {
  const node = element('span');
  const words = entry.kind === 'run' && entry.method === 'POST' ? `started ${entry.record}`
    : entry.kind && entry.outcome === 'changed' ? `${DONE[entry.method]} ${WORDS[entry.kind] || entry.kind} ${entry.record}` : entry.record || '';
  node.append(element('span', `${words} `), element('span', `${entry.method} ${entry.path}`, 'key'));
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
    ['Who', (e) => e.actor || '–'],
    ['What', what, 'wide'],
    ['From', (e) => e.address, 'wide-only'],
    ['', (e) => (e.outcome === 'refused' ? badge('failed', 'refused') : '')],
  ], 'No entry matches. Clear a filter.');
  const start = Number(filter.start || 0);
  byId('newer').hidden = start === 0;
  byId('older').hidden = start + page.audit.length >= page.total;
  byId('range').textContent = page.total ? `${start + 1} to ${start + page.audit.length} of ${page.total}` : '';
}

function go(changes) {
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(changes)) if (value && value !== '0') search.set(name, value);
  history.pushState(null, '', search.size ? `/audit?${search}` : '/audit');
  return draw();
}

startPage(async () => {
  const form = byId('form');
  setValues(form, asked());
  form.addEventListener('submit', (event) => {
    event.preventDefault();
    during(form.querySelector('button'), () => go(values(form)), form);
  });
  const turn = (by) => go({ ...asked(), start: String(Math.max(0, Number(asked().start || 0) + by)) });
  byId('newer').addEventListener('click', () => during(byId('newer'), () => turn(-PAGE)));
  byId('older').addEventListener('click', () => during(byId('older'), () => turn(PAGE)));
  window.addEventListener('popstate', () => {
    setValues(form, asked());
    draw().catch(complain);
  });
  await draw();
});
