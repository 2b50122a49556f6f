/* Columns have their lengths in their heads, so nothing has to be decoded here. */
#include "store/chunk/times.h"

#include "base/macros.h"
#include "store/chunk/column.h"

#include <string.h>

#define HEAD_BYTES 4

/* How many columns lie before those of times, and how many those are. */
static const struct layout {
    size_t before, count;
} layouts[] = {[TIMED_CHUNK] = {1, 1}, [TIMED_LEVEL] = {2, 2}};

struct cut {
    struct str before, times, after;
};

/* False: damaged. Without times the cut is where they would be. */
static bool cut_at_times(enum timed kind, struct str blob, struct cut *ret)
{
    struct str rest = blob;
    const char *begin;
    struct err ignored;

    if (blob.len < HEAD_BYTES)
        return false;
    rest = str_n(blob.data + HEAD_BYTES, blob.len - HEAD_BYTES);
    for (size_t i = 0; i < layouts[kind].before; i++)
        if (column_skip(&rest, &ignored) != OK)
            return false;
    begin = rest.data;
    for (size_t i = 0; blob.data[1] != TIMES_ELSEWHERE && i < layouts[kind].count; i++)
        if (column_skip(&rest, &ignored) != OK)
            return false;
    *ret = (struct cut){
        .before = str_n(blob.data, (size_t)(begin - blob.data)),
        .times = str_n(begin, (size_t)(rest.data - begin)),
        .after = rest,
    };
    return true;
}

struct str times_of(enum timed kind, struct str blob)
{
    struct cut cut;

    return cut_at_times(kind, blob, &cut) ? cut.times : STR("");
}

static struct str join(const struct cut *cut, struct str times, char flag, struct arena *arena)
{
    size_t len = cut->before.len + times.len + cut->after.len;
    char *out = arena_alloc(arena, len);

    memcpy(out, cut->before.data, cut->before.len);
    if (times.len)
        memcpy(out + cut->before.len, times.data, times.len);
    if (cut->after.len)
        memcpy(out + cut->before.len + times.len, cut->after.data, cut->after.len);
    out[1] = flag;
    return str_n(out, len);
}

struct str times_drop(enum timed kind, struct str blob, struct arena *arena)
{
    struct cut cut;

    ENSURE(cut_at_times(kind, blob, &cut) && cut.times.len);
    return join(&cut, STR(""), TIMES_ELSEWHERE, arena);
}

enum err_code times_restore(enum timed kind, struct str blob, struct str lender,
                            struct arena *arena, struct str *ret_blob, struct err *err)
{
    struct str times = times_of(kind, lender);
    struct cut cut;

    if (!times.len || !cut_at_times(kind, blob, &cut) || cut.times.len)
        return err_set(err, ERR_IO, "the times of metric values are missing or damaged");
    *ret_blob = join(&cut, times, 0, arena);
    return OK;
}
