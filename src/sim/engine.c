/* Virtual time: takes what happens next, lets it happen, and looks whether all still holds. */
#include "sim/engine.h"

#include "base/mem.h"
#include "sim/state.h"

#include <stdio.h>

/* Of a small world with checks, after the last fault. */
#define QUIET_MS_MAX 3600000
#define DAYS_MAX     (30 * INT64_C(86400000))

static const char *const fault_names[SIM_FAULT_COUNT] = {
    [SIM_FAULT_CUT] = "network cut",      [SIM_FAULT_DEAD] = "machine dead",
    [SIM_FAULT_AGENT] = "agent restarts", [SIM_FAULT_SERVER] = "server restarts",
    [SIM_FAULT_STORM] = "message storm",  [SIM_FAULT_SKEW] = "skewed clock",
    [SIM_FAULT_TAKEN] = "machine taken",
};

const char *sim_fault_name(enum sim_fault_kind kind)
{
    ENSURE(kind < SIM_FAULT_COUNT);
    return fault_names[kind];
}

struct sim_options sim_options_default(void)
{
    return (struct sim_options){
        .name = "euvyra",
        .policy = sched_policy_default(),
        .debounce_ms = 10,
        .period_ms = 5000,
        .delay_min_ms = 1,
        .delay_max_ms = 20,
        .stop_at = TIME_NONE,
    };
}

void sim__fail(struct sim *sim, const char *format, ...)
{
    va_list args;
    int len;

    if (sim->violation[0])
        return; /* the first one tells */
    len = snprintf(sim->violation, sizeof sim->violation, "at %.3f s: ", (double)sim->now / 1000);
    va_start(args, format);
    (void)vsnprintf(sim->violation + len, sizeof sim->violation - (size_t)len, format, args);
    va_end(args);
}

void sim__log(const struct sim *sim, const char *format, ...)
{
    va_list args;

    if (!sim->options.log)
        return;
    (void)printf("%10.3f ", (double)sim->now / 1000);
    va_start(args, format);
    (void)vprintf(format, args);
    va_end(args);
    (void)printf("\n");
}

const char *sim_violation(const struct sim *sim)
{
    return sim->violation[0] ? sim->violation : NULL;
}

/* At once after a quiet time, then once in `debounce_ms`. */
void sim__wake(struct sim *sim)
{
    time_ms at = sim->now;

    if (sim->cycle_armed || sim->down)
        return;
    if (sim->figures.cycles)
        at = MAX(at, sim->cycled + sim->options.debounce_ms);
    sim->cycle_armed = true;
    sim_heap_put(&sim->heap, (struct sim_event){.at = at, .what = SIM_CYCLE});
}

static void arm_tick(struct sim *sim)
{
    int64_t wait = sim->options.period_ms;

    if (sim->tick_armed)
        return;
    sim->tick_armed = true;
    /* Where nothing is lost, and nothing has happened for long, time alone changes little. */
    if (sim->options.ideal)
        wait = MAX(wait, MIN((sim->now - sim->changed) / 4, QUIET_MS_MAX));
    sim_heap_put(&sim->heap, (struct sim_event){.at = sim->now + wait, .what = SIM_TICK});
}

static void *copy(struct sim *sim, const void *items, uint32_t count, size_t item_bytes)
{
    void *mine = arena_array(&sim->arena, count, item_bytes);

    if (count)
        memcpy(mine, items, count * item_bytes);
    return mine;
}

static void make_nodes(struct sim *sim)
{
    const struct sim_world *world = sim->world;

    sim->nodes = arena_array(&sim->arena, world->node_count, sizeof *sim->nodes);
    for (uint32_t i = 0; i < world->node_count; i++) {
        const struct sched_node *node = &world->nodes[i];

        if (node->state == SCHED_NODE_COMING && node->until != TIME_NONE) {
            sim_heap_put(
                &sim->heap,
                (struct sim_event){.at = node->until, .what = SIM_HEAL, .a = SCHED_NONE, .b = i});
            sim->last_at = MAX(sim->last_at, node->until);
        } else if (node->state != SCHED_NODE_COMING) {
            sim->nodes[i].agent.powered = sim->nodes[i].agent.up = true;
            sim->nodes[i].agent.epoch = sim->nodes[i].epoch = 1;
            if (!sim->options.ideal)
                sim__agent_start_polls(sim, i);
        }
    }
}

