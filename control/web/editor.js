// The editor of a test: /tests/new, also with ?copy=ID or ?scenario=NAME, and /tests/ID/edit.

import { all, api, byId, element, keepingFocus, link, may, send, since, startPage, strip, timeNode, toast } from './page.js';
import { drawConditions } from './editor_conditions.js';
import { drawGeneral, generalFacts } from './editor_general.js';
import { askName, pick, pickCondition } from './editor_pick.js';
import { Draft, NEW, copyOf, editable, ofScenario } from './editor_model.js';
import { drawSide } from './editor_side.js';
import { drawSteps } from './editor_steps.js';
import { lastFigures } from './last_figures.js';
import { misfit } from './editor_json.js';
import { drawText, isText, sayProblems, showFirstLine, startText, textFits, textReady } from './editor_text.js';
import { sentence } from './editor_words.js';
import { yamlText } from './editor_yaml.js';
import { KEYS } from './nav.js';
import { crumbs, el, icon, plural, shape } from './report_ui.js';

const LISTS = { 'credential-pools': ['/credential-pools', 'credential_pools'], targets: ['/targets', 'targets'], appimages: ['/appimages', 'appimages'],
  projects: ['/projects', 'projects'], agent_pools: ['/agent-pools', 'agent_pools'], callback_templates: ['/callback-templates', 'callback_templates'] };

const records = {};
let draft;
let own = null; // id of the test; null: a new one
let tag = null; // its ETag
let chosen = null; // action in the inspector
let soFar = null; // of the test, as /tests/ID/verdict has it
let figures = { figureOf: () => null, builtIn: [] }; // of the last run
let nodes = new Map(); // what is drawn of an action, a step, a condition

const hooks = {
  changed: () => changed(),
  choose: (action) => choose(action),
  close: () => choose(null),
  drawn: (object, node) => nodes.set(object, node),
  add,
  move: (action, by) => moved(draft.moveAction(action, by), action),
  moveStep: (i, by) => {
    if (!draft.moveStep(i, by)) return;
    changed();
    focusButton(`Move step ${i + by + 1} ${by < 0 ? 'up' : 'down'}`, `Move step ${i + by + 1} ${by < 0 ? 'down' : 'up'}`);
  },
  remove: (action) => {
    draft.removeAction(action);
    draft.solved(action);
    choose(null);
    byId('steps-title').focus();
  },
  removeStep: (i) => {
    const [step] = draft.record.steps.splice(i, 1);
    if (step.includes(chosen)) chosen = null;
    choose(chosen);
    byId('steps-title').focus();
  },
};

const ofConditions = {
  changed: () => changed(true),
  last: (set, item) => figures.figureOf(set, item),
  drawn: hooks.drawn,
  move: (set, item, by) => {
    draft.moveCondition(set, item, by);
    redrawConditions(item);
  },
  remove: (set, item) => {
    draft.removeCondition(set, item);
    redrawConditions();
  },
  removeSet: (set) => {
    draft.record.conditions = draft.record.conditions.filter((s) => s !== set);
    redrawConditions();
  },
};

// ---- drawing ----

function drawHead() {
  const name = String(draft.record.name || '');
  byId('title').textContent = own ? name || 'Test' : name || 'New test';
  document.title = `${own ? `Edit: ${name}` : 'New test'} – Offhook`;
  crumbs(own ? [['Tests', '/tests'], [name || 'Test', `/tests/${own}`], ['Edit']] : [['Tests', '/tests'], ['New test']]);
  byId('sentence').hidden = false;
  if (!misfit(draft.record)) byId('sentence').textContent = sentence(draft);
  byId('general-facts').replaceChildren(byId('general').open ? '' : generalFacts(draft, records));
  drawBanner();
}

const BEGAN = { failed: 'Failing since ', errored: 'Not judged since ', flaky: 'Flaky since ', passed: 'Passing since ' };

// How the test does, as it is stored.
function drawHistory() {
  const node = byId('since');
  node.hidden = !soFar || !soFar.runs.length;
  if (node.hidden) return;
  node.replaceChildren(strip(soFar.runs), BEGAN[soFar.state] ? el('span', null, BEGAN[soFar.state], el('b', null, timeNode(soFar.since, since))) : '',
    link('Last report', `/run/details/${soFar.last.session_id}`));
}

// What the last run was judged by beside the conditions.
function drawBuiltIn() {
  const rules = [...new Set(figures.builtIn.map((v) => v.text))];
  byId('built-in').hidden = !rules.length;
  byId('built-in-sum').textContent = `${rules.length} more ${rules.length === 1 ? 'is' : 'are'} judged in every run: ${rules[0]}${rules.length > 1 ? ' …' : ''}`;
  byId('built-in-rules').replaceChildren(...rules.map((text) => el('li', null, text)));
}

