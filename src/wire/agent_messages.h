/* What agent and server tell each other about attempts, as JSON (api/openapi.yaml: AgentPoll,
 * AgentPolled, Offer, AttemptStatus, Accepted, ConsoleAppended): the one place that knows how these
 * messages look, for both sides.
 *
 * Decoding trusts nobody: every text is checked for length, shape and bytes that could not go into
 * an argv or an environment. What the server reads it reads strictly, as every body of the API: a
 * field that is unknown, null or of the wrong type is an error that names it. What the agent reads
 * it reads with unknown fields skipped: the server may be newer. thread: any */
#pragma once

#include "base/arena.h"
#include "base/id.h"
#include "base/json.h"
#include "model/job.h"
#include "wire/health_spec.h"
#include "wire/node_messages.h"

#define WIRE_TOKEN_LEN    43
#define WIRE_OFFERS_MAX   1000
#define WIRE_ATTEMPTS_MAX 10000
#define WIRE_ARGS_MAX     1000
#define WIRE_ENV_MAX      200
/* The job's, its target's, its project's there, its secrets, its place in an array. */
#define WIRE_OFFER_ENV_MAX    (3 * WIRE_ENV_MAX + WIRE_SECRETS_MAX + 3)
#define WIRE_SECRETS_MAX      64
#define WIRE_ENV_BYTES_MAX    32768
#define WIRE_SECRET_BYTES_MAX 65536 /* of one, as the value of a variable */
#define WIRE_CONFIG_BYTES_MAX (1024 * 1024)
#define WIRE_CONFIG_DEPTH_MAX                                                                      \
    60 /* a message nests it a few levels deeper, JSON_DEPTH_MAX in all                            \
        */
#define WIRE_MOUNTS_MAX        192
#define WIRE_IMAGE_BYTES_MAX   511
#define WIRE_RENDEZVOUS_MAX    261 /* a host name, a colon, a port */
#define WIRE_MESSAGE_BYTES_MAX (16 * 1024 * 1024)

struct wire_attempt {
    struct id id;
    char token[WIRE_TOKEN_LEN + 1];
};

/* Agent to server. Capacity is what the agent has in all; the server counts what it gave away. */
struct wire_poll {
    struct str boot; /* WIRE_BOOT_LEN characters, new at each start */
    struct str version;
    struct str executor; /* "process", "docker", "kubernetes" */
    int64_t slots, cpus, memory_bytes, gpus;
    struct str gpu_type;      /* "A100"; len 0: none, or not known */
    int64_t gpu_memory_bytes; /* of one; 0: not known */
    bool several;             /* it stands for several machines: ranks of one job may share it */
    uint64_t features;        /* of enum job_feature, that its executor can do */
    int64_t wait_ms;
    const struct wire_attempt *attempts; /* all that are held */
    size_t attempt_count;
    const struct wire_node *node; /* the machine, where it changed; NULL: as it was said last */
};

/* A volume of the target that the job sees. */
struct wire_mount {
    struct str host_path, claim; /* one of them; absolute */
    struct str path;             /* where the job sees it, absolute */
    bool read_only;
};

