/* Reading a job. A spec is kept as the text it came as, in canonical form; what scheduler and
 * domain go by is taken out of it here. Order of the file: what it runs, what it asks for, where,
 * what only some executors can do, services, and then the body around it. */
#include "http/http_take_spec.h"

#include "http/http_take.h"
#include "http/http_take_target.h"
#include "model/secret.h"

#define ARG_BYTES_MAX      32768
#define COUNT_MAX          9007199254740991
#define GIT_TEXT_BYTES_MAX 4096
#define IMAGE_BYTES_MAX    512
#define WAIT_S_MAX         31536000
#define BEFORE_MAX         1000
#define BUCKETS_MAX        64
#define INDEX_MAX          1000000000
#define INDEX_TEXT_BYTES   11 /* '-' and an index, after the name of an element */
#define ARRAY_VARIABLES    "EUVYRA_ARRAY_"

static struct str member_text(struct http_call *call, json_t *value)
{
    CLEANUP(buf_release) struct buf out = {0};
    struct json_writer w;

    buf_init(&out, HTTP_ANSWER_BYTES_MAX);
    json_writer_init(&w, &out);
    json_put_value(&w, value);
    return arena_copy(&call->arena, buf_str(&out));
}

static struct str text_at(const json_t *array, size_t i)
{
    const json_t *item = json_array_get(array, i);

    return str_n(json_string_value(item), json_string_length(item));
}

/* The items of a checked list of texts. */
static const struct str *texts_of(struct http_call *call, const json_t *array, size_t *ret_count)
{
    struct str *texts = arena_array(&call->arena, json_array_size(array), sizeof *texts);

    *ret_count = json_array_size(array);
    for (size_t i = 0; i < *ret_count; i++)
        texts[i] = text_at(array, i);
    return texts;
}

/* -- what it runs ----------------------------------------------------------------------------- */

static void check_command(struct json_reader *r, json_t *command)
{
    if (r->code == OK && json_array_size(command) == 0)
        r->code = err_set_field(r->err, ERR_INVALID, "spec.command", "\"spec.command\" is empty");
    http_take_texts(r, "spec.command", command, ARG_BYTES_MAX);
    if (r->code == OK && json_string_length(json_array_get(command, 0)) == 0)
        r->code =
            err_set_field(r->err, ERR_INVALID, "spec.command", "\"spec.command\"[0] is empty");
}

static void check_variable(struct json_reader *r, const char *field, const char *name)
{
    if (!http_variable_is_valid(str_from(name)))
        r->code = err_set_field(r->err, ERR_INVALID, field,
                                "\"%.60s\" is not the name of a variable", name);
    else if (str_starts(str_from(name), STR(ARRAY_VARIABLES)))
        r->code = err_set_field(r->err, ERR_INVALID, field,
                                "\"%.60s\" is set by the server in elements of arrays", name);
}

static void check_env(struct json_reader *r, json_t *env)
{
    const char *name;
    json_t *value;

    if (json_object_size(env) > WIRE_ENV_MAX)
        r->code =
            err_set_field(r->err, ERR_INVALID, "spec.env", "more than %d variables", WIRE_ENV_MAX);
    json_object_foreach(env, name, value)
    {
        if (r->code == OK)
            check_variable(r, "spec.env", name);
        if (r->code == OK &&
            (!json_is_string(value) || json_string_length(value) > WIRE_ENV_BYTES_MAX))
            r->code = err_set_field(r->err, ERR_INVALID, "spec.env",
                                    "the value of \"%.60s\" is not a text of at most %d bytes",
                                    name, WIRE_ENV_BYTES_MAX);
    }
}

/* Names alone: {"HF_TOKEN": "HUGGINGFACE"}. Returns their list, with room for one more. */
static struct str *take_secrets(struct http_call *call, struct json_reader *r, const json_t *env,
                                struct job_spec *s)
{
    json_t *secrets = NULL, *value;
    struct str *names;
    const char *variable;

    json_take_object_opt(r, "secrets", &secrets);
    if (json_object_size(secrets) > WIRE_SECRETS_MAX)
        json_reader_fail(r, "secrets", "has more than 64 members");
    names = arena_array(&call->arena, json_object_size(secrets) + 1, sizeof *names);
    json_object_foreach(secrets, variable, value)
    {
        struct str name = {json_string_value(value), json_string_length(value)};
        if (r->code == OK)
            check_variable(r, "spec.secrets", variable);
        if (r->code == OK &&
            (!name.data || name.len > SECRET_NAME_BYTES_MAX || !http_variable_is_valid(name)))
            r->code = err_set_field(r->err, ERR_INVALID, "spec.secrets",
                                    "\"%.60s\" wants the name of a secret", variable);
        if (r->code == OK && json_object_get(env, variable))
            r->code = err_set_field(r->err, ERR_INVALID, "spec.secrets",
                                    "\"%.60s\" is in \"spec.env\" too", variable);
        names[s->secret_count++] = name;
    }
    s->secrets = names;
    return names;
}

