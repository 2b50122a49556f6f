/* Audit rows. */
#include "domain/audit/audit.h"

#include "store/store_identity.h"

enum err_code audit_add(struct cmd *cmd, struct str subject, struct str detail, struct err *err)
{
    return store_audit_insert(cmd->store,
                              &(struct audit_row){
                                  .at = cmd->now,
                                  .actor = cmd_actor(cmd),
                                  .operation = str_from(cmd->operation),
                                  .subject = subject,
                                  .detail = detail,
                                  .request_id = cmd->request_id,
                              },
                              err);
}

enum err_code audit_list(struct cmd *cmd, int64_t before_seq, int limit,
                         struct audit_row **ret_rows, size_t *ret_count, struct err *err)
{
    return store_audit_list(cmd->store, before_seq, limit, cmd->arena, ret_rows, ret_count, err);
}
