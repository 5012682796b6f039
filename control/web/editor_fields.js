// A field of a parameter, made of its description. A change writes the member of the action and nothing else; an empty field
// takes the member away, so that the default holds.

import { helpText } from './editor_words.js';
import { el, icon, shape } from './report_ui.js';

let made = 0;

export function wrongNode(problems) {
  return el('span', { class: 'wrong', id: `wrong-${++made}` }, shape('failed'),
    el('span', null, ...problems.flatMap((p, i) => (i ? [el('br'), p.detail] : [p.detail]))));
}

// Show what is wrong with an input, or that nothing is.
export function mark(field, input, problems) {
  for (const node of field.querySelectorAll(':scope > .wrong')) node.remove();
  input.removeAttribute('aria-invalid');
  input.removeAttribute('aria-describedby');
  if (!problems.length) return;
  const node = wrongNode(problems);
  field.append(node);
  input.setAttribute('aria-invalid', 'true');
  input.setAttribute('aria-describedby', node.id);
}

export const optionNode = (value, text, chosen) => {
  const node = el('option', { value }, text);
  node.selected = chosen;
  return node;
};

const fallback = (param) => {
  if (param.default === null || (Array.isArray(param.default) && !param.default.length)) return '';
  return typeof param.default === 'string' ? param.default : JSON.stringify(param.default);
};

// The text of an input as the value of a parameter. What is no number stays a text, and the API says what is wrong.
function valueOf(text, param) {
  if (text === '') return undefined;
  if (param.type === 'boolean') return text === 'true';
  if (param.type === 'integer' && /^-?\d{1,15}$/.test(text)) return Number(text);
  if (param.type === 'number' && text.trim() !== '' && Number.isFinite(Number(text))) return Number(text);
  return text;
}

const asText = (value) => (value === undefined || value === null ? '' : typeof value === 'string' ? value : JSON.stringify(value));

function choices(param, value, entries) {
  const usual = fallback(param);
  const node = el('select', { class: 'in' });
  node.append(optionNode('', param.required ? '– choose –' : usual ? `usual: ${entries.find(([v]) => v === usual)?.[1] || usual}` : 'usual', value === undefined));
  const all = [...entries];
  if (value !== undefined && !all.some(([v]) => v === asText(value))) all.push([asText(value), `${asText(value)} (unknown)`]);
  node.append(...all.map(([v, text]) => optionNode(v, text, v === asText(value) && value !== undefined)));
  return node;
}

function uploads(records, input) {
  const id = `list-${++made}`;
  input.setAttribute('list', id);
  return el('datalist', { id }, ...(records.appimages || []).map((r) => el('option', { value: r.name })));
}

// @return [input, further nodes]
function inputOf(param, value, records) {
  if (param.type === 'boolean') return [choices(param, value, [['true', 'yes'], ['false', 'no']])];
  if (param.records && param.type === 'integer') {
    return [choices(param, value, (records[param.records] || []).map((r) => [String(r.id), `${r.name} (${r.id})`]))];
  }
  if (param.choices) return [choices(param, value, param.choices.map((c) => [c, c]))];
  const input = el('input', { class: 'in', autocomplete: 'off', placeholder: fallback(param),
    inputmode: param.type === 'integer' ? 'numeric' : param.type === 'number' ? 'decimal' : null });
  input.value = asText(value);
  return param.records ? [input, uploads(records, input)] : [input];
}

function label(param) {
  return el('span', null, param.word, el('span', { class: 'key' }, param.key));
}

export function square(name, text, work, className) {
  return el('button', { class: `btn small quiet square ${className || ''}`.trim(), type: 'button', 'aria-label': text, title: text,
    on: { click: work } }, icon(name));
}

// ---- lists ----

// Rows that can be moved and taken away. draw: (row, its place) -> nodes; changed: called after each change.
// @return the box and a function that draws it again
function rowsOf(rows, word, draw, changed) {
  const box = el('div', { class: 'rows' });
  const again = (focus) => {
    box.replaceChildren(...rows().map((row, i) => el('div', { class: 'row' }, el('span', { class: 'n', 'aria-hidden': 'true' }, `${i + 1}`),
      ...draw(row, i, again), el('span', { class: 'ways' },
        square('down', `Move ${word} ${i + 1} up`, () => swap(i, -1), 'up'), square('down', `Move ${word} ${i + 1} down`, () => swap(i, 1)),
        square('close', `Remove ${word} ${i + 1}`, () => {
          changed(rows().filter((_, n) => n !== i));
          again(Math.max(0, i - 1));
        })))));
    const held = focus === undefined ? null : box.children[focus] && box.children[focus].querySelector('select, input, button');
    if (held) held.focus();
  };
  const swap = (i, by) => {
    const list = [...rows()];
    if (!list[i + by]) return;
    [list[i], list[i + by]] = [list[i + by], list[i]];
    changed(list);
    again(i + by);
  };
  again();
  return [box, again];
}

function added(text, work) {
  return el('button', { class: 'add', type: 'button', 'aria-label': `Add to ${text}`, on: { click: work } }, `+ ${text}`);
}

// Lists of choices, the preferred one first.
function choiceList(param, read, write) {
  const [box, again] = rowsOf(read, param.word, (value, i) => {
    const entries = [...new Set([...param.choices, value])];
    const select = el('select', { class: 'in', 'aria-label': `${param.word} ${i + 1}`,
      on: { change: () => write(read().map((v, n) => (n === i ? select.value : v))) } }, ...entries.map((c) => optionNode(c, c, c === value)));
    return [select];
  }, write);
  const add = added(param.word, () => {
    write([...read(), param.choices.find((c) => !read().includes(c)) || param.choices[0]]);
    again(read().length - 1);
  });
  return [box, add];
}

