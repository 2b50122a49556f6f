/* Backup, restore, check.
 *
 * A backup is a folder: euvyra.db, blobs/ as in a data folder, backup.json. The database is copied
 * first; files are written before the rows that name them, so every file of the copied rows is
 * there. Files are copied through the port, which checks their digest both times. */
#include "server/maintain.h"

#include "base/json.h"
#include "crypto/digest.h"
#include "domain/jobs/jobs_replay.h"
#include "drivers/blob/fs/blob_fs.h"
#include "server/server_impl.h"
#include "store/store_maintain.h"
#include "sys/clock.h"
#include "sys/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#define BACKUP_FORMAT     1
#define COPY_BYTES        1048576
#define BACKUP_NOTE_BYTES 65536

#define DATABASE "euvyra.db"
#define NOTE     "backup.json"
#define BLOBS    "blobs"
#define MARK     "installation" /* in the folder of files: whose they are */

static void close_blobs(struct blob_fs **fs)
{
    blob_fs_free(*fs);
}

static const char *in(struct arena *arena, const char *folder, const char *name)
{
    return arena_printf(arena, "%s/%s", folder, name);
}

static const char *blobs_of(const struct server_options *options, struct arena *arena)
{
    return options->blobs_dir ? options->blobs_dir : in(arena, options->data_dir, BLOBS);
}

/* Bytes and their digest; `to` may be -1: only the digest. */
static enum err_code pour(int from, int to, const char *what, char ret_digest[SHA256_HEX_BYTES],
                          struct err *err)
{
    struct sha256_state *sha = sha256_new();
    CLEANUP(buf_release) struct buf space = {0};
    uint8_t digest[SHA256_BYTES];
    enum err_code code = OK;
    ssize_t n = 1;

    buf_init(&space, COPY_BYTES + 1);
    while (code == OK && n > 0) {
        char *part = buf_reserve(&space, COPY_BYTES);
        n = read(from, part, COPY_BYTES);
        if (n < 0)
            code = err_set_errno(err, ERR_IO, errno, "%s", what);
        if (n > 0)
            sha256_add(sha, part, (size_t)n);
        if (n > 0 && to >= 0)
            code = file_write_all(to, part, (size_t)n, err);
    }
    sha256_finish(sha, digest);
    hex_encode(digest, SHA256_BYTES, ret_digest);
    return code;
}

static enum err_code digest_of(const char *path, char ret_digest[SHA256_HEX_BYTES], struct err *err)
{
    CLEANUP(file_close) int fd = open(path, O_RDONLY | O_CLOEXEC);

    if (fd < 0)
        return err_set_errno(err, ERR_IO, errno, "%s", path);
    return pour(fd, -1, path, ret_digest, err);
}

