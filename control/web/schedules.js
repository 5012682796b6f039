// Schedules: list, history, form.

import {
  all, api, button, buttonTwice, buttons, byId, figure, fill, link, may, onSubmit, options, say, setValues,
  startPage, values,
} from './page.js';

const KEPT = ['name', 'test_id', 'project_id', 'test_ids', 'tags', 'cron', 'run_at', 'timezone',
  'overlap', 'missed', 'report_mode', 'enabled'];

let edited = null; // the record in the form; null: a new one

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
    button(schedule.enabled ? 'Switch off' : 'Switch on', () => replace(schedule.id, {
      enabled: 1 - schedule.enabled }), 'plain'),
    buttonTwice('Delete', async () => {
      await api('DELETE', `/schedules/${schedule.id}`);
      byId('one').hidden = true;
      if (edited && edited.id === schedule.id) clear();
      await drawList();
      say('done', `${schedule.name} was deleted.`);
    }));
}

const read = async (id) => (await api('GET', `/schedules/${id}`)).schedule;

async function replace(id, changes) {
  const schedule = await read(id);
  await api('PUT', `/schedules/${id}`, { ...fieldsOf(schedule), ...changes });
  await drawList();
}

function runOf(event) {
  if (event.session_id) return link('report', `/run/details/${event.session_id}`);
  if (event.project_run_uuid) return link('report', `/run/project/${event.project_run_uuid}`);
  return '';
}

async function showOne(id) {
  const schedule = await read(id);
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
  edited = await read(id);
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

async function save(form) {
  const body = written(form);
  const answer = await (edited ? api('PUT', `/schedules/${edited.id}`, body) : api('POST', '/schedules', body));
  clear();
  await drawList();
  await showOne(answer.schedule.id);
  say('done', `${answer.schedule.name} was saved.`);
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
