/* The port: requests become files that the attempt's thread looks at, looks are copies of what it
 * has published. */
#include "drivers/executor/docker/docker_executor.h"

#include "base/log.h"
#include "base/map.h"
#include "base/mem.h"
#include "drivers/common/attempt_list.h"
#include "drivers/executor/docker/container.h"
#include "drivers/executor/docker/docker_attempt.h"
#include "drivers/executor/docker/logs.h"
#include "net/local_address.h"
#include "sys/clock.h"
#include "sys/file.h"
#include "sys/random.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#define ATTEMPTS_MAX     16384 /* more than an agent takes */
#define ENGINE_WAIT_MS   30000
#define ENGINE_AGAIN_MS  500
#define MOUNTS_BYTES_MAX (4 * 1024 * 1024)
#define NOTES_MAX        8
#define REMOVE_TRIES     20
#define REMOVE_AGAIN_MS  100

struct docker_executor {
    struct executor_port port;
    struct docker_shared shared;
    char *root;
    bool set_user;
    uid_t uid;
    gid_t gid;
    struct lock *lock;   /* over `attempts` */
    struct map attempts; /* by id */
};

static void folder_of(const struct docker_executor *executor, const struct id *attempt,
                      char ret_folder[DOCKER_PATH_BYTES])
{
    docker_path(executor->root, attempt->text, ret_folder);
}

static struct docker_attempt *find(struct docker_executor *executor, const struct id *attempt)
{
    struct docker_attempt *found;

    lock_enter(executor->lock);
    found = map_get(&executor->attempts, id_str(attempt));
    lock_leave(executor->lock);
    return found;
}

static bool keep(struct docker_executor *executor, struct docker_attempt *attempt)
{
    bool kept;

    lock_enter(executor->lock);
    kept = map_put(&executor->attempts, id_str(docker_attempt_id(attempt)), attempt);
    lock_leave(executor->lock);
    return kept;
}

/* ---- The port */

static enum err_code make_folder(const struct docker_executor *executor, const char *path,
                                 unsigned mode, bool for_job, struct err *err)
{
    if (mkdir(path, mode) != 0 && errno != EEXIST)
        return err_set_errno(err, ERR_IO, errno, "cannot create folder %s", path);
    if (for_job && executor->set_user && lchown(path, executor->uid, executor->gid) != 0)
        return err_set_errno(err, ERR_IO, errno, "cannot give %s to the job", path);
    return OK;
}

static enum err_code executor_prepare(void *ctx, const struct id *attempt,
                                      struct executor_place *ret_place, struct err *err)
{
    struct docker_executor *executor = ctx;
    char folder[DOCKER_PATH_BYTES], path[DOCKER_PATH_BYTES];

    folder_of(executor, attempt, folder);
    if (strlen(folder) >= sizeof(ret_place->folder))
        return err_set(err, ERR_INVALID, "the path %.200s is too long", folder);
    /* The job's user unpacks the code and uploads the record: it passes through. */
    TRY(make_folder(executor, folder, executor->set_user ? 0711 : 0700, false, err));
    docker_path(folder, "work", path);
    TRY(make_folder(executor, path, 0700, true, err));
    docker_path(folder, "runs", path);
    TRY(make_folder(executor, path, 0700, true, err));
    (void)snprintf(ret_place->folder, sizeof(ret_place->folder), "%s", folder);
    (void)snprintf(ret_place->inside, sizeof(ret_place->inside), CONTAINER_INSIDE);
    return OK;
}

static enum err_code executor_start(void *ctx, const struct executor_spec *spec, struct err *err)
{
    struct docker_executor *executor = ctx;
    struct docker_attempt *attempt = NULL;

    if (find(executor, &spec->attempt))
        return OK; /* on its way */
    if (!spec->image || spec->image[0] == '\0')
        return err_set(err, ERR_UNPROCESSABLE, "the job names no image");
    TRY(docker_host_check_limits(&executor->shared.host, spec, err));
    TRY(docker_attempt_start(&executor->shared, spec, &attempt, err));
    ENSURE(keep(executor, attempt)); /* the agent has fewer */
    return OK;
}

static enum err_code executor_look(void *ctx, const struct id *id, struct executor_look *ret_look,
                                   struct err *err)
{
    struct docker_executor *executor = ctx;
    struct docker_attempt *attempt = find(executor, id);
    char folder[DOCKER_PATH_BYTES];
    enum err_code code;

