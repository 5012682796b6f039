// The way to the first judged call, on one page. Each step is checked with the API, so the list goes on by itself.

import { addressOf, all, api, badge, button, byId, element, icon, joinCommand, link, may, options } from './page.js';

const TRANSPORTS = ['udp', 'tcp', 'tls'];
const PARTIES = ['caller', 'callee'];
const TITLES = ['Controller runs', 'Start an agent', 'Name the system under test', 'Make a test of a scenario', 'Start the test'];

let joining = ''; // has a token, which is shown once: for as long as the page is open
let drawn = '';
const typed = {}; // what the fields have, while a step is drawn again

function step(number, state, note, ...content) {
  const node = element('li', null, state);
  node.append(element('span', state === 'done' ? '✓' : number, 'n'), element('h3', TITLES[number - 1]),
    state === 'now' ? badge('running', 'waiting') : state === 'done' ? badge('passed', 'done') : element('span', ''));
  if (state === 'now') {
    node.setAttribute('aria-current', 'step');
    node.append(...(may('write') ? content : [element('p', 'It needs a user with the right write.')]));
  } else if (note) node.append(element('p', note, 'note'));
  return node;
}

function field(label, name, more) {
  const node = element('label', label);
  const input = element('input', null, 'in');
  Object.assign(input, { name, required: true, autocomplete: 'off', ...more });
  input.value = typed[name] || '';
  input.addEventListener('input', () => { typed[name] = input.value; });
  node.append(input);
  return node;
}

function choice(label, name, entries) {
  const node = element('label', label);
  const select = element('select', null, 'in');
  select.name = name;
  options(select, entries);
  if (typed[name]) select.value = typed[name];
  select.addEventListener('change', () => { typed[name] = select.value; });
  node.append(select);
  return node;
}

// A form whose button does the work; the key Enter presses it.
function formOf(id, text, work, ...content) {
  const form = element('form', null, 'grid first-form');
  form.id = id;
  const go = button(text, async () => {
    if (form.reportValidity()) await work(Object.fromEntries(new FormData(form)));
  }, 'primary');
  const box = element('p', null, 'buttons');
  box.append(go);
  form.append(...content, box);
  form.addEventListener('submit', (event) => {
    event.preventDefault();
    go.click();
  });
  return form;
}

// ---- an agent ----

async function showToken() {
  const pools = await all('/agent-pools', 'agent_pools');
  const made = pools.length ? await api('POST', `/agent-pools/${pools[0].id}/token`) : await api('POST', '/agent-pools', { name: 'default' });
  joining = joinCommand(made);
  byId('join').replaceChildren(...command());
}

async function copy(text, pre, said) {
  try {
    await navigator.clipboard.writeText(text); // with TLS, or on this machine
    said.textContent = 'Copied.';
  } catch {
    getSelection().selectAllChildren(pre);
    said.textContent = 'It is selected: copy it with Ctrl C.';
  }
}

function command() {
  if (!joining) return [button('Show the join command', showToken, 'primary')];
  const pre = element('pre', joining, 'raw');
  pre.tabIndex = 0; // it may scroll sideways
  const said = element('span', '', 'note');
  said.setAttribute('role', 'status');
  return [pre, button('Copy', () => copy(joining, pre, said)), said];
}

function agentStep(state, online) {
  const box = element('div', null, 'cmd');
  box.id = 'join';
  box.append(...command());
  return step(2, state, online.map((a) => `${a.name} is online.`).join(' '),
    element('p', 'It places the calls and measures what it hears. On a host that reaches the system under test:'), box);
}

// ---- step 3: the system under test and two accounts ----

async function nameSystem(values, have, draw) {
  if (!have.targets.length) {
    await api('POST', '/targets', { name: values.host.trim(), hosts: [{ ...addressOf(values.host.trim()), transport: values.transport }] });
  }
  for (const party of PARTIES.slice(have.accounts.length)) {
    const username = values[`${party}-user`];
    await api('POST', '/credential-pools', { name: `${username}, ${party}`,
      credentials: [{ username, password: values[`${party}-password`] }] });
  }
  for (const party of PARTIES) delete typed[`${party}-password`];
  await draw();
}

function systemStep(state, have, draw) {
  const fields = have.targets.length ? [] : [field('Address of the PBX, with its port ', 'host', { placeholder: '192.0.2.1:5060' }),
    choice('Transport ', 'transport', TRANSPORTS.map((t) => [t, t.toUpperCase()]))];
  for (const party of PARTIES.slice(have.accounts.length)) {
    fields.push(field(`User of the ${party} `, `${party}-user`, { placeholder: party === 'caller' ? '1001' : '1002' }),
      field(`Password of the ${party} `, `${party}-password`, { type: 'password', autocomplete: 'new-password' }));
  }
  const note = have.targets.length ? `${have.targets[0].name}; ${have.accounts.map((a) => a.name).join('; ')}` : '';
  return step(3, state, state === 'done' ? note : '',
    element('p', have.targets.length ? `${have.targets[0].name} is set. Two accounts on it, for the caller and the callee:`
      : 'Its address, and two accounts on it: the caller calls the callee through it.'),
    formOf('system', 'Save', (values) => nameSystem(values, have, draw), ...fields));
}

