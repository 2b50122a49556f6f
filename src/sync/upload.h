/* The way of one run folder to the server. Any number of these may work on one folder at the same
 * time, here and elsewhere: offsets decide. One thread at a time; may block */
#pragma once

#include "net/http_client.h"
#include "runlog/segments.h"
#include "sync/runfolder.h"

enum upload_state {
    UPLOAD_GOING,    /* there may be more to send */
    UPLOAD_DAMAGED,  /* the file cannot be read further */
    UPLOAD_DIVERGED, /* the server has another history at this place */
    UPLOAD_REFUSED,  /* the server takes no more of it: see `problem` */
};

struct upload_writer {
    struct id id;
    struct runlog_segments reader;
    enum upload_state state;
    bool is_listed;    /* in the server's list: its offset has been taken from there */
    uint64_t acked;    /* logical offset that the server has committed */
    uint32_t crc;      /* of the record bytes before `acked` */
    char problem[512]; /* one line, "" while all is well */
    struct upload_writer *next;
};

struct upload {
    const struct run_folder *folder;
    struct http_client *client;
    uint8_t *data;                 /* one post */
    bool is_known;                 /* the run exists on the server and its writers are listed */
    struct upload_writer *writers; /* owned */
    uint64_t sent_bytes;
    int64_t next_ms;               /* when the server wants to hear from us again: the soonest */
    bool is_told;                  /* it said so in this round */
    bool stop;                     /* somebody asked the run to stop */
    bool (*keep_going)(void *ctx); /* may be NULL; asked during long requests */
    void *ctx;
};

/* Borrows folder and client until upload_release. */
void upload_init(struct upload *upload, const struct run_folder *folder,
                 struct http_client *client);
void upload_release(struct upload *upload);

/* Sends all that lies in the folder now. OK: all of it is acknowledged, but for writers whose state
 * says otherwise. An error is about the connection or the run as a whole; upload_is_worth_waiting
 * tells whether to try again later. */
MUST_CHECK enum err_code upload_round(struct upload *upload, struct err *err);
bool upload_is_worth_waiting(enum err_code code);
/* Writers that cannot be brought in whole. */
size_t upload_problem_count(const struct upload *upload);
