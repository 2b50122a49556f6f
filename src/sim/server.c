/* The server's side: commands as the product has them. What an agent says about work that is not
 * its own any more has no effect but to be told so. */
#include "sim/state.h"

static void say(struct sim *sim, enum sim_message_kind kind, uint32_t attempt, uint32_t rank)
{
    struct sim_message *m = sim__message(sim, kind, sim->all[attempt]->places[rank].node);

    m->attempt = attempt;
    m->rank = rank;
    sim__send(sim, m);
}

/* ---- People */

void sim__submit(struct sim *sim, uint32_t job)
{
    struct job_event event = sim__event(JOB_EVENT_SUBMITTED);
    struct sim_job *j = &sim->jobs[job];
    const struct sim_job_spec *spec = j->spec;
    bool waits = false;

    event.priority = spec->priority;
    j->model = (struct job){
        .id = {(int64_t)job + 1},
        .state = JOB_QUEUED,
        .priority = spec->priority,
        .retries = spec->retries,
        .kind = JOB_BATCH,
        .node_count = sim->world->shapes[spec->shape].node_count,
        .created = sim->now,
        .queued = TIME_NONE,
        .ladder_at = TIME_NONE,
        .not_before = TIME_NONE,
        .started = TIME_NONE,
        .ended = TIME_NONE,
        .exit_code = EXIT_NONE,
        .exit_signal = EXIT_NONE,
    };
    (void)id_parse(STR("jaaaaaaaaaaaa"), ID_JOB, &j->model.public_id);
    sim->arrived = MAX(sim->arrived, job + 1);
    sim__life(sim, job, &event);
    if (spec->after != SCHED_NONE) {
        struct sim_job *before = &sim->jobs[spec->after];

        ENSURE(spec->after < job); /* it came before: worlds are sorted by time */
        j->after_next = before->after_first;
        before->after_first = job;
        waits = before->model.state != JOB_SUCCEEDED;
        if (waits && job_state_ended(before->model.state)) {
            struct job_event cancel = sim__event(JOB_EVENT_CANCEL);

            sim__life(sim, job, &cancel);
        }
    }
    if (!waits)
        sim__enqueue(sim, job);
    if (spec->cancel_at != TIME_NONE)
        sim_heap_put(
            &sim->heap,
            (struct sim_event){.at = MAX(spec->cancel_at, sim->now), .what = SIM_CANCEL, .a = job});
}

/* The offer is taken back: nobody has begun. */
static void withdraw(struct sim *sim, struct sim_attempt *a, const struct job_event *event)
{
    uint32_t id = (uint32_t)a->model.id.v - 1;

    for (uint32_t i = 0; i < a->place_count; i++)
        say(sim, SIM_FENCED, id, i);
    sim->figures.withdrawn++;
    sim__close(sim, a, event);
}

static void not_taken(struct sim *sim, struct sim_attempt *a)
{
    struct job_event event = sim__event(JOB_EVENT_WITHDRAWN);

    withdraw(sim, a, &event);
}

void sim__cancel(struct sim *sim, uint32_t job)
{
    struct sim_job *j = &sim->jobs[job];
    struct job_event event = sim__event(JOB_EVENT_CANCEL);

    if (!job_event_is_legal(j->model.state, JOB_EVENT_CANCEL))
        return; /* it has ended, or is ending: the person gets a 409 */
    if (j->model.state == JOB_OFFERED) {
        withdraw(sim, sim->all[j->attempt], &event);
        return;
    }
    if (j->attempt != SCHED_NONE) {
        sim->all[j->attempt]->stopping = true;
        sim->attempts[sim->all[j->attempt]->view].stopping = true;
    }
    sim__life(sim, job, &event);
}

void sim__reprioritise(struct sim *sim, uint32_t job, int64_t priority)
{
    struct sim_job *j = &sim->jobs[job];
    struct job_event event = sim__event(JOB_EVENT_CHANGED);

    if (!job_event_is_legal(j->model.state, event.kind))
        return;
    event.priority = priority;
    sim__life(sim, job, &event);
    if (j->view != SCHED_NONE)
        sim->queue[j->view].priority = priority;
    if (j->attempt != SCHED_NONE)
        sim->attempts[sim->all[j->attempt]->view].priority = priority;
    sim__wake(sim);
}

/* ---- Attempts */

