// Conditions as sentences whose dotted words are menus and fields.

import { mark, optionNode, square } from './editor_fields.js';
import { el } from './report_ui.js';

const rangeOf = (field, item) => field.range || (field.ranges && field.ranges[item[field.range_by]]) || null;

function menu(field, item, changed) {
  const value = item[field.key];
  const meant = value === undefined ? field.default : value;
  const entries = field.choices.map((c) => [c.key, c.word]);
  if (meant === undefined) entries.unshift(['', field.required ? '– choose –' : `any ${field.word.toLowerCase()}`]);
  else if (!entries.some(([key]) => key === meant)) entries.push([meant, `${meant} (unknown)`]);
  return el('select', { class: 'tok', on: { change: (event) => changed(field.key, event.target.value || undefined, true) } },
    ...entries.map(([key, word]) => optionNode(key, word, key === (meant || ''))));
}

function text(field, item, changed) {
  const range = rangeOf(field, item);
  const input = el('input', { class: 'tok', autocomplete: 'off', inputmode: range ? 'decimal' : null,
    placeholder: range ? `${range.min} to ${range.max}` : field.word, title: range ? null : field.help,
    on: { input: () => {
      fit();
      changed(field.key, input.value === '' && !field.required ? undefined : input.value, false);
    } } });
  const fit = () => {
    input.size = Math.max(4, Math.min(40, (input.value || input.placeholder).length + 1));
  };
  const value = item[field.key];
  input.value = value === undefined || value === null ? '' : String(value);
  fit();
  return input;
}

function token(draft, field, item, changed) {
  const input = field.choices ? menu(field, item, changed) : text(field, item, changed);
  input.setAttribute('aria-label', field.word);
  const range = rangeOf(field, item);
  const box = el('span', { class: 'token', 'data-key': field.key }, input, range && range.unit && !field.choices ? el('span', { class: 'unit' }, range.unit) : null);
  return box;
}

function unknownRow(draft, set, hooks) {
  const node = el('div', { class: 'word', tabindex: -1 }, el('span', { class: `role ${draft.roleClass(set.role)}` }, set.role || '–'),
    el('div', null, el('p', null, 'Not known to this form, kept as it is ', el('span', { class: 'key' }, set.condition_type)),
      el('code', null, JSON.stringify(set.conditions))),
    el('span', { class: 'ways' }, square('close', `Remove ${set.condition_type}`, () => hooks.removeSet(set))));
  mark(node, node, draft.problemsOf(set));
  hooks.drawn(set, node);
  return node;
}

function emptyRow(draft, set, type, hooks) {
  const node = el('div', { class: 'word', tabindex: -1 }, el('span', { class: `role ${draft.roleClass(set.role)}` }, set.role),
    el('p', null, el('b', null, type.word), ' is not judged: the set is empty ', el('span', { class: 'key' }, type.key)),
    el('span', { class: 'ways' }, square('close', `Remove ${set.condition_type}`, () => hooks.removeSet(set))));
  mark(node, node, draft.problemsOf(set));
  hooks.drawn(set, node);
  return node;
}

// Options stand under the last entry of their set.
function optionsOf(draft, set, type, hooks) {
  return el('p', { class: 'options' }, ...type.options.map((o) => {
    const input = el('input', { type: 'checkbox', on: { change: () => {
      const rest = (set.options || []).filter((x) => x !== o.key);
      set.options = input.checked ? [...rest, o.key] : rest;
      draft.solved(set, 'options');
      hooks.changed();
    } } });
    input.checked = (set.options || []).includes(o.key);
    return el('label', null, input, ` ${o.word} `, el('span', { class: 'key' }, o.key));
  }));
}

// Draw what a row says again after another choice; the focus stays on its member.
function fillSentence(draft, set, item, type, hooks, place) {
  const { box, row } = place;
  const changed = (key, value, choice) => {
    if (value === undefined) delete item[key];
    else item[key] = value;
    draft.solved(item, key);
    if (choice) {
      draft.fit(type, item);
      fillSentence(draft, set, item, type, hooks, place);
      const held = box.querySelector(`[data-key="${key}"] .tok`);
      if (held) held.focus();
    } else marks();
    hooks.changed();
  };
  const marks = () => {
    mark(row, row, draft.problemsOf(item, ''));
    for (const t of box.querySelectorAll('.token')) mark(t, t.querySelector('.tok'), draft.problemsOf(item, t.dataset.key));
  };
  box.replaceChildren(el('b', null, type.word), el('span', { class: 'of' }, `, ${type.scope}:`),
    ...draft.fieldsOf(type, item).flatMap((f) => [' ', token(draft, f, item, changed)]),
    ' ', el('span', { class: 'key' }, type.key), ' ', hooks.last(set, item) || '');
  marks();
}

function row(draft, set, item, type, hooks) {
  const k = set.conditions.indexOf(item);
  const name = `condition ${hooks.number()}`;
  const ways = el('span', { class: 'ways' });
  if (k > 0) ways.append(square('down', `Move ${name} up`, () => hooks.move(set, item, -1), 'up'));
  if (k < set.conditions.length - 1) ways.append(square('down', `Move ${name} down`, () => hooks.move(set, item, 1)));
  ways.append(square('close', `Remove ${name}`, () => hooks.remove(set, item)));
  const box = el('div', { class: 'says' });
  const node = el('div', { class: 'word', tabindex: -1, title: type.help }, el('span', { class: `role ${draft.roleClass(set.role)}` }, set.role), box, ways);
  fillSentence(draft, set, item, type, hooks, { box, row: node });
  hooks.drawn(item, node);
  return node;
}

// hooks: changed(), last(set, item) -> the figure of the last run or null, move(set, item, by), remove(set, item), removeSet(set), drawn(object, node)
export function drawConditions(box, draft, hooks) {
  let count = 0;
  hooks.number = () => ++count;
  const nodes = draft.record.conditions.flatMap((set) => {
    const type = draft.typeOf(set);
    const entries = Array.isArray(set.conditions) ? set.conditions : [];
    if (!type || entries.some((c) => !c || typeof c !== 'object')) return [unknownRow(draft, set, hooks)];
    if (!entries.length) return [emptyRow(draft, set, type, hooks)];
    const rows = entries.map((item) => row(draft, set, item, type, hooks));
    const wrong = draft.problemsOf(set);
    if (wrong.length) {
      mark(rows[0], rows[0], [...draft.problemsOf(entries[0], ''), ...wrong]);
      hooks.drawn(set, rows[0]);
    }
    if (type.options.length) rows.push(optionsOf(draft, set, type, hooks));
    return rows;
  });
  box.replaceChildren(...nodes);
  if (!nodes.length) {
    box.append(el('div', { class: 'empty' }, el('b', null, 'No condition'),
      el('span', null, 'Then the run passes when registrations succeed and calls are placed and end as they should.')));
  }
}
