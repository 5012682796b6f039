// What a capacity search says, in words.

import { badge } from './dom.js';

export const unitOf = (search) => (search.unit === 'calls_per_second' ? 'calls/s' : 'calls at a time');
export const load = (search, value) => `${Number(value.toPrecision(10))} ${unitOf(search)}`;

// A search that ended without a narrow interval is no failure of the target.
export function searchBadge(search) {
  if (search.status !== 'done') return badge(search.status, search.waiting_for ? 'waiting' : undefined);
  return search.result && search.result.reached ? badge('passed', 'found') : badge('flaky', 'not narrow');
}

const OUTCOMES = { held: ['passed', 'held'], failed: ['failed', 'failed'], saturated: ['errored', 'tester saturated'], void: ['stopped', 'says nothing'] };

export function outcomeBadge(trial) {
  return badge(...(OUTCOMES[trial.outcome] || ['running', 'in progress']));
}

// Whether it is the system under test, or the tester.
export function searchLimit({ result }) {
  if (!result) return '';
  if (result.limit === 'tester') return 'the tester; the target can do more';
  if (result.limit === 'above') return 'none: the highest load holds';
  if (result.limit === 'below') return 'the lowest load fails';
  if (result.limit === 'target') return result.condition ? `the target: ${result.condition}` : 'the target';
  return '';
}

function progress(search, trials) {
  const last = trials[trials.length - 1];
  if (search.waiting_for) return `The next trial waits: ${search.waiting_for}.`;
  if (last && last.outcome === null) return `Trial ${trials.length} is in progress with ${load(search, last.load)}.`;
  return trials.length ? 'It lets the target recover before the next trial.' : 'The first trial starts now.';
}

// The answer of the page, in a sentence or two.
export function searchSentence(search) {
  const { result, trials, status } = search;
  const limit = searchLimit(search);
  const found = result ? `${result.text[0].toUpperCase()}${result.text.slice(1)}` : 'Nothing is known';
  const why = limit && !['above', 'below'].includes(result.limit) ? ` The limit is ${limit}.` : '';
  if (status === 'running') return `${result ? `${found}.${why} ` : ''}${progress(search, trials)}`;
  if (status === 'errored') return `It ended before its time: ${search.description}. ${result ? `${found}.${why}` : ''}`;
  if (status === 'stopped') return `It was stopped${search.description ? ` (${search.description})` : ''}. ${result ? `${found}.${why}` : ''}`;
  const narrow = result && !result.reached
    ? ` The interval is wider than ${search.width_percent} %: the limit is not sharp; longer trials or more of them may help.` : '';
  return `${found}, with ${result ? result.confidence_percent : 95} % confidence.${why}${narrow}`;
}
