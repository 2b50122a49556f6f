/* GPUs of attempts. Readings come in order and are counted once (nodes_sampled), so energy is a
 * sum. An attempt is idle when all its machines say so: each row remembers since when. */
#include "domain/jobs/jobs_gpus.h"

#include "base/json.h"
#include "domain/jobs/jobs_act.h"
#include "domain/jobs/jobs_state.h"
#include "domain/targets/nodes.h"
#include "store/store_alert.h"
#include "store/store_node.h"
#include "store/store_project.h"

#define IDLE_LIST_MAX    1000 /* of one sweep */
#define PLACES_BYTES_MAX 1024

/* What a batch of readings says of one attempt. */
struct told {
    struct id attempt;
    uint64_t gpus;
    int64_t energy_mj;
    time_ms at, idle_since; /* TIME_NONE: busy at the last reading */
    bool was_busy;          /* at one of them */
};

static struct told *told_of(struct told *list, size_t *count, const struct id *attempt)
{
    for (size_t i = 0; i < *count; i++)
        if (str_eq(id_str(&list[i].attempt), id_str(attempt)))
            return &list[i];
    list[*count] = (struct told){.attempt = *attempt, .idle_since = TIME_NONE};
    return &list[(*count)++];
}

static void add_use(struct told *told, const struct wire_sample_use *use, time_ms at)
{
    told->gpus = use->gpus;
    told->energy_mj += use->energy_mj;
    told->at = at;
    if (!(use->percent < IDLE_PERCENT)) { /* busy, or not known */
        told->was_busy = true;
        told->idle_since = TIME_NONE;
    } else if (told->idle_since == TIME_NONE) {
        told->idle_since = at;
    }
}

static struct str places_text(struct cmd *cmd, uint64_t gpus, const int *places, size_t count)
{
    CLEANUP(buf_release) struct buf out = {0};
    struct json_writer w;

    buf_init(&out, PLACES_BYTES_MAX);
    json_writer_init(&w, &out);
    json_begin_array(&w);
    for (size_t i = 0; i < count; i++)
        if ((gpus >> i & 1) && places[i] >= 0)
            json_put_i64(&w, places[i]);
    json_end_array(&w);
    return arena_copy(cmd->arena, buf_str(&out));
}

/* ERR_NOT_FOUND: it is no attempt of this agent. */
static enum err_code attempt_here(struct cmd *cmd, const struct id *id, attempt_id *ret_attempt,
                                  struct err *err)
{
    struct placement *placements;
    struct attempt attempt;
    size_t count = 0;

    TRY(store_attempt_get(cmd->store, id, cmd->arena, &attempt, err));
    TRY(store_placement_list(cmd->store, attempt.id, cmd->arena, &placements, &count, err));
    for (size_t i = 0; i < count; i++) {
        if (placements[i].agent.v == cmd->who->agent.v) {
            *ret_attempt = attempt.id;
            return OK;
        }
    }
    return err_set(err, ERR_NOT_FOUND, "attempt %s is not this agent's", id->text);
}

static enum err_code keep(struct cmd *cmd, const struct told *told, const int *places, size_t count,
                          struct err *err)
{
    struct attempt_gpus row = {.agent = cmd->who->agent,
                               .places = places_text(cmd, told->gpus, places, count),
                               .at = told->at,
                               .idle_since = told->was_busy ? TIME_NONE : told->idle_since,
                               .energy_mj = told->energy_mj};
    struct err why = {0};

    if (attempt_here(cmd, &told->attempt, &row.attempt, &why) != OK)
        return store_trouble(cmd->store, err);
    TRY(store_attempt_gpus_add(cmd->store, &row, err));
    if (!told->was_busy || told->idle_since == TIME_NONE)
        return OK;
    row.energy_mj = 0;
    row.idle_since = told->idle_since; /* idle again, since then */
    return store_attempt_gpus_add(cmd->store, &row, err);
}

enum err_code jobs_node_sampled(struct cmd *cmd, const struct wire_samples *samples,
                                struct err *err)
{
    int places[WIRE_NODE_GPUS_MAX];
    struct told *list;
    size_t first = 0, count = 0, room = 0;

