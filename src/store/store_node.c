/* Statements of sql/statements/node.sql as typed functions. A reading that is not packed is a
 * version, the number of places and its numbers as float64, little endian. */
#include "store/store_node.h"

#include "store/db.h"

#include <math.h>

#define SAMPLE_VERSION 1
#define SAMPLE_HEAD    2
#define HOURS_MAX      400 /* of one query: a week and some */
#define MINUTE_MS      60000
#define TENS_MS        600000

enum err_code store_node_get(struct store *store, agent_id agent, struct arena *arena,
                             struct node *ret_node, struct err *err)
{
    CLEANUP(db__result_release) struct db_result r = {0};
    bool row = false;

    TRY(db__query(store->db, SQL_NODE_GET, ARGS(ARG_I64("agent_id", agent.v)), &r, err));
    TRY(db__next(&r, &row, err));
    if (!row)
        return ERR_NOT_FOUND;
    *ret_node = (struct node){.agent = agent,
                              .facts = db__text(&r, 0, arena),
                              .boot = db__text(&r, 1, arena),
                              .sample_number = db__i64(&r, 2),
                              .sampled = db__i64(&r, 3),
                              .packed = db__i64(&r, 4)};
    return OK;
}

enum err_code store_node_set(struct store *store, agent_id agent, struct str facts, struct err *err)
{
    return db__run(store->db, SQL_NODE_SET,
                   ARGS(ARG_I64("agent_id", agent.v), ARG_TEXT("facts", facts)), NULL, err);
}

enum err_code store_node_gpus(struct store *store, agent_id agent, struct arena *arena,
                              struct node_gpu **ret_gpus, size_t *ret_count, struct err *err)
{
    CLEANUP(db__result_release) struct db_result r = {0};
    struct node_gpu *gpus = NULL;
    size_t count = 0, room = 0;
    bool row = false;

    TRY(db__query(store->db, SQL_NODE_GPU_LIST,
                  ARGS(ARG_I64("agent_id", agent.v), ARG_I64("limit", NODE_GPUS_MAX)), &r, err));
    for (TRY(db__next(&r, &row, err)); row; TRY(db__next(&r, &row, err))) {
        gpus = arena_more(arena, gpus, count, &room, sizeof *gpus);
        gpus[count++] = (struct node_gpu){
            .place = (int)db__i64(&r, 0),
            .uuid = db__text(&r, 1, arena),
            .name = db__text(&r, 2, arena),
            .type = db__text(&r, 3, arena),
            .bus_id = db__text(&r, 4, arena),
            .memory_kind = db__text(&r, 5, arena),
            .memory_bytes = db__i64(&r, 6),
            .mig = db__i64(&r, 7) != 0,
            .ill = db__text(&r, 8, arena),
            .ill_since = db__time(&r, 9),
            .used_by = db__text(&r, 10, arena),
            .seen = db__i64(&r, 11),
            .present = db__i64(&r, 12) != 0,
        };
    }
    *ret_gpus = gpus;
    *ret_count = count;
    return OK;
}

enum err_code store_node_gpu_put(struct store *store, agent_id agent, const struct node_gpu *g,
                                 struct err *err)
{
    return db__run(
        store->db, SQL_NODE_GPU_PUT,
        ARGS(ARG_I64("agent_id", agent.v), ARG_I64("place", g->place), ARG_TEXT("uuid", g->uuid),
             ARG_TEXT("name", g->name), ARG_TEXT("type", g->type), ARG_TEXT("bus_id", g->bus_id),
             ARG_TEXT("memory_kind", g->memory_kind), ARG_I64("memory_bytes", g->memory_bytes),
             ARG_BOOL("mig", g->mig), ARG_TEXT("ill", g->ill), ARG_TIME("ill_ms", g->ill_since),
             ARG_TEXT("used_by", g->used_by), ARG_I64("seen_ms", g->seen),
             ARG_BOOL("present", g->present)),
        NULL, err);
}

