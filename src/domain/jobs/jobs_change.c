/* Changing a job that is there: its priority at any time, where it waits only while it waits. */
#include "domain/jobs/jobs.h"

#include "domain/audit/audit.h"
#include "domain/jobs/jobs_act.h"
#include "domain/jobs/jobs_references.h"
#include "domain/jobs/jobs_state.h"
#include "store/store_queue.h"

#define SPEC_BYTES_MAX    (16u * 1024 * 1024)
#define TARGETS_BYTES_MAX 65536

static bool waits(const struct job *job)
{
    return job->state == JOB_HELD || job->state == JOB_QUEUED;
}

static enum err_code check_state(const struct job *job, const struct job_change *c, struct err *err)
{
    if (job_state_ended(job->state))
        return err_set(err, ERR_CONFLICT, "job %s is %s: nothing of it can be changed",
                       job->public_id.text, job_state_name(job->state));
    if (waits(job) || (c->held < 0 && !c->queue.len && !c->place_count))
        return OK;
    return err_set(err, ERR_CONFLICT, "job %s is %s: only its priority can be changed now",
                   job->public_id.text, job_state_name(job->state));
}

struct str jobs__targets_text(struct cmd *cmd, const struct job_place *places, size_t count,
                              bool one)
{
    CLEANUP(buf_release) struct buf out = {0};
    struct json_writer w;

    buf_init(&out, TARGETS_BYTES_MAX);
    json_writer_init(&w, &out);
    if (one && count == 1) {
        json_put_str(&w, places[0].target);
        return arena_copy(cmd->arena, buf_str(&out));
    }
    json_begin_array(&w);
    for (size_t i = 0; i < count; i++) {
        json_begin_object(&w);
        json_put_key(&w, "target");
        json_put_str(&w, places[i].target);
        if (places[i].wait_s) {
            json_put_key(&w, "wait_s");
            json_put_i64(&w, places[i].wait_s);
        }
        json_end_object(&w);
    }
    json_end_array(&w);
    return arena_copy(cmd->arena, buf_str(&out));
}

/* The targets of a spec that was checked when it came. */
static void places_of(struct cmd *cmd, const json_t *spec, struct job_spec *s)
{
    const json_t *target = json_object_get(spec, "target");
    const json_t *list = json_object_get(spec, "targets");
    size_t count = target ? 1 : json_array_size(list);
    struct job_place *places = arena_array(cmd->arena, count, sizeof *places);

    for (size_t i = 0; i < count; i++) {
        const json_t *item = json_array_get(list, i);
        places[i].target =
            str_from(json_string_value(target ? target : json_object_get(item, "target")));
        places[i].wait_s = json_integer_value(json_object_get(item, "wait_s"));
    }
    s->places = places;
    s->place_count = count;
}

/* Names of volumes (objects with a name) or buckets (texts). */
static const struct str *names_of(struct cmd *cmd, const json_t *list, size_t *ret_count)
{
    struct str *names = arena_array(cmd->arena, json_array_size(list), sizeof *names);

    *ret_count = json_array_size(list);
    for (size_t i = 0; i < *ret_count; i++) {
        const json_t *item = json_array_get(list, i), *name = json_object_get(item, "name");
        names[i] = str_from(json_string_value(name ? name : item));
    }
    return names;
}

/* Another queue or other targets: checked as if it were submitted now. */
static enum err_code move(struct cmd *cmd, struct job *job, const struct job_change *c,
                          struct job_event *event, struct err *err)
{
    CLEANUP(json_release) json_t *spec = NULL;
    struct job_spec s = {.need = job->need, .node_count = job->node_count};
    struct job_queue queue;
    struct job_shape shape;

