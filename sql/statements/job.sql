-- Jobs, attempts, events, agents.

-- name: agent_insert
INSERT INTO agent (public_id, name, target_id, boot, version, executor, slots, cpus, memory_bytes,
    gpus, gpu_type, gpu_memory_bytes, several, created_ms)
VALUES (:public_id, :name, :target_id, '', '', '', 0, 0, 0, 0, '', 0, 0, :created_ms)
RETURNING id;

-- columns: agent_columns
a.id, a.public_id, a.name, a.target_id, t.name, a.boot, a.version, a.executor, a.slots,
    a.cpus, a.memory_bytes, a.gpus, a.created_ms, a.seen_ms, a.gpu_type, a.gpu_memory_bytes,
    a.several, a.features, a.conflict_ms, a.maintenance, a.maintenance_until_ms

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

-- name: agent_by_name
-- one row
SELECT {agent_columns}
FROM agent a JOIN target t ON t.id = a.target_id
WHERE a.name = :name AND a.removed_ms IS NULL;

-- What the agents of a target have, and when the one was heard that was not heard for longest.
-- name: agent_of_target
-- one row
SELECT count(a.id), coalesce(min(coalesce(a.seen_ms, 0)), 0), coalesce(max(a.gpus), 0)
FROM agent a WHERE a.target_id = :target_id AND a.removed_ms IS NULL;

-- name: agent_list
SELECT {agent_columns}
FROM agent a JOIN target t ON t.id = a.target_id
WHERE a.id > :after_id AND a.removed_ms IS NULL ORDER BY a.id LIMIT :limit;

-- name: agent_list_holding
SELECT {agent_columns}
FROM agent a JOIN target t ON t.id = a.target_id
WHERE a.id IN (SELECT p.agent_id FROM placement p WHERE p.final = 0)
ORDER BY a.id LIMIT :limit;

-- name: agent_use
SELECT p.agent_id, count(p.id), CAST(sum(j.cpus * p.rank_count) AS INTEGER),
    CAST(sum(j.gpus * p.rank_count) AS INTEGER), CAST(sum(j.memory_bytes * p.rank_count) AS INTEGER)
FROM placement p JOIN attempt a ON a.id = p.attempt_id JOIN job j ON j.id = a.job_id
WHERE p.final = 0 AND p.ended_ms IS NULL
GROUP BY p.agent_id ORDER BY p.agent_id LIMIT :limit;

-- name: agent_seen
UPDATE agent SET boot = :boot, version = :version, executor = :executor, slots = :slots,
    cpus = :cpus, memory_bytes = :memory_bytes, gpus = :gpus, gpu_type = :gpu_type,
    gpu_memory_bytes = :gpu_memory_bytes, several = :several, features = :features,
    seen_ms = :seen_ms
WHERE id = :id;

-- name: agent_conflict_set
UPDATE agent SET conflict_ms = :conflict_ms WHERE id = :id;

-- name: agent_maintenance
UPDATE agent SET maintenance = :maintenance, maintenance_until_ms = :until_ms WHERE id = :id;

-- name: agent_list_of_target
SELECT {agent_columns}
FROM agent a JOIN target t ON t.id = a.target_id
WHERE a.target_id = :target_id AND a.removed_ms IS NULL AND a.id > :after_id ORDER BY a.id LIMIT :limit;

-- name: agent_remove
UPDATE agent SET removed_ms = :now_ms, name = :freed_name WHERE id = :id;

-- name: job_insert
INSERT INTO job (public_id, project_id, run_id, owner_id, name, service, state, ended, queue_id, priority,
    spec, node_count, cpus, gpus, memory_bytes, shape, timeout_s, grace_s, retries, retry_failed,
    attempt_count, failures, withdrawals, array_id, array_public_id, array_index, array_limit,
    array_count, step_from, created_ms, queued_ms, run_time_ms, cost_micro, gpu_ms, oom, cancel_asked, stop_for, ending, final, reason,
    event_count, create_hash)
VALUES (:public_id, :project_id, :run_id, :owner_id, :name, :service, :state, 0, :queue_id, :priority,
    :spec, :node_count, :cpus, :gpus, :memory_bytes, :shape, :timeout_s, :grace_s, :retries,
    :retry_failed, 0, 0, 0, :array_id, :array_public_id, :array_index, :array_limit,
    :array_count, 0, :created_ms, :queued_ms, 0, 0, 0, 0, 0, 0, 0, 0, '', :event_count, :create_hash)
RETURNING id;

-- The first element of an array stands for it.
-- name: job_array_lead
UPDATE job SET array_id = id WHERE id = :id;