/* ---- Readings ---- */

static void put_u64(uint8_t *at, uint64_t value)
{
    for (int i = 0; i < 8; i++)
        at[i] = (uint8_t)(value >> (8 * i));
}

static uint64_t get_u64(const uint8_t *at)
{
    uint64_t value = 0;

    for (int i = 0; i < 8; i++)
        value |= (uint64_t)at[i] << (8 * i);
    return value;
}

static void sum_utilization(const struct node_sample *samples, size_t count, int64_t *ret_readings,
                            int64_t *ret_tenths)
{
    *ret_readings = *ret_tenths = 0;
    for (size_t i = 0; i < count; i++)
        for (int g = 0; g < samples[i].places; g++) {
            double percent = samples[i].values[NODE_SERIES * (1 + g)];
            if (!(percent >= 0))
                continue;
            *ret_readings += 1;
            *ret_tenths += (int64_t)(percent * 10 + 0.5);
        }
}

enum err_code store_node_sample_add(struct store *store, agent_id agent,
                                    const struct node_sample *sample, struct err *err)
{
    uint8_t data[SAMPLE_HEAD + sizeof sample->values];
    int count = NODE_SERIES * (1 + sample->places);
    int64_t readings, tenths;

    sum_utilization(sample, 1, &readings, &tenths);
    data[0] = SAMPLE_VERSION;
    data[1] = (uint8_t)sample->places;
    for (int i = 0; i < count; i++) {
        uint64_t bits;
        memcpy(&bits, &sample->values[i], sizeof bits);
        put_u64(data + SAMPLE_HEAD + 8 * i, bits);
    }
    return db__run(
        store->db, SQL_NODE_SAMPLE_INSERT,
        ARGS(ARG_I64("agent_id", agent.v), ARG_I64("at_ms", sample->at),
             ARG_I64("gpu_readings", readings), ARG_I64("gpu_tenths", tenths),
             ARG_BYTES("data", str_n((const char *)data, SAMPLE_HEAD + 8 * (size_t)count))),
        NULL, err);
}

static enum err_code sample_read(const struct db_result *r, struct node_sample *ret_sample,
                                 struct err *err)
{
    struct str data = db__view(r, 1);
    const uint8_t *bytes = (const uint8_t *)data.data;
    int count;

    if (data.len < SAMPLE_HEAD || bytes[0] != SAMPLE_VERSION || bytes[1] > NODE_GPUS_MAX ||
        data.len != SAMPLE_HEAD + 8 * NODE_SERIES * (1 + (size_t)bytes[1]))
        return err_set(err, ERR_IO, "a reading is damaged, or of a later version");
    ret_sample->at = db__i64(r, 0);
    ret_sample->places = bytes[1];
    count = NODE_SERIES * (1 + bytes[1]);
    for (int i = 0; i < count; i++) {
        uint64_t bits = get_u64(bytes + SAMPLE_HEAD + 8 * i);
        memcpy(&ret_sample->values[i], &bits, sizeof bits);
    }
    return OK;
}

enum err_code store_node_sampled(struct store *store, const struct node *node, struct err *err)
{
    return db__run(store->db, SQL_NODE_SAMPLED,
                   ARGS(ARG_I64("agent_id", node->agent.v), ARG_TEXT("boot", node->boot),
                        ARG_I64("sample_number", node->sample_number),
                        ARG_I64("sampled_ms", node->sampled)),
                   NULL, err);
}

