/* Where server and key come from, and where login keeps them. */
#include "cli/cli.h"
#include "sys/file.h"

#include <stdlib.h>

#define CONFIG_BYTES_MAX 65536
#define SERVER_DEFAULT   "http://127.0.0.1:8470"

static const char *env(const char *name)
{
    const char *value = getenv(name);

    return value && *value ? value : NULL;
}

static const char *config_dir(struct cli *cli)
{
    const char *base = env("XDG_CONFIG_HOME"), *home = env("HOME");

    if (base)
        return arena_printf(&cli->arena, "%s/euvyra", base);
    return arena_printf(&cli->arena, "%s/.config/euvyra", home ? home : ".");
}

static const char *config_path(struct cli *cli)
{
    return arena_printf(&cli->arena, "%s/config.json", config_dir(cli));
}

static enum err_code read_config(struct cli *cli, const char **ret_server, const char **ret_key,
                                 struct err *err)
{
    CLEANUP(buf_release) struct buf text = {0};
    CLEANUP(json_release) json_t *json = NULL;
    struct json_reader r;
    struct str server = {0}, key = {0};
    const char *path = config_path(cli);
    enum err_code code = file_read(path, CONFIG_BYTES_MAX, &text, err);

    if (code == ERR_NOT_FOUND)
        return OK;
    TRY(code);
    code = json_parse(buf_str(&text), CONFIG_BYTES_MAX, &json, err);
    if (code == OK) {
        json_reader_init(&r, json, "", err);
        json_take_text_opt(&r, "server", 2000, &server);
        json_take_text_opt(&r, "key", 200, &key);
        code = json_reader_end(&r);
    }
    if (code != OK) {
        err_prefix(err, "%s", path);
        return code;
    }
    *ret_server = server.data ? arena_text(&cli->arena, server) : NULL;
    *ret_key = key.data ? arena_text(&cli->arena, key) : NULL;
    return OK;
}

static enum err_code key_from_file(struct cli *cli, const char *path, struct err *err)
{
    CLEANUP(buf_release) struct buf text = {0};

    TRY(file_read(path, 4096, &text, err));
    cli->key = arena_text(&cli->arena, str_trim(buf_str(&text)));
    return OK;
}

enum err_code cli_config_load(struct cli *cli, struct err *err)
{
    const char *kept_server = NULL, *kept_key = NULL;
    const char *server = cli_text(cli, "server");

    TRY(read_config(cli, &kept_server, &kept_key, err));
    server = server ? server : env("EUVYRA_SERVER");
    cli->server = server ? server : kept_server ? kept_server : SERVER_DEFAULT;
    cli->server_given = server || kept_server;
    cli->ca_file = env("EUVYRA_CA");
    cli->key = env("EUVYRA_API_KEY");
    if (!cli->key && env("EUVYRA_API_KEY_FILE"))
        return key_from_file(cli, env("EUVYRA_API_KEY_FILE"), err);
    /* a kept key goes to the server it was kept for, and to no other */
    if (!cli->key && kept_key && kept_server && str_eq_c(str_from(kept_server), cli->server))
        cli->key = kept_key;
    return OK;
}

enum err_code cli_config_save(struct cli *cli, const char *server, const char *key, struct err *err)
{
    CLEANUP(buf_release) struct buf out = {0};
    struct json_writer w;

    buf_init(&out, CONFIG_BYTES_MAX);
    json_writer_init(&w, &out);
    json_begin_object(&w);
    json_put_key(&w, "server");
    json_put_text(&w, server);
    json_put_key(&w, "key");
    json_put_text(&w, key);
    json_end_object(&w);
    (void)buf_add_char(&out, '\n');
    TRY(buf_check(&out, "configuration", err));
    TRY(file_make_dirs(config_dir(cli), 0700, err));
    return file_write_atomic(config_path(cli), buf_str(&out), 0600, err);
}

enum err_code cli_project(const struct cli *cli, const char **ret_project, struct err *err)
{
    const char *project = cli_text(cli, "project");

    project = project ? project : env("EUVYRA_PROJECT");
    if (!project) {
        (void)err_set(err, ERR_INVALID, "which project? --project is missing");
        err_hint(err, "give --project NAME or set EUVYRA_PROJECT; euvyra projects lists them");
        return ERR_INVALID;
    }
    *ret_project = project;
    return cli_path_part("project", project, err);
}
