/* What agents say about attempts. An attempt belongs to one agent and is written to only by the
 * holder of its token; everybody else is fenced. */
#include "domain/jobs/jobs.h"

#include "domain/identity/identity.h"
#include "domain/jobs/jobs_act.h"
#include "domain/jobs/jobs_offered.h"
#include "domain/jobs/jobs_state.h"
#include "domain/runs/runs.h"
#include "domain/targets/targets.h"
#include "store/store_log.h"
#include "store/store_run.h"
#include "store/store_writer.h"

#include <stdlib.h>

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

static bool token_fits(const struct placement *placement, const struct wire_attempt *ref)
{
    uint8_t hash[HASH_BYTES];

    sha256(ref->token, WIRE_TOKEN_LEN, hash);
    return bytes_equal_const(hash, placement->token_hash, HASH_BYTES);
}

/* What an agent refers to: its placement of an attempt, with all beside it. */
struct held {
    struct job job;
    struct jobs_ranks ranks;
    size_t which;
};

static struct placement *placement_of(struct held *held)
{
    return &held->ranks.placements[held->which];
}

static enum err_code require(struct cmd *cmd, const struct wire_attempt *ref, struct held *held,
                             struct err *err)
{
    struct jobs_ranks *ranks = &held->ranks;
    bool mine = false, lost;

    TRY(store_attempt_get(cmd->store, &ref->id, cmd->arena, &ranks->attempt, err));
    TRY(store_placement_list(cmd->store, ranks->attempt.id, cmd->arena, &ranks->placements,
                             &ranks->count, err));
    for (held->which = 0; held->which < ranks->count; held->which++) {
        if (placement_of(held)->agent.v != cmd->who->agent.v)
            continue;
        mine = true;
        if (token_fits(placement_of(held), ref))
            break;
    }
    if (!mine)
        return err_set(err, ERR_NOT_FOUND, "attempt %s not found", ref->id.text);
    TRY(store_job_by_id(cmd->store, ranks->attempt.job, cmd->arena, &held->job, err));
    lost = held->which == ranks->count || placement_of(held)->state == ATTEMPT_LOST;
    return lost || ranks->attempt.id.v != held->job.attempt.v ? fenced(ref, err) : OK;
}

enum err_code jobs_attempt_require(struct cmd *cmd, const struct wire_attempt *ref,
                                   struct job *ret_job, struct err *err)
{
    struct held held;

    TRY(require(cmd, ref, &held, err));
    *ret_job = held.job;
    return OK;
}

/* It has no chance without a secret that is gone; one that does not open is tried again later. */
static enum err_code withdraw(struct cmd *cmd, struct job_offer *o, enum err_code why,
                              const char *reason, struct err *err)
{
    struct job_event event = {
        .kind = JOB_EVENT_WITHDRAWN,
        .at = cmd->now,
        .exit_code = EXIT_NONE,
        .exit_signal = EXIT_NONE,
        .ending = why == ERR_NOT_FOUND ? ENDING_SECRET : ENDING_NOT_TAKEN,
        .actor = STR("system"),
        .reason = str_from(arena_text(cmd->arena, str_from(reason))),
    };
    struct jobs_ranks ranks;

    if (!job_event_is_legal(o->job.state, JOB_EVENT_WITHDRAWN))
        return OK;
    TRY(jobs__ranks_get(cmd, o->attempt.id, &ranks, err));
    return jobs__stop(cmd, &o->job, &ranks, &event, err);
}

static enum err_code make_offer(struct cmd *cmd, const struct agent *agent,
                                struct placement *placement, struct agent_poll_answer *answer,
                                struct err *err)
{
    struct job_offer *o = &answer->offers[answer->offer_count];
    size_t secret_bytes = 0;
    struct err why = {0};
    enum err_code code;
    time_ms expires;

    TRY(store_attempt_by_id(cmd->store, placement->attempt, cmd->arena, &o->attempt, err));
    TRY(store_job_by_id(cmd->store, o->attempt.job, cmd->arena, &o->job, err));
    code = jobs__offer_fill(cmd, agent, o, &secret_bytes, &why);
    TRY(store_trouble(cmd->store, err));
    if (code != OK)
        return withdraw(cmd, o, code, why.text, err);
    answer->offer_count++;
    answer->spec_bytes += o->job.spec.len + secret_bytes + OFFER_FIXED_BYTES;
    token_make(o->token, placement->token_hash);
    TRY(store_placement_put(cmd->store, placement, err));
    expires = o->job.timeout_s ? cmd->now + (o->job.timeout_s + o->job.grace_s + KEY_SLACK_S) * 1000
                               : TIME_NONE; /* it goes with the attempt */
    TRY(identity_job_key(cmd, &o->job, placement, expires, &o->key, err));
    o->placement = *placement;
    return OK;
}

