/* Folding. The tricky part is the base: what the run was before any log spoke (its job's config and
 * commit, the tags of launch, what a person changed since) is kept as a document of its own, so
 * that the fold can start from it again and again. */
#include "domain/runs/runs_fold.h"

#include "base/id.h"
#include "domain/runs/attributes.h"
#include "store/store_run.h"
#include "store/store_writer.h"

#include <string.h>

#define DOC_BYTES_MAX    (16u * 1024 * 1024)
#define FOLD_WRITERS_MAX 10000

static json_t *text_json(struct str text)
{
    return json_stringn(text.len ? text.data : "", text.len);
}

static json_t *parse_or(struct str text, json_t *(*otherwise)(void))
{
    json_t *value = NULL;

    if (text.len == 0 || json_parse(text, DOC_BYTES_MAX, &value, NULL) != OK)
        value = otherwise();
    return value;
}

/* NULL data: it grew beyond the limit. */
static struct str to_text(struct cmd *cmd, const json_t *value)
{
    CLEANUP(buf_release) struct buf out = {0};
    struct json_writer w;

    buf_init(&out, DOC_BYTES_MAX);
    json_writer_init(&w, &out);
    json_put_value(&w, value);
    return out.full ? (struct str){0} : arena_copy(cmd->arena, buf_str(&out));
}

static void put(json_t *object, const char *key, json_t *value)
{
    (void)json_object_set_new(object, key, value); /* fails only when out of memory */
}

/* The base of the run, made from its row when this is the first time. The caller releases it. */
static enum err_code base_load(struct cmd *cmd, run_id id, json_t **ret_base, struct err *err)
{
    struct str body = {0}, config = {0}, code = {0};
    struct run run;
    json_t *base;

    TRY(store_run_doc_get(cmd->store, id, RUN_DOC_BASE, cmd->arena, &body, err));
    if (body.len) {
        *ret_base = parse_or(body, json_object);
        return OK;
    }
    TRY(store_run_by_id(cmd->store, id, cmd->arena, &run, err));
    TRY(store_run_doc_get(cmd->store, id, RUN_DOC_CONFIG, cmd->arena, &config, err));
    TRY(store_run_doc_get(cmd->store, id, RUN_DOC_CODE, cmd->arena, &code, err));
    base = json_object();
    put(base, "name", text_json(run.name));
    put(base, "group", text_json(run.group));
    put(base, "job_type", text_json(run.job_type));
    put(base, "host", text_json(run.host));
    put(base, "notes", text_json(run.notes));
    put(base, "command", parse_or(run.command, json_array));
    put(base, "tags", parse_or(run.tags, json_array));
    put(base, "config", parse_or(config, json_object));
    put(base, "code", parse_or(code, json_object));
    *ret_base = base;
    return attributes_doc_set(cmd, id, RUN_DOC_BASE, to_text(cmd, base), err);
}

static bool is_edited(const json_t *base, const char *field)
{
    return json_is_true(json_object_get(json_object_get(base, "edited"), field));
}

enum err_code runs_base_edit(struct cmd *cmd, const struct run *run, const struct run_spec *spec,
                             struct err *err)
{
    CLEANUP(json_release) json_t *base = NULL;
    json_t *edited;
    struct str text;

    TRY(base_load(cmd, run->id, &base, err));
    edited = json_object_get(base, "edited");
    if (!json_is_object(edited)) {
        edited = json_object();
        put(base, "edited", edited);
    }
    if (spec->name.data) {
        put(base, "name", text_json(spec->name));
        put(edited, "name", json_true());
    }
    if (spec->notes.data) {
        put(base, "notes", text_json(spec->notes));
        put(edited, "notes", json_true());
    }
    if (spec->tags.data) {
        put(base, "tags", parse_or(spec->tags, json_array));
        put(edited, "tags", json_true());
    }
    text = to_text(cmd, base);
    return text.data ? attributes_doc_set(cmd, run->id, RUN_DOC_BASE, text, err) : OK;
}

static enum run_doc run_doc_of(enum writer_doc kind)
{
    switch (kind) {
    case WRITER_DOC_CONFIG: return RUN_DOC_CONFIG;
    case WRITER_DOC_SUMMARY: return RUN_DOC_SUMMARY;
    case WRITER_DOC_CODE: return RUN_DOC_CODE;
    default: return RUN_DOC_DIFF;
    }
}

