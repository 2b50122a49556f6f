/* The asking thread: waits, asks, notes, and sends what is to be told. */
#include "agent/health_watch.h"

#include "base/arena.h"
#include "base/mem.h"
#include "net/http_ask.h"
#include "sys/clock.h"
#include "sys/thread.h"

#include <stdatomic.h>
#include <stdio.h>

#define NEWS_MAX 16

struct health_watch {
    struct health health; /* the thread's own */
    struct arena arena;
    char address[HTTP_ASK_ADDRESS_BYTES];
    void (*wake)(void *ctx);
    void *ctx;
    struct queue *stop, *news;
    struct thread *thread;
    _Atomic bool stops;
};

static bool keep_asking(void *ctx)
{
    struct health_watch *watch = ctx;

    return !atomic_load(&watch->stops);
}

static void send_news(struct health_watch *watch, bool give_up)
{
    struct health_news *news = MEM_NEW(struct health_news);

    news->state = watch->health.state;
    memcpy(news->problem, watch->health.problem, sizeof(news->problem));
    news->give_up = give_up;
    if (give_up)
        health_reason(&watch->health, news->reason);
    if (!queue_push(watch->news, news)) { /* nobody has looked for long: told again later */
        watch->health.told = HEALTH_NONE;
        mem_free(news);
    }
    watch->wake(watch->ctx);
}

/* NULL when the answer was well; else the problem, in `buffer`. */
static const char *ask(struct health_watch *watch, char *buffer, size_t size)
{
    const struct health_spec *spec = &watch->health.spec;
    struct http_ask question = {.address = watch->address,
                                .port = spec->port,
                                .path = spec->path,
                                .timeout_ms = spec->timeout_s * 1000,
                                .keep_going = keep_asking,
                                .ctx = watch};
    struct err err = {0};
    int status = 0;

    if (http_ask(&question, &status, &err) != OK) {
        (void)snprintf(buffer, size, "%.*s", HEALTH_PROBLEM_BYTES_MAX, err.text);
        return buffer;
    }
    if (status >= 200 && status < 400)
        return NULL;
    (void)snprintf(buffer, size, "HTTP %d", status);
    return buffer;
}

static void watch_run(void *ctx)
{
    struct health_watch *watch = ctx;
    struct health *h = &watch->health;

    if (health_tell(h, clock_mono_ms()))
        send_news(watch, false);
    for (;;) {
        char buffer[HEALTH_PROBLEM_BYTES_MAX + 1];
        int64_t asked_ms;
        const char *problem;
        bool give_up;

        (void)queue_pop(watch->stop, MAX(h->ask_at_ms - clock_mono_ms(), 0));
        if (!keep_asking(watch))
            return;
        asked_ms = clock_mono_ms();
        problem = ask(watch, buffer, sizeof(buffer));
        if (!keep_asking(watch))
            return; /* what came then says nothing of the service */
        give_up = health_note(h, problem, asked_ms, clock_mono_ms());
        if (health_tell(h, clock_mono_ms()) || give_up)
            send_news(watch, give_up);
    }
}

enum err_code health_watch_new(struct health_watch **ret_watch,
                               const struct health_watch_options *options, struct err *err)
{
    struct health_watch *watch = MEM_NEW(struct health_watch);
    struct health_spec spec = options->spec;
    enum err_code code;

    spec.path = arena_copy(&watch->arena, spec.path);
    health_init(&watch->health, &spec, options->age_ms, options->was_good, clock_mono_ms());
    (void)snprintf(watch->address, sizeof(watch->address), "%s", options->address);
    watch->wake = options->wake;
    watch->ctx = options->ctx;
    watch->stop = queue_new(1);
    watch->news = queue_new(NEWS_MAX);
    code = thread_start(&watch->thread, "health", watch_run, watch, err);
    if (code != OK) {
        health_watch_free(watch);
        return code;
    }
    *ret_watch = watch;
    return OK;
}

bool health_watch_news(struct health_watch *watch, struct health_news *ret_news)
{
    struct health_news *news = queue_pop(watch->news, 0);

    if (!news)
        return false;
    *ret_news = *news;
    mem_free(news);
    return true;
}

void health_watch_free(struct health_watch *watch)
{
    struct health_news news;

    if (!watch)
        return;
    atomic_store(&watch->stops, true);
    (void)queue_push(watch->stop, watch); /* full: it wakes anyway */
    thread_join(&watch->thread);
    while (health_watch_news(watch, &news))
        ;
    queue_free(watch->stop);
    queue_free(watch->news);
    arena_release(&watch->arena);
    mem_free(watch);
}