    if (attempt) {
        docker_attempt_look(attempt, ret_look);
        return OK;
    }
    folder_of(executor, id, folder);
    code = docker_end_read(folder, ret_look, err);
    if (code == OK)
        ret_look->console_bytes = logs_bytes_in(folder);
    if (code != ERR_NOT_FOUND)
        return code;
    *ret_look = (struct executor_look){.phase = EXECUTOR_ABSENT,
                                       .started_at = TIME_NONE,
                                       .ended_at = TIME_NONE,
                                       .run_time_ms = -1,
                                       .exit_code = -1};
    return OK;
}

static enum err_code executor_address(void *ctx, const struct id *id, char *ret_address,
                                      size_t size, struct err *err)
{
    struct docker_attempt *attempt = find(ctx, id);

    ret_address[0] = '\0';
    if (attempt)
        docker_attempt_address(attempt, ret_address, size);
    if (ret_address[0] == '\0')
        return err_set(err, ERR_UNAVAILABLE, "the container has no address now");
    return OK;
}

static enum err_code ask(struct docker_executor *executor, const struct id *id, const char *request,
                         struct err *err)
{
    struct docker_attempt *attempt = find(executor, id);
    char folder[DOCKER_PATH_BYTES];

    folder_of(executor, id, folder);
    TRY(docker_request_write(folder, request, clock_wall_ms(), err));
    if (attempt)
        docker_attempt_wake(attempt);
    return OK;
}

static enum err_code executor_stop(void *ctx, const struct id *attempt, struct err *err)
{
    return ask(ctx, attempt, "stop", err);
}

static enum err_code executor_rendezvous(void *ctx, const struct id *attempt, const char *machine,
                                         char *ret_text, size_t size, struct err *err)
{
    const struct docker_executor *executor = ctx;
    bool is_ipv6 = strchr(machine, ':') != NULL;
    char name[CONTAINER_NAME_BYTES];
    int port;

    if (strcmp(executor->shared.nodes_network, "host") != 0) {
        container_name(attempt, 0, name);
        (void)snprintf(ret_text, size, "%s:%d", name, CONTAINER_MEET_PORT);
        return OK;
    }
    TRY(net_free_port(&port, err));
    (void)snprintf(ret_text, size, is_ipv6 ? "[%s]:%d" : "%s:%d", machine, port);
    return OK;
}

static enum err_code executor_release(void *ctx, const struct id *id, struct err *err)
{
    struct docker_attempt *attempt = find(ctx, id);

    (void)err;
    if (attempt)
        docker_attempt_go(attempt);
    return OK;
}

static enum err_code executor_kill(void *ctx, const struct id *attempt, struct err *err)
{
    return ask(ctx, attempt, "kill", err);
}

/* The engine may be about to remove it, or to write down its end. */
static enum err_code remove_container(struct docker_executor *executor, const char *name,
                                      struct err *err)
{
    struct engine *engine = engine_again(executor->shared.engine);
    enum err_code code = ERR_CONFLICT;

    for (int i = 0; i < REMOVE_TRIES && code == ERR_CONFLICT; i++) {
        if (i > 0)
            (void)poll(NULL, 0, REMOVE_AGAIN_MS);
        code = docker_container_remove(engine, name, executor->shared.agent, err);
    }
    engine_free(engine);
    return code;
}

static enum err_code executor_remove(void *ctx, const struct id *id, struct err *err)
{
    struct docker_executor *executor = ctx;
    char folder[DOCKER_PATH_BYTES], name[CONTAINER_NAME_BYTES];
    struct docker_record record = {0};
    struct docker_attempt *attempt;

    folder_of(executor, id, folder);
    if (docker_record_read(folder, &record, NULL) != OK)
        record.rank = 0; /* never begun: there is no container of any name */
    container_name(id, record.rank, name);
    TRY(remove_container(executor, name, err));
    lock_enter(executor->lock);
    attempt = map_take(&executor->attempts, id_str(id));
    lock_leave(executor->lock);
    docker_attempt_free(attempt);
    return file_remove_tree(folder, err);
}

static size_t executor_list(void *ctx, struct id *ret_attempts, size_t max)
{
    const struct docker_executor *executor = ctx;

    return attempt_list(executor->root, ret_attempts, max);
}

/* ---- Opening */

/* The id of this folder: it tells our containers from those of other agents. */
static enum err_code take_agent_id(struct docker_executor *executor, struct err *err)
{
    CLEANUP(buf_release) struct buf text = {0};
    char path[DOCKER_PATH_BYTES];
    struct id id;
    enum err_code code;

    docker_path(executor->root, ".docker-agent", path);
    code = file_read(path, 64, &text, err);
    if (code == ERR_NOT_FOUND) {
        id = random_id(ID_AGENT);
        TRY(file_write_atomic(path, id_str(&id), 0600, err));
    } else {
        TRY(code);
        if (!id_parse(str_trim(buf_str(&text)), ID_AGENT, &id))
            return err_set(err, ERR_INVALID, "%s does not hold an id", path);
    }
    (void)snprintf(executor->shared.agent, sizeof(executor->shared.agent), "%s", id.text);
    return OK;
}

