/* Statements of sql/statements/identity.sql as typed functions. */
#include "store/store_identity.h"

#include "store/db.h"

static struct str hash_str(const uint8_t *hash)
{
    return str_n((const char *)hash, HASH_BYTES);
}

enum err_code store_user_insert(struct store *store, struct user *user, struct err *err)
{
    return db__insert(store->db, SQL_USER_INSERT,
                      ARGS(ARG_ID("public_id", &user->public_id), ARG_TEXT("login", user->login),
                           ARG_TEXT("password_hash", user->password_hash),
                           ARG_BOOL("admin", user->admin), ARG_I64("created_ms", user->created)),
                      &user->id.v, err);
}

static void user_read(const struct db_result *r, struct arena *arena, struct user *ret_user)
{
    *ret_user = (struct user){
        .id = {db__i64(r, 0)},
        .public_id = db__id(r, 1),
        .login = db__text(r, 2, arena),
        .password_hash = db__text(r, 3, arena),
        .admin = db__i64(r, 4) != 0,
        .created = db__i64(r, 5),
    };
}

static enum err_code user_one(struct store *store, enum sql_id sql, const struct db_arg *args,
                              struct arena *arena, struct user *ret_user)
{
    CLEANUP(db__result_release) struct db_result r = {0};
    bool row = false;

    TRY(db__query(store->db, sql, args, &r, NULL));
    TRY(db__next(&r, &row, NULL));
    if (!row)
        return ERR_NOT_FOUND;
    user_read(&r, arena, ret_user);
    return OK;
}

enum err_code store_user_by_login(struct store *store, struct str login, struct arena *arena,
                                  struct user *ret_user, struct err *err)
{
    enum err_code code =
        user_one(store, SQL_USER_BY_LOGIN, ARGS(ARG_TEXT("login", login)), arena, ret_user);
    return code == OK ? OK : err_set(err, code, "user \"%.*s\" not found", STR_ARG(login));
}

enum err_code store_user_by_public_id(struct store *store, const struct id *id, struct arena *arena,
                                      struct user *ret_user, struct err *err)
{
    enum err_code code =
        user_one(store, SQL_USER_BY_PUBLIC_ID, ARGS(ARG_ID("public_id", id)), arena, ret_user);
    return code == OK ? OK : err_set(err, code, "user %s not found", id->text);
}

enum err_code store_user_by_id(struct store *store, user_id id, struct arena *arena,
                               struct user *ret_user, struct err *err)
{
    enum err_code code =
        user_one(store, SQL_USER_BY_ID, ARGS(ARG_I64("id", id.v)), arena, ret_user);
    return code == OK ? OK : err_set(err, code, "the user is gone");
}

enum err_code store_user_list(struct store *store, user_id after, int limit, struct arena *arena,
                              struct user **ret_users, size_t *ret_count, struct err *err)
{
    CLEANUP(db__result_release) struct db_result r = {0};
    struct user *users = arena_array(arena, (size_t)limit, sizeof *users);
    size_t count = 0;
    bool row = false;

    TRY(db__query(store->db, SQL_USER_LIST,
                  ARGS(ARG_I64("after_id", after.v), ARG_I64("limit", limit)), &r, err));
    for (TRY(db__next(&r, &row, err)); row; TRY(db__next(&r, &row, err)))
        user_read(&r, arena, &users[count++]);
    *ret_users = users;
    *ret_count = count;
    return OK;
}

enum err_code store_user_count(struct store *store, int64_t *ret_count, struct err *err)
{
    return db__number(store->db, SQL_USER_COUNT, NO_ARGS, ret_count, err);
}

enum err_code store_user_password_set(struct store *store, user_id id, struct str hash,
                                      struct err *err)
{
    return db__run(store->db, SQL_USER_PASSWORD_SET,
                   ARGS(ARG_I64("id", id.v), ARG_TEXT("password_hash", hash)), NULL, err);
}

enum err_code store_session_insert(struct store *store, const struct session *s, struct err *err)
{
    return db__run(store->db, SQL_SESSION_INSERT,
                   ARGS(ARG_BYTES("token_hash", hash_str(s->token_hash)),
                        ARG_I64("user_id", s->user.v), ARG_I64("created_ms", s->created),
                        ARG_I64("seen_ms", s->seen), ARG_I64("expires_ms", s->expires)),
                   NULL, err);
}

enum err_code store_session_get(struct store *store, const uint8_t token_hash[HASH_BYTES],
                                struct session *ret_session, struct err *err)
{
    CLEANUP(db__result_release) struct db_result r = {0};
    bool row = false;

