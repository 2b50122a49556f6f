/* Names of keys. A name that is not made of letters, digits and _ - . / : @ stands in quotes; the
 * figure of a metric comes last, so that names with dots need no quotes. */
#include "domain/runs/run_key.h"

#include "base/near.h"

static const struct {
    const char *name;
    enum field_kind kind;
} fields[RUN_FIELD_COUNT] = {
#define X(field, name, kind) [field] = {name, kind},
    RUN_FIELDS(X)
#undef X
};

static const char *const spaces[] = {
    [KEY_CONFIG] = "config.", [KEY_SUMMARY] = "summary.", [KEY_METRIC] = "metric."};

const char *run_field_name(enum run_field field)
{
    ENSURE(field < RUN_FIELD_COUNT);
    return fields[field].name;
}

enum field_kind run_field_kind(enum run_field field)
{
    ENSURE(field < RUN_FIELD_COUNT);
    return fields[field].kind;
}

static bool is_bare(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '-' || c == '.' || c == '/' || c == ':' || c == '@' || (unsigned char)c >= 0x80;
}

size_t run_key_span(struct str text)
{
    size_t at = 0;

    while (at < text.len) {
        if (is_bare(text.data[at])) {
            at++;
        } else if (text.data[at] == '"' && at > 0 && text.data[at - 1] == '.') {
            for (at++; at < text.len && text.data[at] != '"'; at++)
                if (text.data[at] == '\\')
                    at++;
            at = MIN(at + 1, text.len);
        } else {
            break;
        }
    }
    return at;
}

/* The name in quotes at the start of `text`; *ret_rest: what follows. */
static enum err_code take_quoted(struct str text, struct arena *arena, struct str *ret_name,
                                 struct str *ret_rest, struct err *err)
{
    char *name = arena_alloc(arena, text.len);
    size_t len = 0, at = 1;

    for (; at < text.len && text.data[at] != '"'; at++) {
        if (text.data[at] == '\\' && at + 1 < text.len)
            at++;
        name[len++] = text.data[at];
    }
    if (at >= text.len)
        return err_set(err, ERR_INVALID, "the quote of a name is not closed");
    *ret_name = str_n(name, len);
    *ret_rest = str_n(text.data + at + 1, text.len - at - 1);
    return OK;
}

static bool take_stat(struct str text, enum metric_stat *ret_stat)
{
    enum metric_stat stat = metric_stat_from_name(text);

    if (stat != STAT_END)
        *ret_stat = stat;
    return stat != STAT_END;
}

/* `min` of `val/loss.min`; the whole is the name when nothing known follows the last dot. */
static void split_stat(struct run_key *key)
{
    for (size_t at = key->name.len; at > 1; at--)
        if (key->name.data[at - 1] == '.') {
            if (take_stat(str_n(key->name.data + at, key->name.len - at), &key->stat))
                key->name.len = at - 1;
            return;
        }
}

static enum err_code parse_named(struct str text, struct arena *arena, struct run_key *key,
                                 struct err *err)
{
    struct str rest = STR("");

    if (text.len && text.data[0] == '"') {
        TRY(take_quoted(text, arena, &key->name, &rest, err));
        if (rest.len && !(key->space == KEY_METRIC && rest.data[0] == '.' &&
                          take_stat(str_n(rest.data + 1, rest.len - 1), &key->stat)))
            return err_set(err, ERR_INVALID, "\"%.*s\" stands behind the name of a key",
                           (int)MIN(rest.len, (size_t)40), rest.data);
    } else {
        for (size_t i = 0; i < text.len; i++)
            if (!is_bare(text.data[i]))
                return err_set(err, ERR_INVALID,
                               "a name with other characters than letters, "
                               "digits and _-./:@ stands in quotes");
        key->name = arena_copy(arena, text);
        if (key->space == KEY_METRIC)
            split_stat(key);
    }
    if (key->name.len == 0)
        return err_set(err, ERR_INVALID, "the key \"%.*s\" has no name behind the dot",
                       (int)strlen(spaces[key->space]) - 1, spaces[key->space]);
    return OK;
}

static enum err_code unknown(struct str text, struct err *err)
{
    struct near near = near_begin(text);

    for (size_t i = 0; i < RUN_FIELD_COUNT; i++)
        near_try(&near, str_from(fields[i].name));
    (void)err_set(err, ERR_INVALID, "there is no field \"%.*s\"", (int)MIN(text.len, (size_t)80),
                  text.data);
    if (near.best.len)
        err_hint(err, "did you mean %.*s?", STR_ARG(near.best));
    else if (text.len <= 60)
        err_hint(err, "perhaps config.%.*s or summary.%.*s", STR_ARG(text), STR_ARG(text));
    return ERR_INVALID;
}

enum err_code run_key_parse(struct str text, struct arena *arena, struct run_key *ret_key,
                            struct err *err)
{
    struct run_key key = {.space = KEY_FIELD, .stat = STAT_LAST};

    if (text.len == 0 || text.len > RUN_KEY_BYTES_MAX || !str_is_utf8(text, NULL) ||
        memchr(text.data, '\0', text.len))
        return err_set(err, ERR_INVALID, "a key is UTF-8 text of 1 to %d bytes without NUL",
                       RUN_KEY_BYTES_MAX);
    for (size_t i = 0; i < RUN_FIELD_COUNT; i++)
        if (str_eq_c(text, fields[i].name)) {
            key.field = (enum run_field)i;
            *ret_key = key;
            return OK;
        }
    for (size_t i = KEY_CONFIG; i < ARRAY_LEN(spaces); i++) {
        struct str prefix = str_from(spaces[i]);
        if (!str_starts(text, prefix))
            continue;
        key.space = (enum run_key_space)i;
        TRY(parse_named(str_n(text.data + prefix.len, text.len - prefix.len), arena, &key, err));
        *ret_key = key;
        return OK;
    }
    return unknown(text, err);
}

static bool needs_quotes(const struct run_key *key)
{
    struct run_key probe = {.space = key->space, .name = key->name, .stat = STAT_LAST};

    for (size_t i = 0; i < key->name.len; i++)
        if (!is_bare(key->name.data[i]))
            return true;
    if (key->space == KEY_METRIC) /* a name that ends like a figure would lose its end */
        split_stat(&probe);
    return probe.name.len != key->name.len;
}

struct str run_key_text(const struct run_key *key, struct arena *arena)
{
    const char *stat = key->space == KEY_METRIC ? metric_stat_name(key->stat) : "";
    const char *dot = key->space == KEY_METRIC ? "." : "";
    char *quoted;
    size_t len = 0;

    if (key->space == KEY_FIELD)
        return str_from(run_field_name(key->field));
    if (!needs_quotes(key))
        return str_from(
            arena_printf(arena, "%s%.*s%s%s", spaces[key->space], STR_ARG(key->name), dot, stat));
    quoted = arena_alloc(arena, key->name.len * 2 + 1);
    for (size_t i = 0; i < key->name.len; i++) {
        if (key->name.data[i] == '"' || key->name.data[i] == '\\')
            quoted[len++] = '\\';
        quoted[len++] = key->name.data[i];
    }
    return str_from(
        arena_printf(arena, "%s\"%.*s\"%s%s", spaces[key->space], (int)len, quoted, dot, stat));
}