/* What an agent says it holds, by the hash of the token. */
struct named {
    uint8_t hash[HASH_BYTES];
    const struct wire_attempt *ref;
    bool known; /* it is one of its open placements */
};

static int by_hash(const void *a, const void *b)
{
    return memcmp(((const struct named *)a)->hash, ((const struct named *)b)->hash, HASH_BYTES);
}

static struct named *names_of(struct cmd *cmd, const struct wire_attempt *held, size_t count)
{
    struct named *names = arena_array(cmd->arena, count, sizeof *names);

    for (size_t i = 0; i < count; i++) {
        names[i].ref = &held[i];
        sha256(held[i].token, WIRE_TOKEN_LEN, names[i].hash);
    }
    if (count)
        qsort(names, count, sizeof *names, by_hash);
    return names;
}

/* Whether the agent names this placement, with the right token. */
static bool holds(struct named *names, size_t count, const struct placement *placement)
{
    struct named key, *found;

    memcpy(key.hash, placement->token_hash, HASH_BYTES);
    found = count ? bsearch(&key, names, count, sizeof key, by_hash) : NULL;
    if (found)
        found->known = true;
    return found != NULL;
}

static enum err_code lose_missing(struct cmd *cmd, struct placement *placement, struct err *err)
{
    struct job_event event = {
        .kind = JOB_EVENT_LOST,
        .at = cmd->now,
        .exit_code = EXIT_NONE,
        .exit_signal = EXIT_NONE,
        .ending = ENDING_GONE,
        .reason = STR("the agent does not hold it any more"),
    };
    struct jobs_ranks ranks;
    struct job job;

    TRY(jobs__ranks_get(cmd, placement->attempt, &ranks, err));
    if (cmd->now - ranks.attempt.offered <= MISSING_AFTER_MS)
        return OK;
    TRY(store_job_by_id(cmd->store, ranks.attempt.job, cmd->arena, &job, err));
    for (size_t i = 0; i < ranks.count; i++)
        if (ranks.placements[i].id.v == placement->id.v)
            TRY(jobs__said(cmd, &job, &ranks, i, &event, err));
    return OK;
}

/* One open placement of the agent: offer it, stop it, or notice that it is gone. */
static enum err_code poll_one(struct cmd *cmd, const struct agent *agent,
                              struct placement *placement, bool held,
                              struct agent_poll_answer *answer, struct err *err)
{
    if (placement->state == ATTEMPT_OFFERED && !held) {
        if (answer->spec_bytes >= OFFER_SPECS_BYTES_MAX)
            return OK; /* the agent comes again as soon as it has these */
        return make_offer(cmd, agent, placement, answer, err);
    }
    if (placement->state == ATTEMPT_STOPPING && held) {
        struct attempt attempt;
        TRY(store_attempt_by_id(cmd->store, placement->attempt, cmd->arena, &attempt, err));
        answer->stops[answer->stop_count++] = attempt.public_id;
    }
    if (!held && !attempt_state_ended(placement->state) &&
        agents_settled(cmd, &placement->agent_public_id))
        return lose_missing(cmd, placement, err);
    return OK;
}

enum err_code jobs_agent_poll(struct cmd *cmd, struct agent *agent, const struct wire_attempt *held,
                              size_t held_count, struct agent_poll_answer *ret_answer,
                              struct err *err)
{
    struct agent_poll_answer answer = {0};
    struct placement *open;
    size_t open_count = 0;
    struct named *names = names_of(cmd, held, held_count);

    TRY(agents_called(cmd, agent, &answer.call, err));
    *ret_answer = answer;
    if (answer.call != AGENT_CALL_TAKEN)
        return OK;
    TRY(store_placement_of_agent(cmd->store, agent->id, OPEN_ATTEMPTS_MAX, cmd->arena, &open,
                                 &open_count, err));
    answer.offers = arena_array(cmd->arena, open_count, sizeof *answer.offers);
    answer.stops = arena_array(cmd->arena, open_count, sizeof *answer.stops);
    answer.fenced = arena_array(cmd->arena, held_count, sizeof *answer.fenced);
    for (size_t i = 0; i < open_count; i++)
        TRY(poll_one(cmd, agent, &open[i], holds(names, held_count, &open[i]), &answer, err));
    for (size_t i = 0; i < held_count; i++) {
        struct job job;
        if (!names[i].known && jobs_attempt_require(cmd, names[i].ref, &job, NULL) != OK)
            answer.fenced[answer.fenced_count++] = names[i].ref->id;
    }
    *ret_answer = answer;
    return OK;
}

