// The top bar: links of signed-in users, search, account, keys.

import { session, loadSession, all } from './api.js';
import { byId, element, link } from './dom.js';

// A page adds its own.
export const KEYS = [['/', 'Search'], ['?', 'This list'], ['g h', 'Overview'], ['g t', 'Tests'], ['g r', 'Runs'], ['g a', 'Agents'],
  ['Esc', 'Close']];
const GO = { h: '/', t: '/tests', r: '/runs', a: '/agents' };
const PAGES = [['Overview', '/'], ['Tests', '/tests'], ['Runs', '/runs'], ['Schedules', '/schedules'], ['Agents', '/agents'],
  ['Agent pools', '/pools'], ['Targets', '/targets'], ['Accounts', '/accounts'], ['Prompts', '/prompts'],
  ['Projects', '/projects'], ['Callbacks', '/callbacks'], ['API keys', '/keys'], ['Users', '/users'], ['Audit log', '/audit'],
  ['Scenarios', '/scenarios'], ['Capacity searches', '/capacity'], ['My account', '/account'], ['API', '/apidocs']];

function dialog(title, ...content) {
  const node = element('dialog');
  const head = element('header');
  const close = element('button', 'Close', 'btn small quiet');
  close.type = 'button';
  close.addEventListener('click', () => node.close());
  head.append(element('h2', title), close);
  const body = element('div');
  body.append(...content);
  node.append(head, body);
  node.setAttribute('aria-label', title);
  node.addEventListener('close', () => node.remove());
  document.body.append(node);
  node.showModal();
  return node;
}

function showKeys() {
  const list = element('dl', null, 'keys');
  for (const [key, words] of KEYS) {
    const name = element('dt');
    name.append(element('kbd', key));
    list.append(name, element('dd', words));
  }
  dialog('Keys', list);
}

async function search() {
  const input = element('input', null, 'in');
  const found = element('div', null, 'found');
  input.setAttribute('aria-label', 'Name of a page or of a test');
  let entries = PAGES;
  const draw = () => {
    const words = input.value.toLowerCase();
    const shown = entries.filter(([name]) => name.toLowerCase().includes(words)).slice(0, 20);
    found.replaceChildren(...shown.map(([name, address]) => link(name, address)));
  };
  input.addEventListener('input', draw);
  input.addEventListener('keydown', (event) => {
    const first = found.querySelector('a');
    if (event.key === 'Enter' && first) location.assign(first.href);
  });
  draw();
  dialog('Search or go to', input, found);
  input.focus();
  const tests = await all('/tests', 'tests').catch(() => []);
  entries = [...PAGES, ...tests.map((t) => [t.name, `/tests/${t.id}`])];
  draw();
}

function account() {
  const out = element('button', 'Sign out', 'btn');
  out.addEventListener('click', async () => {
    await fetch('/logout', { method: 'POST', credentials: 'same-origin', body: '{}',
      headers: { 'Content-Type': 'application/json', 'X-CSRF-Token': session.csrf } });
    location.assign('/login');
  });
  const change = link('Change password', '/account');
  change.className = 'btn';
  const box = element('p', null, 'buttons');
  box.append(change, out);
  dialog(`Signed in as ${session.user.name}`, box);
}

let before = '';

function onKey(event) {
  const typing = event.target.closest('input, textarea, select, dialog');
  if (typing || event.ctrlKey || event.altKey || event.metaKey || document.querySelector('dialog[open]')) return;
  const go = before === 'g' && GO[event.key];
  before = event.key;
  if (go) location.assign(go);
  else if (event.key === '?') showKeys();
  else if (event.key === '/') {
    event.preventDefault();
    search();
  }
}

// A page with the links only: for readers of a public report there are none.
async function startFrame() {
  if (location.pathname.startsWith('/kiosk/')) return;
  await loadSession();
  if (!session.user) return;
  for (const id of ['nav', 'find', 'menu', 'me']) byId(id).hidden = false;
  byId('me').textContent = session.user.name.slice(0, 2).toUpperCase();
  byId('me').title = `Signed in as ${session.user.name}`;
  byId('me').setAttribute('aria-label', `${byId('me').textContent}, account of ${session.user.name}`);
  byId('me').addEventListener('click', account);
  byId('find').addEventListener('click', search);
  byId('menu').addEventListener('click', () => {
    byId('menu').setAttribute('aria-expanded', String(byId('nav').classList.toggle('open')));
  });
  for (const node of byId('nav').querySelectorAll('a')) {
    const own = node.getAttribute('href');
    if (own === location.pathname || (own !== '/' && location.pathname.startsWith(`${own}/`))) node.setAttribute('aria-current', 'page');
  }
  document.addEventListener('keydown', onKey);
}

startFrame().catch(() => {});
