/* The registry is asked what the tag means now, with the job's own credential, also when the image
 * is here already: an image of another project is not given to who may not have it, and a tag that
 * moved is noticed. Only an image that never came from a registry is taken as it lies here. What
 * goes wrong comes as text from engine and registry, in many words; what may pass by itself is
 * tried again. */
#include "drivers/executor/docker/image.h"

#include "base/base64.h"
#include "base/log.h"
#include "base/mem.h"
#include "sys/clock.h"

#include <ctype.h>
#include <poll.h>
#include <stdio.h>

#define REFERENCE_BYTES_MAX 255
#define LAYERS_MAX          256
#define LAYER_ID_BYTES      32
#define LINE_BYTES_MAX      (1024 * 1024)
#define SILENCE_MS          180000 /* of a pull that goes on: engines tell as it advances */
#define BACKOFF_MS_MIN      500
#define BACKOFF_MS_MAX      20000
#define WAIT_SLICE_MS       200
#define MEGABYTE            1000000
#define DOCKER_REGISTRY     "https://index.docker.io/v1/"

bool image_name_parse(struct str text, struct image_name *ret_name)
{
    struct str rest = text, repository;
    size_t slash = 0, colon;

    if (text.len == 0 || text.len > REFERENCE_BYTES_MAX)
        return false;
    for (size_t i = 0; i < text.len; i++) {
        if (!isgraph((unsigned char)text.data[i]))
            return false;
    }
    *ret_name = (struct image_name){.reference = STR("latest")};
    ret_name->by_digest = str_cut(&rest, '@', &repository);
    for (size_t i = 0; i < repository.len; i++)
        slash = repository.data[i] == '/' ? i : slash;
    for (colon = repository.len; colon > slash && repository.data[colon - 1] != ':'; colon--)
        ;
    ret_name->repository = repository;
    if (colon > slash) { /* behind a ':' that is no port */
        ret_name->repository.len = colon - 1;
        ret_name->reference = str_n(repository.data + colon, repository.len - colon);
    }
    if (ret_name->by_digest)
        ret_name->reference = rest;
    return ret_name->repository.len > 0 && ret_name->reference.len > 0;
}

struct str image_registry(const struct image_name *name)
{
    struct str rest = name->repository, head;

    if (str_cut(&rest, '/', &head) &&
        (memchr(head.data, '.', head.len) || memchr(head.data, ':', head.len) ||
         str_eq_c(head, "localhost")))
        return head;
    return STR(DOCKER_REGISTRY);
}

static bool says(const char *message, const char *const *words)
{
    for (; *words; words++) {
        if (strstr(message, *words))
            return true;
    }
    return false;
}

enum err_code image_trouble(int status, const char *message)
{
    static const char *const full[] = {"no space left on device", NULL};
    static const char *const machine[] = {"no matching manifest", NULL};
    static const char *const invalid[] = {"invalid reference format", "invalid tag format",
                                          "must be lowercase", "not a valid repository", NULL};
    static const char *const denied[] = {
        "unauthorized",       "denied", "authentication required", "no basic auth credentials",
        "incorrect username", NULL};
    static const char *const missing[] = {"manifest unknown", "name unknown",   "not found",
                                          "No such image",    "does not exist", NULL};
    static const char *const busy[] = {"toomanyrequests", "Too Many Requests", NULL};

    if (says(message, full))
        return ERR_DISK_FULL;
    if (says(message, machine))
        return ERR_UNPROCESSABLE;
    if (says(message, busy))
        return ERR_UNAVAILABLE;
    if (says(message, invalid))
        return ERR_INVALID;
    if (status == 401 || status == 403 || says(message, denied))
        return ERR_FORBIDDEN;
    if (status == 404 || says(message, missing))
        return ERR_NOT_FOUND;
    return ERR_UNAVAILABLE;
}

/* One image on its way. */
struct search {
    struct engine *engine;
    const struct image_request *request;
    struct image_name name;
    struct arena *arena;
    const char *auth[2]; /* header of the credential, or none */
    int64_t give_up_at;  /* monotonic; moved on while an image comes */
    int64_t backoff_ms;
};

/* Every failure in one form, with the image's name. */
static enum err_code refuse(const struct search *s, enum err_code code, const char *message,
                            struct err *err)
{
    const char *name = s->request->name;

