/* The agent: offers this machine to a server, runs what it is given, and reports what became of it.
 * Only calls out. Everything it must remember lies in its folder, so that it may die at any moment
 * and be started again. thread: main */
#pragma once

#include "agent/cluster_options.h"
#include "net/http_client.h"
#include "ports/executor.h"

#include <sys/types.h>

#define AGENT_BOOT_BYTES 13

struct agent_options {
    const char *server;          /* URL */
    const char *server_for_jobs; /* the same as jobs reach it, where that differs; or NULL */
    const char *executor;        /* "process" */
    const char *docker_socket;   /* NULL: where it usually is */
    bool allow_old_runc;
    const char *nodes_network;  /* with "docker": of jobs on several machines; or NULL */
    int64_t pull_patience_ms;   /* with a registry that is away */
    const char *image;          /* of jobs that name none; NULL with "process" */
    const char *const *volumes; /* jobs may be given some below these real paths; NULL-terminated */
    struct agent_cluster cluster; /* with "kubernetes" */
    const char *key_text;         /* of the agent */
    const char *ca_file;          /* or NULL */
    const char *name;             /* checked against the key; NULL: not */
    const char *target;           /* the same */
    const char *dir;              /* the agent's folder */
    const char *program;          /* this program, absolute */
    const char *address;          /* of this machine, for others; NULL: as the server sees it */
    const char *gpu_claims;       /* folder that all agents of the machine share */
    int64_t readings_ms;          /* machine and GPUs are read so often */
    const char *nvml;             /* NVIDIA's library; NULL: where the system has it */
    const char *euvyra;           /* the command line beside it, or NULL */
    const char *version;
    int64_t console_bytes_max; /* of console text an attempt keeps here; see ports/executor.h */
    int64_t slots;             /* jobs at once; 0: one for each CPU */
    bool set_user;             /* jobs run as this user */
    uid_t uid;
    gid_t gid;
    const char *user_name, *user_home; /* of the jobs; NULL: ours */
    const char *const *environ;        /* ours; jobs get a short list out of it */
    int signal_fd;                     /* SIGTERM and SIGINT end the agent, not its work */
};

/* Returns when a signal came. ERR_CONFLICT: another agent has this folder. ERR_UPGRADE, and
 * ERR_UNAUTHENTICATED at the start alone, end it too. */
MUST_CHECK enum err_code agent_run(const struct agent_options *options, struct err *err);
