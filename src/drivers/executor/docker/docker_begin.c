/* From a spec to a container that runs. Every step may have been done by an agent that died in it:
 * the image is here then, the container exists, or runs already. */
#include "base/log.h"
#include "drivers/executor/docker/docker_impl.h"
#include "drivers/executor/docker/image.h"
#include "sys/clock.h"
#include "sys/file.h"

#include <poll.h>
#include <stdio.h>

#define BODY_BYTES_MAX   (4 * 1024 * 1024)
#define AGAIN_MS         1000
#define GO_AGAIN_MS      100
#define NETWORK_TRIES    20
#define NETWORK_AGAIN_MS 100

/* ERR_NOT_FOUND: there is none. */
static enum err_code find_network(struct engine *engine, struct err *err)
{
    CLEANUP(json_release) json_t *document = NULL;

    TRY(engine_json(engine, "GET", "/networks/" DOCKER_NETWORK, STR(""), &document, err));
    if (!json_object_get(json_object_get(document, "Labels"), "euvyra.network"))
        return err_set(err, ERR_CONFLICT,
                       "the Docker engine has a network \"" DOCKER_NETWORK "\" that is not ours");
    return OK;
}

enum err_code docker_network_make(struct engine *engine, struct err *err)
{
    static const char body[] =
        "{\"Name\":\"" DOCKER_NETWORK "\",\"CheckDuplicate\":true,\"Driver\":\"bridge\","
        "\"Options\":{\"com.docker.network.bridge.enable_icc\":\"false\","
        "\"com.docker.network.bridge.name\":\"euvyra0\"},"
        "\"Labels\":{\"euvyra.network\":\"jobs\"}}";
    enum err_code code = find_network(engine, err);
    struct err ignored;

    if (code != ERR_NOT_FOUND)
        return code;
    code =
        engine_json(engine, "POST", "/networks/create", str_n(body, sizeof(body) - 1), NULL, err);
    /* Of agents that start at once one makes it; the others hear of its name or of its bridge. */
    for (int i = 0; code != OK && code != ERR_UNAVAILABLE && i < NETWORK_TRIES; i++) {
        if (find_network(engine, &ignored) == OK)
            return OK;
        (void)poll(NULL, 0, NETWORK_AGAIN_MS);
    }
    return code;
}

enum err_code docker_container_find(struct engine *engine, const char *name, const char *agent,
                                    json_t **ret_document, struct err *err)
{
    CLEANUP(json_release) json_t *document = NULL;
    const json_t *labels;
    const char *maker;
    char path[160];

    (void)snprintf(path, sizeof(path), "/containers/%s/json", name);
    TRY(engine_json(engine, "GET", path, STR(""), &document, err));
    labels = json_object_get(json_object_get(document, "Config"), "Labels");
    maker = json_string_value(json_object_get(labels, CONTAINER_LABEL_AGENT));
    if (!maker || strcmp(maker, agent) != 0)
        return err_set(err, ERR_CONFLICT, "a container %s is there that another agent has made",
                       name);
    *ret_document = document;
    document = NULL;
    return OK;
}

enum err_code docker_container_remove(struct engine *engine, const char *name, const char *agent,
                                      struct err *err)
{
    CLEANUP(json_release) json_t *document = NULL;
    char path[160];
    enum err_code code = docker_container_find(engine, name, agent, &document, err);

    if (code == ERR_NOT_FOUND || code == ERR_CONFLICT)
        return OK;
    TRY(code);
    (void)snprintf(path, sizeof(path), "/containers/%s?force=1&v=1", name);
    code = engine_json(engine, "DELETE", path, STR(""), NULL, err);
    return code == ERR_NOT_FOUND ? OK : code;
}

const char *docker__network(const struct docker_attempt *attempt)
{
    const char *nodes = attempt->shared->nodes_network;

    return attempt->record.node_count > 1 && nodes ? nodes : DOCKER_NETWORK;
}

