-- The tree by which hardware is shared, queues, budgets, secrets, and what targets say of themselves.

-- A node: the organisation (the only one without a parent), a team, or a project. Quantities are in
-- the smallest unit (thousandths of a core, devices, bytes); NULL: not set.
CREATE TABLE share (
    id INTEGER PRIMARY KEY,
    parent_id INTEGER REFERENCES share (id),
    kind TEXT NOT NULL,
    team_name TEXT UNIQUE, -- of a team
    project_id INTEGER UNIQUE REFERENCES project (id), -- of a project
    weight INTEGER NOT NULL,
    cpu_quota INTEGER,
    cpu_borrow INTEGER,
    cpu_lend INTEGER,
    gpu_quota INTEGER,
    gpu_borrow INTEGER,
    gpu_lend INTEGER,
    memory_quota INTEGER,
    memory_borrow INTEGER,
    memory_lend INTEGER,
    jobs_max INTEGER,
    held INTEGER NOT NULL,
    created_ms INTEGER NOT NULL
) STRICT;
CREATE INDEX share_by_parent ON share (parent_id);

-- The first row: its id is 1.
INSERT INTO share (kind, weight, held, created_ms) VALUES ('organisation', 1, 0, 0);
INSERT INTO share (parent_id, kind, project_id, weight, held, created_ms)
SELECT 1, 'project', p.id, 1, 0, p.created_ms FROM project p WHERE p.id <> 0;

-- The targets that a share may use; none: all.
CREATE TABLE share_target (
    share_id INTEGER NOT NULL REFERENCES share (id),
    target_id INTEGER NOT NULL REFERENCES target (id),
    PRIMARY KEY (share_id, target_id)
) STRICT;
CREATE INDEX share_target_by_target ON share_target (target_id);

-- A removed queue keeps its row for the jobs that were in it; its name is free again.
CREATE TABLE queue (
    id INTEGER PRIMARY KEY,
    name TEXT NOT NULL,
    priority INTEGER NOT NULL,
    aging_ms INTEGER NOT NULL, -- 0: waiting does not raise a job
    timeout_s INTEGER, -- of jobs that say none; NULL: the server's
    spread INTEGER NOT NULL,
    held INTEGER NOT NULL,
    draining INTEGER NOT NULL,
    created_ms INTEGER NOT NULL,
    removed_ms INTEGER
) STRICT;
CREATE UNIQUE INDEX queue_by_name ON queue (name) WHERE removed_ms IS NULL;

-- The first row: its id is 1.
INSERT INTO queue (name, priority, aging_ms, spread, held, draining, created_ms)
VALUES ('default', 0, 3600000, 0, 0, 0, 0);

CREATE TABLE queue_target (
    queue_id INTEGER NOT NULL REFERENCES queue (id),
    target_id INTEGER NOT NULL REFERENCES target (id),
    PRIMARY KEY (queue_id, target_id)
) STRICT;
CREATE INDEX queue_target_by_target ON queue_target (target_id);

ALTER TABLE job ADD COLUMN queue_id INTEGER NOT NULL DEFAULT 1;
CREATE INDEX job_by_queue ON job (queue_id, ended);

-- What a project may use in a calendar month; NULL: as much as there is.
CREATE TABLE budget (
    project_id INTEGER NOT NULL UNIQUE REFERENCES project (id),
    gpu_ms_max INTEGER,
    micro_max INTEGER,
    zone TEXT NOT NULL -- '': the installation's
) STRICT;

-- A row a project and month, half open: [start_ms, end_ms). `gpu_ms_lost` is the part of
-- `gpu_ms_used` that attempts used which were ended for others or were lost.
CREATE TABLE ledger (
    project_id INTEGER NOT NULL REFERENCES project (id),
    start_ms INTEGER NOT NULL,
    end_ms INTEGER NOT NULL,
    zone TEXT NOT NULL,
    gpu_ms_used INTEGER NOT NULL,
    micro_used INTEGER NOT NULL,
    gpu_ms_lost INTEGER NOT NULL,
    PRIMARY KEY (project_id, start_ms)
) STRICT;

-- Sealed with the key whose name is key_name, for this project and name alone.
CREATE TABLE secret (
    id INTEGER PRIMARY KEY,
    project_id INTEGER NOT NULL REFERENCES project (id),
    name TEXT NOT NULL,
    key_name TEXT NOT NULL,
    sealed BLOB NOT NULL,
    made_by TEXT NOT NULL,
    made_ms INTEGER NOT NULL,
    used_ms INTEGER,
    UNIQUE (project_id, name)
) STRICT;
CREATE INDEX secret_by_key ON secret (key_name);

-- What a target says of itself: JSON documents in the form of the API.
ALTER TABLE target ADD COLUMN labels TEXT NOT NULL DEFAULT '{}';
ALTER TABLE target ADD COLUMN spot INTEGER NOT NULL DEFAULT 0;
ALTER TABLE target ADD COLUMN excluded TEXT NOT NULL DEFAULT '[]';
ALTER TABLE target ADD COLUMN tolerations TEXT NOT NULL DEFAULT '[]';
ALTER TABLE target ADD COLUMN settings TEXT NOT NULL DEFAULT '{}';
ALTER TABLE target ADD COLUMN volumes TEXT NOT NULL DEFAULT '[]';
ALTER TABLE target ADD COLUMN buckets TEXT NOT NULL DEFAULT '[]';
-- In maintenance it starts nothing until `maintenance_until_ms`; NULL there: open end. NULL in
-- `maintenance`: it is in service.
ALTER TABLE target ADD COLUMN maintenance TEXT;
ALTER TABLE target ADD COLUMN maintenance_until_ms INTEGER;
ALTER TABLE target ADD COLUMN removed_ms INTEGER;

-- Prices that hold from a moment on; before the first of them those of the target's row.
CREATE TABLE target_price (
    target_id INTEGER NOT NULL REFERENCES target (id),
    from_ms INTEGER NOT NULL,
    price_hour_micro INTEGER NOT NULL,
    price_gpu_hour_micro INTEGER NOT NULL,
    PRIMARY KEY (target_id, from_ms)
) STRICT;

-- What every job of a project at a target gets, over the target's own settings.
CREATE TABLE target_project (
    target_id INTEGER NOT NULL REFERENCES target (id),
    project_id INTEGER NOT NULL REFERENCES project (id),
    settings TEXT NOT NULL,
    PRIMARY KEY (target_id, project_id)
) STRICT;
CREATE INDEX target_project_by_project ON target_project (project_id);
