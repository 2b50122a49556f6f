/* Edit distance (insert, drop, replace, swap of neighbours) in one pass over a small table. */
#include "base/near.h"

#define NAME_BYTES_MAX 64

struct near near_begin(struct str asked)
{
    return (struct near){.asked = asked, .best = STR(""), .distance = asked.len < 4 ? 2 : 3};
}

static char lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c + 'a' - 'A') : c;
}

static size_t distance(struct str a, struct str b)
{
    size_t rows[3][NAME_BYTES_MAX + 1]; /* of this byte of `a`, the one before, and before that */

    for (size_t j = 0; j <= b.len; j++)
        rows[0][j] = j;
    for (size_t i = 1; i <= a.len; i++) {
        size_t *now = rows[i % 3], *before = rows[(i + 2) % 3], *older = rows[(i + 1) % 3];
        now[0] = i;
        for (size_t j = 1; j <= b.len; j++) {
            char ca = lower(a.data[i - 1]), cb = lower(b.data[j - 1]);
            size_t best = before[j - 1] + (ca != cb);
            best = MIN(best, MIN(before[j], now[j - 1]) + 1);
            if (i > 1 && j > 1 && ca == lower(b.data[j - 2]) && cb == lower(a.data[i - 2]))
                best = MIN(best, older[j - 2] + 1);
            now[j] = best;
        }
    }
    return rows[a.len % 3][b.len];
}

void near_try(struct near *near, struct str name)
{
    size_t found;

    if (near->asked.len == 0 || near->asked.len > NAME_BYTES_MAX || name.len > NAME_BYTES_MAX ||
        str_eq(near->asked, name))
        return;
    found = distance(near->asked, name);
    if (found < near->distance) {
        near->distance = found;
        near->best = name;
    }
}
