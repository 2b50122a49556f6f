/* Answering chart queries: open every run, find the range of x, fill buckets. A series has a grid
 * of its own; where runs are to be grouped, all share one. */
#include "domain/metrics/metrics.h"

#include "domain/metrics/crossed.h"
#include "domain/metrics/group.h"
#include "domain/metrics/reading.h"
#include "store/store_run.h"

#define PARTS_MAX 16 /* that a query is cut into */

/* A query while it is being answered. The metric of the x-axis, if there is one, is the last of
 * `metrics`. */
struct answering {
    struct cmd *cmd;
    project_id project;
    const struct metric_query *query;
    metric_id *metrics;
    size_t metric_count;
    struct walker *walker;
    struct run_reading *runs, *hidden; /* hidden: NULL unless it is asked for */
    size_t run_count;                  /* that are to be read */
    struct metric_answer *answer;
};

static bool has_range(int64_t lo, int64_t hi)
{
    return lo <= hi;
}

static void sum_up(struct metric_series_answer *series, size_t buckets)
{
    series->bucket_count = bucket_squeeze(series->buckets, buckets);
    for (size_t i = 0; i < series->bucket_count; i++) {
        series->count += series->buckets[i].count;
        series->not_finite += series->buckets[i].not_finite;
    }
}

/* Some of a run's writers: all, or those of one rank or host. */
struct selection {
    const struct run_reading *run;
    size_t *writers; /* indexes */
    size_t count;
};

static struct reading_part *parts_of(struct answering *a, const struct selection *s, size_t m)
{
    struct reading_part *parts = s->run->parts[m], *some;

    if (s->count == s->run->writer_count)
        return parts;
    some = arena_array(a->cmd->arena, s->count, sizeof *some);
    for (size_t i = 0; i < s->count; i++)
        some[i] = parts[s->writers[i]];
    return some;
}

static enum err_code read_series(struct answering *a, const struct selection *s, size_t m,
                                 struct metric_series_answer *series, struct err *err)
{
    struct reading_range range = reading_range_of(a->query, &s->run->run);
    struct reading_part *parts = parts_of(a, s, m);
    int64_t lo = INT64_MAX, hi = INT64_MIN;
    struct bucket_grid grid;

    if (a->query->axis == AXIS_METRIC)
        return crossed_read(&(struct crossing){a->cmd, a->walker, a->query},
                            parts_of(a, s, a->metric_count - 1), parts, s->count, series, err);
    reading_extent(parts, s->count, &range, &lo, &hi);
    if (!has_range(lo, hi))
        return OK;
    grid = bucket_grid_make(lo, hi, a->query->buckets);
    series->buckets = arena_array(a->cmd->arena, (size_t)grid.count, sizeof *series->buckets);
    TRY(reading_fill(a->walker, parts, s->count, &range,
                     &(struct reading_buckets){&grid, series->buckets}, err));
    sum_up(series, (size_t)grid.count);
    return OK;
}

static bool same_label(const struct answering *a, const struct writer *w, const struct writer *v)
{
    switch (a->query->split) {
    case SPLIT_NONE: return true;
    case SPLIT_RANK: return w->rank == v->rank;
    case SPLIT_HOST: return str_eq(w->host, v->host);
    }
    return true;
}

/* The writers that have the label of writer `first`, unless an earlier one has it too: then 0. */
static size_t select_label(const struct answering *a, const struct run_reading *run, size_t first,
                           size_t *ret_writers)
{
    size_t count = 0;

    for (size_t i = 0; i < run->writer_count; i++) {
        if (!same_label(a, &run->writers[i].writer, &run->writers[first].writer))
            continue;
        if (i < first)
            return 0;
        ret_writers[count++] = i;
    }
    return count;
}

static enum err_code too_many_series(struct err *err)
{
    return err_set_field(
        err, ERR_INVALID, "by",
        "the query gives more than %d series: ask for fewer runs, metrics or no \"by\"",
        METRIC_SERIES_MAX);
}