function drawBanner() {
  const banner = byId('banner');
  const count = draft.problems.length;
  banner.hidden = !count;
  if (!count) return;
  const show = el('button', { class: 'btn small', type: 'button', on: { click: showFirst } }, 'Show it');
  banner.replaceChildren(shape('failed'), el('p', null, `${plural(count, 'problem')}. The test is ${draft.outcome}.`,
    ...draft.problems.filter((p) => !isShown(p)).map((p) => ` ${p.pointer.slice(1)}: ${p.detail}.`)), show);
}

// Members without a field of their own, as after a change by the JSON view.
function isShown(problem) {
  return problem.at !== draft.record || ['steps', 'conditions'].includes(problem.key) || Boolean(fieldOf(byId('general-fields'), problem.key));
}

const fieldOf = (box, key) => [...box.querySelectorAll('[data-key]')].find((n) => n.dataset.key === key);

function drawLanes() {
  drawSteps(byId('lanes'), draft, records, chosen, hooks);
}

function draw() {
  if (shown !== 'form') {
    if (isText()) drawText(draft);
    else byId('yaml').textContent = yamlText(draft.record, records);
    drawHead();
    return;
  }
  nodes = new Map();
  drawGeneral(byId('general-fields'), draft, records, () => changed(true));
  drawLanes();
  drawConditions(byId('conditions'), draft, ofConditions);
  drawHistory();
  drawBuiltIn();
  drawSide(byId('side'), draft, chosen, records, hooks);
  drawHead();
}

function changed(lanesStay) {
  if (!lanesStay) drawLanes();
  drawHead();
}

function redrawConditions(focus) {
  drawConditions(byId('conditions'), draft, ofConditions);
  drawHead();
  (focus ? nodes.get(focus) : byId('conditions-title')).focus();
}

function focusButton(...names) {
  for (const name of names) {
    const found = [...byId('lanes').querySelectorAll('button')].find((b) => b.getAttribute('aria-label') === name);
    if (found) return found.focus();
  }
  return undefined;
}

// ---- steps ----

function choose(action) {
  const before = chosen;
  chosen = action;
  drawLanes();
  drawSide(byId('side'), draft, chosen, records, hooks);
  drawHead();
  if (action) byId('side-title').focus();
  else if (before && nodes.get(before) && draft.placeOf(before)) nodes.get(before).focus();
}

function moved(done, action) {
  if (!done) return;
  const inSide = byId('side').contains(document.activeElement) && document.activeElement.textContent;
  drawLanes();
  drawSide(byId('side'), draft, chosen, records, hooks);
  drawHead();
  const again = inSide && [...byId('side').querySelectorAll('button')].find((b) => b.textContent === inSide);
  (again || nodes.get(action)).focus();
}

async function add(step, role) {
  const type = await pick(`Action of ${role}`, draft.descriptions.actions);
  if (type) choose(draft.addAction(step, role, type, records));
}

async function addRole() {
  const name = await askName('Add role', 'Name of the role', 'Letters, digits and _, such as B, callee_2.');
  if (!name || draft.roles().includes(name)) return;
  draft.lanes = [...draft.roles(), name];
  changed();
  focusButton(`Add an action of ${name} to step 1`);
}

async function addCondition() {
  const found = await pickCondition('Add condition', draft.roles(), draft.descriptions.conditions);
  if (!found) return;
  const item = draft.addCondition(...found);
  redrawConditions(item);
  const first = nodes.get(item).querySelector('.tok');
  if (first) first.focus();
}

// ---- problems ----

// Open what hides the first problem, and give it the focus.
function showFirst() {
  const [first] = draft.problems;
  if (!first) return;
  if (isText()) {
    showFirstLine(draft);
    return;
  }
  let held = null;
  if (first.at === draft.record) {
    if (['steps', 'conditions'].includes(first.key)) held = byId(`${first.key}-title`);
    else held = fieldOf(byId('general-fields'), first.key);
  } else if (draft.placeOf(first.at)) {
    choose(first.at);
    held = fieldOf(byId('side'), first.key) || nodes.get(first.at);
  } else {
    const row = nodes.get(first.at);
    held = (row && fieldOf(row, first.key)) || row;
  }
  if (!held) return;
  for (let fold = held.closest('details'); fold; fold = fold.parentElement.closest('details')) fold.open = true;
  const input = held.matches('[role=group]') ? held : held.querySelector('[aria-invalid]') || held;
  input.focus();
  input.scrollIntoView({ block: 'center' });
}

