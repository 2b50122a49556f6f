/* Targets: prices over time, maintenance, what jobs there get. */
#include "domain/targets/targets.h"

#include "base/json.h"
#include "domain/audit/audit.h"
#include "domain/projects/projects.h"
#include "store/store_agent.h"

#include <inttypes.h>

static void add_agents(struct target *target, const struct agent *agents, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (agents[i].target.v != target->id.v)
            continue;
        target->agent_count++;
        target->cpus_total += agents[i].cpus;
        target->cpus_used += agents[i].cpus_used;
        target->gpus_total += agents[i].gpus;
        target->gpus_used += agents[i].gpus_used;
    }
}

static enum err_code add_sums(struct cmd *cmd, struct target *targets, size_t count,
                              struct err *err)
{
    struct agent *agents;
    size_t agent_count = 0;

    TRY(store_agent_list(cmd->store, (agent_id){0}, AGENTS_MAX, cmd->arena, &agents, &agent_count,
                         err));
    for (size_t i = 0; i < count; i++)
        add_agents(&targets[i], agents, agent_count);
    return OK;
}

enum err_code targets_get(struct cmd *cmd, struct str name, struct target *ret_target,
                          struct err *err)
{
    TRY(store_target_get(cmd->store, name, cmd->arena, ret_target, err));
    return add_sums(cmd, ret_target, 1, err);
}

enum err_code targets_list(struct cmd *cmd, struct str after, int limit,
                           struct target **ret_targets, size_t *ret_count, struct err *err)
{
    TRY(store_target_list(cmd->store, after, limit, cmd->arena, ret_targets, ret_count, err));
    return add_sums(cmd, *ret_targets, *ret_count, err);
}

static void apply(const struct target_spec *spec, struct target *t)
{
    if (spec->price_hour_micro >= 0)
        t->price_hour_micro = spec->price_hour_micro;
    if (spec->price_gpu_hour_micro >= 0)
        t->price_gpu_hour_micro = spec->price_gpu_hour_micro;
    if (spec->spot >= 0)
        t->spot = spec->spot != 0;
    t->labels = spec->labels.data ? spec->labels : t->labels;
    t->excluded = spec->excluded.data ? spec->excluded : t->excluded;
    t->tolerations = spec->tolerations.data ? spec->tolerations : t->tolerations;
    t->settings = spec->settings.data ? spec->settings : t->settings;
    t->volumes = spec->volumes.data ? spec->volumes : t->volumes;
    t->buckets = spec->buckets.data ? spec->buckets : t->buckets;
}

/* Settings may hold what is nobody's business in an audit row: it tells that they changed. */
static enum err_code say(struct cmd *cmd, const struct target *t, const struct target_spec *spec,
                         struct err *err)
{
    const char *detail = arena_printf(
        cmd->arena, "hour %" PRIi64 ", GPU hour %" PRIi64 " (micro)%s%s%s%s%s%s%s",
        t->price_hour_micro, t->price_gpu_hour_micro, t->spot ? ", spot" : "",
        spec->labels.data ? ", labels" : "", spec->excluded.data ? ", excluded agents" : "",
        spec->tolerations.data ? ", tolerations" : "", spec->settings.data ? ", settings" : "",
        spec->volumes.data ? ", volumes" : "", spec->buckets.data ? ", buckets" : "");

    cmd->wake_scheduler = true;
    return audit_add(cmd, t->name, str_from(detail), err);
}

enum err_code targets_set(struct cmd *cmd, struct str name, const struct target_spec *spec,
                          struct target *ret_target, bool *ret_created, struct err *err)
{
    struct target t = {.name = name,
                       .labels = STR("{}"),
                       .excluded = STR("[]"),
                       .tolerations = STR("[]"),
                       .settings = STR("{}"),
                       .volumes = STR("[]"),
                       .buckets = STR("[]"),
                       .maintenance_until = TIME_NONE};
    bool is_new = store_target_get(cmd->store, name, cmd->arena, &t, NULL) != OK;
    struct target_price price = {cmd->now, t.price_hour_micro, t.price_gpu_hour_micro};

