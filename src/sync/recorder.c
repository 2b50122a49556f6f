/* Records of the sidecar and of exec. All times are the wall clock: these are records for people.
 */
#include "sync/recorder.h"

#include "base/json.h"
#include "base/mem.h"
#include "probe/place.h"
#include "runlog/encode.h"
#include "runlog/redact.h"
#include "sys/clock.h"
#include "sys/process.h"
#include "sys/random.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define DOC_BYTES_MAX RUNLOG_GROUP_BYTES_MAX
#define NAMES_MAX     4096u
#define ARG_BYTES_MAX 4096u
#define CONSOLE_PART  (64u * 1024u)

static void append(struct recorder *recorder, enum runlog_type type, const void *data, size_t len)
{
    /* A refusal is counted by the writer and becomes a gap record: nobody here could do more. */
    (void)runlog_writer_append(&recorder->writer, (uint16_t)type, data, len, clock_wall_ms());
}

static void put_argv(struct json_writer *w, const char *const *argv)
{
    char *text = mem_alloc(RUNLOG_REDACTED_BYTES_MAX(ARG_BYTES_MAX));
    const char *previous = NULL;
    uint32_t count = 0;

    json_put_key(w, "command");
    json_begin_array(w);
    for (size_t i = 0; argv[i] != NULL && i < 1024; i++) {
        char arg[ARG_BYTES_MAX + 1];
        (void)snprintf(arg, sizeof arg, "%s", argv[i]);
        json_put_str(w, str_n(text, runlog_redact_arg(previous, arg, text, &count)));
        previous = argv[i];
    }
    json_end_array(w);
    mem_free(text);
    json_put_key(w, "redacted");
    json_put_i64(w, count);
}

/* The console of a rank is its own: it is labelled as its process is. */
static void put_rank(struct json_writer *w)
{
    static const char *const variables[] = {"RANK", "OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK",
                                            "SLURM_PROCID"};
    int64_t rank;

    for (size_t i = 0; i < ARRAY_LEN(variables); i++) {
        const char *text = getenv(variables[i]);
        if (text == NULL || !str_to_i64(str_from(text), &rank) || rank < 0)
            continue;
        json_put_key(w, "rank");
        json_put_i64(w, rank);
        return;
    }
}

static void put_start(struct json_writer *w, const struct recorder *recorder,
                      const struct run_folder *folder, const char *kind, const char *const *argv)
{
    char host[256] = "";
    int64_t ticks = 0;

    (void)gethostname(host, sizeof host - 1); /* stays "" */
    (void)process_start_ticks(getpid(), &ticks);
    json_begin_object(w);
    json_put_key(w, "run");
    json_put_text(w, folder->run.text);
    json_put_key(w, "writer");
    json_put_text(w, recorder->id.text);
    json_put_key(w, "kind");
    json_put_text(w, kind);
    json_put_key(w, "time");
    json_put_i64(w, clock_wall_ms());
    json_put_key(w, "project");
    json_put_text(w, folder->project);
    json_put_key(w, "host");
    json_put_text(w, host);
    json_put_key(w, "pid");
    json_put_i64(w, getpid());
    json_put_key(w, "pid_start");
    json_put_i64(w, ticks);
    if (strcmp(kind, "console") == 0)
        put_rank(w);
    if (argv != NULL)
        put_argv(w, argv);
    json_end_object(w);
}

enum err_code recorder_open(struct recorder *recorder, const struct run_folder *folder,
                            const char *kind, const char *const *argv, struct err *err)
{
    CLEANUP(buf_release) struct buf doc = {0};
    struct json_writer w;

    *recorder = (struct recorder){.id = random_id(ID_WRITER)};
    map_init(&recorder->names, NAMES_MAX);
    int rc = runlog_writer_open(&recorder->writer, &(struct runlog_writer_options){
                                                       .dir_fd = folder->dir_fd,
                                                       .writer = recorder->id.text,
                                                       .now_ms = clock_wall_ms(),
                                                   });
    if (rc != 0)
        return err_set_errno(err, ERR_IO, -rc, "%s", folder->path);
    buf_init(&doc, DOC_BYTES_MAX);
    json_writer_init(&w, &doc);
    put_start(&w, recorder, folder, kind, argv);
    recorder_json(recorder, RUNLOG_START, buf_str(&doc));
    return OK;
}

void recorder_close(struct recorder *recorder)
{
    runlog_writer_close(&recorder->writer);
    map_release(&recorder->names);
}

void recorder_json(struct recorder *recorder, enum runlog_type type, struct str json)
{
    append(recorder, type, json.data, json.len);
}

static void put_text_known(struct json_writer *w, const char *key, const char *text)
{
    if (text[0] == '\0')
        return;
    json_put_key(w, key);
    json_put_text(w, text);
}

static void put_number_known(struct json_writer *w, const char *key, int64_t number)
{
    if (number <= 0)
        return;
    json_put_key(w, key);
    json_put_i64(w, number);
}

static void put_gpus(struct json_writer *w, const struct probe_machine *machine)
{
    put_text_known(w, "driver", machine->driver);
    put_text_known(w, "cuda", machine->cuda);
    json_put_key(w, "gpus");
    json_begin_array(w);
    for (int i = 0; i < machine->gpu_count; i++) {
        json_begin_object(w);
        put_text_known(w, "name", machine->gpus[i].name);
        put_text_known(w, "uuid", machine->gpus[i].uuid);
        put_number_known(w, "memory_bytes", machine->gpus[i].memory_bytes);
        json_end_object(w);
    }
    json_end_array(w);
}

static void put_place(struct json_writer *w)
{
    struct probe_fact facts[PROBE_PLACE_MAX];
    size_t count = probe_place_read(facts);

    for (size_t i = 0; i < count; i++)
        put_text_known(w, facts[i].key, facts[i].value);
}

