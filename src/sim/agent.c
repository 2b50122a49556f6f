/* The agents as they are: what really runs on which node. Tricky: an agent never begins work that
 * it has ended before, whatever arrives late or twice (in the product: a folder or a container of
 * that name is there already). */
#include "sim/state.h"

#include "base/mem.h"

static uint64_t name_of(uint32_t attempt, uint32_t rank)
{
    return (uint64_t)attempt << 32 | rank;
}

static struct sim_work *find(struct sim_agent *agent, uint32_t attempt, uint32_t rank)
{
    for (uint32_t i = 0; i < agent->work_count; i++) {
        if (agent->works[i].attempt == attempt && agent->works[i].rank == rank)
            return &agent->works[i];
    }
    return NULL;
}

static bool is_over(const struct sim_agent *agent, uint32_t attempt, uint32_t rank)
{
    for (uint32_t i = agent->tomb_count; i-- > 0;) {
        if (agent->tombs[i] == name_of(attempt, rank))
            return true;
    }
    return false;
}

static void forget(struct sim *sim, struct sim_agent *agent, struct sim_work *work)
{
    agent->tombs = arena_more(&sim->arena, agent->tombs, agent->tomb_count, &agent->tomb_room,
                              sizeof *agent->tombs);
    agent->tombs[agent->tomb_count++] = name_of(work->attempt, work->rank);
    *work = agent->works[--agent->work_count];
}

static struct sim_message *to_server(struct sim *sim, uint32_t node, enum sim_message_kind kind,
                                     const struct sim_work *works, uint32_t count)
{
    struct sim_agent *agent = &sim->nodes[node].agent;
    struct sim_message *message = sim__message(sim, kind, node);

    message->epoch = agent->epoch;
    message->serial = ++agent->serial;
    message->work_count = count;
    message->works = count ? mem_copy(works, count * sizeof *works) : NULL;
    return message;
}

static void report(struct sim *sim, uint32_t node, const struct sim_work *work)
{
    sim__send(sim, to_server(sim, node, SIM_REPORT, work, 1));
}

static void take_offer(struct sim *sim, const struct sim_message *m)
{
    struct sim_agent *agent = &sim->nodes[m->node].agent;
    struct sim_work *work = find(agent, m->attempt, m->rank);

    if (is_over(agent, m->attempt, m->rank))
        return;
    if (!work) {
        agent->works = arena_more(&sim->arena, agent->works, agent->work_count, &agent->work_room,
                                  sizeof *agent->works);
        work = &agent->works[agent->work_count++];
        *work = (struct sim_work){.attempt = m->attempt, .rank = m->rank};
    }
    report(sim, m->node, work);
}

static void end_in(struct sim *sim, uint32_t node, struct sim_work *work, int64_t ms)
{
    work->timer = ++sim->timer;
    sim_heap_put(
        &sim->heap,
        (struct sim_event){.at = sim->now + ms, .what = SIM_WORK_END, .a = node, .c = work->timer});
}

static void begin(struct sim *sim, const struct sim_message *m, struct sim_work *work)
{
    const struct sim_attempt *attempt = sim->all[m->attempt];
    const struct sim_job_spec *spec = sim->jobs[attempt->job].spec;
    int64_t run = attempt->left_ms;

    sim->dirty = true;
    work->state = SIM_WORK_RUNNING;
    work->started = sim->now;
    work->exit_code = spec->exit_code;
    if (spec->limit_ms < run) {
        run = spec->limit_ms;
        work->timed_out = true;
    }
    end_in(sim, m->node, work, run);
    report(sim, m->node, work);
}

static void stop(struct sim *sim, uint32_t node, struct sim_work *work)
{
    if (work->state == SIM_WORK_ACCEPTED) {
        work->state = SIM_WORK_ENDED;
        work->stopped = true;
    } else if (work->state == SIM_WORK_RUNNING && !work->stopped) {
        work->stopped = true;
        work->timed_out = false;
        work->exit_code = 143;
        end_in(sim, node, work, sim_rand_range(&sim->rand, 0, sim->world->grace_ms_max));
    }
    if (work->state == SIM_WORK_ENDED)
        report(sim, node, work);
}

