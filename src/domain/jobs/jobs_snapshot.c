/* Keeping what the scheduler knows up to date: rows in, structs in memory. */
#include "domain/jobs/jobs_snapshot_impl.h"
#include "domain/jobs/jobs_state.h"
#include "store/store_agent.h"
#include "store/store_attempt.h"
#include "store/store_job.h"
#include "store/store_queue.h"
#include "store/store_share.h"
#include "store/store_target.h"

#define LOAD_PAGE           10000
#define FOLLOWERS_MAX       1000000
#define AFTER_READ_EACH_MAX 100
#define SHAPES_TOO_MANY     10000 /* more than four times the jobs, and this: read all anew */

/* Who waits for an open job. */
struct follower {
    struct id *ids;
    size_t count, room;
};

struct jobs_snapshot *jobs_snapshot_new(const struct domain_config *config)
{
    struct jobs_snapshot *s = MEM_NEW(struct jobs_snapshot);

    s->config = *config;
    map_init(&s->by_id, SNAPSHOT_JOBS_MAX);
    map_init(&s->followers, FOLLOWERS_MAX);
    map_init(&s->shapes, SNAPSHOT_SHAPES_MAX);
    jobs__lines_init(s);
    return s;
}

static void job_free(struct known_job *job)
{
    mem_free(job->places);
    mem_free(job);
}

static void forget_jobs(struct jobs_snapshot *s)
{
    struct str key;
    void *value;

    for (size_t i = 0; i < s->job_count; i++)
        job_free(s->jobs[i]);
    for (size_t at = 0; map_next(&s->followers, &at, &key, &value);) {
        mem_free(((struct follower *)value)->ids);
        mem_free(value);
    }
    jobs__lines_release(s);
    map_release(&s->by_id);
    map_release(&s->followers);
    map_release(&s->shapes);
    arena_release(&s->shape_arena);
    mem_free(s->shape_list);
    mem_free(s->jobs);
    s->jobs = NULL;
    s->shape_list = NULL;
    s->job_count = s->job_room = s->shape_count = s->shape_room = s->reserved_count = 0;
    jobs__lines_init(s);
    map_init(&s->by_id, SNAPSHOT_JOBS_MAX);
    map_init(&s->followers, FOLLOWERS_MAX);
    map_init(&s->shapes, SNAPSHOT_SHAPES_MAX);
}

void jobs_snapshot_free(struct jobs_snapshot *s)
{
    if (!s)
        return;
    forget_jobs(s);
    map_release(&s->by_id);
    map_release(&s->followers);
    map_release(&s->shapes);
    arena_release(&s->settings);
    arena_release(&s->kept[0]);
    arena_release(&s->kept[1]);
    mem_free(s->agents);
    mem_free(s);
}

size_t jobs_snapshot_count(const struct jobs_snapshot *s)
{
    return s->job_count;
}

static enum err_code shape_of(struct jobs_snapshot *s, struct arena *arena, const struct job *job,
                              const struct known_shape **ret_shape, struct err *err)
{
    struct str key = str_from(arena_printf(arena, "%d %lld %lld %lld %lld %.*s", (int)job->kind,
                                           (long long)job->node_count, (long long)job->need.cpus,
                                           (long long)job->need.gpus,
                                           (long long)job->need.memory_bytes, STR_ARG(job->shape)));
    struct known_shape *shape = map_get(&s->shapes, key);

    if (!shape) {
        shape = ARENA_NEW(&s->shape_arena, struct known_shape);
        TRY(job_shape_decode(job->shape, &s->shape_arena, &shape->asks, err));
        shape->node_count = (uint32_t)job->node_count;
        shape->need = job->need;
        shape->service = job->kind == JOB_SERVICE;
        shape->at = (uint32_t)s->shape_count;
        s->shape_list = jobs__list_room(s->shape_list, s->shape_count, &s->shape_room);
        s->shape_list[s->shape_count++] = shape;
        if (!map_put(&s->shapes, key, shape))
            return err_set(err, ERR_LIMIT, "more than %d shapes of jobs", SNAPSHOT_SHAPES_MAX);
    }
    *ret_shape = shape;
    return OK;
}

/* What its attempt holds. */
static enum err_code read_attempt(struct known_job *k, struct store *store, struct arena *arena,
                                  struct err *err)
{
    struct placement *placements;
    struct attempt attempt;
    size_t count = 0;

    mem_free(k->places);
    k->places = NULL;
    k->place_count = k->place_ranks = 0;
    if (k->attempt.v == 0)
        return OK;
    TRY(store_attempt_by_id(store, k->attempt, arena, &attempt, err));
    TRY(store_placement_held(store, k->attempt, arena, &placements, &count, err));
    k->attempt_since = attempt.offered;
    k->started = attempt.started;
    k->charged = attempt.charged;
    k->price_hour_micro = attempt.price_hour_micro;
    k->price_gpu_hour_micro = attempt.price_gpu_hour_micro;
    k->target = attempt.target;
    k->places = mem_array(count, sizeof(k->places[0]));
    k->place_count = count;
    for (size_t i = 0; i < count; i++) {
        k->places[i] = (struct known_place){placements[i].agent, placements[i].rank_count};
        k->place_ranks += (size_t)placements[i].rank_count;
    }
    return OK;
}

