/* Tables into worlds. Shapes that are asked for more than once are one shape: the scheduler tries
 * each once a cycle. */
#include "sim/trace.h"

#include "base/map.h"
#include "sim/csv.h"

#include <stdio.h>

#define NAMES_MAX 100000
#define ROWS_MAX  10000000
#define GPUS_MAX  1024
#define CORES_MAX 1000000
#define SECOND    1000

struct reading {
    struct sim_world *world;
    const struct sim_trace_options *options;
    struct csv csv;
    struct map types, targets, shares, queues, shapes;
};

static void reading_release(struct reading *r)
{
    csv_release(&r->csv);
    map_release(&r->types);
    map_release(&r->targets);
    map_release(&r->shares);
    map_release(&r->queues);
    map_release(&r->shapes);
}

static void reading_init(struct reading *r, struct sim_world *world,
                         const struct sim_trace_options *options)
{
    *r = (struct reading){.world = world, .options = options};
    sim_world_init(world);
    map_init(&r->types, SCHED_GPU_TYPES_MAX);
    map_init(&r->targets, NAMES_MAX);
    map_init(&r->shares, NAMES_MAX);
    map_init(&r->queues, NAMES_MAX);
    map_init(&r->shapes, NAMES_MAX);
    (void)sim_world_share(world, "organisation", SCHED_NONE, 1);
}

/* A map holds no NULL: places are kept plus one. */
static void *place_of(uint32_t place)
{
    return (void *)(uintptr_t)((uint64_t)place + 1);
}

/* False: not there. */
static bool find(const struct map *map, struct str name, uint32_t *ret_place)
{
    uintptr_t value = (uintptr_t)map_get(map, name);

    *ret_place = (uint32_t)(value - 1);
    return value != 0;
}

/* The number of a kind of GPU; those beyond the last share it. */
static unsigned type_of(struct reading *r, struct str name)
{
    uint32_t place = (uint32_t)r->types.count;

    if (!find(&r->types, name, &place)) {
        place = MIN((uint32_t)r->types.count, SCHED_GPU_TYPES_MAX - 1);
        (void)map_put(&r->types, name, place_of(place)); /* full: the last stands for it too */
    }
    return place;
}

/* "A|B": any of these. "": any at all. */
static uint64_t types_of(struct reading *r, struct str names)
{
    uint64_t bits = 0;
    struct str rest = names, name;

    while (rest.len) {
        (void)str_cut(&rest, '|', &name);
        if (str_trim(name).len)
            bits |= UINT64_C(1) << type_of(r, str_trim(name));
    }
    return bits;
}

static enum err_code target_of(struct reading *r, struct str name, uint32_t *ret_place,
                               struct err *err)
{
    if (find(&r->targets, name, ret_place))
        return OK;
    *ret_place = sim_world_target(r->world);
    if (!map_put(&r->targets, name, place_of(*ret_place)))
        return err_set(err, ERR_TOO_LARGE, "more than %d targets", NAMES_MAX);
    return OK;
}

static enum err_code share_of(struct reading *r, struct str name, uint32_t parent,
                              uint32_t *ret_place, struct err *err)
{
    char text[128];

    if (find(&r->shares, name, ret_place))
        return OK;
    (void)snprintf(text, sizeof text, "%.*s", (int)MIN(name.len, sizeof text - 1), name.data);
    *ret_place = sim_world_share(r->world, text, parent, 1);
    if (!map_put(&r->shares, name, place_of(*ret_place)))
        return err_set(err, ERR_TOO_LARGE, "more than %d projects", NAMES_MAX);
    return OK;
}

/* A shape is found by its bytes; it has no padding that differs, being zeroed whole. */
static enum err_code shape_of(struct reading *r, const struct sched_shape *shape,
                              uint32_t *ret_place, struct err *err)
{
    struct str bytes = str_n((const char *)shape, sizeof *shape);

    if (find(&r->shapes, bytes, ret_place))
        return OK;
    *ret_place = sim_world_add_shape(r->world, shape);
    if (!map_put(&r->shapes, bytes, place_of(*ret_place)))
        return err_set(err, ERR_TOO_LARGE, "more than %d kinds of tasks", NAMES_MAX);
    return OK;
}

static enum err_code rows_check(const struct reading *r, struct err *err)
{
    if (r->csv.line > ROWS_MAX)
        return err_set(err, ERR_TOO_LARGE, "%s has more than %d lines", r->csv.path, ROWS_MAX);
    return OK;
}

/* ---- Our own columns */

enum { N_GPUS, N_CPUS, N_MEMORY, N_NAME, N_TARGET, N_TYPE, N_GPU_MEMORY, N_COUNT, N_SEVERAL };
static const char *const node_columns[] = {"gpus",    "cpus",     "memory_gib",     "name",
                                           "target",  "gpu_type", "gpu_memory_gib", "count",
                                           "several", NULL};