    apply(spec, &t);
    TRY(is_new ? store_target_insert(cmd->store, &t, cmd->now, err)
               : store_target_update(cmd->store, &t, err));
    if (is_new || price.price_hour_micro != t.price_hour_micro ||
        price.price_gpu_hour_micro != t.price_gpu_hour_micro) {
        price = (struct target_price){cmd->now, t.price_hour_micro, t.price_gpu_hour_micro};
        TRY(store_target_price_add(cmd->store, t.id, &price, err));
    }
    TRY(say(cmd, &t, spec, err));
    *ret_created = is_new;
    return targets_get(cmd, name, ret_target, err);
}

static const char *count_text(struct cmd *cmd, int64_t count, const char *one, const char *many)
{
    return arena_printf(cmd->arena, "%" PRIi64 " %s", count, count == 1 ? one : many);
}

/* "2 agents, 1 open job, queue "night" and 1 more": NULL when nothing uses it. */
static const char *uses_text(struct cmd *cmd, const struct target_uses *uses)
{
    const char *parts[4] = {0}, *text = NULL;

    if (uses->agents)
        parts[0] = count_text(cmd, uses->agents, "agent", "agents");
    if (uses->open_jobs)
        parts[1] =
            count_text(cmd, uses->open_jobs, "job that has not ended", "jobs that have not ended");
    if (uses->queues)
        parts[2] = arena_printf(cmd->arena, "queue \"%.*s\"%s", STR_ARG(uses->queue),
                                uses->queues > 1 ? " and others" : "");
    if (uses->shares)
        parts[3] = arena_printf(cmd->arena, "the share of \"%.*s\"%s", STR_ARG(uses->share),
                                uses->shares > 1 ? " and others" : "");
    for (size_t i = 0; i < ARRAY_LEN(parts); i++)
        if (parts[i])
            text = text ? arena_printf(cmd->arena, "%s, %s", text, parts[i]) : parts[i];
    return text;
}

enum err_code targets_delete(struct cmd *cmd, struct str name, struct err *err)
{
    struct target_uses uses;
    struct target target;
    const char *text;

    TRY(store_target_get(cmd->store, name, cmd->arena, &target, err));
    TRY(store_target_uses(cmd->store, target.id, cmd->arena, &uses, err));
    text = uses_text(cmd, &uses);
    if (text) {
        (void)err_set(err, ERR_CONFLICT, "target \"%.*s\" is in use by %s", STR_ARG(name), text);
        err_hint(err, "put it into maintenance, so that it starts nothing more, and take these "
                      "away");
        return ERR_CONFLICT;
    }
    TRY(store_target_remove(cmd->store, &target, cmd->now, err));
    cmd->wake_scheduler = true;
    return audit_add(cmd, name, STR("target deleted"), err);
}

static enum err_code maintain(struct cmd *cmd, struct target *target, const char *detail,
                              struct err *err)
{
    TRY(store_target_maintain(cmd->store, target, err));
    TRY(audit_add(cmd, target->name, str_from(detail), err));
    cmd->wake_scheduler = true;
    return add_sums(cmd, target, 1, err);
}

enum err_code targets_maintenance(struct cmd *cmd, struct str name, struct str reason,
                                  time_ms until, struct target *ret_target, struct err *err)
{
    char text[TIME_TEXT_BYTES] = "open end";

    if (until != TIME_NONE && until <= cmd->now)
        return err_set_field(err, ERR_UNPROCESSABLE, "until",
                             "the end of a maintenance lies in "
                             "the future");
    if (until != TIME_NONE)
        time_format(until, text);
    TRY(store_target_get(cmd->store, name, cmd->arena, ret_target, err));
    ret_target->maintenance = true;
    ret_target->maintenance_reason = reason;
    ret_target->maintenance_until = until;
    return maintain(cmd, ret_target,
                    arena_printf(cmd->arena, "maintenance (%s): %.*s", text, STR_ARG(reason)), err);
}

enum err_code targets_maintenance_end(struct cmd *cmd, struct str name, struct target *ret_target,
                                      struct err *err)
{
    TRY(store_target_get(cmd->store, name, cmd->arena, ret_target, err));
    ret_target->maintenance = false;
    ret_target->maintenance_reason = STR("");
    ret_target->maintenance_until = TIME_NONE;
    return maintain(cmd, ret_target, "in service again", err);
}

