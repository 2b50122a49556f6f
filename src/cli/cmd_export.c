/* euvyra export and import: runs as files that hold everything.
 *
 * A folder has project.json, runs/RUN.jsonl (a line a row) and files/DIGEST. Each file has its name
 * only when it is whole, so an export that breaks off goes on where it stopped. */
#include "base/mem.h"
#include "cli/cli.h"
#include "crypto/digest.h"
#include "sys/file.h"
#include "sys/random.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define RUNS_MAX          1000000
#define PART_BYTES_MAX    (64u * 1024 * 1024)
#define SEND_BYTES_GOAL   1048576
#define SEND_LINES_MAX    10000
#define LINE_BYTES_MAX    (24u * 1024 * 1024)
#define PROJECT_BYTES_MAX 65536
#define ATTEMPTS_MAX      5

struct exporting {
    struct cli *cli;
    const char *dir, *project;
    int64_t files;
};

static void close_file(FILE **file)
{
    if (*file)
        (void)fclose(*file); /* what matters was flushed and checked */
}

static enum err_code fetch(struct cli *cli, const char *path, int answer_fd,
                           struct http_client_answer *ret_answer, struct err *err)
{
    struct http_client_request request = {.method = "GET",
                                          .path = path,
                                          .answer_bytes_max = PART_BYTES_MAX,
                                          .answer_fd = answer_fd,
                                          .timeout_ms = 600000};
    enum err_code code;

    TRY(cli_connect(cli, err));
    TRY(http_client_send(cli->client, &request, ret_answer, err));
    if (ret_answer->status / 100 == 2)
        return OK;
    code = http_client_answer_error(ret_answer, err);
    http_client_answer_release(ret_answer);
    return code;
}

/* A file that the run refers to, where the server has it. */
static enum err_code export_file(struct exporting *e, const json_t *line, struct err *err)
{
    CLEANUP(json_release) json_t *detail = NULL;
    CLEANUP(file_close) int fd = -1;
    struct http_client_answer answer = {0};
    const char *text = json_string_value(json_object_get(line, "detail")), *digest, *path, *part;
    uint8_t bytes[SHA256_BYTES];
    enum err_code code;

    if (!text || json_parse(str_from(text), LINE_BYTES_MAX, &detail, NULL) != OK)
        return OK;
    digest = json_string_value(json_object_get(detail, "sha256"));
    if (!digest || !hex_decode(str_from(digest), bytes, sizeof bytes))
        return OK;
    path = arena_printf(&e->cli->arena, "%s/files/%s", e->dir, digest);
    if (file_exists(path))
        return OK;
    part = arena_printf(&e->cli->arena, "%s.partial", path);
    fd = open(part, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    if (fd < 0)
        return err_set_errno(err, ERR_IO, errno, "%s", part);
    code = fetch(e->cli,
                 arena_printf(&e->cli->arena, "/api/v1/projects/%s/blobs/%s", e->project, digest),
                 fd, &answer, err);
    http_client_answer_release(&answer);
    if (code == OK && fsync(fd) == 0 && rename(part, path) == 0) {
        e->files++;
        return OK;
    }
    (void)unlink(part); /* best effort */
    return code == OK              ? err_set_errno(err, ERR_IO, errno, "%s", path)
           : code == ERR_NOT_FOUND ? OK /* the run's folder has it, the server never got it */
                                   : code;
}

/* Writes the lines of a part but its marker. *ret_cursor: NULL at the end. */
static enum err_code take_part(struct exporting *e, struct str part, FILE *file,
                               const char **ret_cursor, struct err *err)
{
    struct str text;

    *ret_cursor = NULL;
    while (part.len) {
        CLEANUP(json_release) json_t *line = NULL;
        bool is_file;
        (void)str_cut(&part, '\n', &text);
        is_file = str_starts(text, STR("{\"t\":\"file\""));
        if (str_starts(text, STR("{\"t\":\"more\"")) || is_file)
            TRY(json_parse(text, LINE_BYTES_MAX, &line, err));
        if (line && !is_file) {
            *ret_cursor = arena_text(&e->cli->arena,
                                     str_from(json_string_value(json_object_get(line, "cursor"))));
            return OK;
        }
        if (is_file)
            TRY(export_file(e, line, err));
        if (fwrite(text.data, 1, text.len, file) != text.len || fputc('\n', file) == EOF)
            return err_set_errno(err, ERR_IO, errno, "the export");
    }
    return OK;
}

static enum err_code write_run(struct exporting *e, const char *run, const char *part,
                               struct err *err)
{
    CLEANUP(close_file) FILE *file = fopen(part, "we");
    const char *cursor = "";

