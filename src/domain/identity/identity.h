/* Who is calling: users, sessions, keys, and how a credential becomes a principal.
 *
 * Keys and session tokens are looked up by public id or hash and compared in constant time. The
 * slow password work is done by the caller on a worker thread, before the command. */
#pragma once

#include "crypto/secret.h"
#include "domain/cmd.h"

#define SESSION_IDLE_MS (12LL * 3600 * 1000)
#define SESSION_MAX_MS  (7LL * 24 * 3600 * 1000)
#define SETUP_TOKEN_MS  (3600LL * 1000)
#define FENCED_KEY_MS   (3600LL * 1000)

/* A key of any kind. ERR_UNAUTHENTICATED: unknown, expired, revoked, or its owner is gone.
 * thread: any owner of a store */
MUST_CHECK enum err_code identity_by_key(struct cmd *cmd, struct str key_text,
                                         struct principal *ret_who, struct err *err);
/* A browser's session token. *ret_stale: its last-seen time should be written again. */
MUST_CHECK enum err_code identity_by_session(struct cmd *cmd, struct str token,
                                             struct principal *ret_who, bool *ret_stale,
                                             struct err *err);
MUST_CHECK enum err_code identity_session_seen(struct cmd *cmd, const uint8_t hash[HASH_BYTES],
                                               struct err *err);

/* What the caller may know of itself; ids are empty and texts {0} where they do not apply. */
struct identity_me {
    struct id user, agent, run, job;
    struct str target, project;
};
MUST_CHECK enum err_code identity_me(struct cmd *cmd, struct identity_me *ret_me, struct err *err);

/* True when no user exists yet. */
MUST_CHECK enum err_code identity_setup_needed(struct cmd *cmd, bool *ret_needed, struct err *err);
/* Makes the one-time set-up token; replaces an older one. thread: command */
MUST_CHECK enum err_code identity_setup_token(struct cmd *cmd, char ret_token[44], struct err *err);
/* Makes the first administrator. With a token (`token.len`), it must be the one; `euvyrad setup`
 * calls it without, having the data folder to itself. ERR_FORBIDDEN: wrong, late, or not needed. */
MUST_CHECK enum err_code identity_setup(struct cmd *cmd, struct str token, struct str login,
                                        struct str password_hash, struct user *ret_user,
                                        struct err *err);

/* Argon2id of a new password. may block: worker only */
MUST_CHECK enum err_code identity_password_hash(struct cmd *cmd, struct str password,
                                                struct str *ret_hash, struct err *err);
/* The user with this login and password. ERR_UNAUTHENTICATED says the same, after the same time,
 * for a wrong password and an unknown login. may block: worker only */
MUST_CHECK enum err_code identity_password_check(struct cmd *cmd, struct str login,
                                                 struct str password, struct user *ret_user,
                                                 struct err *err);
/* Opens a session for a user whose password was right. */
MUST_CHECK enum err_code identity_session_open(struct cmd *cmd, const struct user *user,
                                               char ret_token[44], struct err *err);
MUST_CHECK enum err_code identity_session_close(struct cmd *cmd, struct err *err);
MUST_CHECK enum err_code identity_sessions_expire(struct cmd *cmd, struct err *err);
/* The caller's own; ends the other sessions. */
MUST_CHECK enum err_code identity_password_set(struct cmd *cmd, struct str password_hash,
                                               struct err *err);

struct user_spec {
    struct id id;
    struct str login, password_hash;
    bool admin;
};
/* *ret_created: false when the same user was there already. ERR_CONFLICT: another with this id or
 * login. */
MUST_CHECK enum err_code identity_user_create(struct cmd *cmd, const struct user_spec *spec,
                                              struct user *ret_user, bool *ret_created,
                                              struct err *err);
MUST_CHECK enum err_code identity_user_list(struct cmd *cmd, int64_t after, int limit,
                                            struct user **ret_users, size_t *ret_count,
                                            struct err *err);

struct key_spec {
    enum principal_kind kind; /* user, service, agent */
    struct str name;
    struct id agent; /* of an agent key, else empty */
    time_ms expires; /* TIME_NONE: never */
};
/* The text in *ret_key is shown once. ERR_FORBIDDEN: agent and service keys are an admin's. */
MUST_CHECK enum err_code identity_key_create(struct cmd *cmd, const struct key_spec *spec,
                                             struct key_text *ret_key, struct err *err);
MUST_CHECK enum err_code identity_key_list(struct cmd *cmd, bool everybody, int64_t before,
                                           int limit, struct access_key **ret_keys,
                                           size_t *ret_count, struct err *err);
MUST_CHECK enum err_code identity_key_revoke(struct cmd *cmd, const struct id *id, struct err *err);
/* The key of a placement; replaces those it had. Not audited: it is part of an offer. */
MUST_CHECK enum err_code identity_job_key(struct cmd *cmd, const struct job *job,
                                          const struct placement *placement, time_ms expires,
                                          struct key_text *ret_key, struct err *err);
