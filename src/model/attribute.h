/* Values that runs are filtered, sorted, grouped and listed by. thread: any */
#pragma once

#include "base/str.h"
#include "model/metric.h"

#define ATTRIBUTE_TEXT_BYTES_MAX 512
#define ATTRIBUTE_NAME_BYTES_MAX 512
#define ATTRIBUTES_A_DOC_MAX     1000 /* of one configuration or summary; the rest is not indexed */
#define ATTRIBUTE_DEPTH_MAX      16   /* deeper objects are kept as JSON text */

/* Runs indexed by older rules are indexed again; raise it with every change of the rules. */
#define RUN_INDEX_VERSION 2

typedef struct {
    int64_t v;
} attribute_key_id;

enum attribute_space {
    ATTRIBUTE_RUN, /* its fields */
    ATTRIBUTE_CONFIG,
    ATTRIBUTE_SUMMARY,
    ATTRIBUTE_CODE,
    ATTRIBUTE_DEFINED, /* what its metrics mean: docs/metrics.md */
    ATTRIBUTE_HOSTS,   /* all hosts of a run that has several; the field has one */
};

/* In the order in which they sort. */
enum attribute_kind {
    ATTRIBUTE_NUMBER = 1,
    ATTRIBUTE_BOOL,
    ATTRIBUTE_TEXT,
    ATTRIBUTE_NAN,
    ATTRIBUTE_KIND_END,
};

struct attribute_key {
    attribute_key_id id;
    enum attribute_space space;
    struct str name;
    int64_t run_count;   /* runs that have it */
    int64_t value_count; /* different values among them */
};

struct attribute {
    attribute_key_id key; /* 0: not looked up */
    struct str name;
    enum attribute_kind kind;
    int64_t number; /* bits of float_to_bits; 0 or 1 of a bool; 0 of the others */
    struct str text; /* of ATTRIBUTE_TEXT, at most ATTRIBUTE_TEXT_BYTES_MAX, ends in "…" when cut */
};
