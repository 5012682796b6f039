'use strict';
// Shared by all pages. Texts are inserted through textContent: nothing that a
// user, a peer or a receiver wrote can become markup.

const byId = (id) => document.getElementById(id);

function element(tag, text, className) {
  const node = document.createElement(tag);
  if (text !== undefined && text !== null) node.textContent = String(text);
  if (className) node.className = className;
  return node;
}

// An unknown value is shown as a dash, never as zero.
function figure(value, digits) {
  if (value === undefined || value === null) return '–';
  return digits === undefined ? String(value) : Number(value).toFixed(digits);
}

// columns: [title, row -> text or node, 'number' | 'wide' | undefined]
function table(rows, columns) {
  const tableNode = element('table');
  const head = tableNode.createTHead().insertRow();
  for (const [title, , kind] of columns) head.append(element('th', title, kind));
  const body = tableNode.createTBody();
  for (const row of rows) {
    const line = body.insertRow();
    for (const [, cell, kind] of columns) {
      const content = cell(row);
      const node = element('td', content instanceof Node ? null : content, kind);
      if (content instanceof Node) node.append(content);
      line.append(node);
    }
  }
  return tableNode;
}

function fill(id, rows, columns, nothing) {
  byId(id).replaceChildren(rows.length ? table(rows, columns) : element('p', nothing, 'note'));
}

function link(text, address) {
  const node = element('a', text);
  node.href = address;
  return node;
}

// ---- requests to the API, with the session of the user ----

const RIGHTS = ['read', 'run', 'write', 'admin'];
const session = { csrf: '', rights: null };

async function loadSession() {
  const found = await (await fetch('/session', { credentials: 'same-origin' })).json();
  session.csrf = found.csrf || '';
  session.rights = found.user ? found.user.rights : null;
}

// With an API key instead of a session the page does not know the rights; the API checks them.
function may(right) {
  return !session.rights || RIGHTS.indexOf(session.rights) >= RIGHTS.indexOf(right);
}

class ApiError extends Error {
  constructor(answer, body) {
    const errors = (body.errors || []).map((e) => `${e.pointer.slice(1)}: ${e.detail}`.replace(/^: /, ''));
    super(errors.join('; ') || body.detail || `The controller answered ${answer.status}.`);
    this.fields = (body.errors || []).map((e) => e.pointer.split('/')[1]);
  }
}

// body: an object, sent as JSON, or URLSearchParams
async function api(method, path, body) {
  const headers = { 'X-CSRF-Token': session.csrf };
  if (body && !(body instanceof URLSearchParams)) {
    headers['Content-Type'] = 'application/json';
    body = JSON.stringify(body);
  }
  const answer = await fetch('/api/v2' + path, { method, headers, body, credentials: 'same-origin' });
  if (answer.status === 401) location.assign('/login?next=' + encodeURIComponent(location.pathname));
  const found = answer.status === 204 ? {} : await answer.json();
  if (!answer.ok) throw new ApiError(answer, found);
  return found;
}

// Read all records of a listing, page by page.
async function all(path, member) {
  const records = [];
  for (let total = 1; records.length < total;) {
    const page = await api('GET', `${path}?start=${records.length}&count=1000`);
    records.push(...page[member]);
    total = page[member].length ? page.total : 0;
  }
  return records;
}

// ---- messages, buttons, forms ----

function say(kind, text) {
  for (const id of ['failure', 'done']) byId(id).hidden = id !== kind;
  byId(kind).textContent = text;
}

function complain(error, form) {
  say('failure', error.message);
  for (const name of (form && error.fields) || []) {
    const input = form.elements.namedItem(name);
    if (input && input.setAttribute) input.setAttribute('aria-invalid', 'true');
  }
}

// Disable a button while its action runs.
async function during(button, work, form) {
  button.disabled = true;
  for (const input of form ? form.elements : []) input.removeAttribute('aria-invalid');
  try {
    await work();
  } catch (error) {
    complain(error, form);
  }
  button.disabled = false;
}

function button(text, work, className) {
  const node = element('button', text, className);
  node.type = 'button';
  node.addEventListener('click', () => during(node, work));
  return node;
}

// Actions that cannot be undone ask for confirmation.
function buttonTwice(text, work) {
  const node = button(text, () => {
    if (node.textContent === text) {
      node.textContent = 'Really?';
      return undefined;
    }
    node.textContent = text;
    return work();
  }, 'danger');
  return node;
}

function buttons(...nodes) {
  const box = element('span', null, 'buttons');
  box.append(...nodes);
  return box;
}

function onSubmit(id, work) {
  const form = byId(id);
  form.addEventListener('submit', (event) => {
    event.preventDefault();
    during(form.querySelector('button'), () => work(form), form);
  });
}

// Read the named inputs of a form. Empty ones are left out, a checked box is 1.
function values(form) {
  const found = {};
  for (const input of form.elements) {
    if (!input.name) continue;
    if (input.type === 'checkbox') found[input.name] = input.checked ? 1 : 0;
    else if (input.value !== '') found[input.name] = input.value;
  }
  return found;
}

function setValues(form, record) {
  form.reset();
  for (const input of form.elements) {
    if (!input.name || !(input.name in record)) continue;
    if (input.type === 'checkbox') input.checked = record[input.name] === 1;
    else input.value = record[input.name] === null ? '' : String(record[input.name]);
  }
}

function options(select, entries, first) {
  const nodes = entries.map(([value, text]) => {
    const node = element('option', text);
    node.value = value;
    return node;
  });
  if (first !== undefined) {
    const node = element('option', first);
    node.value = '';
    nodes.unshift(node);
  }
  select.replaceChildren(...nodes);
}

// Load and draw, then set data-drawn: the page is complete.
async function startPage(draw) {
  try {
    await loadSession();
    for (const node of document.querySelectorAll('[data-right]')) node.hidden = !may(node.dataset.right);
    await draw();
    document.body.dataset.drawn = 'done';
  } catch (error) {
    complain(error);
  }
}
