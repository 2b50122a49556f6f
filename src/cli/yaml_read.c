/* A composer of our own on libyaml's events: theirs follows aliases, which a few lines can make
 * endless. Open maps and lists lie on a stack with a bound; nothing recurses. */
#include "cli/yaml_read.h"

#include "base/mem.h"

#include <stdio.h>
#include <stdlib.h>
#include <yaml.h>

#define CORE "tag:yaml.org,2002:"

/* An open map or list. */
struct level {
    json_t *value; /* owned by the one around it, or by `root` */
    char *key;     /* of a map: waits for its value; heap */
};

struct composer {
    const char *name;
    struct err *err;
    json_t *root;
    struct level levels[YAML_DEPTH_MAX];
    size_t depth, nodes;
};

static enum err_code fail(struct composer *c, yaml_mark_t at, const char *problem)
{
    return err_set(c->err, ERR_INVALID, "%s, line %zu, column %zu: %s", c->name, at.line + 1,
                   at.column + 1, problem);
}

/* -- scalars ---------------------------------------------------------------------------------- */

static bool is_one_of(struct str text, const char *const *words)
{
    for (; *words; words++)
        if (str_eq_c(text, *words))
            return true;
    return false;
}

static const char *const nulls[] = {"", "~", "null", "Null", "NULL", NULL};
static const char *const trues[] = {"true", "True", "TRUE", NULL};
static const char *const falses[] = {"false", "False", "FALSE", NULL};

static bool looks_like_number(struct str text)
{
    size_t i = text.len && (text.data[0] == '-' || text.data[0] == '+') ? 1 : 0;
    bool digit = false;

    for (; i < text.len; i++) {
        char ch = text.data[i];
        digit |= ch >= '0' && ch <= '9';
        if (!(ch >= '0' && ch <= '9') && !(digit && memchr(".eE+-", ch, 5)) && ch != '.')
            return false;
    }
    return digit;
}

static bool is_integer(struct str text)
{
    size_t i = text.data[0] == '-' || text.data[0] == '+' ? 1 : 0;

    for (; i < text.len; i++)
        if (text.data[i] < '0' || text.data[i] > '9')
            return false;
    return true;
}

/* NULL: a text. *ret_problem is set when it is a number that cannot be kept. */
static json_t *plain_value(struct str text, const char **ret_problem)
{
    int64_t integer;
    double real;

    if (is_one_of(text, nulls))
        return json_null();
    if (is_one_of(text, trues))
        return json_true();
    if (is_one_of(text, falses))
        return json_false();
    if (!looks_like_number(text))
        return NULL;
    if (is_integer(text)) {
        struct str digits = text.data[0] == '+' ? str_n(text.data + 1, text.len - 1) : text;
        if (str_to_i64(digits, &integer))
            return json_integer(integer);
        *ret_problem = "the number is out of range";
        return NULL;
    }
    if (str_to_f64(text, &real))
        return json_real(real);
    return NULL; /* 1.2.3, 2026-11-30: a text */
}

static bool tag_is(const yaml_char_t *tag, const char *name)
{
    return strcmp((const char *)tag, name) == 0;
}

static enum err_code scalar(struct composer *c, const yaml_event_t *event, json_t **ret_value)
{
    const yaml_char_t *tag = event->data.scalar.tag;
    struct str text = {(const char *)event->data.scalar.value, event->data.scalar.length};
    const char *problem = NULL;
    json_t *value = NULL;

    if (tag && !tag_is(tag, "!") && !tag_is(tag, CORE "str"))
        return fail(c, event->start_mark, "a tag is not possible here");
    if (memchr(text.data, '\0', text.len))
        return fail(c, event->start_mark, "the text has a NUL");
    if (!tag && event->data.scalar.style == YAML_PLAIN_SCALAR_STYLE)
        value = plain_value(text, &problem);
    if (problem)
        return fail(c, event->start_mark, problem);
    *ret_value = value ? value : json_stringn(text.data, text.len);
    return *ret_value ? OK : fail(c, event->start_mark, "the text is not UTF-8");
}

/* -- maps and lists --------------------------------------------------------------------------- */

static enum err_code take_key(struct composer *c, struct level *level, const yaml_event_t *event)
{
    const char *key = (const char *)event->data.scalar.value;

    if (event->type != YAML_SCALAR_EVENT)
        return fail(c, event->start_mark, "a key is a text");
    if (event->data.scalar.tag || memchr(key, '\0', event->data.scalar.length))
        return fail(c, event->start_mark, "a key is a text without a tag");
    if (strcmp(key, "<<") == 0 && event->data.scalar.style == YAML_PLAIN_SCALAR_STYLE)
        return fail(c, event->start_mark, "maps cannot be merged");
    if (json_object_get(level->value, key)) {
        char problem[120];
        (void)snprintf(problem, sizeof problem, "the key \"%.60s\" is there twice", key);
        return fail(c, event->start_mark, problem);
    }
    level->key = mem_copy_text(key);
    return OK;
}

