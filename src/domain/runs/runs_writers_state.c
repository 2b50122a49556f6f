/* Epochs and verdict. Nothing here depends on the order in which logs arrive: writers are ordered
 * by their own start, and each rule looks at all of them. */
#include "domain/runs/runs_writers_state.h"

/* A log without a start record counts as one of a process of the run, once it said anything. */
static bool is_process(const struct writer *w)
{
    if (w->kind.len == 0)
        return !w->fenced && w->applied_offset > 0;
    return !w->fenced && !str_eq_c(w->kind, "sidecar") && !str_eq_c(w->kind, "agent") &&
           !str_eq_c(w->kind, "console");
}

static bool opens_epoch(const struct writer *w)
{
    return w->epoch_kind != EPOCH_CONTINUE && w->epoch_key.len > 0 && is_process(w);
}

/* The epoch of writer `at`: that of an earlier writer with its key, a new one, or the newest. */
static int epoch_of(const struct writer *writers, size_t at, const struct writer_view *views,
                    int newest)
{
    if (!opens_epoch(&writers[at]))
        return newest;
    for (size_t i = at; i-- > 0;)
        if (opens_epoch(&writers[i]) && str_eq(writers[i].epoch_key, writers[at].epoch_key))
            return views[i].epoch;
    return newest + 1;
}

/* Where this writer says that its epoch begins: older ones show only steps below. */
static int64_t cut_of(const struct writer *w)
{
    int64_t step = w->epoch_kind == EPOCH_ATTEMPT ? w->first_step : w->epoch_step;

    return step == STEP_NONE ? INT64_MAX : step;
}

bool runs_epochs(const struct writer *writers, size_t count, struct writer_view *ret_views)
{
    int newest = 0;
    int64_t cut = INT64_MAX;
    bool any = false;

    for (size_t i = 0; i < count; i++) {
        ret_views[i].epoch = epoch_of(writers, i, ret_views, newest);
        newest = MAX(newest, ret_views[i].epoch);
    }
    /* From the newest epoch back: each adds its cut to those of the later ones. */
    for (int epoch = newest; epoch >= 0; epoch--) {
        int64_t begins = INT64_MAX;
        for (size_t i = 0; i < count; i++) {
            if (ret_views[i].epoch != epoch)
                continue;
            ret_views[i].visible_below = str_eq_c(writers[i].kind, "sidecar") ? INT64_MAX : cut;
            any = any || ret_views[i].visible_below != INT64_MAX;
            if (opens_epoch(&writers[i]))
                begins = MIN(begins, cut_of(&writers[i]));
        }
        cut = MIN(cut, begins);
    }
    return any;
}

static bool can_decide(const struct writer *w)
{
    return is_process(w) && !str_eq_c(w->kind, "child");
}

static const struct writer *find_decider(const struct writer *writers, size_t count)
{
    const struct writer *best = NULL;

    for (size_t i = 0; i < count; i++) {
        if (!can_decide(&writers[i]))
            continue;
        /* Later ones come later in the list, so the same rank replaces. */
        if (best == NULL || MAX(writers[i].rank, 0) <= MAX(best->rank, 0))
            best = &writers[i];
    }
    return best;
}

static void judge_end(const struct writer *w, struct run_verdict *v)
{
    v->kind = w->ended_at == TIME_NONE ? VERDICT_OLD : VERDICT_ENDED;
    v->at = w->ended_at;
    v->exit_code = w->exit_code;
    v->exit_signal = w->exit_signal;
    v->oom = w->oom;
    v->reason = w->reason;
    v->state = w->exit_signal > 0 ? RUN_KILLED : w->exit_code > 0 ? RUN_FAILED : RUN_FINISHED;
    if (v->preempting && v->state != RUN_FINISHED)
        v->state = RUN_PREEMPTED;
}

static void judge_gone(const struct writer *w, struct run_verdict *v)
{
    v->kind = VERDICT_ENDED;
    v->at = w->gone;
    v->oom = w->gone_oom;
    v->state = v->preempting ? RUN_PREEMPTED : w->gone_oom ? RUN_KILLED : RUN_CRASHED;
    v->reason = w->gone_oom ? STR("the kernel killed it: out of memory")
                            : STR("its process is gone and its log has no end");
}

struct run_verdict runs_verdict(const struct writer *writers, size_t count)
{
    const struct writer *decider = find_decider(writers, count);
    struct run_verdict v = {
        .heard = TIME_NONE,
        .started = TIME_NONE,
        .at = TIME_NONE,
        .exit_code = EXIT_NONE,
        .exit_signal = EXIT_NONE,
        .reason = STR(""),
    };

    for (size_t i = 0; i < count; i++) {
        const struct writer *w = &writers[i];
        if (w->fenced)
            continue;
        v.heard = MAX(v.heard, w->heard);
        v.redacted += w->redacted;
        if (is_process(w) && (v.started == TIME_NONE || w->started < v.started))
            v.started = w->started;
        v.preempting = v.preempting || (w->preempting && decider != NULL && w->heard != TIME_NONE &&
                                        w->heard >= decider->started);
    }
    if (decider == NULL)
        return v;
    v.kind = VERDICT_OPEN;
    if (decider->ended)
        judge_end(decider, &v);
    else if (decider->gone != TIME_NONE)
        judge_gone(decider, &v);
    return v;
}
