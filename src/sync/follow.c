/* The sidecar. One thread watches, samples and flushes, a tick a second; the sender uploads. The
 * tricky part is the order at the end: look once more, write what we know ourselves, close our own
 * log, and only then tell the sender that nothing more will come. */
#include "sync/follow.h"

#include "base/log.h"
#include "base/mem.h"
#include "probe/oom.h"
#include "probe/process_load.h"
#include "sync/codefacts.h"
#include "sync/recorder.h"
#include "sync/sender.h"
#include "sync/watch.h"
#include "sys/clock.h"
#include "sys/file.h"
#include "sys/signals.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define TICK_MS         1000
#define SAMPLE_MS       10000
#define CODE_BYTES_MAX  (1024u * 1024u)
#define PATIENCE_MS     (24ll * 3600 * 1000)
#define ABORT_WAIT_MS   5000
#define LOCK_ENDING     " ending"
#define LOCK_BYTES_MAX  4096
#define LOCK_LOOK_MS    100
#define PROCESSES_MAX   256
#define RANK_VALUES_MAX (3 * PROCESSES_MAX)

struct sidecar {
    const struct sync_follow_options *options;
    struct run_folder folder;
    struct recorder recorder;
    struct watch watch;
    struct probe_load load;
    struct probe_oom oom;
    struct probe_process processes[PROCESSES_MAX]; /* of ranks on this host */
    size_t process_count;
    size_t ranks_sampled; /* as many were there at the last sample */
    struct nvml *nvml;
    struct sender *sender; /* NULL: offline */
    char cwd[PATH_MAX];    /* of the trainer at its start: where its code lies */
    int signal_fd;
    int lock_fd;
};

/* Leaves the caller's session, terminal and descriptors. 0 in the process that goes on, 1 in the
 * one that returns. */
static enum err_code detach(int *ret_is_parent, struct err *err)
{
    pid_t pid = fork();

    if (pid < 0)
        return err_set_errno(err, ERR_IO, errno, "fork");
    *ret_is_parent = pid > 0;
    if (pid > 0)
        return OK;
    (void)setsid(); /* fails only where we lead a session already */
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    if (null >= 0) {
        (void)dup2(null, STDIN_FILENO);
        (void)dup2(null, STDOUT_FILENO);
    }
    (void)close_range(3, ~0u, 0);
    return OK;
}

static void look(struct sidecar *s)
{
    struct err err;

    if (watch_look(&s->watch, &err) != OK)
        log_warn("sync.watch", "error", err.text);
}

/* Who is dead without having said how it ended. */
static void tell_gone(struct sidecar *s, bool at_once)
{
    const struct watch_writer *gone;

    while ((gone = watch_next_gone(&s->watch, at_once)) != NULL)
        recorder_gone(&s->recorder, &gone->id, probe_oom_happened(&s->oom, (int)gone->process.pid));
}

static struct probe_process *process_of(struct sidecar *s, int pid)
{
    for (size_t i = 0; i < s->process_count; i++)
        if (s->processes[i].pid == pid)
            return &s->processes[i];
    if (s->process_count == PROCESSES_MAX)
        return NULL;
    s->processes[s->process_count] = (struct probe_process){.pid = pid};
    return &s->processes[s->process_count++];
}

static void put_value(struct probe_value *values, size_t *count, int rank, const char *what,
                      double value)
{
    if (value < 0 || *count >= RANK_VALUES_MAX)
        return;
    (void)snprintf(values[*count].name, sizeof values[0].name, "rank.%d.%s", rank, what);
    values[(*count)++].value = value;
}

static size_t rank_count(const struct sidecar *s)
{
    size_t count = 0;

    for (const struct watch_writer *w = s->watch.writers; w != NULL; w = w->next)
        count += w->rank >= 0 && w->tells_end && !w->is_elsewhere;
    return count;
}

