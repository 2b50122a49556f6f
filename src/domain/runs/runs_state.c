/* How a run's state follows from what happens: pure. */
#include "domain/runs/runs.h"

static void end(struct run *run, const struct run_event *e)
{
    run->state = e->end;
    run->ended = e->at;
    run->exit_code = e->exit_code;
    run->exit_signal = e->exit_signal;
    run->oom = e->oom;
    run->reason = e->reason.data ? e->reason : STR("");
}

static void resume(struct run *run, enum run_state state, time_ms at)
{
    run->state = state;
    run->ended = TIME_NONE;
    run->exit_code = run->exit_signal = EXIT_NONE;
    run->oom = false;
    run->reason = STR("");
    if (state == RUN_RUNNING && run->started == TIME_NONE)
        run->started = at;
}

void run_apply(struct run *run, const struct run_event *e)
{
    bool follows_job = run->job_public_id.text[0] != 0;

    /* An end carries the clock of another machine: it says nothing of when we heard. */
    if (e->kind != RUN_EVENT_ENDED && (run->seen == TIME_NONE || run->seen < e->at))
        run->seen = e->at;
    if (follows_job != e->from_job)
        return; /* only seen changes: its log does not decide about a job's run */
    switch (e->kind) {
    case RUN_EVENT_HEARD:
        if (run->state == RUN_PENDING || run->state == RUN_CRASHED)
            resume(run, RUN_RUNNING, e->at);
        break;
    case RUN_EVENT_OPENED:
        if (run->state != RUN_RUNNING)
            resume(run, RUN_RUNNING, e->at);
        break;
    case RUN_EVENT_ENDED: end(run, e); break;
    case RUN_EVENT_SILENT:
        if (!run_state_ended(run->state))
            end(run, e);
        break;
    case RUN_EVENT_PENDING: resume(run, RUN_PENDING, e->at); break;
    case RUN_EVENT_RUNNING: resume(run, RUN_RUNNING, e->at); break;
    }
}
