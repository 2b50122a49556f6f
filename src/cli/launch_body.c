/* What euvyra launch submits: a file in the form of the API (JobCreate without `run`), options that
 * go over it, and the command after them. */
#include "cli/cli.h"
#include "cli/yaml_read.h"
#include "sys/file.h"

#include <stdio.h>

/* "8G", "512M", "1.5T" as bytes. */
static enum err_code parse_size(const char *option, const char *text, int64_t *ret_bytes,
                                struct err *err)
{
    static const char units[] = "KMGT";
    size_t len = strlen(text);
    const char *unit = len ? strchr(units, text[len - 1]) : NULL;
    double number = 0;

    if (unit && *unit)
        len--;
    else
        unit = NULL;
    if (!str_to_f64(str_n(text, len), &number) || number < 0 || number > 1e15)
        return err_set(err, ERR_INVALID, "--%s wants a size such as 8G, not \"%s\"", option, text);
    for (const char *u = units; unit && u <= unit; u++)
        number *= 1024;
    if (number > 9e15)
        return err_set(err, ERR_INVALID, "--%s: \"%s\" is too much", option, text);
    *ret_bytes = (int64_t)number;
    return OK;
}

/* "90", "90m", "2h", "2d" as seconds. */
static enum err_code parse_time(const char *option, const char *text, int64_t *ret_seconds,
                                struct err *err)
{
    static const struct {
        char letter;
        int64_t seconds;
    } units[] = {{'s', 1}, {'m', 60}, {'h', 3600}, {'d', 86400}};
    size_t len = strlen(text);
    int64_t number = 0, factor = 1;

    for (size_t i = 0; len && i < ARRAY_LEN(units); i++)
        if (text[len - 1] == units[i].letter) {
            factor = units[i].seconds;
            len--;
            break;
        }
    if (!str_to_i64(str_n(text, len), &number) || number < 1 || number > 31536000 / factor)
        return err_set(err, ERR_INVALID, "--%s wants a time such as 90m or 2d, not \"%s\"", option,
                       text);
    *ret_seconds = number * factor;
    return OK;
}

static json_t *object_in(json_t *object, const char *member)
{
    json_t *inner = json_object_get(object, member);

    if (!json_is_object(inner)) {
        inner = json_object();
        (void)json_object_set_new(object, member, inner);
    }
    return inner;
}

/* KEY=VALUE options as members; the value of --config is JSON where it can be. */
static enum err_code take_pairs(struct cli *cli, const char *option, const char *member,
                                bool as_json, json_t *spec, struct err *err)
{
    const char *text;

    for (size_t i = 0; (text = cli_text_at(cli, option, i)); i++) {
        struct str rest = str_from(text), key;
        json_t *value = NULL;
        if (!str_cut(&rest, '=', &key) || key.len == 0)
            return err_set(err, ERR_INVALID, "--%s wants NAME=VALUE, not \"%s\"", option, text);
        if (as_json)
            value = json_loadb(rest.data, rest.len, JSON_DECODE_ANY | JSON_REJECT_DUPLICATES, NULL);
        if (!value)
            value = json_stringn(rest.data, rest.len);
        if (!value ||
            json_object_set_new(object_in(spec, member), arena_text(&cli->arena, key), value) != 0)
            return err_set(err, ERR_BAD_UTF8, "--%s \"%s\" is not UTF-8", option, text);
    }
    return OK;
}

static enum err_code set_text(struct cli *cli, const char *option, const char *member,
                              json_t *object, struct err *err)
{
    const char *text = cli_text(cli, option);

    if (text && json_object_set_new(object, member, json_string(text)) != 0)
        return err_set(err, ERR_BAD_UTF8, "--%s is not UTF-8", option);
    return OK;
}

static void set_number(struct cli *cli, const char *option, const char *member, json_t *object)
{
    if (cli_flag(cli, option))
        (void)json_object_set_new(object, member, json_integer(cli_number(cli, option, 0)));
}

static void set_flag(struct cli *cli, const char *option, const char *member, json_t *object)
{
    if (cli_flag(cli, option))
        (void)json_object_set_new(object, member, json_true());
}

static enum err_code set_size(struct cli *cli, const char *option, const char *member,
                              json_t *object, struct err *err)
{
    int64_t bytes = 0;

    if (!cli_text(cli, option))
        return OK;
    TRY(parse_size(option, cli_text(cli, option), &bytes, err));
    (void)json_object_set_new(object, member, json_integer(bytes));
    return OK;
}