/* From now on it is being ended: who is told follows from the states. */
static void begin_stop(struct sim *sim, struct sim_attempt *a, enum ending why,
                       const struct job_event *event)
{
    if (a->why == ENDING_NONE)
        a->why = why;
    a->stopping = true;
    sim->attempts[a->view].stopping = true;
    sim__life(sim, a->job, event);
}

/* A rank ended badly: the others end with it. */
static void stop_gang(struct sim *sim, struct sim_attempt *a, enum ending why)
{
    struct job_event event = sim__event(JOB_EVENT_RANK);

    event.rank_state = why == ENDING_EXIT || why == ENDING_TIMEOUT ? ATTEMPT_FAILED : ATTEMPT_LOST;
    begin_stop(sim, a, why, &event);
}

void sim__evict(struct sim *sim, uint32_t attempt, enum ending why)
{
    struct sim_attempt *a = sim->all[attempt];
    struct job_event event = sim__event(JOB_EVENT_EVICT);

    sim__log(sim, "job %u: attempt %u is to end (%s)", a->job, attempt, ending_name(why));
    sim->figures.evictions++;
    sim->jobs[a->job].evicted++;
    event.ending = why;
    if (sim->jobs[a->job].model.state == JOB_OFFERED)
        withdraw(sim, a, &event);
    else
        begin_stop(sim, a, why, &event);
}

/* All ranks are proven to be over. */
static void finish(struct sim *sim, struct sim_attempt *a)
{
    struct sim_job *j = &sim->jobs[a->job];
    /* One that came to its end before it could be ended has done what it should. */
    bool clean = a->clean == a->place_count;
    bool lost =
        !clean && (a->why == ENDING_GONE || a->why == ENDING_NODE_LOST || a->why == ENDING_SPOT);
    struct job_event event = sim__event(lost ? JOB_EVENT_LOST : JOB_EVENT_ENDED);

    event.exit_code = clean ? 0 : a->exit_code;
    event.stopped = !clean && ending_is_eviction(a->why);
    event.timed_out = !clean && a->timed_out;
    if (lost) {
        event.ending = a->why;
        event.next_step = a->why == ENDING_SPOT ? a->model.step + 1 : 0;
        sim->figures.losses += a->why != ENDING_SPOT;
        j->lost += a->why != ENDING_SPOT;
    }
    sim__close(sim, a, &event);
}

static void end_place(struct sim *sim, struct sim_attempt *a, uint32_t rank, enum ending why)
{
    struct sim_place *place = &a->places[rank];

    place->state = SIM_PLACE_ENDED;
    a->ended++;
    if (why != ENDING_NONE && a->ended < a->place_count && !a->stopping)
        stop_gang(sim, a, why);
    else if (why != ENDING_NONE && a->why == ENDING_NONE)
        a->why = why;
    if (a->ended == a->place_count)
        finish(sim, a);
}

static void work_ended(struct sim *sim, struct sim_attempt *a, const struct sim_work *work)
{
    enum ending why = ENDING_NONE;

    a->places[work->rank].run_ms = work->run_ms;
    a->clean += work->exit_code == 0 && !work->stopped && !work->timed_out;
    if (work->timed_out)
        why = ENDING_TIMEOUT;
    else if (work->exit_code != 0 && !work->stopped)
        why = ENDING_EXIT;
    if (a->why == ENDING_NONE && why != ENDING_NONE)
        a->exit_code = work->timed_out ? 124 : work->exit_code;
    if (work->stopped && a->why == ENDING_NONE)
        a->exit_code = work->exit_code;
    a->timed_out |= work->timed_out && a->why == ENDING_NONE;
    end_place(sim, a, work->rank, why);
}

static void accept(struct sim *sim, struct sim_attempt *a, uint32_t rank)
{
    struct job_event event = sim__event(JOB_EVENT_ACCEPTED);
    uint32_t id = (uint32_t)a->model.id.v - 1;

    a->places[rank].state = SIM_PLACE_ACCEPTED;
    if (++a->accepted < a->place_count)
        return;
    sim__life(sim, a->job, &event);
    for (uint32_t i = 0; i < a->place_count; i++) {
        a->places[i].state = SIM_PLACE_GO;
        say(sim, SIM_GO, id, i);
    }
}

