-- Alerts of the server itself, which come from no log.
CREATE TABLE alert_of_any (
    id INTEGER PRIMARY KEY,
    project_id INTEGER NOT NULL REFERENCES project (id),
    run_id INTEGER NOT NULL REFERENCES run (id),
    writer_id INTEGER REFERENCES writer (id),
    log_offset INTEGER NOT NULL,
    level TEXT NOT NULL,
    title TEXT NOT NULL,
    body TEXT NOT NULL,
    at_ms INTEGER NOT NULL,
    received_ms INTEGER NOT NULL,
    UNIQUE (writer_id, log_offset)
) STRICT;
INSERT INTO alert_of_any (id, project_id, run_id, writer_id, log_offset, level, title, body, at_ms, received_ms)
SELECT id, project_id, run_id, writer_id, log_offset, level, title, body, at_ms, received_ms FROM alert;
DROP TABLE alert;
ALTER TABLE alert_of_any RENAME TO alert;
CREATE INDEX alert_by_project ON alert (project_id, id);
CREATE INDEX alert_by_run ON alert (run_id, id);
