// The test in the editor. It is the record of the API, changed in place: members that the form does not know stay as they
// are. The problems of an action or condition are stored under its object, so they stay with it when it is moved.

// What the API adds to a record; a new one may not have them.
const READ_ONLY = ['id', 'testcase_name', 'project_name', 'agentpool_name', 'created_at', 'updated_at', 'parameters'];

export const NEW = () => ({ name: '', tags: [], steps: [[]], conditions: [], record: 'sip' });

export function editable(test) {
  const record = structuredClone(test);
  for (const name of READ_ONLY) delete record[name];
  record.tags = JSON.parse(test.tags || '[]');
  return record;
}

// The secret of its callback is not readable, so a copy has none.
export function copyOf(test) {
  const record = editable(test);
  record.name = `${test.name} (copy)`;
  delete record.has_callback_secret;
  for (const name of Object.keys(record)) if (record[name] === null) delete record[name];
  return record;
}

// Values that are the default anyway are left out.
export function ofScenario(test, descriptions) {
  const record = { ...NEW(), ...test };
  for (const action of record.steps.flat()) {
    for (const p of descriptions.actions.find((a) => a.key === action.type).parameters) {
      if (JSON.stringify(action[p.key]) === JSON.stringify(p.default)) delete action[p.key];
    }
  }
  return record;
}

const isList = (value) => Array.isArray(value);

export class Draft {
  constructor(descriptions, record) {
    this.descriptions = descriptions;
    this.actions = new Map(descriptions.actions.map((a) => [a.key, a]));
    this.types = new Map(descriptions.conditions.map((c) => [c.key, c]));
    this.take(record);
    this.saved();
  }

  // problems: those that are still to be solved, to be found again in the record
  take(record, problems = []) {
    this.record = record;
    this.setProblems(problems);
    this.lanes = this.usedRoles();
    if (!this.lanes.length) this.lanes = ['caller', 'callee'];
  }

  saved() {
    this.before = JSON.stringify(this.record);
  }

  get changed() {
    return JSON.stringify(this.record) !== this.before;
  }

  // ---- steps and actions ----

  usedRoles() {
    return [...new Set([...this.record.steps.flat(), ...this.record.conditions].map((o) => o && o.role).filter(Boolean))];
  }

  // The order of lanes stays as it was when the page was opened.
  roles() {
    return [...new Set([...this.lanes, ...this.usedRoles()])];
  }

  roleClass(role) {
    return ['', 'b', 'c'][this.roles().indexOf(role) % 3];
  }

  // @return [step, place in the step]; null: the action is in no step
  placeOf(action) {
    for (const [i, step] of this.record.steps.entries()) {
      const k = step.indexOf(action);
      if (k >= 0) return [i, k];
    }
    return null;
  }

  addAction(step, role, type, records) {
    const action = { type, role };
    this.preset(action, records);
    step.push(action);
    return action;
  }

  // A record that has to be chosen is chosen if there is one only.
  preset(action, records) {
    for (const key of this.missing(action)) {
      const p = this.actions.get(action.type).parameters.find((q) => q.key === key);
      const found = p.type === 'integer' && records[p.records];
      if (found && found.length === 1) action[key] = found[0].id;
    }
  }

  // Required parameters that are not set. A test may be stored without them: a start can give them.
  missing(action) {
    const known = this.actions.get(action.type);
    return known ? known.parameters.filter((p) => p.required && !(p.key in action)).map((p) => p.key) : [];
  }

  removeAction(action) {
    const [i, k] = this.placeOf(action);
    this.record.steps[i].splice(k, 1);
  }

