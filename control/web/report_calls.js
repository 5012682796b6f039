// Calls by what became of them: the worst first, equal ones folded, each with all its figures.

import { badness, stateNow } from './report_model.js';
import { streamFigures } from './report_sentence.js';
import { el, figure, fold, icon, pages, plural, plusMinus, roleTag, shape, short, table } from './report_ui.js';

const PAGE = 25;

const STREAM = [
  ['Codec', 'codec', (s) => (s.codec ? `${s.codec}${s.clock_hz ? `/${s.clock_hz}` : ''}` : undefined)],
  ['Packet time ms', 'ptime_ms'], ['Encryption', 'srtp_suite', (s) => s.srtp_suite || 'none'], ['SSRC', 'ssrc'],
  ['MOS', 'mos_total', (s) => (s.mos_total === undefined ? s.no_score : s.mos_total.toFixed(2))],
  ['Scale of MOS', 'mos_scale', (s) => (s.mos_declared ? `${s.mos_scale} (${s.mos_declared})` : s.mos_scale)],
  ['R-factor', 'r_factor', (s) => fixed(s.r_factor, 1)], ['Packets', 'packets'], ['Lost', 'lost'], ['Loss %', 'loss_pct', (s) => within(fixed(s.loss_pct, 3), s.loss_bound_pct)],
  ['Note on lost', 'lost_note'], ['Duplicates', 'duplicates'], ['Reordered', 'reordered'], ['Longest gap ms', 'gap_max_ms', (s) => fixed(s.gap_max_ms, 1)],
  ['Jitter ms, average', 'jitter_ms.avg', (s) => s.jitter_ms && within(fixed(s.jitter_ms.avg, 3), s.jitter_bound_ms)],
  ['Jitter ms, highest', 'jitter_ms.max', (s) => s.jitter_ms && fixed(s.jitter_ms.max, 3)],
  ['Round trip ms', 'rtt_ms.avg', (s) => s.rtt_ms && within(fixed(s.rtt_ms.avg, 2), s.rtt_bound_ms)],
  ['Unreported packets', 'last_report.unreported', (s) => s.last_report && s.last_report.unreported],
  ['Not authentic', 'srtp_auth_failed'], ['Replayed', 'srtp_replayed'],
  ['Discarded by a 60 ms buffer', 'fixed_buffer.discarded', (s) => s.fixed_buffer && s.fixed_buffer.discarded],
  ['MOS behind it', 'fixed_buffer.mos', (s) => s.fixed_buffer && fixed(s.fixed_buffer.mos, 2)],
  ['Level dBov', 'audio.level_dbov', (s) => s.audio && fixed(s.audio.level_dbov, 1)],
  ['Peak dBov', 'audio.peak_dbov', (s) => s.audio && fixed(s.audio.peak_dbov, 1)],
  ['Clipped %', 'audio.clipped_pct', (s) => s.audio && fixed(s.audio.clipped_pct, 2)],
  ['Sound ms', 'audio.heard_ms', (s) => s.audio && `${fixed(s.audio.heard_ms, 0)} of ${fixed(s.audio.expected_ms, 0)}`],
  ['Longest silence ms', 'audio.silence_max_ms', (s) => s.audio && fixed(s.audio.silence_max_ms, 0)],
  ['One-way ms', 'audio.one_way_ms', (s) => s.audio && fixed(s.audio.one_way_ms, 0)],
  ['Like the prompt', 'audio.prompt_match', (s) => s.audio && fixed(s.audio.prompt_match, 2)],
  ['Prompt began ms', 'audio.prompt_begin_ms', (s) => s.audio && fixed(s.audio.prompt_begin_ms, 1)],
  ['Delay ms', 'audio.delay_avg_ms', (s) => s.audio && fixed(s.audio.delay_avg_ms, 1)],
  ['Tones', 'audio.tones', (s) => s.audio && (s.audio.tones || []).map((t) => `${fixed(t.hz, 1)} Hz, ${fixed(t.dbov, 1)} dBov, ${t.ms} ms`).join('; ')],
  ['Comfort noise dBov', 'audio.noise_dbov', (s) => s.audio && s.audio.noise_dbov],
  ...[['Loss at the peer %', 'loss_pct'], ['Discarded at the peer %', 'discard_pct'], ['Round trip at the peer ms', 'rtt_ms'], ['R-factor of the peer', 'r_factor'],
    ['MOS-LQ of the peer', 'mos_lq'], ['MOS-CQ of the peer', 'mos_cq'], ['Buffer of the peer ms', 'buffer_ms']]
    .map(([name, key]) => [name, `xr_voip.${key}`, (s) => s.xr_voip && s.xr_voip[key]]),
];

function fixed(value, digits) {
  return typeof value === 'number' ? value.toFixed(digits) : undefined;
}

