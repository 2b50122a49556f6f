-- Logs as they arrive, and what is decoded from them.

-- name: writer_insert
INSERT INTO writer (public_id, run_id, kind, started_ms, committed_offset, committed_crc,
    applied_offset, compacted_offset, fenced, ended)
VALUES (:public_id, :run_id, '', :started_ms, 0, 0, 0, 0, :fenced, 0)
RETURNING id;

-- columns: writer_columns
id, public_id, run_id, kind, started_ms, committed_offset, committed_crc, applied_offset,
    compacted_offset, fenced, ended, host, rank_no, local_rank, world_size, epoch_kind, epoch_key,
    epoch_step, first_step, heard_ms, ended_ms, exit_code, exit_signal, oom, reason,
    preempting, redacted, console_bytes

-- name: writer_by_public_id
-- one row
SELECT {writer_columns}
FROM writer WHERE run_id = :run_id AND public_id = :public_id;

-- name: writer_by_id
-- one row
SELECT {writer_columns}
FROM writer WHERE id = :id;

-- name: writer_list
SELECT {writer_columns}
FROM writer WHERE run_id = :run_id ORDER BY started_ms, public_id LIMIT :limit;

-- name: writer_unapplied_list
SELECT {writer_columns}
FROM writer WHERE id > :after_id AND applied_offset < committed_offset AND fenced = 0
ORDER BY id LIMIT :limit;

-- name: writer_uncompacted_list
SELECT {writer_columns}
FROM writer WHERE compacted_offset < applied_offset
    AND (ended = 1 OR applied_offset - compacted_offset >= :bytes_min)
ORDER BY id LIMIT :limit;

-- name: writer_committed
UPDATE writer SET committed_offset = :committed_offset, committed_crc = :committed_crc
WHERE id = :id AND committed_offset = :expected_offset;

-- name: writer_applied
UPDATE writer SET applied_offset = :applied_offset, kind = :kind, started_ms = :started_ms,
    ended = :ended, host = :host, rank_no = :rank_no, local_rank = :local_rank,
    world_size = :world_size, epoch_kind = :epoch_kind, epoch_key = :epoch_key,
    epoch_step = :epoch_step, first_step = :first_step, heard_ms = :heard_ms,
    ended_ms = :ended_ms, exit_code = :exit_code, exit_signal = :exit_signal, oom = :oom,
    reason = :reason, preempting = :preempting, redacted = :redacted,
    console_bytes = :console_bytes
WHERE id = :id AND applied_offset = :expected_offset;

-- name: writer_gone_set
INSERT INTO writer_gone (run_id, writer_public_id, at_ms, oom)
VALUES (:run_id, :writer_public_id, :at_ms, :oom)
ON CONFLICT (run_id, writer_public_id) DO UPDATE SET at_ms = excluded.at_ms, oom = excluded.oom
WHERE excluded.at_ms < writer_gone.at_ms;

-- name: writer_gone_list
SELECT writer_public_id, at_ms, oom FROM writer_gone
WHERE run_id = :run_id ORDER BY writer_public_id LIMIT :limit;

-- name: writer_doc_set
INSERT INTO writer_doc (writer_id, kind, body) VALUES (:writer_id, :kind, :body)
ON CONFLICT (writer_id, kind) DO UPDATE SET body = excluded.body;

-- name: writer_doc_get
-- one row
SELECT body FROM writer_doc WHERE writer_id = :writer_id AND kind = :kind;

-- name: writer_doc_list
SELECT d.body FROM writer_doc d JOIN writer w ON w.id = d.writer_id
WHERE w.run_id = :run_id AND d.kind = :kind AND w.fenced = 0
ORDER BY w.started_ms, w.public_id LIMIT :limit;

-- name: writer_doc_writers
SELECT d.writer_id FROM writer_doc d JOIN writer w ON w.id = d.writer_id
WHERE w.run_id = :run_id AND d.kind = :kind AND length(d.body) <= :chars_max
ORDER BY d.writer_id LIMIT :limit;

-- name: writer_doc_later
-- one row
SELECT count(w.id) FROM writer_doc d JOIN writer w ON w.id = d.writer_id
WHERE w.run_id = :run_id AND d.kind = :kind
    AND (w.started_ms > :started_ms OR (w.started_ms = :started_ms AND w.public_id > :public_id));

-- name: writer_console_insert
INSERT INTO writer_console (writer_id, start_offset, end_offset, data)
VALUES (:writer_id, :start_offset, :end_offset, :data);

-- name: writer_console_read
SELECT start_offset, end_offset, data FROM writer_console
WHERE writer_id = :writer_id AND start_offset >= coalesce(
    (SELECT max(c.start_offset) FROM writer_console c
     WHERE c.writer_id = :writer_id AND c.start_offset <= :from_offset), 0)
    AND start_offset < :to_offset
ORDER BY start_offset LIMIT :limit;

