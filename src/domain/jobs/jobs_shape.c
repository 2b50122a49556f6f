/* The text of a shape: JSON with what is not the default, in one order. */
#include "domain/jobs/jobs_shape.h"

#include "base/json.h"

#define SHAPE_BYTES_MAX 65536

static void put_i64(struct json_writer *w, const char *key, int64_t value)
{
    json_put_key(w, key);
    json_put_i64(w, value);
}

struct str job_shape_encode(const struct job_shape *s, struct arena *arena)
{
    CLEANUP(buf_release) struct buf out = {0};
    struct json_writer w;

    buf_init(&out, SHAPE_BYTES_MAX);
    json_writer_init(&w, &out);
    json_begin_object(&w);
    if (s->gpu_type_count) {
        json_put_key(&w, "gpu_types");
        json_begin_array(&w);
        for (size_t i = 0; i < s->gpu_type_count; i++)
            json_put_str(&w, s->gpu_types[i]);
        json_end_array(&w);
    }
    if (s->gpu_memory_bytes)
        put_i64(&w, "gpu_memory_bytes", s->gpu_memory_bytes);
    if (s->needs)
        put_i64(&w, "needs", (int64_t)s->needs);
    if (s->step_count) {
        json_put_key(&w, "steps");
        json_begin_array(&w);
        for (size_t i = 0; i < s->step_count; i++) {
            json_begin_object(&w);
            put_i64(&w, "target", s->steps[i].target.v);
            put_i64(&w, "wait_ms", s->steps[i].wait_ms);
            json_end_object(&w);
        }
        json_end_array(&w);
    }
    if (s->excluded_count) {
        json_put_key(&w, "excluded");
        json_begin_array(&w);
        for (size_t i = 0; i < s->excluded_count; i++)
            json_put_i64(&w, s->excluded[i].v);
        json_end_array(&w);
    }
    json_end_object(&w);
    return arena_copy(arena, buf_str(&out));
}

static enum err_code take_step(json_t *object, struct job_step *ret_step, struct err *err)
{
    struct json_reader r;

    json_reader_init(&r, object, "steps.", err);
    json_take_i64(&r, "target", 0, INT64_MAX, &ret_step->target.v);
    json_take_i64(&r, "wait_ms", 0, INT64_MAX, &ret_step->wait_ms);
    return json_reader_end(&r);
}

static struct str text_of(json_t *value)
{
    return str_n(json_string_value(value), json_string_length(value));
}

static void take_types(json_t *array, struct arena *arena, struct job_shape *shape)
{
    struct str *types = arena_array(arena, json_array_size(array), sizeof *types);

    shape->gpu_type_count = json_array_size(array);
    for (size_t i = 0; i < shape->gpu_type_count; i++)
        types[i] = arena_copy(arena, text_of(json_array_get(array, i)));
    shape->gpu_types = types;
}

static void take_excluded(json_t *array, struct arena *arena, struct job_shape *shape)
{
    agent_id *excluded = arena_array(arena, json_array_size(array), sizeof *excluded);

    shape->excluded_count = json_array_size(array);
    for (size_t i = 0; i < shape->excluded_count; i++)
        excluded[i].v = json_integer_value(json_array_get(array, i));
    shape->excluded = excluded;
}

enum err_code job_shape_decode(struct str text, struct arena *arena, struct job_shape *ret_shape,
                               struct err *err)
{
    CLEANUP(json_release) json_t *json = NULL;
    json_t *types = NULL, *steps = NULL, *excluded = NULL;
    struct job_shape shape = {0};
    struct json_reader r;
    int64_t needs = 0;

    TRY(json_parse(text, SHAPE_BYTES_MAX, &json, err));
    json_reader_init(&r, json, "", err);
    json_take_array_opt(&r, "gpu_types", JOB_GPU_TYPES_MAX, &types);
    json_take_i64_opt(&r, "gpu_memory_bytes", 0, INT64_MAX, &shape.gpu_memory_bytes);
    json_take_i64_opt(&r, "needs", 0, INT64_MAX, &needs);
    json_take_array_opt(&r, "steps", JOB_STEPS_MAX, &steps);
    json_take_array_opt(&r, "excluded", JOB_EXCLUDED_MAX, &excluded);
    TRY(json_reader_end(&r));
    shape.needs = (uint64_t)needs;
    if (types)
        take_types(types, arena, &shape);
    if (excluded)
        take_excluded(excluded, arena, &shape);
    if (steps) {
        struct job_step *list = arena_array(arena, json_array_size(steps), sizeof *list);
        shape.step_count = json_array_size(steps);
        for (size_t i = 0; i < shape.step_count; i++)
            TRY(take_step(json_array_get(steps, i), &list[i], err));
        shape.steps = list;
    }
    *ret_shape = shape;
    return OK;
}
