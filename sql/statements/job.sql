-- Jobs, attempts, events, agents.

-- name: agent_insert
INSERT INTO agent (public_id, name, target_id, boot, version, executor, slots, cpus, memory_bytes,
    gpus, created_ms)
VALUES (:public_id, :name, :target_id, '', '', '', 0, 0, 0, 0, :created_ms)
RETURNING id;

-- columns: agent_columns
a.id, a.public_id, a.name, a.target_id, t.name, a.boot, a.version, a.executor, a.slots,
    a.cpus, a.memory_bytes, a.gpus, a.created_ms, a.seen_ms

-- name: agent_by_public_id
-- one row
SELECT {agent_columns}
FROM agent a JOIN target t ON t.id = a.target_id
WHERE a.public_id = :public_id AND a.removed_ms IS NULL;

-- name: agent_by_id
-- one row
SELECT {agent_columns}
FROM agent a JOIN target t ON t.id = a.target_id
WHERE a.id = :id;

-- name: agent_list
SELECT {agent_columns}
FROM agent a JOIN target t ON t.id = a.target_id
WHERE a.id > :after_id AND a.removed_ms IS NULL ORDER BY a.id LIMIT :limit;

-- name: agent_use
SELECT a.agent_id, count(a.id), CAST(sum(j.cpus) AS INTEGER), CAST(sum(j.gpus) AS INTEGER),
    CAST(sum(j.memory_bytes) AS INTEGER)
FROM attempt a JOIN job j ON j.id = a.job_id
WHERE a.ended_ms IS NULL GROUP BY a.agent_id ORDER BY a.agent_id LIMIT :limit;

-- name: agent_seen
UPDATE agent SET boot = :boot, version = :version, executor = :executor, slots = :slots,
    cpus = :cpus, memory_bytes = :memory_bytes, gpus = :gpus, seen_ms = :seen_ms
WHERE id = :id;

-- name: agent_remove
UPDATE agent SET removed_ms = :now_ms, name = :freed_name WHERE id = :id;

-- name: job_insert
INSERT INTO job (public_id, project_id, run_id, owner_id, name, state, ended, priority, spec, cpus,
    gpus, memory_bytes, target_id, timeout_s, grace_s, retries, attempt_count, created_ms, queued_ms,
    run_time_ms, cost_micro, gpu_ms, oom, cancel_asked, final, reason, event_count, create_hash)
VALUES (:public_id, :project_id, :run_id, :owner_id, :name, :state, 0, :priority, :spec, :cpus,
    :gpus, :memory_bytes, :target_id, :timeout_s, :grace_s, :retries, 0, :created_ms, :queued_ms,
    0, 0, 0, 0, 0, 0, '', 0, :create_hash)
RETURNING id;

-- columns: job_columns
j.id, j.public_id, j.project_id, p.name, j.run_id, r.public_id, j.owner_id, u.login, j.name,
    j.state, j.priority, j.spec, j.cpus, j.gpus, j.memory_bytes, j.target_id, j.timeout_s, j.grace_s,
    j.retries, j.attempt_count, j.attempt_id, j.attempt_public_id, j.created_ms, j.queued_ms,
    j.started_ms, j.ended_ms, j.run_time_ms, j.cost_micro, j.gpu_ms, j.exit_code, j.exit_signal,
    j.oom, j.cancel_asked, j.final, j.reason, j.event_count, j.create_hash

-- name: job_by_public_id
-- one row
SELECT {job_columns}
FROM job j JOIN project p ON p.id = j.project_id JOIN run r ON r.id = j.run_id
JOIN app_user u ON u.id = j.owner_id
WHERE j.public_id = :public_id;

-- name: job_by_id
-- one row
SELECT {job_columns}
FROM job j JOIN project p ON p.id = j.project_id JOIN run r ON r.id = j.run_id
JOIN app_user u ON u.id = j.owner_id
WHERE j.id = :id;

-- name: job_list
SELECT {job_columns}
FROM job j JOIN project p ON p.id = j.project_id JOIN run r ON r.id = j.run_id
JOIN app_user u ON u.id = j.owner_id
LEFT JOIN member m ON m.project_id = j.project_id AND m.user_id = :user_id
WHERE (:everything = 1 OR m.role IS NOT NULL) AND (:project = '' OR p.name = :project)
    AND (:state = '' OR j.state = :state) AND (:open = 0 OR j.ended = 0)
    AND j.id < :before_id
ORDER BY j.id DESC LIMIT :limit;

