-- Step 11: what lists of tests, the overview and trends read of a run that is
-- over, one narrow row a run, in the order of the tests. Part of the released
-- schema: never changed (docs/internals/testing.md, "Migrations").

-- Hash of what the run was started with: steps and conditions, overrides
-- applied. Two runs with the same one ran the same test. NULL: started before
-- this step.
ALTER TABLE run ADD COLUMN test_print TEXT;

CREATE TABLE run_verdict (
  test_id INTEGER NOT NULL,            -- 0: of no test
  run_id INTEGER NOT NULL REFERENCES run(id) ON DELETE CASCADE,
  session_id TEXT NOT NULL,
  status TEXT NOT NULL,                -- passed failed errored stopped
  test_print TEXT,
  created_at INTEGER NOT NULL,
  started_at INTEGER,
  stopped_at INTEGER NOT NULL,
  mos REAL,                            -- means of the run; NULL: not measured
  pdd_ms REAL,
  register_ms REAL,
  PRIMARY KEY (test_id, run_id)
) WITHOUT ROWID;
CREATE UNIQUE INDEX run_verdict_by_run ON run_verdict (run_id);
-- Trends read this index alone.
CREATE INDEX run_verdict_by_end
  ON run_verdict (stopped_at, status, mos, pdd_ms, register_ms);

INSERT INTO run_verdict
  SELECT coalesce(r.test_id, 0), r.id, r.session_id, r.status, NULL,
    r.created_at, r.started_at, r.stopped_at,
    (SELECT sum(p.n * p.avg) / sum(p.n) FROM series s
      JOIN point p ON p.series_id = s.id
      WHERE s.run_id = r.id AND s.measure = 'rtp_mos' AND s.dir = 'in'),
    (SELECT sum(p.n * p.avg) / sum(p.n) FROM series s
      JOIN point p ON p.series_id = s.id
      WHERE s.run_id = r.id AND s.measure = 'sip_pdd'),
    (SELECT sum(p.n * p.avg) / sum(p.n) FROM series s
      JOIN point p ON p.series_id = s.id
      WHERE s.run_id = r.id AND s.measure = 'sip_register_time')
  FROM run r WHERE r.phase = 'done' AND r.stopped_at IS NOT NULL;

-- Numbers that change with what is read often, so that a reader sees by one row
-- whether what it holds is still so. Kept by triggers: no writer can forget.
CREATE TABLE revision (
  name TEXT PRIMARY KEY,
  value INTEGER NOT NULL
) WITHOUT ROWID;
INSERT INTO revision (name, value) VALUES
  ('verdicts', 0),                     -- verdicts, tests, projects
  ('verdicts_gone', 0);                -- verdicts that were deleted

CREATE TRIGGER run_verdict_made AFTER INSERT ON run_verdict BEGIN
  UPDATE revision SET value = value + 1 WHERE name = 'verdicts';
END;
CREATE TRIGGER run_verdict_gone AFTER DELETE ON run_verdict BEGIN
  UPDATE revision SET value = value + 1;
END;
CREATE TRIGGER test_made AFTER INSERT ON test BEGIN
  UPDATE revision SET value = value + 1 WHERE name = 'verdicts';
END;
CREATE TRIGGER test_changed AFTER UPDATE ON test BEGIN
  UPDATE revision SET value = value + 1 WHERE name = 'verdicts';
END;
CREATE TRIGGER test_gone AFTER DELETE ON test BEGIN
  UPDATE revision SET value = value + 1 WHERE name = 'verdicts';
END;
CREATE TRIGGER project_changed AFTER UPDATE ON project BEGIN
  UPDATE revision SET value = value + 1 WHERE name = 'verdicts';
END;

-- /runs?test=NAME of the pages.
CREATE INDEX run_by_test_name ON run (test_name, id);
