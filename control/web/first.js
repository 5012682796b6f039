// The way to the first judged call. Each step is checked with the API, so it goes on by itself.

import { all, api, badge, button, byId, element, link, may } from './page.js';

let token = '';   // shown once, for as long as the page is open
let drawn = '';

function step(number, state, title, ...content) {
  const node = element('li', null, state);
  node.append(element('span', state === 'done' ? '✓' : number, 'n'), element('h3', title),
    state === 'now' ? badge('running', 'waiting') : element('span', ''));
  if (state === 'now') node.append(...content);
  return node;
}

async function showToken() {
  const pools = await all('/agent-pools', 'agent_pools');
  const made = pools.length ? await api('POST', `/agent-pools/${pools[0].id}/token`) : await api('POST', '/agent-pools', { name: 'default' });
  token = made.join_token || (made.agent_pool && made.agent_pool.join_token);
  byId('join').replaceChildren(...command());
}

function command() {
  if (!token) {
    return may('write') ? [button('Show the join command', showToken)] : [element('p', 'It needs a user with the right write.')];
  }
  const text = `echo 'controller = "${location.origin}"' > agent.conf\noffhook-agent --config agent.conf --join-token ${token}`;
  const copy = button('Copy', () => navigator.clipboard.writeText(text));
  return [element('pre', text, 'raw'), copy];
}

function agentStep(state) {
  const box = element('div', null, 'cmd');
  box.id = 'join';
  box.append(...command());
  return step(2, state, 'Start an agent',
    element('p', 'It places the calls and measures what it hears. On a host that reaches the system under test:'), box);
}

function systemStep(state, targets, accounts) {
  const box = element('p');
  box.append(targets.length ? 'The target is set. ' : link('Add a target', '/targets'), ' ',
    accounts.length ? 'The accounts are set.' : link('Add two accounts', '/accounts'));
  return step(3, state, 'Name the system under test', element('p', 'Address of the PBX, and two accounts on it.'), box);
}

function runStep(state, pools, targets, accounts) {
  const start = button('Run', async () => {
    const { data } = await api('POST', '/tests/scenarios/single-call', {
      agentpool_id: pools[0].id, target_pool: targets[0].id, credential_pool: accounts[0].id, duration: 10 });
    location.assign(data.report_url);
  }, 'primary');
  start.hidden = !may('run');
  return step(4, state, 'Run the scenario Single call',
    element('p', 'One call of 10 seconds both ways: MOS, loss, jitter, round trip, and a verdict.'), start);
}

export async function drawFirst(agents) {
  const [pools, targets, accounts] = await Promise.all([all('/agent-pools', 'agent_pools'), all('/targets', 'targets'),
    all('/credential-pools', 'credential_pools')]);
  const online = agents.filter((a) => a.state === 'online');
  const done = [true, online.length > 0, targets.length > 0 && accounts.length > 0];
  const now = done.indexOf(false) < 0 ? 3 : done.indexOf(false);
  const state = JSON.stringify([done, targets.length, accounts.length]);
  byId('title').textContent = 'From here to the first judged call';
  byId('sentence').textContent = 'Four steps, about five minutes. Each one is checked, and the list goes on by itself.';
  byId('sentence').hidden = false;
  if (state === drawn) return; // keep the focus
  drawn = state;
  const of = (i) => (done[i] ? 'done' : i === now ? 'now' : '');
  const own = online.length ? pools.filter((p) => p.id === online[0].pool_id) : pools;
  byId('steps').replaceChildren(step(1, 'done', 'Controller runs'), agentStep(of(1)), systemStep(of(2), targets, accounts),
    runStep(now === 3 ? 'now' : '', own, targets, accounts));
}
