/* Where a run ran: each host with its ranks and its machine, as the logs of its writers tell, the
 * same in whatever order these came. */
#pragma once

#include "base/arena.h"
#include "domain/cmd.h"
#include "model/run.h"

#define RUN_HOSTS_MAX     1000              /* told of one run; all are counted */
#define MACHINE_CHARS_MAX (256 * 1024)      /* a machine of more is not told */
#define MACHINES_BYTES    (8 * 1024 * 1024) /* when so much is told, the rest is not */

struct run_host {
    struct str host; /* "": the logs do not say */
    int *ranks;      /* ascending, each once; none where the processes are not of many */
    size_t rank_count;
    writer_id told_by;  /* the writer whose word about the machine counts; v == 0: none */
    struct str machine; /* JSON; {0}: not known. Set by runs_hosts_load alone */
};
struct run_hosts {
    struct run_host *items;
    size_t count; /* at most RUN_HOSTS_MAX */
    size_t total; /* hosts that there are */
};

/* Pure. `writers` are ordered by start and id; told[i]: writer i described its machine. Of several
 * descriptions of a host that of the last counts. The host of the lowest rank (0, or no rank) is
 * first, and of several of these the one where it started last; hosts of which only a sidecar was
 * heard come last. Fenced writers do not count. thread: any */
void runs_hosts(const struct writer *writers, const bool *told, size_t count, struct arena *arena,
                struct run_hosts *ret_hosts);

/* The hosts of a run with what their machines are. thread: owner of the store; may block */
MUST_CHECK enum err_code runs_hosts_load(struct cmd *cmd, run_id run, const struct writer *writers,
                                         size_t count, struct run_hosts *ret_hosts,
                                         struct err *err);
