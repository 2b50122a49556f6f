/* The tree by which hardware is shared: one organisation, teams below it, projects as its leaves.
 * thread: any owner of a store; changes: command */
#pragma once

#include "domain/cmd.h"
#include "model/project.h"
#include "model/share.h"

/* All nodes, each after its parent, with what their jobs hold. For everybody's eyes use
 * shares_visible. */
MUST_CHECK enum err_code shares_list(struct cmd *cmd, struct share **ret_shares, size_t *ret_count,
                                     struct err *err);
/* As above, without the projects in which the caller has no role. */
MUST_CHECK enum err_code shares_visible(struct cmd *cmd, struct share **ret_shares,
                                        size_t *ret_count, struct err *err);

/* What somebody sets of a node: all of it. */
struct share_spec {
    struct str team; /* the one it lies below; len 0: the organisation */
    int64_t weight, jobs_max;
    struct share_amounts quota, borrow, lend;
    bool held;
    const struct str *targets; /* names; none: all */
    size_t target_count;
};
/* Nothing set: weight 1, no quota, no limit. */
void share_spec_init(struct share_spec *spec);

MUST_CHECK enum err_code shares_organisation(struct cmd *cmd, struct share *ret_share,
                                             struct err *err);
MUST_CHECK enum err_code shares_organisation_set(struct cmd *cmd, const struct share_spec *spec,
                                                 struct share *ret_share, struct err *err);
/* *ret_team: the team above it, "" below the organisation. */
MUST_CHECK enum err_code shares_team(struct cmd *cmd, struct str name, struct share *ret_share,
                                     struct str *ret_team, struct err *err);
/* Makes a team or sets it anew. ERR_UNPROCESSABLE: it would lie below itself, or too deep. */
MUST_CHECK enum err_code shares_team_set(struct cmd *cmd, struct str name,
                                         const struct share_spec *spec, struct share *ret_share,
                                         bool *ret_created, struct err *err);
/* ERR_CONFLICT while something is below it, which is named. */
MUST_CHECK enum err_code shares_team_delete(struct cmd *cmd, struct str name, struct err *err);
MUST_CHECK enum err_code shares_of_project(struct cmd *cmd, const struct project *project,
                                           struct share *ret_share, struct str *ret_team,
                                           struct err *err);
MUST_CHECK enum err_code shares_project_set(struct cmd *cmd, struct str project,
                                            const struct share_spec *spec, struct share *ret_share,
                                            struct err *err);

/* The name of the team above it; "" below the organisation. `shares`: the list it is from. */
struct str share_team_name(const struct share *shares, const struct share *share);
