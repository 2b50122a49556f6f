/* Messages about machines: first what writes them, then what the server reads. Numbers have the
 * same limits on both sides: what an agent reads beyond them it sends as not known, so that one odd
 * sensor does not cost the other readings. */
#include "wire/node_messages.h"

#include "model/job.h"

#include <math.h>
#include <stdio.h>

#define COUNT_MAX     INT64_C(9007199254740991)
#define THREADS_MAX   65536
#define NUMBER_MAX    COUNT_MAX
#define ENERGY_MJ_MAX INT64_C(1000000000000)
#define PATH_BYTES    80

static const struct {
    double min, max;
} node_limits[] = {[NODE_CPU] = {0, 100},
                   [NODE_MEMORY] = {0, 9007199254740991.0},
                   [NODE_DISK] = {0, 9007199254740991.0},
                   [NODE_LOAD] = {0, 1e6}},
  gpu_limits[] = {[GPU_PERCENT] = {0, 100},
                  [GPU_MEMORY] = {0, 9007199254740991.0},
                  [GPU_CELSIUS] = {0, 500},
                  [GPU_WATTS] = {0, 1e6}};

static void put_text(struct json_writer *w, const char *key, struct str text)
{
    if (!text.len)
        return;
    json_put_key(w, key);
    json_put_str(w, text);
}

static void put_i64(struct json_writer *w, const char *key, int64_t value)
{
    json_put_key(w, key);
    json_put_i64(w, value);
}

static void put_gpu(struct json_writer *w, const struct wire_gpu *gpu)
{
    json_begin_object(w);
    put_text(w, "uuid", gpu->uuid);
    put_text(w, "name", gpu->name);
    put_text(w, "type", gpu->type);
    put_text(w, "bus_id", gpu->bus_id);
    put_text(w, "memory_kind", gpu->memory_kind);
    put_i64(w, "memory_bytes", gpu->memory_bytes);
    json_put_key(w, "mig");
    json_put_bool(w, gpu->mig);
    put_text(w, "ill", gpu->ill);
    put_text(w, "used_by", gpu->used_by);
    json_end_object(w);
}

void wire_node_encode(const struct wire_node *node, struct json_writer *w)
{
    json_begin_object(w);
    put_text(w, "host", node->host);
    put_text(w, "os", node->os);
    put_text(w, "kernel", node->kernel);
    put_text(w, "arch", node->arch);
    put_text(w, "cpu_model", node->cpu_model);
    put_text(w, "driver", node->driver);
    put_text(w, "cuda", node->cuda);
    put_i64(w, "cpu_threads", node->cpu_threads);
    put_i64(w, "memory_bytes", node->memory_bytes);
    put_i64(w, "disk_bytes", node->disk_bytes);
    put_i64(w, "host_reserve_bytes", node->host_reserve_bytes);
    json_put_key(w, "gpus");
    json_begin_array(w);
    for (size_t i = 0; i < node->gpu_count; i++)
        put_gpu(w, &node->gpus[i]);
    json_end_array(w);
    json_end_object(w);
}

/* Rounded: a sensor has no more to say, and a message is read every ten seconds. */
static void put_value(struct json_writer *w, double value, double min, double max)
{
    if (!(value >= min && value <= max)) /* also where it is not a number */
        json_put_null(w);
    else
        json_put_f64(w, (double)(int64_t)(value * 10 + 0.5) / 10);
}

static void put_sample(struct json_writer *w, const struct wire_sample *sample)
{
    json_begin_object(w);
    put_i64(w, "number", sample->number);
    put_i64(w, "age_ms", sample->age_ms);
    json_put_key(w, "node");
    json_begin_array(w);
    for (size_t i = 0; i < NODE_VALUE_COUNT; i++)
        put_value(w, sample->node[i], node_limits[i].min, node_limits[i].max);
    json_end_array(w);
    json_put_key(w, "gpus");
    json_begin_array(w);
    for (size_t i = 0; i < sample->gpu_count; i++) {
        json_begin_array(w);
        for (size_t k = 0; k < GPU_VALUE_COUNT; k++)
            put_value(w, sample->gpus[i][k], gpu_limits[k].min, gpu_limits[k].max);
        json_end_array(w);
    }
    json_end_array(w);
    json_put_key(w, "attempts");
    json_begin_array(w);
    for (size_t i = 0; i < sample->use_count; i++) {
        const struct wire_sample_use *use = &sample->uses[i];

        json_begin_object(w);
        put_text(w, "attempt", id_str(&use->attempt));
        json_put_key(w, "gpus");
        json_begin_array(w);
        for (int k = 0; k < WIRE_NODE_GPUS_MAX; k++)
            if (use->gpus >> k & 1)
                json_put_i64(w, k);
        json_end_array(w);
        put_i64(w, "energy_mj", MIN(MAX(use->energy_mj, 0), ENERGY_MJ_MAX));
        json_put_key(w, "percent");
        put_value(w, use->percent, 0, 100);
        json_end_object(w);
    }
    json_end_array(w);
    json_end_object(w);
}

