-- Secrets of projects, sealed.

-- columns: secret_columns
id, project_id, name, made_by, key_name, made_ms, used_ms

-- name: secret_set
INSERT INTO secret (project_id, name, key_name, sealed, made_by, made_ms)
VALUES (:project_id, :name, :key_name, :sealed, :made_by, :made_ms)
ON CONFLICT (project_id, name) DO UPDATE SET key_name = excluded.key_name, sealed = excluded.sealed,
    made_by = excluded.made_by, made_ms = excluded.made_ms, used_ms = NULL;

-- name: secret_get
-- one row
SELECT {secret_columns} FROM secret WHERE project_id = :project_id AND name = :name;

-- name: secret_sealed
-- one row
SELECT sealed FROM secret WHERE id = :id;

-- name: secret_list
SELECT {secret_columns} FROM secret
WHERE project_id = :project_id AND name > :after_name ORDER BY name LIMIT :limit;

-- name: secret_count
-- one row
SELECT count(id) FROM secret WHERE project_id = :project_id;

-- name: secret_used
UPDATE secret SET used_ms = :now_ms WHERE id = :id;

-- name: secret_delete
DELETE FROM secret WHERE id = :id;

-- name: secret_delete_all
DELETE FROM secret WHERE project_id = :project_id;

-- name: secret_of_other_key
SELECT key_name FROM secret WHERE key_name <> :key_name ORDER BY key_name LIMIT 1;