function refused(error, outcome = 'not saved') {
  draft.outcome = outcome;
  if (shown === 'yaml') view('form');
  draft.setProblems(error.errors.length ? error.errors : [{ pointer: '', detail: error.message }]);
  if (isText()) {
    sayProblems(draft);
    drawHead();
  } else draw();
  showFirst();
}

// The test is stored, but lacks what a start needs: /step.0.1.target_pool is /steps/0/1/target_pool here.
function notStarted(error) {
  if (error.status !== 422 || !error.errors.length) throw error;
  refused({ errors: error.errors.map((e) => ({ ...e, pointer: e.pointer.replace(/^\/step\.(\d+)\.(\d+)\./, '/steps/$1/$2/') })) }, 'saved, but not started');
}

// Somebody else has saved the test: nothing is lost, and the user says which of the two stays.
function overtaken() {
  const banner = byId('banner');
  banner.hidden = false;
  banner.replaceChildren(shape('failed'), el('p', null, 'Somebody else changed this test since you opened it. Your changes are not saved; they are still here.'),
    el('button', { class: 'btn small', type: 'button', on: { click: () => load(own).then(draw) } }, 'Load theirs, drop mine'),
    el('button', { class: 'btn small', type: 'button', on: { click: () => save({ force: true }) } }, 'Save mine over it'));
  banner.querySelector('button').focus();
}

// ---- loading and saving ----

async function load(id) {
  const { found, etag } = await send('GET', `/tests/${id}`);
  own = found.test.id;
  tag = etag;
  chosen = null;
  if (draft) draft.take(editable(found.test));
  else draft = new Draft(records.descriptions, editable(found.test));
  draft.saved();
  soFar = (await api('GET', `/tests/${own}/verdict`)).verdict;
  figures = await lastFigures(found.test, soFar.last);
}

function preset(record) {
  if (records.projects.length === 1) record.project_id = records.projects[0].id;
  if (records.agent_pools.length === 1) record.agentpool_id = records.agent_pools[0].id;
  return record;
}

// What the form of the scenario has beside its name: ids of records, for all roles or for one.
function fromScenario(test, given) {
  draft = new Draft(records.descriptions, preset(ofScenario(test, records.descriptions)));
  for (const key of ['project_id', 'agentpool_id']) if (given.get(key)) draft.record[key] = Number(given.get(key));
  for (const action of draft.record.steps.flat()) {
    for (const key of ['credential_pool', 'target_pool']) {
      const id = given.get(`${action.role}.${key}`) || given.get(key);
      if (id && draft.missing(action).includes(key)) action[key] = Number(id);
    }
    draft.preset(action, records);
  }
}

async function open() {
  const [, , id] = location.pathname.split('/');
  if (id !== 'new') return load(id);
  const given = new URLSearchParams(location.search);
  const [copied, scenario] = [given.get('copy'), given.get('scenario')];
  if (copied) draft = new Draft(records.descriptions, copyOf((await api('GET', `/tests/${encodeURIComponent(copied)}`)).test));
  else if (scenario) fromScenario((await api('GET', `/scenarios/${encodeURIComponent(scenario)}/test`)).test, given);
  else draft = new Draft(records.descriptions, preset(NEW()));
  if (copied || scenario) draft.before = '';
  return undefined;
}

// Draw, and put the focus back into the field that had it.
function drawAgain() {
  const held = document.activeElement;
  const field = held.closest('#form-view [data-key]');
  if (!field) {
    keepingFocus(draw);
    return;
  }
  const fields = () => [...byId('form-view').querySelectorAll('[data-key]')].filter((n) => n.dataset.key === field.dataset.key);
  const inputs = (node) => [...node.querySelectorAll('input, select, textarea, button')];
  const [at, part, caret] = [fields().indexOf(field), inputs(field).indexOf(held), held.selectionStart];
  draw();
  const again = fields()[at];
  const input = again && (inputs(again)[part] || again);
  if (!input) return;
  for (let fold = input.closest('details'); fold; fold = fold.parentElement.closest('details')) fold.open = true;
  input.focus({ preventScroll: true });
  if (typeof caret === 'number' && input.setSelectionRange) input.setSelectionRange(caret, held.selectionEnd);
}

let touched = false; // there was input since the save was sent

// What is stored takes the place of what was sent, unless the user has gone on meanwhile: that stays, to be saved next.
function afterSave(test, sent) {
  if (touched || JSON.stringify(draft.record) !== sent || document.querySelector('dialog[open]')) {
    draft.before = sent;
    draft.problems = [];
    drawHead();
    return;
  }
  const at = chosen && draft.placeOf(chosen);
  draft.take(editable(test));
  draft.saved();
  chosen = at ? draft.record.steps[at[0]][at[1]] : null;
  drawAgain();
}

