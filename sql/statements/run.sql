-- Runs, their documents, console text and files.

-- name: run_insert
INSERT INTO run (public_id, project_id, name, state, owner_id, job_public_id, run_group, job_type,
    host, notes, tags, command, reason, oom, created_ms, console_bytes, console_final, create_hash,
    indexed)
VALUES (:public_id, :project_id, :name, :state, :owner_id, :job_public_id, :run_group, :job_type,
    '', :notes, :tags, :command, '', 0, :created_ms, 0, 0, :create_hash,
    :indexed)
RETURNING id;

-- columns: run_columns
r.id, r.public_id, r.project_id, p.name, r.name, r.state, r.owner_id, u.login,
    r.job_public_id, r.run_group, r.job_type, r.host, r.notes, r.tags, r.command, r.reason,
    r.exit_code, r.exit_signal, r.oom, r.created_ms, r.started_ms, r.ended_ms, r.seen_ms,
    r.cost_micro, r.console_bytes, r.console_final, r.create_hash, r.parent_public_id,
    r.parent_step, r.redacted, r.stop_asked_ms, r.facts_cut

-- name: run_by_public_id
-- one row
SELECT {run_columns}
FROM run r JOIN project p ON p.id = r.project_id JOIN app_user u ON u.id = r.owner_id
WHERE r.public_id = :public_id;

-- name: run_by_id
-- one row
SELECT {run_columns}
FROM run r JOIN project p ON p.id = r.project_id JOIN app_user u ON u.id = r.owner_id
WHERE r.id = :id;

-- name: run_project
-- one row
SELECT project_id FROM run WHERE id = :id;

-- name: run_update
UPDATE run SET name = :name, state = :state, run_group = :run_group, job_type = :job_type,
    host = :host, notes = :notes, tags = :tags, command = :command, reason = :reason,
    exit_code = :exit_code, exit_signal = :exit_signal, oom = :oom, started_ms = :started_ms,
    ended_ms = :ended_ms, seen_ms = :seen_ms, cost_micro = :cost_micro,
    parent_public_id = :parent_public_id, parent_step = :parent_step, redacted = :redacted,
    stop_asked_ms = :stop_asked_ms
WHERE id = :id;

-- name: run_facts_stale
UPDATE run SET facts_stale = :stale WHERE id = :id;

-- name: run_facts_stale_below
UPDATE run SET facts_stale = 1 WHERE id IN (
    WITH RECURSIVE below (id, public_id, depth) AS (
        SELECT c.id, c.public_id, 1 FROM run c
        WHERE c.parent_public_id = :parent_public_id AND c.parent_step > :above_step
        UNION
        SELECT c.id, c.public_id, b.depth + 1 FROM run c
        JOIN below b ON c.parent_public_id = b.public_id
        WHERE c.parent_step > :above_step AND b.depth < 32)
    SELECT d.id FROM below d);

-- The runs that branch from a run, and those that branch from them: parents come first.

-- name: run_branch_list
SELECT d.id FROM (
    WITH RECURSIVE below (id, public_id, depth) AS (
        SELECT c.id, c.public_id, 1 FROM run c WHERE c.parent_public_id = :parent_public_id
        UNION
        SELECT c.id, c.public_id, b.depth + 1 FROM run c
        JOIN below b ON c.parent_public_id = b.public_id
        WHERE b.depth < 32)
    SELECT b.id, b.depth FROM below b) d
ORDER BY d.depth, d.id LIMIT :limit;

-- name: run_facts_cut
UPDATE run SET facts_cut = :cut, facts_stale = 1 WHERE id = :id;

-- name: run_facts_stale_list
SELECT id FROM run WHERE facts_stale >= 1 AND facts_stale <= :most
ORDER BY facts_stale, id LIMIT :limit;

-- name: run_facts_state
-- one row
SELECT facts_stale FROM run WHERE id = :id;

-- name: run_facts_turn
UPDATE run SET facts_stale = :state WHERE id = :id AND facts_stale = :expected;

-- name: run_console_set
UPDATE run SET console_bytes = :console_bytes, console_final = :console_final WHERE id = :id;

-- name: run_silent_list
SELECT r.id FROM run r JOIN project p ON p.id = r.project_id
WHERE r.state = 'running' AND r.job_public_id IS NULL
    AND r.seen_ms < :now_ms - coalesce(p.silent_s * 1000, :silent_ms)
ORDER BY r.id LIMIT :limit;

-- name: run_seen_all
UPDATE run SET seen_ms = :now_ms WHERE state = 'running' AND job_public_id IS NULL;

-- name: run_doc_set
INSERT INTO run_doc (run_id, kind, body) VALUES (:run_id, :kind, :body)
ON CONFLICT (run_id, kind) DO UPDATE SET body = excluded.body;

-- name: run_doc_get
-- one row
SELECT body FROM run_doc WHERE run_id = :run_id AND kind = :kind;

-- name: run_console_insert
INSERT INTO run_console (run_id, start_offset, end_offset, data)
VALUES (:run_id, :start_offset, :end_offset, :data);

-- name: run_console_read
SELECT start_offset, end_offset, data FROM run_console
WHERE run_id = :run_id AND start_offset >= coalesce(
    (SELECT max(c.start_offset) FROM run_console c
     WHERE c.run_id = :run_id AND c.start_offset <= :from_offset), 0)
    AND start_offset < :to_offset
ORDER BY start_offset LIMIT :limit;

