-- The first schema. Times are int64 UTC milliseconds; *_micro is money in millionths; ids that
-- people see are in public_id. Ids and times come from the application.

CREATE TABLE app_user (
    id INTEGER PRIMARY KEY,
    public_id TEXT NOT NULL UNIQUE,
    login TEXT NOT NULL UNIQUE,
    password_hash TEXT NOT NULL,
    admin INTEGER NOT NULL,
    created_ms INTEGER NOT NULL
) STRICT;

CREATE TABLE session (
    token_hash BLOB PRIMARY KEY,
    user_id INTEGER NOT NULL REFERENCES app_user (id),
    created_ms INTEGER NOT NULL,
    seen_ms INTEGER NOT NULL,
    expires_ms INTEGER NOT NULL
) STRICT;

CREATE TABLE setup_token (
    token_hash BLOB PRIMARY KEY,
    expires_ms INTEGER NOT NULL
) STRICT;

CREATE TABLE project (
    id INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,
    title TEXT NOT NULL,
    description TEXT NOT NULL,
    created_ms INTEGER NOT NULL
) STRICT;

CREATE TABLE member (
    project_id INTEGER NOT NULL REFERENCES project (id),
    user_id INTEGER NOT NULL REFERENCES app_user (id),
    role TEXT NOT NULL,
    PRIMARY KEY (project_id, user_id)
) STRICT;
CREATE INDEX member_by_user ON member (user_id);

CREATE TABLE target (
    id INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,
    price_hour_micro INTEGER NOT NULL,
    price_gpu_hour_micro INTEGER NOT NULL,
    created_ms INTEGER NOT NULL
) STRICT;

CREATE TABLE agent (
    id INTEGER PRIMARY KEY,
    public_id TEXT NOT NULL UNIQUE,
    name TEXT NOT NULL UNIQUE,
    target_id INTEGER NOT NULL REFERENCES target (id),
    boot TEXT NOT NULL,
    version TEXT NOT NULL,
    executor TEXT NOT NULL,
    slots INTEGER NOT NULL,
    cpus INTEGER NOT NULL,
    memory_bytes INTEGER NOT NULL,
    gpus INTEGER NOT NULL,
    gpu_type TEXT NOT NULL,
    gpu_memory_bytes INTEGER NOT NULL,
    several INTEGER NOT NULL,
    created_ms INTEGER NOT NULL,
    seen_ms INTEGER,
    removed_ms INTEGER
) STRICT;

CREATE TABLE run (
    id INTEGER PRIMARY KEY,
    public_id TEXT NOT NULL UNIQUE,
    project_id INTEGER NOT NULL REFERENCES project (id),
    name TEXT NOT NULL,
    state TEXT NOT NULL,
    owner_id INTEGER NOT NULL REFERENCES app_user (id),
    job_public_id TEXT,
    run_group TEXT NOT NULL,
    job_type TEXT NOT NULL,
    host TEXT NOT NULL,
    notes TEXT NOT NULL,
    tags TEXT NOT NULL,
    command TEXT NOT NULL,
    reason TEXT NOT NULL,
    exit_code INTEGER,
    exit_signal INTEGER,
    oom INTEGER NOT NULL,
    created_ms INTEGER NOT NULL,
    started_ms INTEGER,
    ended_ms INTEGER,
    seen_ms INTEGER,
    cost_micro INTEGER,
    console_bytes INTEGER NOT NULL,
    console_final INTEGER NOT NULL,
    create_hash BLOB NOT NULL
) STRICT;
CREATE INDEX run_by_project ON run (project_id, id);
CREATE INDEX run_by_state ON run (state, seen_ms);

CREATE TABLE run_doc (
    run_id INTEGER NOT NULL REFERENCES run (id),
    kind TEXT NOT NULL,
    body TEXT NOT NULL,
    PRIMARY KEY (run_id, kind)
) STRICT;

CREATE TABLE run_console (
    run_id INTEGER NOT NULL REFERENCES run (id),
    start_offset INTEGER NOT NULL,
    end_offset INTEGER NOT NULL,
    data BLOB NOT NULL,
    PRIMARY KEY (run_id, start_offset)
) STRICT;

CREATE TABLE writer (
    id INTEGER PRIMARY KEY,
    public_id TEXT NOT NULL,
    run_id INTEGER NOT NULL REFERENCES run (id),
    kind TEXT NOT NULL,
    started_ms INTEGER NOT NULL,
    committed_offset INTEGER NOT NULL,
    committed_crc INTEGER NOT NULL,
    applied_offset INTEGER NOT NULL,
    compacted_offset INTEGER NOT NULL,
    fenced INTEGER NOT NULL,
    ended INTEGER NOT NULL,
    UNIQUE (run_id, public_id)
) STRICT;

