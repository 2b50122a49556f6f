-- What the runs table is filtered, sorted and grouped by: fields of runs and everything in their
-- configuration and summary, one row a value. `number` is an order-preserving int64 of a float64;
-- `text` is the first 512 bytes, as bytes, so that both databases order it alike.
CREATE TABLE attribute_key (
    id INTEGER PRIMARY KEY,
    project_id INTEGER NOT NULL REFERENCES project (id),
    space INTEGER NOT NULL,
    name TEXT NOT NULL,
    run_count INTEGER NOT NULL,
    value_count INTEGER NOT NULL,
    UNIQUE (project_id, space, name)
) STRICT;

CREATE TABLE attribute (
    key_id INTEGER NOT NULL REFERENCES attribute_key (id),
    kind INTEGER NOT NULL,
    number INTEGER NOT NULL,
    text BLOB NOT NULL,
    run_id INTEGER NOT NULL REFERENCES run (id),
    PRIMARY KEY (key_id, kind, number, text, run_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX attribute_by_run ON attribute (run_id, key_id, kind, number, text);

CREATE INDEX run_metric_by_metric ON run_metric (metric_id, run_id, last_bits, min_bits, max_bits);

-- Runs from before this table have 0 until they are indexed.
ALTER TABLE run ADD COLUMN indexed INTEGER NOT NULL DEFAULT 0;
CREATE INDEX run_by_indexed ON run (indexed, id);
