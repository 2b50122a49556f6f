/* Agents and leases. */
#include "domain/targets/targets.h"

#include "domain/audit/audit.h"
#include "store/store_agent.h"
#include "store/store_identity.h"
#include "wire/agent_messages.h"

#include <stdio.h>

/* So exactly is written down when an agent was heard; finer where the term is short. */
#define SEEN_MS 2000

/* A process that calls again after another one did has come back, which one that was started anew
 * never does; a call that has waited here meanwhile is no new one. So often within so long is no
 * late message any more. */
#define RETURNS_MAX 3
#define RETURNS_MS  600000

struct lease {
    int64_t heard_mono_ms;
    time_ms seen; /* of its row, when it was looked at last */
    struct {
        char boots[2][WIRE_BOOT_LEN + 1]; /* the last two processes that called here */
        int newest, returns;
        int64_t since_mono_ms;    /* of the first of these returns */
        int64_t switched_mono_ms; /* when another process called than before; 0: never */
    } calls;
};

void lease_table_init(struct lease_table *table, int64_t mono_ms)
{
    map_init(&table->by_agent, AGENTS_MAX);
    table->arena = (struct arena){0};
    table->started_mono_ms = mono_ms;
}

void lease_table_release(struct lease_table *table)
{
    map_release(&table->by_agent);
    arena_release(&table->arena);
}

int64_t lease_silent_ms(struct cmd *cmd, const struct id *agent)
{
    struct lease_table *table = &cmd->domain->leases;
    const struct lease *lease = map_get(&table->by_agent, id_str(agent));

    return cmd->mono_ms - (lease ? lease->heard_mono_ms : table->started_mono_ms);
}

static struct lease *lease_of(struct cmd *cmd, const struct id *agent)
{
    struct lease_table *table = &cmd->domain->leases;
    struct lease *lease = map_get(&table->by_agent, id_str(agent));

    if (lease)
        return lease;
    lease = ARENA_NEW(&table->arena, struct lease);
    *lease = (struct lease){.heard_mono_ms = table->started_mono_ms, .seen = TIME_NONE};
    (void)map_put(&table->by_agent, id_str(agent), lease); /* full: treated as just started */
    return lease;
}

void lease_renew(struct cmd *cmd, const struct id *agent)
{
    struct lease *lease = lease_of(cmd, agent);

    lease->heard_mono_ms = cmd->mono_ms;
    lease->seen = cmd->now;
}

void lease_observe(struct cmd *cmd, const struct agent *agent)
{
    struct lease *lease = lease_of(cmd, &agent->public_id);

    if (lease->seen != TIME_NONE && lease->seen != agent->seen)
        lease->heard_mono_ms = cmd->mono_ms;
    lease->seen = agent->seen;
}

enum err_code agents_create(struct cmd *cmd, const struct id *id, struct str name,
                            struct str target_name, struct agent *ret_agent, bool *ret_created,
                            struct err *err)
{
    struct target target;
    struct agent agent;
    enum err_code code;

    if (store_agent_get(cmd->store, id, cmd->arena, &agent, NULL) == OK) {
        if (!str_eq(agent.name, name) || !str_eq(agent.target_name, target_name))
            return err_set(err, ERR_CONFLICT, "agent %s exists with another name or target",
                           id->text);
        *ret_agent = agent;
        *ret_created = false;
        return OK;
    }
    TRY(store_target_get(cmd->store, target_name, cmd->arena, &target, err));
    agent = (struct agent){
        .public_id = *id,
        .name = name,
        .target = target.id,
        .created = cmd->now,
    };
    code = store_agent_insert(cmd->store, &agent, err);
    if (code != OK && code != ERR_CONFLICT)
        return code;
    if (code == ERR_CONFLICT)
        return err_set_field(err, ERR_CONFLICT, "name", "there is an agent \"%.*s\" already",
                             STR_ARG(name));
    TRY(store_agent_get(cmd->store, id, cmd->arena, ret_agent, err));
    *ret_created = true;
    cmd_notice(cmd, NOTICE_AGENT, (project_id){0}, STR(""), id);
    return audit_add(cmd, name, STR("agent registered"), err);
}

enum err_code agents_get(struct cmd *cmd, const struct id *id, struct agent *ret_agent,
                         struct err *err)
{
    struct agent *all;
    size_t count = 0;

