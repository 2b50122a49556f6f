/* The view: a map under a lock, which is held for copies alone. */
#include "drivers/executor/kubernetes/cluster_view.h"

#include "base/map.h"
#include "base/mem.h"
#include "drivers/executor/kubernetes/pod_spec.h"
#include "sys/thread.h"

#define ENTRIES_MAX 100000

struct entry {
    struct id attempt;
    struct view_seen seen;
    bool listed[VIEW_KINDS]; /* by the list that is taken in now */
};

struct cluster_view {
    struct lock *lock;
    struct map entries;
    bool whole[VIEW_KINDS];
    bool (*changed)(void *ctx, const struct id *attempt);
    void *ctx;
};

struct cluster_view *cluster_view_new(bool (*changed)(void *ctx, const struct id *attempt),
                                      void *ctx)
{
    struct cluster_view *view = MEM_NEW(struct cluster_view);

    view->lock = lock_new();
    map_init(&view->entries, ENTRIES_MAX);
    view->changed = changed;
    view->ctx = ctx;
    return view;
}

void cluster_view_free(struct cluster_view *view)
{
    size_t cursor = 0;
    struct str key;
    void *entry;

    if (!view)
        return;
    while (map_next(&view->entries, &cursor, &key, &entry))
        mem_free(entry);
    map_release(&view->entries);
    lock_free(view->lock);
    mem_free(view);
}

/* NULL when the map is full. */
static struct entry *entry_for(struct cluster_view *view, const struct id *attempt)
{
    struct entry *entry = map_get(&view->entries, id_str(attempt));

    if (entry)
        return entry;
    entry = MEM_NEW(struct entry);
    entry->attempt = *attempt;
    entry->seen.pod = kube_pod_none;
    if (map_put(&view->entries, id_str(attempt), entry))
        return entry;
    mem_free(entry);
    return NULL;
}

static void take_job(struct kube_job *known, const struct kube_job *job, bool deleted)
{
    *known = *job;
    known->gone = deleted;
}

/* A Job that was suspended and goes on has a new pod while the old one may still end: the newer
 * one counts. */
static void take_pod(struct kube_pod *known, const struct kube_pod *pod, bool deleted)
{
    bool same = strcmp(known->uid, pod->uid) == 0;

    if (known->uid[0] && !same && (deleted || (!known->gone && pod->created < known->created)))
        return;
    *known = *pod;
    known->gone = deleted;
}

static bool put_locked(struct cluster_view *view, enum view_kind kind, const json_t *object,
                       bool deleted, struct id *ret_attempt)
{
    const char *label = kube_label(object, POD_LABEL_ATTEMPT);
    struct kube_job job;
    struct kube_pod pod;
    struct entry *entry;

    if (!label || !id_parse(str_from(label), ID_ATTEMPT, ret_attempt))
        return false;
    entry = entry_for(view, ret_attempt);
    if (!entry)
        return false;
    entry->listed[kind] = true;
    if (kind == VIEW_JOBS) {
        kube_job_read(object, &job);
        take_job(&entry->seen.job, &job, deleted);
    } else {
        kube_pod_read(object, &pod);
        take_pod(&entry->seen.pod, &pod, deleted);
    }
    return true;
}

static void forget_if_gone(struct cluster_view *view, const struct id *attempt)
{
    const struct entry *entry;

    lock_enter(view->lock);
    entry = map_get(&view->entries, id_str(attempt));
    if (entry && (entry->seen.job.gone || !entry->seen.job.uid[0]) &&
        (entry->seen.pod.gone || !entry->seen.pod.uid[0]))
        mem_free(map_take(&view->entries, id_str(attempt)));
    lock_leave(view->lock);
}

void cluster_view_put(struct cluster_view *view, enum view_kind kind, const json_t *object,
                      bool deleted)
{
    struct id attempt;
    bool ours;

    lock_enter(view->lock);
    ours = put_locked(view, kind, object, deleted, &attempt);
    lock_leave(view->lock);
    if (ours && !view->changed(view->ctx, &attempt))
        forget_if_gone(view, &attempt);
}

static void mark_all(struct cluster_view *view, enum view_kind kind)
{
    size_t cursor = 0;
    struct str key;
    void *item;

    while (map_next(&view->entries, &cursor, &key, &item))
        ((struct entry *)item)->listed[kind] = false;
}

static void sweep(struct cluster_view *view, enum view_kind kind)
{
    size_t cursor = 0;
    struct str key;
    void *item;

    while (map_next(&view->entries, &cursor, &key, &item)) {
        struct entry *entry = item;

        if (entry->listed[kind])
            continue;
        if (kind == VIEW_JOBS)
            entry->seen.job.gone = entry->seen.job.uid[0] != '\0';
        else
            entry->seen.pod.gone = entry->seen.pod.uid[0] != '\0';
    }
}

void cluster_view_replace(struct cluster_view *view, enum view_kind kind, const json_t *items)
{
    size_t cursor = 0, i;
    struct id attempt;
    struct str key;
    json_t *object;
    void *item;

    lock_enter(view->lock);
    mark_all(view, kind);
    json_array_foreach(items, i, object)(void) put_locked(view, kind, object, false, &attempt);
    sweep(view, kind);
    view->whole[kind] = true;
    while (map_next(&view->entries, &cursor, &key, &item))
        (void)view->changed(view->ctx, &((struct entry *)item)->attempt); /* only wakes */
    lock_leave(view->lock);
}

bool cluster_view_is_whole(struct cluster_view *view)
{
    bool whole;

    lock_enter(view->lock);
    whole = view->whole[VIEW_JOBS] && view->whole[VIEW_PODS];
    lock_leave(view->lock);
    return whole;
}

void cluster_view_get(struct cluster_view *view, const struct id *attempt,
                      struct view_seen *ret_seen)
{
    const struct entry *entry;

    lock_enter(view->lock);
    entry = map_get(&view->entries, id_str(attempt));
    *ret_seen = entry ? entry->seen : (struct view_seen){.pod = kube_pod_none};
    lock_leave(view->lock);
}

void cluster_view_forget(struct cluster_view *view, const struct id *attempt)
{
    lock_enter(view->lock);
    mem_free(map_take(&view->entries, id_str(attempt)));
    lock_leave(view->lock);
}

size_t cluster_view_jobs(struct cluster_view *view, struct id *ret_attempts, size_t max)
{
    size_t cursor = 0, count = 0;
    struct str key;
    void *item;

    lock_enter(view->lock);
    while (count < max && map_next(&view->entries, &cursor, &key, &item)) {
        const struct entry *entry = item;

        if (entry->seen.job.uid[0] && !entry->seen.job.gone && !entry->seen.job.deleting)
            ret_attempts[count++] = entry->attempt;
    }
    lock_leave(view->lock);
    return count;
}
