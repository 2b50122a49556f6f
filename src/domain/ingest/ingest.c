/* Committing and applying run logs. */
#include "domain/ingest/ingest.h"

#include "domain/runs/runs.h"
#include "runlog/crc.h"
#include "runlog/record.h"
#include "store/store_log.h"
#include "store/store_metric.h"
#include "store/store_run.h"

#define WRITERS_A_RUN_MAX 10000
#define DOC_BYTES_MAX     (16u * 1024 * 1024)

enum err_code ingest_check(struct ingest_post *post, struct err *err)
{
    size_t whole = 0;
    enum runlog_state state;

    if (post->data.len == 0)
        return err_set(err, ERR_INVALID, "the body holds no record");
    if (post->data.len > RUNLOG_POST_BYTES_MAX)
        return err_set(err, ERR_TOO_LARGE, "a post is at most %u bytes", RUNLOG_POST_BYTES_MAX);
    state = runlog_check((const uint8_t *)post->data.data, post->data.len, &whole);
    if (state != RUNLOG_END)
        return err_set(err, ERR_INVALID, "the body is %s from byte %zu on",
                       state == RUNLOG_TORN ? "cut short" : "damaged", whole);
    post->crc_after = runlog_crc(post->crc_before, post->data.data, post->data.len);
    return OK;
}

static enum err_code find_writer(struct cmd *cmd, const struct run *run, const struct id *id,
                                 struct writer *ret_writer, struct err *err)
{
    enum err_code code = store_writer_get(cmd->store, run->id, id, cmd->arena, ret_writer, err);

    if (code != ERR_NOT_FOUND)
        return code;
    *ret_writer = (struct writer){
        .public_id = *id,
        .run = run->id,
        .kind = STR(""),
        .started = cmd->now,
        .fenced = cmd->who->attempt_fenced,
    };
    return store_writer_insert(cmd->store, ret_writer, err);
}

enum err_code ingest_commit(struct cmd *cmd, const struct run *run, const struct id *id,
                            const struct ingest_post *post, struct writer *ret_writer,
                            struct err *err)
{
    struct writer *w = ret_writer;

    TRY(find_writer(cmd, run, id, w, err));
    if (post->offset != w->committed_offset)
        return err_set(err, ERR_OFFSET, "the log of writer %s goes on at offset %lld, not %lld",
                       id->text, (long long)w->committed_offset, (long long)post->offset);
    if (post->crc_before != w->committed_crc)
        return err_set(err, ERR_WRITER_DIVERGED,
                       "the log of writer %s has another history before offset %lld", id->text,
                       (long long)post->offset);
    if (cmd->who->attempt_fenced && !w->fenced) {
        w->fenced = true; /* from here on it is stored and not shown */
        TRY(store_writer_fence(cmd->store, w->id, err));
    }
    TRY(store_log_append(cmd->store, w, post->data, post->crc_after, err));
    if (!w->fenced) {
        cmd->appended = w->id;
        cmd->appended_run = run->id;
    }
    return OK;
}

static enum err_code merge_doc(struct cmd *cmd, run_id run, enum run_doc kind, json_t *patch,
                               struct err *err)
{
    CLEANUP(json_release) json_t *doc = NULL;
    CLEANUP(buf_release) struct buf out = {0};
    struct json_writer w;
    struct str body;

    TRY(store_run_doc_get(cmd->store, run, kind, cmd->arena, &body, err));
    if (!body.data || json_parse(body, DOC_BYTES_MAX, &doc, NULL) != OK)
        doc = json_object();
    (void)json_object_update(doc, patch); /* fails only when out of memory */
    buf_init(&out, DOC_BYTES_MAX);
    json_writer_init(&w, &out);
    json_put_value(&w, doc);
    if (buf_check(&out, run_doc_name(kind), err) != OK)
        return OK; /* grown beyond the limit: the document stays as it was */
    return store_run_doc_set(cmd->store, run, kind, buf_str(&out), err);
}

static struct str text_of(struct cmd *cmd, const json_t *start, const char *key, size_t bytes_max)
{
    const json_t *member = json_object_get(start, key);
    struct str text;

    if (!json_is_string(member) || json_string_length(member) == 0)
        return (struct str){0};
    text = str_n(json_string_value(member), json_string_length(member));
    if (text.len > bytes_max || str_has_control(text))
        return (struct str){0};
    return arena_copy(cmd->arena, text);
}

static struct str array_of(struct cmd *cmd, const json_t *start, const char *key)
{
    CLEANUP(buf_release) struct buf out = {0};
    const json_t *member = json_object_get(start, key);
    struct json_writer w;

    if (!json_is_array(member))
        return (struct str){0};
    buf_init(&out, DOC_BYTES_MAX);
    json_writer_init(&w, &out);
    json_put_value(&w, member);
    return out.full ? (struct str){0} : arena_copy(cmd->arena, buf_str(&out));
}

