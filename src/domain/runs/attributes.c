/* Keeping the values of runs.
 *
 * New values are compared with those that are there, both sorted, and only the difference is
 * written: a summary of 500 keys of which one changes costs one row. */
#include "domain/runs/attributes.h"

#include "base/json.h"
#include "domain/runs/define.h"
#include "domain/runs/flatten.h"
#include "domain/runs/run_key.h"
#include "store/store_attribute.h"
#include "store/store_metric.h"
#include "store/store_run.h"
#include "store/store_writer.h"

#include <stdlib.h>

#define DOC_BYTES_MAX     (16u * 1024 * 1024)
#define CATCH_UP_RUNS     16
#define INDEX_WRITERS_MAX 10000
#define FIELD_VALUES_MAX  (RUN_FIELD_COUNT + TAG_COUNT_MAX)

static int compare(const void *left, const void *right)
{
    const struct attribute *a = left, *b = right;
    int order = str_compare(a->name, b->name);

    if (order == 0 && a->kind != b->kind)
        order = a->kind < b->kind ? -1 : 1;
    if (order == 0 && a->number != b->number)
        order = a->number < b->number ? -1 : 1;
    return order ? order : str_compare(a->text, b->text);
}

static void sort(struct attribute *values, size_t count)
{
    if (count > 1)
        qsort(values, count, sizeof *values, compare);
}

/* Whether some value of a sorted list has this name. */
static bool has_name(const struct attribute *values, size_t count, struct str name)
{
    size_t low = 0, high = count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        int order = str_compare(values[middle].name, name);
        if (order == 0)
            return true;
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return false;
}

struct change {
    run_id run;
    project_id project;
    enum attribute_space space;
    struct attribute *have, *want; /* sorted, without doubles */
    size_t have_count, want_count;
};

/* The first of several values of a key makes the run count, the last one uncounts it. */
static enum err_code remove_one(struct cmd *cmd, const struct change *c, size_t i, struct err *err)
{
    const struct attribute *value = &c->have[i];
    bool first = i == 0 || !str_eq(c->have[i - 1].name, value->name);
    bool counts = first && !has_name(c->want, c->want_count, value->name);

    return store_attribute_remove(cmd->store, c->run, value, counts, err);
}

static enum err_code add_one(struct cmd *cmd, const struct change *c, size_t i, struct err *err)
{
    struct attribute *value = &c->want[i];
    bool first = i == 0 || !str_eq(c->want[i - 1].name, value->name);
    bool counts = first && !has_name(c->have, c->have_count, value->name);

    TRY(store_attribute_key_intern(cmd->store, c->project, c->space, value->name, &value->key,
                                   err));
    return store_attribute_add(cmd->store, c->run, value, counts, err);
}

static size_t without_doubles(struct attribute *values, size_t count)
{
    size_t kept = 0;

    for (size_t i = 0; i < count; i++)
        if (kept == 0 || compare(&values[kept - 1], &values[i]) != 0)
            values[kept++] = values[i];
    return kept;
}

/* Makes the values of one space of a run those of `want`. */
static enum err_code replace(struct cmd *cmd, run_id run, enum attribute_space space,
                             struct attribute_list *want, struct err *err)
{
    struct change c = {run, {0}, space, NULL, want->items, 0, want->count};
    size_t i = 0, j = 0;

    TRY(store_run_project(cmd->store, run, &c.project, err));
    TRY(store_attribute_list(cmd->store, run, (int)space, cmd->arena, &c.have, &c.have_count, err));
    sort(c.have, c.have_count);
    sort(c.want, c.want_count);
    c.want_count = without_doubles(c.want, c.want_count);
    while (i < c.have_count || j < c.want_count) {
        int order = i == c.have_count   ? 1
                    : j == c.want_count ? -1
                                        : compare(&c.have[i], &c.want[j]);
        if (order < 0)
            TRY(remove_one(cmd, &c, i, err));
        if (order > 0)
            TRY(add_one(cmd, &c, j, err));
        i += order <= 0;
        j += order >= 0;
    }
    return OK;
}

static void add_number(struct attribute_list *list, enum run_field field, int64_t number)
{
    attribute_list_add(list, (struct attribute){.name = str_from(run_field_name(field)),
                                                .kind = ATTRIBUTE_NUMBER,
                                                .number = float_to_bits((double)number)});
}

