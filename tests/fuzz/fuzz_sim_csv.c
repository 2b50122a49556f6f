/* Tables for the simulator: any bytes are rows or are refused with one line. */
#include "sim/csv.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const known[] = {"a", "b", "c", NULL};
    CLEANUP(csv_release) struct csv csv = {0};
    struct err err = {0};
    bool row = true;
    enum err_code code = csv_open_text(&csv, str_n((const char *)data, size), known, 1, &err);

    while (code == OK && row) {
        int64_t value = 0;

        code = csv_next(&csv, &row, &err);
        if (code == OK && row)
            code = csv_i64(&csv, 1, -100, 100, 7, &value, &err);
        ENSURE(code != OK || !row || (value >= -100 && value <= 100));
        if (code == OK && row)
            code = csv_amount(&csv, 2, 1000, 0, &value, &err);
        ENSURE(code != OK || !row || csv_text(&csv, 0).len <= size);
    }
    ENSURE(code == OK || (err.text[0] && !strchr(err.text, '\n')));
    return 0;
}
