/* Asks a service how it is, on a thread of its own, so that a service that hangs holds up nothing
 * else. What it finds comes as messages. thread: the attempt's */
#pragma once

#include "agent/health.h"
#include "base/err.h"

struct health_watch;

struct health_watch_options {
    struct health_spec spec;
    const char *address;     /* of the machine or container; copied */
    int64_t age_ms;          /* how long its process has run */
    bool was_good;           /* see health_init */
    void (*wake)(void *ctx); /* there is news. thread: the watch's */
    void *ctx;
};

struct health_news {
    enum health_state state;
    char problem[HEALTH_PROBLEM_BYTES_MAX + 1];
    bool give_up; /* end it: `reason` says why */
    char reason[HEALTH_REASON_BYTES];
};

MUST_CHECK enum err_code health_watch_new(struct health_watch **ret_watch,
                                          const struct health_watch_options *options,
                                          struct err *err);
/* The next message; false: none. */
bool health_watch_news(struct health_watch *watch, struct health_news *ret_news);
void health_watch_free(struct health_watch *watch); /* joins within a second; accepts NULL */
