/* Time zones. Tricky: clocks may change on the very first of a month, and whole days were left out
 * or lived twice, so a month's line is not "midnight less the offset". It is found by walking the
 * spans of one offset around it and taking the first moment that shows the new month. */
#include "sys/zone.h"

#include "base/mem.h"
#include "sys/file.h"
#include "sys/zone_impl.h"

#include <pthread.h>
#include <stdio.h>

#define DAY         86400
#define HEAD_BYTES  44
#define OFFSET_MAX  (26 * 3600) /* no zone is further from Greenwich */
#define SPANS_MAX   64          /* looked at around a month's line */
#define ZONES_KEPT  64
#define YEAR_MIN    1970
#define YEAR_MAX    9999
#define SECONDS_MIN INT64_C(0)
#define SECONDS_MAX INT64_C(253370764800) /* 9999-01-01 */
#define PATH_BYTES  512

/* ---- The calendar */

int64_t zone__days(int64_t year, int month, int day)
{
    int64_t y = month <= 2 ? year - 1 : year; /* years begin in March: leap days come last */
    int64_t era = (y >= 0 ? y : y - 399) / 400, of_era = y - era * 400;
    int64_t of_year = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;

    return era * 146097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719468;
}

static void year_and_month(int64_t seconds, int64_t *ret_year, int *ret_month)
{
    int64_t days = (seconds >= 0 ? seconds : seconds - (DAY - 1)) / DAY + 719468;
    int64_t era = (days >= 0 ? days : days - 146096) / 146097, of_era = days - era * 146097;
    int64_t year = (of_era - of_era / 1460 + of_era / 36524 - of_era / 146096) / 365;
    int64_t of_year = of_era - (365 * year + year / 4 - year / 100);
    int64_t month = (5 * of_year + 2) / 153; /* 0: March */

    *ret_month = (int)(month < 10 ? month + 3 : month - 9);
    *ret_year = year + era * 400 + (*ret_month <= 2);
}

int64_t zone__year(int64_t seconds)
{
    int64_t year;
    int month;

    year_and_month(seconds, &year, &month);
    return year;
}

/* ---- The file */

static uint32_t be32(const char *p)
{
    const unsigned char *u = (const unsigned char *)p;

    return (uint32_t)u[0] << 24 | (uint32_t)u[1] << 16 | (uint32_t)u[2] << 8 | u[3];
}

static int64_t be64(const char *p)
{
    return (int64_t)((uint64_t)be32(p) << 32 | be32(p + 4));
}

struct block {
    size_t time_bytes; /* 4 in the first block, 8 in the second */
    size_t isut, isstd, leaps, times, types, chars;
    size_t bytes; /* without its head */
};

static enum err_code block_read(struct str file, size_t time_bytes, struct block *ret,
                                struct err *err)
{
    struct block b = {.time_bytes = time_bytes};

    if (file.len < HEAD_BYTES || memcmp(file.data, "TZif", 4) != 0)
        return err_set(err, ERR_INVALID, "it is no TZif file");
    b.isut = be32(file.data + 20);
    b.isstd = be32(file.data + 24);
    b.leaps = be32(file.data + 28);
    b.times = be32(file.data + 32);
    b.types = be32(file.data + 36);
    b.chars = be32(file.data + 40);
    if (MAX(MAX(MAX(b.isut, b.isstd), MAX(b.leaps, b.times)), MAX(b.types, b.chars)) >
        ZONE_FILE_BYTES_MAX)
        return err_set(err, ERR_INVALID, "it counts more than its bytes can hold");
    b.bytes = b.times * (time_bytes + 1) + b.types * 6 + b.chars + b.leaps * (time_bytes + 4) +
              b.isstd + b.isut;
    if (b.bytes > file.len - HEAD_BYTES)
        return err_set(err, ERR_INVALID, "it ends too early");
    if (b.types < 1 || b.types > 256)
        return err_set(err, ERR_INVALID, "it has %zu kinds of time, 1 to 256 make sense", b.types);
    *ret = b;
    return OK;
}

/* `body`: behind the head. */
static enum err_code changes_read(const struct block *b, const char *body, struct zone *zone,
                                  struct err *err)
{
    const char *kinds = body + b->times * b->time_bytes, *types = kinds + b->times;

