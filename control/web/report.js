// The page of a run: its report, and the run while it is in progress. Drawn from the JSON at
// PAGE/data (docs/reference/report.md).

import { api, asPage, loadSession, may } from './api.js';
import { byId } from './dom.js';
import { complain, during, reading, toast } from './form.js';
import { KEYS } from './nav.js';
import { Clock } from './report_clock.js';
import { drawCalls } from './report_calls.js';
import { drawLive } from './report_live.js';
import { Ladder } from './report_ladder.js';
import { Player } from './report_player.js';
import { drawQuality } from './report_quality.js';
import { differences } from './report_facts.js';
import { capital, evidenceOf, makeModel, measureName, withoutRole } from './report_model.js';
import { lastPassed, reduced, sentence, since, testerChecks, took } from './report_sentence.js';
import { shareDialog } from './report_share.js';
import { badge, bytes, changeList, crumbs, el, figure, fold, icon, measured, plural, roleTag, shape, table, when } from './report_ui.js';

const POLL_MS = 1000;
const PRINT = new URLSearchParams(location.search).get('mode') === 'print';
const PAGE = location.pathname.replace(/\/$/, '');
const BUTTONS = 4; // conversations with a button of their own; more are in a list
const page = { model: null, clock: null, ladder: null, player: null, drawn: '' };

function stressed(parts) {
  return parts.map((part) => (Array.isArray(part) ? el('b', null, part[0]) : part));
}

// ---- the head ----

function strip(run) {
  const runs = run.history || [];
  if (runs.length < 2) return null;
  const bad = runs.filter((r) => r.status !== 'passed' && r.status !== 'running').length;
  const box = el('span', { class: 'strip', role: 'group', 'aria-label': `last ${runs.length} runs, ${bad} not passed` });
  for (const r of runs) {
    const kind = { failed: 'f', errored: 'e', stopped: 'x', running: 'r' }[r.status] || '';
    const now = r.session_id === run.session_id;
    box.append(el('a', { class: `${kind}${now ? ' now' : ''}`, href: `/run/details/${r.session_id}`,
      'aria-label': `run ${r.id}, ${r.status}, ${when(r.started_at)}`, title: `Run ${r.id}: ${r.status}, ${when(r.started_at)}`,
      'aria-current': now ? 'page' : null }));
  }
  return box;
}

function factNodes(model) {
  const { run } = model;
  const before = lastPassed(run);
  const nodes = [];
  if (before && run.status !== 'passed') {
    nodes.push(el('span', null, 'Last passed ', el('a', { href: `/run/details/${before.session_id}` }, `run ${before.id}`), `, ${when(before.started_at)}`));
  }
  const fact = (name, value) => value && nodes.push(el('span', null, `${name} `, el('b', null, value)));
  fact('Took', took(run));
  fact('Project', run.project_name);
  fact('Scenario', run.testcase_name);
  fact('Pool', run.agentpool_name);
  if (run.started_at) nodes.push(el('span', { title: `${run.started_at} UTC` }, 'Started ', el('b', null, `${when(run.started_at)} UTC`)));
  if (run.attempt > 1) fact('Attempt', run.attempt);
  return nodes;
}

function drawAttempts(run) {
  const last = run.last_attempt;
  byId('attempts').hidden = !last;
  if (!last) return;
  const name = `attempt ${last.attempt}`;
  byId('attempts').replaceChildren(`This is attempt ${run.attempt} of a run that started again. The last one, `,
    last.link ? el('a', { href: last.link }, name) : name,
    last.status === 'running' ? ', is due or running.' : `, ended ${last.status}.`);
}