    TRY(store_agent_get(cmd->store, id, cmd->arena, ret_agent, err));
    TRY(store_agent_list(cmd->store, (agent_id){ret_agent->id.v - 1}, 1, cmd->arena, &all, &count,
                         err));
    if (count == 1 && all[0].id.v == ret_agent->id.v)
        *ret_agent = all[0]; /* with what it uses */
    return OK;
}

enum err_code agents_of_target(struct cmd *cmd, target_id target, int64_t after,
                               struct agent **ret_agents, size_t *ret_count, struct err *err)
{
    return store_agent_list_of_target(cmd->store, target, (agent_id){after}, cmd->arena, ret_agents,
                                      ret_count, err);
}

static enum err_code maintain(struct cmd *cmd, const struct agent *agent, const char *detail,
                              struct err *err)
{
    TRY(store_agent_maintain(cmd->store, agent, err));
    cmd->wake_scheduler = true;
    cmd_notice(cmd, NOTICE_AGENT, (project_id){0}, STR(""), &agent->public_id);
    return audit_add(cmd, agent->name, str_from(detail), err);
}

enum err_code agents_maintenance(struct cmd *cmd, const struct id *id, struct str reason,
                                 time_ms until, struct err *err)
{
    char text[TIME_TEXT_BYTES] = "open end";
    struct agent agent;

    if (until != TIME_NONE && until <= cmd->now)
        return err_set_field(err, ERR_UNPROCESSABLE, "until",
                             "the end of a maintenance lies in the future");
    if (until != TIME_NONE)
        time_format(until, text);
    TRY(store_agent_get(cmd->store, id, cmd->arena, &agent, err));
    agent.maintenance = true;
    agent.maintenance_reason = reason;
    agent.maintenance_until = until;
    return maintain(cmd, &agent,
                    arena_printf(cmd->arena, "maintenance (%s): %.*s", text, STR_ARG(reason)), err);
}

enum err_code agents_maintenance_end(struct cmd *cmd, const struct id *id, struct err *err)
{
    struct agent agent;

    TRY(store_agent_get(cmd->store, id, cmd->arena, &agent, err));
    if (!agent.maintenance)
        return OK;
    agent.maintenance = false;
    agent.maintenance_until = TIME_NONE;
    return maintain(cmd, &agent, "maintenance ended", err);
}

enum err_code agents_list(struct cmd *cmd, int64_t after, int limit, struct agent **ret_agents,
                          size_t *ret_count, struct err *err)
{
    return store_agent_list(cmd->store, (agent_id){after}, limit, cmd->arena, ret_agents, ret_count,
                            err);
}

const char *agents_state(const struct cmd *cmd, const struct agent *agent)
{
    if (agent->conflict != TIME_NONE)
        return "conflict";
    if (agent->seen == TIME_NONE)
        return "new";
    return cmd->now - agent->seen > cmd->domain->config.agent_silent_ms ? "unreachable" : "online";
}

enum err_code agents_delete(struct cmd *cmd, const struct id *id, struct err *err)
{
    struct agent *agents;
    struct agent agent;
    size_t count = 0;

    TRY(store_agent_get(cmd->store, id, cmd->arena, &agent, err));
    TRY(store_agent_list(cmd->store, (agent_id){agent.id.v - 1}, 1, cmd->arena, &agents, &count,
                         err));
    if (count == 1 && agents[0].id.v == agent.id.v && agents[0].running > 0)
        return err_set(err, ERR_CONFLICT, "agent \"%.*s\" still holds %lld jobs",
                       STR_ARG(agent.name), (long long)agents[0].running);
    TRY(store_key_revoke_by_agent(cmd->store, agent.id, cmd->now, err));
    TRY(store_agent_remove(cmd->store, &agent, cmd->now, err));
    cmd_notice(cmd, NOTICE_AGENT, (project_id){0}, STR(""), id);
    return audit_add(cmd, agent.name, STR("agent removed"), err);
}

enum err_code agents_require_own(struct cmd *cmd, const struct id *id, struct err *err)
{
    struct agent agent;

    TRY(store_agent_get(cmd->store, id, cmd->arena, &agent, err));
    if (agent.id.v != cmd->who->agent.v)
        return err_set(err, ERR_FORBIDDEN, "this key belongs to another agent");
    return OK;
}

static bool differs(const struct agent *a, const struct agent *b)
{
    return !str_eq(a->boot, b->boot) || !str_eq(a->version, b->version) ||
           !str_eq(a->executor, b->executor) || !str_eq(a->gpu_type, b->gpu_type) ||
           a->slots != b->slots || a->cpus != b->cpus || a->gpus != b->gpus ||
           a->memory_bytes != b->memory_bytes || a->gpu_memory_bytes != b->gpu_memory_bytes ||
           a->several != b->several || a->features != b->features;
}