    if (b->leaps)
        return err_set(err, ERR_INVALID, "it counts leap seconds");
    if (b->times > ZONE_CHANGES_MAX)
        return err_set(err, ERR_INVALID, "it has more than %d changes", ZONE_CHANGES_MAX);
    for (size_t i = 0; i < b->types; i++) {
        int32_t offset = (int32_t)be32(types + i * 6);
        if (offset < -OFFSET_MAX || offset > OFFSET_MAX)
            return err_set(err, ERR_INVALID, "it is %d seconds off Greenwich", offset);
    }
    zone->first_offset = (int32_t)be32(types);
    zone->change_count = b->times;
    for (size_t i = 0; i < b->times; i++) {
        unsigned char kind = (unsigned char)kinds[i];
        if (kind >= b->types)
            return err_set(err, ERR_INVALID, "change %zu leads to no kind of time", i);
        zone->offsets[i] = (int32_t)be32(types + kind * 6);
        zone->changes[i] = b->time_bytes == 8 ? be64(body + i * 8) : (int32_t)be32(body + i * 4);
        if (i && zone->changes[i] <= zone->changes[i - 1])
            return err_set(err, ERR_INVALID, "change %zu comes before the one before it", i);
    }
    return OK;
}

enum err_code zone_parse(struct str file, struct zone *ret_zone, struct err *err)
{
    struct block b;
    struct str footer;

    ret_zone->rule = (struct zone_rule){0};
    TRY(block_read(file, 4, &b, err));
    if (file.data[4] < '2')
        return changes_read(&b, file.data + HEAD_BYTES, ret_zone, err);
    file = str_n(file.data + HEAD_BYTES + b.bytes, file.len - HEAD_BYTES - b.bytes);
    TRY(block_read(file, 8, &b, err));
    TRY(changes_read(&b, file.data + HEAD_BYTES, ret_zone, err));
    footer = str_n(file.data + HEAD_BYTES + b.bytes, file.len - HEAD_BYTES - b.bytes);
    if (footer.len < 2 || footer.data[0] != '\n' || footer.data[footer.len - 1] != '\n')
        return err_set(err, ERR_INVALID, "its last line is missing");
    footer = str_n(footer.data + 1, footer.len - 2);
    if (footer.len && !zone__rule_parse(footer, &ret_zone->rule))
        return err_set(err, ERR_INVALID, "its last line \"%.*s\" is no rule",
                       (int)MIN(footer.len, 80), footer.data);
    return OK;
}

/* ---- Months */

/* The offset at a moment, and the end of the span in which it holds. */
static void span_at(const struct zone *zone, int64_t at, int64_t *ret_offset, int64_t *ret_end)
{
    size_t low = 0, high = zone->change_count; /* changes at or before `at` */

    while (low < high) {
        size_t mid = low + (high - low) / 2;
        if (zone->changes[mid] <= at)
            low = mid + 1;
        else
            high = mid;
    }
    if (low == zone->change_count && zone->rule.there) {
        zone__rule_span(&zone->rule, at, ret_offset, ret_end);
        return;
    }
    *ret_offset = low ? zone->offsets[low - 1] : zone->first_offset;
    *ret_end = low < zone->change_count ? zone->changes[low] : INT64_MAX;
}

int64_t zone_month_line(const struct zone *zone, int64_t year, int month)
{
    int64_t wanted = zone__days(year, month, 1) * DAY; /* on the wall */
    int64_t at = wanted - 2 * OFFSET_MAX;

    for (int i = 0; i < SPANS_MAX; i++) {
        int64_t offset, end;
        span_at(zone, at, &offset, &end);
        if (MAX(at, wanted - offset) < end)
            return MAX(at, wanted - offset);
        at = end;
    }
    return wanted - zone->first_offset; /* clocks that change daily: no such zone exists */
}

