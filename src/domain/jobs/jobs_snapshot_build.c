/* From what is known to the arrays of a cycle, and from its answer to what is to be done. Jobs that
 * their own state keeps from starting are left out, with the reason. */
#include "domain/jobs/jobs_snapshot_impl.h"

#include <stdlib.h>

unsigned jobs__gpu_type(struct jobs_snapshot *s, struct str name)
{
    size_t i = 0;

    while (i < s->gpu_type_count && !str_eq_c(name, s->gpu_types[i]))
        i++;
    if (i == s->gpu_type_count && i < SCHED_GPU_TYPES_MAX - 1) {
        size_t len = MIN(name.len, sizeof(s->gpu_types[i]) - 1);
        if (len)
            memcpy(s->gpu_types[i], name.data, len);
        s->gpu_types[i][len] = '\0';
        s->gpu_type_count++;
    }
    return (unsigned)MIN(i, SCHED_GPU_TYPES_MAX - 1);
}

static uint32_t target_at(const struct jobs_snapshot *s, target_id id)
{
    for (size_t i = 0; i < s->target_count; i++)
        if (s->targets[i].id.v == id.v)
            return (uint32_t)i;
    return SCHED_NONE;
}

/* Where things lie in an array, by row id. */
struct place {
    int64_t id;
    uint32_t at;
};
struct place_list {
    struct place *items;
    size_t count;
};
struct places {
    struct place_list projects, queues; /* projects: places of their shares */
};

static int by_id(const void *a, const void *b)
{
    const struct place *x = a, *y = b;
    return (x->id > y->id) - (x->id < y->id);
}

static uint32_t place_of(const struct place_list *list, int64_t id)
{
    struct place key = {id, 0};
    const struct place *found =
        list->count ? bsearch(&key, list->items, list->count, sizeof key, by_id) : NULL;

    return found ? found->at : SCHED_NONE;
}

static void place_add(struct place_list *list, int64_t id, size_t at)
{
    list->items[list->count++] = (struct place){id, (uint32_t)at};
}

static struct places places_of(const struct jobs_snapshot *s, struct arena *arena)
{
    struct places p = {
        .projects.items = arena_array(arena, s->share_count, sizeof(struct place)),
        .queues.items = arena_array(arena, s->queue_count, sizeof(struct place)),
    };

    for (size_t i = 0; i < s->share_count; i++)
        if (s->shares[i].kind == SHARE_PROJECT)
            place_add(&p.projects, s->shares[i].project.v, i);
    for (size_t i = 0; i < s->queue_count; i++)
        place_add(&p.queues, s->queues[i].id.v, i);
    if (p.projects.count)
        qsort(p.projects.items, p.projects.count, sizeof(struct place), by_id);
    if (p.queues.count)
        qsort(p.queues.items, p.queues.count, sizeof(struct place), by_id);
    return p;
}

static const uint32_t *allowed(const struct jobs_snapshot *s, const struct allowed_targets *targets,
                               struct arena *arena, uint32_t *ret_count)
{
    uint32_t *list = arena_array(arena, targets->count + 1, sizeof *list);

    *ret_count = 0;
    for (size_t i = 0; i < targets->count; i++) {
        uint32_t at = target_at(s, targets->ids[i]);
        if (at != SCHED_NONE)
            list[(*ret_count)++] = at;
    }
    return targets->count ? list : NULL;
}

static struct sched_amounts amounts(const struct share_amounts *from, int64_t unset)
{
    struct sched_amounts to;

    for (int r = 0; r < RESOURCE_COUNT; r++)
        to.v[r] = from->v[r] == SHARE_UNSET ? unset : from->v[r];
    return to;
}

static const struct sched_budget no_budget = {
    .period_end = {TIME_NONE, TIME_NONE},
    .gpu_ms_left = {SCHED_UNLIMITED, SCHED_UNLIMITED},
    .micro_left = {SCHED_UNLIMITED, SCHED_UNLIMITED},
};

