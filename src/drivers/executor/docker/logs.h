/* A container's output, brought into the file `console` of the attempt's folder, every byte once.
 *
 * The engine numbers nothing: an entry of its log has a time stamp, and several may have the same.
 * What is asked for from a point in time on is always the same sequence of entries, to which only
 * new ones are added; so the place where one has come to is such a point (the anchor) and how many
 * of its entries were taken. That, and how long the console is, is written down (file `logs.json`,
 * fsynced) every few seconds; whoever comes after a crash cuts the console back to that length and
 * goes on from there. Two streams write at once, so a stamp may be a little older than the one
 * before it: a new anchor is only taken up when the stream is seconds past it. thread: the
 * attempt's, but for logs_bytes; may block */
#pragma once

#include "drivers/executor/docker/engine.h"

/* Where one has come to. */
struct logs_place {
    int64_t anchor_ns;  /* 0: the beginning */
    int64_t taken;      /* entries from the anchor on */
    int64_t first_ns;   /* stamp of the first of them: if it is another now, some have been lost */
    int64_t last_ns;    /* stamp of the last one */
    int64_t entries;    /* all so far */
    int64_t text_bytes; /* all text so far, with what is beyond the console's limit */
    int64_t open_ns[2]; /* stamp of a line of each stream whose end has not come; 0: none */
};

struct logs;

struct logs_options {
    const char *folder;
    int64_t console_bytes_max; /* 0: no limit */
};

MUST_CHECK enum err_code logs_open(struct logs **ret_logs, const struct logs_options *options,
                                   struct err *err);
void logs_free(struct logs *logs); /* accepts NULL */
/* Copies what there is; with `follow` also what comes, until the container has ended. OK: the
 * stream is at its end. ERR_NOT_FOUND: there is no such container; ERR_UNAVAILABLE: the engine is
 * away; ERR_INTERNAL: it cannot read its log; ERR_DISK_FULL, ERR_IO: the console cannot be written:
 * nothing is lost, call again; ERR_TIMEOUT: keep_going. */
MUST_CHECK enum err_code logs_copy(struct logs *logs, struct engine *engine, const char *container,
                                   bool follow, struct err *err);
/* True when it is to be read without `follow` now; *ret_ms: and how long to wait before. */
bool logs_must_poll(const struct logs *logs, int64_t *ret_ms);
/* Before the first copy: asked at least every second. */
void logs_on_wait(struct logs *logs, bool (*keep_going)(void *ctx), void *ctx);
/* A line of ours in the text: "\neuvyra-agent: WHAT\n". */
MUST_CHECK enum err_code logs_say(struct logs *logs, const char *what, struct err *err);
/* When no more comes: the line about what was left out; durable. May be repeated after a crash. */
MUST_CHECK enum err_code logs_finish(struct logs *logs, struct err *err);
/* How much of the console is text that stays. thread: any */
int64_t logs_bytes(const struct logs *logs);
/* The same of an attempt that nobody copies now, from its files. thread: any */
int64_t logs_bytes_in(const char *folder);

/* How large a file of the engine's log is to be, of which it keeps LOGS_FILES. Pure. thread: any */
#define LOGS_FILES 2
int64_t logs_file_bytes(int64_t console_bytes_max);

/* ---- Pure parts, for their test */

struct logs_cursor {
    struct logs_place place;
    struct logs_place next; /* the anchor that is to come; next.anchor_ns 0: none */
    int64_t skip;           /* entries that were taken before and come again */
};
void logs_resume(struct logs_cursor *cursor); /* from its place */
/* Takes one entry up, as the engine sends it ("STAMP TEXT"): what belongs into the console is added
 * to `out`. */
MUST_CHECK enum err_code logs_take(struct logs_cursor *cursor, int stream, struct str entry,
                                   struct buf *out, struct err *err);
