/* Finds the known name that somebody probably meant. thread: any */
#pragma once

#include "base/str.h"

struct near {
    struct str asked;
    struct str best; /* len 0: nothing is near */
    size_t distance;
};

struct near near_begin(struct str asked);
/* `name` must outlive `near`. Equal names are not near: they are the same. */
void near_try(struct near *near, struct str name);
