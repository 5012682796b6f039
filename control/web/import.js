// A capture becomes a test: its calls, the test of one of them, and what is not carried over.

import {
  all, api, byId, complain, element, empty, forget, onSubmit, options, startPage, table, timeNode,
} from './page.js';
import { crumbs, duration, el, plural, when } from './report_ui.js';
import { conditionWords, roleTag, rolesOf, stepNodes } from './test_words.js';

const NEW = 'a new one, as captured';
const GONE = 'The connection was lost. The file may be larger than the controller takes (upload_limit, 64 MiB).';

let descriptions = null;
let file = null; // that was read: the test is made of the same one
let chosen = null; // its call
let found = null; // the test of that call, as the API answered it
let named = ''; // the name that the API made

const field = (name) => byId('make').elements[name];

// ---- the request ----

// A file that is too large is refused before its fields are read.
function atFile(error) {
  const failed = error instanceof TypeError ? new Error(GONE) : error;
  if (failed !== error || failed.status === 413) failed.errors = [{ pointer: '/content', detail: failed.message }];
  return failed;
}

// Errors of the file stand in the first form, those of the test in the second.
const formOf = (error) => ((error.errors || []).some((e) => e.pointer === '/content') ? byId('form') : byId('make'));

async function ask(values) {
  const body = new FormData();
  for (const [name, value] of Object.entries(values)) if (value) body.append(name, value);
  body.append('content', file, 'capture');
  return (await api('POST', `/projects/${byId('form').elements.project_id.value}/import`, body)).import;
}

// ---- the calls ----

const OUTCOMES = {
  established: (c) => `established${c.ended_by ? `, ended by the ${c.ended_by}` : ''}`,
  refused: (c) => `refused with ${c.code}`,
  cancelled: () => 'cancelled by the caller',
  unanswered: () => 'no final response',
  unreadable: () => 'cannot be read',
};

const outcome = (call) => OUTCOMES[call.outcome](call);

function choice(call) {
  const input = el('input', { type: 'radio', name: 'call', value: call.number, 'aria-label': `Call ${call.number}, ${call.from || 'unknown'} to ${call.to || 'unknown'}, ${outcome(call)}`,
    on: { change: () => choose(call).catch((error) => complain(error, formOf(error))) } });
  input.checked = call === chosen;
  input.disabled = call.outcome === 'unreadable';
  return el('label', { class: 'pick' }, input, String(call.number));
}

function drawCalls(answer) {
  const left = answer.left_out ? ` ${answer.left_out.toLocaleString('en')} calls or messages above a limit were left out.` : '';
  byId('found').hidden = false;
  byId('found-note').textContent = `${plural(answer.calls.length, 'call')}.${left}${answer.damaged ? ` The file is damaged: ${answer.damaged}. What comes before was read.` : ''}`;
  byId('calls').replaceChildren(table(answer.calls, [
    ['Call', choice],
    ['From', (c) => c.from || '–'],
    ['To', (c) => c.to || '–'],
    ['Outcome', outcome],
    ['Started', (c) => timeNode(c.started_at, when), 'wide-only'],
    ['Duration', (c) => (c.duration_s === null ? '–' : duration(c.duration_s)), 'number'],
  ], 'Calls of the capture'));
}

async function read(form) {
  byId('failure').hidden = true;
  for (const id of ['found', 'test']) byId(id).hidden = true;
  byId('read').removeAttribute('class');
  [file] = form.elements.content.files;
  chosen = null;
  try {
    const answer = await ask({});
    const usable = answer.calls.filter((c) => c.outcome !== 'unreadable');
    if (answer.calls.length === 1 && usable.length) [chosen] = usable;
    drawCalls(answer);
    if (chosen) await choose(chosen);
    byId(chosen ? 'test-title' : 'found-title').focus();
  } catch (error) {
    throw atFile(error);
  }
}

// ---- the test ----

let latest = 0; // an answer that a later request has overtaken is dropped
let drawn = Promise.resolve(); // of the latest request

function choose(call) {
  drawn = askTest(call);
  return drawn;
}

async function askTest(call) {
  const own = ++latest;
  byId('failure').hidden = true;
  forget(byId('make'));
  const answer = await ask({ call: call.number, anonymise: field('anonymise').checked ? 1 : 0,
    expect_failure: field('expect_failure').checked ? 1 : 0, target: field('target_pool').value ? '' : field('target').value.trim() });
  if (own !== latest) return;
  chosen = call;
  [found] = answer.tests;
  drawTest(answer.notes);
  byId('changed').textContent = `The test of call ${call.number} is shown. ${plural(answer.notes.length, 'note')}.`;
}

function drawFields() {
  const fresh = !field('credential_pool').value;
  byId('address').hidden = Boolean(field('target_pool').value);
  byId('secret').hidden = !fresh;
  field('password').required = fresh && found.needs_password;
  byId('secret-note').textContent = found.needs_password ? 'The target asked the caller for one.' : 'The target asked for none.';
  byId('expected').hidden = chosen.outcome === 'established';
}

