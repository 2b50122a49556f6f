/* Random small worlds for the properties: trees with every kind of limit, hardware of several
 * kinds, jobs of several shapes, and faults. Small, so that one takes milliseconds and what goes
 * wrong can be read. */
#include "sim/generate.h"

#include "sim/state.h"

#define MINUTE 60000

static int64_t pick(struct sim_rand *rand, const int64_t *values, size_t count)
{
    return values[sim_rand_range(rand, 0, (int64_t)count - 1)];
}
#define PICK(rand, ...)                                                                            \
    pick(rand, (const int64_t[]){__VA_ARGS__}, ARRAY_LEN(((const int64_t[]){__VA_ARGS__})))

static void limit_share(struct sim_world *world, struct sim_rand *rand, uint32_t at)
{
    struct sched_share *share = &world->shares[at];

    if (sim_rand_chance(rand, 500))
        share->quota.v[RESOURCE_GPU] = PICK(rand, 1, 2, 4, 8, 16);
    if (sim_rand_chance(rand, 100))
        share->quota.v[RESOURCE_CPU] = PICK(rand, 4000, 24000, 96000);
    if (sim_rand_chance(rand, 200))
        share->borrow.v[RESOURCE_GPU] = PICK(rand, 0, 1, 4, 8);
    if (sim_rand_chance(rand, 200))
        share->lend.v[RESOURCE_GPU] = PICK(rand, 0, 1, 2, 4);
    if (sim_rand_chance(rand, 100))
        share->jobs_max = PICK(rand, 1, 2, 5);
    if (sim_rand_chance(rand, 20))
        share->held = true;
}

/* Returns the first project. */
static uint32_t make_tree(struct sim_world *world, struct sim_rand *rand)
{
    uint32_t root = sim_world_share(world, "organisation", SCHED_NONE, 1);
    int64_t teams = sim_rand_range(rand, 0, 3), projects = sim_rand_range(rand, 1, 6);

    for (int64_t i = 0; i < teams; i++) {
        uint32_t above = (uint32_t)sim_rand_range(rand, 0, world->share_count - 1);
        uint32_t team = sim_world_share(world, "team", above, sim_rand_range(rand, 1, 4));

        limit_share(world, rand, team);
    }
    for (int64_t i = 0; i < projects; i++) {
        uint32_t above = (uint32_t)sim_rand_range(rand, root, teams);
        int64_t weight = sim_rand_chance(rand, 50) ? 0 : sim_rand_range(rand, 1, 5);

        limit_share(world, rand, sim_world_share(world, "project", above, weight));
    }
    if (!sim_rand_chance(rand, 300))
        return (uint32_t)teams + 1;
    world->period_ms = PICK(rand, 20, 45, 90) * MINUTE;
    for (uint32_t i = 0; i < world->share_count; i++) {
        if (sim_rand_chance(rand, 300))
            world->budgets[i].gpu_ms = sim_rand_range(rand, 1, 40) * 30 * MINUTE;
    }
    return (uint32_t)teams + 1;
}

static void make_hardware(struct sim_world *world, struct sim_rand *rand)
{
    int64_t targets = sim_rand_range(rand, 1, 3), groups = sim_rand_range(rand, 1, 4);

    for (int64_t i = 0; i < targets; i++)
        (void)sim_world_target(world);
    for (int64_t g = 0; g < groups; g++) {
        uint32_t target = (uint32_t)sim_rand_range(rand, 0, targets - 1);
        uint32_t count = (uint32_t)sim_rand_range(rand, 1, 4);
        uint32_t first = sim_world_nodes(world, target, count, PICK(rand, 0, 1, 2, 4, 8, 8));
        unsigned type = (unsigned)sim_rand_range(rand, 0, 2);
        bool several = sim_rand_chance(rand, 250);

        for (uint32_t n = first; n < first + count; n++) {
            world->nodes[n].gpu_type = type;
            world->nodes[n].several = several;
            world->nodes[n].gpu_memory_bytes = (int64_t)(type + 1) * 24 * SIM_GIB;
            world->nodes[n].total.v[RESOURCE_SLOT] = PICK(rand, 2, 8, 64);
            world->nodes[n].free = world->nodes[n].total;
            if (sim_rand_chance(rand, 30)) {
                world->nodes[n].state = SCHED_NODE_COMING;
                world->nodes[n].until = sim_rand_range(rand, 1, 30) * MINUTE;
            }
        }
    }
}

static void make_queues(struct sim_world *world, struct sim_rand *rand)
{
    int64_t count = sim_rand_range(rand, 1, 3);

    for (int64_t i = 0; i < count; i++) {
        uint32_t at = sim_world_queue(world, sim_rand_range(rand, 0, 2));
        struct sched_queue *queue = &world->queues[at];

        queue->aging_ms = PICK(rand, 0, 0, 1, 10) * MINUTE;
        queue->spread = sim_rand_chance(rand, 200);
        queue->held = sim_rand_chance(rand, 20);
    }
}

