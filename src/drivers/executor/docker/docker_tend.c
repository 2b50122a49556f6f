/* What an attempt's thread does while it waits: requests, the time limit, a look at the container.
 */
#include "base/log.h"
#include "drivers/common/disk_use.h"
#include "drivers/executor/docker/docker_impl.h"
#include "sys/clock.h"

#include <poll.h>
#include <stdio.h>

#define LOOK_MS       5000 /* the stream's end tells first; this is for streams that hang */
#define DISK_MS       2000
#define KILL_AGAIN_MS 5000
#define WAIT_SLICE_MS 100

void docker__note_away(struct docker_attempt *attempt, enum err_code code, const struct err *err)
{
    struct docker_shared *shared = attempt->shared;

    if (code == ERR_UNAVAILABLE) {
        if (!atomic_exchange(&shared->away, true))
            log_warn("engine.away", "error", err->text);
    } else if (code == OK && atomic_exchange(&shared->away, false)) {
        log_info("engine.back");
    }
}

enum err_code docker__inspect(struct docker_attempt *attempt, struct engine *engine,
                              struct container_state *ret_state, struct err *err)
{
    CLEANUP(json_release) json_t *document = NULL;
    enum err_code code;
    bool on_host;

    attempt->looked_at = clock_mono_ms();
    code = docker_container_find(engine, attempt->name, attempt->shared->agent, &document, err);
    code = code == ERR_CONFLICT ? ERR_NOT_FOUND : code; /* not ours to know */
    docker__note_away(attempt, code == ERR_NOT_FOUND ? OK : code, err);
    TRY(code);
    TRY(container_read(document, docker__network(attempt), ret_state, err));
    on_host =
        ret_state->phase == CONTAINER_RUNNING && strcmp(docker__network(attempt), "host") == 0;
    lock_enter(attempt->shared->lock);
    (void)snprintf(attempt->address, sizeof(attempt->address), "%s",
                   on_host ? "127.0.0.1" : ret_state->address);
    lock_leave(attempt->shared->lock);
    return OK;
}

static bool send_signal(struct docker_attempt *attempt, const char *signal)
{
    struct err err = {0};
    char path[160];
    enum err_code code;

    (void)snprintf(path, sizeof(path), "/containers/%s/kill?signal=%s", attempt->name, signal);
    code = engine_json(attempt->errands, "POST", path, STR(""), NULL, &err);
    docker__note_away(attempt, code, &err);
    if (code != OK && code != ERR_NOT_FOUND && code != ERR_CONFLICT && code != ERR_UNAVAILABLE)
        log_error("container.signal", "attempt", attempt->id.text, "error", err.text);
    return code == OK || code == ERR_NOT_FOUND || code == ERR_CONFLICT; /* 409: it does not run */
}

/* Requests lie in the folder; an earlier agent may have begun to obey them. */
static void take_requests(struct docker_attempt *attempt)
{
    time_ms stop = docker_request_read(attempt->folder, "stop");
    int64_t left;

    if (docker_request_read(attempt->folder, "kill") != TIME_NONE) {
        attempt->was_stopped = true;
        attempt->kill_at = MAX(clock_mono_ms(), 1);
    }
    if (stop != TIME_NONE && !attempt->was_stopped) {
        attempt->was_stopped = true;
        left = stop + attempt->record.grace_s * 1000 - clock_wall_ms();
        attempt->kill_at = clock_mono_ms() + MAX(MIN(left, attempt->record.grace_s * 1000), 0) + 1;
        attempt->term_sent = false;
    }
}

static void keep_time(struct docker_attempt *attempt)
{
    struct err err = {0};

    if (attempt->record.timeout_s == 0 || attempt->state.started_at == TIME_NONE ||
        attempt->kill_at != 0 ||
        clock_wall_ms() < attempt->state.started_at + attempt->record.timeout_s * 1000)
        return;
    attempt->record.timed_out = true;
    attempt->kill_at = clock_mono_ms() + attempt->record.grace_s * 1000 + 1;
    if (docker_record_write(attempt->folder, &attempt->record, &err) != OK)
        log_warn("attempt.record", "attempt", attempt->id.text, "error", err.text);
}

