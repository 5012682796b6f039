// Scenarios: a form made of the parameters that the controller describes.

import {
  all, api, button, byId, element, fill, link, may, onSubmit, options, say, startPage, values,
} from './page.js';

// Listings of the records that parameters refer to by id.
const LISTS = {
  agentpool_id: ['/agent-pools', 'agent_pools'],
  project_id: ['/projects', 'projects'],
  credential_pool: ['/credential-pools', 'credential_pools'],
  target_pool: ['/targets', 'targets'],
};
// Parameters outside of the folded box: most starts need them.
const COMMON = ['credential_pool', 'target_pool', 'username', 'password', 'target', 'dial_destination', 'duration',
  'calls', 'report.mode'];

const lists = {};
let scenario = null;

async function recordsOf(name) {
  const [path, member] = LISTS[name];
  if (!lists[path]) lists[path] = await all(path, member);
  return lists[path].map((r) => [r.id, `${r.name} (${r.id})`]);
}

const shownAs = { true: 'yes', false: 'no' };

async function input(param) {
  const base = param.name.split('.').pop();
  const usual = param.default === null || param.default === undefined ? ''
    : typeof param.default === 'string' ? param.default : JSON.stringify(param.default);
  let node;
  if (LISTS[base]) {
    node = element('select', null, 'in');
    options(node, await recordsOf(base), param.required ? '– choose –' : '–');
  } else if (param.values || param.type === 'boolean') {
    node = element('select', null, 'in');
    options(node, (param.values || ['true', 'false']).map((v) => [v, shownAs[v] || v]), usual ? `usual: ${shownAs[usual] || usual}` : '–');
  } else {
    node = element('input', null, 'in');
    node.placeholder = usual || (param.example === undefined ? '' : `such as ${JSON.stringify(param.example)}`);
    if (base === 'password') node.type = 'password';
    node.autocomplete = 'off';
  }
  node.name = param.name;
  node.required = param.required;
  return node;
}

async function field(param) {
  const label = element('label', null, 'field');
  const words = element('span');
  words.append(element('span', param.role ? `${param.word}, ${param.role}` : param.word), element('span', param.name, 'key'));
  const node = await input(param);
  const suffix = element('span', null, 'suffix');
  if (param.unit) suffix.append(node, element('span', param.unit, 'unit'));
  label.append(words, param.unit ? suffix : node, element('span', param.description, 'hint'));
  return label;
}

function boxOf(param) {
  if (param.required) return 'required';
  return COMMON.includes(param.name.split('.').pop()) || COMMON.includes(param.name) ? 'common' : 'more';
}

async function choose(name) {
  scenario = (await api('GET', `/scenarios/${name}`)).scenario;
  const { params } = await api('GET', `/scenarios/${name}/params`);
  byId('one-title').textContent = scenario.title;
  byId('one-description').textContent = scenario.description;
  byId('started').hidden = true;
  const boxes = { required: [], common: [], more: [] };
  for (const param of params) boxes[boxOf(param)].push(await field(param));
  for (const id of Object.keys(boxes)) byId(id).replaceChildren(...boxes[id]);
  byId('start').hidden = !may('run') || !scenario.available;
  byId('one').hidden = false;
  byId('one').dataset.scenario = name;
  byId('one').scrollIntoView();
}

async function start(form) {
  const { data } = await api('POST', `/tests/scenarios/${scenario.name}`, new URLSearchParams(values(form)));
  for (const node of form.querySelectorAll('input[type=password]')) node.value = '';
  const note = byId('started');
  note.hidden = false;
  note.replaceChildren(element('span', `${scenario.title} was started: `), link(data.session_id || 'the search', data.report_url),
    element('span', data.waiting_for ? `. It is queued: ${data.waiting_for}.` : ''));
  say('done', `${scenario.title} was started.`);
}

// The editor gets the records that are chosen; the other values are edited there.
function saveAsTest() {
  const search = new URLSearchParams({ scenario: scenario.name });
  for (const [name, value] of Object.entries(values(byId('form')))) if (LISTS[name.split('.').pop()]) search.set(name, value);
  location.assign(`/tests/new?${search}`);
}

startPage(async () => {
  onSubmit('form', start);
  byId('save').addEventListener('click', saveAsTest);
  fill('scenarios', await all('/scenarios', 'scenarios'), [
    ['Scenario', (s) => button(s.title, () => choose(s.name), 'link')],
    ['Roles', (s) => s.roles.join(', '), 'wide-only'],
    ['', (s) => s.description + (s.available ? '' : ` Not available: ${s.unavailable_reason}`), 'wide'],
  ], 'There is no scenario.');
});
