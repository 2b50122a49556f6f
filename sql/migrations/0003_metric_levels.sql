-- What one writer logged of one metric: how many of its points were taken from the log, their ranges,
-- and the log offset up to which. Full chunks lie in metric_chunk and never change; the points after
-- the last of them, fewer than a chunk holds, are the tail.
CREATE TABLE metric_series (
    run_id INTEGER NOT NULL REFERENCES run (id),
    metric_id INTEGER NOT NULL REFERENCES metric_name (id),
    writer_id INTEGER NOT NULL REFERENCES writer (id),
    point_count INTEGER NOT NULL,
    step_min INTEGER NOT NULL,
    step_max INTEGER NOT NULL,
    at_min_ms INTEGER NOT NULL,
    at_max_ms INTEGER NOT NULL,
    log_offset INTEGER NOT NULL,
    tail BLOB,
    PRIMARY KEY (run_id, metric_id, writer_id)
) STRICT;

-- The pyramid over the chunks of a series: of level 1 a row of records each, of the levels above
-- several rows, and as seq -1 the one that is not complete yet.
CREATE TABLE metric_level (
    run_id INTEGER NOT NULL REFERENCES run (id),
    metric_id INTEGER NOT NULL REFERENCES metric_name (id),
    writer_id INTEGER NOT NULL REFERENCES writer (id),
    level INTEGER NOT NULL,
    seq INTEGER NOT NULL,
    times_of INTEGER REFERENCES metric_name (id), -- whose row has the times of this one too
    data BLOB NOT NULL,
    PRIMARY KEY (run_id, metric_id, writer_id, level, seq)
) STRICT;

-- A summary of every metric by itself.
ALTER TABLE run_metric ADD COLUMN sum_bits INTEGER NOT NULL DEFAULT 0;
ALTER TABLE run_metric ADD COLUMN first_bits INTEGER NOT NULL DEFAULT 0;
ALTER TABLE run_metric ADD COLUMN first_step INTEGER NOT NULL DEFAULT 0;
ALTER TABLE run_metric ADD COLUMN last_at_ms INTEGER NOT NULL DEFAULT 0;
ALTER TABLE run_metric ADD COLUMN first_at_ms INTEGER NOT NULL DEFAULT 0;
ALTER TABLE run_metric ADD COLUMN min_step INTEGER NOT NULL DEFAULT 0;
ALTER TABLE run_metric ADD COLUMN max_step INTEGER NOT NULL DEFAULT 0;
