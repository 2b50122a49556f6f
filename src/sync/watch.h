/* What the processes of a run are doing, told from their logs: who they are (start records),
 * whether they have ended (end records) or are gone. Also flushes what they wrote to the disk.
 * thread: the owner, one at a time; blocks on the disk */
#pragma once

#include "runlog/segments.h"
#include "sync/runfolder.h"
#include "sys/process.h"

struct watch_writer {
    struct id id;
    struct runlog_segments reader;
    struct process process; /* from the start record; pid 0: not known yet */
    int rank;               /* -1: none */
    bool is_ours;           /* of this sidecar or another one: not waited for */
    bool tells_end;         /* a process whose end decides about the run: a trainer, or exec */
    bool looks_gone;        /* it was found dead without an end record, one look ago */
    bool is_told;           /* watch_next_gone gave it */
    bool is_elsewhere;      /* of another host: not waited for, not seen */
    bool has_ended;         /* an end record */
    struct watch_writer *next;
};

struct watch {
    const struct run_folder *folder; /* borrowed */
    uint8_t *data;
    char host[256];
    struct watch_writer *writers;
};

void watch_init(struct watch *watch, const struct run_folder *folder);
void watch_release(struct watch *watch);
/* Looks at everything new and flushes it to the disk. */
MUST_CHECK enum err_code watch_look(struct watch *watch, struct err *err);
/* True when every process of this host that writes here has ended or is gone. */
bool watch_all_ended(const struct watch *watch);
/* A process whose end decides, that is dead, and whose log has no end record although everything
 * in it has been looked at since; each is given once. NULL: none. With `at_once` a process is given
 * in the look that finds it dead, else in the next one. */
const struct watch_writer *watch_next_gone(struct watch *watch, bool at_once);
int watch_first_pid(const struct watch *watch); /* a living trainer's, or 0 */
