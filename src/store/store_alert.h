/* Alerts in the store. thread: owner of the store; may block */
#pragma once

#include "model/run.h"
#include "store/store.h"

struct alert_place {
    project_id project;
    run_id run;
    writer_id writer; /* 0: it is the server's own */
    int64_t offset;   /* of its record in the log: each is stored once */
};
MUST_CHECK enum err_code store_alert_insert(struct store *store, const struct alert_place *place,
                                            const struct alert *alert, struct err *err);
/* Newest first, ids below `before_id` (0: all), of a project or (run.v not 0) of one run. */
struct alert_filter {
    project_id project;
    run_id run;
    int64_t before_id;
    int limit;
};
MUST_CHECK enum err_code store_alert_list(struct store *store, const struct alert_filter *filter,
                                          struct arena *arena, struct alert **ret_alerts,
                                          size_t *ret_count, struct err *err);