/* What each rank of this host uses: rank.3.cpu_percent and so on. */
static void sample_ranks(struct sidecar *s)
{
    struct probe_value *values = mem_alloc(RANK_VALUES_MAX * sizeof *values);
    size_t count = 0;

    s->ranks_sampled = rank_count(s);
    for (const struct watch_writer *w = s->watch.writers; w != NULL; w = w->next) {
        struct probe_process_reading r;
        struct probe_process *process;
        if (w->rank < 0 || !w->tells_end || w->is_elsewhere || w->has_ended)
            continue;
        process = process_of(s, (int)w->process.pid);
        if (process == NULL || !probe_process_read(process, &r))
            continue;
        put_value(values, &count, w->rank, "cpu_percent", r.cpu_percent);
        put_value(values, &count, w->rank, "memory_bytes", r.memory_bytes);
        put_value(values, &count, w->rank, "threads", r.threads);
    }
    if (count > 0)
        recorder_system(&s->recorder, values, count);
    mem_free(values);
}

static void sample(struct sidecar *s)
{
    static const size_t value_bytes = sizeof(struct probe_value);
    struct probe_value *values = malloc(PROBE_VALUES_MAX * value_bytes);

    if (values == NULL)
        return;
    s->load.pid = watch_first_pid(&s->watch);
    recorder_system(&s->recorder, values, probe_load_read(&s->load, values));
    sample_ranks(s);
    recorder_heartbeat(&s->recorder);
    free(values);
}

/* The changes of the code, in the run's folder and in the log. */
static void record_diff(struct sidecar *s)
{
    CLEANUP(buf_release) struct buf text = {0};
    CLEANUP(buf_release) struct buf doc = {0};
    char path[PATH_MAX + 16];
    uint32_t redacted = 0;
    struct err err;

    buf_init(&text, DIFF_FILE_BYTES_MAX);
    buf_init(&doc, RUNLOG_GROUP_BYTES_MAX);
    if (!git_diff_write(s->cwd, &text, &doc, &redacted))
        return;
    (void)snprintf(path, sizeof path, "%s/git.diff", s->folder.path);
    if (file_write_atomic(path, buf_str(&text), 0644, &err) != OK)
        log_warn("sync.diff", "error", err.text);
    recorder_json(&s->recorder, RUNLOG_DIFF, buf_str(&doc));
    recorder_redacted(&s->recorder, redacted);
}

/* Once, at the start; git may take a while in a large tree, so the first sample comes before it. */
static void record_facts(struct sidecar *s)
{
    CLEANUP(buf_release) struct buf code = {0};
    struct probe_machine machine;

    probe_machine_read(&machine, s->nvml, s->folder.path);
    recorder_machine(&s->recorder, &machine);
    buf_init(&code, CODE_BYTES_MAX);
    code_facts_write(s->cwd, &code);
    if (!code.full)
        recorder_json(&s->recorder, RUNLOG_CODE, buf_str(&code));
    record_diff(s);
}

/* Who holds the lock, for the SDK: it starts another sidecar when this one is gone. And whether
 * this one is about to end: then a sidecar that comes now waits for its turn. */
static void lock_sign(int fd, bool is_ending)
{
    int64_t ticks = 0;
    char text[64];

    (void)process_start_ticks(getpid(), &ticks);
    int len = snprintf(text, sizeof text, "%ld %lld%s\n", (long)getpid(), (long long)ticks,
                       is_ending ? LOCK_ENDING : "");
    if (ftruncate(fd, 0) != 0 || pwrite(fd, text, (size_t)len, 0) != len)
        log_warn("sync.lock", "error", "cannot be signed");
}

/* A process opens its log first and starts its sidecar then. So either that one reads here that we
 * end and waits, or the look after the writing shows us the process. */
static bool is_over(struct sidecar *s)
{
    if (!watch_all_ended(&s->watch))
        return false;
    lock_sign(s->lock_fd, true);
    look(s);
    if (watch_all_ended(&s->watch))
        return true;
    lock_sign(s->lock_fd, false);
    return false;
}

/* Until every process of the run has ended, or a signal says to stop. Returns that signal or 0. */
static int watch_loop(struct sidecar *s)
{
    int64_t next_sample_ms = 0;
    bool has_facts = false;

    for (;;) {
        look(s);
        tell_gone(s, false);
        if (clock_mono_ms() >= next_sample_ms) {
            sample(s);
            next_sample_ms = clock_mono_ms() + SAMPLE_MS;
        } else if (rank_count(s) > s->ranks_sampled)
            sample_ranks(s); /* one that is new is seen at once */
        if (!has_facts)
            record_facts(s);
        has_facts = true;
        if (is_over(s))
            return 0;
        int signal_number = signals_wait(s->signal_fd, TICK_MS);
        if (signal_number != 0)
            return signal_number;
    }
}

