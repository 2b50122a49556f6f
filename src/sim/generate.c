/* Workloads made by rule: the shapes that another queue manager is measured with, and a cluster of
 * our own. */
#include "sim/generate.h"

#define SECOND 1000
#define MINUTE 60000

struct stream {
    int64_t count, units, run_ms, priority, each_ms;
};

/* `machines` of equal size a group, and whether its jobs have time limits. */
struct cohort {
    int64_t projects, machines;
    bool limits;
};

/* Jobs of one project: so many of each kind, one in so many milliseconds. */
static void add_streams(struct sim_world *world, uint32_t share, const struct stream *streams,
                        size_t count, bool limits)
{
    for (size_t s = 0; s < count; s++) {
        uint32_t shape = sim_world_shape(world, 1, streams[s].units);

        for (int64_t i = 0; i < streams[s].count; i++) {
            uint32_t at =
                sim_world_job(world, share, shape, i * streams[s].each_ms, streams[s].run_ms);

            world->jobs[at].priority = streams[s].priority;
            world->jobs[at].limit_ms = limits ? streams[s].run_ms + 100 : 60 * MINUTE;
            world->jobs[at].retries = 1000;
            world->jobs[at].class = (unsigned)s;
        }
    }
}

/* Groups of projects that may borrow within their group. Their shapes count units alone: on one
 * large node a group, or on as many nodes as it has projects, which are whole or in use. */
static void cohorts(struct sim_world *world, int64_t groups, struct cohort cohort,
                    const struct stream *streams, size_t count)
{
    uint32_t root = sim_world_share(world, "organisation", SCHED_NONE, 1);
    uint32_t target = sim_world_target(world);

    (void)sim_world_queue(world, 0);
    for (int64_t g = 0; g < groups; g++) {
        const char *name = arena_printf(&world->arena, "group-%lld", (long long)g);
        uint32_t team = sim_world_share(world, name, root, 1);

        world->shares[team].quota.v[RESOURCE_GPU] = 20 * cohort.projects;
        world->shares[team].borrow.v[RESOURCE_GPU] = 0;
        (void)sim_world_nodes(world, target, (uint32_t)cohort.machines,
                              20 * cohort.projects / cohort.machines);
        for (int64_t p = 0; p < cohort.projects; p++) {
            uint32_t share;

            name = arena_printf(&world->arena, "queue-%lld-%lld", (long long)g, (long long)p);
            share = sim_world_share(world, name, team, 1);
            world->shares[share].quota.v[RESOURCE_GPU] = 20;
            world->shares[share].borrow.v[RESOURCE_GPU] = 100;
            add_streams(world, share, streams, count, cohort.limits);
        }
    }
    for (uint32_t n = 0; n < world->node_count; n++)
        world->nodes[n].total.v[RESOURCE_SLOT] = world->nodes[n].free.v[RESOURCE_SLOT] = 10000;
    world->min_run_ms = world->grace_ms_max = 0;
    world->classes[0] = "small";
    world->classes[1] = "medium";
    world->classes[2] = "large";
    world->class_count = 3;
    sim_world_sort(world);
}

static void baseline(struct sim_world *world, int64_t scale, struct cohort cohort)
{
    struct stream streams[] = {
        {350 * scale / 100, 1, 200, 50, 100},
        {100 * scale / 100, 5, 500, 100, 500},
        {50 * scale / 100, 20, 1000, 200, 1200},
    };

    cohorts(world, 5, cohort, streams, ARRAY_LEN(streams));
}

static void baseline_nodes(struct sim_world *world, struct sim_rand *rand, int64_t scale)
{
    (void)rand;
    baseline(world, scale, (struct cohort){.projects = 6, .machines = 1, .limits = true});
}

/* As bench/ plays it over HTTP: whole machines for the large jobs, and the same time
 * limit for all: it says nothing. */
static void baseline_machines(struct sim_world *world, struct sim_rand *rand, int64_t scale)
{
    (void)rand;
    baseline(world, scale, (struct cohort){.projects = 6, .machines = 6});
}

static void large(struct sim_world *world, struct sim_rand *rand, int64_t scale)
{
    struct stream streams[] = {
        {20, 1, 50, 50, 20},
        {7, 5, 100, 100, 50},
        {3, 20, 200, 200, 200},
    };

    (void)rand;
    cohorts(world, MAX(20 * scale / 100, 1),
            (struct cohort){.projects = 100, .machines = 1, .limits = true}, streams,
            ARRAY_LEN(streams));
}

/* A research cluster: 20 projects of unequal size, most jobs small, most room taken by large ones,
 * asked for half again as much as there is. */
