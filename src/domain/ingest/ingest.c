/* Committing and applying run logs. */
#include "domain/ingest/ingest.h"

#include "domain/ingest/ingest_facts.h"
#include "domain/runs/define_fold.h"
#include "domain/runs/runs.h"
#include "domain/runs/runs_fold.h"
#include "runlog/crc.h"
#include "runlog/record.h"
#include "store/store_alert.h"
#include "store/store_log.h"
#include "store/store_metric.h"
#include "store/store_run.h"
#include "store/store_writer.h"

#define DOC_BYTES_MAX       (16u * 1024 * 1024)
#define RANK_MAX            10000000
#define EPOCH_KEY_BYTES_MAX 200
#define REDACTED_MAX        INT64_C(1000000)
#define NAMES_A_WRITE       250
#define FACTS_A_WRITE       250

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

enum err_code ingest_commit(struct cmd *cmd, const struct run *run, const struct id *id,
                            const struct ingest_post *post, struct writer *ret_writer,
                            struct err *err)
{
    struct writer *w = ret_writer;

    TRY(runs_writer(cmd, run, id, w, err));
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

static int number_of(const json_t *start, const char *key, int otherwise)
{
    const json_t *member = json_object_get(start, key);

    if (!json_is_integer(member) || json_integer_value(member) < 0 ||
        json_integer_value(member) > RANK_MAX)
        return otherwise;
    return (int)json_integer_value(member);
}

static void take_epoch(struct cmd *cmd, struct writer *w, const json_t *start)
{
    const json_t *epoch = json_object_get(start, "epoch");
    const json_t *step = json_object_get(epoch, "step");

    if (!json_is_object(epoch))
        return;
    w->epoch_kind = epoch_kind_from_name(text_of(cmd, epoch, "kind", 16));
    w->epoch_key = text_of(cmd, epoch, "key", EPOCH_KEY_BYTES_MAX);
    if (!w->epoch_key.data)
        w->epoch_key = text_of(cmd, start, "attempt", EPOCH_KEY_BYTES_MAX);
    if (!w->epoch_key.data)
        w->epoch_key = arena_copy(cmd->arena, id_str(&w->public_id));
    if (json_is_integer(step))
        w->epoch_step = json_integer_value(step);
    if (w->epoch_kind == EPOCH_TRUNCATE && w->epoch_step == STEP_NONE)
        w->epoch_kind = EPOCH_CONTINUE;
}

/* Who writes: from its start record. */
static void take_start(struct cmd *cmd, struct writer *w, const json_t *start)
{
    const json_t *time = json_object_get(start, "time");
    const json_t *redacted = json_object_get(start, "redacted");
    struct str text = text_of(cmd, start, "kind", 16);

    w->kind = text.data ? text : STR("");
    if (json_is_integer(time))
        w->started = json_integer_value(time);
    text = text_of(cmd, start, "host", 255);
    w->host = text.data ? text : STR("");
    w->rank = number_of(start, "rank", RANK_NONE);
    w->local_rank = number_of(start, "local_rank", RANK_NONE);
    w->world_size = number_of(start, "world_size", RANK_NONE);
    if (json_is_integer(redacted) && json_integer_value(redacted) > 0)
        w->redacted = MIN((int64_t)json_integer_value(redacted), REDACTED_MAX);
    take_epoch(cmd, w, start);
}

static void take_end(struct writer *w, const struct ingest_batch *b)
{
    w->ended = true;
    w->ended_at = b->ended_at != TIME_NONE ? b->ended_at : MAX(b->heard, w->started);
    w->exit_code = b->exit_code;
    w->exit_signal = b->exit_signal;
    w->oom = b->oom;
    w->reason = b->end_reason.data ? b->end_reason : STR("");
}

/* The row of the writer after this batch; its order in the run comes from it, so it is saved before
 * anything is worked out from all writers. */
static enum err_code apply_writer(struct cmd *cmd, struct writer *w, const struct ingest_batch *b,
                                  struct err *err)
{
    if (b->start)
        take_start(cmd, w, b->start);
    if (b->ended)
        take_end(w, b);
    if (w->first_step == STEP_NONE)
        w->first_step = b->first_step;
    w->heard = MAX(w->heard, b->heard);
    w->preempting = w->preempting || b->preempting;
    w->redacted = MAX(w->redacted, MIN(b->redacted, REDACTED_MAX));
    w->applied_offset = b->to;
    for (size_t i = 0; i < b->console_count; i++)
        TRY(store_writer_console_append(cmd->store, w, b->console[i], err));
    return store_writer_applied(cmd->store, w, b->from, err);
}

static void copy_text(struct cmd *cmd, json_t *facts, const json_t *start, const char *key,
                      size_t bytes_max)
{
    struct str text = text_of(cmd, start, key, bytes_max);

    if (text.data)
        (void)json_object_set_new(facts, key, json_stringn(text.data, text.len));
}

static void copy_member(json_t *facts, const json_t *start, const char *key)
{
    json_t *value = json_object_get(start, key);

    if (value)
        (void)json_object_set(facts, key, value); /* fails only when out of memory */
}

/* What a batch says about the run in general: see runs_fold_facts. NULL: nothing. */
static json_t *facts_of(struct cmd *cmd, const struct writer *w, const struct ingest_batch *b)
{
    json_t *facts = json_object();
    json_t *tags = NULL;

    if (b->start && !str_eq_c(w->kind, "sidecar")) {
        if (str_eq_c(w->kind, "trainer"))
            copy_text(cmd, facts, b->start, "name", NAME_BYTES_MAX);
        copy_text(cmd, facts, b->start, "host", 255);
        copy_text(cmd, facts, b->start, "group", NAME_BYTES_MAX);
        copy_text(cmd, facts, b->start, "job_type", NAME_BYTES_MAX);
        if (!str_eq_c(w->kind, "child") && json_is_array(json_object_get(b->start, "command")))
            copy_member(facts, b->start, "command");
        copy_member(facts, b->start, "branch");
    }
    if (b->notes.data)
        (void)json_object_set_new(facts, "notes", json_stringn(b->notes.data, b->notes.len));
    if (b->tags.data && json_parse(b->tags, DOC_BYTES_MAX, &tags, NULL) == OK) {
        (void)json_object_set_new(facts, "tags", tags);
        if (!b->tags_join)
            (void)json_object_set_new(facts, "tags_set", json_true());
    }
    if (json_object_size(facts) == 0)
        json_release(&facts);
    return facts;
}

static enum err_code apply_docs(struct cmd *cmd, struct run *run, const struct writer *w,
                                const struct ingest_batch *b, struct err *err)
{
    CLEANUP(json_release) json_t *facts = facts_of(cmd, w, b);
    json_t *config = json_object_get(b->start, "config");

    if (facts)
        TRY(runs_fold_facts(cmd, run, w, facts, err));
    if (json_is_object(config) && json_object_size(config))
        TRY(runs_fold_merge(cmd, w, WRITER_DOC_CONFIG, config, err));
    if (b->config)
        TRY(runs_fold_merge(cmd, w, WRITER_DOC_CONFIG, b->config, err));
    if (b->summary)
        TRY(runs_fold_merge(cmd, w, WRITER_DOC_SUMMARY, b->summary, err));
    if (b->code.len)
        TRY(runs_fold_replace(cmd, w, WRITER_DOC_CODE, b->code, err));
    if (b->machine.len)
        TRY(store_writer_doc_set(cmd->store, w->id, WRITER_DOC_MACHINE, b->machine, err));
    if (b->diff.len)
        TRY(runs_fold_replace(cmd, w, WRITER_DOC_DIFF, b->diff, err));
    for (const struct ingest_file *f = b->files; f; f = f->next)
        TRY(store_run_file_set(cmd->store, run->id, f->path, f->detail, err));
    return OK;
}

/* What metrics mean: said in this batch, or inherited since the run is known to be a branch. */
static enum err_code apply_defined(struct cmd *cmd, const struct run *run, const struct writer *w,
                                   const struct ingest_batch *b, bool has_new_parent,
                                   struct err *err)
{
    if (b->defined)
        TRY(define_fold_take(cmd, w, b->defined, err));
    return b->defined || has_new_parent ? define_fold_settle(cmd, run, err) : OK;
}

/* The first `count` names of a batch. */
static enum err_code apply_names(struct cmd *cmd, const struct run *run, writer_id writer,
                                 struct ingest_name *n, size_t count, struct err *err)
{
    for (; n && count; n = n->next, count--) {
        struct writer_name name = {n->local_id, {0}, n->kind};
        TRY(store_metric_name_intern(cmd->store, run->project, n->kind, n->name, &name.metric,
                                     err));
        TRY(store_writer_name_set(cmd->store, writer, &name, err));
    }
    return OK;
}

enum err_code ingest_apply_names(struct cmd *cmd, struct ingest_work *work, struct err *err)
{
    struct ingest_batch *b = work->batch;
    struct ingest_name *next = b->names;
    size_t count = MIN(b->name_count, (size_t)NAMES_A_WRITE);
    struct writer w;
    struct run run;

