/* Notices and actors. */
#include "domain/cmd.h"

#include "crypto/digest.h"

/* Repeats come close together; a command may have tens of thousands. */
#define NOTICES_LOOKED_AT 64

const char *notice_kind_name(enum notice_kind kind)
{
    static const char *const names[] = {"run", "metrics", "console", "alert",
                                        "job", "agent",   "poke"};
    ENSURE((size_t)kind < ARRAY_LEN(names));
    return names[kind];
}

enum err_code cmd_answer_parts(struct cmd *cmd, const struct cmd_parts *parts, struct err *err)
{
    if (cmd->helpers && parts->count > 1)
        return cmd->helpers->answer(cmd->helpers->ctx, parts, cmd, err);
    for (size_t i = 0; i < parts->count; i++)
        TRY(parts->answer(parts->ctx, i, cmd, err));
    return OK;
}

void cmd_notice(struct cmd *cmd, enum notice_kind kind, project_id project, struct str project_name,
                const struct id *id)
{
    struct notice *n = cmd->notices;

    for (int left = NOTICES_LOOKED_AT; n && left > 0; n = n->next, left--)
        if (n->kind == kind && memcmp(n->id.text, id->text, ID_BYTES) == 0)
            return;
    n = ARENA_NEW(cmd->arena, struct notice);
    *n = (struct notice){cmd->notices, kind, project, arena_copy(cmd->arena, project_name), *id};
    cmd->notices = n;
}

struct str cmd_actor(struct cmd *cmd)
{
    const struct principal *who = cmd->who;

    if (!who || who->kind == PRINCIPAL_NOBODY)
        return STR("system");
    return str_from(
        arena_printf(cmd->arena, "%s:%.*s",
                     who->kind == PRINCIPAL_SESSION ? "user" : principal_kind_name(who->kind),
                     STR_ARG(who->name)));
}

void cmd_body_hash(struct str canonical, uint8_t ret_hash[HASH_BYTES])
{
    sha256(canonical.data, canonical.len, ret_hash);
}