enum { S_NAME, S_PARENT, S_WEIGHT, S_QUOTA, S_BORROW, S_LEND, S_JOBS };
static const char *const share_columns[] = {"name",        "parent",    "weight",   "quota_gpus",
                                            "borrow_gpus", "lend_gpus", "jobs_max", NULL};
enum {
    T_SUBMIT,
    T_RUN,
    T_GPUS,
    T_NAME,
    T_PROJECT,
    T_PRIORITY,
    T_NODES,
    T_CPUS,
    T_MEMORY,
    T_TYPE,
    T_LIMIT,
    T_QUEUE
};
static const char *const task_columns[] = {"submit_s", "run_s", "gpus", "name",       "project",
                                           "priority", "nodes", "cpus", "memory_gib", "gpu_type",
                                           "limit_s",  "queue", NULL};

static enum err_code node_row(struct reading *r, struct err *err)
{
    struct csv *csv = &r->csv;
    int64_t gpus, cpus, memory, gpu_memory, count, several;
    struct str type;
    uint32_t target, first;

    TRY(csv_i64(csv, N_GPUS, 0, GPUS_MAX, 0, &gpus, err));
    TRY(csv_i64(csv, N_CPUS, 1, CORES_MAX, MAX(gpus, 1) * 12, &cpus, err));
    TRY(csv_amount(csv, N_MEMORY, SIM_GIB, MAX(gpus, 1) * 64 * SIM_GIB, &memory, err));
    TRY(csv_amount(csv, N_GPU_MEMORY, SIM_GIB, 0, &gpu_memory, err));
    TRY(csv_i64(csv, N_COUNT, 1, 100000, 1, &count, err));
    TRY(csv_i64(csv, N_SEVERAL, 0, 1, 0, &several, err));
    TRY(target_of(r, csv_text(csv, N_TARGET), &target, err));
    type = csv_text(csv, N_TYPE);
    first = sim_world_nodes(r->world, target, (uint32_t)count, gpus);
    for (uint32_t i = first; i < r->world->node_count; i++) {
        struct sched_node *node = &r->world->nodes[i];

        node->gpu_type = type_of(r, type);
        node->gpu_memory_bytes = gpu_memory;
        node->several = several;
        node->total.v[RESOURCE_CPU] = cpus * 1000;
        node->total.v[RESOURCE_MEMORY] = memory;
        node->total.v[RESOURCE_SLOT] = 10000;
        node->free = node->total;
    }
    return OK;
}

static enum err_code share_row(struct reading *r, struct err *err)
{
    struct csv *csv = &r->csv;
    struct sched_share *share;
    struct str above = csv_text(csv, S_PARENT);
    uint32_t parent = 0, at = 0;
    int64_t weight, quota, borrow, lend, jobs;

    if (above.len && !find(&r->shares, above, &parent))
        return csv_refuse(csv, S_PARENT, "is not a share of a line before", err);
    if (csv_text(csv, S_NAME).len == 0 || find(&r->shares, csv_text(csv, S_NAME), &at))
        return csv_refuse(csv, S_NAME, "is empty or there twice", err);
    TRY(csv_i64(csv, S_WEIGHT, 0, 1000000, 1, &weight, err));
    TRY(csv_i64(csv, S_QUOTA, 0, 1000000000, 0, &quota, err));
    TRY(csv_i64(csv, S_BORROW, 0, 1000000000, SCHED_UNLIMITED, &borrow, err));
    TRY(csv_i64(csv, S_LEND, 0, 1000000000, SCHED_UNLIMITED, &lend, err));
    TRY(csv_i64(csv, S_JOBS, 0, 1000000000, SCHED_UNLIMITED, &jobs, err));
    TRY(share_of(r, csv_text(csv, S_NAME), parent, &at, err));
    share = &r->world->shares[at];
    share->weight = weight;
    share->quota.v[RESOURCE_GPU] = quota;
    share->borrow.v[RESOURCE_GPU] = borrow;
    share->lend.v[RESOURCE_GPU] = lend;
    share->jobs_max = jobs;
    return OK;
}

static enum err_code queue_of(struct reading *r, int64_t priority, uint32_t *ret_place,
                              struct err *err)
{
    char name[24];

    (void)snprintf(name, sizeof name, "%lld", (long long)priority);
    if (find(&r->queues, str_from(name), ret_place))
        return OK;
    *ret_place = sim_world_queue(r->world, priority);
    if (!map_put(&r->queues, str_from(name), place_of(*ret_place)))
        return err_set(err, ERR_TOO_LARGE, "more than %d queues", NAMES_MAX);
    return OK;
}

