/* Git is asked through its program, without locks and without the hooks that a configuration could
 * name; a diff is hashed as it streams by. Packages are read off the names of their metadata
 * folders, which is what Python itself goes by. */
#include "sync/codefacts.h"

#include "base/arena.h"
#include "base/json.h"
#include "base/map.h"
#include "base/mem.h"
#include "crypto/digest.h"
#include "runlog/redact.h"
#include "sys/clock.h"
#include "sys/file.h"
#include "sys/process.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define GIT_WAIT_MS    10000
#define PACKAGES_MAX   5000
#define GIT_TEXT_BYTES 4096
#define UNTRACKED_MAX  1000
#define UNTRACKED_TEXT 65536
#define URL_FILE_BYTES 65536

struct git {
    const char *cwd;
    char *text; /* first bytes of the output, or NULL */
    size_t text_bytes;
    struct sha256_state *hash; /* of all of it, or NULL */
    uint64_t total;
};

static void git_take(struct git *git, const char *data, size_t len)
{
    if (git->hash != NULL)
        sha256_add(git->hash, data, len);
    if (git->text != NULL && git->total < git->text_bytes - 1) {
        size_t room = git->text_bytes - 1 - (size_t)git->total;
        size_t part = MIN(room, len);
        memcpy(git->text + git->total, data, part);
        git->text[git->total + part] = '\0';
    }
    git->total += len;
}

/* Reads until the end of the output or the deadline. */
static bool git_read(struct git *git, int fd, int64_t deadline_ms)
{
    char data[16384];

    for (;;) {
        int64_t left = deadline_ms - clock_mono_ms();
        struct pollfd wait = {.fd = fd, .events = POLLIN};
        if (left <= 0 || poll(&wait, 1, (int)left) <= 0)
            return false;
        ssize_t n = read(fd, data, sizeof data);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return n == 0;
        git_take(git, data, (size_t)n);
    }
}

/* Runs git with the words of `args` (NULL-terminated, at most 12). True when it ended with 0. */
static bool git_run(struct git *git, const char *const *args)
{
    const char *argv[24] = {"git",   "--no-optional-locks", "-c", "core.fsmonitor=false", "-C",
                            git->cwd};
    struct process process;
    struct process_end end = {0};
    int fds[2];
    size_t n = 6;

    for (size_t i = 0; args[i] != NULL && n < ARRAY_LEN(argv) - 1; i++)
        argv[n++] = args[i];
    if (git->text != NULL)
        git->text[0] = '\0';
    git->total = 0;
    if (pipe2(fds, O_CLOEXEC) != 0)
        return false;
    enum err_code code = process_start(&process,
                                       &(struct process_options){
                                           .argv = argv,
                                           .stdin_fd = -1,
                                           .stdout_fd = fds[1],
                                           .stderr_fd = -1,
                                           .new_group = true,
                                           .extra_fd = -1,
                                       },
                                       NULL);
    close(fds[1]);
    bool ok = code == OK && git_read(git, fds[0], clock_mono_ms() + GIT_WAIT_MS);
    close(fds[0]);
    if (code != OK)
        return false;
    if (!ok)
        (void)process_signal_group(&process, SIGKILL);
    (void)process_wait(&process, -1, &end); /* it has closed its output or was killed */
    if (git->text != NULL) {
        size_t len = strlen(git->text);
        while (len > 0 && (git->text[len - 1] == '\n' || git->text[len - 1] == ' '))
            git->text[--len] = '\0';
    }
    return ok && !end.signaled && end.code == 0;
}

static void put_git_text(struct json_writer *w, struct git *git, const char *key,
                         const char *const *args)
{
    char clean[RUNLOG_REDACTED_BYTES_MAX(GIT_TEXT_BYTES)];
    uint32_t count = 0;

    if (!git_run(git, args) || git->text[0] == '\0')
        return;
    json_put_key(w, key);
    json_put_str(w, str_n(clean, runlog_redact_text(git->text, strlen(git->text), clean, &count)));
}

static void put_git_diff(struct json_writer *w, const char *cwd)
{
    struct git git = {.cwd = cwd, .hash = sha256_new()};
    uint8_t digest[SHA256_BYTES];
    char text[SHA256_HEX_BYTES];
    bool ok = git_run(&git, (const char *const[]){"diff", "--no-ext-diff", "--no-textconv",
                                                  "--binary", "HEAD", NULL});

    sha256_finish(git.hash, digest);
    if (!ok)
        return;
    json_put_key(w, "dirty");
    json_put_bool(w, git.total > 0);
    if (git.total > 0) {
        hex_encode(digest, sizeof digest, text);
        json_put_key(w, "diff_sha256");
        json_put_text(w, text);
    }
}

