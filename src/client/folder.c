/* Where a run lies on disk: <dir>/<date>-<time>-<name>-<run id>/ for a new run, and <dir>/<run id>/
 * for one whose id came from outside, so that processes that know only the id meet in one folder.
 */
#include "client/client.h"

#include "runlog/json.h"
#include "runlog/segments.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define FOLDER_NAME_BYTES 128
#define RUN_JSON_BYTES    8192

enum euvyra_code client__make_id(char kind, char ret_id[RUNLOG_ID_LEN + 1])
{
    uint64_t bits;

    if (getrandom(&bits, sizeof bits, 0) != (ssize_t)sizeof bits)
        return EUVYRA_IO;
    runlog_id_make(kind, bits, ret_id);
    return EUVYRA_OK;
}

const char *client__option(const char *value, const char *variable, const char *fallback)
{
    if (value == NULL && variable != NULL)
        value = getenv(variable);
    return value != NULL && (value[0] != '\0' || variable == NULL) ? value : fallback;
}

/* True when the environment leads to this very run. */
static bool is_given_run(const struct euvyra_run *run)
{
    const char *given = getenv("EUVYRA_RUN");

    return given != NULL && strcmp(given, run->run) == 0;
}

const char *client__job_of(const struct euvyra_run *run)
{
    return is_given_run(run) ? client__option(NULL, "EUVYRA_JOB", NULL) : NULL;
}

bool client__is_below_exec(const struct euvyra_run *run)
{
    return is_given_run(run) && getenv("EUVYRA_EXEC") != NULL;
}

/* mkdir -p; `path` is restored. */
static int make_folders(char *path)
{
    for (char *p = path + 1; *p != '\0'; p++) {
        if (*p != '/')
            continue;
        *p = '\0';
        int rc = mkdir(path, 0777);
        *p = '/';
        if (rc != 0 && errno != EEXIST)
            return -errno;
    }
    return mkdir(path, 0777) == 0 || errno == EEXIST ? 0 : -errno;
}

/* "20261130-041500-resnet-r7abcdefghijk" */
static void new_folder_name(const char *name, const char *run, char ret_text[FOLDER_NAME_BYTES])
{
    time_t now = time(NULL);
    struct tm utc;
    char label[41];
    size_t len = 0;

    for (const char *p = name; *p != '\0' && len < sizeof label - 1; p++) {
        bool keep = (*p >= 'a' && *p <= 'z') || (*p >= 'A' && *p <= 'Z') ||
                    (*p >= '0' && *p <= '9') || *p == '_' || *p == '.';
        if (keep || (len > 0 && label[len - 1] != '-'))
            label[len++] = keep ? *p : '-';
    }
    label[len] = '\0';
    gmtime_r(&now, &utc);
    (void)snprintf(ret_text, FOLDER_NAME_BYTES, "%04d%02d%02d-%02d%02d%02d-%s-%s",
                   (utc.tm_year + 1900) % 10000, utc.tm_mon + 1, utc.tm_mday, utc.tm_hour,
                   utc.tm_min, utc.tm_sec, len > 0 ? label : "run", run);
}

static bool name_ends_with_id(const char *name, const char *run)
{
    size_t len = strlen(name);

    return len >= RUNLOG_ID_LEN && strcmp(name + len - RUNLOG_ID_LEN, run) == 0 &&
           (len == RUNLOG_ID_LEN || name[len - RUNLOG_ID_LEN - 1] == '-');
}

/* The last entry in name order (so the newest) for which `wanted` holds. */
static bool newest_entry(const char *dir, const char *run, char ret_name[FOLDER_NAME_BYTES])
{
    DIR *handle = opendir(dir);
    struct dirent *entry;
    bool found = false;

    while (handle != NULL && (entry = readdir(handle)) != NULL) {
        if (!name_ends_with_id(entry->d_name, run) || strlen(entry->d_name) >= FOLDER_NAME_BYTES)
            continue;
        if (!found || strcmp(entry->d_name, ret_name) > 0)
            (void)snprintf(ret_name, FOLDER_NAME_BYTES, "%s", entry->d_name);
        found = true;
    }
    if (handle != NULL)
        closedir(handle);
    return found;
}

/* Reads the value of a text member of run.json, which has the simple form that we write. */
static bool run_json_member(const char *folder, const char *key, char *ret_text, size_t text_bytes)
{
    char path[PATH_MAX], text[RUN_JSON_BYTES], pattern[32];
    int length = snprintf(path, sizeof path, "%s/run.json", folder);
    FILE *file = length < (int)sizeof path ? fopen(path, "re") : NULL;

    if (file == NULL)
        return false;
    size_t n = fread(text, 1, sizeof text - 1, file);
    text[n] = '\0';
    fclose(file);
    (void)snprintf(pattern, sizeof pattern, "\"%s\":\"", key);
    const char *begin = strstr(text, pattern);
    if (begin == NULL)
        return false;
    begin += strlen(pattern);
    const char *end = strchr(begin, '"');
    if (end == NULL || (size_t)(end - begin) >= text_bytes)
        return false;
    memcpy(ret_text, begin, (size_t)(end - begin));
    ret_text[end - begin] = '\0';
    return true;
}

