/* Watching a run's writers. Each log is read once, as it grows; only start and end records matter
 * here. A segment that the writer has left is flushed once more by its number, because the reader
 * has moved on to the next one by then. */
#include "sync/watch.h"

#include "base/json.h"
#include "base/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#define DATA_BYTES (RUNLOG_GROUP_BYTES_MAX + 64u * 1024u)

void watch_init(struct watch *watch, const struct run_folder *folder)
{
    *watch = (struct watch){.folder = folder, .data = mem_alloc(DATA_BYTES)};
    (void)gethostname(watch->host, sizeof watch->host - 1); /* stays "": then nobody is elsewhere */
}

void watch_release(struct watch *watch)
{
    while (watch->writers != NULL) {
        struct watch_writer *writer = watch->writers;
        watch->writers = writer->next;
        runlog_segments_close(&writer->reader);
        mem_free(writer);
    }
    mem_free(watch->data);
    watch->data = NULL;
}

static struct watch_writer *writer_get(struct watch *watch, const struct id *id)
{
    struct watch_writer **at = &watch->writers;

    while (*at != NULL && strcmp((*at)->id.text, id->text) != 0)
        at = &(*at)->next;
    if (*at == NULL) {
        *at = MEM_NEW(struct watch_writer);
        (*at)->id = *id;
        (*at)->rank = -1;
        runlog_segments_init(&(*at)->reader, watch->folder->dir_fd, id->text);
    }
    return *at;
}

static void take_start(const struct watch *watch, struct watch_writer *writer,
                       const struct runlog_group *group)
{
    CLEANUP(json_release) json_t *doc = NULL;
    char *text = mem_alloc(group->payload_bytes);

    runlog_group_copy(group, (uint8_t *)text);
    enum err_code code =
        json_parse(str_n(text, group->payload_bytes), RUNLOG_GROUP_BYTES_MAX, &doc, NULL);
    mem_free(text);
    if (code != OK)
        return;
    const char *kind = json_string_value(json_object_get(doc, "kind"));
    const char *host = json_string_value(json_object_get(doc, "host"));
    writer->process.pid = (pid_t)json_integer_value(json_object_get(doc, "pid"));
    writer->process.start_ticks = json_integer_value(json_object_get(doc, "pid_start"));
    const json_t *rank = json_object_get(doc, "rank");
    writer->rank = json_is_integer(rank) ? (int)json_integer_value(rank) : -1;
    writer->tells_end = kind != NULL && (strcmp(kind, "trainer") == 0 || strcmp(kind, "exec") == 0);
    writer->is_ours = kind != NULL && (strcmp(kind, "sidecar") == 0 || strcmp(kind, "agent") == 0);
    writer->is_elsewhere = host != NULL && watch->host[0] != '\0' && strcmp(host, watch->host) != 0;
}

static void take_records(const struct watch *watch, struct watch_writer *writer, size_t len)
{
    struct runlog_group group;

    for (size_t at = 0; runlog_next_group(watch->data, len, &at, &group) == RUNLOG_RECORD;) {
        if (group.type == RUNLOG_START)
            take_start(watch, writer, &group);
        writer->has_ended = writer->has_ended || group.type == RUNLOG_END_OF_RUN;
    }
}

static void flush_segment(const struct watch *watch, const struct watch_writer *writer,
                          uint32_t number)
{
    char name[RUNLOG_FILE_NAME_BYTES];

    runlog_file_name(writer->id.text, number, name);
    int fd = openat(watch->folder->dir_fd, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0)
        return;
    (void)fdatasync(fd); /* best effort: the promise to keep data is the server's answer */
    close(fd);
}

static void writer_look(const struct watch *watch, struct watch_writer *writer)
{
    uint64_t before = writer->reader.offset;
    int state;

    do {
        uint32_t number = writer->reader.segment.number;
        bool had_segment = writer->reader.fd >= 0;
        size_t len = 0;
        state = runlog_segments_read(&writer->reader, watch->data, DATA_BYTES, &len);
        take_records(watch, writer, len);
        if (had_segment && writer->reader.segment.number != number)
            flush_segment(watch, writer, number);
    } while (state == RUNLOG_RECORD);
    if (writer->reader.offset != before)
        (void)runlog_segments_sync(&writer->reader); /* as above */
}

enum err_code watch_look(struct watch *watch, struct err *err)
{
    CLEANUP(arena_release) struct arena arena = {0};
    struct id *writers;
    size_t count;

    TRY(run_folder_writers(watch->folder, &arena, &writers, &count, err));
    for (size_t i = 0; i < count; i++)
        writer_look(watch, writer_get(watch, &writers[i]));
    return OK;
}

bool watch_all_ended(const struct watch *watch)
{
    for (const struct watch_writer *w = watch->writers; w != NULL; w = w->next)
        if (!w->is_ours && !w->is_elsewhere && !w->has_ended && w->process.pid > 0 &&
            process_is_alive(&w->process))
            return false;
    return true;
}

const struct watch_writer *watch_next_gone(struct watch *watch, bool at_once)
{
    for (struct watch_writer *w = watch->writers; w != NULL; w = w->next) {
        if (!w->tells_end || w->is_told || w->is_elsewhere || w->has_ended || w->process.pid <= 0 ||
            process_is_alive(&w->process))
            continue;
        if (!at_once && !w->looks_gone) {
            w->looks_gone = true; /* its last records may have come after our look */
            continue;
        }
        w->is_told = true;
        return w;
    }
    return NULL;
}

int watch_first_pid(const struct watch *watch)
{
    for (const struct watch_writer *w = watch->writers; w != NULL; w = w->next)
        if (!w->is_ours && !w->is_elsewhere && !w->has_ended && w->process.pid > 0)
            return w->process.pid;
    return 0;
}
