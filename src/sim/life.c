/* What becomes of jobs and attempts, and what is held for them. The states are the product's own
 * tables (job_apply, attempt_apply); what they want done comes from job_plan. */
#include "sim/state.h"

static struct sched_amounts times(struct sched_amounts need, int64_t n)
{
    for (size_t i = 0; i < RESOURCE_COUNT; i++)
        need.v[i] *= n;
    return need;
}

static void add(struct sched_amounts *sum, const struct sched_amounts *part, int64_t sign)
{
    for (size_t i = 0; i < RESOURCE_COUNT; i++)
        sum->v[i] += sign * part->v[i];
}

static const struct sched_shape *shape_of(const struct sim *sim, const struct sim_attempt *attempt)
{
    return &sim->world->shapes[sim->jobs[attempt->job].spec->shape];
}

struct job_event sim__event(enum job_event_kind kind)
{
    return (struct job_event){
        .kind = kind, .exit_code = EXIT_NONE, .exit_signal = EXIT_NONE, .reason = STR("")};
}

/* ---- The queue of those that may start */

void sim__enqueue(struct sim *sim, uint32_t job)
{
    struct sim_job *j = &sim->jobs[job];
    const struct sim_job_spec *spec = j->spec;

    if (j->view != SCHED_NONE || j->model.state != JOB_QUEUED)
        return;
    if (j->model.not_before != TIME_NONE && j->model.not_before > sim->now) {
        sim_heap_put(&sim->heap,
                     (struct sim_event){.at = j->model.not_before, .what = SIM_READY, .a = job});
        return;
    }
    sim__wake(sim);
    sim->queue =
        arena_more(&sim->arena, sim->queue, sim->queue_count, &sim->queue_room, sizeof *sim->queue);
    j->view = sim->queue_count++;
    j->waiting_since = sim->now;
    sim->queue[j->view] = (struct sched_job){
        .id = {(int64_t)job + 1},
        .share = spec->share,
        .queue = spec->queue,
        .shape = spec->shape,
        .priority = j->model.priority,
        .queued = j->model.queued,
        .ladder_at = j->model.ladder_at == TIME_NONE ? j->model.queued : j->model.ladder_at,
        .step_from = (uint32_t)j->model.step_from,
        .time_limit_ms = spec->limit_ms,
        .array = spec->array_limit ? spec->array : 0,
    };
}

void sim__dequeue(struct sim *sim, uint32_t job)
{
    struct sim_job *j = &sim->jobs[job];

    if (j->view == SCHED_NONE)
        return;
    j->waited_ms += sim->now - j->waiting_since;
    sim->queue[j->view] = sim->queue[--sim->queue_count];
    if (j->view < sim->queue_count)
        sim->jobs[sim->queue[j->view].id.v - 1].view = j->view;
    j->view = SCHED_NONE;
}

/* ---- The state tables */

static void stop_places(struct sim *sim, const struct sim_attempt *attempt)
{
    for (uint32_t i = 0; i < attempt->place_count; i++) {
        const struct sim_place *place = &attempt->places[i];
        struct sim_message *m;

        if (place->state != SIM_PLACE_GO && place->state != SIM_PLACE_RUNNING)
            continue;
        m = sim__message(sim, SIM_STOP, place->node);
        m->attempt = (uint32_t)attempt->model.id.v - 1;
        m->rank = i;
        sim__send(sim, m);
    }
}

/* Those that come after this job may start, or never will. */
static void release_followers(struct sim *sim, const struct sim_job *job)
{
    bool good = job->model.state == JOB_SUCCEEDED;

    for (uint32_t at = job->after_first; at != SCHED_NONE; at = sim->jobs[at].after_next) {
        struct sim_job *follower = &sim->jobs[at];
        struct job_event cancel = sim__event(JOB_EVENT_CANCEL);

        if (at >= sim->arrived || job_state_ended(follower->model.state))
            continue;
        if (good)
            sim__enqueue(sim, at);
        else
            sim__life(sim, at, &cancel);
    }
}

void sim__life(struct sim *sim, uint32_t job, const struct job_event *event)
{
    struct sim_job *j = &sim->jobs[job];
    struct sim_attempt *attempt = j->attempt == SCHED_NONE ? NULL : sim->all[j->attempt];
    struct job_event e = *event;
    struct job_actions actions;
    struct err err;

    e.at = sim->now;
    e.seq = j->model.event_count + 1;
    if (attempt && job_event_is_legal(j->model.state, e.kind))
        attempt_apply(&attempt->model, &e, &j->model);
    if (job_apply(&j->model, &e, &err) != OK) {
        sim__fail(sim, "the server asks for what cannot be: %s", err.text);
        return;
    }
    sim__log(sim, "job %u: %s, now %s", job, job_event_kind_name(e.kind),
             job_state_name(j->model.state));
    sim->changed = sim->now;
    sim->dirty = true;
    job_plan(&j->model, attempt ? &attempt->model : NULL, &actions);
    for (size_t i = 0; i < actions.count; i++) {
        if (actions.items[i].kind == JOB_ACTION_STOP_WORK && attempt)
            stop_places(sim, attempt);
    }
    if (j->model.state != JOB_QUEUED)
        sim__dequeue(sim, job);
    if (job_state_ended(j->model.state) && event->kind != JOB_EVENT_FINAL) {
        sim->ended++;
        release_followers(sim, j);
    }
}

