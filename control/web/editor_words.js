// What a test does, in words made of the API's descriptions.

import { plural } from './report_ui.js';

// Help of the API: `code` stands within backticks.
export function helpText(text) {
  return text.split('`').map((part, i) => {
    const node = document.createElement(i % 2 ? 'code' : 'span');
    node.textContent = part;
    return node;
  });
}

export function recordName(records, kind, id) {
  const found = (records[kind] || []).find((r) => r.id === id);
  return found ? found.name : String(id);
}

export function wordOf(value, param, records) {
  if (Array.isArray(value)) return value.map((v) => (Array.isArray(v) ? v[0] : v)).join(', ');
  if (value && typeof value === 'object') return JSON.stringify(value);
  if (param && param.records && param.type === 'integer') return recordName(records, param.records, value);
  if (value === true) return 'yes';
  if (value === false) return 'no';
  return `${value}${param && param.unit ? ` ${param.unit}` : ''}`;
}

const NOT_PARAMETERS = ['type', 'role'];

export const setKeys = (action) => Object.keys(action).filter((k) => !NOT_PARAMETERS.includes(k));

// A card tells only what is set.
export function cardText(draft, action, records) {
  const known = draft.actions.get(action.type);
  const params = known ? known.parameters : [];
  const keys = [...params.map((p) => p.key).filter((k) => k in action), ...setKeys(action).filter((k) => !params.some((p) => p.key === k))];
  return keys.filter((k) => k !== 'sipclient_actions').map((key) => {
    const param = params.find((p) => p.key === key);
    return `${param ? param.word : key} ${wordOf(action[key], param, records)}`;
  }).join('; ');
}

// @return [words, argument] of an action of a script
export function scriptLine(draft, entry) {
  if (!Array.isArray(entry)) return [JSON.stringify(entry), ''];
  const known = draft.descriptions.script_actions.find((s) => s.key === entry[0]);
  const unit = known && known.argument && known.argument.help === 'ms' ? ' ms' : '';
  return [known ? known.word : String(entry[0]), entry[1] ? `${entry[1]}${unit}` : ''];
}

function clause(draft, action) {
  const known = draft.actions.get(action.type);
  const word = (known ? known.word : String(action.type)).toLowerCase();
  const more = [];
  if (action.dial_destination) more.push(action.dial_destination);
  if (action.max_total_calls > 1) more.push(`${action.max_total_calls} times`);
  return [word, ...more].join(' ');
}

// What each role does in each step, then how much is judged.
export function sentence(draft) {
  const { steps, conditions } = draft.record;
  const doing = steps.map((step) => {
    const roles = [...new Set(step.map((a) => a.role))];
    return roles.map((role) => `${role}: ${step.filter((a) => a.role === role).map((a) => clause(draft, a)).join(', ')}`).join('; ');
  }).filter(Boolean);
  if (!doing.length) return 'It does nothing yet. Add an action to the first step.';
  const judged = conditions.reduce((n, set) => n + (set.conditions || []).length, 0);
  const shown = doing.slice(0, 4).join(' – then ') + (doing.length > 4 ? ` – then ${plural(doing.length - 4, 'more step')}` : '');
  return `${shown}. ${judged ? `${plural(judged, 'condition')}.` : 'No condition: only the built-in checks are judged.'}`;
}
