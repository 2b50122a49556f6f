/* Between claims, readings and attempts. */
#include "agent/work_gpus.h"

#include "agent/gpu_claims.h"
#include "agent/gpus.h"
#include "base/log.h"

enum err_code work_gpus_take(const struct work_env *env, const struct wire_offer *offer,
                             const struct executor_place *place, struct arena *arena,
                             const char *const **ret_uuids, struct err *err)
{
    const char *usable[GPU_CLAIMS_MAX];
    size_t count;

    *ret_uuids = NULL;
    if (!env->gpus || offer->gpus == 0)
        return OK;
    count = agent_gpus_usable(env->gpus, usable, ARRAY_LEN(usable));
    TRY(gpu_claims_take(env->options->gpu_claims, place->folder, usable, count, (size_t)offer->gpus,
                        arena, ret_uuids, err));
    agent_gpus_use(env->gpus, &offer->attempt.id, *ret_uuids, (size_t)offer->gpus);
    return OK;
}

void work_gpus_resume(const struct work_env *env, const struct wire_offer *offer,
                      const struct executor_place *place)
{
    CLEANUP(arena_release) struct arena arena = {0};
    const char *const *uuids;
    struct err err = {0};
    size_t count;

    if (!env->gpus || offer->gpus == 0)
        return;
    if (gpu_claims_of(env->options->gpu_claims, place->folder, &arena, &uuids, &count, &err) != OK)
        log_error("attempt.gpus", "attempt", offer->attempt.id.text, "error", err.text);
    else if (count)
        agent_gpus_use(env->gpus, &offer->attempt.id, uuids, count);
}

bool work_gpus_failed(const struct work_env *env, const struct wire_offer *offer,
                      char ret_reason[EXECUTOR_REASON_BYTES])
{
    _Static_assert(AGENT_GPUS_REASON_BYTES <= EXECUTOR_REASON_BYTES, "room for the reason");

    return env->gpus && offer->gpus > 0 &&
           agent_gpus_failed(env->gpus, &offer->attempt.id, ret_reason);
}

void work_gpus_release(const struct work_env *env, const struct wire_offer *offer,
                       const struct executor_place *place)
{
    struct err err = {0};

    if (!env->gpus || offer->gpus == 0)
        return;
    agent_gpus_release(env->gpus, &offer->attempt.id);
    if (gpu_claims_release(env->options->gpu_claims, place->folder, &err) != OK)
        log_error("attempt.gpus", "attempt", offer->attempt.id.text, "error", err.text);
}
