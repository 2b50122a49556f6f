/* Runs. */
#include "domain/runs/runs.h"

#include "base/json.h"
#include "domain/audit/audit.h"
#include "domain/projects/projects.h"
#include "domain/runs/attributes.h"
#include "domain/runs/define_fold.h"
#include "store/store_log.h"
#include "store/store_metric.h"
#include "store/store_run.h"
#include "store/store_writer.h"

#define SUMMARY_METRICS_MAX 200
#define SWEEP_RUNS_MAX      100
#define WRITERS_A_RUN_MAX   10000
#define PURGE_ROWS          400
#define DOC_BYTES_MAX       (16u * 1024 * 1024)

static struct str or_empty(struct str s, const char *otherwise)
{
    return s.data ? s : str_from(otherwise);
}

enum err_code runs_create(struct cmd *cmd, project_id project, struct str project_name,
                          const struct run_spec *spec, struct run *ret_run, bool *ret_created,
                          struct err *err)
{
    struct run run;

    if (store_run_get(cmd->store, &spec->id, cmd->arena, &run, NULL) == OK) {
        if (run.project_name.len == 0)
            return err_set(err, ERR_CONFLICT, "run %s is being deleted; its id is free soon",
                           spec->id.text);
        if (run.project.v != project.v || memcmp(run.create_hash, spec->hash, HASH_BYTES) != 0)
            return err_set(err, ERR_CONFLICT, "run %s exists already, made with another body",
                           spec->id.text);
        *ret_run = run;
        *ret_created = false;
        return runs_load_docs(cmd, ret_run, err);
    }
    run = (struct run){
        .public_id = spec->id,
        .project = project,
        .name = spec->name.data ? spec->name : arena_copy(cmd->arena, id_str(&spec->id)),
        .state = RUN_PENDING,
        .owner = cmd->who->user,
        .job_public_id = spec->job,
        .group = or_empty(spec->group, ""),
        .job_type = or_empty(spec->job_type, ""),
        .notes = or_empty(spec->notes, ""),
        .tags = or_empty(spec->tags, "[]"),
        .command = or_empty(spec->command, "[]"),
        .created = spec->created == TIME_NONE ? cmd->now : spec->created,
        .parent_step = STEP_NONE,
        .stop_asked = TIME_NONE,
    };
    memcpy(run.create_hash, spec->hash, HASH_BYTES);
    TRY(store_run_insert(cmd->store, &run, err));
    cmd_notice(cmd, NOTICE_RUN, project, project_name, &run.public_id);
    TRY(store_run_by_id(cmd->store, run.id, cmd->arena, ret_run, err));
    ret_run->read_mark = 0; /* nothing is indexed yet */
    TRY(attributes_of_run(cmd, ret_run, err));
    ret_run->config = STR("{}");
    ret_run->summary = STR("{}");
    *ret_created = true;
    return audit_add(cmd, str_from(arena_printf(cmd->arena, "run %s", spec->id.text)), run.name,
                     err);
}

enum err_code runs_require(struct cmd *cmd, const struct id *id, enum role need, bool fenced_ok,
                           struct run *ret_run, struct err *err)
{
    struct run run;

    TRY(store_run_get(cmd->store, id, cmd->arena, &run, err));
    if (run.project_name.len == 0)
        return err_set(err, ERR_GONE, "run %s was deleted", id->text);
    if (!(fenced_ok && cmd->who->attempt_fenced && cmd->who->run.v == run.id.v))
        TRY(projects_require_for(cmd, run.project, need, "run", id->text, err));
    *ret_run = run;
    return OK;
}

static json_t *value_of(const struct metric_facts *facts, enum metric_stat figure)
{
    int64_t step;
    double value = metric_figure(facts, figure, &step);

    if (value - value == 0)
        return json_real(value);
    return json_string(value > 0 ? "Infinity" : value < 0 ? "-Infinity" : "NaN");
}

/* Adds to the object `summary` the value of each metric it does not name. */
static enum err_code add_values(struct cmd *cmd, run_id run, json_t *summary, struct err *err)
{
    struct metric_filter filter = {.kind = METRIC_PLAIN, .limit = SUMMARY_METRICS_MAX};
    struct definitions defined;
    struct metric_facts *facts;
    size_t count = 0;

    TRY(define_load(cmd, run, &defined, err));
    TRY(store_run_metric_list(cmd->store, run, &filter, cmd->arena, &facts, &count, err));
    for (size_t i = 0; i < count; i++) {
        const char *name = arena_text(cmd->arena, facts[i].name);
        const struct definition *d = definitions_find(&defined, facts[i].name);
        enum metric_stat figure = d ? d->figure : STAT_LAST;
        if (figure != STAT_END && !json_object_get(summary, name)) /* setting fails for no name */
            (void)json_object_set_new(summary, name, value_of(&facts[i], figure));
    }
    return OK;
}