static bool image_is_valid(struct str image)
{
    for (size_t i = 0; i < image.len; i++) {
        char c = image.data[i];
        bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
        if (!letter && (i == 0 || !memchr("._-/:@", c, 6)))
            return false;
    }
    return image.len > 0;
}

static void take_image(struct json_reader *r, struct str *secrets, struct job_spec *s)
{
    struct str image = {0}, registry = {0};

    json_take_text_opt(r, "image", IMAGE_BYTES_MAX, &image);
    json_take_text_opt(r, "registry", SECRET_NAME_BYTES_MAX, &registry);
    if (image.data && !image_is_valid(image))
        json_reader_fail(r, "image", "is not the name of an image");
    if (registry.data && !http_variable_is_valid(registry))
        json_reader_fail(r, "registry", "is not the name of a secret");
    if (registry.data && !image.data)
        json_reader_fail(r, "registry", "is for an image, and there is none");
    s->needs |= image.data ? FEATURE_BIT(FEATURE_IMAGE) : 0;
    if (registry.data) {
        s->needs |= FEATURE_BIT(FEATURE_REGISTRY);
        secrets[s->secret_count++] = registry;
    }
}

static bool is_commit(struct str text)
{
    static const char hex[] = "0123456789abcdef";

    for (size_t i = 0; i < text.len; i++)
        if (!memchr(hex, text.data[i], sizeof hex - 1))
            return false;
    return text.len == 40 || text.len == 64; /* SHA-1 or SHA-256 */
}

static enum err_code check_git(json_t *git, struct err *err)
{
    struct str commit = {0}, branch = {0}, remote = {0}, diff = {0};
    struct json_reader r;
    bool dirty;

    json_reader_init_strict(&r, git, "spec.git.", err);
    json_take_text(&r, "commit", 64, &commit);
    json_take_text_opt(&r, "branch", GIT_TEXT_BYTES_MAX, &branch);
    json_take_text_opt(&r, "remote", GIT_TEXT_BYTES_MAX, &remote);
    json_take_bool_opt(&r, "dirty", &dirty);
    json_take_text_opt(&r, "diff_sha256", 64, &diff);
    TRY(json_reader_end(&r));
    if (!is_commit(commit))
        return err_set_field(err, ERR_INVALID, "spec.git.commit", "\"%.*s\" is not a commit",
                             STR_ARG(commit));
    if (diff.len && !http_digest_is_valid(diff))
        return err_set_field(err, ERR_INVALID, "spec.git.diff_sha256", "\"%.*s\" is not a digest",
                             STR_ARG(diff));
    return OK;
}

/* A config that is accepted must fit into the message that offers the job. */
static enum err_code check_config(struct str config, struct err *err)
{
    if (json_depth(config) > WIRE_CONFIG_DEPTH_MAX)
        return err_set_field(err, ERR_INVALID, "spec.config",
                             "\"spec.config\" is nested deeper than %d levels",
                             WIRE_CONFIG_DEPTH_MAX);
    if (config.len > WIRE_CONFIG_BYTES_MAX)
        return err_set_field(err, ERR_INVALID, "spec.config",
                             "\"spec.config\" is %zu bytes, more than %d", config.len,
                             WIRE_CONFIG_BYTES_MAX);
    return OK;
}

static void take_work(struct http_call *call, struct json_reader *r, struct job_spec *s)
{
    json_t *command = NULL, *config = NULL, *env = NULL, *git = NULL;

    json_take_array_opt(r, "command", WIRE_ARGS_MAX, &command);
    json_take_text_opt(r, "code", 64, &s->code);
    json_take_object_opt(r, "git", &git);
    json_take_object_opt(r, "config", &config);
    json_take_object_opt(r, "env", &env);
    check_command(r, command);
    if (env)
        check_env(r, env);
    take_image(r, take_secrets(call, r, env, s), s);
    if (s->code.data && !http_digest_is_valid(s->code))
        json_reader_fail(r, "code", "is not a digest");
    if (r->code == OK && git)
        r->code = check_git(git, r->err);
    if (r->code != OK)
        return;
    s->command = member_text(call, command);
    if (config)
        s->config = member_text(call, config);
    if (git)
        s->git = member_text(call, git);
    r->code = check_config(s->config, r->err);
}

