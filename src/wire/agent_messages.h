/* What agent and server tell each other about attempts, as JSON (api/openapi.yaml: AgentPoll,
 * AgentPolled, Offer, AttemptStatus). Decoding trusts nobody: every text is checked for length,
 * shape and bytes that could not go into an argv or an environment. Fields that are not known are
 * skipped: the other side may be newer. thread: any */
#pragma once

#include "base/arena.h"
#include "base/id.h"
#include "base/json.h"

#define WIRE_BOOT_LEN          12
#define WIRE_TOKEN_LEN         43
#define WIRE_OFFERS_MAX        1000
#define WIRE_ATTEMPTS_MAX      10000
#define WIRE_ARGS_MAX          1000
#define WIRE_ENV_MAX           200
#define WIRE_ENV_BYTES_MAX     32768
#define WIRE_CONFIG_BYTES_MAX  (1024 * 1024)
#define WIRE_MESSAGE_BYTES_MAX (16 * 1024 * 1024)

struct wire_attempt {
    struct id id;
    char token[WIRE_TOKEN_LEN + 1];
};

/* Agent to server. Capacity is what the agent has in all; the server counts what it gave away. */
struct wire_poll {
    const char *boot; /* WIRE_BOOT_LEN characters, new at each start */
    const char *version;
    const char *executor; /* "process" */
    int64_t slots, cpus, memory_bytes, gpus;
    int64_t wait_ms;
    const struct wire_attempt *attempts; /* all that are held */
    size_t attempt_count;
};

struct wire_offer {
    struct wire_attempt attempt;
    struct id job, run;
    struct str project, name;
    int64_t number;          /* of the attempt within its job, from 1 */
    const char *const *argv; /* NULL-terminated */
    const char *const *env;  /* "NAME=value", NULL-terminated */
    struct str config;       /* JSON object */
    struct str code;         /* SHA-256 in hexadecimal; len 0: none */
    int64_t cpus, memory_bytes, gpus, timeout_s, grace_s;
    struct str key; /* the job key */
};

struct wire_polled {
    struct wire_offer *offers;
    size_t offer_count;
    struct id *stops; /* to be ended with SIGTERM */
    size_t stop_count;
    struct id *fenced; /* to be killed; nothing is reported about them */
    size_t fenced_count;
    int64_t heartbeat_ms;
};

enum wire_attempt_state { WIRE_STARTING, WIRE_RUNNING, WIRE_ENDED };

struct wire_status {
    enum wire_attempt_state state;
    time_ms at;
    int exit_code;   /* -1: none */
    int exit_signal; /* 0: none */
    bool oom, failed_to_start, timed_out, final;
    const char *reason;  /* or NULL; cut at 500 bytes */
    int64_t run_time_ms; /* -1: not known */
    int64_t console_bytes;
};

void wire_poll_encode(const struct wire_poll *poll, struct json_writer *w);
/* The texts live in the arena. ERR_INVALID, ERR_BAD_JSON, ERR_TOO_LARGE. */
MUST_CHECK enum err_code wire_polled_decode(struct arena *arena, struct str text,
                                            struct wire_polled *ret_polled, struct err *err);
void wire_offer_encode(const struct wire_offer *offer, struct json_writer *w);
MUST_CHECK enum err_code wire_offer_decode(struct arena *arena, struct str text,
                                           struct wire_offer *ret_offer, struct err *err);
void wire_status_encode(const struct wire_status *status, struct json_writer *w);
