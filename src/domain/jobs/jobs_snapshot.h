/* What the scheduler knows: all open jobs, what they hold, agents, targets, queues and shares, kept
 * in memory and brought up to date row by row as things change. From it comes the snapshot of a
 * cycle; into it goes what the cycle wants remembered.
 *
 * thread: the one that owns it; the store is for reading, may block */
#pragma once

#include "domain/cmd.h"
#include "domain/jobs/jobs.h"
#include "model/forecast.h"
#include "sched/sched.h"

struct jobs_snapshot;

struct jobs_snapshot *jobs_snapshot_new(const struct domain_config *config);
void jobs_snapshot_free(struct jobs_snapshot *snapshot);

/* Everything anew. */
MUST_CHECK enum err_code jobs_snapshot_load(struct jobs_snapshot *snapshot, struct cmd *cmd,
                                            struct err *err);
/* One job that has changed, ended or gone. *matters becomes true when another job may start now:
 * this one waits, or holds less than before. */
MUST_CHECK enum err_code jobs_snapshot_job(struct jobs_snapshot *snapshot, struct store *store,
                                           const struct id *id, bool *matters, struct err *err);
/* Agents, targets, queues, shares, budgets. cmd->mono_ms tells how long an agent has not been
 * heard.
 */
MUST_CHECK enum err_code jobs_snapshot_settings(struct jobs_snapshot *snapshot, struct cmd *cmd,
                                                struct err *err);

/* The snapshot for a cycle at `now`; arrays belong to the arena or to `snapshot`, and are valid
 * until the next change. Of jobs that wait alike it has the first `depth`, SIZE_MAX: all;
 * *ret_more: there are others. */
void jobs_snapshot_build(struct jobs_snapshot *snapshot, time_ms now, size_t depth,
                         struct arena *arena, struct sched_snapshot *ret_sched, bool *ret_more);

/* The place of a job in what was built last; SCHED_NONE: it is not looked at. */
uint32_t jobs_snapshot_built(const struct jobs_snapshot *snapshot,
                             const struct sched_snapshot *sched, job_id job);

/* Builds and looks as often as the answer needs. False: the job is not one that is looked at, since
 * something of its own keeps it waiting. */
bool jobs_snapshot_forecast(struct jobs_snapshot *snapshot, time_ms now,
                            const struct forecast_question *question, struct arena *arena,
                            struct forecast *ret_forecast);

/* What is to be done about the answer to the snapshot that was built last, and why the rest waits.
 */
struct jobs_decisions {
    struct jobs_start *starts;
    struct jobs_evict *evicts;
    size_t start_count, evict_count;
    job_id *broken; /* they come after a job that did not succeed: they never start */
    size_t broken_count;
    struct job_wait_row {
        job_id job;
        struct wait wait;
    } * waits; /* by job; of a snapshot with all jobs */
    size_t wait_count;
    struct wait_place *ranked; /* by rank: those of them that may start */
    size_t ranked_count;
};
void jobs_snapshot_decide(struct jobs_snapshot *snapshot, const struct sched_snapshot *sched,
                          const struct sched_result *result, struct arena *arena,
                          struct jobs_decisions *ret_decisions);
/* Jobs that come after one that did not succeed end. thread: command */
MUST_CHECK enum err_code jobs_end_broken(struct cmd *cmd, const job_id *jobs, size_t count,
                                         struct err *err);
/* The settings are to be read again before a cycle: somebody whose budget has a limit was charged,
 * or a project or queue is new. */
bool jobs_snapshot_settings_are_old(const struct jobs_snapshot *snapshot);
/* It has grown by what is gone: load it anew. */
bool jobs_snapshot_is_stale(const struct jobs_snapshot *snapshot);
/* How many jobs it knows. */
size_t jobs_snapshot_count(const struct jobs_snapshot *snapshot);
/* When something changes by itself: a pause is over, a target of a list opens. TIME_NONE: never. */
time_ms jobs_snapshot_next(const struct jobs_snapshot *snapshot, time_ms now);
