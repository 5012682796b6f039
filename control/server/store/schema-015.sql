-- Step 15: what is kept for how long. Part of the released schema: never changed.
ALTER TABLE run ADD COLUMN keep INTEGER NOT NULL DEFAULT 0; -- 1: for ever
-- When a kind of data was deleted from the run; NULL: it was not.
ALTER TABLE run ADD COLUMN metrics_removed_at INTEGER;
ALTER TABLE run ADD COLUMN sip_removed_at INTEGER;
ALTER TABLE run ADD COLUMN artifacts_removed_at INTEGER;

-- Bytes of a run that is over, measured once; 0 of what was deleted.
CREATE TABLE run_size (
  run_id INTEGER PRIMARY KEY REFERENCES run(id) ON DELETE CASCADE,
  metrics INTEGER NOT NULL,
  sip INTEGER NOT NULL,
  artifacts INTEGER NOT NULL,
  events INTEGER NOT NULL
);
-- Retention goes through the runs from the oldest on.
CREATE INDEX run_by_stop ON run (stopped_at, id) WHERE phase = 'done';