static enum err_code load_summary(struct cmd *cmd, struct run *run, struct err *err)
{
    CLEANUP(json_release) json_t *summary = NULL;
    CLEANUP(buf_release) struct buf out = {0};
    struct json_writer w;

    if (json_parse(run->summary, DOC_BYTES_MAX, &summary, NULL) != OK || !json_is_object(summary)) {
        json_release(&summary);
        summary = json_object();
    }
    TRY(add_values(cmd, run->id, summary, err));
    buf_init(&out, DOC_BYTES_MAX);
    json_writer_init(&w, &out);
    json_put_value(&w, summary);
    TRY(buf_check(&out, "summary", err));
    run->summary = arena_copy(cmd->arena, buf_str(&out));
    return OK;
}

enum err_code runs_load_docs(struct cmd *cmd, struct run *run, struct err *err)
{
    if (!run->config.data)
        TRY(store_run_doc_get(cmd->store, run->id, RUN_DOC_CONFIG, cmd->arena, &run->config, err));
    if (!run->summary.data)
        TRY(store_run_doc_get(cmd->store, run->id, RUN_DOC_SUMMARY, cmd->arena, &run->summary,
                              err));
    run->config = or_empty(run->config, "{}");
    run->summary = or_empty(run->summary, "{}");
    return load_summary(cmd, run, err);
}

static bool has_hidden(struct cmd *cmd, const struct writer *writers, size_t count)
{
    return runs_epochs(writers, count, arena_array(cmd->arena, count, sizeof(struct writer_view)));
}

static int64_t console_size(const struct run *run, const struct writer *writers, size_t count)
{
    int64_t size = run->console_bytes;

    for (size_t i = 0; i < count && !run->job_public_id.text[0]; i++)
        size += writers[i].fenced ? 0 : writers[i].console_bytes;
    return size;
}

static enum err_code load_machine(struct cmd *cmd, run_id run, struct run_detail *detail,
                                  struct err *err)
{
    for (size_t i = 0; i < detail->hosts.count && !detail->machine.len; i++)
        detail->machine = detail->hosts.items[i].machine;
    if (detail->machine.len)
        return OK;
    return store_run_doc_get(cmd->store, run, RUN_DOC_MACHINE, cmd->arena, &detail->machine, err);
}

enum err_code runs_load_detail(struct cmd *cmd, const struct run *run,
                               struct run_detail *ret_detail, struct err *err)
{
    struct writer *writers;
    struct run parent;
    size_t count = 0;

    TRY(store_run_doc_get(cmd->store, run->id, RUN_DOC_CODE, cmd->arena, &ret_detail->code, err));
    TRY(define_load(cmd, run->id, &ret_detail->defined, err));
    TRY(runs_writers(cmd, run->id, &writers, &count, err));
    TRY(runs_hosts_load(cmd, run->id, writers, count, &ret_detail->hosts, err));
    TRY(load_machine(cmd, run->id, ret_detail, err));
    ret_detail->console_bytes = console_size(run, writers, count);
    ret_detail->has_hidden = has_hidden(cmd, writers, count);
    ret_detail->parent_exists =
        run->parent.text[0] &&
        store_run_get(cmd->store, &run->parent, cmd->arena, &parent, NULL) == OK &&
        parent.project.v == run->project.v;
    return store_run_unknown_count(cmd->store, run->id, &ret_detail->unknown_records, err);
}

/* The row, and what the runs table finds it by. */
static enum err_code save(struct cmd *cmd, struct run *run, struct err *err)
{
    TRY(store_run_put(cmd->store, run, err));
    return attributes_of_run(cmd, run, err);
}

enum err_code runs_update(struct cmd *cmd, struct run *run, const struct run_spec *spec,
                          struct err *err)
{
    if (spec->name.data)
        run->name = spec->name;
    if (spec->notes.data)
        run->notes = spec->notes;
    if (spec->tags.data)
        run->tags = spec->tags;
    TRY(runs_base_edit(cmd, run, spec, err));
    TRY(save(cmd, run, err));
    cmd_notice(cmd, NOTICE_RUN, run->project, run->project_name, &run->public_id);
    TRY(audit_add(cmd, str_from(arena_printf(cmd->arena, "run %s", run->public_id.text)),
                  STR("run changed"), err));
    return runs_load_docs(cmd, run, err);
}

