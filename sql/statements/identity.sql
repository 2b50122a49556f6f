-- Users, sessions, keys, audit.

-- name: user_insert
INSERT INTO app_user (public_id, login, password_hash, admin, created_ms)
VALUES (:public_id, :login, :password_hash, :admin, :created_ms)
RETURNING id;

-- columns: user_columns
id, public_id, login, password_hash, admin, created_ms

-- name: user_by_login
-- one row
SELECT {user_columns}
FROM app_user WHERE login = :login;

-- name: user_by_public_id
-- one row
SELECT {user_columns}
FROM app_user WHERE public_id = :public_id;

-- name: user_by_id
-- one row
SELECT {user_columns}
FROM app_user WHERE id = :id;

-- name: user_list
SELECT {user_columns}
FROM app_user WHERE id > :after_id ORDER BY id LIMIT :limit;

-- name: user_count
-- one row
SELECT count(id) FROM app_user;

-- name: user_password_set
UPDATE app_user SET password_hash = :password_hash WHERE id = :id;

-- name: session_insert
INSERT INTO session (token_hash, user_id, created_ms, seen_ms, expires_ms)
VALUES (:token_hash, :user_id, :created_ms, :seen_ms, :expires_ms);

-- name: session_get
-- one row
SELECT user_id, created_ms, seen_ms, expires_ms
FROM session WHERE token_hash = :token_hash;

-- name: session_seen
UPDATE session SET seen_ms = :seen_ms WHERE token_hash = :token_hash;

-- name: session_delete
DELETE FROM session WHERE token_hash = :token_hash;

-- name: session_delete_others
DELETE FROM session WHERE user_id = :user_id AND token_hash <> :token_hash;

-- name: session_delete_expired
DELETE FROM session WHERE expires_ms < :now_ms OR seen_ms < :idle_before_ms;

-- name: setup_token_insert
INSERT INTO setup_token (token_hash, expires_ms) VALUES (:token_hash, :expires_ms);

-- name: setup_token_get
-- one row
SELECT expires_ms FROM setup_token WHERE token_hash = :token_hash;

-- name: setup_token_delete_all
DELETE FROM setup_token;

-- name: key_insert
INSERT INTO access_key (public_id, kind, hash, name, user_id, agent_id, attempt_id, placement_id, project_id,
    created_ms, expires_ms)
VALUES (:public_id, :kind, :hash, :name, :user_id, :agent_id, :attempt_id, :placement_id, :project_id,
    :created_ms, :expires_ms)
RETURNING id;

-- columns: key_columns
k.id, k.public_id, k.kind, k.hash, k.name, k.user_id, k.agent_id, k.attempt_id,
    k.project_id, k.created_ms, k.expires_ms, k.revoked_ms, k.used_ms

-- name: key_by_public_id
-- one row
SELECT {key_columns},
    coalesce(u.login, a.name, '') AS owner
FROM access_key k
LEFT JOIN app_user u ON u.id = k.user_id
LEFT JOIN agent a ON a.id = k.agent_id
WHERE k.public_id = :public_id;

-- name: key_list
SELECT {key_columns},
    coalesce(u.login, a.name, '') AS owner
FROM access_key k
LEFT JOIN app_user u ON u.id = k.user_id
LEFT JOIN agent a ON a.id = k.agent_id
WHERE k.id < :before_id AND k.attempt_id IS NULL AND k.revoked_ms IS NULL
    AND (:everybody = 1 OR k.user_id = :user_id)
ORDER BY k.id DESC LIMIT :limit;

-- name: key_revoke
UPDATE access_key SET revoked_ms = :now_ms WHERE id = :id AND revoked_ms IS NULL;

-- name: key_revoke_by_attempt
UPDATE access_key SET revoked_ms = :now_ms WHERE attempt_id = :attempt_id AND revoked_ms IS NULL;

-- name: key_revoke_by_placement
UPDATE access_key SET revoked_ms = :now_ms
WHERE attempt_id = :attempt_id AND placement_id = :placement_id AND revoked_ms IS NULL;

-- name: key_limit_by_attempt
UPDATE access_key SET expires_ms = :expires_ms WHERE attempt_id = :attempt_id AND revoked_ms IS NULL;

-- name: key_revoke_by_agent
UPDATE access_key SET revoked_ms = :now_ms WHERE agent_id = :agent_id AND revoked_ms IS NULL;

-- name: key_used
UPDATE access_key SET used_ms = :now_ms WHERE id = :id;

-- name: audit_insert
INSERT INTO audit (at_ms, actor, operation, subject, detail, request_id)
VALUES (:at_ms, :actor, :operation, :subject, :detail, :request_id);

-- name: audit_list
SELECT seq, at_ms, actor, operation, subject, detail, request_id
FROM audit WHERE seq < :before_seq ORDER BY seq DESC LIMIT :limit;
