/* Engines up to 20.10 lose the line end of a line longer than 16 KiB with the log driver "local";
 * all its pieces have one time stamp, though, so a piece without line end that is followed by
 * another stamp was the last one. (The driver "json-file" keeps line ends, and replaces every byte
 * that is no UTF-8.) */
#include "drivers/executor/docker/logs.h"

#include "base/log.h"
#include "base/mem.h"
#include "drivers/common/console_text.h"
#include "sys/clock.h"
#include "sys/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#define FRAME_HEAD      8
#define FRAME_BYTES_MAX (2 * 1024 * 1024) /* an engine's entry is 16 KiB */
#define BATCH_BYTES     (4 * 1024 * 1024)
#define SAVE_MS         5000
#define ANCHOR_ENTRIES  256
#define ANCHOR_LATE_NS  INT64_C(3000000000)
#define NS              INT64_C(1000000000)
#define STATE_BYTES_MAX 4096
#define FILE_BYTES_MIN  (INT64_C(16) << 20)
#define FILE_BYTES_NONE (INT64_C(4) << 30) /* of a console without a limit */
#define ENTRY_BYTES_MAX 64 /* what the engine writes beside an entry's text, with room to spare */
#define POLL_MS_MIN     1000
#define POLL_MS_MAX     60000
#define POLL_SHARE      20 /* reading takes one part of so many */
#define PATH_BYTES      4096

struct logs {
    char folder[PATH_BYTES - 64];
    int fd; /* of the console; writes at its end */
    int64_t console_bytes_max;
    struct logs_cursor cursor;
    struct buf frame; /* what has come of a frame */
    struct buf out;   /* text of the frames of one batch */
    int64_t saved_at_ms;
    int64_t saved_text_bytes;
    int64_t poll_took_ms; /* the last reading without follow */
    bool follows;
    _Atomic int64_t bytes;
    bool (*keep_going)(void *ctx);
    void *ctx;
};

/* ---- Entries */

/* "2026-11-30T21:04:04.418107622Z": nanoseconds, or -1. */
static int64_t stamp_ns(struct str text)
{
    int64_t fraction = 0, unit = NS / 10;
    time_ms at;

    if (!time_parse(text, &at))
        return -1;
    for (size_t i = 20; i < text.len && text.data[i] >= '0' && text.data[i] <= '9'; i++) {
        fraction += unit * (text.data[i] - '0');
        unit /= 10;
    }
    return at / 1000 * NS + fraction;
}

void logs_resume(struct logs_cursor *cursor)
{
    cursor->skip = cursor->place.taken;
}

/* The entries that were taken do not all come again: the engine has dropped the oldest of its log.
 * True while what comes was taken all the same. */
static bool was_dropped(struct logs_cursor *c, int64_t at, struct buf *out)
{
    c->skip = 0;
    c->place.anchor_ns = c->place.last_ns + 1;
    c->place.taken = 0;
    c->next = (struct logs_place){0};
    if (at < c->place.anchor_ns)
        return true; /* nothing is missing: the rest begins before where we were */
    (void)buf_add_text(out, "\neuvyra-agent: some console text is missing here: the Docker engine "
                            "has dropped it\n");
    c->place.open_ns[0] = c->place.open_ns[1] = 0;
    return false;
}

/* True when the entry was taken before. */
static bool was_taken(struct logs_cursor *c, int64_t at, struct buf *out)
{
    if (at < c->place.anchor_ns)
        return true;
    if (c->skip == 0)
        return false;
    /* Pieces of one line have one stamp: of them the first ones may be gone unnoticed, until
     * something newer than all that was taken comes too early. */
    if ((c->skip == c->place.taken && at != c->place.first_ns) || at > c->place.last_ns)
        return was_dropped(c, at, out);
    c->skip--;
    return true;
}

static void count(struct logs_place *place, int64_t at)
{
    if (at < place->anchor_ns)
        return;
    if (place->taken++ == 0)
        place->first_ns = at;
}

static void advance(struct logs_cursor *c, int64_t at)
{
    struct logs_place *place = &c->place;

    place->entries++;
    count(place, at);
    place->last_ns = MAX(place->last_ns, at);
    if (c->next.anchor_ns == 0 && place->taken >= ANCHOR_ENTRIES) {
        c->next.anchor_ns = place->last_ns + 1; /* nothing from there on was taken yet */
        return;
    }
    if (c->next.anchor_ns == 0)
        return;
    count(&c->next, at);
    if (c->next.taken > 0 && at > c->next.anchor_ns + ANCHOR_LATE_NS) {
        place->anchor_ns = c->next.anchor_ns;
        place->taken = c->next.taken;
        place->first_ns = c->next.first_ns;
        c->next = (struct logs_place){0};
    }
}

