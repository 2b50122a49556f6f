/* The agent's main loop: one long poll after another. Works run on threads of their own; this loop
 * only hands them orders and collects those that are finished. */
#include "agent/agent.h"

#include "agent/executors.h"
#include "agent/gpus.h"
#include "agent/node_report.h"
#include "agent/work.h"
#include "base/log.h"
#include "base/mem.h"
#include "sys/clock.h"
#include "sys/file.h"
#include "sys/random.h"
#include "sys/signals.h"

#include <stdatomic.h>
#include <stdio.h>
#include <unistd.h>

#define WORKS_MAX      WIRE_ATTEMPTS_MAX
#define POLL_WAIT_MS   20000
#define POLL_SLACK_MS  20000
#define POLL_BYTES_MAX (4 * 1024 * 1024)
#define BACKOFF_MS_MIN 500
#define BACKOFF_MS_MAX 15000
#define PATH_BYTES     2048
#define NODE_EVERY_MS  600000

struct agent_loop {
    const struct agent_options *options;
    struct http_client *client;
    struct agent_executor executor;
    struct agent_gpus *gpus; /* NULL: the machine is not ours to look at */
    struct node_report *report;
    int64_t node_version, node_at_ms; /* of what the server was told of the machine; 0: nothing */
    struct work_env env;
    struct work **works; /* WORKS_MAX */
    size_t work_count;
    struct id id;
    char boot[AGENT_BOOT_BYTES];
    char root[PATH_BYTES], unsent[PATH_BYTES];
    int64_t cpus, memory_bytes, heartbeat_ms;
    _Atomic bool stops;
};

static struct http_client_options client_options(const struct agent_options *options)
{
    return (struct http_client_options){.base_url = options->server,
                                        .key_text = options->key_text,
                                        .ca_file = options->ca_file,
                                        .product = options->version};
}

/* Asked by the HTTP client at least every second. */
static bool keep_polling(void *ctx)
{
    struct agent_loop *agent = ctx;

    if (!atomic_load(&agent->stops) && signals_wait(agent->options->signal_fd, 0) != 0)
        atomic_store(&agent->stops, true);
    return !atomic_load(&agent->stops);
}

static struct work *find_work(const struct agent_loop *agent, const struct id *attempt)
{
    for (size_t i = 0; i < agent->work_count; i++) {
        if (str_eq(id_str(&work_attempt(agent->works[i])->id), id_str(attempt)))
            return agent->works[i];
    }
    return NULL;
}

static void collect_finished(struct agent_loop *agent)
{
    for (size_t i = 0; i < agent->work_count;) {
        if (!work_is_finished(agent->works[i])) {
            i++;
            continue;
        }
        work_free(agent->works[i]);
        agent->works[i] = agent->works[--agent->work_count];
    }
}

static void take_offer(struct agent_loop *agent, const struct wire_offer *offer)
{
    struct err err = {0};

    if (find_work(agent, &offer->attempt.id) || agent->work_count == WORKS_MAX)
        return;
    if (work_new(&agent->env, offer, &agent->works[agent->work_count], &err) == OK)
        agent->work_count++;
    else /* not accepted: the server offers it again, here or elsewhere */
        log_error("offer.not_taken", "attempt", offer->attempt.id.text, "error", err.text);
}

static void kill_unknown(struct agent_loop *agent, const struct id *attempt)
{
    const struct executor_port *executor = agent->env.executor;
    struct executor_look look;
    struct err err = {0};

    if (executor->look(executor->ctx, attempt, &look, &err) != OK ||
        look.phase == EXECUTOR_ABSENT || look.phase == EXECUTOR_ENDED)
        return;
    if (executor->kill(executor->ctx, attempt, &err) != OK)
        log_error("attempt.kill", "attempt", attempt->text, "error", err.text);
}