enum err_code store_node_samples(struct store *store, agent_id agent, time_ms from, time_ms to,
                                 struct arena *arena, struct node_sample **ret_samples,
                                 size_t *ret_count, struct err *err)
{
    CLEANUP(db__result_release) struct db_result r = {0};
    struct node_sample *samples = NULL;
    size_t count = 0, room = 0;
    bool row = false;

    TRY(db__query(store->db, SQL_NODE_SAMPLE_LIST,
                  ARGS(ARG_I64("agent_id", agent.v), ARG_I64("from_ms", from), ARG_I64("to_ms", to),
                       ARG_I64("limit", HOUR_SAMPLES_MAX)),
                  &r, err));
    for (TRY(db__next(&r, &row, err)); row; TRY(db__next(&r, &row, err))) {
        samples = arena_more(arena, samples, count, &room, sizeof *samples);
        TRY(sample_read(&r, &samples[count++], err));
    }
    *ret_samples = samples;
    *ret_count = count;
    return OK;
}

enum err_code store_node_newest(struct store *store, agent_id agent, time_ms from,
                                struct node_sample *ret_sample, bool *ret_found, struct err *err)
{
    CLEANUP(db__result_release) struct db_result r = {0};

    *ret_found = false;
    TRY(db__query(store->db, SQL_NODE_SAMPLE_NEWEST,
                  ARGS(ARG_I64("agent_id", agent.v), ARG_I64("from_ms", from)), &r, err));
    TRY(db__next(&r, ret_found, err));
    return *ret_found ? sample_read(&r, ret_sample, err) : OK;
}

enum err_code store_node_due(struct store *store, time_ms before, agent_id *ret_agent,
                             time_ms *ret_oldest, struct err *err)
{
    CLEANUP(db__result_release) struct db_result r = {0};
    bool row = false;

    TRY(db__query(store->db, SQL_NODE_SAMPLE_DUE, ARGS(ARG_I64("before_ms", before)), &r, err));
    TRY(db__next(&r, &row, err));
    if (!row)
        return ERR_NOT_FOUND;
    ret_agent->v = db__i64(&r, 0);
    *ret_oldest = db__i64(&r, 1);
    return OK;
}

enum err_code store_node_pack(struct store *store, agent_id agent, time_ms hour,
                              struct arena *arena, struct err *err)
{
    CLEANUP(column_coder_release) struct column_coder *coder = column_coder_new();
    struct node_sample *samples;
    int64_t readings, tenths;
    size_t count = 0;

    TRY(store_node_samples(store, agent, hour, hour + NODE_HOUR_MS, arena, &samples, &count, err));
    if (count > 0) {
        sum_utilization(samples, count, &readings, &tenths);
        TRY(db__run(store->db, SQL_NODE_HOUR_INSERT,
                    ARGS(ARG_I64("agent_id", agent.v), ARG_I64("hour_ms", hour),
                         ARG_I64("gpu_readings", readings), ARG_I64("gpu_tenths", tenths),
                         ARG_BYTES("hour", hour_buckets_encode(coder, hour, NODE_HOUR_MS, samples,
                                                               count, arena)),
                         ARG_BYTES("tens", hour_buckets_encode(coder, hour, TENS_MS, samples, count,
                                                               arena)),
                         ARG_BYTES("minutes", hour_buckets_encode(coder, hour, MINUTE_MS, samples,
                                                                  count, arena)),
                         ARG_BYTES("samples", hour_encode(coder, hour, samples, count, arena))),
                    NULL, err));
    }
    TRY(db__run(store->db, SQL_NODE_SAMPLE_DELETE,
                ARGS(ARG_I64("agent_id", agent.v), ARG_I64("from_ms", hour),
                     ARG_I64("to_ms", hour + NODE_HOUR_MS)),
                NULL, err));
    return db__run(store->db, SQL_NODE_PACKED,
                   ARGS(ARG_I64("agent_id", agent.v), ARG_I64("packed_ms", hour + NODE_HOUR_MS)),
                   NULL, err);
}

enum err_code store_node_forget(struct store *store, time_ms before, int limit, bool *ret_more,
                                struct err *err)
{
    CLEANUP(arena_release) struct arena arena = {0};
    CLEANUP(db__result_release) struct db_result r = {0};
    struct hour_key {
        int64_t agent, hour;
    } *keys = arena_array(&arena, (size_t)limit, sizeof *keys);
    int count = 0;
    bool row = false;

