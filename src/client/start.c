/* The first record of a log: who writes, from where, with which configuration. Secrets are taken
 * out of configuration and command line before anything is written, and counted. */
#include "client/client.h"

#include "runlog/json.h"
#include "runlog/redact.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define START_FIXED_BYTES (64u * 1024u)
#define ARG_BYTES_MAX     4096u
#define ARGC_MAX          1024u
#define COMMAND_BYTES_MAX (512u * 1024u)

static void put_text(struct runlog_json *json, const char *key, const char *value)
{
    if (value == NULL)
        return;
    runlog_json_key(json, key);
    runlog_json_text(json, value);
}

/* Field 22 of /proc/<pid>/stat. */
int64_t client__process_start(long pid)
{
    char text[1024];
    long long ticks = 0;

    (void)snprintf(text, sizeof text, "/proc/%ld/stat", pid);
    FILE *file = fopen(text, "re");

    if (file == NULL)
        return 0;
    size_t n = fread(text, 1, sizeof text - 1, file);
    fclose(file);
    text[n] = '\0';
    const char *p = strrchr(text, ')'); /* the name in field 2 may hold anything */
    for (int field = 2; p != NULL && field < 22; field++)
        p = strchr(p + 1, ' ');
    if (p == NULL || sscanf(p, "%lld", &ticks) != 1)
        return 0;
    return ticks;
}

static void put_process(struct runlog_json *json)
{
    char host[256] = "";

    if (gethostname(host, sizeof host - 1) == 0)
        put_text(json, "host", host);
    runlog_json_key(json, "pid");
    runlog_json_i64(json, getpid());
    runlog_json_key(json, "pid_start");
    runlog_json_i64(json, client__process_start(getpid()));
}

static void put_command(struct runlog_json *json, const struct euvyra_options *options,
                        uint32_t *redacted)
{
    static const size_t room = RUNLOG_REDACTED_BYTES_MAX(ARG_BYTES_MAX);
    char *text = malloc(room + ARG_BYTES_MAX + 1);
    size_t argc = options->argc < ARGC_MAX ? options->argc : ARGC_MAX;
    const char *previous = NULL;

    if (text == NULL || options->argv == NULL) {
        free(text);
        return;
    }
    char *arg = text + room;
    runlog_json_key(json, "command");
    runlog_json_begin(json, '[');
    for (size_t i = 0; i < argc && json->len < COMMAND_BYTES_MAX; i++) {
        size_t len = strnlen(options->argv[i], ARG_BYTES_MAX);
        memcpy(arg, options->argv[i], len);
        arg[len] = '\0';
        runlog_json_text_n(json, text, runlog_redact_arg(previous, arg, text, redacted));
        previous = options->argv[i];
    }
    runlog_json_end(json, ']');
    free(text);
}

static bool put_config(struct runlog_json *json, const char *config, uint32_t *redacted)
{
    size_t len = strlen(config);
    char *text = malloc(RUNLOG_REDACTED_BYTES_MAX(len));

    if (text == NULL)
        return false;
    runlog_json_key(json, "config");
    runlog_json_raw(json, text, runlog_redact_json(config, len, text, redacted));
    free(text);
    return true;
}

static void put_number_known(struct runlog_json *json, const char *key, int number)
{
    if (number < 0)
        return;
    runlog_json_key(json, key);
    runlog_json_i64(json, number);
}

static void put_epoch(struct runlog_json *json, const struct euvyra_run *run,
                      const struct euvyra_options *options)
{
    bool truncates = options != NULL && options->has_from_step != 0 && options->branch_from == NULL;
    char key[200];

    if (!truncates && client__job_of(run) == NULL)
        return;
    client__epoch_key(run, key, sizeof key);
    runlog_json_key(json, "epoch");
    runlog_json_begin(json, '{');
    put_text(json, "kind", truncates ? "truncate" : "attempt");
    put_text(json, "key", key);
    if (truncates) {
        runlog_json_key(json, "step");
        runlog_json_i64(json, options->from_step);
    }
    runlog_json_end(json, '}');
}

static void put_branch(struct runlog_json *json, const struct euvyra_options *options)
{
    if (options->branch_from == NULL)
        return;
    runlog_json_key(json, "branch");
    runlog_json_begin(json, '{');
    put_text(json, "run", options->branch_from);
    runlog_json_key(json, "step");
    runlog_json_i64(json, options->from_step);
    runlog_json_end(json, '}');
}

static bool put_options(struct runlog_json *json, struct euvyra_run *run,
                        const struct euvyra_options *options)
{
    uint32_t redacted = 0;
    bool ok = true;

    put_text(json, "project", client__option(options->project, "EUVYRA_PROJECT", "default"));
    put_text(json, "name", options->name);
    put_text(json, "group", options->group);
    put_text(json, "job_type", options->job_type);
    put_text(json, "notes", options->notes);
    put_text(json, "resume", options->resume);
    if (options->tags_json != NULL) {
        runlog_json_key(json, "tags");
        runlog_json_raw(json, options->tags_json, strlen(options->tags_json));
    }
    put_command(json, options, &redacted);
    if (options->config_json != NULL)
        ok = put_config(json, options->config_json, &redacted);
    runlog_json_key(json, "redacted");
    runlog_json_i64(json, redacted);
    run->redacted = redacted;
    put_branch(json, options);
    return ok;
}

static size_t start_bytes_max(const struct euvyra_options *options)
{
    size_t bytes = START_FIXED_BYTES + COMMAND_BYTES_MAX + 6 * ARG_BYTES_MAX;

    if (options == NULL)
        return START_FIXED_BYTES;
    bytes += options->notes != NULL ? 6 * strlen(options->notes) : 0;
    bytes += options->tags_json != NULL ? strlen(options->tags_json) : 0;
    bytes += options->config_json != NULL ? 6 * strlen(options->config_json) : 0;
    return bytes < RUNLOG_GROUP_BYTES_MAX ? bytes : RUNLOG_GROUP_BYTES_MAX;
}

enum euvyra_code client__start(struct euvyra_run *run, const struct euvyra_options *options)
{
    size_t capacity = start_bytes_max(options);
    char *text = malloc(capacity);
    struct runlog_json json;
    bool ok = true;
    int64_t now = client__now_ms();

    if (text == NULL)
        return EUVYRA_NO_MEMORY;
    runlog_json_init(&json, text, capacity);
    runlog_json_begin(&json, '{');
    put_text(&json, "run", run->run);
    put_text(&json, "writer", run->writer_id);
    put_text(&json, "kind", run->kind);
    runlog_json_key(&json, "time");
    runlog_json_i64(&json, now);
    put_text(&json, "sdk", run->sdk);
    put_text(&json, "job", client__job_of(run));
    put_text(&json, "attempt", client__option(NULL, "EUVYRA_ATTEMPT", NULL));
    put_number_known(&json, "rank", run->rank);
    put_number_known(&json, "local_rank", run->local_rank);
    put_number_known(&json, "world_size", run->world_size);
    put_process(&json);
    if (run->parent_writer[0] != '\0')
        put_text(&json, "parent_writer", run->parent_writer);
    put_epoch(&json, run, options);
    if (options != NULL)
        ok = put_options(&json, run, options);
    runlog_json_end(&json, '}');
    enum euvyra_code code = !ok ? EUVYRA_NO_MEMORY : json.full ? EUVYRA_TOO_LARGE : EUVYRA_OK;
    if (code == EUVYRA_OK)
        code = client__code(runlog_writer_append(&run->writer, RUNLOG_START, text, json.len, now));
    free(text);
    return code;
}
