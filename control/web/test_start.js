// Start a test with other values for one run; the saved test stays as it is.

import { api } from './api.js';
import { el } from './report_ui.js';
import { overridable } from './test_words.js';

let count = 0;

// One value: which parameter, and what it is in this run.
function row(choices, remove) {
  count += 1;
  const select = el('select', { class: 'in', 'aria-label': `Parameter ${count}` },
    el('option', { value: '' }, '– choose a parameter –'), ...choices.map((c) => el('option', { value: c.name }, `${c.words} (${c.key})`)));
  const input = el('input', { class: 'in', 'aria-label': `Value ${count}`, autocomplete: 'off' });
  select.addEventListener('change', () => {
    const chosen = choices.find((c) => c.name === select.value);
    input.placeholder = chosen && chosen.set !== undefined ? String(chosen.set) : '';
  });
  const node = el('div', { class: 'override' }, select, input);
  node.append(el('button', { class: 'btn small', type: 'button', 'aria-label': `Remove parameter ${count}`, on: { click: () => remove(node) } }, 'Remove'));
  return node;
}

function valuesOf(rows, form) {
  const values = new URLSearchParams();
  for (const node of rows.children) {
    const [select, input] = [node.querySelector('select'), node.querySelector('input')];
    if (select.value && input.value !== '') values.set(select.value, input.value);
  }
  if (form.elements.retries.value !== '') values.set('retries_on_failure', form.elements.retries.value);
  return values;
}

// @return the address of the run's report, by a promise; null: the dialog was closed
export function startDialog(test, descriptions) {
  const choices = overridable(test.steps, descriptions);
  const rows = el('div', { id: 'overrides' });
  const wrong = el('p', { class: 'bad', role: 'alert', id: 'start-wrong' });
  const add = () => {
    const node = row(choices, (old) => old.remove());
    rows.append(node);
    node.querySelector('select').focus();
  };
  const form = el('form', { method: 'dialog' }, el('p', { class: 'note' }, 'For this run alone. What is not set is as in the test.'), rows,
    el('button', { class: 'btn small', type: 'button', id: 'override-add', on: { click: add } }, 'Add another value'),
    el('label', { class: 'field' }, el('span', null, 'Runs after a failure ', el('span', { class: 'key' }, 'retries_on_failure')),
      el('input', { class: 'in', name: 'retries', inputmode: 'numeric', placeholder: String(test.retries_on_failure || 0) })), wrong);
  const go = el('button', { class: 'btn primary', type: 'button', id: 'override-start' }, 'Start');
  const close = el('button', { class: 'btn', type: 'button' }, 'Close');
  const dialog = el('dialog', { 'aria-labelledby': 'override-title', class: 'wide-dialog' }, el('header', null, el('h2', { id: 'override-title' }, 'Start with other values')),
    form, el('footer', null, close, go));
  document.body.append(dialog);
  dialog.showModal();
  add();
  return new Promise((resolve) => {
    close.addEventListener('click', () => dialog.close());
    form.addEventListener('submit', (event) => {
      event.preventDefault(); // the key Enter
      go.click();
    });
    dialog.addEventListener('close', () => {
      dialog.remove();
      resolve(null);
    });
    go.addEventListener('click', async () => {
      go.disabled = true;
      wrong.textContent = '';
      try {
        const { data } = await api('POST', `/tests/${test.id}/run`, valuesOf(rows, form));
        resolve(data.report_url);
        dialog.close();
      } catch (error) {
        wrong.textContent = error.message;
      }
      go.disabled = false;
    });
  });
}
