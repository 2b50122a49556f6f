/* Metric names, facts and chunks: part of sql/statements/ingest.sql. */
#include "store/store_metric.h"

#include "store/db.h"

int64_t float_to_bits(double value)
{
    int64_t bits;

    memcpy(&bits, &value, sizeof bits);
    return bits < 0 ? bits ^ INT64_MAX : bits;
}

double float_from_bits(int64_t bits)
{
    double value;

    bits = bits < 0 ? bits ^ INT64_MAX : bits;
    memcpy(&value, &bits, sizeof value);
    return value;
}

enum err_code store_metric_name_intern(struct store *store, project_id project,
                                       enum metric_kind kind, struct str name, metric_id *ret_id,
                                       struct err *err)
{
    enum err_code code = db__number(
        store->db, SQL_METRIC_NAME_GET,
        ARGS(ARG_I64("project_id", project.v), ARG_I64("kind", kind), ARG_TEXT("name", name)),
        &ret_id->v, err);

    if (code != ERR_NOT_FOUND)
        return code;
    TRY(db__run(
        store->db, SQL_METRIC_NAME_INSERT,
        ARGS(ARG_I64("project_id", project.v), ARG_I64("kind", kind), ARG_TEXT("name", name)), NULL,
        err));
    return db__number(
        store->db, SQL_METRIC_NAME_GET,
        ARGS(ARG_I64("project_id", project.v), ARG_I64("kind", kind), ARG_TEXT("name", name)),
        &ret_id->v, err);
}

enum err_code store_metric_name_find(struct store *store, project_id project, struct str name,
                                     metric_id ret_ids[2], size_t *ret_count, struct err *err)
{
    CLEANUP(db__result_release) struct db_result r = {0};
    size_t count = 0;
    bool row = false;

    TRY(db__query(store->db, SQL_METRIC_ID_FIND,
                  ARGS(ARG_I64("project_id", project.v), ARG_TEXT("name", name)), &r, err));
    for (TRY(db__next(&r, &row, err)); row; TRY(db__next(&r, &row, err)))
        ret_ids[count++] = (metric_id){db__i64(&r, 0)};
    *ret_count = count;
    return OK;
}

enum err_code store_writer_name_set(struct store *store, writer_id writer,
                                    const struct writer_name *name, struct err *err)
{
    return db__run(store->db, SQL_WRITER_NAME_SET,
                   ARGS(ARG_I64("writer_id", writer.v), ARG_I64("local_id", name->local_id),
                        ARG_I64("metric_id", name->metric.v)),
                   NULL, err);
}

enum err_code store_writer_name_get(struct store *store, writer_id writer, uint32_t local_id,
                                    metric_id *ret_id, struct err *err)
{
    return db__number(store->db, SQL_WRITER_NAME_GET,
                      ARGS(ARG_I64("writer_id", writer.v), ARG_I64("local_id", local_id)),
                      &ret_id->v, err);
}

enum err_code store_writer_name_list(struct store *store, writer_id writer, struct arena *arena,
                                     struct writer_name **ret_names, size_t *ret_count,
                                     struct err *err)
{
    CLEANUP(db__result_release) struct db_result r = {0};
    struct writer_name *names = NULL;
    size_t count = 0, room = 0;
    bool row = false;

    TRY(db__query(store->db, SQL_WRITER_NAME_LIST,
                  ARGS(ARG_I64("writer_id", writer.v), ARG_I64("after_local_id", -1),
                       ARG_I64("limit", METRIC_NAMES_MAX + 1)),
                  &r, err));
    for (TRY(db__next(&r, &row, err)); row; TRY(db__next(&r, &row, err))) {
        if (count == room) {
            struct writer_name *more = arena_array(arena, room * 2 + 64, sizeof *more);
            if (count)
                memcpy(more, names, count * sizeof *more);
            names = more;
            room = room * 2 + 64;
        }
        names[count++] = (struct writer_name){
            .local_id = (uint32_t)db__i64(&r, 0),
            .metric = {db__i64(&r, 1)},
            .kind = (enum metric_kind)db__i64(&r, 2),
        };
    }
    *ret_names = names;
    *ret_count = count;
    return OK;
}

enum err_code store_run_metric_get(struct store *store, run_id run, metric_id metric,
                                   struct metric_facts *ret_facts, struct err *err)
{
    CLEANUP(db__result_release) struct db_result r = {0};
    bool row = false;

    TRY(db__query(store->db, SQL_RUN_METRIC_GET,
                  ARGS(ARG_I64("run_id", run.v), ARG_I64("metric_id", metric.v)), &r, err));
    TRY(db__next(&r, &row, err));
    *ret_facts = (struct metric_facts){.id = metric};
    if (!row)
        return OK;
    ret_facts->count = db__i64(&r, 0);
    ret_facts->finite_count = db__i64(&r, 1);
    ret_facts->last_step = db__i64(&r, 2);
    ret_facts->last = float_from_bits(db__i64(&r, 3));
    ret_facts->min = float_from_bits(db__i64(&r, 4));
    ret_facts->max = float_from_bits(db__i64(&r, 5));
    return OK;
}

enum err_code store_run_metric_set(struct store *store, run_id run, const struct metric_facts *f,
                                   struct err *err)
{
    return db__run(store->db, SQL_RUN_METRIC_SET,
                   ARGS(ARG_I64("run_id", run.v), ARG_I64("metric_id", f->id.v),
                        ARG_I64("point_count", f->count), ARG_I64("finite_count", f->finite_count),
                        ARG_I64("last_step", f->last_step),
                        ARG_I64("last_bits", float_to_bits(f->last)),
                        ARG_I64("min_bits", float_to_bits(f->min)),
                        ARG_I64("max_bits", float_to_bits(f->max))),
                   NULL, err);
}

