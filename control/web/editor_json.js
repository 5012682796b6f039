// The record as JSON: written for people, and where in a text a value stands.

const LINE_CHARS = 100;

// What fits in a line stands in one.
export function jsonText(value, indent = '') {
  const flat = spaced(value);
  if (value === null || typeof value !== 'object' || (indent && indent.length + flat.length <= LINE_CHARS)) return flat;
  const inner = `${indent}  `;
  const isList = Array.isArray(value);
  const lines = Object.entries(value).filter(([, v]) => v !== undefined)
    .map(([key, v]) => `${inner}${isList ? '' : `${JSON.stringify(key)}: `}${jsonText(v, inner)}`);
  return `${isList ? '[' : '{'}\n${lines.join(',\n')}\n${indent}${isList ? ']' : '}'}`;
}

// {"a": 1, "b": [2, 3]}
function spaced(value) {
  if (value === null || typeof value !== 'object') return JSON.stringify(value);
  if (Array.isArray(value)) return `[${value.map(spaced).join(', ')}]`;
  return `{${Object.entries(value).filter(([, v]) => v !== undefined).map(([k, v]) => `${JSON.stringify(k)}: ${spaced(v)}`).join(', ')}}`;
}

// Offsets of all values of a JSON text, by their pointers. Throws an error with the offset of what is no JSON.
export function places(text) {
  const found = new Map();
  let at = 0;
  const take = (pattern) => {
    pattern.lastIndex = at;
    const read = pattern.exec(text);
    if (!read) throw Object.assign(new SyntaxError('no JSON'), { offset: at });
    at += read[0].length;
    return read[0];
  };
  const blank = () => take(/\s*/y);
  const name = () => JSON.parse(take(/"(?:[^"\\]|\\.)*"/y));
  const members = (pointer, end, key) => {
    at += 1;
    blank();
    for (let i = 0; i || text[at] !== end; i += 1) {
      const own = key ? name() : String(i);
      if (key) take(/\s*:/y);
      value(`${pointer}/${own.replaceAll('~', '~0').replaceAll('/', '~1')}`);
      blank();
      if (text[at] === end) break;
      take(/,\s*/y);
    }
    at += 1;
  };
  const value = (pointer) => {
    blank();
    found.set(pointer, at);
    if (text[at] === '{') members(pointer, '}', true);
    else if (text[at] === '[') members(pointer, ']', false);
    else if (text[at] === '"') name();
    else take(/true|false|null|-?\d+(\.\d+)?([eE][-+]?\d+)?/y);
  };
  value('');
  return found;
}

export const lineOf = (text, offset) => text.slice(0, offset).split('\n').length;

// The value that a pointer names, or the nearest around it. @return [begin, end] of its line
export function lineAround(text, pointer) {
  const found = places(text);
  let near = pointer;
  while (near && !found.has(near)) near = near.slice(0, near.lastIndexOf('/'));
  const offset = found.get(near) || 0;
  const end = text.indexOf('\n', offset);
  return [text.lastIndexOf('\n', offset - 1) + 1, end < 0 ? text.length : end];
}

function lineOfFault(text) {
  try {
    places(text);
  } catch (error) {
    if (error.offset !== undefined) return `Line ${lineOf(text, error.offset)} is no JSON. `;
  }
  return '';
}

// @return [value, null] or [undefined, what is wrong]
export function parsed(text) {
  try {
    const value = JSON.parse(text);
    return value !== null && typeof value === 'object' && !Array.isArray(value) ? [value, null] : [undefined, 'A test is an object: { ... }.'];
  } catch (error) {
    return [undefined, `${lineOfFault(text)}${error.message}`];
  }
}

const isObject = (v) => v !== null && typeof v === 'object' && !Array.isArray(v);

// @return what keeps the form from showing a record; null: nothing
export function misfit(record) {
  const { steps, conditions } = record;
  if (!Array.isArray(steps) || !steps.every((s) => Array.isArray(s) && s.every((a) => isObject(a) && typeof a.type === 'string' && typeof a.role === 'string'))) {
    return 'The form needs steps as a list of lists of actions, each with type and role.';
  }
  if (!Array.isArray(conditions) || !conditions.every((c) => isObject(c) && typeof c.condition_type === 'string' && typeof c.role === 'string')) {
    return 'The form needs conditions as a list of objects, each with role and condition_type.';
  }
  return null;
}