static struct sched_share *build_shares(const struct jobs_snapshot *s, struct arena *arena,
                                        struct sched_snapshot *out)
{
    struct sched_share *shares = arena_array(arena, s->share_count, sizeof *shares);

    for (size_t i = 0; i < s->share_count; i++) {
        const struct share *from = &s->shares[i];
        shares[i] = (struct sched_share){
            .id = from->id,
            .parent = from->kind == SHARE_ORGANISATION ? SCHED_NONE : (uint32_t)from->parent_at,
            .weight = from->weight,
            .quota = amounts(&from->quota, 0),
            .borrow = amounts(&from->borrow, SCHED_UNLIMITED),
            .lend = amounts(&from->lend, SCHED_UNLIMITED),
            .jobs_max = from->jobs_max == SHARE_UNSET ? SCHED_UNLIMITED : from->jobs_max,
            .held = from->held,
            .budget = no_budget,
        };
        shares[i].targets = allowed(s, &from->targets, arena, &shares[i].target_count);
    }
    out->shares = shares;
    out->share_count = (uint32_t)s->share_count;
    return shares;
}

static int64_t minus(int64_t from, int64_t what)
{
    int64_t left;

    if (from == SCHED_UNLIMITED)
        return from;
    return __builtin_sub_overflow(from, what, &left) ? INT64_MIN : left;
}

static int64_t times(int64_t a, int64_t b)
{
    int64_t product;
    return __builtin_mul_overflow(a, b, &product) ? SCHED_UNLIMITED - 1 : product;
}

/* What a running attempt may still be charged for in [from, to), off what is left of it. */
static void commit_part(const struct known_job *k, time_ms from, time_ms to, int64_t *gpu_ms,
                        int64_t *micro)
{
    int64_t nodes = k->shape->node_count, gpus = k->shape->need.gpus * nodes;

    if (to <= from)
        return;
    *gpu_ms = minus(*gpu_ms, times(gpus, to - from));
    *micro = minus(*micro, ledger_micro(from, to, times(nodes, k->price_hour_micro)));
    *micro = minus(*micro, ledger_micro(from, to, times(gpus, k->price_gpu_hour_micro)));
}

/* The limit less what was used, period by period; what runs is taken off afterwards. */
static struct sched_budget budget_of(const struct budget_state *state)
{
    struct sched_budget budget = no_budget;

    for (int i = 0; i < SCHED_PERIODS; i++) {
        const struct budget_period *period = &state->periods[i];
        budget.period_end[i] = period->end;
        if (state->budget.gpu_ms_max != BUDGET_UNLIMITED)
            budget.gpu_ms_left[i] = minus(state->budget.gpu_ms_max, period->gpu_ms_used);
        if (state->budget.micro_max != BUDGET_UNLIMITED)
            budget.micro_left[i] = minus(state->budget.micro_max, period->micro_used);
    }
    return budget;
}

static void build_budgets(const struct jobs_snapshot *s, const struct place_list *projects,
                          struct sched_share *shares)
{
    for (size_t i = 0; i < s->budget_count; i++) {
        uint32_t share = place_of(projects, s->budgets[i].budget.project.v);
        if (share != SCHED_NONE)
            shares[share].budget = budget_of(&s->budgets[i]);
    }
}

/* Takes off what an attempt may still use: up to its time limit, from when it was charged last. */
static void commit_attempt(const struct known_job *k, const struct sched_attempt *attempt,
                           struct sched_budget *budget)
{
    time_ms from = k->charged == TIME_NONE ? attempt->since : k->charged;

    for (int i = 0; i < SCHED_PERIODS && budget->period_end[i] != TIME_NONE; i++) {
        time_ms to = MIN(attempt->ends_by, budget->period_end[i]);
        commit_part(k, from, to, &budget->gpu_ms_left[i], &budget->micro_left[i]);
        from = MAX(from, to);
    }
}

