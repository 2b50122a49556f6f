/* Our own writing, read as strictly as anything else, because a disk may lie. */
#include "drivers/common/end_record.h"

#include "base/json.h"
#include "sys/file.h"

#include <stdio.h>

#define RECORD_BYTES_MAX 8192
#define NUMBER_MAX       INT64_C(9007199254740991)
#define EXIT_CODE_MAX    255
#define SIGNAL_MAX       255

/* One list for writing and reading. */
#define FLAGS(X)                                                                                   \
    X(oom)                                                                                         \
    X(timed_out)                                                                                   \
    X(failed_to_start)                                                                             \
    X(was_stopped)                                                                                 \
    X(image_failed)                                                                                \
    X(disk_full)

static void put_i64(struct json_writer *w, const char *key, int64_t value)
{
    json_put_key(w, key);
    json_put_i64(w, value);
}

/* A text that was cut to its place may end in half a character: what could not be read back would
 * leave the attempt open for ever. */
static void put_line(struct json_writer *w, const char *key, const char *value)
{
    char line[EXECUTOR_IMAGE_BYTES];
    size_t bad = 0;

    (void)snprintf(line, sizeof(line), "%s", value);
    while (!str_is_utf8(str_from(line), &bad))
        line[bad] = '?';
    json_put_key(w, key);
    json_put_text(w, line);
}

enum err_code end_record_write(const char *path, const struct executor_look *look, struct err *err)
{
    CLEANUP(buf_release) struct buf text = {0};
    struct json_writer w;

    buf_init(&text, RECORD_BYTES_MAX);
    json_writer_init(&w, &text);
    json_begin_object(&w);
    json_put_key(&w, "started_at");
    json_put_time(&w, look->started_at);
    json_put_key(&w, "ended_at");
    json_put_time(&w, look->ended_at);
    put_i64(&w, "run_time_ms", look->run_time_ms);
    put_i64(&w, "console_bytes", look->console_bytes);
    put_i64(&w, "exit_code", look->exit_code);
    put_i64(&w, "exit_signal", look->exit_signal);
#define X(name)                                                                                    \
    json_put_key(&w, #name);                                                                       \
    json_put_bool(&w, look->name);
    FLAGS(X)
#undef X
    put_line(&w, "image", look->image);
    put_line(&w, "reason", look->reason);
    json_end_object(&w);
    TRY(buf_check(&text, "the record of an end", err));
    return file_write_atomic(path, buf_str(&text), 0600, err);
}

static enum err_code read_document(const char *path, json_t **ret_document, struct err *err)
{
    CLEANUP(buf_release) struct buf text = {0};
    enum err_code code;

    TRY(file_read(path, RECORD_BYTES_MAX, &text, err));
    code = json_parse(buf_str(&text), RECORD_BYTES_MAX, ret_document, err);
    if (code != OK)
        err_prefix(err, "%s", path);
    return code;
}

enum err_code end_record_read(const char *path, struct executor_look *ret_look, struct err *err)
{
    CLEANUP(json_release) json_t *document = NULL;
    struct executor_look look = {
        .phase = EXECUTOR_ENDED, .started_at = TIME_NONE, .ended_at = TIME_NONE};
    struct str image = STR(""), reason = STR("");
    int64_t exit_code = -1, exit_signal = 0;
    struct json_reader r;

    TRY(read_document(path, &document, err));
    json_reader_init(&r, document, "", err);
    json_take_time_opt(&r, "started_at", &look.started_at);
    json_take_time_opt(&r, "ended_at", &look.ended_at);
    json_take_i64(&r, "run_time_ms", -1, NUMBER_MAX, &look.run_time_ms);
    json_take_i64_opt(&r, "console_bytes", 0, NUMBER_MAX, &look.console_bytes);
    json_take_i64(&r, "exit_code", -1, EXIT_CODE_MAX, &exit_code);
    json_take_i64(&r, "exit_signal", 0, SIGNAL_MAX, &exit_signal);
#define X(name) json_take_bool_opt(&r, #name, &look.name);
    FLAGS(X)
#undef X
    json_take_text_opt(&r, "image", EXECUTOR_IMAGE_BYTES - 1, &image);
    json_take_text_opt(&r, "reason", EXECUTOR_REASON_BYTES - 1, &reason);
    TRY(json_reader_end(&r));
    look.exit_code = (int)exit_code;
    look.exit_signal = (int)exit_signal;
    (void)snprintf(look.image, sizeof(look.image), "%.*s", STR_ARG(image));
    (void)snprintf(look.reason, sizeof(look.reason), "%.*s", STR_ARG(reason));
    *ret_look = look;
    return OK;
}