/* The series of one metric of a run, one a label. */
static enum err_code add_series(struct answering *a, const struct run_reading *run, size_t m,
                                bool is_hidden, struct err *err)
{
    struct metric_answer *answer = a->answer;
    struct selection s = {.run = run};

    s.writers = arena_array(a->cmd->arena, run->writer_count, sizeof *s.writers);
    for (size_t first = 0; first < run->writer_count; first++) {
        const struct writer *w = &run->writers[first].writer;
        struct metric_series_answer series = {.run = run->run.public_id,
                                              .metric = a->query->metrics[m],
                                              .is_hidden = is_hidden,
                                              .rank = w->rank,
                                              .host = w->host};
        s.count = select_label(a, run, first, s.writers);
        if (s.count == 0)
            continue;
        TRY(read_series(a, &s, m, &series, err));
        if (series.count == 0)
            continue;
        if (answer->series_count == METRIC_SERIES_MAX)
            return too_many_series(err);
        answer->series[answer->series_count++] = series;
    }
    return OK;
}

static size_t series_most(const struct answering *a)
{
    size_t most = 0;

    for (size_t i = 0; i < a->run_count; i++) {
        bool split = a->query->split != SPLIT_NONE;
        most += split ? a->runs[i].writer_count : 1;
        if (a->hidden)
            most += split ? a->hidden[i].writer_count : 1;
    }
    return MIN(most * a->query->metric_count, (size_t)METRIC_SERIES_MAX);
}

/* Reads the series of the runs that are open. */
static enum err_code read_runs(struct answering *a, struct err *err)
{
    a->answer->series = arena_array(a->cmd->arena, series_most(a), sizeof *a->answer->series);
    for (size_t i = 0; i < a->run_count; i++)
        for (size_t m = 0; m < a->query->metric_count; m++) {
            TRY(add_series(a, &a->runs[i], m, false, err));
            if (a->hidden)
                TRY(add_series(a, &a->hidden[i], m, true, err));
        }
    return OK;
}

/* The means of all runs in the buckets of one grid, then the groups out of them. */
static enum err_code group_metric(struct answering *a, const struct str *keys, size_t m,
                                  struct err *err)
{
    struct group_table table = {.keys = keys,
                                .run_count = a->run_count,
                                .metric = a->query->metrics[m],
                                .bucket_count = (size_t)a->query->buckets};
    int64_t lo = INT64_MAX, hi = INT64_MIN;
    struct bucket_grid grid;

    for (size_t i = 0; i < a->run_count; i++) {
        struct reading_range range = reading_range_of(a->query, &a->runs[i].run);
        reading_extent(a->runs[i].parts[m], a->runs[i].writer_count, &range, &lo, &hi);
    }
    if (!has_range(lo, hi))
        return OK;
    grid = bucket_grid_make(lo, hi, a->query->buckets);
    group_table_init(&table, a->cmd->arena);
    for (size_t i = 0; i < a->run_count; i++) {
        CLEANUP(arena_release) struct arena arena = {0};
        struct reading_range range = reading_range_of(a->query, &a->runs[i].run);
        struct metric_bucket *buckets = arena_array(&arena, table.bucket_count, sizeof *buckets);
        TRY(reading_fill(a->walker, a->runs[i].parts[m], a->runs[i].writer_count, &range,
                         &(struct reading_buckets){&grid, buckets}, err));
        group_table_put(&table, i, buckets);
    }
    group_table_sum(&table, a->cmd->arena, a->answer);
    return OK;
}

static enum err_code answer_groups(struct answering *a, struct err *err)
{
    struct str *keys = arena_array(a->cmd->arena, a->run_count, sizeof *keys);

    for (size_t i = 0; i < a->run_count; i++) {
        struct str config = {0};
        TRY(store_run_doc_get(a->cmd->store, a->runs[i].run.id, RUN_DOC_CONFIG, a->cmd->arena,
                              &config, err));
        keys[i] = group_key(config, a->query->group_by, a->cmd->arena);
    }
    a->answer->groups = arena_array(a->cmd->arena, a->run_count * a->query->metric_count,
                                    sizeof(*a->answer->groups));
    for (size_t m = 0; m < a->query->metric_count; m++)
        TRY(group_metric(a, keys, m, err));
    return OK;
}

/* A name may stand for a metric and for a system sample: the metric comes first. */
static enum err_code find_metric(struct cmd *cmd, project_id project, struct str name,
                                 metric_id *ret_id, struct err *err)
{
    metric_id ids[2] = {{0}, {0}};
    size_t count = 0;

    TRY(store_metric_name_find(cmd->store, project, name, ids, &count, err));
    *ret_id = count ? ids[0] : (metric_id){0};
    return OK;
}

static enum err_code find_metrics(struct answering *a, struct err *err)
{
    const struct metric_query *q = a->query;
    bool crossed = q->axis == AXIS_METRIC;