void wire_samples_encode(const struct wire_samples *samples, struct json_writer *w)
{
    json_begin_object(w);
    put_text(w, "boot", samples->boot);
    json_put_key(w, "gpus");
    json_begin_array(w);
    for (size_t i = 0; i < samples->gpu_count; i++)
        json_put_str(w, samples->gpus[i]);
    json_end_array(w);
    json_put_key(w, "samples");
    json_begin_array(w);
    for (size_t i = 0; i < samples->sample_count; i++)
        put_sample(w, &samples->samples[i]);
    json_end_array(w);
    json_end_object(w);
}

/* ---- the server's side ---- */

static enum err_code take_gpu(json_t *object, const char *path, struct wire_gpu *ret_gpu,
                              struct err *err)
{
    struct wire_gpu gpu = {.memory_kind = STR("unknown")};
    struct json_reader r;

    json_reader_init_strict(&r, object, path, err);
    json_take_text(&r, "uuid", WIRE_UUID_BYTES_MAX, &gpu.uuid);
    json_take_text_opt(&r, "name", WIRE_UUID_BYTES_MAX, &gpu.name);
    json_take_text_opt(&r, "type", GPU_TYPE_BYTES_MAX, &gpu.type);
    json_take_text_opt(&r, "bus_id", WIRE_UUID_BYTES_MAX, &gpu.bus_id);
    json_take_text_opt(&r, "memory_kind", WIRE_UUID_BYTES_MAX, &gpu.memory_kind);
    json_take_i64_opt(&r, "memory_bytes", 0, COUNT_MAX, &gpu.memory_bytes);
    json_take_bool_opt(&r, "mig", &gpu.mig);
    json_take_text_opt(&r, "ill", WIRE_GPU_REASON_MAX, &gpu.ill);
    json_take_text_opt(&r, "used_by", WIRE_GPU_REASON_MAX, &gpu.used_by);
    if (r.code == OK && !str_eq_c(gpu.memory_kind, "dedicated") &&
        !str_eq_c(gpu.memory_kind, "unified") && !str_eq_c(gpu.memory_kind, "unknown"))
        json_reader_fail(&r, "memory_kind", "is dedicated, unified or unknown");
    *ret_gpu = gpu;
    return json_reader_end(&r);
}

static enum err_code take_gpus(struct arena *arena, json_t *array, const char *path,
                               struct wire_node *node, struct err *err)
{
    size_t count = json_array_size(array);
    struct wire_gpu *gpus = arena_array(arena, count, sizeof gpus[0]);
    char at[PATH_BYTES];

    for (size_t i = 0; i < count; i++) {
        (void)snprintf(at, sizeof at, "%.40sgpus[%zu].", path, i);
        TRY(take_gpu(json_array_get(array, i), at, &gpus[i], err));
        for (size_t k = 0; k < i; k++)
            if (str_eq(gpus[k].uuid, gpus[i].uuid))
                return err_set_field(err, ERR_INVALID, "gpus", "%.40sgpus: \"%.*s\" is there twice",
                                     path, STR_ARG(gpus[i].uuid));
    }
    node->gpus = gpus;
    node->gpu_count = count;
    return OK;
}

enum err_code wire_node_decode(struct arena *arena, json_t *object, const char *path,
                               struct wire_node *ret_node, struct err *err)
{
    struct wire_node node = {0};
    json_t *gpus = NULL;
    struct json_reader r;

    json_reader_init_strict(&r, object, path, err);
    json_take_text_opt(&r, "host", WIRE_NODE_TEXT_MAX, &node.host);
    json_take_text_opt(&r, "os", WIRE_NODE_TEXT_MAX, &node.os);
    json_take_text_opt(&r, "kernel", WIRE_NODE_TEXT_MAX, &node.kernel);
    json_take_text_opt(&r, "arch", WIRE_NODE_TEXT_MAX, &node.arch);
    json_take_text_opt(&r, "cpu_model", WIRE_NODE_TEXT_MAX, &node.cpu_model);
    json_take_text_opt(&r, "driver", WIRE_NODE_TEXT_MAX, &node.driver);
    json_take_text_opt(&r, "cuda", WIRE_NODE_TEXT_MAX, &node.cuda);
    json_take_i64_opt(&r, "cpu_threads", 0, THREADS_MAX, &node.cpu_threads);
    json_take_i64_opt(&r, "memory_bytes", 0, COUNT_MAX, &node.memory_bytes);
    json_take_i64_opt(&r, "disk_bytes", 0, COUNT_MAX, &node.disk_bytes);
    json_take_i64_opt(&r, "host_reserve_bytes", 0, COUNT_MAX, &node.host_reserve_bytes);
    json_take_array_opt(&r, "gpus", WIRE_NODE_GPUS_MAX, &gpus);
    TRY(json_reader_end(&r));
    TRY(take_gpus(arena, gpus, path, &node, err));
    *ret_node = node;
    return OK;
}

