/* euvyra agents show, maintenance, service, clear: the machines that run jobs. */
#include "cli/cli.h"

#include <stdio.h>

static enum err_code find_agent(struct cli *cli, const char *name, const char **ret_id,
                                struct err *err)
{
    CLEANUP(json_release) json_t *agents = NULL;
    json_t *agent;
    size_t i;

    TRY(cli_list(cli, "/api/v1/agents", 10000, &agents, err));
    json_array_foreach(agents, i, agent)
    {
        if (str_eq_c(str_from(name), cli_get(agent, "name"))) {
            *ret_id = arena_text(&cli->arena, str_from(cli_get(agent, "id")));
            return OK;
        }
    }
    return err_set(err, ERR_NOT_FOUND, "there is no agent \"%s\"", name);
}

/* Calls METHOD /api/v1/agents/ID/REST about the agent that is named. */
static enum err_code call_agent(struct cli *cli, const char *method, const char *rest, json_t *body,
                                json_t **ret_answer, struct err *err)
{
    const char *id = "";

    TRY(find_agent(cli, cli->args[0], &id, err));
    return cli_call(cli, method, arena_printf(&cli->arena, "/api/v1/agents/%s%s", id, rest), body,
                    ret_answer, err);
}

static void say(struct cli *cli, const json_t *answer, const char *before, const char *after)
{
    if (cli_flag(cli, "json"))
        cli_print_json(answer);
    else
        printf("%s %s %s\n", before, cli->args[0], after);
}

enum err_code cmd_agents_clear(struct cli *cli, int *ret_exit, struct err *err)
{
    CLEANUP(json_release) json_t *cleared = NULL;

    (void)ret_exit;
    TRY(call_agent(cli, "POST", "/clear", NULL, &cleared, err));
    say(cli, cleared, "jobs start at agent", "again");
    return OK;
}

enum err_code cmd_agents_maintenance(struct cli *cli, int *ret_exit, struct err *err)
{
    CLEANUP(json_release) json_t *body = json_object();
    CLEANUP(json_release) json_t *node = NULL;
    const char *reason = cli_text(cli, "reason");

    (void)ret_exit;
    if (!reason)
        return err_set(err, ERR_INVALID, "--reason is needed: people see it while they wait");
    (void)json_object_set_new(body, "reason", json_string(reason));
    if (cli_text(cli, "until"))
        (void)json_object_set_new(body, "until", json_string(cli_text(cli, "until")));
    TRY(call_agent(cli, "PUT", "/maintenance", body, &node, err));
    say(cli, node, "agent", "is in maintenance");
    return OK;
}

enum err_code cmd_agents_service(struct cli *cli, int *ret_exit, struct err *err)
{
    CLEANUP(json_release) json_t *node = NULL;

    (void)ret_exit;
    TRY(call_agent(cli, "DELETE", "/maintenance", NULL, &node, err));
    say(cli, node, "agent", "is in service");
    return OK;
}

static const char *state_of(struct cli *cli, const json_t *gpu)
{
    if (*cli_get(gpu, "ill"))
        return arena_printf(&cli->arena, "ill: %s", cli_get(gpu, "ill"));
    if (*cli_get(gpu, "used_by"))
        return arena_printf(&cli->arena, "used by %s", cli_get(gpu, "used_by"));
    if (json_is_true(json_object_get(gpu, "mig")))
        return "cut into instances (MIG)";
    return "well";
}

/* "37 %" of a reading; "-" when it is not known. */
static const char *reading(struct cli *cli, const json_t *gpu, const char *name, const char *unit)
{
    const json_t *value = json_object_get(json_object_get(gpu, "now"), name);

    if (!json_is_number(value))
        return "-";
    return arena_printf(&cli->arena, "%.0f %s", json_number_value(value), unit);
}

static void print_gpus(struct cli *cli, const json_t *node)
{
    static const char *const heads[] = {"GPU", "TYPE", "BUSY", "TEMPERATURE", "POWER", "STATE"};
    json_t *gpus = json_object_get(node, "gpus"), *gpu;
    struct table table;
    size_t i;

    table_init(&table, &cli->arena, heads, ARRAY_LEN(heads));
    json_array_foreach(gpus, i, gpu)
    {
        table_add(&table, cli_value(cli, json_object_get(gpu, "place")));
        table_add(&table, cli_get(gpu, "type"));
        table_add(&table, reading(cli, gpu, "percent", "%"));
        table_add(&table, reading(cli, gpu, "celsius", "C"));
        table_add(&table, reading(cli, gpu, "watts", "W"));
        table_add(&table, state_of(cli, gpu));
    }
    if (json_array_size(gpus))
        table_print(&table);
}

enum err_code cmd_agents_show(struct cli *cli, int *ret_exit, struct err *err)
{
    CLEANUP(json_release) json_t *node = NULL;
    const json_t *machine, *maintenance;

    (void)ret_exit;
    TRY(call_agent(cli, "GET", "", NULL, &node, err));
    if (cli_flag(cli, "json")) {
        cli_print_json(node);
        return OK;
    }
    machine = json_object_get(node, "machine");
    maintenance = json_object_get(node, "maintenance");
    printf("agent     %s (%s) at target %s\n", cli_get(node, "name"), cli_get(node, "state"),
           cli_get(node, "target"));
    printf("machine   %s, %s\n", cli_get(machine, "os"), cli_get(machine, "cpu_model"));
    if (*cli_get(machine, "driver"))
        printf("driver    %s, CUDA %s\n", cli_get(machine, "driver"), cli_get(machine, "cuda"));
    if (json_is_object(maintenance))
        printf("rests     %s%s%s\n", cli_get(maintenance, "reason"),
               *cli_get(maintenance, "until") ? " until " : "", cli_get(maintenance, "until"));
    printf("jobs      %zu\n", json_array_size(json_object_get(node, "jobs")));
    print_gpus(cli, node);
    return OK;
}
