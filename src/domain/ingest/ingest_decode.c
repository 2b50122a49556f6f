/* From log bytes to a batch. Facts of metrics are found by local name id through a direct table,
 * because a row may hold many names and there are many rows. */
#include "domain/ingest/ingest_decode.h"

#include "domain/metrics/facts.h"
#include "domain/runs/define.h"

#include "runlog/record.h"

#include <math.h>

#define DOC_BYTES_MAX RUNLOG_GROUP_BYTES_MAX

struct decoding {
    struct ingest_batch *batch;
    struct arena *arena;
    struct ingest_facts **by_local;
    uint32_t local_count;
};

static void keep(struct decoding *d, const struct runlog_group *group, const char *payload,
                 int64_t offset)
{
    struct ingest_record *r = ARENA_NEW(d->arena, struct ingest_record);

    r->offset = offset;
    r->type = group->type;
    r->payload = str_n(payload, group->payload_bytes);
    r->next = d->batch->records;
    d->batch->records = r;
}

static void heard(struct decoding *d, time_ms at)
{
    if (d->batch->heard == TIME_NONE || at > d->batch->heard)
        d->batch->heard = at;
}

static bool take_names(struct decoding *d, const struct runlog_record *record)
{
    struct runlog_names names;
    struct runlog_name name;
    bool good = true;

    if (!runlog_names_decode(record, &names))
        return false;
    while (runlog_names_next(&names, &name)) {
        struct ingest_name *n;
        struct str text = str_n(name.text, name.len);
        if (name.id >= METRIC_NAMES_MAX || !str_is_utf8(text, NULL) || str_has_control(text)) {
            good = false; /* kept as it came; rows that use it are counted under no name */
            continue;
        }
        n = ARENA_NEW(d->arena, struct ingest_name);
        *n = (struct ingest_name){
            name.id, name.flags & RUNLOG_NAME_SYSTEM ? METRIC_SYSTEM : METRIC_PLAIN, text, NULL};
        if (d->batch->names_last)
            d->batch->names_last->next = n;
        else
            d->batch->names = n;
        d->batch->names_last = n;
        d->batch->name_count++;
    }
    return good;
}

static struct ingest_facts *facts_of(struct decoding *d, uint32_t id)
{
    struct ingest_facts *f;

    if (id >= METRIC_NAMES_MAX)
        return NULL;
    if (id >= d->local_count) {
        uint32_t count = MIN(MAX(id + 1, d->local_count * 2), METRIC_NAMES_MAX);
        struct ingest_facts **more = arena_array(d->arena, count, sizeof(struct ingest_facts *));
        if (d->local_count)
            memcpy(more, d->by_local, d->local_count * sizeof(struct ingest_facts *));
        d->by_local = more;
        d->local_count = count;
    }
    if (!d->by_local[id]) {
        f = ARENA_NEW(d->arena, struct ingest_facts);
        f->local_id = id;
        f->next = d->batch->facts;
        d->batch->facts = f;
        d->batch->facts_count++;
        d->by_local[id] = f;
    }
    return d->by_local[id];
}

static void take_row(struct decoding *d, const struct runlog_row *row)
{
    for (uint32_t i = 0; i < row->count; i++) {
        struct ingest_facts *f;
        uint32_t id;
        double value;
        runlog_row_at(row, i, &id, &value);
        f = facts_of(d, id);
        if (!f)
            continue;
        metric_facts_add(&f->facts, &(struct metric_point){row->step, row->time_ms, value});
    }
    d->batch->points += row->count;
    heard(d, row->time_ms);
}

static bool take_console(struct decoding *d, const struct runlog_record *record)
{
    struct ingest_batch *b = d->batch;
    struct runlog_console console;

    if (!runlog_console_decode(record, &console))
        return false;
    b->console =
        arena_more(d->arena, b->console, b->console_count, &b->console_room, sizeof *b->console);
    b->console[b->console_count++] = str_n((const char *)console.bytes, console.len);
    heard(d, console.time_ms);
    return true;
}

static void merge(json_t **into, json_t *patch)
{
    if (!*into)
        *into = json_object();
    (void)json_object_update(*into, patch); /* fails only when out of memory */
}

