/* Workers that have nothing to do help one that has much: a query in parts is offered through the
 * queue of reads, and whoever takes the offer while there are parts left takes some of them. Nobody
 * waits for a worker that has not begun. */
#include "base/mem.h"
#include "server/server_impl.h"

#include <stdatomic.h>

#define CLOSED (1 << 16) /* in `state`, above the number of helpers at work */

struct offer {
    const struct cmd_parts *parts; /* this and cmd: gone when the offer is closed */
    const struct cmd *cmd;
    size_t count;         /* of parts */
    _Atomic size_t next;  /* part */
    _Atomic int state;    /* helpers at work, and whether any more may begin */
    _Atomic int users;    /* who may look at this struct: the last one frees it */
    _Atomic bool failed;  /* the one who sets it writes the error */
    _Atomic size_t begun; /* helpers so far */
    struct arena arenas[WORKER_COUNT];
    struct latch *done; /* set by the last helper after the offer was closed */
    enum err_code code;
    struct err err;
};

static void let_go(struct offer *offer)
{
    if (atomic_fetch_sub(&offer->users, 1) > 1)
        return;
    latch_free(offer->done);
    mem_free(offer);
}

static void fail(struct offer *offer, enum err_code code, const struct err *err)
{
    if (atomic_exchange(&offer->failed, true))
        return;
    offer->code = code;
    offer->err = *err;
}

static void take_parts(struct offer *offer, struct cmd *cmd)
{
    struct err err = {0};
    size_t part;

    while (!offer->failed && (part = atomic_fetch_add(&offer->next, 1)) < offer->count) {
        enum err_code code = offer->parts->answer(offer->parts->ctx, part, cmd, &err);
        if (code != OK)
            fail(offer, code, &err);
    }
}

static bool begin(struct offer *offer)
{
    int state = offer->state;

    while (!(state & CLOSED) && offer->next < offer->count)
        if (atomic_compare_exchange_weak(&offer->state, &state, state + 1))
            return true;
    return false;
}

static void end(struct offer *offer)
{
    if (atomic_fetch_sub(&offer->state, 1) == (CLOSED | 1))
        latch_set(offer->done);
}

static void help(struct offer *offer, struct store *store)
{
    struct cmd cmd = *offer->cmd;
    struct err err = {0};
    enum err_code code = store_begin_read(store, &err);

    cmd.store = store;
    cmd.arena = &offer->arenas[atomic_fetch_add(&offer->begun, 1)];
    cmd.helpers = NULL;
    if (code == OK) {
        take_parts(offer, &cmd);
        code = store_trouble(store, &err);
        store_rollback(store);
    }
    if (code != OK)
        fail(offer, code, &err);
}

void server__help(struct offer *offer, struct store *store)
{
    if (begin(offer)) {
        help(offer, store);
        end(offer);
    }
    let_go(offer);
}

static void offer_to(struct queue *reads, struct offer *offer)
{
    struct work *work = MEM_NEW(struct work);

    work->offer = offer;
    atomic_fetch_add(&offer->users, 1);
    if (!queue_push(reads, work)) {
        mem_free(work);
        let_go(offer);
    }
}

enum err_code server__answer_parts(void *ctx, const struct cmd_parts *parts, struct cmd *cmd,
                                   struct err *err)
{
    struct server *server = ctx;
    struct offer *offer = MEM_NEW(struct offer);
    size_t helpers = MIN(parts->count - 1, (size_t)WORKER_COUNT - 1);
    enum err_code code;

    offer->parts = parts;
    offer->count = parts->count;
    offer->cmd = cmd;
    offer->users = 1;
    offer->done = latch_new();
    for (size_t i = 0; i < helpers && queue_len(server->reads) <= i; i++)
        offer_to(server->reads, offer);
    take_parts(offer, cmd);
    if (atomic_fetch_or(&offer->state, CLOSED) > 0)
        (void)latch_wait(offer->done, -1);
    for (size_t i = 0; i < WORKER_COUNT; i++)
        arena_adopt(cmd->arena, &offer->arenas[i]);
    code = offer->code;
    if (code != OK && err)
        *err = offer->err;
    let_go(offer);
    return code;
}