-- name: run_file_set
INSERT INTO run_file (run_id, path, detail) VALUES (:run_id, :path, :detail)
ON CONFLICT (run_id, path) DO UPDATE SET detail = excluded.detail;

-- Deleting what a run recorded, some rows at a time.

-- name: run_delete_docs
DELETE FROM run_doc WHERE run_id = :run_id AND (kind) IN (
    SELECT x.kind FROM run_doc x WHERE x.run_id = :run_id ORDER BY x.kind LIMIT :limit);

-- name: run_delete_console
DELETE FROM run_console WHERE run_id = :run_id AND (start_offset) IN (
    SELECT x.start_offset FROM run_console x WHERE x.run_id = :run_id ORDER BY x.start_offset LIMIT :limit);

-- name: run_delete_files
DELETE FROM run_file WHERE run_id = :run_id AND (path) IN (
    SELECT x.path FROM run_file x WHERE x.run_id = :run_id ORDER BY x.path LIMIT :limit);

-- name: run_delete_chunks
DELETE FROM metric_chunk WHERE run_id = :run_id AND (metric_id, writer_id, seq) IN (
    SELECT x.metric_id, x.writer_id, x.seq FROM metric_chunk x WHERE x.run_id = :run_id ORDER BY x.metric_id, x.writer_id, x.seq LIMIT :limit);

-- name: run_delete_levels
DELETE FROM metric_level WHERE run_id = :run_id AND (metric_id, writer_id, level, seq) IN (
    SELECT x.metric_id, x.writer_id, x.level, x.seq FROM metric_level x WHERE x.run_id = :run_id ORDER BY x.metric_id, x.writer_id, x.level, x.seq LIMIT :limit);

-- name: run_delete_series
DELETE FROM metric_series WHERE run_id = :run_id AND (metric_id, writer_id) IN (
    SELECT x.metric_id, x.writer_id FROM metric_series x WHERE x.run_id = :run_id ORDER BY x.metric_id, x.writer_id LIMIT :limit);

-- name: run_delete_metrics
DELETE FROM run_metric WHERE run_id = :run_id AND (metric_id) IN (
    SELECT x.metric_id FROM run_metric x WHERE x.run_id = :run_id ORDER BY x.metric_id LIMIT :limit);

-- name: run_delete_gone
DELETE FROM writer_gone WHERE run_id = :run_id AND (writer_public_id) IN (
    SELECT x.writer_public_id FROM writer_gone x WHERE x.run_id = :run_id ORDER BY x.writer_public_id LIMIT :limit);

-- name: run_delete_alerts
DELETE FROM alert WHERE run_id = :run_id AND (id) IN (
    SELECT x.id FROM alert x WHERE x.run_id = :run_id ORDER BY x.id LIMIT :limit);

-- name: run_delete_blobs
DELETE FROM log_blob WHERE (writer_id, start_offset) IN (
    SELECT x.writer_id, x.start_offset FROM log_blob x JOIN writer w ON w.id = x.writer_id
    WHERE w.run_id = :run_id ORDER BY x.writer_id, x.start_offset LIMIT :limit);

-- name: run_delete_records
DELETE FROM log_record WHERE (writer_id, log_offset) IN (
    SELECT x.writer_id, x.log_offset FROM log_record x JOIN writer w ON w.id = x.writer_id
    WHERE w.run_id = :run_id ORDER BY x.writer_id, x.log_offset LIMIT :limit);

-- name: run_delete_names
DELETE FROM writer_name WHERE (writer_id, local_id) IN (
    SELECT x.writer_id, x.local_id FROM writer_name x JOIN writer w ON w.id = x.writer_id
    WHERE w.run_id = :run_id ORDER BY x.writer_id, x.local_id LIMIT :limit);

-- name: run_delete_writer_docs
DELETE FROM writer_doc WHERE (writer_id, kind) IN (
    SELECT x.writer_id, x.kind FROM writer_doc x JOIN writer w ON w.id = x.writer_id
    WHERE w.run_id = :run_id ORDER BY x.writer_id, x.kind LIMIT :limit);

-- name: run_delete_writer_console
DELETE FROM writer_console WHERE (writer_id, start_offset) IN (
    SELECT x.writer_id, x.start_offset FROM writer_console x JOIN writer w ON w.id = x.writer_id
    WHERE w.run_id = :run_id ORDER BY x.writer_id, x.start_offset LIMIT :limit);

-- name: run_delete_writers
DELETE FROM writer WHERE id IN (SELECT x.id FROM writer x WHERE x.run_id = :run_id ORDER BY x.id LIMIT :limit);

-- name: run_delete
DELETE FROM run WHERE id = :run_id;

-- name: run_import_get
-- one row
SELECT coalesce(import_line, -1) AS import_line FROM run WHERE id = :id;

-- name: run_import_set
UPDATE run SET import_line = :import_line WHERE id = :id;

-- name: run_trash
UPDATE run SET project_id = 0, state = 'killed', facts_stale = 0 WHERE id = :run_id;

-- name: run_trash_writers
UPDATE writer SET fenced = 1, compacted_offset = applied_offset WHERE run_id = :run_id;

-- name: run_trash_next
-- one row
SELECT coalesce(min(id), 0) AS id FROM run WHERE project_id = 0;

-- name: run_unknown_count
-- one row
SELECT count(l.log_offset) FROM log_record l JOIN writer w ON w.id = l.writer_id
WHERE w.run_id = :run_id;
