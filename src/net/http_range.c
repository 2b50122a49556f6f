/* Reading Range headers. Numbers may have more digits than any file has bytes: they count as the
 * largest one, so that nothing wraps around. */
#include "net/http_range.h"

#include <limits.h>

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* Takes the digits at the front of `text`; false when there are none. */
static bool take_number(struct str *text, int64_t *ret_number)
{
    int64_t number = 0;
    size_t len = 0;

    for (; len < text->len && is_digit(text->data[len]); len++) {
        int digit = text->data[len] - '0';

        number = number > (INT64_MAX - digit) / 10 ? INT64_MAX : number * 10 + digit;
    }
    *text = str_n(text->data + len, text->len - len);
    *ret_number = number;
    return len > 0;
}

static bool take_char(struct str *text, char c)
{
    if (text->len == 0 || text->data[0] != c)
        return false;
    *text = str_n(text->data + 1, text->len - 1);
    return true;
}

/* The unit is compared without regard to case. */
static bool take_unit(struct str *text)
{
    static const char unit[] = "bytes=";

    if (text->len < sizeof unit - 1)
        return false;
    for (size_t i = 0; i < sizeof unit - 1; i++) {
        char c = text->data[i];

        if ((c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c) != unit[i])
            return false;
    }
    *text = str_n(text->data + sizeof unit - 1, text->len - sizeof unit + 1);
    return true;
}

enum http_range_kind http_range_read(struct str header, int64_t size, struct http_range *ret_range)
{
    struct str rest = str_trim(header);
    int64_t first, last = INT64_MAX;
    bool has_first, has_last;

    if (!header.data || header.len > HTTP_RANGE_BYTES_MAX || !take_unit(&rest))
        return HTTP_RANGE_WHOLE;
    rest = str_trim(rest);
    has_first = take_number(&rest, &first);
    if (!take_char(&rest, '-'))
        return HTTP_RANGE_WHOLE;
    has_last = rest.len > 0;
    if (has_last && !take_number(&rest, &last))
        return HTTP_RANGE_WHOLE;
    if (rest.len > 0 || (!has_first && !has_last) || (has_first && last < first))
        return HTTP_RANGE_WHOLE;
    if (!has_first) { /* the last so many bytes */
        first = last < size ? size - last : 0;
        if (last == 0)
            return HTTP_RANGE_NONE;
        last = INT64_MAX;
    }
    if (first >= size)
        return HTTP_RANGE_NONE;
    *ret_range = (struct http_range){first, (last < size ? last + 1 : size) - first};
    return HTTP_RANGE_PART;
}