void sim__agent_receive(struct sim *sim, const struct sim_message *m)
{
    struct sim_agent *agent = &sim->nodes[m->node].agent;
    struct sim_work *work = find(agent, m->attempt, m->rank);

    if (m->epoch != agent->epoch)
        return; /* meant for one that has been replaced since */
    if (m->kind == SIM_OFFER)
        take_offer(sim, m);
    else if (!work)
        return;
    else if (m->kind == SIM_GO && work->state == SIM_WORK_ACCEPTED)
        begin(sim, m, work);
    else if (m->kind == SIM_GO)
        report(sim, m->node, work);
    else if (m->kind == SIM_STOP)
        stop(sim, m->node, work);
    else if (m->kind == SIM_FENCED || (m->kind == SIM_ACK && work->state == SIM_WORK_ENDED))
        forget(sim, agent, work);
}

/* Work goes on whether or not its agent is up, and ends when the machine does. */
void sim__agent_work_end(struct sim *sim, uint32_t node, uint64_t timer)
{
    struct sim_agent *agent = &sim->nodes[node].agent;

    for (uint32_t i = 0; i < agent->work_count; i++) {
        struct sim_work *work = &agent->works[i];

        if (work->timer != timer || work->state != SIM_WORK_RUNNING)
            continue;
        sim->dirty = true;
        work->state = SIM_WORK_ENDED;
        work->run_ms = sim->now - work->started;
        work->run_ms += work->run_ms * agent->skew_ppm / 1000000;
        if (agent->up)
            report(sim, node, work);
        return;
    }
}

void sim__agent_poll(struct sim *sim, uint32_t node)
{
    struct sim_agent *agent = &sim->nodes[node].agent;
    int64_t jitter = sim_rand_range(&sim->rand, -SIM_HEARTBEAT_MS / 5, SIM_HEARTBEAT_MS / 5);

    if (!agent->up || !agent->powered)
        return;
    sim__send(sim, to_server(sim, node, SIM_STATE, agent->works, agent->work_count));
    if (!sim->options.ideal)
        sim_heap_put(&sim->heap, (struct sim_event){.at = sim->now + SIM_HEARTBEAT_MS + jitter,
                                                    .what = SIM_POLL,
                                                    .a = node,
                                                    .b = agent->epoch});
}

void sim__agent_start_polls(struct sim *sim, uint32_t node)
{
    sim_heap_put(&sim->heap, (struct sim_event){.at = sim->now,
                                                .what = SIM_POLL,
                                                .a = node,
                                                .b = sim->nodes[node].agent.epoch});
}

/* A machine that comes back remembers nothing: its epoch says so. */
void sim__agent_power(struct sim *sim, uint32_t node, bool on)
{
    struct sim_agent *agent = &sim->nodes[node].agent;

    if (agent->powered == on)
        return;
    agent->powered = agent->up = on;
    agent->work_count = 0;
    agent->tomb_count = 0;
    if (!on)
        return;
    agent->epoch++;
    agent->serial = 0;
    sim__agent_start_polls(sim, node);
}

void sim__agent_process(struct sim *sim, uint32_t node, bool on)
{
    struct sim_agent *agent = &sim->nodes[node].agent;

    if (!agent->powered || agent->up == on)
        return;
    agent->up = on;
    if (!on)
        return;
    agent->epoch++;
    agent->serial = 0;
    /* What it had accepted and not begun is not on its disk. */
    for (uint32_t i = agent->work_count; i-- > 0;) {
        if (agent->works[i].state == SIM_WORK_ACCEPTED)
            forget(sim, agent, &agent->works[i]);
    }
    sim__agent_start_polls(sim, node);
}