    a->metric_count = q->metric_count + crossed;
    a->metrics = arena_array(a->cmd->arena, a->metric_count, sizeof *a->metrics);
    for (size_t m = 0; m < a->metric_count; m++)
        TRY(find_metric(a->cmd, a->project, m < q->metric_count ? q->metrics[m] : q->x_metric,
                        &a->metrics[m], err));
    return OK;
}

static enum err_code open_run(struct answering *a, size_t index, struct err *err)
{
    const struct metric_query *q = a->query;
    struct run_reading *reading = &a->runs[a->run_count];
    struct run run;

    TRY(store_run_get(a->cmd->store, &q->runs[index], a->cmd->arena, &run, err));
    if (run.project.v != a->project.v)
        return err_set_field(err, ERR_NOT_FOUND, "runs", "run %s is not in this project",
                             q->runs[index].text);
    struct reading_choice choice = {a->metrics, a->metric_count, SERIES_VISIBLE};
    TRY(reading_open(a->cmd, &run, &choice, reading, err));
    a->answer->versions[index] = reading->version;
    if (q->since && q->since[index] == reading->version)
        return OK;
    choice.part = SERIES_HIDDEN;
    if (a->hidden)
        TRY(reading_open(a->cmd, &run, &choice, &a->hidden[a->run_count], err));
    a->run_count++;
    return OK;
}

/* Opens the query's runs from `from` to `to`. */
static enum err_code open_runs(struct answering *a, size_t from, size_t to, struct err *err)
{
    a->runs = arena_array(a->cmd->arena, to - from, sizeof *a->runs);
    if (a->query->hidden)
        a->hidden = arena_array(a->cmd->arena, to - from, sizeof *a->hidden);
    for (size_t i = from; i < to; i++)
        TRY(open_run(a, i, err));
    return OK;
}

/* A query for series in parts: each takes some of the runs, from the first byte to the last. */
struct parted {
    const struct answering *all;
    size_t parts;
    struct metric_answer *answers; /* of each part */
};

static enum err_code answer_part(void *ctx, size_t part, struct cmd *cmd, struct err *err)
{
    CLEANUP(walker_release) struct walker *walker = walker_new(cmd);
    struct parted *p = ctx;
    struct answering a = *p->all;
    size_t runs = a.query->run_count;

    a.cmd = cmd;
    a.walker = walker;
    a.answer = &p->answers[part];
    a.answer->versions = p->all->answer->versions; /* each writes its own */
    TRY(open_runs(&a, part * runs / p->parts, (part + 1) * runs / p->parts, err));
    return read_runs(&a, err);
}

static enum err_code answer_series(struct answering *a, struct err *err)
{
    struct parted p = {.all = a, .parts = MIN(a->query->run_count, (size_t)PARTS_MAX)};
    size_t count = 0;

    p.answers = arena_array(a->cmd->arena, p.parts, sizeof *p.answers);
    TRY(cmd_answer_parts(a->cmd, &(struct cmd_parts){&p, p.parts, answer_part}, err));
    for (size_t i = 0; i < p.parts; i++)
        count += p.answers[i].series_count;
    if (count > METRIC_SERIES_MAX)
        return too_many_series(err);
    a->answer->series = arena_array(a->cmd->arena, count, sizeof *a->answer->series);
    for (size_t i = 0; i < p.parts; i++)
        for (size_t j = 0; j < p.answers[i].series_count; j++)
            a->answer->series[a->answer->series_count++] = p.answers[i].series[j];
    return OK;
}

enum err_code metrics_query(struct cmd *cmd, project_id project, const struct metric_query *query,
                            struct metric_answer *ret_answer, struct err *err)
{
    CLEANUP(walker_release) struct walker *walker = NULL;
    struct metric_answer answer = {
        .versions = arena_array(cmd->arena, query->run_count, sizeof *answer.versions)};
    struct answering a = {.cmd = cmd, .project = project, .query = query, .answer = &answer};

    ENSURE(query->buckets >= 1 && query->buckets <= METRIC_BUCKETS_MAX);
    TRY(find_metrics(&a, err));
    if (query->group_by.len) {
        a.walker = walker = walker_new(cmd);
        TRY(open_runs(&a, 0, query->run_count, err));
        TRY(answer_groups(&a, err));
    } else {
        TRY(answer_series(&a, err));
    }
    *ret_answer = answer;
    return OK;
}