struct wire_offer {
    struct wire_attempt attempt;
    struct id job, run;
    struct str project, name;
    int64_t number;                       /* of the attempt within its job, from 1 */
    int64_t rank, rank_count, node_count; /* these ranks are this agent's, of so many nodes */
    int64_t replica;                      /* of a service, from 0 */
    const char *const *argv;              /* NULL-terminated */
    const char *const *env;               /* "NAME=value", NULL-terminated */
    struct str config;                    /* JSON object */
    struct str code;                      /* SHA-256 in hexadecimal; len 0: none */
    struct str extra; /* JSON object: what else its spec says for the executor; len 0: nothing */
    const struct wire_mount *mounts;
    size_t mount_count;
    struct str registry_user, registry_secret; /* for its image; len 0: none */
    struct str image; /* what an earlier attempt resolved the image to; len 0: nothing */
    int64_t cpus, memory_bytes, gpus;
    int64_t timeout_s; /* 0: none */
    int64_t grace_s;
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
    int exit_code;   /* EXIT_NONE */
    int exit_signal; /* EXIT_NONE, or 0 from a process that was not killed */
    bool oom, failed_to_start, timed_out, final;
    bool stopped;              /* it ended because it was told to */
    bool unhealthy;            /* it was ended because it did not answer well */
    bool image_failed;         /* it could not start for its image */
    bool disk_full;            /* it ended with its disk full */
    bool gpu_failed;           /* it failed, and a GPU of it is ill */
    struct str image;          /* as it runs, "NAME@sha256:..."; len 0: none, not known */
    struct str rendezvous;     /* of rank 0 that runs now, where others find it only then; len 0 */
    struct str progress;       /* of a start that takes long; len 0: nothing; sent as one line */
    enum health_state health;  /* of a running service that is asked */
    struct str health_problem; /* of its last answer; len 0: none; sent as one line */
    struct str reason;         /* len 0: none; sent as one line of at most 500 bytes */
    int64_t run_time_ms;       /* -1: not known */
    int64_t console_bytes;     /* -1: not known */
};

/* The shape of an attempt token; ret_token is NUL-terminated. */
MUST_CHECK bool wire_token_parse(struct str text, char ret_token[WIRE_TOKEN_LEN + 1]);

/* Agent to server. Decoding is strict; the texts belong to `body`. ERR_INVALID, ERR_UNKNOWN_FIELD,
 * ERR_TOO_LARGE. */
void wire_poll_encode(const struct wire_poll *poll, struct json_writer *w);
MUST_CHECK enum err_code wire_poll_decode(struct arena *arena, json_t *body,
                                          struct wire_poll *ret_poll, struct err *err);
void wire_status_encode(const struct wire_status *status, struct json_writer *w);
MUST_CHECK enum err_code wire_status_decode(json_t *body, struct wire_status *ret_status,
                                            struct err *err);

/* Server to agent. Decoding skips what it does not know; the texts live in the arena. ERR_INVALID,
 * ERR_BAD_JSON, ERR_BAD_UTF8, ERR_TOO_LARGE. */
void wire_polled_encode(const struct wire_polled *polled, struct json_writer *w);
MUST_CHECK enum err_code wire_polled_decode(struct arena *arena, struct str text,
                                            struct wire_polled *ret_polled, struct err *err);
void wire_offer_encode(const struct wire_offer *offer, struct json_writer *w);
MUST_CHECK enum err_code wire_offer_decode(struct arena *arena, struct str text,
                                           struct wire_offer *ret_offer, struct err *err);
/* Fills argv, env, config, code and extra from a job's spec, which names them as an offer does;
 * other members of the spec are not looked at. */
MUST_CHECK enum err_code wire_offer_take_spec(struct arena *arena, struct str spec,
                                              struct wire_offer *offer, struct err *err);
/* How the service is asked, from `extra` of its offer; port 0: it is not. */
MUST_CHECK enum err_code wire_offer_health(struct arena *arena, const struct wire_offer *offer,
                                           struct health_spec *ret_spec, struct err *err);
/* Where the ranks of an attempt find each other: "HOST:PORT", also "[ADDRESS]:PORT". */
MUST_CHECK bool wire_rendezvous_parse(struct str text, struct str *ret_host, int64_t *ret_port);

/* The answer to an accept and to a status report: the attempt's state now; to an accept also where
 * its ranks find each other. */
struct wire_accepted {
    enum attempt_state state; /* ATTEMPT_STATE_COUNT: one that only a newer server knows */
    struct str rendezvous;    /* len 0: it has one rank, or that of rank 0 is not known yet */
};
void wire_accepted_encode(const struct wire_accepted *accepted, struct json_writer *w);
MUST_CHECK enum err_code wire_accepted_decode(struct arena *arena, struct str text,
                                              struct wire_accepted *ret_accepted, struct err *err);
/* The answer to console text: where the next text goes. */
void wire_appended_encode(int64_t offset, struct json_writer *w);
MUST_CHECK enum err_code wire_appended_decode(struct str text, int64_t *ret_offset,
                                              struct err *err);