    TRY(db__query(store->db, SQL_SESSION_GET, ARGS(ARG_BYTES("token_hash", hash_str(token_hash))),
                  &r, err));
    TRY(db__next(&r, &row, err));
    if (!row)
        return err_set(err, ERR_NOT_FOUND, "the session is not known");
    *ret_session = (struct session){
        .user = {db__i64(&r, 0)},
        .created = db__i64(&r, 1),
        .seen = db__i64(&r, 2),
        .expires = db__i64(&r, 3),
    };
    memcpy(ret_session->token_hash, token_hash, HASH_BYTES);
    return OK;
}

enum err_code store_session_seen(struct store *store, const uint8_t token_hash[HASH_BYTES],
                                 time_ms now, struct err *err)
{
    return db__run(store->db, SQL_SESSION_SEEN,
                   ARGS(ARG_BYTES("token_hash", hash_str(token_hash)), ARG_I64("seen_ms", now)),
                   NULL, err);
}

enum err_code store_session_delete(struct store *store, const uint8_t token_hash[HASH_BYTES],
                                   struct err *err)
{
    return db__run(store->db, SQL_SESSION_DELETE,
                   ARGS(ARG_BYTES("token_hash", hash_str(token_hash))), NULL, err);
}

enum err_code store_session_delete_others(struct store *store, user_id user,
                                          const uint8_t token_hash[HASH_BYTES], struct err *err)
{
    return db__run(store->db, SQL_SESSION_DELETE_OTHERS,
                   ARGS(ARG_I64("user_id", user.v), ARG_BYTES("token_hash", hash_str(token_hash))),
                   NULL, err);
}

enum err_code store_session_delete_expired(struct store *store, time_ms now, time_ms idle_before,
                                           struct err *err)
{
    return db__run(store->db, SQL_SESSION_DELETE_EXPIRED,
                   ARGS(ARG_I64("now_ms", now), ARG_I64("idle_before_ms", idle_before)), NULL, err);
}

enum err_code store_setup_token_set(struct store *store, const uint8_t hash[HASH_BYTES],
                                    time_ms expires, struct err *err)
{
    TRY(store_setup_token_clear(store, err));
    return db__run(store->db, SQL_SETUP_TOKEN_INSERT,
                   ARGS(ARG_BYTES("token_hash", hash_str(hash)), ARG_I64("expires_ms", expires)),
                   NULL, err);
}

enum err_code store_setup_token_get(struct store *store, const uint8_t hash[HASH_BYTES],
                                    time_ms *ret_expires, struct err *err)
{
    return db__number(store->db, SQL_SETUP_TOKEN_GET, ARGS(ARG_BYTES("token_hash", hash_str(hash))),
                      ret_expires, err);
}

enum err_code store_setup_token_clear(struct store *store, struct err *err)
{
    return db__run(store->db, SQL_SETUP_TOKEN_DELETE_ALL, NO_ARGS, NULL, err);
}

enum err_code store_key_insert(struct store *store, struct access_key *k, struct err *err)
{
    return db__insert(store->db, SQL_KEY_INSERT,
                      ARGS(ARG_ID("public_id", &k->public_id),
                           ARG_TEXT("kind", str_from(principal_kind_name(k->kind))),
                           ARG_BYTES("hash", hash_str(k->hash)), ARG_TEXT("name", k->name),
                           ARG_REF("user_id", k->user.v), ARG_REF("agent_id", k->agent.v),
                           ARG_REF("attempt_id", k->attempt.v),
                           ARG_REF("placement_id", k->placement.v),
                           ARG_REF("project_id", k->project.v), ARG_I64("created_ms", k->created),
                           ARG_TIME("expires_ms", k->expires)),
                      &k->id.v, err);
}

static void key_read(const struct db_result *r, struct arena *arena, struct access_key *ret_key)
{
    *ret_key = (struct access_key){
        .id = {db__i64(r, 0)},
        .public_id = db__id(r, 1),
        .kind = principal_kind_from_name(db__view(r, 2)),
        .name = db__text(r, 4, arena),
        .user = {db__i64(r, 5)},
        .agent = {db__i64(r, 6)},
        .attempt = {db__i64(r, 7)},
        .project = {db__i64(r, 8)},
        .created = db__i64(r, 9),
        .expires = db__time(r, 10),
        .revoked = db__time(r, 11),
        .used = db__time(r, 12),
        .owner = db__text(r, 13, arena),
    };
    db__hash(r, 3, ret_key->hash);
}

enum err_code store_key_get(struct store *store, const struct id *id, struct arena *arena,
                            struct access_key *ret_key, struct err *err)
{
    CLEANUP(db__result_release) struct db_result r = {0};
    bool row = false;

    TRY(db__query(store->db, SQL_KEY_BY_PUBLIC_ID, ARGS(ARG_ID("public_id", id)), &r, err));
    TRY(db__next(&r, &row, err));
    if (!row)
        return err_set(err, ERR_NOT_FOUND, "key %s not found", id->text);
    key_read(&r, arena, ret_key);
    return OK;
}

