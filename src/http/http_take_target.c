/* Documents of targets. Nothing here is handed to an engine as it came: unknown members are
 * refused, and paths, names and URLs have the shape that their use allows. */
#include "http/http_take_target.h"

#include "domain/targets/targets.h"
#include "http/http_take.h"
#include "model/job.h"
#include "wire/agent_messages.h"

#include <stdio.h>

#define LABEL_BYTES_MAX    63
#define PATH_BYTES_MAX     1024
#define CLAIM_BYTES_MAX    253
#define ENDPOINT_BYTES_MAX 512

static struct str text_of(struct http_call *call, const json_t *value)
{
    CLEANUP(buf_release) struct buf out = {0};
    struct json_writer w;

    buf_init(&out, HTTP_ANSWER_BYTES_MAX);
    json_writer_init(&w, &out);
    json_put_value(&w, value);
    return arena_copy(&call->arena, buf_str(&out));
}

/* An item of a list, taken apart by `item`. */
struct items {
    const char *name;
    size_t count_max;
    void (*item)(struct json_reader *r);
    const char *unique; /* a member that no two items may share; NULL: none */
};

static bool shares_member(const json_t *array, size_t at, const char *member)
{
    const char *text = json_string_value(json_object_get(json_array_get(array, at), member));

    for (size_t i = 0; text && i < at; i++) {
        const char *other = json_string_value(json_object_get(json_array_get(array, i), member));
        if (other && strcmp(other, text) == 0)
            return true;
    }
    return false;
}

static void take_items(struct http_call *call, struct json_reader *outer, const struct items *items,
                       struct str *ret)
{
    json_t *array = NULL;

    json_take_array_opt(outer, items->name, items->count_max, &array);
    for (size_t i = 0; outer->code == OK && i < json_array_size(array); i++) {
        struct json_reader r;
        const char *path = arena_printf(&call->arena, "%s%s[%zu].", outer->path, items->name, i);
        json_reader_init_strict(&r, json_array_get(array, i), path, outer->err);
        if (r.code == OK)
            items->item(&r);
        if (r.code == OK && items->unique && shares_member(array, i, items->unique))
            json_reader_fail(&r, items->unique, "is there twice");
        outer->code = json_reader_end(&r);
    }
    if (array && outer->code == OK && ret)
        *ret = text_of(call, array);
}

/* ---- Labels, excluded agents, tolerations */

