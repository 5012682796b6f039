// What can be told of the system under test from the data of a run, to compare two runs by.

import { header } from './report_model.js';

const list = (values) => [...new Set(values.filter((v) => v !== undefined && v !== null && v !== ''))].sort().join(', ');

// The last answer that is final, not a challenge and not of the same transaction again.
function answers(model) {
  const found = new Map();
  for (const m of model.shown) {
    if (m.code < 200 || m.code === 401 || m.code === 407 || m.dir !== 'received' || !m.method) continue;
    const answer = m.line.replace(/^SIP\/2\.0 /, '');
    if (!found.has(m.method)) found.set(m.method, new Set());
    found.get(m.method).add(answer);
  }
  return [...found].map(([method, texts]) => [`Answers to ${method}`, list([...texts])]);
}

function software(model) {
  const ours = new Set(model.messages.map((m) => m.local));
  return list(model.messages.filter((m) => m.dir === 'received' && !ours.has(m.peer))
    .map((m) => header(m.text, 'Server') || header(m.text, 'User-Agent'))
    .filter((text) => !text.startsWith('offhook/')));
}

// Addresses without ports, which differ from run to run.
function relays(model) {
  return list(model.messages.filter((m) => m.dir === 'received' && m.sdp)
    .flatMap((m) => [...m.text.matchAll(/^c=IN IP[46] ([^\s/]+)/gm)].map((c) => c[1])));
}

const STEPS = [50, 200, 500, 1000, 2000, 5000, 10000];

// Times are alike if they are in the same class: "below 200 ms".
function classOf(values) {
  const known = values.filter((v) => v !== undefined);
  if (!known.length) return '';
  const high = Math.max(...known);
  const limit = STEPS.find((s) => high <= s);
  return limit ? `below ${limit} ms` : 'above 10 s';
}

// @return [[name, text]], in the order in which they are shown; '' is unknown
export function facts(model) {
  const streams = model.calls.flatMap((c) => c.streams || []);
  const { report } = model;
  return [
    ['Software', software(model)],
    ...answers(model),
    ['Media address', relays(model)],
    ['Codec', list(streams.map((s) => s.codec))],
    ['Encryption', list(streams.map((s) => s.srtp_suite || 'none'))],
    ['Post-dial delay', classOf(model.calls.filter((c) => c.direction === 'out').map((c) => c.pdd_ms))],
    ['Registration', classOf(report.registrations.map((r) => r.ms))],
    ['Accounts', list(report.registrations.map((r) => r.account))],
    ['Calls', String(model.conversations.length || '')],
  ];
}

// @return {changed: [[name, before, now]], same: [name]}
export function differences(before, now) {
  const old = new Map(facts(before));
  const changed = [];
  const same = [];
  const names = [...new Set([...old.keys(), ...facts(now).map(([name]) => name)])];
  const current = new Map(facts(now));
  for (const name of names) {
    const a = old.get(name) || '';
    const b = current.get(name) || '';
    if (!a || !b) continue; // unknown on one side: nothing can be said
    if (a !== b) changed.push([name, a, b]);
    else same.push(name);
  }
  const texts = (model) => model.report.verdicts.filter((v) => !v.built_in).map((v) => v.text);
  const [was, is] = [texts(before), texts(now)];
  const gone = was.filter((text) => !is.includes(text)).join('; ');
  const added = is.filter((text) => !was.includes(text)).join('; ');
  if (gone || added) changed.push(['Conditions', gone, added]);
  else same.push('Conditions');
  return { changed, same };
}
