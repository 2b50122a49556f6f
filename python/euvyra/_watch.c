/* Keeps a training process from harm when the program that passes its console text on dies: a pipe
 * that nobody reads fills up, and then print() waits for ever.
 *
 * A thread without the interpreter sleeps until that program ends. If nobody gave the streams back
 * by then, it puts the descriptors back as they were and passes on itself what still comes through
 * the pipes (children may hold them). thread: its own; watch_start and watch_stop: the
 * interpreter's
 */
#include "python/euvyra/_watch.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define STREAMS     2
#define STACK_BYTES (256 * 1024)
#define TEXT_BYTES  16384

struct watch {
    int pid_fd;
    int read_fds[STREAMS];
    int saved_fds[STREAMS];
    struct stat pipes[STREAMS]; /* what descriptors 1 and 2 are while the text is captured */
    _Atomic int who;            /* who gave the streams back: see below */
};

#define NOBODY_YET 0
#define THE_OWNER  1 /* in order, at the end of a run */
#define THE_WATCH  2 /* the reader died: the descriptors above are in use for good */

static struct watch *running; /* at most one capture a process */

static bool is_still_ours(const struct watch *w, int stream)
{
    struct stat now;

    return fstat(STDOUT_FILENO + stream, &now) == 0 && now.st_dev == w->pipes[stream].st_dev &&
           now.st_ino == w->pipes[stream].st_ino;
}

static void write_all(int fd, const char *data, ssize_t len)
{
    while (len > 0) {
        ssize_t n = write(fd, data, (size_t)len);
        if (n < 0 && errno != EINTR)
            return; /* nobody reads there any more either */
        data += n > 0 ? n : 0;
        len -= n > 0 ? n : 0;
    }
}

/* Passes on what comes until all writers have closed. */
static void pump(struct watch *w)
{
    char data[TEXT_BYTES];

    while (w->read_fds[0] >= 0 || w->read_fds[1] >= 0) {
        struct pollfd waits[STREAMS] = {{.fd = w->read_fds[0], .events = POLLIN},
                                        {.fd = w->read_fds[1], .events = POLLIN}};
        if (poll(waits, STREAMS, -1) < 0 && errno != EINTR)
            return;
        for (int i = 0; i < STREAMS; i++) {
            if (waits[i].revents == 0)
                continue;
            ssize_t n = read(w->read_fds[i], data, sizeof data);
            if (n > 0)
                write_all(w->saved_fds[i], data, n);
            else if (n == 0 || (errno != EINTR && errno != EAGAIN))
                w->read_fds[i] = -1;
        }
    }
}

static void *watch_run(void *ctx)
{
    struct watch *w = ctx;
    struct pollfd wait = {.fd = w->pid_fd, .events = POLLIN};

    while (poll(&wait, 1, -1) < 0 && errno == EINTR) {
    }
    int nobody = NOBODY_YET;
    if (atomic_compare_exchange_strong(&w->who, &nobody, THE_WATCH)) {
        for (int i = 0; i < STREAMS; i++)
            if (is_still_ours(w, i))
                (void)dup2(w->saved_fds[i], STDOUT_FILENO + i);
        pump(w);
        return NULL; /* the owner may still ask who it was */
    }
    close(w->pid_fd);
    free(w);
    return NULL;
}

int euvyra_watch_start(int pid, const int read_fds[2], const int saved_fds[2])
{
    struct watch *w = calloc(1, sizeof *w);
    pthread_attr_t attributes;
    pthread_t thread;
    int rc;

    if (w == NULL)
        return -ENOMEM;
    w->pid_fd = (int)syscall(SYS_pidfd_open, pid, 0);
    if (w->pid_fd < 0) {
        rc = -errno;
        free(w);
        return rc;
    }
    for (int i = 0; i < STREAMS; i++) {
        w->read_fds[i] = read_fds[i];
        w->saved_fds[i] = saved_fds[i];
        (void)fstat(STDOUT_FILENO + i, &w->pipes[i]);
    }
    pthread_attr_init(&attributes);
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    pthread_attr_setstacksize(&attributes, STACK_BYTES);
    rc = pthread_create(&thread, &attributes, watch_run, w);
    pthread_attr_destroy(&attributes);
    if (rc != 0) {
        close(w->pid_fd);
        free(w);
        return -rc;
    }
    running = w;
    return 0;
}

bool euvyra_watch_stop(void)
{
    int nobody = NOBODY_YET;
    bool in_order =
        running == NULL || atomic_compare_exchange_strong(&running->who, &nobody, THE_OWNER);

    running = NULL;
    return in_order;
}
