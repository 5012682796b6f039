-- The controller's tables. Times are integers: milliseconds since 1970 UTC,
-- or microseconds where the name ends in _us. Flags are 0 or 1. Columns
-- ending in _json hold a JSON document the API takes and returns as it is.
-- This is the base, schema 10, and stays as it is: changes are steps of their own
-- (migrations.c; docs/internals/testing.md, "Migrations"). What a database has today:
-- sqlite3 COPY_OF_THE_FILE .schema

CREATE TABLE IF NOT EXISTS setting (
  name TEXT PRIMARY KEY,
  value TEXT NOT NULL
);

CREATE TABLE IF NOT EXISTS api_key (
  id INTEGER PRIMARY KEY,
  public_key TEXT NOT NULL UNIQUE,
  secret_hash BLOB NOT NULL,           -- keyed BLAKE2b of the secret
  name TEXT NOT NULL,
  rights TEXT NOT NULL,                -- read | run | write | admin
  created_at INTEGER NOT NULL,
  last_used_at INTEGER,
  expires_at INTEGER
);

-- People who sign in to the pages.
CREATE TABLE IF NOT EXISTS web_user (
  id INTEGER PRIMARY KEY,
  name TEXT NOT NULL UNIQUE,
  password_hash TEXT NOT NULL,         -- argon2id
  rights TEXT NOT NULL,                -- as of api_key
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL
);

CREATE TABLE IF NOT EXISTS web_session (
  token_hash BLOB PRIMARY KEY,         -- keyed BLAKE2b of the cookie
  user_id INTEGER NOT NULL REFERENCES web_user(id) ON DELETE CASCADE,
  created_at INTEGER NOT NULL,
  seen_at INTEGER NOT NULL
);
CREATE INDEX IF NOT EXISTS web_session_by_user ON web_session (user_id);

CREATE TABLE IF NOT EXISTS project (
  id INTEGER PRIMARY KEY,
  name TEXT NOT NULL UNIQUE,
  description TEXT,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL
);

CREATE TABLE IF NOT EXISTS target (
  id INTEGER PRIMARY KEY,
  name TEXT NOT NULL UNIQUE,
  hosts_json TEXT NOT NULL,
  domain TEXT,
  outbound_proxy TEXT,
  tls_json TEXT NOT NULL DEFAULT '{}',
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL
);

CREATE TABLE IF NOT EXISTS credential_pool (
  id INTEGER PRIMARY KEY,
  name TEXT NOT NULL UNIQUE,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL
);

CREATE TABLE IF NOT EXISTS credential (
  id INTEGER PRIMARY KEY,
  pool_id INTEGER NOT NULL REFERENCES credential_pool(id) ON DELETE CASCADE,
  position INTEGER NOT NULL,           -- 0-based order within the pool
  username TEXT NOT NULL,
  auth_username TEXT,
  password_box BLOB,                   -- XChaCha20-Poly1305: nonce, cipher
  domain TEXT,
  display_name TEXT,
  extension TEXT,
  UNIQUE (pool_id, position)
);

CREATE TABLE IF NOT EXISTS agent_pool (
  id INTEGER PRIMARY KEY,
  name TEXT NOT NULL UNIQUE,
  description TEXT,
  capabilities_json TEXT NOT NULL DEFAULT '[]',
  join_token_hash BLOB NOT NULL,       -- keyed BLAKE2b
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL
);

CREATE TABLE IF NOT EXISTS agent (
  id INTEGER PRIMARY KEY,
  pool_id INTEGER NOT NULL REFERENCES agent_pool(id),
  name TEXT NOT NULL,
  secret_hash BLOB NOT NULL,
  version TEXT NOT NULL,
  protocol INTEGER NOT NULL,
  features_json TEXT NOT NULL DEFAULT '[]',
  capacity INTEGER NOT NULL,           -- jobs at once
  draining INTEGER NOT NULL DEFAULT 0, -- it says so itself
  held INTEGER NOT NULL DEFAULT 0,     -- its operator wants it to drain
  last_seen INTEGER,                   -- online: seen within the lease time
  polled_at INTEGER,                   -- its latest poll came in
  disconnected INTEGER NOT NULL DEFAULT 0,
  clock_offset_us INTEGER,             -- agent minus controller, estimate
  address TEXT,
  created_at INTEGER NOT NULL,
  UNIQUE (pool_id, name)
);

CREATE TABLE IF NOT EXISTS callback_template (
  id INTEGER PRIMARY KEY,
  name TEXT NOT NULL UNIQUE,
  method TEXT NOT NULL,                -- POST PUT PATCH
  content_type TEXT NOT NULL,
  body TEXT NOT NULL,                  -- with {{placeholders}}
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL
);