static enum err_code copy_file(const char *from_path, const char *to_path,
                               char ret_digest[SHA256_HEX_BYTES], struct err *err)
{
    CLEANUP(file_close) int from = open(from_path, O_RDONLY | O_CLOEXEC);
    CLEANUP(file_close) int to = -1;

    if (from < 0)
        return err_set_errno(err, ERR_IO, errno, "%s", from_path);
    to = open(to_path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (to < 0)
        return err_set_errno(err, ERR_IO, errno, "%s", to_path);
    TRY(pour(from, to, from_path, ret_digest, err));
    if (fsync(to) != 0)
        return err_set_errno(err, ERR_IO, errno, "%s", to_path);
    return OK;
}

struct copying {
    struct blob_port from, to;
    int64_t count, bytes;
};

static enum err_code copy_blob(void *ctx, const char *digest, int64_t bytes, struct err *err)
{
    struct copying *c = ctx;
    CLEANUP(file_close) int fd = -1;
    int64_t have = 0;

    TRY(c->from.open(c->from.ctx, digest, &fd, &have, err));
    if (have != bytes)
        return err_set(err, ERR_IO, "the file %s has %lld bytes, not %lld", digest, (long long)have,
                       (long long)bytes);
    if (c->to.put(c->to.ctx, fd, bytes, digest, err) != OK) {
        err_prefix(err, "the file %s", digest);
        return err ? err->code : ERR_IO;
    }
    c->count++;
    c->bytes += bytes;
    return OK;
}

/* All files that the database at `path` names. */
static enum err_code copy_blobs(const char *path, const char *from_dir, const char *to_dir,
                                struct copying *c, struct err *err)
{
    CLEANUP(close_blobs) struct blob_fs *from = NULL, *to = NULL;
    CLEANUP(store_close) struct store store = {0};
    CLEANUP(arena_release) struct arena arena = {0};
    struct store_blob_walk walk = {c, copy_blob};
    char unused[SHA256_HEX_BYTES];

    TRY(blob_fs_new(from_dir, &from, err));
    TRY(blob_fs_new(to_dir, &to, err));
    c->from = blob_fs_port(from);
    c->to = blob_fs_port(to);
    TRY(store_open(&store, path, false, err));
    TRY(store_blob_walk(&store, &walk, err));
    if (file_exists(in(&arena, from_dir, MARK)))
        TRY(copy_file(in(&arena, from_dir, MARK), in(&arena, to_dir, MARK), unused, err));
    return file_sync_dir(to_dir, err);
}

static enum err_code write_note(const char *folder, const char *digest, const struct copying *c,
                                struct err *err)
{
    CLEANUP(arena_release) struct arena arena = {0};
    CLEANUP(buf_release) struct buf out = {0};
    struct json_writer w;

    buf_init(&out, BACKUP_NOTE_BYTES);
    json_writer_init(&w, &out);
    json_begin_object(&w);
    json_put_key(&w, "format");
    json_put_i64(&w, BACKUP_FORMAT);
    json_put_key(&w, "version");
    json_put_text(&w, EUVYRA_VERSION);
    json_put_key(&w, "schema");
    json_put_i64(&w, store_schema_newest());
    json_put_key(&w, "made_at");
    json_put_time(&w, clock_wall_ms());
    json_put_key(&w, "database_sha256");
    json_put_text(&w, digest);
    json_put_key(&w, "files");
    json_put_i64(&w, c->count);
    json_put_key(&w, "file_bytes");
    json_put_i64(&w, c->bytes);
    json_end_object(&w);
    (void)buf_add_char(&out, '\n');
    return file_write_atomic(in(&arena, folder, NOTE), buf_str(&out), 0600, err);
}

static enum err_code fill_backup(const struct server_options *options, const char *folder,
                                 struct copying *c, struct err *err)
{
    CLEANUP(arena_release) struct arena arena = {0};
    CLEANUP(store_close) struct store store = {0};
    const char *where =
        options->database ? options->database : in(&arena, options->data_dir, DATABASE);
    const char *copy = in(&arena, folder, DATABASE);
    char digest[SHA256_HEX_BYTES];

    TRY(store_open(&store, where, false, err));
    TRY(store_schema_check(&store, err));
    TRY(store_copy(&store, copy, err));
    TRY(copy_blobs(copy, blobs_of(options, &arena), in(&arena, folder, BLOBS), c, err));
    TRY(digest_of(copy, digest, err));
    TRY(file_sync_dir(folder, err));
    return write_note(folder, digest, c, err);
}

/* Reading a database in WAL mode makes these beside it; they are empty and belong to no copy. */
static void drop_leftovers(const char *folder)
{
    CLEANUP(arena_release) struct arena arena = {0};

    (void)unlink(in(&arena, folder, DATABASE "-shm")); /* best effort: the next reader copes */
    (void)unlink(in(&arena, folder, DATABASE "-wal"));
}

enum err_code maintain_backup(const struct server_options *options, const char *to, struct err *err)
{
    CLEANUP(arena_release) struct arena arena = {0};
    const char *part = arena_printf(&arena, "%s.partial", to);
    struct copying c = {0};
    enum err_code code;

    if (file_exists(to))
        return err_set(err, ERR_CONFLICT, "%s exists already; a backup makes its folder", to);
    if (!options->database && !file_exists(in(&arena, options->data_dir, DATABASE)))
        return err_set(err, ERR_NOT_FOUND, "there is no data in %s", options->data_dir);
    TRY(file_remove_tree(part, err));
    TRY(file_make_dirs(part, 0700, err));
    code = fill_backup(options, part, &c, err);
    drop_leftovers(part);
    if (code == OK && rename(part, to) != 0)
        code = err_set_errno(err, ERR_IO, errno, "%s", to);
    if (code != OK) { /* a leftover would be removed by the next backup */
        struct err why;
        if (file_remove_tree(part, &why) != OK)
            fprintf(stderr, "%s\n", why.text);
        return code;
    }
    printf("backup is whole: %s, %lld files of %lld bytes\n", to, (long long)c.count,
           (long long)c.bytes);
    return OK;
}

static enum err_code read_note(const char *folder, struct arena *arena, struct str *ret_digest,
                               struct err *err)
{
    CLEANUP(buf_release) struct buf text = {0};
    CLEANUP(json_release) json_t *note = NULL;
    const char *digest;
    json_int_t format, schema;

    if (file_read(in(arena, folder, NOTE), BACKUP_NOTE_BYTES, &text, err) != OK) {
        err_hint(err, "a backup is a folder that euvyrad backup made");
        return err ? err->code : ERR_IO;
    }
    TRY(json_parse(buf_str(&text), BACKUP_NOTE_BYTES, &note, err));
    format = json_integer_value(json_object_get(note, "format"));
    schema = json_integer_value(json_object_get(note, "schema"));
    digest = json_string_value(json_object_get(note, "database_sha256"));
    if (format != BACKUP_FORMAT || schema > store_schema_newest() || !digest)
        return err_set(err, ERR_CONFLICT,
                       "the backup has format %lld and schema %lld, this program knows %d and %d",
                       (long long)format, (long long)schema, BACKUP_FORMAT, store_schema_newest());
    *ret_digest = arena_copy(arena, str_from(digest));
    return OK;
}

static enum err_code fill_data(const char *from, const char *data, const char *blobs,
                               struct str wanted, struct err *err)
{
    CLEANUP(arena_release) struct arena arena = {0};
    const char *part = in(&arena, data, DATABASE ".partial");
    const char *final = in(&arena, data, DATABASE);
    char digest[SHA256_HEX_BYTES];
    struct copying c = {0};

    (void)unlink(part); /* of a restore that was cut short */
    TRY(copy_file(in(&arena, from, DATABASE), part, digest, err));
    if (!str_eq_c(wanted, digest)) {
        (void)unlink(part);
        return err_set(err, ERR_IO, "the database of the backup is damaged: its digest is %s",
                       digest);
    }
    (void)unlink(in(&arena, blobs, MARK));
    TRY(copy_blobs(part, in(&arena, from, BLOBS), blobs, &c, err));
    (void)unlink(in(&arena, data, DATABASE ".partial-shm"));
    (void)unlink(in(&arena, data, DATABASE ".partial-wal"));
    if (rename(part, final) != 0)
        return err_set_errno(err, ERR_IO, errno, "%s", final);
    TRY(file_sync_dir(data, err));
    printf("restored into %s: the database and %lld files of %lld bytes\n", data,
           (long long)c.count, (long long)c.bytes);
    return OK;
}

enum err_code maintain_restore(const struct server_options *options, const char *from,
                               struct err *err)
{
    CLEANUP(arena_release) struct arena arena = {0};
    CLEANUP(file_close) int lock = -1;
    struct str digest;

    if (options->database)
        return err_set(err, ERR_UNPROCESSABLE,
                       "a backup is restored into a data folder, not into "
                       "PostgreSQL");
    TRY(read_note(from, &arena, &digest, err));
    TRY(file_make_dirs(options->data_dir, 0700, err));
    TRY(file_lock(in(&arena, options->data_dir, "lock"), &lock, err));
    if (file_exists(in(&arena, options->data_dir, DATABASE)) ||
        file_exists(in(&arena, options->data_dir, "uses-postgresql"))) {
        (void)err_set(err, ERR_CONFLICT, "%s holds data already", options->data_dir);
        err_hint(err, "restore into a new folder, or move the old one away");
        return ERR_CONFLICT;
    }
    return fill_data(from, options->data_dir, blobs_of(options, &arena), digest, err);
}

struct checking {
    struct blob_port blobs;
    int64_t faults, files;
};

static void tell_fault(void *ctx, const char *text)
{
    struct checking *c = ctx;

    c->faults++;
    printf("fault: ");
    for (const char *at = text; *at; at++)
        putchar((unsigned char)*at < 0x20 ? '?' : *at);
    putchar('\n');
}

static enum err_code check_blob(void *ctx, const char *digest, int64_t bytes, struct err *err)
{
    CLEANUP(file_close) int fd = -1;
    struct checking *c = ctx;
    char found[SHA256_HEX_BYTES], text[300];
    int64_t have = 0;
    struct err problem;

    (void)err;
    c->files++;
    if (c->blobs.open(c->blobs.ctx, digest, &fd, &have, &problem) != OK ||
        pour(fd, -1, digest, found, &problem) != OK)
        snprintf(text, sizeof text, "file %s: %.200s", digest, problem.text);
    else if (have != bytes)
        snprintf(text, sizeof text, "file %s: has %lld bytes, not %lld", digest, (long long)have,
                 (long long)bytes);
    else if (!str_eq_c(str_from(digest), found))
        snprintf(text, sizeof text, "file %s: its bytes have the digest %s", digest, found);
    else
        return OK;
    tell_fault(c, text);
    return OK;
}

enum err_code maintain_check(const struct server_options *options, int64_t *ret_faults,
                             struct err *err)
{
    CLEANUP(arena_release) struct arena arena = {0};
    CLEANUP(close_blobs) struct blob_fs *blobs = NULL;
    CLEANUP(store_close) struct store store = {0};
    const char *where =
        options->database ? options->database : in(&arena, options->data_dir, DATABASE);
    struct store_check_counts counts = {0};
    struct checking c = {0};
    struct store_fault_sink sink = {&c, tell_fault};
    struct store_blob_walk walk = {&c, check_blob};
    struct jobs_replay_sink replay = {&c, tell_fault};
    int64_t jobs = 0;

    if (!options->database && !file_exists(where))
        return err_set(err, ERR_NOT_FOUND, "there is no data in %s", options->data_dir);
    TRY(store_open(&store, where, false, err));
    TRY(store_schema_check(&store, err));
    TRY(blob_fs_new(blobs_of(options, &arena), &blobs, err));
    c.blobs = blob_fs_port(blobs);
    TRY(store_check_database(&store, &sink, err));
    TRY(store_begin_read(&store, err)); /* logs and chunks of one moment */
    TRY(store_check_logs(&store, &sink, &counts, err));
    TRY(store_check_chunks(&store, &sink, &counts, err));
    TRY(jobs_replay_all(&store, &replay, &jobs, err));
    TRY(store_blob_walk(&store, &walk, err));
    store_rollback(&store);
    printf("checked %lld logs (%lld parts), %lld chunks, %lld pyramid rows, %lld jobs, %lld files: "
           "%s\n",
           (long long)counts.writers, (long long)counts.log_blobs, (long long)counts.chunks,
           (long long)counts.levels, (long long)jobs, (long long)c.files,
           c.faults ? "faults" : "no fault");
    *ret_faults = c.faults;
    return OK;
}
