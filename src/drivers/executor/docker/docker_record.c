/* Small files, written whole. */
#include "drivers/executor/docker/docker_record.h"

#include "base/json.h"
#include "drivers/common/end_record.h"
#include "sys/file.h"

#include <stdio.h>

#define RECORD_BYTES_MAX (64 * 1024)

void docker_path(const char *folder, const char *name, char ret_path[DOCKER_PATH_BYTES])
{
    (void)snprintf(ret_path, DOCKER_PATH_BYTES, "%s/%s", folder, name);
}

static enum err_code write_text(const char *folder, const char *name, const struct buf *text,
                                struct err *err)
{
    char path[DOCKER_PATH_BYTES];

    docker_path(folder, name, path);
    TRY(buf_check(text, name, err));
    return file_write_atomic(path, buf_str(text), 0600, err);
}

static enum err_code read_json(const char *folder, const char *name, json_t **ret_document,
                               struct err *err)
{
    CLEANUP(buf_release) struct buf text = {0};
    char path[DOCKER_PATH_BYTES];

    docker_path(folder, name, path);
    TRY(file_read(path, RECORD_BYTES_MAX, &text, err));
    return json_parse(buf_str(&text), RECORD_BYTES_MAX, ret_document, err);
}

static void put_i64(struct json_writer *w, const char *key, int64_t value)
{
    json_put_key(w, key);
    json_put_i64(w, value);
}

static void put_bool(struct json_writer *w, const char *key, bool value)
{
    json_put_key(w, key);
    json_put_bool(w, value);
}

static void put_text(struct json_writer *w, const char *key, const char *value)
{
    json_put_key(w, key);
    json_put_text(w, value);
}

static void copy_text(char *out, size_t size, struct str text)
{
    (void)snprintf(out, size, "%.*s", STR_ARG(text));
}

enum err_code docker_record_write(const char *folder, const struct docker_record *record,
                                  struct err *err)
{
    CLEANUP(buf_release) struct buf text = {0};
    struct json_writer w;

    buf_init(&text, RECORD_BYTES_MAX);
    json_writer_init(&w, &text);
    json_begin_object(&w);
    put_i64(&w, "timeout_s", record->timeout_s);
    put_i64(&w, "grace_s", record->grace_s);
    put_i64(&w, "console_bytes_max", record->console_bytes_max);
    put_i64(&w, "rank", record->rank);
    put_i64(&w, "node_count", record->node_count);
    put_i64(&w, "disk_bytes", record->disk_bytes);
    put_text(&w, "image", record->image);
    put_bool(&w, "disk_full", record->disk_full);
    put_bool(&w, "started", record->started);
    put_bool(&w, "timed_out", record->timed_out);
    json_end_object(&w);
    return write_text(folder, "docker.json", &text, err);
}

enum err_code docker_record_read(const char *folder, struct docker_record *ret_record,
                                 struct err *err)
{
    CLEANUP(json_release) json_t *document = NULL;
    struct docker_record record = {.node_count = 1};
    struct str image = STR("");
    struct json_reader r;

    TRY(read_json(folder, "docker.json", &document, err));
    json_reader_init(&r, document, "", err);
    json_take_i64(&r, "timeout_s", 0, INT64_MAX, &record.timeout_s);
    json_take_i64(&r, "grace_s", 0, INT64_MAX, &record.grace_s);
    json_take_i64(&r, "console_bytes_max", 0, INT64_MAX, &record.console_bytes_max);
    json_take_i64_opt(&r, "rank", 0, JOB_NODES_MAX, &record.rank);
    json_take_i64_opt(&r, "node_count", 1, JOB_NODES_MAX, &record.node_count);
    json_take_text_opt(&r, "image", EXECUTOR_IMAGE_BYTES - 1, &image);
    json_take_i64_opt(&r, "disk_bytes", 0, INT64_MAX, &record.disk_bytes);
    json_take_bool_opt(&r, "disk_full", &record.disk_full);
    json_take_bool_opt(&r, "started", &record.started);
    json_take_bool_opt(&r, "timed_out", &record.timed_out);
    TRY(json_reader_end_open(&r));
    copy_text(record.image, sizeof(record.image), image);
    *ret_record = record;
    return OK;
}

enum err_code docker_end_write(const char *folder, const struct executor_look *look,
                               struct err *err)
{
    char path[DOCKER_PATH_BYTES];

    docker_path(folder, "ended.json", path);
    return end_record_write(path, look, err);
}

enum err_code docker_end_read(const char *folder, struct executor_look *ret_look, struct err *err)
{
    char path[DOCKER_PATH_BYTES];

    docker_path(folder, "ended.json", path);
    return end_record_read(path, ret_look, err);
}

enum err_code docker_request_write(const char *folder, const char *name, time_ms at,
                                   struct err *err)
{
    CLEANUP(buf_release) struct buf text = {0};

    if (docker_request_read(folder, name) != TIME_NONE)
        return OK;
    buf_init(&text, 64);
    (void)buf_printf(&text, "%lld", (long long)at);
    return write_text(folder, name, &text, err);
}

time_ms docker_request_read(const char *folder, const char *name)
{
    CLEANUP(buf_release) struct buf text = {0};
    char path[DOCKER_PATH_BYTES];
    int64_t at;

    docker_path(folder, name, path);
    if (file_read(path, 64, &text, NULL) != OK || !str_to_i64(buf_str(&text), &at))
        return TIME_NONE;
    return at;
}
