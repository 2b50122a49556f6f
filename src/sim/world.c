/* Building a world piece by piece. */
#include "sim/world.h"

#include "base/mem.h"

#include <stdlib.h>

void sim_world_init(struct sim_world *world)
{
    *world =
        (struct sim_world){.min_run_ms = 30 * 60000, .grace_ms_max = 5000, .idle_ms = 20 * 60000};
}

void sim_world_release(struct sim_world *world)
{
    arena_release(&world->arena);
    *world = (struct sim_world){0};
}

static struct sched_amounts all_of(int64_t value)
{
    struct sched_amounts amounts;

    for (size_t i = 0; i < RESOURCE_COUNT; i++)
        amounts.v[i] = value;
    return amounts;
}

uint32_t sim_world_share(struct sim_world *world, const char *name, uint32_t parent, int64_t weight)
{
    uint32_t at = world->share_count;
    struct sched_budget none = {{SCHED_UNLIMITED, SCHED_UNLIMITED},
                                {SCHED_UNLIMITED, SCHED_UNLIMITED},
                                {SCHED_UNLIMITED, SCHED_UNLIMITED}};

    ENSURE(parent == SCHED_NONE || parent < at);
    world->shares =
        arena_more(&world->arena, world->shares, at, &world->share_room, sizeof *world->shares);
    world->budgets =
        arena_more(&world->arena, world->budgets, at, &world->budget_room, sizeof *world->budgets);
    world->share_names = arena_more(&world->arena, world->share_names, at, &world->name_room,
                                    sizeof *world->share_names);
    world->share_names[at] = arena_text(&world->arena, str_from(name));
    world->budgets[at] = (struct sim_budget){SCHED_UNLIMITED, SCHED_UNLIMITED};
    world->shares[at] = (struct sched_share){
        .id = {(int64_t)at + 1},
        .parent = parent,
        .weight = weight,
        .quota = all_of(0),
        .borrow = all_of(SCHED_UNLIMITED),
        .lend = all_of(SCHED_UNLIMITED),
        .jobs_max = SCHED_UNLIMITED,
        .budget = none,
    };
    world->share_count++;
    return at;
}

uint32_t sim_world_queue(struct sim_world *world, int64_t priority)
{
    uint32_t at = world->queue_count++;

    world->queues =
        arena_more(&world->arena, world->queues, at, &world->queue_room, sizeof *world->queues);
    world->queues[at] = (struct sched_queue){.id = {(int64_t)at + 1}, .priority = priority};
    return at;
}

uint32_t sim_world_target(struct sim_world *world)
{
    uint32_t at = world->target_count++;

    world->targets =
        arena_more(&world->arena, world->targets, at, &world->target_room, sizeof *world->targets);
    world->targets[at] = (struct sched_target){.id = {(int64_t)at + 1}, .until = TIME_NONE};
    return at;
}

uint32_t sim_world_nodes(struct sim_world *world, uint32_t target, uint32_t count, int64_t gpus)
{
    uint32_t first = world->node_count;
    struct sched_amounts total = {.v = {
                                      [RESOURCE_CPU] = gpus ? gpus * 12000 : 8000,
                                      [RESOURCE_GPU] = gpus,
                                      [RESOURCE_MEMORY] = gpus ? gpus * 64 * SIM_GIB : 32 * SIM_GIB,
                                      [RESOURCE_SLOT] = 64,
                                  }};

    for (uint32_t i = 0; i < count; i++) {
        uint32_t at = world->node_count++;

        world->nodes =
            arena_more(&world->arena, world->nodes, at, &world->node_room, sizeof *world->nodes);
        world->nodes[at] = (struct sched_node){
            .id = {(int64_t)at + 1},
            .target = target,
            .state = SCHED_NODE_LIVE,
            .until = TIME_NONE,
            .total = total,
            .free = total,
        };
    }
    return first;
}

