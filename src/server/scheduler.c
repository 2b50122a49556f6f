/* The scheduler thread: keeps what the scheduler knows up to date from what the command thread says
 * has changed, runs its cycles, and has the decisions carried out as commands like any others. So a
 * cycle holds up neither a submission nor a claim, and a decision that has become wrong meanwhile
 * is void.
 *
 * A first event starts a cycle at once; more of them wait until the last cycle is a moment ago, and
 * a long cycle is given a longer moment. Servers that do not lead run cycles too, for what they say
 * about waiting jobs, and carry nothing out. */
#include "base/log.h"
#include "base/mem.h"
#include "domain/jobs/jobs_snapshot.h"
#include "server/server_impl.h"
#include "sys/clock.h"

#include <stdatomic.h>

#define NOTES_MAX     100000 /* more have everything read again */
#define NOTES_BATCH   1024
#define CYCLE_MS      5000
#define SOON_MS       10
#define ALL_JOBS      2000 /* so many are all looked at in each cycle */
#define DEPTH         32   /* else so many of those that wait alike */
#define REST_FACTOR   2    /* a cycle that took t is followed by a rest of so many t */
#define START_AT_ONCE 64   /* jobs of one command: others come between */
#define RETRY_MS      1000
#define STOPPING_MS   100

/* About the future: the asker waits, and lends its arena. */
struct question {
    const struct forecast_question *ask;
    struct arena *arena;
    struct forecast answer;
    bool known;
    struct latch *done;
};

enum note_kind { NOTE_JOB, NOTE_SETTINGS, NOTE_QUESTION };
struct note {
    enum note_kind kind;
    struct id job;
    struct question *question;
};

struct scheduler {
    struct server *server;
    struct thread *thread;
    struct queue *notes;
    atomic_bool overflowed; /* a note was lost: read everything */
    atomic_bool leads, closing;
    struct lock *waits_lock;
    struct job_wait_row *waits; /* by job */
    size_t wait_count;
    struct wait_place *ranked; /* by rank */
    size_t ranked_count;
};

struct scheduler *scheduler_new(struct server *server)
{
    struct scheduler *s = MEM_NEW(struct scheduler);

    s->server = server;
    s->notes = queue_new(NOTES_MAX);
    s->waits_lock = lock_new();
    return s;
}

void scheduler_stop(struct scheduler *s)
{
    if (!s)
        return;
    atomic_store(&s->closing, true);
    queue_close(s->notes);
    thread_join(&s->thread);
}

void scheduler_free(struct scheduler *s)
{
    struct note *note;

    if (!s)
        return;
    while ((note = queue_pop(s->notes, 0)))
        mem_free(note);
    queue_free(s->notes);
    lock_free(s->waits_lock);
    mem_free(s->waits);
    mem_free(s->ranked);
    mem_free(s);
}

void scheduler_leads(struct scheduler *s, bool leads)
{
    atomic_store(&s->leads, leads);
}

static void note_push(struct scheduler *s, struct note note)
{
    struct note *item = mem_copy(&note, sizeof note);

    if (queue_push(s->notes, item))
        return;
    mem_free(item);
    atomic_store(&s->overflowed, true);
}

void scheduler_note_job(struct scheduler *s, const struct id *job)
{
    note_push(s, (struct note){.kind = NOTE_JOB, .job = *job});
}

void scheduler_note_settings(struct scheduler *s)
{
    note_push(s, (struct note){.kind = NOTE_SETTINGS});
}

bool scheduler_wait_find(void *scheduler, job_id job, struct wait *ret_wait)
{
    struct scheduler *s = scheduler;
    size_t low = 0, high;
    bool found;

    lock_enter(s->waits_lock);
    high = s->wait_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (s->waits[middle].job.v < job.v)
            low = middle + 1;
        else
            high = middle;
    }
    found = low < s->wait_count && s->waits[low].job.v == job.v;
    if (found)
        *ret_wait = s->waits[low].wait;
    lock_leave(s->waits_lock);
    return found;
}

size_t scheduler_ranked(void *scheduler, int64_t passed, struct wait_place *ret_places, size_t max)
{
    struct scheduler *s = scheduler;
    size_t count = 0, from = (size_t)MAX(passed, 0);

    lock_enter(s->waits_lock);
    if (from < s->ranked_count) {
        count = MIN(max, s->ranked_count - from);
        memcpy(ret_places, s->ranked + from, count * sizeof *ret_places);
    }
    lock_leave(s->waits_lock);
    return count;
}

