/* From a filter to a set of runs. Private to the runs table. thread: any owner of a store */
#pragma once

#include "domain/runs/run_set.h"
#include "domain/runs/table.h"
#include "store/store_attribute.h"

/* What runs say of the metric of a key themselves: table_shown.h. */
struct table_shown {
    struct attribute_key *keys; /* definitions that some run has, which may be of the metric */
    size_t key_count;
    uint8_t *by_run;  /* once loaded: what each run shows */
    unsigned figures; /* a bit for each that some run has */
    int64_t low, count;
};

/* Where the values of a key come from. */
struct table_source {
    const struct run_key *key;
    attribute_key_id attribute; /* 0: no run has it */
    metric_id metric;           /* 0: none; the runs without an attribute show this metric */
    enum metric_stat stat;      /* of the metric, where the run says nothing else */
    struct table_shown shown;
    bool is_runtime; /* running runs have one too, which grows */
};

struct table_search {
    struct cmd *cmd;
    project_id project;
    struct run_set all; /* of the project; words NULL: not asked for yet */
    int64_t low, high;  /* ids of its runs */
    bool trash;         /* deleted runs are not gone yet: metrics still name them */
    struct live_run *live;
    size_t live_count;
    bool live_known;
    struct table_warnings *warnings;
};

MUST_CHECK enum err_code table__search_begin(struct table_search *s, struct cmd *cmd,
                                             project_id project, struct table_warnings *warnings,
                                             struct err *err);
MUST_CHECK enum err_code table__source(struct table_search *s, const struct run_key *key,
                                       struct table_source *ret_source, struct err *err);
/* Every run of the project; the set is the search's own. */
MUST_CHECK enum err_code table__all(struct table_search *s, const struct run_set **ret_all,
                                    struct err *err);
MUST_CHECK enum err_code table__live(struct table_search *s, struct err *err);
/* *ret_found is false when nothing is asked for: then every run is meant. */
MUST_CHECK enum err_code table__find(struct table_search *s, const struct table_find *find,
                                     struct run_set *ret_set, bool *ret_found, struct err *err);

/* One value of one run, as runs are ordered by it. */
struct table_cell {
    enum attribute_kind kind; /* ATTRIBUTE_KIND_END: the run has none */
    int64_t number;
    struct str text;
    run_id run;
};
/* Visits the values of a source in no order, texts valid during the call. */
MUST_CHECK enum err_code table__cells(struct table_search *s, const struct table_source *source,
                                      void *ctx,
                                      void (*visit)(void *ctx, const struct table_cell *cell),
                                      struct err *err);
