/* Rows are cut one by one out of the text of the file; nothing but the last field asked for is
 * copied. */
#include "sim/csv.h"

#include "sys/file.h"

#include <stdio.h>

#define AMOUNT_MAX 1e15

static enum err_code refuse_row(const struct csv *csv, const char *what, struct err *err)
{
    return err_set(err, ERR_INVALID, "%s line %lld: %s", csv->path, (long long)csv->line, what);
}

/* Takes one field off the line. False: a quote does not end, or text follows it. */
static bool take_field(struct str *line, bool *ret_more, struct str *ret_field)
{
    size_t at = 0;

    if (line->len && line->data[0] == '"') {
        for (at = 1; at < line->len; at++) {
            if (line->data[at] != '"')
                continue;
            if (at + 1 < line->len && line->data[at + 1] == '"')
                at++;
            else
                break;
        }
        if (at >= line->len)
            return false;
        at++;
        if (at < line->len && line->data[at] != ',')
            return false;
    } else {
        while (at < line->len && line->data[at] != ',')
            at++;
    }
    *ret_field = str_n(line->data, at);
    *ret_more = at < line->len;
    at += *ret_more;
    *line = str_n(line->data + at, line->len - at);
    return true;
}

static enum err_code cut(struct csv *csv, struct str line, int *ret_count, struct err *err)
{
    bool more = true;
    int count = 0;

    while (more) {
        if (count == CSV_COLUMNS_MAX)
            return refuse_row(csv, "more than 32 columns", err);
        if (!take_field(&line, &more, &csv->fields[count]))
            return refuse_row(csv, "a quoted field does not end", err);
        count++;
    }
    *ret_count = count;
    return OK;
}

/* Its quotes off. */
static struct str plain(struct csv *csv, struct str field)
{
    size_t len = 0;

    field = str_trim(field);
    if (field.len < 2 || field.data[0] != '"')
        return field;
    for (size_t i = 1; i + 1 < field.len && len < sizeof csv->unquoted; i++) {
        csv->unquoted[len++] = field.data[i];
        i += field.data[i] == '"';
    }
    return str_n(csv->unquoted, len);
}

static bool take_line(struct csv *csv, struct str *ret_line)
{
    struct str line = {0};

    while (csv->rest.len) {
        (void)str_cut(&csv->rest, '\n', &line); /* the last line may lack its end */
        csv->line++;
        line = str_trim(line);
        if (line.len) {
            *ret_line = line;
            return true;
        }
    }
    return false;
}

static enum err_code take_header(struct csv *csv, size_t optional, struct err *err)
{
    struct str line = {0};

    if (!take_line(csv, &line))
        return err_set(err, ERR_INVALID, "%s is empty: its first line has to name the columns",
                       csv->path);
    TRY(cut(csv, line, &csv->count, err));
    for (int i = 0; i < CSV_COLUMNS_MAX; i++)
        csv->at[i] = -1;
    for (int i = 0; i < csv->count; i++) {
        struct str name = plain(csv, csv->fields[i]);
        size_t k = 0;

        while (csv->known[k] && !str_eq_c(name, csv->known[k]))
            k++;
        if (!csv->known[k])
            return err_set(err, ERR_UNKNOWN_FIELD, "%s line 1: column \"%.*s\" is not known",
                           csv->path, (int)MIN(name.len, 60), name.data);
        if (csv->at[k] >= 0)
            return err_set(err, ERR_INVALID, "%s line 1: column \"%s\" is there twice", csv->path,
                           csv->known[k]);
        csv->at[k] = i;
    }
    for (size_t k = 0; csv->known[k]; k++) {
        if (k < optional && csv->at[k] < 0)
            return err_set(err, ERR_INVALID, "%s line 1: column \"%s\" is missing", csv->path,
                           csv->known[k]);
    }
    return OK;
}

/* The text is in csv->text. */
static enum err_code begin(struct csv *csv, size_t optional, struct err *err)
{
    size_t offset;

    csv->rest = buf_str(&csv->text);
    if (!str_is_utf8(csv->rest, &offset))
        return err_set(err, ERR_BAD_UTF8, "%s is not UTF-8 text: byte %zu", csv->path, offset);
    return take_header(csv, optional, err);
}

enum err_code csv_open(struct csv *csv, const char *path, const char *const *known, size_t optional,
                       struct err *err)
{
    *csv = (struct csv){.path = path, .known = known};
    TRY(file_read(path, CSV_BYTES_MAX, &csv->text, err));
    return begin(csv, optional, err);
}

enum err_code csv_open_text(struct csv *csv, struct str text, const char *const *known,
                            size_t optional, struct err *err)
{
    *csv = (struct csv){.path = "text", .known = known};
    buf_init(&csv->text, CSV_BYTES_MAX);
    (void)buf_add_str(&csv->text, text); /* too much is refused by the check */
    TRY(buf_check(&csv->text, "the table", err));
    return begin(csv, optional, err);
}

void csv_release(struct csv *csv)
{
    buf_release(&csv->text);
}

enum err_code csv_next(struct csv *csv, bool *ret_row, struct err *err)
{
    struct str line = {0};
    int count = 0;

    *ret_row = false;
    if (!take_line(csv, &line))
        return OK;
    TRY(cut(csv, line, &count, err));
    if (count != csv->count)
        return err_set(err, ERR_INVALID, "%s line %lld: %d fields where the header has %d",
                       csv->path, (long long)csv->line, count, csv->count);
    *ret_row = true;
    return OK;
}

struct str csv_text(struct csv *csv, size_t column)
{
    return csv->at[column] < 0 ? STR("") : plain(csv, csv->fields[csv->at[column]]);
}

enum err_code csv_refuse(struct csv *csv, size_t column, const char *why, struct err *err)
{
    struct str value = csv_text(csv, column);

    return err_set_field(err, ERR_INVALID, csv->known[column], "%s line %lld: %s \"%.*s\" %s",
                         csv->path, (long long)csv->line, csv->known[column],
                         (int)MIN(value.len, 60), value.data, why);
}

enum err_code csv_i64(struct csv *csv, size_t column, int64_t min, int64_t max, int64_t none,
                      int64_t *ret_value, struct err *err)
{
    struct str text = csv_text(csv, column);
    char why[96];
    int64_t value;

    if (text.len == 0) {
        *ret_value = none;
        return OK;
    }
    if (!str_to_i64(text, &value))
        return csv_refuse(csv, column, "is not a whole number", err);
    (void)snprintf(why, sizeof why, "is not between %lld and %lld", (long long)min, (long long)max);
    if (value < min || value > max)
        return csv_refuse(csv, column, why, err);
    *ret_value = value;
    return OK;
}

enum err_code csv_amount(struct csv *csv, size_t column, int64_t unit, int64_t none,
                         int64_t *ret_value, struct err *err)
{
    struct str text = csv_text(csv, column);
    double value;

    if (text.len == 0) {
        *ret_value = none;
        return OK;
    }
    if (!str_to_f64(text, &value))
        return csv_refuse(csv, column, "is not a number", err);
    if (value < 0 || value * (double)unit > AMOUNT_MAX)
        return csv_refuse(csv, column, "is negative or too large", err);
    *ret_value = (int64_t)(value * (double)unit + 0.5);
    return OK;
}
