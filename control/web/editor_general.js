// What is about the whole test: name, project, agents, tags, what happens after a failure.

import { mark, optionNode } from './editor_fields.js';
import { el, icon } from './report_ui.js';

// record: where its choices come from; flag: 0 or 1
const FIELDS = [
  { key: 'name', word: 'Name', required: true },
  { key: 'project_id', word: 'Project', records: 'projects', required: true, page: '/projects' },
  { key: 'agentpool_id', word: 'Agent pool', records: 'agent_pools', required: true, page: '/pools', hint: 'Agents of this pool carry the test out.' },
  { key: 'tags', word: 'Tags', list: true, hint: 'Separated by commas.' },
  { key: 'description', more: true, word: 'Description', lines: 3 },
  { key: 'record', more: true, word: 'Kept of each run', choices: [['none', 'figures only'], ['sip', 'SIP messages'], ['media', 'SIP messages and sound']] },
  { key: 'retries_on_failure', more: true, word: 'Runs again after a failure', integer: true, placeholder: '0', hint: '0 to 10 times.' },
  { key: 'callback_url', more: true, word: 'Address of the callback', placeholder: 'https://' },
  { key: 'callback_template_name', more: true, word: 'Callback template', names: 'callback_templates' },
  { key: 'callback_secret', more: true, word: 'Secret that signs the callback', secret: true },
  { key: 'callback_on_failure', more: true, word: 'Callback after a failure', flag: true },
  { key: 'callback_on_recovery', more: true, word: 'Callback when it passes again', flag: true },
];

function choicesOf(f, value, records) {
  if (f.choices) return f.choices;
  const entries = f.records ? records[f.records].map((r) => [String(r.id), r.name])
    : [['', 'none'], ...records[f.names].map((r) => [r.name, r.name])];
  return f.records ? [['', '– choose –'], ...entries] : entries;
}

function inputOf(f, record, records) {
  const value = record[f.key];
  if (f.choices || f.records || f.names) {
    const entries = choicesOf(f, value, records);
    const now = value === undefined || value === null ? '' : String(value);
    if (now && !entries.some(([v]) => v === now)) entries.push([now, `${now} (unknown)`]);
    return el('select', { class: 'in' }, ...entries.map(([v, text]) => optionNode(v, text, v === (now || (f.key === 'record' ? 'sip' : '')))));
  }
  if (f.flag) {
    const box = el('input', { type: 'checkbox' });
    box.checked = value === 1;
    return box;
  }
  const input = el(f.lines ? 'textarea' : 'input', { class: 'in', autocomplete: f.secret ? 'new-password' : 'off', rows: f.lines,
    type: f.lines ? null : f.secret ? 'password' : 'text', inputmode: f.integer ? 'numeric' : null,
    placeholder: f.secret && record.has_callback_secret === 1 ? 'kept; type to replace it' : f.placeholder });
  input.value = f.list ? (Array.isArray(value) ? value.join(', ') : String(value || '')) : f.secret || value === undefined || value === null ? '' : String(value);
  return input;
}

function valueOf(f, input) {
  if (f.flag) return input.checked ? 1 : 0;
  if (f.list) return input.value.split(',').map((t) => t.trim()).filter(Boolean);
  if (f.required && !f.records) return input.value;
  if (input.value === '') return undefined;
  return (f.records || f.integer) && /^\d+$/.test(input.value) ? Number(input.value) : input.value;
}

function field(draft, f, records, changed) {
  const { record } = draft;
  const input = inputOf(f, record, records);
  input.addEventListener(f.flag || input.tagName === 'SELECT' ? 'change' : 'input', () => {
    const value = valueOf(f, input);
    if (value === undefined) delete record[f.key];
    else record[f.key] = value;
    if (f.secret && value !== undefined) delete record.has_callback_secret;
    draft.solved(record, f.key);
    mark(label, input, []);
    changed();
  });
  const words = el('span', null, f.word, el('span', { class: 'key' }, f.key));
  const label = f.flag ? el('label', { class: 'field flagged', 'data-key': f.key }, input, words) : el('label', { class: 'field', 'data-key': f.key }, words, input);
  if (f.hint) label.append(el('span', { class: 'hint' }, f.hint));
  if (f.page && !records[f.records].length) {
    label.append(el('span', { class: 'hint' }, 'There is none yet. ', el('a', { href: f.page, target: '_blank', rel: 'noopener' }, 'Make one'), ' and load this page again.'));
  }
  mark(label, input, draft.problemsOf(record, f.key));
  return label;
}

// The stored secret is not readable: it is kept unless this is chosen.
function removeSecret(draft, changed) {
  const box = el('input', { type: 'checkbox', on: { change: () => {
    draft.record.has_callback_secret = box.checked ? 0 : 1;
    changed();
  } } });
  return el('label', { class: 'field flagged' }, box, el('span', null, 'Remove the stored secret', el('span', { class: 'key' }, 'has_callback_secret')));
}

export function drawGeneral(box, draft, records, changed) {
  const draw = (list) => list.map((f) => field(draft, f, records, changed));
  const more = FIELDS.filter((f) => f.more);
  const fold = el('details', { class: 'fold whole', open: Boolean(box.querySelector('.fold[open]')) },
    el('summary', null, icon('right'), 'Description, what is kept, retries and callback'), el('div', { class: 'fields' }, ...draw(more),
      draft.record.has_callback_secret === 1 ? removeSecret(draft, changed) : null));
  if (more.some((f) => draft.problemsOf(draft.record, f.key).length)) fold.open = true;
  box.replaceChildren(...draw(FIELDS.filter((f) => !f.more)), fold);
}

const name = (list, id) => (list.find((r) => r.id === id) || { name: '–' }).name;

// One line of it, for who has folded it.
export function generalFacts(draft, records) {
  const { record } = draft;
  const tags = Array.isArray(record.tags) ? record.tags.join(', ') : '';
  const after = [record.callback_on_failure === 1 ? 'callback' : '', record.retries_on_failure > 0 ? `${record.retries_on_failure} retries` : ''].filter(Boolean);
  const facts = [['Project', name(records.projects, record.project_id)], ['Runs in', name(records.agent_pools, record.agentpool_id)],
    ['Tags', tags || 'none'], ['On failure', after.join(', ') || 'nothing']];
  return el('span', { class: 'facts' }, ...facts.map(([word, value]) => el('span', null, `${word} `, el('b', null, value))));
}