// What retention deleted or thinned is said: it is not a run without calls.
function drawRemoved(run) {
  const kinds = [['metrics_removed_at', 'Metrics'], ['sip_removed_at', 'SIP messages'], ['artifacts_removed_at', 'Recordings and other files']];
  const gone = kinds.filter(([key]) => run[key]);
  const said = gone.map(([key, name]) => `${name} of this run were deleted on ${run[key]} UTC (retention).`);
  if (run.metrics_thinned_at && !run.metrics_removed_at) said.push(`Metrics of this run were merged to intervals of ${run.interval_s} s on ${run.metrics_thinned_at} UTC (retention).`);
  byId('removed').hidden = !said.length;
  byId('removed').textContent = said.join(' ');
}

function drawHead(model) {
  const { run } = model;
  const status = run.phase === 'done' ? run.status : run.phase === 'queued' ? 'queued' : 'running';
  document.title = `${capital(status)}: ${run.test_name} – Offhook`;
  if (!byId('status')) byId('title').replaceChildren(el('span', { id: 'name' }), el('span', { id: 'status', role: 'status' }));
  byId('name').textContent = run.test_name;
  if (byId('status').dataset.status !== status) byId('status').replaceChildren(badge(status)); // said once
  byId('status').dataset.status = status;
  const runsOf = (name, value) => `/runs?${new URLSearchParams({ [name]: value })}`;
  if (!model.isPublic) crumbs([[run.project_name, runsOf('project', run.project_name)], [run.test_name, run.test_id ? `/tests/${run.test_id}` : runsOf('test', run.test_name)], [`Run ${run.id}`]]);
  byId('sentence').hidden = false;
  byId('sentence').replaceChildren(...stressed(sentence(model)));
  const warnings = model.run.warnings || [];
  byId('warnings').hidden = !warnings.length;
  byId('warnings').replaceChildren(...warnings.map((w) => el('span', { class: 'warn' }, `Warning at the start: ${w}. `)));
  const words = since(run);
  const bars = strip(run);
  byId('since').replaceChildren(...[bars, words && el('span', null, ...stressed(words))].filter(Boolean));
  byId('facts').replaceChildren(...factNodes(model));
  byId('progress').hidden = run.phase === 'done';
  byId('progress').value = run.progress || 0;
  byId('progress').textContent = `${Math.round((run.progress || 0) * 100)} %`;
  drawAttempts(run);
  drawRemoved(run);
  drawTools(model);
}

function tool(name, text, picture, work, primary) {
  const button = el('button', { class: `btn${primary ? ' primary' : ''}`, type: 'button', id: name }, icon(picture), text);
  button.addEventListener('click', () => during(button, work));
  return button;
}

// The run to compare with: the last that passed, else the one before.
function comparison(run) {
  const history = run.history || [];
  const at = history.findIndex((r) => r.session_id === run.session_id);
  const other = lastPassed(run) || history[at - 1];
  return other ? `/runs/compare?a=${other.session_id}&b=${run.session_id}` : null;
}

function drawTools(model) {
  const { run } = model;
  const tools = [];
  if (!model.isPublic && run.phase !== 'done' && may('run')) {
    tools.push(tool('stop', 'Stop', 'stop', async () => {
      await api('POST', `/runs/${run.session_id}/stop`, {});
      toast('The run is being stopped.');
    }, true));
  }
  if (!model.isPublic && run.test_id && run.phase === 'done' && may('run')) {
    tools.push(tool('rerun', 'Rerun', 'rerun', async () => {
      const { data } = await api('POST', `/tests/${run.test_id}/run`, {});
      toast('The run was started. ', el('a', { href: `/run/details/${data.session_id}` }, 'Watch it'));
    }, true));
  }
  const compare = run.phase === 'done' && comparison(run);
  if (compare) tools.push(el('a', { class: 'btn', id: 'compare', href: compare, title: 'C' }, icon('compare'), 'Compare'));
  if (!model.isPublic && run.phase === 'done' && may('write')) {
    tools.push(tool(run.keep ? 'unkeep' : 'keep', run.keep ? 'Kept' : 'Keep', 'save', async () => {
      await api(run.keep ? 'DELETE' : 'PUT', `/runs/${run.session_id}/keep`);
      run.keep = !run.keep;
      toast(run.keep ? 'The run is kept for ever.' : 'The run is left to retention.');
      drawTools(model);
    }));
  }
  if (!model.isPublic && may('write')) tools.push(tool('share', 'Share', 'share', () => shareDialog(run)));
  tools.push(tool('print', 'Print', 'print', () => window.print()));
  const names = tools.map((t) => t.id).join();
  if (byId('tools').dataset.names === names) return; // nothing new: keep the focus
  byId('tools').dataset.names = names;
  byId('tools').replaceChildren(...tools);
}

