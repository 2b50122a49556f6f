/* Users, sessions, keys and the audit trail in the store. Reads answer ERR_NOT_FOUND with a text
 * that names the thing. thread: owner of the store; may block */
#pragma once

#include "model/identity.h"
#include "model/job.h"
#include "store/store.h"

MUST_CHECK enum err_code store_user_insert(struct store *store, struct user *user, struct err *err);
MUST_CHECK enum err_code store_user_by_login(struct store *store, struct str login,
                                             struct arena *arena, struct user *ret_user,
                                             struct err *err);
MUST_CHECK enum err_code store_user_by_public_id(struct store *store, const struct id *id,
                                                 struct arena *arena, struct user *ret_user,
                                                 struct err *err);
MUST_CHECK enum err_code store_user_by_id(struct store *store, user_id id, struct arena *arena,
                                          struct user *ret_user, struct err *err);
MUST_CHECK enum err_code store_user_list(struct store *store, user_id after, int limit,
                                         struct arena *arena, struct user **ret_users,
                                         size_t *ret_count, struct err *err);
MUST_CHECK enum err_code store_user_count(struct store *store, int64_t *ret_count, struct err *err);
MUST_CHECK enum err_code store_user_password_set(struct store *store, user_id id, struct str hash,
                                                 struct err *err);

MUST_CHECK enum err_code store_session_insert(struct store *store, const struct session *session,
                                              struct err *err);
MUST_CHECK enum err_code store_session_get(struct store *store,
                                           const uint8_t token_hash[HASH_BYTES],
                                           struct session *ret_session, struct err *err);
MUST_CHECK enum err_code store_session_seen(struct store *store,
                                            const uint8_t token_hash[HASH_BYTES], time_ms now,
                                            struct err *err);
MUST_CHECK enum err_code
store_session_delete(struct store *store, const uint8_t token_hash[HASH_BYTES], struct err *err);
/* All sessions of the user but this one (all of them when the hash is zeros). */
MUST_CHECK enum err_code store_session_delete_others(struct store *store, user_id user,
                                                     const uint8_t token_hash[HASH_BYTES],
                                                     struct err *err);
MUST_CHECK enum err_code store_session_delete_expired(struct store *store, time_ms now,
                                                      time_ms idle_before, struct err *err);

/* There is at most one set-up token; making one replaces it. */
MUST_CHECK enum err_code store_setup_token_set(struct store *store, const uint8_t hash[HASH_BYTES],
                                               time_ms expires, struct err *err);
MUST_CHECK enum err_code store_setup_token_get(struct store *store, const uint8_t hash[HASH_BYTES],
                                               time_ms *ret_expires, struct err *err);
MUST_CHECK enum err_code store_setup_token_clear(struct store *store, struct err *err);

MUST_CHECK enum err_code store_key_insert(struct store *store, struct access_key *key,
                                          struct err *err);
MUST_CHECK enum err_code store_key_get(struct store *store, const struct id *id,
                                       struct arena *arena, struct access_key *ret_key,
                                       struct err *err);
/* Newest first, ids below `before`; of one user, or of everybody when user is 0. No job keys. */
MUST_CHECK enum err_code store_key_list(struct store *store, user_id user, key_id before, int limit,
                                        struct arena *arena, struct access_key **ret_keys,
                                        size_t *ret_count, struct err *err);
MUST_CHECK enum err_code store_key_revoke(struct store *store, key_id id, time_ms now,
                                          struct err *err);
MUST_CHECK enum err_code store_key_revoke_by_attempt(struct store *store, attempt_id attempt,
                                                     time_ms now, struct err *err);
MUST_CHECK enum err_code store_key_revoke_by_placement(struct store *store,
                                                       const struct placement *placement,
                                                       time_ms now, struct err *err);
MUST_CHECK enum err_code store_key_limit_by_attempt(struct store *store, attempt_id attempt,
                                                    time_ms expires, struct err *err);
MUST_CHECK enum err_code store_key_revoke_by_agent(struct store *store, agent_id agent, time_ms now,
                                                   struct err *err);
MUST_CHECK enum err_code store_key_used(struct store *store, key_id id, time_ms now,
                                        struct err *err);

MUST_CHECK enum err_code store_audit_insert(struct store *store, const struct audit_row *row,
                                            struct err *err);
MUST_CHECK enum err_code store_audit_list(struct store *store, int64_t before_seq, int limit,
                                          struct arena *arena, struct audit_row **ret_rows,
                                          size_t *ret_count, struct err *err);
