/* Writing lines back. Every value is checked for what the rest of the program takes for granted of
 * its own rows: JSON is JSON, ids are ids, names are text. Chunks need no look: their readers
 * believe nothing. */
#include "store/dump/dump.h"

#include "base/base64.h"
#include "model/attribute.h"
#include "model/metric.h"
#include "store/db.h"
#include "store/dump/dump_tables.h"
#include "store/store_identity.h"
#include "store/store_log.h"
#include "store/store_metric.h"

#define ARGS_MAX       40
#define TEXT_BYTES_MAX (16u * 1024 * 1024)

struct writing {
    struct store *store;
    struct dump_load *load;
    const struct dump_table *table;
    json_t *line;
    struct db_arg args[ARGS_MAX];
    size_t count;
    struct str metric;
    int64_t metric_kind;
    bool has_metric;
    writer_id writer;
};

PRINTF_LIKE(4, 5)
static enum err_code wrong(const struct writing *w, struct err *err, const char *column,
                           const char *format, ...)
{
    char text[200];
    va_list args;

    va_start(args, format);
    (void)vsnprintf(text, sizeof text, format, args);
    va_end(args);
    return err_set_field(err, ERR_INVALID, column, "line %lld: \"%s\" of a %s %s",
                         (long long)w->load->line, column, w->table->name, text);
}

static void add(struct writing *w, struct db_arg arg)
{
    ENSURE(w->count < ARGS_MAX - 1);
    w->args[w->count++] = arg;
}

static enum err_code take_i64(struct writing *w, const char *column, const json_t *value,
                              int64_t *ret, struct err *err)
{
    struct str text = str_n(json_string_value(value), json_string_length(value));

    if (json_is_integer(value))
        *ret = json_integer_value(value);
    else if (!json_is_string(value) || !str_to_i64(text, ret)) /* beyond 2^53: as a text */
        return wrong(w, err, column, "is not a whole number");
    return OK;
}

static enum err_code take_text(struct writing *w, const char *column, const json_t *value,
                               struct str *ret, struct err *err)
{
    if (!json_is_string(value))
        return wrong(w, err, column, "is not a text");
    if (json_string_length(value) > TEXT_BYTES_MAX)
        return wrong(w, err, column, "is too long");
    *ret = str_n(json_string_value(value), json_string_length(value));
    return OK;
}

static enum err_code take_owner(struct writing *w, struct str login, struct err *err)
{
    struct user user = {.id = w->load->owner};
    enum err_code code = store_user_by_login(w->store, login, w->load->arena, &user, err);

    if (code != OK && code != ERR_NOT_FOUND)
        return code;
    add(w, (struct db_arg)ARG_I64("owner_id", code == OK ? user.id.v : w->load->owner.v));
    return OK;
}

static enum err_code take_writer(struct writing *w, const char *column, struct str text,
                                 struct err *err)
{
    struct writer writer;
    struct id id;

    if (!id_parse(text, ID_WRITER, &id))
        return wrong(w, err, column, "is not the id of a writer");
    if (store_writer_get(w->store, w->load->run, &id, w->load->arena, &writer, err) != OK)
        return wrong(w, err, column, "names a writer whose line has not come");
    w->writer = writer.id;
    return OK;
}

static enum err_code take_lender(struct writing *w, const char *column, struct str name,
                                 struct err *err)
{
    metric_id lender;

    TRY(store_metric_name_intern(w->store, w->load->project, (enum metric_kind)w->metric_kind, name,
                                 &lender, err));
    add(w, (struct db_arg)ARG_I64(column, lender.v));
    return OK;
}

static enum err_code take_named(struct writing *w, const struct dump_column *column,
                                const json_t *value, struct err *err)
{
    struct str text;
    struct id id;

    TRY(take_text(w, column->name, value, &text, err));
    switch (column->kind) {
    case DUMP_OWNER: return take_owner(w, text, err);
    case DUMP_WRITER: return take_writer(w, column->name, text, err);
    case DUMP_METRIC:
    case DUMP_LENDER:
        if (text.len == 0 || text.len > METRIC_NAME_BYTES_MAX)
            return wrong(w, err, column->name, "is not the name of a metric");
        if (column->kind == DUMP_LENDER)
            return take_lender(w, column->name, text, err);
        w->metric = text;
        w->has_metric = true;
        return OK;
    case DUMP_RUN_ID: text = id_str(&w->load->as); break;
    case DUMP_WRITER_ID:
        if (!id_parse(text, ID_WRITER, &id))
            return wrong(w, err, column->name, "is not the id of a writer");
        break;
    case DUMP_STATE:
        if (run_state_from_name(text) == RUN_STATE_COUNT)
            return wrong(w, err, column->name, "is not a state of a run");
        break;
    case DUMP_JSON: {
        CLEANUP(json_release) json_t *body = NULL;
        if (json_parse(text, TEXT_BYTES_MAX, &body, NULL) != OK)
            return wrong(w, err, column->name, "is not JSON");
        break;
    }
    default: break;
    }
    add(w, (struct db_arg)ARG_TEXT(column->name, text));
    return OK;
}

