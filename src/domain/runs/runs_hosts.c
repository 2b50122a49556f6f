/* Hosts of a run. The tricky part is the first one: it is asked for as "the machine of the run", so
 * it is the host of the process that decides how the run ends (runs_writers_state.h), and it stays
 * the same whichever log came first. */
#include "domain/runs/runs_hosts.h"

#include "base/map.h"
#include "store/store_writer.h"

#include <limits.h>
#include <stdlib.h>

#define WRITERS_MAX 10000

/* A host while its writers are looked at. */
struct place {
    struct run_host host;
    int lowest;      /* of its processes: 0 for no rank, INT_MAX for no process */
    time_ms started; /* of the last of these with that rank */
};

static void add_writer(struct place *p, const struct writer *w, bool told)
{
    int rank = MAX(w->rank, 0);

    if (told)
        p->host.told_by = w->id; /* they come in their order: the last word stays */
    if (w->rank != RANK_NONE)
        p->host.ranks[p->host.rank_count++] = w->rank;
    if (!str_eq_c(w->kind, "trainer") || rank > p->lowest)
        return;
    p->lowest = rank;
    p->started = w->started;
}

static int compare_ranks(const void *left, const void *right)
{
    int a = *(const int *)left, b = *(const int *)right;

    return (a > b) - (a < b);
}

static void settle_ranks(struct run_host *host)
{
    size_t kept = 0;

    qsort(host->ranks, host->rank_count, sizeof *host->ranks, compare_ranks);
    for (size_t i = 0; i < host->rank_count; i++)
        if (kept == 0 || host->ranks[kept - 1] != host->ranks[i])
            host->ranks[kept++] = host->ranks[i];
    host->rank_count = kept;
}

static int compare_places(const void *left, const void *right)
{
    const struct place *a = left, *b = right;

    if (a->lowest != b->lowest)
        return a->lowest < b->lowest ? -1 : 1;
    if (a->started != b->started)
        return a->started > b->started ? -1 : 1;
    return str_compare(a->host.host, b->host.host);
}

/* Processes that do not name their host have one only when something is known of it. */
static bool knows_unnamed(const struct writer *writers, const bool *told, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (told[i] && writers[i].host.len == 0 && !writers[i].fenced)
            return true;
    return false;
}

/* The place of each writer, NULL for those that do not count; how many writers each place has is
 * counted in rank_count. */
static size_t find_places(const struct writer *writers, const bool *told, size_t count,
                          struct place *places, struct place **ret_of)
{
    bool unnamed = knows_unnamed(writers, told, count);
    struct map known;
    size_t used = 0;

    map_init(&known, MAX(count, 1));
    for (size_t i = 0; i < count; i++) {
        const struct writer *w = &writers[i];
        struct str key = w->host.len ? w->host : STR("\n"); /* no host is called so */
        if (w->fenced || (w->host.len == 0 && !unnamed))
            continue;
        ret_of[i] = map_get(&known, key);
        if (!ret_of[i]) {
            ret_of[i] = &places[used++];
            *ret_of[i] =
                (struct place){.host = {.host = w->host}, .lowest = INT_MAX, .started = TIME_NONE};
            ENSURE(map_put(&known, key, ret_of[i]));
        }
        ret_of[i]->host.rank_count++;
    }
    map_release(&known);
    return used;
}

void runs_hosts(const struct writer *writers, const bool *told, size_t count, struct arena *arena,
                struct run_hosts *ret_hosts)
{
    struct place *places = arena_array(arena, MAX(count, 1), sizeof *places);
    struct place **of = arena_array(arena, MAX(count, 1), sizeof *of);
    size_t used = find_places(writers, told, count, places, of);

    for (size_t i = 0; i < used; i++) {
        places[i].host.ranks = arena_array(arena, places[i].host.rank_count, sizeof(int));
        places[i].host.rank_count = 0;
    }
    for (size_t i = 0; i < count; i++)
        if (of[i])
            add_writer(of[i], &writers[i], told[i]);
    qsort(places, used, sizeof *places, compare_places);
    ret_hosts->total = used;
    ret_hosts->count = MIN(used, (size_t)RUN_HOSTS_MAX);
    ret_hosts->items = arena_array(arena, MAX(ret_hosts->count, 1), sizeof *ret_hosts->items);
    for (size_t i = 0; i < ret_hosts->count; i++) {
        ret_hosts->items[i] = places[i].host;
        settle_ranks(&ret_hosts->items[i]);
    }
}

static int compare_writers(const void *key, const void *item)
{
    int64_t wanted = ((const struct writer *)key)->id.v, at = ((const writer_id *)item)->v;

    return (wanted > at) - (wanted < at);
}

enum err_code runs_hosts_load(struct cmd *cmd, run_id run, const struct writer *writers,
                              size_t count, struct run_hosts *ret_hosts, struct err *err)
{
    const struct writer_doc_filter filter = {WRITER_DOC_MACHINE, MACHINE_CHARS_MAX, WRITERS_MAX};
    bool *told = arena_array(cmd->arena, MAX(count, 1), sizeof *told);
    writer_id *ids;
    size_t id_count = 0, bytes = 0;

    TRY(store_writer_doc_writers(cmd->store, run, &filter, cmd->arena, &ids, &id_count, err));
    for (size_t i = 0; i < count; i++)
        told[i] = bsearch(&writers[i], ids, id_count, sizeof *ids, compare_writers) != NULL;
    runs_hosts(writers, told, count, cmd->arena, ret_hosts);
    for (size_t i = 0; i < ret_hosts->count && bytes < MACHINES_BYTES; i++) {
        struct run_host *host = &ret_hosts->items[i];
        if (host->told_by.v == 0)
            continue;
        TRY(store_writer_doc_get(cmd->store, host->told_by, WRITER_DOC_MACHINE, cmd->arena,
                                 &host->machine, err));
        bytes += host->machine.len;
    }
    return OK;
}
