/* Queue, targets, agents, files, secrets, volumes, other jobs; and limits that nothing can meet.
 * What may come later (a larger machine, an agent that can do more) is no reason to refuse a job.
 */
#include "domain/jobs/jobs_references.h"

#include "domain/secrets/secrets.h"
#include "store/store_agent.h"
#include "store/store_log.h"
#include "store/store_queue.h"
#include "store/store_share.h"
#include "store/store_target.h"

#include <stdlib.h>

/* With their volumes and buckets. */
struct places {
    struct target *targets;
    size_t count;
};

/* The project's share and those above it. */
struct chain {
    struct share *shares;
    size_t count;
};

enum err_code jobs__queue_of(struct cmd *cmd, struct str name, struct job_queue *ret_queue,
                             struct err *err)
{
    if (!name.len)
        name = STR(QUEUE_DEFAULT);
    if (store_queue_get(cmd->store, name, cmd->arena, ret_queue, err) != OK)
        return err_set_field(err, ERR_UNPROCESSABLE, "queue", "queue \"%.*s\" not found",
                             STR_ARG(name));
    if (ret_queue->draining)
        return err_set_field(err, ERR_CONFLICT, "queue",
                             "queue \"%.*s\" is drained: it takes nothing more", STR_ARG(name));
    return OK;
}

static const char *place_field(struct cmd *cmd, const struct job_spec *spec, size_t i)
{
    if (spec->one_place)
        return "spec.target";
    return arena_printf(cmd->arena, "spec.targets[%zu].target", i);
}

static enum err_code find_targets(struct cmd *cmd, const struct job_spec *spec,
                                  struct places *ret_places, struct err *err)
{
    struct target *targets = arena_array(cmd->arena, spec->place_count, sizeof *targets);

    for (size_t i = 0; i < spec->place_count; i++)
        if (store_target_get(cmd->store, spec->places[i].target, cmd->arena, &targets[i], NULL) !=
            OK) {
            TRY(store_trouble(cmd->store, err));
            return err_set_field(err, ERR_UNPROCESSABLE, place_field(cmd, spec, i),
                                 "target \"%.*s\" not found", STR_ARG(spec->places[i].target));
        }
    *ret_places = (struct places){targets, spec->place_count};
    return OK;
}

static bool is_allowed(const struct allowed_targets *allowed, target_id target)
{
    for (size_t i = 0; i < allowed->count; i++)
        if (allowed->ids[i].v == target.v)
            return true;
    return allowed->count == 0;
}

static const char *share_words(struct cmd *cmd, const struct share *share)
{
    if (share->kind == SHARE_ORGANISATION)
        return "the organisation";
    return arena_printf(cmd->arena, "%s \"%.*s\"", share_kind_name(share->kind),
                        STR_ARG(share->name));
}

static enum err_code check_allowed(struct cmd *cmd, const struct job_spec *spec,
                                   const struct places *places, const struct chain *chain,
                                   const struct job_queue *queue, struct err *err)
{
    for (size_t i = 0; i < places->count; i++) {
        const struct target *target = &places->targets[i];
        for (size_t k = 0; k < chain->count; k++)
            if (!is_allowed(&chain->shares[k].targets, target->id))
                return err_set_field(err, ERR_UNPROCESSABLE, place_field(cmd, spec, i),
                                     "target \"%.*s\" is not allowed for %s", STR_ARG(target->name),
                                     share_words(cmd, &chain->shares[k]));
        if (!is_allowed(&queue->targets, target->id))
            return err_set_field(err, ERR_UNPROCESSABLE, place_field(cmd, spec, i),
                                 "target \"%.*s\" is not allowed in queue \"%.*s\"",
                                 STR_ARG(target->name), STR_ARG(queue->name));
    }
    return OK;
}

