/* Filling an offer. */
#include "domain/jobs/jobs_offered.h"

#include "domain/secrets/secrets.h"
#include "domain/targets/targets.h"
#include "store/store_attempt.h"

/* Most specs do without; names in quotes occur in texts too, the member is looked up then. */
static struct str member(struct cmd *cmd, const struct job_offer *o, const char *name)
{
    char quoted[32];
    int len = snprintf(quoted, sizeof(quoted), "\"%s\"", name);

    if (!memmem(o->job.spec.data, o->job.spec.len, quoted, (size_t)len))
        return (struct str){0};
    return jobs_spec_member(cmd, &o->job, name);
}

/* The variables that a job gets from secrets, opened now: what it names by then. *ret_bytes: their
 * values together. */
static enum err_code open_secrets(struct cmd *cmd, struct job_offer *o, size_t *ret_bytes,
                                  struct err *err)
{
    CLEANUP(json_release) json_t *secrets = NULL;
    struct str text = member(cmd, o, "secrets");
    const char *variable;
    json_t *name;

    if (!text.len)
        return OK;
    TRY(json_parse(text, WIRE_MESSAGE_BYTES_MAX, &secrets, err));
    o->secrets = arena_array(cmd->arena, json_object_size(secrets), sizeof(o->secrets[0]));
    json_object_foreach(secrets, variable, name)
    {
        struct str value;
        TRY(secrets_open(cmd, o->job.project, str_from(json_string_value(name)), &value, err));
        o->secrets[o->secret_count++] =
            arena_printf(cmd->arena, "%s=%.*s", variable, STR_ARG(value));
        *ret_bytes += value.len;
    }
    return OK;
}

/* "USER:PASSWORD" of the secret that the spec names. */
static enum err_code open_registry(struct cmd *cmd, struct job_offer *o, size_t *ret_bytes,
                                   struct err *err)
{
    struct str quoted = member(cmd, o, "registry"), name, value;

    if (quoted.len <= 2)
        return OK;
    name = str_n(quoted.data + 1, quoted.len - 2); /* the name of a variable: nothing is escaped */
    TRY(secrets_open(cmd, o->job.project, name, &value, err));
    *ret_bytes += value.len;
    if (!str_cut(&value, ':', &o->registry_user) || !o->registry_user.len || !value.len)
        return err_set(err, ERR_CONFLICT, "secret %.*s is not USER:PASSWORD", STR_ARG(name));
    o->registry_secret = value;
    return OK;
}

/* Those of its spec, and those that all jobs of the target or of its project there get. */
static enum err_code open_volumes(struct cmd *cmd, const struct agent *agent, struct job_offer *o,
                                  struct err *err)
{
    if (!(agent->features & FEATURE_BIT(FEATURE_VOLUMES)))
        return OK; /* nobody's spec asks for any here */
    return targets_mounts(cmd, o->attempt.target, o->job.project, member(cmd, o, "volumes"),
                          &o->mounts, &o->mount_count, err);
}

static enum err_code resolved_image(struct cmd *cmd, struct job_offer *o, struct err *err)
{
    if (o->attempt.number == 1)
        return OK;
    return store_attempt_image(cmd->store, o->job.id, cmd->arena, &o->image, err);
}

enum err_code jobs__offer_fill(struct cmd *cmd, const struct agent *agent, struct job_offer *offer,
                               size_t *ret_bytes, struct err *err)
{
    TRY(open_secrets(cmd, offer, ret_bytes, err));
    TRY(open_registry(cmd, offer, ret_bytes, err));
    TRY(open_volumes(cmd, agent, offer, err));
    return resolved_image(cmd, offer, err);
}