-- name: writer_compacted
UPDATE writer SET compacted_offset = :compacted_offset
WHERE id = :id AND compacted_offset = :expected_offset;

-- name: writer_fence
UPDATE writer SET fenced = 1 WHERE id = :id;

-- name: log_blob_insert
INSERT INTO log_blob (writer_id, start_offset, end_offset, data)
VALUES (:writer_id, :start_offset, :end_offset, :data);

-- name: log_blob_list
SELECT start_offset, end_offset, data FROM log_blob
WHERE writer_id = :writer_id AND start_offset >= :from_offset
ORDER BY start_offset LIMIT :limit;

-- name: log_blob_delete_before
DELETE FROM log_blob WHERE writer_id = :writer_id AND end_offset <= :before_offset;

-- name: log_record_insert
INSERT INTO log_record (writer_id, log_offset, record_type, payload)
VALUES (:writer_id, :log_offset, :record_type, :payload);

-- name: metric_name_insert
INSERT INTO metric_name (project_id, kind, name) VALUES (:project_id, :kind, :name)
ON CONFLICT (project_id, kind, name) DO NOTHING;

-- name: metric_name_get
-- one row
SELECT id FROM metric_name WHERE project_id = :project_id AND kind = :kind AND name = :name;

-- name: writer_name_set
INSERT INTO writer_name (writer_id, local_id, metric_id) VALUES (:writer_id, :local_id, :metric_id)
ON CONFLICT (writer_id, local_id) DO UPDATE SET metric_id = excluded.metric_id;

-- name: writer_name_list
SELECT n.local_id, n.metric_id, m.kind FROM writer_name n JOIN metric_name m ON m.id = n.metric_id
WHERE n.writer_id = :writer_id AND n.local_id > :after_local_id ORDER BY n.local_id LIMIT :limit;

-- columns: facts_columns
r.point_count, r.finite_count, r.last_bits, r.first_bits, r.min_bits, r.max_bits, r.sum_bits,
    r.last_step, r.first_step, r.min_step, r.max_step, r.last_at_ms, r.first_at_ms

-- name: run_metric_get
-- one row
SELECT {facts_columns}
FROM run_metric r WHERE r.run_id = :run_id AND r.metric_id = :metric_id;

-- name: writer_facts_list
SELECT {facts_columns}, n.local_id, n.metric_id
FROM writer_name n LEFT JOIN run_metric r ON r.run_id = :run_id AND r.metric_id = n.metric_id
WHERE n.writer_id = :writer_id AND n.local_id >= :from_local_id AND n.local_id <= :to_local_id
ORDER BY n.local_id LIMIT :limit;

-- name: run_metric_delete
DELETE FROM run_metric WHERE run_id = :run_id AND metric_id = :metric_id;

-- name: run_metric_update
UPDATE run_metric SET point_count = :point_count, finite_count = :finite_count,
    last_bits = :last_bits, first_bits = :first_bits, min_bits = :min_bits, max_bits = :max_bits,
    sum_bits = :sum_bits, last_step = :last_step, first_step = :first_step, min_step = :min_step,
    max_step = :max_step, last_at_ms = :last_at_ms, first_at_ms = :first_at_ms
WHERE run_id = :run_id AND metric_id = :metric_id;

-- name: run_metric_set
INSERT INTO run_metric (run_id, metric_id, name, kind,
    point_count, finite_count, last_bits, first_bits, min_bits, max_bits, sum_bits, last_step,
    first_step, min_step, max_step, last_at_ms, first_at_ms)
SELECT CAST(:run_id AS INTEGER), m.id, m.name, m.kind,
    CAST(:point_count AS INTEGER), CAST(:finite_count AS INTEGER), CAST(:last_bits AS INTEGER),
    CAST(:first_bits AS INTEGER), CAST(:min_bits AS INTEGER), CAST(:max_bits AS INTEGER),
    CAST(:sum_bits AS INTEGER), CAST(:last_step AS INTEGER), CAST(:first_step AS INTEGER),
    CAST(:min_step AS INTEGER), CAST(:max_step AS INTEGER), CAST(:last_at_ms AS INTEGER),
    CAST(:first_at_ms AS INTEGER)
FROM metric_name m WHERE m.id = :metric_id
ON CONFLICT (run_id, metric_id) DO UPDATE SET
    point_count = excluded.point_count, finite_count = excluded.finite_count,
    last_bits = excluded.last_bits, first_bits = excluded.first_bits,
    min_bits = excluded.min_bits, max_bits = excluded.max_bits, sum_bits = excluded.sum_bits,
    last_step = excluded.last_step, first_step = excluded.first_step,
    min_step = excluded.min_step, max_step = excluded.max_step,
    last_at_ms = excluded.last_at_ms, first_at_ms = excluded.first_at_ms;

