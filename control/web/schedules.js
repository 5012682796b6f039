// Schedules: list, history, form.

import {
  all, api, button, buttonTwice, buttons, byId, figure, fill, link, may, onSubmit, options, replace, say, send, setValues,
  startPage, values,
} from './page.js';

const KEPT = ['name', 'test_id', 'project_id', 'test_ids', 'tags', 'cron', 'run_at', 'timezone',
  'overlap', 'missed', 'report_mode', 'enabled'];

let edited = null; // the record in the form; null: a new one
let etag = null; // of when it was read

const whatOf = (s) => (s.test_id ? `test ${s.test_name}` : `project ${s.project_name}`);
const whenOf = (s) => (s.cron ? `${s.cron} (${s.timezone})` : `once, ${s.run_at}`);

function fieldsOf(schedule) {
  return Object.fromEntries(KEPT.map((name) => [name, schedule[name]]));
}

async function drawList() {
  const schedules = await all('/schedules', 'schedules');
  fill('schedules', schedules, [
    ['Name', (s) => button(s.name, () => showOne(s.id), 'link')],
    ['Starts', whatOf, 'wide'],
    ['When', whenOf, 'wide'],
    ['Next (UTC)', (s) => (s.enabled ? figure(s.next_at) : 'switched off')],
    ['', actions],
  ], 'There is no schedule yet.');
}

function actions(schedule) {
  if (!may('write')) return '';
  return buttons(
    button('Edit', () => edit(schedule.id), 'plain'),
    button(schedule.enabled ? 'Switch off' : 'Switch on', () => enable(schedule.id, 1 - schedule.enabled), 'plain'),
    buttonTwice('Delete', async () => {
      await api('DELETE', `/schedules/${schedule.id}`);
      byId('one').hidden = true;
      if (edited && edited.id === schedule.id) clear();
      await drawList();
      say('done', `${schedule.name} was deleted.`);
    }));
}

const read = (id) => send('GET', `/schedules/${id}`);

// Of the schedule in the form the box follows, and what is typed stays.
async function enable(id, enabled) {
  const own = edited && edited.id === id;
  const before = own ? { found: { schedule: edited }, etag } : await read(id);
  const after = await replace(`/schedules/${id}`, { ...fieldsOf(before.found.schedule), enabled },
    { etag: before.etag, noun: 'schedule', reload: own ? reload : drawList });
  if (own) {
    ({ found: { schedule: edited }, etag } = after);
    byId('form').elements.enabled.checked = enabled === 1;
  }
  await drawList();
}

function runOf(event) {
  if (event.session_id) return link('report', `/run/details/${event.session_id}`);
  if (event.project_run_uuid) return link('report', `/run/project/${event.project_run_uuid}`);
  return '';
}

async function showOne(id) {
  const { schedule } = (await read(id)).found;
  byId('one').hidden = false;
  byId('one-title').textContent = schedule.name;
  byId('one-next').textContent = schedule.next_times.length
    ? `Next times (UTC): ${schedule.next_times.join(', ')}` : 'There is no further time.';
  fill('history', schedule.history, [
    ['Time (UTC)', (e) => e.due_at],
    ['Handled (UTC)', (e) => e.at],
    ['', (e) => e.outcome],
    ['', runOf],
    ['', (e) => e.detail || '', 'wide'],
  ], 'It has not started a run yet.');
}

// ---- form ----

function clear() {
  edited = null;
  byId('form').reset();
  byId('form-title').textContent = 'New schedule';
}

async function edit(id) {
  ({ found: { schedule: edited }, etag } = await read(id));
  const what = edited.test_id ? `test_id ${edited.test_id}` : `project_id ${edited.project_id}`;
  setValues(byId('form'), { ...edited, what, tags: JSON.parse(edited.tags || '[]').join(', ') });
  byId('form-title').textContent = `Edit ${edited.name}`;
  byId('form').scrollIntoView();
}

function written(form) {
  const { what, tags, ...body } = values(form);
  const [member, id] = what.split(' ');
  body[member] = Number(id);
  if (tags) body.tags = tags.split(',').map((t) => t.trim()).filter(Boolean);
  if (edited && edited.test_ids && member === 'project_id') body.test_ids = edited.test_ids;
  return body;
}

async function reload() {
  await edit(edited.id);
  byId('form').elements.name.focus();
}

async function save(form) {
  const body = written(form);
  const { found } = await (edited ? replace(`/schedules/${edited.id}`, body, { etag, noun: 'schedule', reload }) : send('POST', '/schedules', body));
  clear();
  await drawList();
  await showOne(found.schedule.id);
  say('done', `${found.schedule.name} was saved.`);
}

startPage(async () => {
  const [tests, projects] = [await all('/tests', 'tests'), await all('/projects', 'projects')];
  options(byId('form').elements.what, [
    ...tests.map((t) => [`test_id ${t.id}`, `test ${t.name}`]),
    ...projects.map((p) => [`project_id ${p.id}`, `project ${p.name}`])], '– choose –');
  const zones = Intl.supportedValuesOf ? Intl.supportedValuesOf('timeZone') : [];
  options(byId('zones'), zones.map((z) => [z, z]));
  onSubmit('form', save);
  byId('clear').addEventListener('click', clear);
  await drawList();
});
