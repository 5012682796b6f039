// Dialogs of the editor: one choice of several, and a name.

import { ask } from './ask.js';
import { el } from './report_ui.js';

// entries: [{key, word, help}]. @return the key
export function pick(title, entries) {
  return ask(title, (done) => [el('div', { class: 'found' }, ...entries.map((e) => el('button', { type: 'button', class: 'choice', 'data-key': e.key,
    on: { click: () => done(e.key) } }, el('b', null, e.word), el('span', { class: 'key' }, e.key), el('span', { class: 'hint' }, e.help.replaceAll('`', '')))))]);
}

export function pickCondition(title, roles, types) {
  return ask(title, (done) => {
    const role = el('select', { class: 'in' }, ...roles.map((r) => el('option', { value: r }, r)));
    return [el('div', null, el('label', { class: 'field' }, el('span', null, 'Role', el('span', { class: 'key' }, 'role')), role)),
      el('div', { class: 'found' }, ...types.map((t) => el('button', { type: 'button', class: 'choice', 'data-key': t.key,
        on: { click: () => done([role.value, t.key]) } }, el('b', null, t.word), el('span', { class: 'key' }, t.key), el('span', { class: 'hint' }, t.help.replaceAll('`', '')))))];
  });
}

export function askName(title, word, hint) {
  return ask(title, (done) => {
    const input = el('input', { class: 'in', autocomplete: 'off', required: true });
    const form = el('form', null, el('label', { class: 'field' }, el('span', null, word), input, el('span', { class: 'hint' }, hint)),
      el('p', { class: 'buttons' }, el('button', { class: 'btn primary' }, 'Add')));
    form.addEventListener('submit', (event) => {
      event.preventDefault();
      done(input.value.trim());
    });
    return [form];
  });
}
