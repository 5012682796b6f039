// Draws a run from the JSON at PAGE/data. Texts are inserted through
// textContent: nothing a peer sent can become markup.

import {
  byId, element, figure, fill, link,
} from './page.js';

const POLL_MS = 2000;
const COLOURS = ['#175cd3', '#b54708', '#1a7f4b', '#9e1f63', '#6941c6', '#475467'];

// report.mode=print: all sections are open, and the print dialog opens when the run is done.
const PRINT = new URLSearchParams(location.search).get('mode') === 'print';

// These measures come first; the others follow by name.
const FIRST = ['rtp_mos', 'rtp_jitter', 'rtp_lost_pct', 'rtp_rtt', 'rtp_pkt_per_sec'];

function drawHead(run) {
  document.title = `${run.status}: ${run.test_name} – Offhook`;
  byId('title').textContent = run.test_name;
  const badge = byId('status');
  badge.textContent = run.status;
  badge.className = `badge ${run.status}`;
  const failure = byId('failure');
  failure.hidden = !run.result_description;
  failure.textContent = run.result_description || '';
  const waiting = byId('waiting');
  waiting.hidden = !run.waiting_for;
  waiting.textContent = run.waiting_for ? `Waiting: ${run.waiting_for}.` : '';
  const progress = byId('progress');
  progress.hidden = run.status !== 'running';
  progress.value = run.progress || 0;
  const facts = [
    ['Project', run.project_name], ['Scenario', run.testcase_name], ['Agent pool', run.agentpool_name],
    ['Started (UTC)', run.started_at], ['Stopped (UTC)', run.stopped_at], ['Phase', run.phase],
    ['Attempt', run.attempt], ['Session', run.session_id],
  ];
  byId('facts').replaceChildren(...facts.map(([name, value]) => {
    const box = element('div');
    box.append(element('dt', name), element('dd', figure(value || undefined)));
    return box;
  }));
}

// A failed run may have further attempts: this page shows one of them.
function drawAttempts(run) {
  const last = run.last_attempt;
  const note = byId('attempts');
  note.hidden = !last;
  if (!last) return;
  const name = `attempt ${last.attempt}`;
  note.replaceChildren(
    element('span', `This is attempt ${run.attempt} of a run that started again. The last one, `),
    last.link ? link(name, last.link) : element('span', name),
    element('span', last.status === 'running' ? ', is due or running.' : `, ended ${last.status}.`));
}

function drawVerdicts(verdicts) {
  fill('verdicts', verdicts, [
    ['', (v) => element('span', v.passed ? '✓' : '✗', v.passed ? 'ok' : 'no')],
    ['Role', (v) => v.role],
    ['Condition', (v) => v.text, 'wide'],
    ['Expected', (v) => figure(v.expected), 'wide'],
    ['Actual', (v) => figure(v.actual), 'wide'],
  ], 'Not judged yet.');
}

function drawRegistrations(registrations) {
  byId('registrations-section').hidden = !registrations.length;
  fill('registrations', registrations, [
    ['', (r) => element('span', r.ok ? '✓' : '✗', r.ok ? 'ok' : 'no')],
    ['Role', (r) => r.role],
    ['Account', (r) => r.account],
    ['Answer', (r) => `${r.code || ''} ${r.reason || ''}`.trim(), 'wide'],
    ['Took ms', (r) => figure(r.ms, 1), 'number'],
    ['Expires s', (r) => figure(r.expires_s), 'number'],
  ], 'None.');
}

function path(p) {
  if (!p) return '–';
  if (!p.rtp) return p.reason;
  // without ICE the type of the peer's address is unknown
  const end = (type, address) => (type ? `${type} ${address}` : address);
  return `${p.by}: ${end(p.rtp.local_type, p.rtp.local)} – ${end(p.rtp.remote_type, p.rtp.remote)}`;
}

// The final response; if it refuses our offer, the offer too (RFC 3261 21.4.13, 21.4.26, 21.6.4).
function answer(c) {
  const said = `${c.code || ''} ${c.reason || ''}`.trim() || '–';
  if (c.direction !== 'out' || ![415, 488, 606].includes(c.code)) return said;
  return `${said}; offered: ${(c.audio_codecs || ['PCMU', 'PCMA']).join(', ')}, `
    + `encryption ${c.media_encryption || 'none'}`;
}