  // Among the actions of its role; beyond the first or last of a step into the step before or after.
  // @return false: there is no such place
  moveAction(action, by) {
    const { steps } = this.record;
    const [i, k] = this.placeOf(action);
    const own = steps[i].map((a, n) => (a.role === action.role ? n : -1)).filter((n) => n >= 0);
    const other = own[own.indexOf(k) + by];
    if (other !== undefined) {
      [steps[i][k], steps[i][other]] = [steps[i][other], steps[i][k]];
      return true;
    }
    const next = steps[i + by];
    if (!next) return false;
    steps[i].splice(k, 1);
    const first = next.findIndex((a) => a.role === action.role);
    if (by > 0 && first >= 0) next.splice(first, 0, action);
    else next.push(action);
    return true;
  }

  moveStep(i, by) {
    const { steps } = this.record;
    if (!steps[i + by]) return false;
    [steps[i], steps[i + by]] = [steps[i + by], steps[i]];
    return true;
  }

  // ---- conditions ----

  // @return undefined: the form does not know the type
  typeOf(set) {
    const prefix = `${set.role}-`;
    return set.condition_type.startsWith(prefix) ? this.types.get(set.condition_type.slice(prefix.length)) : undefined;
  }

  addCondition(role, key) {
    const name = `${role}-${key}`;
    let set = this.record.conditions.find((s) => s.role === role && s.condition_type === name);
    if (!set) {
      set = { role, condition_type: name, conditions: [] };
      this.record.conditions.push(set);
    }
    const item = {};
    set.conditions.push(item);
    this.fit(this.types.get(key), item);
    return item;
  }

  // Remove an entry; its set too if that was the last entry.
  removeCondition(set, item) {
    set.conditions = set.conditions.filter((c) => c !== item);
    if (!set.conditions.length) this.record.conditions = this.record.conditions.filter((s) => s !== set);
  }

  moveCondition(set, item, by) {
    const k = set.conditions.indexOf(item);
    if (!set.conditions[k + by]) return false;
    [set.conditions[k], set.conditions[k + by]] = [set.conditions[k + by], set.conditions[k]];
    return true;
  }

  // The members that go with the choices of an entry.
  fieldsOf(type, item) {
    const chosen = (key) => item[key] || (type.fields.find((f) => f.key === key) || {}).default;
    return type.fields.filter((f) => !f.only || f.only.choices.includes(chosen(f.only.key)));
  }

  // After another choice: drop members that no longer go with it, give new ones their first choice.
  fit(type, item) {
    for (const { key } of type.fields) {
      const now = this.fieldsOf(type, item).find((f) => f.key === key);
      const choices = now && now.choices && now.choices.map((c) => c.key);
      if (!now || (choices && item[key] !== undefined && !choices.includes(item[key]))) delete item[key];
      if (choices && now.required && item[key] === undefined) [item[key]] = choices;
    }
  }

  // ---- problems ----

  // errors: those of a problem+json
  setProblems(errors) {
    this.problems = errors.map((e) => ({ ...this.subject(e.pointer.split('/').slice(1)), pointer: e.pointer, detail: e.detail }));
  }

  // @return at: the object that a pointer names; key: its member; rest: what is within that
  subject(parts) {
    const { record } = this;
    const [, first, second, key, ...rest] = parts;
    if (parts[0] === 'steps' && isList(record.steps) && record.steps[first]) {
      const action = record.steps[first][second];
      return action ? { at: action, key: key || '', rest } : { at: record.steps[first], key: '', rest: [] };
    }
    if (parts[0] === 'conditions' && isList(record.conditions) && record.conditions[first]) {
      const set = record.conditions[first];
      const item = second === 'conditions' && isList(set.conditions) ? set.conditions[key] : undefined;
      return item ? { at: item, key: rest[0] || '', rest: rest.slice(1) } : { at: set, key: second || '', rest: [] };
    }
    return { at: record, key: parts[0] || '', rest: [] };
  }

  problemsOf(at, key) {
    return this.problems.filter((p) => p.at === at && (key === undefined || p.key === key));
  }

  solved(at, key) {
    this.problems = this.problems.filter((p) => p.at !== at || (key !== undefined && p.key !== key && p.key !== ''));
  }
}
