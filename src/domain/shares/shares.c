/* The tree of shares. Its rules look at the whole of it: it is small, and changes are rare. */
#include "domain/shares/shares.h"

#include "domain/audit/audit.h"
#include "domain/projects/projects.h"
#include "domain/targets/allowed.h"
#include "store/store_project.h"
#include "store/store_share.h"

#include <inttypes.h>
#include <stdlib.h>

struct tree {
    struct share *shares;
    size_t count;
};

static enum err_code tree_load(struct cmd *cmd, struct tree *ret_tree, struct err *err)
{
    return store_share_list(cmd->store, cmd->arena, &ret_tree->shares, &ret_tree->count, err);
}

enum err_code shares_list(struct cmd *cmd, struct share **ret_shares, size_t *ret_count,
                          struct err *err)
{
    TRY(store_share_list(cmd->store, cmd->arena, ret_shares, ret_count, err));
    return store_share_use(cmd->store, *ret_shares, *ret_count, err);
}

static int by_id(const void *a, const void *b)
{
    int64_t left = ((const project_id *)a)->v, right = ((const project_id *)b)->v;

    return (left > right) - (left < right);
}

/* Projects are leaves: leaving one out moves nothing that others point to, but for their own
 * places, which stay behind those of their parents. */
enum err_code shares_visible(struct cmd *cmd, struct share **ret_shares, size_t *ret_count,
                             struct err *err)
{
    project_id *own = NULL;
    struct share *shares;
    size_t count = 0, kept = 0, own_count = 0;
    size_t *places;

    TRY(shares_list(cmd, &shares, &count, err));
    if (!cmd->who->admin)
        TRY(store_member_projects(cmd->store, cmd->who->user, cmd->arena, &own, &own_count, err));
    places = arena_array(cmd->arena, count, sizeof *places);
    for (size_t i = 0; i < count; i++) {
        if (shares[i].kind == SHARE_PROJECT && !cmd->who->admin &&
            (!own_count || !bsearch(&shares[i].project, own, own_count, sizeof *own, by_id)))
            continue;
        places[i] = kept;
        shares[kept] = shares[i];
        shares[kept].parent_at = places[shares[i].parent_at];
        kept++;
    }
    *ret_shares = shares;
    *ret_count = kept;
    return OK;
}

void share_spec_init(struct share_spec *spec)
{
    *spec = (struct share_spec){.weight = 1, .jobs_max = SHARE_UNSET};
    for (size_t i = 0; i < RESOURCE_COUNT; i++)
        spec->quota.v[i] = spec->borrow.v[i] = spec->lend.v[i] = SHARE_UNSET;
}

struct str share_team_name(const struct share *shares, const struct share *share)
{
    const struct share *parent = &shares[share->parent_at];

    return parent->kind == SHARE_TEAM ? parent->name : STR("");
}

static struct share *team_find(const struct tree *tree, struct str name)
{
    for (size_t i = 0; i < tree->count; i++)
        if (tree->shares[i].kind == SHARE_TEAM && str_eq(tree->shares[i].name, name))
            return &tree->shares[i];
    return NULL;
}

static struct share *project_find(const struct tree *tree, project_id project)
{
    for (size_t i = 0; i < tree->count; i++)
        if (tree->shares[i].project.v == project.v)
            return &tree->shares[i];
    return NULL;
}

static enum err_code team_require(const struct tree *tree, struct str name,
                                  struct share **ret_share, struct err *err)
{
    struct share *share = team_find(tree, name);

    if (!share)
        return err_set(err, ERR_NOT_FOUND, "team \"%.*s\" not found", STR_ARG(name));
    *ret_share = share;
    return OK;
}

static enum err_code parent_of(const struct tree *tree, const struct share_spec *spec,
                               const struct share **ret_parent, struct err *err)
{
    const struct share *parent = &tree->shares[0];

    if (spec->team.len)
        parent = team_find(tree, spec->team);
    if (!parent)
        return err_set_field(err, ERR_UNPROCESSABLE, "parent", "team \"%.*s\" not found",
                             STR_ARG(spec->team));
    *ret_parent = parent;
    return OK;
}