enum err_code jobs_attempt_accept(struct cmd *cmd, const struct wire_attempt *ref,
                                  struct str rendezvous, struct attempt *ret_attempt,
                                  struct err *err)
{
    struct job_event event = {.kind = JOB_EVENT_ACCEPTED, .at = cmd->now};
    struct held held;

    TRY(require(cmd, ref, &held, err));
    if (placement_of(&held)->state == ATTEMPT_CANCELLED)
        return fenced(ref, err);
    TRY(jobs__said(cmd, &held.job, &held.ranks, held.which, &event, err));
    *ret_attempt = held.ranks.attempt;
    if (!rendezvous.len || placement_of(&held)->rank || ret_attempt->rendezvous.len ||
        held.job.node_count == 1)
        return OK; /* the first word counts: others may have heard it */
    ret_attempt->rendezvous = rendezvous;
    return store_attempt_put(cmd->store, ret_attempt, err);
}

/* When it happened, by the agent's clock, which may be wrong: not before what came before it, and
 * not in the future. */
static time_ms time_of(struct cmd *cmd, const struct held *held, const struct wire_status *status)
{
    const struct placement *p = &held->ranks.placements[held->which];
    time_ms least = p->started == TIME_NONE ? held->ranks.attempt.offered
                                            : p->started + MAX(status->run_time_ms, 0);
    time_ms at = status->at == TIME_NONE ? cmd->now : status->at;

    return MIN(MAX(at, least), cmd->now);
}

/* It cannot start what it accepted, and others have not even accepted: nothing has begun. */
static enum err_code give_back(struct cmd *cmd, struct held *held, const struct wire_status *status,
                               struct err *err)
{
    struct job_event event = {
        .kind = JOB_EVENT_WITHDRAWN,
        .at = cmd->now,
        .exit_code = EXIT_NONE,
        .exit_signal = EXIT_NONE,
        .ending = ENDING_START,
        .reason = status->reason,
    };

    return jobs__stop(cmd, &held->job, &held->ranks, &event, err);
}

static enum err_code report_end(struct cmd *cmd, struct held *held,
                                const struct wire_status *status, struct err *err)
{
    const struct placement *p = placement_of(held);
    time_ms at = time_of(cmd, held, status);
    struct job_event event = {
        .kind = JOB_EVENT_ENDED,
        .at = at,
        .exit_code = status->exit_code,
        .exit_signal = status->exit_signal,
        .oom = status->oom,
        .failed_to_start = status->failed_to_start,
        .timed_out = status->timed_out,
        .stopped = status->stopped,
        .unhealthy = status->unhealthy,
        .run_time_ms = status->run_time_ms,
        .ending = status->image_failed ? ENDING_IMAGE
                  : status->disk_full  ? ENDING_DISK
                  : status->gpu_failed ? ENDING_GPU
                                       : ENDING_NONE,
        .reason = status->reason,
    };

    if (event.run_time_ms < 0)
        event.run_time_ms = p->started == TIME_NONE ? 0 : MAX(at - p->started, 0);
    if (held->job.state == JOB_OFFERED)
        return give_back(cmd, held, status, err);
    return jobs__said(cmd, &held->job, &held->ranks, held->which, &event, err);
}

/* How the agent finds the service to be. The first machine is asked, and it speaks for the attempt.
 * A change of state is an event; of the problem alone the newest is kept. */
static enum err_code note_health(struct cmd *cmd, struct held *held,
                                 const struct wire_status *status, struct err *err)
{
    struct attempt *attempt = &held->ranks.attempt;
    struct job_event event = {
        .kind = JOB_EVENT_HEALTH,
        .at = cmd->now,
        .health = status->health,
        .reason = status->health_problem.data ? status->health_problem : STR(""),
    };
    bool same = attempt->health == status->health;

    if (!status->health || placement_of(held)->rank || attempt_state_ended(attempt->state) ||
        (same && str_eq(attempt->health_problem, event.reason)))
        return OK;
    if (!same && job_event_is_legal(held->job.state, event.kind))
        return jobs__happen(cmd, &held->job, &held->ranks, &event, err);
    attempt->health = status->health;
    attempt->health_since = same ? attempt->health_since : cmd->now;
    attempt->health_problem = event.reason;
    cmd_notice(cmd, NOTICE_JOB, held->job.project, held->job.project_name, &held->job.public_id);
    return store_attempt_put(cmd->store, attempt, err);
}

