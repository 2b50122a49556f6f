/* The record as JSON files. */
#include "drivers/executor/kubernetes/pod_record.h"

#include "base/json.h"
#include "drivers/common/end_record.h"
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

enum err_code pod_exit_write(const char *folder, const struct executor_look *look, struct err *err)
{
    char path[PATH_BYTES];

    path_of(folder, "exit.json", path);
    return end_record_write(path, look, err);
}

enum err_code pod_exit_read(const char *folder, struct executor_look *ret_look, struct err *err)
{
    char path[PATH_BYTES];

    path_of(folder, "exit.json", path);
    return end_record_read(path, ret_look, err);
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
