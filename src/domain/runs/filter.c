/* Parsing filters. Operators wait on a stack until one that binds less comes (shunting yard), so
 * that nesting costs no C stack and has one limit. */
#include "domain/runs/filter.h"

#include "base/near.h"
#include "domain/runs/filter_value.h"
#include "model/run.h"

enum token_kind {
    TOKEN_END,
    TOKEN_WORD,
    TOKEN_TEXT,
    TOKEN_OP,
    TOKEN_OPEN,
    TOKEN_CLOSE,
    TOKEN_COMMA
};

struct token {
    enum token_kind kind;
    struct str text; /* as it stands there; of TOKEN_TEXT what the quotes mean */
    size_t at;
    size_t end;
};

enum waiting { WAIT_OPEN, WAIT_NOT, WAIT_AND, WAIT_OR };

struct parser {
    struct str text;
    time_ms now;
    struct arena *arena;
    struct err *err;
    struct token token; /* the next one */
    size_t before_end;  /* where the one before ended */
    enum waiting waiting[FILTER_DEPTH_MAX];
    size_t opened[FILTER_DEPTH_MAX]; /* where each began */
    size_t waiting_count;
    size_t terms, regexes;
    struct filter filter;
};

static int column_of(const struct parser *p, size_t at)
{
    int column = 1;

    for (size_t i = 0; i < at && i < p->text.len; i++)
        column += ((unsigned char)p->text.data[i] & 0xC0) != 0x80;
    return column;
}

/* Moves what was said about a value or a key to its place. */
static enum err_code at_column(const struct parser *p, size_t at)
{
    err_place(p->err, "filter", column_of(p, at));
    return ERR_INVALID;
}

PRINTF_LIKE(3, 4)
static enum err_code fail(const struct parser *p, size_t at, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    (void)err_set_va(p->err, ERR_INVALID, format, args);
    va_end(args);
    return at_column(p, at);
}

