/* Building a job's environment. */
#include "agent/job_env.h"

/* What a job may inherit from the agent. */
static const char *const inherited[] = {
    "PATH",        "HOME",        "USER",     "LOGNAME",  "LANG",       "LC_ALL",     "TZ",
    "HTTPS_PROXY", "https_proxy", "NO_PROXY", "no_proxy", "HTTP_PROXY", "http_proxy",
};

struct env_list {
    struct arena *arena;
    const char **items;
    size_t count, max;
};

static bool same_name(const char *entry, const char *name, size_t name_len)
{
    return strncmp(entry, name, name_len) == 0 && entry[name_len] == '=';
}

/* Adds "NAME=value", or replaces what has that name. */
static void env_put(struct env_list *list, const char *entry)
{
    const char *equals = strchr(entry, '=');
    size_t name_len;

    ENSURE(equals != NULL);
    name_len = (size_t)(equals - entry);
    for (size_t i = 0; i < list->count; i++) {
        if (same_name(list->items[i], entry, name_len)) {
            list->items[i] = entry;
            return;
        }
    }
    ENSURE(list->count < list->max);
    list->items[list->count++] = entry;
}

static void env_set(struct env_list *list, const char *name, const char *value)
{
    if (value)
        env_put(list, arena_printf(list->arena, "%s=%s", name, value));
}

static void inherit(struct env_list *list, const char *const *agent_env)
{
    for (; *agent_env; agent_env++) {
        for (size_t i = 0; i < ARRAY_LEN(inherited); i++) {
            if (same_name(*agent_env, inherited[i], strlen(inherited[i])))
                env_put(list, *agent_env);
        }
    }
}

/* The names that launchers and trainers use. */
static void set_nodes(struct env_list *list, const struct launch *launch)
{
    if (!launch)
        return;
    env_set(list, "NNODES", arena_printf(list->arena, "%lld", (long long)launch->nodes));
    env_set(list, "NODE_RANK", arena_printf(list->arena, "%lld", (long long)launch->rank));
    if (!launch->master_addr)
        return;
    env_set(list, "MASTER_ADDR", launch->master_addr);
    env_set(list, "MASTER_PORT", arena_printf(list->arena, "%lld", (long long)launch->master_port));
}

const char *const *job_env_build(struct arena *arena, const struct wire_offer *offer,
                                 const struct job_env_facts *facts)
{
    struct env_list list = {.arena = arena, .max = ARRAY_LEN(inherited) + WIRE_OFFER_ENV_MAX + 32};

    list.items = arena_array(arena, list.max + 1, sizeof(list.items[0]));
    if (facts->agent_env) {
        env_set(&list, "PATH", "/usr/local/bin:/usr/bin:/bin"); /* if we have none */
        inherit(&list, facts->agent_env);
    }
    env_set(&list, "HOME", facts->user_home);
    env_set(&list, "USER", facts->user_name);
    env_set(&list, "LOGNAME", facts->user_name);
    env_set(&list, "PYTHONUNBUFFERED", "1"); /* else prints arrive at the end */
    for (const char *const *entry = offer->env; *entry; entry++)
        env_put(&list, *entry);
    env_set(&list, "CUDA_VISIBLE_DEVICES", facts->gpus);
    set_nodes(&list, facts->launch);
    env_set(&list, "EUVYRA_SERVER", facts->server);
    env_set(&list, "EUVYRA_API_KEY_FILE", facts->key_file);
    env_set(&list, "EUVYRA_CA", facts->ca_file);
    env_set(&list, "EUVYRA_BIN", facts->euvyra);
    env_set(&list, "EUVYRA_DIR", facts->runs_dir);
    env_set(&list, "EUVYRA_PROJECT", arena_text(arena, offer->project));
    env_set(&list, "EUVYRA_RUN", offer->run.text);
    env_set(&list, "EUVYRA_JOB", offer->job.text);
    env_set(&list, "EUVYRA_ATTEMPT", offer->attempt.id.text);
    env_set(&list, "EUVYRA_CONFIG_FILE", facts->config_file);
    if (facts->port)
        env_set(&list, "EUVYRA_PORT", arena_printf(arena, "%lld", (long long)facts->port));
    if (offer->config.len <= JOB_ENV_CONFIG_BYTES_MAX)
        env_set(&list, "EUVYRA_CONFIG", arena_text(arena, offer->config));
    return list.items;
}