-- columns: job_columns
j.id, j.public_id, j.project_id, p.name, j.run_id, r.public_id, j.owner_id, u.login, j.name,
    j.service, j.state, j.queue_id, q.name, j.priority, j.spec, j.node_count, j.cpus, j.gpus, j.memory_bytes, j.shape,
    j.timeout_s, j.grace_s, j.retries, j.retry_failed, j.attempt_count, j.failures, j.withdrawals,
    j.attempt_id, j.attempt_public_id, j.array_id, j.array_index, j.array_limit, j.step_from,
    j.ladder_at_ms, j.not_before_ms, j.created_ms, j.queued_ms, j.started_ms, j.ended_ms,
    j.run_time_ms, j.cost_micro, j.gpu_ms, j.exit_code, j.exit_signal, j.oom, j.cancel_asked,
    j.stop_for, j.ending, j.final, j.reason, j.event_count, j.create_hash, j.array_public_id,
    j.array_count

-- name: job_by_public_id
-- one row
SELECT {job_columns}
FROM job j JOIN project p ON p.id = j.project_id JOIN run r ON r.id = j.run_id
JOIN app_user u ON u.id = j.owner_id JOIN queue q ON q.id = j.queue_id
WHERE j.public_id = :public_id;

-- name: job_by_id
-- one row
SELECT {job_columns}
FROM job j JOIN project p ON p.id = j.project_id JOIN run r ON r.id = j.run_id
JOIN app_user u ON u.id = j.owner_id JOIN queue q ON q.id = j.queue_id
WHERE j.id = :id;

-- name: job_list
SELECT {job_columns}
FROM job j JOIN project p ON p.id = j.project_id JOIN run r ON r.id = j.run_id
JOIN app_user u ON u.id = j.owner_id JOIN queue q ON q.id = j.queue_id
LEFT JOIN member m ON m.project_id = j.project_id AND m.user_id = :user_id
WHERE (:everything = 1 OR m.role IS NOT NULL) AND (:project = '' OR p.name = :project)
    AND (:state = '' OR j.state = :state)
    AND (:fold = 0 OR j.array_id IS NULL OR j.array_id = j.id)
    AND (:open = 0 OR j.ended = 0 OR (:fold = 1 AND j.array_id = j.id AND EXISTS (
        SELECT 1 FROM job e WHERE e.array_public_id = j.array_public_id AND e.ended = 0)))
    AND j.id < :before_id
ORDER BY j.id DESC LIMIT :limit;

-- name: job_list_array
SELECT {job_columns}
FROM job j JOIN project p ON p.id = j.project_id JOIN run r ON r.id = j.run_id
JOIN app_user u ON u.id = j.owner_id JOIN queue q ON q.id = j.queue_id
LEFT JOIN member m ON m.project_id = j.project_id AND m.user_id = :user_id
WHERE j.array_public_id = :array AND (:everything = 1 OR m.role IS NOT NULL)
    AND (:state = '' OR j.state = :state) AND (:open = 0 OR j.ended = 0) AND j.id > :after_id
ORDER BY j.id LIMIT :limit;

-- name: job_array_states
SELECT j.state, count(j.id) FROM job j WHERE j.array_public_id = :array
GROUP BY j.state ORDER BY j.state LIMIT :limit;

-- Elements whose service is healthy now.
-- name: job_array_healthy
-- one row
SELECT count(a.id) FROM job j JOIN attempt a ON a.id = j.attempt_id
WHERE j.array_public_id = :array AND j.ended = 0 AND a.ended_ms IS NULL AND a.health = :healthy;

-- name: job_array_first
-- one row
SELECT {job_columns}
FROM job j JOIN project p ON p.id = j.project_id JOIN run r ON r.id = j.run_id
JOIN app_user u ON u.id = j.owner_id JOIN queue q ON q.id = j.queue_id
WHERE j.id = (SELECT min(e.id) FROM job e WHERE e.array_public_id = :array);

-- The first element that waits, else the first that has not ended.
-- name: job_array_next
-- one row
SELECT {job_columns}
FROM job j JOIN project p ON p.id = j.project_id JOIN run r ON r.id = j.run_id
JOIN app_user u ON u.id = j.owner_id JOIN queue q ON q.id = j.queue_id
WHERE j.id = coalesce(
    (SELECT min(e.id) FROM job e WHERE e.array_public_id = :array AND e.ended = 0
        AND e.state IN ('held', 'queued', 'offered')),
    (SELECT min(e.id) FROM job e WHERE e.array_public_id = :array AND e.ended = 0));