    TRY(store_writer_by_id(cmd->store, work->writer, cmd->arena, &w, err));
    TRY(store_run_by_id(cmd->store, w.run, cmd->arena, &run, err));
    if (run.project_name.len == 0)
        return err_set(err, ERR_NOT_FOUND, "run %s was deleted", run.public_id.text);
    TRY(apply_names(cmd, &run, w.id, b->names, count, err));
    for (size_t i = 0; i < count; i++)
        next = next->next;
    b->names = next;
    b->name_count -= count;
    return OK;
}

/* The facts of a batch, or, of many, what has to be known to bring them in later. */
static enum err_code apply_facts(struct cmd *cmd, struct ingest_work *work, struct arena *arena,
                                 struct err *err)
{
    bool turned;

    work->entries = ingest__entries(work->batch, arena);
    work->entries_done = 0;
    if (work->batch->facts_count <= INGEST_FACTS_MAX)
        return ingest__facts_apply(cmd, work, 0, work->batch->facts_count, err);
    TRY(store_run_facts_turn(cmd->store, work->run, RUN_FACTS_RIGHT, RUN_FACTS_COMING, &turned,
                             err));
    if (turned)
        work->entry_count = work->batch->facts_count;
    else /* they will be worked out anew in any case */
        TRY(store_run_facts_stale(cmd->store, work->run, true, err));
    return OK;
}

enum err_code ingest_apply_facts(struct cmd *cmd, struct ingest_work *work, struct err *err)
{
    size_t count = MIN(work->entry_count - work->entries_done, (size_t)FACTS_A_WRITE);
    enum run_facts state;
    struct run run;
    bool turned;

