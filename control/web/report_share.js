// What is taken elsewhere: texts to copy, and the dialog that shares a run.

import { api } from './api.js';
import { toast } from './form.js';
import { el, icon } from './report_ui.js';

// field: an input or textarea with the text, for pages that are not served over TLS
async function copied(text, field) {
  if (navigator.clipboard) {
    try {
      await navigator.clipboard.writeText(text);
      return true;
    } catch { /* not allowed: as without it */ }
  }
  field.select();
  return document.execCommand('copy');
}

// Copy a text and show the message `said`, or `otherwise` if the browser does not allow the page to copy.
export async function copyText(text, said, otherwise) {
  const held = document.activeElement;
  const field = el('textarea', { readonly: true, 'aria-hidden': 'true', class: 'sr' }); // an input would drop the ends of lines
  field.value = text;
  document.body.append(field);
  const done = await copied(text, field);
  field.remove();
  held.focus({ preventScroll: true });
  toast(done ? said : `The browser does not let the page copy. ${otherwise}`);
}

// The public link of a run: made, copied, revoked.
export async function shareDialog(run) {
  const { run: found } = await api('GET', `/runs/${run.session_id}`);
  let link = found.report_mode === 'kiosk' ? found.report_url : null;
  const field = el('input', { class: 'in mono', readonly: true, 'aria-label': 'Link' });
  const wrong = el('p', { class: 'bad', role: 'alert' });
  const everybody = el('input', { type: 'radio', name: 'who', id: 'share-public' });
  const colleagues = el('input', { type: 'radio', name: 'who', id: 'share-colleagues' });
  const revoke = el('button', { class: 'btn', type: 'button', id: 'share-revoke' }, 'Revoke the public link');
  const show = () => {
    field.value = everybody.checked && link ? link : `${location.origin}/run/details/${run.session_id}`;
    revoke.hidden = !link;
  };
  const attempt = async (work) => {
    wrong.textContent = '';
    try {
      await work();
    } catch (error) {
      wrong.textContent = error.message;
      colleagues.checked = true;
    }
    show();
  };
  everybody.addEventListener('change', () => attempt(async () => {
    if (!link) link = (await api('PUT', `/runs/${run.session_id}/kiosk`)).report_url;
  }));
  colleagues.addEventListener('change', show);
  revoke.addEventListener('click', () => attempt(async () => {
    await api('DELETE', `/runs/${run.session_id}/kiosk`);
    link = null;
    colleagues.checked = true;
    toast('The public link was revoked.');
  }));
  (link ? everybody : colleagues).checked = true;
  const option = (input, title, note) => el('label', { class: 'option' }, input, el('b', null, title), el('span', { class: 'note' }, note));
  const close = el('button', { class: 'btn small quiet square', type: 'button', 'aria-label': 'Close' }, icon('close'));
  const copy = el('button', { class: 'btn primary', type: 'button' }, 'Copy link');
  const dialog = el('dialog', { 'aria-labelledby': 'share-title' },
    el('header', null, el('h2', { id: 'share-title' }, run.id ? `Share run ${run.id}` : 'Share'), close),
    el('div', null, option(colleagues, 'Colleagues', 'Who can sign in here sees all of the report.'),
      option(everybody, 'Everybody who has the link', 'Without files, digits and bodies of SIP messages.'), field, wrong),
    el('footer', null, revoke, copy));
  close.addEventListener('click', () => dialog.close());
  copy.addEventListener('click', async () => {
    if (await copied(field.value, field)) {
      dialog.close();
      toast('The link was copied.');
    } else wrong.textContent = 'The browser does not let the page copy. Copy the link from the field.';
  });
  dialog.addEventListener('close', () => dialog.remove());
  document.body.append(dialog);
  show();
  dialog.showModal();
}
