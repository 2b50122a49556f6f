/* Secrets. */
#include "domain/secrets/secrets.h"

#include "crypto/seal.h"
#include "domain/audit/audit.h"
#include "store/store_secret.h"

#include <inttypes.h>

/* What a sealed text is bound to: it does not open as another secret, nor in another project. */
static struct str about(struct cmd *cmd, project_id project, struct str name)
{
    return str_from(arena_printf(cmd->arena, "secret %" PRIi64 " %.*s", project.v, STR_ARG(name)));
}

static enum err_code no_key(struct err *err)
{
    (void)err_set(err, ERR_UNAVAILABLE, "this server has no key for secrets");
    err_hint(err, "put the file secret.key back into its data folder, or name it with "
                  "--secret-key-file, and start it again");
    return ERR_UNAVAILABLE;
}

static enum err_code other_key(struct cmd *cmd, struct str key_name, struct err *err)
{
    (void)err_set(err, ERR_UNAVAILABLE,
                  "secrets here are sealed with the key %.*s, this server has the key %s",
                  STR_ARG(key_name), cmd->domain->seal_key->name);
    err_hint(err, "start it with the file of that key (--secret-key-file), or delete what was "
                  "sealed with it");
    return ERR_UNAVAILABLE;
}

enum err_code secrets_foreign_key(struct cmd *cmd, struct str *ret_key_name, struct err *err)
{
    const struct seal_key *key = cmd->domain->seal_key;

    return store_secret_other_key(cmd->store, key ? str_from(key->name) : STR(""), cmd->arena,
                                  ret_key_name, err);
}

enum err_code secrets_set(struct cmd *cmd, const struct project *project, struct str name,
                          struct str value, struct secret *ret_secret, bool *ret_created,
                          struct err *err)
{
    struct secret secret = {.project = project->id,
                            .name = name,
                            .made_by = cmd_actor(cmd),
                            .made = cmd->now,
                            .used = TIME_NONE};
    struct secret before;
    struct str foreign, sealed;
    int64_t count = 0;

    if (!cmd->domain->seal_key)
        return no_key(err);
    TRY(secrets_foreign_key(cmd, &foreign, err));
    if (foreign.len)
        return other_key(cmd, foreign, err);
    *ret_created = store_secret_get(cmd->store, project->id, name, cmd->arena, &before, NULL) != OK;
    TRY(store_secret_count(cmd->store, project->id, &count, err));
    if (*ret_created && count >= SECRETS_MAX)
        return err_set(err, ERR_LIMIT, "project \"%.*s\" has %d secrets, the most that are allowed",
                       STR_ARG(project->name), SECRETS_MAX);
    secret.key_name = str_from(cmd->domain->seal_key->name);
    sealed = seal_close(cmd->domain->seal_key, about(cmd, project->id, name), value, cmd->arena);
    TRY(store_secret_set(cmd->store, &secret, sealed, err));
    *ret_secret = secret;
    return audit_add(cmd, project->name,
                     str_from(arena_printf(cmd->arena, "secret %.*s %s", STR_ARG(name),
                                           *ret_created ? "made" : "replaced")),
                     err);
}

enum err_code secrets_list(struct cmd *cmd, project_id project, struct str after, int limit,
                           struct secret **ret_secrets, size_t *ret_count, struct err *err)
{
    return store_secret_list(cmd->store, project, after, limit, cmd->arena, ret_secrets, ret_count,
                             err);
}

enum err_code secrets_delete(struct cmd *cmd, const struct project *project, struct str name,
                             struct err *err)
{
    struct secret secret;

    TRY(store_secret_get(cmd->store, project->id, name, cmd->arena, &secret, err));
    TRY(store_secret_delete(cmd->store, secret.id, err));
    return audit_add(cmd, project->name,
                     str_from(arena_printf(cmd->arena, "secret %.*s deleted", STR_ARG(name))), err);
}

enum err_code secrets_exists(struct cmd *cmd, project_id project, struct str name, struct err *err)
{
    struct secret secret;

    return store_secret_get(cmd->store, project, name, cmd->arena, &secret, err);
}

enum err_code secrets_open(struct cmd *cmd, project_id project, struct str name,
                           struct str *ret_value, struct err *err)
{
    struct secret secret;
    struct str sealed;

    TRY(store_secret_get(cmd->store, project, name, cmd->arena, &secret, err));
    if (!cmd->domain->seal_key)
        return no_key(err);
    if (!str_eq_c(secret.key_name, cmd->domain->seal_key->name))
        return other_key(cmd, secret.key_name, err);
    TRY(store_secret_sealed(cmd->store, secret.id, cmd->arena, &sealed, err));
    if (seal_open(cmd->domain->seal_key, about(cmd, project, name), sealed, cmd->arena, ret_value,
                  NULL) != OK) {
        (void)err_set(err, ERR_UNAVAILABLE, "secret \"%.*s\" does not open: its row was changed",
                      STR_ARG(name));
        err_hint(err, "set it anew");
        return ERR_UNAVAILABLE;
    }
    return store_secret_used(cmd->store, secret.id, cmd->now, err);
}