static enum err_code take_column(struct writing *w, const struct dump_column *column,
                                 struct err *err)
{
    const json_t *value = json_object_get(w->line, column->name);
    struct str bytes;
    int64_t number = 0;

    if (!value || json_is_null(value)) {
        /* An export of an older version lacks columns that came later. */
        if (!column->may_be_null)
            return wrong(w, err, column->name, "is missing");
        if (column->kind == DUMP_WRITER)
            return OK; /* add_owners says so */
        add(w, (struct db_arg){.name = column->name, .kind = DB_NULL});
        return OK;
    }
    switch (column->kind) {
    case DUMP_I64:
        TRY(take_i64(w, column->name, value, &number, err));
        add(w, (struct db_arg)ARG_I64(column->name, number));
        return OK;
    case DUMP_METRIC_KIND:
        TRY(take_i64(w, column->name, value, &w->metric_kind, err));
        if (w->metric_kind != METRIC_PLAIN && w->metric_kind != METRIC_SYSTEM)
            return wrong(w, err, column->name, "is not 0 or 1");
        return OK;
    case DUMP_BYTES:
        TRY(take_text(w, column->name, value, &bytes, err));
        if (!base64_decode(bytes, w->load->arena, &bytes))
            return wrong(w, err, column->name, "is not base64");
        add(w, (struct db_arg)ARG_BYTES(column->name, bytes));
        return OK;
    default: return take_named(w, column, value, err);
    }
}

/* The numbers that the row has in this database. */
static enum err_code add_owners(struct writing *w, struct err *err)
{
    enum dump_owner owner = w->table->owner;
    metric_id metric = {0};

    if (w->has_metric) {
        TRY(store_metric_name_intern(w->store, w->load->project, (enum metric_kind)w->metric_kind,
                                     w->metric, &metric, err));
        add(w, (struct db_arg)ARG_I64("metric_id", metric.v));
    }
    if (owner == OWNED_BY_METRIC) {
        add(w, (struct db_arg)ARG_TEXT("name", w->metric));
        add(w, (struct db_arg)ARG_I64("kind", w->metric_kind));
    }
    if (owner == OWNED_BY_PROJECT || owner == OWNED_BY_ALL)
        add(w, (struct db_arg)ARG_I64("project_id", w->load->project.v));
    if (owner != OWNED_BY_PROJECT && owner != OWNED_BY_WRITER)
        add(w, (struct db_arg)ARG_I64("run_id", w->load->run.v));
    if (owner == OWNED_BY_WRITER || owner == OWNED_BY_SERIES || owner == OWNED_BY_ALL)
        add(w, w->writer.v ? (struct db_arg)ARG_I64("writer_id", w->writer.v)
                           : (struct db_arg){.name = "writer_id", .kind = DB_NULL});
    return OK;
}

static const struct dump_table *table_of(struct str name)
{
    for (size_t i = 0; i < DUMP_TABLE_COUNT; i++)
        if (str_eq_c(name, dump_tables[i].name))
            return &dump_tables[i];
    return NULL;
}

enum err_code dump_write(struct store *store, struct dump_load *load, json_t *line, struct err *err)
{
    const char *name = json_string_value(json_object_get(line, "t"));
    struct writing w = {.store = store, .load = load, .line = line};
    int64_t id = 0;

    w.table = name ? table_of(str_from(name)) : NULL;
    if (!w.table)
        return err_set_field(err, ERR_INVALID, "t", "line %lld is of no kind that is known",
                             (long long)load->line);
    if ((w.table == &dump_tables[DUMP_TABLE_RUN]) != (load->run.v == 0))
        return err_set(err, ERR_INVALID, "line %lld: the run comes first and once",
                       (long long)load->line);
    for (size_t i = 0; i < w.table->column_count; i++)
        TRY(take_column(&w, &w.table->columns[i], err));
    TRY(add_owners(&w, err));
    w.args[w.count] = (struct db_arg){.name = NULL, .kind = DB_END};
    if (w.table->owner == OWNED_BY_PROJECT)
        return db__insert(store->db, w.table->write, w.args, &load->run.v, err);
    if (w.table == &dump_tables[DUMP_TABLE_WRITER])
        return db__insert(store->db, w.table->write, w.args, &id, err);
    return db__run(store->db, w.table->write, w.args, NULL, err);
}