/* A run that nobody named goes by its id; init(name=) of the script names only such a one. */
static void apply_name(struct cmd *cmd, struct run *run, const struct writer *w,
                       const json_t *start)
{
    struct str name = text_of(cmd, start, "name", NAME_BYTES_MAX);
    bool is_default =
        str_eq_c(run->name, run->public_id.text) || str_eq_c(run->name, run->job_public_id.text);

    if (is_default && name.len && str_eq_c(w->kind, "trainer"))
        run->name = name;
}

/* What the trainer's start record says of the run. A job has given its run a command already. */
static enum err_code apply_start(struct cmd *cmd, struct run *run, struct writer *w,
                                 const struct ingest_batch *b, struct err *err)
{
    json_t *config = json_object_get(b->start, "config");
    const json_t *time = json_object_get(b->start, "time");
    bool of_job = run->job_public_id.text[0] != 0;
    struct str text;

    w->kind = text_of(cmd, b->start, "kind", 16);
    w->kind = w->kind.data ? w->kind : STR("");
    if (json_is_integer(time))
        w->started = json_integer_value(time);
    if (str_eq_c(w->kind, "sidecar"))
        return OK;
    apply_name(cmd, run, w, b->start);
    text = text_of(cmd, b->start, "host", 255);
    run->host = text.data ? text : run->host;
    text = text_of(cmd, b->start, "group", NAME_BYTES_MAX);
    run->group = text.data ? text : run->group;
    text = text_of(cmd, b->start, "job_type", NAME_BYTES_MAX);
    run->job_type = text.data ? text : run->job_type;
    text = array_of(cmd, b->start, "command");
    run->command = text.data && !of_job && !str_eq_c(w->kind, "child") ? text : run->command;
    if (run->started == TIME_NONE && !of_job)
        run->started = w->started;
    if (json_is_object(config) && json_object_size(config))
        TRY(merge_doc(cmd, run->id, RUN_DOC_CONFIG, config, err));
    return OK;
}

static bool has_tag(const json_t *tags, const char *tag)
{
    for (size_t i = 0; i < json_array_size(tags); i++)
        if (strcmp(json_string_value(json_array_get(tags, i)), tag) == 0)
            return true;
    return false;
}

/* The tags of both lists, those the run has first. What launch gave and what init() gives add up.
 */
static struct str join_tags(struct cmd *cmd, struct str have, struct str more)
{
    CLEANUP(json_release) json_t *tags = NULL;
    CLEANUP(json_release) json_t *added = NULL;
    CLEANUP(buf_release) struct buf out = {0};
    struct json_writer w;

    if (json_parse(have, DOC_BYTES_MAX, &tags, NULL) != OK ||
        json_parse(more, DOC_BYTES_MAX, &added, NULL) != OK)
        return more;
    for (size_t i = 0; i < json_array_size(added); i++) {
        json_t *tag = json_array_get(added, i);
        if (json_array_size(tags) < TAG_COUNT_MAX && !has_tag(tags, json_string_value(tag)))
            (void)json_array_append(tags, tag); /* fails only when out of memory */
    }
    buf_init(&out, DOC_BYTES_MAX);
    json_writer_init(&w, &out);
    json_put_value(&w, tags);
    return arena_copy(cmd->arena, buf_str(&out));
}

/* A code record replaces the one before. What a job was launched from is known to the job alone and
 * stays. */
static enum err_code apply_code(struct cmd *cmd, const struct run *run, struct str code,
                                struct err *err)
{
    CLEANUP(json_release) json_t *have = NULL;
    CLEANUP(json_release) json_t *come = NULL;
    CLEANUP(buf_release) struct buf out = {0};
    struct json_writer w;
    struct str text = {0};

    TRY(store_run_doc_get(cmd->store, run->id, RUN_DOC_CODE, cmd->arena, &text, err));
    if (!run->job_public_id.text[0] || json_parse(text, DOC_BYTES_MAX, &have, NULL) != OK ||
        !json_object_get(have, "git") || json_parse(code, DOC_BYTES_MAX, &come, NULL) != OK)
        return store_run_doc_set(cmd->store, run->id, RUN_DOC_CODE, code, err);
    (void)json_object_set(come, "git", json_object_get(have, "git")); /* fails without memory */
    buf_init(&out, DOC_BYTES_MAX);
    json_writer_init(&w, &out);
    json_put_value(&w, come);
    TRY(buf_check(&out, "code", err));
    return store_run_doc_set(cmd->store, run->id, RUN_DOC_CODE, buf_str(&out), err);
}

static enum err_code apply_docs(struct cmd *cmd, struct run *run, const struct ingest_batch *b,
                                struct err *err)
{
    if (b->config)
        TRY(merge_doc(cmd, run->id, RUN_DOC_CONFIG, b->config, err));
    if (b->summary)
        TRY(merge_doc(cmd, run->id, RUN_DOC_SUMMARY, b->summary, err));
    if (b->code.len)
        TRY(apply_code(cmd, run, b->code, err));
    if (b->machine.len)
        TRY(store_run_doc_set(cmd->store, run->id, RUN_DOC_MACHINE, b->machine, err));
    if (b->tags.data)
        run->tags = b->tags_join ? join_tags(cmd, run->tags, b->tags) : b->tags;
    run->notes = b->notes.data ? b->notes : run->notes;
    for (const struct ingest_file *f = b->files; f; f = f->next)
        TRY(store_run_file_set(cmd->store, run->id, f->path, f->detail, err));
    return OK;
}