static void build_queues(const struct jobs_snapshot *s, struct arena *arena,
                         struct sched_snapshot *out)
{
    struct sched_queue *queues = arena_array(arena, s->queue_count, sizeof *queues);

    for (size_t i = 0; i < s->queue_count; i++) {
        const struct job_queue *from = &s->queues[i];
        queues[i] = (struct sched_queue){
            .id = from->id,
            .priority = from->priority,
            .aging_ms = from->aging_ms,
            .held = from->held,
            .spread = from->spread,
        };
        queues[i].targets = allowed(s, &from->targets, arena, &queues[i].target_count);
    }
    out->queues = queues;
    out->queue_count = (uint32_t)s->queue_count;
}

static void build_targets(const struct jobs_snapshot *s, time_ms now, struct arena *arena,
                          struct sched_snapshot *out)
{
    struct sched_target *targets = arena_array(arena, s->target_count, sizeof *targets);

    for (size_t i = 0; i < s->target_count; i++)
        targets[i] = (struct sched_target){
            .id = s->targets[i].id,
            .spot = s->targets[i].spot,
            .price_hour_micro = s->targets[i].price_hour_micro,
            .price_gpu_hour_micro = s->targets[i].price_gpu_hour_micro,
            .maintenance = target_in_maintenance(&s->targets[i], now),
            .until = s->targets[i].maintenance_until,
        };
    out->targets = targets;
    out->target_count = (uint32_t)s->target_count;
}

static bool is_live(const struct jobs_snapshot *s, const struct known_agent *a, time_ms now)
{
    if (a->seen == TIME_NONE || a->conflict)
        return false;
    if (a->heard_mono_ms != INT64_MIN)
        return s->settings_mono_ms - a->heard_mono_ms <= s->config.agent_silent_ms;
    return now - a->seen <= s->config.agent_silent_ms;
}

static bool is_excluded(const struct target *target, struct str agent)
{
    for (size_t i = 0; i < target->excluded_count; i++)
        if (str_eq(target->excluded_names[i], agent))
            return true;
    return false;
}

static bool rests(const struct known_agent *a, time_ms now)
{
    return a->maintenance && (a->maintenance_until == TIME_NONE || a->maintenance_until > now);
}

/* When a node that rests comes back: TIME_NONE: not known. */
static time_ms back_at(const struct known_agent *a, const struct target *target, time_ms now)
{
    time_ms until = target_in_maintenance(target, now) ? target->maintenance_until : now;

    if (!rests(a, now) || until == TIME_NONE)
        return until;
    return a->maintenance_until == TIME_NONE ? TIME_NONE : MAX(until, a->maintenance_until);
}

static enum sched_node_state node_state(const struct jobs_snapshot *s, const struct known_agent *a,
                                        uint32_t target, time_ms now)
{
    if (!is_live(s, a, now) || target == SCHED_NONE)
        return SCHED_NODE_OFFLINE;
    if (target_in_maintenance(&s->targets[target], now) || rests(a, now))
        return SCHED_NODE_MAINTENANCE;
    return is_excluded(&s->targets[target], a->name) ? SCHED_NODE_EXCLUDED : SCHED_NODE_LIVE;
}

static void build_nodes(const struct jobs_snapshot *s, time_ms now, struct arena *arena,
                        struct sched_node **ret_nodes)
{
    struct sched_node *nodes = arena_array(arena, s->agent_count, sizeof *nodes);

    for (size_t i = 0; i < s->agent_count; i++) {
        const struct known_agent *a = &s->agents[i];
        nodes[i] = a->node;
        nodes[i].target = target_at(s, a->target);
        nodes[i].state = node_state(s, a, nodes[i].target, now);
        if (nodes[i].state == SCHED_NODE_MAINTENANCE)
            nodes[i].until = back_at(a, &s->targets[nodes[i].target], now);
        nodes[i].free = a->node.total;
    }
    *ret_nodes = nodes;
}

