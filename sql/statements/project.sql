-- Projects and members.

-- name: project_insert
INSERT INTO project (name, title, description, created_ms)
VALUES (:name, :title, :description, :created_ms)
RETURNING id;

-- name: project_by_name
-- one row
SELECT id, name, title, description, created_ms, silent_s, retain_days,
    idle_gpus, idle_minutes
FROM project WHERE name = :name;

-- name: project_list
SELECT p.id, p.name, p.title, p.description, p.created_ms, coalesce(m.role, '') AS role,
    (SELECT count(r.id) FROM run r WHERE r.project_id = p.id) AS run_count,
    (SELECT count(r.id) FROM run r WHERE r.project_id = p.id AND r.state = 'running') AS running_count,
    (SELECT max(r.created_ms) FROM run r WHERE r.project_id = p.id) AS last_run_ms,
    (SELECT CAST(coalesce(sum(j.cost_micro), 0) AS INTEGER) FROM job j WHERE j.project_id = p.id) AS cost_micro,
    p.silent_s, p.retain_days, p.idle_gpus, p.idle_minutes
FROM project p
LEFT JOIN member m ON m.project_id = p.id AND m.user_id = :user_id
WHERE p.name > :after_name AND (:everything = 1 OR m.role IS NOT NULL)
ORDER BY p.name LIMIT :limit;

-- name: project_numbers
-- one row
SELECT
    (SELECT count(r.id) FROM run r WHERE r.project_id = :project_id) AS run_count,
    (SELECT count(r.id) FROM run r WHERE r.project_id = :project_id AND r.state = 'running') AS running_count,
    (SELECT max(r.created_ms) FROM run r WHERE r.project_id = :project_id) AS last_run_ms,
    (SELECT CAST(coalesce(sum(j.cost_micro), 0) AS INTEGER) FROM job j WHERE j.project_id = :project_id) AS cost_micro;

-- name: project_update
UPDATE project SET title = :title, description = :description, silent_s = :silent_s,
    retain_days = :retain_days, idle_gpus = :idle_gpus, idle_minutes = :idle_minutes
WHERE id = :id;

-- name: project_retain_list
SELECT id, retain_days FROM project WHERE retain_days IS NOT NULL ORDER BY id LIMIT :limit;

-- name: project_delete
DELETE FROM project WHERE id = :id;

-- name: project_metric_names_delete
DELETE FROM metric_name WHERE project_id = :project_id;

-- name: project_attribute_keys_delete
DELETE FROM attribute_key WHERE project_id = :project_id;

-- name: project_blobs_delete
DELETE FROM project_blob WHERE project_id = :project_id;

-- name: member_role
-- one row
SELECT role FROM member WHERE project_id = :project_id AND user_id = :user_id;

-- name: member_projects
SELECT project_id FROM member WHERE user_id = :user_id ORDER BY project_id LIMIT :limit;

-- name: member_set
INSERT INTO member (project_id, user_id, role) VALUES (:project_id, :user_id, :role)
ON CONFLICT (project_id, user_id) DO UPDATE SET role = excluded.role;

-- name: member_delete
DELETE FROM member WHERE project_id = :project_id AND user_id = :user_id;

-- name: member_delete_all
DELETE FROM member WHERE project_id = :project_id;

-- name: member_list
SELECT u.login, m.role FROM member m JOIN app_user u ON u.id = m.user_id
WHERE m.project_id = :project_id AND u.login > :after_login ORDER BY u.login LIMIT :limit;

-- name: member_owner_count
-- one row
SELECT count(user_id) FROM member WHERE project_id = :project_id AND role = 'owner';

-- Jobs that have not ended: some more, or fewer.
-- name: project_open_jobs_add
UPDATE project SET open_jobs = open_jobs + :count WHERE id = :id RETURNING open_jobs;