static enum err_code finish(struct sidecar *s, int signal_number, struct err *err)
{
    look(s); /* flushes the last second */
    if (signal_number == 0)
        tell_gone(s, true);
    sample(s);
    recorder_close(&s->recorder);
    look(s);
    if (s->sender == NULL)
        return OK;
    sender_finish(s->sender);
    while (!sender_wait(s->sender, TICK_MS)) {
        if (signal_number == 0)
            signal_number = signals_wait(s->signal_fd, 0);
        if (signal_number == 0)
            continue;
        /* Somebody wants us gone: one short chance to get the rest out. */
        if (!sender_wait(s->sender, ABORT_WAIT_MS))
            sender_abort(s->sender);
        (void)sender_wait(s->sender, -1);
    }
    return sender_free(&s->sender, err);
}

static enum err_code sidecar_run(struct sidecar *s, struct err *err)
{
    static const int signals[] = {SIGTERM, SIGINT, SIGHUP, 0};

    TRY(signals_open(signals, &s->signal_fd, err));
    TRY(recorder_open(&s->recorder, &s->folder, "sidecar", NULL, err));
    s->nvml = nvml_open();
    probe_oom_begin(&s->oom, 0);
    s->load = (struct probe_load){.nvml = s->nvml, .path = s->folder.path};
    watch_init(&s->watch, &s->folder);
    enum err_code code = OK;
    if (!s->folder.is_offline)
        code = sender_start(
            &s->sender,
            &(struct sender_options){
                .folder = &s->folder,
                .server = &s->options->server,
                .patience_ms = s->options->patience_ms > 0 ? s->options->patience_ms : PATIENCE_MS,
            },
            err);
    if (code == OK)
        code = finish(s, watch_loop(s), err);
    else
        recorder_close(&s->recorder);
    watch_release(&s->watch);
    probe_oom_end(&s->oom);
    nvml_close(s->nvml);
    return code;
}

static bool is_ending(const char *lock)
{
    CLEANUP(buf_release) struct buf text = {0};

    return file_read(lock, LOCK_BYTES_MAX, &text, NULL) == OK &&
           str_ends(buf_str(&text), STR(LOCK_ENDING "\n"));
}

/* The folder's lock. Behind a sidecar that ends one waits, and no more than one. */
static enum err_code lock_take(const struct run_folder *folder, int *ret_fd, struct err *err)
{
    CLEANUP(file_close) int next_fd = -1;
    char lock[PATH_MAX + 16], next[PATH_MAX + 16];
    enum err_code code;

    (void)snprintf(lock, sizeof lock, "%s/sync.lock", folder->path);
    (void)snprintf(next, sizeof next, "%s/sync.next", folder->path);
    while ((code = file_lock(lock, ret_fd, err)) == ERR_CONFLICT && is_ending(lock)) {
        if (next_fd < 0)
            TRY(file_lock(next, &next_fd, err));
        (void)poll(NULL, 0, LOCK_LOOK_MS);
    }
    return code;
}

enum err_code sync_follow(const struct sync_follow_options *options, struct err *err)
{
    static struct sidecar s; /* large, and alone in its process */

    s = (struct sidecar){
        .options = options, .folder = {.dir_fd = -1}, .signal_fd = -1, .lock_fd = -1};
    int is_parent = 0;

    TRY(run_folder_open(options->dir, &s.folder, err));
    run_folder_close(&s.folder); /* it is sound; detaching closes every descriptor */
    if (getcwd(s.cwd, sizeof s.cwd) == NULL)
        s.cwd[0] = '\0';
    if (options->detach) {
        TRY(detach(&is_parent, err));
        if (is_parent)
            return OK;
    }
    /* No folder of somebody else is kept busy by us. */
    char folder[PATH_MAX];
    (void)snprintf(folder, sizeof folder, "%s", s.folder.path);
    if (options->detach && chdir("/") != 0)
        log_warn("sync.chdir", "path", "/");
    TRY(run_folder_open(folder, &s.folder, err));
    enum err_code code = lock_take(&s.folder, &s.lock_fd, err);
    if (code == OK) {
        lock_sign(s.lock_fd, false);
        code = sidecar_run(&s, err);
    }
    file_close(&s.lock_fd);
    file_close(&s.signal_fd);
    run_folder_close(&s.folder);
    return code;
}
