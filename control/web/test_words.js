// Steps and conditions of a test in words, made of the descriptions of the API.

import { all } from './api.js';
import { el } from './report_ui.js';

// The list that has the names of what a parameter refers to.
const LISTS = { targets: ['/targets', 'targets'], 'credential-pools': ['/credential-pools', 'credential_pools'] };

// Read the names of all records that the actions refer to by id. @return {kind: Map of id to name}
export async function namesOf(steps, descriptions) {
  const used = new Set(steps.flat().flatMap((action) => parametersOf(action, descriptions)
    .filter((p) => p.type === 'integer' && LISTS[p.records] && p.key in action).map((p) => p.records)));
  const lists = await Promise.all([...used].map((kind) => all(...LISTS[kind])));
  return Object.fromEntries([...used].map((kind, i) => [kind, new Map(lists[i].map((r) => [r.id, r.name]))]));
}

function parametersOf(action, descriptions) {
  const known = descriptions.actions.find((a) => a.key === action.type);
  return known ? known.parameters : [];
}

function valueText(value, parameter, names) {
  if (names[parameter.records] && names[parameter.records].has(value)) return names[parameter.records].get(value);
  if (typeof value === 'boolean') return value ? 'yes' : 'no';
  if (Array.isArray(value)) return value.map((v) => (Array.isArray(v) ? v.join(': ') : String(v))).join(', ') || 'none';
  if (value !== null && typeof value === 'object') return JSON.stringify(value);
  return `${value}${parameter.unit ? ` ${parameter.unit}` : ''}`;
}

function scriptList(script, descriptions) {
  const line = ([key, argument]) => {
    const known = descriptions.script_actions.find((s) => s.key === key);
    return el('li', null, known ? known.word : key, argument ? el('b', null, ` ${argument}`) : '');
  };
  return el('ol', { class: 'script' }, ...script.map((entry) => line([].concat(entry))));
}

function actionCard(action, descriptions, names) {
  const known = descriptions.actions.find((a) => a.key === action.type);
  const set = parametersOf(action, descriptions).filter((p) => p.key in action && p.key !== 'sipclient_actions');
  const list = el('dl', { class: 'set' });
  for (const p of set) list.append(el('div', null, el('dt', null, p.word), el('dd', null, valueText(action[p.key], p, names))));
  const script = Array.isArray(action.sipclient_actions) && action.sipclient_actions.length
    ? scriptList(action.sipclient_actions, descriptions) : null;
  return el('div', { class: 'action' }, el('h3', null, known ? known.word : action.type, el('span', { class: 'key' }, action.type)),
    set.length ? list : null, script);
}

export const rolesOf = (steps) => [...new Set(steps.flat().map((a) => a.role))];

export function roleTag(role, roles) {
  return el('span', { class: `role ${['', 'b', 'c'][roles.indexOf(role) % 3] || ''}` }, role);
}

// A block a step: what each role does in it.
export function stepNodes(steps, descriptions, names) {
  const roles = rolesOf(steps);
  return steps.map((step, i) => {
    const columns = roles.filter((role) => step.some((a) => a.role === role)).map((role) => el('div', null, roleTag(role, roles),
      ...step.filter((a) => a.role === role).map((a) => actionCard(a, descriptions, names))));
    return el('div', { class: 'step' }, el('h3', null, `Step ${i + 1}`), el('div', { class: 'step-roles' }, ...columns));
  });
}

function entryWords(entry, known) {
  return known.fields.filter((f) => f.key in entry && entry[f.key] !== '').map((f) => {
    const choice = (f.choices || []).find((c) => c.key === String(entry[f.key]));
    const range = f.range || (f.ranges && f.ranges[entry[f.range_by]]);
    return choice ? choice.word : `${entry[f.key]}${range && range.unit ? ` ${range.unit}` : ''}`;
  }).join(' ');
}

// @return [{role, words, scope, set, entry}]
export function conditionWords(conditions, descriptions) {
  return conditions.flatMap((set) => {
    const key = set.condition_type.startsWith(`${set.role}-`) ? set.condition_type.slice(set.role.length + 1) : set.condition_type;
    const known = descriptions.conditions.find((c) => c.key === key);
    return (set.conditions || []).map((entry) => ({ role: set.role, set, entry,
      words: known ? `${known.word}: ${entryWords(entry, known)}` : `${set.condition_type}: ${JSON.stringify(entry)}`,
      scope: known ? known.scope : '' }));
  });
}

// What can be set for one run: [name of the override, words].
export function overridable(steps, descriptions) {
  return steps.flatMap((step, i) => step.flatMap((action, k) => {
    const known = descriptions.actions.find((a) => a.key === action.type);
    return parametersOf(action, descriptions).filter((p) => p.type !== 'array' && !p.records)
      .map((p) => ({ name: `step.${i}.${k}.${p.key}`, key: p.key, set: action[p.key],
        words: `Step ${i + 1}, ${action.role}, ${known.word}: ${p.word}${p.unit ? `, ${p.unit}` : ''}` }));
  }));
}
