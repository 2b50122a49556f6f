/* The handle: opening, the calls that append a record, closing, and what happens after fork().
 *
 * The tricky part is fork. The kernel zeroes `alive` in the child (MADV_WIPEONFORK), so each call
 * finds out for the price of a load. The first one in the child lets go of the parent's mapping,
 * makes the lock anew (another thread of the parent may have held it) and opens a writer with a new
 * id in the same folder; the names known so far are written into the new log with the same ids, so
 * that ids which callers keep stay right. */
#include "client/client.h"

#include "runlog/encode.h"
#include "runlog/json.h"
#include "runlog/redact.h"

#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define ALIVE_ZEROED  0 /* as the kernel leaves it in a child */
#define ALIVE_OPENING 1
#define ALIVE_READY   2
#define ALIVE_BYTES   4096

int64_t client__now_ms(void)
{
    struct timespec now;

    clock_gettime(CLOCK_REALTIME, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

enum euvyra_code client__code(int rc)
{
    switch (-rc) {
    case 0: return EUVYRA_OK;
    case ENOSPC:
    case EDQUOT:
    case EFBIG: return EUVYRA_DISK_FULL;
    case EMSGSIZE: return EUVYRA_TOO_LARGE;
    case EINVAL: return EUVYRA_INVALID;
    case ENOMEM: return EUVYRA_NO_MEMORY;
    default: return EUVYRA_IO;
    }
}

const char *euvyra_code_name(enum euvyra_code code)
{
    switch (code) {
#define X(symbol, number, name)                                                                    \
    case symbol: return name;
        EUVYRA_CODES(X)
#undef X
    }
    return "unknown";
}

static enum euvyra_code writer_open(struct euvyra_run *run)
{
    enum euvyra_code code = client__make_id('w', run->writer_id);

    if (code != EUVYRA_OK)
        return code;
    return client__code(runlog_writer_open(&run->writer, &(struct runlog_writer_options){
                                                             .dir_fd = run->dir_fd,
                                                             .writer = run->writer_id,
                                                             .now_ms = client__now_ms(),
                                                         }));
}

static enum euvyra_code name_write(struct euvyra_run *run, uint32_t id)
{
    uint8_t payload[8 + 4 + RUNLOG_NAME_BYTES_MAX];
    const char *text = run->names.texts[id];
    size_t len = runlog_name_encode(id, RUNLOG_NAME_METRIC, text, strlen(text), payload);

    return client__code(
        runlog_writer_append(&run->writer, RUNLOG_NAMES, payload, len, client__now_ms()));
}

/* In a forked child: a writer of its own. When the disk refuses, the child records nothing. */
static void child_reopen(struct euvyra_run *run)
{
    enum euvyra_code code;

    pthread_mutex_init(&run->lock, NULL);
    runlog_writer_abandon(&run->writer);
    run->writer_pid = getpid();
    if (run->closed)
        return;
    memcpy(run->parent_writer, run->writer_id, sizeof run->parent_writer);
    memcpy(run->kind, "child", sizeof "child");
    run->redacted = 0;
    code = writer_open(run);
    if (code == EUVYRA_OK)
        code = client__start(run, NULL);
    for (uint32_t id = 0; code == EUVYRA_OK && id < run->names.count; id++)
        code = name_write(run, id);
    run->closed = code != EUVYRA_OK;
}

static void run_enter(struct euvyra_run *run)
{
    int alive = atomic_load_explicit(run->alive, memory_order_acquire);

    if (!run->wipes && run->writer_pid != getpid())
        alive = ALIVE_ZEROED;
    while (alive != ALIVE_READY) {
        int zeroed = run->wipes ? ALIVE_ZEROED : ALIVE_READY;
        if (atomic_compare_exchange_strong(run->alive, &zeroed, ALIVE_OPENING)) {
            child_reopen(run);
            atomic_store_explicit(run->alive, ALIVE_READY, memory_order_release);
        } else {
            sched_yield(); /* another thread of the child is opening */
        }
        alive = atomic_load_explicit(run->alive, memory_order_acquire);
    }
    pthread_mutex_lock(&run->lock);
}

static void run_leave(struct euvyra_run *run)
{
    pthread_mutex_unlock(&run->lock);
}

static enum euvyra_code alive_page_make(struct euvyra_run *run)
{
    void *page =
        mmap(NULL, ALIVE_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (page == MAP_FAILED)
        return EUVYRA_NO_MEMORY;
    run->wipes = madvise(page, ALIVE_BYTES, MADV_WIPEONFORK) == 0;
    run->alive = page;
    atomic_store(run->alive, ALIVE_READY);
    run->owner_pid = run->writer_pid = getpid();
    return EUVYRA_OK;
}

static void run_free(struct euvyra_run *run)
{
    if (run->dir_fd >= 0)
        close(run->dir_fd);
    if (run->alive != NULL)
        munmap((void *)run->alive, ALIVE_BYTES);
    client__names_release(&run->names);
    pthread_mutex_destroy(&run->lock);
    free(run);
}

enum euvyra_code euvyra_open(const struct euvyra_options *options, struct euvyra_run **ret_run)
{
    if (options == NULL || ret_run == NULL || options->struct_bytes != sizeof *options)
        return EUVYRA_INVALID;
    struct euvyra_run *run = calloc(1, sizeof *run);
    if (run == NULL)
        return EUVYRA_NO_MEMORY;
    run->dir_fd = -1;
    run->writer.fd = -1;
    run->next_step = options->first_step;
    client__ranks(run, options);
    pthread_mutex_init(&run->lock, NULL);
    (void)snprintf(run->kind, sizeof run->kind, "%s",
                   client__option(options->kind, NULL, "trainer"));
    (void)snprintf(run->sdk, sizeof run->sdk, "%s",
                   client__option(options->sdk, NULL, "c/" EUVYRA_VERSION));
    enum euvyra_code code = alive_page_make(run);
    if (code == EUVYRA_OK)
        code = client__folder_open(run, options);
    if (options->kind == NULL && client__is_below_exec(run))
        memcpy(run->kind, "child", sizeof "child");
    if (code == EUVYRA_OK)
        code = writer_open(run);
    if (code == EUVYRA_OK) {
        code = client__start(run, options);
        if (code != EUVYRA_OK)
            runlog_writer_close(&run->writer);
    }
    if (code != EUVYRA_OK) {
        run_free(run);
        return code;
    }
    *ret_run = run;
    return EUVYRA_OK;
}

static bool name_is_valid(const char *name, size_t len)
{
    if (len == 0 || len > RUNLOG_NAME_BYTES_MAX)
        return false;
    for (size_t i = 0; i < len;) {
        size_t sequence = runlog_utf8_len(name + i, len - i);
        unsigned char c = (unsigned char)name[i];
        bool control = c < 0x20 || c == 0x7f || (c == 0xc2 && (unsigned char)name[i + 1] < 0xa0);
        if (sequence == 0 || control)
            return false;
        i += sequence;
    }
    return true;
}

enum euvyra_code euvyra_metric(struct euvyra_run *run, const char *name, size_t len,
                               uint32_t *ret_id)
{
    enum euvyra_code code = EUVYRA_CLOSED;
    bool is_new;

    if (!name_is_valid(name, len))
        return EUVYRA_INVALID;
    run_enter(run);
    if (!run->closed)
        code = client__names_intern(&run->names, name, len, ret_id, &is_new);
    if (code == EUVYRA_OK && is_new) {
        code = name_write(run, *ret_id);
        if (code != EUVYRA_OK) /* the log has no such name, so nobody may use the id */
            client__names_forget_last(&run->names);
    }
    run_leave(run);
    return code;
}

/* One row record of at most RUNLOG_ROW_PAIRS_MAX pairs. */
static int row_write(struct euvyra_run *run, int64_t step, const uint32_t *ids,
                     const double *values, uint32_t count)
{
    int64_t now = run->now_ms = client__now_ms();
    uint8_t *payload;
    int rc = runlog_writer_reserve(&run->writer, RUNLOG_ROW_BYTES(count), now, &payload);

    if (rc != 0)
        return rc;
    runlog_row_begin(payload, step, now, count);
    for (uint32_t i = 0; i < count; i++)
        runlog_row_put(payload, i, ids[i], values[i]);
    return runlog_writer_commit(&run->writer, RUNLOG_ROW, 0, RUNLOG_ROW_BYTES(count));
}

enum euvyra_code euvyra_log(struct euvyra_run *run, int64_t step, const uint32_t *ids,
                            const double *values, size_t count)
{
    enum euvyra_code code = EUVYRA_CLOSED;

    run_enter(run);
    if (!run->closed) {
        code = EUVYRA_OK;
        if (step == EUVYRA_STEP_NEXT)
            step = run->next_step;
        run->next_step = step < INT64_MAX ? step + 1 : step;
        while (count > 0 && code == EUVYRA_OK) {
            uint32_t part = count < RUNLOG_ROW_PAIRS_MAX ? (uint32_t)count : RUNLOG_ROW_PAIRS_MAX;
            code = client__code(row_write(run, step, ids, values, part));
            ids += part;
            values += part;
            count -= part;
        }
    }
    run_leave(run);
    return code;
}

/* Tells how many secrets were taken out in all: those of the start are in the start record. */
static int redacted_write(struct euvyra_run *run)
{
    char text[64];
    int len = snprintf(text, sizeof text, "{\"redacted\":%u}", run->redacted);

    return runlog_writer_append(&run->writer, RUNLOG_MARK, text, (size_t)len, client__now_ms());
}

static enum euvyra_code json_write(struct euvyra_run *run, uint16_t type, const char *json,
                                   size_t len)
{
    enum euvyra_code code = EUVYRA_CLOSED;
    uint32_t redacted = 0;

    if (len < 2 || json[0] != '{')
        return EUVYRA_INVALID;
    if (len > RUNLOG_GROUP_BYTES_MAX)
        return EUVYRA_TOO_LARGE;
    char *text = malloc(RUNLOG_REDACTED_BYTES_MAX(len));
    if (text == NULL)
        return EUVYRA_NO_MEMORY;
    len = runlog_redact_json(json, len, text, &redacted);
    run_enter(run);
    if (!run->closed)
        code = client__code(runlog_writer_append(&run->writer, type, text, len, client__now_ms()));
    if (code == EUVYRA_OK && redacted > 0) {
        run->redacted += redacted;
        code = client__code(redacted_write(run));
    }
    run_leave(run);
    free(text);
    return code;
}

enum euvyra_code euvyra_config(struct euvyra_run *run, const char *json, size_t len)
{
    return json_write(run, RUNLOG_CONFIG, json, len);
}

enum euvyra_code euvyra_summary(struct euvyra_run *run, const char *json, size_t len)
{
    return json_write(run, RUNLOG_SUMMARY, json, len);
}

enum euvyra_code euvyra_code_facts(struct euvyra_run *run, const char *json, size_t len)
{
    return json_write(run, RUNLOG_CODE, json, len);
}

enum euvyra_code euvyra_tags(struct euvyra_run *run, const char *json, size_t len)
{
    return json_write(run, RUNLOG_TAGS, json, len);
}

enum euvyra_code euvyra_notes(struct euvyra_run *run, const char *text)
{
    size_t len = strlen(text);
    size_t capacity = len < RUNLOG_GROUP_BYTES_MAX / 6 ? 6 * len + 64 : RUNLOG_GROUP_BYTES_MAX;
    char *data = malloc(capacity);
    struct runlog_json json;

    if (data == NULL)
        return EUVYRA_NO_MEMORY;
    runlog_json_init(&json, data, capacity);
    runlog_json_begin(&json, '{');
    runlog_json_key(&json, "notes");
    runlog_json_text_n(&json, text, len);
    runlog_json_end(&json, '}');
    enum euvyra_code code =
        json.full ? EUVYRA_TOO_LARGE : json_write(run, RUNLOG_NOTES, data, json.len);
    free(data);
    return code;
}

enum euvyra_code euvyra_alert(struct euvyra_run *run, const char *title, const char *text,
                              const char *level)
{
    size_t title_len = strnlen(title, 4096), text_len = text != NULL ? strnlen(text, 65536) : 0;
    size_t capacity = 6 * (title_len + text_len) + 256;
    char *data = malloc(capacity);
    struct runlog_json json;

    if (data == NULL)
        return EUVYRA_NO_MEMORY;
    runlog_json_init(&json, data, capacity);
    runlog_json_begin(&json, '{');
    runlog_json_key(&json, "title");
    runlog_json_text_n(&json, title, title_len);
    runlog_json_key(&json, "text");
    runlog_json_text_n(&json, text != NULL ? text : "", text_len);
    runlog_json_key(&json, "level");
    runlog_json_text_n(&json, level, strnlen(level, 16));
    runlog_json_key(&json, "time");
    runlog_json_i64(&json, client__now_ms());
    runlog_json_end(&json, '}');
    enum euvyra_code code =
        json.full ? EUVYRA_TOO_LARGE : json_write(run, RUNLOG_ALERT, data, json.len);
    free(data);
    return code;
}

static bool is_one_of(const char *word, const char *const *words)
{
    while (*words != NULL && strcmp(word, *words) != 0)
        words++;
    return *words != NULL;
}

static bool definition_is_valid(const char *name, const char *step_metric, const char *summary,
                                const char *goal)
{
    static const char *const figures[] = {"last", "first", "min", "max", "mean", "none", NULL};
    static const char *const goals[] = {"minimize", "maximize", NULL};
    size_t len = strnlen(name, RUNLOG_NAME_BYTES_MAX + 1);
    const char *star = memchr(name, '*', len);

    return name_is_valid(name, len) && (star == NULL || star == name + len - 1) &&
           (step_metric == NULL ||
            (name_is_valid(step_metric, strnlen(step_metric, RUNLOG_NAME_BYTES_MAX + 1)) &&
             strcmp(step_metric, name) != 0)) &&
           (summary == NULL || is_one_of(summary, figures)) &&
           (goal == NULL || is_one_of(goal, goals));
}

enum euvyra_code euvyra_define_metric(struct euvyra_run *run, const char *name,
                                      const char *step_metric, const char *summary,
                                      const char *goal)
{
    char data[2 * 6 * RUNLOG_NAME_BYTES_MAX + 256];
    const char *const members[][2] = {
        {"name", name}, {"step_metric", step_metric}, {"summary", summary}, {"goal", goal}};
    struct runlog_json json;

    if (name == NULL || !definition_is_valid(name, step_metric, summary, goal))
        return EUVYRA_INVALID;
    runlog_json_init(&json, data, sizeof data);
    runlog_json_begin(&json, '{');
    for (size_t i = 0; i < sizeof members / sizeof *members; i++)
        if (members[i][1] != NULL) {
            runlog_json_key(&json, members[i][0]);
            runlog_json_text(&json, members[i][1]);
        }
    runlog_json_end(&json, '}');
    return json_write(run, RUNLOG_DEFINE, data, json.len);
}

enum euvyra_code euvyra_preempting(struct euvyra_run *run)
{
    char text[96];
    int len = snprintf(text, sizeof text, "{\"state\":\"preempting\",\"time\":%lld}",
                       (long long)client__now_ms());

    return json_write(run, RUNLOG_MARK, text, (size_t)len);
}

enum euvyra_code euvyra_console(struct euvyra_run *run, int stream, const void *bytes, size_t len)
{
    const uint8_t *data = bytes;
    enum euvyra_code code = EUVYRA_OK;

    if (stream != RUNLOG_STDOUT && stream != RUNLOG_STDERR)
        return EUVYRA_INVALID;
    run_enter(run);
    if (run->closed)
        code = EUVYRA_CLOSED;
    while (len > 0 && code == EUVYRA_OK) {
        size_t part = len < 65536 ? len : 65536;
        int64_t now = client__now_ms();
        uint8_t *payload;
        int rc =
            runlog_writer_reserve(&run->writer, RUNLOG_CONSOLE_FIXED_BYTES + part, now, &payload);
        if (rc == 0) {
            runlog_console_begin(payload, (uint8_t)stream, now);
            memcpy(payload + RUNLOG_CONSOLE_FIXED_BYTES, data, part);
            rc = runlog_writer_commit(&run->writer, RUNLOG_CONSOLE, 0,
                                      RUNLOG_CONSOLE_FIXED_BYTES + part);
        }
        code = client__code(rc);
        data += part;
        len -= part;
    }
    run_leave(run);
    return code;
}

enum euvyra_code euvyra_end(struct euvyra_run *run, int exit_code, int signal, const char *reason,
                            const char *error)
{
    char text[8192];
    struct runlog_json json;
    enum euvyra_code code = EUVYRA_CLOSED;
    int64_t now = client__now_ms();

    runlog_json_init(&json, text, sizeof text);
    runlog_json_begin(&json, '{');
    runlog_json_key(&json, signal > 0 ? "signal" : "exit_code");
    runlog_json_i64(&json, signal > 0 ? signal : exit_code);
    runlog_json_key(&json, "time");
    runlog_json_i64(&json, now);
    runlog_json_key(&json, "reason");
    runlog_json_text(&json, reason);
    if (error != NULL) {
        runlog_json_key(&json, "error");
        runlog_json_text_n(&json, error, strnlen(error, 1000));
    }
    runlog_json_end(&json, '}');
    run_enter(run);
    if (!run->closed) {
        code = client__code(
            runlog_writer_append(&run->writer, RUNLOG_END_OF_RUN, text, json.len, now));
        runlog_writer_close(&run->writer);
        run->closed = true;
    }
    run_leave(run);
    return code;
}

void euvyra_close(struct euvyra_run *run)
{
    if (run == NULL)
        return;
    if (run->writer_pid != getpid())
        runlog_writer_abandon(&run->writer); /* a child that never recorded anything */
    else if (!run->closed)
        runlog_writer_close(&run->writer);
    run_free(run);
}

const char *euvyra_run_id(const struct euvyra_run *run)
{
    return run->run;
}

const char *euvyra_run_folder(const struct euvyra_run *run)
{
    return run->folder;
}

const char *euvyra_writer_id(struct euvyra_run *run)
{
    run_enter(run);
    run_leave(run);
    return run->writer_id;
}

uint64_t euvyra_lost(struct euvyra_run *run)
{
    run_enter(run);
    uint64_t lost = run->writer.lost_total;
    run_leave(run);
    return lost;
}

int euvyra_is_due(struct euvyra_run *run, int64_t every_ms)
{
    int64_t now = run->now_ms, since = now - run->due_ms;

    /* A clock that was set back is as good as time gone by. */
    if ((since >= 0 && since < every_ms) || run->owner_pid != run->writer_pid)
        return 0;
    run->due_ms = now;
    return 1;
}

int euvyra_is_owner(const struct euvyra_run *run)
{
    return run->owner_pid == getpid();
}
