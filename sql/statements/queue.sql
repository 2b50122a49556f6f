-- Queues of jobs.

-- columns: queue_columns
q.id, q.name, q.priority, q.aging_ms, q.timeout_s, q.spread, q.held, q.draining, q.created_ms

-- name: queue_insert
INSERT INTO queue (name, priority, aging_ms, timeout_s, spread, held, draining, created_ms)
VALUES (:name, :priority, :aging_ms, :timeout_s, :spread, :held, :draining, :created_ms)
RETURNING id;

-- name: queue_update
UPDATE queue SET priority = :priority, aging_ms = :aging_ms, timeout_s = :timeout_s,
    spread = :spread, held = :held, draining = :draining
WHERE id = :id;

-- name: queue_by_name
-- one row
SELECT {queue_columns}
FROM queue q WHERE q.name = :name AND q.removed_ms IS NULL;

-- name: queue_list
SELECT {queue_columns}
FROM queue q
WHERE q.name > :after_name AND q.removed_ms IS NULL ORDER BY q.name LIMIT :limit;

-- name: queue_remove
UPDATE queue SET removed_ms = :now_ms WHERE id = :id;

-- name: queue_target_list
SELECT queue_id, target_id FROM queue_target ORDER BY queue_id, target_id LIMIT :limit;

-- name: queue_target_insert
INSERT INTO queue_target (queue_id, target_id) VALUES (:queue_id, :target_id);

-- name: queue_target_delete
DELETE FROM queue_target WHERE queue_id = :queue_id;

-- name: queue_open_jobs
SELECT j.queue_id, count(j.id) FROM job j WHERE j.ended = 0
GROUP BY j.queue_id ORDER BY j.queue_id LIMIT :limit;

-- name: queue_name
-- one row
SELECT name FROM queue WHERE id = :id;