static void obey(struct agent_loop *agent, const struct wire_polled *polled)
{
    agent->heartbeat_ms = polled->heartbeat_ms;
    for (size_t i = 0; i < polled->fenced_count; i++) {
        struct work *work = find_work(agent, &polled->fenced[i]);

        if (work)
            work_fence(work);
        else
            kill_unknown(agent, &polled->fenced[i]);
    }
    for (size_t i = 0; i < polled->stop_count; i++) {
        struct work *work = find_work(agent, &polled->stops[i]);

        if (work)
            work_stop(work);
    }
    for (size_t i = 0; i < polled->offer_count; i++)
        take_offer(agent, &polled->offers[i]);
}

/* The machine, when it changed, and now and then in case a server has lost it. */
static void add_node(const struct agent_loop *agent, int64_t version, struct wire_poll *poll,
                     struct arena *arena)
{
    struct wire_node *node;

    if (!agent->gpus ||
        (version == agent->node_version && clock_mono_ms() - agent->node_at_ms < NODE_EVERY_MS))
        return;
    node = ARENA_NEW(arena, struct wire_node);
    agent_gpus_node(agent->gpus, arena, node);
    poll->node = node;
}

/* What a GPU shares with the machine is not offered twice. */
static void add_gpus(const struct agent_loop *agent, struct wire_poll *poll, struct arena *arena)
{
    struct agent_gpus_offer offer;

    if (agent->executor.port->remote) { /* several machines, of which we are told the sum */
        poll->several = true;
        poll->gpus = agent->options->cluster.gpus;
        poll->gpu_type = str_from(agent->options->cluster.gpu_type);
    }
    if (!agent->gpus)
        return;
    agent_gpus_offer(agent->gpus, &offer);
    poll->gpus = offer.count;
    poll->gpu_type = arena_copy(arena, str_from(offer.type));
    poll->gpu_memory_bytes = offer.memory_bytes;
    poll->memory_bytes -= MIN(offer.host_reserve_bytes, poll->memory_bytes);
}

static void encode_poll(const struct agent_loop *agent, int64_t node_version, struct arena *arena,
                        struct buf *body)
{
    struct wire_attempt *held = arena_array(arena, agent->work_count, sizeof(held[0]));
    struct wire_poll poll = {
        .boot = str_from(agent->boot),
        .version = str_from(agent->options->version),
        .executor = str_from(agent->executor.port->name),
        .slots = agent->options->slots > 0 ? agent->options->slots : agent->cpus,
        .cpus = agent->cpus,
        .memory_bytes = agent->memory_bytes,
        .features = agent->executor.port->features,
        .wait_ms = MIN(agent->heartbeat_ms, POLL_WAIT_MS),
        .attempts = held,
    };
    struct json_writer w;

    for (size_t i = 0; i < agent->work_count; i++) {
        if (!work_is_finished(agent->works[i]))
            held[poll.attempt_count++] = *work_attempt(agent->works[i]);
    }
    add_gpus(agent, &poll, arena);
    add_node(agent, node_version, &poll, arena);
    json_writer_init(&w, body);
    wire_poll_encode(&poll, &w);
}

static enum err_code poll_once(struct agent_loop *agent, struct err *err)
{
    CLEANUP(arena_release) struct arena arena = {0};
    CLEANUP(buf_release) struct buf body = {0};
    CLEANUP(http_client_answer_release) struct http_client_answer answer = {0};
    char path[64];
    struct http_client_request request = {.method = "POST",
                                          .path = path,
                                          .timeout_ms = POLL_WAIT_MS + POLL_SLACK_MS,
                                          .keep_going = keep_polling,
                                          .ctx = agent};
    int64_t node_version = agent->gpus ? agent_gpus_version(agent->gpus) : 0;
    struct wire_polled polled;

    buf_init(&body, POLL_BYTES_MAX);
    encode_poll(agent, node_version, &arena, &body);
    TRY(buf_check(&body, "the list of attempts", err));
    (void)snprintf(path, sizeof(path), "/api/v1/agents/%s/poll", agent->id.text);
    request.body = buf_str(&body);
    TRY(http_client_send(agent->client, &request, &answer, err));
    if (answer.status != 200)
        return http_client_answer_error(&answer, err);
    TRY(wire_polled_decode(&arena, buf_str(&answer.body), &polled, err));
    if (node_version != agent->node_version || clock_mono_ms() - agent->node_at_ms >= NODE_EVERY_MS)
        agent->node_at_ms = clock_mono_ms();
    agent->node_version = node_version;
    obey(agent, &polled);
    return OK;
}

