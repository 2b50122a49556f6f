-- What a run recorded, row by row: euvyra export reads it, euvyra import writes it. Columns that
-- number rows of this database (ids) are told by name.

-- name: dump_run_read
-- one row
SELECT u.login AS owner, x.public_id, x.name, x.state, x.run_group, x.job_type, x.host, x.notes,
    x.tags, x.command, x.reason, x.exit_code, x.exit_signal, x.oom, x.created_ms, x.started_ms,
    x.ended_ms, x.seen_ms, x.cost_micro, x.console_bytes, x.console_final, x.create_hash,
    x.job_public_id, x.parent_public_id, x.parent_step, x.redacted, x.stop_asked_ms,
    x.facts_cut
FROM run x JOIN app_user u ON u.id = x.owner_id WHERE x.id = :run_id;

-- name: dump_run_write
INSERT INTO run (project_id, owner_id, facts_stale, indexed, public_id, name, state, run_group, job_type, host,
    notes, tags, command, reason, exit_code, exit_signal, oom, created_ms, started_ms, ended_ms,
    seen_ms, cost_micro, console_bytes, console_final, create_hash, job_public_id, parent_public_id,
    parent_step, redacted, stop_asked_ms, facts_cut)
VALUES (:project_id, :owner_id, 0, 0, :public_id, :name, :state, :run_group, :job_type, :host, :notes,
    :tags, :command, :reason, :exit_code, :exit_signal, :oom, :created_ms, :started_ms, :ended_ms,
    :seen_ms, :cost_micro, :console_bytes, :console_final, :create_hash, :job_public_id,
    :parent_public_id, :parent_step, :redacted, :stop_asked_ms, :facts_cut)
RETURNING id;

-- name: dump_doc_read
SELECT x.kind, x.body
FROM run_doc x
WHERE x.run_id = :run_id
ORDER BY x.kind LIMIT :limit OFFSET :skip;

-- name: dump_doc_write
INSERT INTO run_doc (run_id, kind, body)
VALUES (:run_id, :kind, :body);

-- name: dump_console_read
SELECT x.start_offset, x.end_offset, x.data
FROM run_console x
WHERE x.run_id = :run_id
ORDER BY x.start_offset LIMIT :limit OFFSET :skip;

-- name: dump_console_write
INSERT INTO run_console (run_id, start_offset, end_offset, data)
VALUES (:run_id, :start_offset, :end_offset, :data);

-- name: dump_file_read
SELECT x.path, x.detail
FROM run_file x
WHERE x.run_id = :run_id
ORDER BY x.path LIMIT :limit OFFSET :skip;

-- name: dump_file_write
INSERT INTO run_file (run_id, path, detail)
VALUES (:run_id, :path, :detail);

-- name: dump_gone_read
SELECT x.writer_public_id, x.at_ms, x.oom
FROM writer_gone x
WHERE x.run_id = :run_id
ORDER BY x.writer_public_id LIMIT :limit OFFSET :skip;

-- name: dump_gone_write
INSERT INTO writer_gone (run_id, writer_public_id, at_ms, oom)
VALUES (:run_id, :writer_public_id, :at_ms, :oom);

-- name: dump_writer_read
SELECT x.public_id, x.kind, x.started_ms, x.committed_offset, x.committed_crc, x.applied_offset,
    x.compacted_offset, x.fenced, x.ended, x.host, x.rank_no, x.local_rank, x.world_size,
    x.epoch_kind, x.epoch_key, x.epoch_step, x.first_step, x.heard_ms, x.ended_ms, x.exit_code,
    x.exit_signal, x.oom, x.reason, x.preempting, x.redacted, x.console_bytes
FROM writer x
WHERE x.run_id = :run_id
ORDER BY x.id LIMIT :limit OFFSET :skip;

-- name: dump_writer_write
INSERT INTO writer (run_id, public_id, kind, started_ms, committed_offset, committed_crc, applied_offset,
    compacted_offset, fenced, ended, host, rank_no, local_rank, world_size, epoch_kind, epoch_key,
    epoch_step, first_step, heard_ms, ended_ms, exit_code, exit_signal, oom, reason, preempting,
    redacted, console_bytes)
VALUES (:run_id, :public_id, :kind, :started_ms, :committed_offset, :committed_crc, :applied_offset,
    :compacted_offset, :fenced, :ended, :host, :rank_no, :local_rank, :world_size, :epoch_kind,
    :epoch_key, :epoch_step, :first_step, :heard_ms, :ended_ms, :exit_code, :exit_signal, :oom,
    :reason, :preempting, :redacted, :console_bytes)
RETURNING id;

-- name: dump_writer_doc_read
SELECT w.public_id AS writer, x.kind, x.body
FROM writer_doc x JOIN writer w ON w.id = x.writer_id
WHERE w.run_id = :run_id
ORDER BY x.writer_id, x.kind LIMIT :limit OFFSET :skip;

-- name: dump_writer_doc_write
INSERT INTO writer_doc (writer_id, kind, body)
VALUES (:writer_id, :kind, :body);

-- name: dump_writer_console_read
SELECT w.public_id AS writer, x.start_offset, x.end_offset, x.data
FROM writer_console x JOIN writer w ON w.id = x.writer_id
WHERE w.run_id = :run_id
ORDER BY x.writer_id, x.start_offset LIMIT :limit OFFSET :skip;

-- name: dump_writer_console_write
INSERT INTO writer_console (writer_id, start_offset, end_offset, data)
VALUES (:writer_id, :start_offset, :end_offset, :data);