enum err_code store_key_list(struct store *store, user_id user, key_id before, int limit,
                             struct arena *arena, struct access_key **ret_keys, size_t *ret_count,
                             struct err *err)
{
    CLEANUP(db__result_release) struct db_result r = {0};
    struct access_key *keys = arena_array(arena, (size_t)limit, sizeof *keys);
    size_t count = 0;
    bool row = false;

    TRY(db__query(store->db, SQL_KEY_LIST,
                  ARGS(ARG_I64("before_id", before.v ? before.v : INT64_MAX),
                       ARG_BOOL("everybody", user.v == 0), ARG_I64("user_id", user.v),
                       ARG_I64("limit", limit)),
                  &r, err));
    for (TRY(db__next(&r, &row, err)); row; TRY(db__next(&r, &row, err)))
        key_read(&r, arena, &keys[count++]);
    *ret_keys = keys;
    *ret_count = count;
    return OK;
}

enum err_code store_key_revoke(struct store *store, key_id id, time_ms now, struct err *err)
{
    return db__run(store->db, SQL_KEY_REVOKE, ARGS(ARG_I64("id", id.v), ARG_I64("now_ms", now)),
                   NULL, err);
}

enum err_code store_key_revoke_by_attempt(struct store *store, attempt_id attempt, time_ms now,
                                          struct err *err)
{
    return db__run(store->db, SQL_KEY_REVOKE_BY_ATTEMPT,
                   ARGS(ARG_I64("attempt_id", attempt.v), ARG_I64("now_ms", now)), NULL, err);
}

enum err_code store_key_revoke_by_placement(struct store *store, const struct placement *placement,
                                            time_ms now, struct err *err)
{
    return db__run(store->db, SQL_KEY_REVOKE_BY_PLACEMENT,
                   ARGS(ARG_I64("attempt_id", placement->attempt.v),
                        ARG_I64("placement_id", placement->id.v), ARG_I64("now_ms", now)),
                   NULL, err);
}

enum err_code store_key_limit_by_attempt(struct store *store, attempt_id attempt, time_ms expires,
                                         struct err *err)
{
    return db__run(store->db, SQL_KEY_LIMIT_BY_ATTEMPT,
                   ARGS(ARG_I64("attempt_id", attempt.v), ARG_I64("expires_ms", expires)), NULL,
                   err);
}

enum err_code store_key_revoke_by_agent(struct store *store, agent_id agent, time_ms now,
                                        struct err *err)
{
    return db__run(store->db, SQL_KEY_REVOKE_BY_AGENT,
                   ARGS(ARG_I64("agent_id", agent.v), ARG_I64("now_ms", now)), NULL, err);
}

enum err_code store_key_used(struct store *store, key_id id, time_ms now, struct err *err)
{
    return db__run(store->db, SQL_KEY_USED, ARGS(ARG_I64("id", id.v), ARG_I64("now_ms", now)), NULL,
                   err);
}

enum err_code store_audit_insert(struct store *store, const struct audit_row *row, struct err *err)
{
    return db__run(store->db, SQL_AUDIT_INSERT,
                   ARGS(ARG_I64("at_ms", row->at), ARG_TEXT("actor", row->actor),
                        ARG_TEXT("operation", row->operation), ARG_TEXT("subject", row->subject),
                        ARG_TEXT("detail", row->detail), ARG_TEXT("request_id", row->request_id)),
                   NULL, err);
}

enum err_code store_audit_list(struct store *store, int64_t before_seq, int limit,
                               struct arena *arena, struct audit_row **ret_rows, size_t *ret_count,
                               struct err *err)
{
    CLEANUP(db__result_release) struct db_result r = {0};
    struct audit_row *rows = arena_array(arena, (size_t)limit, sizeof *rows);
    size_t count = 0;
    bool row = false;

    TRY(db__query(
        store->db, SQL_AUDIT_LIST,
        ARGS(ARG_I64("before_seq", before_seq ? before_seq : INT64_MAX), ARG_I64("limit", limit)),
        &r, err));
    for (TRY(db__next(&r, &row, err)); row; TRY(db__next(&r, &row, err)))
        rows[count++] = (struct audit_row){
            .seq = db__i64(&r, 0),
            .at = db__i64(&r, 1),
            .actor = db__text(&r, 2, arena),
            .operation = db__text(&r, 3, arena),
            .subject = db__text(&r, 4, arena),
            .detail = db__text(&r, 5, arena),
            .request_id = db__text(&r, 6, arena),
        };
    *ret_rows = rows;
    *ret_count = count;
    return OK;
}