/* What a share may hold at most: its quota and what it may borrow. -1: no bound. */
static int64_t most(const struct share *share, enum resource r)
{
    int64_t sum, quota = MAX(share->quota.v[r], 0);

    if (share->borrow.v[r] == SHARE_UNSET)
        return -1;
    return __builtin_add_overflow(quota, share->borrow.v[r], &sum) ? -1 : sum;
}

static int64_t asked_in_all(const struct job_spec *spec, enum resource r)
{
    int64_t one = r == RESOURCE_GPU      ? spec->need.gpus
                  : r == RESOURCE_CPU    ? spec->need.cpus * 1000
                  : r == RESOURCE_MEMORY ? spec->need.memory_bytes
                                         : 0;
    int64_t all;

    return __builtin_mul_overflow(one, spec->node_count, &all) ? INT64_MAX : all;
}

/* More than quota and borrowing can ever give. */
static enum err_code check_quotas(struct cmd *cmd, const struct job_spec *spec,
                                  const struct chain *chain, struct err *err)
{
    static const struct {
        enum resource resource;
        const char *field, *unit;
        int64_t factor;
    } checks[] = {{RESOURCE_GPU, "spec.gpus", "GPUs", 1},
                  {RESOURCE_CPU, "spec.cpus", "cores", 1000},
                  {RESOURCE_MEMORY, "spec.memory_bytes", "bytes of memory", 1}};

    for (size_t i = 0; i < chain->count; i++)
        for (size_t k = 0; k < ARRAY_LEN(checks); k++) {
            int64_t asked = asked_in_all(spec, checks[k].resource);
            int64_t max = most(&chain->shares[i], checks[k].resource);
            if (max < 0 || asked <= max)
                continue;
            (void)err_set_field(err, ERR_UNPROCESSABLE, checks[k].field,
                                "it never fits: %lld %s are asked for, %s may have %lld",
                                (long long)(asked / checks[k].factor), checks[k].unit,
                                share_words(cmd, &chain->shares[i]),
                                (long long)(max / checks[k].factor));
            err_hint(err, "ask for less, or let an administrator raise quota or borrowing");
            return ERR_UNPROCESSABLE;
        }
    return OK;
}

/* GPUs at targets of which every machine is known, online, and has none. */
static enum err_code check_gpus(struct cmd *cmd, const struct job_spec *spec,
                                const struct places *places, struct err *err)
{
    for (size_t i = 0; i < places->count; i++) {
        struct target_agents agents;
        TRY(store_agent_of_target(cmd->store, places->targets[i].id, &agents, err));
        if (agents.count == 0 || agents.gpus_max > 0 ||
            cmd->now - agents.seen_min > cmd->domain->config.agent_silent_ms)
            return OK;
    }
    if (places->count == 0 || spec->need.gpus == 0)
        return OK;
    return err_set_field(err, ERR_UNPROCESSABLE, "spec.gpus",
                         "it never fits: %lld GPUs are asked for, no machine of target \"%.*s\" "
                         "has one",
                         (long long)spec->need.gpus, STR_ARG(places->targets[0].name));
}

static int by_id(const void *a, const void *b)
{
    const agent_id *x = a, *y = b;

    return (x->v > y->v) - (x->v < y->v);
}

static enum err_code find_excluded(struct cmd *cmd, const struct job_spec *spec,
                                   struct job_shape *shape, struct err *err)
{
    agent_id *ids = arena_array(cmd->arena, spec->excluded_count, sizeof *ids);
    size_t count = 0;

    for (size_t i = 0; i < spec->excluded_count; i++) {
        struct agent agent;
        if (store_agent_by_name(cmd->store, spec->excluded[i], cmd->arena, &agent, NULL) != OK) {
            TRY(store_trouble(cmd->store, err));
            return err_set_field(err, ERR_UNPROCESSABLE, "spec.exclude", "agent \"%.*s\" not found",
                                 STR_ARG(spec->excluded[i]));
        }
        ids[i] = agent.id;
    }
    if (spec->excluded_count)
        qsort(ids, spec->excluded_count, sizeof *ids, by_id);
    for (size_t i = 0; i < spec->excluded_count; i++)
        if (count == 0 || ids[count - 1].v != ids[i].v)
            ids[count++] = ids[i];
    shape->excluded = ids;
    shape->excluded_count = count;
    return OK;
}

