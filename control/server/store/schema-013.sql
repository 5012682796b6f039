-- Step 13: who changed what, when, from where. Part of the released schema:
-- never changed. An entry is written in the transaction of its change.
CREATE TABLE audit (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  at INTEGER NOT NULL,
  actor_kind TEXT NOT NULL,            -- key user nobody
  actor_id INTEGER,                    -- of api_key or web_user
  actor TEXT,                          -- its name at that time
  address TEXT NOT NULL,
  request_id TEXT NOT NULL,
  method TEXT NOT NULL,
  path TEXT NOT NULL,                  -- below the root, without query
  kind TEXT,                           -- of the record: test project run ...
  record_id INTEGER,
  record TEXT,                         -- its name at that time
  outcome TEXT NOT NULL                -- changed refused
);
