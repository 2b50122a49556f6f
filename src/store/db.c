/* What all drivers share: running named statements to their end and reading columns. */
#include "store/db.h"

enum err_code db__trouble(struct db *db, struct err *err, enum err_code code, const char *format,
                          ...)
{
    struct err own;
    va_list args;

    va_start(args, format);
    (void)err_set_va(&own, code, format, args);
    va_end(args);
    if (db->trouble == OK) {
        db->trouble = code;
        db->trouble_err = own;
    }
    if (err)
        *err = own;
    return code;
}

void db__trouble_clear(struct db *db)
{
    db->trouble = OK;
    db->race_lost = false;
}

/* Text is UTF-8 without NUL, whatever a database would let pass. */
static enum err_code check_texts(enum sql_id sql, const struct db_arg *args, struct err *err)
{
    for (size_t i = 0; args[i].kind != DB_END; i++) {
        struct str text = args[i].bytes;
        if (args[i].kind != DB_TEXT || text.len == 0)
            continue;
        if (memchr(text.data, 0, text.len) || !str_is_utf8(text, NULL))
            return err_set(err, ERR_BAD_UTF8, "%s: %s is not UTF-8 text without NUL",
                           sql_statements[sql].name, args[i].name);
    }
    return OK;
}

void db__result_release(struct db_result *result)
{
    if (result->rows)
        result->db->driver->finish(result->rows);
    result->rows = NULL;
}

enum err_code db__query(struct db *db, enum sql_id sql, const struct db_arg *args,
                        struct db_result *ret_result, struct err *err)
{
    struct db_rows *rows = NULL;

    TRY(check_texts(sql, args, err));
    TRY(db->driver->start(db, sql, args, &rows, err));
    *ret_result = (struct db_result){db, rows};
    return OK;
}

enum err_code db__next(struct db_result *result, bool *ret_row, struct err *err)
{
    return result->db->driver->next(result->rows, ret_row, err);
}

enum err_code db__run(struct db *db, enum sql_id sql, const struct db_arg *args,
                      int64_t *ret_changes, struct err *err)
{
    CLEANUP(db__result_release) struct db_result result = {0};
    bool row = false;

    if (!ret_changes && db->driver->queue) {
        TRY(check_texts(sql, args, err));
        return db->driver->queue(db, sql, args, err);
    }
    TRY(db__query(db, sql, args, &result, err));
    TRY(db__next(&result, &row, err));
    if (ret_changes)
        *ret_changes = db->driver->changes(result.rows);
    return OK;
}

enum err_code db__insert(struct db *db, enum sql_id sql, const struct db_arg *args, int64_t *ret_id,
                         struct err *err)
{
    CLEANUP(db__result_release) struct db_result result = {0};
    bool row = false;
    int64_t id;

    TRY(db__query(db, sql, args, &result, err));
    TRY(db__next(&result, &row, err));
    ENSURE(row);
    id = db__i64(&result, 0);
    TRY(db__next(&result, &row, err)); /* the change is done when the statement is */
    *ret_id = id;
    return OK;
}

enum err_code db__number(struct db *db, enum sql_id sql, const struct db_arg *args,
                         int64_t *ret_number, struct err *err)
{
    CLEANUP(db__result_release) struct db_result result = {0};
    bool row = false;

    TRY(db__query(db, sql, args, &result, err));
    TRY(db__next(&result, &row, err));
    if (!row)
        return err_set(err, ERR_NOT_FOUND, "nothing found");
    *ret_number = db__i64(&result, 0);
    return OK;
}

time_ms db__time(const struct db_result *r, int column)
{
    return db__null(r, column) ? TIME_NONE : db__i64(r, column);
}

int db__exit(const struct db_result *r, int column)
{
    return db__null(r, column) ? -1 : (int)db__i64(r, column);
}

struct str db__text(const struct db_result *r, int column, struct arena *arena)
{
    return arena_copy(arena, db__view(r, column));
}

struct id db__id(const struct db_result *r, int column)
{
    struct id id = {0};
    struct str text = db__view(r, column);

    if (text.len == ID_LEN)
        memcpy(id.text, text.data, ID_LEN);
    return id;
}

void db__hash(const struct db_result *r, int column, uint8_t ret_hash[32])
{
    struct str bytes = db__view(r, column);

    memset(ret_hash, 0, 32);
    if (bytes.len == 32)
        memcpy(ret_hash, bytes.data, 32);
}

enum err_code db__take_pieces(struct db_result *r, int64_t from, int64_t to, struct buf *out,
                              struct err *err)
{
    bool row = false;

    for (TRY(db__next(r, &row, err)); row; TRY(db__next(r, &row, err))) {
        int64_t start = db__i64(r, 0), end = MIN(db__i64(r, 1), to);
        struct str data = db__view(r, 2);
        int64_t begin = MAX(start, from);
        if (begin < end)
            (void)buf_add(out, data.data + (begin - start), (size_t)(end - begin));
    }
    return buf_check(out, "console text", err);
}
