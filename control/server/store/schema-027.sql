-- Step 27: points in blocks (point_block.h), instead of a row a point. Part of the
-- released schema: never changed (docs/internals/testing.md, "Migrations"). What it does
-- with the points of before is in point_migration.c.

-- What the metrics of tests show of a run, beside its means.
ALTER TABLE run_verdict ADD COLUMN mos_min REAL;
ALTER TABLE run_verdict ADD COLUMN loss_pct REAL;
ALTER TABLE run_verdict ADD COLUMN pdd_max_ms REAL;
UPDATE run_verdict SET
  mos_min = (SELECT min(p.min) FROM series s
    JOIN point p ON p.series_id = s.id
    WHERE s.run_id = run_verdict.run_id AND s.measure = 'rtp_mos'
      AND s.dir = 'in'),
  loss_pct = (SELECT sum(p.n * p.avg) / sum(p.n) FROM series s
    JOIN point p ON p.series_id = s.id
    WHERE s.run_id = run_verdict.run_id AND s.measure = 'rtp_lost_pct'
      AND s.dir = 'in'),
  pdd_max_ms = (SELECT max(p.max) FROM series s
    JOIN point p ON p.series_id = s.id
    WHERE s.run_id = run_verdict.run_id AND s.measure = 'sip_pdd');

CREATE TABLE point_block (
  run_id INTEGER NOT NULL REFERENCES run(id) ON DELETE CASCADE,
  series_id INTEGER NOT NULL,          -- 0: of an upload, points of any series
  lease_id TEXT NOT NULL,
  seq INTEGER NOT NULL,                -- of the upload, the last one; < 0: of
                                       -- before this step
  block BLOB NOT NULL,
  PRIMARY KEY (run_id, series_id, lease_id, seq)
) WITHOUT ROWID;

-- Work that is not done: blocks of the series behind this lease and upload, and
-- those of later series. A series that was begun is begun again: what is thinned
-- stays as it is.
CREATE TABLE thinning_block (
  run_id INTEGER NOT NULL REFERENCES run(id) ON DELETE CASCADE,
  series_id INTEGER NOT NULL,
  lease_id TEXT NOT NULL,              -- '': none
  seq INTEGER NOT NULL,
  PRIMARY KEY (run_id)
) WITHOUT ROWID;
INSERT INTO thinning_block SELECT run_id, series_id, '', 0 FROM thinning;
DROP TABLE thinning;
ALTER TABLE thinning_block RENAME TO thinning;
