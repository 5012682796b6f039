// What the last runs of each test say.

import { all, api } from './api.js';

export const RUNS_MAX = 1000;
const STRIP = 21;

// A failing or errored streak began with the returned run; runs are newest first.
function begin(runs) {
  let first = runs[0];
  for (const run of runs) {
    if (run.status !== first.status) break;
    first = run;
  }
  return first;
}

function changes(runs) {
  const judged = runs.filter((r) => r.status === 'passed' || r.status === 'failed');
  return judged.filter((r, i) => i && r.status !== judged[i - 1].status).length;
}

// complete: all runs were read. Else a test without one may have run before those.
function stateOf(runs, complete) {
  if (!runs.length) return complete ? 'queued' : 'unknown';
  if (runs[0].status === 'passed' && changes(runs) >= 2) return 'flaky';
  return runs[0].status;
}

// @return {total, runs, tests: [{test, runs, state, since, last}]}; runs are the newest RUNS_MAX of all tests.
// state unknown: none of them is of this test.
export async function readVerdicts() {
  const [tests, page] = await Promise.all([all('/tests', 'tests'), api('GET', `/runs?count=${RUNS_MAX}`)]);
  const runs = new Map(tests.map((t) => [t.id, []]));
  for (const run of page.runs) {
    const own = runs.get(run.test_id);
    if (own && run.status !== 'running' && own.length < STRIP) own.push(run);
  }
  const complete = page.runs.length >= page.total;
  return { total: page.total, runs: page.runs, tests: tests.map((test) => {
    const own = runs.get(test.id);
    return { test, runs: own, state: stateOf(own, complete), since: own.length ? begin(own).started_at : null, last: own[0] };
  }) };
}