    TRY(db__query(store->db, SQL_NODE_HOUR_OLD,
                  ARGS(ARG_I64("before_ms", before), ARG_I64("limit", limit)), &r, err));
    for (TRY(db__next(&r, &row, err)); row; TRY(db__next(&r, &row, err)))
        keys[count++] = (struct hour_key){db__i64(&r, 0), db__i64(&r, 1)};
    db__result_release(&r);
    for (int i = 0; i < count; i++)
        TRY(db__run(store->db, SQL_NODE_HOUR_DELETE,
                    ARGS(ARG_I64("agent_id", keys[i].agent), ARG_I64("hour_ms", keys[i].hour)),
                    NULL, err));
    *ret_more = count == limit;
    return OK;
}

enum err_code store_node_read(struct store *store, agent_id agent, time_ms from, time_ms to,
                              int64_t bucket_ms, const struct hour_sink *sink, struct err *err)
{
    CLEANUP(column_coder_release) struct column_coder *coder = column_coder_new();
    CLEANUP(db__result_release) struct db_result r = {0};
    enum sql_id sql = bucket_ms == 0           ? SQL_NODE_SAMPLES
                      : bucket_ms == MINUTE_MS ? SQL_NODE_MINUTES
                      : bucket_ms == TENS_MS   ? SQL_NODE_TENS
                                               : SQL_NODE_HOURS;
    bool row = false;

    TRY(db__query(store->db, sql,
                  ARGS(ARG_I64("agent_id", agent.v), ARG_I64("from_ms", from), ARG_I64("to_ms", to),
                       ARG_I64("limit", HOURS_MAX)),
                  &r, err));
    for (TRY(db__next(&r, &row, err)); row; TRY(db__next(&r, &row, err))) {
        if (bucket_ms == 0)
            TRY(hour_read(coder, db__view(&r, 1), db__i64(&r, 0), sink, err));
        else
            TRY(hour_buckets_read(coder, db__view(&r, 1), db__i64(&r, 0), bucket_ms, sink, err));
    }
    return OK;
}

enum err_code store_node_utilization(struct store *store, agent_id agent, time_ms from,
                                     int64_t *ret_readings, int64_t *ret_tenths, struct err *err)
{
    CLEANUP(db__result_release) struct db_result r = {0};
    bool row = false;

    TRY(db__query(store->db, SQL_NODE_USE,
                  ARGS(ARG_I64("agent_id", agent.v), ARG_I64("from_ms", from)), &r, err));
    TRY(db__next(&r, &row, err));
    ENSURE(row); /* sums have a row */
    *ret_readings = db__i64(&r, 0);
    *ret_tenths = db__i64(&r, 1);
    return OK;
}

/* ---- What attempts have of GPUs ---- */

enum err_code store_attempt_gpus_add(struct store *store, const struct attempt_gpus *g,
                                     struct err *err)
{
    TRY(db__run(store->db, SQL_ATTEMPT_GPU_ADD,
                ARGS(ARG_I64("attempt_id", g->attempt.v), ARG_I64("agent_id", g->agent.v),
                     ARG_TEXT("places", g->places), ARG_I64("at_ms", g->at),
                     ARG_I64("energy_mj", g->energy_mj), ARG_TIME("idle_ms", g->idle_since)),
                NULL, err));
    return db__run(store->db, SQL_ATTEMPT_ENERGY_ADD,
                   ARGS(ARG_I64("id", g->attempt.v), ARG_I64("energy_mj", g->energy_mj)), NULL,
                   err);
}

enum err_code store_node_uses(struct store *store, agent_id agent, time_ms from, time_ms to,
                              struct arena *arena, struct node_use **ret_uses, size_t *ret_count,
                              struct err *err)
{
    CLEANUP(db__result_release) struct db_result r = {0};
    struct node_use *uses = NULL;
    size_t count = 0, room = 0;
    bool row = false;

