// The recordings of a conversation as waveforms on the clock. They are decoded by the browser;
// what is heard plays at the left, what is said at the right.

import { asPage } from './api.js';
import { bytes, el, icon } from './report_ui.js';

const AUTO_BYTES = 8e6; // larger recordings are loaded on demand
const HEIGHT = 56;
const clockText = (s) => `${Math.floor(s / 60)}:${(s % 60).toFixed(1).padStart(4, '0')}`;

// A WAV file of 16 bit, two channels: what is heard at the left, what is said at the right.
function stereoWav(sounds) {
  const of = (dir) => sounds.find((s) => s.dir === dir);
  const sides = ['in', 'out'].map((dir) => (of(dir) ? of(dir).buffer.getChannelData(0) : new Float32Array(0)));
  const rate = sounds[0].buffer.sampleRate;
  const frames = Math.max(...sides.map((s) => s.length));
  const file = new DataView(new ArrayBuffer(44 + frames * 4));
  const word = (at, text) => [...text].forEach((c, i) => file.setUint8(at + i, c.charCodeAt(0)));
  word(0, 'RIFF');
  file.setUint32(4, 36 + frames * 4, true);
  word(8, 'WAVEfmt ');
  [[16, 16, 4], [20, 1, 2], [22, 2, 2], [24, rate, 4], [28, rate * 4, 4], [32, 4, 2], [34, 16, 2]].forEach(([at, value, bytesOf]) => (
    bytesOf === 4 ? file.setUint32(at, value, true) : file.setUint16(at, value, true)));
  word(36, 'data');
  file.setUint32(40, frames * 4, true);
  for (let i = 0; i < frames; i += 1) {
    sides.forEach((s, k) => file.setInt16(44 + i * 4 + k * 2, Math.max(-1, Math.min(1, s[i] || 0)) * 32767, true));
  }
  return new Blob([file], { type: 'audio/wav' });
}

export class Player {
  constructor(host, clock, model) {
    Object.assign(this, { host, clock, model, mode: 'both', sources: [], sounds: [], shown: null });
  }

  // The recordings of the first call that has any: ROLE-NUMBER-in.wav, -out.wav.
  files(group) {
    const all = this.model.report.artifacts || [];
    for (const leg of group ? group.legs : []) {
      const own = ['in', 'out'].map((dir) => all.find((f) => f.role === leg.role && f.name === `${leg.call}-${dir}.wav`));
      if (own.some(Boolean)) return { leg, own: own.filter(Boolean) };
    }
    return null;
  }

  show(group) {
    const found = this.files(group);
    const name = found ? found.own.map((f) => f.name).join() : '';
    if (found && name === this.shown) {
      this.tracks();
      return;
    }
    this.stop();
    this.shown = name;
    this.sounds = [];
    this.host.hidden = !found;
    if (!found) return;
    this.leg = found.leg;
    const size = found.own.reduce((sum, f) => sum + f.size, 0);
    if (size > AUTO_BYTES) {
      this.host.replaceChildren(el('button', { class: 'btn', type: 'button', on: { click: () => this.load(found) } }, `Load the sound, ${bytes(size)}`));
    } else this.load(found);
  }

  async load({ leg, own }) {
    this.host.replaceChildren(el('span', { class: 'soft' }, 'The sound is being loaded.'));
    const shown = this.shown;
    try {
      const files = await Promise.all(own.map(async (f) => {
        const answer = await fetch(`/api/v2/runs/${this.model.run.session_id}/artifacts/${encodeURIComponent(f.role)}/${encodeURIComponent(f.name)}`, asPage());
        if (!answer.ok) throw new Error(`the controller answered ${answer.status}`);
        return { dir: f.name.endsWith('-in.wav') ? 'in' : 'out', data: await answer.arrayBuffer() };
      }));
      const rate = new DataView(files[0].data).getUint32(24, true); // of the WAV header
      const decoder = new OfflineAudioContext(1, 1, rate); // an AudioContext needs a click first
      const sounds = await Promise.all(files.map(async ({ dir, data }) => ({ dir, buffer: await decoder.decodeAudioData(data) })));
      if (shown !== this.shown) return; // another call was chosen
      this.sounds = sounds;
      this.start = leg.answered || leg.start;
      this.controls(leg);
      this.tracks();
    } catch (error) {
      this.host.replaceChildren(el('span', { class: 'bad' }, `The sound could not be loaded: ${error.message}.`));
    }
  }

  controls(leg) {
    this.button = el('button', { class: 'btn primary big', type: 'button', 'aria-label': 'Play', on: { click: () => this.toggle() } }, icon('play'));
    const modes = [['in', `${leg.role} hears`], ['both', 'Both, left and right'], ['out', `${leg.role} says`]];
    const buttons = modes.map(([mode, text]) => el('button', { class: 'btn small', type: 'button', 'data-mode': mode, 'aria-pressed': String(mode === this.mode),
      on: { click: () => this.choose(mode) } }, text));
    const length = Math.max(...this.sounds.map((s) => s.buffer.duration));
    this.time = el('b', null, clockText(0));
    const save = el('button', { class: 'btn small quiet', type: 'button', id: 'save-stereo', on: { click: () => this.save() } }, icon('save'), 'WAV, stereo');
    this.host.replaceChildren(this.button, this.time, el('span', { class: 'soft' }, `of ${clockText(length)}`),
      el('span', { class: 'group', role: 'group', 'aria-label': 'What to hear' }, ...buttons),
      save, el('span', { class: 'soft wide-only' }, 'Plays from the cursor.'));
  }

