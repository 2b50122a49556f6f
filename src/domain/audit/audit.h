/* The audit trail: every change by somebody writes a row in its own transaction; if the row cannot
 * be written the change fails. thread: command (add), any owner of a store (list) */
#pragma once

#include "domain/cmd.h"

/* `subject` names the thing ("project demo"); `detail` what changed, one line, no secrets. */
MUST_CHECK enum err_code audit_add(struct cmd *cmd, struct str subject, struct str detail,
                                   struct err *err);
/* Newest first, before the row `before_seq` (0: from the newest). */
MUST_CHECK enum err_code audit_list(struct cmd *cmd, int64_t before_seq, int limit,
                                    struct audit_row **ret_rows, size_t *ret_count,
                                    struct err *err);
