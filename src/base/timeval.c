/* Times as text and back, without the C library's time zones. Days are counted from 1970 in the
 * proleptic Gregorian calendar; years are taken to begin in March, so that the leap day is the last
 * day of a year and months have fixed offsets. */
#include "base/timeval.h"

#include <stdio.h>

#define MS_PER_SECOND 1000
#define MS_PER_DAY    86400000
#define TIME_MS_MAX   INT64_C(253402300799999) /* 9999-12-31T23:59:59.999Z */

struct date {
    int year, month, day;
};

static int64_t days_from_date(struct date date)
{
    int64_t year = date.month <= 2 ? date.year - 1 : date.year;
    int64_t era = year / 400; /* year is never negative here */
    int64_t year_of_era = year - era * 400;
    int64_t month = (date.month + 9) % 12; /* March is 0 */
    int64_t day_of_year = (153 * month + 2) / 5 + date.day - 1;
    int64_t day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;

    return era * 146097 + day_of_era - 719468;
}

static struct date date_from_days(int64_t days)
{
    int64_t shifted = days + 719468;
    int64_t era = shifted / 146097;
    int64_t day_of_era = shifted - era * 146097;
    int64_t year_of_era =
        (day_of_era - day_of_era / 1460 + day_of_era / 36524 - day_of_era / 146096) / 365;
    int64_t day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    int64_t month = (5 * day_of_year + 2) / 153;
    struct date date = {
        .day = (int)(day_of_year - (153 * month + 2) / 5 + 1),
        .month = (int)(month < 10 ? month + 3 : month - 9),
        .year = (int)(year_of_era + era * 400),
    };

    if (date.month <= 2)
        date.year++;
    return date;
}

void time_format(time_ms at, char ret_text[TIME_TEXT_BYTES])
{
    char text[64]; /* the compiler cannot know that the year has four digits */

    at = MAX(at, 0);
    at = MIN(at, TIME_MS_MAX);

    struct date date = date_from_days(at / MS_PER_DAY);
    int ms = (int)(at % MS_PER_DAY);

    (void)snprintf(text, sizeof(text), "%04d-%02d-%02dT%02d:%02d:%02d.%03dZ", date.year, date.month,
                   date.day, ms / 3600000, ms / 60000 % 60, ms / MS_PER_SECOND % 60,
                   ms % MS_PER_SECOND);
    memcpy(ret_text, text, TIME_TEXT_BYTES - 1);
    ret_text[TIME_TEXT_BYTES - 1] = '\0';
}

/* Reads exactly `digits` digits and moves on. */
static bool take_number(struct str *rest, size_t digits, int *ret_value)
{
    int value = 0;

    if (rest->len < digits)
        return false;
    for (size_t i = 0; i < digits; i++) {
        if (rest->data[i] < '0' || rest->data[i] > '9')
            return false;
        value = value * 10 + (rest->data[i] - '0');
    }
    *rest = str_n(rest->data + digits, rest->len - digits);
    *ret_value = value;
    return true;
}

static bool take_char(struct str *rest, char c)
{
    if (rest->len == 0 || rest->data[0] != c)
        return false;
    *rest = str_n(rest->data + 1, rest->len - 1);
    return true;
}

static bool date_is_real(struct date date)
{
    static const int days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};

    if (date.year < 1 || date.month < 1 || date.month > 12 || date.day < 1)
        return false;

    bool leap = (date.year % 4 == 0 && date.year % 100 != 0) || date.year % 400 == 0;

    return date.day <= days[date.month - 1] + (date.month == 2 && leap ? 1 : 0);
}

/* ".123456": milliseconds; further digits are cut off. */
static bool take_fraction(struct str *rest, int *ret_ms)
{
    int ms = 0;
    size_t digits = 0;

    if (!take_char(rest, '.')) {
        *ret_ms = 0;
        return true;
    }
    while (rest->len && rest->data[0] >= '0' && rest->data[0] <= '9') {
        int digit = 0;

        if (!take_number(rest, 1, &digit))
            return false;
        if (digits < 3)
            ms = ms * 10 + digit;
        digits++;
    }
    for (size_t i = digits; i < 3; i++)
        ms *= 10;
    *ret_ms = ms;
    return digits > 0 && digits <= 9;
}

/* "Z" or "+02:00": minutes east of UTC; must be all that is left. */
static bool take_zone(struct str *rest, int *ret_minutes)
{
    int hours, minutes;

    *ret_minutes = 0;
    if (take_char(rest, 'Z') || take_char(rest, 'z'))
        return rest->len == 0;

    bool west = rest->len && rest->data[0] == '-';

    if (!west && (rest->len == 0 || rest->data[0] != '+'))
        return false;
    (void)take_char(rest, west ? '-' : '+'); /* it is there: tested above */
    if (!take_number(rest, 2, &hours) || !take_char(rest, ':') || !take_number(rest, 2, &minutes))
        return false;
    if (hours > 23 || minutes > 59)
        return false;
    *ret_minutes = (west ? -1 : 1) * (hours * 60 + minutes);
    return rest->len == 0;
}

bool time_parse(struct str text, time_ms *ret_at)
{
    struct date date;
    int hour, minute, second, ms, zone;

    if (!take_number(&text, 4, &date.year) || !take_char(&text, '-') ||
        !take_number(&text, 2, &date.month) || !take_char(&text, '-') ||
        !take_number(&text, 2, &date.day) || !date_is_real(date))
        return false;
    if (!take_char(&text, 'T') && !take_char(&text, 't'))
        return false;
    if (!take_number(&text, 2, &hour) || !take_char(&text, ':') ||
        !take_number(&text, 2, &minute) || !take_char(&text, ':') ||
        !take_number(&text, 2, &second) || hour > 23 || minute > 59 || second > 59)
        return false;
    if (!take_fraction(&text, &ms) || !take_zone(&text, &zone))
        return false;
    *ret_at = days_from_date(date) * MS_PER_DAY + (int64_t)hour * 3600000 +
              (int64_t)(minute - zone) * 60000 + (int64_t)second * MS_PER_SECOND + ms;
    return true;
}

void duration_format(int64_t ms, char ret_text[DURATION_TEXT_BYTES])
{
    int64_t seconds;

    ms = MAX(ms, 0);
    ms = MIN(ms, INT64_C(99999) * MS_PER_DAY);
    seconds = ms / MS_PER_SECOND;
    if (ms < MS_PER_SECOND)
        (void)snprintf(ret_text, DURATION_TEXT_BYTES, "%d ms", (int)ms);
    else if (seconds < 60)
        (void)snprintf(ret_text, DURATION_TEXT_BYTES, "%d.%d s", (int)seconds,
                       (int)(ms / 100 % 10));
    else if (seconds < 3600)
        (void)snprintf(ret_text, DURATION_TEXT_BYTES, "%d min %d s", (int)(seconds / 60),
                       (int)(seconds % 60));
    else if (seconds < 86400)
        (void)snprintf(ret_text, DURATION_TEXT_BYTES, "%d h %02d min", (int)(seconds / 3600),
                       (int)(seconds / 60 % 60));
    else
        (void)snprintf(ret_text, DURATION_TEXT_BYTES, "%d d %d h", (int)(seconds / 86400),
                       (int)(seconds / 3600 % 24));
}
