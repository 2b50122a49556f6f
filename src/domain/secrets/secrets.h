/* Secrets of projects: set once, given to jobs, never shown again. What they are is sealed with the
 * key of the installation and bound to project and name; no error, audit row or answer has it.
 * thread: any owner of a store; changes: command */
#pragma once

#include "domain/cmd.h"
#include "model/project.h"
#include "model/secret.h"

/* ERR_UNAVAILABLE: this server has no key, or what is there was sealed with another one. */
MUST_CHECK enum err_code secrets_set(struct cmd *cmd, const struct project *project,
                                     struct str name, struct str value, struct secret *ret_secret,
                                     bool *ret_created, struct err *err);
MUST_CHECK enum err_code secrets_list(struct cmd *cmd, project_id project, struct str after,
                                      int limit, struct secret **ret_secrets, size_t *ret_count,
                                      struct err *err);
MUST_CHECK enum err_code secrets_delete(struct cmd *cmd, const struct project *project,
                                        struct str name, struct err *err);

/* What it is, for a job that names it; notes that it was used. The text lies in the cmd's arena.
 * ERR_NOT_FOUND, ERR_UNAVAILABLE. thread: command */
MUST_CHECK enum err_code secrets_open(struct cmd *cmd, project_id project, struct str name,
                                      struct str *ret_value, struct err *err);
/* Whether the project has it; for checks before a job is taken. */
MUST_CHECK enum err_code secrets_exists(struct cmd *cmd, project_id project, struct str name,
                                        struct err *err);
/* The name of a key that this server does not have, although something is sealed with it; "". */
MUST_CHECK enum err_code secrets_foreign_key(struct cmd *cmd, struct str *ret_key_name,
                                             struct err *err);
