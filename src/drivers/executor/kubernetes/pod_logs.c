/* Reading a log with timestamps. The kubelet puts the time before a line, not before the pieces
 * that a runtime cuts a long line into; those pieces may lie in a later second than the line's
 * beginning. So the place moves on to a later second only behind a short line of an earlier one:
 * there nothing of an older line can follow. */
#include "drivers/executor/kubernetes/pod_logs.h"

#include "base/json.h"
#include "drivers/common/console_text.h"
#include "sys/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#define STATE_BYTES_MAX  8192
#define OUT_BYTES_MAX    (1024 * 1024)
#define OUT_BYTES_FLUSH  (256 * 1024)
#define SHORT_LINE_BYTES 8000 /* no runtime cuts such a line */
#define SECOND_LEN       19   /* 2026-11-30T21:04:38 */
#define TIME_LEN_MIN     20
#define GAP_TEXT         "\neuvyra-agent: the cluster has lost console text here\n"

static void path_of(const struct pod_log *log, const char *name, char ret_path[4096])
{
    (void)snprintf(ret_path, 4096, "%s/%s", log->folder, name);
}

static void take_text(const json_t *object, const char *name, char *ret_text, size_t size)
{
    const char *text = json_string_value(json_object_get(object, name));

    (void)snprintf(ret_text, size, "%s", text ? text : "");
}

static void read_state(struct pod_log *log)
{
    CLEANUP(buf_release) struct buf text = {0};
    CLEANUP(json_release) json_t *state = NULL;
    char path[4096];

    path_of(log, "console.json", path);
    if (file_read(path, STATE_BYTES_MAX, &text, NULL) != OK ||
        json_parse(buf_str(&text), STATE_BYTES_MAX, &state, NULL) != OK)
        return; /* nothing was committed */
    take_text(state, "pod", log->pod, sizeof(log->pod));
    take_text(state, "since", log->since, sizeof(log->since));
    take_text(state, "first", log->first, sizeof(log->first));
    take_text(state, "last", log->last, sizeof(log->last));
    log->seen = json_integer_value(json_object_get(state, "seen"));
    log->written = json_integer_value(json_object_get(state, "written"));
    log->left_out = json_integer_value(json_object_get(state, "left_out"));
    log->finished = json_is_true(json_object_get(state, "finished"));
}

static enum err_code write_state(const struct pod_log *log, struct err *err)
{
    CLEANUP(json_release)
    json_t *state = json_pack("{s:s, s:s, s:s, s:s, s:I, s:I, s:I, s:b}", "pod", log->pod, "since",
                              log->since, "first", log->first, "last", log->last, "seen",
                              (json_int_t)log->seen, "written", (json_int_t)log->written,
                              "left_out", (json_int_t)log->left_out, "finished", log->finished);
    CLEANUP(buf_release) struct buf text = {0};
    struct json_writer w;
    char path[4096];

    buf_init(&text, STATE_BYTES_MAX);
    json_writer_init(&w, &text);
    json_put_value(&w, state);
    TRY(buf_check(&text, "the place in the log", err));
    path_of(log, "console.json", path);
    return file_write_atomic(path, buf_str(&text), 0600, err);
}

enum err_code pod_log_open(struct pod_log *log, const char *folder, int64_t bytes_max,
                           struct err *err)
{
    char path[4096];

    *log = (struct pod_log){.fd = -1, .bytes_max = bytes_max};
    (void)snprintf(log->folder, sizeof(log->folder), "%s", folder);
    read_state(log);
    path_of(log, "console", path);
    log->fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (log->fd < 0)
        return err_set_errno(err, ERR_IO, errno, "cannot open %s", path);
    buf_init(&log->out, OUT_BYTES_MAX);
    if (ftruncate(log->fd, (off_t)log->written) != 0 || lseek(log->fd, 0, SEEK_END) < 0) {
        (void)err_set_errno(err, ERR_IO, errno, "cannot cut %s", path);
        pod_log_close(log);
        return ERR_IO;
    }
    return OK;
}

void pod_log_close(struct pod_log *log)
{
    file_close(&log->fd);
    buf_release(&log->out);
}

void pod_log_begin(struct pod_log *log, const char *pod_uid)
{
    if (strcmp(log->pod, pod_uid) != 0) {
        (void)snprintf(log->pod, sizeof(log->pod), "%s", pod_uid);
        log->since[0] = log->first[0] = log->last[0] = '\0';
        log->seen = 0;
    }
    log->time[0] = '\0';
    log->head_len = 0;
    log->in_line = log->begun = log->drops_old = log->before_is_short = false;
    log->counts = true;
    log->skip = log->seen;
    log->line_bytes = 0;
}

static enum err_code flush(struct pod_log *log, struct err *err)
{
    TRY(file_write_all(log->fd, log->out.data, log->out.len, err));
    buf_clear(&log->out);
    return OK;
}

static enum err_code put(struct pod_log *log, struct str text, struct err *err)
{
    int64_t most = log->bytes_max + CONSOLE_SLACK;
    int64_t room = log->bytes_max > 0 ? MAX(most - log->written, 0) : INT64_MAX;
    size_t len = (size_t)MIN((int64_t)text.len, room);

    log->left_out += (int64_t)(text.len - len);
    log->dirty = true;
    while (len > 0) {
        size_t part = MIN(len, OUT_BYTES_FLUSH);

        ENSURE(buf_add(&log->out, text.data, part));
        log->written += (int64_t)part;
        text = str_n(text.data + part, text.len - part);
        len -= part;
        if (log->out.len >= OUT_BYTES_FLUSH)
            TRY(flush(log, err));
    }
    return OK;
}