// A MOS is shown with its scale, and with * if the codec's values are not from a standard.
function scale(s) {
  const node = element('span', figure(s.mos_scale) + (s.mos_declared ? ' *' : ''));
  if (s.mos_declared) node.title = s.mos_declared;
  return node;
}

// L16 alone does not say which.
function codec(s) {
  return figure(s.codec || undefined) + (s.codec && s.clock_hz ? `/${s.clock_hz}` : '');
}

function drawCalls(calls) {
  fill('calls', calls, [
    ['', (c) => element('span', c.established ? '✓' : '✗', c.established ? 'ok' : 'no')],
    ['Call', (c) => c.call],
    ['Account', (c) => figure(c.account)],
    ['', (c) => (c.direction === 'out' ? 'to' : 'from')],
    ['Peer', (c) => figure(c.peer), 'wide'],
    ['PDD ms', (c) => figure(c.pdd_ms, 1), 'number'],
    ['Set-up ms', (c) => figure(c.setup_ms, 1), 'number'],
    ['Duration s', (c) => figure(c.duration_ms === undefined ? undefined : c.duration_ms / 1000, 3), 'number'],
    ['Path', (c) => path(c.path), 'wide'],
    ['Ended by', (c) => figure(c.end)],
    ['Last answer', answer, 'wide'],
  ], 'No call ended yet.');
  const streams = calls.flatMap((c) => (c.streams || []).map((s) => ({ ...s, call: c.call })));
  const average = (d, digits) => figure(d ? d.avg : undefined, digits);
  fill('streams', streams, [
    ['Call', (s) => s.call],
    ['Direction', (s) => (s.dir === 'in' ? 'received' : 'sent')],
    ['Codec', codec],
    ['Packet ms', (s) => figure(s.ptime_ms), 'number'],
    ['Encryption', (s) => s.srtp_suite || 'none'],
    ['SSRC', (s) => figure(s.ssrc)],
    ['MOS', (s) => (s.mos_total === undefined ? `– ${s.no_score || ''}` : figure(s.mos_total, 2)), 'number'],
    ['Scale', scale],
    ['R', (s) => figure(s.r_factor, 1), 'number'],
    ['Packets', (s) => figure(s.packets), 'number'],
    ['Lost', (s) => figure(s.lost), 'number'],
    ['Loss %', (s) => figure(s.loss_pct, 3), 'number'],
    ['Duplicates', (s) => figure(s.duplicates), 'number'],
    ['Reordered', (s) => figure(s.reordered), 'number'],
    ['Jitter ms', (s) => average(s.jitter_ms, 3), 'number'],
    ['Max', (s) => figure(s.jitter_ms ? s.jitter_ms.max : undefined, 3), 'number'],
    ['RTT ms', (s) => average(s.rtt_ms, 2), 'number'],
    // sent packets that no report of the peer is about
    ...(streams.some((s) => s.last_report) ? [
      ['Unreported', (s) => figure(s.last_report ? s.last_report.unreported : undefined), 'number']] : []),
    // packets of SRTP that were not authentic, or came twice
    ...(streams.some((s) => s.srtp_suite) ? [
      ['Not authentic', (s) => figure(s.srtp_auth_failed), 'number'],
      ['Replayed', (s) => figure(s.srtp_replayed), 'number']] : []),
    // behind a de-jitter buffer of 60 ms, a model
    ...(streams.some((s) => s.fixed_buffer) ? [
      ['Discarded by 60 ms buffer', (s) => figure(s.fixed_buffer ? s.fixed_buffer.discarded : undefined), 'number'],
      ['MOS behind it', (s) => figure(s.fixed_buffer ? s.fixed_buffer.mos : undefined, 2), 'number']] : []),
  ], 'No stream ended yet.');
  const declared = new Set(streams.map((s) => s.mos_declared).filter(Boolean));
  if (declared.size) {
    byId('streams').append(element('p', `* no standard has the values of this codec: ${[...declared].join('; ')}`, 'note'));
  }
  streams.filter((s) => s.lost_note).forEach((s) => byId('streams').append(
    element('p', `${s.call}, sent: ${s.lost} lost: ${s.lost_note}`, 'note')));
  drawSources(streams.filter((s) => s.sources && s.sources.length > 1));
  drawAudio(streams.filter((s) => s.audio));
  drawReported(streams.filter((s) => s.xr_voip));
}