/* How many teams lie one below the other from `share` on, itself included. */
static int height_of(const struct tree *tree, const struct share *share)
{
    size_t place = (size_t)(share - tree->shares);
    int deepest = share->depth;

    for (size_t i = place; i < tree->count; i++) {
        size_t at = i;
        while (at > place)
            at = tree->shares[at].parent_at;
        if (at == place && tree->shares[i].kind == SHARE_TEAM)
            deepest = MAX(deepest, tree->shares[i].depth);
    }
    return deepest - share->depth + 1;
}

/* `share` is NULL for a new team. */
static enum err_code check_place(const struct tree *tree, const struct share *share,
                                 const struct share *parent, struct err *err)
{
    int height = share ? height_of(tree, share) : 1;

    for (const struct share *at = parent; share && at->kind == SHARE_TEAM;
         at = &tree->shares[at->parent_at])
        if (at == share)
            return err_set_field(err, ERR_UNPROCESSABLE, "parent",
                                 "team \"%.*s\" would lie below itself", STR_ARG(share->name));
    if (parent->depth + height > SHARE_DEPTH_MAX)
        return err_set_field(err, ERR_UNPROCESSABLE, "parent",
                             "teams would lie %d deep, at most %d are allowed",
                             parent->depth + height, SHARE_DEPTH_MAX);
    return OK;
}

static enum err_code apply(struct cmd *cmd, const struct share_spec *spec, struct share *share,
                           struct err *err)
{
    share->weight = spec->weight;
    share->jobs_max = spec->jobs_max;
    share->quota = spec->quota;
    share->borrow = spec->borrow;
    share->lend = spec->lend;
    share->held = spec->held;
    return allowed_targets_of(cmd, spec->targets, spec->target_count, &share->targets, err);
}

static const char *amount_text(struct cmd *cmd, int64_t amount)
{
    return amount == SHARE_UNSET ? "-" : arena_printf(cmd->arena, "%" PRIi64, amount);
}

static const char *amounts_text(struct cmd *cmd, const struct share_amounts *amounts)
{
    return arena_printf(cmd->arena, "%s/%s/%s", amount_text(cmd, amounts->v[RESOURCE_GPU]),
                        amount_text(cmd, amounts->v[RESOURCE_CPU]),
                        amount_text(cmd, amounts->v[RESOURCE_MEMORY]));
}

static enum err_code say(struct cmd *cmd, struct str subject, const struct share *share,
                         struct str team, struct err *err)
{
    const char *detail = arena_printf(
        cmd->arena,
        "share below \"%.*s\": weight %" PRIi64 ", quota %s, borrow %s, lend %s (GPUs/thousandths "
        "of cores/bytes), jobs %s%s",
        STR_ARG(team), share->weight, amounts_text(cmd, &share->quota),
        amounts_text(cmd, &share->borrow), amounts_text(cmd, &share->lend),
        amount_text(cmd, share->jobs_max), share->held ? ", held" : "");

    cmd->wake_scheduler = true;
    return audit_add(cmd, subject, str_from(detail), err);
}

static enum err_code update(struct cmd *cmd, const struct share_spec *spec, struct share *share,
                            struct str subject, struct err *err)
{
    TRY(apply(cmd, spec, share, err));
    TRY(store_share_update(cmd->store, share, err));
    return say(cmd, subject, share, spec->team, err);
}

static enum err_code find_with_use(struct cmd *cmd, const struct share *of, struct share *ret_share,
                                   struct err *err)
{
    struct share *shares;
    size_t count = 0, at = 0;

    TRY(shares_list(cmd, &shares, &count, err));
    while (at < count && shares[at].id.v != of->id.v)
        at++;
    ENSURE(at < count);
    *ret_share = shares[at];
    return OK;
}

enum err_code shares_organisation(struct cmd *cmd, struct share *ret_share, struct err *err)
{
    struct share *shares;
    size_t count = 0;

    TRY(shares_list(cmd, &shares, &count, err));
    *ret_share = shares[0];
    return OK;
}

