/* How a service is, from its answers: when it is asked again, what is told to the server, and when
 * it is given up. Pure: no clock, no I/O; times are monotonic milliseconds. How it is asked is the
 * business of health_watch.h. thread: any, one at a time */
#pragma once

#include "model/health.h"

#define HEALTH_REASON_BYTES (HEALTH_PROBLEM_BYTES_MAX + 56)

struct health {
    struct health_spec spec; /* the path is borrowed */
    enum health_state state;
    char problem[HEALTH_PROBLEM_BYTES_MAX + 1]; /* of the last answer; "": none */
    int64_t began_ms;                           /* when its process started */
    int64_t ask_at_ms;                          /* the next question */
    int64_t failed;                             /* questions in a row */
    bool known;                                 /* the state is more than a memory */
    enum health_state told;
    char told_problem[HEALTH_PROBLEM_BYTES_MAX + 1];
    int64_t told_ms, changes_left, refilled_ms; /* changes are told in bursts of a few */
};

/* The process has run for `age_ms`. `was_good`: it was healthy before this agent started, so that
 * it is no longer coming up; what it is now the first answer tells. */
void health_init(struct health *h, const struct health_spec *spec, int64_t age_ms, bool was_good,
                 int64_t now_ms);
/* It was asked at `asked_ms`, and its answer, or none, came now. `problem`: NULL when it was well.
 * True: it has failed too often, or for too long, and is to be ended; said again at each further
 * question. */
bool health_note(struct health *h, const char *problem, int64_t asked_ms, int64_t now_ms);
/* Whether its state is to be told now; if so it counts as told. A service that changes without end
 * is told of at most once a minute. */
bool health_tell(struct health *h, int64_t now_ms);
/* Why it was given up, as one line. */
void health_reason(const struct health *h, char ret_reason[HEALTH_REASON_BYTES]);