enum err_code logs_take(struct logs_cursor *cursor, int stream, struct str entry, struct buf *out,
                        struct err *err)
{
    struct str text = entry, stamp;
    int64_t *open = &cursor->place.open_ns[stream == 2];
    int64_t at;

    if (!str_cut(&text, ' ', &stamp) || (at = stamp_ns(stamp)) < 0)
        return err_set(err, ERR_INTERNAL, "the Docker engine's log has an entry without a time");
    if (was_taken(cursor, at, out))
        return OK;
    if (*open != 0 && *open != at)
        (void)buf_add_char(out, '\n');
    (void)buf_add_str(out, text);
    *open = text.len > 0 && text.data[text.len - 1] == '\n' ? 0 : at;
    advance(cursor, at);
    return OK;
}

/* ---- The place on disk */

static void path_of(const char *folder, const char *name, char ret_path[PATH_BYTES])
{
    (void)snprintf(ret_path, PATH_BYTES, "%s/%s", folder, name);
}

static void put(struct json_writer *w, const char *key, int64_t value)
{
    char text[24];

    (void)snprintf(text, sizeof(text), "%lld", (long long)value);
    json_put_key(w, key);
    json_put_text(w, text); /* nanoseconds are beyond what JSON's numbers hold */
}

static enum err_code save(struct logs *logs, struct err *err)
{
    const struct logs_place *place = &logs->cursor.place;
    CLEANUP(buf_release) struct buf text = {0};
    char path[PATH_BYTES];
    struct json_writer w;

    logs->saved_at_ms = clock_mono_ms();
    if (place->text_bytes == logs->saved_text_bytes)
        return OK;
    if (fdatasync(logs->fd) != 0)
        return err_set_errno(err, ERR_IO, errno, "cannot write the console");
    buf_init(&text, STATE_BYTES_MAX);
    json_writer_init(&w, &text);
    json_begin_object(&w);
    put(&w, "anchor", place->anchor_ns);
    put(&w, "taken", place->taken);
    put(&w, "first", place->first_ns);
    put(&w, "last", place->last_ns);
    put(&w, "entries", place->entries);
    put(&w, "bytes", place->text_bytes);
    put(&w, "open_out", place->open_ns[0]);
    put(&w, "open_err", place->open_ns[1]);
    json_end_object(&w);
    path_of(logs->folder, "logs.json", path);
    TRY(file_write_atomic(path, buf_str(&text), 0600, err));
    logs->saved_text_bytes = place->text_bytes;
    return OK;
}

static int64_t take(const json_t *document, const char *key)
{
    const char *text = json_string_value(json_object_get(document, key));
    int64_t value = 0;

    return text && str_to_i64(str_from(text), &value) && value >= 0 ? value : 0;
}

static enum err_code load(const char *folder, struct logs_place *ret_place, struct err *err)
{
    CLEANUP(buf_release) struct buf text = {0};
    CLEANUP(json_release) json_t *document = NULL;
    char path[PATH_BYTES];
    enum err_code code;

    *ret_place = (struct logs_place){0};
    path_of(folder, "logs.json", path);
    code = file_read(path, STATE_BYTES_MAX, &text, err);
    if (code == ERR_NOT_FOUND)
        return OK;
    TRY(code);
    TRY(json_parse(buf_str(&text), STATE_BYTES_MAX, &document, err));
    *ret_place =
        (struct logs_place){.anchor_ns = take(document, "anchor"),
                            .taken = take(document, "taken"),
                            .first_ns = take(document, "first"),
                            .last_ns = take(document, "last"),
                            .entries = take(document, "entries"),
                            .text_bytes = take(document, "bytes"),
                            .open_ns = {take(document, "open_out"), take(document, "open_err")}};
    return OK;
}

/* How long the file is when so much text has come. */
static int64_t file_bytes(const struct logs *logs, int64_t text_bytes)
{
    return logs->console_bytes_max == 0 ? text_bytes
                                        : MIN(text_bytes, logs->console_bytes_max + CONSOLE_SLACK);
}