enum err_code runs_delete(struct cmd *cmd, const struct run *run, struct err *err)
{
    TRY(attributes_delete(cmd, run->id, err));
    TRY(store_run_trash(cmd->store, run->id, err));
    TRY(store_run_facts_stale_below(cmd->store, &run->public_id, INT64_MIN, err));
    TRY(define_fold_branches(cmd, run, err));
    cmd_notice(cmd, NOTICE_RUN, run->project, run->project_name, &run->public_id);
    return audit_add(cmd, str_from(arena_printf(cmd->arena, "run %s", run->public_id.text)),
                     STR("run deleted"), err);
}

enum err_code runs_purge(struct cmd *cmd, bool *ret_more, struct err *err)
{
    run_id id = {0};
    bool gone = false;

    TRY(store_run_trash_next(cmd->store, &id, err));
    if (id.v == 0)
        return store_trim(cmd->store, ret_more, err);
    *ret_more = true;
    return store_run_purge(cmd->store, id, PURGE_ROWS, &gone, err);
}

/* One text after the other: the bytes of `range` that lie in a text of `bytes` at `*at`. */
struct console_reading {
    int64_t at;   /* where the next text begins */
    int64_t from; /* the next byte wanted */
    int64_t left;
};

static bool next_part(struct console_reading *r, int64_t bytes, int64_t *ret_offset)
{
    int64_t begin = r->at;

    r->at += bytes;
    if (r->left <= 0 || r->from >= r->at || r->from < begin)
        return false;
    *ret_offset = r->from - begin;
    return true;
}

static enum err_code console_of_run(struct cmd *cmd, const struct run *run,
                                    const struct console_range *range, const struct writer *writers,
                                    size_t count, struct buf *out, struct err *err)
{
    struct console_reading r = {.from = range->offset, .left = range->bytes_max};
    int64_t offset = 0;

    if (next_part(&r, run->console_bytes, &offset))
        TRY(store_console_read(cmd->store, run->id, offset, r.left, out, err));
    for (size_t i = 0; i < count && !run->job_public_id.text[0]; i++) {
        r.from = range->offset + (int64_t)out->len;
        r.left = range->bytes_max - (int64_t)out->len;
        if (!writers[i].fenced && next_part(&r, writers[i].console_bytes, &offset))
            TRY(store_writer_console_read(cmd->store, writers[i].id, offset, r.left, out, err));
    }
    return OK;
}

enum err_code runs_console(struct cmd *cmd, const struct run *run,
                           const struct console_range *range, struct buf *out, int64_t *ret_size,
                           struct err *err)
{
    struct writer *writers, writer;
    size_t count = 0;

    if (range->writer.text[0]) {
        TRY(store_writer_get(cmd->store, run->id, &range->writer, cmd->arena, &writer, err));
        *ret_size = writer.console_bytes;
        if (range->offset >= writer.console_bytes)
            return OK;
        return store_writer_console_read(cmd->store, writer.id, range->offset, range->bytes_max,
                                         out, err);
    }
    TRY(runs_writers(cmd, run->id, &writers, &count, err));
    *ret_size = console_size(run, writers, count);
    return console_of_run(cmd, run, range, writers, count, out, err);
}

enum err_code runs_writer(struct cmd *cmd, const struct run *run, const struct id *id,
                          struct writer *ret_writer, struct err *err)
{
    enum err_code code = store_writer_get(cmd->store, run->id, id, cmd->arena, ret_writer, err);

    if (code != ERR_NOT_FOUND)
        return code;
    *ret_writer = (struct writer){
        .public_id = *id,
        .run = run->id,
        .kind = STR(""),
        .host = STR(""),
        .rank = RANK_NONE,
        .local_rank = RANK_NONE,
        .world_size = RANK_NONE,
        .epoch_key = STR(""),
        .epoch_step = STEP_NONE,
        .first_step = STEP_NONE,
        .heard = TIME_NONE,
        .ended_at = TIME_NONE,
        .exit_code = EXIT_NONE,
        .exit_signal = EXIT_NONE,
        .reason = STR(""),
        .gone = TIME_NONE,
        .started = cmd->now,
        .fenced = cmd->who->attempt_fenced,
    };
    return store_writer_insert(cmd->store, ret_writer, err);
}

enum err_code runs_writers(struct cmd *cmd, run_id run, struct writer **ret_writers,
                           size_t *ret_count, struct err *err)
{
    struct writer_gone *gone;
    struct writer *writers;
    size_t count = 0, gone_count = 0;

    TRY(store_writer_list(cmd->store, run, WRITERS_A_RUN_MAX, cmd->arena, &writers, &count, err));
    TRY(store_writer_gone_list(cmd->store, run, WRITERS_A_RUN_MAX, cmd->arena, &gone, &gone_count,
                               err));
    for (size_t i = 0; i < gone_count; i++)
        for (size_t w = 0; w < count; w++)
            if (memcmp(writers[w].public_id.text, gone[i].writer.text, ID_BYTES) == 0) {
                writers[w].gone = gone[i].at;
                writers[w].gone_oom = gone[i].oom;
            }
    *ret_writers = writers;
    *ret_count = count;
    return OK;
}

