/* The table of executors. */
#include "agent/executors.h"

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

static const struct {
    const char *name;
    enum err_code (*open)(const struct agent_options *options, const char *root,
                          struct agent_executor *ret_executor, struct err *err);
} executors[] = {
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
    return "process";
}
