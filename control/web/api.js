// Requests to the API, with the session of the user.

export const RIGHTS = ['read', 'run', 'write', 'admin'];
export const session = { csrf: '', rights: null, user: null };

// Of requests by pages: with this header a 401 makes the browser ask for nothing.
export const asPage = () => ({ credentials: 'same-origin', headers: { 'X-CSRF-Token': session.csrf } });

let loading = null;

// The frame and the page share one request.
export function loadSession() {
  loading = loading || readSession();
  return loading;
}

export async function readSession() {
  const found = await (await fetch('/session', { credentials: 'same-origin' })).json();
  session.csrf = found.csrf || '';
  session.rights = found.user ? found.user.rights : null;
  session.user = found.user || null;
}

// With an API key instead of a session the page does not know the rights; the API checks them.
export function may(right) {
  return !session.rights || RIGHTS.indexOf(session.rights) >= RIGHTS.indexOf(right);
}

export class ApiError extends Error {
  constructor(answer, body) {
    const errors = (body.errors || []).map((e) => `${e.pointer.slice(1)}: ${e.detail}`.replace(/^: /, ''));
    super(errors.join('; ') || body.detail || `The controller answered ${answer.status}.`);
    this.status = answer.status;
    this.errors = body.errors || [];
    this.fields = (body.errors || []).map((e) => e.pointer.split('/')[1]);
  }
}

// Send a request with further headers. @return found: the body of the answer; etag: its tag, or null
export async function send(method, path, body, more) {
  const headers = { 'X-CSRF-Token': session.csrf, ...more };
  if (body && !(body instanceof URLSearchParams || body instanceof FormData)) {
    headers['Content-Type'] = 'application/json';
    body = JSON.stringify(body);
  }
  const answer = await fetch('/api/v2' + path, { method, headers, body, credentials: 'same-origin' });
  if (answer.status === 401) location.assign('/login?next=' + encodeURIComponent(location.pathname + location.search));
  const found = answer.status === 204 ? {} : await answer.json();
  if (!answer.ok) throw new ApiError(answer, found);
  return { found, etag: answer.headers.get('ETag') };
}

// body: an object, sent as JSON, or URLSearchParams
export async function api(method, path, body) {
  return (await send(method, path, body)).found;
}

// Replace a record, unless somebody else changed it since it was read with this etag. noun: what it is; reload(): shows the record
// as it is now. @return as send()
export async function replace(path, body, { etag, noun, reload }) {
  try {
    return await send('PUT', path, body, { 'If-Match': etag });
  } catch (error) {
    if (error.status !== 412) throw error;
    throw Object.assign(new Error(`Somebody else changed this ${noun} since you opened it. Your changes are not saved; they are still here.`),
      { way: ['Load theirs, drop mine', reload] });
  }
}

const tags = new Map(); // of what poll() read

// Read what changes rarely. @return null: it is as at the call before
export async function poll(path) {
  const headers = { 'X-CSRF-Token': session.csrf, ...(tags.has(path) ? { 'If-None-Match': tags.get(path) } : {}) };
  const answer = await fetch('/api/v2' + path, { headers, credentials: 'same-origin' });
  if (answer.status === 304) return null;
  if (answer.status === 401) location.assign('/login?next=' + encodeURIComponent(location.pathname + location.search));
  const found = await answer.json();
  if (!answer.ok) throw new ApiError(answer, found);
  tags.set(path, answer.headers.get('ETag'));
  return found;
}

// Read all records of a listing, page by page.
export async function all(path, member) {
  const records = [];
  for (let total = 1; records.length < total;) {
    const page = await api('GET', `${path}?start=${records.length}&count=1000`);
    records.push(...page[member]);
    total = page[member].length ? page.total : 0;
  }
  return records;
}