-- What the scheduler goes by.
-- columns: job_brief_columns
j.id, j.public_id, j.project_id, j.service, j.state, j.priority, j.node_count, j.cpus, j.gpus,
    j.memory_bytes, j.shape, j.timeout_s, j.queue_id, j.attempt_id, j.array_id, j.array_limit, j.step_from,
    j.ladder_at_ms, j.not_before_ms, j.created_ms, j.queued_ms, j.event_count

-- name: job_brief_list
SELECT {job_brief_columns},
    (SELECT count(f.before_id) FROM job_after f WHERE f.job_id = j.id) AS after_count
FROM job j WHERE j.ended = 0 AND j.id > :after_id ORDER BY j.id LIMIT :limit;

-- name: job_brief_by_public_id
-- one row
SELECT {job_brief_columns},
    (SELECT count(f.before_id) FROM job_after f WHERE f.job_id = j.id) AS after_count
FROM job j WHERE j.public_id = :public_id AND j.ended = 0;

-- name: job_update
UPDATE job SET state = :state, ended = :ended, priority = :priority, attempt_count = :attempt_count,
    failures = :failures, withdrawals = :withdrawals, attempt_id = :attempt_id,
    attempt_public_id = :attempt_public_id, step_from = :step_from, ladder_at_ms = :ladder_at_ms,
    not_before_ms = :not_before_ms, queued_ms = :queued_ms,
    started_ms = :started_ms, ended_ms = :ended_ms, run_time_ms = :run_time_ms,
    cost_micro = :cost_micro, gpu_ms = :gpu_ms, exit_code = :exit_code, exit_signal = :exit_signal,
    oom = :oom, cancel_asked = :cancel_asked, stop_for = :stop_for, ending = :ending,
    final = :final, reason = :reason, event_count = :event_count
WHERE id = :id;

-- name: job_move
UPDATE job SET queue_id = :queue_id, shape = :shape, spec = :spec WHERE id = :id;

-- name: job_after_insert
INSERT INTO job_after (job_id, before_id, any_end) VALUES (:job_id, :before_id, :any_end)
ON CONFLICT (job_id, before_id) DO UPDATE SET any_end = excluded.any_end;

-- name: job_after_list
SELECT a.before_id, b.public_id, b.state, a.any_end
FROM job_after a JOIN job b ON b.id = a.before_id
WHERE a.job_id = :job_id ORDER BY a.before_id LIMIT :limit;

-- name: job_delete_after
DELETE FROM job_after WHERE job_id = :job_id OR before_id = :job_id;

-- name: job_delete_events
DELETE FROM job_event WHERE job_id = :job_id;

-- name: job_delete_keys
DELETE FROM access_key WHERE attempt_id IN (SELECT a.id FROM attempt a WHERE a.job_id = :job_id);

-- name: job_delete_placements
DELETE FROM placement WHERE attempt_id IN (SELECT a.id FROM attempt a WHERE a.job_id = :job_id);

-- name: job_delete_attempt_gpus
DELETE FROM attempt_gpu WHERE attempt_id IN (SELECT a.id FROM attempt a WHERE a.job_id = :job_id);

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
INSERT INTO attempt (public_id, job_id, run_id, number, state, target_id, step, offered_ms,
    run_time_ms, gpu_ms, cost_micro, price_hour_micro, price_gpu_hour_micro, oom, final, ending,
    reason)
VALUES (:public_id, :job_id, :run_id, :number, :state, :target_id, :step, :offered_ms,
    0, 0, 0, :price_hour_micro, :price_gpu_hour_micro, 0, 0, 0, '')
RETURNING id;

-- columns: attempt_columns
a.id, a.public_id, a.job_id, j.public_id, a.run_id, a.number, a.state, a.target_id, t.name, a.step,
    a.offered_ms, a.started_ms, a.ended_ms, a.charged_ms, a.run_time_ms, a.gpu_ms, a.cost_micro,
    a.price_hour_micro, a.price_gpu_hour_micro, a.exit_code, a.exit_signal, a.oom, a.final,
    a.ending, a.reason, a.health, a.health_since_ms, a.health_problem, a.image, a.progress,
    a.energy_mj, a.idle_ms, a.rendezvous

-- name: attempt_by_public_id
-- one row
SELECT {attempt_columns}
FROM attempt a JOIN job j ON j.id = a.job_id JOIN target t ON t.id = a.target_id
WHERE a.public_id = :public_id;

-- name: attempt_by_id
-- one row
SELECT {attempt_columns}
FROM attempt a JOIN job j ON j.id = a.job_id JOIN target t ON t.id = a.target_id
WHERE a.id = :id;