    TRY(nodes_sampled(cmd, cmd->who->agent, samples, &first, err));
    TRY(nodes_places(cmd, cmd->who->agent, samples, places, err));
    for (size_t i = first; i < samples->sample_count; i++)
        room += samples->samples[i].use_count;
    list = arena_array(cmd->arena, room, sizeof *list);
    for (size_t i = first; i < samples->sample_count; i++) {
        const struct wire_sample *s = &samples->samples[i];
        for (size_t k = 0; k < s->use_count; k++)
            add_use(told_of(list, &count, &s->uses[k].attempt), &s->uses[k], cmd->now - s->age_ms);
    }
    for (size_t i = 0; i < count; i++)
        TRY(keep(cmd, &list[i], places, samples->gpu_count, err));
    return OK;
}

/* ---- Idle ---- */

static enum err_code alert_owner(struct cmd *cmd, const struct job *job,
                                 const struct project *project, bool stops, struct err *err)
{
    struct alert_place place = {.project = job->project, .run = job->run};
    struct alert alert = {
        .level = ALERT_WARN,
        .title =
            str_from(arena_printf(cmd->arena, "The GPUs of job %.*s are idle", STR_ARG(job->name))),
        .text =
            str_from(arena_printf(cmd->arena, "All its GPUs stayed below %d %% for %lld minutes%s.",
                                  (int)IDLE_PERCENT, (long long)project->idle_minutes,
                                  stops ? "; the project stops such jobs, so it was stopped" : "")),
        .at = cmd->now,
        .received = cmd->now,
    };

    TRY(store_alert_insert(cmd->store, &place, &alert, err));
    cmd_notice(cmd, NOTICE_ALERT, job->project, job->project_name, &job->run_public_id);
    cmd_notice(cmd, NOTICE_JOB, job->project, job->project_name, &job->public_id);
    return OK;
}

static enum err_code stop_idle(struct cmd *cmd, struct job *job, const struct project *project,
                               struct err *err)
{
    struct job_event event = {
        .kind = JOB_EVENT_CANCEL,
        .at = cmd->now,
        .exit_code = EXIT_NONE,
        .exit_signal = EXIT_NONE,
        .actor = STR("system"),
        .ending = ENDING_IDLE,
        .reason = str_from(arena_printf(cmd->arena, "its GPUs stayed below %d %% for %lld minutes",
                                        (int)IDLE_PERCENT, (long long)project->idle_minutes)),
    };
    struct jobs_ranks ranks;

    TRY(jobs__ranks_get(cmd, job->attempt, &ranks, err));
    return jobs__stop(cmd, job, &ranks, &event, err);
}

/* Services wait for requests: they are marked, and never stopped for it. */
static bool is_stopped(const struct job *job, const struct project *project)
{
    return project->idle_stop && job->kind == JOB_BATCH && !job->cancel_asked &&
           job_event_is_legal(job->state, JOB_EVENT_CANCEL);
}

static enum err_code sweep_one(struct cmd *cmd, const struct idle_attempt *idle, struct err *err)
{
    struct project project;
    struct job job;
    bool stops;

    TRY(store_job_by_id(cmd->store, idle->job, cmd->arena, &job, err));
    TRY(store_attempt_idle_set(cmd->store, idle->attempt, idle->since, err));
    if (idle->since == TIME_NONE) {
        cmd_notice(cmd, NOTICE_JOB, job.project, job.project_name, &job.public_id);
        return OK;
    }
    TRY(store_project_get(cmd->store, job.project_name, cmd->arena, &project, err));
    stops = is_stopped(&job, &project);
    TRY(alert_owner(cmd, &job, &project, stops, err));
    return stops ? stop_idle(cmd, &job, &project, err) : OK;
}

enum err_code jobs_idle_sweep(struct cmd *cmd, struct err *err)
{
    struct idle_attempt *list;
    size_t count = 0;

    TRY(store_attempt_idle_list(cmd->store, IDLE_LIST_MAX, cmd->arena, &list, &count, err));
    for (size_t i = 0; i < count; i++)
        TRY(sweep_one(cmd, &list[i], err));
    return OK;
}
