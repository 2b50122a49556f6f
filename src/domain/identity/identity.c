/* From a credential to a principal. Whatever is wrong with a key, the answer is the same, so that
 * nobody learns which keys exist. */
#include "domain/identity/identity.h"

#include "domain/audit/audit.h"
#include "store/store_agent.h"
#include "store/store_attempt.h"
#include "store/store_identity.h"
#include "store/store_job.h"

static enum err_code refuse(struct err *err, const char *why)
{
    return err_set(err, ERR_UNAUTHENTICATED, "%s", why);
}

static enum err_code user_principal(struct cmd *cmd, user_id id, enum principal_kind kind,
                                    struct principal *ret_who, struct err *err)
{
    struct user user;

    if (store_user_by_id(cmd->store, id, cmd->arena, &user, NULL) != OK)
        return refuse(err, "the user of this key is gone");
    *ret_who = (struct principal){
        .kind = kind,
        .user = user.id,
        .admin = user.admin,
        .name = user.login,
    };
    return OK;
}

static enum err_code agent_principal(struct cmd *cmd, agent_id id, struct principal *ret_who,
                                     struct err *err)
{
    struct agent agent;

    if (store_agent_by_id(cmd->store, id, cmd->arena, &agent, NULL) != OK)
        return refuse(err, "the agent of this key is gone");
    *ret_who = (struct principal){.kind = PRINCIPAL_AGENT, .agent = agent.id, .name = agent.name};
    return OK;
}

static enum err_code job_principal(struct cmd *cmd, const struct access_key *key,
                                   struct principal *ret_who, struct err *err)
{
    struct attempt attempt;
    struct job job;

    if (store_attempt_by_id(cmd->store, key->attempt, cmd->arena, &attempt, NULL) != OK ||
        store_job_by_id(cmd->store, attempt.job, cmd->arena, &job, NULL) != OK)
        return refuse(err, "the job of this key is gone");
    *ret_who = (struct principal){
        .kind = PRINCIPAL_JOB,
        .user = job.owner,
        .attempt = attempt.id,
        .project = job.project,
        .run = job.run,
        .job = job.id,
        .attempt_fenced = attempt.state == ATTEMPT_LOST || attempt.id.v != job.attempt.v,
        .name = str_from(arena_printf(cmd->arena, "%s", job.public_id.text)),
    };
    return OK;
}

enum err_code identity_by_key(struct cmd *cmd, struct str key_text, struct principal *ret_who,
                              struct err *err)
{
    struct key_text parsed;
    struct access_key key;

    if (!key_parse(key_text, &parsed))
        return refuse(err, "this is not a key (wrong shape or a typing error)");
    if (store_key_get(cmd->store, &parsed.public_id, cmd->arena, &key, NULL) != OK ||
        !bytes_equal_const(key.hash, parsed.hash, HASH_BYTES))
        return refuse(err, "the key is not known");
    if (key.revoked != TIME_NONE)
        return refuse(err, "the key was revoked");
    if (key.expires != TIME_NONE && key.expires <= cmd->now)
        return refuse(err, "the key has expired");
    if (key.kind == PRINCIPAL_AGENT)
        return agent_principal(cmd, key.agent, ret_who, err);
    if (key.kind == PRINCIPAL_JOB)
        return job_principal(cmd, &key, ret_who, err);
    return user_principal(cmd, key.user, key.kind, ret_who, err);
}

enum err_code identity_by_session(struct cmd *cmd, struct str token, struct principal *ret_who,
                                  bool *ret_stale, struct err *err)
{
    uint8_t hash[HASH_BYTES];
    struct session session;

    if (token.len != 43)
        return refuse(err, "you are signed out");
    sha256(token.data, token.len, hash);
    if (store_session_get(cmd->store, hash, &session, NULL) != OK || session.expires <= cmd->now ||
        session.seen + SESSION_IDLE_MS <= cmd->now)
        return refuse(err, "you are signed out");
    TRY(user_principal(cmd, session.user, PRINCIPAL_SESSION, ret_who, err));
    memcpy(ret_who->session_hash, hash, HASH_BYTES);
    *ret_stale = session.seen + 60 * 1000 < cmd->now;
    return OK;
}

enum err_code identity_me(struct cmd *cmd, struct identity_me *ret_me, struct err *err)
{
    const struct principal *who = cmd->who;
    struct identity_me me = {0};
    struct agent agent;
    struct user user;
    struct job job;

