-- Targets, their prices over time, and what projects set at them.

-- columns: target_columns
id, name, price_hour_micro, price_gpu_hour_micro, labels, spot, excluded, tolerations, settings,
    volumes, buckets, maintenance, maintenance_until_ms

-- name: target_insert
INSERT INTO target (name, price_hour_micro, price_gpu_hour_micro, labels, spot, excluded, tolerations,
    settings, volumes, buckets, created_ms)
VALUES (:name, :price_hour_micro, :price_gpu_hour_micro, :labels, :spot, :excluded, :tolerations,
    :settings, :volumes, :buckets, :created_ms)
RETURNING id;

-- name: target_update
UPDATE target SET price_hour_micro = :price_hour_micro, price_gpu_hour_micro = :price_gpu_hour_micro,
    labels = :labels, spot = :spot, excluded = :excluded, tolerations = :tolerations,
    settings = :settings, volumes = :volumes, buckets = :buckets
WHERE id = :id;

-- name: target_maintenance
UPDATE target SET maintenance = :maintenance, maintenance_until_ms = :until_ms WHERE id = :id;

-- name: target_by_name
-- one row
SELECT {target_columns} FROM target WHERE name = :name AND removed_ms IS NULL;

-- name: target_by_id
-- one row
SELECT {target_columns} FROM target WHERE id = :id;

-- name: target_list
SELECT {target_columns} FROM target
WHERE name > :after_name AND removed_ms IS NULL ORDER BY name LIMIT :limit;

-- name: target_uses
-- one row
SELECT (SELECT count(a.id) FROM agent a WHERE a.target_id = :id AND a.removed_ms IS NULL) AS agents,
    (SELECT count(x.queue_id) FROM queue_target x WHERE x.target_id = :id) AS queues,
    (SELECT count(x.share_id) FROM share_target x WHERE x.target_id = :id) AS shares,
    (SELECT min(q.name) FROM queue_target x JOIN queue q ON q.id = x.queue_id
        WHERE x.target_id = :id) AS queue_name,
    (SELECT min(coalesce(s.team_name, p.name, 'the organisation')) FROM share_target x
        JOIN share s ON s.id = x.share_id LEFT JOIN project p ON p.id = s.project_id
        WHERE x.target_id = :id) AS share_name;

-- name: target_open_jobs
-- one row
SELECT count(j.id) FROM job j
WHERE j.ended = 0 AND (j.shape LIKE :step OR j.id IN
    (SELECT a.job_id FROM attempt a WHERE a.final = 0 AND a.target_id = :id));

-- name: target_remove
UPDATE target SET removed_ms = :now_ms, name = :freed_name WHERE id = :id;

-- name: target_price_insert
INSERT INTO target_price (target_id, from_ms, price_hour_micro, price_gpu_hour_micro)
VALUES (:target_id, :from_ms, :price_hour_micro, :price_gpu_hour_micro)
ON CONFLICT (target_id, from_ms) DO UPDATE SET price_hour_micro = excluded.price_hour_micro,
    price_gpu_hour_micro = excluded.price_gpu_hour_micro;

-- name: target_price_list
SELECT from_ms, price_hour_micro, price_gpu_hour_micro FROM target_price
WHERE target_id = :target_id AND from_ms < :before_ms ORDER BY from_ms DESC LIMIT :limit;

-- name: target_price_delete_later
DELETE FROM target_price WHERE target_id = :target_id AND from_ms > :now_ms;

-- name: target_price_due
SELECT t.id, t.name, p.price_hour_micro, p.price_gpu_hour_micro
FROM target t JOIN target_price p ON p.target_id = t.id
WHERE p.from_ms = (SELECT max(x.from_ms) FROM target_price x
        WHERE x.target_id = t.id AND x.from_ms <= :now_ms)
    AND (p.price_hour_micro <> t.price_hour_micro OR p.price_gpu_hour_micro <> t.price_gpu_hour_micro)
    AND t.removed_ms IS NULL
ORDER BY t.id LIMIT :limit;

-- name: target_price_now
UPDATE target SET price_hour_micro = :price_hour_micro, price_gpu_hour_micro = :price_gpu_hour_micro
WHERE id = :id;

-- name: target_project_set
INSERT INTO target_project (target_id, project_id, settings) VALUES (:target_id, :project_id, :settings)
ON CONFLICT (target_id, project_id) DO UPDATE SET settings = excluded.settings;

-- name: target_project_get
-- one row
SELECT settings FROM target_project WHERE target_id = :target_id AND project_id = :project_id;

-- name: target_project_delete
DELETE FROM target_project WHERE target_id = :target_id AND project_id = :project_id;

-- name: target_project_delete_all
DELETE FROM target_project WHERE project_id = :project_id;
