/* The environment of a job: a short list of the agent's own variables, what the job asked for, and
 * what tells the SDK where it is. Later ones win. Pure. thread: any */
#pragma once

#include "agent/launcher.h"
#include "base/arena.h"
#include "wire/agent_messages.h"

struct job_env_facts {
    const char *const *agent_env; /* "NAME=value", NULL-terminated; NULL: the job's programs are
                                   * not this host's, whose variables mean nothing to them */
    const char *server, *ca_file, *euvyra; /* the last two may be NULL */
    const char *key_file, *runs_dir;
    const char *config_file;           /* NULL: the offer has no configuration on disk */
    const char *user_name, *user_home; /* NULL: as in agent_env */
    int64_t port;                      /* of its health check; 0: none */
    const struct launch *launch;       /* which of its machines this is; NULL: not told */
    const char *gpus;                  /* UUIDs with commas; "": it may use none; NULL: not told */
};

/* Linux allows 128 KiB a variable, and all of them lie on the stack of every process: a
 * configuration beyond this is in its file alone. */
#define JOB_ENV_CONFIG_BYTES_MAX 32768

/* NULL-terminated, in the arena. */
const char *const *job_env_build(struct arena *arena, const struct wire_offer *offer,
                                 const struct job_env_facts *facts);
