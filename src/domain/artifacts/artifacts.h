/* Files of a project by digest: today the packed folders of jobs. thread: as each says */
#pragma once

#include "domain/cmd.h"

/* Checks and keeps the bytes. may block: worker only */
MUST_CHECK enum err_code artifacts_file_store(struct cmd *cmd, int fd, int64_t bytes,
                                              struct str digest, struct err *err);
/* Makes a stored file the project's. thread: command */
MUST_CHECK enum err_code artifacts_file_publish(struct cmd *cmd, project_id project,
                                                struct str digest, int64_t bytes, bool *ret_created,
                                                struct err *err);
/* ERR_NOT_FOUND when this project has no such file. may block: worker only */
MUST_CHECK enum err_code artifacts_file_open(struct cmd *cmd, project_id project, struct str digest,
                                             int *ret_fd, int64_t *ret_bytes, struct err *err);
