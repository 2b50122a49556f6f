/* Who looks at a run. Streams are the hub's to know; readers of console text are kept in a small
 * table, each for a moment: a reader that is crowded out of it is served a little later. */
#include "base/mem.h"
#include "server/server_impl.h"
#include "sys/clock.h"

#define READERS_MAX 64
#define READER_MS   5000 /* longer than any reader that follows waits between two looks */

struct reader {
    run_id run;
    int64_t until_mono_ms;
};

struct watchers {
    struct lock *lock;
    struct reader readers[READERS_MAX];
    /* What other servers said of theirs; project 0: all. Crowded out: served a little later. */
    struct {
        project_id project;
        run_id run;
        int64_t until_mono_ms;
    } elsewhere[READERS_MAX];
};

struct watchers *watchers_new(void)
{
    struct watchers *watchers = MEM_NEW(struct watchers);

    watchers->lock = lock_new();
    return watchers;
}

void watchers_free(struct watchers *watchers)
{
    if (watchers)
        lock_free(watchers->lock);
    mem_free(watchers);
}

void server__watch(void *ctx, run_id run, int64_t mono_ms)
{
    struct watchers *watchers = ((struct server *)ctx)->watchers;
    struct reader *slot = &watchers->readers[0];

    lock_enter(watchers->lock);
    for (size_t i = 0; i < READERS_MAX; i++) {
        struct reader *reader = &watchers->readers[i];
        if (reader->run.v == run.v) {
            slot = reader;
            break;
        }
        if (reader->until_mono_ms < slot->until_mono_ms)
            slot = reader;
    }
    *slot = (struct reader){run, mono_ms + READER_MS};
    lock_leave(watchers->lock);
}

void watchers_each(struct watchers *watchers, int64_t mono_ms, void (*each)(void *ctx, run_id run),
                   void *ctx)
{
    lock_enter(watchers->lock);
    for (size_t i = 0; i < READERS_MAX; i++)
        if (watchers->readers[i].until_mono_ms > mono_ms)
            each(ctx, watchers->readers[i].run);
    lock_leave(watchers->lock);
}

void watchers_elsewhere(struct watchers *watchers, project_id project, run_id run, int64_t mono_ms)
{
    size_t slot = 0;

    lock_enter(watchers->lock);
    for (size_t i = 0; i < READERS_MAX; i++) {
        if (watchers->elsewhere[i].project.v == project.v &&
            watchers->elsewhere[i].run.v == run.v) {
            slot = i;
            break;
        }
        if (watchers->elsewhere[i].until_mono_ms < watchers->elsewhere[slot].until_mono_ms)
            slot = i;
    }
    watchers->elsewhere[slot].project = project;
    watchers->elsewhere[slot].run = run;
    watchers->elsewhere[slot].until_mono_ms = mono_ms + READER_MS;
    lock_leave(watchers->lock);
}

static bool is_watched_elsewhere(struct watchers *watchers, const struct run *run, int64_t mono_ms)
{
    bool found = false;

    lock_enter(watchers->lock);
    for (size_t i = 0; i < READERS_MAX && !found; i++) {
        if (watchers->elsewhere[i].until_mono_ms <= mono_ms)
            continue;
        found = watchers->elsewhere[i].run.v
                    ? watchers->elsewhere[i].run.v == run->id.v
                    : watchers->elsewhere[i].project.v == 0 ||
                          watchers->elsewhere[i].project.v == run->project.v;
    }
    lock_leave(watchers->lock);
    return found;
}

static bool is_read(struct watchers *watchers, run_id run, int64_t mono_ms)
{
    bool found = false;

    lock_enter(watchers->lock);
    for (size_t i = 0; i < READERS_MAX && !found; i++)
        found = watchers->readers[i].run.v == run.v && watchers->readers[i].until_mono_ms > mono_ms;
    lock_leave(watchers->lock);
    return found;
}

bool server__is_watched(void *ctx, const struct run *run)
{
    struct server *server = ctx;

    return hub_is_heard(server->hub, run->project) ||
           is_read(server->watchers, run->id, clock_mono_ms()) ||
           is_watched_elsewhere(server->watchers, run, clock_mono_ms());
}
