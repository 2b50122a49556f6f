/* The table of executors. */
#include "agent/executors.h"

#include "base/log.h"
#include "drivers/executor/docker/docker_executor.h"
#include "drivers/executor/kubernetes/kubernetes_executor.h"
#include "drivers/executor/process/process_executor.h"

static void release_process(void *own)
{
    process_executor_free(own);
}

static enum err_code open_process(const struct agent_options *options, const char *root,
                                  struct agent_executor *ret_executor, struct err *err)
{
    struct process_executor_options own = {.root = root,
                                           .program = options->program,
                                           .set_user = options->set_user,
                                           .uid = options->uid,
                                           .gid = options->gid};
    struct process_executor *executor = NULL;

    TRY(process_executor_new(&executor, &own, err));
    *ret_executor = (struct agent_executor){
        .port = process_executor_port(executor), .own = executor, .release = release_process};
    return OK;
}

static void release_docker(void *own)
{
    docker_executor_free(own);
}

static bool is_loopback(const char *server)
{
    static const char *const loopback[] = {"//127.", "//localhost", "//[::1]"};

    for (size_t i = 0; i < ARRAY_LEN(loopback); i++) {
        if (strstr(server, loopback[i]))
            return true;
    }
    return false;
}

/* A container has a loopback of its own. */
static void note_server(const struct agent_options *options)
{
    const char *server = options->server_for_jobs ? options->server_for_jobs : options->server;

    if (is_loopback(server))
        log_warn("server.not_for_containers", "server", server, "meaning",
                 "jobs cannot reach it: what they log comes when they have ended", "help",
                 "--server-for-jobs names the server as containers reach it");
}

static enum err_code open_docker(const struct agent_options *options, const char *root,
                                 struct agent_executor *ret_executor, struct err *err)
{
    struct docker_executor_options own = {.root = root,
                                          .socket = options->docker_socket,
                                          .set_user = options->set_user,
                                          .uid = options->uid,
                                          .gid = options->gid,
                                          .allow_old_runc = options->allow_old_runc,
                                          .patience_ms = options->pull_patience_ms,
                                          .nodes_network = options->nodes_network};
    struct docker_executor *executor = NULL;

    TRY(docker_executor_new(&executor, &own, err));
    note_server(options);
    *ret_executor = (struct agent_executor){
        .port = docker_executor_port(executor), .own = executor, .release = release_docker};
    return OK;
}

static void release_kubernetes(void *own)
{
    kubernetes_executor_free(own);
}

/* A pod has a loopback of its own, and a key goes nowhere else without TLS: without a way to the
 * server its job has no code and leaves no record. */
static enum err_code check_way_from_pods(const struct agent_options *options, struct err *err)
{
    const char *server = options->server_for_jobs ? options->server_for_jobs : options->server;

    if (strncmp(server, "https://", 8) == 0 && !is_loopback(server))
        return OK;
    (void)err_set(err, ERR_INVALID, "pods do not reach the server at %.200s", server);
    err_hint(err, "--server-for-jobs names it as pods reach it: https, and no loopback address");
    return ERR_INVALID;
}

static enum err_code open_kubernetes(const struct agent_options *options, const char *root,
                                     struct agent_executor *ret_executor, struct err *err)
{
    struct kubernetes_executor_options own = {.root = root,
                                              .kubeconfig = options->cluster.kubeconfig,
                                              .space = options->cluster.space,
                                              .tools_image = options->cluster.tools_image,
                                              .uid = options->cluster.pod_user};
    struct kubernetes_executor *executor = NULL;

    TRY(check_way_from_pods(options, err));
    TRY(kubernetes_executor_new(&executor, &own, err));
    *ret_executor = (struct agent_executor){
        .port = kubernetes_executor_port(executor), .own = executor, .release = release_kubernetes};
    return OK;
}

static const struct {
    const char *name;
    enum err_code (*open)(const struct agent_options *options, const char *root,
                          struct agent_executor *ret_executor, struct err *err);
} executors[] = {
    {"docker", open_docker},
    {"kubernetes", open_kubernetes},
    {"process", open_process},
};

enum err_code agent_executor_open(const struct agent_options *options, const char *root,
                                  struct agent_executor *ret_executor, struct err *err)
{
    for (size_t i = 0; i < ARRAY_LEN(executors); i++)
        if (strcmp(executors[i].name, options->executor) == 0)
            return executors[i].open(options, root, ret_executor, err);
    return err_set(err, ERR_INVALID, "--executor is %s, not \"%.40s\"", agent_executor_names(),
                   options->executor);
}

void agent_executor_close(struct agent_executor *executor)
{
    if (executor->release)
        executor->release(executor->own);
    *executor = (struct agent_executor){0};
}

const char *agent_executor_names(void)
{
    return "docker, kubernetes or process";
}
