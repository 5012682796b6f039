// The views of a test as a text: JSON, which can be edited, and YAML.

import { copyText } from './report_share.js';
import { jsonText, lineAround, lineOf, misfit, parsed } from './editor_json.js';
import { byId } from './dom.js';
import { el, shape } from './report_ui.js';

const area = () => byId('json');

export const isText = () => !byId('json-view').hidden;

function select(begin, end) {
  area().focus();
  area().setSelectionRange(begin, end);
  area().scrollTop = Math.max(0, (lineOf(area().value, begin) - 5) * parseFloat(getComputedStyle(area()).lineHeight));
}

function say(lines) {
  byId('json-problems').replaceChildren(...lines.map(([text, show]) => el('p', { class: 'wrong' }, shape('failed'), el('span', null, text),
    show ? el('button', { class: 'btn small', type: 'button', on: { click: show } }, 'Show it') : null)));
  if (lines.length) area().setAttribute('aria-invalid', 'true');
  else area().removeAttribute('aria-invalid');
}

// Read the text into the draft. @return false: it is no test, and the view says why
function read(draft) {
  const [record, wrong] = parsed(area().value);
  say(wrong ? [[wrong]] : []);
  draft.unread = Boolean(wrong);
  if (!wrong) draft.record = record;
  return !wrong;
}

export function startText(draft, changed) {
  area().addEventListener('input', () => {
    draft.problems = [];
    read(draft);
    changed();
  });
  offer('json', 'application/json', () => area().value);
  offer('yaml', 'application/yaml', () => byId('yaml').textContent);
}

// Buttons that take the text elsewhere.
function offer(kind, type, text) {
  byId(`copy-${kind}`).addEventListener('click', () => copyText(text(), 'The test was copied.', 'Select the text and press Ctrl C.'));
  byId(`download-${kind}`).addEventListener('click', () => {
    const way = el('a', { href: URL.createObjectURL(new Blob([text()], { type })), download: `test.${kind}` });
    way.click();
    URL.revokeObjectURL(way.href);
  });
}

export function drawText(draft) {
  area().value = `${jsonText(draft.record)}\n`;
  sayProblems(draft);
}

// What the API refused, with the lines it is about.
export function sayProblems(draft) {
  say(draft.problems.map((p) => {
    const [begin, end] = lineAround(area().value, p.pointer);
    return [`Line ${lineOf(area().value, begin)}, ${p.pointer.slice(1) || 'the test'}: ${p.detail}`, () => select(begin, end)];
  }));
}

export function showFirstLine(draft) {
  if (draft.problems.length) select(...lineAround(area().value, draft.problems[0].pointer));
}

// @return false: the form cannot show the text, and the view says why
export function textFits(draft) {
  if (!read(draft)) return false;
  const wrong = misfit(draft.record);
  if (!wrong) return true;
  say([[wrong]]);
  area().focus();
  return false;
}

export const textReady = (draft) => !isText() || read(draft);