/* -- what it asks for, and where -------------------------------------------------------------- */

static bool gpu_type_is_valid(const json_t *value)
{
    struct str text = {json_string_value(value), json_string_length(value)};

    return text.data && text.len > 0 && text.len <= GPU_TYPE_BYTES_MAX && !str_has_control(text);
}

static void take_gpu_types(struct http_call *call, struct json_reader *r, struct job_spec *s)
{
    json_t *value = NULL, *list;

    json_take_any_opt(r, "gpu_type", &value);
    if (!value)
        return;
    list = json_is_array(value) ? json_incref(value) : json_pack("[O]", value);
    if (json_array_size(list) == 0 || json_array_size(list) > JOB_GPU_TYPES_MAX)
        json_reader_fail(r, "gpu_type", "is a text, or a list of 1 to 16 of them");
    for (size_t i = 0; i < json_array_size(list); i++)
        if (!gpu_type_is_valid(json_array_get(list, i)))
            json_reader_fail(r, "gpu_type", "is a text of 1 to 63 bytes, or a list of these");
    if (r->code == OK)
        s->gpu_types = texts_of(call, list, &s->gpu_type_count);
    json_decref(list);
}

static void take_amounts(struct http_call *call, struct json_reader *r, struct job_spec *s)
{
    json_take_i64_opt(r, "gpus", 0, 1024, &s->need.gpus);
    take_gpu_types(call, r, s);
    json_take_i64_opt(r, "gpu_memory_bytes", 0, COUNT_MAX, &s->gpu_memory_bytes);
    json_take_i64_opt(r, "cpus", 0, 4096, &s->need.cpus);
    json_take_i64_opt(r, "memory_bytes", 0, COUNT_MAX, &s->need.memory_bytes);
    json_take_i64_opt(r, "nodes", 1, JOB_NODES_MAX, &s->node_count);
    json_take_i64_opt(r, "timeout_s", 1, 31536000, &s->timeout_s);
    json_take_i64_opt(r, "grace_s", 0, 3600, &s->grace_s);
    json_take_i64_opt(r, "retries", 0, 100, &s->retries);
    json_take_bool_opt(r, "retry_failed", &s->retry_failed);
    if ((s->gpu_type_count || s->gpu_memory_bytes) && !s->need.gpus)
        json_reader_fail(r, s->gpu_type_count ? "gpu_type" : "gpu_memory_bytes",
                         "is about GPUs, and the job asks for none");
    s->need.cpus = s->need.cpus ? s->need.cpus : 1;
    s->needs |= s->node_count > 1 ? FEATURE_BIT(FEATURE_NODES) : 0;
}

void http_take_places(struct http_call *call, struct json_reader *outer, const char *name,
                      struct job_spec *s)
{
    json_t *array = NULL;
    struct job_place *places;

    json_take_array_opt(outer, name, JOB_STEPS_MAX, &array);
    if (!array || outer->code != OK)
        return;
    if (json_array_size(array) == 0)
        json_reader_fail(outer, name, "is empty");
    places = arena_array(&call->arena, json_array_size(array), sizeof *places);
    for (size_t i = 0; outer->code == OK && i < json_array_size(array); i++) {
        const char *path = arena_printf(&call->arena, "%s%s[%zu].", outer->path, name, i);
        struct json_reader r;
        json_reader_init_strict(&r, json_array_get(array, i), path, outer->err);
        json_take_text(&r, "target", PROJECT_NAME_BYTES_MAX, &places[i].target);
        json_take_i64_opt(&r, "wait_s", 0, WAIT_S_MAX, &places[i].wait_s);
        if (r.code == OK && !http_label_is_valid(places[i].target))
            json_reader_fail(&r, "target", "is 1 to 63 of a-z, 0-9 and '-'");
        outer->code = json_reader_end(&r);
    }
    s->places = places;
    s->place_count = json_array_size(array);
}

static void take_place(struct http_call *call, struct json_reader *r, struct job_spec *s)
{
    struct str target = {0};

    http_take_label_opt(r, "target", &target);
    http_take_places(call, r, "targets", s);
    http_take_labels(r, &call->arena, "exclude", JOB_EXCLUDED_MAX, &s->excluded,
                     &s->excluded_count);
    if (target.data && s->place_count)
        json_reader_fail(r, "target", "and \"spec.targets\": one of the two");
    if (target.data && r->code == OK) {
        struct job_place *place = ARENA_NEW(&call->arena, struct job_place);
        place->target = target;
        s->places = place;
        s->place_count = 1;
        s->one_place = true;
    }
}

/* -- what only some executors can do ---------------------------------------------------------- */