static void running(struct sim *sim, struct sim_attempt *a, uint32_t rank)
{
    struct sim_job *j = &sim->jobs[a->job];
    struct job_event starting = sim__event(JOB_EVENT_STARTING), run = sim__event(JOB_EVENT_RUNNING);
    struct sched_attempt *view = &sim->attempts[a->view];

    a->places[rank].state = SIM_PLACE_RUNNING;
    a->places[rank].started = sim->now;
    a->running++;
    if (view->ends_by != SCHED_UNLIMITED)
        view->ends_by = sim->now + j->spec->limit_ms;
    if (a->running == 1 && j->model.state == JOB_CLAIMED)
        sim__life(sim, a->job, &starting);
    if (a->running == a->place_count && j->model.state == JOB_STARTING)
        sim__life(sim, a->job, &run);
    if (a->running < a->place_count)
        return;
    if (j->first_start == TIME_NONE)
        j->first_start = sim->now;
    j->last_start = sim->now;
}

/* ---- What agents say */

static struct sim_holding *held_by(struct sim_node *node, uint32_t attempt, uint32_t rank)
{
    for (uint32_t i = 0; i < node->hold_count; i++) {
        if (node->holds[i].attempt == attempt && node->holds[i].rank == rank)
            return &node->holds[i];
    }
    return NULL;
}

static void take_work(struct sim *sim, uint32_t at, const struct sim_work *work)
{
    struct sim_attempt *a = sim->all[work->attempt];
    struct sim_place *place = &a->places[work->rank];
    bool over = work->state == SIM_WORK_ENDED;

    if (!held_by(&sim->nodes[at], work->attempt, work->rank) || place->zombie || !a->open) {
        if (place->zombie && over)
            sim__let_go(sim, work->attempt, work->rank);
        say(sim, over ? SIM_ACK : SIM_FENCED, work->attempt, work->rank);
        return;
    }
    if (place->state == SIM_PLACE_ENDED) {
        say(sim, SIM_ACK, work->attempt, work->rank);
    } else if (place->state == SIM_PLACE_OFFERED) {
        if (work->state != SIM_WORK_ACCEPTED)
            sim__fail(sim, "rank %u of attempt %u began before all had accepted", work->rank,
                      work->attempt);
        else
            accept(sim, a, work->rank);
    } else if (over) {
        say(sim, SIM_ACK, work->attempt, work->rank);
        work_ended(sim, a, work);
    } else if (work->state == SIM_WORK_RUNNING && place->state == SIM_PLACE_GO) {
        running(sim, a, work->rank);
    }
}

static bool is_listed(const struct sim_message *m, const struct sim_holding *hold)
{
    for (uint32_t i = 0; i < m->work_count; i++) {
        if (m->works[i].attempt == hold->attempt && m->works[i].rank == hold->rank)
            return true;
    }
    return false;
}

/* The agent does not have it: proof that it is gone, unless it has not heard of it yet. */
static void is_missing(struct sim *sim, struct sim_holding hold)
{
    struct sim_attempt *a = sim->all[hold.attempt];
    struct sim_place *place = &a->places[hold.rank];

    if (place->zombie)
        sim__let_go(sim, hold.attempt, hold.rank);
    else if (place->state == SIM_PLACE_OFFERED)
        say(sim, SIM_OFFER, hold.attempt, hold.rank);
    else if (place->state == SIM_PLACE_ACCEPTED)
        not_taken(sim, a);
    else if (place->state != SIM_PLACE_ENDED)
        end_place(sim, a, hold.rank, ENDING_GONE);
}

/* Says again what may have been lost on the way. */
static void repeat(struct sim *sim, struct sim_holding hold)
{
    const struct sim_attempt *a = sim->all[hold.attempt];
    const struct sim_place *place = &a->places[hold.rank];

    if (place->state == SIM_PLACE_GO && !a->stopping)
        say(sim, SIM_GO, hold.attempt, hold.rank);
    else if (a->stopping && place->state >= SIM_PLACE_GO && place->state != SIM_PLACE_ENDED)
        say(sim, SIM_STOP, hold.attempt, hold.rank);
}

/* To be walked while the list changes. */
static struct sim_holding *copy_of(struct sim *sim, const struct sim_node *node)
{
    struct sim_holding *holds = arena_array(&sim->tick, node->hold_count, sizeof *holds);

    for (uint32_t i = 0; i < node->hold_count; i++)
        holds[i] = node->holds[i];
    return holds;
}

