/* Rounds over the run folders, each when the server wants to hear of it again. */
#include "sync/uploader.h"

#include "base/log.h"
#include "base/mem.h"
#include "sync/upload.h"
#include "sys/clock.h"
#include "sys/signals.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LOOK_MS      500
#define ROUND_MS_MIN 1000
#define ROUND_MS_MAX 4000 /* what is left at the end must go within 2 s */
#define LAST_MS      250  /* between two tries, once told to end */

struct kept {
    char name[256];
    struct run_folder folder;
    struct http_client *client;
    struct upload upload;
    int64_t due_ms;
    enum err_code told; /* the problem that was logged last */
    struct kept *next;
};

static void kept_free(struct kept *kept)
{
    if (kept->client)
        upload_release(&kept->upload);
    http_client_free(kept->client);
    run_folder_close(&kept->folder);
    mem_free(kept);
}

/* A folder that cannot be opened now is looked at again: run.json may come later. */
static struct kept *kept_new(const struct sync_uploader_options *options, const char *name)
{
    struct kept *kept = MEM_NEW(struct kept);
    char path[PATH_MAX];
    struct err err = {0};

    kept->folder.dir_fd = -1;
    (void)snprintf(kept->name, sizeof kept->name, "%s", name);
    if (snprintf(path, sizeof path, "%s/%s", options->dir, name) < (int)sizeof path &&
        run_folder_is_one(path) && run_folder_open(path, &kept->folder, &err) == OK &&
        sync_server_connect(&options->server, kept->folder.server, &kept->client, &err) == OK) {
        upload_init(&kept->upload, &kept->folder, kept->client);
        return kept;
    }
    if (err.code != OK)
        log_warn("upload.folder", "folder", name, "error", err.text);
    kept_free(kept);
    return NULL;
}

static bool is_kept(const struct kept *list, const char *name)
{
    for (; list; list = list->next) {
        if (strcmp(list->name, name) == 0)
            return true;
    }
    return false;
}

static void find_folders(const struct sync_uploader_options *options, struct kept **list)
{
    struct dirent **entries = NULL;
    int count = scandir(options->dir, &entries, NULL, alphasort);

    for (int i = 0; i < count; i++) {
        const char *name = entries[i]->d_name;
        struct kept *kept;

        if (name[0] != '.' && !is_kept(*list, name) && (kept = kept_new(options, name)) != NULL) {
            kept->next = *list;
            *list = kept;
        }
        free(entries[i]);
    }
    free(entries);
}

/* True when all of it is on the server now. */
static bool send_one(struct kept *kept)
{
    struct err err = {0};
    enum err_code code = upload_round(&kept->upload, &err);

    if (code != kept->told && code != OK)
        log_warn("upload.problem", "run", kept->folder.run.text, "error", err.text);
    kept->told = code;
    kept->due_ms =
        clock_mono_ms() + MIN(MAX(kept->upload.next_ms, ROUND_MS_MIN), (int64_t)ROUND_MS_MAX);
    return code == OK || !upload_is_worth_waiting(code);
}

static bool send_all(struct kept *list, bool at_once)
{
    bool whole = true;

    for (; list; list = list->next) {
        if (at_once || clock_mono_ms() >= list->due_ms)
            whole = send_one(list) && whole;
    }
    return whole;
}

enum err_code sync_uploader_run(const struct sync_uploader_options *options, struct err *err)
{
    struct kept *list = NULL;
    bool told = false, whole = false, is_written = true;

    (void)err;
    while (!told || !whole || is_written) {
        told = signals_wait(options->signal_fd, told ? LAST_MS : LOOK_MS) != 0 || told;
        is_written = !told || (options->is_written && options->is_written(options->ctx));
        find_folders(options, &list);
        whole = send_all(list, told); /* what was written before we asked is in it */
    }
    while (list) {
        struct kept *next = list->next;

        kept_free(list);
        list = next;
    }
    return OK;
}
