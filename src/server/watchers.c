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
           is_read(server->watchers, run->id, clock_mono_ms());
}
