-- Machines of agents, their GPUs and readings.

-- name: node_get
-- one row
SELECT facts, boot, sample_number, sampled_ms, packed_ms FROM node WHERE agent_id = :agent_id;

-- name: node_set
INSERT INTO node (agent_id, facts, boot, sample_number, sampled_ms, packed_ms)
VALUES (:agent_id, :facts, '', 0, 0, 0)
ON CONFLICT (agent_id) DO UPDATE SET facts = excluded.facts;

-- name: node_sampled
UPDATE node SET boot = :boot, sample_number = :sample_number, sampled_ms = :sampled_ms
WHERE agent_id = :agent_id;

-- name: node_gpu_list
SELECT place, uuid, name, type, bus_id, memory_kind, memory_bytes, mig, ill, ill_ms, used_by, seen_ms, present
FROM node_gpu WHERE agent_id = :agent_id ORDER BY place LIMIT :limit;

-- name: node_gpu_put
INSERT INTO node_gpu (agent_id, place, uuid, name, type, bus_id, memory_kind, memory_bytes, mig, ill, ill_ms, used_by,
    seen_ms, present)
VALUES (:agent_id, :place, :uuid, :name, :type, :bus_id, :memory_kind, :memory_bytes, :mig, :ill, :ill_ms, :used_by,
    :seen_ms, :present)
ON CONFLICT (agent_id, place) DO UPDATE SET uuid = excluded.uuid, name = excluded.name, type = excluded.type,
    bus_id = excluded.bus_id, memory_kind = excluded.memory_kind, memory_bytes = excluded.memory_bytes,
    mig = excluded.mig, ill = excluded.ill, ill_ms = excluded.ill_ms, used_by = excluded.used_by,
    seen_ms = excluded.seen_ms, present = excluded.present;

-- name: node_sample_insert
INSERT INTO node_sample (agent_id, at_ms, gpu_readings, gpu_tenths, data)
VALUES (:agent_id, :at_ms, :gpu_readings, :gpu_tenths, :data)
ON CONFLICT (agent_id, at_ms) DO NOTHING;

-- name: node_sample_list
SELECT at_ms, data FROM node_sample
WHERE agent_id = :agent_id AND at_ms >= :from_ms AND at_ms < :to_ms ORDER BY at_ms LIMIT :limit;

-- name: node_sample_newest
-- one row
SELECT at_ms, data FROM node_sample
WHERE agent_id = :agent_id AND at_ms >= :from_ms ORDER BY at_ms DESC LIMIT 1;

-- The agent whose oldest readings lie before a time.
-- name: node_sample_due
-- one row
SELECT n.agent_id, (SELECT min(s.at_ms) FROM node_sample s WHERE s.agent_id = n.agent_id) AS at_ms
FROM node n
WHERE EXISTS (SELECT 1 FROM node_sample s WHERE s.agent_id = n.agent_id AND s.at_ms < :before_ms)
ORDER BY n.agent_id LIMIT 1;

-- name: node_sample_delete
DELETE FROM node_sample WHERE agent_id = :agent_id AND at_ms >= :from_ms AND at_ms < :to_ms;

-- name: node_hour_insert
INSERT INTO node_hour (agent_id, hour_ms, gpu_readings, gpu_tenths, hour, tens, minutes, samples)
VALUES (:agent_id, :hour_ms, :gpu_readings, :gpu_tenths, :hour, :tens, :minutes, :samples)
ON CONFLICT (agent_id, hour_ms) DO NOTHING;

-- name: node_packed
UPDATE node SET packed_ms = :packed_ms WHERE agent_id = :agent_id AND packed_ms < :packed_ms;

-- name: node_hours
SELECT hour_ms, hour FROM node_hour
WHERE agent_id = :agent_id AND hour_ms >= :from_ms AND hour_ms < :to_ms ORDER BY hour_ms LIMIT :limit;

-- name: node_tens
SELECT hour_ms, tens FROM node_hour
WHERE agent_id = :agent_id AND hour_ms >= :from_ms AND hour_ms < :to_ms ORDER BY hour_ms LIMIT :limit;

-- name: node_minutes
SELECT hour_ms, minutes FROM node_hour
WHERE agent_id = :agent_id AND hour_ms >= :from_ms AND hour_ms < :to_ms ORDER BY hour_ms LIMIT :limit;

-- name: node_samples
SELECT hour_ms, samples FROM node_hour
WHERE agent_id = :agent_id AND hour_ms >= :from_ms AND hour_ms < :to_ms ORDER BY hour_ms LIMIT :limit;