/* Base and all writers, in their order. The caller releases *ret_doc. */
static enum err_code fold_merged(struct cmd *cmd, const struct writer *writer, enum writer_doc kind,
                                 json_t **ret_doc, struct err *err)
{
    CLEANUP(json_release) json_t *base = NULL;
    struct str *bodies;
    size_t count = 0;

    TRY(base_load(cmd, writer->run, &base, err));
    TRY(store_writer_doc_list(cmd->store, writer->run, kind, FOLD_WRITERS_MAX, cmd->arena, &bodies,
                              &count, err));
    json_t *begin = json_object_get(base, run_doc_name(run_doc_of(kind)));
    *ret_doc = json_is_object(begin) ? json_deep_copy(begin) : json_object();
    for (size_t i = 0; i < count; i++) {
        CLEANUP(json_release) json_t *one = parse_or(bodies[i], json_object);
        (void)json_object_update(*ret_doc, one); /* fails only when out of memory */
    }
    return OK;
}

enum err_code runs_fold_merge(struct cmd *cmd, const struct writer *writer, enum writer_doc kind,
                              json_t *patch, struct err *err)
{
    CLEANUP(json_release) json_t *own = NULL;
    CLEANUP(json_release) json_t *doc = NULL;
    CLEANUP(json_release) json_t *base = NULL;
    struct str body = {0}, text;
    bool is_last = false;

    TRY(base_load(cmd, writer->run, &base, err));
    TRY(store_writer_doc_get(cmd->store, writer->id, kind, cmd->arena, &body, err));
    own = parse_or(body, json_object);
    (void)json_object_update(own, patch); /* fails only when out of memory */
    text = to_text(cmd, own);
    if (!text.data)
        return OK; /* grown beyond the limit: the documents stay as they were */
    TRY(store_writer_doc_set(cmd->store, writer->id, kind, text, err));
    TRY(store_writer_doc_is_last(cmd->store, writer, kind, &is_last, err));
    if (is_last) { /* nobody comes behind: no need to read the others */
        TRY(store_run_doc_get(cmd->store, writer->run, run_doc_of(kind), cmd->arena, &body, err));
        doc = parse_or(body, json_object);
        (void)json_object_update(doc, patch);
    } else {
        TRY(fold_merged(cmd, writer, kind, &doc, err));
    }
    text = to_text(cmd, doc);
    return text.data ? attributes_doc_set(cmd, writer->run, run_doc_of(kind), text, err) : OK;
}

enum err_code runs_fold_replace(struct cmd *cmd, const struct writer *writer, enum writer_doc kind,
                                struct str body, struct err *err)
{
    CLEANUP(json_release) json_t *base = NULL;
    CLEANUP(json_release) json_t *doc = NULL;
    struct str *bodies, text;
    size_t count = 0;

    TRY(base_load(cmd, writer->run, &base, err));
    TRY(store_writer_doc_set(cmd->store, writer->id, kind, body, err));
    TRY(store_writer_doc_list(cmd->store, writer->run, kind, FOLD_WRITERS_MAX, cmd->arena, &bodies,
                              &count, err));
    if (count == 0)
        return OK;
    json_t *git = json_object_get(json_object_get(base, "code"), "git");
    if (kind != WRITER_DOC_CODE || !git)
        return attributes_doc_set(cmd, writer->run, run_doc_of(kind), bodies[count - 1], err);
    doc = parse_or(bodies[count - 1], json_object);
    (void)json_object_set(doc, "git", git);
    text = to_text(cmd, doc);
    return text.data ? attributes_doc_set(cmd, writer->run, RUN_DOC_CODE, text, err) : OK;
}

static bool has_tag(const json_t *tags, const char *tag)
{
    for (size_t i = 0; i < json_array_size(tags); i++)
        if (strcmp(json_string_value(json_array_get(tags, i)), tag) == 0)
            return true;
    return false;
}

/* What launch gave and what each init() gives add up; what `tags =` sets replaces. */
static void fold_tags(json_t *result, const json_t *facts)
{
    json_t *tags = json_object_get(result, "tags");
    json_t *more = json_object_get(facts, "tags");

    if (!json_is_array(more))
        return;
    if (!json_is_array(tags) || json_is_true(json_object_get(facts, "tags_set"))) {
        put(result, "tags", json_copy(more));
        return;
    }
    for (size_t i = 0; i < json_array_size(more); i++) {
        json_t *tag = json_array_get(more, i);
        if (json_is_string(tag) && json_array_size(tags) < TAG_COUNT_MAX &&
            !has_tag(tags, json_string_value(tag)))
            (void)json_array_append(tags, tag); /* fails only when out of memory */
    }
}

