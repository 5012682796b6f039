// What the captured packets give behind another de-jitter buffer and with another codec
// (GET /runs/ID/quality): asked for on demand, as the controller reads all of them.

import { api } from './api.js';
import { el, figure, plural, roleTag, table } from './report_ui.js';
import { sparkline } from './trend.js';

const CODECS = ['PCMU', 'G722', 'opus', 'G729', 'GSM'];
const BUFFERS = [['fixed:20', '20 ms'], ['fixed:40', '40 ms'], ['fixed:60', '60 ms'], ['fixed:80', '80 ms'], ['fixed:120', '120 ms'],
  ['fixed:160', '160 ms'], ['adaptive', 'Adaptive, 20 to 200 ms']];

const mos = (row) => (row && row.mos !== null ? `${figure(row.mos, 2)}${row.mos_scale === 'nb' ? '' : ` ${row.mos_scale}`}` : '–');

function curve(stream) {
  const values = stream.curve.map((point) => point.mos);
  const node = el('span', { class: 'curve' });
  if (values.some((v) => v !== null)) node.append(sparkline(values, `MOS behind fixed buffers of 1 to ${values.length} ms`));
  return node;
}

function results(model, { streams, least, packets_left_out: leftOut }) {
  if (!streams.length) return [el('p', { class: 'empty' }, 'The capture has no received stream.')];
  const said = least.ms === null ? `None of ${plural(least.streams, 'stream')} reaches MOS ${least.mos} behind a fixed buffer.`
    : `MOS ${least.mos} takes a fixed buffer of ${least.ms} ms: ${least.streams_reached} of ${plural(least.streams, 'stream')} then.`;
  const nodes = [el('p', { class: 'body', id: 'quality-said' }, said), table('Streams behind another buffer', streams, [
    ['Role', (s) => roleTag(model, s.interface)], ['SSRC', (s) => el('code', null, s.key.ssrc), 'wide-only'],
    ['MOS, 60 ms', (s) => mos(s.measured[0]), 'num'], ['Discarded', (s) => figure(s.rescored[0].discarded), 'num'],
    ['MOS then', (s) => mos(s.rescored[0]), 'num'], ['1 to 200 ms', curve, 'wide-only'], ['Least buffer', (s) => s.least.sentence]])];
  if (leftOut) nodes.push(el('p', { class: 'note body' }, `${leftOut} packets of further streams are left out: offhook rescore reads them, too.`));
  return nodes;
}

function choice(id, label, options) {
  const list = el('select', { class: 'in', id }, ...options.map(([value, text]) => el('option', { value }, text)));
  return [list, el('label', { for: id }, label), list];
}

// Draw it once: it stays while the page is drawn again.
export function drawQuality(model, card, box) {
  const { artifacts } = model.report;
  card.hidden = model.run.phase !== 'done' || !artifacts || !artifacts.some((f) => f.name === 'rtp.pcap');
  if (card.hidden || box.firstChild) return;
  const [buffer, ...bufferNodes] = choice('quality-buffer', 'De-jitter buffer', BUFFERS);
  const [codec, ...codecNodes] = choice('quality-codec', 'Codec', [['', 'As it was'], ...CODECS.map((name) => [name, name])]);
  const found = el('div', { id: 'quality-found', 'aria-live': 'polite' });
  const button = el('button', { class: 'btn', type: 'button', id: 'quality-ask' }, 'Rescore');
  button.addEventListener('click', async () => {
    const query = new URLSearchParams({ jitter_buffer: buffer.value });
    if (codec.value) query.set('codec', codec.value);
    button.disabled = true;
    try {
      found.replaceChildren(...results(model, await api('GET', `/runs/${model.run.session_id}/quality?${query}`)));
    } catch (error) {
      found.replaceChildren(el('p', { class: 'body bad' }, error.message));
    }
    button.disabled = false;
  });
  buffer.value = 'fixed:120';
  box.append(el('div', { class: 'body filters' }, ...bufferNodes, ...codecNodes, button), found);
}