static bool label_is_valid(struct str text)
{
    for (size_t i = 0; i < text.len; i++) {
        char c = text.data[i];
        bool letter = (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
        if (!letter && (i == 0 || !strchr("._-/", c)))
            return false;
    }
    return text.len <= LABEL_BYTES_MAX;
}

void http_take_target_labels(struct http_call *call, struct json_reader *r, struct str *ret)
{
    json_t *labels = NULL, *value;
    const char *name;

    json_take_object_opt(r, "labels", &labels);
    if (labels && json_object_size(labels) > TARGET_ITEMS_MAX)
        json_reader_fail(r, "labels", "has more than 64 members");
    json_object_foreach(labels, name, value)
    {
        if (r->code != OK)
            return;
        if (!*name || !label_is_valid(str_from(name)) || !json_is_string(value) ||
            !label_is_valid(str_n(json_string_value(value), json_string_length(value))))
            json_reader_fail(r, "labels",
                             "has a name or text that is not letters, digits and . _ - /, at most "
                             "63 of them");
    }
    if (labels && r->code == OK)
        *ret = text_of(call, labels);
}

void http_take_target_excluded(struct http_call *call, struct json_reader *r, struct str *ret)
{
    const struct str *names = NULL;
    size_t count = 0;

    http_take_labels(r, &call->arena, "excluded", TARGET_EXCLUDED_MAX, &names, &count);
    if (names && r->code == OK)
        *ret = text_of(call, json_object_get(call->body, "excluded"));
}

static void take_choice(struct json_reader *r, const char *name, const char *const *choices,
                        const char *problem)
{
    struct str text = {0};

    json_take_text_opt(r, name, 32, &text);
    for (size_t i = 0; text.data && choices[i]; i++)
        if (str_eq_c(text, choices[i]))
            return;
    if (text.data)
        json_reader_fail(r, name, problem);
}

static void take_toleration(struct json_reader *r)
{
    static const char *const operators[] = {"Exists", "Equal", NULL};
    static const char *const effects[] = {"NoSchedule", "PreferNoSchedule", "NoExecute", NULL};
    struct str key = {0}, value = {0};
    int64_t seconds = 0;

    json_take_text_opt(r, "key", CLAIM_BYTES_MAX, &key);
    take_choice(r, "operator", operators, "is Exists or Equal");
    json_take_text_opt(r, "value", LABEL_BYTES_MAX, &value);
    take_choice(r, "effect", effects, "is NoSchedule, PreferNoSchedule or NoExecute");
    json_take_i64_opt(r, "seconds", 0, 31536000, &seconds);
}

void http_take_target_tolerations(struct http_call *call, struct json_reader *r, struct str *ret)
{
    take_items(call, r, &(struct items){"tolerations", TARGET_ITEMS_MAX, take_toleration, NULL},
               ret);
}

/* ---- Volumes and buckets */

static void take_label(struct json_reader *r, const char *name)
{
    struct str label = {0};

    json_take_text(r, name, LABEL_BYTES_MAX, &label);
    if (r->code == OK && !http_label_is_valid(label))
        json_reader_fail(r, name, "is 1 to 63 of a-z, 0-9 and '-'");
}

static bool path_is_safe(struct str path)
{
    struct str part, rest;

    if (!path.len || path.data[0] != '/')
        return false;
    rest = str_n(path.data + 1, path.len - 1);
    for (bool more = true; more;) {
        more = str_cut(&rest, '/', &part);
        if (str_eq_c(part, "..") || str_eq_c(part, ".") || (!part.len && (more || path.len > 1)))
            return false;
    }
    return true;
}

static void take_volume(struct json_reader *r)
{
    struct str path = {0}, claim = {0};
    bool read_only = false;

    take_label(r, "name");
    json_take_text_opt(r, "host_path", PATH_BYTES_MAX, &path);
    json_take_text_opt(r, "claim", CLAIM_BYTES_MAX, &claim);
    json_take_bool_opt(r, "read_only", &read_only);
    if (path.data && (path.len < 2 || !path_is_safe(path)))
        json_reader_fail(r, "host_path", "is an absolute path without \".\", \"..\" and \"//\"");
    if (claim.data && (!claim.len || !str_is_label(claim, CLAIM_BYTES_MAX)))
        json_reader_fail(r, "claim", "is a name of a-z, 0-9 and '-'");
    if (!path.data == !claim.data)
        json_reader_fail(r, "host_path", "or claim: one of the two is needed");
}

void http_take_target_volumes(struct http_call *call, struct json_reader *r, struct str *ret)
{
    take_items(call, r, &(struct items){"volumes", TARGET_ITEMS_MAX, take_volume, "name"}, ret);
}

/* http or https, a host, perhaps a port and a path; nothing that could carry a password. */
static bool endpoint_is_valid(struct str url)
{
    struct str rest = url;

    if (str_starts(url, STR("https://")))
        rest = str_n(url.data + 8, url.len - 8);
    else if (str_starts(url, STR("http://")))
        rest = str_n(url.data + 7, url.len - 7);
    else
        return false;
    for (size_t i = 0; i < rest.len; i++) {
        char c = rest.data[i];
        bool letter = (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
        if (!letter && !strchr(".-_:/[]~", c))
            return false;
    }
    return rest.len && rest.data[0] != '/' && rest.data[0] != ':';
}

static void take_bucket(struct json_reader *r)
{
    struct str endpoint = {0}, bucket = {0}, region = {0}, secret = {0};

    take_label(r, "name");
    json_take_text(r, "endpoint", ENDPOINT_BYTES_MAX, &endpoint);
    json_take_text(r, "bucket", LABEL_BYTES_MAX, &bucket);
    json_take_text_opt(r, "region", LABEL_BYTES_MAX, &region);
    json_take_text_opt(r, "secret", LABEL_BYTES_MAX, &secret);
    if (r->code == OK && !endpoint_is_valid(endpoint))
        json_reader_fail(r, "endpoint",
                         "is https://HOST[:PORT][/PATH], without user, password and query");
    if (r->code == OK && !label_is_valid(bucket))
        json_reader_fail(r, "bucket", "is no name of a bucket");
    if (region.data && !label_is_valid(region))
        json_reader_fail(r, "region", "is no name of a region");
    if (secret.data && !http_variable_is_valid(secret))
        json_reader_fail(r, "secret", "is no name of a secret");
}

void http_take_target_buckets(struct http_call *call, struct json_reader *r, struct str *ret)
{
    take_items(call, r, &(struct items){"buckets", TARGET_ITEMS_MAX, take_bucket, "name"}, ret);
}

/* ---- Settings */

static void take_env(struct json_reader *r)
{
    json_t *env = NULL, *value;
    const char *name;

    json_take_object_opt(r, "env", &env);
    if (env && json_object_size(env) > WIRE_ENV_MAX)
        json_reader_fail(r, "env", "has too many variables");
    json_object_foreach(env, name, value)
    {
        if (r->code != OK)
            return;
        if (!http_variable_is_valid(str_from(name)))
            json_reader_fail(r, "env", "has a name that is not letters, digits and '_'");
        else if (!json_is_string(value) || json_string_length(value) > WIRE_ENV_BYTES_MAX)
            json_reader_fail(r, "env", "has a value that is no text, or too long a one");
    }
}

/* Deeper than that, as in the work folder, a volume hides nothing of the job's own. */
static bool hides_own_files(struct str path)
{
    struct str rest = path;

    if (!str_starts(path, STR(JOB_INSIDE)))
        return false;
    rest = str_n(path.data + strlen(JOB_INSIDE), path.len - strlen(JOB_INSIDE));
    return !rest.len || (rest.data[0] == '/' && !memchr(rest.data + 1, '/', rest.len - 1));
}

static void take_mount(struct json_reader *r)
{
    struct str path = {0};
    bool read_only = false;

    take_label(r, "name");
    json_take_text(r, "path", PATH_BYTES_MAX, &path);
    json_take_bool_opt(r, "read_only", &read_only);
    if (r->code == OK && (path.len < 2 || !path_is_safe(path)))
        json_reader_fail(r, "path", "is an absolute path without \".\", \"..\" and \"//\"");
    if (r->code == OK && hides_own_files(path))
        json_reader_fail(r, "path", "is where a job has its own files: " JOB_INSIDE);
}

void http_take_mounts(struct http_call *call, struct json_reader *r)
{
    take_items(call, r, &(struct items){"volumes", TARGET_ITEMS_MAX, take_mount, "path"}, NULL);
}

static enum err_code take_settings(struct http_call *call, struct json_reader *r, json_t *object,
                                   struct str *ret)
{
    take_env(r);
    http_take_mounts(call, r);
    TRY(json_reader_end(r));
    *ret = text_of(call, object);
    if (ret->len > TARGET_SETTINGS_BYTES_MAX)
        return err_set(r->err, ERR_TOO_LARGE, "settings have more than %u bytes",
                       TARGET_SETTINGS_BYTES_MAX);
    return OK;
}

void http_take_target_settings(struct http_call *call, struct json_reader *outer, struct str *ret)
{
    struct json_reader r;
    json_t *object = NULL;

    json_take_object_opt(outer, "settings", &object);
    if (!object)
        return;
    json_reader_init_strict(&r, object, "settings.", outer->err);
    outer->code = take_settings(call, &r, object, ret);
}

enum err_code http_take_settings_body(struct http_call *call, struct str *ret, struct err *err)
{
    struct json_reader r;

    json_reader_init_strict(&r, call->body, "", err);
    return take_settings(call, &r, call->body, ret);
}