    switch (code) {
    case ERR_NOT_FOUND:
        return err_set(err, code,
                       s->name.by_digest ? "image %.200s is not in its registry (any more)"
                                         : "image %.200s does not exist",
                       name);
    case ERR_FORBIDDEN:
        (void)err_set(
            err, code, "the registry refuses image %.200s: it does not exist, or %s", name,
            s->request->user ? "the credential may not read it" : "it needs a credential");
        err_hint(err, "a job names one with \"registry\"");
        return code;
    case ERR_UNPROCESSABLE:
        return err_set(err, code, "image %.200s is not for this kind of machine (%s/%s)", name,
                       s->request->os, s->request->machine);
    case ERR_INVALID: return err_set(err, code, "\"%.200s\" is no name of an image", name);
    case ERR_DISK_FULL:
        return err_set(err, code, "the disk of the Docker engine is too full for image %.200s",
                       name);
    default:
        return err_set(err, code, "image %.150s cannot be had from its registry now: %.250s", name,
                       message);
    }
}

static bool goes_on(const struct search *s)
{
    return s->request->keep_going(s->request->ctx);
}

/* Waits before the next try. False: not again; err says why (that of the failure, or given up). */
static bool wait_again(struct search *s, struct err *err)
{
    int64_t until;
    char line[EXECUTOR_REASON_BYTES];

    s->backoff_ms = MIN(MAX(s->backoff_ms * 2, BACKOFF_MS_MIN), BACKOFF_MS_MAX);
    until = clock_mono_ms() + s->backoff_ms;
    if (until > s->give_up_at)
        return false;
    (void)snprintf(line, sizeof(line), "waiting: %.240s", err ? err->text : "");
    s->request->tell(s->request->ctx, line);
    while (clock_mono_ms() < until) {
        if (!goes_on(s)) {
            (void)err_set(err, ERR_TIMEOUT, "the image was given up");
            return false;
        }
        (void)poll(NULL, 0, WAIT_SLICE_MS);
    }
    return true;
}

/* ---- The credential */

static void put_credential(const struct search *s, struct buf *json)
{
    struct json_writer w;

    json_writer_init(&w, json);
    json_begin_object(&w);
    json_put_key(&w, "username");
    json_put_text(&w, s->request->user);
    json_put_key(&w, "password");
    json_put_text(&w, s->request->secret);
    json_put_key(&w, "serveraddress");
    json_put_str(&w, image_registry(&s->name));
    json_end_object(&w);
}

static void make_auth(struct search *s)
{
    CLEANUP(buf_release) struct buf json = {0}, line = {0};

    if (!s->request->user || !s->request->secret)
        return;
    buf_init(&json, 64 * 1024);
    buf_init(&line, 128 * 1024);
    put_credential(s, &json);
    (void)buf_add_text(&line, "X-Registry-Auth: ");
    (void)base64_add(&line, buf_str(&json));
    for (size_t i = 17; i < line.len; i++) /* the alphabet of URLs is expected */
        line.data[i] = line.data[i] == '+' ? '-' : line.data[i] == '/' ? '_' : line.data[i];
    s->auth[0] = arena_text(s->arena, buf_str(&line));
    explicit_bzero(json.data, json.len);
    explicit_bzero(line.data, line.len);
}

/* ---- What is here */

struct local_image {
    bool here;
    bool from_registry;                /* it has a digest in this repository */
    char digest[EXECUTOR_IMAGE_BYTES]; /* "NAME@sha256:..." then */
    char id[EXECUTOR_IMAGE_BYTES];
    bool fits;
};

/* "docker.io/library/python" and "python" are the same repository. */
static struct str short_name(struct str repository)
{
    static const char *const prefixes[] = {"docker.io/", "index.docker.io/", "library/"};

    for (size_t i = 0; i < ARRAY_LEN(prefixes); i++) {
        if (str_starts(repository, str_from(prefixes[i]))) {
            repository.data += strlen(prefixes[i]);
            repository.len -= strlen(prefixes[i]);
        }
    }
    return repository;
}

static void take_digest(const struct search *s, const json_t *document, struct local_image *image)
{
    const json_t *entry;
    size_t i;

    json_array_foreach(json_object_get(document, "RepoDigests"), i, entry)
    {
        struct str rest = str_from(json_string_value(entry)), repository;

        if (!str_cut(&rest, '@', &repository) ||
            !str_eq(short_name(repository), short_name(s->name.repository)) ||
            (s->name.by_digest && !str_eq(rest, s->name.reference)))
            continue;
        image->from_registry = true;
        (void)snprintf(image->digest, sizeof(image->digest), "%s", json_string_value(entry));
        return;
    }
}

