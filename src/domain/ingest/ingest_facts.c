/* What a batch says of its metrics, brought into the facts of the run. The facts that are there are
 * read for many names at a time: a database that is another process is asked a few times a batch,
 * not once a metric. */
#include "domain/ingest/ingest_facts.h"

#include "domain/metrics/facts.h"
#include "store/store_metric.h"

#include <stdlib.h>

#define GAP_MAX 8    /* names that nobody asked for, read along */
#define ASK_MAX 4096 /* names at a time */

struct ingest_entry {
    uint32_t local_id;
    const struct metric_facts *more;
    struct metric_facts have; /* id 0: nobody named this number */
};

static int by_local(const void *a, const void *b)
{
    const struct ingest_entry *x = a, *y = b;
    return (x->local_id > y->local_id) - (x->local_id < y->local_id);
}

static int by_metric(const void *a, const void *b)
{
    const struct ingest_entry *x = a, *y = b;
    return (x->have.id.v > y->have.id.v) - (x->have.id.v < y->have.id.v);
}

struct ingest_entry *ingest__entries(const struct ingest_batch *batch, struct arena *arena)
{
    struct ingest_entry *entries = arena_array(arena, batch->facts_count, sizeof *entries);
    size_t count = 0;

    for (const struct ingest_facts *f = batch->facts; f; f = f->next)
        entries[count++] = (struct ingest_entry){.local_id = f->local_id, .more = &f->facts};
    qsort(entries, count, sizeof *entries, by_local);
    return entries;
}

/* How many entries, from the first, are asked for together. */
static size_t part_of(const struct ingest_entry *entries, size_t count)
{
    size_t part = 1;

    while (part < count && part < ASK_MAX &&
           entries[part].local_id - entries[part - 1].local_id <= GAP_MAX)
        part++;
    return part;
}

static enum err_code read_part(struct cmd *cmd, run_id run, writer_id writer,
                               struct ingest_entry *entries, size_t count, struct err *err)
{
    struct writer_facts_range range = {run, writer, entries[0].local_id,
                                       entries[count - 1].local_id};
    struct writer_facts *known;
    size_t known_count = 0, at = 0;

    TRY(store_writer_facts_list(cmd->store, &range, cmd->arena, &known, &known_count, err));
    for (size_t i = 0; i < count; i++) {
        while (at < known_count && known[at].local_id < entries[i].local_id)
            at++;
        if (at < known_count && known[at].local_id == entries[i].local_id)
            entries[i].have = known[at].facts;
    }
    return OK;
}

enum err_code ingest__facts_apply(struct cmd *cmd, const struct ingest_work *work, size_t from,
                                  size_t count, struct err *err)
{
    struct ingest_entry *entries = arena_array(cmd->arena, count, sizeof *entries);
    size_t part;

    /* A copy: a piece that has to be done again begins with what it began with. */
    memcpy(entries, work->entries + from, count * sizeof *entries);
    for (size_t at = 0; at < count; at += part) {
        part = part_of(entries + at, count - at);
        TRY(read_part(cmd, work->run, work->writer, entries + at, part, err));
    }
    qsort(entries, count, sizeof *entries, by_metric); /* a name may have two numbers */
    for (size_t at = 0; at < count; at += part) {
        struct metric_facts have = entries[at].have;
        for (part = 0; at + part < count && entries[at + part].have.id.v == have.id.v; part++)
            metric_facts_join(&have, entries[at + part].more);
        if (have.id.v) /* else rows that use a number nobody named */
            TRY(store_run_metric_set(cmd->store, work->run, &have, err));
    }
    return OK;
}
