/* What a run can be filtered, sorted, grouped and listed by: its fields, what lies in its
 * configuration and summary, and what is known of its metrics. Pure. thread: any */
#pragma once

#include "base/arena.h"
#include "base/err.h"
#include "model/attribute.h"

#define RUN_KEY_BYTES_MAX 600

/* What the values of a field are; numbers of a field are kept as the unit says. */
enum field_kind {
    FIELD_TEXT,
    FIELD_STATE,
    FIELD_TIME,     /* ms since 1970 */
    FIELD_DURATION, /* ms */
    FIELD_MONEY,    /* millionths */
    FIELD_NUMBER,
};

/*      field            name          kind */
#define RUN_FIELDS(X)                                                                              \
    X(RUN_FIELD_STATE, "state", FIELD_STATE)                                                       \
    X(RUN_FIELD_NAME, "name", FIELD_TEXT)                                                          \
    X(RUN_FIELD_ID, "id", FIELD_TEXT)                                                              \
    X(RUN_FIELD_OWNER, "owner", FIELD_TEXT)                                                        \
    X(RUN_FIELD_HOST, "host", FIELD_TEXT)                                                          \
    X(RUN_FIELD_GROUP, "group", FIELD_TEXT)                                                        \
    X(RUN_FIELD_JOB_TYPE, "job_type", FIELD_TEXT)                                                  \
    X(RUN_FIELD_TAGS, "tags", FIELD_TEXT)                                                          \
    X(RUN_FIELD_NOTES, "notes", FIELD_TEXT)                                                        \
    X(RUN_FIELD_CREATED, "created", FIELD_TIME)                                                    \
    X(RUN_FIELD_STARTED, "started", FIELD_TIME)                                                    \
    X(RUN_FIELD_ENDED, "ended", FIELD_TIME)                                                        \
    X(RUN_FIELD_RUNTIME, "runtime", FIELD_DURATION)                                                \
    X(RUN_FIELD_COST, "cost", FIELD_MONEY)                                                         \
    X(RUN_FIELD_EXIT_CODE, "exit_code", FIELD_NUMBER)                                              \
    X(RUN_FIELD_BRANCH, "git.branch", FIELD_TEXT)                                                  \
    X(RUN_FIELD_COMMIT, "git.commit", FIELD_TEXT)

enum run_field {
#define X(field, name, kind) field,
    RUN_FIELDS(X)
#undef X
        RUN_FIELD_COUNT
};
const char *run_field_name(enum run_field field);
enum field_kind run_field_kind(enum run_field field);

enum run_key_space { KEY_FIELD, KEY_CONFIG, KEY_SUMMARY, KEY_METRIC };

struct run_key {
    enum run_key_space space;
    enum run_field field;  /* of KEY_FIELD */
    struct str name;       /* of the others: "optim.lr", "val/loss" */
    enum metric_stat stat; /* of KEY_METRIC */
};

/* `state`, `config.optim.lr`, `summary."my metric"`, `metric.val/loss.min` (last when no figure is
 * named). ERR_INVALID names a near miss where there is one. */
MUST_CHECK enum err_code run_key_parse(struct str text, struct arena *arena,
                                       struct run_key *ret_key, struct err *err);
/* The text that run_key_parse reads as this key: quoted where it has to be. */
struct str run_key_text(const struct run_key *key, struct arena *arena);
/* Bytes at the start of `text` that look like a key (or a bare word); 0: none. A quote that is
 * never closed goes to the end. */
size_t run_key_span(struct str text);