bool scheduler_forecast(void *scheduler, const struct forecast_question *question,
                        struct arena *arena, struct forecast *ret_forecast)
{
    struct scheduler *s = scheduler;
    struct question q = {.ask = question, .arena = arena, .done = latch_new()};
    struct note *item =
        mem_copy(&(struct note){.kind = NOTE_QUESTION, .question = &q}, sizeof *item);

    if (queue_push(s->notes, item))
        (void)latch_wait(q.done, -1); /* the thread answers all before it ends */
    else
        mem_free(item);
    latch_free(q.done);
    *ret_forecast = q.answer;
    return q.known;
}

static void publish_waits(struct scheduler *s, const struct jobs_decisions *d)
{
    struct job_wait_row *old, *rows = mem_array(d->wait_count, sizeof *rows);
    struct wait_place *old_ranked, *ranked = mem_array(d->ranked_count, sizeof *ranked);

    if (d->wait_count)
        memcpy(rows, d->waits, d->wait_count * sizeof *rows);
    if (d->ranked_count)
        memcpy(ranked, d->ranked, d->ranked_count * sizeof *ranked);
    lock_enter(s->waits_lock);
    old_ranked = s->ranked;
    s->ranked = ranked;
    s->ranked_count = d->ranked_count;
    old = s->waits;
    s->waits = rows;
    s->wait_count = d->wait_count;
    lock_leave(s->waits_lock);
    mem_free(old);
    mem_free(old_ranked);
}

/* A part of the decisions, as one command. */
struct carry_out {
    struct server *server;
    const struct jobs_start *starts;
    size_t start_count;
    const struct jobs_evict *evicts;
    size_t evict_count;
    const job_id *broken;
    size_t broken_count;
};

static enum err_code carry_out(void *ctx, struct cmd *cmd, struct err *err)
{
    struct carry_out *c = ctx;

    if (c->server->fence == 0)
        return OK;
    if (store_lead_check(cmd->store, c->server->fence, err) != OK)
        return ERR_FENCED;
    TRY(jobs_evict(cmd, c->evicts, c->evict_count, err));
    TRY(jobs_end_broken(cmd, c->broken, c->broken_count, err));
    return jobs_start(cmd, c->starts, c->start_count, err);
}

static enum err_code decide(struct scheduler *s, const struct jobs_decisions *d, struct err *err)
{
    struct carry_out c = {
        .server = s->server,
        .evicts = d->evicts,
        .evict_count = d->evict_count,
        .broken = d->broken,
        .broken_count = d->broken_count,
    };

    if (c.evict_count + c.broken_count)
        TRY(server_command(s->server, carry_out, &c, err));
    for (size_t i = 0; i < d->start_count; i += START_AT_ONCE) {
        c = (struct carry_out){.server = s->server,
                               .starts = d->starts + i,
                               .start_count = MIN(d->start_count - i, START_AT_ONCE)};
        TRY(server_command(s->server, carry_out, &c, err));
    }
    return OK;
}

/* The thread's own state. */
struct runner {
    struct scheduler *s;
    struct store store;
    struct jobs_snapshot *snapshot;
    bool loaded, wanted, settings_wanted;
    bool settings_fresh; /* read in this turn */
    int64_t due_ms;      /* at the latest */
    int64_t
        settings_due_ms; /* read again at the latest, however busy it is: who is heard is there */
    int64_t all_due_ms;  /* all jobs are looked at, for what is said about them */
    int64_t earliest_ms; /* not before */
    struct arena arena;
};

static enum err_code refresh(struct runner *r, int64_t now_ms, struct err *err)
{
    CLEANUP(arena_release) struct arena arena = {0};
    struct cmd cmd;

    bool read_settings = r->settings_wanted || now_ms >= r->settings_due_ms ||
                         jobs_snapshot_settings_are_old(r->snapshot);

    server_cmd_init(r->s->server, &cmd, &r->store, &arena);
    if (atomic_exchange(&r->s->overflowed, false) || jobs_snapshot_is_stale(r->snapshot))
        r->loaded = false;
    if (!r->loaded) {
        TRY(jobs_snapshot_load(r->snapshot, &cmd, err));
        log_debug("scheduler.loaded", "jobs", LOG_I64((int64_t)jobs_snapshot_count(r->snapshot)),
                  "ms", LOG_I64(clock_mono_ms() - now_ms));
    } else if (read_settings) {
        TRY(jobs_snapshot_settings(r->snapshot, &cmd, err));
    }
    r->settings_fresh = !r->loaded || read_settings;
    if (r->settings_fresh)
        r->settings_due_ms = now_ms + CYCLE_MS;
    r->loaded = true;
    r->settings_wanted = false;
    return OK;
}

/* With many jobs most cycles look at the first of those that wait alike; all of them are looked at
 * every few seconds, for what is said about the others. */
