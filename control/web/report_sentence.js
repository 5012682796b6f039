// Sentences that are made from the data of a run. A part is a text, or [text] to stress it.

import { capital, conditionKind, limitOf, withoutRole, evidenceOf } from './report_model.js';
import { duration, figure, measured, plural, plusMinus, seconds, short, when } from './report_ui.js';

const CAUSES = 2; // a sentence names at most two, then counts

// "in call caller-1", "in all 3 calls", "in 2 of 3 calls"
function among(names, all) {
  if (names.size === all && all > 1) return `in all ${all} calls`;
  if (names.size > 1) return `in ${names.size} of ${all} calls`;
  return all > 1 ? `in call ${[...names][0]}` : '';
}

function ofAction(model, verdict) {
  const own = model.report.assertions.filter((a) => a.role === verdict.role
    && verdict.text.includes(`${a.action} ${a.argument}`.trim()));
  if (!own.length) return null;
  const [first] = own;
  const calls = new Set(own.map((a) => a.call));
  const all = model.calls.filter((c) => c.role === verdict.role && !c.placed_for).length;
  const what = first.action === 'transfer' ? `the transfer to ${first.argument}` : `${first.action} ${first.argument || ''}`.trim();
  const where = among(calls, all);
  return [`${what} of ${verdict.role} `, [first.text], where ? ` ${where}` : ''];
}

function ofRegistration(model, verdict) {
  const bad = model.report.registrations.filter((r) => r.role === verdict.role && !r.ok);
  if (!bad.length || !/registration/.test(verdict.text)) return null;
  const [r] = bad;
  const more = bad.length > 1 ? ` and ${bad.length - 1} more` : '';
  return r.code ? [`the registration of ${r.account}${more} was answered `, [`${r.code} ${r.reason}`]]
    : [`the registration of ${r.account}${more} was `, ['not answered']];
}

// Calls that were refused, by the answer that most of them got.
function ofRefusal(model, verdict) {
  if (!['built-in', 'sipclient-state', 'call-count'].includes(conditionKind(verdict))) return null;
  const own = model.calls.filter((c) => c.role === verdict.role && c.direction === 'out' && !c.placed_for);
  const refused = own.filter((c) => !c.established && c.code >= 400);
  if (!refused.length) return null;
  const counts = new Map();
  for (const c of refused) counts.set(`${c.code} ${c.reason}`, (counts.get(`${c.code} ${c.reason}`) || 0) + 1);
  const [[answer, count]] = [...counts].sort((a, b) => b[1] - a[1]);
  const peer = refused.find((c) => `${c.code} ${c.reason}` === answer).peer || '';
  return [`${own.length === 1 ? 'the call' : `${count} of ${own.length} calls`} of ${verdict.role} to ${peer.replace(/^sips?:/, '')} `
    + `${count === 1 ? 'was' : 'were'} answered `, [answer]];
}

const SUBJECTS = { mos: 'the MOS', loss: 'the loss', jitter: 'the jitter', rtt: 'the round trip',
  'postdial-delay': 'the post-dial delay', 'register-time': 'the registration time' };

function ofFigure(verdict) {
  const limit = limitOf(verdict);
  const subject = SUBJECTS[conditionKind(verdict)];
  if (!limit || !subject || !verdict.actual) return null;
  const what = { mos: ' of what it heard', loss: ' of what it should have heard', jitter: ' of what it heard' }[conditionKind(verdict)] || '';
  return [`${subject}${what ? `${what.replace(' it ', ` ${verdict.role} `)}` : ` of ${verdict.role}`} was `, [measured(verdict)],
    `${verdict.call ? ` in call ${verdict.call}` : ''}; ${limit.text} is asked for`];
}

function cause(model, verdict) {
  return ofAction(model, verdict) || ofRegistration(model, verdict) || ofRefusal(model, verdict) || ofFigure(verdict)
    || [withoutRole(verdict, verdict.sentence || `${verdict.text} did not hold`), verdict.sentence ? ` (${verdict.role})` : ''];
}

