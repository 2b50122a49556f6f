-- What a run needs to survive: who wrote which part of it, how each process ended, epochs and
-- branches, alerts, stop requests. A run's row is worked out from its writers, whatever the order
-- in which their logs come.

ALTER TABLE project ADD COLUMN silent_s INTEGER;

ALTER TABLE run ADD COLUMN parent_public_id TEXT;
ALTER TABLE run ADD COLUMN parent_step INTEGER;
ALTER TABLE run ADD COLUMN redacted INTEGER NOT NULL DEFAULT 0;
ALTER TABLE run ADD COLUMN stop_asked_ms INTEGER;
ALTER TABLE run ADD COLUMN facts_stale INTEGER NOT NULL DEFAULT 0;
CREATE INDEX run_by_parent ON run (parent_public_id);
CREATE INDEX run_by_stale_facts ON run (facts_stale, id);

ALTER TABLE writer ADD COLUMN host TEXT NOT NULL DEFAULT '';
ALTER TABLE writer ADD COLUMN rank_no INTEGER;
ALTER TABLE writer ADD COLUMN local_rank INTEGER;
ALTER TABLE writer ADD COLUMN world_size INTEGER;
ALTER TABLE writer ADD COLUMN epoch_kind TEXT NOT NULL DEFAULT '';
ALTER TABLE writer ADD COLUMN epoch_key TEXT NOT NULL DEFAULT '';
ALTER TABLE writer ADD COLUMN epoch_step INTEGER;
ALTER TABLE writer ADD COLUMN first_step INTEGER;
ALTER TABLE writer ADD COLUMN heard_ms INTEGER;
ALTER TABLE writer ADD COLUMN ended_ms INTEGER;
ALTER TABLE writer ADD COLUMN exit_code INTEGER;
ALTER TABLE writer ADD COLUMN exit_signal INTEGER;
ALTER TABLE writer ADD COLUMN oom INTEGER NOT NULL DEFAULT 0;
ALTER TABLE writer ADD COLUMN reason TEXT NOT NULL DEFAULT '';
ALTER TABLE writer ADD COLUMN preempting INTEGER NOT NULL DEFAULT 0;
ALTER TABLE writer ADD COLUMN redacted INTEGER NOT NULL DEFAULT 0;
ALTER TABLE writer ADD COLUMN console_bytes INTEGER NOT NULL DEFAULT 0;

-- What one writer said of the run: config, summary, code, machine, and the facts of its start.
-- The documents of a run are these, folded in the order of its writers.
CREATE TABLE writer_doc (
    writer_id INTEGER NOT NULL REFERENCES writer (id),
    kind TEXT NOT NULL,
    body TEXT NOT NULL,
    PRIMARY KEY (writer_id, kind)
) STRICT;

-- Console text that came in the log of a writer. What the agent of a job sends is in run_console.
CREATE TABLE writer_console (
    writer_id INTEGER NOT NULL REFERENCES writer (id),
    start_offset INTEGER NOT NULL,
    end_offset INTEGER NOT NULL,
    data BLOB NOT NULL,
    PRIMARY KEY (writer_id, start_offset)
) STRICT;

-- That a process is gone without an end record, as its sidecar saw it; the word may come before
-- the log of the process it is about.
CREATE TABLE writer_gone (
    run_id INTEGER NOT NULL REFERENCES run (id),
    writer_public_id TEXT NOT NULL,
    at_ms INTEGER NOT NULL,
    oom INTEGER NOT NULL,
    PRIMARY KEY (run_id, writer_public_id)
) STRICT;

CREATE TABLE alert (
    id INTEGER PRIMARY KEY,
    project_id INTEGER NOT NULL REFERENCES project (id),
    run_id INTEGER NOT NULL REFERENCES run (id),
    writer_id INTEGER NOT NULL REFERENCES writer (id),
    log_offset INTEGER NOT NULL,
    level TEXT NOT NULL,
    title TEXT NOT NULL,
    body TEXT NOT NULL,
    at_ms INTEGER NOT NULL,
    received_ms INTEGER NOT NULL,
    UNIQUE (writer_id, log_offset)
) STRICT;
CREATE INDEX alert_by_project ON alert (project_id, id);
CREATE INDEX alert_by_run ON alert (run_id, id);
