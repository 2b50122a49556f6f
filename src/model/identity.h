/* Users, keys, sessions, roles and the caller of a request. Text lives in the arena that the
 * object was read into. thread: any */
#pragma once

#include "base/id.h"
#include "base/timeval.h"
#include "model/ids.h"

#define LOGIN_BYTES_MAX    63
#define PASSWORD_BYTES_MIN 12
#define PASSWORD_BYTES_MAX 200
#define HASH_BYTES         32

enum role { ROLE_NONE, ROLE_VIEWER, ROLE_EDITOR, ROLE_OWNER };
const char *role_name(enum role role); /* "viewer"; "" for none */
enum role role_from_name(struct str name);

/*      kind                 name        */
#define PRINCIPAL_KINDS(X)                                                                         \
    X(PRINCIPAL_SESSION, "session")                                                                \
    X(PRINCIPAL_USER, "user")                                                                      \
    X(PRINCIPAL_SERVICE, "service")                                                                \
    X(PRINCIPAL_JOB, "job")                                                                        \
    X(PRINCIPAL_AGENT, "agent")

enum principal_kind {
    PRINCIPAL_NOBODY,
#define X(kind, name) kind,
    PRINCIPAL_KINDS(X)
#undef X
};
const char *principal_kind_name(enum principal_kind kind);
enum principal_kind principal_kind_from_name(struct str name); /* PRINCIPAL_NOBODY when unknown */

struct user {
    user_id id;
    struct id public_id;
    struct str login;
    struct str password_hash;
    bool admin;
    time_ms created;
};

struct access_key {
    key_id id;
    struct id public_id;
    enum principal_kind kind;
    uint8_t hash[HASH_BYTES];
    struct str name;
    user_id user;           /* of user and service keys */
    agent_id agent;         /* of agent keys */
    attempt_id attempt;     /* of job keys */
    placement_id placement; /* of job keys; only written */
    project_id project;     /* of job keys */
    time_ms created;
    time_ms expires;  /* TIME_NONE: never */
    time_ms revoked;  /* TIME_NONE: not */
    time_ms used;     /* TIME_NONE: never */
    struct str owner; /* login or agent name, for lists */
};

struct session {
    uint8_t token_hash[HASH_BYTES];
    user_id user;
    time_ms created, seen, expires;
};

struct member {
    struct str login;
    enum role role;
};

/* Who makes a request. For job keys `attempt_fenced` narrows the rights (domain/identity). */
struct principal {
    enum principal_kind kind;
    user_id user;
    bool admin;
    agent_id agent;
    attempt_id attempt;
    project_id project; /* of a job key */
    run_id run;         /* of a job key: the job's run */
    job_id job;
    bool attempt_fenced;
    struct str name; /* login, agent name or job id: for audit rows */
    uint8_t session_hash[HASH_BYTES];
};

struct audit_row {
    int64_t seq;
    time_ms at;
    struct str actor, operation, subject, detail, request_id;
};
