/* Machines and their readings. Times are the server's: an agent says how long ago it read. */
#include "domain/targets/nodes.h"

#include "base/json.h"
#include "store/store_node.h"

#include <math.h>

#define FACTS_BYTES_MAX 8192
#define LATE_MS                                                                                    \
    (70 * 60 * 1000)          /* an agent sends what it kept for an hour while it was cut off      \
                               */
#define FRESH_MS       120000 /* a reading that is older is not "now" */
#define CLOCK_MS       60000  /* our clock went back by more: time begins anew */
#define PACKS_A_SWEEP  4
#define FORGET_A_SWEEP 50
#define GONE_REASON    "the agent does not name it any more"

static time_ms hour_of(time_ms at)
{
    return at - at % NODE_HOUR_MS;
}

/* ---- What the machine is ---- */

static struct str facts_of(struct cmd *cmd, const struct wire_node *said)
{
    CLEANUP(buf_release) struct buf out = {0};
    struct wire_node facts = *said;
    struct json_writer w;

    facts.gpu_count = 0;
    buf_init(&out, FACTS_BYTES_MAX);
    json_writer_init(&w, &out);
    wire_node_encode(&facts, &w);
    return arena_copy(cmd->arena, buf_str(&out));
}

static struct node_gpu *gpu_of(struct node_gpu *gpus, size_t count, struct str uuid)
{
    for (size_t i = 0; i < count; i++)
        if (str_eq(gpus[i].uuid, uuid))
            return &gpus[i];
    return NULL;
}

/* A place that no GPU has, or one that has been gone for a week; -1: there is none. */
static int free_place(const struct node_gpu *gpus, size_t count, time_ms now)
{
    for (int place = 0; place < NODE_GPUS_MAX; place++) {
        bool taken = false;
        for (size_t i = 0; i < count; i++)
            taken |=
                gpus[i].place == place && (gpus[i].present || now - gpus[i].seen < NODE_KEEP_MS);
        if (!taken)
            return place;
    }
    return -1;
}

static enum err_code put_gpu(struct cmd *cmd, agent_id agent, const struct wire_gpu *said,
                             const struct node_gpu *before, int place, struct err *err)
{
    struct node_gpu gpu = {
        .place = place,
        .uuid = said->uuid,
        .name = said->name,
        .type = said->type,
        .bus_id = said->bus_id,
        .memory_kind = said->memory_kind,
        .memory_bytes = said->memory_bytes,
        .mig = said->mig,
        .ill = said->ill,
        .ill_since = !said->ill.len                  ? TIME_NONE
                     : before && before->ill.len > 0 ? before->ill_since
                                                     : cmd->now,
        .used_by = said->used_by,
        .seen = cmd->now,
        .present = true,
    };

    return store_node_gpu_put(cmd->store, agent, &gpu, err);
}

static enum err_code put_gone(struct cmd *cmd, agent_id agent, struct node_gpu *gpu,
                              struct err *err)
{
    gpu->present = false;
    gpu->ill_since = gpu->ill.len ? gpu->ill_since : cmd->now;
    gpu->ill = STR(GONE_REASON);
    gpu->used_by = STR("");
    return store_node_gpu_put(cmd->store, agent, gpu, err);
}

enum err_code nodes_told(struct cmd *cmd, agent_id agent, const struct wire_node *said,
                         struct err *err)
{
    struct node_gpu *gpus;
    size_t count = 0, room;

    TRY(store_node_set(cmd->store, agent, facts_of(cmd, said), err));
    TRY(store_node_gpus(cmd->store, agent, cmd->arena, &gpus, &count, err));
    room = count;
    for (size_t i = 0; i < room; i++) {
        bool named = false;
        for (size_t k = 0; k < said->gpu_count; k++)
            named |= str_eq(said->gpus[k].uuid, gpus[i].uuid);
        if (!named && gpus[i].present)
            TRY(put_gone(cmd, agent, &gpus[i], err));
    }
    for (size_t k = 0; k < said->gpu_count; k++) {
        const struct node_gpu *before = gpu_of(gpus, count, said->gpus[k].uuid);
        int place = before ? before->place : free_place(gpus, count, cmd->now);
        if (place < 0)
            continue; /* bounded whatever an agent says */
        TRY(put_gpu(cmd, agent, &said->gpus[k], before, place, err));
        if (!before)
            TRY(store_node_gpus(cmd->store, agent, cmd->arena, &gpus, &count, err));
    }
    return OK;
}

/* ---- Readings ---- */

