// States, actions, plots and sound of a conversation on one time axis, with one cursor.

import { measureName } from './report_model.js';
import { el, svg, icon, figure, plusMinus, short } from './report_ui.js';

const GROUPS = [
  ['Quality', ['rtp_mos', 'rtp_lost_pct', 'rtp_jitter'], true],
  ['Delay', ['rtp_rtt', 'audio_delay'], true],
  ['Sound', ['audio_level', 'audio_peak', 'audio_heard', 'audio_clipping'], false],
  ['Traffic', ['rtp_pkt_per_sec', 'rtp_byte_per_sec', 'calls_active', 'calls_per_sec'], false],
];
const BARS = new Set(['rtp_lost_pct', 'rtp_lost', 'rtp_lost_per_sec', 'rtp_discarded', 'rtp_burst_lost']);
const SCALES = { rtp_mos: [1, 4.5], rtp_mos_wb: [1, 4.5] };
const DASHES = { '': '', b: '5 3', c: '1.5 3' };
const HEIGHT = 86;
const LEGS = 6; // tracks of a conversation

const lineName = (s) => `${s.role} ${{ in: 'hears', out: 'says' }[s.dir] || s.dir || ''}`.trim();

function ticksOf(low, high) {
  const span = high - low || 1;
  const step = [1, 2, 2.5, 5, 10].map((f) => f * 10 ** Math.floor(Math.log10(span / 3))).find((s) => span / s <= 4) || span;
  const ticks = [];
  for (let v = Math.ceil(low / step) * step; v <= high + step / 1000; v += step) ticks.push(Number(v.toPrecision(10)));
  return ticks;
}

function scaleOf(plot) {
  const values = plot.lines.flatMap((s) => s.points.flatMap((p) => [p.min, Math.max(p.max, p.avg + (s.bound || 0))]));
  for (const limit of plot.limits) values.push(limit.value);
  let low = Math.min(...values, SCALES[plot.measure] ? Infinity : 0);
  let high = Math.max(...values);
  if (SCALES[plot.measure]) {
    high = Math.max(high, SCALES[plot.measure][1]);
    low = Math.max(1, Math.min(low, high - 1) - 0.2);
  }
  if (high <= low) high = low + 1;
  return { low, high: high + (high - low) * 0.06 };
}

const SPARSE_GAPS = 3; // RTCP leaves 2 to 6 s between its reports (RFC 3550 section 6.3.1)

// The longest time between two points that a line joins. A measure of each interval has a gap where there was nothing to measure;
// one of reports or events has points further apart, and how far, its own points say.
function reachOf(points, interval) {
  const gaps = points.slice(1).map((p, i) => p.t - points[i].t).sort((a, b) => a - b);
  const usual = gaps.length ? gaps[Math.floor((gaps.length - 1) / 2)] : interval;
  return usual <= interval * 1.5 ? interval * 1.5 : usual * SPARSE_GAPS;
}

// The parts of a line.
function partsOf(s) {
  const parts = [];
  s.points.forEach((p, i) => {
    if (!i || p.t - s.points[i - 1].t > s.reach) parts.push([]);
    parts[parts.length - 1].push(p);
  });
  return parts;
}

export class Clock {
  // onCursor(seconds since the start of the axis)
  constructor(host, model) {
    this.host = host;
    this.model = model;
    this.at = null;
    this.listeners = [];
    this.tracks = [];
    this.opened = new Map();
  }

  // The axis of a conversation, or of the whole run (null). keep: a cursor that was moved stays;
  // else it is at the begin of what broke, or at the newest figure of a run in progress.
  show(conversation, keep) {
    const { model } = this;
    this.conversation = conversation;
    const ends = model.report.series.map((s) => s.points[s.points.length - 1].t + model.report.interval_s);
    this.zero = conversation ? conversation.start : model.start;
    const end = conversation ? conversation.end : Math.max(this.zero + 1, ...ends, ...model.conversations.map((c) => c.end));
    const pad = Math.max(0.25, (end - this.zero) * 0.03);
    this.from = this.zero - pad;
    this.to = end + pad;
    if (!keep) this.moved = false;
    if (!this.moved) this.at = this.band() ? Math.max(this.zero, this.band().from) : model.run.phase === 'done' ? this.zero : end;
    this.draw();
  }

  band() {
    const found = this.model.bands.find((b) => b.to > this.from && b.from < this.to);
    return found || null;
  }

  x(t, width) {
    return ((t - this.from) / (this.to - this.from)) * width;
  }

