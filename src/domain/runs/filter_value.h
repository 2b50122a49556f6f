/* Values in filters: numbers, texts, true and false, dates and durations. Pure. thread: any */
#pragma once

#include "domain/runs/filter.h"

/* What `text` means as a value of `key`; `quoted`: it stood in quotes and is no number then.
 * ERR_INVALID. `text` must outlive the value. */
MUST_CHECK enum err_code filter_value_parse(const struct run_key *key, struct str text, bool quoted,
                                            time_ms now, struct filter_value *ret_value,
                                            struct err *err);
