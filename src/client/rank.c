/* Which one of many this process is, by its arguments or by what launchers set in the environment:
 * torchrun and its like, MPI, Slurm. And the name of the epoch that it opens together with its
 * fellows, so that the one that starts a moment later does not set aside what the others log. */
#include "client/client.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define RANK_MAX 10000000

/* The number that the first set variable of a list holds, or -1. */
static int number_of(const char *const *variables)
{
    for (; *variables != NULL; variables++) {
        const char *text = getenv(*variables);
        char *end = NULL;
        long value = text != NULL && text[0] != '\0' ? strtol(text, &end, 10) : -1;
        if (end != NULL && *end == '\0' && value >= 0 && value <= RANK_MAX)
            return (int)value;
    }
    return -1;
}

void client__ranks(struct euvyra_run *run, const struct euvyra_options *options)
{
    static const char *const ranks[] = {"RANK", "OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK",
                                        NULL};
    static const char *const locals[] = {"LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_RANK",
                                         "MPI_LOCALRANKID", NULL};
    static const char *const worlds[] = {"WORLD_SIZE", "OMPI_COMM_WORLD_SIZE", "PMI_SIZE", NULL};
    static const char *const slurm_rank[] = {"SLURM_PROCID", NULL};
    static const char *const slurm_local[] = {"SLURM_LOCALID", NULL};
    static const char *const slurm_world[] = {"SLURM_NTASKS", NULL};

    run->rank = run->local_rank = run->world_size = -1;
    if (options->world_size > 0) {
        run->rank = options->rank;
        run->local_rank = options->local_rank;
        run->world_size = options->world_size;
        return;
    }
    run->rank = number_of(ranks);
    run->local_rank = number_of(locals);
    run->world_size = number_of(worlds);
    /* Slurm numbers the tasks of any step, also when there is one alone. */
    if (run->rank < 0 && number_of(slurm_world) > 1) {
        run->rank = number_of(slurm_rank);
        run->local_rank = number_of(slurm_local);
        run->world_size = number_of(slurm_world);
    }
    if (run->rank < 0)
        run->local_rank = run->world_size = -1;
}

/* "torch-<id>-<restart>": the same text in all processes of one launch, another in the next. */
static bool of_launcher(char *ret_key, size_t key_bytes)
{
    const char *torch = getenv("TORCHELASTIC_RUN_ID"), *slurm = getenv("SLURM_JOB_ID");
    const char *address = getenv("MASTER_ADDR"), *port = getenv("MASTER_PORT");

    if (slurm != NULL) {
        const char *step = getenv("SLURM_STEP_ID"), *restart = getenv("SLURM_RESTART_COUNT");
        (void)snprintf(ret_key, key_bytes, "slurm-%s-%s-%s", slurm, step != NULL ? step : "",
                       restart != NULL ? restart : "0");
        return true;
    }
    if (torch != NULL || (address != NULL && port != NULL)) {
        const char *restart = getenv("TORCHELASTIC_RESTART_COUNT");
        (void)snprintf(ret_key, key_bytes, "torch-%s-%s-%s-%s", torch != NULL ? torch : "",
                       address != NULL ? address : "", port != NULL ? port : "",
                       restart != NULL ? restart : "0");
        return true;
    }
    return false;
}

void client__epoch_key(const struct euvyra_run *run, char *ret_key, size_t key_bytes)
{
    const char *named = getenv("EUVYRA_EPOCH"), *attempt = getenv("EUVYRA_ATTEMPT");
    char host[128] = "";

    if (named != NULL && named[0] != '\0')
        (void)snprintf(ret_key, key_bytes, "%s", named);
    else if (client__job_of(run) != NULL && attempt != NULL && attempt[0] != '\0')
        (void)snprintf(ret_key, key_bytes, "%s", attempt);
    else if (run->rank < 0)
        (void)snprintf(ret_key, key_bytes, "%s", run->writer_id);
    else if (!of_launcher(ret_key, key_bytes)) {
        /* Whatever started the ranks of this host is their common parent. */
        (void)gethostname(host, sizeof host - 1); /* stays "" */
        (void)snprintf(ret_key, key_bytes, "parent-%s-%ld-%lld", host, (long)getppid(),
                       (long long)client__process_start(getppid()));
    }
}
