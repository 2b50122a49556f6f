/* Calls of the API and their JSON. */
#include "cli/cli.h"
#include "sys/clock.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define BODY_BYTES_MAX (16u * 1024 * 1024)
#define PAGE           500
#define AWAY_MS_MAX    3600000
#define AWAY_WAIT_US   1000000

enum err_code cli_connect(struct cli *cli, struct err *err)
{
    struct http_client_options options = {
        .base_url = cli->server,
        .key_text = cli->key,
        .ca_file = cli->ca_file,
        .product = "euvyra/" EUVYRA_VERSION,
        .connect_timeout_ms = 10000,
    };

    return cli->client ? OK : http_client_new(&cli->client, &options, err);
}

enum err_code cli_call(struct cli *cli, const char *method, const char *path, const json_t *body,
                       json_t **ret_json, struct err *err)
{
    CLEANUP(buf_release) struct buf text = {0};
    CLEANUP(json_release) json_t *answer = NULL;
    struct json_writer w;

    TRY(cli_connect(cli, err));
    buf_init(&text, BODY_BYTES_MAX);
    if (body) {
        json_writer_init(&w, &text);
        json_put_value(&w, body);
        TRY(buf_check(&text, "request", err));
    }
    TRY(http_client_json(cli->client, method, path, buf_str(&text), &answer, err));
    if (ret_json) {
        *ret_json = answer;
        answer = NULL;
    }
    return OK;
}

bool cli_try_again(enum err_code code, const struct err *err, int64_t *away_since_ms)
{
    int64_t now_ms = clock_mono_ms();

    if (code == OK) {
        if (*away_since_ms != 0)
            fprintf(stderr, "the server is back\n");
        *away_since_ms = 0;
        return false;
    }
    if (code != ERR_UNAVAILABLE && code != ERR_TIMEOUT && code != ERR_LIMIT)
        return false;
    if (*away_since_ms == 0) {
        fprintf(stderr, "%s; trying again\n", err->text);
        *away_since_ms = now_ms;
    }
    if (now_ms - *away_since_ms > AWAY_MS_MAX)
        return false;
    (void)usleep(AWAY_WAIT_US); /* a signal ends it early */
    return true;
}

enum err_code cli_path_part(const char *what, const char *text, struct err *err)
{
    for (const char *c = text; *c; c++)
        if (!((*c >= 'a' && *c <= 'z') || (*c >= '0' && *c <= '9') || strchr("-._", *c)))
            return err_set(err, ERR_INVALID, "\"%s\" is not the name of a %s", text, what);
    return *text ? OK : err_set(err, ERR_INVALID, "the name of the %s is empty", what);
}

const char *cli_encoded(struct cli *cli, const char *text)
{
    char *out = arena_alloc(&cli->arena, strlen(text) * 3 + 1), *at = out;

    for (const unsigned char *c = (const unsigned char *)text; *c; c++) {
        if ((*c >= 'a' && *c <= 'z') || (*c >= 'A' && *c <= 'Z') || (*c >= '0' && *c <= '9'))
            *at++ = (char)*c;
        else
            at += snprintf(at, 4, "%%%02X", *c);
    }
    return out;
}

enum err_code cli_list(struct cli *cli, const char *path, size_t items_max, json_t **ret_items,
                       struct err *err)
{
    CLEANUP(json_release) json_t *all = json_array();
    const char *cursor = NULL;

    do {
        CLEANUP(json_release) json_t *page = NULL;
        const char *url =
            arena_printf(&cli->arena, "%s%climit=%zu%s%s", path, strchr(path, '?') ? '&' : '?',
                         MIN(items_max - json_array_size(all), (size_t)PAGE),
                         cursor ? "&cursor=" : "", cursor ? cli_encoded(cli, cursor) : "");
        TRY(cli_call(cli, "GET", url, NULL, &page, err));
        (void)json_array_extend(all, json_object_get(page, "items"));
        cursor = json_string_value(json_object_get(page, "next_cursor"));
        cursor = cursor ? arena_text(&cli->arena, str_from(cursor)) : NULL;
    } while (cursor && json_array_size(all) < items_max);
    *ret_items = all;
    all = NULL;
    return OK;
}

const char *cli_get(const json_t *object, const char *name)
{
    const char *text = json_string_value(json_object_get(object, name));

    return text ? text : "";
}

int64_t cli_get_i64(const json_t *object, const char *name, int64_t otherwise)
{
    const json_t *value = json_object_get(object, name);

    return json_is_integer(value) ? json_integer_value(value) : otherwise;
}

const char *cli_value(struct cli *cli, const json_t *value)
{
    char *text;
    const char *copy;

    if (json_is_string(value))
        return json_string_value(value);
    if (json_is_real(value))
        return arena_printf(&cli->arena, "%.6g", json_real_value(value));
    text = json_dumps(value, JSON_COMPACT | JSON_ENCODE_ANY);
    copy = arena_text(&cli->arena, str_from(text ? text : ""));
    free(text);
    return copy;
}

void cli_print_json(const json_t *value)
{
    char *text = json_dumps(value, JSON_INDENT(2) | JSON_ENCODE_ANY);

    printf("%s\n", text ? text : "null");
    free(text);
}
