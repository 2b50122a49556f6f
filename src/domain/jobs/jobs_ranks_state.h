/* The placements of an attempt together: what is said of one, and what that means for the job.
 * Pure. thread: any */
#pragma once

#include "model/job.h"

enum ranks_outcome {
    RANKS_NOTHING, /* late or repeated: nothing changed */
    RANKS_ONE,     /* this placement changed, the job hears nothing of it */
    RANKS_EVENT,   /* this placement changed, and *ret_event happens to the job */
    RANKS_ALL,     /* the same, and other placements changed too */
};

/* Applies ACCEPTED, STARTING, RUNNING, ENDED, LOST or FINAL, said of placement `which` (rows by
 * rank). The job hears the same when all its placements are so far, a RANK before that; the first
 * bad end asks the others to stop, and is the attempt's when all have ended. */
enum ranks_outcome ranks_apply(struct placement *placements, size_t count, size_t which,
                               const struct job_event *said, struct job_event *ret_event);
/* Nothing more comes of any of them. */
bool ranks_all_final(const struct placement *placements, size_t count);
/* Asks all to stop, for CANCEL and EVICT; those that only have an offer end at once. With
 * WITHDRAWN all end. */
void ranks_stop(struct placement *placements, size_t count, const struct job_event *event);
