// The SIP messages as a ladder: one column an address, the role above it, and the message that is
// chosen at the right.

import { el, svg, icon, scrolling, shape, plural, bytes } from './report_ui.js';

const ROW = 30;
const GAP = 20;
const GAP_S = 0.15;
const MOST = 60; // rows that are drawn at once

// Columns in the order of their first message; roles first, in the order of the model.
function columnsOf(model, messages) {
  const roleOf = new Map();
  for (const m of model.messages) if (m.local) roleOf.set(m.local, m.role);
  const seen = [...new Set(messages.flatMap((m) => [m.from, m.to]))];
  const named = seen.map((address) => {
    const role = roleOf.get(address) || (model.roles.includes(address) ? address : '');
    const software = role ? '' : softwareOf(model, address);
    return { address: model.roles.includes(address) ? '' : address, key: address, role, name: role || software || 'peer' };
  });
  const [first, ...others] = model.roles;
  const place = (c) => (c.role === first ? 0 : c.role ? 2 + others.indexOf(c.role) : 1);
  return named.sort((a, b) => place(a) - place(b));
}

function softwareOf(model, address) {
  const own = model.messages.find((m) => m.peer === address && m.dir === 'received' && /^server:/im.test(m.text || ''));
  const found = own && /^server:\s*([^\s/(]+)/im.exec(own.text);
  return found ? found[1] : '';
}

export const shortLine = (m) => {
  if (m.code) return m.line.replace(/^SIP\/2\.0 /, '');
  const [method, uri] = m.line.split(' ');
  const user = /^sips?:([^@;>]+)@/.exec(uri || '');
  return ['INVITE', 'REFER', 'MESSAGE', 'SUBSCRIBE'].includes(method) && user ? `${method} ${user[1].split('-')[0]}` : method;
};

// A message between two columns, with its words above; the note stands beside them where there is room.
export function drawArrow(add, { from, to, y, ink, width, dash, text, note, kind }) {
  const way = to > from ? 1 : -1;
  add('line', { x1: from, x2: to - way * 5, y1: y, y2: y, stroke: ink, 'stroke-width': width, 'stroke-dasharray': dash });
  add('path', { d: `M${to - way} ${y}l${-way * 7} -4v8z`, fill: ink });
  add('circle', { cx: from, cy: y, r: 2.4, fill: ink });
  const most = Math.max(6, Math.floor((Math.abs(to - from) - 12) / 6.4));
  const label = add('text', { x: (from + to) / 2, y: y - 6, 'text-anchor': 'middle', class: `axis label${kind}` },
    text.length > most ? `${text.slice(0, most - 1)}…` : text);
  if (note && text.length + note.length + 1 < most) label.append(svg('tspan', { dx: 5, class: 'axis' }, note));
}

export class Ladder {
  constructor(host, side, model) {
    Object.assign(this, { host, side, model, filter: 'calls', limit: MOST, chosen: null, width: 0 });
    new ResizeObserver(() => requestAnimationFrame(() => {
      if (this.list && host.clientWidth !== this.width) this.draw();
    })).observe(host);
  }

  // Messages of a conversation; of all calls or of registrations.
  messages() {
    const { model, conversation } = this;
    const registration = (m) => m.method === 'REGISTER';
    if (this.filter === 'register') return model.shown.filter(registration);
    if (this.filter === 'all' || model.isPublic) return model.shown;
    const calls = model.shown.filter((m) => !registration(m));
    const own = conversation ? calls.filter((m) => conversation.callIds.has(m.callId)) : calls;
    return own.length ? own : calls;
  }

  // keep: newer data of what is shown; the chosen message stays.
  show(conversation, keep) {
    const was = keep && this.chosen;
    this.conversation = conversation;
    if (!keep) this.limit = MOST;
    this.draw();
    const list = this.messages();
    const same = was && list.find((m) => m.t === was.t && m.line === was.line && m.from === was.from);
    if (same) {
      this.chosen = same;
      this.mark();
      return;
    }
    const bad = list.find((m) => m.code >= 400 && ![401, 407].includes(m.code));
    if (list.length) this.choose(bad || list[0], true);
    else this.side.replaceChildren();
  }

  setFilter(filter) {
    this.filter = filter;
    this.show(this.conversation);
  }

  // Seconds since the INVITE of the conversation, or since the first message.
  clock(m) {
    const zero = this.filter === 'calls' && this.conversation ? this.conversation.start : this.model.messages[0].t;
    return Math.round((m.t - zero) * 1000) / 1000 + 0; // no -0.000
  }

  draw() {
    const all = this.messages();
    const list = all.slice(0, this.limit);
    this.list = all;
    this.host.replaceChildren();
    if (!all.length) {
      this.host.append(el('p', { class: 'empty' }, el('b', null, 'No SIP message'),
        this.model.run.phase === 'done' ? 'None was recorded.' : 'None has arrived yet.'));
      return;
    }
    const columns = columnsOf(this.model, list);
    this.host.append(this.picture(list, columns));
    if (all.length > list.length) {
      this.host.append(el('p', { class: 'body' }, el('button', { class: 'btn small', type: 'button',
        on: { click: () => { this.limit += MOST; this.draw(); } } }, `Show ${Math.min(MOST, all.length - list.length)} of ${all.length - list.length} more`)));
    }
    this.mark();
  }

  plan(list) {
    const rows = [];
    let y = 52;
    list.forEach((m, i) => {
      const before = list[i - 1];
      if (before && m.t - before.t > GAP_S) {
        rows.push({ y, gap: m.t - before.t });
        y += GAP;
      }
      rows.push({ y, m });
      y += ROW;
      const media = this.mediaAfter(m);
      if (media) {
        rows.push({ y, media });
        y += 44;
      }
    });
    return { rows, height: y + 8 };
  }

  // The sound of a call stands behind the ACK that establishes it.
  mediaAfter(m) {
    if (m.method !== 'ACK' || !this.conversation || this.filter !== 'calls') return null;
    const leg = this.conversation.legs.find((c) => c.established && c.call_id === m.callId && c.role === m.role && m.dir === 'sent'
      && m.t >= c.answered - 0.0005 && m.t - c.answered < 1);
    if (!leg || !(leg.streams || []).length) return null;
    const inward = leg.streams.find((s) => s.dir === 'in');
    const s = inward || leg.streams[0];
    const loss = inward && inward.loss_pct ? `, ${inward.loss_pct.toFixed(1)} % lost towards ${leg.role}` : '';
    const talked = leg.duration_ms === undefined ? '' : `, ${(leg.duration_ms / 1000).toFixed(1)} s`;
    return { leg, text: `${s.srtp_suite ? 'SRTP' : 'RTP'}, ${s.codec || 'unknown codec'}${talked}${loss}`, bad: Boolean(loss),
      one: `${s.srtp_suite ? 'SRTP' : 'RTP'}${talked}` };
  }

  picture(list, columns) {
    this.width = this.host.clientWidth;
    const width = Math.max(280, this.width);
    const small = width < 500;
    const gutter = small ? 52 : 76;
    const pad = small ? 40 : 62;
    const room = width - gutter - 2 * pad - (small ? 0 : 8);
    const least = small ? 92 : 120; // between columns: wider than the page scrolls inside
    const between = columns.length > 1 ? Math.max(least, room / (columns.length - 1)) : 0;
    const x = (i) => gutter + pad + between * i;
    const place = new Map(columns.map((c, i) => [c.key, i]));
    const { rows, height } = this.plan(list);
    const full = Math.max(width, x(columns.length - 1) + pad);
    const node = svg('svg', { width: full, height, role: 'group', 'aria-label': `SIP messages between ${plural(columns.length, 'address')}`.replace('addresss', 'addresses') });
    const add = (tag, attributes, text) => node.appendChild(svg(tag, attributes, text));
    this.hits = new Map();
    columns.forEach((c, i) => {
      add('text', { x: x(i), y: 16, 'text-anchor': 'middle', class: 'axis strong' }, c.name);
      const cut = c.address.lastIndexOf(':');
      if (small && cut > 0) {
        add('text', { x: x(i), y: 29, 'text-anchor': 'middle', class: 'axis' }, c.address.slice(0, cut));
        add('text', { x: x(i), y: 41, 'text-anchor': 'middle', class: 'axis' }, c.address.slice(cut));
      } else add('text', { x: x(i), y: 31, 'text-anchor': 'middle', class: 'axis' }, c.address);
      add('line', { x1: x(i), x2: x(i), y1: small ? 47 : 40, y2: height - 4, stroke: 'var(--edge)', 'stroke-opacity': 0.55 });
    });
    for (const row of rows) {
      if (row.gap) {
        add('text', { x: gutter - 12, y: row.y + 14, 'text-anchor': 'end', class: 'axis gap' }, `+${row.gap.toFixed(row.gap < 1 ? 2 : 1)} s`);
        add('line', { x1: gutter - 4, x2: full - 8, y1: row.y + 10, y2: row.y + 10, stroke: 'var(--line)', 'stroke-dasharray': '2 4' });
      } else if (row.media) {
        const last = x(columns.length - 1);
        const room2 = last - x(0);
        add('rect', { x: x(0), width: room2, y: row.y + 7, height: 30, rx: 4, fill: row.media.bad ? 'var(--fail-soft)' : 'var(--accent-soft)',
          stroke: row.media.bad ? 'var(--fail)' : 'var(--accent)', 'stroke-opacity': 0.4 });
        add('text', { x: (x(0) + last) / 2, y: row.y + 26, 'text-anchor': 'middle', class: `axis media${row.media.bad ? ' bad' : ''}` },
          row.media.text.length * 6.3 < room2 ? row.media.text : row.media.one);
      } else this.arrow(node, row, { x, place, full, gutter });
    }
    return scrolling(node, 'SIP messages');
  }

  arrow(node, { m, y }, { x, place, full, gutter }) {
    const refused = m.code >= 400 && ![401, 407].includes(m.code);
    const group = svg('g', { class: 'ladder-row', tabindex: -1, role: 'button', 'data-index': m.index });
    // the title is the name of the row and says what its texts say, and more
    group.append(svg('title', {}, `${this.clock(m).toFixed(3)} s, ${m.dir} by ${m.role}: ${m.line}`));
    const add = (tag, attributes, text) => group.appendChild(svg(tag, { 'aria-hidden': 'true', ...attributes }, text));
    add('rect', { x: 0, y, width: full, height: ROW, class: `row-hit${refused ? ' refused' : ''}` });
    add('text', { x: gutter - 12, y: y + 20, 'text-anchor': 'end', class: refused ? 'axis bad' : 'axis' }, this.clock(m).toFixed(3));
    drawArrow(add, { from: x(place.get(m.from)), to: x(place.get(m.to)), y: y + 21, ink: refused ? 'var(--fail)' : 'var(--ink-2)', width: refused ? 2 : 1.4,
      dash: m.code && !refused ? '5 3' : null, text: shortLine(m), kind: refused ? ' bad' : '',
      note: [m.sdp ? 'SDP' : '', m.repeats ? `×${m.repeats + 1}` : ''].filter(Boolean).join(' ') });
    group.addEventListener('click', () => this.choose(m, false));
    node.append(group);
    this.hits.set(m.index, group);
  }

  mark() {
    for (const [index, group] of this.hits || []) {
      group.classList.toggle('chosen', Boolean(this.chosen) && index === this.chosen.index);
    }
  }

  // quiet: on a narrow page the sheet stays shut
  choose(m, quiet) {
    this.chosen = m;
    this.mark();
    this.side.replaceChildren(...this.message(m));
    this.side.dataset.open = quiet ? 'no' : 'yes';
  }

  step(by) {
    const list = this.list || [];
    const at = list.indexOf(this.chosen);
    const next = list[Math.max(0, Math.min(list.length - 1, at + by))];
    if (!next) return;
    if (list.indexOf(next) >= this.limit) {
      this.limit += MOST;
      this.draw();
    }
    this.choose(next, false);
    this.hits.get(next.index).scrollIntoView({ block: 'nearest' });
  }

  message(m) {
    const refused = m.code >= 400 && ![401, 407].includes(m.code);
    const request = m.code && this.model.shown.find((r) => !r.code && r.callId === m.callId && r.cseq === m.cseq && r.t <= m.t);
    const note = [`${this.clock(m).toFixed(3)} s`, `${m.dir} by ${m.role}`, (m.transport || '').toUpperCase(), m.peer || '']
      .filter(Boolean).join(' · ') + (request ? ` · answer to ${m.method} after ${((m.t - request.t) * 1000).toFixed(1)} ms` : '');
    const title = el('h3');
    if (refused) title.append(shape('failed'), ' ');
    title.append(shortLine(m));
    const close = el('button', { class: 'btn small quiet square sheet-close', type: 'button', 'aria-label': 'Close',
      on: { click: () => { this.side.dataset.open = 'no'; } } }, icon('close'));
    const nodes = [close, title, el('p', { class: 'note' }, note)];
    if (m.text === undefined) nodes.push(el('pre', { class: 'raw' }, m.line), el('p', { class: 'note' }, 'The public report shows first lines only.'));
    else nodes.push(raw(m, refused), el('p', { class: 'note' }, bytes(m.text.length), m.repeats ? `, sent ${m.repeats + 1} times` : ''));
    const buttons = el('div', { class: 'filters' });
    if (m.text !== undefined && navigator.clipboard) {
      buttons.append(el('button', { class: 'btn small', type: 'button', on: { click: () => navigator.clipboard.writeText(m.text) } }, 'Copy'));
    }
    if (request && m.text !== undefined) {
      buttons.append(el('button', { class: 'btn small', type: 'button', on: { click: () => this.choose(request, false) } }, 'Request'));
    }
    buttons.append(el('button', { class: 'btn small quiet', type: 'button', on: { click: () => this.step(-1) } }, el('kbd', null, 'K'), 'before'),
      el('button', { class: 'btn small quiet', type: 'button', on: { click: () => this.step(1) } }, el('kbd', null, 'J'), 'next'));
    nodes.push(buttons);
    return nodes;
  }
}

// A message with the names of its header fields in bold.
export function raw(m, refused) {
  const box = el('pre', { class: 'raw', tabindex: 0 });
  const end = m.text.search(/\r?\n\r?\n/);
  m.text.slice(0, end < 0 ? undefined : end).split(/\r?\n/).forEach((line, i) => {
    const name = i ? /^[A-Za-z][\w-]*\s*:/.exec(line) : null;
    if (!i) box.append(el(refused ? 'mark' : 'b', null, line), '\n');
    else if (name) box.append(el('b', null, name[0]), line.slice(name[0].length), '\n');
    else box.append(line, '\n');
  });
  if (end >= 0) box.append('\n', m.text.slice(end).trim());
  return box;
}
