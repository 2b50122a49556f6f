-- The tree of shares: organisation, teams, projects.

-- name: share_insert
INSERT INTO share (parent_id, kind, team_name, project_id, weight, cpu_quota, cpu_borrow, cpu_lend,
    gpu_quota, gpu_borrow, gpu_lend, memory_quota, memory_borrow, memory_lend, jobs_max, held, created_ms)
VALUES (:parent_id, :kind, :team_name, :project_id, :weight, :cpu_quota, :cpu_borrow, :cpu_lend,
    :gpu_quota, :gpu_borrow, :gpu_lend, :memory_quota, :memory_borrow, :memory_lend, :jobs_max, :held,
    :created_ms)
RETURNING id;

-- name: share_update
UPDATE share SET parent_id = :parent_id, weight = :weight, cpu_quota = :cpu_quota,
    cpu_borrow = :cpu_borrow, cpu_lend = :cpu_lend, gpu_quota = :gpu_quota, gpu_borrow = :gpu_borrow,
    gpu_lend = :gpu_lend, memory_quota = :memory_quota, memory_borrow = :memory_borrow,
    memory_lend = :memory_lend, jobs_max = :jobs_max, held = :held
WHERE id = :id;

-- columns: share_columns
s.id, s.parent_id, s.kind, s.team_name, p.name, s.project_id, s.weight,
    s.cpu_quota, s.cpu_borrow, s.cpu_lend, s.gpu_quota, s.gpu_borrow, s.gpu_lend,
    s.memory_quota, s.memory_borrow, s.memory_lend, s.jobs_max, s.held, s.created_ms

-- name: share_list
SELECT {share_columns}
FROM share s LEFT JOIN project p ON p.id = s.project_id
ORDER BY s.id LIMIT :limit;

-- name: share_get
-- one row
SELECT {share_columns}, CASE WHEN EXISTS (SELECT 1 FROM share_target t WHERE t.share_id = s.id)
    THEN 1 ELSE 0 END AS limits_targets
FROM share s LEFT JOIN project p ON p.id = s.project_id WHERE s.id = :id;

-- name: share_target_of
SELECT share_id, target_id FROM share_target WHERE share_id = :share_id
ORDER BY target_id LIMIT :limit;

-- name: share_delete
DELETE FROM share WHERE id = :id;

-- name: share_of_project
-- one row
SELECT id FROM share WHERE project_id = :project_id;

-- name: share_target_list
SELECT share_id, target_id FROM share_target ORDER BY share_id, target_id LIMIT :limit;

-- name: share_target_insert
INSERT INTO share_target (share_id, target_id) VALUES (:share_id, :target_id);

-- name: share_target_delete
DELETE FROM share_target WHERE share_id = :share_id;

-- name: share_use
SELECT j.project_id, count(a.id), CAST(sum(j.cpus * j.node_count) AS INTEGER),
    CAST(sum(j.gpus * j.node_count) AS INTEGER), CAST(sum(j.memory_bytes * j.node_count) AS INTEGER)
FROM attempt a JOIN job j ON j.id = a.job_id
WHERE a.ended_ms IS NULL GROUP BY j.project_id ORDER BY j.project_id LIMIT :limit;

-- name: share_name
-- one row
SELECT coalesce(s.team_name, p.name, '') AS name
FROM share s LEFT JOIN project p ON p.id = s.project_id WHERE s.id = :id;
