/* The filter language of the runs table: text in, a small program out. Pure.
 *
 *     state = finished and (config.lr < 0.01 or tags = keep) and created > "7d ago"
 *
 * docs/filtering.md has the grammar. A program is a list of steps in postfix order: each step puts
 * a set of runs on a stack, or joins those on top. The program lives in the arena, its regular
 * expressions until filter_release. thread: one at a time */
#pragma once

#include "base/regex.h"
#include "base/timeval.h"
#include "domain/runs/run_key.h"

#define FILTER_BYTES_MAX       4000
#define FILTER_TERMS_MAX       64
#define FILTER_DEPTH_MAX       32
#define FILTER_VALUES_MAX      200 /* of one in (...) */
#define FILTER_TEXT_BYTES_MAX  512
#define FILTER_REGEX_COUNT_MAX 8

enum filter_op {
    FILTER_EQ,
    FILTER_LT,
    FILTER_LE,
    FILTER_GT,
    FILTER_GE,
    FILTER_IN,
    FILTER_CONTAINS, /* part of a text, ASCII case ignored */
    FILTER_MATCH,    /* regular expression */
    FILTER_NULL,     /* the run has no such value */
};

enum filter_value_kind { VALUE_NUMBER, VALUE_BOOL, VALUE_TEXT };
struct filter_value {
    enum filter_value_kind kind;
    double number; /* also 0 or 1 of a bool; ms of a time and a duration, millionths of money */
    struct str text;
};

struct filter_term {
    struct run_key key;
    enum filter_op op;
    const struct filter_value *values; /* one; several of FILTER_IN; none of FILTER_NULL */
    size_t value_count;
    struct regex *regex; /* of FILTER_MATCH */
    int column;          /* of the key, in characters from 1 */
};

enum filter_step_kind { FILTER_STEP_TERM, FILTER_STEP_NOT, FILTER_STEP_AND, FILTER_STEP_OR };
struct filter_step {
    enum filter_step_kind kind;
    struct filter_term *term; /* of FILTER_STEP_TERM */
};

struct filter {
    struct filter_step *steps; /* none: every run */
    size_t count;
};

/* `now` is what "7d ago" counts from. ERR_INVALID with err->column, in characters from 1. */
MUST_CHECK enum err_code filter_parse(struct str text, time_ms now, struct arena *arena,
                                      struct filter *ret_filter, struct err *err);
void filter_release(struct filter *filter); /* accepts a zeroed filter */