/* Files that git does not know and that are not ignored: a diff does not show them. */
static void put_untracked(struct json_writer *w, const char *cwd)
{
    char *text = mem_alloc(UNTRACKED_TEXT);
    struct git git = {.cwd = cwd, .text = text, .text_bytes = UNTRACKED_TEXT};
    int64_t count = 0;

    if (git_run(&git, (const char *const[]){"-c", "core.quotepath=false", "ls-files", "--others",
                                            "--exclude-standard", "--full-name", NULL}) &&
        git.total > 0) {
        struct str rest = str_from(text), name;
        json_put_key(w, "untracked");
        json_begin_array(w);
        for (bool more = true; more; count++) {
            more = str_cut(&rest, '\n', &name);
            /* The last name may have been cut off with the text. */
            if (count < UNTRACKED_MAX && (more || git.total < UNTRACKED_TEXT))
                json_put_str(w, name);
        }
        json_end_array(w);
        json_put_key(w, "untracked_count");
        json_put_i64(w, count);
    }
    mem_free(text);
}

bool git_diff_write(const char *cwd, struct buf *text, struct buf *doc, uint32_t *ret_redacted)
{
    size_t room = DIFF_FILE_BYTES_MAX / 2; /* what is taken out may be replaced by longer text */
    char *raw = mem_alloc(room), *clean = NULL;
    struct git git = {.cwd = cwd, .text = raw, .text_bytes = room};
    struct json_writer w;
    bool ok = getenv("EUVYRA_JOB") == NULL &&
              git_run(&git, (const char *const[]){"diff", "--no-ext-diff", "--no-textconv", "HEAD",
                                                  NULL}) &&
              git.total > 0;

    if (ok) {
        size_t len = strlen(raw); /* the newline at its end was taken off */
        if (len < room - 1)
            raw[len++] = '\n';
        clean = mem_alloc(RUNLOG_REDACTED_BYTES_MAX(len));
        len = runlog_redact_text(raw, len, clean, ret_redacted);
        (void)buf_add(text, clean, MIN(len, (size_t)DIFF_FILE_BYTES_MAX));
        json_writer_init(&w, doc);
        json_begin_object(&w);
        json_put_key(&w, "diff");
        json_put_str(&w, str_n(clean, MIN(len, (size_t)DIFF_RECORD_BYTES_MAX)));
        json_put_key(&w, "bytes");
        json_put_i64(&w, (int64_t)git.total);
        json_put_key(&w, "cut");
        json_put_bool(&w, len > DIFF_RECORD_BYTES_MAX || git.total >= room);
        json_end_object(&w);
    }
    mem_free(clean);
    mem_free(raw);
    return ok && !doc->full;
}

bool git_state_write(const char *cwd, struct buf *out)
{
    char text[GIT_TEXT_BYTES];
    struct git git = {.cwd = cwd, .text = text, .text_bytes = sizeof text};
    struct json_writer writer, *w = &writer;

    if (!git_run(&git, (const char *const[]){"rev-parse", "--verify", "-q", "HEAD", NULL}))
        return false; /* no git, no repository, or no commit yet */
    json_writer_init(w, out);
    json_begin_object(w);
    json_put_key(w, "commit");
    json_put_text(w, text);
    put_git_text(w, &git, "branch",
                 (const char *const[]){"symbolic-ref", "-q", "--short", "HEAD", NULL});
    put_git_text(w, &git, "remote", (const char *const[]){"remote", "get-url", "origin", NULL});
    put_git_diff(w, cwd);
    json_end_object(w);
    return !out->full;
}

/* "numpy-2.4.6.dist-info" is numpy at 2.4.6. */
static bool put_package(struct json_writer *w, const char *entry)
{
    static const char *const endings[] = {".dist-info", ".egg-info"};
    struct str name = str_from(entry);

    for (size_t i = 0; i < ARRAY_LEN(endings); i++) {
        struct str ending = str_from(endings[i]);
        if (!str_ends(name, ending))
            continue;
        name.len -= ending.len;
        struct str version = name, head;
        if (!str_cut(&version, '-', &head) || head.len == 0)
            return false;
        struct str rest = version, first;
        if (str_cut(&rest, '-', &first)) /* "name-1.0-py3.11" of old tools */
            version = first;
        json_put_key_str(w, head);
        json_put_str(w, version);
        return true;
    }
    return false;
}

/* A package that was not taken from an index, and where it came from instead. */
struct source {
    struct str name;
    const char *text;
    struct source *next;
};