// ---- conditions ----

function evidenceLinks(model, verdict) {
  const { message, interval, group } = evidenceOf(model, verdict);
  const links = [];
  const go = (text, picture, id, work) => links.push(el('a', { href: `#${id}`, on: { click: work } }, icon(picture), text));
  if (message) {
    go(`${message.code || message.method}, ${(message.t - (group ? group.start : model.start)).toFixed(2)} s`, 'ladder', 'sip', () => {
      if (group) choose(group);
      page.ladder.choose(message, false);
    });
  }
  if (interval) {
    const zero = group ? group.start : model.start;
    go(`${measureName(interval.measure)}, ${Math.max(0, interval.from - zero).toFixed(1)} to ${(interval.to - zero).toFixed(1)} s`, 'plot', 'timeline', () => {
      if (group) choose(group);
      page.clock.move(interval.from);
    });
  } else if (group && !message) go(`${group.name} on the timeline`, 'plot', 'timeline', () => choose(group));
  return links;
}

function condition(model, verdict) {
  const box = el('div', { class: 'cond', 'data-passed': String(verdict.passed) }, shape(verdict.undecided ? 'errored' : 'failed'),
    el('h3', null, roleTag(model, verdict.role), capital(withoutRole(verdict, verdict.text))),
    el('dl', { class: 'want' }, el('dt', null, 'Expected'), el('dd', null, figure(verdict.expected))),
    el('dl', { class: 'got' }, el('dt', null, 'Was'), el('dd', null, measured(verdict))));
  if (verdict.sentence) box.append(el('p', null, `${capital(withoutRole(verdict, verdict.sentence))}.`));
  const links = evidenceLinks(model, verdict);
  if (links.length) box.append(el('div', { class: 'see' }, ...links));
  return box;
}

// "1 of 5 failed, 1 left open by too few calls"
function countText(failed, all) {
  const open = failed.filter((v) => v.undecided).length;
  const parts = [];
  if (failed.length > open) parts.push(`${failed.length - open} of ${all} failed`);
  if (open) parts.push(`${open}${parts.length ? '' : ` of ${all}`} left open by too few calls`);
  return parts.join(', ') || `all ${all} passed`;
}

function drawConditions(model) {
  const { run, failed, passed } = model;
  const all = failed.length + passed.length;
  const note = byId('conditions-note');
  const nodes = failed.map((v) => condition(model, v));
  if (!all) {
    note.textContent = run.phase === 'done' ? '' : 'judged when the run is over';
    nodes.push(el('p', { class: 'empty' }, shape('queued'), ' ', run.phase === 'done' ? 'Nothing was judged.' : 'Not judged yet.'));
  } else note.textContent = countText(failed, all);
  if (passed.length) {
    const names = passed.slice(0, 4).map((v) => withoutRole(v, v.text)).join('; ');
    const more = passed.length > 4 ? `; and ${passed.length - 4} more` : '';
    nodes.push(fold(`${plural(passed.length, 'condition')} passed: ${names}${more}`, () => table('Conditions that passed', passed, [
      ['Role', (v) => roleTag(model, v.role)], ['Condition', (v) => el('span', null, shape('passed'), ' ', capital(withoutRole(v, v.text)))],
      ['Expected', (v) => figure(v.expected)], ['Was', measured]]), PRINT));
  }
  byId('verdicts').replaceChildren(...nodes);
}

// ---- the tester, and what changed ----