CREATE TABLE log_blob (
    writer_id INTEGER NOT NULL REFERENCES writer (id),
    start_offset INTEGER NOT NULL,
    end_offset INTEGER NOT NULL,
    data BLOB NOT NULL,
    PRIMARY KEY (writer_id, start_offset)
) STRICT;

-- Records of types this server does not know, kept as they came.
CREATE TABLE log_record (
    writer_id INTEGER NOT NULL REFERENCES writer (id),
    log_offset INTEGER NOT NULL,
    record_type INTEGER NOT NULL,
    payload BLOB NOT NULL,
    PRIMARY KEY (writer_id, log_offset)
) STRICT;

-- Files that a run refers to; paths are relative to the run's folder.
CREATE TABLE run_file (
    run_id INTEGER NOT NULL REFERENCES run (id),
    path TEXT NOT NULL,
    detail TEXT NOT NULL,
    PRIMARY KEY (run_id, path)
) STRICT;

CREATE TABLE metric_name (
    id INTEGER PRIMARY KEY,
    project_id INTEGER NOT NULL REFERENCES project (id),
    kind INTEGER NOT NULL,
    name TEXT NOT NULL,
    UNIQUE (project_id, kind, name)
) STRICT;

-- The dictionary of a writer: the number it gave a name, and our number for it.
CREATE TABLE writer_name (
    writer_id INTEGER NOT NULL REFERENCES writer (id),
    local_id INTEGER NOT NULL,
    metric_id INTEGER NOT NULL REFERENCES metric_name (id),
    PRIMARY KEY (writer_id, local_id)
) STRICT;

-- Values of float64 are kept as order-preserving int64, so that NaN and -0 survive.
CREATE TABLE run_metric (
    run_id INTEGER NOT NULL REFERENCES run (id),
    metric_id INTEGER NOT NULL REFERENCES metric_name (id),
    point_count INTEGER NOT NULL,
    finite_count INTEGER NOT NULL,
    last_step INTEGER NOT NULL,
    last_bits INTEGER NOT NULL,
    min_bits INTEGER NOT NULL,
    max_bits INTEGER NOT NULL,
    PRIMARY KEY (run_id, metric_id)
) STRICT;

CREATE TABLE metric_chunk (
    run_id INTEGER NOT NULL REFERENCES run (id),
    metric_id INTEGER NOT NULL REFERENCES metric_name (id),
    writer_id INTEGER NOT NULL REFERENCES writer (id),
    seq INTEGER NOT NULL,
    times_of INTEGER REFERENCES metric_name (id), -- whose chunk has the times of this one too
    data BLOB NOT NULL,
    PRIMARY KEY (run_id, metric_id, writer_id, seq)
) STRICT;

CREATE TABLE blob (
    digest TEXT PRIMARY KEY,
    size_bytes INTEGER NOT NULL,
    created_ms INTEGER NOT NULL
) STRICT;

CREATE TABLE project_blob (
    project_id INTEGER NOT NULL REFERENCES project (id),
    digest TEXT NOT NULL REFERENCES blob (digest),
    PRIMARY KEY (project_id, digest)
) STRICT;

CREATE TABLE job (
    id INTEGER PRIMARY KEY,
    public_id TEXT NOT NULL UNIQUE,
    project_id INTEGER NOT NULL REFERENCES project (id),
    run_id INTEGER NOT NULL REFERENCES run (id),
    owner_id INTEGER NOT NULL REFERENCES app_user (id),
    name TEXT NOT NULL,
    service INTEGER NOT NULL,
    state TEXT NOT NULL,
    ended INTEGER NOT NULL,
    priority INTEGER NOT NULL,
    spec TEXT NOT NULL,
    node_count INTEGER NOT NULL,
    cpus INTEGER NOT NULL,
    gpus INTEGER NOT NULL,
    memory_bytes INTEGER NOT NULL,
    shape TEXT NOT NULL,
    timeout_s INTEGER NOT NULL,
    grace_s INTEGER NOT NULL,
    retries INTEGER NOT NULL,
    retry_failed INTEGER NOT NULL,
    attempt_count INTEGER NOT NULL,
    failures INTEGER NOT NULL,
    withdrawals INTEGER NOT NULL,
    attempt_id INTEGER,
    attempt_public_id TEXT,
    array_id INTEGER,
    array_index INTEGER NOT NULL,
    array_limit INTEGER NOT NULL,
    step_from INTEGER NOT NULL,
    ladder_at_ms INTEGER,
    not_before_ms INTEGER,
    created_ms INTEGER NOT NULL,
    queued_ms INTEGER,
    started_ms INTEGER,
    ended_ms INTEGER,
    run_time_ms INTEGER NOT NULL,
    cost_micro INTEGER NOT NULL,
    gpu_ms INTEGER NOT NULL,
    exit_code INTEGER,
    exit_signal INTEGER,
    oom INTEGER NOT NULL,
    cancel_asked INTEGER NOT NULL,
    stop_for INTEGER NOT NULL,
    ending INTEGER NOT NULL,
    final INTEGER NOT NULL,
    reason TEXT NOT NULL,
    event_count INTEGER NOT NULL,
    create_hash BLOB NOT NULL
) STRICT;
CREATE INDEX job_open ON job (id) WHERE ended = 0;
CREATE INDEX job_by_project ON job (project_id, id);
CREATE INDEX job_by_array ON job (array_id, array_index) WHERE array_id IS NOT NULL;