enum err_code runs_happen(struct cmd *cmd, struct run *run, const struct run_event *event,
                          struct err *err)
{
    enum run_state before = run->state;

    run_apply(run, event);
    TRY(save(cmd, run, err));
    if (run->state != before || event->kind != RUN_EVENT_HEARD)
        cmd_notice(cmd, NOTICE_RUN, run->project, run->project_name, &run->public_id);
    return OK;
}

static struct run_event event_of(const struct cmd *cmd, const struct run_verdict *verdict)
{
    struct run_event event = {
        .kind = RUN_EVENT_HEARD,
        .at = cmd->now,
        .end = verdict->state,
        .exit_code = verdict->exit_code,
        .exit_signal = verdict->exit_signal,
        .oom = verdict->oom,
        .reason = verdict->reason,
    };

    if (verdict->kind == VERDICT_OPEN)
        event.kind = RUN_EVENT_OPENED;
    if (verdict->kind == VERDICT_ENDED) {
        event.kind = RUN_EVENT_ENDED;
        event.at = verdict->at;
    }
    return event;
}

enum err_code runs_settle(struct cmd *cmd, struct run *run, struct err *err)
{
    struct run_verdict verdict;
    struct run_event event;
    struct writer *writers;
    size_t count = 0;

    TRY(runs_writers(cmd, run->id, &writers, &count, err));
    verdict = runs_verdict(writers, count);
    event = event_of(cmd, &verdict);
    run->redacted = verdict.redacted;
    if (verdict.started != TIME_NONE && !run->job_public_id.text[0])
        run->started = verdict.started;
    return runs_happen(cmd, run, &event, err);
}

enum err_code runs_stop(struct cmd *cmd, struct run *run, struct err *err)
{
    if (run_state_ended(run->state))
        return err_set(err, ERR_CONFLICT, "run %s is %s already", run->public_id.text,
                       run_state_name(run->state));
    if (run->stop_asked == TIME_NONE)
        run->stop_asked = cmd->now;
    TRY(save(cmd, run, err));
    cmd_notice(cmd, NOTICE_RUN, run->project, run->project_name, &run->public_id);
    TRY(audit_add(cmd, str_from(arena_printf(cmd->arena, "run %s", run->public_id.text)),
                  STR("asked to stop"), err));
    return runs_load_docs(cmd, run, err);
}

enum err_code runs_diff(struct cmd *cmd, const struct run *run, struct str *ret_diff,
                        struct err *err)
{
    struct str diff = {0};

    TRY(store_run_doc_get(cmd->store, run->id, RUN_DOC_DIFF, cmd->arena, &diff, err));
    if (!diff.len)
        return err_set(err, ERR_NOT_FOUND, "run %s has no diff", run->public_id.text);
    *ret_diff = diff;
    return OK;
}

enum err_code runs_alerts(struct cmd *cmd, const struct alert_filter *filter,
                          struct alert **ret_alerts, size_t *ret_count, struct err *err)
{
    return store_alert_list(cmd->store, filter, cmd->arena, ret_alerts, ret_count, err);
}

static enum err_code mark_silent(struct cmd *cmd, run_id id, struct err *err)
{
    struct run_verdict verdict;
    struct writer *writers;
    struct run run;
    size_t count = 0;

    TRY(store_run_by_id(cmd->store, id, cmd->arena, &run, err));
    TRY(runs_writers(cmd, id, &writers, &count, err));
    verdict = runs_verdict(writers, count);
    struct run_event event = {
        .kind = RUN_EVENT_SILENT,
        .at = verdict.heard != TIME_NONE ? MIN(verdict.heard, cmd->now) : cmd->now,
        .end = verdict.preempting ? RUN_PREEMPTED : RUN_CRASHED,
        .exit_code = EXIT_NONE,
        .exit_signal = EXIT_NONE,
        .reason = verdict.preempting
                      ? STR("its machine was to be taken away, and nothing was heard of it since")
                      : STR("nothing was heard of it any more and its log has no end"),
    };
    return runs_happen(cmd, &run, &event, err);
}

enum err_code runs_sweep(struct cmd *cmd, struct err *err)
{
    run_id ids[SWEEP_RUNS_MAX];
    size_t count = 0;

    TRY(store_run_silent(cmd->store, cmd->now, cmd->domain->config.run_silent_ms, SWEEP_RUNS_MAX,
                         ids, &count, err));
    for (size_t i = 0; i < count; i++)
        TRY(mark_silent(cmd, ids[i], err));
    return OK;
}