static void add_text(struct attribute_list *list, enum run_field field, struct str text)
{
    if (text.len)
        attribute_list_add_text(list, str_from(run_field_name(field)), text);
}

static void add_tags(struct attribute_list *list, struct str tags)
{
    CLEANUP(json_release) json_t *array = NULL;

    if (json_parse(tags, DOC_BYTES_MAX, &array, NULL) != OK)
        return;
    for (size_t i = 0; i < json_array_size(array) && i < TAG_COUNT_MAX; i++) {
        const json_t *tag = json_array_get(array, i);
        if (json_is_string(tag))
            add_text(
                list, RUN_FIELD_TAGS,
                arena_copy(list->arena, str_n(json_string_value(tag), json_string_length(tag))));
    }
}

static enum err_code write_fields(struct cmd *cmd, struct run *run, struct err *err)
{
    struct attribute_list list = attribute_list_begin(cmd->arena, FIELD_VALUES_MAX);

    add_text(&list, RUN_FIELD_ID, id_str(&run->public_id));
    add_text(&list, RUN_FIELD_STATE, str_from(run_state_name(run->state)));
    add_text(&list, RUN_FIELD_NAME, run->name);
    add_text(&list, RUN_FIELD_OWNER, run->owner_login);
    add_text(&list, RUN_FIELD_HOST, run->host);
    add_text(&list, RUN_FIELD_GROUP, run->group);
    add_text(&list, RUN_FIELD_JOB_TYPE, run->job_type);
    add_number(&list, RUN_FIELD_CREATED, run->created);
    if (run->started != TIME_NONE)
        add_number(&list, RUN_FIELD_STARTED, run->started);
    if (run->ended != TIME_NONE)
        add_number(&list, RUN_FIELD_ENDED, run->ended);
    /* A running one has no fixed run time: the table reckons it when asked. */
    if (run->started != TIME_NONE && run->ended != TIME_NONE && run_state_ended(run->state))
        add_number(&list, RUN_FIELD_RUNTIME, MAX(run->ended - run->started, 0));
    if (run->cost_micro >= 0)
        add_number(&list, RUN_FIELD_COST, run->cost_micro);
    if (run->exit_code >= 0)
        add_number(&list, RUN_FIELD_EXIT_CODE, run->exit_code);
    add_tags(&list, run->tags);
    TRY(replace(cmd, run->id, ATTRIBUTE_RUN, &list, err));
    run->read_mark = store_run_mark(run);
    return OK;
}

enum err_code attributes_of_run(struct cmd *cmd, struct run *run, struct err *err)
{
    return run->read_mark == store_run_mark(run) ? OK : write_fields(cmd, run, err);
}

static void add_code(struct attribute_list *list, const json_t *code)
{
    static const struct {
        const char *member;
        enum run_field field;
    } members[] = {{"branch", RUN_FIELD_BRANCH}, {"commit", RUN_FIELD_COMMIT}};
    const json_t *git = json_object_get(code, "git");

    for (size_t i = 0; i < ARRAY_LEN(members); i++) {
        const json_t *value = json_object_get(git, members[i].member);
        if (json_is_string(value))
            add_text(list, members[i].field,
                     arena_copy(list->arena,
                                str_n(json_string_value(value), json_string_length(value))));
    }
}

static void add_defined(struct attribute_list *list, struct str body)
{
    struct definitions set;

    definitions_read(body, list->arena, &set);
    for (size_t i = 0; i < set.count; i++)
        attribute_list_add_text(list, set.items[i].name,
                                str_from(definition_figure_name(set.items[i].figure)));
}

static enum err_code write_doc(struct cmd *cmd, run_id run, enum run_doc kind, struct str body,
                               struct err *err)
{
    enum attribute_space space = kind == RUN_DOC_CONFIG    ? ATTRIBUTE_CONFIG
                                 : kind == RUN_DOC_SUMMARY ? ATTRIBUTE_SUMMARY
                                 : kind == RUN_DOC_DEFINED ? ATTRIBUTE_DEFINED
                                                           : ATTRIBUTE_CODE;
    struct attribute_list list = attribute_list_begin(cmd->arena, ATTRIBUTES_A_DOC_MAX);
    CLEANUP(json_release) json_t *doc = NULL;