CREATE TABLE job_after (
    job_id INTEGER NOT NULL REFERENCES job (id),
    before_id INTEGER NOT NULL REFERENCES job (id),
    any_end INTEGER NOT NULL,
    PRIMARY KEY (job_id, before_id)
) STRICT;
CREATE INDEX job_after_by_before ON job_after (before_id);

CREATE TABLE attempt (
    id INTEGER PRIMARY KEY,
    public_id TEXT NOT NULL UNIQUE,
    job_id INTEGER NOT NULL REFERENCES job (id),
    run_id INTEGER NOT NULL REFERENCES run (id),
    number INTEGER NOT NULL,
    state TEXT NOT NULL,
    target_id INTEGER NOT NULL REFERENCES target (id),
    step INTEGER NOT NULL,
    offered_ms INTEGER NOT NULL,
    started_ms INTEGER,
    ended_ms INTEGER,
    charged_ms INTEGER,
    run_time_ms INTEGER NOT NULL,
    gpu_ms INTEGER NOT NULL,
    cost_micro INTEGER NOT NULL,
    price_hour_micro INTEGER NOT NULL,
    price_gpu_hour_micro INTEGER NOT NULL,
    exit_code INTEGER,
    exit_signal INTEGER,
    oom INTEGER NOT NULL,
    final INTEGER NOT NULL,
    ending INTEGER NOT NULL,
    reason TEXT NOT NULL
) STRICT;
CREATE INDEX attempt_by_job ON attempt (job_id, number);
CREATE INDEX attempt_open ON attempt (id) WHERE final = 0;

CREATE TABLE placement (
    id INTEGER PRIMARY KEY,
    attempt_id INTEGER NOT NULL REFERENCES attempt (id),
    first_rank INTEGER NOT NULL,
    rank_count INTEGER NOT NULL,
    agent_id INTEGER NOT NULL REFERENCES agent (id),
    state TEXT NOT NULL,
    token_hash BLOB NOT NULL,
    started_ms INTEGER,
    ended_ms INTEGER,
    run_time_ms INTEGER NOT NULL,
    exit_code INTEGER,
    exit_signal INTEGER,
    oom INTEGER NOT NULL,
    final INTEGER NOT NULL,
    verdict INTEGER NOT NULL,
    ending INTEGER NOT NULL,
    reason TEXT NOT NULL,
    console_start INTEGER NOT NULL,
    console_bytes INTEGER NOT NULL
) STRICT;
CREATE UNIQUE INDEX placement_by_attempt ON placement (attempt_id, first_rank);
CREATE INDEX placement_open ON placement (agent_id) WHERE final = 0;

CREATE TABLE job_event (
    job_id INTEGER NOT NULL REFERENCES job (id),
    seq INTEGER NOT NULL,
    at_ms INTEGER NOT NULL,
    kind TEXT NOT NULL,
    state TEXT NOT NULL,
    attempt_public_id TEXT,
    actor TEXT NOT NULL,
    detail TEXT NOT NULL,
    PRIMARY KEY (job_id, seq)
) STRICT;

CREATE TABLE access_key (
    id INTEGER PRIMARY KEY,
    public_id TEXT NOT NULL UNIQUE,
    kind TEXT NOT NULL,
    hash BLOB NOT NULL,
    name TEXT NOT NULL,
    user_id INTEGER REFERENCES app_user (id),
    agent_id INTEGER REFERENCES agent (id),
    attempt_id INTEGER REFERENCES attempt (id),
    placement_id INTEGER REFERENCES placement (id),
    project_id INTEGER REFERENCES project (id),
    created_ms INTEGER NOT NULL,
    expires_ms INTEGER,
    revoked_ms INTEGER,
    used_ms INTEGER
) STRICT;
CREATE INDEX access_key_by_user ON access_key (user_id);
CREATE INDEX access_key_by_attempt ON access_key (attempt_id);

CREATE TABLE audit (
    seq INTEGER PRIMARY KEY,
    at_ms INTEGER NOT NULL,
    actor TEXT NOT NULL,
    operation TEXT NOT NULL,
    subject TEXT NOT NULL,
    detail TEXT NOT NULL,
    request_id TEXT NOT NULL
) STRICT;