static enum err_code take_value(const json_t *value, const char *path, double min, double max,
                                double *ret_value, struct err *err)
{
    double number = json_is_number(value) ? json_number_value(value) : (double)NAN;

    if (!json_is_null(value) && !(number >= min && number <= max))
        return err_set_field(err, ERR_INVALID, "samples", "%s: is null, or a number from %g to %g",
                             path, min, max);
    *ret_value = number;
    return OK;
}

static enum err_code take_node_values(const json_t *array, const char *path,
                                      struct wire_sample *sample, struct err *err)
{
    char at[PATH_BYTES];

    if (json_array_size(array) != NODE_VALUE_COUNT)
        return err_set_field(err, ERR_INVALID, "samples", "%snode: has not %d numbers", path,
                             NODE_VALUE_COUNT);
    for (size_t i = 0; i < NODE_VALUE_COUNT; i++) {
        (void)snprintf(at, sizeof at, "%.40snode[%zu]", path, i);
        TRY(take_value(json_array_get(array, i), at, node_limits[i].min, node_limits[i].max,
                       &sample->node[i], err));
    }
    return OK;
}

static enum err_code take_gpu_values(struct arena *arena, const json_t *array, const char *path,
                                     struct wire_sample *sample, struct err *err)
{
    char at[PATH_BYTES];

    sample->gpu_count = json_array_size(array);
    sample->gpus = arena_array(arena, sample->gpu_count, sizeof sample->gpus[0]);
    for (size_t i = 0; i < sample->gpu_count; i++) {
        const json_t *values = json_array_get(array, i);

        if (json_array_size(values) != GPU_VALUE_COUNT)
            return err_set_field(err, ERR_INVALID, "samples", "%sgpus[%zu]: has not %d numbers",
                                 path, i, GPU_VALUE_COUNT);
        for (size_t k = 0; k < GPU_VALUE_COUNT; k++) {
            (void)snprintf(at, sizeof at, "%.40sgpus[%zu][%zu]", path, i, k);
            TRY(take_value(json_array_get(values, k), at, gpu_limits[k].min, gpu_limits[k].max,
                           &sample->gpus[i][k], err));
        }
    }
    return OK;
}

static enum err_code take_places(const json_t *array, size_t gpu_count, const char *path,
                                 uint64_t *ret_gpus, struct err *err)
{
    uint64_t gpus = 0;

    for (size_t i = 0; i < json_array_size(array); i++) {
        const json_t *place = json_array_get(array, i);
        json_int_t at = json_is_integer(place) ? json_integer_value(place) : -1;

        if (at < 0 || at >= (json_int_t)gpu_count)
            return err_set_field(err, ERR_INVALID, "samples",
                                 "%sgpus[%zu]: is a number from 0 to %zu", path, i,
                                 gpu_count ? gpu_count - 1 : 0);
        gpus |= UINT64_C(1) << at;
    }
    *ret_gpus = gpus;
    return OK;
}

static enum err_code take_use(json_t *object, size_t gpu_count, const char *path,
                              struct wire_sample_use *ret_use, struct err *err)
{
    struct wire_sample_use use = {.percent = (double)NAN};
    json_t *gpus = NULL, *percent = NULL;
    struct str attempt = {0};
    struct json_reader r;
    char at[PATH_BYTES];

    json_reader_init(&r, object, path, err);
    json_take_text(&r, "attempt", ID_LEN, &attempt);
    json_take_array_opt(&r, "gpus", WIRE_NODE_GPUS_MAX, &gpus);
    json_take_i64_opt(&r, "energy_mj", 0, ENERGY_MJ_MAX, &use.energy_mj);
    json_take_any_opt(&r, "percent", &percent);
    TRY(json_reader_end(&r));
    if (!id_parse(attempt, ID_ATTEMPT, &use.attempt))
        return err_set_field(err, ERR_INVALID, "samples", "%sattempt: is not an attempt's id",
                             path);
    TRY(take_places(gpus, gpu_count, path, &use.gpus, err));
    (void)snprintf(at, sizeof at, "%.60spercent", path);
    if (percent)
        TRY(take_value(percent, at, 0, 100, &use.percent, err));
    *ret_use = use;
    return OK;
}

