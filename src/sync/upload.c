/* Uploading. The tricky part is to find the place to go on from: the server says how much it has
 * and the checksum of that; the same bytes are read from disk, and only when the checksums agree is
 * the rest sent. A wrong offset (another process sent meanwhile) leads back to the same question.
 */
#include "sync/upload.h"

#include "base/json.h"
#include "base/mem.h"
#include "runlog/crc.h"

#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define POST_TIMEOUT_MS 120000
/* Less than this in a post means that the log ended: a group may be too large for what is left. */
#define POST_FULL_BYTES (RUNLOG_POST_BYTES_MAX - RUNLOG_GROUP_BYTES_MAX - 64u * 1024u)
#define NAME_BYTES_MAX  200 /* of a run, as in api/openapi.yaml */
#define LOOKS_MAX       4
#define LOOK_PAUSE_MS   20
#define REPLACES_MAX    16 /* times that a round may be sent to another offset by the server */
#define NEXT_MS_DEFAULT 15000
#define NEXT_MS_MIN     200
#define NEXT_MS_MAX     60000
#define DOC_BYTES_MAX   (16u * 1024u * 1024u)

void upload_init(struct upload *upload, const struct run_folder *folder, struct http_client *client)
{
    *upload = (struct upload){
        .folder = folder,
        .client = client,
        .data = mem_alloc(RUNLOG_POST_BYTES_MAX),
        .next_ms = NEXT_MS_DEFAULT,
    };
}

void upload_release(struct upload *upload)
{
    while (upload->writers != NULL) {
        struct upload_writer *writer = upload->writers;
        upload->writers = writer->next;
        runlog_segments_close(&writer->reader);
        mem_free(writer);
    }
    mem_free(upload->data);
    upload->data = NULL;
}

bool upload_is_worth_waiting(enum err_code code)
{
    switch (code) {
    case ERR_UNAVAILABLE:
    case ERR_TIMEOUT:
    case ERR_LIMIT:
    case ERR_INTERNAL:
    case ERR_DISK_FULL: return true;
    default: return false;
    }
}

size_t upload_problem_count(const struct upload *upload)
{
    size_t count = 0;

    for (const struct upload_writer *w = upload->writers; w != NULL; w = w->next)
        count += w->state != UPLOAD_GOING;
    return count;
}

static void writer_stop(struct upload_writer *writer, enum upload_state state, const char *problem)
{
    writer->state = state;
    (void)snprintf(writer->problem, sizeof writer->problem, "%s", problem);
    runlog_segments_close(&writer->reader);
}

static void writer_seek(struct upload_writer *writer, uint64_t offset)
{
    runlog_segments_close(&writer->reader);
    writer->reader.offset = offset;
}

static void writer_damaged(struct upload_writer *writer, int state)
{
    char text[256];

    if (state < 0)
        (void)snprintf(text, sizeof text, "%s.*.log: %s", writer->id.text, strerror(-state));
    else
        (void)snprintf(text, sizeof text,
                       "%s.%06u.log is damaged at offset %" PRIu64 ": %" PRIu64
                       " bytes are skipped",
                       writer->id.text, (unsigned)writer->reader.segment.number,
                       writer->reader.offset, writer->reader.skipped_bytes);
    writer_stop(writer, UPLOAD_DAMAGED, text);
}

/* Goes to `offset`, up to which the server has the log, and makes sure that we have the same. When
 * our log is shorter there is nothing to send and nothing wrong. `server_crc` may be NULL. */
static void writer_place(struct upload *upload, struct upload_writer *writer, uint64_t offset,
                         const uint32_t *server_crc)
{
    uint64_t at = writer->acked <= offset ? writer->acked : 0;
    uint32_t crc = at > 0 ? writer->crc : 0;

    writer_seek(writer, at);
    while (at < offset) {
        uint64_t left = offset - at;
        size_t len = 0, want = left < RUNLOG_POST_BYTES_MAX ? (size_t)left : RUNLOG_POST_BYTES_MAX;
        int state = runlog_segments_read(&writer->reader, upload->data, want, &len);
        if (state < 0 || state == RUNLOG_BAD) {
            writer_damaged(writer, state);
            return;
        }
        crc = runlog_crc(crc, upload->data, len);
        at += len;
        if (len == 0 && state == RUNLOG_TORN)
            break; /* the server has more than lies here */
    }
    if (at == offset && server_crc != NULL && crc != *server_crc) {
        writer_stop(writer, UPLOAD_DIVERGED, "the server has another history of this log");
        return;
    }
    writer->acked = offset;
    writer->crc = at == offset || server_crc == NULL ? crc : *server_crc;
    writer_seek(writer, offset);
}

static struct upload_writer *writer_get(struct upload *upload, const struct id *id)
{
    struct upload_writer **at = &upload->writers;

    while (*at != NULL && strcmp((*at)->id.text, id->text) != 0)
        at = &(*at)->next;
    if (*at == NULL) {
        struct upload_writer *writer = MEM_NEW(struct upload_writer);
        writer->id = *id;
        runlog_segments_init(&writer->reader, upload->folder->dir_fd, id->text);
        *at = writer;
    }
    return *at;
}

