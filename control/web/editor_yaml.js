// The test as a file that `offhook apply` reads: docs/reference/yaml.md. Records are named, as ids are others elsewhere.

const LINE_CHARS = 96;
const PLAIN = /^[A-Za-z][\w.-]*( \w[\w.-]*)*$/;
const WORDS = /^(true|false|null|yes|no|on|off|y|n)$/i;

const isScalar = (v) => v === null || typeof v !== 'object';
const membersOf = (v) => Object.entries(v).filter(([, m]) => m !== undefined);
// A text in JSON is a quoted text in YAML as well.
const scalar = (v) => (typeof v === 'string' && PLAIN.test(v) && !WORDS.test(v) ? v : JSON.stringify(v));

function flow(v) {
  if (isScalar(v)) return scalar(v);
  if (Array.isArray(v)) return `[${v.map(flow).join(', ')}]`;
  return `{${membersOf(v).map(([key, m]) => `${scalar(key)}: ${flow(m)}`).join(', ')}}`;
}

const fits = (v) => isScalar(v) || flow(v).length <= LINE_CHARS;

function lines(v) {
  if (Array.isArray(v)) return v.flatMap((m) => (fits(m) ? [flow(m)] : lines(m)).map((line, i) => `${i ? '  ' : '- '}${line}`));
  return membersOf(v).flatMap(([key, m]) => (fits(m) ? [`${scalar(key)}: ${flow(m)}`] : [`${scalar(key)}:`, ...lines(m).map((line) => `  ${line}`)]));
}

const POOLS = { credential_pool: 'credential-pools', challenge_pool: 'credential-pools', turn_credential_pool: 'credential-pools', target_pool: 'targets' };

function named(action, records) {
  return Object.fromEntries(Object.entries(action).map(([key, value]) => {
    const found = POOLS[key] && records[POOLS[key]].find((r) => String(r.id) === String(value));
    return [key, found ? found.name : value];
  }));
}

const nameOf = (list, id) => (list.find((r) => r.id === id) || {}).name;

export function yamlText(record, records) {
  const { project_id: project, agentpool_id: pool, callback_template_name: template, has_callback_secret: secret, callback_secret: typed, ...rest } = record;
  const test = { name: rest.name, project: nameOf(records.projects, project), agent_pool: nameOf(records.agent_pools, pool), ...rest,
    steps: rest.steps.map((step) => step.map((action) => named(action, records))),
    callback_template: template || undefined,
    callback_secret: secret === 1 || typed ? { env: `${rest.name.toUpperCase().replace(/[^A-Z0-9]+/g, '_')}_CALLBACK_SECRET` } : undefined };
  for (const key of ['callback_on_failure', 'callback_on_recovery']) if (key in test) test[key] = test[key] === 1;
  for (const [key, value] of Object.entries(test)) if (value === null || value === '') delete test[key];
  return `tests:\n${lines(test).map((line, i) => `${i ? '    ' : '  - '}${line}\n`).join('')}`;
}
