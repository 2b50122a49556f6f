-- The metrics of a run are listed and searched by name, so the name lies beside them.
ALTER TABLE run_metric ADD COLUMN name TEXT NOT NULL DEFAULT '';
ALTER TABLE run_metric ADD COLUMN kind INTEGER NOT NULL DEFAULT 0;
UPDATE run_metric SET
    name = (SELECT m.name FROM metric_name m WHERE m.id = run_metric.metric_id),
    kind = (SELECT m.kind FROM metric_name m WHERE m.id = run_metric.metric_id);
CREATE INDEX run_metric_by_name ON run_metric (run_id, name, kind);