/* Who this key says we are. */
static enum err_code learn_name(struct agent_loop *agent, struct err *err)
{
    CLEANUP(json_release) json_t *me = NULL;
    const struct agent_options *options = agent->options;
    const char *id, *login, *target;

    TRY(http_client_json(agent->client, "GET", "/api/v1/me", STR(""), &me, err));
    id = json_string_value(json_object_get(me, "agent"));
    login = json_string_value(json_object_get(me, "login"));
    target = json_string_value(json_object_get(me, "target"));
    if (!id || !id_parse(str_from(id), ID_AGENT, &agent->id)) {
        (void)err_set(err, ERR_FORBIDDEN, "the key is not an agent's");
        err_hint(err, "euvyra agents add prints one into a file");
        return ERR_FORBIDDEN;
    }
    if (options->name && login && strcmp(options->name, login) != 0)
        return err_set(err, ERR_CONFLICT, "the key belongs to agent \"%.60s\", not \"%.60s\"",
                       login, options->name);
    if (options->target && target && strcmp(options->target, target) != 0)
        return err_set(err, ERR_CONFLICT, "agent \"%.60s\" is at target \"%.60s\", not \"%.60s\"",
                       login ? login : "", target, options->target);
    log_info("agent.ready", "agent", login ? login : id, "target", target ? target : "-");
    return OK;
}

/* Errors after which waiting does not help. */
static bool is_final(enum err_code code)
{
    return code == ERR_UPGRADE || code == ERR_FORBIDDEN || code == ERR_UNAUTHENTICATED ||
           code == ERR_CONFLICT;
}

/* Waits before the next try; a signal ends the wait. */
static void back_off(struct agent_loop *agent, int64_t *backoff_ms, const char *what,
                     const struct err *err)
{
    int64_t jitter;

    if (atomic_load(&agent->stops))
        return;
    if (*backoff_ms == 0)
        log_warn("server.away", "step", what, "error", err->text);
    *backoff_ms = MIN(MAX(*backoff_ms * 2, BACKOFF_MS_MIN), BACKOFF_MS_MAX);
    jitter = (int64_t)(random_u64() % (uint64_t)(*backoff_ms / 2));
    if (signals_wait(agent->options->signal_fd, *backoff_ms / 2 + jitter) != 0)
        atomic_store(&agent->stops, true);
}

/* Retries while the server is away; works taken up before go on meanwhile. */
static enum err_code introduce(struct agent_loop *agent, struct err *err)
{
    int64_t backoff_ms = 0;

    while (!atomic_load(&agent->stops)) {
        enum err_code code = learn_name(agent, err);

        if (code == OK || is_final(code))
            return code;
        back_off(agent, &backoff_ms, "me", err);
    }
    return OK;
}

static enum err_code start_report(struct agent_loop *agent, struct err *err)
{
    struct node_report_options options = {.client = client_options(agent->options),
                                          .gpus = agent->gpus,
                                          .agent = agent->id,
                                          .boot = agent->boot,
                                          .agent_stops = &agent->stops};

    return node_report_new(&agent->report, &options, err);
}

static enum err_code serve(struct agent_loop *agent, struct err *err)
{
    int64_t backoff_ms = 0;

    TRY(introduce(agent, err));
    if (agent->gpus && !atomic_load(&agent->stops))
        TRY(start_report(agent, err));
    while (keep_polling(agent)) {
        enum err_code code;

        collect_finished(agent);
        code = poll_once(agent, err);
        if (code == ERR_UPGRADE)
            return code;
        if (code != OK)
            back_off(agent, &backoff_ms, "poll", err);
        else if (backoff_ms > 0)
            log_info("server.back");
        backoff_ms = code == OK ? 0 : backoff_ms;
    }
    return OK;
}