/* What the container has written into its own files, and into its work folder; -1: not known now.
 */
static int64_t written_bytes(struct docker_attempt *attempt)
{
    CLEANUP(json_release) json_t *document = NULL;
    char path[DOCKER_PATH_BYTES];

    (void)snprintf(path, sizeof(path), "/containers/%s/json?size=1", attempt->name);
    if (engine_json(attempt->errands, "GET", path, STR(""), &document, NULL) != OK)
        return -1;
    docker_path(attempt->folder, "work", path);
    return json_integer_value(json_object_get(document, "SizeRw")) +
           disk_used(path, attempt->record.disk_bytes);
}

/* Counting takes as long as there are files: it has a twentieth of the time. */
static void keep_disk(struct docker_attempt *attempt)
{
    int64_t began = clock_mono_ms();
    struct err err = {0};

    if (attempt->record.disk_bytes == 0 || attempt->kill_at != 0 || began < attempt->disk_at)
        return;
    attempt->record.disk_full = written_bytes(attempt) > attempt->record.disk_bytes;
    attempt->disk_at = clock_mono_ms() + MAX(DISK_MS, 20 * (clock_mono_ms() - began));
    if (!attempt->record.disk_full)
        return;
    attempt->kill_at = clock_mono_ms() + attempt->record.grace_s * 1000 + 1;
    if (docker_record_write(attempt->folder, &attempt->record, &err) != OK)
        log_warn("attempt.record", "attempt", attempt->id.text, "error", err.text);
}

static void end_it(struct docker_attempt *attempt)
{
    int64_t now = clock_mono_ms();

    if (attempt->kill_at == 0)
        return;
    if (now >= attempt->kill_at) {
        if (now < attempt->kill_again_at)
            return;
        attempt->kill_sent = send_signal(attempt, "KILL") || attempt->kill_sent;
        attempt->kill_again_at = now + KILL_AGAIN_MS;
    } else if (!attempt->term_sent && now >= attempt->kill_again_at) {
        attempt->term_sent = send_signal(attempt, "TERM");
        attempt->kill_again_at = attempt->term_sent ? 0 : now + WAIT_SLICE_MS * 10;
    }
}

/* A stream that goes on without a container is left. */
static void look_again(struct docker_attempt *attempt)
{
    struct container_state state;
    struct err err = {0};
    enum err_code code;

    if (clock_mono_ms() - attempt->looked_at < LOOK_MS)
        return;
    code = docker__inspect(attempt, attempt->errands, &state, &err);
    attempt->cut_stream = code == ERR_NOT_FOUND || (code == OK && state.phase != CONTAINER_RUNNING);
}

bool docker__tend(void *ctx)
{
    struct docker_attempt *attempt = ctx;

    if (atomic_load(&attempt->shared->stops))
        return false;
    if (atomic_exchange(&attempt->woken, false))
        take_requests(attempt);
    if (attempt->state.phase != CONTAINER_RUNNING)
        return !attempt->was_stopped; /* before its start: then it does not start */
    keep_time(attempt);
    keep_disk(attempt);
    end_it(attempt);
    look_again(attempt);
    return !attempt->cut_stream;
}

bool docker__wait(struct docker_attempt *attempt, int64_t ms)
{
    int64_t until = clock_mono_ms() + ms;

    for (;;) {
        bool goes_on = docker__tend(attempt);

        if (atomic_load(&attempt->shared->stops) ||
            (!goes_on && attempt->state.phase == CONTAINER_CREATED))
            return false;
        if (clock_mono_ms() >= until || attempt->cut_stream)
            return true;
        (void)poll(NULL, 0, WAIT_SLICE_MS);
    }
}
