// What the last run of a test measured and judged, to stand beside its conditions.

import { api } from './api.js';
import { el, measured } from './report_ui.js';

// What an entry judges, whatever its limit.
function subject(set, item) {
  const { type, value, ...rest } = item;
  return JSON.stringify([set.role, set.condition_type, value === undefined ? item : rest]);
}

const exact = (set, item) => JSON.stringify([set.role, set.condition_type, item]);

// Verdicts stand in the order of the conditions. After a change of the test they are of other conditions.
// @param last  the last run, as /tests/ID/verdict has it; null: none
// @return figureOf: a function of a set and its entry that makes a node, or null; builtIn: the verdicts on what every run is judged by
export async function lastFigures(test, last) {
  if (!last || !last.started_at || (test.updated_at || '') > last.started_at) return { figureOf: () => null, builtIn: [] };
  const { run } = await api('GET', `/runs/${last.session_id}`).catch(() => ({ run: {} })); // it may just have been deleted
  const [figures, failed] = [new Map(), new Set()];
  for (const set of test.conditions || []) {
    const own = (run.verdicts || []).filter((v) => !v.built_in && v.role === set.role && v.condition_type === set.condition_type);
    if (own.length !== set.conditions.length) continue;
    set.conditions.forEach((item, i) => {
      figures.set(subject(set, item), own[i]);
      if (!own[i].passed) failed.add(exact(set, item));
    });
  }
  const figureOf = (set, item) => {
    const verdict = figures.get(subject(set, item));
    return verdict ? el('span', { class: `last-figure${failed.has(exact(set, item)) ? ' bad' : ''}` }, 'last run: ', el('b', null, measured(verdict))) : null;
  };
  return { figureOf, builtIn: (run.verdicts || []).filter((v) => v.built_in) };
}