function drawSources(streams) {
  byId('sources-section').hidden = !streams.length;
  const sources = streams.flatMap((s) => s.sources.map(
    (one) => ({ ...one, call: s.call, begin: s.sources[0].first_t })));
  const after = (name) => (s) => figure((s[name] - s.begin) / 1e6, 3);
  fill('sources', sources, [
    ['Call', (s) => s.call],
    ['SSRC', (s) => s.ssrc],
    ['Codec', (s) => figure(s.codec || undefined)],
    ['First packet s', after('first_t'), 'number'],
    ['Last packet s', after('last_t'), 'number'],
    ['Packets', (s) => figure(s.packets), 'number'],
    ['Lost', (s) => figure(s.lost), 'number'],
    ['Loss %', (s) => figure(s.loss_pct, 3), 'number'],
    ['Duplicates', (s) => figure(s.duplicates), 'number'],
    ['Jitter ms', (s) => figure(s.jitter_avg_ms, 3), 'number'],
    ['Max', (s) => figure(s.jitter_max_ms, 3), 'number'],
    ['MOS', (s) => (s.mos_total === undefined ? `– ${s.no_score || ''}` : figure(s.mos_total, 2)), 'number'],
    ['Scale', (s) => figure(s.mos_scale)],
    ['R', (s) => figure(s.r_factor, 1), 'number'],
  ], '');
}

function drawReported(streams) {
  byId('reported-section').hidden = !streams.length;
  const told = (name, digits) => (s) => figure(s.xr_voip[name], digits);
  fill('reported', streams, [
    ['Call', (s) => s.call],
    ['Loss %', told('loss_pct', 2), 'number'],
    ['Discarded %', told('discard_pct', 2), 'number'],
    ['In bursts %', told('burst_density_pct', 2), 'number'],
    ['Burst ms', told('burst_duration_ms'), 'number'],
    ['RTT ms', told('rtt_ms'), 'number'],
    ['End system ms', told('delay_ms'), 'number'],
    ['Buffer ms', told('buffer_ms'), 'number'],
    ['R', told('r_factor'), 'number'],
    ['MOS-LQ', told('mos_lq', 1), 'number'],
    ['MOS-CQ', told('mos_cq', 1), 'number'],
  ], '');
}

function drawAudio(streams) {
  byId('audio-section').hidden = !streams.length;
  const tones = (list) => {
    const box = element('div');
    box.append(...(list || []).map(
      (t) => element('div', `${figure(t.hz, 1)} Hz, ${figure(t.dbov, 1)} dBov, ${t.ms} ms`)));
    return box;
  };
  const has = (name) => streams.some((s) => s.audio[name] !== undefined);
  fill('audio', streams, [
    ['Call', (s) => s.call],
    ['Direction', (s) => (s.dir === 'in' ? 'heard' : 'said')],
    ['Codec', (s) => figure(s.codec)],
    ['Level dBov', (s) => figure(s.audio.level_dbov, 1), 'number'],
    ['Peak dBov', (s) => figure(s.audio.peak_dbov, 1), 'number'],
    ['Clipped %', (s) => figure(s.audio.clipped_pct, 2), 'number'],
    ['Sound ms', (s) => figure(s.audio.heard_ms, 0), 'number'],
    ['of ms', (s) => figure(s.audio.expected_ms, 0), 'number'],
    ['Longest silence ms', (s) => figure(s.audio.silence_max_ms, 0), 'number'],
    ['One-way ms', (s) => figure(s.audio.one_way_ms, 0), 'number'],
    ...(has('prompt_match') ? [['Like the prompt', (s) => figure(s.audio.prompt_match, 2), 'number']] : []),
    ...(has('prompt_begin_ms') ? [['Prompt began ms', (s) => figure(s.audio.prompt_begin_ms, 1), 'number']] : []),
    ...(has('noise_packets') ? [['Comfort noise dBov', (s) => figure(s.audio.noise_dbov, 0), 'number']] : []),
    ...(has('delay_avg_ms') ? [['Delay ms', (s) => figure(s.audio.delay_avg_ms, 1), 'number']] : []),
    ['Tones', (s) => tones(s.audio.tones), 'wide'],
  ], '');
}

// A line for the digits of a call in one direction and of one kind.
function drawDigits(digits) {
  byId('digits-section').hidden = !digits.length;
  const lines = new Map();
  for (const d of digits) {
    const key = JSON.stringify([d.call, d.direction, d.via]);
    if (!lines.has(key)) lines.set(key, []);
    lines.get(key).push(d);
  }
  fill('digits', [...lines.values()], [
    ['Call', (line) => line[0].call],
    ['Direction', (line) => (line[0].direction === 'in' ? 'received' : 'sent')],
    ['By', (line) => figure(line[0].via)],
    ['Digits', (line) => line.map((d) => d.digit).join(' '), 'wide'],
    ['Each ms', (line) => line.map((d) => figure(d.ms, 0)).join(' '), 'wide'],
  ], '');
}

