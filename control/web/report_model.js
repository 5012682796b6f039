// What a report is made of: roles, conversations, messages, limits. Made from the data of
// docs/reference/report.md; nothing here touches the page.

// Words for people beside the keys of the API.
export const MEASURES = {
  rtp_mos: 'MOS', rtp_mos_wb: 'MOS, wideband scale', rtp_r_factor: 'R-factor', rtp_lost_pct: 'Loss', rtp_lost: 'Lost',
  rtp_lost_per_sec: 'Lost a second', rtp_jitter: 'Jitter', rtp_rtt: 'Round trip', rtp_gap: 'Longest gap',
  rtp_pkt_per_sec: 'Packet rate', rtp_byte_per_sec: 'Bandwidth', rtp_burst_lost: 'Lost in bursts',
  rtp_discarded: 'Discarded', rtp_duplicates: 'Duplicates', rtp_reordered: 'Reordered', rtp_ooo: 'Out of order',
  rtp_send_lateness: 'Send lateness', calls_active: 'Active calls', calls_per_sec: 'New calls',
  audio_level: 'Level', audio_peak: 'Peak', audio_heard: 'Sound', audio_clipping: 'Clipping', audio_delay: 'Audio delay',
  srtp_auth_failed: 'Not authentic', srtp_replayed: 'Replayed', sip_pdd: 'Post-dial delay',
  sip_invite_200_time: 'INVITE to 200', sip_bye_200_time: 'BYE to 200', sip_register_time: 'Registration',
  rtp_xr_mos_lq: 'MOS-LQ of the peer', rtp_xr_mos_cq: 'MOS-CQ of the peer', rtp_xr_r_factor: 'R-factor of the peer',
  rtp_xr_loss: 'Loss at the peer', rtp_xr_discard: 'Discarded at the peer', rtp_xr_delay: 'Delay of the peer',
  rtp_xr_buffer: 'Buffer of the peer', rtp_xr_lost: 'Lost at the peer', rtp_xr_duplicates: 'Duplicates at the peer',
  rtp_xr_burst_density: 'Loss in bursts at the peer', rtp_xr_burst_duration: 'Bursts at the peer', rtp_xr_gap_density: 'Loss in gaps at the peer',
  rtp_xr_gap_duration: 'Gaps at the peer', rtp_xr_jitter_min: 'Lowest jitter of the peer', rtp_xr_jitter_mean: 'Jitter of the peer',
  rtp_xr_jitter_max: 'Highest jitter of the peer', rtp_xr_jitter_dev: 'Spread of jitter of the peer',
};

export const measureName = (key) => MEASURES[key] || key;

// The measure that shows why a condition of this type failed.
const OF_CONDITION = {
  mos: 'rtp_mos', loss: 'rtp_lost_pct', jitter: 'rtp_jitter', rtt: 'rtp_rtt', 'postdial-delay': 'sip_pdd',
  'register-time': 'sip_register_time',
};

export function conditionKind(verdict) {
  const type = verdict.condition_type.replace(/-conditions$/, '');
  return type.startsWith(`${verdict.role}-`) ? type.slice(verdict.role.length + 1) : type;
}

// "caller: every call ..." without the role, which stands beside.
export function withoutRole(verdict, text) {
  return text.startsWith(`${verdict.role}: `) ? text.slice(verdict.role.length + 2) : text;
}

export function capital(text) {
  return text ? text[0].toUpperCase() + text.slice(1) : text;
}

// The limit of a condition: "at most 1 %" is {most: true, value: 1}.
export function limitOf(verdict) {
  const found = /^(at most|at least|below|above|less than|more than) (-?[\d.]+)/.exec(verdict.expected || '');
  const kind = conditionKind(verdict);
  const advanced = /\b((?:rtp|srtp|audio)_[a-z0-9_]+)/.exec(verdict.text);
  const measure = OF_CONDITION[kind] || (kind === 'rtp-advanced' && advanced && advanced[1]);
  if (!found || !measure) return null;
  return { measure, most: ['at most', 'below', 'less than'].includes(found[1]), value: Number(found[2]), text: verdict.expected };
}

// Without the port, which differs from run to run.
export const shortAddress = (address) => address.replace(/:\d+$/, '');

const header = (text, name) => {
  const found = new RegExp(`^${name}[ \\t]*:[ \\t]*(.*)$`, 'im').exec(text || '');
  return found ? found[1].trim() : '';
};

export { header };

function parseMessage(m, i, start) {
  const answer = /^SIP\/2\.0 (\d{3})/.exec(m.line);
  const cseq = header(m.text, 'CSeq');
  const method = answer ? (cseq.split(/\s+/)[1] || '') : m.line.split(' ')[0];
  const own = m.local || m.role;
  return {
    ...m, index: i, t: start + m.t_ms / 1000, code: answer ? Number(answer[1]) : 0, method, cseq,
    callId: header(m.text, 'Call-ID') || header(m.text, 'i'),
    from: m.dir === 'sent' ? own : m.peer, to: m.dir === 'sent' ? m.peer : own,
    sdp: /\r?\n\r?\n[\s\S]*v=0/.test(m.text || ''), repeats: 0,
  };
}

