/* Which metrics the runs table offers as columns: not those of which every run said that no value
 * is shown, as such a column is empty. Private to the runs table. thread: any owner of a store */
#pragma once

#include "base/map.h"
#include "domain/cmd.h"

struct table_offer {
    struct cmd *cmd;
    project_id project;
    bool has_definitions; /* some run of the project said what a metric means */
    struct map known;     /* definitions of runs that were looked at */
};

MUST_CHECK enum err_code table__offer_begin(struct table_offer *offer, struct cmd *cmd,
                                            project_id project, struct err *err);
void table__offer_release(struct table_offer *offer);
/* *ret_offered false: the newest METRIC_COLUMN_RUNS_MAX runs with this metric show no value. */
MUST_CHECK enum err_code table__offered(struct table_offer *offer, struct str metric,
                                        bool *ret_offered, struct err *err);