// ---- the test ----

// The test of a scenario with the records made here: an account for each party, the target for both.
async function makeTest(values, have, draw) {
  const { test } = await api('GET', `/scenarios/${values.scenario}/test`);
  const projects = await all('/projects', 'projects');
  const project = projects[0] || (await api('POST', '/projects', { name: 'First project' })).project;
  for (const action of test.steps.flat()) {
    if (action.type === 'register') {
      action.credential_pool = have.accounts[PARTIES.indexOf(action.role)].id;
      action.target_pool = have.targets[0].id;
    } else if (action.type === 'call' && !action.dial_destination) action.dial_destination = '{{callee.username}}';
  }
  await api('POST', '/tests', { ...test, name: values.name.trim(), project_id: project.id, agentpool_id: have.pool.id });
  await draw();
}

function testStep(state, have, draw) {
  const of = (name) => have.scenarios.find((s) => s.name === name);
  typed.scenario = typed.scenario || 'single-call';
  typed.name = typed.name || (of(typed.scenario) ? of(typed.scenario).title : '');
  const select = choice('Scenario ', 'scenario', have.scenarios.map((s) => [s.name, s.title]));
  const name = field('Name of the test ', 'name');
  const about = element('p', of(typed.scenario) ? of(typed.scenario).description : '', 'note');
  select.addEventListener('change', () => {
    const chosen = of(typed.scenario);
    about.textContent = chosen.description;
    typed.name = chosen.title;
    name.querySelector('input').value = chosen.title;
  });
  const other = element('p', 'Or make your own in ', 'note');
  other.append(link('the editor', '/tests/new'), '.');
  return step(4, state, have.tests.length ? have.tests[0].name : '', element('p', 'A test has steps, and conditions that must hold.'),
    formOf('make', 'Make the test', (values) => makeTest(values, have, draw), select, name), about, other);
}

function runStep(state, have) {
  const [test] = have.tests;
  const go = button('', async () => {
    const { data } = await api('POST', `/tests/${test.id}/run`, {});
    location.assign(`/run/details/${data.session_id}`);
  }, 'primary');
  go.append(icon('play'), 'Start');
  const box = element('p', null, 'buttons');
  box.append(go);
  const words = element('p', 'The call runs, is measured, and gets a verdict. The report shows it as it goes.');
  if (test) words.prepend(link(test.name, `/tests/${test.id}`), '. ');
  return step(5, state, '', words, box);
}

async function read(agents) {
  const [pools, targets, accounts, tests, scenarios] = await Promise.all([all('/agent-pools', 'agent_pools'), all('/targets', 'targets'),
    all('/credential-pools', 'credential_pools'), all('/tests', 'tests'), all('/scenarios', 'scenarios')]);
  const online = agents.filter((a) => a.state === 'online');
  return { online, targets, accounts, tests, pool: pools.find((p) => online.length && p.id === online[0].pool_id) || pools[0],
    scenarios: scenarios.filter((s) => s.available && s.roles.join() === PARTIES.join()) };
}

export async function drawFirst(agents) {
  const have = await read(agents);
  const done = [true, have.online.length > 0, have.tests.length > 0 || (have.targets.length > 0 && have.accounts.length >= PARTIES.length),
    have.tests.length > 0, false];
  const now = done.indexOf(false);
  byId('title').textContent = 'From here to the first judged call';
  byId('sentence').textContent = 'Five steps, about five minutes. Each one is checked, and the list goes on by itself.';
  byId('sentence').hidden = false;
  const state = JSON.stringify([done, have.targets.length, have.accounts.length, have.online.map((a) => a.name)]);
  if (state === drawn) return; // keep the focus and what is typed
  const went = drawn !== ''; // a step further: the focus goes with it
  drawn = state;
  const of = (i) => (done[i] ? 'done' : i === now ? 'now' : '');
  const draw = () => drawFirst(have.online);
  byId('steps').replaceChildren(step(1, 'done', location.host), agentStep(of(1), have.online), systemStep(of(2), have, draw),
    testStep(of(3), have, draw), runStep(of(4), have));
  byId('moved').textContent = `Step ${now + 1} of ${TITLES.length}: ${TITLES[now]}`; // said to those who do not see it
  if (went) {
    const next = byId('steps').querySelector('.now input, .now button');
    if (next) next.focus({ preventScroll: true });
  }
}
