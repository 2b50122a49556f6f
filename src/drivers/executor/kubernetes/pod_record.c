/* The record as JSON files. */
#include "drivers/executor/kubernetes/pod_record.h"

#include "base/json.h"
#include "sys/file.h"

#include <stdio.h>

#define RECORD_BYTES_MAX 16384
#define PATH_BYTES       (POD_FOLDER_BYTES + 32)

static void path_of(const char *folder, const char *name, char ret_path[PATH_BYTES])
{
    (void)snprintf(ret_path, PATH_BYTES, "%s/%s", folder, name);
}

static enum err_code write_json(const char *folder, const char *name, json_t *value,
                                struct err *err)
{
    CLEANUP(buf_release) struct buf text = {0};
    char path[PATH_BYTES];
    struct json_writer w;

    buf_init(&text, RECORD_BYTES_MAX);
    json_writer_init(&w, &text);
    json_put_value(&w, value);
    json_decref(value);
    TRY(buf_check(&text, name, err));
    path_of(folder, name, path);
    return file_write_atomic(path, buf_str(&text), 0600, err);
}

static enum err_code read_json(const char *folder, const char *name, json_t **ret_value,
                               struct err *err)
{
    CLEANUP(buf_release) struct buf text = {0};
    char path[PATH_BYTES];

    path_of(folder, name, path);
    TRY(file_read(path, RECORD_BYTES_MAX, &text, err));
    return json_parse(buf_str(&text), RECORD_BYTES_MAX, ret_value, err);
}

static int64_t number_in(const json_t *object, const char *name)
{
    return json_integer_value(json_object_get(object, name));
}

static bool flag_in(const json_t *object, const char *name)
{
    return json_is_true(json_object_get(object, name));
}

enum err_code pod_record_write(const char *folder, const struct pod_record *record, struct err *err)
{
    return write_json(folder, "pod.json",
                      json_pack("{s:I, s:I, s:I, s:b}", "grace_s", (json_int_t)record->grace_s,
                                "timeout_s", (json_int_t)record->timeout_s, "console_bytes_max",
                                (json_int_t)record->console_bytes_max, "released",
                                record->released),
                      err);
}

enum err_code pod_record_read(const char *folder, struct pod_record *ret_record, struct err *err)
{
    CLEANUP(json_release) json_t *value = NULL;

    TRY(read_json(folder, "pod.json", &value, err));
    *ret_record = (struct pod_record){.grace_s = number_in(value, "grace_s"),
                                      .timeout_s = number_in(value, "timeout_s"),
                                      .console_bytes_max = number_in(value, "console_bytes_max"),
                                      .released = flag_in(value, "released")};
    return OK;
}

static json_t *time_value(time_ms at)
{
    return at == TIME_NONE ? json_null() : json_integer(at);
}

static time_ms time_in(const json_t *object, const char *name)
{
    const json_t *value = json_object_get(object, name);

    return json_is_integer(value) ? json_integer_value(value) : TIME_NONE;
}

static json_t *line_value(const char *text)
{
    json_t *value = json_string(text);

    return value ? value : json_string("(not text)");
}

enum err_code pod_exit_write(const char *folder, const struct executor_look *look, struct err *err)
{
    json_t *value = json_pack(
        "{s:o, s:o, s:I, s:I, s:i, s:i, s:b, s:b, s:b, s:b, s:b, s:b, s:o, s:o}", "started_at",
        time_value(look->started_at), "ended_at", time_value(look->ended_at), "run_time_ms",
        (json_int_t)look->run_time_ms, "console_bytes", (json_int_t)look->console_bytes,
        "exit_code", look->exit_code, "exit_signal", look->exit_signal, "oom", look->oom,
        "timed_out", look->timed_out, "failed_to_start", look->failed_to_start, "was_stopped",
        look->was_stopped, "image_failed", look->image_failed, "disk_full", look->disk_full,
        "image", line_value(look->image), "reason", line_value(look->reason));

    return write_json(folder, "exit.json", value, err);
}

enum err_code pod_exit_read(const char *folder, struct executor_look *ret_look, struct err *err)
{
    CLEANUP(json_release) json_t *value = NULL;
    const char *image, *reason;

    TRY(read_json(folder, "exit.json", &value, err));
    image = json_string_value(json_object_get(value, "image"));
    reason = json_string_value(json_object_get(value, "reason"));
    *ret_look = (struct executor_look){.phase = EXECUTOR_ENDED,
                                       .started_at = time_in(value, "started_at"),
                                       .ended_at = time_in(value, "ended_at"),
                                       .run_time_ms = number_in(value, "run_time_ms"),
                                       .console_bytes = number_in(value, "console_bytes"),
                                       .exit_code = (int)number_in(value, "exit_code"),
                                       .exit_signal = (int)number_in(value, "exit_signal"),
                                       .oom = flag_in(value, "oom"),
                                       .timed_out = flag_in(value, "timed_out"),
                                       .failed_to_start = flag_in(value, "failed_to_start"),
                                       .was_stopped = flag_in(value, "was_stopped"),
                                       .image_failed = flag_in(value, "image_failed"),
                                       .disk_full = flag_in(value, "disk_full")};
    (void)snprintf(ret_look->image, sizeof(ret_look->image), "%s", image ? image : "");
    (void)snprintf(ret_look->reason, sizeof(ret_look->reason), "%s", reason ? reason : "");
    return OK;
}

bool pod_mark_is_set(const char *folder, const char *name)
{
    char path[PATH_BYTES];

    path_of(folder, name, path);
    return file_exists(path);
}

enum err_code pod_mark_set(const char *folder, const char *name, struct err *err)
{
    char path[PATH_BYTES];

    path_of(folder, name, path);
    return file_write_atomic(path, STR(""), 0600, err);
}
