/* Threads, bounded queues and latches on pthreads. Waiting counts on the monotonic clock. */
#include "sys/thread.h"

#include "base/mem.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <time.h>

#define THREAD_NAME_BYTES 16

struct thread {
    pthread_t id;
    void (*run)(void *ctx);
    void *ctx;
};

static void *thread_main(void *arg)
{
    struct thread *thread = arg;

    thread->run(thread->ctx);
    return NULL;
}

enum err_code thread_start(struct thread **ret_thread, const char *name, void (*run)(void *ctx),
                           void *ctx, struct err *err)
{
    struct thread *thread = MEM_NEW(struct thread);
    char short_name[THREAD_NAME_BYTES];
    sigset_t all, before;

    thread->run = run;
    thread->ctx = ctx;
    (void)sigfillset(&all);
    ENSURE(pthread_sigmask(SIG_SETMASK, &all, &before) == 0);

    int code = pthread_create(&thread->id, NULL, thread_main, thread);

    ENSURE(pthread_sigmask(SIG_SETMASK, &before, NULL) == 0);
    if (code != 0) {
        mem_free(thread);
        return err_set_errno(err, ERR_UNAVAILABLE, code, "cannot start thread %s", name);
    }
    (void)snprintf(short_name, sizeof(short_name), "%s", name);
    (void)pthread_setname_np(thread->id, short_name); /* only for the eye */
    *ret_thread = thread;
    return OK;
}

void thread_join(struct thread **thread)
{
    if (!*thread)
        return;
    ENSURE(pthread_join((*thread)->id, NULL) == 0);
    mem_free(*thread);
    *thread = NULL;
}

static void cond_init(pthread_cond_t *cond)
{
    pthread_condattr_t attr;

    ENSURE(pthread_condattr_init(&attr) == 0);
    ENSURE(pthread_condattr_setclock(&attr, CLOCK_MONOTONIC) == 0);
    ENSURE(pthread_cond_init(cond, &attr) == 0);
    (void)pthread_condattr_destroy(&attr); /* never fails on Linux */
}

static struct timespec deadline_after(int64_t timeout_ms)
{
    struct timespec at;

    ENSURE(clock_gettime(CLOCK_MONOTONIC, &at) == 0);
    at.tv_sec += timeout_ms / 1000;
    at.tv_nsec += timeout_ms % 1000 * 1000000;
    if (at.tv_nsec >= 1000000000) {
        at.tv_sec++;
        at.tv_nsec -= 1000000000;
    }
    return at;
}

/* Waits once; false when the time is over. `deadline` NULL: no limit. */
static bool cond_wait(pthread_cond_t *cond, pthread_mutex_t *lock, const struct timespec *deadline)
{
    int code =
        deadline ? pthread_cond_timedwait(cond, lock, deadline) : pthread_cond_wait(cond, lock);

    ENSURE(code == 0 || code == ETIMEDOUT);
    return code == 0;
}

struct queue {
    pthread_mutex_t lock;
    pthread_cond_t has_item, has_room;
    void **items; /* a ring */
    size_t items_max, first, count;
    bool closed;
};

struct queue *queue_new(size_t items_max)
{
    struct queue *queue = MEM_NEW(struct queue);

    ENSURE(items_max > 0);
    ENSURE(pthread_mutex_init(&queue->lock, NULL) == 0);
    cond_init(&queue->has_item);
    cond_init(&queue->has_room);
    queue->items = mem_array(items_max, sizeof(queue->items[0]));
    queue->items_max = items_max;
    return queue;
}

void queue_free(struct queue *queue)
{
    if (!queue)
        return;
    (void)pthread_mutex_destroy(&queue->lock); /* nobody uses it any more */
    (void)pthread_cond_destroy(&queue->has_item);
    (void)pthread_cond_destroy(&queue->has_room);
    mem_free(queue->items);
    mem_free(queue);
}

static void queue_lock(struct queue *queue)
{
    ENSURE(pthread_mutex_lock(&queue->lock) == 0);
}

static void queue_unlock(struct queue *queue)
{
    ENSURE(pthread_mutex_unlock(&queue->lock) == 0);
}

static void queue_add(struct queue *queue, void *item)
{
    queue->items[(queue->first + queue->count) % queue->items_max] = item;
    queue->count++;
    ENSURE(pthread_cond_signal(&queue->has_item) == 0);
}

