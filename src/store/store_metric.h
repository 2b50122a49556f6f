/* Metric names, facts and chunks in the store. thread: owner of the store; may block */
#pragma once

#include "model/metric.h"
#include "store/store.h"

/* One entry of a writer's dictionary. */
struct writer_name {
    uint32_t local_id;
    metric_id metric;
    enum metric_kind kind;
};

/* The number of a name in its project, made when it is new. */
MUST_CHECK enum err_code store_metric_name_intern(struct store *store, project_id project,
                                                  enum metric_kind kind, struct str name,
                                                  metric_id *ret_id, struct err *err);
/* Numbers of a name: at most one per kind. */
MUST_CHECK enum err_code store_metric_name_find(struct store *store, project_id project,
                                                struct str name, metric_id ret_ids[2],
                                                size_t *ret_count, struct err *err);
MUST_CHECK enum err_code store_writer_name_set(struct store *store, writer_id writer,
                                               const struct writer_name *name, struct err *err);
/* The numbers of a writer from `from` to `to` (each included) that it gave a name, ordered, with
 * what the run knows of their metrics: facts.id, and count 0 when that is nothing yet. */
struct writer_facts {
    uint32_t local_id;
    struct metric_facts facts;
};
struct writer_facts_range {
    run_id run;
    writer_id writer;
    uint32_t from, to;
};
MUST_CHECK enum err_code store_writer_facts_list(struct store *store,
                                                 const struct writer_facts_range *range,
                                                 struct arena *arena,
                                                 struct writer_facts **ret_facts, size_t *ret_count,
                                                 struct err *err);
/* The whole dictionary, ordered by local id. */
MUST_CHECK enum err_code store_writer_name_list(struct store *store, writer_id writer,
                                                struct arena *arena, struct writer_name **ret_names,
                                                size_t *ret_count, struct err *err);

/* Count 0 when nothing is known yet. */
MUST_CHECK enum err_code store_run_metric_get(struct store *store, run_id run, metric_id metric,
                                              struct metric_facts *ret_facts, struct err *err);
MUST_CHECK enum err_code store_run_metric_set(struct store *store, run_id run,
                                              const struct metric_facts *facts, struct err *err);
MUST_CHECK enum err_code store_run_metric_delete(struct store *store, run_id run, metric_id metric,
                                                 struct err *err);
/* Ordered by name, then kind. Empty texts: all. */
struct metric_filter {
    int kind; /* enum metric_kind, -1: both */
    struct str prefix, contains;
    struct str after; /* paging: what comes after this name and kind */
    enum metric_kind after_kind;
    int limit;
};
MUST_CHECK enum err_code store_run_metric_list(struct store *store, run_id run,
                                               const struct metric_filter *filter,
                                               struct arena *arena, struct metric_facts **ret_facts,
                                               size_t *ret_count, struct err *err);
/* Names alone, one by one; `name` is gone after the call. *more is true before it. */
struct metric_visit {
    void *ctx;
    enum err_code (*take)(void *ctx, struct str name, enum metric_kind kind, bool *more,
                          struct err *err);
};
MUST_CHECK enum err_code store_run_metric_each(struct store *store, run_id run,
                                               const struct metric_filter *filter,
                                               const struct metric_visit *visit, struct err *err);
MUST_CHECK enum err_code store_run_metric_named(struct store *store, run_id run, struct str name,
                                                enum metric_kind kind, struct arena *arena,
                                                struct metric_facts *ret_facts, struct err *err);

MUST_CHECK enum err_code store_chunk_insert(struct store *store, const struct metric_series *series,
                                            const struct metric_chunk *chunk, struct err *err);
/* Full chunk `seq` of a series, from 0; with its times if they are wanted, whoever has them. */
struct store_chunk_choice {
    int64_t seq;
    bool timed;
};
MUST_CHECK enum err_code store_chunk_get(struct store *store, const struct metric_series *series,
                                         struct store_chunk_choice choice, struct arena *arena,
                                         struct str *ret_data, struct err *err);

/* Fills in the rest from run, metric and writer; count 0 and an empty range when there is none. */
MUST_CHECK enum err_code store_series_get(struct store *store, struct metric_series *series,
                                          struct err *err);
/* The chunk of the points after the last full one, which are there. */
MUST_CHECK enum err_code store_series_tail(struct store *store, const struct metric_series *series,
                                           struct arena *arena, struct str *ret_data,
                                           struct err *err);
/* `tail` len 0: none. ERR_CONFLICT: its log_offset is no longer `expected_offset` (0: there was
 * none). */
MUST_CHECK enum err_code store_series_set(struct store *store, const struct metric_series *series,
                                          struct str tail, int64_t expected_offset,
                                          struct err *err);
/* What is stored of a level under `seq`; with its times if they are wanted, whoever has them. Those
 * of the levels above the first are always there. */
struct store_level_choice {
    int level;
    int64_t seq;
    bool timed;
};
MUST_CHECK enum err_code store_level_get(struct store *store, const struct metric_series *series,
                                         struct store_level_choice choice, struct arena *arena,
                                         struct str *ret_data, struct err *err);
MUST_CHECK enum err_code store_level_set(struct store *store, const struct metric_series *series,
                                         const struct metric_level *level, struct err *err);

/* float64 as an int64 of the same order (-NaN < -inf < ... < inf < NaN), and back; exact. */
int64_t float_to_bits(double value);
double float_from_bits(int64_t bits);
