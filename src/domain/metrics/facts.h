/* The facts of a metric, point by point and part by part. The result does not depend on the order
 * in which parts come. Pure. thread: any */
#pragma once

#include "model/metric.h"

/* Facts that are all zero know no point. */
void metric_facts_add(struct metric_facts *facts, const struct metric_point *point);
/* `more` is about other points of the same metric. id, name and kind stay. */
void metric_facts_join(struct metric_facts *facts, const struct metric_facts *more);
