/* What a container of ours is made of, and what the engine says about one: pure. thread: any */
#pragma once

#include "base/buf.h"
#include "base/json.h"
#include "ports/executor.h"

#define CONTAINER_INSIDE     JOB_INSIDE
#define CONTAINER_NAME_BYTES 48
#define CONTAINER_MEET_PORT  29500 /* PyTorch's usual one: in a container all ports are free */
#define CONTAINER_PREFIX     "euvyra-"

#define CONTAINER_LABEL_ATTEMPT "euvyra.attempt"
#define CONTAINER_LABEL_AGENT   "euvyra.agent" /* the id of the agent's folder */
#define CONTAINER_LABEL_TOKEN   "euvyra.token" /* SHA-256 of the attempt's token */
#define CONTAINER_LABEL_GPUS    "euvyra.gpus"  /* UUIDs, with commas between */

/* Where a job says nothing: enough for any training, and an end to what forks without end. */
#define CONTAINER_PIDS_DEFAULT 16384
/* The engine's own 64 MB are too little for data loaders; at most half of a memory limit. */
#define CONTAINER_SHM_DEFAULT (INT64_C(4) << 30)
/* Of /tmp where the root file system is read-only; at most half of a memory limit. */
#define CONTAINER_TMP_DEFAULT (INT64_C(1) << 30)

struct container_plan {
    const struct executor_spec *spec;
    const char *image;   /* "NAME@sha256:..." or an image's id */
    const char *folder;  /* of the attempt, on the host */
    const char *agent;   /* for the label */
    const char *user;    /* "UID:GID" */
    const char *network; /* its name; "host": the machine's own */
    bool limits_disk;    /* the engine can */
    bool home_in_work;   /* HOME is the work folder, unless the job says another */
    bool has_key, has_config, has_ca;
};

/* "euvyra-t...", of ranks above 0 "euvyra-t...-2": those of one attempt may have one engine. */
void container_name(const struct id *attempt, int64_t rank, char ret_name[CONTAINER_NAME_BYTES]);
/* The body of POST /containers/create. */
void container_body(const struct container_plan *plan, struct json_writer *w);

enum container_phase {
    CONTAINER_CREATED, /* never ran, or could not be started */
    CONTAINER_RUNNING, /* or paused */
    CONTAINER_ENDED,
};

struct container_state {
    enum container_phase phase;
    time_ms started_at, ended_at; /* TIME_NONE */
    int exit_code;
    bool being_removed;                  /* somebody is about to remove it */
    bool oom;                            /* the kernel killed something of it for memory */
    char image[EXECUTOR_IMAGE_BYTES];    /* as it was asked for at its creation */
    char address[48];                    /* on our network, or "" */
    char problem[EXECUTOR_REASON_BYTES]; /* why it could not be started, or "" */
};

/* From GET /containers/ID/json. ERR_UNAVAILABLE: it is none. */
MUST_CHECK enum err_code container_read(const json_t *document, const char *network,
                                        struct container_state *ret_state, struct err *err);
/* True when all that it wrote, `output`, is its init's word that the program cannot be run. */
bool container_never_ran(struct str output, int exit_code, char ret_reason[EXECUTOR_REASON_BYTES]);
/* What the engine says of a container that cannot be started, in words for who wrote the job.
 * *ret_image_failed: the image is to blame. */
void container_explain(const char *message, char ret_reason[EXECUTOR_REASON_BYTES],
                       bool *ret_image_failed);