    if (who->kind == PRINCIPAL_AGENT) {
        TRY(store_agent_by_id(cmd->store, who->agent, cmd->arena, &agent, err));
        me.agent = agent.public_id;
        me.target = agent.target_name;
    } else {
        TRY(store_user_by_id(cmd->store, who->user, cmd->arena, &user, err));
        me.user = user.public_id;
    }
    if (who->kind == PRINCIPAL_JOB) {
        TRY(store_job_by_id(cmd->store, who->job, cmd->arena, &job, err));
        me.job = job.public_id;
        me.run = job.run_public_id;
        me.project = job.project_name;
    }
    *ret_me = me;
    return OK;
}

enum err_code identity_session_seen(struct cmd *cmd, const uint8_t hash[HASH_BYTES],
                                    struct err *err)
{
    return store_session_seen(cmd->store, hash, cmd->now, err);
}

enum err_code identity_setup_needed(struct cmd *cmd, bool *ret_needed, struct err *err)
{
    int64_t count = 0;

    TRY(store_user_count(cmd->store, &count, err));
    *ret_needed = count == 0;
    return OK;
}

enum err_code identity_setup_token(struct cmd *cmd, char ret_token[44], struct err *err)
{
    uint8_t hash[HASH_BYTES];

    token_make(ret_token, hash);
    return store_setup_token_set(cmd->store, hash, cmd->now + SETUP_TOKEN_MS, err);
}

static enum err_code setup_token_check(struct cmd *cmd, struct str token, struct err *err)
{
    uint8_t hash[HASH_BYTES];
    time_ms expires = 0;

    sha256(token.data, token.len, hash);
    if (store_setup_token_get(cmd->store, hash, &expires, NULL) == OK && expires > cmd->now)
        return OK;
    (void)err_set_field(err, ERR_FORBIDDEN, "token", "the set-up token is wrong or has expired");
    err_hint(err, "restart euvyrad: it prints a fresh one");
    return ERR_FORBIDDEN;
}

enum err_code identity_setup(struct cmd *cmd, struct str token, struct str login,
                             struct str password_hash, struct user *ret_user, struct err *err)
{
    struct user_spec spec = {
        .id = random_port_id(&cmd->domain->random, ID_USER),
        .login = login,
        .password_hash = password_hash,
        .admin = true,
    };
    bool needed = false, created = false;

    TRY(identity_setup_needed(cmd, &needed, err));
    if (!needed)
        return err_set(err, ERR_FORBIDDEN, "an administrator exists already");
    if (token.len)
        TRY(setup_token_check(cmd, token, err));
    TRY(store_setup_token_clear(cmd->store, err));
    return identity_user_create(cmd, &spec, ret_user, &created, err);
}

enum err_code identity_password_hash(struct cmd *cmd, struct str password, struct str *ret_hash,
                                     struct err *err)
{
    char text[PASSWORD_HASH_BYTES];

    TRY(password_hash(password, text, err));
    *ret_hash = arena_copy(cmd->arena, str_from(text));
    return OK;
}

enum err_code identity_password_check(struct cmd *cmd, struct str login, struct str password,
                                      struct user *ret_user, struct err *err)
{
    struct user user;
    bool right = false;

    if (store_user_by_login(cmd->store, login, cmd->arena, &user, NULL) == OK)
        right = password_matches(arena_text(cmd->arena, user.password_hash), password);
    else
        password_waste();
    if (!right)
        return refuse(err, "the login or the password is wrong");
    *ret_user = user;
    return OK;
}

enum err_code identity_session_open(struct cmd *cmd, const struct user *user, char ret_token[44],
                                    struct err *err)
{
    struct session session = {
        .user = user->id,
        .created = cmd->now,
        .seen = cmd->now,
        .expires = cmd->now + SESSION_MAX_MS,
    };

    token_make(ret_token, session.token_hash);
    TRY(store_session_insert(cmd->store, &session, err));
    return audit_add(cmd, user->login, STR("signed in"), err);
}

enum err_code identity_session_close(struct cmd *cmd, struct err *err)
{
    TRY(store_session_delete(cmd->store, cmd->who->session_hash, err));
    return audit_add(cmd, cmd->who->name, STR("signed out"), err);
}

enum err_code identity_sessions_expire(struct cmd *cmd, struct err *err)
{
    return store_session_delete_expired(cmd->store, cmd->now, cmd->now - SESSION_IDLE_MS, err);
}

enum err_code identity_password_set(struct cmd *cmd, struct str password_hash, struct err *err)
{
    TRY(store_user_password_set(cmd->store, cmd->who->user, password_hash, err));
    TRY(store_session_delete_others(cmd->store, cmd->who->user, cmd->who->session_hash, err));
    return audit_add(cmd, cmd->who->name, STR("password changed"), err);
}

enum err_code identity_user_create(struct cmd *cmd, const struct user_spec *spec,
                                   struct user *ret_user, bool *ret_created, struct err *err)
{
    struct user have;