CREATE TABLE IF NOT EXISTS test (
  id INTEGER PRIMARY KEY,
  project_id INTEGER NOT NULL REFERENCES project(id),
  name TEXT NOT NULL UNIQUE,
  description TEXT,
  tags_json TEXT NOT NULL DEFAULT '[]',
  scenario TEXT NOT NULL,
  agentpool_id INTEGER NOT NULL REFERENCES agent_pool(id),
  steps_json TEXT NOT NULL,
  conditions_json TEXT NOT NULL DEFAULT '[]',
  record TEXT NOT NULL DEFAULT 'sip',  -- none | sip | media
  callback_on_failure INTEGER NOT NULL DEFAULT 0,
  callback_template_id INTEGER REFERENCES callback_template(id),
  callback_url TEXT NOT NULL DEFAULT '',
  callback_secret_box BLOB,            -- encrypted; signs the bodies
  retries_on_failure INTEGER NOT NULL DEFAULT 0,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL
);

-- A run carries all it needs of its test as it was at the start.
CREATE TABLE IF NOT EXISTS run (
  id INTEGER PRIMARY KEY AUTOINCREMENT, -- never given twice
  session_id TEXT NOT NULL UNIQUE,
  test_id INTEGER,
  test_name TEXT NOT NULL,
  testcase_name TEXT NOT NULL,
  project_id INTEGER,
  project_name TEXT NOT NULL,
  agentpool_id INTEGER NOT NULL,
  agentpool_name TEXT NOT NULL,
  tags_json TEXT NOT NULL DEFAULT '[]',
  phase TEXT NOT NULL,    -- queued dispatching running stopping judging done
  status TEXT NOT NULL,   -- running passed failed errored stopped
  stop_reason TEXT,       -- why it entered `stopping`: user, failed, error
  result_description TEXT NOT NULL DEFAULT '',
  conditions_json TEXT NOT NULL,       -- overrides applied
  verdicts_json TEXT,                  -- one entry a condition, when judged
  record TEXT NOT NULL,
  report_mode TEXT NOT NULL DEFAULT 'full',
  kiosk_id TEXT,                       -- second half of the public link
  interval_s INTEGER NOT NULL,
  max_duration_s INTEGER NOT NULL,
  attempt INTEGER NOT NULL DEFAULT 1,
  retry_of TEXT,                       -- session of the attempt before
  retries_left INTEGER NOT NULL DEFAULT 0,
  retry_state TEXT NOT NULL DEFAULT 'none', -- none due started refused
  retry_box BLOB,                      -- the test as this run had it, encrypted;
                                       -- kept while it may start again
  callback_state TEXT NOT NULL DEFAULT 'none', -- none wanted due: the last
                                       -- attempt has failed; made: a row of
                                       -- callback says the rest
  callback_box BLOB,                   -- where to and how, encrypted, until
                                       -- then
  project_run_id INTEGER,              -- of project_run, and the place in it
  project_position INTEGER,
  progress REAL NOT NULL DEFAULT 0,
  go_step INTEGER NOT NULL DEFAULT -1, -- highest step all roles are done with
  go_at INTEGER,                       -- when the next one starts
  created_at INTEGER NOT NULL,
  started_at INTEGER,                  -- first lease confirmed
  stopping_at INTEGER,                 -- entered `stopping`
  stopped_at INTEGER
);
CREATE INDEX IF NOT EXISTS run_by_test ON run (test_id, id);
CREATE INDEX IF NOT EXISTS run_by_start ON run (started_at, id);
CREATE INDEX IF NOT EXISTS run_by_project ON run (project_id, id);
CREATE INDEX IF NOT EXISTS run_active ON run (phase) WHERE phase <> 'done';
CREATE INDEX IF NOT EXISTS run_by_status ON run (status) WHERE phase = 'done';
CREATE INDEX IF NOT EXISTS run_retry_due ON run (id) WHERE retry_state = 'due';
CREATE INDEX IF NOT EXISTS run_callback_due ON run (id)
  WHERE callback_state = 'due';
CREATE INDEX IF NOT EXISTS run_by_retry ON run (retry_of)
  WHERE retry_of IS NOT NULL;
CREATE INDEX IF NOT EXISTS run_by_project_run
  ON run (project_run_id, project_position) WHERE project_run_id IS NOT NULL;

-- The tests of a project, one after another.
CREATE TABLE IF NOT EXISTS project_run (
  id INTEGER PRIMARY KEY,
  uuid TEXT NOT NULL UNIQUE,
  project_id INTEGER NOT NULL,
  project_name TEXT NOT NULL,
  report_mode TEXT NOT NULL,
  kiosk_id TEXT,
  status TEXT NOT NULL,                -- running passed failed stopped
  stop_requested INTEGER NOT NULL DEFAULT 0,
  callback_state TEXT NOT NULL DEFAULT 'none', -- as of run
  callback_box BLOB,
  created_at INTEGER NOT NULL,
  stopped_at INTEGER
);
CREATE INDEX IF NOT EXISTS project_run_active ON project_run (id)
  WHERE status = 'running';