static void build_shapes(struct jobs_snapshot *s, struct arena *arena, struct sched_snapshot *out)
{
    struct sched_shape *shapes = arena_array(arena, s->shape_count, sizeof *shapes);

    for (size_t i = 0; i < s->shape_count; i++) {
        const struct known_shape *from = s->shape_list[i];
        struct sched_step *steps = arena_array(arena, from->asks.step_count, sizeof *steps);
        struct sched_shape *to = &shapes[i];
        for (size_t k = 0; k < from->asks.step_count; k++) {
            const struct job_step *step = &from->asks.steps[k];
            steps[k] = (struct sched_step){
                .target = step->target.v ? target_at(s, step->target) : SCHED_NONE,
                .wait_ms = step->wait_ms,
            };
        }
        *to = (struct sched_shape){
            .node_count = from->node_count,
            .need = {{[RESOURCE_CPU] = from->need.cpus * 1000,
                      [RESOURCE_GPU] = from->need.gpus,
                      [RESOURCE_MEMORY] = from->need.memory_bytes,
                      [RESOURCE_SLOT] = 1}},
            .gpu_memory_bytes = from->asks.gpu_memory_bytes,
            .needs = from->asks.needs,
            .steps = steps,
            .step_count = (uint32_t)from->asks.step_count,
            .excluded = from->asks.excluded,
            .excluded_count = (uint32_t)from->asks.excluded_count,
            .service = from->service,
        };
        for (size_t k = 0; k < from->asks.gpu_type_count; k++)
            to->gpu_types |= UINT64_C(1) << jobs__gpu_type(s, from->asks.gpu_types[k]);
    }
    out->shapes = shapes;
    out->shape_count = (uint32_t)s->shape_count;
}

static int64_t limit_ms(const struct known_job *k)
{
    return k->shape->service || k->timeout_s > SCHED_UNLIMITED / 1000 ? SCHED_UNLIMITED
                                                                      : k->timeout_s * 1000;
}

static int64_t later(time_ms from, int64_t by_ms)
{
    int64_t sum;
    return __builtin_add_overflow(from, by_ms, &sum) ? SCHED_UNLIMITED : sum;
}

/* Takes what the attempt holds off its nodes. */
static void build_attempt(const struct jobs_snapshot *s, const struct known_job *k,
                          struct sched_node *nodes, const struct sched_snapshot *sched,
                          struct arena *arena, struct sched_attempt *to)
{
    const struct sched_shape *shape = &sched->shapes[k->shape->at];
    uint32_t *list = arena_array(arena, k->place_ranks, sizeof *list);
    time_ms since = k->started == TIME_NONE ? k->attempt_since : k->started;

    for (size_t i = 0; i < k->place_count; i++) {
        size_t at = jobs__agent_at(s->agents, s->agent_count, k->places[i].agent);
        for (int64_t n = 0; at != NOWHERE && n < k->places[i].rank_count; n++) {
            list[to->node_count++] = (uint32_t)at;
            for (int r = 0; r < RESOURCE_COUNT; r++)
                nodes[at].free.v[r] -= shape->need.v[r];
        }
    }
    to->id = k->attempt;
    to->job = k->id;
    to->shape = k->shape->at;
    to->priority = k->priority;
    to->queued = k->queued;
    to->since = k->attempt_since;
    to->ends_by = later(since, limit_ms(k));
    to->evictable_from = later(since, s->config.min_run_ms);
    to->stopping = k->state == JOB_STOPPING;
    to->nodes = list;
    to->array = s->array_of[k->at];
}

/* Elements of arrays with a limit, those together that stand the same in the scheduler's eyes. */
struct element {
    int64_t array, step_from, queue, priority, job;
    size_t at;
};

