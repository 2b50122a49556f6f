/* Reading and writing the record of an attempt. All of it is our own writing; it is read as
 * strictly as anything else, because a disk may lie. */
#include "drivers/executor/process/attempt_files.h"

#include "base/json.h"
#include "drivers/common/end_record.h"
#include "sys/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#define RECORD_BYTES_MAX (16 * 1024 * 1024)
#define RESERVE_BYTES    65536
#define LIST_MAX         10000
#define CPUS_MAX         65536
#define NUMBER_MAX       INT64_C(9007199254740991)

void attempt_path(const char *folder, const char *name, char ret_path[ATTEMPT_PATH_BYTES])
{
    int len = snprintf(ret_path, ATTEMPT_PATH_BYTES, "%s/%s", folder, name);

    ENSURE(len > 0 && len < ATTEMPT_PATH_BYTES);
}

bool attempt_file_exists(const char *folder, const char *name)
{
    char path[ATTEMPT_PATH_BYTES];

    attempt_path(folder, name, path);
    return file_exists(path);
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

static void put_texts(struct json_writer *w, const char *key, const char *const *texts)
{
    json_put_key(w, key);
    json_begin_array(w);
    for (; *texts; texts++)
        json_put_text(w, *texts);
    json_end_array(w);
}

/* Writes what `w` has built into a file of the folder. */
static enum err_code record_write(const char *folder, const char *name, const struct buf *text,
                                  struct err *err)
{
    char path[ATTEMPT_PATH_BYTES];

    TRY(buf_check(text, name, err));
    attempt_path(folder, name, path);
    return file_write_atomic(path, buf_str(text), 0600, err);
}

static enum err_code record_read(const char *folder, const char *name, json_t **ret_document,
                                 struct err *err)
{
    CLEANUP(buf_release) struct buf text = {0};
    char path[ATTEMPT_PATH_BYTES];

    attempt_path(folder, name, path);
    TRY(file_read(path, RECORD_BYTES_MAX, &text, err));

    enum err_code code = json_parse(buf_str(&text), RECORD_BYTES_MAX, ret_document, err);

    if (code != OK)
        err_prefix(err, "%s", path);
    return code;
}

enum err_code attempt_spec_write(const char *folder, const struct executor_spec *spec,
                                 const struct attempt_user *user, struct err *err)
{
    CLEANUP(buf_release) struct buf text = {0};
    struct json_writer w;

    buf_init(&text, RECORD_BYTES_MAX);
    json_writer_init(&w, &text);
    json_begin_object(&w);
    json_put_key(&w, "attempt");
    json_put_str(&w, id_str(&spec->attempt));
    put_texts(&w, "argv", spec->argv);
    put_texts(&w, "env", spec->env);
    json_put_key(&w, "work_dir");
    json_put_text(&w, spec->work_dir);
    put_i64(&w, "timeout_s", spec->timeout_s);
    put_i64(&w, "grace_s", spec->grace_s);
    put_i64(&w, "memory_bytes", spec->memory_bytes);
    put_i64(&w, "cpus", spec->cpus);
    put_i64(&w, "pids", spec->pids);
    put_i64(&w, "disk_bytes", spec->disk_bytes);
    put_i64(&w, "console_bytes_max", spec->console_bytes_max);
    put_bool(&w, "set_user", user->set);
    put_i64(&w, "uid", (int64_t)user->uid);
    put_i64(&w, "gid", (int64_t)user->gid);
    json_end_object(&w);
    return record_write(folder, "spec.json", &text, err);
}

static enum err_code copy_texts(struct arena *arena, json_t *array, const char *const **ret_texts,
                                struct err *err)
{
    size_t count = json_array_size(array);
    const char **texts = arena_array(arena, count + 1, sizeof(texts[0]));

    for (size_t i = 0; i < count; i++) {
        json_t *text = json_array_get(array, i);

        if (!json_is_string(text))
            return err_set(err, ERR_INVALID, "a list in spec.json holds what is no text");
        texts[i] = arena_text(arena, str_n(json_string_value(text), json_string_length(text)));
    }
    *ret_texts = texts;
    return OK;
}

enum err_code attempt_spec_read(struct arena *arena, const char *folder,
                                struct executor_spec *ret_spec, struct attempt_user *ret_user,
                                struct err *err)
{
    CLEANUP(json_release) json_t *document = NULL;
    struct executor_spec spec = {0};
    struct json_reader r;
    struct str attempt = {0}, work_dir = {0};
    json_t *argv = NULL, *env = NULL;
    int64_t uid = 0, gid = 0;
    bool set_user = false;

    TRY(record_read(folder, "spec.json", &document, err));
    json_reader_init(&r, document, "", err);
    json_take_text(&r, "attempt", ID_LEN, &attempt);
    json_take_array_opt(&r, "argv", LIST_MAX, &argv);
    json_take_array_opt(&r, "env", LIST_MAX, &env);
    json_take_text(&r, "work_dir", ATTEMPT_PATH_BYTES, &work_dir);
    json_take_i64(&r, "timeout_s", 0, NUMBER_MAX, &spec.timeout_s);
    json_take_i64(&r, "grace_s", 0, NUMBER_MAX, &spec.grace_s);
    json_take_i64(&r, "memory_bytes", 0, NUMBER_MAX, &spec.memory_bytes);
    json_take_i64_opt(&r, "cpus", 0, CPUS_MAX, &spec.cpus);
    json_take_i64_opt(&r, "pids", 0, NUMBER_MAX, &spec.pids);
    json_take_i64_opt(&r, "disk_bytes", 0, NUMBER_MAX, &spec.disk_bytes);
    json_take_i64_opt(&r, "console_bytes_max", 0, NUMBER_MAX, &spec.console_bytes_max);
    json_take_bool_opt(&r, "set_user", &set_user);
    json_take_i64(&r, "uid", 0, UINT32_MAX, &uid);
    json_take_i64(&r, "gid", 0, UINT32_MAX, &gid);
    TRY(json_reader_end(&r));
    if (!id_parse(attempt, ID_ATTEMPT, &spec.attempt) || json_array_size(argv) == 0)
        return err_set(err, ERR_INVALID, "spec.json has no attempt or no program");
    TRY(copy_texts(arena, argv, &spec.argv, err));
    TRY(copy_texts(arena, env, &spec.env, err));
    spec.work_dir = arena_text(arena, work_dir);
    *ret_user = (struct attempt_user){set_user, (uid_t)uid, (gid_t)gid};
    *ret_spec = spec;
    return OK;
}

enum err_code attempt_process_write(const char *folder, const char *name,
                                    const struct process *process, time_ms at, struct err *err)
{
    CLEANUP(buf_release) struct buf text = {0};
    struct json_writer w;

    buf_init(&text, 1024);
    json_writer_init(&w, &text);
    json_begin_object(&w);
    put_i64(&w, "pid", process->pid);
    put_i64(&w, "start_ticks", process->start_ticks);
    json_put_key(&w, "at");
    json_put_time(&w, at);
    json_end_object(&w);
    return record_write(folder, name, &text, err);
}

enum err_code attempt_process_read(const char *folder, const char *name,
                                   struct process *ret_process, time_ms *ret_at, struct err *err)
{
    CLEANUP(json_release) json_t *document = NULL;
    struct json_reader r;
    int64_t pid = 0, ticks = 0;

    TRY(record_read(folder, name, &document, err));
    json_reader_init(&r, document, "", err);
    json_take_i64(&r, "pid", 2, INT32_MAX, &pid);
    json_take_i64(&r, "start_ticks", 0, NUMBER_MAX, &ticks);
    json_take_time_opt(&r, "at", ret_at);
    TRY(json_reader_end(&r));
    *ret_process = (struct process){.pid = (pid_t)pid, .start_ticks = ticks};
    return OK;
}

enum err_code attempt_reserve_make(const char *folder, struct err *err)
{
    char path[ATTEMPT_PATH_BYTES];
    int code;

    attempt_path(folder, "reserve", path);

    CLEANUP(file_close) int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);

    code = fd < 0 ? errno : posix_fallocate(fd, 0, RESERVE_BYTES);
    return code ? err_set_errno(err, ERR_IO, code, "cannot reserve %s", path) : OK;
}

enum err_code attempt_exit_write(const char *folder, const struct executor_look *look,
                                 struct err *err)
{
    char path[ATTEMPT_PATH_BYTES];

    attempt_path(folder, "reserve", path);
    (void)unlink(path); /* gone before: there was room then */
    attempt_path(folder, "exit.json", path);
    return end_record_write(path, look, err);
}

enum err_code attempt_exit_read(const char *folder, struct executor_look *ret_look, struct err *err)
{
    char path[ATTEMPT_PATH_BYTES];

    attempt_path(folder, "exit.json", path);
    return end_record_read(path, ret_look, err);
}