static void take_up(struct agent_loop *agent)
{
    const struct executor_port *executor = agent->env.executor;
    struct id *found = mem_array(WORKS_MAX, sizeof(found[0]));
    size_t count = executor->list(executor->ctx, found, WORKS_MAX);

    for (size_t i = 0; i < count; i++) {
        struct err err = {0};

        if (work_resume(&agent->env, &found[i], &agent->works[agent->work_count], &err) == OK) {
            agent->work_count++;
            log_info("attempt.taken_up", "attempt", found[i].text);
            continue;
        }
        log_warn("attempt.unreadable", "attempt", found[i].text, "error", err.text);
        kill_unknown(agent, &found[i]);
        /* Nothing was accepted without an offer on disk; what runs is removed by the next start. */
        struct executor_look look;

        if (executor->look(executor->ctx, &found[i], &look, &err) == OK &&
            (look.phase == EXECUTOR_ABSENT || look.phase == EXECUTOR_ENDED))
            (void)executor->remove(executor->ctx, &found[i], &err); /* tried again then */
    }
    mem_free(found);
}

static enum err_code agent_open(struct agent_loop *agent, struct err *err)
{
    const struct agent_options *options = agent->options;
    struct http_client_options client = client_options(options);
    struct agent_gpus_options gpus = {
        .nvml_path = options->nvml, .dir = options->dir, .period_ms = options->readings_ms};
    struct id boot = random_id(ID_AGENT);

    memcpy(agent->boot, boot.text + 1, WIRE_BOOT_LEN);
    agent->heartbeat_ms = POLL_WAIT_MS;
    agent->cpus = MAX(sysconf(_SC_NPROCESSORS_ONLN), 1);
    agent->memory_bytes = (int64_t)sysconf(_SC_PHYS_PAGES) * sysconf(_SC_PAGE_SIZE);
    TRY(http_client_new(&agent->client, &client, err));
    TRY(agent_executor_open(options, agent->root, &agent->executor, err));
    if (options->cluster.cpus)
        agent->cpus = options->cluster.cpus;
    if (options->cluster.memory_bytes)
        agent->memory_bytes = options->cluster.memory_bytes;
    if (!agent->executor.port->remote)
        TRY(agent_gpus_new(&agent->gpus, &gpus, err));
    agent->works = mem_array(WORKS_MAX, sizeof(agent->works[0]));
    agent->env = (struct work_env){.options = options,
                                   .executor = agent->executor.port,
                                   .gpus = agent->gpus,
                                   .unsent_dir = agent->unsent,
                                   .agent_stops = &agent->stops};
    return OK;
}

static void agent_close(struct agent_loop *agent)
{
    atomic_store(&agent->stops, true);
    for (size_t i = 0; i < agent->work_count; i++)
        work_wake(agent->works[i]);
    for (size_t i = 0; i < agent->work_count; i++)
        work_free(agent->works[i]);
    mem_free(agent->works);
    node_report_free(agent->report);
    agent_gpus_free(agent->gpus);
    agent_executor_close(&agent->executor);
    http_client_free(agent->client);
}

enum err_code agent_run(const struct agent_options *options, struct err *err)
{
    struct agent_loop agent = {.options = options};
    char lock_path[PATH_BYTES];
    CLEANUP(file_close) int lock_fd = -1;
    enum err_code code;

    if ((size_t)snprintf(agent.root, sizeof(agent.root), "%s/attempts", options->dir) >=
        sizeof(agent.root) - 64)
        return err_set(err, ERR_INVALID, "the path of the folder is too long");
    (void)snprintf(agent.unsent, sizeof(agent.unsent), "%s/unsent", options->dir);
    (void)snprintf(lock_path, sizeof(lock_path), "%s/lock", options->dir);
    TRY(file_make_dirs(options->dir, options->set_user ? 0711 : 0700, err));
    code = file_lock(lock_path, &lock_fd, err);
    if (code == ERR_CONFLICT)
        return err_set(err, code, "another agent runs in %s", options->dir);
    TRY(code);
    code = agent_open(&agent, err);
    if (code == OK) {
        take_up(&agent);
        code = serve(&agent, err);
    }
    agent_close(&agent);
    return code;
}
