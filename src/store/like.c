/* Patterns for LIKE. */
#include "store/like.h"

struct str store__like_part(struct arena *arena, struct str text, bool fold_case)
{
    char *out;
    size_t len = 0;

    if (text.len == 0)
        return STR("");
    out = arena_alloc(arena, text.len * 2 + 3);
    out[len++] = '%';
    for (size_t i = 0; i < text.len; i++) {
        char c = text.data[i];
        if (c == '%' || c == '_' || c == '!')
            out[len++] = '!';
        out[len++] = fold_case && c >= 'A' && c <= 'Z' ? (char)(c + 'a' - 'A') : c;
    }
    out[len++] = '%';
    return str_n(out, len);
}