function sentenceOfFailure(model) {
  const parts = [];
  const said = new Set();
  let named = 0;
  for (const verdict of model.failed) {
    const found = cause(model, verdict);
    const text = JSON.stringify(found);
    const { message, interval } = evidenceOf(model, verdict);
    // conditions that point to the same message or interval have one cause
    const sign = message ? `message ${message.index}` : interval ? `interval ${interval.from}` : text;
    if (said.has(sign) || said.has(text)) continue;
    said.add(sign).add(text);
    if (named === CAUSES) break;
    named += 1;
    parts.push(capital(found[0]), ...found.slice(1), '. ');
  }
  const rest = model.failed.length - named;
  if (rest > 0 && named) parts.push(`${capital(plural(rest, 'more condition'))} failed.`);
  if (!named) parts.push(capital(model.run.result_description || 'a condition did not hold'), '.');
  return parts;
}

function range(values, digits) {
  const low = Math.min(...values).toFixed(digits);
  const high = Math.max(...values).toFixed(digits);
  return low === high ? low : `${low} to ${high}`;
}

// The largest error bound of the streams, where each has one.
function boundOf(streams, member) {
  const bounds = streams.map((s) => s[member]);
  return streams.length && bounds.every((b) => typeof b === 'number') ? plusMinus(Math.max(...bounds)) : '';
}

// Figures of all received streams, or nothing.
export function streamFigures(calls) {
  const streams = calls.flatMap((c) => (c.streams || []).filter((s) => s.dir === 'in'));
  const known = (values) => values.filter((v) => v !== undefined);
  const mos = known(streams.map((s) => s.mos_total));
  const loss = known(streams.map((s) => s.loss_pct));
  const jitter = known(streams.map((s) => s.jitter_ms && s.jitter_ms.avg));
  const parts = [];
  if (mos.length) parts.push(`MOS ${range(mos, 2)}`);
  if (loss.length) parts.push(Math.max(...loss) === 0 ? 'no loss' : `loss ${range(loss, 1)}${boundOf(streams, 'loss_bound_pct')} %`);
  if (jitter.length) parts.push(`jitter ${range(jitter, 1)}${boundOf(streams.filter((s) => s.jitter_ms), 'jitter_bound_ms')} ms`);
  return parts;
}

function sentenceOfSuccess(model) {
  const count = model.passed.length;
  const parts = [count === 1 ? 'The condition holds' : `All ${count} conditions hold`];
  const figures = streamFigures(model.calls);
  const calls = model.conversations.length;
  if (calls) parts.push(`: ${plural(calls, 'call')}${figures.length ? `, ${figures.join(', ')}` : ''}`);
  parts.push('.');
  return parts;
}

// What the run went on without.
export function reduced(run) {
  if (!run.reduced) return [];
  return [` Reduced: ${run.shards_lost === 1 ? '1 shard was' : `${run.shards_lost} shards were`} lost; the run went on without, and is judged by the others.`];
}

const PHASES = { queued: 'waits for an agent', dispatching: 'is being given to the agents', running: 'runs',
  stopping: 'is being stopped', judging: 'is being judged' };

export function sentence(model) {
  const { run } = model;
  if (run.phase !== 'done') {
    const active = model.calls.filter((c) => c.live && c.established && !c.states.some((s) => s.state === 'CALL_CLOSED')).length;
    const parts = [`The run ${PHASES[run.phase] || run.phase}${run.waiting_for ? `: ${run.waiting_for}` : ''}. `];
    if (active) parts.push([plural(active, 'leg')], ' up. ');
    const ended = model.calls.filter((c) => !c.live).length;
    if (ended) parts.push(`${plural(ended, 'leg')} ended.`);
    return parts;
  }
  if (run.status === 'failed') return [...sentenceOfFailure(model), ...reduced(run)];
  if (run.status === 'passed') return [...sentenceOfSuccess(model), ...reduced(run)];
  if (run.status === 'errored') {
    return ['There is no verdict on the system under test: ', [run.result_description || 'the tester failed'], '.'];
  }
  return [`The run was stopped${run.result_description ? `: ${run.result_description}` : ' before it was judged'}.`];
}

// "Failing since today 02:30, 3 runs in a row": only as far as the history reaches.
export function since(run) {
  const done = (run.history || []).filter((r) => r.status !== 'running');
  const at = done.findIndex((r) => r.session_id === run.session_id);
  if (at < 0 || run.status !== 'failed') return null;
  let first = at;
  while (first > 0 && done[first - 1].status === 'failed') first -= 1;
  const count = at - first + 1;
  if (count < 2) return at > 0 ? ['The run before: ', [done[at - 1].status]] : null;
  return first === 0 ? [`Failed ${count} times in a row, `, ['or longer']]
    : ['Failing since ', [when(done[first].started_at)], `, ${count} runs in a row`];
}

