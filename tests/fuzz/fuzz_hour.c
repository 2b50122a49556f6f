/* Fuzz target: an hour of readings as it lies in the store, whatever became of it there. The first
 * byte says which kind of columns. */
#include "store/chunk/hour.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void take(void *ctx, int series, const struct hour_part *part)
{
    *(double *)ctx += (double)series + (double)part->count;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct column_coder *coder = column_coder_new();
    double sum = 0;
    struct hour_sink sink = {&sum, take};
    struct str text = str_n((const char *)data, size);

    if (size > 0) {
        text = str_n(text.data + 1, size - 1);
        if (data[0] & 1)
            (void)!hour_read(coder, text, 0, &sink, NULL);
        else
            (void)!hour_buckets_read(coder, text, 0, 60000, &sink, NULL);
    }
    column_coder_free(coder);
    return 0;
}
