/* Secrets in the store: sealed bytes and what is known about them. thread: owner of the store; may
 * block */
#pragma once

#include "model/secret.h"
#include "store/store.h"

/* Makes it or replaces what it was; the one of before was never used then. */
MUST_CHECK enum err_code store_secret_set(struct store *store, const struct secret *secret,
                                          struct str sealed, struct err *err);
MUST_CHECK enum err_code store_secret_get(struct store *store, project_id project, struct str name,
                                          struct arena *arena, struct secret *ret_secret,
                                          struct err *err);
MUST_CHECK enum err_code store_secret_sealed(struct store *store, secret_id id, struct arena *arena,
                                             struct str *ret_sealed, struct err *err);
/* By name, after `after`. */
MUST_CHECK enum err_code store_secret_list(struct store *store, project_id project,
                                           struct str after, int limit, struct arena *arena,
                                           struct secret **ret_secrets, size_t *ret_count,
                                           struct err *err);
MUST_CHECK enum err_code store_secret_count(struct store *store, project_id project,
                                            int64_t *ret_count, struct err *err);
MUST_CHECK enum err_code store_secret_used(struct store *store, secret_id id, time_ms now,
                                           struct err *err);
MUST_CHECK enum err_code store_secret_delete(struct store *store, secret_id id, struct err *err);
/* The name of a key, other than `key_name`, that something is sealed with; "" when there is none.
 */
MUST_CHECK enum err_code store_secret_other_key(struct store *store, struct str key_name,
                                                struct arena *arena, struct str *ret_other,
                                                struct err *err);