  track(name, unit, draw, legend) {
    const plot = el('div', { class: 'plot' });
    const box = el('div');
    const title = el('h3', null, name);
    if (unit) title.append(el('span', null, unit));
    box.append(title);
    if (legend) box.append(legend);
    this.tracks.push({ plot, draw });
    return el('div', { class: 'track' }, box, plot);
  }

  draw() {
    this.tracks = [];
    this.legends = [];
    const axis = el('div', { class: 'plot' });
    this.axis = axis;
    this.tracks.push({ plot: axis, draw: (f) => this.drawAxis(f) });
    this.cursor = el('div', { class: 'cursor' }, el('b'));
    this.shade = el('div', { class: 'band', hidden: true });
    const head = el('div', { class: 'track head-row' },
      el('div', null, this.conversation ? 'Seconds since INVITE' : 'Seconds since the start'), axis);
    const rows = [this.shade, this.cursor, head];
    if (this.conversation) {
      const { legs } = this.conversation;
      for (const leg of legs.slice(0, LEGS)) {
        rows.push(this.track(leg.call, leg.direction === 'out' ? 'placed' : 'taken', (f) => this.drawPhases(f, leg)));
      }
      if (legs.length > LEGS) rows.push(el('p', { class: 'note body' }, `${legs.length - LEGS} further legs are in the table of calls.`));
      rows.push(this.track('Actions', '', (f) => this.drawActions(f)));
    }
    rows.push(...this.plotRows());
    this.host.replaceChildren(...rows);
    this.layout();
  }

  layout() {
    for (const { plot, draw } of this.tracks) {
      if (!plot.isConnected || !plot.clientWidth) continue;
      const style = getComputedStyle(plot);
      const width = Math.max(40, plot.clientWidth - parseFloat(style.paddingLeft) - parseFloat(style.paddingRight));
      const picture = svg('svg', { width });
      const add = (tag, attributes, text) => {
        const node = svg(tag, attributes, text);
        picture.append(node);
        return node;
      };
      draw({ picture, width, add, x: (t) => this.x(t, width) });
      const height = picture.getAttribute('height');
      picture.setAttribute('viewBox', `0 0 ${width} ${height}`);
      plot.replaceChildren(picture);
    }
    this.move(this.at, true);
  }

  drawAxis(f) {
    f.picture.setAttribute('height', 28);
    f.picture.setAttribute('aria-hidden', 'true');
    const span = this.to - this.from;
    const step = [0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60, 300, 600, 1800, 3600].find((s) => span / s <= f.width / 60) || 7200;
    for (let t = 0; this.zero + t < this.to; t += step) {
      f.add('text', { class: 'axis', x: f.x(this.zero + t), y: 18, 'text-anchor': 'middle' }, Number(t.toFixed(2)));
    }
  }

  drawPhases(f, leg) {
    f.picture.setAttribute('height', 36);
    const parts = [];
    if (leg.answered === undefined) {
      parts.push([leg.start, leg.closed, leg.live ? 'calling' : `${leg.end} ${leg.code || ''} ${leg.reason || ''}`.trim(), !leg.live && leg.expected_end === false]);
    } else {
      parts.push([leg.start, leg.answered, 'ringing', false]);
      parts.push([leg.answered, leg.closed, `talking, ${short(leg.closed - leg.answered)} s`, false, true]);
    }
    f.picture.setAttribute('role', 'img');
    f.picture.setAttribute('aria-label', `${leg.call}: ${parts.map(([a, b, text]) => `${text} from ${short(a - this.zero)} to ${short(b - this.zero)} s`).join(', ')}`);
    for (const [a, b, text, bad, talking] of parts) {
      const left = f.x(a);
      const width = Math.max(2, f.x(b) - left - 1);
      f.add('rect', { x: left, width, y: 7, height: 22, rx: 4, stroke: bad ? 'var(--fail)' : 'var(--line)',
        fill: bad ? 'var(--fail-soft)' : talking ? 'var(--accent-soft)' : 'var(--sunken)' });
      const fits = width > text.length * 6.5 + 12;
      if (!fits && !bad) continue;
      const flip = !fits && left > f.width * 0.6;
      f.add('text', { x: fits ? left + 8 : flip ? left - 6 : left + width + 6, y: 22, 'text-anchor': flip ? 'end' : 'start',
        class: `axis${bad ? ' bad' : ' phase'}${talking ? ' talking' : ''}` }, text);
    }
  }