static int64_t limit_for(const struct reading *r, int64_t run_ms)
{
    int64_t permille = r->options->limit_permille;

    return permille ? MAX(run_ms * permille / 1000, 1000) : SCHED_UNLIMITED;
}

static enum err_code task_row(struct reading *r, struct err *err)
{
    struct csv *csv = &r->csv;
    struct sched_shape shape = {.node_count = 1};
    int64_t at, run, gpus, nodes, cpus, memory, priority, queue_priority, limit;
    uint32_t share, queue = 0, place = 0;
    struct sim_job_spec *job;

    TRY(csv_amount(csv, T_SUBMIT, SECOND, 0, &at, err));
    TRY(csv_amount(csv, T_RUN, SECOND, 0, &run, err));
    TRY(csv_i64(csv, T_GPUS, 0, GPUS_MAX, 0, &gpus, err));
    TRY(csv_i64(csv, T_NODES, 1, 100000, 1, &nodes, err));
    TRY(csv_i64(csv, T_CPUS, 1, CORES_MAX, MAX(gpus, 1), &cpus, err));
    TRY(csv_amount(csv, T_MEMORY, SIM_GIB, MAX(gpus, 1) * SIM_GIB, &memory, err));
    TRY(csv_i64(csv, T_PRIORITY, -1000000, 1000000, 0, &priority, err));
    TRY(csv_i64(csv, T_QUEUE, -1000000, 1000000, 0, &queue_priority, err));
    TRY(csv_amount(csv, T_LIMIT, SECOND, limit_for(r, run), &limit, err));
    if (r->options->shares && !find(&r->shares, csv_text(csv, T_PROJECT), &share))
        return csv_refuse(csv, T_PROJECT, "is not in the table of shares", err);
    TRY(share_of(r, csv_text(csv, T_PROJECT), 0, &share, err));
    TRY(queue_of(r, queue_priority, &queue, err));
    shape.node_count = (uint32_t)nodes;
    shape.need = (struct sched_amounts){.v = {[RESOURCE_CPU] = cpus * 1000,
                                              [RESOURCE_GPU] = gpus,
                                              [RESOURCE_MEMORY] = memory,
                                              [RESOURCE_SLOT] = 1}};
    shape.gpu_types = types_of(r, csv_text(csv, T_TYPE));
    TRY(shape_of(r, &shape, &place, err));
    (void)sim_world_job(r->world, share, place, at * 1000 / r->options->load_permille, MAX(run, 1));
    job = &r->world->jobs[r->world->job_count - 1];
    job->queue = queue;
    job->priority = priority;
    job->limit_ms = limit ? limit : SCHED_UNLIMITED;
    return rows_check(r, err);
}

static enum err_code each_row(struct reading *r,
                              enum err_code (*row)(struct reading *, struct err *), struct err *err)
{
    bool more = true;

    for (TRY(csv_next(&r->csv, &more, err)); more; TRY(csv_next(&r->csv, &more, err)))
        TRY(row(r, err));
    csv_release(&r->csv);
    return OK;
}

static enum err_code finish(struct reading *r, struct err *err)
{
    if (r->world->node_count == 0)
        return err_set(err, ERR_INVALID, "%s has no nodes", r->options->nodes);
    if (r->world->job_count == 0)
        return err_set(err, ERR_INVALID, "%s has no tasks", r->options->tasks);
    sim_world_sort(r->world);
    sim_world_classify(r->world);
    return OK;
}

enum err_code sim_trace_read(const struct sim_trace_options *options, struct sim_world *ret_world,
                             struct err *err)
{
    CLEANUP(reading_release) struct reading r;

    reading_init(&r, ret_world, options);
    TRY(csv_open(&r.csv, options->nodes, node_columns, N_CPUS, err));
    TRY(each_row(&r, node_row, err));
    if (options->shares) {
        TRY(csv_open(&r.csv, options->shares, share_columns, S_PARENT, err));
        TRY(each_row(&r, share_row, err));
    }
    TRY(csv_open(&r.csv, options->tasks, task_columns, T_NAME, err));
    TRY(each_row(&r, task_row, err));
    return finish(&r, err);
}

/* ---- The public trace */

enum { ON_CPU, ON_MEMORY, ON_GPU, ON_MODEL, ON_NAME };
static const char *const openb_nodes[] = {"cpu_milli", "memory_mib", "gpu", "model", "sn", NULL};
enum {
    OT_NAME,
    OT_CPU,
    OT_MEMORY,
    OT_GPUS,
    OT_MILLI,
    OT_SPEC,
    OT_CREATED,
    OT_DELETED,
    OT_SCHEDULED
};
static const char *const openb_tasks[] = {
    "name",          "cpu_milli",     "memory_mib",     "num_gpu", "gpu_milli", "gpu_spec",
    "creation_time", "deletion_time", "scheduled_time", "qos",     "pod_phase", NULL};