static enum err_code take_uses(struct arena *arena, json_t *array, const char *path,
                               struct wire_sample *sample, struct err *err)
{
    size_t count = json_array_size(array);
    struct wire_sample_use *uses = arena_array(arena, count, sizeof uses[0]);
    char at[PATH_BYTES];

    for (size_t i = 0; i < count; i++) {
        (void)snprintf(at, sizeof at, "%.40sattempts[%zu].", path, i);
        TRY(take_use(json_array_get(array, i), sample->gpu_count, at, &uses[i], err));
    }
    sample->uses = uses;
    sample->use_count = count;
    return OK;
}

static enum err_code take_sample(struct arena *arena, json_t *object, size_t index,
                                 struct wire_sample *ret_sample, struct err *err)
{
    struct wire_sample sample = {0};
    json_t *node = NULL, *gpus = NULL, *attempts = NULL;
    struct json_reader r;
    char path[PATH_BYTES];

    (void)snprintf(path, sizeof path, "samples[%zu].", index);
    json_reader_init_strict(&r, object, path, err);
    json_take_i64(&r, "number", 1, NUMBER_MAX, &sample.number);
    json_take_i64(&r, "age_ms", 0, WIRE_SAMPLE_AGE_MAX, &sample.age_ms);
    json_take_array_opt(&r, "node", NODE_VALUE_COUNT, &node);
    json_take_array_opt(&r, "gpus", WIRE_NODE_GPUS_MAX, &gpus);
    json_take_array_opt(&r, "attempts", WIRE_NODE_GPUS_MAX, &attempts);
    TRY(json_reader_end(&r));
    TRY(take_node_values(node, path, &sample, err));
    TRY(take_gpu_values(arena, gpus, path, &sample, err));
    TRY(take_uses(arena, attempts, path, &sample, err));
    *ret_sample = sample;
    return OK;
}

static enum err_code take_uuids(struct arena *arena, const json_t *array,
                                struct wire_samples *samples, struct err *err)
{
    size_t count = json_array_size(array);
    struct str *uuids = arena_array(arena, count, sizeof uuids[0]);

    for (size_t i = 0; i < count; i++) {
        const json_t *text = json_array_get(array, i);

        uuids[i] = str_n(json_string_value(text), json_string_length(text));
        if (!uuids[i].len || uuids[i].len > WIRE_UUID_BYTES_MAX || str_has_control(uuids[i]))
            return err_set_field(err, ERR_INVALID, "gpus", "gpus[%zu]: is a text of 1 to %d bytes",
                                 i, WIRE_UUID_BYTES_MAX);
        for (size_t k = 0; k < i; k++)
            if (str_eq(uuids[k], uuids[i]))
                return err_set_field(err, ERR_INVALID, "gpus", "gpus: \"%.*s\" is there twice",
                                     STR_ARG(uuids[i]));
    }
    samples->gpus = uuids;
    samples->gpu_count = count;
    return OK;
}

enum err_code wire_samples_decode(struct arena *arena, json_t *body,
                                  struct wire_samples *ret_samples, struct err *err)
{
    struct wire_samples all = {0};
    json_t *gpus = NULL, *list = NULL;
    struct wire_sample *samples;
    struct json_reader r;

    json_reader_init_strict(&r, body, "", err);
    json_take_text(&r, "boot", WIRE_BOOT_LEN, &all.boot);
    json_take_array_opt(&r, "gpus", WIRE_NODE_GPUS_MAX, &gpus);
    json_take_array_opt(&r, "samples", WIRE_SAMPLES_MAX, &list);
    TRY(json_reader_end(&r));
    TRY(take_uuids(arena, gpus, &all, err));
    all.sample_count = json_array_size(list);
    samples = arena_array(arena, all.sample_count, sizeof samples[0]);
    for (size_t i = 0; i < all.sample_count; i++) {
        TRY(take_sample(arena, json_array_get(list, i), i, &samples[i], err));
        if (samples[i].gpu_count > all.gpu_count)
            return err_set_field(err, ERR_INVALID, "samples",
                                 "samples[%zu].gpus: has more GPUs than the list", i);
        if (i > 0 && samples[i].number <= samples[i - 1].number)
            return err_set_field(err, ERR_INVALID, "samples",
                                 "samples[%zu].number: is not above the one before", i);
    }
    all.samples = samples;
    *ret_samples = all;
    return OK;
}
