/* The tree of shares in the store. thread: owner of the store; may block */
#pragma once

#include "model/share.h"
#include "store/store.h"

/* Sets the share's id; its targets go in too. ERR_CONFLICT: there is a team of this name. */
MUST_CHECK enum err_code store_share_insert(struct store *store, struct share *share,
                                            struct err *err);
/* Parent, settings and targets. */
MUST_CHECK enum err_code store_share_update(struct store *store, const struct share *share,
                                            struct err *err);
/* With its targets; the caller has made sure that nothing is below it. */
MUST_CHECK enum err_code store_share_delete(struct store *store, share_id id, struct err *err);
/* All of them: each after its parent, those of one depth by id. Without `use` and `running`. */
MUST_CHECK enum err_code store_share_list(struct store *store, struct arena *arena,
                                          struct share **ret_shares, size_t *ret_count,
                                          struct err *err);
/* The node of a project and those above it, upwards: the organisation is the last. With their
 * targets; depth, parent_at and use are not filled. */
MUST_CHECK enum err_code store_share_chain(struct store *store, project_id project,
                                           struct arena *arena, struct share **ret_shares,
                                           size_t *ret_count, struct err *err);
/* Adds to each of a list what the open attempts of its projects hold. */
MUST_CHECK enum err_code store_share_use(struct store *store, struct share *shares, size_t count,
                                         struct err *err);
/* The leaf of a new project: below the organisation, without settings. */
MUST_CHECK enum err_code store_share_add_project(struct store *store, project_id project,
                                                 time_ms now, struct err *err);
/* And of one that is deleted. */
MUST_CHECK enum err_code store_share_remove_project(struct store *store, project_id project,
                                                    struct err *err);
/* "": the organisation, or it is gone. */
MUST_CHECK enum err_code store_share_name(struct store *store, share_id id, struct arena *arena,
                                          struct str *ret_name, struct err *err);