static int by_array(const void *a, const void *b)
{
    const struct element *x = a, *y = b;
    const int64_t left[] = {x->array, x->step_from, x->queue, x->priority, x->job};
    const int64_t right[] = {y->array, y->step_from, y->queue, y->priority, y->job};

    for (size_t i = 0; i < ARRAY_LEN(left); i++)
        if (left[i] != right[i])
            return left[i] < right[i] ? -1 : 1;
    return 0;
}

static bool are_alike(const struct element *x, const struct element *y)
{
    return x->array == y->array && x->step_from == y->step_from && x->queue == y->queue &&
           x->priority == y->priority;
}

static void add_element(const struct known_job *k, struct arena *arena, struct element **list,
                        size_t *count, size_t *room)
{
    if (k->array_limit == 0)
        return;
    *list = arena_more(arena, *list, *count, room, sizeof **list);
    (*list)[(*count)++] = (struct element){
        .array = k->array.v,
        .step_from = k->step_from,
        .queue = k->queue.v,
        .priority = k->priority,
        .job = k->id.v,
        .at = k->at,
    };
}

/* What keeps the job from being looked at; WAIT_CODE_COUNT: nothing. */
static enum wait_code own_reason(const struct known_job *k, bool over_limit, time_ms now)
{
    if (k->state == JOB_HELD)
        return WAIT_HELD;
    if (k->state == JOB_OFFERED)
        return WAIT_OFFERED;
    if (k->attempt.v)
        return WAIT_RECORD;
    if (k->after_open || k->broken)
        return WAIT_AFTER;
    if (k->not_before != TIME_NONE && k->not_before > now)
        return WAIT_BACKOFF;
    return over_limit ? WAIT_ARRAY : WAIT_CODE_COUNT;
}

/* Of those that stand the same only as many as may start are looked at, the oldest; one that
 * something else keeps waiting takes no place from a later one. */
static void limit_alike(struct jobs_snapshot *s, const struct element *list, size_t count,
                        int64_t places, time_ms now)
{
    int64_t left = places;

    for (size_t i = 0; i < count; i++) {
        left = i > 0 && !are_alike(&list[i - 1], &list[i]) ? places : left;
        if (own_reason(s->jobs[list[i].at], false, now) == WAIT_CODE_COUNT)
            s->over_limit[list[i].at] = left-- <= 0;
    }
}

/* How many more of each array may start. */
static void limit_arrays(struct jobs_snapshot *s, time_ms now, struct arena *arena,
                         struct sched_snapshot *out)
{
    struct element *list = NULL;
    size_t count = 0, room = 0;
    int64_t *places;

    for (size_t i = 0; i < s->holders.count; i++)
        add_element(s->holders.items[i], arena, &list, &count, &room);
    for (size_t i = 0; i < s->apart.count; i++)
        add_element(s->apart.items[i], arena, &list, &count, &room);
    if (count)
        qsort(list, count, sizeof *list, by_array);
    places = arena_array(arena, count, sizeof *places);
    for (size_t from = 0, to; from < count; from = to) {
        int64_t *left = &places[out->array_count++];
        *left = s->jobs[list[from].at]->array_limit;
        for (to = from; to < count && list[to].array == list[from].array; to++) {
            *left -= s->jobs[list[to].at]->state > JOB_QUEUED;
            s->array_of[list[to].at] = out->array_count;
        }
        limit_alike(s, &list[from], to - from, *left, now);
    }
    out->array_places = places;
}

static void build_attempts(struct jobs_snapshot *s, const struct places *places,
                           struct arena *arena, struct sched_share *shares,
                           struct sched_node *nodes, struct sched_snapshot *out)
{
    struct sched_attempt *attempts = arena_array(arena, s->holders.count, sizeof *attempts);