static enum err_code openb_node(struct reading *r, struct err *err)
{
    int64_t cpu, mib, gpus;
    struct sched_node *node;

    TRY(csv_i64(&r->csv, ON_CPU, 0, 100000000, 0, &cpu, err));
    TRY(csv_i64(&r->csv, ON_MEMORY, 0, 1000000000, 0, &mib, err));
    TRY(csv_i64(&r->csv, ON_GPU, 0, GPUS_MAX, 0, &gpus, err));
    (void)sim_world_nodes(r->world, 0, 1, gpus);
    node = &r->world->nodes[r->world->node_count - 1];
    node->gpu_type = type_of(r, csv_text(&r->csv, ON_MODEL));
    node->total.v[RESOURCE_CPU] = cpu;
    node->total.v[RESOURCE_MEMORY] = mib * (SIM_GIB / 1024);
    node->total.v[RESOURCE_SLOT] = 10000;
    node->free = node->total;
    return rows_check(r, err);
}

/* Of N projects the first is the largest, the k-th has 1/k of its tasks: real ones differ so. */
static uint32_t hashed_project(struct str name, int64_t projects)
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    double sum = 0, at;

    for (size_t i = 0; i < name.len; i++)
        hash = (hash ^ (uint8_t)name.data[i]) * UINT64_C(0x100000001b3);
    hash ^= hash >> 29;
    hash *= UINT64_C(0xbf58476d1ce4e5b9);
    for (int64_t k = 1; k <= projects; k++)
        sum += 1.0 / (double)k;
    at = (double)(hash >> 11) / 9007199254740992.0 * sum;
    for (int64_t k = 1; k < projects; k++) {
        at -= 1.0 / (double)k;
        if (at < 0)
            return (uint32_t)k - 1;
    }
    return (uint32_t)projects - 1;
}

static enum err_code openb_task(struct reading *r, struct err *err)
{
    struct csv *csv = &r->csv;
    int64_t cpu, mib, gpus, milli, created, deleted, scheduled, run;
    struct sched_shape shape = {.node_count = 1};
    uint32_t place = 0, project;

    TRY(csv_i64(csv, OT_CPU, 0, 100000000, 0, &cpu, err));
    TRY(csv_i64(csv, OT_MEMORY, 0, 1000000000, 0, &mib, err));
    TRY(csv_i64(csv, OT_GPUS, 0, GPUS_MAX, 0, &gpus, err));
    TRY(csv_i64(csv, OT_MILLI, 0, 1000, 0, &milli, err));
    TRY(csv_i64(csv, OT_CREATED, 0, INT64_C(1) << 40, 0, &created, err));
    TRY(csv_i64(csv, OT_DELETED, 0, INT64_C(1) << 40, created, &deleted, err));
    TRY(csv_i64(csv, OT_SCHEDULED, 0, INT64_C(1) << 40, created, &scheduled, err));
    if (deleted < scheduled)
        return csv_refuse(csv, OT_DELETED, "is before scheduled_time", err);
    run = MAX((deleted - scheduled) * SECOND, SECOND);
    shape.need = (struct sched_amounts){.v = {[RESOURCE_CPU] = cpu,
                                              [RESOURCE_GPU] = milli && !gpus ? 1 : gpus,
                                              [RESOURCE_MEMORY] = mib * (SIM_GIB / 1024),
                                              [RESOURCE_SLOT] = 1}};
    shape.gpu_types = types_of(r, csv_text(csv, OT_SPEC));
    TRY(shape_of(r, &shape, &place, err));
    project = 1 + hashed_project(csv_text(csv, OT_NAME), r->options->projects);
    (void)sim_world_job(r->world, project, place,
                        created * SECOND * 1000 / r->options->load_permille, run);
    r->world->jobs[r->world->job_count - 1].limit_ms = limit_for(r, run);
    return rows_check(r, err);
}

enum err_code sim_trace_read_openb(const struct sim_trace_options *options,
                                   struct sim_world *ret_world, struct err *err)
{
    CLEANUP(reading_release) struct reading r;

    reading_init(&r, ret_world, options);
    (void)sim_world_target(ret_world);
    (void)sim_world_queue(ret_world, 0);
    for (int64_t i = 1; i <= options->projects; i++) {
        char name[32];

        (void)snprintf(name, sizeof name, "project-%lld", (long long)i);
        (void)sim_world_share(ret_world, name, 0, 1);
    }
    TRY(csv_open(&r.csv, options->nodes, openb_nodes, ON_NAME, err));
    TRY(each_row(&r, openb_node, err));
    TRY(csv_open(&r.csv, options->tasks, openb_tasks, ARRAY_LEN(openb_tasks) - 3, err));
    TRY(each_row(&r, openb_task, err));
    return finish(&r, err);
}