static enum err_code set_time(struct cli *cli, const char *option, const char *member,
                              json_t *object, struct err *err)
{
    int64_t seconds = 0;

    if (!cli_text(cli, option))
        return OK;
    TRY(parse_time(option, cli_text(cli, option), &seconds, err));
    (void)json_object_set_new(object, member, json_integer(seconds));
    return OK;
}

/* Every value of an option that may be given several times; NULL: not given. */
static json_t *texts(struct cli *cli, const char *option)
{
    json_t *list = cli_flag(cli, option) ? json_array() : NULL;
    const char *text;

    for (size_t i = 0; list && (text = cli_text_at(cli, option, i)); i++)
        (void)json_array_append_new(list, json_string(text));
    return list;
}

static void set_texts(struct cli *cli, const char *option, const char *member, json_t *object)
{
    json_t *list = texts(cli, option);

    if (list)
        (void)json_object_set_new(object, member, list);
}

/* "spot:10m", "local": in order of preference. */
enum err_code cli_targets(struct cli *cli, json_t *spec, struct err *err)
{
    json_t *list = cli_flag(cli, "target") ? json_array() : NULL;
    const char *text;

    if (!list)
        return OK;
    (void)json_object_del(spec, "target");
    (void)json_object_set_new(spec, "targets", list);
    for (size_t i = 0; (text = cli_text_at(cli, "target", i)); i++) {
        struct str rest = str_from(text), name;
        json_t *item = json_object();
        int64_t seconds = 0;
        (void)json_array_append_new(list, item);
        if (str_cut(&rest, ':', &name)) {
            TRY(parse_time("target", rest.data, &seconds, err));
            (void)json_object_set_new(item, "wait_s", json_integer(seconds));
        }
        (void)json_object_set_new(item, "target", json_stringn(name.data, name.len));
    }
    return OK;
}

/* "data:/data", "data:/data:ro". */
static enum err_code set_volumes(struct cli *cli, json_t *spec, struct err *err)
{
    json_t *list = cli_flag(cli, "volume") ? json_array() : NULL;
    const char *text;

    if (!list)
        return OK;
    (void)json_object_set_new(spec, "volumes", list);
    for (size_t i = 0; (text = cli_text_at(cli, "volume", i)); i++) {
        struct str rest = str_from(text), name, path;
        json_t *item = json_object();
        (void)json_array_append_new(list, item);
        if (!str_cut(&rest, ':', &name))
            return err_set(err, ERR_INVALID, "--volume wants NAME:PATH or NAME:PATH:ro, not \"%s\"",
                           text);
        if (str_cut(&rest, ':', &path)) {
            if (!str_eq_c(rest, "ro"))
                return err_set(err, ERR_INVALID, "--volume \"%s\" ends with neither PATH nor :ro",
                               text);
            (void)json_object_set_new(item, "read_only", json_true());
        }
        (void)json_object_set_new(item, "name", json_stringn(name.data, name.len));
        (void)json_object_set_new(item, "path", json_stringn(path.data, path.len));
    }
    return OK;
}

/* "0-99", "0-99:5", "0-99%10". */
static enum err_code set_array(struct cli *cli, json_t *body, struct err *err)
{
    const char *text = cli_text(cli, "array");
    struct str rest = str_from(text ? text : ""), range, from, step;
    int64_t numbers[3] = {0};
    json_t *array;

    if (!text)
        return OK;
    bool limited = str_cut(&rest, '%', &range);
    struct str limit = rest;
    bool stepped = str_cut(&range, ':', &rest);
    step = range;
    range = rest;
    if (!str_cut(&range, '-', &from) || !str_to_i64(from, &numbers[0]) ||
        !str_to_i64(range, &numbers[1]) || (stepped && !str_to_i64(step, &numbers[2])))
        return err_set(err, ERR_INVALID, "--array wants FROM-TO[:STEP][%%LIMIT], not \"%s\"", text);
    array = json_object();
    (void)json_object_set_new(body, "array", array);
    (void)json_object_set_new(array, "from", json_integer(numbers[0]));
    (void)json_object_set_new(array, "to", json_integer(numbers[1]));
    if (stepped)
        (void)json_object_set_new(array, "step", json_integer(numbers[2]));
    if (limited && !str_to_i64(limit, &numbers[2]))
        return err_set(err, ERR_INVALID, "--array \"%s\": the limit is no number", text);
    if (limited)
        (void)json_object_set_new(array, "limit", json_integer(numbers[2]));
    return OK;
}