const INTERVAL = ['interval_s', 'packets_sent', 'packets_late', 'send_lateness_p99_ms', 'send_lateness_max_ms', 'loop_lateness_p99_ms',
  'loop_lateness_max_ms', 'receive_queue_drops', 'sip_queue_drops', 'ring_drops', 'starts_missed', 'processor_pct', 'processor_wait_pct', 'steal_pct',
  'throttled', 'throttled_ms', 'clock_step_ms'];

function drawTester(model) {
  const checks = testerChecks(model);
  const bad = checks.some((c) => !c.ok);
  const answer = byId('tester-answer');
  if (!checks.length) {
    answer.replaceChildren(badge('queued', 'Not known yet', true));
    byId('evidence').replaceChildren();
    return;
  }
  answer.replaceChildren(badge(bad ? 'errored' : 'passed', bad ? 'Yes' : 'No', true));
  const list = el('ul', { class: 'checks' }, ...checks.map((c) => el('li', null, shape(c.ok ? 'passed' : 'errored'),
    el('span', null, c.name), el('span', { class: 'soft' }, ...stressed(c.value)))));
  const columns = ['packets_sent', 'packets_received', 'send_errors', 'rtp_send_refused', 'rtcp_send_refused', 'receive_queue_drops',
    'ring_drops', 'packets_unsent', 'starts_missed', 'invalid_packets', 'rtcp_invalid', 'foreign_packets', 'unassigned_packets',
    'ssrc_collisions', 'srtp_refused', 'srtp_unkeyed', 'dtls_dropped', 'dtls_refused', 'stun_dropped', 'packets_late', 'loop_lateness_p99_ms',
    'loop_lateness_max_ms', 'processor_pct', 'processor_wait_pct', 'steal_pct', 'throttled', 'throttled_ms', 'clock_step_ms', 'sip_queue_drops'];
  // several agents, and engine processes of an agent, may have shared the calls of a role
  const part = (name, k, of) => (of ? ` ${name} ${k} of ${of}` : '');
  const whose = (e) => el('span', null, roleTag(model, e.role), part('shard', e.shard, e.shards), part('engine', e.engine, e.engines));
  const late = (key) => (e) => figure(e.send_lateness_ms ? e.send_lateness_ms[key] : undefined, 3);
  const all = fold('All figures of the agents', () => table('Figures of the agents', model.report.evidence, [
    ['Role', whose], ['Late ms, median', late('median'), 'num'], ['p95', late('p95'), 'num'],
    ['p99', late('p99'), 'num'], ['max', late('max'), 'num'], ['Thread', (e) => figure(e.send_scheduling)],
    ...columns.map((key) => [key, (e) => figure(e[key]), 'num'])]), PRINT, 'figures');
  const since = Math.min(...model.report.generator.map((e) => e.t));
  const parts = fold('Figures of the agents by interval', () => table('Figures of the agents by interval', model.report.generator, [
    ['Role', whose], ['Until, s', (e) => figure((e.t - since) / 1e6, 1), 'num'],
    ...INTERVAL.map((key) => [key, (e) => figure(e[key], 1), 'num'])]), PRINT, 'figures');
  // open by itself where the answer is yes: then the report is about the tester
  byId('evidence').replaceChildren(bad ? list : fold(`${plural(checks.length, 'check')} passed`, () => list, true), all,
    ...(model.report.generator.length ? [parts] : []));
}

function drawShards(model) {
  const shards = model.report.shards || [];
  byId('shards-card').hidden = !shards.length;
  if (!shards.length) return;
  const lost = reduced(model.run);
  byId('shards').replaceChildren(...(lost.length ? [el('p', { class: 's-errored' }, ...lost)] : []), table('Shards', shards, [
    ['Role', (s) => roleTag(model, s.role)], ['Shard', (s) => `${s.shard} of ${s.shards}`], ['Agent', (s) => figure(s.agent)], ['State', (s) => s.state],
    ['Calls', (s) => figure(s.calls), 'num'], ['Calls/s', (s) => figure(s.calls_per_second), 'num'],
    ['Began, ms after the first', (s) => figure(s.start_offset_ms ?? undefined, 1), 'num'],
    ['Error of the clock, ms', (s) => figure(s.clock_error_ms ?? undefined, 1), 'num']]));
}

