/* A writer of our own in a run folder: the sidecar's and exec's records. One thread at a time;
 * blocks on the disk. Records that the disk refuses are counted by the writer and told in the log;
 * callers go on. */
#pragma once

#include "base/map.h"
#include "probe/load.h"
#include "probe/machine.h"
#include "runlog/writer.h"
#include "sync/runfolder.h"

struct recorder {
    struct runlog_writer writer;
    struct id id;
    uint32_t name_count;
    uint32_t redacted;
    struct map names; /* of system metrics; the value is id + 1 as a pointer */
};

/* `kind` is "sidecar", "exec" or "console"; `argv` (NULL-terminated) may be NULL. */
MUST_CHECK enum err_code recorder_open(struct recorder *recorder, const struct run_folder *folder,
                                       const char *kind, const char *const *argv, struct err *err);
void recorder_close(struct recorder *recorder);

void recorder_json(struct recorder *recorder, enum runlog_type type, struct str json);
void recorder_machine(struct recorder *recorder, const struct probe_machine *machine);
void recorder_system(struct recorder *recorder, const struct probe_value *values, size_t count);
void recorder_heartbeat(struct recorder *recorder);
void recorder_console(struct recorder *recorder, uint8_t stream, const char *data, size_t len);
/* How many secrets were taken out of what this recorder wrote, so far in all. */
void recorder_redacted(struct recorder *recorder, uint32_t more);
/* That the process of another writer is gone and its log has no end. */
void recorder_gone(struct recorder *recorder, const struct id *writer, bool oom);
struct recorder_ending {
    int exit_code, signal; /* an exit code, or a signal when above 0 */
    bool oom;              /* the kernel killed it for lack of memory */
    const char *reason;
};
void recorder_end(struct recorder *recorder, const struct recorder_ending *ending);