/* "JOB", "JOB:any". */
static enum err_code set_after(struct cli *cli, json_t *body, struct err *err)
{
    json_t *list = cli_flag(cli, "after") ? json_array() : NULL;
    const char *text;

    if (!list)
        return OK;
    (void)json_object_set_new(body, "after", list);
    for (size_t i = 0; (text = cli_text_at(cli, "after", i)); i++) {
        struct str rest = str_from(text), id;
        json_t *item = json_object();
        (void)json_array_append_new(list, item);
        if (str_cut(&rest, ':', &id)) {
            if (!str_eq_c(rest, "any"))
                return err_set(err, ERR_INVALID, "--after wants JOB or JOB:any, not \"%s\"", text);
            (void)json_object_set_new(item, "any", json_true());
        }
        (void)json_object_set_new(item, "job", json_stringn(id.data, id.len));
    }
    return OK;
}

/* "8000", "8000/health", and how it is asked. */
static enum err_code set_health(struct cli *cli, json_t *spec, struct err *err)
{
    const char *text = cli_text(cli, "health");
    struct str rest = str_from(text ? text : ""), port_text;
    int64_t port = 0;
    json_t *health;

    if (!text && !cli_flag(cli, "health-every") && !cli_flag(cli, "health-timeout") &&
        !cli_flag(cli, "health-failures") && !cli_flag(cli, "health-start"))
        return OK;
    health = object_in(spec, "health");
    TRY(set_time(cli, "health-every", "every_s", health, err));
    TRY(set_time(cli, "health-timeout", "timeout_s", health, err));
    TRY(set_time(cli, "health-start", "starts_within_s", health, err));
    set_number(cli, "health-failures", "failures", health);
    if (!text)
        return OK;
    if (str_cut(&rest, '/', &port_text))
        (void)json_object_set_new(health, "path",
                                  json_string(arena_printf(&cli->arena, "/%.*s", STR_ARG(rest))));
    if (!str_to_i64(port_text, &port))
        return err_set(err, ERR_INVALID, "--health wants PORT or PORT/PATH, not \"%s\"", text);
    (void)json_object_set_new(health, "port", json_integer(port));
    return OK;
}

static enum err_code set_service(struct cli *cli, json_t *spec, struct err *err)
{
    if (cli_flag(cli, "service"))
        (void)json_object_set_new(spec, "kind", json_string("service"));
    set_number(cli, "replicas", "replicas", spec);
    return set_health(cli, spec, err);
}

/* What it runs, asks for, and where. */
static enum err_code take_spec(struct cli *cli, json_t *spec, struct err *err)
{
    TRY(take_pairs(cli, "config", "config", true, spec, err));
    TRY(take_pairs(cli, "env", "env", false, spec, err));
    TRY(take_pairs(cli, "secret", "secrets", false, spec, err));
    TRY(set_text(cli, "image", "image", spec, err));
    TRY(set_text(cli, "registry", "registry", spec, err));
    TRY(set_text(cli, "launcher", "launcher", spec, err));
    set_texts(cli, "gpu-type", "gpu_type", spec);
    set_texts(cli, "exclude", "exclude", spec);
    set_texts(cli, "bucket", "buckets", spec);
    set_number(cli, "gpus", "gpus", spec);
    set_number(cli, "cpus", "cpus", spec);
    set_number(cli, "nodes", "nodes", spec);
    set_number(cli, "pids", "pids", spec);
    set_number(cli, "retries", "retries", spec);
    set_flag(cli, "retry-failed", "retry_failed", spec);
    set_flag(cli, "read-only-root", "read_only_root", spec);
    TRY(set_size(cli, "memory", "memory_bytes", spec, err));
    TRY(set_size(cli, "gpu-memory", "gpu_memory_bytes", spec, err));
    TRY(set_size(cli, "shm", "shm_bytes", spec, err));
    TRY(set_size(cli, "disk", "disk_bytes", spec, err));
    TRY(set_time(cli, "timeout", "timeout_s", spec, err));
    TRY(set_time(cli, "grace", "grace_s", spec, err));
    TRY(cli_targets(cli, spec, err));
    TRY(set_volumes(cli, spec, err));
    return set_service(cli, spec, err);
}

static enum err_code take_beside(struct cli *cli, json_t *body, struct err *err)
{
    TRY(set_text(cli, "name", "name", body, err));
    TRY(set_text(cli, "notes", "notes", body, err));
    TRY(set_text(cli, "queue", "queue", body, err));
    set_number(cli, "priority", "priority", body);
    set_flag(cli, "held", "held", body);
    set_texts(cli, "tag", "tags", body);
    TRY(set_array(cli, body, err));
    return set_after(cli, body, err);
}