    if (kind == RUN_DOC_DEFINED)
        add_defined(&list, body);
    else if (body.len && json_parse(body, DOC_BYTES_MAX, &doc, NULL) == OK) {
        if (kind == RUN_DOC_CODE)
            add_code(&list, doc);
        else
            flatten(doc, &list);
    }
    return replace(cmd, run, space, &list, err);
}

static bool is_indexed(enum run_doc kind)
{
    return kind == RUN_DOC_CONFIG || kind == RUN_DOC_SUMMARY || kind == RUN_DOC_CODE ||
           kind == RUN_DOC_DEFINED;
}

enum err_code attributes_doc_set(struct cmd *cmd, run_id run, enum run_doc kind, struct str body,
                                 struct err *err)
{
    TRY(store_run_doc_set(cmd->store, run, kind, body, err));
    return is_indexed(kind) ? write_doc(cmd, run, kind, body, err) : OK;
}

enum err_code attributes_hosts_set(struct cmd *cmd, run_id run, const struct str *facts,
                                   size_t count, struct err *err)
{
    struct attribute_list list = attribute_list_begin(cmd->arena, MAX(count, 1));
    bool several = false;

    for (size_t i = 0; i < count; i++) {
        CLEANUP(json_release) json_t *one = NULL;
        if (json_parse(facts[i], DOC_BYTES_MAX, &one, NULL) != OK)
            continue;
        const json_t *value = json_object_get(one, "host");
        if (!json_is_string(value) || json_string_length(value) == 0)
            continue;
        struct str host = str_n(json_string_value(value), json_string_length(value));
        add_text(&list, RUN_FIELD_HOST, arena_copy(cmd->arena, host));
        several = several || !str_eq(list.items[0].text, host);
    }
    return several ? replace(cmd, run, ATTRIBUTE_HOSTS, &list, err) : OK;
}

static enum err_code index_hosts(struct cmd *cmd, run_id run, struct err *err)
{
    struct str *facts;
    size_t count = 0;

    TRY(store_writer_doc_list(cmd->store, run, WRITER_DOC_FACTS, INDEX_WRITERS_MAX, cmd->arena,
                              &facts, &count, err));
    return attributes_hosts_set(cmd, run, facts, count, err);
}

enum err_code attributes_delete(struct cmd *cmd, run_id run, struct err *err)
{
    static const enum attribute_space spaces[] = {ATTRIBUTE_RUN,     ATTRIBUTE_CONFIG,
                                                  ATTRIBUTE_SUMMARY, ATTRIBUTE_CODE,
                                                  ATTRIBUTE_DEFINED, ATTRIBUTE_HOSTS};

    for (size_t i = 0; i < ARRAY_LEN(spaces); i++) {
        struct attribute_list none = {0};
        TRY(replace(cmd, run, spaces[i], &none, err));
    }
    return OK;
}

enum err_code attributes_index(struct cmd *cmd, run_id id, struct err *err)
{
    struct run run;

    TRY(store_run_by_id(cmd->store, id, cmd->arena, &run, err));
    TRY(write_fields(cmd, &run, err));
    TRY(index_hosts(cmd, id, err));
    for (int kind = 0; kind < RUN_DOC_COUNT; kind++) {
        struct str body = {0};
        if (!is_indexed((enum run_doc)kind))
            continue;
        TRY(store_run_doc_get(cmd->store, id, (enum run_doc)kind, cmd->arena, &body, err));
        TRY(write_doc(cmd, id, (enum run_doc)kind, body, err));
    }
    return store_run_indexed_set(cmd->store, id, RUN_INDEX_VERSION, err);
}

enum err_code attributes_catch_up(struct cmd *cmd, bool *ret_more, struct err *err)
{
    run_id ids[CATCH_UP_RUNS];
    size_t count = 0;

    TRY(store_run_unindexed(cmd->store, RUN_INDEX_VERSION, CATCH_UP_RUNS, ids, &count, err));
    for (size_t i = 0; i < count; i++)
        TRY(attributes_index(cmd, ids[i], err));
    *ret_more = count == CATCH_UP_RUNS;
    return OK;
}
