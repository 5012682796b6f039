// The inspector: the parameters of one action by subject.

import { mark, paramField, square } from './editor_fields.js';
import { setKeys } from './editor_words.js';
import { el, icon, plural } from './report_ui.js';

function groupsOf(params) {
  const groups = new Map();
  for (const p of params) groups.set(p.group, [...(groups.get(p.group) || []), p]);
  return groups;
}

function foldOf(title, fields, open) {
  const said = el('span', { class: 'soft' });
  const node = el('details', { class: 'fold', open }, el('summary', null, icon('right'), title, said), el('div', null, ...fields));
  return [node, said];
}

// Parameters that the descriptions do not have: they are kept, and can be taken away.
function unknownFold(known, action, change) {
  const keys = setKeys(action).filter((k) => !known.some((p) => p.key === k));
  if (!keys.length) return null;
  const rows = keys.map((key) => {
    const remove = square('close', `Remove ${key}`, () => {
      change(key, undefined);
      row.remove();
    });
    const row = el('div', { class: 'row', 'data-key': key, tabindex: -1 }, el('span', { class: 'parts' }, el('span', { class: 'key' }, key),
      el('code', null, JSON.stringify(action[key]))), remove);
    return row;
  });
  return foldOf('Not known to this form, kept as they are', rows, true)[0];
}

function marks(draft, action, box) {
  for (const field of box.querySelectorAll('[data-key]')) {
    const problems = draft.problemsOf(action, field.dataset.key).map((p) => ({
      ...p, detail: /^\d+$/.test(p.rest[0] || '') ? `${Number(p.rest[0]) + 1}: ${p.detail}` : p.detail }));
    field.classList.toggle('set', field.dataset.key in action);
    mark(field, field.querySelector(':scope > .in, :scope > .suffix > .in') || field, problems);
  }
}

// The fold of a group says what is set within it and what is wrong.
function sayFolds(draft, action, folds) {
  for (const { params, said, node } of folds) {
    const set = params.filter((p) => p.key in action).length;
    const wrong = params.filter((p) => draft.problemsOf(action, p.key).length).length;
    said.replaceChildren(set || !wrong ? (set ? `${set} set` : 'usual') : '', set && wrong ? ', ' : '',
      wrong ? el('b', { class: 'bad' }, plural(wrong, 'problem')) : '');
    if (wrong) node.open = true;
  }
}

function finder(box, folds, count) {
  const input = el('input', { class: 'in', 'aria-label': 'Find a parameter', placeholder: `Find one of ${count} parameters`, type: 'search',
    on: { input: () => {
      const words = input.value.toLowerCase();
      for (const { params, node } of folds) {
        let shown = 0;
        for (const p of params) {
          const found = `${p.word} ${p.key} ${p.help}`.toLowerCase().includes(words);
          node.querySelector(`[data-key="${p.key}"]`).hidden = !found;
          shown += found;
        }
        node.hidden = !shown;
        if (words && shown) node.open = true;
      }
    } } });
  box.append(el('div', { class: 'finder' }, input));
}

function ways(hooks, action) {
  return el('div', { class: 'ways' },
    el('button', { class: 'btn small', type: 'button', on: { click: () => hooks.move(action, -1) } }, 'Earlier'),
    el('button', { class: 'btn small', type: 'button', on: { click: () => hooks.move(action, 1) } }, 'Later'),
    el('button', { class: 'btn small danger', type: 'button', on: { click: () => hooks.remove(action) } }, 'Remove action'));
}

// hooks: changed(), move(action, by), remove(action), close()
export function drawSide(side, draft, action, records, hooks) {
  side.hidden = !action;
  side.replaceChildren();
  if (!action) return;
  const known = draft.actions.get(action.type);
  const params = known ? known.parameters : [];
  const place = draft.placeOf(action);
  const card = el('section', { class: 'card' });
  const folds = [];
  const change = (key, value) => {
    if (value === undefined) delete action[key];
    else action[key] = value;
    draft.solved(action, key);
    refresh();
    hooks.changed();
  };
  const refresh = () => {
    marks(draft, action, card);
    sayFolds(draft, action, folds);
  };
  const roles = el('select', { class: 'in', on: { change: () => {
    action.role = roles.value;
    draft.solved(action, 'role');
    hooks.changed();
  } } }, ...draft.roles().map((r) => el('option', { value: r, selected: r === action.role }, r)));
  card.append(el('header', null, el('h2', { tabindex: -1, id: 'side-title' }, known ? known.word : action.type),
    el('span', { class: 'note' }, `step ${place[0] + 1}, `, el('span', { class: `role ${draft.roleClass(action.role)}` }, action.role)),
    square('close', 'Close', hooks.close)));
  card.append(el('div', { class: 'about' }, el('p', { class: 'note' }, known ? `${action.role} ${known.help}. Ends when: ${known.ends}.` : 'This form does not know the action.'),
    el('label', { class: 'field', 'data-key': 'role' }, el('span', null, 'Role', el('span', { class: 'key' }, 'role')), roles), ways(hooks, action)));
  if (params.length) finder(card, folds, params.length);
  for (const [title, group] of groupsOf(params)) {
    const fields = group.map((p) => paramField(draft, p, action, change, records));
    const [node, said] = foldOf(title, fields, group.some((p) => p.key in action || p.required) || !folds.length);
    folds.push({ params: group, node, said });
    card.append(node);
  }
  const rest = unknownFold(params, action, change);
  if (rest) card.append(rest);
  side.append(card);
  refresh();
}
