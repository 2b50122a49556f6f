/* Files by digest. */
#include "domain/artifacts/artifacts.h"

#include "store/store_log.h"

enum err_code artifacts_file_store(struct cmd *cmd, int fd, int64_t bytes, struct str digest,
                                   struct err *err)
{
    const struct blob_port *blobs = &cmd->domain->blobs;

    return blobs->put(blobs->ctx, fd, bytes, arena_text(cmd->arena, digest), err);
}

enum err_code artifacts_file_publish(struct cmd *cmd, project_id project, struct str digest,
                                     int64_t bytes, bool *ret_created, struct err *err)
{
    int64_t have = 0;

    *ret_created = store_blob_get(cmd->store, project, digest, &have, NULL) != OK;
    return store_blob_put(cmd->store, project, digest, bytes, cmd->now, err);
}

enum err_code artifacts_file_open(struct cmd *cmd, project_id project, struct str digest,
                                  int *ret_fd, int64_t *ret_bytes, struct err *err)
{
    const struct blob_port *blobs = &cmd->domain->blobs;
    int64_t bytes = 0;

    TRY(store_blob_get(cmd->store, project, digest, &bytes, err));
    return blobs->open(blobs->ctx, arena_text(cmd->arena, digest), ret_fd, ret_bytes, err);
}
