/* Grouping. The spread is that between runs: a run counts once in a bucket, however many points it
 * has there. */
#include "domain/metrics/group.h"

#include "base/json.h"

#include <math.h>
#include <stdlib.h>

#define CONFIG_BYTES_MAX (16u * 1024 * 1024)

/* Goes down the path, taking as many of its parts as one key as it can. */
static json_t *find_value(json_t *config, struct str path, struct arena *arena)
{
    json_t *at = config;

    while (at && path.len) {
        struct str key = path;
        json_t *next = NULL;
        while (!next && key.len) {
            next = json_object_get(at, arena_text(arena, key));
            if (next)
                break;
            while (key.len && key.data[key.len - 1] != '.')
                key.len--;
            key.len -= key.len > 0; /* the dot */
        }
        if (!next)
            return NULL;
        path = str_n(path.data + key.len, path.len - key.len);
        if (path.len)
            path = str_n(path.data + 1, path.len - 1);
        at = next;
    }
    return at;
}

struct str group_key(struct str config, struct str path, struct arena *arena)
{
    CLEANUP(json_release) json_t *doc = NULL;
    CLEANUP(buf_release) struct buf out = {0};
    struct json_writer w;
    json_t *value;

    if (config.len == 0 || json_parse(config, CONFIG_BYTES_MAX, &doc, NULL) != OK)
        return STR("null");
    value = find_value(doc, path, arena);
    if (!value)
        return STR("null");
    buf_init(&out, CONFIG_BYTES_MAX);
    json_writer_init(&w, &out);
    json_put_value(&w, value);
    return arena_copy(arena, buf_str(&out));
}

void group_table_init(struct group_table *t, struct arena *arena)
{
    t->means = arena_array(arena, t->run_count * t->bucket_count, sizeof *t->means);
    t->x_first = arena_array(arena, t->bucket_count, sizeof *t->x_first);
    t->x_last = arena_array(arena, t->bucket_count, sizeof *t->x_last);
    t->has_points = arena_array(arena, t->run_count, sizeof *t->has_points);
    for (size_t b = 0; b < t->bucket_count; b++) {
        t->x_first[b] = INT64_MAX;
        t->x_last[b] = INT64_MIN;
    }
}

void group_table_put(struct group_table *t, size_t run, const struct metric_bucket *buckets)
{
    for (size_t b = 0; b < t->bucket_count; b++) {
        t->means[run * t->bucket_count + b] = buckets[b].count ? bucket_mean(&buckets[b]) : NAN;
        if (buckets[b].count == 0)
            continue;
        t->has_points[run] = true;
        t->x_first[b] = MIN(t->x_first[b], buckets[b].x_first);
        t->x_last[b] = MAX(t->x_last[b], buckets[b].x_last);
    }
}

static int compare_numbers(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

/* `values`: 1 or more, finite or overflown sums; they are sorted. */
static struct metric_group_bucket statistics(double *values, size_t count)
{
    struct metric_group_bucket b = {.runs = (int64_t)count};
    double squares = 0;

    qsort(values, count, sizeof *values, compare_numbers);
    b.min = values[0];
    b.max = values[count - 1];
    b.median = count % 2 ? values[count / 2] : (values[count / 2 - 1] + values[count / 2]) / 2;
    for (size_t i = 0; i < count; i++)
        b.mean += values[i] / (double)count;
    for (size_t i = 0; i < count; i++)
        squares += (values[i] - b.mean) * (values[i] - b.mean);
    b.deviation = count > 1 ? sqrt(squares / (double)(count - 1)) : 0;
    return b;
}

static void sum_group(const struct group_table *t, struct str key, struct arena *arena,
                      struct metric_group *group)
{
    double *values = arena_array(arena, t->run_count, sizeof *values);

    group->buckets = arena_array(arena, t->bucket_count, sizeof *group->buckets);
    for (size_t b = 0; b < t->bucket_count; b++) {
        size_t count = 0;
        for (size_t i = 0; i < t->run_count; i++) {
            double mean = t->means[i * t->bucket_count + b];
            if (!isnan(mean) && str_eq(t->keys[i], key))
                values[count++] = mean;
        }
        if (count == 0)
            continue;
        group->buckets[group->bucket_count] = statistics(values, count);
        group->buckets[group->bucket_count].x_first = t->x_first[b];
        group->buckets[group->bucket_count++].x_last = t->x_last[b];
    }
}

void group_table_sum(const struct group_table *t, struct arena *arena, struct metric_answer *answer)
{
    size_t begin = answer->group_count;

    for (size_t i = 0; i < t->run_count; i++) {
        struct metric_group *group = NULL;
        if (!t->has_points[i])
            continue;
        for (size_t g = begin; g < answer->group_count && !group; g++)
            if (str_eq(answer->groups[g].key, t->keys[i]))
                group = &answer->groups[g];
        if (!group) {
            group = &answer->groups[answer->group_count++];
            *group = (struct metric_group){.key = t->keys[i], .metric = t->metric};
            sum_group(t, t->keys[i], arena, group);
        }
        group->runs++;
    }
}