/* Puts a value where the document is; takes it. */
static enum err_code place(struct composer *c, const yaml_event_t *event, json_t *value)
{
    struct level *level = c->depth ? &c->levels[c->depth - 1] : NULL;
    int bad = 0;

    if (!level) {
        c->root = value;
        return OK;
    }
    if (json_is_array(level->value)) {
        bad = json_array_append_new(level->value, value);
    } else {
        bad = json_object_set_new(level->value, level->key, value);
        mem_free_text(&level->key);
    }
    return bad ? fail(c, event->start_mark, "the text is not UTF-8") : OK;
}

static enum err_code open_level(struct composer *c, const yaml_event_t *event, bool map)
{
    json_t *value = map ? json_object() : json_array();
    const yaml_char_t *tag = map ? event->data.mapping_start.tag : event->data.sequence_start.tag;

    if (tag && !tag_is(tag, map ? CORE "map" : CORE "seq")) {
        json_decref(value);
        return fail(c, event->start_mark, "a tag is not possible here");
    }
    if (c->depth == YAML_DEPTH_MAX) {
        json_decref(value);
        return fail(c, event->start_mark, "it is nested too deep");
    }
    TRY(place(c, event, value));
    c->levels[c->depth++] = (struct level){.value = value};
    return OK;
}

static const yaml_char_t *anchor_of(const yaml_event_t *event)
{
    switch (event->type) {
    case YAML_SCALAR_EVENT: return event->data.scalar.anchor;
    case YAML_MAPPING_START_EVENT: return event->data.mapping_start.anchor;
    case YAML_SEQUENCE_START_EVENT: return event->data.sequence_start.anchor;
    default: return NULL;
    }
}

static enum err_code take_node(struct composer *c, const yaml_event_t *event)
{
    struct level *level = c->depth ? &c->levels[c->depth - 1] : NULL;
    json_t *value = NULL;

    if (++c->nodes > YAML_NODES_MAX)
        return fail(c, event->start_mark, "it has too many values");
    if (anchor_of(event))
        return fail(c, event->start_mark, "anchors are not possible");
    if (level && json_is_object(level->value) && !level->key)
        return take_key(c, level, event);
    if (event->type != YAML_SCALAR_EVENT)
        return open_level(c, event, event->type == YAML_MAPPING_START_EVENT);
    TRY(scalar(c, event, &value));
    return place(c, event, value);
}

static enum err_code take_event(struct composer *c, const yaml_event_t *event)
{
    switch (event->type) {
    case YAML_SCALAR_EVENT:
    case YAML_MAPPING_START_EVENT:
    case YAML_SEQUENCE_START_EVENT: return take_node(c, event);
    case YAML_MAPPING_END_EVENT:
    case YAML_SEQUENCE_END_EVENT: c->depth--; return OK;
    case YAML_ALIAS_EVENT: return fail(c, event->start_mark, "aliases are not possible");
    case YAML_DOCUMENT_START_EVENT:
        return c->root ? fail(c, event->start_mark, "there is a second document") : OK;
    case YAML_NO_EVENT:
    case YAML_STREAM_START_EVENT:
    case YAML_STREAM_END_EVENT:
    case YAML_DOCUMENT_END_EVENT: break;
    }
    return OK;
}

static enum err_code compose(struct composer *c, yaml_parser_t *parser)
{
    enum err_code code = OK;
    bool more = true;

    while (more && code == OK) {
        yaml_event_t event;
        if (!yaml_parser_parse(parser, &event))
            return fail(c, parser->problem_mark,
                        parser->problem ? parser->problem : "it is no YAML");
        more = event.type != YAML_STREAM_END_EVENT;
        code = take_event(c, &event);
        yaml_event_delete(&event);
    }
    return code;
}

enum err_code yaml_read(const char *name, struct str text, json_t **ret_value, struct err *err)
{
    struct composer c = {.name = name, .err = err};
    yaml_parser_t parser;
    enum err_code code;
    size_t bad = 0;

    if (text.len > YAML_BYTES_MAX)
        return err_set(err, ERR_TOO_LARGE, "%s has more than %u bytes", name, YAML_BYTES_MAX);
    if (!str_is_utf8(text, &bad))
        return err_set(err, ERR_BAD_UTF8, "%s is not UTF-8 at byte %zu", name, bad);
    ENSURE(yaml_parser_initialize(&parser));
    yaml_parser_set_encoding(&parser, YAML_UTF8_ENCODING);
    yaml_parser_set_input_string(&parser, (const unsigned char *)text.data, text.len);
    code = compose(&c, &parser);
    yaml_parser_delete(&parser);
    for (size_t i = 0; i < c.depth; i++)
        mem_free_text(&c.levels[i].key);
    if (code == OK && !c.root)
        code = err_set(err, ERR_INVALID, "%s is empty", name);
    if (code != OK) {
        json_decref(c.root);
        return code;
    }
    *ret_value = c.root;
    return OK;
}