static void publish(struct logs *logs)
{
    int64_t bytes = logs->cursor.place.text_bytes;

    if (logs->console_bytes_max > 0)
        bytes = MIN(bytes, logs->console_bytes_max);
    atomic_store(&logs->bytes, bytes);
}

static enum err_code open_console(struct logs *logs, struct err *err)
{
    int64_t wanted = file_bytes(logs, logs->cursor.place.text_bytes);
    char path[PATH_BYTES];
    struct stat info;

    path_of(logs->folder, "console", path);
    logs->fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (logs->fd < 0 || fstat(logs->fd, &info) != 0)
        return err_set_errno(err, ERR_IO, errno, "cannot open %s", path);
    /* What came after the place was written down comes again. */
    if (info.st_size > wanted && ftruncate(logs->fd, (off_t)wanted) != 0)
        return err_set_errno(err, ERR_IO, errno, "cannot cut %s", path);
    return OK;
}

enum err_code logs_open(struct logs **ret_logs, const struct logs_options *options, struct err *err)
{
    struct logs *logs = MEM_NEW(struct logs);
    enum err_code code;

    logs->fd = -1;
    logs->console_bytes_max = options->console_bytes_max;
    logs->saved_text_bytes = -1;
    (void)snprintf(logs->folder, sizeof(logs->folder), "%s", options->folder);
    buf_init(&logs->frame, FRAME_BYTES_MAX + FRAME_HEAD);
    buf_init(&logs->out, BATCH_BYTES + FRAME_BYTES_MAX);
    code = load(options->folder, &logs->cursor.place, err);
    if (code == OK)
        code = open_console(logs, err);
    if (code != OK) {
        logs_free(logs);
        return code;
    }
    publish(logs);
    *ret_logs = logs;
    return OK;
}

void logs_free(struct logs *logs)
{
    if (!logs)
        return;
    file_close(&logs->fd);
    buf_release(&logs->frame);
    buf_release(&logs->out);
    mem_free(logs);
}

void logs_on_wait(struct logs *logs, bool (*keep_going)(void *ctx), void *ctx)
{
    logs->keep_going = keep_going;
    logs->ctx = ctx;
}

int64_t logs_bytes(const struct logs *logs)
{
    return atomic_load(&logs->bytes);
}

int64_t logs_bytes_in(const char *folder)
{
    char path[PATH_BYTES];
    struct stat info;

    path_of(folder, "console", path);
    return stat(path, &info) == 0 ? info.st_size : 0;
}

/* ---- The stream */

/* Writes the text of the batch; then, and only then, it counts as taken. */
static enum err_code commit(struct logs *logs, struct logs_cursor *cursor, struct err *err)
{
    int64_t before = file_bytes(logs, logs->cursor.place.text_bytes);
    int64_t after;
    enum err_code code;

    cursor->place.text_bytes += (int64_t)logs->out.len;
    after = file_bytes(logs, cursor->place.text_bytes);
    if (after > before) {
        code = file_write_all(logs->fd, logs->out.data, (size_t)(after - before), err);
        if (code != OK) {
            if (ftruncate(logs->fd, (off_t)before) != 0)
                log_warn("attempt.console", "error", strerror(errno));
            return code;
        }
    }
    logs->cursor = *cursor;
    buf_clear(&logs->out);
    publish(logs);
    if (clock_mono_ms() - logs->saved_at_ms >= SAVE_MS)
        return save(logs, err);
    return OK;
}

/* One whole frame at the front of what has come; 0: there is none yet. */
static enum err_code frame_len(const struct logs *logs, size_t at, size_t *ret_len, struct err *err)
{
    const uint8_t *head = (const uint8_t *)logs->frame.data + at;
    size_t have = logs->frame.len - at, len;

    *ret_len = 0;
    if (have < FRAME_HEAD)
        return OK;
    len = (size_t)head[4] << 24 | (size_t)head[5] << 16 | (size_t)head[6] << 8 | head[7];
    if (head[0] > 3 || head[1] || head[2] || head[3] || len > FRAME_BYTES_MAX)
        return err_set(err, ERR_INTERNAL, "the Docker engine's log is no stream of frames");
    if (have - FRAME_HEAD >= len)
        *ret_len = len + FRAME_HEAD;
    return OK;
}

static enum err_code take_frames(struct logs *logs, struct err *err)
{
    struct logs_cursor cursor = logs->cursor;
    size_t at = 0, len = 0;
    enum err_code code;

