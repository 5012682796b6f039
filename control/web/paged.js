// A list of several pages. Its filters and the first row that is shown are in the address, so that a view can be shared.

import { byId, during, onSubmit, reading, setValues, values } from './page.js';

export const asked = () => Object.fromEntries(new URLSearchParams(location.search));

// Say which rows are shown, and offer the others.
export function showRange(shown, total) {
  const start = Number(asked().start || 0);
  byId('newer').hidden = start === 0;
  byId('older').hidden = start + shown >= total;
  byId('range').textContent = total ? `${start + 1} to ${start + shown} of ${total}` : '';
}

// Connect the filters and the buttons of a list with its drawing. size: rows of a page
export function connect(draw, size) {
  const form = byId('form');
  const go = (changes) => {
    const search = new URLSearchParams();
    for (const [name, value] of Object.entries(changes)) if (value && value !== '0') search.set(name, value);
    history.pushState(null, '', search.size ? `${location.pathname}?${search}` : location.pathname);
    return draw();
  };
  const turn = (by) => go({ ...asked(), start: String(Math.max(0, Number(asked().start || 0) + by)) });
  setValues(form, asked());
  onSubmit('form', () => go(values(form)));
  byId('newer').addEventListener('click', () => during(byId('newer'), () => turn(-size)));
  byId('older').addEventListener('click', () => during(byId('older'), () => turn(size)));
  window.addEventListener('popstate', () => {
    setValues(form, asked());
    reading(draw);
  });
}
