/* What the metrics of a run mean, as its script said with define_metric: which figure is shown as
 * the value of a metric, what is better, which metric it is drawn over. Pure.
 *
 * A definition is for one name, or for all names that begin like it when it ends in '*'. For a
 * metric one definition counts, whole: the one with exactly its name, else the longest beginning.
 * thread: any */
#pragma once

#include "base/arena.h"
#include "base/json.h"
#include "model/metric.h"
#include "model/run.h"

struct definition {
    struct str name;         /* that of a metric, or the beginning of names and '*' */
    struct str step_metric;  /* len 0: none */
    enum metric_stat figure; /* shown as the value; STAT_END: none is */
    enum metric_goal goal;
};

/* From the record of a log; texts are the record's. False: something in it cannot be. A goal that
 * comes without a figure means the least or the greatest value. */
bool definition_take(const json_t *record, struct definition *ret_definition);
/* Puts it into an object of definitions by name, in the place of the one with that name. False: the
 * object has METRIC_DEFINED_MAX others. */
bool definition_put(json_t *object, const struct definition *definition);
/* What comes later replaces what there is, name by name, as far as there is room. */
void definitions_join(json_t *object, json_t *later);

/* Those of one run, ready to be looked up. */
struct definitions {
    struct definition *items; /* whole names in order, then beginnings, longest first */
    size_t count, exact_count;
};
/* From the JSON text of such an object; len 0: none. */
void definitions_read(struct str body, struct arena *arena, struct definitions *ret_definitions);
/* The one that counts for a metric; NULL: none. */
const struct definition *definitions_find(const struct definitions *definitions, struct str name);
/* What `name` is drawn over by a definition (or NULL); len 0: its steps. */
struct str definition_axis(const struct definition *definition, struct str name);

/* "none" for STAT_END, and back (STAT_LAST for what cannot be). */
const char *definition_figure_name(enum metric_stat figure);
enum metric_stat definition_figure_from_name(struct str name);

/* One figure of a metric; *ret_step: where it was, STEP_NONE: it is of no single step. */
double metric_figure(const struct metric_facts *facts, enum metric_stat figure, int64_t *ret_step);