    if (!file)
        return err_set_errno(err, ERR_IO, errno, "%s", part);
    while (cursor) {
        struct http_client_answer answer = {0};
        enum err_code code;
        TRY(fetch(e->cli,
                  arena_printf(&e->cli->arena, "/api/v1/runs/%s/export%s%s", run,
                               *cursor ? "?cursor=" : "", cursor),
                  -1, &answer, err));
        code = take_part(e, buf_str(&answer.body), file, &cursor, err);
        http_client_answer_release(&answer);
        TRY(code);
    }
    if (fflush(file) != 0 || fsync(fileno(file)) != 0)
        return err_set_errno(err, ERR_IO, errno, "%s", part);
    return OK;
}

static enum err_code export_run(struct exporting *e, const char *run, struct err *err)
{
    const char *path = arena_printf(&e->cli->arena, "%s/runs/%s.jsonl", e->dir, run);
    const char *part = arena_printf(&e->cli->arena, "%s.partial", path);
    enum err_code code = ERR_CONFLICT;

    if (file_exists(path))
        return OK;
    for (int i = 0; i < ATTEMPTS_MAX && code == ERR_CONFLICT; i++) /* it was written to meanwhile */
        code = write_run(e, run, part, err);
    if (code == OK && rename(part, path) != 0)
        code = err_set_errno(err, ERR_IO, errno, "%s", path);
    if (code != OK)
        (void)unlink(part); /* best effort */
    return code;
}

static enum err_code make_folders(struct exporting *e, struct err *err)
{
    CLEANUP(json_release) json_t *project = NULL;
    CLEANUP(json_release) json_t *kept = json_object();
    CLEANUP(buf_release) struct buf out = {0};
    static const char *const members[] = {"name", "title", "description"};
    struct json_writer w;

    TRY(file_make_dirs(arena_printf(&e->cli->arena, "%s/runs", e->dir), 0755, err));
    TRY(file_make_dirs(arena_printf(&e->cli->arena, "%s/files", e->dir), 0755, err));
    TRY(cli_call(e->cli, "GET", arena_printf(&e->cli->arena, "/api/v1/projects/%s", e->project),
                 NULL, &project, err));
    for (size_t i = 0; i < ARRAY_LEN(members); i++)
        (void)json_object_set(kept, members[i], json_object_get(project, members[i]));
    buf_init(&out, PROJECT_BYTES_MAX);
    json_writer_init(&w, &out);
    json_put_value(&w, kept);
    (void)buf_add_char(&out, '\n');
    return file_write_atomic(arena_printf(&e->cli->arena, "%s/project.json", e->dir), buf_str(&out),
                             0644, err);
}

static enum err_code list_runs(struct cli *cli, const char *project, json_t **ret_runs,
                               struct err *err)
{
    const char *filter = cli_text(cli, "filter");
    const char *path = arena_printf(&cli->arena, "/api/v1/projects/%s/runs?columns=state", project);

    if (filter)
        path = arena_printf(&cli->arena, "%s&filter=%s", path, cli_encoded(cli, filter));
    return cli_list(cli, path, RUNS_MAX, ret_runs, err);
}

enum err_code cmd_export(struct cli *cli, int *ret_exit, struct err *err)
{
    struct exporting e = {.cli = cli, .dir = cli->args[cli->arg_count - 1]};
    CLEANUP(json_release) json_t *runs = NULL;
    json_t *run;
    size_t i;

