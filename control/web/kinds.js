// The kinds of records that records.js lists: where they are, what is shown, what can be set.

import { addressOf, addressText, ago, api, asPage, badge, element, joinCommand, timeNode, withoutBrackets } from './page.js';

const NAME = { name: 'name', label: 'Name', required: true };
const name = ['Name', (r) => r.name, 'wide'];
const RIGHTS = { name: 'rights', label: 'Rights', values: ['read', 'run', 'write', 'admin'], required: true };

// "host:port transport" a line.
function hostOf(line) {
  const [address, transport] = line.trim().split(/\s+/);
  return { ...addressOf(address), ...(transport ? { transport } : {}) };
}

const lineOf = (h) => `${addressText(h)} ${h.transport}`;

// The host that a line was made of: what the line does not show stays. A line with another port or transport may be any of several.
function hostBefore(hosts, host) {
  const same = hosts.filter((h) => withoutBrackets(h.host) === host.host);
  return same.find((h) => h.port === (host.port || 0) && h.transport === (host.transport || 'udp')) || (same.length === 1 ? same[0] : null);
}

function hostWritten(line, old) {
  const host = hostOf(line);
  const before = old && hostBefore(old.hosts, host);
  return before ? { priority: before.priority, weight: before.weight, ...host, host: before.host } : host;
}

// "320 calls, jitter ± 0.25 ms".
function calibrated(c) {
  if (!c) return '–';
  const node = element('span', [`${c.calls} calls`, ...(c.jitter_bound_ms === undefined ? [] : [`jitter ± ${c.jitter_bound_ms.toFixed(2)} ms`])].join(', '));
  node.title = `${c.time} UTC; Linux ${c.kernel}, ${c.processors} processors`;
  return node;
}

function player(prompt) {
  if (prompt.kind !== 'prompt') return '';
  const node = element('button', 'Play', 'btn small');
  node.type = 'button';
  // The file is answered as octet-stream, so it is read first and played from memory.
  node.addEventListener('click', async () => {
    const answer = await fetch(`/api/v2/appimages/${prompt.id}/content`, asPage());
    const sound = element('audio');
    sound.controls = true;
    sound.src = `data:audio/wav;base64,${btoa(Array.from(new Uint8Array(await answer.arrayBuffer()), (b) => String.fromCharCode(b)).join(''))}`;
    node.replaceWith(sound);
    sound.play();
  });
  return node;
}