    TRY(db__query(store->db, SQL_ATTEMPT_GPU_LIST,
                  ARGS(ARG_I64("agent_id", agent.v), ARG_I64("from_ms", from), ARG_I64("to_ms", to),
                       ARG_I64("limit", NODE_USES_MAX)),
                  &r, err));
    for (TRY(db__next(&r, &row, err)); row; TRY(db__next(&r, &row, err))) {
        uses = arena_more(arena, uses, count, &room, sizeof *uses);
        uses[count++] = (struct node_use){
            .attempt = db__id(&r, 0),
            .job = db__id(&r, 1),
            .job_name = db__text(&r, 2, arena),
            .project = {db__i64(&r, 3)},
            .project_name = db__text(&r, 4, arena),
            .places = db__text(&r, 5, arena),
            .first = db__i64(&r, 6),
            .last = db__i64(&r, 7),
            .energy_mj = db__i64(&r, 8),
            .ended = db__time(&r, 9),
        };
    }
    *ret_uses = uses;
    *ret_count = count;
    return OK;
}

enum err_code store_node_jobs(struct store *store, agent_id agent, struct arena *arena,
                              struct node_job **ret_jobs, size_t *ret_count, struct err *err)
{
    CLEANUP(db__result_release) struct db_result r = {0};
    struct node_job *jobs = NULL;
    size_t count = 0, room = 0;
    bool row = false;

    TRY(db__query(store->db, SQL_NODE_JOB_LIST,
                  ARGS(ARG_I64("agent_id", agent.v), ARG_I64("limit", NODE_USES_MAX)), &r, err));
    for (TRY(db__next(&r, &row, err)); row; TRY(db__next(&r, &row, err))) {
        jobs = arena_more(arena, jobs, count, &room, sizeof *jobs);
        jobs[count++] = (struct node_job){
            .job = db__id(&r, 0),
            .name = db__text(&r, 1, arena),
            .project = {db__i64(&r, 2)},
            .project_name = db__text(&r, 3, arena),
            .attempt = db__id(&r, 4),
            .state = db__text(&r, 5, arena),
            .started = db__time(&r, 6),
            .cpus = db__i64(&r, 7),
            .gpus = db__i64(&r, 8),
            .places = db__text(&r, 9, arena),
            .energy_mj = db__i64(&r, 10),
            .idle = db__time(&r, 11),
        };
    }
    *ret_jobs = jobs;
    *ret_count = count;
    return OK;
}

enum err_code store_attempt_idle_list(struct store *store, int limit, struct arena *arena,
                                      struct idle_attempt **ret_list, size_t *ret_count,
                                      struct err *err)
{
    CLEANUP(db__result_release) struct db_result r = {0};
    struct idle_attempt *list = NULL;
    size_t count = 0, room = 0;
    bool row = false;

    TRY(db__query(store->db, SQL_ATTEMPT_IDLE_LIST, ARGS(ARG_I64("limit", limit)), &r, err));
    for (TRY(db__next(&r, &row, err)); row; TRY(db__next(&r, &row, err))) {
        list = arena_more(arena, list, count, &room, sizeof *list);
        list[count++] = (struct idle_attempt){
            .attempt = {db__i64(&r, 0)}, .job = {db__i64(&r, 1)}, .since = db__time(&r, 2)};
    }
    *ret_list = list;
    *ret_count = count;
    return OK;
}

enum err_code store_attempt_idle_set(struct store *store, attempt_id attempt, time_ms since,
                                     struct err *err)
{
    return db__run(store->db, SQL_ATTEMPT_IDLE_SET,
                   ARGS(ARG_I64("id", attempt.v), ARG_TIME("idle_ms", since)), NULL, err);
}
