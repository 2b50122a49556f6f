/* The Jobs and pods of this agent as they were last seen, by attempt. Two watching threads write
 * it, the threads of the attempts read it. thread: any */
#pragma once

#include "base/id.h"
#include "drivers/executor/kubernetes/objects.h"

enum view_kind { VIEW_JOBS, VIEW_PODS, VIEW_KINDS };

struct view_seen {
    struct kube_job job;
    struct kube_pod pod;
};

struct cluster_view;
/* `changed` is called after each change of an attempt, on the thread that writes; false: nobody
 * asks for it, and it is forgotten once all of it is gone. */
struct cluster_view *cluster_view_new(bool (*changed)(void *ctx, const struct id *attempt),
                                      void *ctx);
void cluster_view_free(struct cluster_view *view);

/* One object as it is now; `deleted`: as it was last. Others than ours are left out. */
void cluster_view_put(struct cluster_view *view, enum view_kind kind, const json_t *object,
                      bool deleted);
/* A whole list: what is not in it is gone. */
void cluster_view_replace(struct cluster_view *view, enum view_kind kind, const json_t *items);
/* True once both kinds have been listed: what is not seen then does not exist. */
bool cluster_view_is_whole(struct cluster_view *view);
/* Zeroed objects when nothing of it was seen. */
void cluster_view_get(struct cluster_view *view, const struct id *attempt,
                      struct view_seen *ret_seen);
/* What was seen of an attempt that nobody asks for any more. */
void cluster_view_forget(struct cluster_view *view, const struct id *attempt);
/* Attempts with a Job that is there; returns the count, at most `max`. */
size_t cluster_view_jobs(struct cluster_view *view, struct id *ret_attempts, size_t max);