static bool fits(const struct search *s, const json_t *document)
{
    const char *machine = json_string_value(json_object_get(document, "Architecture"));
    const char *os = json_string_value(json_object_get(document, "Os"));

    return (!machine || !machine[0] || strcmp(machine, s->request->machine) == 0) &&
           (!os || !os[0] || strcmp(os, s->request->os) == 0);
}

/* `reference`: "NAME:TAG" or "NAME@DIGEST". */
static enum err_code look_here(const struct search *s, const char *reference,
                               struct local_image *ret_image, struct err *err)
{
    CLEANUP(json_release) json_t *document = NULL;
    CLEANUP(buf_release) struct buf path = {0};
    enum err_code code;

    *ret_image = (struct local_image){0};
    buf_init(&path, 4096);
    (void)buf_add_text(&path, "/images/");
    engine_escape(&path, str_from(reference), "/:@");
    (void)buf_add_text(&path, "/json");
    code = engine_json(s->engine, "GET", path.data, STR(""), &document, err);
    if (code == ERR_NOT_FOUND)
        return OK;
    if (code == ERR_INVALID)
        return refuse(s, ERR_INVALID, "", err);
    TRY(code);
    ret_image->here = true;
    ret_image->fits = fits(s, document);
    take_digest(s, document, ret_image);
    (void)snprintf(ret_image->id, sizeof(ret_image->id), "%s",
                   json_string_value(json_object_get(document, "Id"))
                       ? json_string_value(json_object_get(document, "Id"))
                       : "");
    return OK;
}

/* ---- What the registry says */

static bool platforms_fit(const struct search *s, const json_t *platforms)
{
    const json_t *platform;
    bool any = false, fit = false;
    size_t i;

    json_array_foreach(platforms, i, platform)
    {
        const char *machine = json_string_value(json_object_get(platform, "architecture"));
        const char *os = json_string_value(json_object_get(platform, "os"));

        if (!machine || !os || strcmp(machine, "unknown") == 0)
            continue; /* an attestation, or an image that does not say */
        any = true;
        fit = fit || (strcmp(machine, s->request->machine) == 0 && strcmp(os, s->request->os) == 0);
    }
    return fit || !any;
}

static enum err_code ask_registry(const struct search *s, const char *reference, char *ret_digest,
                                  struct err *err)
{
    CLEANUP(engine_answer_release) struct engine_answer answer = {0};
    CLEANUP(json_release) json_t *document = NULL;
    CLEANUP(buf_release) struct buf path = {0};
    struct engine_call call = {.method = "GET",
                               .headers = s->auth[0] ? s->auth : NULL,
                               .keep_going = s->request->keep_going,
                               .ctx = s->request->ctx};
    const char *digest;
    enum err_code code;

    buf_init(&path, 4096);
    (void)buf_add_text(&path, "/distribution/");
    engine_escape(&path, str_from(reference), "/:@");
    (void)buf_add_text(&path, "/json");
    call.path = path.data;
    TRY(engine_send(s->engine, &call, &answer, err));
    if (answer.status != 200) {
        struct err said = {0};

        (void)engine_answer_error(&answer, &said);
        return refuse(s, image_trouble(answer.status, said.text), said.text, err);
    }
    code = json_parse(buf_str(&answer.body), LINE_BYTES_MAX, &document, err);
    digest = json_string_value(json_object_get(json_object_get(document, "Descriptor"), "digest"));
    if (code != OK || !digest)
        return refuse(s, ERR_UNAVAILABLE, "the registry did not say a digest", err);
    if (!platforms_fit(s, json_object_get(document, "Platforms")))
        return refuse(s, ERR_UNPROCESSABLE, "", err);
    if ((size_t)snprintf(ret_digest, EXECUTOR_IMAGE_BYTES, "%.*s@%s", STR_ARG(s->name.repository),
                         digest) >= EXECUTOR_IMAGE_BYTES)
        return refuse(s, ERR_INVALID, "", err);
    return OK;
}

/* ---- Pulling */

struct layer {
    char id[LAYER_ID_BYTES];
    int64_t done, total;
};

struct pull {
    const struct search *search;
    int64_t heard_at; /* monotonic: when the engine last told of it; 0: never */
    struct buf line;
    struct layer layers[LAYERS_MAX];
    size_t layer_count;
    bool unpacks;
    char problem[ERR_TEXT_BYTES_MAX];
};

