/* The small answers that an agent reads: to an accept, to a status report, to console text. */
#include "wire/agent_messages.h"

#define LABEL_BYTES_MAX  63
#define COUNT_MAX        INT64_C(9007199254740991)
#define ANSWER_BYTES_MAX 65536

static void put_text(struct json_writer *w, const char *key, struct str text)
{
    json_put_key(w, key);
    json_put_str(w, text);
}

void wire_accepted_encode(const struct wire_accepted *accepted, struct json_writer *w)
{
    json_begin_object(w);
    put_text(w, "state", str_from(attempt_state_name(accepted->state)));
    if (accepted->rendezvous.len)
        put_text(w, "rendezvous", accepted->rendezvous);
    json_end_object(w);
}

void wire_appended_encode(int64_t offset, struct json_writer *w)
{
    json_begin_object(w);
    json_put_key(w, "offset");
    json_put_i64(w, offset);
    json_end_object(w);
}

/* Answers are small and flat: the document, opened for reading. */
static enum err_code open_answer(struct str text, json_t **ret_document, struct json_reader *r,
                                 struct err *err)
{
    TRY(json_parse(text, ANSWER_BYTES_MAX, ret_document, err));
    json_reader_init(r, *ret_document, "", err);
    return r->code;
}

bool wire_rendezvous_parse(struct str text, struct str *ret_host, int64_t *ret_port)
{
    const char *colon = text.len ? memrchr(text.data, ':', text.len) : NULL;
    struct str host, port;
    bool bracketed;

    if (!colon || text.len > WIRE_RENDEZVOUS_MAX)
        return false;
    host = str_n(text.data, (size_t)(colon - text.data));
    port = str_n(colon + 1, text.len - host.len - 1);
    bracketed = host.len > 2 && host.data[0] == '[' && host.data[host.len - 1] == ']';
    if (bracketed)
        host = str_n(host.data + 1, host.len - 2);
    for (size_t i = 0; i < host.len; i++) {
        char c = host.data[i];
        bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');

        if (!letter && c != '.' && c != '-' && !(bracketed && (c == ':' || c == '%')))
            return false;
    }
    *ret_host = host;
    return host.len && host.data[0] != '-' && str_to_i64(port, ret_port) && *ret_port >= 1 &&
           *ret_port <= 65535;
}

enum err_code wire_accepted_decode(struct arena *arena, struct str text,
                                   struct wire_accepted *ret_accepted, struct err *err)
{
    CLEANUP(json_release) json_t *document = NULL;
    struct json_reader r;
    struct str state = {0}, rendezvous = {0}, host;
    int64_t port;

    TRY(open_answer(text, &document, &r, err));
    json_take_text(&r, "state", LABEL_BYTES_MAX, &state);
    json_take_text_opt(&r, "rendezvous", WIRE_RENDEZVOUS_MAX, &rendezvous);
    TRY(json_reader_end_open(&r));
    if (rendezvous.len && !wire_rendezvous_parse(rendezvous, &host, &port))
        return err_set_field(err, ERR_INVALID, "rendezvous", "rendezvous: is not HOST:PORT");
    ret_accepted->state = attempt_state_from_name(state);
    ret_accepted->rendezvous = arena_copy(arena, rendezvous);
    return OK;
}

enum err_code wire_appended_decode(struct str text, int64_t *ret_offset, struct err *err)
{
    CLEANUP(json_release) json_t *document = NULL;
    struct json_reader r;
    int64_t offset = 0;

    TRY(open_answer(text, &document, &r, err));
    json_take_i64(&r, "offset", 0, COUNT_MAX, &offset);
    TRY(json_reader_end_open(&r));
    *ret_offset = offset;
    return OK;
}