function drawFlaws(flaws) {
  byId('flaws').replaceChildren(...flaws.map(
    (f) => element('p', `${f.role}: ${f.text || f.name} (${f.count})`, 'failure')));
}

function drawEvidence(evidence) {
  const late = (e, key) => figure(e.send_lateness_ms ? e.send_lateness_ms[key] : undefined, 3);
  fill('evidence', evidence, [
    ['Role', (e) => e.role],
    ['Packets sent', (e) => figure(e.packets_sent), 'number'],
    ['Received', (e) => figure(e.packets_received), 'number'],
    ['Send lateness median ms', (e) => late(e, 'median'), 'number'],
    ['p95', (e) => late(e, 'p95'), 'number'],
    ['p99', (e) => late(e, 'p99'), 'number'],
    ['Max', (e) => late(e, 'max'), 'number'],
    ['Sending thread', (e) => e.send_scheduling || ''],
    ['Send errors', (e) => figure(e.send_errors), 'number'],
    ['Receive queue drops', (e) => figure(e.receive_queue_drops), 'number'],
    ['Ring drops', (e) => figure(e.ring_drops), 'number'],
    ['Invalid packets', (e) => figure(e.invalid_packets), 'number'],
    ['of these RTCP', (e) => figure(e.rtcp_invalid), 'number'],
    ['RTP refused by this host', (e) => figure(e.rtp_send_refused), 'number'],
    ['RTCP refused by this host', (e) => figure(e.rtcp_send_refused), 'number'],
    ['Foreign', (e) => figure(e.foreign_packets), 'number'],
    ['SSRC collisions', (e) => figure(e.ssrc_collisions), 'number'],
    ['SRTP refused', (e) => figure(e.srtp_refused), 'number'],
    ['DTLS dropped', (e) => figure(e.dtls_dropped), 'number'],
    ['packets not sent', (e) => figure(e.packets_unsent), 'number'],
    ['DTLS refused', (e) => figure(e.dtls_refused), 'number'],
    ['STUN dropped', (e) => figure(e.stun_dropped), 'number'],
    ['Starts missed', (e) => figure(e.starts_missed), 'number'],
  ], 'Reported when the agents have finished.');
}

// Not in the public report: files are not public.
function drawFiles(report) {
  if (!report.artifacts) return;
  const beside = location.pathname.replace(/\/$/, '');
  byId('files-section').hidden = false;
  byId('downloads').replaceChildren(
    link('SIP messages as text', `${beside}/sip.txt`), ' · ',
    link('SIP messages as packets (pcap)', `${beside}/sip.pcap`), ' · ',
    link('metrics as a table (CSV)', `${beside}/stats.csv`));
  const all = `/api/v2/runs/${report.run.session_id}/artifacts`;
  const address = (f) => `${all}/${encodeURIComponent(f.role)}/${encodeURIComponent(f.name)}`;
  const player = (f) => {
    if (f.media_type !== 'audio/wav') return '';
    const node = element('audio');
    node.controls = true;
    node.preload = 'none';
    node.src = address(f);
    return node;
  };
  if (report.artifacts.length) {
    fill('artifacts', report.artifacts, [
      ['Role', (f) => f.role],
      ['File', (f) => link(f.name, address(f)), 'wide'],
      ['Listen', player],
      ['Type', (f) => f.media_type],
      ['Bytes', (f) => figure(f.size), 'number'],
      ['Brought (UTC)', (f) => f.created_at],
    ], '');
  }
  if (report.artifacts_omitted) {
    byId('artifacts').append(element('p', `${report.artifacts_omitted} further files are not shown.`, 'note'));
  }
  byId('artifacts-lost').replaceChildren(...report.artifacts_lost.map(
    (e) => element('p', `${e.role}: the file ${e.name} was not kept: ${e.text}`, 'note')));
}

