/* What a stretch of a run log says, gathered into one batch of writes: pure, no store. The slow
 * part of ingest, done on an ingest thread. All memory is in the arena, but the JSON values.
 * thread: any */
#pragma once

#include "base/arena.h"
#include "base/err.h"
#include "base/json.h"
#include "model/metric.h"
#include "model/run.h"

struct ingest_name {
    uint32_t local_id;
    enum metric_kind kind;
    struct str name;
    struct ingest_name *next;
};

struct ingest_facts {
    uint32_t local_id;
    struct metric_facts facts; /* id and name are not known here */
    struct ingest_facts *next;
};

struct ingest_file {
    struct str path, detail;
    struct ingest_file *next;
};

struct ingest_record { /* of a type we do not know */
    int64_t offset;
    int type;
    struct str payload;
    struct ingest_record *next;
};

struct ingest_alert {
    int64_t offset;
    struct alert alert; /* level, title, text, at */
    struct ingest_alert *next;
};

struct ingest_gone {
    struct writer_gone gone;
    struct ingest_gone *next;
};

struct ingest_batch {
    int64_t from, to;               /* log offsets it covers */
    json_t *start;                  /* or NULL; released by ingest_batch_release */
    json_t *config, *summary;       /* merged patches, or NULL */
    json_t *defined;                /* definitions of metrics by name, or NULL */
    struct str code, machine, diff; /* whole documents, last one wins; len 0: none */
    struct str tags, notes;         /* JSON array; text; data NULL: none */
    bool tags_join;                 /* the tags of a start record are added to those the run has */
    struct ingest_name *names, *names_last;
    struct ingest_facts *facts;
    size_t name_count, facts_count;
    struct ingest_file *files;
    struct ingest_record *records;
    struct str *console; /* pieces in order */
    size_t console_count, console_room;
    struct ingest_alert *alerts, *alerts_last; /* in order */
    struct ingest_gone *gone;                  /* processes that a sidecar saw to be gone */
    bool preempting;
    int64_t redacted;   /* secrets taken out so far, as its marks say */
    int64_t first_step; /* of its first row; STEP_NONE */
    int64_t step_min;   /* of its rows; INT64_MAX */
    time_ms heard;      /* newest time in it; TIME_NONE */
    bool ended;
    int exit_code, exit_signal;
    bool oom;
    time_ms ended_at;
    struct str end_reason;
    int64_t points;
};

/* `data` is whole groups, checked already; it must outlive the batch. A payload that does not have
 * its shape is kept like one of an unknown type and breaks nothing. */
void ingest_decode(struct str data, int64_t from, struct arena *arena,
                   struct ingest_batch *ret_batch);
void ingest_batch_release(struct ingest_batch *batch);
