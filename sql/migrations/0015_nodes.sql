-- Nodes: what machines agents stand on, their GPUs, and a week of readings. Readings come every ten seconds into node_sample; an hour
-- that is over becomes one row of node_hour, which never changes: columns of all readings, and of buckets of a minute, ten minutes
-- and the hour.
ALTER TABLE agent ADD COLUMN maintenance TEXT;
ALTER TABLE agent ADD COLUMN maintenance_until_ms INTEGER;

CREATE TABLE node (
    agent_id INTEGER NOT NULL REFERENCES agent (id),
    facts TEXT NOT NULL,
    boot TEXT NOT NULL,
    sample_number INTEGER NOT NULL,
    sampled_ms INTEGER NOT NULL,
    packed_ms INTEGER NOT NULL,
    PRIMARY KEY (agent_id)
) STRICT;

CREATE TABLE node_gpu (
    agent_id INTEGER NOT NULL REFERENCES agent (id),
    place INTEGER NOT NULL,
    uuid TEXT NOT NULL,
    name TEXT NOT NULL,
    type TEXT NOT NULL,
    bus_id TEXT NOT NULL,
    memory_kind TEXT NOT NULL,
    memory_bytes INTEGER NOT NULL,
    mig INTEGER NOT NULL,
    ill TEXT NOT NULL,
    ill_ms INTEGER,
    used_by TEXT NOT NULL,
    seen_ms INTEGER NOT NULL,
    present INTEGER NOT NULL,
    PRIMARY KEY (agent_id, place)
) STRICT;
CREATE UNIQUE INDEX node_gpu_by_uuid ON node_gpu (agent_id, uuid);

CREATE TABLE node_sample (
    agent_id INTEGER NOT NULL REFERENCES agent (id),
    at_ms INTEGER NOT NULL,
    gpu_readings INTEGER NOT NULL,
    gpu_tenths INTEGER NOT NULL,
    data BLOB NOT NULL,
    PRIMARY KEY (agent_id, at_ms)
) STRICT, WITHOUT ROWID;

CREATE TABLE node_hour (
    agent_id INTEGER NOT NULL REFERENCES agent (id),
    hour_ms INTEGER NOT NULL,
    gpu_readings INTEGER NOT NULL,
    gpu_tenths INTEGER NOT NULL,
    hour BLOB NOT NULL,
    tens BLOB NOT NULL,
    minutes BLOB NOT NULL,
    samples BLOB NOT NULL,
    PRIMARY KEY (agent_id, hour_ms)
) STRICT;
CREATE INDEX node_hour_old ON node_hour (hour_ms);

-- Which GPUs an attempt had on an agent, what they took, and since when they are idle.
CREATE TABLE attempt_gpu (
    attempt_id INTEGER NOT NULL REFERENCES attempt (id),
    agent_id INTEGER NOT NULL REFERENCES agent (id),
    places TEXT NOT NULL,
    first_ms INTEGER NOT NULL,
    last_ms INTEGER NOT NULL,
    energy_mj INTEGER NOT NULL,
    idle_ms INTEGER,
    PRIMARY KEY (attempt_id, agent_id)
) STRICT;
CREATE INDEX attempt_gpu_by_agent ON attempt_gpu (agent_id, last_ms);

ALTER TABLE attempt ADD COLUMN energy_mj INTEGER NOT NULL DEFAULT 0;
ALTER TABLE attempt ADD COLUMN idle_ms INTEGER;
ALTER TABLE project ADD COLUMN idle_gpus TEXT NOT NULL DEFAULT 'warn';
ALTER TABLE project ADD COLUMN idle_minutes INTEGER NOT NULL DEFAULT 30;
