/* The runs table: pages, groups and columns. */
#include "domain/runs/runs.h"
#include "domain/runs/table.h"
#include "gen/http_routes.h"
#include "http/http_render.h"

#define COLUMNS_DEFAULT 100

/* Keys with commas between; a comma in quotes belongs to its key. */
static enum err_code split_keys(struct http_call *call, const char *name, size_t count_max,
                                struct str **ret_keys, size_t *ret_count, struct err *err)
{
    struct str *keys = arena_array(&call->arena, count_max, sizeof *keys);
    struct str text;
    size_t count = 0, begin = 0;
    bool quoted = false;

    *ret_keys = keys;
    *ret_count = 0;
    if (!http_call_query(call, name, &text))
        return OK;
    for (size_t at = 0; at <= text.len; at++) {
        if (at < text.len && quoted && text.data[at] == '\\')
            at++;
        else if (at < text.len && text.data[at] == '"')
            quoted = !quoted;
        if (at < text.len && (quoted || text.data[at] != ','))
            continue;
        if (count == count_max)
            return err_set_field(err, ERR_INVALID, name, "\"%s\" has more than %zu keys", name,
                                 count_max);
        keys[count++] = str_trim(str_n(text.data + begin, at - begin));
        begin = at + 1;
    }
    *ret_count = count;
    return OK;
}

static void take_find(const struct http_call *call, struct table_find *ret_find)
{
    struct str state;

    *ret_find = (struct table_find){.project = call->project.id,
                                    .filter = STR(""),
                                    .state = RUN_STATE_COUNT,
                                    .tag = STR(""),
                                    .search = STR("")};
    (void)http_call_query(call, "filter", &ret_find->filter);
    (void)http_call_query(call, "tag", &ret_find->tag);
    (void)http_call_query(call, "search", &ret_find->search);
    if (http_call_query(call, "state", &state))
        ret_find->state = run_state_from_name(state);
}

static void put_value(struct json_writer *w, const struct attribute *value)
{
    switch (value->kind) {
    case ATTRIBUTE_NUMBER: json_put_f64(w, table_number(value)); return;
    case ATTRIBUTE_BOOL: json_put_bool(w, value->number != 0); return;
    case ATTRIBUTE_TEXT: json_put_str(w, value->text); return;
    case ATTRIBUTE_NAN: json_put_text(w, "NaN"); return;
    case ATTRIBUTE_KIND_END: break;
    }
    json_put_null(w);
}

static void put_word(struct json_writer *w, const char *key, const char *word)
{
    json_put_key(w, key);
    json_put_text(w, word); /* NULL is null */
}

static void put_figure(struct json_writer *w, const struct table_figure *figure)
{
    bool is_metric = figure->stat != STAT_END;

    if (!is_metric && figure->goal == GOAL_NONE) {
        json_put_null(w);
        return;
    }
    json_begin_object(w);
    put_word(w, "figure", is_metric ? metric_stat_name(figure->stat) : NULL);
    json_put_key(w, "step");
    if (figure->step == STEP_NONE)
        json_put_null(w);
    else
        json_put_i64(w, figure->step);
    put_word(w, "goal", figure->goal == GOAL_NONE ? NULL : metric_goal_name(figure->goal));
    json_end_object(w);
}

/* The values of a row, and behind them where each comes from. */
static void put_row(struct json_writer *w, const struct table_page *page, size_t row, size_t count)
{
    json_put_key(w, "values");
    json_begin_array(w);
    for (size_t k = 0; k < count; k++)
        put_value(w, &page->values[row * count + k]);
    json_end_array(w);
    json_put_key(w, "figures");
    json_begin_array(w);
    for (size_t k = 0; k < count; k++)
        put_figure(w, &page->figures[row * count + k]);
    json_end_array(w);
}

static void put_texts(struct json_writer *w, const char *key, const struct str *texts, size_t count)
{
    json_put_key(w, key);
    json_begin_array(w);
    for (size_t i = 0; i < count; i++)
        json_put_str(w, texts[i]);
    json_end_array(w);
}

