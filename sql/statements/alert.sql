-- What training scripts told people, newest first.

-- name: alert_insert
INSERT INTO alert (project_id, run_id, writer_id, log_offset, level, title, body, at_ms, received_ms)
VALUES (:project_id, :run_id, :writer_id, :log_offset, :level, :title, :body, :at_ms, :received_ms)
ON CONFLICT (writer_id, log_offset) DO NOTHING;

-- columns: alert_columns
a.id, r.public_id, r.name, a.level, a.title, a.body, a.at_ms, a.received_ms

-- name: alert_list
SELECT {alert_columns} FROM alert a JOIN run r ON r.id = a.run_id
WHERE a.project_id = :project_id AND r.project_id = a.project_id AND a.id < :before_id ORDER BY a.id DESC LIMIT :limit;

-- name: alert_list_of_run
SELECT {alert_columns} FROM alert a JOIN run r ON r.id = a.run_id
WHERE a.run_id = :run_id AND a.id < :before_id ORDER BY a.id DESC LIMIT :limit;
