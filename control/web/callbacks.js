// Deliveries of callbacks with their attempts, and templates of bodies.

import {
  all, api, button, buttonTwice, buttons, byId, during, element, figure, fill, link, may, onSubmit, replace, say, send,
  setValues, startPage, values,
} from './page.js';

const PAGE = 50;
const BADGES = { delivered: 'passed', failed: 'failed', waiting: 'running', sending: 'running' };

let shown = []; // the latest first
let start = 0;  // of the oldest that is shown
let edited = null; // the template in the form; null: a new one
let etag = null; // of when it was read

function runOf(callback) {
  return callback.session_id ? link('run', `/run/details/${callback.session_id}`)
    : link('project run', `/run/project/${callback.project_run_uuid}`);
}

function drawCallbacks() {
  fill('callbacks', shown, [
    ['Created (UTC)', (c) => c.created_at],
    ['', runOf],
    ['To', (c) => `${c.method} ${c.url}`, 'wide'],
    ['', (c) => element('span', c.state, `badge ${BADGES[c.state]}`)],
    ['Next attempt (UTC)', (c) => figure(c.next_try_at)],
    ['Tries', (c) => button(String(c.try_count), () => showOne(c.id), 'link'), 'number'],
  ], 'No callback was sent yet.');
  byId('older').hidden = start === 0;
}

async function older() {
  const from = Math.max(0, start - PAGE);
  const page = await api('GET', `/callbacks?start=${from}&count=${start - from}`);
  shown.push(...page.callbacks.reverse());
  start = from;
  drawCallbacks();
}

async function newest() {
  shown = [];
  start = (await api('GET', '/callbacks?count=1')).total;
  if (start) await older();
  else drawCallbacks();
}

async function showOne(id) {
  const { callback } = await api('GET', `/callbacks/${id}`);
  byId('one').hidden = false;
  byId('one-title').textContent = `Attempts of callback ${id}`;
  fill('tries', callback.tries, [
    ['Attempt', (t) => t.number, 'number'],
    ['Started (UTC)', (t) => t.started_at],
    ['Duration ms', (t) => figure(t.duration_ms), 'number'],
    ['Address', (t) => figure(t.address)],
    ['Status', (t) => figure(t.http_status), 'number'],
    ['', (t) => t.error || 'delivered', 'wide'],
    ['Answer body', (t) => t.response || '', 'wide'],
  ], 'No attempt yet.');
}

// ---- templates ----

async function drawTemplates() {
  fill('templates', await all('/callback-templates', 'callback_templates'), [
    ['Name', (t) => t.name, 'wide'],
    ['Method', (t) => t.method],
    ['Content type', (t) => t.content_type],
    ['Body', (t) => t.body, 'wide'],
    ['', actions],
  ], 'There is no template. Without one a callback sends the run as JSON.');
}

function actions(template) {
  if (!may('write')) return '';
  return buttons(
    button('Edit', () => edit(template.id), 'plain'),
    buttonTwice('Delete', async () => {
      await api('DELETE', `/callback-templates/${template.id}`);
      if (edited && edited.id === template.id) clear();
      await drawTemplates();
      say('done', `${template.name} was deleted.`);
    }));
}

function clear() {
  edited = null;
  byId('form').reset();
  byId('form-title').textContent = 'New template';
}

async function edit(id) {
  const answer = await send('GET', `/callback-templates/${id}`);
  edited = answer.found.callback_template;
  etag = answer.etag;
  setValues(byId('form'), edited);
  byId('form-title').textContent = `Edit ${edited.name}`;
  byId('form').scrollIntoView();
}

async function reload() {
  await edit(edited.id);
  byId('form').elements.name.focus();
}

async function save(form) {
  const body = values(form);
  await (edited ? replace(`/callback-templates/${edited.id}`, body, { etag, noun: 'template', reload }) : api('POST', '/callback-templates', body));
  clear();
  await drawTemplates();
  say('done', `${body.name} was saved.`);
}

startPage(async () => {
  byId('older').addEventListener('click', () => during(byId('older'), older));
  byId('clear').addEventListener('click', clear);
  onSubmit('form', save);
  await newest();
  await drawTemplates();
});