static bool is_space(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

static enum err_code take_text(struct parser *p, struct token *t)
{
    char quote = p->text.data[t->at];
    char *out = arena_alloc(p->arena, p->text.len - t->at);
    size_t len = 0, at = t->at + 1;

    for (; at < p->text.len && p->text.data[at] != quote; at++) {
        if (p->text.data[at] == '\\' && at + 1 < p->text.len &&
            (p->text.data[at + 1] == quote || p->text.data[at + 1] == '\\'))
            at++;
        out[len++] = p->text.data[at];
    }
    if (at >= p->text.len)
        return fail(p, t->at, "the text that begins here is not closed");
    t->kind = TOKEN_TEXT;
    t->text = str_n(out, len);
    t->end = at + 1;
    return OK;
}

static size_t op_len(struct str rest)
{
    static const char *const ops[] = {"!=", "!~", "<=", ">=", "==", "=~", "=", "<", ">", "~"};

    for (size_t i = 0; i < ARRAY_LEN(ops); i++)
        if (str_starts(rest, str_from(ops[i])))
            return strlen(ops[i]);
    return 0;
}

static enum err_code advance(struct parser *p)
{
    struct token *t = &p->token;
    struct str rest;
    size_t len;

    p->before_end = t->end;
    for (t->at = t->end; t->at < p->text.len && is_space(p->text.data[t->at]);)
        t->at++;
    rest = str_n(p->text.data + t->at, p->text.len - t->at);
    t->kind = TOKEN_END;
    t->text = rest;
    t->end = t->at;
    if (rest.len == 0)
        return OK;
    if (rest.data[0] == '"' || rest.data[0] == '\'')
        return take_text(p, t);
    if ((len = op_len(rest)) > 0)
        t->kind = TOKEN_OP;
    else if ((len = run_key_span(rest)) > 0 ||
             (rest.data[0] == '+' && (len = 1 + run_key_span(str_n(rest.data + 1, rest.len - 1)))))
        t->kind = TOKEN_WORD;
    else if (strchr("(),", rest.data[0]) && (len = 1))
        t->kind = rest.data[0] == '('   ? TOKEN_OPEN
                  : rest.data[0] == ')' ? TOKEN_CLOSE
                                        : TOKEN_COMMA;
    else
        return fail(p, t->at, "\"%c\" has no meaning here", rest.data[0]);
    if (t->kind == TOKEN_WORD) /* 1e+5 */
        while (len < rest.len && rest.data[len] == '+' && (rest.data[len - 1] | 0x20) == 'e')
            len += 1 + run_key_span(str_n(rest.data + len + 1, rest.len - len - 1));
    t->text = str_n(rest.data, len);
    t->end = t->at + len;
    return OK;
}

static bool is_word(const struct token *t, const char *word)
{
    size_t len = strlen(word);

    if (t->kind != TOKEN_WORD || t->text.len != len)
        return false;
    for (size_t i = 0; i < len; i++)
        if ((t->text.data[i] | 0x20) != word[i])
            return false;
    return true;
}

static void add_step(struct parser *p, enum filter_step_kind kind, struct filter_term *term)
{
    /* Room for every step was made at the start: one a term, one a joint, one a `not`. */
    p->filter.steps[p->filter.count++] = (struct filter_step){kind, term};
}

static void apply_top(struct parser *p)
{
    static const enum filter_step_kind steps[] = {
        [WAIT_NOT] = FILTER_STEP_NOT, [WAIT_AND] = FILTER_STEP_AND, [WAIT_OR] = FILTER_STEP_OR};

    add_step(p, steps[p->waiting[--p->waiting_count]], NULL);
}

static enum err_code push(struct parser *p, enum waiting what)
{
    while (what != WAIT_OPEN && what != WAIT_NOT && p->waiting_count &&
           p->waiting[p->waiting_count - 1] != WAIT_OPEN &&
           p->waiting[p->waiting_count - 1] <= what)
        apply_top(p);
    if (p->waiting_count == FILTER_DEPTH_MAX)
        return fail(p, p->token.at, "the filter is nested deeper than %d levels", FILTER_DEPTH_MAX);
    p->opened[p->waiting_count] = p->token.at;
    p->waiting[p->waiting_count++] = what;
    return advance(p);
}

/* One value of a term, for its key. */
static enum err_code take_value(struct parser *p, const struct filter_term *term,
                                struct filter_value *ret_value)
{
    struct token t = p->token;
    struct str text = t.text;

    if (t.kind != TOKEN_WORD && t.kind != TOKEN_TEXT)
        return fail(p, t.at,
                    t.kind == TOKEN_END ? "a value is missing at the end"
                                        : "a value is missing here");
    TRY(advance(p));
    if (t.kind == TOKEN_WORD && is_word(&p->token, "ago")) {
        text = str_n(p->text.data + t.at, p->token.end - t.at);
        TRY(advance(p));
    }
    if (filter_value_parse(&term->key, text, t.kind == TOKEN_TEXT, p->now, ret_value, p->err) != OK)
        return at_column(p, t.at);
    return OK;
}

static enum err_code take_list(struct parser *p, struct filter_term *term)
{
    struct filter_value *values = arena_array(p->arena, FILTER_VALUES_MAX, sizeof *values);
    size_t open = p->token.at;

    if (p->token.kind != TOKEN_OPEN)
        return fail(p, p->token.at, "after \"in\" comes a list in parentheses");
    do {
        TRY(advance(p));
        if (term->value_count == FILTER_VALUES_MAX)
            return fail(p, p->token.at, "a list has at most %d values", FILTER_VALUES_MAX);
        TRY(take_value(p, term, &values[term->value_count]));
        term->value_count++;
    } while (p->token.kind == TOKEN_COMMA);
    if (p->token.kind != TOKEN_CLOSE)
        return fail(p, p->token.kind == TOKEN_END ? open : p->token.at,
                    p->token.kind == TOKEN_END ? "the list that begins here is not closed"
                                               : "\",\" or \")\" is missing here");
    term->values = values;
    return advance(p);
}

static enum err_code take_regex(struct parser *p, struct filter_term *term)
{
    struct token t = p->token;
    size_t fault = 0;

    if (t.kind != TOKEN_TEXT && t.kind != TOKEN_WORD)
        return fail(p, t.at, "a regular expression is missing here");
    if (p->regexes++ == FILTER_REGEX_COUNT_MAX)
        return fail(p, t.at, "a filter has at most %d regular expressions", FILTER_REGEX_COUNT_MAX);
    if (regex_new(t.text, &fault, &term->regex, p->err) != OK)
        return at_column(p, t.at + (t.kind == TOKEN_TEXT) + fault);
    return advance(p);
}

/* `!=` and `!~` are the term and a `not`. */
static enum err_code take_compare(struct parser *p, struct filter_term *term, bool *ret_negate)
{
    static const struct {
        const char *text;
        enum filter_op op;
        bool negate;
    } ops[] = {
        {"=", FILTER_EQ, false},    {"==", FILTER_EQ, false},   {"!=", FILTER_EQ, true},
        {"<", FILTER_LT, false},    {"<=", FILTER_LE, false},   {">", FILTER_GT, false},
        {">=", FILTER_GE, false},   {"~", FILTER_MATCH, false}, {"=~", FILTER_MATCH, false},
        {"!~", FILTER_MATCH, true},
    };
    struct filter_value *value;

    for (size_t i = 0; i < ARRAY_LEN(ops); i++)
        if (str_eq_c(p->token.text, ops[i].text)) {
            term->op = ops[i].op;
            *ret_negate = ops[i].negate;
        }
    TRY(advance(p));
    if (term->op == FILTER_MATCH)
        return take_regex(p, term);
    value = ARENA_NEW(p->arena, struct filter_value);
    term->values = value;
    term->value_count = 1;
    return take_value(p, term, value);
}

static enum err_code take_contains(struct parser *p, struct filter_term *term)
{
    struct filter_value *value = ARENA_NEW(p->arena, struct filter_value);
    struct token t = p->token;

    if (t.kind != TOKEN_TEXT && t.kind != TOKEN_WORD)
        return fail(p, t.at, "a text is missing here");
    if (t.text.len > FILTER_TEXT_BYTES_MAX)
        return fail(p, t.at, "a text has at most %d bytes", FILTER_TEXT_BYTES_MAX);
    *value = (struct filter_value){.kind = VALUE_TEXT, .text = t.text};
    term->op = FILTER_CONTAINS;
    term->values = value;
    term->value_count = 1;
    return advance(p);
}

static enum err_code take_null(struct parser *p, struct filter_term *term, bool *ret_negate)
{
    if (is_word(&p->token, "not")) {
        *ret_negate = true;
        TRY(advance(p));
    }
    if (!is_word(&p->token, "null"))
        return fail(p, p->token.at, "after \"is\" comes null or not null");
    term->op = FILTER_NULL;
    return advance(p);
}

static enum err_code take_operation(struct parser *p, struct filter_term *term, bool *ret_negate)
{
    static const char *const words[] = {"in", "contains", "is", "not"};
    struct near near;

    if (p->token.kind == TOKEN_OP)
        return take_compare(p, term, ret_negate);
    if (is_word(&p->token, "not")) {
        *ret_negate = true;
        TRY(advance(p));
    }
    if (is_word(&p->token, "in")) {
        TRY(advance(p));
        term->op = FILTER_IN;
        return take_list(p, term);
    }
    if (is_word(&p->token, "contains")) {
        TRY(advance(p));
        return take_contains(p, term);
    }
    if (!*ret_negate && is_word(&p->token, "is")) {
        TRY(advance(p));
        return take_null(p, term, ret_negate);
    }
    near = near_begin(p->token.kind == TOKEN_WORD ? p->token.text : STR(""));
    for (size_t i = 0; i < ARRAY_LEN(words); i++)
        near_try(&near, str_from(words[i]));
    (void)fail(p, p->token.kind == TOKEN_END ? p->before_end : p->token.at,
               "a comparison is missing here: = != < <= > >= ~ in contains is");
    if (near.best.len)
        err_hint(p->err, "did you mean %.*s?", STR_ARG(near.best));
    return ERR_INVALID;
}

static enum err_code check_term(struct parser *p, const struct filter_term *term, size_t op_at)
{
    bool is_text = term->key.space == KEY_CONFIG || term->key.space == KEY_SUMMARY;
    enum field_kind kind;

    if (term->key.space == KEY_FIELD) {
        kind = run_field_kind(term->key.field);
        is_text = kind == FIELD_TEXT || kind == FIELD_STATE;
    }
    if (!is_text && (term->op == FILTER_CONTAINS || term->op == FILTER_MATCH))
        return fail(p, op_at, "this key is a number, not a text to search in");
    return OK;
}

static enum err_code take_term(struct parser *p)
{
    struct filter_term *term = ARENA_NEW(p->arena, struct filter_term);
    struct token key = p->token;
    bool negate = false;
    size_t op_at;

    if (p->terms++ == FILTER_TERMS_MAX)
        return fail(p, key.at, "a filter has at most %d comparisons", FILTER_TERMS_MAX);
    term->column = column_of(p, key.at);
    if (run_key_parse(key.text, p->arena, &term->key, p->err) != OK)
        return at_column(p, key.at);
    /* Known from here on, so that filter_release finds its regular expression. */
    add_step(p, FILTER_STEP_TERM, term);
    TRY(advance(p));
    op_at = p->token.at;
    TRY(take_operation(p, term, &negate));
    TRY(check_term(p, term, op_at));
    if (negate)
        add_step(p, FILTER_STEP_NOT, NULL);
    return OK;
}

/* Everything up to a comparison: `not` and `(`. */
static enum err_code take_operand(struct parser *p)
{
    while (is_word(&p->token, "not") || p->token.kind == TOKEN_OPEN)
        TRY(push(p, p->token.kind == TOKEN_OPEN ? WAIT_OPEN : WAIT_NOT));
    if (p->token.kind != TOKEN_WORD)
        return fail(p, p->token.at,
                    p->token.kind == TOKEN_TEXT
                        ? "a key is missing here; keys stand without quotes"
                        : "a key is missing here, such as state or config.lr");
    return take_term(p);
}

static enum err_code close_one(struct parser *p)
{
    while (p->waiting_count && p->waiting[p->waiting_count - 1] != WAIT_OPEN)
        apply_top(p);
    if (p->waiting_count == 0)
        return fail(p, p->token.at, "this \")\" closes nothing");
    p->waiting_count--;
    return advance(p);
}

static enum err_code take_all(struct parser *p)
{
    TRY(advance(p));
    if (p->token.kind == TOKEN_END)
        return OK;
    for (;;) {
        TRY(take_operand(p));
        while (p->token.kind == TOKEN_CLOSE)
            TRY(close_one(p));
        if (p->token.kind == TOKEN_END)
            break;
        if (!is_word(&p->token, "and") && !is_word(&p->token, "or"))
            return fail(p, p->token.at, "\"and\" or \"or\" is missing here");
        TRY(push(p, is_word(&p->token, "and") ? WAIT_AND : WAIT_OR));
    }
    for (; p->waiting_count; apply_top(p))
        if (p->waiting[p->waiting_count - 1] == WAIT_OPEN)
            return fail(p, p->opened[p->waiting_count - 1], "this \"(\" is not closed");
    return OK;
}

enum err_code filter_parse(struct str text, time_ms now, struct arena *arena,
                           struct filter *ret_filter, struct err *err)
{
    /* Each term has at most one `not` of its own and one joint; prefixed `not`s are on the stack
     * or applied by a term, which brings at most FILTER_DEPTH_MAX of them. */
    const size_t steps_max = FILTER_TERMS_MAX * (3 + FILTER_DEPTH_MAX);
    struct err own;
    struct parser p = {.text = text, .now = now, .arena = arena, .err = err ? err : &own};
    enum err_code code;

    if (text.len > FILTER_BYTES_MAX)
        return err_set_field(err, ERR_INVALID, "filter", "a filter has at most %d bytes, not %zu",
                             FILTER_BYTES_MAX, text.len);
    if (!str_is_utf8(text, NULL))
        return err_set_field(err, ERR_BAD_UTF8, "filter", "the filter is not UTF-8");
    p.filter.steps = arena_array(arena, steps_max, sizeof *p.filter.steps);
    code = take_all(&p);
    if (code != OK) {
        filter_release(&p.filter);
        return code;
    }
    *ret_filter = p.filter;
    return OK;
}

void filter_release(struct filter *filter)
{
    for (size_t i = 0; i < filter->count; i++)
        if (filter->steps[i].term)
            regex_release(&filter->steps[i].term->regex);
    filter->count = 0;
}
