/* What agents say about attempts. An attempt belongs to one agent and is written to only by the
 * holder of its token; everybody else is fenced. */
#include "domain/jobs/jobs.h"

#include "domain/identity/identity.h"
#include "domain/jobs/jobs_act.h"
#include "domain/jobs/jobs_state.h"
#include "domain/targets/targets.h"
#include "store/store_run.h"

#define OPEN_ATTEMPTS_MAX 10000
#define MISSING_AFTER_MS  60000
#define KEY_SLACK_S       900
/* One more spec may come on top, and texts may grow a little when they are written anew. */
#define OFFER_SPECS_BYTES_MAX (WIRE_MESSAGE_BYTES_MAX / 2)
#define OFFER_FIXED_BYTES     4096

static enum err_code fenced(const struct wire_attempt *ref, struct err *err)
{
    return err_set(err, ERR_FENCED, "attempt %s is not yours any more", ref->id.text);
}

static bool token_fits(const struct attempt *attempt, const struct wire_attempt *ref)
{
    uint8_t hash[HASH_BYTES];

    sha256(ref->token, WIRE_TOKEN_LEN, hash);
    return bytes_equal_const(hash, attempt->token_hash, HASH_BYTES);
}

enum err_code jobs_attempt_require(struct cmd *cmd, const struct wire_attempt *ref,
                                   struct attempt *ret_attempt, struct job *ret_job,
                                   struct err *err)
{
    struct attempt attempt;

    TRY(store_attempt_get(cmd->store, &ref->id, cmd->arena, &attempt, err));
    if (attempt.agent.v != cmd->who->agent.v)
        return err_set(err, ERR_NOT_FOUND, "attempt %s not found", ref->id.text);
    TRY(store_job_by_id(cmd->store, attempt.job, cmd->arena, ret_job, err));
    if (!token_fits(&attempt, ref) || attempt.state == ATTEMPT_LOST ||
        attempt.id.v != ret_job->attempt.v)
        return fenced(ref, err);
    *ret_attempt = attempt;
    return OK;
}

static enum err_code make_offer(struct cmd *cmd, struct attempt *attempt,
                                struct job_offer *ret_offer, struct err *err)
{
    struct job_offer *o = ret_offer;
    time_ms expires;

    TRY(store_job_by_id(cmd->store, attempt->job, cmd->arena, &o->job, err));
    token_make(o->token, attempt->token_hash);
    TRY(store_attempt_put(cmd->store, attempt, err));
    expires = cmd->now + (o->job.timeout_s + o->job.grace_s + KEY_SLACK_S) * 1000;
    TRY(identity_job_key(cmd, &o->job, attempt->id, expires, &o->key, err));
    o->attempt = *attempt;
    return OK;
}

/* Whether the agent names this attempt, with the right token. */
static bool holds(const struct wire_attempt *held, size_t count, const struct attempt *attempt)
{
    for (size_t i = 0; i < count; i++)
        if (memcmp(held[i].id.text, attempt->public_id.text, ID_BYTES) == 0)
            return token_fits(attempt, &held[i]);
    return false;
}

static enum err_code lose_missing(struct cmd *cmd, struct attempt *attempt, struct err *err)
{
    struct job_event event = {
        .kind = JOB_EVENT_LOST,
        .at = cmd->now,
        .exit_code = EXIT_NONE,
        .exit_signal = EXIT_NONE,
        .reason = STR("the agent does not hold it any more"),
    };
    struct job_event last = {.kind = JOB_EVENT_FINAL, .at = cmd->now};
    struct job job;

    TRY(store_job_by_id(cmd->store, attempt->job, cmd->arena, &job, err));
    TRY(jobs__happen(cmd, &job, attempt, &event, err));
    return job_state_ended(job.state) ? jobs__happen(cmd, &job, attempt, &last, err) : OK;
}

/* One open attempt of the agent: offer it, stop it, or notice that it is gone. */
static enum err_code poll_one(struct cmd *cmd, struct attempt *attempt, bool held,
                              struct agent_poll_answer *answer, struct err *err)
{
    if (attempt->state == ATTEMPT_OFFERED && !held) {
        struct job_offer *offer = &answer->offers[answer->offer_count];
        if (answer->spec_bytes >= OFFER_SPECS_BYTES_MAX)
            return OK; /* the agent comes again as soon as it has these */
        TRY(make_offer(cmd, attempt, offer, err));
        answer->offer_count++;
        answer->spec_bytes += offer->job.spec.len + OFFER_FIXED_BYTES;
        return OK;
    }
    if (attempt->state == ATTEMPT_STOPPING && held)
        answer->stops[answer->stop_count++] = attempt->public_id;
    if (!held && !attempt_state_ended(attempt->state) &&
        cmd->now - attempt->offered > MISSING_AFTER_MS)
        return lose_missing(cmd, attempt, err);
    return OK;
}

enum err_code jobs_agent_poll(struct cmd *cmd, struct agent *agent, const struct wire_attempt *held,
                              size_t held_count, struct agent_poll_answer *ret_answer,
                              struct err *err)
{
    struct agent_poll_answer answer = {0};
    struct attempt *open;
    size_t open_count = 0;