    s->built_attempts = arena_array(arena, s->holders.count, sizeof(s->built_attempts[0]));
    for (size_t i = 0; i < s->holders.count; i++) {
        const struct known_job *k = s->holders.items[i];
        struct sched_attempt *to = &attempts[out->attempt_count];
        to->share = place_of(&places->projects, k->project.v);
        to->queue = place_of(&places->queues, k->queue.v);
        if (to->share == SCHED_NONE || to->queue == SCHED_NONE)
            continue; /* made a moment ago: the settings are read again soon */
        build_attempt(s, k, nodes, out, arena, to);
        commit_attempt(k, to, &shares[to->share].budget);
        s->built_attempts[out->attempt_count++] = k->at;
    }
    out->attempts = attempts;
}

/* Adds a job that waits, unless something of its own keeps it. */
static void add_job(struct jobs_snapshot *s, const struct places *places, const struct known_job *k,
                    struct sched_job *jobs, struct sched_snapshot *out)
{
    uint32_t share = place_of(&places->projects, k->project.v);
    uint32_t queue = place_of(&places->queues, k->queue.v);

    if (share == SCHED_NONE || queue == SCHED_NONE)
        s->settings_old = true;
    if (share == SCHED_NONE || queue == SCHED_NONE ||
        own_reason(k, s->over_limit[k->at], out->now) != WAIT_CODE_COUNT)
        return;
    jobs[out->job_count] = (struct sched_job){
        .id = k->id,
        .share = share,
        .queue = queue,
        .shape = k->shape->at,
        .priority = k->priority,
        .queued = k->queued,
        .ladder_at = k->ladder_at == TIME_NONE ? k->queued : k->ladder_at,
        .step_from = (uint32_t)k->step_from,
        .time_limit_ms = limit_ms(k),
        .array = s->array_of[k->at],
    };
    s->built_jobs[out->job_count++] = k->at;
}

static void build_jobs(struct jobs_snapshot *s, const struct places *places, size_t depth,
                       struct arena *arena, struct sched_snapshot *out, bool *ret_more)
{
    size_t most = depth == SIZE_MAX ? s->job_count
                                    : MIN(s->line_count * depth + s->apart.count, s->job_count);
    struct sched_job *jobs = arena_array(arena, most, sizeof *jobs);

    s->built_jobs = arena_array(arena, most, sizeof(s->built_jobs[0]));
    for (size_t i = 0; i < s->apart.count; i++)
        add_job(s, places, s->apart.items[i], jobs, out);
    for (size_t i = 0; i < s->line_count; i++) {
        const struct known_job *k = s->line_list[i]->first;
        for (size_t n = 0; k && n < depth; n++, k = k->behind)
            add_job(s, places, k, jobs, out);
        *ret_more = *ret_more || k;
    }
    out->jobs = jobs;
}

void jobs_snapshot_build(struct jobs_snapshot *s, time_ms now, size_t depth, struct arena *arena,
                         struct sched_snapshot *ret_sched, bool *ret_more)
{
    struct sched_snapshot out = {.now = now, .policy = sched_policy_default()};
    struct sched_share *shares = build_shares(s, arena, &out);
    struct places places = places_of(s, arena);
    struct sched_node *nodes;

    *ret_more = false;
    s->over_limit = arena_array(arena, s->job_count, sizeof(s->over_limit[0]));
    s->array_of = arena_array(arena, s->job_count, sizeof(s->array_of[0]));
    build_queues(s, arena, &out);
    build_targets(s, now, arena, &out);
    build_nodes(s, now, arena, &nodes);
    build_shapes(s, arena, &out);
    build_budgets(s, &places.projects, shares);
    limit_arrays(s, now, arena, &out);
    build_attempts(s, &places, arena, shares, nodes, &out);
    build_jobs(s, &places, depth, arena, &out, ret_more);
    out.nodes = nodes;
    out.node_count = (uint32_t)s->agent_count;
    out.reservations = s->reservations;
    out.reservation_count = (uint32_t)s->reservation_count;
    out.evictions = s->evictions;
    out.eviction_count = (uint32_t)s->eviction_count;
    s->built_at = now;
    s->built_all = depth == SIZE_MAX;
    *ret_sched = out;
}

