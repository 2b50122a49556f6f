/* Threads and the one way they talk: bounded queues of pointers. */
#pragma once

#include "base/err.h"

struct thread;
/* `name` shows in ps and gdb, at most 15 bytes. All signals are blocked in the new thread. */
MUST_CHECK enum err_code thread_start(struct thread **ret_thread, const char *name,
                                      void (*run)(void *ctx), void *ctx, struct err *err);
void thread_join(struct thread **thread); /* accepts NULL; sets it to NULL */

/* A bounded first-in first-out queue of pointers. thread: any */
struct queue;
struct queue *queue_new(size_t items_max);
void queue_free(struct queue *queue); /* must be empty or its items leak: owner drains */
bool queue_push(struct queue *queue, void *item); /* false when full or closed */
void queue_push_wait(struct queue *queue,
                     void *item); /* waits for room; dropped when closed: never call after close */
/* Waits up to timeout_ms (-1: for ever) for one item; NULL on time-out or when closed and empty. */
void *queue_pop(struct queue *queue, int64_t timeout_ms);
/* Waits for the first, then takes what is there, at most `max`. Returns the count. */
size_t queue_pop_many(struct queue *queue, void **ret_items, size_t max, int64_t timeout_ms);
void queue_close(struct queue *queue); /* wakes everybody; pops go on until empty */
size_t queue_len(struct queue *queue);

/* A one-shot result that one thread sets and another waits for. thread: any */
struct latch;
struct latch *latch_new(void);
void latch_set(struct latch *latch);
bool latch_wait(struct latch *latch, int64_t timeout_ms); /* false on time-out */
void latch_free(struct latch *latch);

/* Mutual exclusion, for the few adapters whose library calls back from threads of its own (net).
 * Everything else sends messages. Never held while waiting. thread: any */
struct lock;
struct lock *lock_new(void);
void lock_free(struct lock *lock);
void lock_enter(struct lock *lock);
void lock_leave(struct lock *lock);