static void follow(struct jobs_snapshot *s, const struct id *before, const struct id *job)
{
    struct follower *f = map_get(&s->followers, id_str(before));

    if (!f) {
        f = MEM_NEW(struct follower);
        if (!map_put(&s->followers, id_str(before), f)) {
            mem_free(f);
            return; /* it is found at the next load */
        }
    }
    if (f->count == f->room) {
        f->room = f->room ? f->room * 2 : 4;
        f->ids = mem_grow(f->ids, f->room * sizeof(f->ids[0]));
    }
    f->ids[f->count++] = *job;
}

static enum err_code read_after(struct jobs_snapshot *s, struct known_job *k, struct store *store,
                                struct arena *arena, struct err *err)
{
    struct job_after *after;
    size_t count = 0;

    k->after = (job_id){0};
    k->after_open = 0;
    k->broken = false;
    TRY(store_job_after_list(store, k->id, arena, &after, &count, err));
    for (size_t i = 0; i < count; i++) {
        if (!job_state_ended(after[i].before_state)) {
            k->after = k->after_open++ ? k->after : after[i].before;
            follow(s, &after[i].before_public_id, &k->public_id);
        } else if (after[i].before_state != JOB_SUCCEEDED && !after[i].any_end) {
            k->broken = true;
        }
    }
    return OK;
}

enum err_code jobs__snapshot_take(struct jobs_snapshot *s, struct store *store, struct arena *arena,
                                  const struct job *job, struct err *err)
{
    struct known_job *k = map_get(&s->by_id, id_str(&job->public_id));

    if (!k) {
        k = MEM_NEW(struct known_job);
        k->holder_at = k->apart_at = NOWHERE;
        k->at = (uint32_t)s->job_count;
        s->jobs = jobs__list_room(s->jobs, s->job_count, &s->job_room);
        s->jobs[s->job_count++] = k;
        ENSURE(map_put(&s->by_id, id_str(&job->public_id), k));
    }
    k->public_id = job->public_id;
    k->id = job->id;
    k->project = job->project;
    k->queue = job->queue;
    k->state = job->state;
    k->priority = job->priority;
    k->event_count = job->event_count;
    k->timeout_s = job->timeout_s;
    k->attempt = job->attempt;
    k->array = job->array;
    k->array_limit = job->array_limit;
    k->step_from = job->step_from;
    k->queued = job->queued;
    k->ladder_at = job->ladder_at;
    k->not_before = job->not_before;
    TRY(shape_of(s, arena, job, &k->shape, err));
    TRY(read_attempt(k, store, arena, err));
    if (job->after_count)
        TRY(read_after(s, k, store, arena, err));
    jobs__lines_put(s, k);
    return OK;
}

void jobs__snapshot_drop(struct jobs_snapshot *s, const struct id *id)
{
    struct known_job *k = map_take(&s->by_id, id_str(id));

    if (!k)
        return;
    jobs__lines_take(s, k);
    s->jobs[k->at] = s->jobs[--s->job_count];
    s->jobs[k->at]->at = k->at;
    job_free(k);
}

/* One that comes after very many is not read again with each that ends: how these ended it hears
 * when few are left. */
static bool count_down(struct jobs_snapshot *s, const struct id *follower)
{
    struct known_job *k = map_get(&s->by_id, id_str(follower));

    if (!k || k->after_open <= AFTER_READ_EACH_MAX)
        return false;
    k->after_open--;
    return true;
}

static enum err_code read_job(struct jobs_snapshot *s, struct store *store, const struct id *id,
                              bool *ret_open, struct err *err)
{
    CLEANUP(arena_release) struct arena arena = {0};
    struct job job;

    TRY(store_job_brief_get(store, id, &arena, &job, ret_open, err));
    if (*ret_open)
        return jobs__snapshot_take(s, store, &arena, &job, err);
    jobs__snapshot_drop(s, id);
    return OK;
}

static const struct budget_state *budget_of(const struct jobs_snapshot *s, project_id project)
{
    for (size_t i = 0; i < s->budget_count; i++)
        if (s->budgets[i].budget.project.v == project.v)
            return &s->budgets[i];
    return NULL;
}

