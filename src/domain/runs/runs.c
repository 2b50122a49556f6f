/* Runs. */
#include "domain/runs/runs.h"

#include "base/json.h"
#include "domain/audit/audit.h"
#include "domain/projects/projects.h"
#include "store/store_metric.h"
#include "store/store_run.h"

#define SUMMARY_METRICS_MAX 200
#define SWEEP_RUNS_MAX      100
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
    };
    memcpy(run.create_hash, spec->hash, HASH_BYTES);
    TRY(store_run_insert(cmd->store, &run, err));
    cmd_notice(cmd, NOTICE_RUN, project, project_name, &run.public_id);
    TRY(store_run_by_id(cmd->store, run.id, cmd->arena, ret_run, err));
    *ret_created = true;
    TRY(audit_add(cmd, str_from(arena_printf(cmd->arena, "run %s", spec->id.text)), run.name, err));
    return runs_load_docs(cmd, ret_run, err);
}

enum err_code runs_require(struct cmd *cmd, const struct id *id, enum role need, bool fenced_ok,
                           struct run *ret_run, struct err *err)
{
    struct run run;

    TRY(store_run_get(cmd->store, id, cmd->arena, &run, err));
    if (!(fenced_ok && cmd->who->attempt_fenced && cmd->who->run.v == run.id.v))
        TRY(projects_require_for(cmd, run.project, need, "run", id->text, err));
    *ret_run = run;
    return OK;
}

/* Adds to the object `summary` the last value of each metric it does not name. */
static enum err_code add_last_values(struct cmd *cmd, run_id run, json_t *summary, struct err *err)
{
    struct metric_filter filter = {.kind = METRIC_PLAIN, .limit = SUMMARY_METRICS_MAX};
    struct metric_facts *facts;
    size_t count = 0;

    TRY(store_run_metric_list(cmd->store, run, &filter, cmd->arena, &facts, &count, err));
    for (size_t i = 0; i < count; i++) {
        const char *name = arena_text(cmd->arena, facts[i].name);
        double last = facts[i].last;
        json_t *value;
        if (json_object_get(summary, name))
            continue;
        if (last - last == 0)
            value = json_real(last);
        else
            value = json_string(last > 0 ? "Infinity" : last < 0 ? "-Infinity" : "NaN");
        (void)json_object_set_new(summary, name, value); /* fails for no valid name */
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
    TRY(add_last_values(cmd, run->id, summary, err));
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

enum err_code runs_load_detail(struct cmd *cmd, const struct run *run,
                               struct run_detail *ret_detail, struct err *err)
{
    TRY(store_run_doc_get(cmd->store, run->id, RUN_DOC_CODE, cmd->arena, &ret_detail->code, err));
    TRY(store_run_doc_get(cmd->store, run->id, RUN_DOC_MACHINE, cmd->arena, &ret_detail->machine,
                          err));
    return store_run_unknown_count(cmd->store, run->id, &ret_detail->unknown_records, err);
}

enum err_code runs_list(struct cmd *cmd, project_id project, const struct run_filter *filter,
                        struct run **ret_runs, size_t *ret_count, struct err *err)
{
    TRY(store_run_list(cmd->store, project, filter, cmd->arena, ret_runs, ret_count, err));
    for (size_t i = 0; i < *ret_count; i++)
        TRY(load_summary(cmd, &(*ret_runs)[i], err));
    return OK;
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
    TRY(store_run_put(cmd->store, run, err));
    cmd_notice(cmd, NOTICE_RUN, run->project, run->project_name, &run->public_id);
    TRY(audit_add(cmd, str_from(arena_printf(cmd->arena, "run %s", run->public_id.text)),
                  STR("run changed"), err));
    return runs_load_docs(cmd, run, err);
}

enum err_code runs_delete(struct cmd *cmd, const struct run *run, struct err *err)
{
    TRY(store_run_delete(cmd->store, run->id, err));
    cmd_notice(cmd, NOTICE_RUN, run->project, run->project_name, &run->public_id);
    return audit_add(cmd, str_from(arena_printf(cmd->arena, "run %s", run->public_id.text)),
                     STR("run deleted"), err);
}

enum err_code runs_console(struct cmd *cmd, const struct run *run, int64_t offset,
                           int64_t bytes_max, struct buf *out, struct err *err)
{
    if (offset >= run->console_bytes)
        return OK;
    return store_console_read(cmd->store, run->id, offset, bytes_max, out, err);
}

enum err_code runs_happen(struct cmd *cmd, struct run *run, const struct run_event *event,
                          struct err *err)
{
    enum run_state before = run->state;

    run_apply(run, event);
    TRY(store_run_put(cmd->store, run, err));
    if (run->state != before || event->kind != RUN_EVENT_HEARD)
        cmd_notice(cmd, NOTICE_RUN, run->project, run->project_name, &run->public_id);
    return OK;
}

enum err_code runs_sweep(struct cmd *cmd, struct err *err)
{
    run_id ids[SWEEP_RUNS_MAX];
    struct run_event event = {
        .kind = RUN_EVENT_SILENT,
        .at = cmd->now,
        .end = RUN_CRASHED,
        .exit_code = EXIT_NONE,
        .exit_signal = EXIT_NONE,
    };
    size_t count = 0;

    TRY(store_run_silent(cmd->store, cmd->now - cmd->domain->config.run_silent_ms, SWEEP_RUNS_MAX,
                         ids, &count, err));
    event.reason = str_from(
        arena_printf(cmd->arena, "nothing was heard of it for %lld s and its log has no end",
                     (long long)(cmd->domain->config.run_silent_ms / 1000)));
    for (size_t i = 0; i < count; i++) {
        struct run run;
        TRY(store_run_by_id(cmd->store, ids[i], cmd->arena, &run, err));
        event.at = run.seen == TIME_NONE ? cmd->now : run.seen;
        TRY(runs_happen(cmd, &run, &event, err));
    }
    return OK;
}