/* ---- What is held */

static void count_usage(struct sim *sim, const struct sim_attempt *attempt, int64_t sign)
{
    uint32_t at = sim->jobs[attempt->job].spec->share;
    struct sched_amounts all = times(shape_of(sim, attempt)->need, attempt->place_count);

    for (; at != SCHED_NONE; at = sim->shares[at].parent) {
        add(&sim->usage[at].amounts, &all, sign);
        sim->usage[at].jobs += sign;
    }
}

static void hold(struct sim *sim, uint32_t attempt, uint32_t rank)
{
    const struct sim_attempt *a = sim->all[attempt];
    uint32_t at = a->places[rank].node;
    struct sim_node *node = &sim->nodes[at];

    node->holds = arena_more(&sim->arena, node->holds, node->hold_count, &node->hold_room,
                             sizeof *node->holds);
    node->holds[node->hold_count++] = (struct sim_holding){attempt, rank};
    add(&node->held, &shape_of(sim, a)->need, 1);
    add(&sim->node_views[at].free, &shape_of(sim, a)->need, -1);
}

void sim__let_go(struct sim *sim, uint32_t attempt, uint32_t rank)
{
    const struct sim_attempt *a = sim->all[attempt];
    struct sim_place *place = &a->places[rank];
    struct sim_node *node = &sim->nodes[place->node];

    for (uint32_t i = 0; i < node->hold_count; i++) {
        if (node->holds[i].attempt != attempt || node->holds[i].rank != rank)
            continue;
        node->holds[i] = node->holds[--node->hold_count];
        add(place->zombie ? &node->zombies : &node->held, &shape_of(sim, a)->need, -1);
        add(&sim->node_views[place->node].free, &shape_of(sim, a)->need, 1);
        sim->zombies -= place->zombie;
        place->zombie = false;
        sim->changed = sim->now;
        sim->dirty = true;
        sim__wake(sim);
        return;
    }
    sim__fail(sim, "rank %u of attempt %u is let go and was not held", rank, attempt);
}

static struct sim_attempt *attempt_new(struct sim *sim, uint32_t job,
                                       const struct sched_start *start)
{
    struct sim_attempt *a = ARENA_NEW(&sim->arena, struct sim_attempt);
    struct sim_job *j = &sim->jobs[job];

    sim->all =
        arena_more(&sim->arena, sim->all, sim->attempt_count, &sim->attempt_room, sizeof *sim->all);
    sim->all[sim->attempt_count++] = a;
    a->job = job;
    a->place_count = start->node_count;
    a->places = arena_array(&sim->arena, a->place_count, sizeof *a->places);
    a->nodes = arena_array(&sim->arena, a->place_count, sizeof *a->nodes);
    a->open = true;
    a->exit_code = EXIT_NONE;
    a->left_ms = j->spec->run_ms - j->done_ms;
    a->model = (struct attempt){
        .id = {sim->attempt_count},
        .job = j->model.id,
        .number = j->model.attempt_count,
        .step = start->step,
        .state = ATTEMPT_OFFERED,
        .target = sim->targets[sim->node_views[start->nodes[0]].target].id,
        .offered = sim->now,
        .started = TIME_NONE,
        .ended = TIME_NONE,
    };
    for (uint32_t i = 0; i < a->place_count; i++) {
        a->nodes[i] = start->nodes[i];
        a->places[i] = (struct sim_place){.node = start->nodes[i], .started = TIME_NONE};
    }
    return a;
}

static void show(struct sim *sim, struct sim_attempt *a)
{
    const struct sim_job *j = &sim->jobs[a->job];
    int64_t limit = j->spec->limit_ms;

    sim->attempts = arena_more(&sim->arena, sim->attempts, sim->attempt_view_count, &sim->view_room,
                               sizeof *sim->attempts);
    a->view = sim->attempt_view_count++;
    sim->attempts[a->view] = (struct sched_attempt){
        .id = a->model.id,
        .job = j->model.id,
        .share = j->spec->share,
        .queue = j->spec->queue,
        .shape = j->spec->shape,
        .priority = j->model.priority,
        .queued = j->model.queued,
        .since = sim->now,
        .ends_by = limit == SCHED_UNLIMITED ? SCHED_UNLIMITED : sim->now + limit,
        .evictable_from = sim->now + sim->world->min_run_ms,
        .nodes = a->nodes,
        .node_count = a->place_count,
        .array = j->spec->array_limit ? j->spec->array : 0,
    };
}

