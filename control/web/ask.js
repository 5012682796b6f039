// A dialog that is answered.

import { el, icon } from './report_ui.js';

// content: function that gets what the dialog answers with, and makes its nodes. @return null: it was closed
export function ask(title, content) {
  return new Promise((resolve) => {
    let answer = null;
    const close = el('button', { class: 'btn small quiet square', type: 'button', 'aria-label': 'Close', on: { click: () => dialog.close() } }, icon('close'));
    const dialog = el('dialog', { 'aria-labelledby': 'ask-title' }, el('header', null, el('h2', { id: 'ask-title' }, title), close));
    dialog.append(...content((value) => {
      answer = value;
      dialog.close();
    }));
    dialog.addEventListener('close', () => {
      dialog.remove();
      resolve(answer);
    });
    document.body.append(dialog);
    dialog.showModal();
    const first = dialog.querySelector('input, .found button');
    if (first) first.focus();
  });
}

// buttons: [[word, answer]]
export function confirmed(title, text, buttons) {
  return ask(title, (done) => [el('p', null, text), el('footer', null, ...buttons.map(([word, answer], i) => el('button', {
    type: 'button', class: i ? 'btn' : 'btn primary', on: { click: () => done(answer) } }, word)))]);
}