enum err_code nodes_places(struct cmd *cmd, agent_id agent, const struct wire_samples *samples,
                           int ret_places[WIRE_NODE_GPUS_MAX], struct err *err)
{
    struct node_gpu *gpus;
    size_t count = 0;

    TRY(store_node_gpus(cmd->store, agent, cmd->arena, &gpus, &count, err));
    for (size_t i = 0; i < samples->gpu_count; i++) {
        const struct node_gpu *gpu = gpu_of(gpus, count, samples->gpus[i]);
        ret_places[i] = gpu ? gpu->place : -1;
    }
    return OK;
}

static void fill_sample(const struct wire_sample *from, const int *places, time_ms at,
                        struct node_sample *ret_sample)
{
    struct node_sample *s = ret_sample;

    s->at = at;
    s->places = 0;
    for (size_t i = 0; i < from->gpu_count; i++)
        s->places = MAX(s->places, places[i] + 1);
    for (int i = 0; i < NODE_SERIES * (1 + s->places); i++)
        s->values[i] = (double)NAN;
    memcpy(s->values, from->node, sizeof from->node);
    for (size_t i = 0; i < from->gpu_count; i++)
        if (places[i] >= 0)
            memcpy(&s->values[NODE_SERIES * (1 + places[i])], from->gpus[i], sizeof from->gpus[i]);
}

static enum err_code get_node(struct cmd *cmd, agent_id agent, struct node *ret_node,
                              struct err *err)
{
    enum err_code code = store_node_get(cmd->store, agent, cmd->arena, ret_node, err);

    if (code != ERR_NOT_FOUND)
        return code;
    TRY(store_node_set(cmd->store, agent, STR("{}"), err));
    return store_node_get(cmd->store, agent, cmd->arena, ret_node, err);
}

_Static_assert(NODE_SERIES == NODE_VALUE_COUNT && NODE_SERIES == GPU_VALUE_COUNT, "one layout");

enum err_code nodes_sampled(struct cmd *cmd, agent_id agent, const struct wire_samples *samples,
                            size_t *ret_first, struct err *err)
{
    struct node_sample *row = ARENA_NEW(cmd->arena, struct node_sample);
    int places[WIRE_NODE_GPUS_MAX];
    struct node node;
    size_t first = 0;

    TRY(get_node(cmd, agent, &node, err));
    TRY(nodes_places(cmd, agent, samples, places, err));
    if (node.sampled > cmd->now + CLOCK_MS)
        node.sampled = 0;
    while (str_eq(node.boot, samples->boot) && first < samples->sample_count &&
           samples->samples[first].number <= node.sample_number)
        first++;
    for (size_t i = first; i < samples->sample_count; i++) {
        const struct wire_sample *s = &samples->samples[i];
        time_ms at = cmd->now - s->age_ms;
        node.sample_number = s->number;
        if (at < node.packed || at < node.sampled + NODE_GAP_MS_MIN)
            continue;
        fill_sample(s, places, at, row);
        TRY(store_node_sample_add(cmd->store, agent, row, err));
        node.sampled = at;
    }
    node.boot = samples->boot;
    *ret_first = first;
    return first < samples->sample_count ? store_node_sampled(cmd->store, &node, err) : OK;
}

/* ---- Looking ---- */

enum err_code nodes_view(struct cmd *cmd, agent_id agent, struct node_view *ret_view,
                         struct err *err)
{
    struct node_view view = {.newest.at = TIME_NONE};
    struct node_gpu *gpus;
    bool found = false;
    size_t count = 0;
    enum err_code code = store_node_get(cmd->store, agent, cmd->arena, &view.node, err);

    if (code != OK && code != ERR_NOT_FOUND)
        return code;
    TRY(store_node_gpus(cmd->store, agent, cmd->arena, &gpus, &count, err));
    view.gpus = gpus;
    for (size_t i = 0; i < count; i++)
        if (gpus[i].present || cmd->now - gpus[i].seen < NODE_KEEP_MS)
            view.gpus[view.gpu_count++] = gpus[i];
    TRY(store_node_newest(cmd->store, agent, cmd->now - FRESH_MS, &view.newest, &found, err));
    if (!found)
        view.newest.at = TIME_NONE;
    TRY(store_node_jobs(cmd->store, agent, cmd->arena, &view.jobs, &view.job_count, err));
    *ret_view = view;
    return OK;
}

double nodes_newest_gpu(const struct node_view *view, int place, int value)
{
    if (view->newest.at == TIME_NONE || place >= view->newest.places)
        return (double)NAN;
    return view->newest.values[NODE_SERIES * (1 + place) + value];
}

