/* Reading run.json and listing the logs of a run folder. Users copy these folders around and may
 * edit them, so nothing in them is trusted: sizes are limited and every field is checked. */
#include "sync/runfolder.h"

#include "base/json.h"
#include "runlog/format.h"
#include "sys/file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool text_copy(const json_t *doc, const char *key, char *ret_text, size_t text_bytes)
{
    const json_t *member = json_object_get(doc, key);

    ret_text[0] = '\0';
    if (member == NULL || json_is_null(member))
        return true;
    if (!json_is_string(member) || json_string_length(member) >= text_bytes)
        return false;
    memcpy(ret_text, json_string_value(member), json_string_length(member) + 1);
    return true;
}

static enum err_code run_json_read(struct run_folder *folder, const json_t *doc, struct err *err)
{
    char run[ID_BYTES + 1], mode[16];

    if (!json_is_object(doc))
        return err_set(err, ERR_INVALID, "%s/run.json is no object", folder->path);
    if (!text_copy(doc, "run", run, sizeof run) || !id_parse(str_from(run), ID_RUN, &folder->run))
        return err_set_field(err, ERR_INVALID, "run", "%s/run.json has no run id", folder->path);
    if (!text_copy(doc, "project", folder->project, sizeof folder->project) ||
        folder->project[0] == '\0')
        return err_set_field(err, ERR_INVALID, "project", "%s/run.json has no project",
                             folder->path);
    if (!text_copy(doc, "name", folder->name, sizeof folder->name) ||
        !text_copy(doc, "created", folder->created, sizeof folder->created) ||
        !text_copy(doc, "server", folder->server, sizeof folder->server) ||
        !text_copy(doc, "job", folder->job, sizeof folder->job) ||
        !text_copy(doc, "mode", mode, sizeof mode))
        return err_set(err, ERR_INVALID, "%s/run.json has a field of a wrong type", folder->path);
    folder->is_offline = strcmp(mode, "offline") == 0;
    return OK;
}

bool run_folder_is_one(const char *path)
{
    char file[PATH_MAX];

    return snprintf(file, sizeof file, "%s/run.json", path) < (int)sizeof file && file_exists(file);
}

enum err_code run_folder_open(const char *path, struct run_folder *ret_folder, struct err *err)
{
    CLEANUP(buf_release) struct buf text = {0};
    CLEANUP(json_release) json_t *doc = NULL;
    struct run_folder folder = {.dir_fd = -1};
    char file[PATH_MAX + 16];

    if (realpath(path, folder.path) == NULL)
        return err_set_errno(err, errno == ENOENT ? ERR_NOT_FOUND : ERR_IO, errno, "%s", path);
    (void)snprintf(file, sizeof file, "%s/run.json", folder.path);
    TRY(file_read(file, RUN_JSON_BYTES_MAX, &text, err));
    enum err_code code = json_parse(buf_str(&text), RUN_JSON_BYTES_MAX, &doc, err);
    if (code != OK) {
        err_prefix(err, "%s", file);
        return code;
    }
    TRY(run_json_read(&folder, doc, err));
    folder.dir_fd = open(folder.path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (folder.dir_fd < 0)
        return err_set_errno(err, ERR_IO, errno, "%s", folder.path);
    *ret_folder = folder;
    return OK;
}

void run_folder_close(struct run_folder *folder)
{
    if (folder->path[0] != '\0' && folder->dir_fd >= 0)
        close(folder->dir_fd);
    folder->dir_fd = -1;
}

static int id_compare(const void *a, const void *b)
{
    return strcmp(((const struct id *)a)->text, ((const struct id *)b)->text);
}

enum err_code run_folder_writers(const struct run_folder *folder, struct arena *arena,
                                 struct id **ret_writers, size_t *ret_count, struct err *err)
{
    DIR *dir = opendir(folder->path);
    size_t count = 0, capacity = 64;
    struct id *writers = arena_array(arena, capacity, sizeof *writers);
    struct dirent *entry;

    if (dir == NULL)
        return err_set_errno(err, ERR_IO, errno, "%s", folder->path);
    while ((entry = readdir(dir)) != NULL && count < RUN_WRITERS_MAX) {
        char writer[RUNLOG_ID_LEN + 1];
        uint32_t number;
        if (!runlog_file_name_parse(entry->d_name, writer, &number) || number != 0)
            continue;
        if (count == capacity) {
            struct id *more = arena_array(arena, capacity * 2, sizeof *more);
            memcpy(more, writers, count * sizeof *more);
            writers = more;
            capacity *= 2;
        }
        memcpy(writers[count++].text, writer, sizeof writer);
    }
    closedir(dir);
    qsort(writers, count, sizeof *writers, id_compare);
    *ret_writers = writers;
    *ret_count = count;
    return OK;
}
