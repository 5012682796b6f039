// Lists and forms of the records that tests refer to, drawn from their description in kinds.js.

import {
  all, api, button, buttonTwice, buttons, byId, element, fill, link, may, onSubmit, options, replace, send, setValues, startPage, toast,
  values,
} from './page.js';
import { KINDS } from './kinds.js';

const kind = KINDS.find((k) => k.page === location.pathname) || KINDS[0];
let edited = null; // the record in the form; null: a new one
let etag = null; // of when it was read

async function field(description) {
  const label = element('label', `${description.label} `, description.type === 'text' ? 'whole' : '');
  label.append(element('span', description.name, 'key'));
  const input = element(description.type === 'text' ? 'textarea' : description.values || description.records ? 'select' : 'input');
  input.name = description.name;
  if (description.values) options(input, description.values.map((v) => [v, v]));
  if (description.records) {
    const [path, member] = description.records;
    options(input, (await all(path, member)).map((r) => [r.id, r.name]));
  }
  if (input.tagName === 'INPUT') input.type = description.type || 'text';
  if (input.type === 'password') input.autocomplete = 'new-password';
  if (description.type === 'text') input.rows = 4;
  input.required = Boolean(description.required);
  label.append(input);
  if (description.hint) label.append(element('small', description.hint));
  return label;
}

function clear() {
  edited = null;
  byId('form').reset();
  byId('form-title').textContent = `New ${kind.noun}`;
  byId('form-box').hidden = !may(kind.right || 'write') || Boolean(kind.noCreate);
}

async function edit(id) {
  const answer = await send('GET', `${kind.path}/${id}`);
  edited = answer.found[kind.singular];
  etag = answer.etag;
  byId('form-box').hidden = false;
  setValues(byId('form'), kind.shown ? kind.shown(edited) : edited);
  byId('form-title').textContent = `Edit ${edited.name}`;
  byId('form-box').scrollIntoView();
}

function showSecret(answer) {
  const text = kind.secret && kind.secret(answer);
  byId('secret-box').hidden = !text;
  byId('secret').textContent = text || '';
  if (text) byId('secret-box').scrollIntoView();
}

function actions(record) {
  if (!may(kind.right || 'write')) return '';
  const list = (kind.actions || []).map(([word, work]) => button(word, async () => {
    showSecret(await work(record));
    await draw();
  }));
  for (const [word, address] of kind.ways || []) {
    const way = link(word, address(record));
    way.className = 'btn small';
    list.push(way);
  }
  if (!kind.noEdit) list.unshift(button('Edit', () => edit(record.id)));
  list.push(buttonTwice('Delete', async () => {
    await api('DELETE', `${kind.path}/${record.id}`);
    if (edited && edited.id === record.id) clear();
    await draw();
    toast(element('span', `${record.name} was deleted.`));
  }));
  return buttons(...list);
}

async function draw() {
  fill('records', await all(kind.path, kind.member), [...kind.columns, ['', actions]], kind.nothing);
}

async function reload() {
  await edit(edited.id);
  byId('form').elements.name.focus();
}

async function save(form) {
  const written = values(form);
  const file = form.querySelector('input[type=file]');
  const body = kind.written ? await kind.written(written, edited, file) : written;
  const { found } = await (edited ? replace(`${kind.path}/${edited.id}`, body, { etag, noun: kind.noun, reload }) : send('POST', kind.path, body));
  showSecret(found);
  const name = written.name || edited.name;
  clear();
  await draw();
  toast(element('span', `${name} was saved.`));
}

startPage(async () => {
  document.title = `${kind.title} – Offhook`;
  byId('title').textContent = kind.title;
  byId('kinds').append(...KINDS.map((k) => {
    const node = link(k.title, k.page);
    if (k === kind) node.setAttribute('aria-current', 'page');
    return node;
  }), link('Callbacks', '/callbacks'), ...(may('admin') ? [link('Audit log', '/audit')] : []));
  byId('fields').replaceChildren(...await Promise.all(kind.fields.map(field)));
  clear();
  onSubmit('form', save);
  byId('clear').addEventListener('click', clear);
  await draw();
});
