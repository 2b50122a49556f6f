/* Fuzz target: Range headers. The first eight bytes are the size of the file, the rest is the
 * header. A part lies inside the file, and written out again it is the same part. */
#include "net/http_range.h"

#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct http_range range = {-1, -1}, again;
    int64_t file;
    char text[64];

    if (size < sizeof file)
        return 0;
    memcpy(&file, data, sizeof file);
    file &= INT64_MAX;

    struct str header = str_n((const char *)data + sizeof file, size - sizeof file);

    if (http_range_read(header, file, &range) != HTTP_RANGE_PART) {
        if (range.offset != -1 || range.bytes != -1)
            abort();
        return 0;
    }
    if (range.offset < 0 || range.offset >= file || range.bytes < 1 ||
        range.bytes > file - range.offset)
        abort();
    (void)snprintf(text, sizeof text, "bytes=%lld-%lld", (long long)range.offset,
                   (long long)(range.offset + range.bytes - 1));
    if (http_range_read(str_from(text), file, &again) != HTTP_RANGE_PART ||
        again.offset != range.offset || again.bytes != range.bytes)
        abort();
    return 0;
}