const REQUESTS = ['any', 'registers', 'calls', 'presence', 'invites', 'updates', 'refers'];

// [name, value, requests]
function headerList(param, read, write) {
  const put = (i, place, text) => write(read().map((row, n) => {
    if (n !== i) return row;
    const changed = [...row];
    changed[place] = text;
    return changed;
  }));
  const [box, again] = rowsOf(read, 'header field', (row, i) => {
    if (!Array.isArray(row)) return [el('code', null, JSON.stringify(row))];
    const input = (place, word) => {
      const node = el('input', { class: 'in', 'aria-label': `${word} ${i + 1}`, placeholder: word, autocomplete: 'off',
        on: { input: () => put(i, place, node.value) } });
      node.value = asText(row[place]);
      return node;
    };
    const requests = row[2] === undefined ? 'any' : asText(row[2]);
    const select = el('select', { class: 'in', 'aria-label': `Requests ${i + 1}`, on: { change: () => put(i, 2, select.value) } },
      ...[...new Set([...REQUESTS, requests])].map((c) => optionNode(c, c, c === requests)));
    return [el('span', { class: 'parts' }, input(0, 'Name'), input(1, 'Value'), select)];
  }, write);
  const add = added('Header fields', () => {
    write([...read(), ['', '']]);
    again(read().length - 1);
  });
  return [box, add];
}

// ---- scripts ----

function argumentInput(known, entry, i, put, records) {
  const { argument } = known || { argument: { help: '' } };
  if (!argument && !entry[1]) return null;
  const name = `Argument of ${known ? known.word : entry[0]} ${i + 1}`;
  if (argument && argument.choices) {
    const all = [...new Set([...argument.choices, asText(entry[1])])];
    const select = el('select', { class: 'in', 'aria-label': name, on: { change: () => put(i, [entry[0], select.value]) } },
      ...all.map((c) => optionNode(c, c || '– choose –', c === asText(entry[1]))));
    return select;
  }
  const input = el('input', { class: 'in', 'aria-label': name, autocomplete: 'off', placeholder: argument ? argument.help.replaceAll('`', '') : '',
    on: { input: () => put(i, [entry[0], input.value, ...entry.slice(2)]) } });
  input.value = asText(entry[1]);
  return argument && argument.records ? el('span', null, input, uploads(records, input)) : input;
}

function scriptList(draft, read, write, records) {
  const known = new Map(draft.descriptions.script_actions.map((s) => [s.key, s]));
  const put = (i, entry) => write(read().map((e, n) => (n === i ? entry : e)));
  const [box, again] = rowsOf(read, 'line', (entry, i, redraw) => {
    if (!Array.isArray(entry)) return [el('code', null, JSON.stringify(entry))];
    const names = [...known.values()].map((s) => [s.key, s.word]);
    if (!known.has(entry[0])) names.push([asText(entry[0]), asText(entry[0])]);
    const select = el('select', { class: 'in', 'aria-label': `Line ${i + 1}`, on: { change: () => {
      put(i, [select.value, '']);
      redraw(i);
    } } }, ...names.map(([key, word]) => optionNode(key, word, key === entry[0])));
    const about = known.get(entry[0]);
    return [el('span', { class: 'parts' }, select, argumentInput(about, entry, i, put, records),
      el('span', { class: 'hint' }, el('span', { class: 'key' }, entry[0]), ' ', ...(about ? helpText(about.help) : [])))];
  }, write);
  const add = added('What each call does', () => {
    write([...read(), ['assert_established', '']]);
    again(read().length - 1);
  });
  return [box, add];
}

// ---- one field ----

// A value whose form is not known is edited as JSON.
function jsonInput(value, change) {
  const input = el('textarea', { class: 'in mono', rows: 3, on: { input: () => {
    try {
      change(input.value.trim() === '' ? undefined : JSON.parse(input.value));
    } catch {
      change(input.value); // the API says what it should be
    }
  } } });
  input.value = value === undefined ? '' : JSON.stringify(value);
  return input;
}

function listNodes(draft, param, action, change, records) {
  const read = () => (Array.isArray(action[param.key]) ? action[param.key] : []);
  const write = (list) => change(param.key, list.length ? list : undefined);
  if (param.key === 'sipclient_actions') return scriptList(draft, read, write, records);
  if (param.choices) return choiceList(param, read, write);
  if (param.key === 'custom_headers') return headerList(param, read, write);
  return null;
}

// The label and input of one parameter of an action.
// @param change  called as change(key, value) with a new value; undefined: remove the parameter from the action
export function paramField(draft, param, action, change, records) {
  const value = action[param.key];
  const hint = el('span', { class: 'hint' }, ...helpText(param.help));
  const isOfLists = param.type === 'array' && (value === undefined || Array.isArray(value));
  const nodes = isOfLists && listNodes(draft, param, action, change, records);
  if (nodes) {
    return el('div', { class: 'field', role: 'group', 'aria-label': param.word, 'data-key': param.key, tabindex: -1 }, label(param), ...nodes, hint);
  }
  if (param.type === 'array') {
    return el('label', { class: 'field', 'data-key': param.key }, label(param), jsonInput(value, (v) => change(param.key, v)), hint);
  }
  const [input, ...more] = inputOf(param, value, records);
  input.addEventListener(input.tagName === 'SELECT' ? 'change' : 'input', () => change(param.key, valueOf(input.value, param)));
  return el('label', { class: 'field', 'data-key': param.key }, label(param),
    param.unit ? el('span', { class: 'suffix' }, input, el('span', { class: 'unit' }, param.unit)) : input, ...more, hint);
}