CREATE INDEX IF NOT EXISTS project_run_callback_due ON project_run (id)
  WHERE callback_state = 'due';

CREATE TABLE IF NOT EXISTS project_run_test (
  project_run_id INTEGER NOT NULL REFERENCES project_run(id) ON DELETE CASCADE,
  position INTEGER NOT NULL,           -- 0-based order
  test_id INTEGER NOT NULL,
  test_name TEXT NOT NULL,
  state TEXT NOT NULL,                 -- waiting started ended cancelled
  status TEXT,                         -- of its last run, when ended
  PRIMARY KEY (project_run_id, position)
) WITHOUT ROWID;

-- When tests and projects start by themselves.
CREATE TABLE IF NOT EXISTS schedule (
  id INTEGER PRIMARY KEY,
  name TEXT NOT NULL UNIQUE,
  test_id INTEGER REFERENCES test(id),       -- or
  project_id INTEGER REFERENCES project(id), -- with
  test_ids_json TEXT NOT NULL DEFAULT 'null',
  tags_json TEXT NOT NULL DEFAULT 'null',
  report_mode TEXT NOT NULL,
  cron TEXT,                           -- or
  run_at INTEGER,                      -- once
  timezone TEXT NOT NULL,
  overlap TEXT NOT NULL,               -- skip wait parallel
  missed TEXT NOT NULL,                -- skip run
  enabled INTEGER NOT NULL,
  next_at INTEGER,                     -- NULL: there is none
  waiting_for INTEGER,                 -- the time that waits for the run before
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL
);
CREATE INDEX IF NOT EXISTS schedule_due ON schedule (next_at)
  WHERE next_at IS NOT NULL;

CREATE TABLE IF NOT EXISTS schedule_event (
  id INTEGER PRIMARY KEY,
  schedule_id INTEGER NOT NULL REFERENCES schedule(id) ON DELETE CASCADE,
  due_at INTEGER NOT NULL,
  at INTEGER NOT NULL,
  outcome TEXT NOT NULL,         -- started skipped waiting missed refused
  detail TEXT,
  session_id TEXT,
  project_run_uuid TEXT
);
CREATE INDEX IF NOT EXISTS schedule_event_by_schedule
  ON schedule_event (schedule_id, id);

-- What somebody is told: a request, and the tries to deliver it.
CREATE TABLE IF NOT EXISTS callback (
  id INTEGER PRIMARY KEY,
  run_id INTEGER REFERENCES run(id) ON DELETE CASCADE,
  project_run_id INTEGER REFERENCES project_run(id) ON DELETE CASCADE,
  url TEXT NOT NULL,
  method TEXT NOT NULL,
  state TEXT NOT NULL,                 -- waiting sending delivered failed
  tries INTEGER NOT NULL DEFAULT 0,    -- begun
  next_at INTEGER,                     -- of the next try; NULL: there is none;
                                       -- sending: then its sender is gone
  request_box BLOB NOT NULL,           -- content type, body, secret; encrypted
  created_at INTEGER NOT NULL,
  ended_at INTEGER
);
CREATE INDEX IF NOT EXISTS callback_by_run ON callback (run_id);
CREATE INDEX IF NOT EXISTS callback_due ON callback (next_at)
  WHERE state IN ('waiting', 'sending');

CREATE TABLE IF NOT EXISTS callback_try (
  callback_id INTEGER NOT NULL REFERENCES callback(id) ON DELETE CASCADE,
  number INTEGER NOT NULL,             -- from 1
  started_at INTEGER NOT NULL,
  duration_ms INTEGER,                 -- NULL: it has not ended
  address TEXT,                        -- connected to
  http_status INTEGER,
  error TEXT,                          -- NULL: it was delivered
  response TEXT,                       -- beginning of the answer's body
  PRIMARY KEY (callback_id, number)
) WITHOUT ROWID;

-- One lease a role of a run and attempt to place it.
CREATE TABLE IF NOT EXISTS lease (
  id TEXT PRIMARY KEY,                 -- UUID
  run_id INTEGER NOT NULL REFERENCES run(id) ON DELETE CASCADE,
  role TEXT NOT NULL,
  spec_json TEXT NOT NULL,             -- passwords removed; see secret_box
  secret_box BLOB,                     -- the full spec, encrypted; dropped
                                       -- when the lease ends
  agent_id INTEGER,                    -- NULL while waiting
  state TEXT NOT NULL,    -- waiting offered started finished lost cancelled
  offered_at INTEGER,                  -- NULL: its agent has not asked yet
  started_at INTEGER,
  expires_at INTEGER,                  -- offer or lease time; renewed
  ended_at INTEGER,
  outcome TEXT,                        -- completed failed error stopped
  reason TEXT,
  ready_step INTEGER NOT NULL DEFAULT -1, -- highest step reported ready
  progress REAL NOT NULL DEFAULT 0,
  next_seq INTEGER NOT NULL DEFAULT 1, -- lowest upload not seen
  last_seq INTEGER,                    -- announced by finish
  UNIQUE (run_id, role)
);
CREATE INDEX IF NOT EXISTS lease_by_state ON lease (state);
-- How many an agent has ended of late is looked up at each of its polls.
CREATE INDEX IF NOT EXISTS lease_by_end ON lease (agent_id, ended_at)
  WHERE ended_at IS NOT NULL;