/* One of `names`; 0, the first, when absent. */
static size_t take_choice(struct json_reader *r, const char *field, const char *const *names,
                          const char *problem)
{
    struct str text = {0};

    json_take_text_opt(r, field, 32, &text);
    for (size_t i = 0; text.data && names[i]; i++)
        if (str_eq_c(text, names[i]))
            return i;
    if (text.data)
        json_reader_fail(r, field, problem);
    return 0;
}

static void take_volumes(struct http_call *call, struct json_reader *r, const json_t *spec,
                         struct job_spec *s)
{
    const json_t *volumes = json_object_get(spec, "volumes");
    struct str *names;

    http_take_mounts(call, r);
    http_take_labels(r, &call->arena, "buckets", BUCKETS_MAX, &s->buckets, &s->bucket_count);
    if (r->code != OK)
        return;
    s->volume_count = json_array_size(volumes);
    names = arena_array(&call->arena, s->volume_count, sizeof *names);
    for (size_t i = 0; i < s->volume_count; i++)
        names[i] = str_from(json_string_value(json_object_get(json_array_get(volumes, i), "name")));
    s->volumes = names;
    s->needs |= s->volume_count ? FEATURE_BIT(FEATURE_VOLUMES) : 0;
    s->needs |= s->bucket_count ? FEATURE_BIT(FEATURE_BUCKETS) : 0;
}

static void take_container(struct http_call *call, struct json_reader *r, const json_t *spec,
                           struct job_spec *s)
{
    static const char *const launchers[] = {"exec", "torchrun", "deepspeed", NULL};
    int64_t shm = 0, disk = 0, pids = 0;
    bool read_only = false;

    json_take_i64_opt(r, "shm_bytes", 0, COUNT_MAX, &shm);
    json_take_i64_opt(r, "disk_bytes", 0, COUNT_MAX, &disk);
    json_take_i64_opt(r, "pids", 1, 4194304, &pids);
    json_take_bool_opt(r, "read_only_root", &read_only);
    if (take_choice(r, "launcher", launchers, "is exec, torchrun or deepspeed"))
        s->needs |= FEATURE_BIT(FEATURE_LAUNCHER);
    take_volumes(call, r, spec, s);
    s->needs |= shm ? FEATURE_BIT(FEATURE_SHM) : 0;
    s->needs |= disk ? FEATURE_BIT(FEATURE_DISK) : 0;
    s->needs |= pids ? FEATURE_BIT(FEATURE_PIDS) : 0;
    s->needs |= read_only ? FEATURE_BIT(FEATURE_READ_ONLY_ROOT) : 0;
}

/* -- services --------------------------------------------------------------------------------- */

static void take_health(struct json_reader *outer, struct job_spec *s)
{
    struct health_spec spec;
    json_t *health = NULL;
    struct json_reader r;

    json_take_object_opt(outer, "health", &health);
    if (!health || outer->code != OK)
        return;
    json_reader_init_strict(&r, health, "spec.health.", outer->err);
    health_spec_take(&r, &spec);
    outer->code = json_reader_end(&r);
    s->needs |= FEATURE_BIT(FEATURE_HEALTH);
    if (outer->code == OK && spec.port + MAX(s->replicas, 1) - 1 > 65535)
        outer->code = err_set_field(outer->err, ERR_INVALID, "spec.health.port",
                                    "\"spec.health.port\" leaves no ports for %lld replicas",
                                    (long long)s->replicas);
}

static void take_service(struct json_reader *r, struct job_spec *s)
{
    static const char *const kinds[] = {"batch", "service", NULL};
    int64_t replicas = 0;

    s->kind = take_choice(r, "kind", kinds, "is batch or service") ? JOB_SERVICE : JOB_BATCH;
    json_take_i64_opt(r, "replicas", 1, JOB_ARRAY_MAX, &replicas);
    s->replicas = replicas;
    take_health(r, s);
    if (s->kind == JOB_BATCH && replicas)
        json_reader_fail(r, "replicas", "is for a job of kind service");
    if (s->kind == JOB_BATCH && s->needs & FEATURE_BIT(FEATURE_HEALTH))
        json_reader_fail(r, "health", "is for a job of kind service");
}

static enum err_code take_spec(struct http_call *call, json_t *object, struct job_spec *s,
                               struct err *err)
{
    struct json_reader r;

    s->grace_s = JOB_GRACE_S_DEFAULT;
    s->retries = JOB_RETRIES_DEFAULT;
    s->node_count = 1;
    json_reader_init_strict(&r, object, "spec.", err);
    take_amounts(call, &r, s);
    take_place(call, &r, s);
    take_container(call, &r, object, s);
    take_service(&r, s);
    take_work(call, &r, s);
    TRY(json_reader_end(&r));
    s->spec = member_text(call, object);
    return OK;
}

