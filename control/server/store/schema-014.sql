-- Step 14: data that is deleted in chunks. Part of the released schema: never
-- changed. A run whose status is 'deleted' is shown nowhere: its rows and files
-- are being removed. A row here is work that is not done, also after a restart.
CREATE TABLE removal (
  run_id INTEGER NOT NULL REFERENCES run(id) ON DELETE CASCADE,
  kind TEXT NOT NULL,                  -- run
  PRIMARY KEY (run_id, kind)
) WITHOUT ROWID;
CREATE INDEX run_shown ON run (id, status) WHERE status <> 'deleted';