-- Which uploads arrived: one sequence a lease over stats, events and sip.
CREATE TABLE IF NOT EXISTS upload (
  lease_id TEXT NOT NULL REFERENCES lease(id) ON DELETE CASCADE,
  seq INTEGER NOT NULL,
  PRIMARY KEY (lease_id, seq)
) WITHOUT ROWID;

CREATE TABLE IF NOT EXISTS event (
  id INTEGER PRIMARY KEY,
  run_id INTEGER NOT NULL REFERENCES run(id) ON DELETE CASCADE,
  lease_id TEXT NOT NULL,
  role TEXT NOT NULL,
  t_us INTEGER NOT NULL,
  kind TEXT NOT NULL,
  event_json TEXT NOT NULL
);
CREATE INDEX IF NOT EXISTS event_by_run ON event (run_id, id);

CREATE TABLE IF NOT EXISTS sip_message (
  id INTEGER PRIMARY KEY,
  run_id INTEGER NOT NULL REFERENCES run(id) ON DELETE CASCADE,
  lease_id TEXT NOT NULL,
  role TEXT NOT NULL,
  t_us INTEGER NOT NULL,
  message_json TEXT NOT NULL
);
CREATE INDEX IF NOT EXISTS sip_message_by_run ON sip_message (run_id, id);

-- Files that agents leave with a run; they lie below state_dir/artifacts.
CREATE TABLE IF NOT EXISTS artifact (
  run_id INTEGER NOT NULL REFERENCES run(id) ON DELETE CASCADE,
  role TEXT NOT NULL,
  name TEXT NOT NULL,
  media_type TEXT NOT NULL,
  size INTEGER NOT NULL,
  sha256 TEXT NOT NULL,                -- hex
  file TEXT NOT NULL,                  -- in the folder of the run's session
  created_at INTEGER NOT NULL,
  PRIMARY KEY (run_id, role, name)
) WITHOUT ROWID;

CREATE TABLE IF NOT EXISTS series (
  id INTEGER PRIMARY KEY,
  run_id INTEGER NOT NULL REFERENCES run(id) ON DELETE CASCADE,
  role TEXT NOT NULL,
  dir TEXT NOT NULL,
  measure TEXT NOT NULL,
  UNIQUE (run_id, role, dir, measure)
);

CREATE TABLE IF NOT EXISTS point (
  series_id INTEGER NOT NULL REFERENCES series(id) ON DELETE CASCADE,
  t INTEGER NOT NULL,                  -- interval start, s since 1970
  lease_id TEXT NOT NULL,
  n INTEGER NOT NULL,
  min REAL NOT NULL,
  max REAL NOT NULL,
  avg REAL NOT NULL,
  median REAL NOT NULL,
  p75 REAL NOT NULL,
  p90 REAL NOT NULL,
  p95 REAL NOT NULL,
  stddev REAL NOT NULL,
  sketch_json TEXT,
  PRIMARY KEY (series_id, t, lease_id)
) WITHOUT ROWID;

-- Run starts that carried an Idempotency-Key, for 24 hours.
CREATE TABLE IF NOT EXISTS idempotency (
  key_id INTEGER NOT NULL,             -- of api_key
  name TEXT NOT NULL,                  -- the header's value
  request_hash BLOB NOT NULL,          -- method, address and body
  status INTEGER,                      -- of the answer; NULL: in progress
  started TEXT,                        -- session or UUID of what it started
  response_json TEXT,
  created_at INTEGER NOT NULL,
  PRIMARY KEY (key_id, name)
);
CREATE INDEX IF NOT EXISTS idempotency_by_age ON idempotency (created_at);

-- The files are named by their ids, below state_dir.
CREATE TABLE IF NOT EXISTS appimage (
  id INTEGER PRIMARY KEY,
  name TEXT NOT NULL,
  version TEXT NOT NULL DEFAULT '',
  kind TEXT NOT NULL,                  -- application | prompt
  filename TEXT NOT NULL,              -- as the client called it
  media_type TEXT NOT NULL,
  size INTEGER NOT NULL,
  sha256 TEXT NOT NULL,                -- hex
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  UNIQUE (name, version)
);