// The same for a line: "1.84 ± 0.05"; without a bound as short() has it.
const shortWithin = (value, bound) => (typeof bound === 'number' && typeof value === 'number' ? within(value.toFixed(2), bound) : short(value));

// A figure with the error bound of the agent that measured it, rounded up: "1.842 ± 0.05".
function within(shown, bound) {
  return shown === undefined ? shown : `${shown}${plusMinus(bound)}`;
}

function pathOf(c) {
  const p = c.path;
  if (!p) return null;
  if (!p.rtp) return p.reason;
  // a public link has none of our addresses
  const end = (type, address) => [type, address].filter(Boolean).join(' ') || 'our address';
  return `${p.by}: ${end(p.rtp.local_type, p.rtp.local)} – ${end(p.rtp.remote_type, p.rtp.remote)}`;
}

// The final response; if it refuses our offer, the offer too (RFC 3261 21.4.13, 21.4.26, 21.6.4).
function answerOf(c) {
  const said = `${c.code || ''} ${c.reason || ''}`.trim();
  if (c.direction !== 'out' || ![415, 488, 606].includes(c.code)) return said;
  return `${said}; offered: ${(c.audio_codecs || ['PCMU', 'PCMA']).join(', ')}, encryption ${c.media_encryption || 'none'}`;
}

function detail(model, c) {
  const streams = c.streams || [];
  const nodes = [];
  const digits = model.report.digits.filter((d) => d.call === c.call);
  const facts = [['Call-ID', c.call_id], ['Account', c.account], ['Peer', c.peer], ['Set-up', c.setup_ms === undefined ? '' : `${short(c.setup_ms)} ms`],
    ['Last answer', answerOf(c)], ['Warning', c.warning], ['Path', pathOf(c)],
    ...['in', 'out'].map((dir) => {
      const own = digits.filter((d) => d.direction === dir);
      return [`Digits ${dir === 'in' ? 'received' : 'sent'}`, own.length ? `${own.map((d) => d.digit).join(' ')} (${[...new Set(own.map((d) => d.via))].join(', ')}; ${own.map((d) => figure(d.ms, 0)).join(', ')} ms)` : ''];
    })].filter(([, value]) => value);
  nodes.push(...facts.map(([name, value]) => el('dl', { class: 'dl' }, el('dt', null, name), el('dd', null, value))));
  if (streams.length) {
    const rows = STREAM.map(([name, key, get]) => ({ name, key, values: streams.map((s) => (get ? get(s) : s[key])) }))
      .filter((r) => r.values.some((v) => v !== undefined && v !== ''));
    nodes.push(table(`Streams of ${c.call}`, rows, [
      ['Figure', (r) => el('span', null, r.name, ' ', el('span', { class: 'key' }, r.key))],
      ...streams.map((s, i) => [s.dir === 'in' ? 'received' : 'sent', (r) => figure(r.values[i]), 'num'])]));
  }
  for (const s of streams.filter((one) => one.sources && one.sources.length > 1)) {
    nodes.push(table(`Sources of ${c.call}`, s.sources, [['SSRC', (o) => o.ssrc], ['Codec', (o) => figure(o.codec)], ['Packets', (o) => figure(o.packets), 'num'],
      ['First s', (o) => ((o.first_t - s.sources[0].first_t) / 1e6).toFixed(3), 'num'], ['Last s', (o) => ((o.last_t - s.sources[0].first_t) / 1e6).toFixed(3), 'num'],
      ['Lost', (o) => figure(o.lost), 'num'], ['Loss %', (o) => figure(o.loss_pct, 3), 'num'], ['Jitter ms', (o) => figure(o.jitter_avg_ms, 3), 'num'],
      ['MOS', (o) => (o.mos_total === undefined ? figure(o.no_score) : o.mos_total.toFixed(2)), 'num']]));
  }
  return el('div', { class: 'detail' }, ...nodes);
}

const inward = (c) => (c.streams || []).find((s) => s.dir === 'in') || {};
const talked = (c) => (c.duration_ms === undefined ? undefined : c.duration_ms / 1000);

