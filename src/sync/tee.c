/* The text goes on first and is recorded then: nobody at a terminal waits for a disk. A reader that
 * is gone (| head) does not end the recording. */
#include "sync/tee.h"

#include "base/log.h"
#include "sync/recorder.h"
#include "sys/clock.h"
#include "sys/file.h"
#include "sys/process.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#define TEXT_BYTES 65536
#define LOOK_MS    500
#define LINGER_MS  2000 /* after the process: for what its children still have to say */
#define FIRST_FD   3
#define STREAMS    2

struct tee {
    struct run_folder folder;
    struct recorder recorder;
    struct process trainer; /* who started us */
    bool is_recording;
    int fds[STREAMS]; /* -1: at its end */
};

static void recording_end(struct tee *t)
{
    if (!t->is_recording)
        return;
    recorder_end(&t->recorder, &(struct recorder_ending){.reason = "end of text"});
    recorder_close(&t->recorder);
    t->is_recording = false;
}

static void stream_take(struct tee *t, int index)
{
    static const uint8_t streams[STREAMS] = {RUNLOG_STDOUT, RUNLOG_STDERR};
    static char data[TEXT_BYTES];
    ssize_t n = read(t->fds[index], data, sizeof data);
    struct err err;

    if (n < 0 && (errno == EINTR || errno == EAGAIN))
        return;
    if (n <= 0) { /* a pseudo-terminal ends with EIO */
        close(t->fds[index]);
        t->fds[index] = -1;
        return;
    }
    if (file_write_all(STDOUT_FILENO + index, data, (size_t)n, &err) != OK)
        log_debug("tee.output", "error", err.text); /* nobody reads there: recorded all the same */
    if (t->is_recording)
        recorder_console(&t->recorder, streams[index], data, (size_t)n);
}

static void pump(struct tee *t)
{
    int64_t gone_ms = 0;

    while (t->fds[0] >= 0 || t->fds[1] >= 0) {
        struct pollfd waits[STREAMS] = {{.fd = t->fds[0], .events = POLLIN},
                                        {.fd = t->fds[1], .events = POLLIN}};
        int ready = poll(waits, STREAMS, t->is_recording ? LOOK_MS : -1);
        for (int i = 0; i < STREAMS && ready > 0; i++)
            if (waits[i].revents != 0 && t->fds[i] >= 0)
                stream_take(t, i);
        if (gone_ms == 0 && t->is_recording && !process_is_alive(&t->trainer))
            gone_ms = clock_mono_ms();
        if (gone_ms != 0 && clock_mono_ms() - gone_ms > LINGER_MS)
            recording_end(t);
    }
}

enum err_code sync_tee(const char *dir, struct err *err)
{
    struct tee t = {.folder = {.dir_fd = -1}, .fds = {FIRST_FD, FIRST_FD + 1}};

    for (int i = 0; i < STREAMS; i++)
        if (fcntl(t.fds[i], F_GETFD) < 0)
            return err_set(err, ERR_INVALID, "--tee reads from descriptors %d and %d", FIRST_FD,
                           FIRST_FD + 1);
    /* Terminal signals are for the process that prints; a reader that left is no reason to end. */
    (void)signal(SIGINT, SIG_IGN);
    (void)signal(SIGHUP, SIG_IGN);
    (void)signal(SIGTERM, SIG_IGN);
    (void)signal(SIGPIPE, SIG_IGN);
    (void)signal(SIGTTOU, SIG_IGN);
    t.trainer.pid = getppid();
    if (!process_start_ticks(t.trainer.pid, &t.trainer.start_ticks))
        t.trainer.pid = 0;
    enum err_code code = run_folder_open(dir, &t.folder, err);
    if (code == OK)
        code = recorder_open(&t.recorder, &t.folder, "console", NULL, err);
    t.is_recording = code == OK;
    pump(&t); /* also where recording failed: the text must go on */
    recording_end(&t);
    run_folder_close(&t.folder);
    return code;
}
