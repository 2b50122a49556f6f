/* Lists of allowed targets, as people write and read them. thread: any owner of a store */
#pragma once

#include "domain/cmd.h"
#include "model/share.h"

/* The ids of named targets, sorted, each once. ERR_UNPROCESSABLE: there is none of a name, with
 * `targets` as the field. */
MUST_CHECK enum err_code allowed_targets_of(struct cmd *cmd, const struct str *names, size_t count,
                                            struct allowed_targets *ret_targets, struct err *err);
/* Their names, in an array as long as the list. */
MUST_CHECK enum err_code allowed_targets_names(struct cmd *cmd,
                                               const struct allowed_targets *targets,
                                               struct str **ret_names, struct err *err);
