// Two runs side by side: what is alike, what differs. Nothing here touches the page.

import { header, measureName } from './report_model.js';
import { figure } from './report_ui.js';

const NEAR = 8; // rows
const ALIGNED_MOST = 400; // messages of a conversation; the work grows with the square

// ---- sequences ----

// The longest common subsequence. @return [{a, b}], one of them undefined where only one side has it
export function align(a, b, same) {
  const lengths = Array.from({ length: a.length + 1 }, () => new Uint16Array(b.length + 1));
  for (let i = a.length - 1; i >= 0; i -= 1) {
    for (let k = b.length - 1; k >= 0; k -= 1) {
      lengths[i][k] = same(a[i], b[k]) ? lengths[i + 1][k + 1] + 1 : Math.max(lengths[i + 1][k], lengths[i][k + 1]);
    }
  }
  const rows = [];
  let [i, k] = [0, 0];
  while (i < a.length || k < b.length) {
    if (i < a.length && k < b.length && same(a[i], b[k])) {
      rows.push({ a: a[i], b: b[k] });
      i += 1;
      k += 1;
    } else if (k >= b.length || (i < a.length && lengths[i + 1][k] >= lengths[i][k + 1])) {
      rows.push({ a: a[i] });
      i += 1;
    } else {
      rows.push({ b: b[k] });
      k += 1;
    }
  }
  return rows;
}

// What stands a few rows earlier in one run is no difference: messages of two legs that are sent at
// the same time come in any order.
export function paired(rows, same) {
  const found = [...rows];
  for (let i = 0; i < found.length; i += 1) {
    if (found[i] && (found[i].a === undefined || found[i].b === undefined)) {
      const side = found[i].a === undefined ? 'b' : 'a';
      const other = side === 'a' ? 'b' : 'a';
      for (let k = i + 1; k < Math.min(found.length, i + NEAR); k += 1) {
        if (found[k] && found[k][side] === undefined && same(found[i][side], found[k][other])) {
          found[i] = { ...found[i], [other]: found[k][other] };
          found[k] = null;
          break;
        }
      }
    }
  }
  return found.filter(Boolean);
}

// Rows in which both sides are alike, three or more in a row, become one: {fold: [rows]}.
export function folded(rows) {
  const found = [];
  let run = [];
  const flush = () => {
    if (run.length >= 3) found.push({ fold: run });
    else found.push(...run);
    run = [];
  };
  for (const row of rows) {
    if (row.a !== undefined && row.b !== undefined) run.push(row);
    else {
      flush();
      found.push(row);
    }
  }
  flush();
  return found;
}

// ---- conditions ----

// The number of the one condition of a text, or of the same text again.
function numbered(verdicts) {
  const seen = new Map();
  return new Map(verdicts.map((v) => {
    const key = `${v.role} ${v.text}`;
    seen.set(key, (seen.get(key) || 0) + 1);
    return [`${key} ${seen.get(key)}`, v];
  }));
}

// @return {broke, fixed, other, passed, failed}: lists of {a, b}; other: only one run has it
export function conditions(a, b) {
  const [was, is] = [numbered(a.report.verdicts), numbered(b.report.verdicts)];
  const found = { broke: [], fixed: [], other: [], passed: [], failed: [] };
  for (const key of new Set([...was.keys(), ...is.keys()])) {
    const pair = { a: was.get(key), b: is.get(key) };
    if (!pair.a || !pair.b) found.other.push(pair);
    else if (pair.a.passed !== pair.b.passed) found[pair.b.passed ? 'fixed' : 'broke'].push(pair);
    else found[pair.a.passed ? 'passed' : 'failed'].push(pair);
  }
  return found;
}

// ---- messages ----

// Columns of a run: its roles, then the other addresses by their first message. Addresses differ from
// run to run, their order does not.
function columns(model, messages) {
  const roleOf = new Map();
  for (const m of model.messages) roleOf.set(m.local || m.role, m.role);
  const found = new Map();
  let peers = 0;
  for (const address of messages.flatMap((m) => [m.from, m.to])) {
    if (found.has(address)) continue;
    const role = roleOf.get(address);
    peers += role ? 0 : 1;
    found.set(address, role ? { key: role, name: role, address } : { key: `peer ${peers}`, name: peers > 1 ? `peer ${peers}` : 'peer', address });
  }
  return found;
}

function lineOf(m) {
  if (m.code) return m.line.replace(/^SIP\/2\.0 /, '');
  const [method, uri] = m.line.split(' ');
  const user = /^sips?:([^@;>]+)@/.exec(uri || '');
  // our own Contact users are made up for each run
  return ['INVITE', 'MESSAGE', 'SUBSCRIBE'].includes(method) && user ? `${method} ${user[1].split('-')[0]}` : method;
}