static void tell(void *ctx, const char *progress)
{
    struct docker_attempt *attempt = ctx;

    lock_enter(attempt->shared->lock);
    (void)snprintf(attempt->look.progress, sizeof(attempt->look.progress), "%s", progress);
    lock_leave(attempt->shared->lock);
}

static enum err_code get_image(struct docker_attempt *attempt, struct err *err)
{
    const struct docker_shared *shared = attempt->shared;
    const struct executor_spec *spec = &attempt->spec;
    struct image_request request = {.name = attempt->record.image[0] ? attempt->record.image
                                                                     : spec->image,
                                    .user = spec->registry_user,
                                    .secret = spec->registry_secret,
                                    .machine = shared->host.machine,
                                    .os = shared->host.os,
                                    .patience_ms = shared->patience_ms,
                                    .keep_going = docker__tend,
                                    .tell = tell,
                                    .ctx = attempt};
    char image[EXECUTOR_IMAGE_BYTES];

    TRY(image_resolve(attempt->engine, &request, image, err));
    (void)snprintf(attempt->record.image, sizeof(attempt->record.image), "%s", image);
    tell(attempt, "");
    return docker_record_write(attempt->folder, &attempt->record, err);
}

static bool has_file(const struct docker_attempt *attempt, const char *name)
{
    char path[DOCKER_PATH_BYTES];

    docker_path(attempt->folder, name, path);
    return file_exists(path);
}

/* ERR_CONFLICT: there is one of this name. */
static enum err_code create(struct docker_attempt *attempt, struct err *err)
{
    const struct docker_shared *shared = attempt->shared;
    struct container_plan plan = {.spec = &attempt->spec,
                                  .image = attempt->record.image,
                                  .folder = attempt->folder,
                                  .agent = shared->agent,
                                  .user = shared->user,
                                  .network = docker__network(attempt),
                                  .limits_disk = shared->limits_disk,
                                  .home_in_work = shared->home_in_work,
                                  .has_key = has_file(attempt, "key"),
                                  .has_config = has_file(attempt, "config.json"),
                                  .has_ca = has_file(attempt, "ca.pem")};
    CLEANUP(buf_release) struct buf body = {0};
    struct json_writer w;
    char path[128];

    buf_init(&body, BODY_BYTES_MAX);
    json_writer_init(&w, &body);
    container_body(&plan, &w);
    TRY(buf_check(&body, "the container's description", err));
    (void)snprintf(path, sizeof(path), "/containers/create?name=%s", attempt->name);
    return engine_json(attempt->engine, "POST", path, buf_str(&body), NULL, err);
}

static const char *label_of(const json_t *container, const char *label)
{
    const char *text =
        json_string_value(json_object_get(json_object_get(container, "Labels"), label));

    return text ? text : "";
}

static bool is_own(const struct docker_attempt *attempt, const json_t *container)
{
    const char *name = json_string_value(json_array_get(json_object_get(container, "Names"), 0));

    return name && name[0] == '/' && strcmp(name + 1, attempt->name) == 0;
}

/* True when the container, of whatever agent, holds one of our GPUs: it runs, or may run soon. */
static bool takes_gpu(const struct docker_attempt *attempt, const json_t *container,
                      const char **ret_gpu)
{
    const char *state = json_string_value(json_object_get(container, "State"));
    const char *held = label_of(container, CONTAINER_LABEL_GPUS);

    if (!state || is_own(attempt, container) ||
        (strcmp(state, "created") != 0 && strcmp(state, "running") != 0 &&
         strcmp(state, "paused") != 0))
        return false;
    for (size_t i = 0; attempt->spec.gpus[i]; i++) {
        *ret_gpu = attempt->spec.gpus[i];
        if (strstr(held, attempt->spec.gpus[i]))
            return true;
    }
    return false;
}

/* Ours exists already: of two agents that want the same GPU at once, the one that looks last sees
 * the other's, and perhaps each does. Which was first cannot be told: neither starts then. */
static enum err_code check_gpus(struct docker_attempt *attempt, struct err *err)
{
    CLEANUP(json_release) json_t *list = NULL;
    const json_t *container;
    const char *gpu;
    size_t i;