function addressOf(target) {
  const [host] = target.hosts;
  return `sip:${host.host.includes(':') ? `[${host.host}]` : host.host}${host.port ? `:${host.port}` : ''};transport=${host.transport}`;
}

function drawTest(notes) {
  const { test, target, credential_pool: pool } = found;
  byId('test').hidden = false;
  byId('read').className = 'btn'; // the primary button is that of the test
  byId('test-title').textContent = `Test of call ${chosen.number}`;
  if (!field('name').value || field('name').value === named) field('name').value = test.name;
  named = test.name;
  field('target').placeholder = addressOf(target);
  field('credential_pool').options[0].textContent = `${NEW}: ${pool.credentials[0].username}`;
  drawFields();
  byId('notes').replaceChildren(...notes.map((n) => element('li', n)));
  byId('no-notes').hidden = notes.length > 0;
  byId('steps').replaceChildren(...stepNodes(test.steps, descriptions, {}));
  const rows = conditionWords(test.conditions, descriptions);
  byId('conditions').replaceChildren(...(rows.length ? rows.map((c) => el('div', { class: 'word-row' }, roleTag(c.role, rolesOf(test.steps)),
    el('span', null, el('b', null, c.words)), el('span', { class: 'note' }, c.scope))) : [empty('No condition', 'Only the built-in checks are judged: registrations, and that calls are placed.')]));
}

// Draw the test again, with what a field says now.
function again(event) {
  const name = event.target.name;
  if (['credential_pool', 'target_pool'].includes(name)) drawFields();
  if (!['anonymise', 'expect_failure', 'target', 'target_pool'].includes(name)) return;
  choose(chosen).catch((error) => complain(error, formOf(error)));
}

// ---- creating ----

// Errors of the records that a test needs, at the field of this page that they come from.
const PLACES = { hosts: 'target', domain: 'target', credentials: 'password' };

function placed(error) {
  if (error.status === 409) error.errors = [{ pointer: '/name', detail: 'A test, or the target or account of one, has this name: choose another.' }];
  for (const problem of error.errors || []) {
    const [, member] = problem.pointer.split('/');
    if (PLACES[member]) problem.pointer = `/${PLACES[member]}`;
  }
  return error;
}

async function made(path, singular, body, undo) {
  const record = (await api('POST', path, body))[singular];
  undo.push(`${path}/${record.id}`);
  return record.id;
}

// The target and the account are made first. If one of the three is refused, nothing is left.
async function create(form) {
  const undo = [];
  const name = field('name').value.trim();
  byId('failure').hidden = true;
  await drawn; // of what the fields say now; what is wrong stands at its field
  try {
    const target = Number(field('target_pool').value)
      || await made('/targets', 'target', { ...found.target, name: `Target of ${name}` }, undo);
    const password = field('password').value;
    const pool = Number(field('credential_pool').value) || await made('/credential-pools', 'credential_pool', { name: `Caller of ${name}`,
      credentials: found.credential_pool.credentials.map((c) => (password ? { ...c, password } : c)) }, undo);
    const steps = found.test.steps.map((step) => step.map((action) => ({ ...action, credential_pool: pool, target_pool: target })));
    const { test } = await api('POST', '/tests', { ...found.test, name, steps, agentpool_id: Number(form.elements.agentpool_id.value),
      project_id: Number(byId('form').elements.project_id.value) });
    location.assign(`/tests/${test.id}/edit`);
  } catch (error) {
    for (const path of undo.reverse()) await api('DELETE', path).catch(() => {});
    throw placed(error);
  }
}

// ---- the page ----

function drop(event) {
  event.preventDefault();
  byId('drop').classList.toggle('over', event.type === 'dragover');
  if (event.type !== 'drop' || !event.dataTransfer.files.length) return;
  byId('form').elements.content.files = event.dataTransfer.files;
  byId('form').requestSubmit();
}

startPage(async () => {
  crumbs([['Tests', '/tests'], ['Import a capture']]);
  onSubmit('form', read);
  onSubmit('make', create);
  for (const type of ['dragover', 'dragleave', 'drop']) byId('drop').addEventListener(type, drop);
  byId('make').addEventListener('change', again);
  const [projects, pools, targets, accounts, described] = await Promise.all([all('/projects', 'projects'), all('/agent-pools', 'agent_pools'),
    all('/targets', 'targets'), all('/credential-pools', 'credential_pools'), api('GET', '/descriptions')]);
  ({ descriptions } = described);
  const entries = (list) => list.map((r) => [r.id, r.name]);
  options(byId('form').elements.project_id, entries(projects), projects.length === 1 ? undefined : '– choose –');
  options(field('agentpool_id'), entries(pools), pools.length === 1 ? undefined : '– choose –');
  options(field('target_pool'), entries(targets), NEW);
  options(field('credential_pool'), entries(accounts), NEW);
  const wanted = new URLSearchParams(location.search).get('project');
  if (projects.some((p) => String(p.id) === wanted)) byId('form').elements.project_id.value = wanted;
  byId('form').elements.content.addEventListener('change', () => { if (byId('form').elements.project_id.value) byId('form').requestSubmit(); });
});