    if (store_user_by_public_id(cmd->store, &spec->id, cmd->arena, &have, NULL) == OK) {
        if (!str_eq(have.login, spec->login) || have.admin != spec->admin)
            return err_set(err, ERR_CONFLICT, "user %s exists with another login or rights",
                           spec->id.text);
        *ret_user = have;
        *ret_created = false;
        return OK;
    }
    if (store_user_by_login(cmd->store, spec->login, cmd->arena, &have, NULL) == OK)
        return err_set_field(err, ERR_CONFLICT, "login", "login \"%.*s\" is taken",
                             STR_ARG(spec->login));
    *ret_user = (struct user){
        .public_id = spec->id,
        .login = spec->login,
        .password_hash = spec->password_hash,
        .admin = spec->admin,
        .created = cmd->now,
    };
    *ret_created = true;
    TRY(store_user_insert(cmd->store, ret_user, err));
    return audit_add(cmd, spec->login, spec->admin ? STR("administrator") : STR("user"), err);
}

enum err_code identity_user_list(struct cmd *cmd, int64_t after, int limit, struct user **ret_users,
                                 size_t *ret_count, struct err *err)
{
    return store_user_list(cmd->store, (user_id){after}, limit, cmd->arena, ret_users, ret_count,
                           err);
}

enum err_code identity_key_create(struct cmd *cmd, const struct key_spec *spec,
                                  struct key_text *ret_key, struct err *err)
{
    struct access_key key = {
        .kind = spec->kind,
        .name = spec->name,
        .user = cmd->who->user,
        .created = cmd->now,
        .expires = spec->expires,
    };
    struct agent agent;

    if (spec->kind != PRINCIPAL_USER && !cmd->who->admin)
        return err_set_field(err, ERR_FORBIDDEN, "kind", "only administrators make %s keys",
                             principal_kind_name(spec->kind));
    if ((spec->kind == PRINCIPAL_AGENT) != (spec->agent.text[0] != 0))
        return err_set_field(err, ERR_INVALID, "agent", "\"agent\" goes with keys of kind agent");
    if (spec->expires != TIME_NONE && spec->expires <= cmd->now)
        return err_set_field(err, ERR_INVALID, "expires_at", "\"expires_at\" lies in the past");
    if (spec->kind == PRINCIPAL_AGENT) {
        TRY(store_agent_get(cmd->store, &spec->agent, cmd->arena, &agent, err));
        key.agent = agent.id;
        key.user = (user_id){0};
    }
    key_make(principal_kind_name(spec->kind), ret_key);
    key.public_id = ret_key->public_id;
    memcpy(key.hash, ret_key->hash, HASH_BYTES);
    TRY(store_key_insert(cmd->store, &key, err));
    return audit_add(cmd, str_from(arena_printf(cmd->arena, "key %s", key.public_id.text)),
                     spec->name, err);
}

enum err_code identity_key_list(struct cmd *cmd, bool everybody, int64_t before, int limit,
                                struct access_key **ret_keys, size_t *ret_count, struct err *err)
{
    if (everybody && !cmd->who->admin)
        return err_set_field(err, ERR_FORBIDDEN, "all", "only administrators see everybody's keys");
    return store_key_list(cmd->store, everybody ? (user_id){0} : cmd->who->user, (key_id){before},
                          limit, cmd->arena, ret_keys, ret_count, err);
}

enum err_code identity_key_revoke(struct cmd *cmd, const struct id *id, struct err *err)
{
    struct access_key key;

    TRY(store_key_get(cmd->store, id, cmd->arena, &key, err));
    if (!cmd->who->admin && (key.user.v != cmd->who->user.v || key.kind == PRINCIPAL_JOB))
        return err_set(err, ERR_NOT_FOUND, "key %s not found", id->text);
    if (key.revoked != TIME_NONE)
        return OK;
    TRY(store_key_revoke(cmd->store, key.id, cmd->now, err));
    return audit_add(cmd, str_from(arena_printf(cmd->arena, "key %s", id->text)), STR("revoked"),
                     err);
}

enum err_code identity_job_key(struct cmd *cmd, const struct job *job,
                               const struct placement *placement, time_ms expires,
                               struct key_text *ret_key, struct err *err)
{
    struct access_key key = {
        .kind = PRINCIPAL_JOB,
        .name = job->name,
        .user = job->owner,
        .attempt = placement->attempt,
        .placement = placement->id,
        .project = job->project,
        .created = cmd->now,
        .expires = expires,
    };

    TRY(store_key_revoke_by_placement(cmd->store, placement, cmd->now, err));
    key_make("job", ret_key);
    key.public_id = ret_key->public_id;
    memcpy(key.hash, ret_key->hash, HASH_BYTES);
    return store_key_insert(cmd->store, &key, err);
}
