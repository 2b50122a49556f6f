/* Tags and lists of texts. */
#include "http/http_take.h"

#include "http/http_route.h"
#include "model/run.h"

void http_take_texts(struct json_reader *r, const char *name, const json_t *array, size_t bytes_max)
{
    for (size_t i = 0; r->code == OK && i < json_array_size(array); i++) {
        const json_t *item = json_array_get(array, i);
        if (!json_is_string(item))
            r->code =
                err_set_field(r->err, ERR_INVALID, name, "\"%s\"[%zu] is not a text", name, i);
        else if (json_string_length(item) > bytes_max)
            r->code = err_set_field(r->err, ERR_INVALID, name,
                                    "\"%s\"[%zu] is longer than %zu bytes", name, i, bytes_max);
    }
}

void http_take_tags(struct json_reader *r, struct arena *arena, struct str *ret_tags)
{
    CLEANUP(buf_release) struct buf out = {0};
    struct json_writer w;
    json_t *tags = NULL;

    json_take_array_opt(r, "tags", TAG_COUNT_MAX, &tags);
    if (!tags)
        return;
    http_take_texts(r, "tags", tags, TAG_BYTES_MAX);
    for (size_t i = 0; r->code == OK && i < json_array_size(tags); i++)
        if (json_string_length(json_array_get(tags, i)) == 0)
            r->code = err_set_field(r->err, ERR_INVALID, "tags", "\"tags\"[%zu] is empty", i);
    buf_init(&out, 65536);
    json_writer_init(&w, &out);
    json_put_value(&w, tags);
    *ret_tags = arena_copy(arena, buf_str(&out));
}

void http_take_label_opt(struct json_reader *r, const char *name, struct str *ret_label)
{
    struct str label = {0};

    json_take_text_opt(r, name, 63, &label);
    if (r->code == OK && label.data && !http_label_is_valid(label))
        json_reader_fail(r, name, "is 1 to 63 of a-z, 0-9 and '-'");
    else if (label.data)
        *ret_label = label;
}

void http_take_labels(struct json_reader *r, struct arena *arena, const char *name,
                      size_t count_max, const struct str **ret_labels, size_t *ret_count)
{
    struct str *labels;
    json_t *array = NULL;

    json_take_array_opt(r, name, count_max, &array);
    if (!array)
        return;
    http_take_texts(r, name, array, 63);
    labels = arena_array(arena, json_array_size(array) + 1, sizeof *labels);
    for (size_t i = 0; r->code == OK && i < json_array_size(array); i++) {
        labels[i] = str_from(json_string_value(json_array_get(array, i)));
        if (!http_label_is_valid(labels[i]))
            r->code = err_set_field(r->err, ERR_INVALID, name,
                                    "\"%s\"[%zu] is not 1 to 63 of a-z, 0-9 and '-'", name, i);
    }
    *ret_labels = labels;
    *ret_count = json_array_size(array);
}