    (void)ret_exit;
    if (cli->arg_count == 2) {
        CLEANUP(json_release) json_t *shown = NULL;
        TRY(cli_path_part("run", cli->args[0], err));
        TRY(cli_call(cli, "GET", arena_printf(&cli->arena, "/api/v1/runs/%s", cli->args[0]), NULL,
                     &shown, err));
        e.project = arena_text(&cli->arena, str_from(cli_get(shown, "project")));
        runs = json_array();
        (void)json_array_append(runs, shown); /* fails without memory */
    } else {
        TRY(cli_project(cli, &e.project, err));
        TRY(list_runs(cli, e.project, &runs, err));
    }
    TRY(make_folders(&e, err));
    json_array_foreach(runs, i, run)
    {
        if (export_run(&e, cli_get(run, "id"), err) != OK) {
            err_prefix(err, "run %s", cli_get(run, "id"));
            return err->code;
        }
    }
    printf("%zu runs and %lld files are in %s\n", json_array_size(runs), (long long)e.files, e.dir);
    return OK;
}

struct importing {
    struct cli *cli;
    const char *dir, *project, *run; /* the id it gets */
    struct buf part;
    int64_t part_line, line; /* lines before the part, lines read */
    bool done;
};

/* Sends the part. *ret_line: where to go on, when the server has more or less than we thought. */
static enum err_code send_part(struct importing *m, bool *ret_moved, struct err *err)
{
    struct http_client_request request = {.method = "POST",
                                          .content_type = "application/octet-stream",
                                          .body = buf_str(&m->part),
                                          .body_fd = -1,
                                          .answer_fd = -1,
                                          .timeout_ms = 600000};
    CLEANUP(json_release) json_t *doc = NULL;
    struct http_client_answer answer = {0};
    enum err_code code;

    request.path = arena_printf(&m->cli->arena, "/api/v1/projects/%s/runs/%s/import?line=%lld",
                                m->project, m->run, (long long)m->part_line);
    TRY(http_client_send(m->cli->client, &request, &answer, err));
    *ret_moved = answer.status == 416 && answer.offset >= 0;
    if (*ret_moved) {
        m->part_line = answer.offset;
        code = OK;
    } else if (answer.status / 100 == 2) {
        code = json_parse(buf_str(&answer.body), PROJECT_BYTES_MAX, &doc, err);
        m->done = json_is_true(json_object_get(doc, "done"));
        m->part_line = m->line;
    } else {
        code = http_client_answer_error(&answer, err);
    }
    http_client_answer_release(&answer);
    return code;
}

/* Reads on until a part is full or the file ends, leaving out what the server has. */
static enum err_code fill_part(struct importing *m, FILE *file, char **line, size_t *room,
                               struct err *err)
{
    int64_t lines = 0;
    ssize_t len;

    buf_clear(&m->part);
    while (m->part.len < SEND_BYTES_GOAL && lines < SEND_LINES_MAX) {
        len = getline(line, room, file);
        if (len < 0)
            break;
        m->line++;
        if (m->line <= m->part_line)
            continue;
        lines++;
        (void)buf_add(&m->part, *line, (size_t)len);
    }
    if (ferror(file))
        return err_set_errno(err, ERR_IO, errno, "the export cannot be read");
    return buf_check(&m->part, "a line of the export", err);
}

static void free_line(char **line)
{
    mem_free_text(line);
}

static enum err_code import_run(struct importing *m, const char *path, struct err *err)
{
    CLEANUP(close_file) FILE *file = fopen(path, "re");
    CLEANUP(free_line) char *line = NULL;
    size_t room = 0;