// A retransmission is the same text again on the same way; it is counted at the first one.
// A message between two of our roles is recorded twice, where it leaves and where it arrives.
function foldRepeats(messages) {
  const seen = new Map();
  const kept = [];
  for (const m of messages) {
    const key = m.text === undefined ? null : `${m.from} ${m.to} ${m.text}`;
    const first = key === null ? undefined : seen.get(key);
    if (first && first.dir === m.dir && first.role === m.role) first.repeats += 1;
    else if (!first) {
      if (key !== null) seen.set(key, m);
      kept.push(m);
    }
  }
  return kept;
}

function bounds(call, states) {
  const at = (...names) => {
    const found = states.find((s) => names.includes(s.state));
    return found ? found.t / 1e6 : undefined;
  };
  const closed = at('CALL_CLOSED') || call.t / 1e6;
  const answered = at('CALL_ESTABLISHED')
    || (call.duration_ms === undefined ? undefined : closed - call.duration_ms / 1000);
  const start = at('CALL_OUTGOING', 'CALL_INCOMING')
    || (answered || closed) - (call.setup_ms || 0) / 1000;
  return { start, answered, closed };
}

// Calls that belong together: of one Call-ID, placed for the transfer of another, or an incoming
// one that follows an outgoing one to its account (a B2BUA has a Call-ID of its own on each side).
function conversations(calls) {
  const found = [];
  const byId = new Map();
  const byCall = new Map();
  const open = [];
  const add = (conversation, call) => {
    conversation.legs.push(call);
    byCall.set(call.call, conversation);
    if (call.call_id) byId.set(call.call_id, conversation);
  };
  const placed = [...calls].sort((a, b) => a.start - b.start || (a.direction === 'out' ? -1 : 1));
  for (const call of placed) {
    let home = byCall.get(call.placed_for) || byId.get(call.call_id);
    if (!home && call.direction === 'in') {
      const at = open.findIndex((c) => c.legs[0].role !== call.role && call.start - c.start < 32
        && (c.legs[0].peer || '').includes(`:${call.account}@`));
      if (at >= 0) [home] = open.splice(at, 1);
    }
    if (home) add(home, call);
    else {
      home = { legs: [], start: call.start };
      found.push(home);
      add(home, call);
      if (call.direction === 'out') open.push(home);
    }
  }
  return found;
}

// The state that a call is in, by its last event that says so.
const WORDS = {
  CALL_OUTGOING: 'calling', CALL_INCOMING: 'called', CALL_PROGRESS: 'ringing', CALL_RINGING: 'ringing', CALL_ANSWERED: 'answered',
  CALL_ESTABLISHED: 'talking', CALL_HOLD: 'on hold', CALL_RESUME: 'talking', CALL_REDIRECT: 'redirected',
  CALL_REJECTED: 'ending', CALL_FAILED: 'ending', CALL_ENDED_LOCAL: 'ending', CALL_ENDED_REMOTE: 'ending',
};

export function stateNow(call) {
  const told = call.states.filter((s) => WORDS[s.state]);
  const last = told[told.length - 1];
  return last ? { word: WORDS[last.state], key: last.state, t: last.t / 1e6 } : { word: 'starting', key: '', t: call.start };
}

// 0: as it should be; higher is worse.
export function badness(call, limits) {
  if (!call.established && call.expected_end === false) return 3;
  let worst = 0;
  for (const limit of limits.filter((l) => l.role === call.role)) {
    for (const s of call.streams || []) {
      const value = { rtp_mos: s.mos_total, rtp_lost_pct: s.loss_pct, rtp_jitter: s.jitter_ms && s.jitter_ms.avg,
        rtp_rtt: s.rtt_ms && s.rtt_ms.avg }[limit.measure];
      if (s.dir === 'in' && value !== undefined && !holds(limit, value)) worst = Math.max(worst, 2);
    }
  }
  return worst || (call.expected_end === false ? 1 : 0);
}

export function holds(limit, value) {
  return limit.most ? value <= limit.value : value >= limit.value;
}

// The intervals in which a measure breaks a limit, from the first to the last of them.
function brokenInterval(report, verdict, limit) {
  const own = report.series.filter((s) => s.role === verdict.role && s.measure === limit.measure && s.dir !== 'out');
  const bad = own.flatMap((s) => s.points.filter((p) => !holds(limit, limit.most ? p.max : p.min)).map((p) => p.t));
  if (!bad.length) return null;
  return { from: Math.min(...bad), to: Math.max(...bad) + report.interval_s, measure: limit.measure };
}