static bool has_name(struct str documents, struct str name)
{
    CLEANUP(json_release) json_t *list = NULL;
    json_t *item;
    size_t i;

    if (json_parse(documents, TARGET_SETTINGS_BYTES_MAX, &list, NULL) != OK)
        return false;
    json_array_foreach(list, i, item)
    {
        const char *text = json_string_value(json_object_get(item, "name"));
        if (text && str_eq_c(name, text))
            return true;
    }
    return false;
}

/* Volumes or buckets: all targets of the list have them. */
struct things {
    const char *field, *word;
    const struct str *names;
    size_t count;
    bool volumes;
};

static enum err_code check_things(const struct places *places, const struct things *things,
                                  struct err *err)
{
    if (things->count && places->count == 0)
        return err_set_field(err, ERR_UNPROCESSABLE, "spec.targets",
                             "a job with \"%s\" names its targets: each has its own",
                             things->field);
    for (size_t i = 0; i < things->count; i++)
        for (size_t k = 0; k < places->count; k++) {
            const struct target *t = &places->targets[k];
            if (!has_name(things->volumes ? t->volumes : t->buckets, things->names[i]))
                return err_set_field(err, ERR_UNPROCESSABLE, things->field,
                                     "target \"%.*s\" has no %s \"%.*s\"", STR_ARG(t->name),
                                     things->word, STR_ARG(things->names[i]));
        }
    return OK;
}

static enum err_code check_things_of(const struct job_spec *spec, const struct places *places,
                                     struct err *err)
{
    struct things volumes = {"spec.volumes", "volume", spec->volumes, spec->volume_count, true};
    struct things buckets = {"spec.buckets", "bucket", spec->buckets, spec->bucket_count, false};

    TRY(check_things(places, &volumes, err));
    return check_things(places, &buckets, err);
}

static enum err_code check_stored(struct cmd *cmd, const struct project *project,
                                  const struct job_spec *spec, struct err *err)
{
    int64_t bytes = 0;

    if (spec->code.len && store_blob_get(cmd->store, project->id, spec->code, &bytes, NULL) != OK) {
        TRY(store_trouble(cmd->store, err));
        return err_set_field(err, ERR_UNPROCESSABLE, "spec.code",
                             "this project has no file with digest %.*s", STR_ARG(spec->code));
    }
    for (size_t i = 0; i < spec->secret_count; i++)
        if (secrets_exists(cmd, project->id, spec->secrets[i], NULL) != OK) {
            TRY(store_trouble(cmd->store, err));
            (void)err_set_field(err, ERR_UNPROCESSABLE, "spec.secrets",
                                "this project has no secret \"%.*s\"", STR_ARG(spec->secrets[i]));
            err_hint(err, "euvyra secrets set %.*s", STR_ARG(spec->secrets[i]));
            return ERR_UNPROCESSABLE;
        }
    return OK;
}

/* Jobs before it, growing. */
struct befores {
    struct job_reference_before *list;
    size_t count, room;
};

/* One that has ended well, or in any way where that will do, is nothing to wait for. */
static enum err_code add_before(struct cmd *cmd, struct befores *befores, const struct job *job,
                                bool any_end, struct err *err)
{
    if (job->state == JOB_SUCCEEDED || (any_end && job_state_ended(job->state)))
        return OK;
    if (job_state_ended(job->state))
        return err_set_field(err, ERR_UNPROCESSABLE, "after",
                             "job %s, which it comes after, has %s", job->public_id.text,
                             job->state == JOB_FAILED ? "failed" : "been cancelled");
    if (befores->count == JOB_AFTER_MAX)
        return err_set_field(err, ERR_UNPROCESSABLE, "after", "a job comes after %d others at most",
                             JOB_AFTER_MAX);
    befores->list = arena_more(cmd->arena, befores->list, befores->count, &befores->room,
                               sizeof *befores->list);
    befores->list[befores->count++] = (struct job_reference_before){job->id, any_end};
    return OK;
}

