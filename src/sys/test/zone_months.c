/* Prints the lines of the months of zones, for a comparison with another reader of the same files:
 * `zone_months FROM TO ZONE...` gives a line a zone: its name and the UTC seconds at which the
 * months of the years FROM to TO begin. */
#include "sys/zone.h"

#include <stdio.h>

int main(int argc, char **argv)
{
    struct zones *zones = zones_new(ZONE_FOLDER);
    int64_t from, to;

    if (argc < 4 || !str_to_i64(str_from(argv[1]), &from) || !str_to_i64(str_from(argv[2]), &to)) {
        fprintf(stderr, "zone_months FROM TO ZONE...\n");
        zones_free(zones);
        return 2;
    }
    for (int i = 3; i < argc; i++) {
        time_ms at, end;
        char text[TIME_TEXT_BYTES];
        time_ms begin, last;

        snprintf(text, sizeof text, "%04d-01-15T00:00:00Z", (int)from);
        ENSURE(time_parse(str_from(text), &begin));
        snprintf(text, sizeof text, "%04d-12-15T00:00:00Z", (int)to);
        ENSURE(time_parse(str_from(text), &last));
        printf("%s", argv[i]);
        for (time_ms t = begin;
             t < last + 86400000 && zones_month(zones, str_from(argv[i]), t, &at, &end); t = end)
            printf(" %lld", (long long)(at / 1000));
        printf("\n");
    }
    zones_free(zones);
    return 0;
}