static enum euvyra_code write_run_json(const struct euvyra_run *run,
                                       const struct euvyra_options *options)
{
    char text[RUN_JSON_BYTES], temporary[64], created[32];
    struct runlog_json json;
    time_t now = time(NULL);
    struct tm utc;

    if (faccessat(run->dir_fd, "run.json", F_OK, 0) == 0)
        return EUVYRA_OK;
    gmtime_r(&now, &utc);
    (void)strftime(created, sizeof created, "%Y-%m-%dT%H:%M:%S.000Z", &utc);
    runlog_json_init(&json, text, sizeof text - 1);
    runlog_json_begin(&json, '{');
    runlog_json_key(&json, "format");
    runlog_json_i64(&json, 1);
    runlog_json_key(&json, "run");
    runlog_json_text(&json, run->run);
    runlog_json_key(&json, "project");
    runlog_json_text(&json, client__option(options->project, "EUVYRA_PROJECT", "default"));
    runlog_json_key(&json, "name");
    runlog_json_text(&json, options->name);
    runlog_json_key(&json, "created");
    runlog_json_text(&json, created);
    runlog_json_key(&json, "mode");
    runlog_json_text(&json, client__option(options->mode, "EUVYRA_MODE", "online"));
    runlog_json_key(&json, "server");
    runlog_json_text(&json, client__option(NULL, "EUVYRA_SERVER", NULL));
    runlog_json_key(&json, "job");
    runlog_json_text(&json, client__job_of(run));
    runlog_json_end(&json, '}');
    if (json.full)
        return EUVYRA_TOO_LARGE;
    text[json.len] = '\n';
    (void)snprintf(temporary, sizeof temporary, ".run.json.%ld", (long)getpid());
    int fd = openat(run->dir_fd, temporary, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (fd < 0)
        return client__code(-errno);
    ssize_t n = write(fd, text, json.len + 1);
    int rc = n == (ssize_t)json.len + 1 ? 0 : n < 0 ? -errno : -ENOSPC;
    close(fd);
    if (rc == 0 && renameat(run->dir_fd, temporary, run->dir_fd, "run.json") != 0)
        rc = -errno;
    return client__code(rc);
}

/* Fills run->folder and run->run by what the options and the environment say. */
static enum euvyra_code choose_folder(struct euvyra_run *run, const struct euvyra_options *options)
{
    const char *dir = client__option(options->dir, "EUVYRA_DIR", "euvyra-runs");
    const char *id = client__option(options->run, options->run == NULL ? "EUVYRA_RUN" : NULL, "");
    char entry[FOLDER_NAME_BYTES];
    int length;

    if (options->folder != NULL) {
        length = snprintf(run->folder, sizeof run->folder, "%s", options->folder);
        if (length >= (int)sizeof run->folder)
            return EUVYRA_INVALID;
        return run_json_member(run->folder, "run", run->run, sizeof run->run) &&
                       runlog_id_is_valid(run->run, 'r')
                   ? EUVYRA_OK
                   : EUVYRA_NOT_FOUND;
    }
    if (id[0] == '\0') {
        enum euvyra_code code = client__make_id('r', run->run);
        if (code != EUVYRA_OK)
            return code;
        new_folder_name(client__option(options->name, NULL, "run"), run->run, entry);
    } else {
        if (!runlog_id_is_valid(id, 'r'))
            return EUVYRA_INVALID;
        memcpy(run->run, id, sizeof run->run);
        if (!newest_entry(dir, id, entry))
            (void)snprintf(entry, sizeof entry, "%s", id);
    }
    length = snprintf(run->folder, sizeof run->folder, "%s/%s", dir, entry);
    return length < (int)sizeof run->folder ? EUVYRA_OK : EUVYRA_INVALID;
}

enum euvyra_code client__folder_open(struct euvyra_run *run, const struct euvyra_options *options)
{
    enum euvyra_code code = choose_folder(run, options);

    if (code != EUVYRA_OK)
        return code;
    int rc = make_folders(run->folder);
    if (rc != 0)
        return client__code(rc);
    /* The program may change its working folder later; the uploader is told this path. */
    char *absolute = realpath(run->folder, NULL);
    if (absolute == NULL)
        return client__code(-errno);
    if (strlen(absolute) < sizeof run->folder)
        memcpy(run->folder, absolute, strlen(absolute) + 1);
    free(absolute);
    run->dir_fd = open(run->folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (run->dir_fd < 0)
        return client__code(-errno);
    return write_run_json(run, options);
}

struct scan {
    int rank;          /* whose steps are wanted; -1: of all */
    int64_t last_step; /* of all, and then of that rank */
    int64_t last_of_rank;
    bool ended;
};

/* The rank that a start record of ours names, or -1. */
static int rank_of(const struct runlog_record *record)
{
    static const char key[] = "\"rank\":";
    char text[4096];
    size_t len = record->len < sizeof text - 1 ? record->len : sizeof text - 1;

    memcpy(text, record->payload, len);
    text[len] = '\0';
    const char *at = strstr(text, key);
    return at != NULL ? (int)strtol(at + sizeof key - 1, NULL, 10) : -1;
}

/* One look over a writer's log. */
static void scan_writer(int dir_fd, const char *writer, uint8_t *data, struct scan *scan)
{
    struct runlog_segments segments;
    struct runlog_record record;
    struct runlog_row row;
    int rank = -1;
    size_t len;

    runlog_segments_init(&segments, dir_fd, writer);
    while (runlog_segments_read(&segments, data, RUNLOG_POST_BYTES_MAX, &len) == RUNLOG_RECORD) {
        for (size_t at = 0; runlog_next(data, len, &at, &record) == RUNLOG_RECORD;) {
            if (record.type == RUNLOG_START)
                rank = rank_of(&record);
            if (record.type == RUNLOG_ROW && runlog_row_decode(&record, &row)) {
                if (row.step > scan->last_step)
                    scan->last_step = row.step;
                if (rank == scan->rank && row.step > scan->last_of_rank)
                    scan->last_of_rank = row.step;
            }
            scan->ended = scan->ended || record.type == RUNLOG_END_OF_RUN;
        }
    }
    runlog_segments_close(&segments);
}

static enum euvyra_code scan_folder(const char *folder, int rank, struct scan *ret_scan)
{
    uint8_t *data = malloc(RUNLOG_POST_BYTES_MAX);
    DIR *handle = opendir(folder);
    struct dirent *entry;

    *ret_scan = (struct scan){.rank = rank, .last_step = INT64_MIN, .last_of_rank = INT64_MIN};
    while (handle != NULL && data != NULL && (entry = readdir(handle)) != NULL) {
        char writer[RUNLOG_ID_LEN + 1];
        uint32_t number;
        if (runlog_file_name_parse(entry->d_name, writer, &number) && number == 0)
            scan_writer(dirfd(handle), writer, data, ret_scan);
    }
    if (rank >= 0 && ret_scan->last_of_rank != INT64_MIN)
        ret_scan->last_step = ret_scan->last_of_rank;
    enum euvyra_code code = data == NULL     ? EUVYRA_NO_MEMORY
                            : handle == NULL ? EUVYRA_NOT_FOUND
                                             : EUVYRA_OK;
    if (handle != NULL)
        closedir(handle);
    free(data);
    return code;
}

/* True when `folder` is a run of that project and name. */
static bool folder_matches(const char *folder, const char *project, const char *name)
{
    char text[1024];

    if (!run_json_member(folder, "project", text, sizeof text) || strcmp(text, project) != 0)
        return false;
    if (name == NULL)
        return true;
    return run_json_member(folder, "name", text, sizeof text) && strcmp(text, name) == 0;
}

/* The newest run of that project and name without an end. */
static enum euvyra_code find_unfinished(const char *dir, const char *project, const char *name,
                                        struct euvyra_found *ret_found)
{
    struct dirent **entries = NULL;
    int count = scandir(dir, &entries, NULL, alphasort);
    enum euvyra_code code = EUVYRA_NOT_FOUND;

    for (int i = count - 1; i >= 0; i--) {
        struct scan scan;
        int length =
            snprintf(ret_found->folder, sizeof ret_found->folder, "%s/%s", dir, entries[i]->d_name);
        if (code != EUVYRA_OK && length < (int)sizeof ret_found->folder &&
            folder_matches(ret_found->folder, project, name) &&
            scan_folder(ret_found->folder, -1, &scan) == EUVYRA_OK && !scan.ended) {
            ret_found->last_step = scan.last_step;
            code = EUVYRA_OK;
            break;
        }
    }
    for (int i = 0; i < count; i++)
        free(entries[i]);
    free(entries);
    return code;
}

enum euvyra_code euvyra_find(const struct euvyra_query *query, struct euvyra_found *ret_found)
{
    const char *dir = client__option(query->dir, "EUVYRA_DIR", "euvyra-runs");
    const char *project = client__option(query->project, "EUVYRA_PROJECT", "default");
    struct euvyra_found found = {.last_step = INT64_MIN};
    char entry[FOLDER_NAME_BYTES];
    enum euvyra_code code;

    if (query->run != NULL) {
        struct scan scan;
        if (!runlog_id_is_valid(query->run, 'r'))
            return EUVYRA_INVALID;
        if (!newest_entry(dir, query->run, entry))
            return EUVYRA_NOT_FOUND;
        if (snprintf(found.folder, sizeof found.folder, "%s/%s", dir, entry) >=
            (int)sizeof found.folder)
            return EUVYRA_INVALID;
        code = scan_folder(found.folder, query->rank, &scan);
        found.last_step = scan.last_step;
    } else {
        code = find_unfinished(dir, project, query->name, &found);
    }
    if (code == EUVYRA_OK && (!run_json_member(found.folder, "run", found.run, sizeof found.run) ||
                              !runlog_id_is_valid(found.run, 'r')))
        code = EUVYRA_NOT_FOUND;
    if (code == EUVYRA_OK)
        *ret_found = found;
    return code;
}