enum err_code targets_prices(struct cmd *cmd, struct str name, time_ms before, int limit,
                             struct target_price **ret_prices, size_t *ret_count, struct err *err)
{
    struct target target;

    TRY(store_target_get(cmd->store, name, cmd->arena, &target, err));
    return store_target_price_list(cmd->store, target.id, before, limit, cmd->arena, ret_prices,
                                   ret_count, err);
}

enum err_code targets_prices_plan(struct cmd *cmd, struct str name,
                                  const struct target_price *prices, size_t count, struct err *err)
{
    struct target target;
    const char *detail =
        arena_printf(cmd->arena, "%zu %s to come", count, count == 1 ? "price" : "prices");

    TRY(store_target_get(cmd->store, name, cmd->arena, &target, err));
    TRY(store_target_price_forget(cmd->store, target.id, cmd->now, err));
    for (size_t i = 0; i < count; i++) {
        if (prices[i].from <= cmd->now)
            return err_set_field(err, ERR_UNPROCESSABLE, "items",
                                 "\"items\"[%zu] holds from a moment that has passed", i);
        for (size_t j = 0; j < i; j++)
            if (prices[j].from == prices[i].from)
                return err_set_field(err, ERR_UNPROCESSABLE, "items",
                                     "\"items\"[%zu] and [%zu] hold from the same moment", j, i);
        TRY(store_target_price_add(cmd->store, target.id, &prices[i], err));
    }
    return audit_add(cmd, name, str_from(detail), err);
}

enum err_code targets_sweep(struct cmd *cmd, struct err *err)
{
    bool changed = false;

    TRY(store_target_prices_apply(cmd->store, cmd->now, cmd->arena, &changed, err));
    cmd->wake_scheduler |= changed;
    return OK;
}

static enum err_code parse(struct str text, json_t **ret_object, struct err *err)
{
    TRY(json_parse(text, TARGET_SETTINGS_BYTES_MAX, ret_object, err));
    return json_is_object(*ret_object) ? OK : err_set(err, ERR_INTERNAL, "settings are no object");
}

static bool has_path(json_t *volumes, const char *path)
{
    size_t i;
    json_t *volume;

    json_array_foreach(volumes, i,
                       volume) if (strcmp(json_string_value(json_object_get(volume, "path")),
                                          path) == 0) return true;
    return false;
}

/* Puts what `below` has and `over` has not into `over`. */
static void merge(json_t *over, json_t *below)
{
    json_t *env = json_object_get(below, "env"), *volumes = json_object_get(below, "volumes");
    json_t *over_env = json_object_get(over, "env"),
           *over_volumes = json_object_get(over, "volumes");
    size_t i;
    json_t *volume;

    if (env && over_env)
        json_object_update_missing(over_env, env);
    else if (env)
        json_object_set(over, "env", env);
    if (volumes && !over_volumes)
        json_object_set(over, "volumes", volumes);
    else
        json_array_foreach(
            volumes, i,
            volume) if (!has_path(over_volumes, json_string_value(json_object_get(volume, "path"))))
            json_array_append(over_volumes, volume);
}

enum err_code targets_settings(struct cmd *cmd, target_id target_id_, project_id project,
                               struct str *ret_settings, struct err *err)
{
    CLEANUP(json_release) json_t *over = NULL;
    CLEANUP(json_release) json_t *below = NULL;
    CLEANUP(buf_release) struct buf out = {0};
    struct json_writer w;
    struct target target;
    struct str own;

    TRY(store_target_by_id(cmd->store, target_id_, cmd->arena, &target, err));
    TRY(store_target_settings_get(cmd->store, target.id, project, cmd->arena, &own, err));
    TRY(parse(own, &over, err));
    TRY(parse(target.settings, &below, err));
    merge(over, below);
    buf_init(&out, (size_t)4 * TARGET_SETTINGS_BYTES_MAX);
    json_writer_init(&w, &out);
    json_put_value(&w, over);
    *ret_settings = arena_copy(cmd->arena, buf_str(&out));
    return OK;
}

static const json_t *named(const json_t *volumes, const char *name)
{
    size_t i;
    const json_t *volume;

    json_array_foreach(volumes, i,
                       volume) if (strcmp(json_string_value(json_object_get(volume, "name")),
                                          name) == 0) return volume;
    return NULL;
}

