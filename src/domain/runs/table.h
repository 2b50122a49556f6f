/* The runs table: which runs a filter finds, in the order of any key, page by page; in groups; and
 * which keys there are.
 *
 * Everything is answered from indexes (attributes.h, and what is known of metrics); no document is
 * read to find or order runs. Each comparison becomes a set of runs, a bit a run, read from one
 * range of one index; a page then walks the index of its sort key and takes those in the set.
 * thread: any owner of a store */
#pragma once

#include "base/json.h"
#include "domain/cmd.h"
#include "domain/runs/filter.h"
#include "model/attribute.h"
#include "model/run.h"

#define TABLE_COLUMNS_MAX  50
#define TABLE_GROUP_KEYS   3
#define TABLE_GROUPS_MAX   1000
#define TABLE_WARNINGS_MAX 8
#define TABLE_SKIP_MAX     10000000

struct table_find {
    project_id project;
    struct str filter;
    enum run_state state;   /* RUN_STATE_COUNT: any */
    struct str tag, search; /* len 0: any; search: part of name or id, ASCII case ignored */
};

struct table_query {
    struct table_find find;
    struct str sort;   /* a key, "-" before it: descending; len 0: newest first */
    struct str cursor; /* of the page before; len 0: from the first */
    int64_t skip;      /* runs to leave out at the start of the page */
    int limit;
    const struct str *columns; /* keys whose values each row carries */
    size_t column_count;
};

/* What a query noticed that is no error: keys that no run has. */
struct table_warnings {
    struct str items[TABLE_WARNINGS_MAX];
    size_t count;
};

/* Where a value comes from. */
struct table_figure {
    enum metric_stat stat; /* of a metric; STAT_END: it is the run's own word */
    int64_t step;          /* where the metric had it; STEP_NONE */
    enum metric_goal goal;
};

struct table_page {
    struct run *runs;
    size_t count;
    struct attribute *values;     /* count * column_count, row by row; kind 0: none */
    struct table_figure *figures; /* likewise */
    int64_t total;                /* of all pages, exact */
    const char *next_cursor;      /* NULL: the last page */
    struct table_warnings warnings;
};
/* ERR_INVALID with field and, for the filter, column. */
MUST_CHECK enum err_code table_list(struct cmd *cmd, const struct table_query *query,
                                    struct table_page *ret_page, struct err *err);

double table_number(const struct attribute *value); /* of a value that is a number */

struct table_group {
    struct attribute values[TABLE_GROUP_KEYS]; /* kind 0: the runs without */
    int64_t count;
    struct str filter; /* that finds exactly these runs, to be joined by "and" */
};
struct table_groups {
    struct table_group *groups; /* largest first */
    size_t count;
    int64_t group_count; /* all of them, also beyond TABLE_GROUPS_MAX */
    int64_t total;       /* runs */
    struct table_warnings warnings;
};
MUST_CHECK enum err_code table_group(struct cmd *cmd, const struct table_find *find,
                                     const struct str *keys, size_t key_count,
                                     struct table_groups *ret_groups, struct err *err);

struct table_column {
    struct str key; /* "config.lr" */
    int64_t run_count;
    int64_t value_count; /* -1: not counted (metrics) */
    bool more;           /* at least run_count */
};
/* Keys of configuration, summary and metrics whose name has `search` in it. */
MUST_CHECK enum err_code table_columns(struct cmd *cmd, project_id project, struct str search,
                                       int limit, struct table_column **ret_columns,
                                       size_t *ret_count, struct err *err);