void sim__start(struct sim *sim, uint32_t job, const struct sched_start *start)
{
    struct job_event event = sim__event(JOB_EVENT_OFFERED);
    struct sim_job *j = &sim->jobs[job];
    struct sim_attempt *a;
    uint32_t at = sim->attempt_count;

    if (j->attempt != SCHED_NONE || j->model.state != JOB_QUEUED) {
        sim__fail(sim, "job %u is started while it is %s", job, job_state_name(j->model.state));
        return;
    }
    sim__life(sim, job, &event);
    a = attempt_new(sim, job, start);
    j->attempt = at;
    j->starts++;
    show(sim, a);
    count_usage(sim, a, 1);
    for (uint32_t i = 0; i < a->place_count; i++) {
        struct sim_message *m = sim__message(sim, SIM_OFFER, a->places[i].node);

        sim__log(sim, "job %u: attempt %u, rank %u on node %u", job, at, i, a->places[i].node);
        hold(sim, at, i);
        m->attempt = at;
        m->rank = i;
        sim__send(sim, m);
    }
    sim->figures.starts++;
}

/* ---- The end of an attempt */

/* GPU time by period, for every share above the job. */
static void charge(struct sim *sim, const struct sim_attempt *a, const struct sim_place *place)
{
    int64_t gpus = shape_of(sim, a)->need.v[RESOURCE_GPU], period = sim->world->period_ms;
    int64_t price = sim__price(sim, place->node, shape_of(sim, a));
    time_ms from = place->started == TIME_NONE ? sim->now - place->run_ms : place->started;
    time_ms to = from + place->run_ms;

    while (period && from < to) {
        int64_t number = from / period;
        time_ms until = MIN(to, (number + 1) * period);
        uint32_t at = sim->jobs[a->job].spec->share;

        ENSURE(number < SIM_PERIODS_MAX);
        for (; at != SCHED_NONE; at = sim->shares[at].parent) {
            sim->usage[at].gpu_ms[number] += (until - from) * gpus;
            sim->usage[at].price_ms[number] += (until - from) * price;
        }
        from = until;
    }
}

/* What was done and is not lost, and what is. */
static void account(struct sim *sim, struct sim_attempt *a, bool again)
{
    struct sim_job *j = &sim->jobs[a->job];
    int64_t gpus = shape_of(sim, a)->need.v[RESOURCE_GPU], ran = 0, kept = 0, sum = 0;

    for (uint32_t i = 0; i < a->place_count; i++) {
        charge(sim, a, &a->places[i]);
        ran = MAX(ran, a->places[i].run_ms);
        sum += a->places[i].run_ms;
    }
    if (!again)
        return;
    if (j->spec->checkpoint_ms)
        kept = MIN(ran, a->left_ms) / j->spec->checkpoint_ms * j->spec->checkpoint_ms;
    j->done_ms += kept;
    sim->figures.lost_gpu_ms += (sum - kept * a->place_count) * gpus;
}

void sim__close(struct sim *sim, struct sim_attempt *a, const struct job_event *event)
{
    struct sim_job *j = &sim->jobs[a->job];
    struct job_event final = sim__event(JOB_EVENT_FINAL);
    uint32_t id = (uint32_t)a->model.id.v - 1, job = a->job;

    if (!a->open || j->attempt != id) {
        sim__fail(sim, "attempt %u of job %u ends twice", id, job);
        return;
    }
    a->open = false;
    for (uint32_t i = 0; i < a->place_count; i++) {
        struct sim_place *place = &a->places[i];
        const struct sched_amounts *need = &shape_of(sim, a)->need;

        if (place->state == SIM_PLACE_GO || place->state == SIM_PLACE_RUNNING) {
            place->zombie = true;
            sim->zombies++;
            add(&sim->nodes[place->node].held, need, -1);
            add(&sim->nodes[place->node].zombies, need, 1);
            if (place->started != TIME_NONE)
                place->run_ms = sim->nodes[place->node].seen - place->started;
            place->run_ms = MAX(place->run_ms, 0);
        } else {
            sim__let_go(sim, id, i);
        }
    }
    count_usage(sim, a, -1);
    sim->attempts[a->view] = sim->attempts[--sim->attempt_view_count];
    if (a->view < sim->attempt_view_count)
        sim->all[sim->attempts[a->view].id.v - 1]->view = a->view;
    sim__life(sim, job, event);
    if (event->kind == JOB_EVENT_ENDED && !sim->violation[0])
        sim__life(sim, job, &final); /* no text is waited for here */
    j->attempt = SCHED_NONE;
    account(sim, a, j->model.state == JOB_QUEUED);
    sim__enqueue(sim, job);
}
