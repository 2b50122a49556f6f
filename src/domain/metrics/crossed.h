/* Charts of one metric over another: their points are matched where the same log() call gave both.
 * thread: any owner of a store */
#pragma once

#include "domain/metrics/reading.h"

/* `x` and `y`: the parts of both metrics, writer by writer. Points whose x is not finite or outside
 * of the query's range are left out. Fills the series' counts and buckets. */
struct crossing {
    struct cmd *cmd;
    struct walker *walker;
    const struct metric_query *query;
};
MUST_CHECK enum err_code crossed_read(const struct crossing *crossing, const struct reading_part *x,
                                      const struct reading_part *y, size_t count,
                                      struct metric_series_answer *series, struct err *err);