    TRY(store_run_facts_state(cmd->store, work->run, &state, err));
    if (state != RUN_FACTS_COMING)
        return err_set(err, ERR_CONFLICT, "the facts are worked out anew");
    TRY(ingest__facts_apply(cmd, work, work->entries_done, count, err));
    if (work->entries_done + count == work->entry_count) {
        TRY(store_run_facts_turn(cmd->store, work->run, state, RUN_FACTS_RIGHT, &turned, err));
        TRY(store_run_by_id(cmd->store, work->run, cmd->arena, &run, err));
        cmd_notice(cmd, NOTICE_METRICS, run.project, run.project_name, &run.public_id);
    }
    work->entries_done += count;
    return OK;
}

/* Whether this batch may have changed which points of the run count. */
static bool may_cut(const struct run *run, const struct writer *w, const struct ingest_batch *b,
                    bool has_first_step)
{
    bool opens = w->epoch_kind != EPOCH_CONTINUE && (b->start || has_first_step);

    return opens || (b->start && run->facts_cut);
}

/* Which points count. *ret_counts: those of this writer do, all of them. */
static enum err_code apply_cuts(struct cmd *cmd, struct run *run, const struct writer *w,
                                const struct ingest_batch *b, bool has_first_step, bool *ret_counts,
                                struct err *err)
{
    struct writer_view *views;
    struct writer *writers;
    size_t count = 0;