/* -- around it -------------------------------------------------------------------------------- */

static void take_array(struct json_reader *outer, struct job_spec *s)
{
    int64_t from = 0, to = 0, step = 1;
    json_t *array = NULL;
    struct json_reader r;

    json_take_object_opt(outer, "array", &array);
    if (!array)
        return;
    json_reader_init_strict(&r, array, "array.", outer->err);
    json_take_i64(&r, "from", 0, INDEX_MAX, &from);
    json_take_i64(&r, "to", 0, INDEX_MAX, &to);
    json_take_i64_opt(&r, "step", 1, INDEX_MAX, &step);
    json_take_i64_opt(&r, "limit", 1, JOB_ARRAY_MAX, &s->array_limit);
    if (r.code == OK && to < from)
        json_reader_fail(&r, "to", "lies before \"array.from\"");
    if (r.code == OK && (to - from) / step >= JOB_ARRAY_MAX)
        json_reader_fail(&r, "to", "makes more than 1000 elements");
    if (outer->code == OK)
        outer->code = json_reader_end(&r);
    s->array_count = (to - from) / step + 1;
    s->array_from = from;
    s->array_step = step;
}

/* Replicas of a service are an array of it, from 0 on. */
static enum err_code make_replicas(struct job_spec *s, struct err *err)
{
    if (s->array_count && s->kind == JOB_SERVICE)
        return err_set_field(err, ERR_INVALID, "array", "a service has replicas, and no array");
    if (s->replicas > 1) {
        s->array_count = s->replicas;
        s->array_from = 0;
        s->array_step = 1;
    }
    return OK;
}

static enum err_code check_name(const struct job_spec *s, struct err *err)
{
    if (!s->array_count || s->name.len + INDEX_TEXT_BYTES <= NAME_BYTES_MAX)
        return OK;
    return err_set_field(err, ERR_INVALID, "name",
                         "\"name\" is longer than %d bytes, which an element's index needs",
                         NAME_BYTES_MAX - INDEX_TEXT_BYTES);
}

static void take_before(struct http_call *call, struct json_reader *outer, struct job_spec *s)
{
    json_t *array = NULL;
    struct job_before *list;

    json_take_array_opt(outer, "after", BEFORE_MAX, &array);
    list = arena_array(&call->arena, json_array_size(array), sizeof *list);
    for (size_t i = 0; outer->code == OK && i < json_array_size(array); i++) {
        const char *path = arena_printf(&call->arena, "after[%zu].", i);
        struct json_reader r;
        struct str job = {0};
        json_reader_init_strict(&r, json_array_get(array, i), path, outer->err);
        json_take_text(&r, "job", ID_LEN, &job);
        json_take_bool_opt(&r, "any", &list[i].any_end);
        if (r.code == OK && !id_parse(job, ID_JOB, &list[i].id))
            json_reader_fail(&r, "job", "is not the id of a job");
        outer->code = json_reader_end(&r);
    }
    s->before = list;
    s->before_count = json_array_size(array);
}

enum err_code http_take_job(struct http_call *call, struct job_spec *s, struct err *err)
{
    json_t *object = NULL;
    struct str run = {0};
    struct json_reader r;

    json_reader_init_strict(&r, call->body, "", err);
    json_take_text(&r, "run", ID_LEN, &run);
    json_take_text_opt(&r, "name", NAME_BYTES_MAX, &s->name);
    json_take_text_opt(&r, "queue", PROJECT_NAME_BYTES_MAX, &s->queue);
    json_take_i64_opt(&r, "priority", -1000, 1000, &s->priority);
    json_take_bool_opt(&r, "held", &s->held);
    http_take_tags(&r, &call->arena, &s->tags);
    json_take_note_opt(&r, "notes", NOTE_BYTES_MAX, &s->notes);
    take_array(&r, s);
    take_before(call, &r, s);
    json_take_object_opt(&r, "spec", &object);
    TRY(json_reader_end(&r));
    if (!id_parse(run, ID_RUN, &s->run))
        return err_set_field(err, ERR_INVALID, "run", "\"%.*s\" is not the id of a run",
                             STR_ARG(run));
    if (!object)
        return err_set_field(err, ERR_INVALID, "spec", "\"spec\" is missing");
    TRY(take_spec(call, object, s, err));
    TRY(make_replicas(s, err));
    TRY(check_name(s, err));
    cmd_body_hash(http_call_canonical_body(call), s->hash);
    return OK;
}
