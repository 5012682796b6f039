// Messages, buttons, forms.

import { byId, element, shape } from './dom.js';

// of: what a failure is about, so that what goes well later can take it away
export function say(kind, text, of = 'action') {
  for (const id of ['failure', 'done']) byId(id).hidden = id !== kind;
  byId(kind).textContent = text;
  if (kind === 'failure') byId(kind).dataset.of = of;
}

// Read what the page shows, perhaps again and again. That it failed is said until it succeeds; what is said of an action stays.
export async function reading(work, words = (error) => error.message) {
  try {
    await work();
    if (byId('failure').dataset.of === 'reading') byId('failure').hidden = true;
  } catch (error) {
    say('failure', words(error), 'reading');
  }
}

// Say at a field what is wrong with it.
function sayAt(input, detail) {
  const node = element('span', null, 'wrong');
  node.id = `wrong-${input.name}`;
  node.append(shape('failed'), element('span', detail));
  (input.closest('label') || input.parentElement).append(node);
  input.setAttribute('aria-invalid', 'true');
  input.setAttribute('aria-describedby', node.id);
}

// What the API said about a field stands there too; the first of these gets the focus. error.way: [text, work] of a button that helps
export function complain(error, form) {
  say('failure', error.message);
  if (error.way) {
    const way = button(...error.way);
    byId('failure').append(' ', way);
    way.focus();
    return;
  }
  let first = null;
  for (const { pointer, detail } of (form && error.errors) || []) {
    const input = form.elements.namedItem(pointer.split('/')[1]);
    if (!input || !input.setAttribute || input.hasAttribute('aria-describedby')) continue;
    sayAt(input, detail);
    first = first || input;
  }
  if (!first) return;
  for (let fold = first.closest('details'); fold; fold = fold.parentElement.closest('details')) fold.open = true;
  first.focus({ preventScroll: true });
  first.scrollIntoView({ block: 'center' });
}

export function forget(form) {
  for (const node of form.querySelectorAll('.wrong')) node.remove();
  for (const input of form.elements) {
    input.removeAttribute('aria-invalid');
    input.removeAttribute('aria-describedby');
  }
}

// Disable a button while its action runs. What was wrong with the action before is no longer said.
export async function during(button, work, form) {
  button.disabled = true;
  byId('failure').hidden = true;
  if (form) forget(form);
  try {
    await work();
  } catch (error) {
    complain(error, form);
  }
  button.disabled = false;
}

export function button(text, work, className) {
  const node = element('button', text, className === 'link' ? 'link' : `btn small ${className || ''}`.trim());
  node.type = 'button';
  node.addEventListener('click', () => during(node, work));
  return node;
}

// Actions that cannot be undone ask for confirmation.
export function buttonTwice(text, work) {
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

export function buttons(...nodes) {
  const box = element('span', null, 'buttons');
  box.append(...nodes);
  return box;
}

export function onSubmit(id, work) {
  const form = byId(id);
  form.addEventListener('submit', (event) => {
    event.preventDefault();
    during(form.querySelector('button'), () => work(form), form);
  });
}

// Read the named inputs of a form. Empty ones are left out, a checked box is 1.
export function values(form) {
  const found = {};
  for (const input of form.elements) {
    if (!input.name) continue;
    if (input.type === 'checkbox') found[input.name] = input.checked ? 1 : 0;
    else if (input.value !== '') found[input.name] = input.value;
  }
  return found;
}

export function setValues(form, record) {
  form.reset();
  for (const input of form.elements) {
    if (!input.name || !(input.name in record)) continue;
    if (input.type === 'checkbox') input.checked = record[input.name] === 1;
    else input.value = record[input.name] === null ? '' : String(record[input.name]);
  }
}

export function options(select, entries, first) {
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

// Say what was done; goes after 6 s. Never for errors.
export function toast(...content) {
  const node = element('div', null, 'toast');
  node.setAttribute('role', 'status');
  node.append(...content);
  document.body.append(node);
  setTimeout(() => node.remove(), 6000);
}