static bool take_end(struct decoding *d, json_t *doc)
{
    struct ingest_batch *b = d->batch;
    int64_t exit_code = EXIT_NONE, exit_signal = EXIT_NONE, at = TIME_NONE;
    struct str reason = STR("");
    json_t *member;

    member = json_object_get(doc, "exit_code");
    if (json_is_integer(member))
        exit_code = json_integer_value(member) & 0xff;
    member = json_object_get(doc, "signal");
    if (json_is_integer(member) && json_integer_value(member) > 0 &&
        json_integer_value(member) < 128)
        exit_signal = json_integer_value(member);
    member = json_object_get(doc, "time");
    if (json_is_integer(member))
        at = json_integer_value(member);
    member = json_object_get(doc, "reason");
    if (!json_is_string(member))
        member = json_object_get(doc, "error");
    if (json_is_string(member))
        reason = arena_copy(d->arena, str_n(json_string_value(member),
                                            MIN(json_string_length(member), (size_t)500)));
    b->ended = true;
    b->oom = json_is_true(json_object_get(doc, "oom"));
    b->exit_code = (int)exit_code;
    b->exit_signal = (int)exit_signal;
    b->ended_at = at;
    b->end_reason = str_is_utf8(reason, NULL) ? reason : STR("");
    return true;
}

static bool take_file(struct decoding *d, json_t *doc, struct str text)
{
    const json_t *path = json_object_get(doc, "path");
    struct ingest_file *f;

    if (!json_is_string(path) || json_string_length(path) == 0 || json_string_length(path) > 1024)
        return false;
    f = ARENA_NEW(d->arena, struct ingest_file);
    f->path = arena_copy(d->arena, str_n(json_string_value(path), json_string_length(path)));
    f->detail = text;
    f->next = d->batch->files;
    d->batch->files = f;
    return true;
}

/* Tags as a JSON array of strings within the limits; others are left out. */
static bool take_tags(struct decoding *d, json_t *doc)
{
    json_t *tags = json_object_get(doc, "tags");
    CLEANUP(buf_release) struct buf out = {0};
    struct json_writer w;
    size_t kept = 0;

    if (!json_is_array(tags))
        return false;
    buf_init(&out, DOC_BYTES_MAX);
    json_writer_init(&w, &out);
    json_begin_array(&w);
    for (size_t i = 0; i < json_array_size(tags) && kept < TAG_COUNT_MAX; i++) {
        const json_t *tag = json_array_get(tags, i);
        size_t len = json_is_string(tag) ? json_string_length(tag) : 0;
        if (len >= 1 && len <= TAG_BYTES_MAX) {
            json_put_str(&w, str_n(json_string_value(tag), len));
            kept++;
        }
    }
    json_end_array(&w);
    d->batch->tags = arena_copy(d->arena, buf_str(&out));
    return true;
}

static bool take_notes(struct decoding *d, json_t *doc)
{
    const json_t *notes = json_object_get(doc, "notes");

    if (!json_is_string(notes) || json_string_length(notes) > 10000)
        return false;
    d->batch->notes =
        arena_copy(d->arena, str_n(json_string_value(notes), json_string_length(notes)));
    return true;
}

static time_ms time_member(const json_t *doc, time_ms otherwise)
{
    const json_t *time = json_object_get(doc, "time");

    return json_is_integer(time) ? json_integer_value(time) : otherwise;
}

/* A text of at most bytes_max, cut between characters. */
static struct str text_member(struct decoding *d, const json_t *doc, const char *key,
                              size_t bytes_max)
{
    const json_t *member = json_object_get(doc, key);
    struct str text;

    if (!json_is_string(member))
        return STR("");
    text = str_n(json_string_value(member), json_string_length(member));
    if (text.len > bytes_max) {
        text.len = bytes_max;
        while (text.len > 0 && ((unsigned char)text.data[text.len] & 0xc0) == 0x80)
            text.len--;
    }
    return arena_copy(d->arena, text);
}

static bool take_alert(struct decoding *d, json_t *doc, int64_t offset)
{
    struct ingest_alert *a = ARENA_NEW(d->arena, struct ingest_alert);
    enum alert_level level = alert_level_from_name(text_member(d, doc, "level", 16));

    a->offset = offset;
    a->alert.level = level == ALERT_LEVEL_COUNT ? ALERT_INFO : level;
    a->alert.title = text_member(d, doc, "title", ALERT_TITLE_BYTES_MAX);
    a->alert.text = text_member(d, doc, "text", ALERT_TEXT_BYTES_MAX);
    a->alert.at = time_member(doc, 0);
    if (a->alert.title.len == 0)
        return false;
    if (d->batch->alerts_last)
        d->batch->alerts_last->next = a;
    else
        d->batch->alerts = a;
    d->batch->alerts_last = a;
    heard(d, a->alert.at);
    return true;
}

static bool take_defined(struct decoding *d, const json_t *doc)
{
    struct definition definition;

    if (!definition_take(doc, &definition))
        return false;
    if (!d->batch->defined)
        d->batch->defined = json_object();
    return definition_put(d->batch->defined, &definition);
}