/* Another process than `before` calls. True: it and another one take turns. */
static bool takes_turns(struct lease *lease, struct str boot, struct str before, int64_t mono_ms)
{
    bool came_back = str_eq_c(boot, lease->calls.boots[0]) || str_eq_c(boot, lease->calls.boots[1]);

    if (!came_back) {
        lease->calls.newest = !lease->calls.newest;
        (void)snprintf(lease->calls.boots[lease->calls.newest], WIRE_BOOT_LEN + 1, "%.*s",
                       STR_ARG(boot));
    }
    if (!before.len || str_eq(boot, before))
        return false;
    lease->calls.switched_mono_ms = mono_ms;
    if (!came_back)
        return false;
    if (lease->calls.returns == 0 || mono_ms - lease->calls.since_mono_ms > RETURNS_MS) {
        lease->calls.returns = 0;
        lease->calls.since_mono_ms = mono_ms;
    }
    return ++lease->calls.returns >= RETURNS_MAX;
}

bool agents_settled(struct cmd *cmd, const struct id *agent)
{
    const struct domain_config *config = &cmd->domain->config;
    int64_t switched = lease_of(cmd, agent)->calls.switched_mono_ms;

    return switched == 0 ||
           cmd->mono_ms - switched > MIN(2 * config->heartbeat_ms, config->lost_after_ms / 4);
}

static enum err_code begin_conflict(struct cmd *cmd, const struct agent *agent, struct str name,
                                    struct err *err)
{
    TRY(store_agent_conflict_set(cmd->store, agent->id, cmd->now, err));
    cmd->wake_scheduler = true;
    cmd_notice(cmd, NOTICE_AGENT, (project_id){0}, STR(""), &agent->public_id);
    return audit_add(cmd, name, STR("two machines call with its key: nothing new starts there"),
                     err);
}

enum err_code agents_called(struct cmd *cmd, struct agent *agent, enum agent_call *ret_call,
                            struct err *err)
{
    struct agent before;
    int64_t silent = lease_silent_ms(cmd, &agent->public_id);
    bool changed, cloned;

    TRY(store_agent_by_id(cmd->store, agent->id, cmd->arena, &before, err));
    agent->name = before.name;
    if (cmd->woken && !str_eq(agent->boot, before.boot)) {
        *ret_call = AGENT_CALL_PAST; /* of a process that has ended since, most likely */
        return OK;
    }
    cloned = takes_turns(lease_of(cmd, &agent->public_id), agent->boot, before.boot, cmd->mono_ms);
    *ret_call = cloned || before.conflict != TIME_NONE ? AGENT_CALL_CONFLICT : AGENT_CALL_TAKEN;
    if (cloned && before.conflict == TIME_NONE)
        TRY(begin_conflict(cmd, agent, before.name, err));
    lease_renew(cmd, &agent->public_id);
    changed = before.seen == TIME_NONE || differs(&before, agent);
    agent->seen = cmd->now;
    if (!changed && cmd->now >= before.seen &&
        cmd->now - before.seen < MIN(SEEN_MS, cmd->domain->config.lost_after_ms / 4))
        return OK;
    TRY(store_agent_seen(cmd->store, agent, err));
    if (changed || silent > cmd->domain->config.agent_silent_ms) {
        cmd->wake_scheduler = true;
        cmd->domain->fleet.known = false;
        cmd_notice(cmd, NOTICE_AGENT, (project_id){0}, STR(""), &agent->public_id);
    }
    return OK;
}

enum err_code agents_clear(struct cmd *cmd, const struct id *id, struct agent *ret_agent,
                           struct err *err)
{
    struct lease *lease;

    TRY(store_agent_get(cmd->store, id, cmd->arena, ret_agent, err));
    lease = lease_of(cmd, id);
    memset(&lease->calls, 0, sizeof lease->calls);
    if (ret_agent->conflict == TIME_NONE)
        return OK;
    ret_agent->conflict = TIME_NONE;
    TRY(store_agent_conflict_set(cmd->store, ret_agent->id, TIME_NONE, err));
    cmd->wake_scheduler = true;
    cmd_notice(cmd, NOTICE_AGENT, (project_id){0}, STR(""), id);
    return audit_add(cmd, ret_agent->name, STR("conflict cleared"), err);
}