  save() {
    const link = el('a', { download: `${this.leg.call}.wav`, href: URL.createObjectURL(stereoWav(this.sounds)) });
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 60000);
  }

  choose(mode) {
    this.mode = mode;
    for (const b of this.host.querySelectorAll('[data-mode]')) b.setAttribute('aria-pressed', String(b.dataset.mode === mode));
    if (this.sources.length) {
      this.stop();
      this.play();
    }
  }

  tracks() {
    for (const node of this.clock.host.querySelectorAll('.wave')) node.remove();
    for (const sound of this.sounds) {
      const hears = sound.dir === 'in';
      const lost = this.model.report.series.some((s) => this.shades(s));
      const legend = hears && lost ? el('div', { class: 'legend' }, el('div', null, el('span', { class: 'lost-key' }), 'lost packets')) : null;
      const node = this.clock.track(`${this.leg.role} ${hears ? 'hears' : 'says'}`, hears ? 'left' : 'right', (f) => this.wave(f, sound), legend);
      node.classList.add('wave');
      this.clock.host.append(node);
    }
    this.clock.layout();
  }

  shades(s) {
    return s.role === this.leg.role && s.dir === 'in' && s.measure === 'rtp_lost' && s.points.some((p) => p.max > 0);
  }

  wave(f, sound) {
    const data = sound.buffer.getChannelData(0);
    const rate = sound.buffer.sampleRate;
    f.picture.setAttribute('height', HEIGHT);
    f.picture.setAttribute('role', 'img');
    f.picture.setAttribute('aria-label', `What ${this.leg.role} ${sound.dir === 'in' ? 'hears' : 'says'}, ${sound.buffer.duration.toFixed(1)} s of sound`);
    if (sound.dir === 'in') {
      for (const s of this.model.report.series.filter((one) => this.shades(one))) {
        for (const p of s.points.filter((one) => one.max > 0)) {
          f.add('rect', { x: f.x(p.t), width: f.x(p.t + this.model.report.interval_s) - f.x(p.t), y: 0, height: HEIGHT, fill: 'var(--fail)', 'fill-opacity': 0.18 });
        }
      }
    }
    const second = f.x(this.start + 1) - f.x(this.start);
    const step = Math.max(1, Math.round((3 / second) * rate));
    let path = '';
    for (let i = 0; i < data.length; i += step) {
      let peak = 0;
      for (let k = i; k < Math.min(i + step, data.length); k += 1) peak = Math.max(peak, Math.abs(data[k]));
      const high = Math.max(0.6, peak * (HEIGHT / 2 - 5));
      path += `M${f.x(this.start + i / rate).toFixed(1)} ${(HEIGHT / 2 - high).toFixed(1)}v${(2 * high).toFixed(1)}`;
    }
    f.add('path', { d: path, stroke: sound.dir === 'in' ? 'var(--a)' : 'var(--b)', 'stroke-width': 2 });
  }

  // @return true if there is anything to play
  toggle() {
    if (!this.sounds.length) return false;
    if (this.sources.length) this.stop();
    else this.play();
    return true;
  }

  play() {
    const from = Math.max(0, this.clock.at - this.start);
    this.context = this.context || new AudioContext();
    this.context.resume();
    for (const sound of this.sounds) {
      if (this.mode !== 'both' && this.mode !== sound.dir) continue;
      const source = this.context.createBufferSource();
      const pan = this.context.createStereoPanner();
      source.buffer = sound.buffer;
      pan.pan.value = this.mode === 'both' ? (sound.dir === 'in' ? -1 : 1) : 0;
      source.connect(pan).connect(this.context.destination);
      source.start(0, from >= sound.buffer.duration ? 0 : from);
      source.addEventListener('ended', () => this.ended(source));
      this.sources.push(source);
    }
    this.began = { at: this.context.currentTime, from: from >= this.sounds[0].buffer.duration ? 0 : from };
    this.button.replaceChildren(icon('pause'));
    this.button.setAttribute('aria-label', 'Pause');
    this.follow();
  }

  follow() {
    if (!this.sources.length) return;
    const at = this.began.from + this.context.currentTime - this.began.at;
    this.clock.move(this.start + at);
    this.time.textContent = clockText(at);
    requestAnimationFrame(() => this.follow());
  }

  ended(source) {
    this.sources = this.sources.filter((s) => s !== source);
    if (!this.sources.length) this.stop();
  }

  stop() {
    const playing = this.sources;
    this.sources = [];
    for (const source of playing) source.stop();
    if (!this.button) return;
    this.button.replaceChildren(icon('play'));
    this.button.setAttribute('aria-label', 'Play');
  }
}