static enum err_code add_array(struct cmd *cmd, struct befores *befores, const struct id *array,
                               bool any_end, struct err *err)
{
    struct job_filter filter = {.array = id_str(array),
                                .state = JOB_STATE_COUNT,
                                .everything = true,
                                .limit = JOB_ARRAY_MAX};
    struct job *jobs;
    size_t count = 0;

    TRY(store_job_list(cmd->store, &filter, cmd->arena, &jobs, &count, err));
    for (size_t i = 0; i < count; i++)
        TRY(add_before(cmd, befores, &jobs[i], any_end, err));
    return OK;
}

static enum err_code find_before(struct cmd *cmd, const struct project *project,
                                 const struct job_spec *spec, struct befores *befores,
                                 struct err *err)
{
    for (size_t i = 0; i < spec->before_count; i++) {
        const struct job_before *before = &spec->before[i];
        struct job job;
        bool array = store_job_get(cmd->store, &before->id, cmd->arena, &job, NULL) != OK;
        bool found =
            !array || store_job_array_first(cmd->store, &before->id, cmd->arena, &job, NULL) == OK;
        TRY(store_trouble(cmd->store, err));
        if (!found || job.project.v != project->id.v)
            return err_set_field(err, ERR_UNPROCESSABLE, "after",
                                 "this project has no job %s to come after", before->id.text);
        if (array)
            TRY(add_array(cmd, befores, &before->id, before->any_end, err));
        else
            TRY(add_before(cmd, befores, &job, before->any_end, err));
    }
    return OK;
}

static void put_steps(struct cmd *cmd, const struct job_spec *spec, const struct places *places,
                      struct job_shape *shape)
{
    struct job_step *steps = arena_array(cmd->arena, places->count, sizeof *steps);

    for (size_t i = 0; i < places->count; i++)
        steps[i] = (struct job_step){places->targets[i].id, spec->places[i].wait_s * 1000};
    shape->steps = steps;
    shape->step_count = places->count;
}

enum err_code jobs__steps_of(struct cmd *cmd, project_id project, const struct job_queue *queue,
                             const struct job_spec *spec, struct job_shape *shape, struct err *err)
{
    struct places places = {0};
    struct chain chain = {0};

    TRY(find_targets(cmd, spec, &places, err));
    TRY(store_share_chain(cmd->store, project, cmd->arena, &chain.shares, &chain.count, err));
    TRY(check_allowed(cmd, spec, &places, &chain, queue, err));
    TRY(check_quotas(cmd, spec, &chain, err));
    if (spec->need.gpus)
        TRY(check_gpus(cmd, spec, &places, err));
    TRY(check_things_of(spec, &places, err));
    put_steps(cmd, spec, &places, shape);
    return OK;
}

enum err_code jobs__references(struct cmd *cmd, const struct project *project,
                               const struct job_spec *spec, struct job_references *ret_refs,
                               struct err *err)
{
    struct job_shape shape = {.gpu_types = spec->gpu_types,
                              .gpu_type_count = spec->gpu_type_count,
                              .gpu_memory_bytes = spec->gpu_memory_bytes,
                              .needs = spec->needs};
    struct befores befores = {0};

    TRY(jobs__queue_of(cmd, spec->queue, &ret_refs->queue, err));
    TRY(check_stored(cmd, project, spec, err));
    TRY(jobs__steps_of(cmd, project->id, &ret_refs->queue, spec, &shape, err));
    TRY(find_excluded(cmd, spec, &shape, err));
    TRY(find_before(cmd, project, spec, &befores, err));
    ret_refs->shape = job_shape_encode(&shape, cmd->arena);
    ret_refs->before = befores.list;
    ret_refs->before_count = befores.count;
    return OK;
}