static void month_of(const struct zone *zone, time_ms at, time_ms *ret_start, time_ms *ret_end)
{
    int64_t seconds = MIN(MAX(at / 1000 - (at % 1000 < 0), SECONDS_MIN), SECONDS_MAX);
    int64_t offset, end, year;
    int month;

    span_at(zone, seconds, &offset, &end);
    year_and_month(seconds + offset, &year, &month);
    for (int i = 0; i < 3;
         i++) { /* where clocks go back over the line, the old month shows again */
        int64_t next_year = month == 12 ? year + 1 : year;
        int next_month = month == 12 ? 1 : month + 1;
        *ret_start = zone_month_line(zone, year, month) * 1000;
        *ret_end = zone_month_line(zone, next_year, next_month) * 1000;
        if (seconds * 1000 < *ret_end)
            return;
        year = next_year;
        month = next_month;
    }
}

/* ---- Those that were read */

struct kept {
    char name[65]; /* ZONE_NAME_BYTES_MAX and the NUL */
    struct zone *zone;
};

struct zones {
    pthread_mutex_t lock;
    char *folder;
    struct kept kept[ZONES_KEPT];
    size_t count, oldest;
};

struct zones *zones_new(const char *folder)
{
    struct zones *zones = MEM_NEW(struct zones);

    *zones = (struct zones){.folder = mem_copy_text(folder)};
    ENSURE(pthread_mutex_init(&zones->lock, NULL) == 0);
    return zones;
}

void zones_free(struct zones *zones)
{
    if (!zones)
        return;
    for (size_t i = 0; i < zones->count; i++)
        mem_free(zones->kept[i].zone);
    pthread_mutex_destroy(&zones->lock);
    mem_free(zones->folder);
    mem_free(zones);
}

static bool name_is_safe(struct str name)
{
    char before = '/';

    if (!name.len || name.len > sizeof(((struct kept *)0)->name) - 1)
        return false;
    for (size_t i = 0; i < name.len; i++) {
        char c = name.data[i];
        bool letter = (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
        if (!letter && c != '+' && c != '-' && c != '_' && (c != '/' || before == '/'))
            return false;
        before = c;
    }
    return before != '/' && !str_starts(name, STR("posix/")) && !str_starts(name, STR("right/")) &&
           !str_eq_c(name, "localtime") && !str_eq_c(name, "posixrules"); /* differ by machine */
}

static struct zone *zone_load(const char *folder, struct str name)
{
    CLEANUP(buf_release) struct buf file = {0};
    struct zone *zone;
    char path[PATH_BYTES];

    if (str_eq_c(name, "UTC"))
        return MEM_NEW(struct zone);
    if (snprintf(path, sizeof path, "%s/%.*s", folder, STR_ARG(name)) >= (int)sizeof path ||
        file_read(path, ZONE_FILE_BYTES_MAX, &file, NULL) != OK)
        return NULL;
    zone = MEM_NEW(struct zone);
    if (zone_parse(buf_str(&file), zone, NULL) == OK)
        return zone;
    mem_free(zone);
    return NULL;
}

/* With the lock held. NULL: there is none of this name. */
static const struct zone *find(struct zones *zones, struct str name)
{
    struct kept *place;
    struct zone *zone;

    if (!name_is_safe(name))
        return NULL;
    for (size_t i = 0; i < zones->count; i++)
        if (str_eq_c(name, zones->kept[i].name))
            return zones->kept[i].zone;
    zone = zone_load(zones->folder, name);
    if (!zone)
        return NULL;
    place = &zones->kept[zones->count < ZONES_KEPT ? zones->count++ : zones->oldest++ % ZONES_KEPT];
    mem_free(place->zone);
    place->zone = zone;
    snprintf(place->name, sizeof place->name, "%.*s", STR_ARG(name));
    return zone;
}

bool zones_known(struct zones *zones, struct str name)
{
    bool known;

    pthread_mutex_lock(&zones->lock);
    known = find(zones, name) != NULL;
    pthread_mutex_unlock(&zones->lock);
    return known;
}

bool zones_month(struct zones *zones, struct str name, time_ms at, time_ms *ret_start,
                 time_ms *ret_end)
{
    const struct zone *zone;

    pthread_mutex_lock(&zones->lock);
    zone = find(zones, name);
    if (zone)
        month_of(zone, at, ret_start, ret_end);
    pthread_mutex_unlock(&zones->lock);
    return zone != NULL;
}
