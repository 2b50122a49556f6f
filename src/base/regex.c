/* PCRE2 behind two calls.
 *
 * Most searches end within a few hundred steps. So each first runs with a small limit; only when
 * that is not enough it runs again with the large one and is counted: a list of 100,000 texts with
 * an expression that is costly on each of them ends with an error after REGEX_COSTLY_MAX of them,
 * and not after minutes. No just-in-time compiler: it knows no heap limit and needs memory that is
 * writable and executable. */
#include "base/regex.h"

#include "base/mem.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

struct regex {
    pcre2_code *code;
    pcre2_match_data *data;
    pcre2_match_context *limits;
    int costly;
};

static enum err_code compile_failed(int problem, size_t at, size_t *fault_offset, struct err *err)
{
    PCRE2_UCHAR text[120];

    if (pcre2_get_error_message(problem, text, sizeof text) < 0)
        text[0] = '\0';
    if (fault_offset)
        *fault_offset = at;
    return err_set(err, ERR_INVALID, "the regular expression is wrong at byte %zu: %s", at,
                   (const char *)text);
}

static enum err_code compile(struct str pattern, size_t *fault_offset, pcre2_code **ret_code,
                             struct err *err)
{
    const uint32_t options =
        PCRE2_UTF | PCRE2_MATCH_INVALID_UTF | PCRE2_NEVER_BACKSLASH_C | PCRE2_NO_AUTO_CAPTURE;
    pcre2_compile_context *limits = pcre2_compile_context_create(NULL);
    pcre2_code *code;
    size_t at = 0;
    int problem = 0;

    ENSURE(limits);
    pcre2_set_parens_nest_limit(limits, REGEX_NESTING_MAX);
    code = pcre2_compile((PCRE2_SPTR)(pattern.len ? pattern.data : ""), pattern.len, options,
                         &problem, &at, limits);
    pcre2_compile_context_free(limits);
    if (!code)
        return compile_failed(problem, at, fault_offset, err);
    *ret_code = code;
    return OK;
}

enum err_code regex_new(struct str pattern, size_t *fault_offset, struct regex **ret_regex,
                        struct err *err)
{
    struct regex *regex;
    pcre2_code *code = NULL;

    if (pattern.len > REGEX_PATTERN_BYTES_MAX) {
        if (fault_offset)
            *fault_offset = REGEX_PATTERN_BYTES_MAX;
        return err_set(err, ERR_INVALID, "a regular expression has at most %d bytes, not %zu",
                       REGEX_PATTERN_BYTES_MAX, pattern.len);
    }
    TRY(compile(pattern, fault_offset, &code, err));
    regex = MEM_NEW(struct regex);
    regex->code = code;
    regex->data = pcre2_match_data_create(1, NULL);
    regex->limits = pcre2_match_context_create(NULL);
    ENSURE(regex->data && regex->limits);
    pcre2_set_heap_limit(regex->limits, REGEX_HEAP_KIB_MAX);
    *ret_regex = regex;
    return OK;
}

void regex_free(struct regex *regex)
{
    if (!regex)
        return;
    pcre2_match_context_free(regex->limits);
    pcre2_match_data_free(regex->data);
    pcre2_code_free(regex->code);
    mem_free(regex);
}

void regex_release(struct regex **regex)
{
    regex_free(*regex);
    *regex = NULL;
}

static int search(struct regex *regex, struct str text, uint32_t steps)
{
    pcre2_set_match_limit(regex->limits, steps);
    return pcre2_match(regex->code, (PCRE2_SPTR)(text.len ? text.data : ""), text.len, 0, 0,
                       regex->data, regex->limits);
}

enum err_code regex_search(struct regex *regex, struct str text, bool *ret_found, struct err *err)
{
    int result = search(regex, text, REGEX_STEPS_CHEAP);

    if (result == PCRE2_ERROR_MATCHLIMIT && regex->costly < REGEX_COSTLY_MAX) {
        regex->costly++;
        result = search(regex, text, REGEX_STEPS_MAX);
    }
    if (result < 0 && result != PCRE2_ERROR_NOMATCH) {
        (void)err_set(err, ERR_LIMIT, "the regular expression asks for too many steps");
        err_hint(err, "repetitions inside repetitions, such as (a+)+, are costly");
        return ERR_LIMIT;
    }
    *ret_found = result >= 0;
    return OK;
}