/* A path segment, every byte that is not plain as %XX. */
static void path_segment(struct buf *out, const char *text)
{
    for (const char *p = text; *p != '\0'; p++) {
        bool plain = (*p >= 'a' && *p <= 'z') || (*p >= 'A' && *p <= 'Z') ||
                     (*p >= '0' && *p <= '9') || *p == '-' || *p == '_' || *p == '.';
        if (plain)
            (void)buf_add_char(out, *p); /* checked as a whole */
        else
            (void)buf_printf(out, "%%%02X", (unsigned)(unsigned char)*p);
    }
}

/* What the server accepts as a name: no control bytes, at most 200 bytes. */
static struct str run_name(const struct run_folder *folder)
{
    struct str name = str_from(folder->name);

    name.len = MIN(name.len, (size_t)NAME_BYTES_MAX);
    while (name.len > 0 && !str_is_utf8(name, NULL))
        name.len--;
    return str_has_control(name) ? (struct str){0} : name;
}

static enum err_code run_create(struct upload *upload, struct err *err)
{
    CLEANUP(buf_release) struct buf body = {0};
    const struct run_folder *folder = upload->folder;
    CLEANUP(buf_release) struct buf path = {0};
    struct json_writer w;

    buf_init(&body, 64 * 1024);
    buf_init(&path, 4096);
    json_writer_init(&w, &body);
    json_begin_object(&w);
    struct str name = run_name(folder);
    if (name.len > 0) {
        json_put_key(&w, "name");
        json_put_str(&w, name);
    }
    if (folder->created[0] != '\0') {
        json_put_key(&w, "created_at");
        json_put_text(&w, folder->created);
    }
    json_end_object(&w);
    (void)buf_add_text(&path, "/api/v1/projects/"); /* checked as a whole */
    path_segment(&path, folder->project);
    (void)buf_printf(&path, "/runs/%s", folder->run.text);
    TRY(buf_check(&path, "the project's name", err));
    enum err_code code =
        http_client_json(upload->client, "PUT", path.data, buf_str(&body), NULL, err);
    if (code == ERR_NOT_FOUND)
        err_hint(err, "create the project first: %s", folder->project);
    /* It exists with other words: somebody renamed it, or it is a job's. Its logs are ours still.
     */
    return code == ERR_CONFLICT ? OK : code;
}

static bool parse_crc(const json_t *text, uint32_t *ret_crc)
{
    const char *p = json_string_value(text);
    char *end;

    if (p == NULL || strlen(p) != 8)
        return false;
    *ret_crc = (uint32_t)strtoul(p, &end, 16);
    return *end == '\0';
}

static enum err_code writers_list(struct upload *upload, struct err *err)
{
    CLEANUP(json_release) json_t *page = NULL;
    char path[128];
    size_t index;
    json_t *item;

    (void)snprintf(path, sizeof path, "/api/v1/runs/%s/writers", upload->folder->run.text);
    TRY(http_client_json(upload->client, "GET", path, (struct str){0}, &page, err));
    json_array_foreach(json_object_get(page, "items"), index, item)
    {
        struct id id;
        uint32_t crc;
        json_int_t offset = json_integer_value(json_object_get(item, "committed_offset"));
        const char *text = json_string_value(json_object_get(item, "id"));
        if (text == NULL || !id_parse(str_from(text), ID_WRITER, &id) || offset < 0 ||
            !parse_crc(json_object_get(item, "crc"), &crc))
            continue; /* a later server may list what we do not know */
        char name[RUNLOG_FILE_NAME_BYTES];
        runlog_file_name(id.text, 0, name);
        struct upload_writer *writer = writer_get(upload, &id);
        writer->is_listed = true;
        writer_place(upload, writer, (uint64_t)offset, &crc);
    }
    return OK;
}

/* Learns what the server has of the run, and makes it there when it is not known yet: a job's run,
 * and one that was brought in before, are. */
static enum err_code upload_begin(struct upload *upload, struct err *err)
{
    enum err_code code = writers_list(upload, err);

    if (code == ERR_NOT_FOUND) {
        TRY(run_create(upload, err));
        code = writers_list(upload, err);
    }
    upload->is_known = code == OK;
    return code;
}

static void take_answer(struct upload *upload, const json_t *doc)
{
    const json_t *next = json_object_get(doc, "next_ms");

    if (json_is_integer(next)) {
        int64_t ms = json_integer_value(next);
        ms = ms < NEXT_MS_MIN ? NEXT_MS_MIN : ms > NEXT_MS_MAX ? NEXT_MS_MAX : ms;
        upload->next_ms = upload->is_told ? MIN(upload->next_ms, ms) : ms;
        upload->is_told = true;
    }
    upload->stop = upload->stop || json_is_true(json_object_get(doc, "stop"));
}

