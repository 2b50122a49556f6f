/* Values of runs, indexed by value and by run. thread: owner of the store; may block */
#pragma once

#include "base/arena.h"
#include "model/attribute.h"
#include "store/store.h"

/* The key, made when it is new. */
MUST_CHECK enum err_code store_attribute_key_intern(struct store *store, project_id project,
                                                    enum attribute_space space, struct str name,
                                                    attribute_key_id *ret_id, struct err *err);
/* ERR_NOT_FOUND: no run of the project ever had it. */
MUST_CHECK enum err_code store_attribute_key_get(struct store *store, project_id project,
                                                 enum attribute_space space, struct str name,
                                                 struct attribute_key *ret_key, struct err *err);
struct attribute_key_filter {
    int space;         /* enum attribute_space, -1: all */
    struct str search; /* part of the name, ASCII case ignored; len 0: all */
    int64_t skip;
    int limit;
};
/* Those that differ between runs first, then by how many runs have them. */
MUST_CHECK enum err_code store_attribute_key_list(struct store *store, project_id project,
                                                  const struct attribute_key_filter *filter,
                                                  struct arena *arena,
                                                  struct attribute_key **ret_keys,
                                                  size_t *ret_count, struct err *err);

/* The keys of definitions that a metric may have: beginnings of its name, the shortest first, then
 * its name itself. */
MUST_CHECK enum err_code store_attribute_defined_list(struct store *store, project_id project,
                                                      struct str metric, struct arena *arena,
                                                      struct attribute_key **ret_keys,
                                                      size_t *ret_count, struct err *err);

/* All values of a run in one space (-1: in all), in no order that means anything. */
MUST_CHECK enum err_code store_attribute_list(struct store *store, run_id run, int space,
                                              struct arena *arena, struct attribute **ret_values,
                                              size_t *ret_count, struct err *err);
/* Values of one key of a run: several only of tags. */
MUST_CHECK enum err_code store_attribute_get(struct store *store, run_id run, attribute_key_id key,
                                             struct arena *arena, struct attribute **ret_values,
                                             size_t *ret_count, struct err *err);
/* Adds or removes one value and keeps the numbers of its key. `counts_run`: the run has no other
 * value of this key. */
MUST_CHECK enum err_code store_attribute_add(struct store *store, run_id run,
                                             const struct attribute *value, bool counts_run,
                                             struct err *err);
MUST_CHECK enum err_code store_attribute_remove(struct store *store, run_id run,
                                                const struct attribute *value, bool counts_run,
                                                struct err *err);

/* Visits the values of a key between two bounds (both included), in order. */
struct attribute_walk {
    attribute_key_id key;
    enum attribute_kind kind;
    int64_t low, high;   /* of all kinds but text */
    struct str from, to; /* of ATTRIBUTE_TEXT; `to.data` NULL: to the end */
    bool descending;
    void *ctx;
    /* `value` is valid during the call. False ends the walk. */
    bool (*visit)(void *ctx, run_id run, const struct attribute *value);
};
/* As store_attribute_walk, in no order, without the values: `visit` of the walk is not called.
 * The fastest way to know which runs have a value in a range. */
MUST_CHECK enum err_code store_attribute_runs(struct store *store,
                                              const struct attribute_walk *walk,
                                              void (*visit)(void *ctx, run_id run),
                                              struct err *err);
MUST_CHECK enum err_code store_attribute_walk(struct store *store,
                                              const struct attribute_walk *walk, struct err *err);

/* Lowest and highest id among the runs of a project; both 0 when it has none. */
MUST_CHECK enum err_code store_run_id_range(struct store *store, project_id project,
                                            run_id *ret_low, run_id *ret_high, struct err *err);
/* How many with an id up to `newest`. */
MUST_CHECK enum err_code store_run_count(struct store *store, project_id project, int64_t newest,
                                         int64_t *ret_count, struct err *err);
/* Visits the runs of a project, newest first. */
struct run_walk {
    project_id project;
    int64_t newest; /* ids up to this one */
    void *ctx;
    bool (*visit)(void *ctx, run_id run);
};
MUST_CHECK enum err_code store_run_walk(struct store *store, const struct run_walk *walk,
                                        struct err *err);
/* Visits runs with notes (whole). */
struct run_notes_walk {
    project_id project;
    void *ctx;
    enum err_code (*visit)(void *ctx, run_id run, struct str notes, struct err *err);
};
MUST_CHECK enum err_code store_run_notes_walk(struct store *store,
                                              const struct run_notes_walk *walk, struct err *err);
struct live_run {
    run_id run;
    int64_t started; /* ms since 1970 */
};
MUST_CHECK enum err_code store_run_live_list(struct store *store, project_id project,
                                             struct arena *arena, struct live_run **ret_runs,
                                             size_t *ret_count, struct err *err);

/* Runs whose values were indexed by an older version of the rules. */
MUST_CHECK enum err_code store_run_unindexed(struct store *store, int version, int limit,
                                             run_id *ret_ids, size_t *ret_count, struct err *err);
MUST_CHECK enum err_code store_run_indexed_set(struct store *store, run_id run, int version,
                                               struct err *err);

/* Visits the runs that have a metric, with one figure of it, which may differ from run to run. */
struct metric_runs_walk {
    metric_id metric;
    unsigned figures; /* a bit for each that some run has: 1u << STAT_MIN */
    void *ctx;
    enum metric_stat (*figure)(void *ctx, run_id run); /* STAT_END: it is left out */
    bool (*visit)(void *ctx, run_id run, double value);
};
MUST_CHECK enum err_code
store_metric_runs_walk(struct store *store, const struct metric_runs_walk *walk, struct err *err);
/* Runs that have a metric, newest first. */
MUST_CHECK enum err_code store_metric_runs_newest(struct store *store, metric_id metric, int limit,
                                                  struct arena *arena, run_id **ret_runs,
                                                  size_t *ret_count, struct err *err);
struct metric_column {
    struct str name;
    int64_t run_count; /* at most METRIC_COLUMN_RUNS_MAX */
};
#define METRIC_COLUMN_RUNS_MAX 1000
/* By name, after `after`; `search` as above. */
MUST_CHECK enum err_code store_metric_columns(struct store *store, project_id project,
                                              const struct attribute_key_filter *filter,
                                              struct arena *arena,
                                              struct metric_column **ret_columns, size_t *ret_count,
                                              struct err *err);