uint32_t jobs_snapshot_built(const struct jobs_snapshot *s, const struct sched_snapshot *sched,
                             job_id job)
{
    (void)s;
    for (uint32_t i = 0; i < sched->job_count; i++)
        if (sched->jobs[i].id.v == job.v)
            return i;
    return SCHED_NONE;
}

static int by_job(const void *a, const void *b)
{
    const struct job_wait_row *x = a, *y = b;
    return (x->job.v > y->job.v) - (x->job.v < y->job.v);
}

static void mark(struct jobs_snapshot *s, const struct id *id, bool reserved)
{
    struct known_job *k = map_get(&s->by_id, id_str(id));

    if (!k || k->reserved == reserved)
        return;
    k->reserved = reserved;
    jobs__lines_put(s, k);
}

/* Those for which room is held stand apart from their lines. */
static void mark_reserved(struct jobs_snapshot *s, const struct sched_snapshot *sched,
                          const struct sched_result *result, struct arena *arena)
{
    struct id *ids = arena_array(arena, result->reservation_count, sizeof *ids);
    size_t count = 0;

    for (size_t i = 0; i < result->reservation_count; i++) {
        uint32_t job = jobs_snapshot_built(s, sched, result->reservations[i].job);
        if (job != SCHED_NONE)
            ids[count++] = s->jobs[s->built_jobs[job]]->public_id;
    }
    for (size_t i = 0; i < s->reserved_count; i++)
        mark(s, &s->reserved[i], false);
    for (size_t i = 0; i < count; i++)
        mark(s, &ids[i], true);
    s->reserved = ids;
    s->reserved_count = count;
}

/* Reservations and evictions live on into the next cycle. */
static void remember(struct jobs_snapshot *s, const struct sched_snapshot *sched,
                     const struct sched_result *result)
{
    struct arena *arena = &s->kept[1 - s->kept_at];
    size_t room = s->eviction_count + result->evict_count, count = 0;
    struct sched_reservation *reservations =
        arena_array(arena, result->reservation_count, sizeof *reservations);
    struct sched_eviction *evictions = arena_array(arena, room, sizeof *evictions);

    for (size_t i = 0; i < result->reservation_count; i++) {
        const struct sched_reservation *from = &result->reservations[i];
        agent_id *nodes = arena_array(arena, from->node_count, sizeof *nodes);
        if (from->node_count)
            memcpy(nodes, from->nodes, from->node_count * sizeof *nodes);
        reservations[i] = *from;
        reservations[i].nodes = nodes;
    }
    for (size_t i = 0; i < s->eviction_count; i++)
        if (sched->now - s->evictions[i].at <= sched->policy.evict_pause_ms)
            evictions[count++] = s->evictions[i];
    for (size_t i = 0; i < result->evict_count; i++) {
        const struct sched_evict *e = &result->evicts[i];
        evictions[count++] = (struct sched_eviction){
            .winner = sched->shares[sched->jobs[e->job].share].id,
            .loser = sched->shares[sched->attempts[e->attempt].share].id,
            .at = sched->now,
        };
    }
    mark_reserved(s, sched, result, arena);
    s->reservations = reservations;
    s->reservation_count = result->reservation_count;
    s->evictions = evictions;
    s->eviction_count = count;
    arena_reset(&s->kept[s->kept_at]);
    s->kept_at = 1 - s->kept_at;
}

