// Figures and times as words.

// An unknown value is shown as a dash, never as zero.
export function figure(value, digits) {
  if (value === undefined || value === null) return '–';
  return digits === undefined ? String(value) : Number(value).toFixed(digits);
}

const at = (text) => new Date(`${text.replace(' ', 'T')}Z`);

// "4 min ago" of a time in UTC as the API writes it.
export function ago(text) {
  if (!text) return '–';
  const s = Math.max(0, (Date.now() - at(text)) / 1000);
  if (s < 60) return 'now';
  if (s < 3600) return `${Math.floor(s / 60)} min ago`;
  if (s < 86400) return `${Math.floor(s / 3600)} h ago`;
  return `${Math.floor(s / 86400)} days ago`;
}

// "today 02:30", else the day; UTC.
export function since(text) {
  if (!text) return '–';
  return text.slice(0, 10) === new Date().toISOString().slice(0, 10) ? `today ${text.slice(11, 16)}` : text.slice(0, 10);
}

export function timeNode(text, words) {
  const node = document.createElement('time');
  node.textContent = words(text);
  if (text) {
    node.dateTime = at(text).toISOString();
    node.title = `${text} UTC`;
  }
  return node;
}

// "host", "host:port", "[IPv6 address]:port" or an IPv6 address alone.
export function addressOf(text) {
  const bracketed = /^\[(.+)\](?::(\d+))?$/.exec(text);
  const [, host, port] = bracketed || (/:.*:/.test(text) ? [text, text] : /^(.*?)(?::(\d+))?$/.exec(text));
  return { host, ...(port ? { port: Number(port) } : {}) };
}

export const withoutBrackets = (host) => host.replace(/^\[(.*)\]$/, '$1');

// What addressOf() reads.
export function addressText({ host, port }) {
  const plain = withoutBrackets(host);
  return `${plain.includes(':') ? `[${plain}]` : plain}${port ? `:${port}` : ''}`;
}

// How an agent joins, of an answer with a new join token; null without one. The agent knows the controller by the fingerprint of
// its certificate, and is told if the connection is not encrypted.
export function joinCommand(made, from = location) {
  const { join_token: token, controller_fingerprint: pin } = made.agent_pool || made;
  const near = /^(localhost|127(\.\d+){3}|\[::1\])$/.test(from.hostname);
  return token && [`echo 'controller = "${from.origin}"' > agent.conf`,
    ...(from.protocol === 'http:' && !near ? ["echo 'plain_http = true' >> agent.conf"] : []),
    `offhook-agent --config agent.conf --join-token ${token}${pin && from.protocol === 'https:' ? ` --fingerprint ${pin}` : ''}`].join('\n');
}
