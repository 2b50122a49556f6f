/* Bringing in folders one by one. A problem in one is told and counted; the next one goes on. */
#include "sync/folders.h"

#include "base/mem.h"
#include "sync/upload.h"
#include "sys/clock.h"

#include <dirent.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define RETRY_MS_MIN 500
#define RETRY_MS_MAX 15000

struct work {
    const struct sync_folders_options *options;
    struct sync_folders_report *report;
    struct err *err; /* the first error stays */
    enum err_code code;
    int64_t deadline_ms;
};

static void tell(const struct work *work, bool is_problem, const char *line)
{
    if (work->options->tell != NULL)
        work->options->tell(work->options->ctx, is_problem, line);
}

/* Notes a failure; the first one becomes the result. */
static void note(struct work *work, const struct err *err)
{
    tell(work, true, err->text);
    if (work->code == OK) {
        work->code = err->code;
        if (work->err != NULL)
            *work->err = *err;
    }
}

static void note_writers(struct work *work, const struct upload *upload)
{
    for (const struct upload_writer *w = upload->writers; w != NULL; w = w->next) {
        struct err err;
        if (w->state == UPLOAD_GOING)
            continue;
        (void)err_set(&err, w->state == UPLOAD_DIVERGED ? ERR_WRITER_DIVERGED : ERR_INVALID,
                      "%s: %s", upload->folder->path, w->problem);
        note(work, &err);
    }
}

/* Rounds until all is sent, or until patience is over. */
static enum err_code send_patiently(struct work *work, struct upload *upload, struct err *err)
{
    int64_t wait_ms = RETRY_MS_MIN;
    enum err_code code;

    while ((code = upload_round(upload, err)) != OK && upload_is_worth_waiting(code)) {
        int64_t left = work->deadline_ms - clock_mono_ms();
        if (left <= 0)
            break;
        (void)poll(NULL, 0, (int)MIN(wait_ms, left));
        wait_ms = MIN(wait_ms * 2, RETRY_MS_MAX);
    }
    return code;
}

static void sync_one(struct work *work, const char *path)
{
    CLEANUP(run_folder_close) struct run_folder folder = {.dir_fd = -1};
    struct http_client *client = NULL;
    struct upload upload;
    struct err err = {0};
    char line[PATH_MAX + 128];

    work->report->folder_count++;
    if (run_folder_open(path, &folder, &err) != OK ||
        sync_server_connect(&work->options->server, folder.server, &client, &err) != OK) {
        work->report->failed_count++;
        note(work, &err);
        return;
    }
    upload_init(&upload, &folder, client);
    enum err_code code = send_patiently(work, &upload, &err);
    if (code != OK)
        note(work, &err);
    note_writers(work, &upload);
    bool failed = code != OK || upload_problem_count(&upload) > 0;
    work->report->failed_count += failed;
    work->report->record_bytes += upload.sent_bytes;
    if (!failed) {
        (void)snprintf(line, sizeof line, "%s: run %s is complete on the server (%llu bytes sent)",
                       folder.path, folder.run.text, (unsigned long long)upload.sent_bytes);
        tell(work, false, line);
    }
    upload_release(&upload);
    http_client_free(client);
}

/* A folder of run folders, one level deep, in the order of their names. */
static void sync_inside(struct work *work, const char *dir)
{
    struct dirent **entries = NULL;
    int count = scandir(dir, &entries, NULL, alphasort);

    for (int i = 0; i < count; i++) {
        char path[PATH_MAX];
        if (entries[i]->d_name[0] != '.' &&
            snprintf(path, sizeof path, "%s/%s", dir, entries[i]->d_name) < (int)sizeof path &&
            run_folder_is_one(path))
            sync_one(work, path);
        free(entries[i]);
    }
    free(entries);
}

enum err_code sync_folders(const char *const *dirs, size_t dir_count,
                           const struct sync_folders_options *options,
                           struct sync_folders_report *ret_report, struct err *err)
{
    struct work work = {
        .options = options,
        .report = ret_report,
        .err = err,
        .deadline_ms = clock_mono_ms() + options->patience_ms,
    };

    *ret_report = (struct sync_folders_report){0};
    for (size_t i = 0; i < dir_count; i++) {
        uint64_t before = ret_report->folder_count;
        if (run_folder_is_one(dirs[i]))
            sync_one(&work, dirs[i]);
        else
            sync_inside(&work, dirs[i]);
        if (ret_report->folder_count == before) {
            struct err none;
            (void)err_set(&none, ERR_NOT_FOUND, "%s holds no run", dirs[i]);
            note(&work, &none);
        }
    }
    return work.code;
}
