/* The life of a job as a table: which event may happen in which state, and what becomes of the
 * job. Pure: no I/O, no clock; the time comes in the event. The simulator runs this code too.
 * thread: any */
#pragma once

#include "base/arena.h"
#include "base/err.h"
#include "model/job.h"

/* Applies an event to a job, or refuses it with ERR_CONFLICT and changes nothing. Text of the
 * event is borrowed by the job. */
MUST_CHECK enum err_code job_apply(struct job *job, const struct job_event *event, struct err *err);
/* Whether job_apply would take it. */
bool job_event_is_legal(enum job_state state, enum job_event_kind kind);
/* The same for the attempt that the event is about, before it is applied to the job. */
void attempt_apply(struct attempt *attempt, const struct job_event *event, const struct job *job);
/* How work ended that was not ended for a reason of ours: exit code, signal, time limit. */
enum ending job_event_ending(const struct job_event *event);
/* Whether an attempt that is ended for this reason gives its job back to the queue. */
bool ending_is_eviction(enum ending ending);

/* Price of a run time, rounded half up, saturating. */
int64_t job_cost_micro(int64_t run_time_ms, int64_t price_hour_micro, int64_t price_gpu_hour_micro,
                       int64_t gpus);
/* What the run of this job should be: RUN_PENDING, RUN_RUNNING or an end. */
enum run_state job_run_state(const struct job *job);

/* The spec with the event's targets in it; `spec` itself where they are the same or not named. */
struct str job_event_spec(const struct job_event *event, struct str spec, struct arena *arena);
/* An event as JSON from which it can be replayed, and back. */
struct str job_event_encode(const struct job_event *event, struct arena *arena);
MUST_CHECK enum err_code job_event_decode(struct str detail, struct arena *arena,
                                          struct job_event *event, struct err *err);