function rolesOf(report) {
  const all = [...new Set([...report.verdicts, ...report.calls, ...report.series, ...report.registrations,
    ...report.messages].map((x) => x.role))];
  const places = new Set([...report.calls.filter((c) => c.direction === 'out' && !c.placed_for),
    ...report.states.filter((s) => s.state === 'CALL_OUTGOING' && !report.calls.length)].map((c) => c.role));
  return all.sort((a, b) => places.has(b) - places.has(a) || a.localeCompare(b));
}

// The newest time of anything that was reported, in seconds since 1970.
function latestOf(report) {
  const ends = report.series.map((s) => s.points[s.points.length - 1].t + report.interval_s);
  return report.states.reduce((t, s) => Math.max(t, s.t / 1e6), Math.max(0, ...ends));
}

export function makeModel(report) {
  const { run } = report;
  const roles = rolesOf(report);
  const statesOf = new Map();
  for (const s of report.states) {
    if (s.call) statesOf.set(s.call, [...(statesOf.get(s.call) || []), s]);
  }
  const limits = report.verdicts.map((v) => ({ ...limitOf(v), role: v.role, passed: v.passed })).filter((l) => l.measure);
  const latest = latestOf(report);
  const calls = report.calls.map((c) => {
    const states = (statesOf.get(c.call) || []).sort((a, b) => a.t - b.t);
    return { ...c, states, ...bounds(c, states) };
  });
  for (const [name, states] of statesOf) { // calls in progress have states alone
    if (calls.some((c) => c.call === name)) continue;
    states.sort((a, b) => a.t - b.t);
    const live = { call: name, role: states[0].role, account: states[0].account, live: true, streams: [],
      t: latest * 1e6, direction: states[0].state === 'CALL_INCOMING' ? 'in' : 'out', states };
    if (!states.some((s) => s.state === 'CALL_CLOSED')) calls.push({ ...live, ...bounds(live, states), established: states.some((s) => s.state === 'CALL_ESTABLISHED') });
  }
  const messages = report.messages.map((m, i) => parseMessage(m, i, (report.messages_t || 0) / 1e6));
  const groups = conversations(calls);
  const failed = report.verdicts.filter((v) => !v.passed);
  groups.forEach((g, i) => {
    g.name = `Call ${i + 1}`;
    g.number = i + 1;
    g.end = Math.max(...g.legs.map((c) => c.closed));
    g.callIds = new Set(g.legs.map((c) => c.call_id).filter(Boolean));
    g.bad = Math.max(...g.legs.filter((c) => !c.placed_for).map((c) => badness(c, limits)), 0);
    g.verdicts = failed.filter((v) => g.legs.some((c) => c.call === v.call));
    if (g.verdicts.length) g.bad = Math.max(g.bad, 2);
  });
  const firsts = [run.started_at ? Date.parse(`${run.started_at.replace(' ', 'T')}Z`) / 1000 : Infinity,
    ...groups.map((g) => g.start), ...report.series.map((s) => s.points[0].t)];
  return {
    report, run, roles, calls, latest, conversations: groups, messages, shown: foldRepeats(messages), failed, limits,
    passed: report.verdicts.filter((v) => v.passed),
    isPublic: run.history === undefined,
    start: Math.min(...firsts.filter(Number.isFinite)),
    roleClass: (role) => ['', 'b', 'c'][Math.max(0, roles.indexOf(role)) % 3],
    roleColour: (role) => `var(--${'abc'[Math.max(0, roles.indexOf(role)) % 3]})`,
    conversationOf: (name) => groups.find((g) => g.legs.some((c) => c.call === name)),
  };
}

// The message that shows why a call or a transfer failed: the refusal itself.
function refusal(model, verdict) {
  const group = model.conversationOf(verdict.call);
  const own = model.shown.filter((m) => m.code >= 400 && ![401, 407].includes(m.code)
    && (!group || group.callIds.has(m.callId)));
  const code = /\b([4-6]\d\d) /.exec(verdict.sentence || '');
  const same = code ? own.filter((m) => m.code === Number(code[1])) : own;
  return same[0] || null;
}

// Where a failed condition is to be seen: {message} and {interval, measure}.
export function evidenceOf(model, verdict) {
  const limit = limitOf(verdict);
  const interval = limit && brokenInterval(model.report, verdict, limit);
  const kind = conditionKind(verdict);
  const signalling = ['built-in', 'sipclient-state', 'call-count', 'sip', 'cli', 'postdial-delay', 'register-time'];
  let message = signalling.includes(kind) ? refusal(model, verdict) : null;
  const group = model.conversationOf(verdict.call);
  if (!message && signalling.includes(kind) && group) {
    message = model.shown.find((m) => group.callIds.has(m.callId)) || null;
  }
  return { interval, message, group };
}
