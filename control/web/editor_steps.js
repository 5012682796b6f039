// Steps as lanes: a row a step, a column a role.

import { square } from './editor_fields.js';
import { cardText, scriptLine } from './editor_words.js';
import { el, icon, plural, shape } from './report_ui.js';

const ICONS = { register: 'key', answer: 'in', call: 'phone', wait: 'clock', stream: 'wave', unregister: 'close' };
const SCRIPT_SHOWN = 6;

function scriptNode(draft, lines) {
  const shown = lines.slice(0, SCRIPT_SHOWN).map((entry) => {
    const [word, argument] = scriptLine(draft, entry);
    return el('li', null, el('span', null, word, argument ? ' ' : '', argument ? el('b', null, argument) : ''));
  });
  const rest = lines.length - SCRIPT_SHOWN;
  return el('ol', { class: 'script' }, ...shown, rest > 0 ? el('li', { class: 'rest' }, el('span', null, `and ${plural(rest, 'more line')}`)) : null);
}

function card(draft, action, records, chosen, hooks) {
  const known = draft.actions.get(action.type);
  const text = cardText(draft, action, records);
  const wrong = draft.problemsOf(action);
  const words = [...new Set(wrong.map((p) => {
    const param = known && known.parameters.find((q) => q.key === p.key);
    return param ? param.word : p.key || p.detail;
  }))];
  const missing = draft.missing(action).map((key) => known.parameters.find((p) => p.key === key).word);
  const lines = Array.isArray(action.sipclient_actions) ? action.sipclient_actions : [];
  const node = el('button', { class: 'act', type: 'button', 'aria-current': action === chosen ? 'true' : null, on: {
    click: () => hooks.choose(action),
    keydown: (event) => {
      if (!event.altKey || !['ArrowUp', 'ArrowDown'].includes(event.key)) return;
      event.preventDefault();
      hooks.move(action, event.key === 'ArrowUp' ? -1 : 1);
    } } },
  el('span', { class: 'name' }, icon(ICONS[action.type] || 'share'), el('b', null, known ? known.word : action.type), el('span', { class: 'key' }, action.type)),
  text ? el('span', { class: 'what' }, text) : null,
  lines.length ? scriptNode(draft, lines) : null,
  missing.length && !wrong.length ? el('span', { class: 'lacks' }, `Not chosen yet: ${missing.join(', ')}`) : null,
  wrong.length ? el('span', { class: 'flag' }, shape('failed'), `${plural(wrong.length, 'problem')}: ${words.join(', ')}`) : null);
  hooks.drawn(action, node);
  return node;
}

function gutter(draft, i, hooks) {
  const last = draft.record.steps.length - 1;
  const box = el('div', { class: 'st', tabindex: -1 }, 'Step', el('b', null, `${i + 1}`));
  const ways = el('span', { class: 'ways' });
  if (i > 0) ways.append(square('down', `Move step ${i + 1} up`, () => hooks.moveStep(i, -1), 'up'));
  if (i < last) ways.append(square('down', `Move step ${i + 1} down`, () => hooks.moveStep(i, 1)));
  if (last) ways.append(square('close', `Remove step ${i + 1}`, () => hooks.removeStep(i)));
  box.append(ways);
  return box;
}

// What the next step waits for: the ends of the step's actions, each once.
function barrier(draft, step) {
  const ends = [...new Set(step.map((a) => draft.actions.get(a.type)).filter((a) => a && a.ends !== 'at once').map((a) => a.ends))];
  return el('div', { class: 'barrier' }, el('span', null, ends.length ? ends.join('; ') : 'at once'));
}

function stepNodes(draft, i, records, chosen, hooks) {
  const step = draft.record.steps[i];
  const wrong = draft.problemsOf(step);
  const cells = draft.roles().map((role) => {
    const own = step.filter((a) => a.role === role);
    return el('div', { class: `cell${own.length ? '' : ' none'}` }, el('span', { class: `role ${draft.roleClass(role)}` }, role),
      ...own.map((a) => card(draft, a, records, chosen, hooks)),
      el('button', { class: 'add', type: 'button', 'aria-label': `Add an action of ${role} to step ${i + 1}`,
        on: { click: () => hooks.add(step, role) } }, '+ Action'));
  });
  const flag = wrong.length ? el('p', { class: 'wrong whole', tabindex: -1 }, shape('failed'), `Step ${i + 1}: ${wrong.map((p) => p.detail).join('; ')}`) : null;
  if (flag) hooks.drawn(step, flag);
  return [flag, gutter(draft, i, hooks), ...cells].filter(Boolean);
}

// hooks: choose(action), move(action, by), add(step, role), moveStep(i, by), removeStep(i), drawn(object, node)
export function drawSteps(box, draft, records, chosen, hooks) {
  const roles = draft.roles();
  box.style.setProperty('--roles', roles.length);
  const heads = roles.map((role) => el('div', { class: 'hd' }, el('span', { class: `role ${draft.roleClass(role)}` }, role)));
  const nodes = draft.record.steps.flatMap((step, i) => [...(i ? [barrier(draft, draft.record.steps[i - 1])] : []),
    ...stepNodes(draft, i, records, chosen, hooks)]);
  box.replaceChildren(el('div', { class: 'hd' }), ...heads, ...nodes);
}