static void plan_all(struct sim *sim)
{
    const struct sim_options *o = &sim->options;

    for (uint32_t i = 0; i < o->fault_count; i++) {
        sim_heap_put(&sim->heap,
                     (struct sim_event){.at = o->faults[i].at, .what = SIM_FAULT, .a = i});
        sim->last_at = MAX(sim->last_at, o->faults[i].at + o->faults[i].for_ms);
    }
    for (uint32_t i = 0; i < o->script_count; i++) {
        sim_heap_put(&sim->heap,
                     (struct sim_event){.at = o->script[i].at, .what = SIM_SCRIPT, .a = i});
        sim->last_at = MAX(sim->last_at, o->script[i].at);
    }
    if (sim->world->job_count)
        sim_heap_put(&sim->heap,
                     (struct sim_event){.at = sim->world->jobs[0].at, .what = SIM_ARRIVE});
}

struct sim *sim_new(const struct sim_world *world, const struct sim_options *options)
{
    struct sim *sim = MEM_NEW(struct sim);

    *sim = (struct sim){.world = world, .options = *options};
    sim->rand = sim_rand_from(options->seed);
    sim->shares = copy(sim, world->shares, world->share_count, sizeof *sim->shares);
    sim->queues = copy(sim, world->queues, world->queue_count, sizeof *sim->queues);
    sim->targets = copy(sim, world->targets, world->target_count, sizeof *sim->targets);
    sim->node_views = copy(sim, world->nodes, world->node_count, sizeof *sim->node_views);
    sim->usage = arena_array(&sim->arena, world->share_count, sizeof *sim->usage);
    sim->jobs = arena_array(&sim->arena, world->job_count, sizeof *sim->jobs);
    for (uint32_t i = 0; i < world->job_count; i++)
        sim->jobs[i] = (struct sim_job){.spec = &world->jobs[i],
                                        .attempt = SCHED_NONE,
                                        .view = SCHED_NONE,
                                        .after_first = SCHED_NONE,
                                        .after_next = SCHED_NONE,
                                        .first_start = TIME_NONE,
                                        .last_start = TIME_NONE};
    make_nodes(sim);
    plan_all(sim);
    sim__figures_init(sim);
    return sim;
}

void sim_free(struct sim *sim)
{
    struct sim_event event;

    if (!sim)
        return;
    while (sim_heap_take(&sim->heap, &event)) {
        if (event.message)
            sim__message_free(sim, event.message);
    }
    if (sim->spare)
        mem_free(sim->spare);
    mem_free(sim->figures.series);
    sim_heap_release(&sim->heap);
    arena_release(&sim->arena);
    arena_release(&sim->tick);
    arena_release(&sim->held);
    mem_free(sim);
}

/* ---- Faults */

static void server_is_back(struct sim *sim)
{
    sim->down = false;
    for (uint32_t i = 0; i < sim->world->node_count; i++)
        sim->nodes[i].seen = sim->now; /* every lease gets a full term */
    sim__wake(sim);
}

/* A server that is down does not hear of it: then it is a machine that died. */
static void take(struct sim *sim, uint32_t node, bool begins)
{
    sim__agent_power(sim, node, !begins);
    if (begins && !sim->down)
        sim__machine_gone(sim, node);
}

static void fault(struct sim *sim, const struct sim_fault *f, bool begins)
{
    struct sim_agent *agent = &sim->nodes[f->node].agent;

    sim__log(sim, "%s, node %u: %s", fault_names[f->kind], f->node, begins ? "begins" : "is over");
    switch (f->kind) {
    case SIM_FAULT_CUT: agent->cut += begins ? 1 : (uint32_t)-1; break;
    case SIM_FAULT_DEAD: sim__agent_power(sim, f->node, !begins); break;
    case SIM_FAULT_AGENT: sim__agent_process(sim, f->node, !begins); break;
    case SIM_FAULT_SERVER:
        sim->downs += begins ? 1 : (uint32_t)-1;
        sim->down = sim->downs > 0;
        if (!sim->down)
            server_is_back(sim);
        break;
    case SIM_FAULT_STORM: sim->storms += begins ? 1 : (uint32_t)-1; break;
    case SIM_FAULT_SKEW: agent->skew_ppm = begins ? f->amount : 0; break;
    case SIM_FAULT_TAKEN: take(sim, f->node, begins); break;
    case SIM_FAULT_COUNT: break;
    }
}