/* The agent's own user where nothing else is said, so that the files that it makes can be sent and
 * removed. */
static enum err_code take_user(struct docker_executor *executor, struct err *err)
{
    struct docker_user user = {.uid = executor->set_user ? executor->uid : geteuid(),
                               .gid = executor->set_user ? executor->gid : getegid()};
    struct stat info;
    const char *socket = engine_socket(executor->shared.engine);

    if (stat(socket, &info) != 0)
        return err_set_errno(err, ERR_IO, errno, "cannot look at %s", socket);
    TRY(docker_host_take_user(&executor->shared.host, info.st_uid, &user, err));
    (void)snprintf(executor->shared.user, sizeof(executor->shared.user), "%lld:%lld",
                   (long long)user.uid, (long long)user.gid);
    executor->shared.home_in_work = user.uid != 0;
    return OK;
}

/* An engine that starts at the same time as we do is waited for. */
static enum err_code meet_engine(struct docker_executor *executor, json_t **ret_version,
                                 struct err *err)
{
    int64_t give_up_at = clock_mono_ms() + ENGINE_WAIT_MS;

    for (;;) {
        enum err_code code = engine_agree(executor->shared.engine, ret_version, err);

        if (code != ERR_UNAVAILABLE || clock_mono_ms() > give_up_at)
            return code;
        if (!atomic_exchange(&executor->shared.away, true))
            log_warn("engine.away", "error", err->text);
        (void)poll(NULL, 0, ENGINE_AGAIN_MS);
    }
}

static void tell_notes(const struct docker_host *host)
{
    char notes[NOTES_MAX][DOCKER_NOTE_BYTES];
    size_t count = docker_host_notes(host, notes, NOTES_MAX);

    for (size_t i = 0; i < count; i++)
        log_warn("engine.note", "note", notes[i]);
}

static enum err_code take_host(struct docker_executor *executor, bool allow_old_runc,
                               struct err *err)
{
    CLEANUP(json_release) json_t *version = NULL, *info = NULL;
    CLEANUP(buf_release) struct buf mounts = {0};
    struct docker_host *host = &executor->shared.host;
    enum err_code code;

    TRY(meet_engine(executor, &version, err));
    TRY(engine_json(executor->shared.engine, "GET", "/info", STR(""), &info, err));
    docker_host_read(version, info, host);
    code = docker_host_check(host, err);
    if (code != OK && !allow_old_runc)
        return code;
    if (code != OK)
        log_warn("engine.note", "note", err->text);
    tell_notes(host);
    executor->port.features = FEATURE_BIT(FEATURE_IMAGE) | FEATURE_BIT(FEATURE_SHM) |
                              FEATURE_BIT(FEATURE_READ_ONLY_ROOT) | FEATURE_BIT(FEATURE_REGISTRY) |
                              FEATURE_BIT(FEATURE_VOLUMES) | FEATURE_BIT(FEATURE_LAUNCHER) |
                              FEATURE_BIT(FEATURE_HEALTH) | FEATURE_BIT(FEATURE_DISK);
    if (host->limits_pids)
        executor->port.features |= FEATURE_BIT(FEATURE_PIDS);
    executor->shared.limits_disk =
        file_read("/proc/self/mounts", MOUNTS_BYTES_MAX, &mounts, NULL) == OK &&
        docker_host_limits_disk(host, buf_str(&mounts));
    log_info("engine.ready", "version", host->version, "runc", host->runc);
    return OK;
}

/* A container of ours whose folder is gone belongs to nobody. */
static enum err_code sweep(struct docker_executor *executor, struct err *err)
{
    CLEANUP(json_release) json_t *list = NULL;
    const json_t *container;
    char path[256], folder[DOCKER_PATH_BYTES];
    size_t i;

    (void)snprintf(
        path, sizeof(path),
        "/containers/json?all=1&filters=%%7B%%22label%%22%%3A%%5B%%22%s%%3D%s%%22%%5D%%7D",
        CONTAINER_LABEL_AGENT, executor->shared.agent);
    TRY(engine_json(executor->shared.engine, "GET", path, STR(""), &list, err));
    json_array_foreach(list, i, container)
    {
        const char *label = json_string_value(
            json_object_get(json_object_get(container, "Labels"), CONTAINER_LABEL_ATTEMPT));
        const char *own = json_string_value(json_object_get(container, "Id"));
        struct id id;

        if (!own || !label || !id_parse(str_from(label), ID_ATTEMPT, &id))
            continue;
        folder_of(executor, &id, folder);
        if (file_exists(folder))
            continue;
        log_warn("container.unknown", "attempt", id.text);
        TRY(docker_container_remove(executor->shared.engine, own, executor->shared.agent, err));
    }
    return OK;
}

