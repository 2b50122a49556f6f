/* What one cycle of the scheduler costs: many jobs waiting in many projects for one cluster, which
 * is full, half empty or empty, as the server would call it with a current snapshot. Prints
 * milliseconds a cycle: least, median and greatest of the rounds, and the median of the processor
 * time alone (on a machine that others use too the two differ); then how the cost grows with the
 * jobs that wait. With --json one document; with --only NAME that case alone, for a profiler. */
#include "sched/sched.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define PROJECTS     1000
#define TEAMS        50
#define NODES        2000
#define NODE_GPUS    8
#define TARGETS      4
#define SHAPES       400
#define QUEUES       3
#define PENDING      50000
#define LIGHT        2000 /* what a server looks at: the first of those that wait alike */
#define ROUNDS       15
#define ROUNDS_ONLY  150
#define GROWTH_ROUND 5
#define FILL_ROUNDS  6
#define GIB          (1LL << 30)
#define HOUR         (3600 * 1000LL)

struct world {
    struct arena arena;
    struct sched_snapshot s;
    uint64_t seed;
};

static double now_ms(clockid_t clock)
{
    struct timespec t;

    clock_gettime(clock, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static uint32_t dice(struct world *w, uint32_t below)
{
    w->seed = w->seed * 6364136223846793005ULL + 1442695040888963407ULL;
    return (uint32_t)((w->seed >> 33) % below);
}

static const struct sched_amounts unlimited = {
    {SCHED_UNLIMITED, SCHED_UNLIMITED, SCHED_UNLIMITED, SCHED_UNLIMITED}};

/* One organisation, teams, projects; every second project owns 8 GPUs. */
static void make_shares(struct world *w)
{
    uint32_t count = 1 + TEAMS + PROJECTS;
    struct sched_share *shares = arena_array(&w->arena, count, sizeof *shares);

    for (uint32_t i = 0; i < count; i++) {
        struct sched_share *s = &shares[i];
        bool project = i > TEAMS;
        *s = (struct sched_share){.id = {i + 1},
                                  .parent = i == 0    ? SCHED_NONE
                                            : project ? 1 + i % TEAMS
                                                      : 0,
                                  .weight = 1 + dice(w, 4),
                                  .borrow = unlimited,
                                  .lend = unlimited,
                                  .jobs_max = SCHED_UNLIMITED};
        if (project)
            s->quota.v[RESOURCE_GPU] = i % 2 ? NODE_GPUS : 0;
        else if (i > 0)
            s->quota.v[RESOURCE_GPU] = NODE_GPUS * PROJECTS / TEAMS;
        for (int k = 0; k < SCHED_PERIODS; k++) {
            s->budget.period_end[k] = (k + 1) * 720 * HOUR + 1000 * HOUR;
            s->budget.gpu_ms_left[k] = project ? 100000 * HOUR : SCHED_UNLIMITED;
            s->budget.micro_left[k] = SCHED_UNLIMITED;
        }
    }
    w->s.shares = shares;
    w->s.share_count = count;
}

static void make_hardware(struct world *w)
{
    struct sched_target *targets = arena_array(&w->arena, TARGETS, sizeof *targets);
    struct sched_node *nodes = arena_array(&w->arena, NODES, sizeof *nodes);
    struct sched_queue *queues = arena_array(&w->arena, QUEUES, sizeof *queues);

    for (uint32_t i = 0; i < TARGETS; i++)
        targets[i] = (struct sched_target){.id = {i + 1}, .until = TIME_NONE};
    for (uint32_t i = 0; i < QUEUES; i++)
        queues[i] = (struct sched_queue){.id = {i + 1}, .priority = i / 2, .aging_ms = HOUR};
    for (uint32_t i = 0; i < NODES; i++) {
        struct sched_node *n = &nodes[i];
        *n = (struct sched_node){.id = {i + 1},
                                 .target = i % TARGETS,
                                 .until = TIME_NONE,
                                 .gpu_type = i / TARGETS % 2,
                                 .gpu_memory_bytes = 80 * GIB};
        n->total = (struct sched_amounts){{96000, NODE_GPUS, 1024 * GIB, 32}};
        n->free = n->total;
    }
    w->s.targets = targets;
    w->s.target_count = TARGETS;
    w->s.nodes = nodes;
    w->s.node_count = NODES;
    w->s.queues = queues;
    w->s.queue_count = QUEUES;
}

static void make_shapes(struct world *w)
{
    static const int64_t gpus[] = {0, 1, 1, 1, 2, 4, 8, 8};
    struct sched_shape *shapes = arena_array(&w->arena, SHAPES, sizeof *shapes);

    for (uint32_t i = 0; i < SHAPES; i++) {
        struct sched_shape *s = &shapes[i];
        int64_t g = gpus[dice(w, ARRAY_LEN(gpus))];
        struct sched_step *steps = arena_array(&w->arena, 2, sizeof *steps);
        *s = (struct sched_shape){.node_count = g == NODE_GPUS ? 1U << dice(w, 5) : 1};
        s->need =
            (struct sched_amounts){{1000 * (1 + dice(w, 12)), g, (1 + dice(w, 100)) * GIB, 1}};
        s->gpu_types = dice(w, 3);
        steps[0] = (struct sched_step){dice(w, TARGETS), HOUR};
        steps[1] = (struct sched_step){SCHED_NONE, SCHED_UNLIMITED};
        if (dice(w, 2)) {
            s->steps = steps;
            s->step_count = 2;
        }
    }
    w->s.shapes = shapes;
    w->s.shape_count = SHAPES;
}

static void make_jobs(struct world *w, uint32_t count)
{
    struct sched_job *jobs = arena_array(&w->arena, count, sizeof *jobs);

    for (uint32_t i = 0; i < count; i++) {
        jobs[i] = (struct sched_job){.id = {i + 1},
                                     .share = 1 + TEAMS + dice(w, PROJECTS),
                                     .queue = dice(w, QUEUES),
                                     .shape = dice(w, SHAPES),
                                     .priority = dice(w, 5),
                                     .queued = w->s.now - dice(w, 24 * HOUR),
                                     .time_limit_ms = (1 + dice(w, 48)) * HOUR};
        jobs[i].ladder_at = jobs[i].queued;
    }
    w->s.jobs = jobs;
    w->s.job_count = count;
}

static void run(struct world *w, const struct sched_start *start, struct sched_node *nodes,
                struct sched_attempt *attempts)
{
    const struct sched_job *j = &w->s.jobs[start->job];

    attempts[w->s.attempt_count] =
        (struct sched_attempt){.id = {w->s.attempt_count + 1},
                               .job = {PENDING * FILL_ROUNDS + w->s.attempt_count},
                               .share = j->share,
                               .queue = j->queue,
                               .shape = j->shape,
                               .priority = j->priority,
                               .queued = j->queued,
                               .since = w->s.now - 1 - w->s.attempt_count,
                               .ends_by = w->s.now + j->time_limit_ms,
                               .evictable_from = w->s.now - 1 + w->s.attempt_count % 3,
                               .nodes = start->nodes,
                               .node_count = start->node_count};
    w->s.attempt_count++;
    for (uint32_t k = 0; k < start->node_count; k++)
        for (int r = 0; r < RESOURCE_COUNT; r++)
            nodes[start->nodes[k]].free.v[r] -= w->s.shapes[j->shape].need.v[r];
}

/* Jobs come until nothing more fits; of what starts one in `keep_of` stays. */
static void fill(struct world *w, uint32_t keep_of)
{
    struct sched_attempt *attempts =
        arena_array(&w->arena, (size_t)PENDING * FILL_ROUNDS, sizeof *attempts);
    struct sched_node *nodes = arena_array(&w->arena, NODES, sizeof *nodes);

    memcpy(nodes, w->s.nodes, NODES * sizeof *nodes);
    w->s.attempts = attempts;
    w->s.nodes = nodes;
    for (int round = 0; round < (keep_of == 1 ? FILL_ROUNDS : 1); round++) {
        struct sched_result result;
        make_jobs(w, PENDING);
        sched_cycle(&w->s, &w->arena, &result);
        for (uint32_t i = 0; i < result.start_count; i++)
            if (i % keep_of == 0)
                run(w, &result.starts[i], nodes, attempts);
    }
}

static void make_world(struct world *w, uint32_t jobs, uint32_t keep_of)
{
    *w = (struct world){.seed = 7};
    w->s.now = 1000 * HOUR;
    w->s.policy = sched_policy_default();
    make_shares(w);
    make_hardware(w);
    make_shapes(w);
    if (keep_of)
        fill(w, keep_of);
    make_jobs(w, jobs);
}

static int compare(const void *a, const void *b)
{
    double left = *(const double *)a, right = *(const double *)b;

    return (left > right) - (left < right);
}

struct figure {
    double least, median, most, cpu;
    uint32_t attempts, starts, evicts;
};

static struct figure measure(uint32_t jobs, uint32_t keep_of, int rounds)
{
    double times[ROUNDS_ONLY], cpu[ROUNDS_ONLY];
    struct world w;
    struct arena arena = {0};
    struct sched_result result;
    struct figure f;

    make_world(&w, jobs, keep_of);
    for (int i = 0; i < rounds; i++) {
        double begin = now_ms(CLOCK_MONOTONIC), cpu_begin = now_ms(CLOCK_PROCESS_CPUTIME_ID);
        sched_cycle(&w.s, &arena, &result);
        times[i] = now_ms(CLOCK_MONOTONIC) - begin;
        cpu[i] = now_ms(CLOCK_PROCESS_CPUTIME_ID) - cpu_begin;
        arena_reset(&arena);
    }
    qsort(times, (size_t)rounds, sizeof *times, compare);
    qsort(cpu, (size_t)rounds, sizeof *cpu, compare);
    f = (struct figure){.least = times[0],
                        .median = times[rounds / 2],
                        .most = times[rounds - 1],
                        .cpu = cpu[rounds / 2],
                        .attempts = w.s.attempt_count,
                        .starts = result.start_count,
                        .evicts = result.evict_count};
    arena_release(&arena);
    arena_release(&w.arena);
    return f;
}

static void print(bool json, const char *name, uint32_t jobs, const struct figure *f)
{
    if (json)
        printf("{\"name\":\"%s\",\"pending\":%u,\"min\":%.2f,\"median\":%.2f,\"max\":%.2f,"
               "\"cpu\":%.2f,\"running\":%u,\"starts\":%u,\"evicts\":%u}",
               name, jobs, f->least, f->median, f->most, f->cpu, f->attempts, f->starts, f->evicts);
    else
        printf("%-9s %6u waiting %5u running: %7.1f / %7.1f / %7.1f ms, cpu %7.1f, starts %u, ends "
               "%u\n",
               name, jobs, f->attempts, f->least, f->median, f->most, f->cpu, f->starts, f->evicts);
    fflush(stdout);
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        uint32_t jobs, keep_of;
    } cases[] = {{"saturated", PENDING, 1},
                 {"half", PENDING, 2},
                 {"empty", PENDING, 0},
                 {"light", LIGHT, 1}};
    static const uint32_t growth[] = {6250, 12500, 25000, 50000, 100000, 200000};
    bool json = argc > 1 && strcmp(argv[1], "--json") == 0;
    const char *only = argc > 2 && strcmp(argv[1], "--only") == 0 ? argv[2] : NULL;
    struct figure f;

    if (json)
        printf("[");
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        if (only && strcmp(only, cases[i].name) != 0)
            continue;
        f = measure(cases[i].jobs, cases[i].keep_of, only ? ROUNDS_ONLY : ROUNDS);
        print(json, cases[i].name, cases[i].jobs, &f);
        if (json)
            printf(",");
    }
    for (size_t i = 0; i < ARRAY_LEN(growth) && !only; i++) {
        f = measure(growth[i], 1, GROWTH_ROUND);
        print(json, "growth", growth[i], &f);
        if (json && i + 1 < ARRAY_LEN(growth))
            printf(",");
    }
    if (json)
        printf("]\n");
    return 0;
}
