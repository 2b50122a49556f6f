/* Files of time zones: any bytes are a zone or are refused; the months of a zone follow each other.
 */
#include "sys/zone.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct zone zone;
    int64_t before = INT64_MIN;

    if (zone_parse(str_n((const char *)data, size), &zone, NULL) != OK)
        return 0;
    for (int64_t year = 2000; year < 2040; year++)
        for (int month = 1; month <= 12; month++) {
            int64_t line = zone_month_line(&zone, year, month);
            ENSURE(line > before);
            before = line;
        }
    return 0;
}