static void fold_one(const json_t *base, json_t *result, const json_t *facts)
{
    static const char *const fields[] = {"group", "job_type", "host", "notes", "command"};
    json_t *name = json_object_get(facts, "name");

    for (size_t i = 0; i < ARRAY_LEN(fields); i++) {
        json_t *value = json_object_get(facts, fields[i]);
        if (value && !is_edited(base, fields[i]))
            (void)json_object_set(result, fields[i], value); /* fails only when out of memory */
    }
    /* The first name stays, as the run is known by it. */
    if (name && !is_edited(base, "name") && !json_object_get(result, "script_name"))
        (void)json_object_set(result, "script_name", name);
    if (!is_edited(base, "tags"))
        fold_tags(result, facts);
    json_t *branch = json_object_get(facts, "branch");
    if (branch && !json_object_get(result, "branch"))
        (void)json_object_set(result, "branch", branch);
}

static struct str text_member(struct cmd *cmd, const json_t *object, const char *key)
{
    const json_t *value = json_object_get(object, key);

    if (!json_is_string(value))
        return STR("");
    return arena_copy(cmd->arena, str_n(json_string_value(value), json_string_length(value)));
}

/* A run that nobody named goes by its id or its job's; only such a one takes the script's name. */
static bool has_own_name(const struct run *run, const json_t *base)
{
    const char *name = json_string_value(json_object_get(base, "name"));

    return name && strcmp(name, run->public_id.text) != 0 &&
           strcmp(name, run->job_public_id.text) != 0;
}

static void take_branch(struct run *run, const json_t *result)
{
    const json_t *branch = json_object_get(result, "branch");
    const json_t *parent = json_object_get(branch, "run"), *step = json_object_get(branch, "step");
    struct id id;

    if (!json_is_string(parent) || !json_is_integer(step) ||
        !id_parse(str_n(json_string_value(parent), json_string_length(parent)), ID_RUN, &id) ||
        memcmp(id.text, run->public_id.text, ID_BYTES) == 0)
        return;
    run->parent = id;
    run->parent_step = json_integer_value(step);
}

static void take_result(struct cmd *cmd, struct run *run, const json_t *base, const json_t *result)
{
    struct str tags = to_text(cmd, json_object_get(result, "tags"));
    struct str command = to_text(cmd, json_object_get(result, "command"));

    run->name = text_member(cmd, result, "name");
    if (!has_own_name(run, base) && json_object_get(result, "script_name"))
        run->name = text_member(cmd, result, "script_name");
    run->group = text_member(cmd, result, "group");
    run->job_type = text_member(cmd, result, "job_type");
    run->host = text_member(cmd, result, "host");
    run->notes = text_member(cmd, result, "notes");
    run->tags = tags.data ? tags : run->tags;
    if (!run->job_public_id.text[0]) /* a job has given its run a command already */
        run->command = command.data ? command : run->command;
    take_branch(run, result);
}

enum err_code runs_fold_facts(struct cmd *cmd, struct run *run, const struct writer *writer,
                              json_t *facts, struct err *err)
{
    CLEANUP(json_release) json_t *base = NULL;
    CLEANUP(json_release) json_t *own = NULL;
    CLEANUP(json_release) json_t *result = NULL;
    struct str body = {0}, *bodies, text;
    size_t count = 0;

    TRY(base_load(cmd, run->id, &base, err));
    TRY(store_writer_doc_get(cmd->store, writer->id, WRITER_DOC_FACTS, cmd->arena, &body, err));
    own = parse_or(body, json_object);
    (void)json_object_update(own, facts); /* fails only when out of memory */
    text = to_text(cmd, own);
    if (!text.data)
        return OK;
    TRY(store_writer_doc_set(cmd->store, writer->id, WRITER_DOC_FACTS, text, err));
    TRY(store_writer_doc_list(cmd->store, run->id, WRITER_DOC_FACTS, FOLD_WRITERS_MAX, cmd->arena,
                              &bodies, &count, err));
    result = json_deep_copy(base);
    for (size_t i = 0; i < count; i++) {
        CLEANUP(json_release) json_t *one = parse_or(bodies[i], json_object);
        fold_one(base, result, one);
    }
    take_result(cmd, run, base, result);
    if (!json_object_get(facts, "host"))
        return OK;
    return attributes_hosts_set(cmd, run->id, bodies, count, err);
}