static bool take_gone(struct decoding *d, json_t *doc)
{
    struct ingest_gone *g = ARENA_NEW(d->arena, struct ingest_gone);

    if (!id_parse(text_member(d, doc, "writer", 13), ID_WRITER, &g->gone.writer))
        return false;
    g->gone.at = time_member(doc, 0);
    g->gone.oom = json_is_true(json_object_get(doc, "oom"));
    g->next = d->batch->gone;
    d->batch->gone = g;
    return true;
}

static bool take_mark(struct decoding *d, json_t *doc)
{
    const json_t *redacted = json_object_get(doc, "redacted");
    bool preempting = str_eq_c(text_member(d, doc, "state", 16), "preempting");

    if (json_is_integer(redacted) && json_integer_value(redacted) > d->batch->redacted)
        d->batch->redacted = json_integer_value(redacted);
    d->batch->preempting = d->batch->preempting || preempting;
    heard(d, time_member(doc, 0));
    return preempting || json_is_integer(redacted);
}

static bool take_json(struct decoding *d, int type, struct str text, int64_t offset)
{
    CLEANUP(json_release) json_t *doc = NULL;
    struct ingest_batch *b = d->batch;

    if (json_parse(text, DOC_BYTES_MAX, &doc, NULL) != OK || !json_is_object(doc))
        return false;
    switch (type) {
    case RUNLOG_START:
        if (!b->start)
            b->start = json_incref(doc);
        b->tags_join = take_tags(d, doc); /* most starts have none */
        (void)take_notes(d, doc);
        return true;
    case RUNLOG_CODE: b->code = text; return true;
    case RUNLOG_MACHINE: b->machine = text; return true;
    case RUNLOG_DIFF: b->diff = text; return true;
    case RUNLOG_CONFIG: merge(&b->config, doc); return true;
    case RUNLOG_SUMMARY: merge(&b->summary, doc); return true;
    case RUNLOG_FILE: return take_file(d, doc, text);
    case RUNLOG_TAGS: b->tags_join = false; return take_tags(d, doc);
    case RUNLOG_NOTES: return take_notes(d, doc);
    case RUNLOG_END_OF_RUN: return take_end(d, doc);
    case RUNLOG_DEFINE: return take_defined(d, doc);
    case RUNLOG_ALERT: return take_alert(d, doc, offset);
    case RUNLOG_MARK: return take_mark(d, doc);
    case RUNLOG_GONE: return take_gone(d, doc);
    default: return false;
    }
}

static bool take_binary(struct decoding *d, const struct runlog_record *record)
{
    struct runlog_row row;
    struct runlog_gap gap;
    int64_t at;

    switch (record->type) {
    case RUNLOG_NAMES: return take_names(d, record);
    case RUNLOG_ROW:
        if (!runlog_row_decode(record, &row))
            return false;
        if (d->batch->first_step == STEP_NONE)
            d->batch->first_step = row.step;
        d->batch->step_min = MIN(d->batch->step_min, row.step);
        take_row(d, &row);
        return true;
    case RUNLOG_SYSTEM:
        if (!runlog_system_decode(record, &row))
            return false;
        take_row(d, &row);
        return true;
    case RUNLOG_CONSOLE: return take_console(d, record);
    case RUNLOG_HEARTBEAT:
        if (!runlog_heartbeat_decode(record, &at))
            return false;
        heard(d, at);
        return true;
    case RUNLOG_GAP: return runlog_gap_decode(record, &gap);
    default: return false;
    }
}

void ingest_decode(struct str data, int64_t from, struct arena *arena,
                   struct ingest_batch *ret_batch)
{
    struct decoding d = {.batch = ret_batch, .arena = arena};
    struct runlog_group group;
    size_t at = 0;

    *ret_batch = (struct ingest_batch){
        .from = from,
        .to = from + (int64_t)data.len,
        .heard = TIME_NONE,
        .exit_code = EXIT_NONE,
        .exit_signal = EXIT_NONE,
        .ended_at = TIME_NONE,
        .first_step = STEP_NONE,
        .step_min = INT64_MAX,
    };
    while (runlog_next_group((const uint8_t *)data.data, data.len, &at, &group) == RUNLOG_RECORD) {
        char *payload = (char *)group.first.payload;
        bool known;
        if (group.part_count > 1) {
            payload = arena_alloc(arena, group.payload_bytes + 1);
            runlog_group_copy(&group, (uint8_t *)payload);
        }
        known = runlog_type_is_json(group.type)
                    ? take_json(&d, group.type, str_n(payload, group.payload_bytes),
                                from + (int64_t)group.begin)
                    : group.part_count == 1 && take_binary(&d, &group.first);
        if (!known)
            keep(&d, &group, payload, from + (int64_t)group.begin);
    }
}

void ingest_batch_release(struct ingest_batch *batch)
{
    json_release(&batch->start);
    json_release(&batch->config);
    json_release(&batch->summary);
    json_release(&batch->defined);
}