    *ret_counts = true;
    if (!may_cut(run, w, b, has_first_step) && !run->facts_cut)
        return OK;
    TRY(runs_writers(cmd, run->id, &writers, &count, err));
    views = arena_array(cmd->arena, count, sizeof *views);
    bool cut = runs_epochs(writers, count, views);
    for (size_t i = 0; i < count; i++)
        if (writers[i].id.v == w->id.v)
            *ret_counts = views[i].visible_below == INT64_MAX;
    if (cut != run->facts_cut || (cut && may_cut(run, w, b, has_first_step))) {
        run->facts_cut = cut;
        TRY(store_run_facts_cut(cmd->store, run->id, cut, err));
        return store_run_facts_stale_below(cmd->store, &run->public_id, INT64_MIN, err);
    }
    return *ret_counts ? OK : store_run_facts_stale(cmd->store, run->id, true, err);
}

/* Runs that branch from this one, and this one when it has just learned that it is a branch. */
static enum err_code apply_branches(struct cmd *cmd, const struct run *run, bool was_branch,
                                    const struct ingest_batch *b, struct err *err)
{
    if (run->parent.text[0] && !was_branch)
        TRY(store_run_facts_stale(cmd->store, run->id, true, err));
    if (b->step_min == INT64_MAX)
        return OK;
    return store_run_facts_stale_below(cmd->store, &run->public_id, b->step_min, err);
}

static enum err_code apply_rest(struct cmd *cmd, struct run *run, struct writer *w,
                                const struct ingest_batch *b, struct err *err)
{
    struct alert_place place = {.project = run->project, .run = run->id, .writer = w->id};

    for (const struct ingest_record *r = b->records; r; r = r->next)
        TRY(store_log_record_insert(cmd->store, w->id, r->offset, r->type, r->payload, err));
    for (struct ingest_alert *a = b->alerts; a; a = a->next) {
        place.offset = a->offset;
        a->alert.received = cmd->now;
        TRY(store_alert_insert(cmd->store, &place, &a->alert, err));
    }
    for (const struct ingest_gone *g = b->gone; g; g = g->next)
        TRY(store_writer_gone_set(cmd->store, run->id, &g->gone, err));
    if (b->console_count)
        cmd_notice(cmd, NOTICE_CONSOLE, run->project, run->project_name, &run->public_id);
    if (b->alerts)
        cmd_notice(cmd, NOTICE_ALERT, run->project, run->project_name, &run->public_id);
    return OK;
}

/* Most batches only say that the run goes on; what else happens is worked out from all writers. */
static enum err_code apply_life(struct cmd *cmd, struct run *run, const struct writer *w,
                                const struct ingest_batch *b, struct err *err)
{
    struct run_event event = {.kind = RUN_EVENT_HEARD, .at = cmd->now};
    bool is_new_process = b->start && (str_eq_c(w->kind, "trainer") || str_eq_c(w->kind, "exec"));

    if (is_new_process)
        run->stop_asked = TIME_NONE; /* it was asked of an earlier one */
    if (b->start || b->ended || b->gone || b->preempting || b->redacted ||
        run->state != RUN_RUNNING)
        return runs_settle(cmd, run, err);
    return runs_happen(cmd, run, &event, err);
}

enum err_code ingest_apply(struct cmd *cmd, struct ingest_work *work, struct arena *arena,
                           struct err *err)
{
    const struct ingest_batch *b = work->batch;
    bool had_step, was_branch, has_new_parent, counts = true;
    struct writer w;
    struct id parent;
    struct run run;

    TRY(store_writer_by_id(cmd->store, work->writer, cmd->arena, &w, err));
    if (w.applied_offset != b->from)
        return err_set(err, ERR_CONFLICT, "the log was applied meanwhile");
    TRY(store_run_by_id(cmd->store, w.run, cmd->arena, &run, err));
    if (run.project_name.len == 0)
        return err_set(err, ERR_NOT_FOUND, "run %s was deleted", run.public_id.text);
    had_step = w.first_step != STEP_NONE;
    was_branch = run.parent.text[0] != 0;
    parent = run.parent;
    TRY(apply_writer(cmd, &w, b, err));
    TRY(apply_docs(cmd, &run, &w, b, err));
    has_new_parent = strcmp(run.parent.text, parent.text) != 0;
    TRY(apply_defined(cmd, &run, &w, b, has_new_parent, err));
    TRY(apply_cuts(cmd, &run, &w, b, !had_step && w.first_step != STEP_NONE, &counts, err));
    TRY(apply_branches(cmd, &run, was_branch, b, err));
    TRY(apply_names(cmd, &run, w.id, b->names, b->name_count, err));
    work->run = run.id;
    if (counts)
        TRY(apply_facts(cmd, work, arena, err));
    TRY(apply_rest(cmd, &run, &w, b, err));
    TRY(apply_life(cmd, &run, &w, b, err));
    if (b->points)
        cmd_notice(cmd, NOTICE_METRICS, run.project, run.project_name, &run.public_id);
    if (b->config || b->summary || b->start || b->code.len || b->machine.len)
        cmd_notice(cmd, NOTICE_RUN, run.project, run.project_name, &run.public_id);
    return OK;
}

enum err_code ingest_writers(struct cmd *cmd, run_id run, struct writer **ret_writers,
                             size_t *ret_count, struct err *err)
{
    return runs_writers(cmd, run, ret_writers, ret_count, err);
}
