/* The Range header of a request: which part of a file is asked for (RFC 9110, 14.2). Pure.
 * thread: any */
#pragma once

#include "base/str.h"

#define HTTP_RANGE_BYTES_MAX 256 /* a longer header is not a range */

enum http_range_kind {
    HTTP_RANGE_WHOLE, /* no range, or one that may be left alone: the whole file is the answer */
    HTTP_RANGE_PART,  /* 206 */
    HTTP_RANGE_NONE,  /* nothing of the file lies in it: 416 */
};

struct http_range {
    int64_t offset; /* of a part: 0 <= offset < size */
    int64_t bytes;  /* 1 <= bytes <= size - offset */
};

/* Reads the header for a file of `size` bytes. One range of bytes is served: "bytes=0-99",
 * "bytes=100-", "bytes=-100". Anything else, several ranges too, is answered with the whole file,
 * as the standard allows: a client sees by the status what it got. *ret_range is set for a part. */
enum http_range_kind http_range_read(struct str header, int64_t size, struct http_range *ret_range);