uint32_t sim_world_add_shape(struct sim_world *world, const struct sched_shape *shape)
{
    uint32_t at = world->shape_count++;

    world->shapes =
        arena_more(&world->arena, world->shapes, at, &world->shape_room, sizeof *world->shapes);
    world->shapes[at] = *shape;
    return at;
}

uint32_t sim_world_shape(struct sim_world *world, uint32_t nodes, int64_t gpus)
{
    struct sched_shape shape = {
        .node_count = nodes,
        .need = {.v = {[RESOURCE_CPU] = gpus ? gpus * 2000 : 1000,
                       [RESOURCE_GPU] = gpus,
                       [RESOURCE_MEMORY] = gpus ? gpus * 4 * SIM_GIB : SIM_GIB,
                       [RESOURCE_SLOT] = 1}},
    };

    for (uint32_t i = 0; i < world->shape_count; i++) {
        const struct sched_shape *s = &world->shapes[i];

        if (s->node_count == nodes && memcmp(&s->need, &shape.need, sizeof s->need) == 0 &&
            !s->gpu_types && !s->gpu_memory_bytes && !s->step_count && !s->excluded_count)
            return i;
    }
    return sim_world_add_shape(world, &shape);
}

uint32_t sim_world_job(struct sim_world *world, uint32_t share, uint32_t shape, time_ms at,
                       int64_t run_ms)
{
    uint32_t place = world->job_count++;

    world->jobs =
        arena_more(&world->arena, world->jobs, place, &world->job_room, sizeof *world->jobs);
    world->jobs[place] = (struct sim_job_spec){
        .at = at,
        .share = share,
        .shape = shape,
        .run_ms = run_ms,
        .limit_ms = SCHED_UNLIMITED,
        .retries = 3,
        .cancel_at = TIME_NONE,
        .after = SCHED_NONE,
    };
    return place;
}

int64_t sim_shape_gpus(const struct sched_shape *shape)
{
    int64_t gpus;

    if (__builtin_mul_overflow(shape->need.v[RESOURCE_GPU], (int64_t)shape->node_count, &gpus))
        return INT64_MAX;
    return gpus;
}

int64_t sim_job_gpus(const struct sim_world *world, const struct sim_job_spec *job)
{
    return sim_shape_gpus(&world->shapes[job->shape]);
}

void sim_world_classify(struct sim_world *world)
{
    static const char *const names[] = {"0", "1", "2-4", "5-8", "9+"};
    static const int64_t bounds[] = {0, 1, 4, 8};

    world->class_count = ARRAY_LEN(names);
    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        world->classes[i] = names[i];
    for (uint32_t i = 0; i < world->job_count; i++) {
        int64_t gpus = sim_job_gpus(world, &world->jobs[i]);
        unsigned class = 0;

        while (class < ARRAY_LEN(bounds) && gpus > bounds[class])
            class ++;
        world->jobs[i].class = class;
    }
}

struct placed {
    time_ms at;
    uint32_t place;
};

static int by_time(const void *a, const void *b)
{
    const struct placed *x = a, *y = b;

    if (x->at != y->at)
        return x->at < y->at ? -1 : 1;
    return (x->place > y->place) - (x->place < y->place);
}

void sim_world_sort(struct sim_world *world)
{
    uint32_t count = world->job_count;
    struct placed *order = mem_array(count, sizeof *order);
    uint32_t *now_at = mem_array(count, sizeof *now_at);
    struct sim_job_spec *jobs = arena_array(&world->arena, count, sizeof *jobs);

    for (uint32_t i = 0; i < count; i++)
        order[i] = (struct placed){world->jobs[i].at, i};
    qsort(order, count, sizeof *order, by_time);
    for (uint32_t i = 0; i < count; i++)
        now_at[order[i].place] = i;
    for (uint32_t i = 0; i < count; i++) {
        jobs[i] = world->jobs[order[i].place];
        if (jobs[i].after != SCHED_NONE)
            jobs[i].after = now_at[jobs[i].after];
    }
    world->jobs = jobs;
    world->job_room = count;
    mem_free(order);
    mem_free(now_at);
}