/* -- writing ---------------------------------------------------------------------------------- */

/* What is left to write: a value, or the end of a map or list. */
struct step {
    const char *key; /* to be written before the value */
    const json_t *value;
    bool end;
};

struct writer {
    yaml_emitter_t emitter;
    struct step *steps; /* a stack; heap */
    size_t count, room;
};

static int on_write(void *ctx, unsigned char *data, size_t size)
{
    return buf_add_str(ctx, str_n((const char *)data, size)) ? 1 : 0;
}

static void push(struct writer *w, struct step step)
{
    if (w->count == w->room) {
        w->room = w->room ? w->room * 2 : 64;
        w->steps = mem_grow(w->steps, w->room * sizeof w->steps[0]);
    }
    w->steps[w->count++] = step;
}

static bool emit_text(struct writer *w, struct str text, bool plain)
{
    const char *problem = NULL;
    json_t *read = plain ? NULL : plain_value(text, &problem);
    bool quoted = !plain && (read || problem);
    yaml_event_t event;

    json_decref(read);
    return yaml_scalar_event_initialize(
               &event, NULL, NULL, (const yaml_char_t *)text.data, (int)text.len, !quoted, 1,
               quoted ? YAML_DOUBLE_QUOTED_SCALAR_STYLE : YAML_ANY_SCALAR_STYLE) &&
           yaml_emitter_emit(&w->emitter, &event);
}

static bool emit_scalar(struct writer *w, const json_t *value)
{
    char *text;
    bool good;

    if (json_is_string(value))
        return emit_text(w, str_n(json_string_value(value), json_string_length(value)), false);
    text = json_dumps(value, JSON_ENCODE_ANY);
    good = text && emit_text(w, str_from(text), true);
    free(text);
    return good;
}

/* Its members go onto the stack from the last to the first. */
static bool emit_open(struct writer *w, const json_t *value)
{
    bool map = json_is_object(value);
    const char *key;
    yaml_event_t event;
    size_t first;
    json_t *item;

    push(w, (struct step){.value = value, .end = true});
    first = w->count;
    if (map) {
        json_object_foreach((json_t *)value, key, item)
            push(w, (struct step){.key = key, .value = item});
    } else {
        for (size_t i = 0; i < json_array_size(value); i++)
            push(w, (struct step){.value = json_array_get(value, i)});
    }
    for (size_t a = first, b = w->count; a + 1 < b; a++, b--) {
        struct step step = w->steps[a];
        w->steps[a] = w->steps[b - 1];
        w->steps[b - 1] = step;
    }
    return (map ? yaml_mapping_start_event_initialize(&event, NULL, NULL, 1,
                                                      YAML_BLOCK_MAPPING_STYLE)
                : yaml_sequence_start_event_initialize(&event, NULL, NULL, 1,
                                                       YAML_BLOCK_SEQUENCE_STYLE)) &&
           yaml_emitter_emit(&w->emitter, &event);
}

static bool emit_end(struct writer *w, const json_t *value)
{
    yaml_event_t event;

    return (json_is_object(value) ? yaml_mapping_end_event_initialize(&event)
                                  : yaml_sequence_end_event_initialize(&event)) &&
           yaml_emitter_emit(&w->emitter, &event);
}

static bool emit_step(struct writer *w, struct step step)
{
    if (step.end)
        return emit_end(w, step.value);
    if (step.key && !emit_text(w, str_from(step.key), false))
        return false;
    if (json_is_object(step.value) || json_is_array(step.value))
        return emit_open(w, step.value);
    return emit_scalar(w, step.value);
}

static bool emit_all(struct writer *w, const json_t *value)
{
    yaml_event_t event;
    bool good = yaml_stream_start_event_initialize(&event, YAML_UTF8_ENCODING) &&
                yaml_emitter_emit(&w->emitter, &event) &&
                yaml_document_start_event_initialize(&event, NULL, NULL, NULL, 1) &&
                yaml_emitter_emit(&w->emitter, &event);

    push(w, (struct step){.value = value});
    while (good && w->count)
        good = emit_step(w, w->steps[--w->count]);
    return good && yaml_document_end_event_initialize(&event, 1) &&
           yaml_emitter_emit(&w->emitter, &event) && yaml_stream_end_event_initialize(&event) &&
           yaml_emitter_emit(&w->emitter, &event);
}

enum err_code yaml_write(const json_t *value, struct buf *out, struct err *err)
{
    struct writer w = {0};
    bool good;

    ENSURE(yaml_emitter_initialize(&w.emitter));
    yaml_emitter_set_output(&w.emitter, on_write, out);
    yaml_emitter_set_unicode(&w.emitter, 1);
    yaml_emitter_set_width(&w.emitter, -1);
    good = emit_all(&w, value);
    yaml_emitter_delete(&w.emitter);
    mem_free(w.steps);
    TRY(buf_check(out, "YAML", err));
    return good ? OK : err_set(err, ERR_INVALID, "it cannot be written as YAML");
}