static struct str member_text(struct arena *arena, const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));

    return text ? arena_copy(arena, str_from(text)) : STR("");
}

/* `use` is how it is named by who uses it, `volume` what the target says of it. */
static struct wire_mount mount_of(struct arena *arena, const json_t *use, const json_t *volume)
{
    return (struct wire_mount){
        .host_path = member_text(arena, volume, "host_path"),
        .claim = member_text(arena, volume, "claim"),
        .path = member_text(arena, use, "path"),
        .read_only = json_is_true(json_object_get(use, "read_only")) ||
                     json_is_true(json_object_get(volume, "read_only")),
    };
}

enum err_code targets_mounts(struct cmd *cmd, target_id target_id_, project_id project,
                             struct str volumes, struct wire_mount **ret_mounts, size_t *ret_count,
                             struct err *err)
{
    CLEANUP(json_release) json_t *settings = NULL;
    CLEANUP(json_release) json_t *own = NULL;
    CLEANUP(json_release) json_t *there = NULL;
    struct wire_mount *mounts;
    struct target target;
    struct str text;
    json_t *all, *use;
    size_t i;

    TRY(targets_settings(cmd, target_id_, project, &text, err));
    TRY(json_parse(text, 4 * TARGET_SETTINGS_BYTES_MAX, &settings, err));
    TRY(json_parse(volumes.len ? volumes : STR("[]"), TARGET_SETTINGS_BYTES_MAX, &own, err));
    all = json_object_get(settings, "volumes");
    json_array_foreach(all, i,
                       use) if (!has_path(own, json_string_value(json_object_get(use, "path"))))
        json_array_append(own, use);
    if (json_array_size(own) == 0)
        return OK;
    TRY(store_target_by_id(cmd->store, target_id_, cmd->arena, &target, err));
    TRY(json_parse(target.volumes, TARGET_SETTINGS_BYTES_MAX, &there, err));
    mounts = arena_array(cmd->arena, json_array_size(own), sizeof mounts[0]);
    json_array_foreach(own, i, use)
    {
        const char *name = json_string_value(json_object_get(use, "name"));
        const json_t *volume = named(there, name);

        if (!volume)
            return err_set(err, ERR_CONFLICT, "target %.*s has no volume \"%.60s\" any more",
                           STR_ARG(target.name), name);
        mounts[i] = mount_of(cmd->arena, use, volume);
    }
    *ret_mounts = mounts;
    *ret_count = json_array_size(own);
    return OK;
}

enum err_code targets_project_get(struct cmd *cmd, struct str name, project_id project,
                                  struct str *ret_settings, struct err *err)
{
    struct target target;

    TRY(store_target_get(cmd->store, name, cmd->arena, &target, err));
    return store_target_settings_get(cmd->store, target.id, project, cmd->arena, ret_settings, err);
}

static enum err_code project_and_target(struct cmd *cmd, struct str project_name, struct str name,
                                        struct project *ret_project, struct target *ret_target,
                                        struct err *err)
{
    TRY(projects_require(cmd, project_name, ROLE_OWNER, ret_project, err));
    return store_target_get(cmd->store, name, cmd->arena, ret_target, err);
}

enum err_code targets_project_set(struct cmd *cmd, struct str name, struct str project_name,
                                  struct str settings, struct err *err)
{
    struct project project;
    struct target target;

    TRY(project_and_target(cmd, project_name, name, &project, &target, err));
    TRY(store_target_settings_set(cmd->store, target.id, project.id, settings, err));
    return audit_add(
        cmd, project_name,
        str_from(arena_printf(cmd->arena, "settings at target %.*s changed", STR_ARG(name))), err);
}

enum err_code targets_project_delete(struct cmd *cmd, struct str name, struct str project_name,
                                     struct err *err)
{
    struct project project;
    struct target target;

    TRY(project_and_target(cmd, project_name, name, &project, &target, err));
    TRY(store_target_settings_delete(cmd->store, target.id, project.id, err));
    return audit_add(
        cmd, project_name,
        str_from(arena_printf(cmd->arena, "settings at target %.*s deleted", STR_ARG(name))), err);
}
