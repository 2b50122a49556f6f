/* Facts about threads, queues and latches. */
#include "sys/thread.h"

#include <pthread.h>
#include <signal.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define ITEMS 20000

struct shared {
    struct queue *queue;
    struct latch *latch;
    long sum;
    size_t count;
};

static void take_all(void *ctx)
{
    struct shared *shared = ctx;
    void *items[64];
    size_t got;

    while ((got = queue_pop_many(shared->queue, items, ARRAY_LEN(items), -1)) > 0) {
        for (size_t i = 0; i < got; i++)
            shared->sum += *(int *)items[i];
        shared->count += got;
    }
    latch_set(shared->latch);
}

static void every_item_arrives_once_through_a_small_queue(void **state)
{
    static int values[ITEMS];
    struct shared shared = {.queue = queue_new(8), .latch = latch_new()};
    struct thread *thread = NULL;
    struct err err;
    long expected = 0;

    (void)state;
    assert_int_equal(thread_start(&thread, "a name that is too long", take_all, &shared, &err), OK);
    for (int i = 0; i < ITEMS; i++) {
        values[i] = i;
        expected += i;
        queue_push_wait(shared.queue, &values[i]);
    }
    assert_false(latch_wait(shared.latch, 0));
    queue_close(shared.queue);
    assert_true(latch_wait(shared.latch, -1));
    thread_join(&thread);
    assert_null(thread);
    thread_join(&thread);
    assert_int_equal(shared.count, ITEMS);
    assert_int_equal(shared.sum, expected);
    assert_false(queue_push(shared.queue, &values[0]));
    queue_free(shared.queue);
    latch_free(shared.latch);
}

static void queue_refuses_when_full_and_gives_the_rest_after_close(void **state)
{
    struct queue *queue = queue_new(2);
    int a = 1, b = 2;

    (void)state;
    assert_null(queue_pop(queue, 0));
    assert_null(queue_pop(queue, 1));
    assert_true(queue_push(queue, &a));
    assert_true(queue_push(queue, &b));
    assert_false(queue_push(queue, &a));
    assert_int_equal(queue_len(queue), 2);
    queue_close(queue);
    assert_ptr_equal(queue_pop(queue, -1), &a);
    assert_ptr_equal(queue_pop(queue, -1), &b);
    assert_null(queue_pop(queue, -1));
    queue_free(queue);
}

static void note_mask(void *ctx)
{
    sigset_t mask;

    pthread_sigmask(SIG_SETMASK, NULL, &mask);
    *(int *)ctx = sigismember(&mask, SIGTERM) + sigismember(&mask, SIGINT);
}

static void signals_are_blocked_in_new_threads(void **state)
{
    struct thread *thread = NULL;
    struct err err;
    int blocked = 0;

    (void)state;
    assert_int_equal(thread_start(&thread, "mask", note_mask, &blocked, &err), OK);
    thread_join(&thread);
    assert_int_equal(blocked, 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_item_arrives_once_through_a_small_queue),
        cmocka_unit_test(queue_refuses_when_full_and_gives_the_rest_after_close),
        cmocka_unit_test(signals_are_blocked_in_new_threads),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
