/* Tags and lists of texts. */
#include "http/http_take.h"

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
