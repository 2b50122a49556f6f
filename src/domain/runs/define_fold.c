/* Folding definitions. A branch keeps no copy of what its parent said: it is worked out again with
 * every change above it, parents before children, so that the order of arrival cannot matter. */
#include "domain/runs/define_fold.h"

#include "domain/runs/attributes.h"
#include "store/store_run.h"
#include "store/store_writer.h"

#define DOC_BYTES_MAX     (16u * 1024 * 1024)
#define FOLD_WRITERS_MAX  10000
#define FOLD_BRANCHES_MAX 10000

static json_t *parse(struct str text)
{
    json_t *value = NULL;

    if (text.len && json_parse(text, DOC_BYTES_MAX, &value, NULL) == OK && json_is_object(value))
        return value;
    json_release(&value);
    return json_object();
}

/* METRIC_DEFINED_MAX definitions of two names each are far below the limit. */
static struct str to_text(struct cmd *cmd, const json_t *value)
{
    CLEANUP(buf_release) struct buf out = {0};
    struct json_writer w;

    buf_init(&out, DOC_BYTES_MAX);
    json_writer_init(&w, &out);
    json_put_value(&w, value);
    ENSURE(!out.full);
    return arena_copy(cmd->arena, buf_str(&out));
}

enum err_code define_fold_take(struct cmd *cmd, const struct writer *writer, json_t *later,
                               struct err *err)
{
    CLEANUP(json_release) json_t *own = NULL;
    struct str body = {0};

    TRY(store_writer_doc_get(cmd->store, writer->id, WRITER_DOC_DEFINED, cmd->arena, &body, err));
    own = parse(body);
    definitions_join(own, later);
    return store_writer_doc_set(cmd->store, writer->id, WRITER_DOC_DEFINED, to_text(cmd, own), err);
}

/* What the parent gives, which has been worked out before. */
static enum err_code inherited(struct cmd *cmd, const struct run *run, struct str *ret_body,
                               struct err *err)
{
    struct run parent;
    enum err_code code;

    *ret_body = (struct str){0};
    if (!run->parent.text[0])
        return OK;
    code = store_run_get(cmd->store, &run->parent, cmd->arena, &parent, err);
    if (code == ERR_NOT_FOUND)
        return OK;
    TRY(code);
    if (parent.project.v != run->project.v || parent.id.v == run->id.v)
        return OK;
    return store_run_doc_get(cmd->store, parent.id, RUN_DOC_DEFINED, cmd->arena, ret_body, err);
}

static enum err_code settle_one(struct cmd *cmd, const struct run *run, bool *ret_changed,
                                struct err *err)
{
    CLEANUP(json_release) json_t *result = NULL;
    struct str before = {0}, parent, after, *bodies;
    size_t count = 0;

    TRY(inherited(cmd, run, &parent, err));
    TRY(store_writer_doc_list(cmd->store, run->id, WRITER_DOC_DEFINED, FOLD_WRITERS_MAX, cmd->arena,
                              &bodies, &count, err));
    result = parse(parent);
    for (size_t i = 0; i < count; i++) {
        CLEANUP(json_release) json_t *one = parse(bodies[i]);
        definitions_join(result, one);
    }
    TRY(store_run_doc_get(cmd->store, run->id, RUN_DOC_DEFINED, cmd->arena, &before, err));
    after = to_text(cmd, result);
    *ret_changed = !str_eq(before.len ? before : STR("{}"), after);
    if (!*ret_changed)
        return OK;
    cmd_notice(cmd, NOTICE_RUN, run->project, run->project_name, &run->public_id);
    cmd_notice(cmd, NOTICE_METRICS, run->project, run->project_name, &run->public_id);
    return attributes_doc_set(cmd, run->id, RUN_DOC_DEFINED, after, err);
}

enum err_code define_fold_branches(struct cmd *cmd, const struct run *run, struct err *err)
{
    run_id *ids = arena_array(cmd->arena, FOLD_BRANCHES_MAX, sizeof *ids);
    size_t count = 0;

    TRY(store_run_branch_list(cmd->store, &run->public_id, FOLD_BRANCHES_MAX, ids, &count, err));
    for (size_t i = 0; i < count; i++) {
        struct run branch;
        bool changed = false;
        TRY(store_run_by_id(cmd->store, ids[i], cmd->arena, &branch, err));
        if (branch.id.v != run->id.v && branch.project_name.len)
            TRY(settle_one(cmd, &branch, &changed, err));
    }
    return OK;
}

enum err_code define_fold_settle(struct cmd *cmd, const struct run *run, struct err *err)
{
    bool changed = false;

    TRY(settle_one(cmd, run, &changed, err));
    return changed ? define_fold_branches(cmd, run, err) : OK;
}

enum err_code define_load(struct cmd *cmd, run_id run, struct definitions *ret_definitions,
                          struct err *err)
{
    struct str body = {0};

    TRY(store_run_doc_get(cmd->store, run, RUN_DOC_DEFINED, cmd->arena, &body, err));
    definitions_read(body, cmd->arena, ret_definitions);
    return OK;
}