-- name: attempt_list_by_job
SELECT {attempt_columns}
FROM attempt a JOIN job j ON j.id = a.job_id JOIN target t ON t.id = a.target_id
WHERE a.job_id = :job_id ORDER BY a.number DESC LIMIT :limit;

-- name: attempt_list_overdue
SELECT {attempt_columns}
FROM attempt a JOIN job j ON j.id = a.job_id JOIN target t ON t.id = a.target_id
WHERE a.final = 0 AND a.id > :after_id AND (a.ended_ms < :ended_before_ms
    OR (a.state = 'offered' AND a.offered_ms < :offered_before_ms))
ORDER BY a.id LIMIT :limit;

-- name: attempt_image
SELECT image FROM attempt WHERE job_id = :job_id AND image LIKE '%@%' ORDER BY number LIMIT 1;

-- Running attempts whose last charge is a while ago, with the time up to when all their agents
-- were heard.
-- name: attempt_list_to_charge
SELECT a.id, j.project_id, j.node_count, j.gpus, a.charged_ms, a.price_hour_micro,
    a.price_gpu_hour_micro,
    (SELECT min(g.seen_ms) FROM placement p JOIN agent g ON g.id = p.agent_id
     WHERE p.attempt_id = a.id AND p.ended_ms IS NULL) AS heard_ms
FROM attempt a JOIN job j ON j.id = a.job_id
WHERE a.final = 0 AND a.ended_ms IS NULL AND a.charged_ms < :before_ms AND a.id > :after_id
ORDER BY a.id LIMIT :limit;

-- What the open attempts of a project may still be charged for.
-- name: attempt_list_committed
SELECT j.node_count, j.gpus, j.service, j.timeout_s, a.offered_ms, a.started_ms, a.charged_ms,
    a.price_hour_micro, a.price_gpu_hour_micro
FROM attempt a JOIN job j ON j.id = a.job_id
WHERE a.final = 0 AND a.ended_ms IS NULL AND j.project_id = :project_id
ORDER BY a.id LIMIT :limit;

-- name: attempt_charged
UPDATE attempt SET charged_ms = :charged_ms WHERE id = :id;

-- name: attempt_update
UPDATE attempt SET state = :state, started_ms = :started_ms, ended_ms = :ended_ms,
    charged_ms = :charged_ms, run_time_ms = :run_time_ms, gpu_ms = :gpu_ms,
    cost_micro = :cost_micro, exit_code = :exit_code, exit_signal = :exit_signal, oom = :oom,
    final = :final, ending = :ending, reason = :reason, health = :health,
    health_since_ms = :health_since_ms, health_problem = :health_problem, image = :image,
    progress = :progress, rendezvous = :rendezvous
WHERE id = :id;

-- name: placement_insert
INSERT INTO placement (attempt_id, first_rank, rank_count, agent_id, state, token_hash, run_time_ms,
    oom, final, verdict, ending, reason, console_start, console_bytes)
VALUES (:attempt_id, :first_rank, :rank_count, :agent_id, :state, :token_hash, 0,
    0, 0, 0, 0, '', :console_start, 0)
RETURNING id;

-- columns: placement_columns
p.id, p.attempt_id, p.first_rank, p.rank_count, p.agent_id, g.name, g.public_id, p.state,
    p.token_hash, p.started_ms, p.ended_ms, p.run_time_ms, p.exit_code, p.exit_signal, p.oom,
    p.final, p.verdict, p.ending, p.reason, p.console_start, p.console_bytes

-- name: placement_list_by_attempt
SELECT {placement_columns}
FROM placement p JOIN agent g ON g.id = p.agent_id
WHERE p.attempt_id = :attempt_id ORDER BY p.first_rank LIMIT :limit;

-- name: placement_list_by_agent
SELECT {placement_columns}
FROM placement p JOIN agent g ON g.id = p.agent_id
WHERE p.agent_id = :agent_id AND p.final = 0 ORDER BY p.id LIMIT :limit;

-- name: placement_held
SELECT p.id, p.attempt_id, p.first_rank, p.rank_count, p.agent_id, p.state
FROM placement p WHERE p.attempt_id = :attempt_id AND p.ended_ms IS NULL
ORDER BY p.first_rank LIMIT :limit;

-- name: placement_update
UPDATE placement SET state = :state, token_hash = :token_hash, started_ms = :started_ms,
    ended_ms = :ended_ms, run_time_ms = :run_time_ms, exit_code = :exit_code,
    exit_signal = :exit_signal, oom = :oom, final = :final, verdict = :verdict, ending = :ending,
    reason = :reason, console_bytes = :console_bytes
WHERE id = :id;
