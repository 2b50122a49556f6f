/* The console of an attempt, brought from a pod's log into the file `console` of the attempt's
 * folder: every byte once, whatever is cut in between. thread: the attempt's
 *
 * The API gives a log from a second on, with the time before each line, and no offsets. So we keep
 * the second that a line began in, and how much text followed since: a stream that is opened again
 * from that second begins with the same text, which is left out. `console.json` holds that place
 * and the length of the file, written after the text itself is on the disk; what lies beyond it
 * after a crash is cut off. Text beyond the limit is counted and left out. */
#pragma once

#include "base/buf.h"
#include "base/err.h"

#define POD_LOG_TIME_BYTES 48

struct pod_log {
    char folder[2048];
    int fd; /* -1: not open */
    int64_t bytes_max;
    /* What is on the disk. */
    char pod[64];                   /* UID of the pod that the place below is in */
    char since[POD_LOG_TIME_BYTES]; /* as the API takes it: a second; "": from its beginning */
    char first[POD_LOG_TIME_BYTES]; /* time of the first line of that second */
    char last[POD_LOG_TIME_BYTES];  /* time of the last line */
    int64_t seen;                   /* bytes of text from that second on */
    int64_t written, left_out;      /* of the file; beyond the limit */
    bool finished;
    /* Of the stream that is read now. */
    char head[POD_LOG_TIME_BYTES]; /* the time of the next line, as far as it has come */
    size_t head_len;
    char time[POD_LOG_TIME_BYTES]; /* of this line, or of the one before */
    bool in_line, counts, begun, drops_old;
    int64_t skip;       /* text that is known already */
    int64_t line_bytes; /* of this line, so far */
    bool before_is_short;
    struct buf out; /* not in the file yet */
    bool dirty;     /* there is more than console.json says */
};

/* Goes on where console.json says. */
MUST_CHECK enum err_code pod_log_open(struct pod_log *log, const char *folder, int64_t bytes_max,
                                      struct err *err);
void pod_log_close(struct pod_log *log); /* accepts one that is not open; what was not committed is
                                            forgotten */
/* Before a stream of this pod is read; its place is `since` then. */
void pod_log_begin(struct pod_log *log, const char *pod_uid);
/* A piece of the stream, with timestamps. */
MUST_CHECK enum err_code pod_log_take(struct pod_log *log, struct str data, struct err *err);
/* Text and place onto the disk. */
MUST_CHECK enum err_code pod_log_commit(struct pod_log *log, struct err *err);
/* After the last stream: a line about what was left out. Once. */
MUST_CHECK enum err_code pod_log_finish(struct pod_log *log, struct err *err);
/* How much of the file is text that stays. */
int64_t pod_log_bytes(const struct pod_log *log);
