/* How a service is while it runs, as its agent finds by asking it. thread: any */
#pragma once

#include "base/str.h"

/*      state            name         meaning */
#define HEALTH_STATES(X)                                                                           \
    X(HEALTH_NONE, "")                                                                             \
    X(HEALTH_STARTING, "starting") /* it has not answered well yet */                              \
    X(HEALTH_GOOD, "healthy")      /* the last answer was well */                                  \
    X(HEALTH_BAD, "unhealthy")     /* it has answered well before, and does not now */

enum health_state {
#define X(state, name) state,
    HEALTH_STATES(X)
#undef X
        HEALTH_STATE_COUNT
};
const char *health_state_name(enum health_state state);
enum health_state health_state_from_name(struct str name); /* HEALTH_STATE_COUNT when unknown */

#define HEALTH_PATH_BYTES_MAX    1024
#define HEALTH_PROBLEM_BYTES_MAX 200

/* What a service says of how it is asked: GET on this port and path. */
struct health_spec {
    int64_t port;            /* 0: it is not asked */
    struct str path;         /* begins with '/' */
    int64_t every_s;         /* from one question to the next; every second while it starts */
    int64_t timeout_s;       /* for an answer */
    int64_t failures;        /* in a row, then it is ended */
    int64_t starts_within_s; /* without one good answer, then it is ended */
};

#define HEALTH_EVERY_S_DEFAULT         10
#define HEALTH_TIMEOUT_S_DEFAULT       5
#define HEALTH_FAILURES_DEFAULT        3
#define HEALTH_STARTS_WITHIN_S_DEFAULT 600