    if (!attempt->spec.gpus || !attempt->spec.gpus[0])
        return OK;
    TRY(engine_json(attempt->engine, "GET",
                    "/containers/json?all=1&filters=%7B%22label%22%3A%5B%22" CONTAINER_LABEL_GPUS
                    "%22%5D%7D",
                    STR(""), &list, err));
    json_array_foreach(list, i, container)
    {
        if (takes_gpu(attempt, container, &gpu))
            return err_set(
                err, ERR_UNPROCESSABLE, "%s is in use by attempt %s, of %s agent", gpu,
                label_of(container, CONTAINER_LABEL_ATTEMPT),
                strcmp(label_of(container, CONTAINER_LABEL_AGENT), attempt->shared->agent) == 0
                    ? "this"
                    : "another");
    }
    return OK;
}

static enum err_code start(struct docker_attempt *attempt, bool *ret_image_failed, struct err *err)
{
    char path[128], reason[EXECUTOR_REASON_BYTES];
    struct err said = {0};
    enum err_code code;

    (void)snprintf(path, sizeof(path), "/containers/%s/start", attempt->name);
    code = engine_json(attempt->engine, "POST", path, STR(""), NULL, &said);
    if (code == OK)
        return OK;
    if (code == ERR_UNAVAILABLE)
        return err_set(err, code, "%s", said.text);
    container_explain(said.text, reason, ret_image_failed);
    return err_set(err, ERR_UNPROCESSABLE, "%s", reason);
}

/* A container of this name is there. An earlier agent in this folder may have made it; one of a
 * copy of this machine or of another engine's past is not ours to use. */
static enum err_code check_ours(struct docker_attempt *attempt, struct err *err)
{
    CLEANUP(json_release) json_t *document = NULL;
    enum err_code code = docker_container_find(attempt->engine, attempt->name,
                                               attempt->shared->agent, &document, err);

    return code == ERR_CONFLICT ? ERR_UNPROCESSABLE : code;
}

static enum err_code make_and_start(struct docker_attempt *attempt, bool *ret_image_failed,
                                    struct err *err)
{
    enum err_code code;

    TRY(docker_network_make(attempt->engine, err));
    code = create(attempt, err);
    if (code == ERR_CONFLICT)
        code = check_ours(attempt, err);
    TRY(code);
    TRY(check_gpus(attempt, err));
    if (!docker__tend(attempt))
        return err_set(err, ERR_TIMEOUT, "it was stopped before it began");
    TRY(start(attempt, ret_image_failed, err));
    attempt->record.started = true;
    return docker_record_write(attempt->folder, &attempt->record, err);
}

/* Of several machines the first must run; False: it was stopped meanwhile. */
static bool wait_for_first(struct docker_attempt *attempt)
{
    while (attempt->spec.waits && !atomic_load(&attempt->goes)) {
        if (!docker__wait(attempt, GO_AGAIN_MS))
            return false;
    }
    return true;
}

enum err_code docker__begin(struct docker_attempt *attempt, bool *ret_image_failed, struct err *err)
{
    int64_t give_up_at;
    enum err_code code;

    *ret_image_failed = false;
    code = get_image(attempt, err);
    if (code != OK) {
        *ret_image_failed = code == ERR_NOT_FOUND || code == ERR_FORBIDDEN || code == ERR_INVALID ||
                            code == ERR_UNPROCESSABLE || code == ERR_UNAVAILABLE;
        return code;
    }
    if (!wait_for_first(attempt))
        return err_set(err, ERR_TIMEOUT, "it was stopped before it began");
    give_up_at = clock_mono_ms() + attempt->shared->patience_ms;
    for (;;) { /* while the engine alone is in the way */
        code = make_and_start(attempt, ret_image_failed, err);
        docker__note_away(attempt, code, err);
        if (code != ERR_UNAVAILABLE || clock_mono_ms() > give_up_at)
            return code;
        if (!docker__wait(attempt, AGAIN_MS))
            return err_set(err, ERR_TIMEOUT, "it was stopped before it began");
    }
}