static void take_part(void *ctx, int series, const struct hour_part *part)
{
    struct node_chart *chart = ctx;
    struct node_bucket *b;

    if (part->at < chart->from || part->at >= chart->to || series >= chart->series_count)
        return;
    b = &chart->buckets[(size_t)series * chart->bucket_count +
                        (size_t)((part->at - chart->from) / chart->width_ms)];
    b->min = b->count ? MIN(b->min, part->min) : part->min;
    b->max = b->count ? MAX(b->max, part->max) : part->max;
    b->sum = b->count ? b->sum + part->sum : part->sum;
    b->count += part->count;
}

/* What is not packed yet, an hour at a time. */
static enum err_code read_tail(struct cmd *cmd, agent_id agent, time_ms from, time_ms to,
                               const struct hour_sink *sink, struct err *err)
{
    for (time_ms at = hour_of(from); at < to; at += NODE_HOUR_MS) {
        struct node_sample *samples;
        size_t count = 0;
        TRY(store_node_samples(cmd->store, agent, MAX(at, from), MIN(at + NODE_HOUR_MS, to),
                               cmd->arena, &samples, &count, err));
        for (size_t i = 0; i < count; i++)
            for (int s = 0; s < NODE_SERIES * (1 + samples[i].places); s++) {
                double v = samples[i].values[s];
                struct hour_part part = {samples[i].at, 1, v, v, v};
                if (v == v)
                    sink->take(sink->ctx, s, &part);
            }
    }
    return OK;
}

static int64_t level_of(int64_t width_ms)
{
    static const int64_t levels[] = {NODE_HOUR_MS, 600000, 60000};

    for (size_t i = 0; i < ARRAY_LEN(levels); i++)
        if (width_ms >= levels[i])
            return levels[i];
    return 0;
}

enum err_code nodes_chart(struct cmd *cmd, agent_id agent, const struct node_chart *asked,
                          struct node_chart *ret_chart, struct err *err)
{
    struct node_chart chart = *asked;
    struct hour_sink sink = {&chart, take_part};
    struct node node = {0};
    int64_t level;
    enum err_code code;

    if (chart.to <= chart.from || chart.to - chart.from > NODE_RANGE_MAX || chart.from < 0)
        return err_set_field(err, ERR_INVALID, "from",
                             "from: a range of at most 7 days is asked for");
    if (chart.bucket_count < 1 || chart.bucket_count > NODE_BUCKETS_MAX)
        return err_set_field(err, ERR_INVALID, "buckets", "buckets: is a number from 1 to %d",
                             NODE_BUCKETS_MAX);
    level = level_of((chart.to - chart.from) / (int64_t)chart.bucket_count);
    if (level)
        chart.from -= chart.from % level;
    chart.width_ms =
        (chart.to - chart.from + (int64_t)chart.bucket_count - 1) / (int64_t)chart.bucket_count;
    chart.series_count = NODE_SERIES * (1 + NODE_GPUS_MAX);
    chart.buckets = arena_array(cmd->arena, (size_t)chart.series_count * chart.bucket_count,
                                sizeof chart.buckets[0]);
    code = store_node_get(cmd->store, agent, cmd->arena, &node, err);
    if (code != OK && code != ERR_NOT_FOUND)
        return code;
    TRY(store_node_read(cmd->store, agent, hour_of(chart.from), chart.to, level, &sink, err));
    TRY(read_tail(cmd, agent, MAX(chart.from, node.packed), chart.to, &sink, err));
    TRY(store_node_uses(cmd->store, agent, chart.from, chart.to, cmd->arena, &chart.uses,
                        &chart.use_count, err));
    *ret_chart = chart;
    return OK;
}

enum err_code nodes_utilization(struct cmd *cmd, agent_id agent, time_ms from, int64_t *readings,
                                int64_t *tenths, struct err *err)
{
    int64_t more_readings, more_tenths;

    TRY(store_node_utilization(cmd->store, agent, hour_of(from), &more_readings, &more_tenths,
                               err));
    *readings += more_readings;
    *tenths += more_tenths;
    return OK;
}

enum err_code nodes_sweep(struct cmd *cmd, struct err *err)
{
    bool more = false;

    for (int i = 0; i < PACKS_A_SWEEP; i++) {
        agent_id agent;
        time_ms oldest;
        enum err_code code =
            store_node_due(cmd->store, hour_of(cmd->now - LATE_MS), &agent, &oldest, err);
        if (code == ERR_NOT_FOUND)
            break;
        TRY(code);
        TRY(store_node_pack(cmd->store, agent, hour_of(oldest), cmd->arena, err));
    }
    return store_node_forget(cmd->store, hour_of(cmd->now - NODE_KEEP_MS), FORGET_A_SWEEP, &more,
                             err);
}