  actions() {
    const { legs } = this.conversation;
    const names = new Set(legs.map((c) => c.call));
    const found = [];
    for (const d of this.model.report.digits) {
      if (names.has(d.call) && d.direction === 'out') found.push({ t: d.t / 1e6, text: d.digit });
    }
    for (const leg of legs) {
      for (const s of leg.states) {
        const word = { CALL_HOLD: 'hold', CALL_RESUME: 'resume', CALL_TRANSFER: 'transfer' }[s.state];
        if (word) found.push({ t: s.t / 1e6, text: word });
      }
      if (leg.end === 'local') found.push({ t: leg.closed, text: 'hang up', plain: true });
    }
    for (const a of this.model.report.assertions) {
      if (names.has(a.call)) found.push({ t: a.t / 1e6, text: `✕ ${a.action} ${a.argument || ''}: ${a.text}`, bad: true });
    }
    return found.sort((a, b) => a.t - b.t);
  }

  drawActions(f) {
    const all = this.actions();
    f.picture.setAttribute('role', 'img');
    f.picture.setAttribute('aria-label', all.length
      ? `Actions: ${all.map((a) => `${a.text} at ${short(a.t - this.zero)} s`).join(', ')}` : 'No action was recorded');
    f.add('line', { x1: f.x(this.zero), x2: f.x(this.conversation.end), y1: 20, y2: 20, stroke: 'var(--line)', 'stroke-width': 2 });
    const ends = [-Infinity]; // of the texts in each row
    const merged = [];
    for (const a of all) { // digits that would overlap stand in one box
      const last = merged[merged.length - 1];
      if (last && a.text.length === 1 && /^[\d*#A-D•]( [\d*#A-D•])*$/.test(last.text) && f.x(a.t) - f.x(last.t) < last.text.length * 7 + 14) last.text += ` ${a.text}`;
      else merged.push({ ...a });
    }
    for (const a of merged) {
      const most = Math.max(8, Math.floor((f.width - 24) / 6.9));
      const text = a.text.length > most ? `${a.text.slice(0, most - 1)}…` : a.text;
      const width = text.length * (a.bad ? 6.9 : 6.4) + 14;
      const left = Math.max(0, Math.min(f.x(a.t) - (a.bad ? 1 : width / 2), f.width - width));
      let row = ends.findIndex((end) => left > end + 4);
      if (row < 0) row = ends.push(-Infinity) - 1;
      ends[row] = left + width;
      const top = 9 + row * 26;
      if (!a.plain) {
        f.add('rect', { x: left, y: top, width, height: 22, rx: 4, fill: a.bad ? 'var(--fail-soft)' : 'var(--surface)',
          stroke: a.bad ? 'var(--fail)' : 'var(--edge)' });
      }
      f.add('text', { x: left + width / 2, y: top + 15, 'text-anchor': 'middle',
        class: `axis bare${a.bad ? ' bad' : a.plain ? '' : ' strong'}` }, text);
    }
    f.picture.setAttribute('height', 40 + (ends.length - 1) * 26);
  }

  // ---- plots ----

  plots() {
    const { report, limits } = this.model;
    const byMeasure = new Map();
    for (const s of report.series) {
      const points = s.points.filter((p) => p.t + report.interval_s > this.from && p.t < this.to);
      if (!points.length) continue;
      if (!byMeasure.has(s.measure)) byMeasure.set(s.measure, []);
      byMeasure.get(s.measure).push({ ...s, points, reach: reachOf(s.points, report.interval_s) });
    }
    return [...byMeasure].map(([measure, lines]) => ({
      measure, unit: lines[0].unit, limits: limits.filter((l) => l.measure === measure),
      lines: lines.sort((a, b) => this.model.roles.indexOf(a.role) - this.model.roles.indexOf(b.role) || a.dir.localeCompare(b.dir)),
      zero: lines.every((s) => s.points.every((p) => p.min === 0 && p.max === 0)),
    }));
  }

  plotRows() {
    const plots = this.plots();
    const rest = new Map(plots.map((p) => [p.measure, p]));
    const rows = [];
    const pick = (names) => names.map((n) => rest.get(n)).filter((p) => p && !(p.zero && !p.limits.length))
      .map((p) => { rest.delete(p.measure); return p; });
    for (const [name, measures, open] of GROUPS) rows.push(...this.group(name, pick(measures), open));
    rows.push(...this.group('Reports of the peers (RTCP XR)', pick([...rest.keys()].filter((m) => m.startsWith('rtp_xr_'))), false));
    rows.push(...this.group('Signalling times', pick([...rest.keys()].filter((m) => m.startsWith('sip_'))), false));
    rows.push(...this.group('Other measures', pick([...rest.keys()]), false));
    const zero = [...rest.values()];
    if (zero.length) {
      const names = zero.map((p) => measureName(p.measure)).join(', ');
      rows.push(el('div', { class: 'track group-row zero', title: zero.map((p) => p.measure).join(', ') },
        el('div', null, 'Zero throughout', el('span', { class: 'soft' }, names))));
    }
    if (!plots.length) rows.push(el('p', { class: 'empty' }, 'No figure has been measured in this time.'));
    return rows;
  }

  group(name, plots, open) {
    if (!plots.length) return [];
    const shown = this.opened.has(name) ? this.opened.get(name) : open;
    const tracks = plots.map((p) => this.plotTrack(p));
    const mark = el('span', null, icon(shown ? 'down' : 'right'));
    const button = el('button', { type: 'button', class: 'group-hit', 'aria-expanded': String(shown) }, mark, name,
      el('span', { class: 'soft' }, plots.map((p) => measureName(p.measure)).join(', ')));
    const body = el('div', { hidden: !shown }, ...tracks);
    button.addEventListener('click', () => {
      body.hidden = !body.hidden;
      this.opened.set(name, !body.hidden);
      button.setAttribute('aria-expanded', String(!body.hidden));
      mark.replaceChildren(icon(body.hidden ? 'right' : 'down'));
      this.layout();
    });
    return [el('div', { class: 'track group-row' }, el('div', null, button)), body];
  }

  style(s) {
    const role = this.model.roleClass(s.role);
    return { stroke: this.model.roleColour(s.role), 'stroke-dasharray': DASHES[role],
      'stroke-width': s.dir === 'out' ? 1 : 1.8, 'stroke-opacity': s.dir === 'out' ? 0.65 : 1 };
  }

  plotTrack(plot) {
    const legend = el('div', { class: 'legend' });
    this.legends.push({ plot, legend });
    const node = this.track(measureName(plot.measure), plot.unit, (f) => this.drawPlot(f, plot), legend);
    node.dataset.measure = plot.measure;
    node.title = plot.lines.some((s) => s.bound) ? `${plot.measure}; the narrow band about a line is the error bound of the tester` : plot.measure;
    return node;
  }

  // The error bound: a band about a line, a whisker at a single point or a bar.
  boundBand(f, s, points, at, y) {
    if (!s.bound) return;
    if (at.length === 1) {
      this.whisker(f, at[0][0], y(points[0].avg + s.bound), y(points[0].avg - s.bound), s);
      return;
    }
    const edge = (sign) => points.map((p, i) => `${at[i][0].toFixed(1)} ${y(p.avg + sign * s.bound).toFixed(2)}`);
    f.add('path', { class: 'bound', d: `M${[...edge(1), ...edge(-1).reverse()].join('L')}Z`, fill: this.model.roleColour(s.role), 'fill-opacity': 0.3 });
  }

  whisker(f, x, top, bottom, s) {
    f.add('path', { class: 'bound', d: `M${x - 3} ${top}h6M${x} ${top}V${bottom}M${x - 3} ${bottom}h6`, stroke: this.model.roleColour(s.role), fill: 'none' });
  }

  drawPlot(f, plot) {
    const { low, high } = scaleOf(plot);
    const y = (v) => HEIGHT - 8 - ((v - low) / (high - low)) * (HEIGHT - 26);
    f.picture.setAttribute('height', HEIGHT);
    f.picture.setAttribute('role', 'img');
    f.picture.setAttribute('aria-label', `${measureName(plot.measure)}, ${plot.unit}: ${plot.lines.map((s) => {
      const values = s.points.map((p) => p.avg);
      return `${lineName(s)} ${short(Math.min(...values))} to ${short(Math.max(...values))}${plusMinus(s.bound)}`;
    }).join('; ')}`);
    for (const v of ticksOf(low, high)) {
      f.add('line', { x1: 0, x2: f.width, y1: y(v), y2: y(v), stroke: 'var(--grid)' });
      f.add('text', { class: 'axis', x: 2, y: y(v) - 3 }, v);
    }
    const half = this.model.report.interval_s / 2;
    const one = f.x(this.from + half) - f.x(this.from);
    plot.lines.slice().reverse().forEach((s, k) => {
      if (BARS.has(plot.measure)) {
        const width = Math.max(2, (2 * one) / plot.lines.length - 1);
        for (const p of s.points) {
          const left = f.x(p.t) + (plot.lines.length - 1 - k) * width;
          if (p.avg) f.add('rect', { x: left, width, y: y(p.avg), height: y(low) - y(p.avg), fill: this.model.roleColour(s.role) });
          if (p.avg && s.bound) this.whisker(f, left + width / 2, y(p.avg + s.bound), y(Math.max(low, p.avg - s.bound)), s);
        }
        return;
      }
      const wide = s.points.some((p) => p.max - p.min > (high - low) / 50);
      for (const points of partsOf(s)) {
        const at = points.map((p) => [f.x(Math.min(p.t + half, this.to)), y(p.avg)]);
        if (wide && points.length > 1) {
          const edge = (key) => points.map((p, i) => `${at[i][0].toFixed(1)} ${y(p[key]).toFixed(1)}`);
          f.add('path', { d: `M${[...edge('max'), ...edge('min').reverse()].join('L')}Z`, fill: this.model.roleColour(s.role), 'fill-opacity': 0.1 });
        }
        this.boundBand(f, s, points, at, (v) => y(Math.max(low, v)));
        f.add('path', { class: 'line', d: at.map(([px, py], i) => `${i ? 'L' : 'M'}${px.toFixed(1)} ${py.toFixed(1)}`).join(''), fill: 'none', 'stroke-linejoin': 'round', ...this.style(s) });
        if (at.length === 1) f.add('circle', { cx: at[0][0], cy: at[0][1], r: 2.5, fill: this.model.roleColour(s.role) });
      }
    });
    for (const limit of plot.limits) {
      f.add('line', { x1: 0, x2: f.width, y1: y(limit.value), y2: y(limit.value), stroke: 'var(--fail)', 'stroke-dasharray': '2 3' });
      f.add('text', { class: 'axis limit', x: f.width, y: y(limit.value) > 24 ? y(limit.value) - 4 : y(limit.value) + 13, 'text-anchor': 'end' }, limit.text);
    }
  }

  // ---- the cursor ----

  onMove(work) {
    this.listeners.push(work);
  }

  // Move the cursor to a time in seconds since 1970.
  move(t, quiet) {
    this.at = Math.max(this.from, Math.min(this.to, t));
    const picture = this.axis && this.axis.firstChild;
    if (!picture) return;
    const a = picture.getBoundingClientRect();
    const b = this.host.getBoundingClientRect();
    const left = (time) => a.left - b.left + this.x(time, a.width);
    this.cursor.style.left = `${left(this.at)}px`;
    this.cursor.firstChild.textContent = `${(this.at - this.zero).toFixed(1)} s`;
    const band = this.band();
    this.shade.hidden = !band;
    if (band) {
      const begin = left(Math.max(this.from, band.from));
      this.shade.style.left = `${begin}px`;
      this.shade.style.width = `${left(Math.min(this.to, band.to)) - begin}px`;
    }
    this.values();
    if (!quiet) for (const work of this.listeners) work(this.at);
  }

  values() {
    const { interval_s: interval } = this.model.report;
    const half = interval / 2;
    for (const { plot, legend } of this.legends) {
      if (!legend.isConnected || !legend.offsetParent) continue;
      legend.replaceChildren(...plot.lines.map((s) => {
        const off = (p) => Math.abs(p.t + half - this.at);
        const near = s.points.reduce((m, p) => (off(p) < off(m) ? p : m));
        const known = off(near) <= Math.max(interval, s.reach / 2);
        const key = svg('svg', { viewBox: '0 0 18 8', 'aria-hidden': 'true' });
        key.append(svg('line', { x1: 0, x2: 18, y1: 4, y2: 4, ...this.style(s) }));
        const digits = /mos/.test(plot.measure) ? 2 : undefined;
        return el('div', null, key, lineName(s), el('b', null, ...(known ? [digits ? figure(near.avg, digits) : short(near.avg), plusMinus(s.bound)] : ['–'])));
      }));
    }
  }

  // Pointer and arrow keys. The host needs tabindex.
  listen() {
    this.host.addEventListener('pointermove', (event) => {
      const t = this.timeAt(event.clientX);
      if (t === null) return;
      this.moved = true;
      this.move(t);
    });
    this.host.addEventListener('keydown', (event) => {
      if (!['ArrowLeft', 'ArrowRight'].includes(event.key)) return;
      event.preventDefault();
      this.moved = true;
      this.move(this.at + (event.key === 'ArrowLeft' ? -1 : 1) * this.model.report.interval_s);
    });
    new ResizeObserver(() => requestAnimationFrame(() => this.layout())).observe(this.host);
  }

  timeAt(x) {
    const picture = this.axis && this.axis.firstChild;
    if (!picture) return null;
    const a = picture.getBoundingClientRect();
    const t = this.from + ((x - a.left) / a.width) * (this.to - this.from);
    return t < this.from || t > this.to ? null : t;
  }
}