/* The image as it was resolved first, what a long start does now, and where rank 0 is found. */
static enum err_code note_start(struct cmd *cmd, struct held *held,
                                const struct wire_status *status, struct err *err)
{
    struct attempt *attempt = &held->ranks.attempt;
    struct str progress = status->progress.data ? status->progress : STR("");
    bool same_image = !status->image.len || attempt->image.len;
    bool same_place = !status->rendezvous.len || attempt->rendezvous.len;

    if (placement_of(held)->rank ||
        (same_image && same_place && str_eq(attempt->progress, progress)))
        return OK;
    attempt->rendezvous = same_place ? attempt->rendezvous : status->rendezvous;
    attempt->image = same_image ? attempt->image : status->image;
    attempt->progress = progress;
    cmd_notice(cmd, NOTICE_JOB, held->job.project, held->job.project_name, &held->job.public_id);
    return store_attempt_put(cmd->store, attempt, err);
}

enum err_code jobs_attempt_status(struct cmd *cmd, const struct wire_attempt *ref,
                                  const struct wire_status *status, struct attempt *ret_attempt,
                                  struct err *err)
{
    static const enum job_event_kind kinds[] = {[WIRE_STARTING] = JOB_EVENT_STARTING,
                                                [WIRE_RUNNING] = JOB_EVENT_RUNNING,
                                                [WIRE_ENDED] = JOB_EVENT_ENDED};
    struct job_event event = {.kind = kinds[status->state]};
    struct held held;

    TRY(require(cmd, ref, &held, err));
    event.at = time_of(cmd, &held, status);
    if (event.kind == JOB_EVENT_ENDED) {
        TRY(report_end(cmd, &held, status, err));
        event = (struct job_event){.kind = JOB_EVENT_FINAL, .at = cmd->now};
        if (status->final)
            TRY(jobs__said(cmd, &held.job, &held.ranks, held.which, &event, err));
    } else {
        TRY(jobs__said(cmd, &held.job, &held.ranks, held.which, &event, err));
        TRY(note_health(cmd, &held, status, err));
    }
    TRY(note_start(cmd, &held, status, err));
    *ret_attempt = held.ranks.attempt;
    return OK;
}

/* What a further rank writes is kept as a process of its own: readers of the run choose whose text
 * they see. The same one for all that this placement says. */
static enum err_code rank_writer(struct cmd *cmd, const struct run *run, const struct held *held,
                                 struct writer *ret_writer, struct err *err)
{
    const struct placement *p = &held->ranks.placements[held->which];
    uint64_t bits;
    struct id id;

    memcpy(&bits, p->token_hash, sizeof(bits));
    id = id_make(ID_WRITER, bits);
    TRY(runs_writer(cmd, run, &id, ret_writer, err));
    ret_writer->kind = STR("agent");
    ret_writer->host = p->agent_name;
    ret_writer->rank = (int)p->rank;
    return OK;
}

static enum err_code keep_console(struct cmd *cmd, struct run *run, const struct held *held,
                                  struct str text, struct err *err)
{
    struct writer writer;

    if (held->ranks.placements[held->which].rank == 0)
        return store_console_append(cmd->store, run, text, err);
    TRY(rank_writer(cmd, run, held, &writer, err));
    TRY(store_writer_console_append(cmd->store, &writer, text, err));
    return store_writer_applied(cmd->store, &writer, writer.applied_offset, err);
}

enum err_code jobs_attempt_console(struct cmd *cmd, const struct wire_attempt *ref, int64_t offset,
                                   struct str text, int64_t *ret_offset, struct err *err)
{
    struct placement *p;
    struct held held;
    struct run run;

    TRY(require(cmd, ref, &held, err));
    p = placement_of(&held);
    *ret_offset = p->console_bytes;
    if (offset != p->console_bytes)
        return err_set(err, ERR_OFFSET, "the console text of attempt %s goes on at %lld, not %lld",
                       ref->id.text, (long long)p->console_bytes, (long long)offset);
    if (p->final)
        return err_set(err, ERR_CONFLICT, "the record of attempt %s is closed", ref->id.text);
    TRY(store_run_by_id(cmd->store, held.job.run, cmd->arena, &run, err));
    TRY(keep_console(cmd, &run, &held, text, err));
    p->console_bytes += (int64_t)text.len;
    TRY(store_placement_put(cmd->store, p, err));
    cmd_notice(cmd, NOTICE_CONSOLE, run.project, run.project_name, &run.public_id);
    *ret_offset = p->console_bytes;
    return OK;
}
