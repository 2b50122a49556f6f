/* Columns of an hour. Series are as many as the readings with the most places have; a reading with
 * fewer has not known the others. */
#include "store/chunk/hour.h"

#include <math.h>

#define VERSION      1
#define HEADER_BYTES 4
#define BUCKETS_MAX  HOUR_SAMPLES_MAX

struct writer {
    uint8_t *data;
    size_t len;
};

static void put_header(struct writer *w, int places, size_t count)
{
    w->data[0] = VERSION;
    w->data[1] = (uint8_t)places;
    w->data[2] = (uint8_t)count;
    w->data[3] = (uint8_t)(count >> 8);
    w->len = HEADER_BYTES;
}

static int places_of(const struct node_sample *samples, size_t count)
{
    int places = 0;

    for (size_t i = 0; i < count; i++)
        places = MAX(places, samples[i].places);
    return places;
}

static double value_of(const struct node_sample *sample, int series)
{
    return series < NODE_SERIES * (1 + sample->places) ? sample->values[series] : (double)NAN;
}

struct str hour_encode(struct column_coder *coder, time_ms hour, const struct node_sample *samples,
                       size_t count, struct arena *arena)
{
    int places = places_of(samples, count), series = NODE_SERIES * (1 + places);
    int64_t times[HOUR_SAMPLES_MAX];
    double values[HOUR_SAMPLES_MAX];
    struct writer w = {.data = arena_alloc(arena, HEADER_BYTES +
                                                      (size_t)(1 + series) *
                                                          (COLUMN_HEADER_BYTES + count * 8 + 64) +
                                                      COLUMN_BYTES_MAX)};

    ENSURE(count > 0 && count <= HOUR_SAMPLES_MAX && places <= NODE_GPUS_MAX);
    put_header(&w, places, count);
    for (size_t i = 0; i < count; i++)
        times[i] = samples[i].at - hour;
    w.len += column_put_ints(coder, times, count, w.data + w.len);
    for (int s = 0; s < series; s++) {
        for (size_t i = 0; i < count; i++)
            values[i] = value_of(&samples[i], s);
        w.len += column_put_floats(coder, values, count, w.data + w.len);
    }
    return str_n((const char *)w.data, w.len);
}

/* What the buckets have of one series. */
struct tally {
    size_t count; /* of buckets */
    int64_t numbers[BUCKETS_MAX], counts[BUCKETS_MAX];
    double mins[BUCKETS_MAX], maxs[BUCKETS_MAX], sums[BUCKETS_MAX];
};

static void add(struct tally *t, size_t at, double value)
{
    if (value != value)
        return;
    t->mins[at] = t->counts[at] ? MIN(t->mins[at], value) : value;
    t->maxs[at] = t->counts[at] ? MAX(t->maxs[at], value) : value;
    t->sums[at] = t->counts[at] ? t->sums[at] + value : value;
    t->counts[at]++;
}

/* Least, greatest and sum of the buckets that have any, close together. */
static void put_tally(struct column_coder *coder, struct tally *t, struct writer *w)
{
    size_t kept = 0;

    w->len += column_put_ints(coder, t->counts, t->count, w->data + w->len);
    for (size_t i = 0; i < t->count; i++) {
        if (!t->counts[i])
            continue;
        t->mins[kept] = t->mins[i];
        t->maxs[kept] = t->maxs[i];
        t->sums[kept++] = t->sums[i];
    }
    if (!kept)
        return;
    w->len += column_put_floats(coder, t->mins, kept, w->data + w->len);
    w->len += column_put_floats(coder, t->maxs, kept, w->data + w->len);
    w->len += column_put_floats(coder, t->sums, kept, w->data + w->len);
}