enum err_code jobs_snapshot_job(struct jobs_snapshot *s, struct store *store, const struct id *id,
                                bool *matters, struct err *err)
{
    const struct known_job *k = map_get(&s->by_id, id_str(id));
    project_id project = k ? k->project : (project_id){0};
    size_t held = k ? k->place_ranks : 0;
    struct follower *f;
    enum err_code code = OK;
    bool open = false;

    TRY(read_job(s, store, id, &open, err));
    k = map_get(&s->by_id, id_str(id));
    if (!k || k->state == JOB_QUEUED || k->place_ranks < held)
        *matters = true;
    if (held && (!k || k->place_ranks < held) && budget_of(s, project))
        s->settings_old = true;
    if (open)
        return OK;
    f = map_take(&s->followers, id_str(id));
    for (size_t i = 0; f && i < f->count && code == OK; i++)
        if (!count_down(s, &f->ids[i]))
            code = read_job(s, store, &f->ids[i], &open, err);
    if (f)
        mem_free(f->ids);
    mem_free(f);
    return code;
}

size_t jobs__agent_at(const struct known_agent *agents, size_t count, agent_id id)
{
    size_t low = 0, high = count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (agents[middle].id.v < id.v)
            low = middle + 1;
        else
            high = middle;
    }
    return low < count && agents[low].id.v == id.v ? low : NOWHERE;
}

static enum err_code read_agents(struct jobs_snapshot *s, struct store *store, int64_t mono_ms,
                                 struct err *err)
{
    struct known_agent *old = s->agents;
    struct agent *agents;
    size_t count = 0;

    TRY(store_agent_brief_list(store, &s->settings, &agents, &count, err));
    s->agents = mem_array(count, sizeof(s->agents[0]));
    for (size_t i = 0; i < count; i++) {
        const struct agent *a = &agents[i];
        size_t at = jobs__agent_at(old, s->agent_count, a->id);
        const struct known_agent *before = at == NOWHERE ? NULL : &old[at];
        struct known_agent *k = &s->agents[i];
        *k = (struct known_agent){
            .id = a->id,
            .name = a->name,
            .target = a->target,
            .seen = a->seen,
            .conflict = a->conflict != TIME_NONE,
            .maintenance = a->maintenance,
            .maintenance_until = a->maintenance_until,
        };
        if (before)
            k->heard_mono_ms = before->seen == a->seen ? before->heard_mono_ms : mono_ms;
        else
            k->heard_mono_ms = INT64_MIN; /* by the wall clock, until it calls */
        k->node = (struct sched_node){
            .id = a->id,
            .gpu_type = jobs__gpu_type(s, a->gpu_type),
            .gpu_memory_bytes = a->gpu_memory_bytes,
            .several = a->several,
            .features = a->features,
            .total = {{[RESOURCE_CPU] = a->cpus * 1000,
                       [RESOURCE_GPU] = a->gpus,
                       [RESOURCE_MEMORY] = a->memory_bytes,
                       [RESOURCE_SLOT] = a->slots}},
            .until = TIME_NONE,
        };
    }
    s->agent_count = count;
    mem_free(old);
    return OK;
}

static enum err_code read_budgets(struct jobs_snapshot *s, struct cmd *cmd, struct err *err)
{
    struct budget_state *budgets;

    TRY(ledger_left_all(cmd, &budgets, &s->budget_count, err));
    s->budgets = arena_array(&s->settings, s->budget_count, sizeof *budgets);
    if (s->budget_count)
        memcpy(s->budgets, budgets, s->budget_count * sizeof *budgets);
    s->settings_old = false;
    return OK;
}

enum err_code jobs_snapshot_settings(struct jobs_snapshot *s, struct cmd *cmd, struct err *err)
{
    struct store *store = cmd->store;

    arena_reset(&s->settings);
    s->share_count = s->queue_count = s->target_count = s->budget_count = 0;
    s->settings_mono_ms = cmd->mono_ms;
    TRY(store_share_list(store, &s->settings, &s->shares, &s->share_count, err));
    TRY(store_queue_list(store, STR(""), QUEUES_MAX, &s->settings, &s->queues, &s->queue_count,
                         err));
    TRY(store_target_list(store, STR(""), TARGETS_MAX, &s->settings, &s->targets, &s->target_count,
                          err));
    TRY(read_budgets(s, cmd, err));
    return read_agents(s, store, cmd->mono_ms, err);
}

bool jobs_snapshot_settings_are_old(const struct jobs_snapshot *s)
{
    return s->settings_old;
}

enum err_code jobs_snapshot_load(struct jobs_snapshot *s, struct cmd *cmd, struct err *err)
{
    struct store *store = cmd->store;
    job_id after = {0};
    size_t count = 0;

    forget_jobs(s);
    TRY(jobs_snapshot_settings(s, cmd, err));
    do {
        CLEANUP(arena_release) struct arena arena = {0};
        struct job *jobs;
        TRY(store_job_brief_list(store, after, LOAD_PAGE, &arena, &jobs, &count, err));
        for (size_t i = 0; i < count; i++)
            TRY(jobs__snapshot_take(s, store, &arena, &jobs[i], err));
        if (count)
            after = jobs[count - 1].id;
    } while (count == LOAD_PAGE);
    return OK;
}

bool jobs_snapshot_is_stale(const struct jobs_snapshot *s)
{
    return s->shape_count > s->job_count * 4 + SHAPES_TOO_MANY;
}