async function drawChanges(model) {
  const before = model.run.status === 'failed' ? lastPassed(model.run) : null;
  byId('changes-card').hidden = true;
  if (!before) return;
  const asked = api('GET', `/runs/${model.run.session_id}/differences?with=${before.session_id}`);
  const answer = await fetch(`/run/details/${before.session_id}/data`, asPage());
  if (!answer.ok) return;
  const { changed, same } = differences(makeModel(await answer.json()), model);
  const row = (name, ...value) => el('dl', { class: 'dl' }, el('dt', null, name), el('dd', null, ...value));
  const rows = changed.map(([name, a, b]) => row(name, a ? el('del', null, a) : el('span', { class: 'soft' }, 'none'), ' ',
    el('span', { class: 'arrow' }, '→'), ' ', b ? el('ins', null, b) : el('span', { class: 'soft' }, 'none')));
  if (!rows.length) rows.push(row('Changed', el('span', { class: 'soft' }, 'nothing that the report shows')));
  if (same.length) rows.push(row('Unchanged', el('span', { class: 'soft' }, same.join(', ').toLowerCase())));
  rows.push(el('a', { class: 'more', href: comparison(model.run) }, icon('right'), `Compare run ${before.id} and run ${model.run.id}`));
  byId('changes').replaceChildren(changeList(await asked), ...rows);
  byId('changes-card').hidden = false;
}

// ---- conversations ----

// again: the same choice with newer data; the cursor and the message stay.
function select(group, again) {
  page.group = group;
  page.clock.show(group, again);
  page.ladder.show(group, again);
  page.player.show(group);
  drawPickers();
}

function choose(group) {
  page.chosen = true;
  select(group);
}

function drawPickers() {
  const { model, group } = page;
  const all = model.conversations;
  const worst = [...all].sort((a, b) => b.bad - a.bad || a.number - b.number);
  const box = byId('pick');
  const status = (c) => (c.bad > 1 ? 'failed' : c.legs.some((leg) => leg.live) ? 'running' : 'passed');
  if (all.length <= BUTTONS) {
    const buttons = all.map((c) => el('button', { class: 'btn small', type: 'button', 'aria-pressed': String(c === group), on: { click: () => choose(c) } }, shape(status(c)), c.name));
    box.replaceChildren(el('span', { class: 'group', role: 'group', 'aria-label': 'Call' }, ...buttons));
  } else {
    const list = el('select', { class: 'in', 'aria-label': 'Call', on: { change: () => choose(all[list.value - 1]) } },
      ...worst.map((c) => el('option', { value: c.number, selected: c === group }, `${c.name}${c.bad > 1 ? ' (failed)' : ''}`)));
    box.replaceChildren(list);
  }
  if (all.length) {
    box.append(el('button', { class: 'btn small', type: 'button', 'aria-pressed': String(!group), on: { click: () => choose(null) } }, 'All calls'));
  }
  drawFilters();
}

function drawFilters() {
  const { model, ladder } = page;
  const registrations = model.shown.filter((m) => m.method === 'REGISTER').length;
  const chip = (name, text) => el('button', { class: 'chip', type: 'button', 'aria-pressed': String(ladder.filter === name),
    on: { click: () => { ladder.setFilter(name); drawFilters(); } } }, text);
  const chips = model.isPublic ? [] : [chip('calls', page.group ? `${page.group.name}` : 'Calls'), chip('register', `REGISTER ${registrations}`), chip('all', 'All')];
  byId('sip-filters').replaceChildren(...chips);
  const omitted = model.report.messages_omitted;
  byId('sip-note').textContent = `${ladder.list ? ladder.list.length : 0} of ${plural(model.messages.length, 'message')}${omitted ? `; ${omitted} further ones are in the files` : ''}`;
}