static enum err_code cycle(struct runner *r, int64_t now_ms, struct err *err)
{
    bool all = jobs_snapshot_count(r->snapshot) <= ALL_JOBS || now_ms >= r->all_due_ms, more;
    struct jobs_decisions decisions;
    struct sched_snapshot sched;
    struct sched_result result;

    arena_reset(&r->arena);
    jobs_snapshot_build(r->snapshot, clock_wall_ms(), all ? SIZE_MAX : DEPTH, &r->arena, &sched,
                        &more);
    sched_cycle(&sched, &r->arena, &result);
    jobs_snapshot_decide(r->snapshot, &sched, &result, &r->arena, &decisions);
    if (all) {
        publish_waits(r->s, &decisions);
        r->all_due_ms = now_ms + CYCLE_MS;
    }
    r->wanted = (more && result.start_count > 0) ||
                (!r->settings_fresh && jobs_snapshot_settings_are_old(r->snapshot));
    return atomic_load(&r->s->leads) ? decide(r->s, &decisions, err) : OK;
}

static void turn(struct runner *r)
{
    int64_t began = clock_mono_ms(), took;
    struct err err;
    enum err_code code = refresh(r, began, &err);

    r->wanted = false;
    if (code == OK)
        code = cycle(r, began, &err);
    took = clock_mono_ms() - began;
    r->due_ms = began + took + CYCLE_MS;
    r->earliest_ms = began + took + MAX(SOON_MS - took, took * REST_FACTOR);
    if (code == OK || r->s->server->stopping)
        return;
    if (code != ERR_FENCED)
        log_error("scheduler.failed", "error", err.text);
    r->loaded = false; /* what it remembers may be wrong now */
    r->due_ms = began + took + RETRY_MS;
}

static bool ask(struct runner *r, struct question *q)
{
    return r->loaded && !r->s->server->stopping &&
           jobs_snapshot_forecast(r->snapshot, clock_wall_ms(), q->ask, q->arena, &q->answer);
}

static void answer(struct runner *r, struct question *q)
{
    struct err err;

    q->known = ask(r, q);
    if (!q->known && r->loaded && jobs_snapshot_settings_are_old(r->snapshot) &&
        refresh(r, clock_mono_ms(), &err) == OK) /* its project or queue is new */
        q->known = ask(r, q);
    latch_set(q->done);
}

/* Takes in what has changed. */
static void hear(struct runner *r, void **notes, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct note *note = notes[i];
        struct err err;
        if (note->kind == NOTE_SETTINGS)
            r->settings_wanted = r->wanted = true;
        else if (note->kind == NOTE_QUESTION)
            answer(r, note->question);
        else if (r->loaded &&
                 jobs_snapshot_job(r->snapshot, &r->store, &note->job, &r->wanted, &err) != OK) {
            log_warn("scheduler.read", "job", note->job.text, "error", err.text);
            r->loaded = false;
            r->wanted = true;
        }
        mem_free(note);
    }
}

static int64_t wait_ms(const struct runner *r)
{
    int64_t now = clock_mono_ms(), wall = clock_wall_ms(), until = r->due_ms;
    time_ms next;

    if (r->s->server->stopping)
        return STOPPING_MS;
    next = r->loaded ? jobs_snapshot_next(r->snapshot, wall) : TIME_NONE;

    if (next != TIME_NONE)
        until = MIN(until, now + MAX(next - wall, 0));
    if (r->wanted)
        until = MIN(until, r->earliest_ms);
    return MAX(until - now, 0);
}

static void scheduler_run(void *scheduler)
{
    struct scheduler *s = scheduler;
    struct runner r = {.s = s};
    void *notes[NOTES_BATCH];

    if (!server__open_reader(s->server, &r.store))
        return;
    r.snapshot = jobs_snapshot_new(&s->server->domain.config);
    while (!atomic_load(&s->closing)) { /* until then somebody may ask */
        size_t count = queue_pop_many(s->notes, notes, NOTES_BATCH, wait_ms(&r));
        hear(&r, notes, count);
        if (s->server->stopping || count == NOTES_BATCH)
            continue; /* there are more */
        if (wait_ms(&r) == 0)
            turn(&r);
    }
    for (size_t count; (count = queue_pop_many(s->notes, notes, NOTES_BATCH, 0)) > 0;)
        hear(&r, notes, count); /* somebody may wait for an answer */
    jobs_snapshot_free(r.snapshot);
    arena_release(&r.arena);
    store_close(&r.store);
}

enum err_code scheduler_start(struct scheduler *s, struct err *err)
{
    return thread_start(&s->thread, "scheduler", scheduler_run, s, err);
}