-- name: node_use
-- one row
SELECT CAST(coalesce(sum(x.gpu_readings), 0) AS INTEGER), CAST(coalesce(sum(x.gpu_tenths), 0) AS INTEGER)
FROM (SELECT h.gpu_readings, h.gpu_tenths FROM node_hour h WHERE h.agent_id = :agent_id AND h.hour_ms >= :from_ms
    UNION ALL
    SELECT s.gpu_readings, s.gpu_tenths FROM node_sample s WHERE s.agent_id = :agent_id AND s.at_ms >= :from_ms) x;

-- name: node_hour_old
SELECT agent_id, hour_ms FROM node_hour WHERE hour_ms < :before_ms ORDER BY hour_ms LIMIT :limit;

-- name: node_hour_delete
DELETE FROM node_hour WHERE agent_id = :agent_id AND hour_ms = :hour_ms;

-- name: attempt_gpu_add
INSERT INTO attempt_gpu (attempt_id, agent_id, places, first_ms, last_ms, energy_mj, idle_ms)
VALUES (:attempt_id, :agent_id, :places, :at_ms, :at_ms, :energy_mj, CAST(:idle_ms AS INTEGER))
ON CONFLICT (attempt_id, agent_id) DO UPDATE SET places = excluded.places, last_ms = excluded.last_ms,
    energy_mj = attempt_gpu.energy_mj + excluded.energy_mj,
    idle_ms = CASE WHEN excluded.idle_ms IS NULL THEN NULL ELSE coalesce(attempt_gpu.idle_ms, excluded.idle_ms) END;

-- name: attempt_energy_add
UPDATE attempt SET energy_mj = energy_mj + :energy_mj WHERE id = :id;

-- What had GPUs of an agent in some time.
-- name: attempt_gpu_list
SELECT a.public_id, j.public_id, j.name, j.project_id, p.name, g.places, g.first_ms, g.last_ms, g.energy_mj, a.ended_ms
FROM attempt_gpu g JOIN attempt a ON a.id = g.attempt_id JOIN job j ON j.id = a.job_id JOIN project p ON p.id = j.project_id
WHERE g.agent_id = :agent_id AND g.last_ms >= :from_ms AND g.first_ms < :to_ms
ORDER BY g.first_ms LIMIT :limit;

-- Running attempts whose mark is not what it has to be. All GPUs of an attempt are idle where all its agents say so, by readings
-- that reach as far as its project allows: an agent that is not heard says nothing.
-- name: attempt_idle_list
SELECT y.id, y.job_id, y.since FROM (
    SELECT x.id AS id, x.job_id AS job_id, x.marked AS marked,
        CASE WHEN x.known = x.agents AND x.idles = x.agents AND x.heard - x.idle >= x.idle_minutes * 60000 THEN x.idle END AS since
    FROM (
        SELECT a.id AS id, a.job_id AS job_id, a.idle_ms AS marked, p.idle_minutes AS idle_minutes, max(g.idle_ms) AS idle,
            min(g.last_ms) AS heard, count(g.agent_id) AS known, count(g.idle_ms) AS idles,
            (SELECT count(DISTINCT l.agent_id) FROM placement l WHERE l.attempt_id = a.id) AS agents
        FROM attempt a JOIN attempt_gpu g ON g.attempt_id = a.id JOIN job j ON j.id = a.job_id
            JOIN project p ON p.id = j.project_id
        WHERE a.final = 0 AND a.state = 'running'
        GROUP BY a.id, a.job_id, a.idle_ms, p.idle_minutes) x) y
WHERE (y.since IS NULL) <> (y.marked IS NULL)
ORDER BY y.id LIMIT :limit;

-- name: attempt_idle_set
UPDATE attempt SET idle_ms = :idle_ms WHERE id = :id;

-- Jobs that an agent holds now.
-- name: node_job_list
SELECT j.public_id, j.name, j.project_id, p.name, a.public_id, a.state, a.started_ms, j.cpus, j.gpus,
    coalesce(g.places, '[]') AS places, coalesce(g.energy_mj, 0) AS energy_mj, a.idle_ms
FROM placement l JOIN attempt a ON a.id = l.attempt_id JOIN job j ON j.id = a.job_id JOIN project p ON p.id = j.project_id
LEFT JOIN attempt_gpu g ON g.attempt_id = a.id AND g.agent_id = l.agent_id
WHERE l.agent_id = :agent_id AND l.final = 0 AND l.ended_ms IS NULL
ORDER BY l.id LIMIT :limit;
