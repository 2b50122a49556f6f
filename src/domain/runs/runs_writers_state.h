/* What the writers of a run add up to: which of their steps count (epochs), and how the run is
 * doing (the verdict). Pure, and the same in whatever order the logs came. thread: any */
#pragma once

#include "model/run.h"

struct writer_view {
    int epoch;             /* from 0 */
    int64_t visible_below; /* steps from here on were set aside by a later epoch; INT64_MAX: none */
};
/* `writers` are ordered by start and id. An epoch begins with the first writer that names it by
 * its key; writers without a key belong to the newest epoch that had begun when they started.
 * Samples of sidecars are never set aside. Returns whether anything can be. */
bool runs_epochs(const struct writer *writers, size_t count, struct writer_view *ret_views);

enum verdict_kind {
    VERDICT_NONE,  /* no process that could tell how the run ends was seen yet */
    VERDICT_OPEN,  /* it is going on, as far as its log tells */
    VERDICT_ENDED, /* with an end record, or its sidecar saw that it is gone */
    VERDICT_OLD,   /* ended, and an earlier version of this server noted how in the run alone */
};
struct run_verdict {
    enum verdict_kind kind;
    bool preempting;      /* should it stay silent, it was preempted */
    time_ms heard;        /* newest time in any of the logs, or TIME_NONE */
    time_ms started;      /* of the first process, or TIME_NONE */
    int64_t redacted;     /* over all writers */
    enum run_state state; /* of VERDICT_ENDED, as the rest */
    time_ms at;
    int exit_code, exit_signal;
    bool oom;
    struct str reason;
};
/* Of the processes with the lowest rank (0, or no rank), the one started last decides. Children and
 * sidecars never do: a parent in the run tells. */
struct run_verdict runs_verdict(const struct writer *writers, size_t count);