static void thousands(int64_t number, char ret_text[32])
{
    char digits[24];
    int len = snprintf(digits, sizeof(digits), "%lld", (long long)number), out = 0;

    for (int i = 0; i < len; i++) {
        if (i > 0 && (len - i) % 3 == 0)
            ret_text[out++] = ',';
        ret_text[out++] = digits[i];
    }
    ret_text[out] = '\0';
}

static void tell_progress(const struct pull *pull)
{
    int64_t done = 0, total = 0;
    char done_text[32], total_text[32], line[128];

    for (size_t i = 0; i < pull->layer_count; i++) {
        done += pull->layers[i].done;
        total += pull->layers[i].total;
    }
    if (total == 0)
        return;
    thousands(done / MEGABYTE, done_text);
    thousands((total + MEGABYTE - 1) / MEGABYTE, total_text);
    (void)snprintf(line, sizeof(line), "pulling: %s of %s MB%s", done_text, total_text,
                   pull->unpacks && done == total ? ", unpacking" : "");
    pull->search->request->tell(pull->search->request->ctx, line);
}

static struct layer *layer_of(struct pull *pull, const char *id)
{
    for (size_t i = 0; i < pull->layer_count; i++) {
        if (strncmp(pull->layers[i].id, id, LAYER_ID_BYTES - 1) == 0)
            return &pull->layers[i];
    }
    if (pull->layer_count == LAYERS_MAX)
        return NULL;
    (void)snprintf(pull->layers[pull->layer_count].id, LAYER_ID_BYTES, "%s", id);
    return &pull->layers[pull->layer_count++];
}

static void take_layer(struct pull *pull, const json_t *document, const char *status)
{
    const json_t *detail = json_object_get(document, "progressDetail");
    const char *id = json_string_value(json_object_get(document, "id"));
    int64_t total = json_integer_value(json_object_get(detail, "total"));
    struct layer *layer;

    if (!id || (layer = layer_of(pull, id)) == NULL)
        return;
    if (strcmp(status, "Downloading") == 0 && total > 0) {
        layer->total = total;
        layer->done = MIN(json_integer_value(json_object_get(detail, "current")), total);
    } else if (strcmp(status, "Download complete") == 0 || strcmp(status, "Pull complete") == 0) {
        layer->done = layer->total;
    } else if (strcmp(status, "Extracting") == 0) {
        layer->done = layer->total;
        pull->unpacks = true;
    }
}

static void take_line(struct pull *pull, struct str line)
{
    CLEANUP(json_release) json_t *document = NULL;
    const char *problem, *status;

    line = str_trim(line);
    if (line.len == 0 || json_parse(line, LINE_BYTES_MAX, &document, NULL) != OK)
        return; /* progress alone: what counts is whether the image is here in the end */
    problem = json_string_value(json_object_get(document, "error"));
    status = json_string_value(json_object_get(document, "status"));
    if (problem)
        (void)snprintf(pull->problem, sizeof(pull->problem), "%s", problem);
    if (status)
        take_layer(pull, document, status);
}

static enum err_code on_pull(void *ctx, struct str bytes, struct err *err)
{
    struct pull *pull = ctx;

    while (bytes.len > 0) {
        struct str rest = bytes, head;
        bool whole = str_cut(&rest, '\n', &head);

        if (!buf_add_str(&pull->line, head))
            return buf_check(&pull->line, "the engine's report of a pull", err);
        bytes = rest;
        if (!whole)
            return OK;
        take_line(pull, buf_str(&pull->line));
        buf_clear(&pull->line);
    }
    pull->heard_at = clock_mono_ms();
    tell_progress(pull);
    return OK;
}

static bool keep_pulling(void *ctx)
{
    return goes_on(((struct pull *)ctx)->search);
}

static enum err_code pull_into(const struct search *s, struct pull *pull, const char *digest,
                               struct err *err)
{
    CLEANUP(engine_answer_release) struct engine_answer answer = {0};
    CLEANUP(buf_release) struct buf path = {0};
    struct engine_call call = {.method = "POST",
                               .headers = s->auth[0] ? s->auth : NULL,
                               .timeout_ms = -1,
                               .silence_ms = SILENCE_MS,
                               .sink = on_pull,
                               .keep_going = keep_pulling,
                               .ctx = pull};

