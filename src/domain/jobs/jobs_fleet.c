/* The largest that agents of the installation have shown, for warnings about jobs that nothing
 * there could run. Read when an agent shows something new, and every few seconds for what other
 * servers heard; not with every job. */
#include "domain/jobs/jobs.h"

#include "store/store_agent.h"

#define FLEET_MS 10000

static enum err_code fleet_read(struct cmd *cmd, struct err *err)
{
    struct fleet *fleet = &cmd->domain->fleet;
    struct agent *agents;
    size_t count = 0;

    if (fleet->known && cmd->mono_ms - fleet->read_mono_ms < FLEET_MS)
        return OK;
    TRY(store_agent_brief_list(cmd->store, cmd->arena, &agents, &count, err));
    *fleet = (struct fleet){.known = true, .read_mono_ms = cmd->mono_ms};
    for (size_t i = 0; i < count; i++) {
        if (agents[i].seen == TIME_NONE)
            continue;
        fleet->any = true;
        fleet->most.cpus = MAX(fleet->most.cpus, agents[i].cpus);
        fleet->most.gpus = MAX(fleet->most.gpus, agents[i].gpus);
        fleet->most.memory_bytes = MAX(fleet->most.memory_bytes, agents[i].memory_bytes);
        fleet->features |= agents[i].features;
    }
    return OK;
}

static struct str features_words(struct cmd *cmd, uint64_t features)
{
    const char *text = "";

    for (int i = 0; i < FEATURE_COUNT; i++)
        if (features & FEATURE_BIT(i))
            text = arena_printf(cmd->arena, "%s%s%s", text, *text ? ", " : "",
                                job_feature_name((enum job_feature)i));
    return str_from(text);
}

static void warn_more(struct cmd *cmd, const char *what, int64_t asked, int64_t most,
                      struct str *texts, size_t *count)
{
    if (asked > most && *count < JOB_WARNINGS_MAX)
        texts[(*count)++] = str_from(
            arena_printf(cmd->arena,
                         "%lld %s are asked for on one machine, the largest that has connected has "
                         "%lld: the job waits for a larger one",
                         (long long)asked, what, (long long)most));
}

enum err_code jobs_warnings(struct cmd *cmd, const struct job_spec *spec,
                            struct str ret_texts[JOB_WARNINGS_MAX], size_t *ret_count,
                            struct err *err)
{
    const struct fleet *fleet = &cmd->domain->fleet;
    uint64_t missing;

    *ret_count = 0;
    TRY(fleet_read(cmd, err));
    missing = spec->needs & ~fleet->features;
    if (missing)
        ret_texts[(*ret_count)++] = str_from(arena_printf(
            cmd->arena, "no agent here can do this yet: %.*s; the job waits for one that can",
            STR_ARG(features_words(cmd, missing))));
    if (!fleet->any)
        return OK;
    warn_more(cmd, "GPUs", spec->need.gpus, fleet->most.gpus, ret_texts, ret_count);
    warn_more(cmd, "cores", spec->need.cpus, fleet->most.cpus, ret_texts, ret_count);
    warn_more(cmd, "bytes of memory", spec->need.memory_bytes, fleet->most.memory_bytes, ret_texts,
              ret_count);
    return OK;
}