enum err_code shares_organisation_set(struct cmd *cmd, const struct share_spec *spec,
                                      struct share *ret_share, struct err *err)
{
    struct tree tree;

    TRY(tree_load(cmd, &tree, err));
    TRY(update(cmd, spec, &tree.shares[0], STR("organisation"), err));
    return find_with_use(cmd, &tree.shares[0], ret_share, err);
}

enum err_code shares_team(struct cmd *cmd, struct str name, struct share *ret_share,
                          struct str *ret_team, struct err *err)
{
    struct tree tree;
    struct share *share = NULL;

    TRY(tree_load(cmd, &tree, err));
    TRY(team_require(&tree, name, &share, err));
    *ret_team = share_team_name(tree.shares, share);
    return find_with_use(cmd, share, ret_share, err);
}

enum err_code shares_team_set(struct cmd *cmd, struct str name, const struct share_spec *spec,
                              struct share *ret_share, bool *ret_created, struct err *err)
{
    struct tree tree;
    const struct share *parent = NULL;
    struct share *share = NULL;
    struct share made = {.kind = SHARE_TEAM, .name = name, .created = cmd->now};

    TRY(tree_load(cmd, &tree, err));
    TRY(parent_of(&tree, spec, &parent, err));
    share = team_find(&tree, name);
    TRY(check_place(&tree, share, parent, err));
    *ret_created = !share;
    if (!share) {
        share = &made;
        share->parent = parent->id;
        TRY(apply(cmd, spec, share, err));
        TRY(store_share_insert(cmd->store, share, err));
        TRY(say(cmd, name, share, spec->team, err));
    } else {
        share->parent = parent->id;
        TRY(update(cmd, spec, share, name, err));
    }
    return find_with_use(cmd, share, ret_share, err);
}

enum err_code shares_team_delete(struct cmd *cmd, struct str name, struct err *err)
{
    struct tree tree;
    struct share *share = NULL;
    size_t below = 0;
    const struct share *first = NULL;

    TRY(tree_load(cmd, &tree, err));
    TRY(team_require(&tree, name, &share, err));
    for (size_t i = 0; i < tree.count; i++) {
        if (tree.shares[i].parent.v != share->id.v)
            continue;
        below++;
        first = first ? first : &tree.shares[i];
    }
    if (first) {
        (void)err_set(err, ERR_CONFLICT, "below team \"%.*s\" lies %s \"%.*s\"%s", STR_ARG(name),
                      share_kind_name(first->kind), STR_ARG(first->name),
                      below == 1
                          ? ""
                          : arena_printf(cmd->arena, " and %zu more teams or projects", below - 1));
        err_hint(err, "move them below another team, or below the organisation, first");
        return ERR_CONFLICT;
    }
    TRY(store_share_delete(cmd->store, share->id, err));
    cmd->wake_scheduler = true;
    return audit_add(cmd, name, STR("team deleted"), err);
}

enum err_code shares_of_project(struct cmd *cmd, const struct project *project,
                                struct share *ret_share, struct str *ret_team, struct err *err)
{
    struct tree tree;
    const struct share *share;

    TRY(tree_load(cmd, &tree, err));
    share = project_find(&tree, project->id);
    ENSURE(share);
    *ret_team = share_team_name(tree.shares, share);
    return find_with_use(cmd, share, ret_share, err);
}

enum err_code shares_project_set(struct cmd *cmd, struct str name, const struct share_spec *spec,
                                 struct share *ret_share, struct err *err)
{
    struct tree tree;
    const struct share *parent = NULL;
    struct share *share = NULL;
    struct project project;

    TRY(projects_require(cmd, name, ROLE_OWNER, &project, err));
    TRY(tree_load(cmd, &tree, err));
    TRY(parent_of(&tree, spec, &parent, err));
    share = project_find(&tree, project.id);
    ENSURE(share);
    share->parent = parent->id;
    TRY(update(cmd, spec, share, name, err));
    return find_with_use(cmd, share, ret_share, err);
}