    buf_init(&path, 4096);
    (void)buf_add_text(&path, "/images/create?fromImage=");
    engine_escape(&path, s->name.repository, "");
    (void)buf_add_text(&path, "&tag=");
    engine_escape(&path, str_from(digest), "");
    call.path = path.data;
    s->request->tell(s->request->ctx, "pulling");
    TRY(engine_send(s->engine, &call, &answer, err));
    take_line(pull, buf_str(&pull->line)); /* the last may lack its end */
    if (answer.status < 200 || answer.status > 299) {
        struct err said = {0};

        (void)engine_answer_error(&answer, &said);
        return refuse(s, image_trouble(answer.status, said.text), said.text, err);
    }
    if (pull->problem[0])
        return refuse(s, image_trouble(0, pull->problem), pull->problem, err);
    return OK;
}

static enum err_code pull_image(struct search *s, const char *digest, struct err *err)
{
    struct pull *pull = MEM_NEW(struct pull);
    int64_t began = clock_mono_ms();
    enum err_code code;

    pull->search = s;
    buf_init(&pull->line, LINE_BYTES_MAX);
    code = pull_into(s, pull, digest, err);
    /* The registry was not away while it gave something: a large image may take longer than that.
     */
    s->give_up_at += MAX(pull->heard_at - began, 0);
    buf_release(&pull->line);
    mem_free(pull);
    return code;
}

/* ---- All together */

/* With the digest known: it is here, or is brought. */
static enum err_code bring(struct search *s, const char *image, struct err *err)
{
    const char *digest = strchr(image, '@') + 1;

    for (;;) {
        struct local_image local;
        enum err_code code = look_here(s, image, &local, err);

        if (code == OK && local.here)
            return local.fits ? OK : refuse(s, ERR_UNPROCESSABLE, "", err);
        if (code == OK)
            code = pull_image(s, digest, err);
        if (code == OK)
            continue; /* it is looked at */
        if (code != ERR_UNAVAILABLE || !wait_again(s, err))
            return err ? err->code : code;
    }
}

static enum err_code take_local(const struct search *s, const struct local_image *local,
                                char ret_image[EXECUTOR_IMAGE_BYTES], struct err *err)
{
    if (!local->fits)
        return refuse(s, ERR_UNPROCESSABLE, "", err);
    (void)snprintf(ret_image, EXECUTOR_IMAGE_BYTES, "%s",
                   local->from_registry ? local->digest : local->id);
    return OK;
}

/* What the name means now. *ret_here: it is here, nothing is to be brought. */
static enum err_code settle_digest(struct search *s, const char *reference,
                                   char ret_image[EXECUTOR_IMAGE_BYTES], bool *ret_here,
                                   struct err *err)
{
    for (;;) {
        struct local_image local = {0};
        enum err_code code = look_here(s, reference, &local, err);

        *ret_here = local.here && (!local.from_registry && !s->name.by_digest);
        if (*ret_here)
            return take_local(s, &local, ret_image, err);
        if (code == OK)
            code = ask_registry(s, reference, ret_image, err);
        if (code == OK)
            return OK;
        if (local.here && local.from_registry &&
            (code == ERR_UNAVAILABLE || (code == ERR_NOT_FOUND && s->name.by_digest))) {
            log_warn("image.registry_away", "image", s->request->name, "error", err->text);
            *ret_here = true;
            return take_local(s, &local, ret_image, err);
        }
        if (code != ERR_UNAVAILABLE || !wait_again(s, err))
            return err->code;
    }
}

enum err_code image_resolve(struct engine *engine, const struct image_request *request,
                            char ret_image[EXECUTOR_IMAGE_BYTES], struct err *err)
{
    CLEANUP(arena_release) struct arena arena = {0};
    struct search s = {.engine = engine,
                       .request = request,
                       .arena = &arena,
                       .give_up_at = clock_mono_ms() + request->patience_ms};
    struct err own;
    bool here = false;
    const char *reference;
    enum err_code code;

    err = err ? err : &own;
    if (!image_name_parse(str_from(request->name), &s.name))
        return refuse(&s, ERR_INVALID, "", err);
    make_auth(&s);
    reference = arena_printf(&arena, "%.*s%c%.*s", STR_ARG(s.name.repository),
                             s.name.by_digest ? '@' : ':', STR_ARG(s.name.reference));
    code = settle_digest(&s, reference, ret_image, &here, err);
    if (code == OK && !here)
        code = bring(&s, ret_image, err);
    if (s.auth[0])
        explicit_bzero((char *)(uintptr_t)s.auth[0], strlen(s.auth[0]));
    return code;
}