static void make_shapes(struct sim_world *world, struct sim_rand *rand)
{
    int64_t count = sim_rand_range(rand, 2, 8);

    for (int64_t i = 0; i < count; i++) {
        uint32_t nodes = (uint32_t)PICK(rand, 1, 1, 1, 2, 2, 3, 4);
        uint32_t at = sim_world_shape(world, nodes, PICK(rand, 0, 1, 1, 2, 4, 8));
        struct sched_shape shape = world->shapes[at];
        struct sched_step *steps;

        if (sim_rand_chance(rand, 150))
            shape.gpu_types = UINT64_C(1) << sim_rand_range(rand, 0, 2);
        if (sim_rand_chance(rand, 100))
            shape.gpu_memory_bytes = 40 * SIM_GIB;
        if (sim_rand_chance(rand, 200)) {
            steps = arena_array(&world->arena, 2, sizeof *steps);
            steps[0] = (struct sched_step){0, PICK(rand, 0, 1, 10) * MINUTE};
            steps[1] = (struct sched_step){world->target_count - 1, SCHED_UNLIMITED};
            shape.steps = steps;
            shape.step_count = 2;
        }
        if (sim_rand_chance(rand, 10))
            shape.need.v[RESOURCE_CPU] = INT64_MAX / 2; /* nobody has that, and sums overflow */
        (void)sim_world_add_shape(world, &shape);
    }
}

/* Projects are the leaves: they are asked for last, and nothing but the root is above all. */
static void make_jobs(struct sim_world *world, struct sim_rand *rand, uint32_t first)
{
    int64_t count = sim_rand_range(rand, 5, 60), span = PICK(rand, 1, 10, 30) * MINUTE;
    uint32_t leaf = 0;

    for (int64_t i = 0; i < count; i++) {
        uint32_t share = (uint32_t)sim_rand_range(rand, first, world->share_count - 1);
        uint32_t queue = (uint32_t)sim_rand_range(rand, 0, world->queue_count - 1);
        uint32_t shape = (uint32_t)sim_rand_range(rand, 0, world->shape_count - 1);
        struct sim_job_spec *job;

        if (sim_rand_chance(rand, 700) && leaf) /* bursts of one project */
            share = leaf;
        leaf = share;
        (void)sim_world_job(world, share, shape, sim_rand_range(rand, 0, span),
                            sim_rand_tail(rand, 2 * MINUTE, 40 * MINUTE));
        job = &world->jobs[world->job_count - 1];
        job->queue = queue;
        job->priority = sim_rand_range(rand, 0, 2);
        if (sim_rand_chance(rand, 700))
            job->limit_ms = job->run_ms * sim_rand_range(rand, 800, 3000) / 1000 + 1000;
        if (sim_rand_chance(rand, 300))
            job->checkpoint_ms = MINUTE;
        if (sim_rand_chance(rand, 50))
            job->exit_code = 1;
        if (sim_rand_chance(rand, 50))
            job->cancel_at = job->at + sim_rand_range(rand, 0, 20 * MINUTE);
        job->retries = PICK(rand, 0, 3, 20);
    }
    sim_world_sort(world);
    for (uint32_t i = 1; i < world->job_count; i++) {
        if (sim_rand_chance(rand, 50))
            world->jobs[i].after = (uint32_t)sim_rand_range(rand, 0, i - 1);
    }
}

/* Neighbours in time and of one project become alike, with a limit of how many run at once. */
static void make_arrays(struct sim_world *world, struct sim_rand *rand)
{
    uint32_t array = 0;

    for (uint32_t i = 0; i < world->job_count; i++) {
        struct sim_job_spec *job = &world->jobs[i];
        struct sim_job_spec *before = i ? &world->jobs[i - 1] : NULL;
        if (before && before->array > 0 && before->share == job->share &&
            sim_rand_chance(rand, 800)) {
            job->array = before->array;
            job->array_limit = before->array_limit;
            job->queue = before->queue;
            job->shape = before->shape;
            job->priority = before->priority;
            job->limit_ms = before->limit_ms;
        } else if (sim_rand_chance(rand, 200)) {
            job->array = ++array;
            job->array_limit = PICK(rand, 1, 1, 2, 5);
        }
    }
    world->arrays = array > 0;
}

static void make_money(struct sim_world *world, struct sim_rand *rand)
{
    for (uint32_t t = 0; t < world->target_count; t++) {
        world->targets[t].price_hour_micro = PICK(rand, 0, 10000, 100000);
        world->targets[t].price_gpu_hour_micro = PICK(rand, 0, 500000, 3000000);
    }
    for (uint32_t i = 0; i < world->share_count; i++)
        if (sim_rand_chance(rand, 300))
            world->budgets[i].micro = sim_rand_range(rand, 1, 20) * 100000;
}