enum err_code http_run_list(struct http_call *call, struct err *err)
{
    struct table_query q = {.sort = STR(""), .limit = http_call_limit(call)};
    struct table_page page;
    struct str *columns;
    bool chosen;

    take_find(call, &q.find);
    q.cursor = http_call_cursor_text(call);
    q.skip = http_call_query_i64(call, "skip", 0);
    (void)http_call_query(call, "sort", &q.sort);
    TRY(split_keys(call, "columns", TABLE_COLUMNS_MAX, &columns, &q.column_count, err));
    q.columns = columns;
    chosen = q.column_count > 0;
    TRY(table_list(&call->cmd, &q, &page, err));
    http_call_page_begin(call);
    for (size_t i = 0; i < page.count; i++) {
        page.runs[i].config = page.runs[i].summary = chosen ? STR("{}") : (struct str){0};
        if (!chosen)
            TRY(runs_load_docs(&call->cmd, &page.runs[i], err));
        http_render_run_row(&call->json, &page.runs[i], call->cmd.now);
        if (chosen)
            put_row(&call->json, &page, i, q.column_count);
        json_end_object(&call->json);
    }
    json_end_array(&call->json);
    json_put_key(&call->json, "next_cursor");
    json_put_text(&call->json, page.next_cursor);
    http_render_number(&call->json, "total", page.total);
    if (chosen)
        put_texts(&call->json, "columns", columns, q.column_count);
    put_texts(&call->json, "warnings", page.warnings.items, page.warnings.count);
    json_end_object(&call->json);
    return OK;
}

enum err_code http_run_group(struct http_call *call, struct err *err)
{
    struct table_groups groups;
    struct table_find find;
    struct str *keys;
    size_t key_count = 0;

    take_find(call, &find);
    TRY(split_keys(call, "by", TABLE_GROUP_KEYS, &keys, &key_count, err));
    TRY(table_group(&call->cmd, &find, keys, key_count, &groups, err));
    json_begin_object(&call->json);
    put_texts(&call->json, "by", keys, key_count);
    json_put_key(&call->json, "items");
    json_begin_array(&call->json);
    for (size_t i = 0; i < groups.count; i++) {
        json_begin_object(&call->json);
        json_put_key(&call->json, "values");
        json_begin_array(&call->json);
        for (size_t k = 0; k < key_count; k++)
            put_value(&call->json, &groups.groups[i].values[k]);
        json_end_array(&call->json);
        http_render_number(&call->json, "count", groups.groups[i].count);
        http_render_text(&call->json, "filter", groups.groups[i].filter);
        json_end_object(&call->json);
    }
    json_end_array(&call->json);
    http_render_number(&call->json, "group_count", groups.group_count);
    http_render_number(&call->json, "total", groups.total);
    put_texts(&call->json, "warnings", groups.warnings.items, groups.warnings.count);
    json_end_object(&call->json);
    return OK;
}

enum err_code http_run_columns(struct http_call *call, struct err *err)
{
    int limit = (int)http_call_query_i64(call, "limit", COLUMNS_DEFAULT);
    struct table_column *columns;
    struct str search = STR("");
    size_t count = 0;

    (void)http_call_query(call, "search", &search);
    TRY(table_columns(&call->cmd, call->project.id, search, limit, &columns, &count, err));
    json_begin_object(&call->json);
    json_put_key(&call->json, "items");
    json_begin_array(&call->json);
    for (size_t i = 0; i < count; i++) {
        json_begin_object(&call->json);
        http_render_text(&call->json, "key", columns[i].key);
        http_render_number(&call->json, "runs", columns[i].run_count);
        json_put_key(&call->json, "values");
        if (columns[i].value_count < 0)
            json_put_null(&call->json);
        else
            json_put_i64(&call->json, columns[i].value_count);
        http_render_bool(&call->json, "more", columns[i].more);
        json_end_object(&call->json);
    }
    json_end_array(&call->json);
    json_end_object(&call->json);
    return OK;
}
