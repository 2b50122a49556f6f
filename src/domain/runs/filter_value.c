/* Values. A key says what its values are: only configuration and summary hold anything. */
#include "domain/runs/filter_value.h"

#include "base/near.h"
#include "model/run.h"

#include <stdio.h>

#define DURATION_DAYS_MAX 100000

static enum err_code wrong(struct str text, const char *wanted, struct err *err)
{
    return err_set(err, ERR_INVALID, "\"%.*s\" is not %s", (int)MIN(text.len, (size_t)60),
                   text.data, wanted);
}

/* "90", "90s", "5m", "2h", "1.5d", "3w" in ms; a number alone is seconds. */
static bool take_duration(struct str text, double *ret_ms)
{
    static const struct {
        char unit;
        double ms;
    } units[] = {{'s', 1e3}, {'m', 60e3}, {'h', 3600e3}, {'d', 86400e3}, {'w', 604800e3}};
    double number, ms = 1e3;

    for (size_t i = 0; text.len && i < ARRAY_LEN(units); i++)
        if (text.data[text.len - 1] == units[i].unit) {
            ms = units[i].ms;
            text.len--;
            break;
        }
    if (!str_to_f64(text, &number) || number < 0 || number * ms > DURATION_DAYS_MAX * 86400e3)
        return false;
    *ret_ms = number * ms;
    return true;
}

static enum err_code take_time(struct str text, time_ms now, double *ret_ms, struct err *err)
{
    struct str head = text, given = text;
    char day[24];
    double ago;
    time_ms at;

    if (str_ends(text, STR("ago"))) {
        head.len -= 3;
        if (take_duration(str_trim(head), &ago)) {
            *ret_ms = (double)now - ago;
            return OK;
        }
    }
    if (text.len == 10) { /* a day begins at midnight, UTC */
        (void)snprintf(day, sizeof day, "%.*sT00:00:00Z", STR_ARG(text));
        text = str_from(day);
    }
    if (time_parse(text, &at)) {
        *ret_ms = (double)at;
        return OK;
    }
    return wrong(given, "a time: 2026-11-30, 2026-11-30T08:00:00Z or 7d ago", err);
}

static enum err_code take_state(struct str text, struct err *err)
{
    struct near near = near_begin(text);

    if (run_state_from_name(text) != RUN_STATE_COUNT)
        return OK;
    for (int i = 0; i < RUN_STATE_COUNT; i++)
        near_try(&near, str_from(run_state_name((enum run_state)i)));
    (void)wrong(text, "a state of a run", err);
    if (near.best.len)
        err_hint(err, "did you mean %.*s?", STR_ARG(near.best));
    else
        err_hint(err, "states are pending, running, finished, failed, crashed, killed, preempted");
    return ERR_INVALID;
}

static bool take_special(struct str text, double *ret_number)
{
    bool minus = text.len && text.data[0] == '-';
    struct str name = minus ? str_n(text.data + 1, text.len - 1) : text;

    if (!str_eq_c(name, "inf") && !str_eq_c(name, "Infinity"))
        return false;
    *ret_number = minus ? -__builtin_inf() : __builtin_inf();
    return true;
}

static enum err_code take_number(struct str text, double *ret_number, struct err *err)
{
    if (str_to_f64(text, ret_number) || take_special(text, ret_number))
        return OK;
    return wrong(text, "a number", err);
}

static enum err_code take_any(struct str text, bool quoted, struct filter_value *v, struct err *err)
{
    if (!quoted && (str_eq_c(text, "true") || str_eq_c(text, "false"))) {
        v->kind = VALUE_BOOL;
        v->number = text.data[0] == 't';
        return OK;
    }
    if (!quoted && take_number(text, &v->number, NULL) == OK) {
        v->kind = VALUE_NUMBER;
        return OK;
    }
    if (text.len > FILTER_TEXT_BYTES_MAX)
        return err_set(err, ERR_INVALID, "a text has at most %d bytes", FILTER_TEXT_BYTES_MAX);
    v->text = text;
    return OK;
}

static enum err_code take_field(enum field_kind kind, struct str text, time_ms now,
                                struct filter_value *v, struct err *err)
{
    v->kind = VALUE_NUMBER;
    switch (kind) {
    case FIELD_TIME: return take_time(text, now, &v->number, err);
    case FIELD_DURATION:
        return take_duration(text, &v->number) ? OK
                                               : wrong(text, "a duration: 90s, 5m, 2h, 1d", err);
    case FIELD_MONEY:
        TRY(take_number(text, &v->number, err));
        v->number *= 1e6;
        return OK;
    case FIELD_NUMBER: return take_number(text, &v->number, err);
    case FIELD_STATE: TRY(take_state(text, err)); break;
    case FIELD_TEXT:
        if (text.len > FILTER_TEXT_BYTES_MAX)
            return err_set(err, ERR_INVALID, "a text has at most %d bytes", FILTER_TEXT_BYTES_MAX);
        break;
    }
    v->kind = VALUE_TEXT;
    v->text = text;
    return OK;
}

enum err_code filter_value_parse(const struct run_key *key, struct str text, bool quoted,
                                 time_ms now, struct filter_value *ret_value, struct err *err)
{
    struct filter_value v = {.kind = VALUE_TEXT};

    if (!quoted && str_eq_c(text, "null"))
        return err_set(err, ERR_INVALID, "write \"is null\" or \"is not null\"");
    if (key->space == KEY_METRIC) {
        v.kind = VALUE_NUMBER;
        TRY(take_number(text, &v.number, err));
    } else if (key->space == KEY_FIELD) {
        TRY(take_field(run_field_kind(key->field), text, now, &v, err));
    } else {
        TRY(take_any(text, quoted, &v, err));
    }
    *ret_value = v;
    return OK;
}