-- name: job_queue
SELECT j.id, j.priority, j.queued_ms, j.cpus, j.gpus, j.memory_bytes, j.target_id
FROM job j WHERE j.ended = 0 AND j.state = 'queued'
ORDER BY j.priority DESC, j.queued_ms, j.id LIMIT :limit;

-- name: job_update
UPDATE job SET state = :state, ended = :ended, attempt_count = :attempt_count,
    attempt_id = :attempt_id, attempt_public_id = :attempt_public_id, queued_ms = :queued_ms,
    started_ms = :started_ms, ended_ms = :ended_ms, run_time_ms = :run_time_ms,
    cost_micro = :cost_micro, gpu_ms = :gpu_ms, exit_code = :exit_code, exit_signal = :exit_signal,
    oom = :oom, cancel_asked = :cancel_asked, final = :final, reason = :reason,
    event_count = :event_count
WHERE id = :id;

-- name: job_delete_events
DELETE FROM job_event WHERE job_id = :job_id;

-- name: job_delete_keys
DELETE FROM access_key WHERE attempt_id IN (SELECT a.id FROM attempt a WHERE a.job_id = :job_id);

-- name: job_delete_attempts
DELETE FROM attempt WHERE job_id = :job_id;

-- name: job_delete
DELETE FROM job WHERE id = :job_id;

-- name: job_event_insert
INSERT INTO job_event (job_id, seq, at_ms, kind, state, attempt_public_id, actor, detail)
VALUES (:job_id, :seq, :at_ms, :kind, :state, :attempt_public_id, :actor, :detail);

-- name: job_event_list
SELECT seq, at_ms, kind, state, attempt_public_id, actor, detail FROM job_event
WHERE job_id = :job_id AND seq > :after_seq ORDER BY seq LIMIT :limit;

-- name: attempt_insert
INSERT INTO attempt (public_id, job_id, run_id, number, state, agent_id, target_id, token_hash,
    offered_ms, run_time_ms, cost_micro, price_hour_micro, price_gpu_hour_micro, oom, final, reason,
    console_start, console_bytes)
VALUES (:public_id, :job_id, :run_id, :number, :state, :agent_id, :target_id, :token_hash,
    :offered_ms, 0, 0, :price_hour_micro, :price_gpu_hour_micro, 0, 0, '', :console_start, 0)
RETURNING id;

-- columns: attempt_columns
a.id, a.public_id, a.job_id, j.public_id, a.run_id, a.number, a.state, a.agent_id, g.name,
    a.target_id, t.name, a.token_hash, a.offered_ms, a.started_ms, a.ended_ms, a.run_time_ms,
    a.cost_micro, a.price_hour_micro, a.price_gpu_hour_micro, a.exit_code, a.exit_signal, a.oom,
    a.final, a.reason, a.console_start, a.console_bytes

-- name: attempt_by_public_id
-- one row
SELECT {attempt_columns}
FROM attempt a JOIN job j ON j.id = a.job_id JOIN agent g ON g.id = a.agent_id
JOIN target t ON t.id = a.target_id
WHERE a.public_id = :public_id;

-- name: attempt_by_id
-- one row
SELECT {attempt_columns}
FROM attempt a JOIN job j ON j.id = a.job_id JOIN agent g ON g.id = a.agent_id
JOIN target t ON t.id = a.target_id
WHERE a.id = :id;

-- name: attempt_list_by_job
SELECT {attempt_columns}
FROM attempt a JOIN job j ON j.id = a.job_id JOIN agent g ON g.id = a.agent_id
JOIN target t ON t.id = a.target_id
WHERE a.job_id = :job_id ORDER BY a.number LIMIT :limit;

-- name: attempt_list_open
SELECT {attempt_columns}
FROM attempt a JOIN job j ON j.id = a.job_id JOIN agent g ON g.id = a.agent_id
JOIN target t ON t.id = a.target_id
WHERE a.final = 0 AND (:agent_id = 0 OR a.agent_id = :agent_id) AND a.id > :after_id
ORDER BY a.id LIMIT :limit;

-- name: attempt_update
UPDATE attempt SET state = :state, token_hash = :token_hash, started_ms = :started_ms,
    ended_ms = :ended_ms, run_time_ms = :run_time_ms, cost_micro = :cost_micro,
    exit_code = :exit_code, exit_signal = :exit_signal, oom = :oom, final = :final, reason = :reason,
    console_bytes = :console_bytes
WHERE id = :id;