    if (!c->queue.len && !c->place_count)
        return OK;
    if (c->queue.len)
        TRY(jobs__queue_of(cmd, c->queue, &queue, err));
    else
        TRY(store_queue_get(cmd->store, job->queue_name, cmd->arena, &queue, err));
    if (c->place_count) {
        event->targets = jobs__targets_text(cmd, c->places, c->place_count, false);
        event->spec = job_event_spec(event, job->spec, cmd->arena);
    }
    TRY(json_parse(event->spec.len ? event->spec : job->spec, SPEC_BYTES_MAX, &spec, err));
    s.volumes = names_of(cmd, json_object_get(spec, "volumes"), &s.volume_count);
    s.buckets = names_of(cmd, json_object_get(spec, "buckets"), &s.bucket_count);
    places_of(cmd, spec, &s);
    TRY(job_shape_decode(job->shape, cmd->arena, &shape, err));
    TRY(jobs__steps_of(cmd, job->project, &queue, &s, &shape, err));
    if (c->queue.len) {
        event->queue = queue.id;
        event->queue_name = queue.name;
    }
    event->shape = job_shape_encode(&shape, cmd->arena);
    return OK;
}

/* What the event says of it, for people. */
static struct str words(struct cmd *cmd, const struct job_change *c)
{
    const char *text = "";

    if (c->has_priority)
        text = arena_printf(cmd->arena, "priority %lld", (long long)c->priority);
    if (c->queue.len)
        text =
            arena_printf(cmd->arena, "%s%squeue %.*s", text, *text ? ", " : "", STR_ARG(c->queue));
    for (size_t i = 0; i < c->place_count; i++)
        text = arena_printf(cmd->arena, "%s%s%.*s", text,
                            i       ? ", "
                            : *text ? ", targets "
                                    : "targets ",
                            STR_ARG(c->places[i].target));
    return str_from(text);
}

static enum err_code change_one(struct cmd *cmd, struct job *job, const struct job_change *c,
                                struct err *err)
{
    struct job_event changed = {.kind = JOB_EVENT_CHANGED, .at = cmd->now};
    struct job_event held = {.kind = c->held == 1 ? JOB_EVENT_HELD : JOB_EVENT_RELEASED,
                             .at = cmd->now};

    TRY(check_state(job, c, err));
    TRY(move(cmd, job, c, &changed, err));
    changed.priority = c->has_priority ? c->priority : JOB_PRIORITY_SAME;
    changed.reason = words(cmd, c);
    if (changed.reason.len)
        TRY(jobs__happen(cmd, job, NULL, &changed, err));
    if (changed.shape.len)
        TRY(store_job_move(cmd->store, job, err));
    if ((c->held == 1 && job->state == JOB_QUEUED) || (c->held == 0 && job->state == JOB_HELD))
        TRY(jobs__happen(cmd, job, NULL, &held, err));
    return OK;
}

static enum err_code change_all(struct cmd *cmd, const struct id *array, const struct job_change *c,
                                struct err *err)
{
    struct job_filter filter = {.array = id_str(array),
                                .state = JOB_STATE_COUNT,
                                .open = true,
                                .everything = true,
                                .limit = JOB_ARRAY_MAX};
    struct job *jobs;
    size_t count = 0;

    TRY(store_job_list(cmd->store, &filter, cmd->arena, &jobs, &count, err));
    for (size_t i = 0; i < count; i++)
        if (waits(&jobs[i]) || check_state(&jobs[i], c, NULL) == OK)
            TRY(change_one(cmd, &jobs[i], c, err));
    return OK;
}

enum err_code jobs_change(struct cmd *cmd, struct job *job, bool all, const struct job_change *c,
                          struct err *err)
{
    struct id id = all ? job->array_public_id : job->public_id;

    if (all)
        TRY(change_all(cmd, &id, c, err));
    else
        TRY(change_one(cmd, job, c, err));
    TRY(audit_add(cmd, str_from(arena_printf(cmd->arena, "job %s", id.text)),
                  c->held == 1   ? STR("held")
                  : c->held == 0 ? STR("released")
                                 : words(cmd, c),
                  err));
    return store_job_by_id(cmd->store, job->id, cmd->arena, job, err);
}
