/* Runs grouped by a value of their configuration: statistics over the means that the runs of a
 * group have in each bucket of a common grid. Pure. thread: any */
#pragma once

#include "domain/metrics/bucket.h"

/* The JSON of the value at a dotted path ("optimizer.lr") of a configuration; "null" when there is
 * none. A key that has dots itself is found too. */
struct str group_key(struct str config, struct str path, struct arena *arena);

/* Runs by buckets. Keys, counts and metric are the caller's. */
struct group_table {
    const struct str *keys; /* by run */
    size_t run_count, bucket_count;
    struct str metric;
    double *means;             /* run by run; NaN: no finite point */
    int64_t *x_first, *x_last; /* by bucket, over all runs */
    bool *has_points;          /* by run */
};
void group_table_init(struct group_table *table, struct arena *arena);
/* Takes over what a run has in the buckets. */
void group_table_put(struct group_table *table, size_t run, const struct metric_bucket *buckets);
/* Adds the groups, in the order in which their keys first come, to answer->groups, which has room
 * for one a run. */
void group_table_sum(const struct group_table *table, struct arena *arena,
                     struct metric_answer *answer);