static enum err_code resume_all(struct docker_executor *executor, struct err *err)
{
    struct id *found = mem_array(ATTEMPTS_MAX, sizeof(found[0]));
    size_t count = executor_list(executor, found, ATTEMPTS_MAX);
    enum err_code code = OK;

    for (size_t i = 0; i < count && code == OK; i++) {
        struct docker_attempt *attempt = NULL;

        code = docker_attempt_resume(&executor->shared, &found[i], &attempt, err);
        if (attempt)
            ENSURE(keep(executor, attempt));
    }
    mem_free(found);
    return code;
}

/* Jobs on several machines need one that all of them are on, which the administrator makes. */
static enum err_code check_nodes_network(struct docker_executor *executor, struct err *err)
{
    const char *network = executor->shared.nodes_network;
    char path[128];
    enum err_code code;

    if (!network)
        return OK;
    if (strlen(network) > 63 || !str_is_label(str_from(network), 63))
        return err_set(err, ERR_INVALID, "--nodes-network is \"host\" or the name of a network");
    (void)snprintf(path, sizeof(path), "/networks/%s", network);
    code = engine_json(executor->shared.engine, "GET", path, STR(""), NULL, err);
    if (code == ERR_NOT_FOUND)
        return err_set(err, ERR_INVALID, "the Docker engine has no network \"%s\"", network);
    TRY(code);
    executor->port.features |= FEATURE_BIT(FEATURE_NODES);
    executor->port.rendezvous = executor_rendezvous;
    if (strcmp(network, "host") == 0)
        return OK;
    executor->port.meets_late = true; /* a name is known once it runs */
    executor->port.release = executor_release;
    return OK;
}

static enum err_code open_all(struct docker_executor *executor,
                              const struct docker_executor_options *options, struct err *err)
{
    TRY(take_agent_id(executor, err));
    TRY(engine_new(&executor->shared.engine, options->socket ? options->socket : ENGINE_SOCKET,
                   err));
    TRY(take_host(executor, options->allow_old_runc, err));
    TRY(take_user(executor, err));
    TRY(docker_network_make(executor->shared.engine, err));
    TRY(check_nodes_network(executor, err));
    TRY(sweep(executor, err));
    return resume_all(executor, err);
}

enum err_code docker_executor_new(struct docker_executor **ret_executor,
                                  const struct docker_executor_options *options, struct err *err)
{
    struct docker_executor *executor;
    enum err_code code;

    TRY(file_make_dirs(options->root, options->set_user ? 0711 : 0700, err));
    executor = MEM_NEW(struct docker_executor);
    executor->root = mem_copy_text(options->root);
    executor->set_user = options->set_user;
    executor->uid = options->uid;
    executor->gid = options->gid;
    executor->lock = lock_new();
    map_init(&executor->attempts, ATTEMPTS_MAX);
    executor->shared.root = executor->root;
    executor->shared.lock = lock_new();
    executor->shared.patience_ms = options->patience_ms;
    executor->shared.nodes_network = options->nodes_network;
    executor->port = (struct executor_port){.ctx = executor,
                                            .name = "docker",
                                            .prepare = executor_prepare,
                                            .start = executor_start,
                                            .look = executor_look,
                                            .address = executor_address,
                                            .stop = executor_stop,
                                            .kill = executor_kill,
                                            .remove = executor_remove,
                                            .list = executor_list};
    code = open_all(executor, options, err);
    if (code != OK) {
        docker_executor_free(executor);
        return code;
    }
    *ret_executor = executor;
    return OK;
}

void docker_executor_free(struct docker_executor *executor)
{
    struct str id;
    void *attempt;
    size_t cursor = 0;

    if (!executor)
        return;
    atomic_store(&executor->shared.stops, true);
    while (map_next(&executor->attempts, &cursor, &id, &attempt))
        docker_attempt_wake(attempt);
    cursor = 0;
    while (map_next(&executor->attempts, &cursor, &id, &attempt))
        docker_attempt_free(attempt);
    map_release(&executor->attempts);
    engine_free(executor->shared.engine);
    lock_free(executor->shared.lock);
    lock_free(executor->lock);
    mem_free(executor->root);
    mem_free(executor);
}

const struct executor_port *docker_executor_port(struct docker_executor *executor)
{
    return &executor->port;
}