/* The second of a time as `since` has it: without the fraction, with the zone. */
static void second_of(const char *time, char ret_since[POD_LOG_TIME_BYTES])
{
    size_t zone = SECOND_LEN;

    while (time[zone] == '.' || (time[zone] >= '0' && time[zone] <= '9'))
        zone++;
    (void)snprintf(ret_since, POD_LOG_TIME_BYTES, "%.*s%s", SECOND_LEN, time, time + zone);
}

static bool looks_like_time(const char *text, size_t len)
{
    return len >= TIME_LEN_MIN && text[4] == '-' && text[7] == '-' && text[10] == 'T' &&
           text[13] == ':' && text[16] == ':';
}

static int compare_seconds(const char *a, const char *b)
{
    return strncmp(a, b, SECOND_LEN);
}

/* The first line of a stream that goes on: is it the line that the place begins with? If not, the
 * cluster has thrown away what was there; what we have is known by its time then. */
static enum err_code check_place(struct pod_log *log, struct err *err)
{
    if (log->seen == 0 || strcmp(log->time, log->first) == 0)
        return OK;
    log->drops_old = true;
    log->skip = 0;
    log->since[0] = '\0';
    log->seen = 0;
    return put(log, STR(GAP_TEXT), err);
}

/* A time was read: a line begins. `before` is the time of the one before it in this stream. */
static enum err_code begin_line(struct pod_log *log, const char *before, struct err *err)
{
    if (!log->begun)
        TRY(check_place(log, err));
    if (log->drops_old && strcmp(log->time, log->last) > 0)
        log->drops_old = false;
    if (!log->drops_old && (!log->since[0] || (log->before_is_short && before[0] &&
                                               compare_seconds(before, log->time) < 0 &&
                                               compare_seconds(log->since, log->time) < 0))) {
        second_of(log->time, log->since);
        (void)snprintf(log->first, sizeof(log->first), "%s", log->time);
        log->seen = log->skip = 0;
    }
    log->begun = true;
    /* Of two streams of one program a line may come late, with an earlier time: it will not come
     * again from `since` on. */
    log->counts = compare_seconds(log->time, log->since) >= 0;
    if (!log->drops_old)
        (void)snprintf(log->last, sizeof(log->last), "%s", log->time);
    log->line_bytes = 0;
    log->in_line = true;
    return OK;
}

static enum err_code take_line_part(struct pod_log *log, struct str text, struct err *err)
{
    log->line_bytes += (int64_t)text.len;
    if (log->drops_old)
        return OK;
    if (log->counts) {
        size_t known = (size_t)MIN((int64_t)text.len, log->skip);

        log->skip -= (int64_t)known;
        text = str_n(text.data + known, text.len - known);
        log->seen += (int64_t)text.len;
    }
    return put(log, text, err);
}

/* What stands where a line's time should: a line that a node says of itself at the start of a
 * stream, or, later, text. */
static enum err_code take_no_time(struct pod_log *log, struct err *err)
{
    size_t len = log->head_len;

    log->head_len = 0;
    if (!log->begun)
        return err_set(err, ERR_NOT_FOUND, "the node has no log: %.*s", (int)len, log->head);
    log->in_line = true;
    return take_line_part(log, str_n(log->head, len), err);
}

/* The time before a line, which may come in pieces. Returns how much of `data` is done with. */
static enum err_code take_head(struct pod_log *log, struct str data, size_t *ret_used,
                               struct err *err)
{
    char before[POD_LOG_TIME_BYTES];
    size_t used = 0;

    while (used < data.len && log->head_len < sizeof(log->head) - 1 && data.data[used] != ' ' &&
           data.data[used] != '\n')
        log->head[log->head_len++] = data.data[used++];
    *ret_used = used;
    if (used == data.len && log->head_len < sizeof(log->head) - 1)
        return OK; /* the rest comes */
    if (data.data[used] != ' ' || !looks_like_time(log->head, log->head_len))
        return take_no_time(log, err);
    *ret_used = used + 1;
    (void)snprintf(before, sizeof(before), "%s", log->time);
    (void)snprintf(log->time, sizeof(log->time), "%.*s", (int)log->head_len, log->head);
    log->head_len = 0;
    return begin_line(log, before, err);
}

enum err_code pod_log_take(struct pod_log *log, struct str data, struct err *err)
{
    while (data.len > 0) {
        size_t used = 0;

        if (!log->in_line) {
            TRY(take_head(log, data, &used, err));
        } else {
            const char *end = memchr(data.data, '\n', data.len);

            used = end ? (size_t)(end - data.data) + 1 : data.len;
            TRY(take_line_part(log, str_n(data.data, used), err));
            log->in_line = end == NULL;
            log->before_is_short = log->line_bytes < SHORT_LINE_BYTES;
        }
        data = str_n(data.data + used, data.len - used);
    }
    return OK;
}

enum err_code pod_log_commit(struct pod_log *log, struct err *err)
{
    if (!log->dirty)
        return OK;
    TRY(flush(log, err));
    if (fdatasync(log->fd) != 0)
        return err_set_errno(err, ERR_IO, errno, "cannot write the console text");
    TRY(write_state(log, err));
    log->dirty = false;
    return OK;
}

enum err_code pod_log_finish(struct pod_log *log, struct err *err)
{
    int64_t over = log->left_out + MAX(log->written - log->bytes_max, 0);

    TRY(pod_log_commit(log, err));
    if (log->finished)
        return OK;
    TRY(console_text_cut(log->fd, log->bytes_max, over, err));
    log->written = lseek(log->fd, 0, SEEK_END);
    log->finished = log->dirty = true;
    return pod_log_commit(log, err);
}

int64_t pod_log_bytes(const struct pod_log *log)
{
    return log->bytes_max > 0 && !log->finished ? MIN(log->written, log->bytes_max) : log->written;
}