enum err_code cli_job_file(struct cli *cli, json_t **ret_body, struct err *err)
{
    CLEANUP(buf_release) struct buf text = {0};
    CLEANUP(json_release) json_t *body = NULL;
    const char *path = cli_text(cli, "file");

    TRY(file_read(path, YAML_BYTES_MAX, &text, err));
    TRY(yaml_read(path, buf_str(&text), &body, err));
    if (!json_is_object(body) || !json_is_object(json_object_get(body, "spec")))
        return err_set_field(err, ERR_INVALID, "spec", "%s has no map \"spec\"", path);
    *ret_body = body;
    body = NULL;
    return OK;
}

/* Of a run without a job: what it recorded of its command, configuration and commit. */
static enum err_code take_recorded(const json_t *run, json_t **ret_body, struct err *err)
{
    static const char *const names[] = {"commit", "branch", "remote", "dirty", "diff_sha256"};
    const json_t *git = json_object_get(json_object_get(run, "code"), "git");
    json_t *spec = json_object(), *state = json_object();

    *ret_body = json_object();
    (void)json_object_set_new(*ret_body, "spec", spec);
    (void)json_object_set_new(spec, "git", state);
    if (!*cli_run_commit(run)) {
        json_release(ret_body);
        return err_set(err, ERR_INVALID, "run %s has neither a job nor a recorded commit",
                       cli_get(run, "id"));
    }
    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        if (json_object_get(git, names[i]))
            (void)json_object_set(state, names[i], json_object_get(git, names[i]));
    if (json_array_size(json_object_get(run, "command")))
        (void)json_object_set(spec, "command", json_object_get(run, "command"));
    if (json_object_size(json_object_get(run, "config")))
        (void)json_object_set(spec, "config", json_object_get(run, "config"));
    return OK;
}

/* The spec of the run's job; name, tags and notes are not taken over. */
static enum err_code take_run(struct cli *cli, json_t **ret_body, struct err *err)
{
    CLEANUP(json_release) json_t *run = NULL;
    CLEANUP(json_release) json_t *job = NULL;
    const char *id = cli_text(cli, "from");
    json_t *spec;

    TRY(cli_path_part("run", id, err));
    TRY(cli_call(cli, "GET", arena_printf(&cli->arena, "/api/v1/runs/%s", id), NULL, &run, err));
    if (!*cli_get(run, "job"))
        return take_recorded(run, ret_body, err);
    TRY(cli_call(cli, "GET", arena_printf(&cli->arena, "/api/v1/jobs/%s", cli_get(run, "job")),
                 NULL, &job, err));
    spec = json_deep_copy(json_object_get(job, "spec"));
    *ret_body = json_object();
    (void)json_object_set_new(*ret_body, "spec", spec);
    (void)json_object_set_new(*ret_body, "queue", json_string(cli_get(job, "queue")));
    return OK;
}

static enum err_code take_command(struct cli *cli, json_t *spec, struct err *err)
{
    json_t *command;

    if (cli->arg_count == 0)
        return json_object_get(spec, "command")
                   ? OK
                   : err_set(err, ERR_INVALID,
                             "euvyra launch wants -- COMMAND..., or a file or run that has one");
    command = json_array();
    (void)json_object_set_new(spec, "command", command);
    for (int i = 0; i < cli->arg_count; i++)
        if (json_array_append_new(command, json_string(cli->args[i])) != 0)
            return err_set(err, ERR_BAD_UTF8, "the command is not UTF-8");
    return OK;
}

enum err_code cli_launch_body(struct cli *cli, json_t **ret_body, struct err *err)
{
    CLEANUP(json_release) json_t *body = NULL;
    json_t *spec;

    if (cli_flag(cli, "file") && cli_flag(cli, "from"))
        return err_set(err, ERR_INVALID, "--file and --from are two of the same");
    if (cli_flag(cli, "file"))
        TRY(cli_job_file(cli, &body, err));
    else if (cli_flag(cli, "from"))
        TRY(take_run(cli, &body, err));
    else
        body = json_object();
    spec = object_in(body, "spec");
    TRY(take_command(cli, spec, err));
    TRY(take_spec(cli, spec, err));
    TRY(take_beside(cli, body, err));
    *ret_body = body;
    body = NULL;
    return OK;
}