static uint32_t make_faults(const struct sim_world *world, struct sim_rand *rand,
                            struct sim_fault *faults)
{
    uint32_t count = (uint32_t)sim_rand_range(rand, 0, SIM_CHAOS_FAULTS_MAX);

    for (uint32_t i = 0; i < count; i++) {
        struct sim_fault *f = &faults[i];

        *f = (struct sim_fault){
            .kind = (enum sim_fault_kind)sim_rand_range(rand, 0, SIM_FAULT_COUNT - 1),
            .node = (uint32_t)sim_rand_range(rand, 0, world->node_count - 1),
            .at = sim_rand_range(rand, 0, 40 * MINUTE),
            .for_ms = sim_rand_range(rand, 1000, PICK(rand, 20000, 3 * MINUTE, 15 * MINUTE)),
            .amount = sim_rand_range(rand, -50000, 50000),
        };
        if (f->kind == SIM_FAULT_SERVER)
            f->for_ms = MIN(f->for_ms, 2 * MINUTE);
    }
    return count;
}

/* ---- What people change meanwhile: a value names what and how */

static void change_priority(struct sim *sim, int64_t value)
{
    uint32_t job = (uint32_t)(value / 4);

    if (job < sim->arrived && !job_state_ended(sim->jobs[job].model.state))
        sim__reprioritise(sim, job, value % 4);
}

static void toggle_queue(struct sim *sim, int64_t value)
{
    sim->queues[value].held = !sim->queues[value].held;
    sim->changed = sim->now;
    sim__wake(sim);
}

/* What runs there goes on, nothing new comes. */
static void toggle_maintenance(struct sim *sim, int64_t value)
{
    struct sched_node *view = &sim->node_views[value];

    if (view->state == SCHED_NODE_MAINTENANCE)
        view->state = SCHED_NODE_LIVE; /* silent ones are found at the next look */
    else if (view->state == SCHED_NODE_LIVE)
        view->state = SCHED_NODE_MAINTENANCE;
    sim->changed = sim->now;
    sim__wake(sim);
}

static void make_line(const struct sim_world *world, struct sim_rand *rand,
                      struct sim_script_line *line)
{
    line->at = sim_rand_range(rand, 0, 40 * MINUTE);
    switch (sim_rand_range(rand, 0, 3)) {
    case 0:
        line->act = toggle_queue;
        line->value = sim_rand_range(rand, 0, world->queue_count - 1);
        break;
    case 1:
        line->act = toggle_maintenance;
        line->value = sim_rand_range(rand, 0, world->node_count - 1);
        break;
    default:
        line->act = change_priority;
        line->value = sim_rand_range(rand, 0, world->job_count * 4 - 1);
    }
}

void sim_chaos_init(struct sim_chaos *chaos, uint64_t seed)
{
    struct sim_rand rand = sim_rand_from(seed);
    struct sim_world *world = &chaos->world;
    struct sim_options *o = &chaos->options;
    uint32_t first;

    *chaos = (struct sim_chaos){.options = sim_options_default()};
    sim_world_init(world);
    first = make_tree(world, &rand);
    make_hardware(world, &rand);
    make_queues(world, &rand);
    make_shapes(world, &rand);
    make_jobs(world, &rand, first);
    sim_world_classify(world);
    world->min_run_ms = PICK(&rand, 0, 1, 10) * MINUTE;
    world->idle_ms = world->period_ms + 12 * MINUTE;
    o->seed = seed;
    o->check = true;
    o->faults = chaos->faults;
    o->fault_count = make_faults(world, &rand, chaos->faults);
    o->script = chaos->lines;
    if (sim_rand_chance(&rand, 700))
        o->script_count = (uint32_t)sim_rand_range(&rand, 1, SIM_CHAOS_LINES_MAX);
    for (uint32_t i = 0; i < o->script_count; i++)
        make_line(world, &rand, &chaos->lines[i]);
    o->drop_permille = PICK(&rand, 0, 10, 100);
    o->twice_permille = PICK(&rand, 0, 10, 100);
    o->delay_max_ms = PICK(&rand, 5, 200, 2000);
    o->policy.reserve_after_ms = PICK(&rand, 0, 1, 5) * MINUTE;
    o->policy.reservation_ms_max = PICK(&rand, 1, 5, 10) * MINUTE;
    if (sim_rand_chance(&rand, 200))
        o->policy.parts = (unsigned)sim_rand_range(&rand, 0, SCHED_ALL);
    if (sim_rand_chance(&rand, 300))
        make_arrays(world, &rand);
    if (sim_rand_chance(&rand, 300))
        o->depth = (uint32_t)PICK(&rand, 1, 2, 8);
    if (world->period_ms && sim_rand_chance(&rand, 500))
        make_money(world, &rand);
}

void sim_chaos_release(struct sim_chaos *chaos)
{
    sim_world_release(&chaos->world);
}