-- name: dump_log_read
SELECT w.public_id AS writer, x.start_offset, x.end_offset, x.data
FROM log_blob x JOIN writer w ON w.id = x.writer_id
WHERE w.run_id = :run_id
ORDER BY x.writer_id, x.start_offset LIMIT :limit OFFSET :skip;

-- name: dump_log_write
INSERT INTO log_blob (writer_id, start_offset, end_offset, data)
VALUES (:writer_id, :start_offset, :end_offset, :data);

-- name: dump_record_read
SELECT w.public_id AS writer, x.log_offset, x.record_type, x.payload
FROM log_record x JOIN writer w ON w.id = x.writer_id
WHERE w.run_id = :run_id
ORDER BY x.writer_id, x.log_offset LIMIT :limit OFFSET :skip;

-- name: dump_record_write
INSERT INTO log_record (writer_id, log_offset, record_type, payload)
VALUES (:writer_id, :log_offset, :record_type, :payload);

-- name: dump_alert_read
SELECT w.public_id AS writer, x.log_offset, x.level, x.title, x.body, x.at_ms, x.received_ms
FROM alert x LEFT JOIN writer w ON w.id = x.writer_id
WHERE x.run_id = :run_id
ORDER BY x.id LIMIT :limit OFFSET :skip;

-- name: dump_alert_write
INSERT INTO alert (writer_id, project_id, run_id, log_offset, level, title, body, at_ms, received_ms)
VALUES (:writer_id, :project_id, :run_id, :log_offset, :level, :title, :body, :at_ms, :received_ms);

-- name: dump_name_read
SELECT w.public_id AS writer, x.local_id, m.name, m.kind
FROM writer_name x JOIN writer w ON w.id = x.writer_id JOIN metric_name m ON m.id = x.metric_id
WHERE w.run_id = :run_id
ORDER BY x.writer_id, x.local_id LIMIT :limit OFFSET :skip;

-- name: dump_name_write
INSERT INTO writer_name (writer_id, metric_id, local_id)
VALUES (:writer_id, :metric_id, :local_id);

-- name: dump_metric_read
SELECT x.name, x.kind, x.point_count, x.finite_count, x.last_step, x.last_bits, x.min_bits, x.max_bits,
    x.sum_bits, x.first_bits, x.first_step, x.last_at_ms, x.first_at_ms, x.min_step, x.max_step,
    x.metric_id
FROM run_metric x WHERE x.run_id = :run_id
ORDER BY x.name, x.kind LIMIT :limit OFFSET :skip;

-- name: dump_metric_write
INSERT INTO run_metric (run_id, metric_id, name, kind, point_count, finite_count, last_step, last_bits, min_bits,
    max_bits, sum_bits, first_bits, first_step, last_at_ms, first_at_ms, min_step, max_step)
VALUES (:run_id, :metric_id, :name, :kind, :point_count, :finite_count, :last_step, :last_bits,
    :min_bits, :max_bits, :sum_bits, :first_bits, :first_step, :last_at_ms, :first_at_ms, :min_step,
    :max_step);

-- name: dump_series_read
SELECT m.name, m.kind, w.public_id AS writer, x.point_count, x.step_min, x.step_max, x.at_min_ms,
    x.at_max_ms, x.log_offset, x.tail
FROM metric_series x JOIN writer w ON w.id = x.writer_id
JOIN metric_name m ON m.id = x.metric_id
WHERE x.run_id = :run_id AND x.metric_id = :metric_id
ORDER BY x.writer_id LIMIT :limit OFFSET :skip;

-- name: dump_series_write
INSERT INTO metric_series (run_id, metric_id, writer_id, point_count, step_min, step_max, at_min_ms,
    at_max_ms, log_offset, tail)
VALUES (:run_id, :metric_id, :writer_id, :point_count, :step_min, :step_max, :at_min_ms, :at_max_ms,
    :log_offset, :tail);

-- name: dump_chunk_read
SELECT m.name, m.kind, w.public_id AS writer, x.seq, t.name AS times_of, x.data
FROM metric_chunk x JOIN writer w ON w.id = x.writer_id
JOIN metric_name m ON m.id = x.metric_id LEFT JOIN metric_name t ON t.id = x.times_of
WHERE x.run_id = :run_id AND x.metric_id = :metric_id
ORDER BY x.writer_id, x.seq LIMIT :limit OFFSET :skip;

-- name: dump_chunk_write
INSERT INTO metric_chunk (run_id, metric_id, writer_id, seq, times_of, data)
VALUES (:run_id, :metric_id, :writer_id, :seq, :times_of, :data);

-- name: dump_level_read
SELECT m.name, m.kind, w.public_id AS writer, x.level, x.seq, t.name AS times_of, x.data
FROM metric_level x JOIN writer w ON w.id = x.writer_id
JOIN metric_name m ON m.id = x.metric_id LEFT JOIN metric_name t ON t.id = x.times_of
WHERE x.run_id = :run_id AND x.metric_id = :metric_id
ORDER BY x.writer_id, x.level, x.seq LIMIT :limit OFFSET :skip;

-- name: dump_level_write
INSERT INTO metric_level (run_id, metric_id, writer_id, level, seq, times_of, data)
VALUES (:run_id, :metric_id, :writer_id, :level, :seq, :times_of, :data);

-- name: dump_stamp
-- one row
SELECT count(id), CAST(coalesce(sum(committed_offset), 0) AS INTEGER),
    CAST(coalesce(sum(applied_offset), 0) AS INTEGER),
    CAST(coalesce(sum(compacted_offset), 0) AS INTEGER),
    CAST(coalesce(sum(console_bytes), 0) AS INTEGER)
FROM writer WHERE run_id = :run_id;
