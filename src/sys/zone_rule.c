/* The last line of a TZif file, such as CET-1CEST,M3.5.0,M10.5.0/3: what holds after the changes
 * that the file lists. The form is that of the TZ variable of POSIX, with hours up to 167. */
#include "sys/zone_impl.h"

#define HOUR 3600
#define DAY  86400

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool take(struct str *s, char c)
{
    if (!s->len || s->data[0] != c)
        return false;
    *s = str_n(s->data + 1, s->len - 1);
    return true;
}

static bool take_number(struct str *s, int64_t max, int64_t *ret)
{
    int64_t value = 0;

    if (!s->len || !is_digit(s->data[0]))
        return false;
    while (s->len && is_digit(s->data[0])) {
        value = value * 10 + (s->data[0] - '0');
        if (value > max)
            return false;
        *s = str_n(s->data + 1, s->len - 1);
    }
    *ret = value;
    return true;
}

static bool take_name(struct str *s)
{
    size_t len = 0;

    if (take(s, '<')) {
        while (s->len && s->data[0] != '>')
            *s = str_n(s->data + 1, s->len - 1);
        return take(s, '>');
    }
    while (len < s->len && ((s->data[len] >= 'A' && s->data[len] <= 'Z') ||
                            (s->data[len] >= 'a' && s->data[len] <= 'z')))
        len++;
    *s = str_n(s->data + len, s->len - len);
    return len >= 3;
}

/* [+-]hh[:mm[:ss]] */
static bool take_seconds(struct str *s, int64_t hours_max, int64_t *ret)
{
    bool minus = take(s, '-');
    int64_t h = 0, m = 0, sec = 0;

    if (!minus)
        (void)take(s, '+');
    if (!take_number(s, hours_max, &h))
        return false;
    if (take(s, ':')) {
        if (!take_number(s, 59, &m))
            return false;
        if (take(s, ':') && !take_number(s, 59, &sec))
            return false;
    }
    *ret = (h * HOUR + m * 60 + sec) * (minus ? -1 : 1);
    return true;
}

static bool take_day(struct str *s, struct zone_day *ret)
{
    struct zone_day d = {.kind = '0', .seconds = 2 * HOUR};
    int64_t a = 0, b = 0, c = 0;

    if (take(s, 'M')) {
        if (!take_number(s, 12, &a) || !take(s, '.') || !take_number(s, 5, &b) || !take(s, '.') ||
            !take_number(s, 6, &c) || a < 1 || b < 1)
            return false;
        d.kind = 'M';
    } else {
        if (take(s, 'J'))
            d.kind = 'J';
        if (!take_number(s, 365, &c) || (d.kind == 'J' && c < 1))
            return false;
    }
    d.month = (int)a;
    d.week = (int)b;
    d.day = (int)c;
    if (take(s, '/') && !take_seconds(s, 167, &d.seconds))
        return false;
    *ret = d;
    return true;
}

bool zone__rule_parse(struct str text, struct zone_rule *ret_rule)
{
    struct zone_rule rule = {.there = true};

    if (!take_name(&text) || !take_seconds(&text, 24, &rule.winter))
        return false;
    rule.winter = rule.summer = -rule.winter; /* the form counts hours west of Greenwich */
    if (text.len) {
        rule.has_summer = true;
        if (!take_name(&text))
            return false;
        rule.summer = rule.winter + HOUR;
        if (text.len && text.data[0] != ',') {
            if (!take_seconds(&text, 24, &rule.summer))
                return false;
            rule.summer = -rule.summer;
        }
        if (!take(&text, ',') || !take_day(&text, &rule.to_summer) || !take(&text, ',') ||
            !take_day(&text, &rule.to_winter))
            return false;
    }
    if (text.len)
        return false;
    *ret_rule = rule;
    return true;
}

/* Seconds of local time, since 1970 by the clock on the wall. */
static int64_t moment_of(const struct zone_day *d, int64_t year)
{
    int64_t first = zone__days(year, 1, 1), day;

    if (d->kind == 'M') {
        int64_t month = zone__days(year, d->month, 1);
        int64_t next =
            d->month == 12 ? zone__days(year + 1, 1, 1) : zone__days(year, d->month + 1, 1);
        int64_t weekday = ((month + 4) % 7 + 7) % 7; /* 1970 began on a Thursday */
        day = month + (d->day - weekday + 7) % 7 + (d->week - 1) * 7;
        while (day >= next) /* week 5 is the last one */
            day -= 7;
    } else if (d->kind == 'J') {
        bool leap = zone__days(year + 1, 1, 1) - first == 366;
        day = first + d->day - 1 + (leap && d->day >= 60);
    } else {
        day = first + d->day;
    }
    return day * DAY + d->seconds;
}

void zone__rule_span(const struct zone_rule *rule, int64_t at, int64_t *ret_offset,
                     int64_t *ret_end)
{
    int64_t year = zone__year(at + rule->winter), begin = INT64_MIN;

    *ret_offset = rule->winter;
    *ret_end = INT64_MAX;
    if (!rule->has_summer)
        return;
    for (int64_t y = year - 1; y <= year + 1; y++) {
        const int64_t moments[] = {moment_of(&rule->to_winter, y) - rule->summer,
                                   moment_of(&rule->to_summer, y) - rule->winter};
        const int64_t offsets[] = {rule->winter, rule->summer};
        for (size_t i = 0; i < ARRAY_LEN(moments); i++) {
            if (moments[i] <= at && moments[i] >= begin) {
                begin = moments[i];
                *ret_offset = offsets[i];
            } else if (moments[i] > at) {
                *ret_end = MIN(*ret_end, moments[i]);
            }
        }
    }
}