/* What a refusal means for this writer: OK when the round goes on (elsewhere, or without it). */
static enum err_code post_refused(struct upload *upload, struct upload_writer *writer,
                                  const struct http_client_answer *answer, struct err *err)
{
    enum err_code code = http_client_answer_error(answer, err);

    if (answer->status == 416 && answer->offset >= 0) {
        writer_place(upload, writer, (uint64_t)answer->offset, NULL);
        return OK;
    }
    switch (code) {
    case ERR_WRITER_DIVERGED: writer_stop(writer, UPLOAD_DIVERGED, err->text); return OK;
    case ERR_INVALID:
    case ERR_BAD_JSON:
    case ERR_BAD_UTF8:
    case ERR_CONFLICT:
    case ERR_RUN_FINISHED:
    case ERR_FENCED:
    case ERR_TOO_LARGE:
    case ERR_OFFSET:
    case ERR_UNPROCESSABLE: writer_stop(writer, UPLOAD_REFUSED, err->text); return OK;
    default: return code;
    }
}

static enum err_code post_send(struct upload *upload, struct upload_writer *writer, size_t len,
                               struct err *err)
{
    struct http_client_answer answer = {0};
    CLEANUP(json_release) json_t *doc = NULL;
    char path[128], offset[64], crc[32];
    const char *headers[] = {offset, crc, NULL};

    (void)snprintf(path, sizeof path, "/api/v1/runs/%s/writers/%s/log", upload->folder->run.text,
                   writer->id.text);
    (void)snprintf(offset, sizeof offset, "Euvyra-Offset: %" PRIu64, writer->acked);
    (void)snprintf(crc, sizeof crc, "Euvyra-Crc: %08x", (unsigned)writer->crc);
    TRY(http_client_send(upload->client,
                         &(struct http_client_request){
                             .method = "POST",
                             .path = path,
                             .content_type = "application/octet-stream",
                             .body = str_n((const char *)upload->data, len),
                             .body_fd = -1,
                             .answer_fd = -1,
                             .headers = headers,
                             .timeout_ms = POST_TIMEOUT_MS,
                             .keep_going = upload->keep_going,
                             .ctx = upload->ctx,
                         },
                         &answer, err));
    enum err_code code = OK;
    if (answer.status >= 200 && answer.status < 300) {
        writer->crc = runlog_crc(writer->crc, upload->data, len);
        writer->acked += len;
        upload->sent_bytes += len;
        if (json_parse(buf_str(&answer.body), DOC_BYTES_MAX, &doc, NULL) == OK)
            take_answer(upload, doc);
    } else {
        code = post_refused(upload, writer, &answer, err);
    }
    http_client_answer_release(&answer);
    return code;
}

/* Reads the next post. What looks damaged is looked at again: a record of a living writer can be
 * seen half stored. */
static int writer_read(struct upload *upload, struct upload_writer *writer, size_t *ret_len)
{
    int state = RUNLOG_BAD;

    for (int look = 0; look < LOOKS_MAX && state == RUNLOG_BAD; look++) {
        if (look > 0)
            (void)poll(NULL, 0, LOOK_PAUSE_MS);
        state = runlog_segments_read(&writer->reader, upload->data, RUNLOG_POST_BYTES_MAX, ret_len);
    }
    return state;
}

/* Sends what this writer has now. A writer that adds to its log all the time must not keep the
 * round to itself, so after a post that was not full only a look at what follows is left, unless a
 * further segment lies there. The reader stands at `acked` between posts. */
static enum err_code writer_send(struct upload *upload, struct upload_writer *writer,
                                 struct err *err)
{
    int replaces = 0;
    bool is_last = false;

    while (writer->state == UPLOAD_GOING) {
        size_t len = 0;
        int state = writer_read(upload, writer, &len);
        if (state < 0 || state == RUNLOG_BAD) {
            writer_damaged(writer, state);
            return OK;
        }
        if (is_last || (len == 0 && state == RUNLOG_TORN)) {
            writer_seek(writer, writer->acked);
            return OK;
        }
        if (len == 0)
            continue; /* on to the next segment */
        is_last = len < POST_FULL_BYTES && !runlog_segments_has_next(&writer->reader);
        uint64_t want = writer->acked + len;
        enum err_code code = post_send(upload, writer, len, err);
        if (writer->reader.offset != writer->acked && writer->state == UPLOAD_GOING)
            writer_seek(writer, writer->acked);
        if (code != OK)
            return code;
        is_last = is_last && writer->acked == want;
        if (writer->acked != want && ++replaces > REPLACES_MAX)
            return err_set(err, ERR_UNAVAILABLE, "the server moves the offset of %s to and fro",
                           writer->id.text);
    }
    return OK;
}

enum err_code upload_round(struct upload *upload, struct err *err)
{
    CLEANUP(arena_release) struct arena arena = {0};
    struct id *writers;
    size_t count;

    upload->is_told = false;
    if (!upload->is_known)
        TRY(upload_begin(upload, err));
    TRY(run_folder_writers(upload->folder, &arena, &writers, &count, err));
    for (size_t i = 0; i < count; i++)
        TRY(writer_send(upload, writer_get(upload, &writers[i]), err));
    return OK;
}