static void compare(struct sim *sim, uint32_t at, const struct sim_message *m)
{
    struct sim_node *node = &sim->nodes[at];
    uint32_t count = node->hold_count;
    struct sim_holding *holds = copy_of(sim, node);

    for (uint32_t i = 0; i < count; i++) {
        if (!held_by(node, holds[i].attempt, holds[i].rank))
            continue; /* went with another of its gang */
        if (is_listed(m, &holds[i]))
            repeat(sim, holds[i]);
        else
            is_missing(sim, holds[i]);
    }
}

void sim__receive(struct sim *sim, const struct sim_message *m)
{
    struct sim_node *node = &sim->nodes[m->node];
    struct sched_node *view = &sim->node_views[m->node];
    bool newest;

    if (m->epoch < node->epoch)
        return; /* of an agent that has been replaced since */
    if (m->epoch > node->epoch) {
        node->epoch = m->epoch;
        node->serial = 0;
    }
    newest = m->serial > node->serial;
    node->serial = MAX(node->serial, m->serial);
    node->seen = sim->now;
    if (view->state == SCHED_NODE_OFFLINE || view->state == SCHED_NODE_COMING) {
        view->state = SCHED_NODE_LIVE;
        sim->changed = sim->now;
        sim__wake(sim);
    }
    for (uint32_t i = 0; i < m->work_count; i++)
        take_work(sim, m->node, &m->works[i]);
    /* Only the newest list proves that something is not there: an older one may not know of it. */
    if (m->kind == SIM_STATE && newest)
        compare(sim, m->node, m);
}

/* ---- Time */

static bool is_silent(const struct sim *sim, uint32_t node, int64_t ms)
{
    return sim->now - sim->nodes[node].seen > ms;
}

/* Of a gang that has a silent node for too long the others end first; it is given up when nothing
 * of it is left where it could be told. */
static void look_at(struct sim *sim, struct sim_attempt *a)
{
    uint32_t silent = 0, open = 0;
    struct job_event lost = sim__event(JOB_EVENT_LOST);

    for (uint32_t i = 0; i < a->place_count; i++) {
        const struct sim_place *place = &a->places[i];

        if (place->state == SIM_PLACE_ENDED)
            continue;
        open++;
        silent += is_silent(sim, place->node, SIM_LOST_AFTER_MS);
    }
    if (silent == 0)
        return;
    if (silent < open) {
        if (!a->stopping)
            stop_gang(sim, a, ENDING_NODE_LOST);
        return;
    }
    sim->figures.losses++;
    sim->jobs[a->job].lost++;
    lost.ending = ENDING_NODE_LOST;
    sim__close(sim, a, &lost);
}

static void look_at_nodes(struct sim *sim)
{
    for (uint32_t i = 0; i < sim->world->node_count; i++) {
        struct sched_node *view = &sim->node_views[i];

        if (view->state == SCHED_NODE_LIVE && is_silent(sim, i, SIM_UNREACHABLE_MS)) {
            view->state = SCHED_NODE_OFFLINE;
            sim->changed = sim->now;
        }
    }
}

void sim__tick(struct sim *sim)
{
    if (!sim->options.ideal)
        look_at_nodes(sim);
    for (uint32_t i = sim->attempt_view_count; i-- > 0;) {
        struct sim_attempt *a;

        if (i >= sim->attempt_view_count)
            continue; /* several went at once */
        a = sim->all[sim->attempts[i].id.v - 1];
        if (sim->jobs[a->job].model.state == JOB_OFFERED) {
            if (sim->now - a->model.offered >= SIM_OFFER_MS)
                not_taken(sim, a);
        } else if (!sim->options.ideal) {
            look_at(sim, a);
        }
    }
    if (sim->queue_count)
        sim__wake(sim);
}

void sim__machine_gone(struct sim *sim, uint32_t at)
{
    struct sim_node *node = &sim->nodes[at];
    uint32_t count = node->hold_count;
    struct sim_holding *holds = copy_of(sim, node);

    sim->node_views[at].state = SCHED_NODE_OFFLINE;
    for (uint32_t i = 0; i < count; i++) {
        struct sim_attempt *a = sim->all[holds[i].attempt];
        const struct sim_place *place = &a->places[holds[i].rank];

        if (!held_by(node, holds[i].attempt, holds[i].rank))
            continue;
        if (place->zombie)
            sim__let_go(sim, holds[i].attempt, holds[i].rank);
        else if (place->state <= SIM_PLACE_ACCEPTED)
            not_taken(sim, a);
        else if (place->state != SIM_PLACE_ENDED)
            end_place(sim, a, holds[i].rank, ENDING_SPOT);
    }
}