bool queue_push(struct queue *queue, void *item)
{
    queue_lock(queue);

    bool fits = !queue->closed && queue->count < queue->items_max;

    if (fits)
        queue_add(queue, item);
    queue_unlock(queue);
    return fits;
}

void queue_push_wait(struct queue *queue, void *item)
{
    queue_lock(queue);
    while (!queue->closed && queue->count == queue->items_max)
        (void)cond_wait(&queue->has_room, &queue->lock, NULL); /* no deadline: always woken */
    if (!queue->closed)
        queue_add(queue, item);
    queue_unlock(queue);
}

size_t queue_pop_many(struct queue *queue, void **ret_items, size_t max, int64_t timeout_ms)
{
    struct timespec deadline = timeout_ms > 0 ? deadline_after(timeout_ms) : (struct timespec){0};
    size_t taken = 0;

    queue_lock(queue);
    while (queue->count == 0 && !queue->closed && timeout_ms != 0) {
        if (!cond_wait(&queue->has_item, &queue->lock, timeout_ms < 0 ? NULL : &deadline))
            break;
    }
    while (taken < max && queue->count > 0) {
        ret_items[taken++] = queue->items[queue->first];
        queue->first = (queue->first + 1) % queue->items_max;
        queue->count--;
    }
    if (taken > 0)
        ENSURE(pthread_cond_broadcast(&queue->has_room) == 0);
    queue_unlock(queue);
    return taken;
}

void *queue_pop(struct queue *queue, int64_t timeout_ms)
{
    void *item = NULL;

    return queue_pop_many(queue, &item, 1, timeout_ms) == 1 ? item : NULL;
}

void queue_close(struct queue *queue)
{
    queue_lock(queue);
    queue->closed = true;
    ENSURE(pthread_cond_broadcast(&queue->has_item) == 0);
    ENSURE(pthread_cond_broadcast(&queue->has_room) == 0);
    queue_unlock(queue);
}

size_t queue_len(struct queue *queue)
{
    queue_lock(queue);

    size_t count = queue->count;

    queue_unlock(queue);
    return count;
}

struct latch {
    pthread_mutex_t lock;
    pthread_cond_t is_set;
    bool set;
};

struct latch *latch_new(void)
{
    struct latch *latch = MEM_NEW(struct latch);

    ENSURE(pthread_mutex_init(&latch->lock, NULL) == 0);
    cond_init(&latch->is_set);
    return latch;
}

void latch_set(struct latch *latch)
{
    ENSURE(pthread_mutex_lock(&latch->lock) == 0);
    latch->set = true;
    ENSURE(pthread_cond_broadcast(&latch->is_set) == 0);
    ENSURE(pthread_mutex_unlock(&latch->lock) == 0);
}

bool latch_wait(struct latch *latch, int64_t timeout_ms)
{
    struct timespec deadline = timeout_ms > 0 ? deadline_after(timeout_ms) : (struct timespec){0};

    ENSURE(pthread_mutex_lock(&latch->lock) == 0);
    while (!latch->set && timeout_ms != 0) {
        if (!cond_wait(&latch->is_set, &latch->lock, timeout_ms < 0 ? NULL : &deadline))
            break;
    }

    bool set = latch->set;

    ENSURE(pthread_mutex_unlock(&latch->lock) == 0);
    return set;
}

void latch_free(struct latch *latch)
{
    if (!latch)
        return;
    (void)pthread_mutex_destroy(&latch->lock); /* nobody uses it any more */
    (void)pthread_cond_destroy(&latch->is_set);
    mem_free(latch);
}

struct lock {
    pthread_mutex_t mutex;
};

struct lock *lock_new(void)
{
    struct lock *lock = MEM_NEW(struct lock);

    ENSURE(pthread_mutex_init(&lock->mutex, NULL) == 0);
    return lock;
}

void lock_free(struct lock *lock)
{
    if (!lock)
        return;
    (void)pthread_mutex_destroy(&lock->mutex); /* nobody uses it any more */
    mem_free(lock);
}

void lock_enter(struct lock *lock)
{
    ENSURE(pthread_mutex_lock(&lock->mutex) == 0);
}

void lock_leave(struct lock *lock)
{
    ENSURE(pthread_mutex_unlock(&lock->mutex) == 0);
}