function drawTimeline(model) {
  const omitted = model.report.points_omitted;
  byId('timeline-note').textContent = omitted ? `${plural(omitted, 'further point')} left out${model.isPublic ? '' : '; the CSV file has all'}` : '';
  page.clock.model = model;
  page.ladder.model = model;
  page.player.model = model;
  const same = page.group && model.conversations.find((c) => c.number === page.group.number);
  const worst = [...model.conversations].sort((a, b) => b.bad - a.bad || a.number - b.number)[0] || null;
  const first = model.run.phase === 'done' || model.conversations.length === 1 ? worst : null;
  const group = page.chosen ? same || null : first;
  select(group, page.drawn !== '' && (group ? group.number : 0) === (page.group ? page.group.number : 0));
}

// ---- files ----

function drawFiles(model) {
  const { artifacts, artifacts_omitted: omitted, artifacts_lost: lost, artifacts_cut: cut } = model.report;
  byId('files').hidden = !artifacts;
  if (!artifacts) return;
  const base = `/api/v2/runs/${model.run.session_id}/artifacts`;
  const address = (f) => `${base}/${encodeURIComponent(f.role)}/${encodeURIComponent(f.name)}`;
  const download = (text, href, size) => el('a', { class: 'btn', href }, icon('save'), text, size ? el('span', { class: 'soft' }, size) : '');
  byId('downloads').replaceChildren(download('SIP messages, text', `${PAGE}/sip.txt`), download('SIP messages, pcap', `${PAGE}/sip.pcap`),
    ...(artifacts.some((f) => f.name === 'rtp.pcap') ? [download('SIP, RTP and RTCP, pcapng', `${PAGE}/packets.pcapng`)] : []),
    download('Measures, CSV', `${PAGE}/stats.csv`), ...[['junit', 'JUnit XML'], ['markdown', 'Markdown'], ['html', 'HTML']].map(([kind, text]) =>
      download(`Report, ${text}`, `/api/v2/runs/${model.run.session_id}/report/${kind}`)));
  const nodes = [];
  if (artifacts.length) {
    const total = artifacts.reduce((sum, f) => sum + f.size, 0);
    nodes.push(fold(`${plural(artifacts.length, 'file')} of the agents, ${bytes(total)}`, () => table('Files', artifacts, [
      ['Role', (f) => roleTag(model, f.role)], ['File', (f) => el('a', { href: address(f) }, f.name)],
      ['Type', (f) => f.media_type, 'wide-only'], ['Size', (f) => bytes(f.size), 'num']]), artifacts.length <= 20, 'files'));
  }
  if (omitted) nodes.push(el('p', { class: 'note body' }, `${omitted} further files are not shown.`));
  byId('artifacts').replaceChildren(...nodes);
  byId('artifacts-lost').replaceChildren(...lost.map((e) => el('p', { class: 'body bad' }, `${e.role}: the file ${e.name} was not kept: ${e.text}`)),
    ...cut.map((e) => el('p', { class: 'body bad' }, `${e.role}: the file ${e.name} is not complete: ${e.text}`)));
}

// ---- the whole ----

function drawAnchors(model) {
  const counts = { verdict: '', timeline: '', sip: model.messages.length, calls: model.calls.length, files: model.report.artifacts ? model.report.artifacts.length + 3 : null };
  for (const link of document.querySelectorAll('.anchors a')) {
    const count = counts[link.hash.slice(1)];
    link.hidden = count === null;
    link.querySelector('.n').textContent = count;
  }
}

// A control has the focus of one that was drawn again: the same words in the same part.
function keepFocus(work) {
  const old = document.activeElement;
  const part = old && old.closest('section[id]');
  const name = (n) => n.tagName + (n.dataset.call || n.getAttribute('aria-label') || n.textContent);
  const was = part && name(old);
  work();
  if (!part || old.isConnected) return;
  const again = [...part.querySelectorAll('button, a, select, [tabindex]')].find((n) => name(n) === was);
  if (again) again.focus({ preventScroll: true });
}