// @return false: it was refused, and the page says why
async function save({ force } = {}) {
  if (!textReady(draft)) return false;
  const sent = JSON.stringify(draft.record);
  touched = false;
  try {
    const headers = own && !force ? { 'If-Match': tag } : {};
    const { found, etag } = await send(own ? 'PUT' : 'POST', own ? `/tests/${own}` : '/tests', draft.record, headers);
    own = found.test.id;
    tag = etag;
    history.replaceState(null, '', `/tests/${own}/edit${hash()}`);
    afterSave(found.test, sent);
    return true;
  } catch (error) {
    if (error.status === 412) overtaken();
    else if (error.status === 422 || error.status === 409) refused(error);
    else throw new Error(`The test is not saved. ${error.message}`);
    return false;
  }
}

// ---- form, JSON, YAML ----

const VIEWS = { form: 'Form', json: 'JSON', yaml: 'YAML' };
let shown = 'form';

const hash = () => (shown === 'form' ? '' : `#${shown}`);

// The view is in the address, so that a link can lead to each.
function view(name) {
  if (name === shown || (isText() && !textFits(draft))) return;
  if (isText()) draft.take(draft.record, draft.problems);
  shown = name;
  chosen = null;
  for (const other of Object.keys(VIEWS)) {
    byId(`${other}-view`).hidden = other !== name;
    byId(`view-${other}`).setAttribute('aria-pressed', String(other === name));
  }
  history.replaceState(null, '', `${location.pathname}${location.search}${hash()}`);
  draw();
}

let saving = false;

async function press(work) {
  if (saving) return;
  saving = true;
  byId('failure').hidden = true;
  try {
    await work();
  } catch (error) {
    byId('failure').hidden = false;
    byId('failure').textContent = error.message;
  }
  saving = false;
}

const saveOnly = () => press(async () => {
  if (await save()) toast(element('span', `${draft.record.name} was saved.`));
});

const saveAndRun = () => press(async () => {
  if (!await save()) return;
  try {
    const { data } = await api('POST', `/tests/${own}/run`);
    location.assign(data.report_url);
  } catch (error) {
    notStarted(error);
  }
});

function drawTools() {
  const run = el('button', { class: 'btn primary', type: 'button', title: 'Ctrl Enter', id: 'save-run', on: { click: saveAndRun } }, icon('play'), 'Save and run');
  const ways = Object.entries(VIEWS).map(([name, word]) => el('button', { class: 'btn', type: 'button', id: `view-${name}`,
    'aria-pressed': String(name === shown), on: { click: () => view(name) } }, word));
  byId('tools').append(el('span', { class: 'group', role: 'group', 'aria-label': 'View' }, ...ways),
    el('button', { class: 'btn', type: 'button', title: 'Ctrl S', id: 'save', on: { click: saveOnly } }, 'Save'));
  if (may('run')) byId('tools').append(run);
  KEYS.splice(KEYS.length - 1, 0, ['Ctrl S', 'Save'], ['Ctrl Enter', 'Save and run'], ['Alt ↑ ↓', 'Move an action']);
  document.addEventListener('keydown', (event) => {
    if (!event.ctrlKey || document.querySelector('dialog[open]')) return;
    if (event.key === 's') saveOnly();
    else if (event.key === 'Enter' && may('run')) saveAndRun();
    else return;
    event.preventDefault();
  });
}

startPage(async () => {
  await Promise.all([...Object.entries(LISTS).map(async ([kind, [path, member]]) => { records[kind] = await all(path, member); }),
    api('GET', '/descriptions').then((answer) => { records.descriptions = answer.descriptions; })]);
  await open();
  byId('general').open = !own;
  byId('general').addEventListener('toggle', drawHead);
  byId('add-step').addEventListener('click', () => {
    draft.record.steps.push([]);
    changed();
    focusButton(`Add an action of ${draft.roles()[0]} to step ${draft.record.steps.length}`);
  });
  byId('add-role').addEventListener('click', addRole);
  byId('add-condition').addEventListener('click', addCondition);
  window.addEventListener('beforeunload', (event) => {
    if (draft.changed || draft.unread) event.preventDefault();
  });
  document.addEventListener('input', () => { touched = true; });
  drawTools();
  startText(draft, drawHead);
  draw();
  if (['#json', '#yaml'].includes(location.hash)) view(location.hash.slice(1));
});