/* What the installer of a package noted in direct_url.json; NULL for those from an index. */
static const char *package_source(struct arena *arena, const char *folder, const char *entry)
{
    CLEANUP(buf_release) struct buf text = {0};
    CLEANUP(json_release) json_t *doc = NULL;
    const char *path = arena_printf(arena, "%s/%s/direct_url.json", folder, entry);
    uint32_t count = 0;

    if (access(path, R_OK) != 0 || file_read(path, URL_FILE_BYTES, &text, NULL) != OK ||
        json_parse(buf_str(&text), URL_FILE_BYTES, &doc, NULL) != OK)
        return NULL;
    const json_t *vcs = json_object_get(doc, "vcs_info"), *dir = json_object_get(doc, "dir_info");
    const char *commit = json_string_value(json_object_get(vcs, "commit_id"));
    const char *kind = json_string_value(json_object_get(vcs, "vcs"));
    const char *url = json_string_value(json_object_get(doc, "url"));
    size_t len = url != NULL ? strlen(url) : 0;
    if (len == 0 || len > 1024)
        return NULL;
    char *clean = arena_alloc(arena, RUNLOG_REDACTED_BYTES_MAX(len) + 1);
    clean[runlog_redact_text(url, len, clean, &count)] = '\0';
    return arena_printf(arena, "%s%s%s%s%s%s",
                        json_is_true(json_object_get(dir, "editable")) ? "editable " : "",
                        kind != NULL ? kind : "", kind != NULL ? "+" : "", clean,
                        commit != NULL ? "@" : "", commit != NULL ? commit : "");
}

static struct source *note_source(struct arena *arena, const char *folder, const char *entry,
                                  struct str name, struct source *all)
{
    const char *text = package_source(arena, folder, entry);

    if (text == NULL)
        return all;
    struct source *source = ARENA_NEW(arena, struct source);
    *source = (struct source){.name = arena_copy(arena, name), .text = text, .next = all};
    return source;
}

static void put_sources(struct json_writer *w, const struct source *all)
{
    if (all == NULL)
        return;
    json_put_key(w, "package_sources");
    json_begin_object(w);
    for (; all != NULL; all = all->next) {
        json_put_key_str(w, all->name);
        json_put_text(w, all->text);
    }
    json_end_object(w);
}

static void put_packages(struct json_writer *w, const char *folders)
{
    struct str rest = str_from(folders), folder;
    CLEANUP(arena_release) struct arena arena = {0};
    struct source *sources = NULL;
    struct map seen;
    int count = 0;

    map_init(&seen, PACKAGES_MAX);
    json_put_key(w, "packages");
    json_begin_object(w);
    for (bool more = true; more && count < PACKAGES_MAX;) {
        more = str_cut(&rest, ':', &folder);
        const char *path = arena_text(&arena, folder);
        DIR *dir = folder.len > 0 ? opendir(path) : NULL;
        struct dirent *entry;
        while (dir != NULL && (entry = readdir(dir)) != NULL && count < PACKAGES_MAX) {
            /* The first folder wins, as in Python. */
            struct str name = str_from(entry->d_name), head;
            (void)str_cut(&name, '-', &head);
            if (map_get(&seen, head) == NULL && put_package(w, entry->d_name)) {
                (void)map_put(&seen, head, &seen); /* full: only a double may slip in */
                sources = note_source(&arena, path, entry->d_name, head, sources);
                count++;
            }
        }
        if (dir != NULL)
            closedir(dir);
    }
    json_end_object(w);
    put_sources(w, sources);
    map_release(&seen);
}

void code_facts_write(const char *cwd, struct buf *out)
{
    const char *python = getenv("EUVYRA_PYTHON"), *program = getenv("EUVYRA_PROGRAM");
    const char *folders = getenv("EUVYRA_PYTHON_PATH");
    CLEANUP(buf_release) struct buf git = {0};
    struct json_writer w;

    buf_init(&git, GIT_STATE_BYTES_MAX);
    json_writer_init(&w, out);
    json_begin_object(&w);
    /* A job's folder was unpacked from what launch packed: whatever repository lies around it is
     * not where the code came from. The job itself says that. */
    if (getenv("EUVYRA_JOB") == NULL && git_state_write(cwd, &git)) {
        json_put_key(&w, "git");
        json_put_raw(&w, buf_str(&git));
        put_untracked(&w, cwd);
    }
    if (python != NULL) {
        json_put_key(&w, "python");
        json_put_text(&w, python);
    }
    if (program != NULL) {
        json_put_key(&w, "program");
        json_put_text(&w, program);
    }
    if (folders != NULL)
        put_packages(&w, folders);
    json_end_object(&w);
}