static void decide_starts(const struct jobs_snapshot *s, const struct sched_snapshot *sched,
                          const struct sched_result *result, struct arena *arena,
                          struct jobs_decisions *d)
{
    d->starts = arena_array(arena, result->start_count, sizeof(d->starts[0]));
    for (size_t i = 0; i < result->start_count; i++) {
        const struct sched_start *from = &result->starts[i];
        const struct known_job *k = s->jobs[s->built_jobs[from->job]];
        agent_id *agents = arena_array(arena, from->node_count, sizeof *agents);
        for (uint32_t n = 0; n < from->node_count; n++)
            agents[n] = sched->nodes[from->nodes[n]].id;
        d->starts[i] = (struct jobs_start){
            .job = k->id,
            .version = k->event_count,
            .target = sched->targets[sched->nodes[from->nodes[0]].target].id,
            .step = from->step,
            .agents = agents,
            .agent_count = from->node_count,
        };
    }
    d->start_count = result->start_count;
    d->evicts = arena_array(arena, result->evict_count, sizeof(d->evicts[0]));
    for (size_t i = 0; i < result->evict_count; i++) {
        const struct sched_evict *from = &result->evicts[i];
        const struct known_job *k = s->jobs[s->built_attempts[from->attempt]];
        d->evicts[i] =
            (struct jobs_evict){k->id, k->attempt, from->ending, sched->jobs[from->job].id};
    }
    d->evict_count = result->evict_count;
}

static void decide_waits(const struct jobs_snapshot *s, const struct sched_result *result,
                         struct arena *arena, struct jobs_decisions *d)
{
    d->waits = arena_array(arena, s->job_count, sizeof(d->waits[0]));
    d->broken = arena_array(arena, s->job_count, sizeof(d->broken[0]));
    d->ranked = arena_array(arena, result->wait_count, sizeof(d->ranked[0]));
    for (size_t i = 0; i < result->wait_count; i++) {
        const struct known_job *k = s->jobs[s->built_jobs[result->waits[i].job]];
        struct wait wait = result->waits[i].wait;
        if (wait.code == WAIT_ARRAY)
            wait.available = k->array_limit;
        d->waits[d->wait_count++] = (struct job_wait_row){k->id, wait};
        d->ranked[d->ranked_count++] = (struct wait_place){k->id, k->array, k->project};
    }
    for (size_t i = 0; i < s->job_count; i++) {
        const struct known_job *k = s->jobs[i];
        struct wait wait = {.resource = RESOURCE_NONE,
                            .until = k->not_before,
                            .start_estimate = TIME_NONE,
                            .job = k->after,
                            .queue = k->queue};
        if (k->state > JOB_OFFERED)
            continue;
        wait.code = own_reason(k, s->over_limit[i], s->built_at);
        if (wait.code == WAIT_CODE_COUNT)
            continue;
        if (wait.code == WAIT_ARRAY)
            wait.available = k->array_limit;
        if (wait.code == WAIT_AFTER)
            wait.asked = k->after_open;
        d->waits[d->wait_count++] = (struct job_wait_row){k->id, wait};
        if (k->broken && k->attempt.v == 0 && k->state != JOB_OFFERED)
            d->broken[d->broken_count++] = k->id;
    }
    if (d->wait_count)
        qsort(d->waits, d->wait_count, sizeof(d->waits[0]), by_job);
}

void jobs_snapshot_decide(struct jobs_snapshot *s, const struct sched_snapshot *sched,
                          const struct sched_result *result, struct arena *arena,
                          struct jobs_decisions *ret_decisions)
{
    struct jobs_decisions d = {0};

    decide_starts(s, sched, result, arena, &d);
    if (s->built_all)
        decide_waits(s, result, arena, &d);
    remember(s, sched, result);
    *ret_decisions = d;
}

time_ms jobs_snapshot_next(const struct jobs_snapshot *s, time_ms now)
{
    time_ms next = TIME_NONE;

    for (size_t i = 0; i < s->apart.count; i++) {
        const struct known_job *k = s->apart.items[i];
        if (k->not_before != TIME_NONE && k->not_before > now &&
            (next == TIME_NONE || k->not_before < next))
            next = k->not_before;
    }
    return next;
}
