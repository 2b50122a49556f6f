/* What the files of libeuvyra share. Nothing here is exported. thread: as include/euvyra says */
#pragma once

#include "runlog/writer.h"

#include <euvyra/euvyra.h>

#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/types.h>

/* Metric names of one log: a hash table from text to id, and the texts by id. */
struct client_names {
    char **texts; /* by id, NUL-terminated; owned */
    uint32_t count;
    uint32_t capacity;
    uint32_t *slots; /* id + 1, or 0; slot_count is a power of two */
    uint32_t slot_count;
};

struct euvyra_run {
    pthread_mutex_t lock;
    _Atomic int *alive; /* on a page that the kernel zeroes in a forked child */
    pid_t owner_pid;    /* of the process that opened the handle */
    pid_t writer_pid;   /* of the process that opened the writer */
    bool wipes;         /* the kernel does so; else pids are compared */
    bool closed;
    int dir_fd;
    struct runlog_writer writer;
    struct client_names names;
    int64_t next_step;
    int rank, local_rank, world_size; /* -1: none */
    uint32_t redacted;                /* secrets taken out so far, by this writer */
    int64_t now_ms;                   /* of the last row */
    int64_t due_ms;                   /* when euvyra_is_due said so last; 0: never */
    char run[RUNLOG_ID_LEN + 1];
    char writer_id[RUNLOG_ID_LEN + 1];
    char parent_writer[RUNLOG_ID_LEN + 1];
    char folder[PATH_MAX];
    char kind[16];
    char sdk[32];
};

/* Wall clock in milliseconds. */
int64_t client__now_ms(void);
enum euvyra_code client__code(int rc); /* of a negative errno; 0 is EUVYRA_OK */

/* The id of `text`, new or known. *ret_new tells which. */
enum euvyra_code client__names_intern(struct client_names *names, const char *text, size_t len,
                                      uint32_t *ret_id, bool *ret_new);
void client__names_forget_last(struct client_names *names);
void client__names_release(struct client_names *names);

/* A new id from the kernel's random numbers. */
enum euvyra_code client__make_id(char kind, char ret_id[RUNLOG_ID_LEN + 1]);
/* What the environment says where `value` is NULL; `fallback` where that is silent too. */
const char *client__option(const char *value, const char *variable, const char *fallback);
/* The job whose run this is, by the environment; NULL for further runs that a job's process makes.
 */
const char *client__job_of(const struct euvyra_run *run);
/* True when `euvyra exec` is our parent and this is its run: it tells how the run ended. */
bool client__is_below_exec(const struct euvyra_run *run);
/* When process `pid` started, in ticks since boot: with the pid it names a process for ever. 0 when
 * it cannot be told. */
int64_t client__process_start(long pid);
/* Fills run->rank and the like from the options or the environment. */
void client__ranks(struct euvyra_run *run, const struct euvyra_options *options);
/* The name of the epoch that this process opens together with its fellows. */
void client__epoch_key(const struct euvyra_run *run, char *ret_key, size_t key_bytes);
/* Finds or makes the run's folder, fills run, folder and dir_fd, and writes run.json. */
enum euvyra_code client__folder_open(struct euvyra_run *run, const struct euvyra_options *options);
/* Appends the first record. `options` is NULL in a forked child. */
enum euvyra_code client__start(struct euvyra_run *run, const struct euvyra_options *options);
