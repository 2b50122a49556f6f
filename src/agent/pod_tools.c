/* Inside a pod. */
#include "agent/pod_tools.h"

#include "agent/code_digest.h"
#include "net/http_client.h"
#include "sync/server.h"
#include "sync/uploader.h"
#include "sys/clock.h"
#include "sys/file.h"
#include "sys/pack.h"
#include "sys/signals.h"

#include <dirent.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define PATIENCE_MS    600000
#define RETRY_MS_MIN   500
#define RETRY_MS_MAX   10000
#define FETCH_MS_MAX   600000
#define STAT_BYTES_MAX 4096
#define PATH_BYTES_MAX 512

static enum err_code fetch_once(struct http_client *client, const char *digest, int fd,
                                struct err *err)
{
    CLEANUP(http_client_answer_release) struct http_client_answer answer = {0};
    const char *project = getenv("EUVYRA_PROJECT");
    char path[PATH_BYTES_MAX];
    struct http_client_request request = {
        .method = "GET", .path = path, .answer_fd = fd, .timeout_ms = FETCH_MS_MAX};

    if (!project)
        return err_set(err, ERR_INVALID, "EUVYRA_PROJECT is not set");
    if (ftruncate(fd, 0) != 0 || lseek(fd, 0, SEEK_SET) != 0)
        return err_set(err, ERR_IO, "the code's file cannot be written anew");
    (void)snprintf(path, sizeof(path), "/api/v1/projects/%.200s/blobs/%.64s", project, digest);
    TRY(http_client_send(client, &request, &answer, err));
    if (answer.status != 200)
        return http_client_answer_error(&answer, err);
    return code_digest_check(fd, str_from(digest), err);
}

static bool is_worth_waiting(enum err_code code)
{
    return code == ERR_UNAVAILABLE || code == ERR_LIMIT || code == ERR_INTERNAL ||
           code == ERR_TIMEOUT;
}

enum err_code pod_fetch(const char *digest, const char *dir, const char *product, struct err *err)
{
    struct sync_server server = {.product = product};
    int64_t deadline_ms = clock_mono_ms() + PATIENCE_MS, wait_ms = RETRY_MS_MIN;
    struct http_client *client = NULL;
    CLEANUP(file_close) int fd = -1;
    enum err_code code;

    TRY(sync_server_connect(&server, NULL, &client, err));
    code = file_open_unlinked(dir, &fd, err);
    while (code == OK) {
        code = fetch_once(client, digest, fd, err);
        if (!is_worth_waiting(code) || clock_mono_ms() > deadline_ms)
            break;
        (void)poll(NULL, 0, (int)wait_ms);
        wait_ms = MIN(wait_ms * 2, RETRY_MS_MAX);
        code = OK;
    }
    http_client_free(client);
    TRY(code);
    if (lseek(fd, 0, SEEK_SET) != 0)
        return err_set(err, ERR_IO, "the code cannot be read");
    return pack_unpack(fd, dir, err);
}

/* A process that has ended and was not waited for is none any more. */
static bool process_lives(const char *pid)
{
    CLEANUP(buf_release) struct buf text = {0};
    char path[PATH_BYTES_MAX];
    const char *state;

    (void)snprintf(path, sizeof(path), "/proc/%.20s/stat", pid);
    if (file_read(path, STAT_BYTES_MAX, &text, NULL) != OK)
        return false;
    state = strrchr(text.data, ')');
    return state && state[1] == ' ' && state[2] != 'Z' && state[2] != 'X';
}

/* The pod's processes are seen here. Beside the sandbox's, which is the first, and ours all are the
 * job's. Where a pod is told to end, this program may be told in the moment before the job is
 * killed. */
static bool job_lives(void *ctx)
{
    DIR *proc = opendir("/proc");
    const struct dirent *item;
    bool lives = false;

    (void)ctx;
    while (proc && !lives && (item = readdir(proc)) != NULL) {
        int64_t pid;

        lives = str_to_i64(str_from(item->d_name), &pid) && pid > 1 && pid != getpid() &&
                process_lives(item->d_name);
    }
    if (proc)
        (void)closedir(proc);
    return lives;
}

enum err_code pod_follow(const char *dir, const char *product, struct err *err)
{
    static const int signals[] = {SIGTERM, SIGINT, SIGHUP, 0};
    struct sync_uploader_options options = {
        .server = {.product = product}, .dir = dir, .signal_fd = -1, .is_written = job_lives};

    TRY(signals_open(signals, &options.signal_fd, err));
    return sync_uploader_run(&options, err);
}