    buf_clear(&logs->out);
    for (;;) {
        TRY(frame_len(logs, at, &len, err));
        if (len == 0)
            break;
        if (logs->frame.data[at] == 3) /* the engine's own trouble in reading it */
            return err_set(err, ERR_INTERNAL, "the Docker engine cannot read the log");
        TRY(logs_take(&cursor, logs->frame.data[at],
                      str_n(logs->frame.data + at + FRAME_HEAD, len - FRAME_HEAD), &logs->out,
                      err));
        at += len;
    }
    if (at == 0)
        return OK;
    code = commit(logs, &cursor, err);
    buf_drop_front(&logs->frame, at);
    return code;
}

static enum err_code on_bytes(void *ctx, struct str bytes, struct err *err)
{
    struct logs *logs = ctx;

    if (!buf_add_str(&logs->frame, bytes))
        return buf_check(&logs->frame, "a frame of the Docker engine's log", err);
    return take_frames(logs, err);
}

int64_t logs_file_bytes(int64_t console_bytes_max)
{
    if (console_bytes_max == 0)
        return FILE_BYTES_NONE;
    return MAX(console_bytes_max + console_bytes_max / 4, FILE_BYTES_MIN);
}

static bool is_over(const struct logs *logs)
{
    return logs->console_bytes_max > 0 &&
           logs->cursor.place.text_bytes > logs->console_bytes_max + CONSOLE_SLACK;
}

bool logs_must_poll(const struct logs *logs, int64_t *ret_ms)
{
    const struct logs_place *place = &logs->cursor.place;

    *ret_ms = is_over(logs) ? POLL_MS_MAX : MAX(POLL_MS_MIN, logs->poll_took_ms * POLL_SHARE);
    *ret_ms = MIN(*ret_ms, POLL_MS_MAX);
    /* Over: what comes is only counted. */
    return is_over(logs) || place->text_bytes + place->entries * ENTRY_BYTES_MAX >=
                                logs_file_bytes(logs->console_bytes_max);
}

static bool on_wait(void *ctx)
{
    struct logs *logs = ctx;
    struct err err = {0};
    int64_t ignored;

    if (logs->follows && logs_must_poll(logs, &ignored))
        return false;

    if (clock_mono_ms() - logs->saved_at_ms >= SAVE_MS && save(logs, &err) != OK)
        log_warn("attempt.console", "error", err.text); /* an older place is on disk: as good */
    return !logs->keep_going || logs->keep_going(logs->ctx);
}

enum err_code logs_copy(struct logs *logs, struct engine *engine, const char *container,
                        bool follow, struct err *err)
{
    CLEANUP(engine_answer_release) struct engine_answer answer = {0};
    char path[256];
    struct engine_call call = {.method = "GET",
                               .path = path,
                               .timeout_ms = -1,
                               .sink = on_bytes,
                               .keep_going = on_wait,
                               .ctx = logs};
    int64_t anchor = logs->cursor.place.anchor_ns, began = clock_mono_ms();
    enum err_code code;

    (void)snprintf(path, sizeof(path),
                   "/containers/%s/logs?stdout=1&stderr=1&timestamps=1&follow=%d&since=%lld.%09lld",
                   container, follow, (long long)(anchor / NS), (long long)(anchor % NS));
    logs_resume(&logs->cursor);
    buf_clear(&logs->frame);
    logs->follows = follow;
    code = engine_send(engine, &call, &answer, err);
    if (code == ERR_TIMEOUT && save(logs, err) == OK)
        return err_set(err, code, "the log was left");
    TRY(code);
    logs->poll_took_ms = follow ? 0 : clock_mono_ms() - began;
    if (answer.status != 200)
        return engine_answer_error(&answer, err);
    return save(logs, err);
}

enum err_code logs_say(struct logs *logs, const char *what, struct err *err)
{
    struct logs_cursor cursor = logs->cursor;

    buf_clear(&logs->out);
    (void)buf_printf(&logs->out, "\neuvyra-agent: %s\n", what);
    return commit(logs, &cursor, err);
}

enum err_code logs_finish(struct logs *logs, struct err *err)
{
    int64_t text_bytes = logs->cursor.place.text_bytes;

    TRY(save(logs, err));
    TRY(console_text_cut(logs->fd, logs->console_bytes_max, text_bytes - logs->console_bytes_max,
                         err));
    if (fdatasync(logs->fd) != 0)
        return err_set_errno(err, ERR_IO, errno, "cannot write the console");
    atomic_store(&logs->bytes, logs_bytes_in(logs->folder));
    return OK;
}
