/* euvyra exec -f: a job's file, run here. What a job asks of machines means nothing here. */
#include "cli/cli.h"

#include "base/json.h"
#include "sync/exec.h"

#include <stdlib.h>

#define CONFIG_BYTES_MAX 98304 /* of a variable; Linux allows 128 KiB */
#define RECORD_BYTES_MAX (256 * 1024)

static enum err_code text_of(struct cli *cli, const json_t *value, struct str *ret_text,
                             struct err *err)
{
    CLEANUP(buf_release) struct buf out = {0};
    struct json_writer w;

    buf_init(&out, RECORD_BYTES_MAX);
    json_writer_init(&w, &out);
    json_put_value(&w, value);
    TRY(buf_check(&out, "a value of the job's file", err));
    *ret_text = arena_copy(&cli->arena, buf_str(&out));
    return OK;
}

/* {"tags": [...]}: the member as a record of its own. */
static enum err_code record_of(struct cli *cli, const json_t *body, const char *member,
                               struct str *ret_text, struct err *err)
{
    CLEANUP(json_release) json_t *record = json_object();
    json_t *value = json_object_get(body, member);

    if (!value)
        return OK;
    (void)json_object_set(record, member, value);
    return text_of(cli, record, ret_text, err);
}

static enum err_code take_argv(struct cli *cli, const json_t *spec, struct exec_options *options,
                               struct err *err)
{
    const json_t *command = json_object_get(spec, "command");
    size_t count = json_array_size(command);
    const char **argv;

    if (cli->arg_count > 0)
        return OK; /* it goes over the file's */
    if (count == 0)
        return err_set_field(err, ERR_INVALID, "spec.command", "the job's file has no command");
    argv = arena_array(&cli->arena, count + 1, sizeof(argv[0]));
    for (size_t i = 0; i < count; i++) {
        argv[i] = json_string_value(json_array_get(command, i));
        if (!argv[i])
            return err_set_field(err, ERR_INVALID, "spec.command",
                                 "spec.command: item %zu is no text", i);
        argv[i] = arena_text(&cli->arena, str_from(argv[i]));
    }
    options->argv = argv;
    return OK;
}

static enum err_code take_env(struct cli *cli, const json_t *spec, struct exec_options *options,
                              struct err *err)
{
    json_t *variables = json_object_get(spec, "env"), *value;
    const char **env = arena_array(&cli->arena, json_object_size(variables) + 1, sizeof(env[0]));
    const char *name;
    size_t count = 0;

    json_object_foreach(variables, name, value)
    {
        if (!json_is_string(value))
            return err_set_field(err, ERR_INVALID, "spec.env", "spec.env: \"%s\" is no text", name);
        env[count++] = arena_printf(&cli->arena, "%s=%s", name, json_string_value(value));
    }
    options->env = env;
    return OK;
}

/* Secrets are opened for jobs alone: here the variables have to be set already. */
static enum err_code check_secrets(const json_t *spec, struct err *err)
{
    json_t *secrets = json_object_get(spec, "secrets"), *secret;
    const char *name;

    json_object_foreach(secrets, name, secret)
    {
        if (getenv(name))
            continue;
        (void)err_set_field(err, ERR_INVALID, "spec.secrets",
                            "the job gets %s from the secret \"%s\", and it is not set here", name,
                            json_is_string(secret) ? json_string_value(secret) : "");
        err_hint(err, "secrets are given to jobs alone; set the variable for this command");
        return ERR_INVALID;
    }
    return OK;
}

enum err_code cli_exec_file(struct cli *cli, struct exec_options *options, struct err *err)
{
    CLEANUP(json_release) json_t *body = NULL;
    const json_t *spec, *config;

    TRY(cli_job_file(cli, &body, err));
    spec = json_object_get(body, "spec");
    config = json_object_get(spec, "config");
    TRY(take_argv(cli, spec, options, err));
    TRY(take_env(cli, spec, options, err));
    TRY(check_secrets(spec, err));
    if (json_object_size(config) > 0)
        TRY(text_of(cli, config, &options->config, err));
    if (options->config.len > CONFIG_BYTES_MAX)
        return err_set_field(err, ERR_TOO_LARGE, "spec.config",
                             "spec.config has more than %d bytes; launch it as a job",
                             CONFIG_BYTES_MAX);
    TRY(record_of(cli, body, "tags", &options->tags, err));
    TRY(record_of(cli, body, "notes", &options->notes, err));
    if (!options->project && json_is_string(json_object_get(body, "project")))
        options->project = arena_text(&cli->arena, str_from(cli_get(body, "project")));
    if (!options->name && json_is_string(json_object_get(body, "name")))
        options->name = arena_text(&cli->arena, str_from(cli_get(body, "name")));
    return OK;
}