static void heal(struct sim *sim, const struct sim_event *event)
{
    if (event->a == SCHED_NONE)
        sim__agent_power(sim, event->b, true); /* a machine that was ordered is there */
    else
        fault(sim, &sim->options.faults[event->a], false);
}

static void begin_fault(struct sim *sim, uint32_t at)
{
    const struct sim_fault *f = &sim->options.faults[at];

    fault(sim, f, true);
    sim_heap_put(&sim->heap,
                 (struct sim_event){.at = sim->now + f->for_ms, .what = SIM_HEAL, .a = at});
}

/* ---- The loop */

static void arrive(struct sim *sim, uint32_t job)
{
    if (sim->down) { /* the command line tries again */
        sim_heap_put(&sim->heap,
                     (struct sim_event){.at = sim->now + 1000, .what = SIM_ARRIVE, .a = job});
        return;
    }
    sim__submit(sim, job);
    if (job + 1 < sim->world->job_count)
        sim_heap_put(&sim->heap,
                     (struct sim_event){.at = MAX(sim->now, sim->world->jobs[job + 1].at),
                                        .what = SIM_ARRIVE,
                                        .a = job + 1});
}

/* Nothing runs, nothing comes, and for a long time nothing has changed. */
static bool is_over(const struct sim *sim)
{
    if (sim->arrived < sim->world->job_count || sim->attempt_view_count || sim->zombies ||
        sim->now < sim->last_at)
        return false;
    return sim->ended == sim->world->job_count || sim->now - sim->changed > sim->world->idle_ms;
}

static void tick(struct sim *sim)
{
    sim->tick_armed = false;
    if (!sim->down)
        sim__tick(sim);
    if (is_over(sim))
        sim->over = true;
    else if (!sim->options.ideal || sim->queue_count || sim->attempt_view_count)
        arm_tick(sim);
}

static void happen(struct sim *sim, const struct sim_event *event)
{
    switch (event->what) {
    case SIM_ARRIVE: arrive(sim, event->a); break;
    case SIM_CANCEL:
        if (!sim->down)
            sim__cancel(sim, event->a);
        break;
    case SIM_READY: sim__enqueue(sim, event->a); break;
    case SIM_CYCLE:
        sim->cycle_armed = false;
        if (!sim->down)
            sim__cycle(sim);
        break;
    case SIM_TICK: tick(sim); break;
    case SIM_TO_SERVER:
    case SIM_TO_AGENT: sim__deliver(sim, event->message); break;
    case SIM_POLL:
        if (event->b == sim->nodes[event->a].agent.epoch)
            sim__agent_poll(sim, event->a);
        break;
    case SIM_WORK_END: sim__agent_work_end(sim, event->a, event->c); break;
    case SIM_FAULT: begin_fault(sim, event->a); break;
    case SIM_HEAL: heal(sim, event); break;
    case SIM_SCRIPT:
        sim->options.script[event->a].act(sim, sim->options.script[event->a].value);
        break;
    }
}

void sim_run(struct sim *sim)
{
    struct sim_event event;

    while (!sim->over && !sim->violation[0] && sim_heap_take(&sim->heap, &event)) {
        if (sim->options.stop_at != TIME_NONE && event.at > sim->options.stop_at) {
            if (event.message)
                sim__message_free(sim, event.message);
            break;
        }
        sim->now = event.at;
        if (sim->options.check && sim->now > sim->last_at + DAYS_MAX)
            sim__fail(sim, "it does not come to an end");
        happen(sim, &event);
        if (!sim->options.ideal || sim->queue_count)
            arm_tick(sim);
        if (sim->options.check && (sim->dirty || event.what == SIM_CYCLE))
            sim__check(sim);
        sim->dirty = false;
        arena_reset(&sim->tick);
    }
    sim__sample(sim, SCHED_NONE);
    if (sim->options.check && sim->over && !sim->violation[0])
        sim__check_idle(sim);
}