void recorder_machine(struct recorder *recorder, const struct probe_machine *machine)
{
    CLEANUP(buf_release) struct buf doc = {0};
    struct json_writer w;

    buf_init(&doc, DOC_BYTES_MAX);
    json_writer_init(&w, &doc);
    json_begin_object(&w);
    put_text_known(&w, "host", machine->host);
    put_text_known(&w, "os", machine->os);
    put_text_known(&w, "kernel", machine->kernel);
    put_text_known(&w, "arch", machine->arch);
    json_put_key(&w, "cpu");
    json_begin_object(&w);
    put_text_known(&w, "model", machine->cpu_model);
    put_number_known(&w, "cores", machine->cpu_cores);
    put_number_known(&w, "threads", machine->cpu_threads);
    if (machine->cpu_limit > 0) {
        json_put_key(&w, "limit");
        json_put_f64(&w, machine->cpu_limit);
    }
    json_end_object(&w);
    put_number_known(&w, "memory_bytes", machine->memory_bytes);
    put_number_known(&w, "memory_limit_bytes", machine->memory_limit_bytes);
    put_number_known(&w, "disk_bytes", machine->disk_bytes);
    put_number_known(&w, "disk_free_bytes", machine->disk_free_bytes);
    put_place(&w);
    put_gpus(&w, machine);
    json_end_object(&w);
    recorder_json(recorder, RUNLOG_MACHINE, buf_str(&doc));
}

/* The id of a system metric, new names being written first. False when there are too many. */
static bool name_id(struct recorder *recorder, const char *name, uint32_t *ret_id)
{
    uint8_t payload[8 + 4 + RUNLOG_NAME_BYTES_MAX];
    uintptr_t known = (uintptr_t)map_get(&recorder->names, str_from(name));

    if (known == 0) {
        size_t len = runlog_name_encode(recorder->name_count, RUNLOG_NAME_SYSTEM, name,
                                        strlen(name), payload);
        known = recorder->name_count + 1;
        /* Only what the log holds may be used: a name that the disk refused is tried again. */
        if (len == 0 ||
            runlog_writer_append(&recorder->writer, RUNLOG_NAMES, payload, len, clock_wall_ms()) !=
                0 ||
            !map_put(&recorder->names, str_from(name), (void *)known))
            return false;
        recorder->name_count++;
    }
    *ret_id = (uint32_t)(known - 1);
    return true;
}

void recorder_system(struct recorder *recorder, const struct probe_value *values, size_t count)
{
    uint8_t *payload = mem_alloc(RUNLOG_SYSTEM_BYTES(count));
    uint32_t used = 0;

    for (size_t i = 0; i < count; i++) {
        uint32_t id;
        if (name_id(recorder, values[i].name, &id))
            runlog_system_put(payload, used++, id, values[i].value);
    }
    runlog_system_begin(payload, clock_wall_ms(), used);
    if (used > 0)
        append(recorder, RUNLOG_SYSTEM, payload, RUNLOG_SYSTEM_BYTES(used));
    mem_free(payload);
}

void recorder_heartbeat(struct recorder *recorder)
{
    uint8_t payload[RUNLOG_HEARTBEAT_BYTES];

    runlog_heartbeat_encode(clock_wall_ms(), payload);
    append(recorder, RUNLOG_HEARTBEAT, payload, sizeof payload);
}

void recorder_console(struct recorder *recorder, uint8_t stream, const char *data, size_t len)
{
    uint8_t payload[RUNLOG_CONSOLE_FIXED_BYTES + CONSOLE_PART];

    while (len > 0) {
        size_t part = MIN(len, (size_t)CONSOLE_PART);
        runlog_console_begin(payload, stream, clock_wall_ms());
        memcpy(payload + RUNLOG_CONSOLE_FIXED_BYTES, data, part);
        append(recorder, RUNLOG_CONSOLE, payload, RUNLOG_CONSOLE_FIXED_BYTES + part);
        data += part;
        len -= part;
    }
}

void recorder_redacted(struct recorder *recorder, uint32_t more)
{
    char text[64];

    if (more == 0)
        return;
    recorder->redacted += more;
    int len = snprintf(text, sizeof text, "{\"redacted\":%u}", recorder->redacted);
    append(recorder, RUNLOG_MARK, text, (size_t)len);
}

void recorder_gone(struct recorder *recorder, const struct id *writer, bool oom)
{
    char text[128];
    int len = snprintf(text, sizeof text, "{\"writer\":\"%s\",\"time\":%lld,\"oom\":%s}",
                       writer->text, (long long)clock_wall_ms(), oom ? "true" : "false");

    append(recorder, RUNLOG_GONE, text, (size_t)len);
}

void recorder_end(struct recorder *recorder, const struct recorder_ending *ending)
{
    int exit_code = ending->exit_code, signal_number = ending->signal;
    const char *reason = ending->reason;
    CLEANUP(buf_release) struct buf doc = {0};
    struct json_writer w;

    buf_init(&doc, 4096);
    json_writer_init(&w, &doc);
    json_begin_object(&w);
    json_put_key(&w, signal_number > 0 ? "signal" : "exit_code");
    json_put_i64(&w, signal_number > 0 ? signal_number : exit_code);
    json_put_key(&w, "time");
    json_put_i64(&w, clock_wall_ms());
    json_put_key(&w, "reason");
    json_put_text(&w, reason);
    if (ending->oom) {
        json_put_key(&w, "oom");
        json_put_bool(&w, true);
    }
    json_end_object(&w);
    recorder_json(recorder, RUNLOG_END_OF_RUN, buf_str(&doc));
}