-- name: run_metric_list
SELECT {facts_columns}, r.metric_id, r.name, r.kind
FROM run_metric r
WHERE r.run_id = :run_id AND (:kind < 0 OR r.kind = :kind) AND r.name >= :from_name
    AND (:below_name = '' OR r.name < :below_name)
    AND (r.name > :after_name OR (r.name = :after_name AND r.kind > :after_kind))
    AND (:contains_like = '' OR r.name LIKE :contains_like ESCAPE '!')
ORDER BY r.name, r.kind LIMIT :limit;

-- name: run_metric_names
SELECT r.name, r.kind
FROM run_metric r
WHERE r.run_id = :run_id AND (:kind < 0 OR r.kind = :kind) AND r.name >= :from_name
    AND (:below_name = '' OR r.name < :below_name)
    AND (r.name > :after_name OR (r.name = :after_name AND r.kind > :after_kind))
    AND (:contains_like = '' OR r.name LIKE :contains_like ESCAPE '!')
ORDER BY r.name, r.kind LIMIT :limit;

-- name: run_metric_by_name
SELECT {facts_columns}, r.metric_id, r.name, r.kind
FROM run_metric r
WHERE r.run_id = :run_id AND r.name = :name AND r.kind = :kind LIMIT 1;

-- name: metric_id_find
SELECT id, kind FROM metric_name WHERE project_id = :project_id AND name = :name
ORDER BY kind LIMIT 2;

-- name: metric_chunk_insert
INSERT INTO metric_chunk (run_id, metric_id, writer_id, seq, times_of, data)
VALUES (:run_id, :metric_id, :writer_id, :seq, :times_of, :data);

-- name: metric_chunk_get
-- one row
SELECT data FROM metric_chunk
WHERE run_id = :run_id AND metric_id = :metric_id AND writer_id = :writer_id AND seq = :seq;

-- name: metric_chunk_get_timed
-- one row
SELECT c.data, t.data FROM metric_chunk c LEFT JOIN metric_chunk t ON t.run_id = c.run_id
    AND t.metric_id = c.times_of AND t.writer_id = c.writer_id AND t.seq = c.seq
WHERE c.run_id = :run_id AND c.metric_id = :metric_id AND c.writer_id = :writer_id AND c.seq = :seq;

-- name: metric_series_get
-- one row
SELECT point_count, step_min, step_max, at_min_ms, at_max_ms, log_offset FROM metric_series
WHERE run_id = :run_id AND metric_id = :metric_id AND writer_id = :writer_id;

-- name: metric_series_tail
-- one row
SELECT tail FROM metric_series
WHERE run_id = :run_id AND metric_id = :metric_id AND writer_id = :writer_id;

-- name: metric_series_set
INSERT INTO metric_series (run_id, metric_id, writer_id, point_count, step_min, step_max,
    at_min_ms, at_max_ms, log_offset, tail)
VALUES (:run_id, :metric_id, :writer_id, :point_count, :step_min, :step_max,
    :at_min_ms, :at_max_ms, :log_offset, :tail)
ON CONFLICT (run_id, metric_id, writer_id) DO UPDATE SET point_count = excluded.point_count,
    step_min = excluded.step_min, step_max = excluded.step_max, at_min_ms = excluded.at_min_ms,
    at_max_ms = excluded.at_max_ms, log_offset = excluded.log_offset, tail = excluded.tail
WHERE metric_series.log_offset = :expected_offset;

-- name: metric_level_get
-- one row
SELECT data FROM metric_level WHERE run_id = :run_id AND metric_id = :metric_id
    AND writer_id = :writer_id AND level = :level AND seq = :seq;

-- name: metric_level_get_timed
-- one row
SELECT c.data, t.data FROM metric_level c LEFT JOIN metric_level t ON t.run_id = c.run_id
    AND t.metric_id = c.times_of AND t.writer_id = c.writer_id AND t.level = c.level
    AND t.seq = c.seq
WHERE c.run_id = :run_id AND c.metric_id = :metric_id AND c.writer_id = :writer_id
    AND c.level = :level AND c.seq = :seq;

-- name: metric_level_set
INSERT INTO metric_level (run_id, metric_id, writer_id, level, seq, times_of, data)
VALUES (:run_id, :metric_id, :writer_id, :level, :seq, :times_of, :data)
ON CONFLICT (run_id, metric_id, writer_id, level, seq) DO UPDATE SET times_of = excluded.times_of,
    data = excluded.data;

-- name: blob_insert
INSERT INTO blob (digest, size_bytes, created_ms) VALUES (:digest, :size_bytes, :created_ms)
ON CONFLICT (digest) DO NOTHING;

-- name: project_blob_insert
INSERT INTO project_blob (project_id, digest) VALUES (:project_id, :digest)
ON CONFLICT (project_id, digest) DO NOTHING;

-- name: project_blob_get
-- one row
SELECT b.size_bytes FROM project_blob p JOIN blob b ON b.digest = p.digest
WHERE p.project_id = :project_id AND p.digest = :digest;
