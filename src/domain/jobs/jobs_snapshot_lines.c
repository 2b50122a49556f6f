/* The lists of a snapshot: so that a cycle may look at the first few of those that wait alike, and
 * at what runs, without walking over everything that waits. */
#include "domain/jobs/jobs_snapshot_impl.h"

#define LINES_MAX 10000000

void jobs__lines_init(struct jobs_snapshot *s)
{
    map_init(&s->lines, LINES_MAX);
}

void jobs__lines_release(struct jobs_snapshot *s)
{
    struct str key;
    void *line;

    for (size_t at = 0; map_next(&s->lines, &at, &key, &line);)
        mem_free(line);
    map_release(&s->lines);
    mem_free(s->line_list);
    mem_free(s->holders.items);
    mem_free(s->apart.items);
    s->line_list = NULL;
    s->line_count = s->line_room = 0;
    s->holders = s->apart = (struct job_list){0};
}

void *jobs__list_room(void *items, size_t count, size_t *room)
{
    if (count < *room)
        return items;
    *room = *room ? *room * 2 : 64;
    return mem_grow(items, *room * sizeof(void *));
}

static void list_add(struct job_list *list, struct known_job *k, size_t *at)
{
    if (*at != NOWHERE)
        return;
    list->items = jobs__list_room(list->items, list->count, &list->room);
    *at = list->count;
    list->items[list->count++] = k;
}

static void holder_take(struct jobs_snapshot *s, struct known_job *k)
{
    struct job_list *list = &s->holders;

    if (k->holder_at == NOWHERE)
        return;
    list->items[k->holder_at] = list->items[--list->count];
    list->items[k->holder_at]->holder_at = k->holder_at;
    k->holder_at = NOWHERE;
}

static void apart_take(struct jobs_snapshot *s, struct known_job *k)
{
    struct job_list *list = &s->apart;

    if (k->apart_at == NOWHERE)
        return;
    list->items[k->apart_at] = list->items[--list->count];
    list->items[k->apart_at]->apart_at = k->apart_at;
    k->apart_at = NOWHERE;
}

static struct known_line *line_of(struct jobs_snapshot *s, const struct known_job *k)
{
    int64_t key[5] = {k->project.v, k->queue.v, (int64_t)k->shape->at, k->priority, k->timeout_s};
    struct str text = str_n((const char *)key, sizeof key);
    struct known_line *line = map_get(&s->lines, text);

    if (!line) {
        line = MEM_NEW(struct known_line);
        line->at = NOWHERE;
        ENSURE(map_put(&s->lines, text, line));
    }
    return line;
}

static bool goes_before(const struct known_job *a, const struct known_job *b)
{
    return a->queued != b->queued ? a->queued < b->queued : a->id.v < b->id.v;
}

/* New ones come last; those that come back are mostly the oldest. */
static void line_put(struct jobs_snapshot *s, struct known_job *k)
{
    struct known_line *line = line_of(s, k);
    struct known_job *after = line->last, *next = NULL;

    if (after && goes_before(k, after))
        for (next = line->first, after = NULL; goes_before(next, k); next = next->behind)
            after = next;
    k->line = line;
    k->before = after;
    k->behind = next;
    *(after ? &after->behind : &line->first) = k;
    *(next ? &next->before : &line->last) = k;
    if (line->at != NOWHERE)
        return;
    s->line_list = jobs__list_room(s->line_list, s->line_count, &s->line_room);
    line->at = s->line_count;
    s->line_list[s->line_count++] = line;
}

static void line_take(struct jobs_snapshot *s, struct known_job *k)
{
    struct known_line *line = k->line;

    if (!line)
        return;
    *(k->before ? &k->before->behind : &line->first) = k->behind;
    *(k->behind ? &k->behind->before : &line->last) = k->before;
    k->line = NULL;
    k->before = k->behind = NULL;
    if (line->first)
        return;
    s->line_list[line->at] = s->line_list[--s->line_count];
    s->line_list[line->at]->at = line->at;
    line->at = NOWHERE;
}

void jobs__lines_take(struct jobs_snapshot *s, struct known_job *k)
{
    holder_take(s, k);
    apart_take(s, k);
    line_take(s, k);
}

void jobs__lines_put(struct jobs_snapshot *s, struct known_job *k)
{
    bool waits = k->state == JOB_QUEUED && k->attempt.v == 0 && !k->after_open && !k->broken;
    bool alike = !k->reserved && k->array_limit == 0 && k->not_before == TIME_NONE &&
                 k->ladder_at == TIME_NONE && k->step_from == 0;

    apart_take(s, k);
    line_take(s, k); /* what makes it alike may have changed */
    if (k->place_count)
        list_add(&s->holders, k, &k->holder_at);
    else
        holder_take(s, k);
    if (waits && alike)
        line_put(s, k);
    else if (waits)
        list_add(&s->apart, k, &k->apart_at);
}