function side(model, group) {
  const calls = model.shown.filter((m) => m.method !== 'REGISTER');
  const own = group ? calls.filter((m) => group.callIds.has(m.callId)) : calls;
  const list = (own.length ? own : model.shown).slice(0, ALIGNED_MOST);
  const places = columns(model, list);
  const zero = list.length ? list[0].t : 0;
  return { places, omitted: (own.length ? own : model.shown).length - list.length, list: list.map((m) => ({
    m, t: m.t - zero, from: places.get(m.from).key, to: places.get(m.to).key, text: lineOf(m), of: m.code ? m.method : '' })) };
}

// The conversations of the same number, or all messages where a run has none.
export function ladder(a, b, groupA, groupB) {
  const [one, two] = [side(a, groupA), side(b, groupB)];
  const same = (p, q) => p.from === q.from && p.to === q.to && p.text === q.text && p.of === q.of;
  const rows = paired(align(one.list, two.list, same), same);
  const cols = new Map();
  for (const [at, { places }] of [['a', one], ['b', two]]) {
    for (const { key, name, address } of places.values()) cols.set(key, { key, name, ...cols.get(key), [at]: address });
  }
  const order = (key) => (key.startsWith('peer ') ? 1 : key === b.roles[0] ? 0 : 2);
  return { rows, columns: [...cols.values()].sort((p, q) => order(p.key) - order(q.key)), omitted: one.omitted + two.omitted };
}

// ---- session descriptions ----

// What each run has of its own is left out: ids, ports of ours, keys.
function sdpLines(m, ours) {
  const body = m.text.slice(m.text.search(/\r?\n\r?\n/)).trim().split(/\r?\n/);
  return body.filter((line) => !/^(o=|a=(ssrc|ice-ufrag|ice-pwd|fingerprint|candidate|msid|cname))/.test(line)).map((line) => {
    let text = line.replace(/inline:[^\s|]+/, 'inline:••••');
    if (ours) text = text.replace(/^(m=\w+ )\d+/, '$1••••').replace(/^(a=rtcp:)\d+/, '$1••••');
    else text = text.replace(/^(m=\w+ )(?!0 )\d+/, '$1••••').replace(/^(a=rtcp:)\d+/, '$1••••');
    return text;
  });
}

const MEANING = [[/^c=/, 'Another media address'], [/^m=/, 'Other codecs, or another order'], [/^a=crypto/, 'Another cipher of SRTP'],
  [/^a=rtcp-mux/, 'RTCP shares the port in one run only'], [/^a=(sendrecv|sendonly|recvonly|inactive)/, 'Another direction of media'],
  [/^a=(rtpmap|fmtp)/, 'Other parameters of a codec'], [/^a=ptime/, 'Another packet time'], [/^a=setup/, 'Another role in DTLS']];

export const meaning = (line) => (MEANING.find(([sign]) => sign.test(line)) || [])[1] || '';

// @return [{name, rows, changed}] of the first offer and the first answer that both runs have
export function descriptions(rows) {
  const found = [];
  for (const [name, answer] of [['Offer', false], ['Answer', true]]) {
    const has = (x) => x && x.m.sdp && Boolean(x.m.code) === answer;
    const a = rows.find((r) => has(r.a));
    const b = rows.find((r) => has(r.b));
    if (!a || !b) continue;
    const [was, is] = [a.a.m, b.b.m];
    const lines = align(sdpLines(was, was.dir === 'sent'), sdpLines(is, is.dir === 'sent'), (p, q) => p === q);
    found.push({ name, rows: lines, changed: lines.filter((r) => r.a === undefined || r.b === undefined).length });
  }
  return found;
}

// ---- header fields ----

const OWN = new Set(['via', 'from', 'to', 'call-id', 'cseq', 'date', 'contact', 'content-length', 'authorization', 'proxy-authorization',
  'www-authenticate', 'proxy-authenticate', 'rseq', 'rack', 'record-route', 'route', 'timestamp', 'warning', 'refer-to', 'replaces',
  'sip-etag', 'sip-if-match', 'identity', 'v', 'f', 't', 'i', 'm', 'l']);

function fields(m) {
  const end = m.text.search(/\r?\n\r?\n/);
  const found = new Map();
  for (const line of m.text.slice(0, end < 0 ? undefined : end).replace(/\r?\n[ \t]+/g, ' ').split(/\r?\n/).slice(1)) {
    const cut = line.indexOf(':');
    const name = line.slice(0, cut).trim();
    if (cut > 0 && !OWN.has(name.toLowerCase())) found.set(name.toLowerCase(), { name, value: header(m.text, name.replace(/[^\w-]/g, '.')) || line.slice(cut + 1).trim() });
  }
  return found;
}