struct str hour_buckets_encode(struct column_coder *coder, time_ms hour, int64_t bucket_ms,
                               const struct node_sample *samples, size_t count, struct arena *arena)
{
    int places = places_of(samples, count), series = NODE_SERIES * (1 + places);
    struct tally *t = ARENA_NEW(arena, struct tally);
    size_t room = MIN(count, (size_t)(NODE_HOUR_MS / bucket_ms) + 1);
    struct writer w = {.data = arena_alloc(arena, HEADER_BYTES +
                                                      (size_t)(1 + 4 * series) *
                                                          (COLUMN_HEADER_BYTES + room * 8 + 64) +
                                                      COLUMN_BYTES_MAX)};

    ENSURE(count > 0 && count <= HOUR_SAMPLES_MAX && places <= NODE_GPUS_MAX);
    for (size_t i = 0; i < count; i++) {
        int64_t number = (samples[i].at - hour) / bucket_ms;
        if (!t->count || t->numbers[t->count - 1] != number)
            t->numbers[t->count++] = number;
    }
    put_header(&w, places, t->count);
    w.len += column_put_ints(coder, t->numbers, t->count, w.data + w.len);
    for (int s = 0; s < series; s++) {
        size_t at = 0;
        memset(t->counts, 0, sizeof t->counts);
        for (size_t i = 0; i < count; i++) {
            at += (samples[i].at - hour) / bucket_ms != t->numbers[at];
            add(t, at, value_of(&samples[i], s));
        }
        put_tally(coder, t, &w);
    }
    return str_n((const char *)w.data, w.len);
}

static enum err_code take_header(struct str *rest, int *ret_series, size_t *ret_count,
                                 struct err *err)
{
    const uint8_t *data = (const uint8_t *)rest->data;

    if (rest->len < HEADER_BYTES || data[0] != VERSION || data[1] > NODE_GPUS_MAX)
        return err_set(err, ERR_IO, "an hour of readings is damaged, or of a later version");
    *ret_series = NODE_SERIES * (1 + data[1]);
    *ret_count = (size_t)data[2] | (size_t)data[3] << 8;
    if (*ret_count == 0 || *ret_count > HOUR_SAMPLES_MAX)
        return err_set(err, ERR_IO, "an hour of readings is damaged");
    *rest = str_n(rest->data + HEADER_BYTES, rest->len - HEADER_BYTES);
    return OK;
}

enum err_code hour_read(struct column_coder *coder, struct str data, time_ms hour,
                        const struct hour_sink *sink, struct err *err)
{
    int64_t times[HOUR_SAMPLES_MAX];
    double values[HOUR_SAMPLES_MAX];
    size_t count;
    int series;

    TRY(take_header(&data, &series, &count, err));
    TRY(column_take_ints(coder, &data, count, times, err));
    for (int s = 0; s < series; s++) {
        TRY(column_take_floats(coder, &data, count, values, err));
        for (size_t i = 0; i < count; i++) {
            struct hour_part part = {hour + times[i], 1, values[i], values[i], values[i]};
            if (values[i] == values[i])
                sink->take(sink->ctx, s, &part);
        }
    }
    return OK;
}

static enum err_code read_series(struct column_coder *coder, struct str *data, struct tally *t,
                                 struct err *err)
{
    size_t kept = 0;

    TRY(column_take_ints(coder, data, t->count, t->counts, err));
    for (size_t i = 0; i < t->count; i++)
        kept += t->counts[i] > 0;
    if (!kept)
        return OK;
    TRY(column_take_floats(coder, data, kept, t->mins, err));
    TRY(column_take_floats(coder, data, kept, t->maxs, err));
    return column_take_floats(coder, data, kept, t->sums, err);
}

enum err_code hour_buckets_read(struct column_coder *coder, struct str data, time_ms hour,
                                int64_t bucket_ms, const struct hour_sink *sink, struct err *err)
{
    CLEANUP(arena_release) struct arena arena = {0};
    struct tally *t = ARENA_NEW(&arena, struct tally);
    int series;

    TRY(take_header(&data, &series, &t->count, err));
    TRY(column_take_ints(coder, &data, t->count, t->numbers, err));
    for (int s = 0; s < series; s++) {
        size_t at = 0;
        TRY(read_series(coder, &data, t, err));
        for (size_t i = 0; i < t->count; i++) {
            if (t->counts[i] <= 0)
                continue;
            struct hour_part part = {hour + t->numbers[i] * bucket_ms, t->counts[i], t->mins[at],
                                     t->maxs[at], t->sums[at]};
            at++;
            sink->take(sink->ctx, s, &part);
        }
    }
    return OK;
}