function drawLadder(messages, omitted) {
  const nodes = messages.map((m) => {
    const line = element('div', null, `message ${m.dir}`);
    line.append(element('span', `${(m.t_ms / 1000).toFixed(3)} s`, 'time'),
      element('span', m.role, 'role'),
      element('span', m.dir === 'sent' ? '→' : '←', 'arrow'));
    const text = element('div');
    const summary = `${m.line}  ${(m.transport || '').toUpperCase()} ${m.peer || ''}`;
    if (m.text) {
      const details = element('details');
      details.append(element('summary', summary), element('pre', m.text));
      details.open = PRINT;
      text.append(details);
    } else {
      text.textContent = summary;
    }
    line.append(text);
    return line;
  });
  if (omitted) nodes.push(element('p', `${omitted} further messages are not shown.`, 'note'));
  byId('ladder').replaceChildren(...(nodes.length ? nodes : [element('p', 'None recorded.', 'note')]));
}

// One plot for each measure, with one line for each role and direction.
function plotRows(series) {
  const times = [...new Set(series.flatMap((s) => s.points.map((p) => p.t)))].sort((a, b) => a - b);
  const maps = series.map((s) => new Map(s.points.map((p) => [p.t, p])));
  return times.map((t) => [new Date(t * 1000), ...maps.map((m) => {
    const p = m.get(t);
    return p ? [p.min, p.avg, p.max] : null;
  })]);
}

function drawPlot(parent, measure, series) {
  const box = element('div', null, 'plot');
  const title = element('h3', `${measure} `);
  title.append(element('span', series[0].unit));
  const canvas = element('div', null, 'canvas');
  const legend = element('div', null, 'legend');
  box.append(title, canvas, legend);
  parent.append(box);
  box.dataset.measure = measure;
  const rows = plotRows(series);
  return new Dygraph(canvas, rows, {
    labels: ['UTC', ...series.map((s) => `${s.role} ${s.dir}`)],
    labelsDiv: legend, legend: 'always', labelsUTC: true, customBars: true,
    includeZero: !measure.startsWith('rtp_mos') && measure !== 'rtp_r_factor',
    colors: COLOURS, strokeWidth: 1.8, drawPoints: rows.length < 200, pointSize: 2.5,
    connectSeparatedPoints: false, fillAlpha: 0.13, digitsAfterDecimal: 3,
    axisLabelFontSize: 11, gridLineColor: '#e6eaef', axes: { y: { axisLabelWidth: 56 } },
  });
}

let plotted = '';
function drawPlots(series) {
  const signature = JSON.stringify(series.map((s) => [s.role, s.dir, s.measure, s.points.length]));
  if (signature === plotted) return; // nothing new: keep the zoom
  plotted = signature;
  const plots = byId('plots');
  plots.replaceChildren();
  const measures = [...new Set(series.map((s) => s.measure))];
  const place = (m) => (FIRST.includes(m) ? FIRST.indexOf(m) : FIRST.length);
  measures.sort((a, b) => place(a) - place(b) || a.localeCompare(b));
  if (!measures.length) plots.append(element('p', 'No data point yet.', 'note'));
  const zero = [];
  for (const measure of measures) {
    const own = series.filter((s) => s.measure === measure);
    if (own.every((s) => s.points.every((p) => p.min === 0 && p.max === 0))) zero.push(measure);
    else drawPlot(plots, measure, own);
  }
  byId('zero').textContent = zero.length ? `Zero throughout: ${zero.join(', ')}.` : '';
}

function draw(report) {
  drawHead(report.run);
  drawAttempts(report.run);
  drawVerdicts(report.verdicts);
  drawRegistrations(report.registrations);
  drawCalls(report.calls);
  drawDigits(report.digits);
  drawEvidence(report.evidence);
  drawFlaws(report.flaws);
  drawFiles(report);
  drawLadder(report.messages, report.messages_omitted);
  drawPlots(report.series);
}

async function refresh() {
  let again = true;
  try {
    const answer = await fetch(`${location.pathname.replace(/\/$/, '')}/data`, { cache: 'no-store' });
    if (!answer.ok) throw new Error(`the controller answered ${answer.status}`);
    const report = await answer.json();
    draw(report);
    const last = report.run.last_attempt;
    again = report.run.phase !== 'done' || (last !== null && last.status === 'running');
  } catch (error) {
    const failure = byId('failure');
    failure.hidden = false;
    failure.textContent = `The report could not be loaded: ${error.message}. Trying again.`;
  }
  if (again) setTimeout(refresh, POLL_MS);
  document.body.dataset.drawn = again ? 'partly' : 'done';
  if (PRINT && !again) window.print();
}

refresh();