/* 'prefix%' for LIKE; "" for none. */
static struct str like_prefix(struct arena *arena, struct str prefix)
{
    char *out;
    size_t len = 0;

    if (prefix.len == 0)
        return STR("");
    out = arena_alloc(arena, prefix.len * 2 + 2);
    for (size_t i = 0; i < prefix.len; i++) {
        if (prefix.data[i] == '%' || prefix.data[i] == '_' || prefix.data[i] == '!')
            out[len++] = '!';
        out[len++] = prefix.data[i];
    }
    out[len++] = '%';
    return str_n(out, len);
}

enum err_code store_run_metric_list(struct store *store, run_id run,
                                    const struct metric_filter *filter, struct arena *arena,
                                    struct metric_facts **ret_facts, size_t *ret_count,
                                    struct err *err)
{
    CLEANUP(db__result_release) struct db_result r = {0};
    struct metric_facts *facts = arena_array(arena, (size_t)filter->limit, sizeof *facts);
    size_t count = 0;
    bool row = false;

    TRY(db__query(store->db, SQL_RUN_METRIC_LIST,
                  ARGS(ARG_I64("run_id", run.v), ARG_I64("kind", filter->kind),
                       ARG_TEXT("after_name", filter->after),
                       ARG_TEXT("prefix_like", like_prefix(arena, filter->prefix)),
                       ARG_I64("limit", filter->limit)),
                  &r, err));
    for (TRY(db__next(&r, &row, err)); row; TRY(db__next(&r, &row, err)))
        facts[count++] = (struct metric_facts){
            .id = {db__i64(&r, 0)},
            .name = db__text(&r, 1, arena),
            .kind = (enum metric_kind)db__i64(&r, 2),
            .count = db__i64(&r, 3),
            .finite_count = db__i64(&r, 4),
            .last_step = db__i64(&r, 5),
            .last = float_from_bits(db__i64(&r, 6)),
            .min = float_from_bits(db__i64(&r, 7)),
            .max = float_from_bits(db__i64(&r, 8)),
        };
    *ret_facts = facts;
    *ret_count = count;
    return OK;
}

enum err_code store_chunk_set(struct store *store, const struct metric_chunk *c, struct err *err)
{
    return db__run(store->db, SQL_METRIC_CHUNK_SET,
                   ARGS(ARG_I64("run_id", c->run.v), ARG_I64("metric_id", c->metric.v),
                        ARG_I64("writer_id", c->writer.v), ARG_I64("seq", c->seq),
                        ARG_I64("point_count", c->count), ARG_I64("step_min", c->step_min),
                        ARG_I64("step_max", c->step_max), ARG_I64("at_min_ms", c->at_min),
                        ARG_I64("at_max_ms", c->at_max), ARG_BYTES("data", c->data)),
                   NULL, err);
}

static struct metric_chunk chunk_read(const struct db_result *r, struct arena *arena)
{
    return (struct metric_chunk){
        .seq = db__i64(r, 0),
        .count = db__i64(r, 1),
        .step_min = db__i64(r, 2),
        .step_max = db__i64(r, 3),
        .at_min = db__i64(r, 4),
        .at_max = db__i64(r, 5),
        .data = db__text(r, 6, arena),
    };
}

enum err_code store_chunk_newest(struct store *store, run_id run, metric_id metric,
                                 writer_id writer, struct arena *arena,
                                 struct metric_chunk *ret_chunk, struct err *err)
{
    CLEANUP(db__result_release) struct db_result r = {0};
    bool row = false;

    TRY(db__query(store->db, SQL_METRIC_CHUNK_NEWEST,
                  ARGS(ARG_I64("run_id", run.v), ARG_I64("metric_id", metric.v),
                       ARG_I64("writer_id", writer.v)),
                  &r, err));
    TRY(db__next(&r, &row, err));
    if (!row)
        return err_set(err, ERR_NOT_FOUND, "no chunk yet");
    *ret_chunk = chunk_read(&r, arena);
    ret_chunk->run = run;
    ret_chunk->metric = metric;
    ret_chunk->writer = writer;
    return OK;
}

enum err_code store_chunk_list(struct store *store, const struct chunk_range *range,
                               struct arena *arena, struct metric_chunk **ret_chunks,
                               size_t *ret_count, struct err *err)
{
    CLEANUP(db__result_release) struct db_result r = {0};
    struct metric_chunk *chunks = arena_array(arena, (size_t)range->limit, sizeof *chunks);
    size_t count = 0;
    bool row = false;

    TRY(db__query(store->db, SQL_METRIC_CHUNK_LIST,
                  ARGS(ARG_I64("run_id", range->run.v), ARG_I64("metric_id", range->metric.v),
                       ARG_I64("writer_id", range->writer.v),
                       ARG_I64("after_seq", range->after_seq),
                       ARG_I64("step_from", range->step_from), ARG_I64("step_to", range->step_to),
                       ARG_I64("at_from", range->at_from), ARG_I64("at_to", range->at_to),
                       ARG_I64("limit", range->limit)),
                  &r, err));
    for (TRY(db__next(&r, &row, err)); row; TRY(db__next(&r, &row, err)))
        chunks[count++] = chunk_read(&r, arena);
    *ret_chunks = chunks;
    *ret_count = count;
    return OK;
}
