/* Lists of allowed targets. */
#include "domain/targets/allowed.h"

#include "store/store_agent.h"

#include <stdlib.h>

static int by_id(const void *a, const void *b)
{
    int64_t left = ((const target_id *)a)->v, right = ((const target_id *)b)->v;

    return (left > right) - (left < right);
}

enum err_code allowed_targets_of(struct cmd *cmd, const struct str *names, size_t count,
                                 struct allowed_targets *ret_targets, struct err *err)
{
    target_id *ids = arena_array(cmd->arena, MAX(count, 1), sizeof *ids);
    size_t kept = 0;

    for (size_t i = 0; i < count; i++) {
        struct target target;
        if (store_target_get(cmd->store, names[i], cmd->arena, &target, NULL) != OK)
            return err_set_field(err, ERR_UNPROCESSABLE, "targets", "target \"%.*s\" not found",
                                 STR_ARG(names[i]));
        ids[i] = target.id;
    }
    if (count > 1)
        qsort(ids, count, sizeof *ids, by_id);
    for (size_t i = 0; i < count; i++)
        if (kept == 0 || ids[kept - 1].v != ids[i].v)
            ids[kept++] = ids[i];
    *ret_targets = (struct allowed_targets){ids, kept};
    return OK;
}

enum err_code allowed_targets_names(struct cmd *cmd, const struct allowed_targets *targets,
                                    struct str **ret_names, struct err *err)
{
    struct str *names = arena_array(cmd->arena, MAX(targets->count, 1), sizeof *names);

    for (size_t i = 0; i < targets->count; i++) {
        struct target target;
        TRY(store_target_by_id(cmd->store, targets->ids[i], cmd->arena, &target, err));
        names[i] = target.name;
    }
    *ret_names = names;
    return OK;
}