export function lastPassed(run) {
  const history = run.history || [];
  const at = history.findIndex((r) => r.session_id === run.session_id);
  return history.slice(0, Math.max(0, at)).reverse().find((r) => r.status === 'passed') || null;
}

export function took(run) {
  return run.started_at && run.stopped_at ? duration(seconds(run.stopped_at) - seconds(run.started_at)) : null;
}

// ---- was the tester the limit? ----

const DROPS = {
  send_errors: 'packets that this host refused to send', receive_queue_drops: 'dropped in a socket queue', sip_queue_drops: 'SIP messages dropped in a socket queue',
  ring_drops: 'dropped between two threads', packets_unsent: 'packets not sent in time', starts_missed: 'calls not started in time',
  dtls_dropped: 'DTLS datagrams dropped', stun_dropped: 'STUN datagrams dropped',
};
// what the host took from an agent: shown from the bound on; the last column: then the tester was the limit
const HOST = [
  ['loop_lateness_p99_ms', 'Timers of the signalling late, 99 % within', 100, ' ms', true],
  ['steal_pct', 'Time stolen by the host', 1, ' %', true],
  ['throttled', 'Throttled by a control group', 1, ' periods', false],
  ['processor_wait_pct', 'Waited for a processor', 10, ' % of the time', false],
  ['clock_step_ms', 'Steps of the wall clock', 50, ' ms', false],
];
const LATE_MS = 10; // half a packet time: the peer's jitter buffer sees it

// @return [{ok, name, value}], empty as long as the agents have not reported
export function testerChecks(model) {
  const { evidence, flaws } = model.report;
  const checks = [];
  if (!evidence.length && !flaws.length) return checks;
  const late = evidence.map((e) => e.send_lateness_ms).filter(Boolean);
  if (late.length) {
    const p99 = Math.max(...late.map((l) => (l.p99 === undefined ? l.max : l.p99)));
    checks.push({ ok: p99 < LATE_MS, name: 'Packets left on time', value: ['99 % within ', [`${short(p99)} ms`]] });
  }
  const total = evidence.reduce((sum, e) => sum + (e.packets_sent || 0) + (e.packets_received || 0), 0);
  const dropped = Object.keys(DROPS).map((key) => [key, evidence.reduce((sum, e) => sum + (e[key] || 0), 0)]);
  const drops = dropped.reduce((sum, [, n]) => sum + n, 0);
  if (evidence.length) {
    checks.push({ ok: drops === 0, name: 'Dropped on our side', value: [[drops.toLocaleString('en')], ` of ${total.toLocaleString('en')}`] });
    for (const [key, n] of dropped) if (n) checks.push({ ok: false, name: capital(DROPS[key]), value: [[figure(n)]] });
  }
  for (const e of evidence.filter((one) => one.calibration && one.calls_most > one.calibration.calls)) {
    checks.push({ ok: false, name: `${e.role}: more calls at once than calibrated`, value: [[figure(e.calls_most)], ` of ${e.calibration.calls}`] });
  }
  const classes = [...new Set(evidence.map((e) => e.send_scheduling).filter(Boolean))];
  if (classes.length) {
    const words = { realtime: 'real-time', normal: 'normal', nice: 'nice', overrun: 'overrun' };
    checks.push({ ok: !classes.includes('overrun'), name: 'Sending thread', value: [classes.map((c) => words[c] || c).join(', ')] });
  }
  for (const [key, name, bound, unit, limit] of HOST) {
    const worst = Math.max(...evidence.map((e) => Math.abs(e[key])).filter((v) => !Number.isNaN(v)));
    if (worst >= bound || (key === 'steal_pct' && worst >= 0)) checks.push({ ok: !limit || worst < bound, name, value: [[`${short(worst)}${unit}`]] });
  }
  for (const f of flaws) checks.push({ ok: false, name: `${f.role}: ${f.text || f.name}`, value: [[figure(f.count)]] });
  return checks;
}