function draw(report) {
  const model = makeModel(report);
  model.bands = [];
  for (const v of model.failed) {
    const { interval } = evidenceOf(model, v);
    if (interval) model.bands.push(interval);
  }
  page.model = model;
  drawHead(model);
  drawLive(model, byId('live-card'), byId('live'));
  drawConditions(model);
  drawTester(model);
  drawShards(model);
  drawTimeline(model);
  drawCalls(model, byId('calls-body'), { open: PRINT, pick: (call) => choose(model.conversationOf(call.call)) });
  const unread = model.report.calls_omitted;
  byId('calls-note').textContent = `${plural(model.calls.length, 'call')}${unread ? `, without ${unread.toLocaleString('en')} later ones` : ''}; what differs is shown first`;
  drawQuality(model, byId('quality'), byId('quality-body'));
  drawFiles(model);
  drawAnchors(model);
  if (model.run.phase === 'done') drawChanges(model).catch(complain);
}

async function refresh() {
  let again = true;
  const began = Date.now();
  await reading(async () => {
    const answer = await fetch(`${PAGE}/data`, { ...asPage(), cache: 'no-store' });
    if (!answer.ok) throw new Error(`the controller answered ${answer.status}`);
    const text = await answer.text();
    const report = JSON.parse(text);
    if (text !== page.drawn) keepFocus(() => draw(report));
    page.drawn = text;
    performance.mark('report-drawn');
    const last = report.run.last_attempt;
    again = report.run.phase !== 'done' || (last !== null && last.status === 'running');
  }, (error) => `The report could not be loaded: ${error.message}. Trying again.`);
  // a report that takes long to read and to draw is read less often
  if (again) setTimeout(refresh, Math.max(POLL_MS, 3 * (Date.now() - began)));
  document.body.dataset.drawn = again ? 'partly' : 'done';
  if (PRINT && !again) window.print();
}

let before = ''; // the key before: "g r" goes to the runs, it starts none

// Letters act unless a field has the focus.
function keys(event) {
  const second = before === 'g';
  before = event.key;
  if (event.ctrlKey || event.metaKey || event.altKey || /^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName) || !page.model) return;
  const press = (id) => byId(id) && byId(id).click();
  const history = page.model.run.history || [];
  const at = history.findIndex((r) => r.session_id === page.model.run.session_id);
  const open = (r) => r && location.assign(`/run/details/${r.session_id}`);
  const work = { j: () => page.ladder.step(1), k: () => page.ladder.step(-1), r: () => press('rerun'), c: () => press('compare'), s: () => press('share'),
    '[': () => open(history[at - 1]), ']': () => open(history[at + 1]),
    Escape: () => { byId('message').dataset.open = 'no'; } }[event.key.length === 1 ? event.key.toLowerCase() : event.key];
  if (second && /^[a-z]$/.test(event.key)) return;
  if (work && !document.querySelector('dialog[open]')) work();
  else if (event.key === ' ' && event.target.tagName !== 'BUTTON' && page.player.toggle()) event.preventDefault();
}

const OWN_KEYS = [['J K', 'Next and previous message'], ['[ ]', 'Previous and next run of the test'], ['← →', 'Move the cursor of the timeline'],
  ['R', 'Rerun'], ['C', 'Compare'], ['S', 'Share'], ['Space', 'Play or pause']];

async function start() {
  KEYS.push(...OWN_KEYS);
  page.clock = new Clock(byId('clock'), null);
  page.clock.listen();
  page.ladder = new Ladder(byId('ladder'), byId('message'), null);
  page.player = new Player(byId('player'), page.clock, null);
  document.addEventListener('keydown', keys);
  if (!PAGE.startsWith('/kiosk/')) await loadSession();
  await refresh();
}

start().catch(complain);