function lines(model, calls, caption, options) {
  const box = table(caption, calls, [
    ['Call', (c) => el('button', { class: 'link', type: 'button', 'aria-expanded': 'false', 'data-call': c.call }, icon('right'),
      shape(c.live ? 'running' : c.bad > 1 ? 'failed' : 'passed'), c.call)],
    ['From, to', (c) => el('span', null, roleTag(model, c.role), ` ${figure(c.account)} ${c.direction === 'out' ? '→' : '←'} ${figure(c.peer).replace(/^sips?:/, '')}`), 'wide-only'],
    ['Post-dial ms', (c) => short(c.pdd_ms), 'num wide-only'], ['Talked s', (c) => short(talked(c)), 'num'],
    ['Heard', (c) => [inward(c).codec, inward(c).srtp_suite ? 'SRTP' : ''].filter(Boolean).join(', ') || '–', 'wide-only'],
    ['MOS', (c) => figure(inward(c).mos_total, 2), 'num'], ['Loss %', (c) => shortWithin(inward(c).loss_pct, inward(c).loss_bound_pct), 'num'],
    ['Jitter ms', (c) => shortWithin(inward(c).jitter_ms && inward(c).jitter_ms.avg, inward(c).jitter_bound_ms), 'num wide-only'],
    ['Ended', (c) => (c.live ? stateNow(c).word : `${figure(c.end)}${c.code ? ` ${c.code}` : ''}`), 'wide-only']]);
  [...box.querySelectorAll('tbody tr')].forEach((tr, i) => {
    const button = tr.querySelector('button');
    const open = () => {
      const next = tr.nextElementSibling;
      const shown = next && next.classList.contains('detail-row');
      button.setAttribute('aria-expanded', String(!shown));
      if (shown) next.remove();
      else {
        tr.after(el('tr', { class: 'detail-row' }, el('td', { colspan: 9 }, detail(model, calls[i]))));
        if (options.pick) options.pick(calls[i]);
      }
    };
    button.addEventListener('click', open);
    if (calls[i].bad > 1) tr.classList.add('focus');
  });
  return box;
}

// Calls of one outcome are alike if their limits hold alike.
function outcome(c) {
  return JSON.stringify([c.role, c.established, c.established ? '' : c.code, c.established ? '' : c.reason, c.end, c.bad, inward(c).codec, inward(c).srtp_suite, Boolean(c.live)]);
}

function wordsOf(model, calls) {
  const [c] = calls;
  const what = c.live ? 'in progress' : c.established ? `established, ended ${c.end}` : `${c.end} ${answerOf(c)}`.trim();
  return [`${plural(calls.length, 'more call')} of `, roleTag(model, c.role), ` like this: ${[what, ...streamFigures(calls)].join(', ')}`];
}

function drawRegistrations(model) {
  const all = model.report.registrations;
  if (!all.length) return [];
  const bad = all.filter((r) => !r.ok);
  const slowest = Math.max(...all.map((r) => r.ms || 0));
  const text = bad.length ? `${bad.length} of ${plural(all.length, 'registration')} failed` : `${plural(all.length, 'registration')} succeeded, the slowest in ${short(slowest)} ms`;
  return [fold(text, () => pages([...bad, ...all.filter((r) => r.ok)], PAGE, (part) => table('Registrations', part, [
    ['Role', (r) => roleTag(model, r.role)], ['Account', (r) => el('span', null, shape(r.ok ? 'passed' : 'failed'), ' ', r.account)],
    ['Answer', (r) => `${r.code || ''} ${r.reason || ''}`.trim() || '–'], ['Took ms', (r) => figure(r.ms, 1), 'num'], ['Expires s', (r) => figure(r.expires_s), 'num']])), bad.length > 0, 'registrations')];
}

export function drawCalls(model, host, options) {
  const opened = new Set([...host.querySelectorAll('.link[aria-expanded=true]')].map((b) => b.dataset.call));
  const groups = new Map();
  for (const c of model.calls) {
    c.bad = badness(c, model.limits);
    const key = outcome(c);
    groups.set(key, [...(groups.get(key) || []), c]);
  }
  const worst = [...groups.values()].sort((a, b) => b[0].bad - a[0].bad || a.length - b.length);
  const few = worst.length <= 4 && model.calls.length <= 6;
  const nodes = [lines(model, few ? worst.flat() : worst.map((g) => g[0]), 'Calls, the worst first', options)];
  if (!few) {
    for (const g of worst.filter((one) => one.length > 1)) {
      nodes.push(fold(wordsOf(model, g.slice(1)), () => pages(g.slice(1), PAGE, (part) => lines(model, part, 'Calls that are alike', options)), false, `calls ${outcome(g[0])}`));
    }
  }
  if (!model.calls.length) nodes.splice(0, 1, el('p', { class: 'empty' }, model.run.phase === 'done' ? 'There was no call.' : 'No call yet.'));
  host.replaceChildren(...nodes, ...drawRegistrations(model));
  for (const button of host.querySelectorAll('.link')) {
    if (opened.has(button.dataset.call) || options.open) button.closest('tr').after(el('tr', { class: 'detail-row' },
      el('td', { colspan: 9 }, detail(model, model.calls.find((c) => c.call === button.dataset.call)))));
    if (opened.has(button.dataset.call)) button.setAttribute('aria-expanded', 'true');
  }
}