static void cluster(struct sim_world *world, struct sim_rand *rand, int64_t scale)
{
    static const struct {
        uint32_t nodes;
        int64_t gpus, permille, run_ms;
    } kinds[] = {
        {1, 1, 600, 20 * MINUTE}, {1, 2, 130, 30 * MINUTE}, {1, 4, 120, 60 * MINUTE},
        {1, 8, 100, 60 * MINUTE}, {2, 8, 40, 120 * MINUTE}, {4, 8, 10, 180 * MINUTE},
    };
    uint32_t root = sim_world_share(world, "organisation", SCHED_NONE, 1);
    int64_t nodes = MAX(64 * scale / 100, 4), jobs = MAX(5000 * scale / 100, 50);
    uint32_t target = sim_world_target(world);

    (void)sim_world_queue(world, 0);
    world->queues[0].aging_ms = 60 * MINUTE;
    (void)sim_world_nodes(world, target, (uint32_t)nodes, 8);
    for (int64_t p = 0; p < 20; p++) {
        const char *name = arena_printf(&world->arena, "project-%lld", (long long)p + 1);
        uint32_t share = sim_world_share(world, name, root, 1 + p % 3);

        world->shares[share].quota.v[RESOURCE_GPU] = nodes * 8 / 40;
    }
    for (int64_t i = 0; i < jobs; i++) {
        int64_t left = sim_rand_range(rand, 0, 999);
        uint32_t share =
            1 + (uint32_t)(sim_rand_range(rand, 0, 19) * sim_rand_range(rand, 0, 19) / 19);
        size_t k = 0;
        struct sim_job_spec *job;

        while (k + 1 < ARRAY_LEN(kinds) && left >= kinds[k].permille)
            left -= kinds[k++].permille;
        (void)sim_world_job(world, share, sim_world_shape(world, kinds[k].nodes, kinds[k].gpus),
                            sim_rand_range(rand, 0, 24 * 60 * MINUTE),
                            sim_rand_tail(rand, kinds[k].run_ms, 24 * 60 * MINUTE));
        job = &world->jobs[world->job_count - 1];
        job->priority = sim_rand_range(rand, 0, 2);
        job->limit_ms = job->run_ms * sim_rand_range(rand, 1100, 3000) / 1000;
        job->checkpoint_ms = 10 * MINUTE;
        job->retries = 1000;
    }
    sim_world_sort(world);
    sim_world_classify(world);
}

/* Many short jobs over many agents, a little less than they can take: what is measured is how many
 * a second go through. */
static void rush(struct sim_world *world, struct sim_rand *rand, int64_t scale)
{
    uint32_t root = sim_world_share(world, "organisation", SCHED_NONE, 1);
    int64_t nodes = MAX(2000 * scale / 100, 2), jobs = MAX(100000 * scale / 100, 100);
    uint32_t shapes[2];

    (void)sim_world_queue(world, 0);
    (void)sim_world_nodes(world, sim_world_target(world), (uint32_t)nodes, 8);
    for (int64_t p = 0; p < 100; p++)
        (void)sim_world_share(world, "project", root, 1);
    shapes[0] = sim_world_shape(world, 1, 1);
    shapes[1] = sim_world_shape(world, 1, 2);
    for (int64_t i = 0; i < jobs; i++) {
        int64_t run = sim_rand_range(rand, 5 * SECOND, 15 * SECOND);

        (void)sim_world_job(world, 1 + (uint32_t)sim_rand_range(rand, 0, 99),
                            shapes[sim_rand_chance(rand, 100)], i * 1000 * 100 / (1200 * scale),
                            run);
        world->jobs[world->job_count - 1].limit_ms = 2 * run;
    }
    sim_world_sort(world);
    sim_world_classify(world);
}

static const struct sim_generator generators[] = {
    {"cluster", "a research cluster of 64 nodes with 8 GPUs, 20 projects, a day of 5,000 jobs",
     cluster},
    {"kueue-baseline", "5 groups of 6 queues with 15,000 workloads in three sizes", baseline_nodes},
    {"kueue-machines", "the same on 30 machines of 20 units, without time limits",
     baseline_machines},
    {"kueue-large", "20 groups of 100 queues with 60,000 workloads in three sizes", large},
    {"rush", "100,000 short jobs over 2,000 agents", rush},
};

const struct sim_generator *sim_generators(size_t *ret_count)
{
    *ret_count = ARRAY_LEN(generators);
    return generators;
}

const struct sim_generator *sim_generator_find(const char *name)
{
    for (size_t i = 0; i < ARRAY_LEN(generators); i++) {
        if (strcmp(name, generators[i].name) == 0)
            return &generators[i];
    }
    return NULL;
}
