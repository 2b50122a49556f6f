-- Budgets of projects, and the ledger of what they used.

-- name: budget_by_project
-- one row
SELECT project_id, gpu_ms_max, micro_max, zone FROM budget WHERE project_id = :project_id;

-- name: budget_list
SELECT project_id, gpu_ms_max, micro_max, zone FROM budget ORDER BY project_id LIMIT :limit;

-- name: budget_set
INSERT INTO budget (project_id, gpu_ms_max, micro_max, zone)
VALUES (:project_id, :gpu_ms_max, :micro_max, :zone)
ON CONFLICT (project_id) DO UPDATE SET gpu_ms_max = excluded.gpu_ms_max,
    micro_max = excluded.micro_max, zone = excluded.zone;

-- name: budget_delete
DELETE FROM budget WHERE project_id = :project_id;

-- columns: ledger_columns
start_ms, end_ms, zone, gpu_ms_used, micro_used, gpu_ms_lost

-- name: ledger_at
SELECT {ledger_columns} FROM ledger
WHERE project_id = :project_id AND start_ms <= :at_ms ORDER BY start_ms DESC LIMIT 1;

-- name: ledger_after
SELECT {ledger_columns} FROM ledger
WHERE project_id = :project_id AND start_ms > :at_ms ORDER BY start_ms LIMIT 1;

-- name: ledger_list
SELECT {ledger_columns} FROM ledger
WHERE project_id = :project_id AND start_ms < :before_ms ORDER BY start_ms DESC LIMIT :limit;

-- name: ledger_set
INSERT INTO ledger (project_id, start_ms, end_ms, zone, gpu_ms_used, micro_used, gpu_ms_lost)
VALUES (:project_id, :start_ms, :end_ms, :zone, :gpu_ms_used, :micro_used, :gpu_ms_lost)
ON CONFLICT (project_id, start_ms) DO UPDATE SET gpu_ms_used = excluded.gpu_ms_used,
    micro_used = excluded.micro_used, gpu_ms_lost = excluded.gpu_ms_lost;

-- name: ledger_delete
DELETE FROM ledger WHERE project_id = :project_id;