export const KINDS = [
  { page: '/targets', title: 'Targets', noun: 'target', path: '/targets', member: 'targets', singular: 'target',
    nothing: 'There is no target. A target is the address of the system under test.',
    columns: [name, ['Hosts', (t) => t.hosts.map(lineOf).join(', '), 'wide'], ['Domain', (t) => t.domain || '–']],
    fields: [NAME, { name: 'domain', label: 'Domain', hint: 'Of the accounts, if it is not the host.' },
      { name: 'outbound_proxy', label: 'Outbound proxy' },
      { name: 'hosts', label: 'Hosts', type: 'text', required: true, hint: 'One a line: 192.0.2.1:5060 udp. Port and transport can be left out. An IPv6 address with a port: [2001:db8::1]:5060.' }],
    shown: (t) => ({ ...t, hosts: t.hosts.map(lineOf).join('\n') }),
    written: (b, old) => ({ ...(old && old.tls ? { tls: old.tls } : {}), ...b, hosts: b.hosts.split('\n').filter((l) => l.trim()).map((line) => hostWritten(line, old)) }) },
  { page: '/accounts', title: 'Accounts', noun: 'pool of accounts', path: '/credential-pools', member: 'credential_pools',
    singular: 'credential_pool', nothing: 'There are no accounts. A call needs two, for the caller and the callee.',
    columns: [name, ['Accounts', (p) => p.credential_count, 'number']],
    fields: [NAME, { name: 'csv', label: 'Accounts as CSV', type: 'text',
      hint: 'First line: username,password; others: auth_username, domain, display_name, extension. Empty keeps the present accounts.' },
    { name: 'file', label: 'Or a CSV file', type: 'file' }],
    shown: (p) => ({ name: p.name }),
    written: async (b, old, file) => {
      const csv = file.files[0] ? await file.files[0].text() : b.csv;
      return csv || !old ? { name: b.name, ...(csv ? { csv } : {}) } : { name: b.name, credentials: old.credentials };
    } },
  { page: '/pools', title: 'Agent pools', noun: 'agent pool', path: '/agent-pools', member: 'agent_pools', singular: 'agent_pool',
    nothing: 'There is no agent pool. Agents join one with its token.',
    columns: [name, ['Description', (p) => p.description || '–', 'wide'], ['Agents', (p) => p.agent_count, 'number']],
    fields: [NAME, { name: 'description', label: 'Description' }],
    written: (b, old) => ({ ...b, ...(old ? { capabilities: old.capabilities } : {}) }),
    actions: [['New token', (p) => api('POST', `/agent-pools/${p.id}/token`)]],
    secret: joinCommand },
  { page: '/agents', title: 'Agents', noun: 'agent', path: '/agents', member: 'agents', singular: 'agent', noCreate: true,
    nothing: 'No agent has joined. Take the join command of an agent pool.',
    columns: [name, ['Pools', (a) => [a.pool_name, ...a.further_pool_names].join(', '), 'wide'], ['State', (a) => badge(a.state === 'online' ? 'passed' : 'stopped', a.state)],
      ['Version', (a) => a.version], ['Jobs', (a) => `${a.in_use} of ${a.capacity}`], ['Seen', (a) => timeNode(a.last_seen, ago)],
      ['Calibrated', (a) => calibrated(a.calibration)],
      ['Capabilities', (a) => (Array.isArray(a.features) ? a.features.join(', ') : ''), 'wide']],
    fields: [NAME, { name: 'pool_id', label: 'Pool', records: ['/agent-pools', 'agent_pools'] },
      { name: 'draining', label: 'Takes no new jobs', type: 'checkbox' }],
    written: (b, old) => ({ ...b, pool_id: Number(b.pool_id), further_pool_ids: old.further_pool_ids }) },
  { page: '/prompts', title: 'Prompts', noun: 'prompt', path: '/appimages', member: 'appimages', singular: 'appimage', noEdit: true,
    nothing: 'There is no prompt. A prompt is a sound file that an action plays.',
    columns: [name, ['File', (p) => p.filename, 'wide'], ['Bytes', (p) => p.size, 'number'], ['', player]],
    fields: [NAME, { name: 'file', label: 'Sound file (WAV)', type: 'file', required: true }],
    written: (b, old, file) => {
      const body = new FormData();
      body.append('name', b.name);
      body.append('kind', 'prompt');
      body.append('content', file.files[0]);
      return body;
    } },
  { page: '/projects', title: 'Projects', noun: 'project', path: '/projects', member: 'projects', singular: 'project',
    nothing: 'There is no project. Tests belong to one.',
    columns: [name, ['Description', (p) => p.description || '–', 'wide']],
    fields: [NAME, { name: 'description', label: 'Description' }],
    ways: [['Import a capture', (p) => `/tests/import?project=${p.id}`]] },
  { page: '/keys', title: 'API keys', noun: 'API key', path: '/api-keys', member: 'api_keys', singular: 'api_key', right: 'admin', noEdit: true,
    nothing: 'There is no API key.',
    columns: [name, ['Key', (k) => k.public_key, 'wide'], ['Rights', (k) => k.rights], ['Last used', (k) => timeNode(k.last_used_at, ago)]],
    fields: [NAME, RIGHTS, { name: 'expires_at', label: 'Ends (UTC)', hint: 'Such as 2027-01-31 22:00:00; empty: never.' }],
    secret: (a) => a.api_key && a.api_key.secret && `${a.api_key.public_key}:${a.api_key.secret}` },
  { page: '/users', title: 'Users', noun: 'user', path: '/users', member: 'users', singular: 'user', right: 'admin',
    nothing: 'There is no user.', columns: [name, ['Rights', (u) => u.rights]],
    fields: [NAME, RIGHTS, { name: 'password', label: 'Password', type: 'password', hint: '10 characters or more; empty keeps the present one.' }] },
];