    TRY(agents_called(cmd, agent, err));
    TRY(store_attempt_open(cmd->store, agent->id, (attempt_id){0}, OPEN_ATTEMPTS_MAX, cmd->arena,
                           &open, &open_count, err));
    answer.offers = arena_array(cmd->arena, open_count, sizeof *answer.offers);
    answer.stops = arena_array(cmd->arena, open_count, sizeof *answer.stops);
    answer.fenced = arena_array(cmd->arena, held_count, sizeof *answer.fenced);
    for (size_t i = 0; i < open_count; i++)
        TRY(poll_one(cmd, &open[i], holds(held, held_count, &open[i]), &answer, err));
    for (size_t i = 0; i < held_count; i++) {
        struct attempt attempt;
        struct job job;
        if (jobs_attempt_require(cmd, &held[i], &attempt, &job, NULL) != OK)
            answer.fenced[answer.fenced_count++] = held[i].id;
    }
    *ret_answer = answer;
    return OK;
}

enum err_code jobs_attempt_accept(struct cmd *cmd, const struct wire_attempt *ref,
                                  struct attempt *ret_attempt, struct err *err)
{
    struct job_event event = {.kind = JOB_EVENT_ACCEPTED, .at = cmd->now};
    struct job job;

    TRY(jobs_attempt_require(cmd, ref, ret_attempt, &job, err));
    if (ret_attempt->state == ATTEMPT_CANCELLED)
        return fenced(ref, err);
    if (ret_attempt->state != ATTEMPT_OFFERED)
        return OK; /* the answer to an earlier accept was lost */
    return jobs__happen(cmd, &job, ret_attempt, &event, err);
}

static enum err_code report_end(struct cmd *cmd, struct job *job, struct attempt *attempt,
                                const struct wire_status *status, struct err *err)
{
    time_ms at = status->at == TIME_NONE ? cmd->now : status->at;
    struct job_event event = {
        .kind = JOB_EVENT_ENDED,
        .at = at,
        .exit_code = status->exit_code,
        .exit_signal = status->exit_signal,
        .oom = status->oom,
        .failed_to_start = status->failed_to_start,
        .timed_out = status->timed_out,
        .run_time_ms = status->run_time_ms,
        .reason = status->reason,
    };

    if (event.run_time_ms < 0)
        event.run_time_ms = attempt->started == TIME_NONE ? 0 : MAX(at - attempt->started, 0);
    event.gpu_ms = event.run_time_ms * job->need.gpus;
    event.cost_micro = job_cost_micro(event.run_time_ms, attempt->price_hour_micro,
                                      attempt->price_gpu_hour_micro, job->need.gpus);
    return jobs__happen(cmd, job, attempt, &event, err);
}

enum err_code jobs_attempt_status(struct cmd *cmd, const struct wire_attempt *ref,
                                  const struct wire_status *status, struct attempt *ret_attempt,
                                  struct err *err)
{
    static const enum job_event_kind kinds[] = {[WIRE_STARTING] = JOB_EVENT_STARTING,
                                                [WIRE_RUNNING] = JOB_EVENT_RUNNING,
                                                [WIRE_ENDED] = JOB_EVENT_ENDED};
    struct job_event event = {.kind = kinds[status->state], .at = status->at};
    struct job job;

    TRY(jobs_attempt_require(cmd, ref, ret_attempt, &job, err));
    if (event.kind == JOB_EVENT_ENDED) {
        if (!attempt_state_ended(ret_attempt->state))
            TRY(report_end(cmd, &job, ret_attempt, status, err));
        if (!status->final || ret_attempt->final)
            return OK;
        event = (struct job_event){.kind = JOB_EVENT_FINAL, .at = cmd->now};
        return jobs__happen(cmd, &job, ret_attempt, &event, err);
    }
    if (!job_event_is_legal(job.state, event.kind))
        return OK; /* late or repeated: the first said it */
    return jobs__happen(cmd, &job, ret_attempt, &event, err);
}

enum err_code jobs_attempt_console(struct cmd *cmd, const struct wire_attempt *ref, int64_t offset,
                                   struct str text, int64_t *ret_offset, struct err *err)
{
    struct attempt attempt;
    struct job job;
    struct run run;

    TRY(jobs_attempt_require(cmd, ref, &attempt, &job, err));
    *ret_offset = attempt.console_bytes;
    if (offset != attempt.console_bytes)
        return err_set(err, ERR_OFFSET, "the console text of attempt %s goes on at %lld, not %lld",
                       ref->id.text, (long long)attempt.console_bytes, (long long)offset);
    if (attempt.final)
        return err_set(err, ERR_CONFLICT, "the record of attempt %s is closed", ref->id.text);
    TRY(store_run_by_id(cmd->store, attempt.run, cmd->arena, &run, err));
    TRY(store_console_append(cmd->store, &run, text, err));
    attempt.console_bytes += (int64_t)text.len;
    TRY(store_attempt_put(cmd->store, &attempt, err));
    cmd_notice(cmd, NOTICE_CONSOLE, run.project, run.project_name, &run.public_id);
    *ret_offset = attempt.console_bytes;
    return OK;
}
