/* Between the watch of a service and the work that it belongs to. */
#include "agent/work_health.h"

#include "base/log.h"
#include "net/http_ask.h"
#include "sys/clock.h"
#include "sys/file.h"

#include <stdio.h>

#define PATH_BYTES     4096
#define BEGIN_RETRY_MS 10000

static const char *path_of(const struct work_health *h, const char *name, char path[PATH_BYTES])
{
    (void)snprintf(path, PATH_BYTES, "%s/%s", h->folder, name);
    return path;
}

static void remember(const struct work_health *h, const char *name, const char *text)
{
    char path[PATH_BYTES];
    struct err err = {0};

    if (file_write_atomic(path_of(h, name, path), str_from(text), 0600, &err) != OK)
        log_error("attempt.health", "attempt", h->attempt->text, "error", err.text);
}

/* How it is asked here: replicas that share the ports of a machine have one each, from the spec's
 * on. */
static enum err_code spec_of(const struct executor_port *executor, struct arena *arena,
                             const struct wire_offer *offer, struct health_spec *ret_spec,
                             struct err *err)
{
    TRY(wire_offer_health(arena, offer, ret_spec, err));
    if (ret_spec->port && executor->shares_ports)
        ret_spec->port += offer->replica;
    if (ret_spec->port > 65535)
        return err_set(err, ERR_INVALID, "replica %lld has no port", (long long)offer->replica);
    return OK;
}

enum err_code work_health_port(const struct work_env *env, const struct wire_offer *offer,
                               int64_t *ret_port, struct err *err)
{
    CLEANUP(arena_release) struct arena arena = {0};
    struct health_spec spec;

    TRY(spec_of(env->executor, &arena, offer, &spec, err));
    *ret_port = spec.port;
    return OK;
}

enum err_code work_health_init(struct work_health *h, struct arena *arena,
                               const struct wire_offer *offer, struct err *err)
{
    CLEANUP(buf_release) struct buf text = {0};
    char path[PATH_BYTES];

    TRY(spec_of(h->executor, arena, offer, &h->spec, err));
    if (offer->rank) /* the first machine speaks for all */
        h->spec.port = 0;
    if (!h->spec.port)
        return OK;
    h->was_good = file_exists(path_of(h, "healthy", path));
    h->given_up =
        file_read(path_of(h, "unhealthy", path), sizeof(h->reason) - 1, &text, NULL) == OK;
    if (h->given_up)
        (void)snprintf(h->reason, sizeof(h->reason), "%.*s", STR_ARG(buf_str(&text)));
    return OK;
}

void work_health_release(struct work_health *h)
{
    health_watch_free(h->watch);
    h->watch = NULL;
}

static void begin(struct work_health *h, const struct executor_look *look)
{
    char address[HTTP_ASK_ADDRESS_BYTES];
    struct health_watch_options options = {.spec = h->spec,
                                           .address = address,
                                           .age_ms = clock_wall_ms() - look->started_at,
                                           .was_good = h->was_good,
                                           .wake = h->wake,
                                           .ctx = h->ctx};
    struct err err = {0};

    if (clock_mono_ms() < h->retry_at_ms)
        return;
    h->retry_at_ms = clock_mono_ms() + BEGIN_RETRY_MS;
    if (h->executor->address(h->executor->ctx, h->attempt, address, sizeof(address), &err) != OK ||
        health_watch_new(&h->watch, &options, &err) != OK)
        log_error("attempt.health", "attempt", h->attempt->text, "error", err.text);
}

static void take_news(struct work_health *h)
{
    while (health_watch_news(h->watch, &h->news)) {
        h->due = true;
        if (h->news.state == HEALTH_GOOD && !h->was_good) {
            h->was_good = true;
            remember(h, "healthy", "");
        }
        if (!h->news.give_up || h->given_up)
            continue;
        remember(h, "unhealthy", h->news.reason);
        memcpy(h->reason, h->news.reason, sizeof(h->reason));
        h->given_up = true;
        log_warn("attempt.unhealthy", "attempt", h->attempt->text, "reason", h->reason);
    }
}

void work_health_tend(struct work_health *h, const struct executor_look *look, bool ending)
{
    bool asks = h->spec.port && look->phase == EXECUTOR_RUNNING && look->started_at != TIME_NONE;

    if (h->watch)
        take_news(h);
    if (!asks || ending || h->given_up)
        work_health_release(h);
    else if (!h->watch)
        begin(h, look);
}