    if (!file)
        return err_set_errno(err, ERR_IO, errno, "%s", path);
    m->part_line = m->line = 0;
    m->done = false;
    while (!m->done) {
        bool moved = false;
        TRY(fill_part(m, file, &line, &room, err));
        if (m->part.len == 0)
            return err_set(err, ERR_INVALID, "%s ends before its last line", path);
        TRY(send_part(m, &moved, err));
        if (moved) { /* an earlier import broke off: go on behind what it brought */
            rewind(file);
            m->line = 0;
        }
    }
    return OK;
}

struct found {
    int64_t created;
    char id[ID_BYTES];
};

static int by_creation(const void *left, const void *right)
{
    const struct found *a = left, *b = right;

    return a->created == b->created ? strcmp(a->id, b->id) : (a->created > b->created) * 2 - 1;
}

/* When the run of an exported file was made: its second line says so. */
static int64_t created_of(const char *path)
{
    CLEANUP(close_file) FILE *file = fopen(path, "re");
    CLEANUP(free_line) char *line = NULL;
    CLEANUP(json_release) json_t *doc = NULL;
    size_t room = 0;
    ssize_t len = 0;

    for (int i = 0; file && i < 2 && len >= 0; i++)
        len = getline(&line, &room, file);
    if (!file || len <= 0 || json_parse(str_n(line, (size_t)len), LINE_BYTES_MAX, &doc, NULL) != OK)
        return 0;
    return cli_get_i64(doc, "created_ms", 0);
}

/* The exported runs of a folder, oldest first, so that the new rows come in the old order. */
static enum err_code find_runs(struct cli *cli, const char *dir, struct found **ret_runs,
                               size_t *ret_count, struct err *err)
{
    const char *folder = arena_printf(&cli->arena, "%s/runs", dir);
    struct dirent **entries = NULL;
    int count = scandir(folder, &entries, NULL, alphasort);
    struct found *runs;
    size_t kept = 0;

    if (count < 0)
        return err_set_errno(err, ERR_IO, errno, "%s", folder);
    runs = arena_array(&cli->arena, (size_t)count + 1, sizeof *runs);
    for (int i = 0; i < count; i++) {
        struct str name = str_from(entries[i]->d_name);
        struct id id;
        if (str_ends(name, STR(".jsonl")) &&
            id_parse(str_n(name.data, name.len - 6), ID_RUN, &id)) {
            memcpy(runs[kept].id, id.text, ID_BYTES);
            runs[kept].created =
                created_of(arena_printf(&cli->arena, "%s/%s", folder, entries[i]->d_name));
            kept++;
        }
        mem_free(entries[i]);
    }
    mem_free(entries);
    if (kept > 1)
        qsort(runs, kept, sizeof *runs, by_creation);
    *ret_runs = runs;
    *ret_count = kept;
    return OK;
}

static enum err_code import_file(struct importing *m, const char *digest, struct err *err)
{
    const char *path = arena_printf(&m->cli->arena, "%s/files/%s", m->dir, digest);
    CLEANUP(file_close) int fd = open(path, O_RDONLY | O_CLOEXEC);
    struct http_client_answer answer = {0};
    struct http_client_request request = {.method = "PUT",
                                          .content_type = "application/octet-stream",
                                          .body_fd = fd,
                                          .answer_fd = -1,
                                          .timeout_ms = 600000};
    struct stat st;
    enum err_code code;

    if (fd < 0 || fstat(fd, &st) != 0)
        return err_set_errno(err, ERR_IO, errno, "%s", path);
    request.body_fd_bytes = st.st_size;
    request.path = arena_printf(&m->cli->arena, "/api/v1/projects/%s/blobs/%s", m->project, digest);
    TRY(http_client_send(m->cli->client, &request, &answer, err));
    code = answer.status / 100 == 2 ? OK : http_client_answer_error(&answer, err);
    http_client_answer_release(&answer);
    return code;
}

static enum err_code import_files(struct importing *m, int64_t *ret_count, struct err *err)
{
    const char *folder = arena_printf(&m->cli->arena, "%s/files", m->dir);
    struct dirent **entries = NULL;
    int count = scandir(folder, &entries, NULL, alphasort);
    uint8_t bytes[SHA256_BYTES];
    enum err_code code = OK;

    for (int i = 0; i < count; i++) {
        if (code == OK && hex_decode(str_from(entries[i]->d_name), bytes, sizeof bytes)) {
            code = import_file(m, entries[i]->d_name, err);
            ++*ret_count;
        }
        mem_free(entries[i]);
    }
    mem_free(entries);
    return code;
}

static enum err_code import_runs(struct importing *m, size_t *ret_count, struct err *err)
{
    struct found *runs;

    TRY(find_runs(m->cli, m->dir, &runs, ret_count, err));
    if (*ret_count == 0)
        return err_set(err, ERR_NOT_FOUND, "%s holds no exported run", m->dir);
    for (size_t i = 0; i < *ret_count; i++) {
        struct id fresh = random_id(ID_RUN);
        m->run = arena_printf(&m->cli->arena, "%s",
                              cli_flag(m->cli, "new-ids") ? fresh.text : runs[i].id);
        if (import_run(m, arena_printf(&m->cli->arena, "%s/runs/%s.jsonl", m->dir, runs[i].id),
                       err) != OK) {
            err_prefix(err, "run %s", runs[i].id);
            return err->code;
        }
    }
    return OK;
}

enum err_code cmd_import(struct cli *cli, int *ret_exit, struct err *err)
{
    struct importing m = {.cli = cli, .dir = cli->args[0]};
    enum err_code code;
    int64_t files = 0;
    size_t runs = 0;

    (void)ret_exit;
    TRY(cli_project(cli, &m.project, err));
    TRY(cli_connect(cli, err));
    buf_init(&m.part, PART_BYTES_MAX);
    code = import_files(&m, &files, err);
    if (code == OK)
        code = import_runs(&m, &runs, err);
    buf_release(&m.part);
    TRY(code);
    printf("%zu runs and %lld files are in project %s\n", runs, (long long)files, m.project);
    return OK;
}