static enum err_code apply_metrics(struct cmd *cmd, const struct run *run, const struct writer *w,
                                   const struct ingest_batch *b, struct err *err)
{
    for (const struct ingest_name *n = b->names; n; n = n->next) {
        struct writer_name name = {n->local_id, {0}, n->kind};
        TRY(store_metric_name_intern(cmd->store, run->project, n->kind, n->name, &name.metric,
                                     err));
        TRY(store_writer_name_set(cmd->store, w->id, &name, err));
    }
    for (const struct ingest_facts *f = b->facts; f; f = f->next) {
        struct metric_facts have;
        metric_id metric;
        enum err_code code = store_writer_name_get(cmd->store, w->id, f->local_id, &metric, err);
        if (code == ERR_NOT_FOUND)
            continue; /* a row that uses a number nobody named */
        TRY(code);
        TRY(store_run_metric_get(cmd->store, run->id, metric, &have, err));
        if (have.count == 0) {
            have = f->facts;
            have.id = metric;
        } else {
            have.count += f->facts.count;
            have.last = f->facts.last;
            have.last_step = f->facts.last_step;
            if (f->facts.finite_count && !(have.finite_count && have.min <= f->facts.min))
                have.min = f->facts.min;
            if (f->facts.finite_count && !(have.finite_count && have.max >= f->facts.max))
                have.max = f->facts.max;
            have.finite_count += f->facts.finite_count;
        }
        TRY(store_run_metric_set(cmd->store, run->id, &have, err));
    }
    return OK;
}

static enum err_code apply_rest(struct cmd *cmd, struct run *run, struct writer *w,
                                const struct ingest_batch *b, struct err *err)
{
    for (const struct ingest_record *r = b->records; r; r = r->next)
        TRY(store_log_record_insert(cmd->store, w->id, r->offset, r->type, r->payload, err));
    for (size_t i = 0; i < b->console_count; i++)
        TRY(store_console_append(cmd->store, run, b->console[i], err));
    if (b->console_count)
        cmd_notice(cmd, NOTICE_CONSOLE, run->project, run->project_name, &run->public_id);
    return OK;
}

static struct run_event event_of(struct cmd *cmd, const struct writer *w,
                                 const struct ingest_batch *b)
{
    /* A child's end says nothing: its parent in the run tells how the run ended. */
    bool decides = b->ended && !str_eq_c(w->kind, "sidecar") && !str_eq_c(w->kind, "child");
    struct run_event event = {
        .kind = decides ? RUN_EVENT_ENDED : RUN_EVENT_HEARD,
        .at = decides && b->ended_at != TIME_NONE ? b->ended_at : cmd->now,
        .end = RUN_FAILED,
        .exit_code = b->exit_code,
        .exit_signal = b->exit_signal,
        .reason = b->end_reason,
    };

    if (b->exit_signal > 0)
        event.end = RUN_KILLED;
    else if (b->exit_code <= 0)
        event.end = RUN_FINISHED;
    return event;
}

enum err_code ingest_apply(struct cmd *cmd, writer_id id, const struct ingest_batch *b,
                           struct err *err)
{
    struct run_event event;
    struct writer w;
    struct run run;

    TRY(store_writer_by_id(cmd->store, id, cmd->arena, &w, err));
    if (w.applied_offset != b->from)
        return err_set(err, ERR_CONFLICT, "the log was applied meanwhile");
    TRY(store_run_by_id(cmd->store, w.run, cmd->arena, &run, err));
    if (b->start)
        TRY(apply_start(cmd, &run, &w, b, err));
    TRY(apply_docs(cmd, &run, b, err));
    TRY(apply_metrics(cmd, &run, &w, b, err));
    TRY(apply_rest(cmd, &run, &w, b, err));
    w.applied_offset = b->to;
    w.ended = w.ended || b->ended;
    TRY(store_writer_applied(cmd->store, &w, b->from, err));
    event = event_of(cmd, &w, b);
    if (run_state_ended(run.state) && run.state != RUN_CRASHED && event.kind == RUN_EVENT_HEARD)
        event.at = run.seen == TIME_NONE ? cmd->now : run.seen; /* late data changes no verdict */
    TRY(runs_happen(cmd, &run, &event, err));
    if (b->points)
        cmd_notice(cmd, NOTICE_METRICS, run.project, run.project_name, &run.public_id);
    if (b->config || b->summary || b->start || b->code.len || b->machine.len)
        cmd_notice(cmd, NOTICE_RUN, run.project, run.project_name, &run.public_id);
    return OK;
}

enum err_code ingest_writers(struct cmd *cmd, run_id run, struct writer **ret_writers,
                             size_t *ret_count, struct err *err)
{
    return store_writer_list(cmd->store, run, WRITERS_A_RUN_MAX, cmd->arena, ret_writers, ret_count,
                             err);
}