// Fields whose values differ between messages that are alike. @return [{name, a, b, where: [text]}]
export function headers(rows) {
  const found = new Map();
  for (const { a, b } of rows) {
    if (!a || !b || a.m.text === undefined || b.m.text === undefined) continue;
    const [was, is] = [fields(a.m), fields(b.m)];
    for (const key of new Set([...was.keys(), ...is.keys()])) {
      const [old, now] = [was.get(key), is.get(key)];
      if (old && now && old.value === now.value) continue;
      const sign = JSON.stringify([key, old && old.value, now && now.value]);
      const where = a.of ? `${a.text} to ${a.of}` : a.text;
      const entry = found.get(sign) || { name: (now || old).name, a: old ? old.value : '', b: now ? now.value : '', where: [] };
      if (!entry.where.includes(where)) entry.where.push(where);
      found.set(sign, entry);
    }
  }
  return [...found.values()];
}

// ---- measures ----

function spread(values, lowest, highest) {
  if (!values.length) return null;
  const sorted = [...values].sort((p, q) => p - q);
  const at = (part) => sorted[Math.min(sorted.length - 1, Math.floor(part * sorted.length))];
  return { n: sorted.length, min: lowest, low: at(0.05), median: at(0.5), high: at(0.95), max: highest };
}

function ofSeries(model) {
  const found = new Map();
  for (const s of model.report.series) {
    if (s.measure.startsWith('sip_')) continue; // told by the calls, below
    const { points } = s;
    found.set(`${s.role} ${s.dir || ''} ${s.measure}`, { role: s.role, dir: s.dir || '', key: s.measure, name: measureName(s.measure), unit: s.unit, bound: s.bound,
      values: spread(points.map((p) => p.avg), points.reduce((m, p) => Math.min(m, p.min), Infinity), points.reduce((m, p) => Math.max(m, p.max), -Infinity)) });
  }
  const times = [['pdd_ms', 'Post-dial delay', model.calls.filter((c) => c.direction === 'out')], ['setup_ms', 'INVITE to 200', model.calls.filter((c) => c.direction === 'out')],
    ['ms', 'Registration', model.report.registrations]];
  for (const [member, name, list] of times) {
    for (const role of model.roles) {
      const values = list.filter((x) => x.role === role).map((x) => x[member]).filter((v) => v !== undefined && v !== null);
      if (values.length) found.set(`${role}  ${member}`, { role, dir: '', key: member, name, unit: 'ms', values: spread(values, Math.min(...values), Math.max(...values)) });
    }
  }
  return found;
}

const LOW_IS_BAD = /mos|r_factor|audio_heard|pkt_per_sec|byte_per_sec/;

// Less is what two runs of the same system differ by anyhow.
function least(row) {
  if (row.unit !== 'ms') return 0;
  if (row.dir === '') return 20; // times of SIP
  return row.key.includes('jitter') ? 1 : 5;
}

const ORDER = ['rtp_mos', 'rtp_lost_pct', 'rtp_jitter', 'rtp_rtt', 'pdd_ms', 'setup_ms', 'ms'];

function signed(value, digits) {
  return `${value < 0 ? '−' : '+'}${figure(Math.abs(value), digits)}`;
}

// The part of the distribution that moved most: {words, moved, kind}. moved is relative to the scale.
function change(row) {
  const { a, b } = row;
  const scale = Math.max(a.max, b.max) - Math.min(a.min, b.min, /mos/.test(row.key) ? Infinity : 0) || 1;
  const low = LOW_IS_BAD.test(row.key);
  const digits = /mos/.test(row.key) ? 2 : Math.abs(scale) < 10 ? 1 : 0;
  const parts = [['', b.median - a.median], low ? ['lowest ', b.min - a.min] : ['highest ', b.max - a.max]];
  const [words, by] = parts.sort((p, q) => Math.abs(q[1]) - Math.abs(p[1]))[0];
  const moved = Math.abs(by) / scale;
  const worse = low ? by < 0 : by > 0;
  if (row.bounds && Math.abs(by) <= row.bounds[0] + row.bounds[1]) return { words: 'within the error bounds', moved: 0, kind: 'soft' };
  if (moved < 0.1 || Math.abs(by) < Math.max(least(row), 10 ** -digits)) return { words: 'as before', moved: 0, kind: 'soft' };
  return { words: `${words}${signed(by, digits)}`, moved, kind: worse ? (moved > 0.3 ? 'bad' : 'warn') : 'ok' };
}

// @return [{name, unit, key, role, dir, a, b, change, limit}], those that both runs have
export function measures(a, b) {
  const [was, is] = [ofSeries(a), ofSeries(b)];
  const rows = [];
  for (const [key, now] of is) {
    const old = was.get(key);
    if (!old || !old.values || !now.values) continue;
    const bounds = old.bound === undefined || now.bound === undefined ? null : [old.bound, now.bound];
    const row = { ...now, bounds, a: { ...old.values, bound: old.bound }, b: { ...now.values, bound: now.bound }, limit: b.limits.find((l) => l.measure === now.key && l.role === now.role && now.dir !== 'out') };
    rows.push({ ...row, change: change(row) });
  }
  const place = (r) => (ORDER.includes(r.key) ? ORDER.indexOf(r.key) : ORDER.length);
  return rows.sort((p, q) => place(p) - place(q) || b.roles.indexOf(p.role) - b.roles.indexOf(q.role));
}
