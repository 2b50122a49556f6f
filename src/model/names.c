/* The name tables of the model's enums, made from the same lists as the enums. */
#include "model/ending.h"
#include "model/health.h"
#include "model/job.h"
#include "model/metric.h"
#include "model/share.h"
#include "model/wait.h"

#include "base/err.h"

static size_t index_of(const char *const *names, size_t count, struct str name)
{
    size_t i = 0;
    while (i < count && !str_eq_c(name, names[i]))
        i++;
    return i;
}

const char *role_name(enum role role)
{
    static const char *const names[] = {"", "viewer", "editor", "owner"};
    ENSURE((size_t)role < ARRAY_LEN(names));
    return names[role];
}

enum role role_from_name(struct str name)
{
    for (enum role role = ROLE_VIEWER; role <= ROLE_OWNER; role++)
        if (str_eq_c(name, role_name(role)))
            return role;
    return ROLE_NONE;
}

static const char *const principal_kinds[] = {"nobody",
#define X(kind, name) name,
                                              PRINCIPAL_KINDS(X)
#undef X
};

const char *principal_kind_name(enum principal_kind kind)
{
    ENSURE((size_t)kind < ARRAY_LEN(principal_kinds));
    return principal_kinds[kind];
}

enum principal_kind principal_kind_from_name(struct str name)
{
    size_t at = index_of(principal_kinds, ARRAY_LEN(principal_kinds), name);
    return at < ARRAY_LEN(principal_kinds) ? (enum principal_kind)at : PRINCIPAL_NOBODY;
}

static const char *const run_states[] = {
#define X(state, name, ended) name,
    RUN_STATES(X)
#undef X
};

const char *run_state_name(enum run_state state)
{
    ENSURE(state < RUN_STATE_COUNT);
    return run_states[state];
}

bool run_state_ended(enum run_state state)
{
    static const bool ends[] = {
#define X(state, name, ended) ended,
        RUN_STATES(X)
#undef X
    };
    ENSURE(state < RUN_STATE_COUNT);
    return ends[state];
}

enum run_state run_state_from_name(struct str name)
{
    return (enum run_state)index_of(run_states, RUN_STATE_COUNT, name);
}

const char *run_doc_name(enum run_doc kind)
{
    static const char *const names[] = {
#define X(doc, name) name,
        RUN_DOCS(X)
#undef X
    };
    ENSURE(kind < RUN_DOC_COUNT);
    return names[kind];
}

const char *metric_kind_name(enum metric_kind kind)
{
    return kind == METRIC_SYSTEM ? "system" : "metric";
}

static const char *const metric_stats[] = {
#define X(stat, name) name,
    METRIC_STATS(X)
#undef X
};

const char *metric_stat_name(enum metric_stat stat)
{
    ENSURE(stat < STAT_END);
    return metric_stats[stat];
}

enum metric_stat metric_stat_from_name(struct str name)
{
    return (enum metric_stat)index_of(metric_stats, STAT_END, name);
}

static const char *const metric_goals[] = {
#define X(goal, name) name,
    METRIC_GOALS(X)
#undef X
};

const char *metric_goal_name(enum metric_goal goal)
{
    ENSURE(goal < GOAL_END);
    return metric_goals[goal];
}

enum metric_goal metric_goal_from_name(struct str name)
{
    return (enum metric_goal)index_of(metric_goals, GOAL_END, name);
}

static const char *const health_states[] = {
#define X(state, name) name,
    HEALTH_STATES(X)
#undef X
};

const char *health_state_name(enum health_state state)
{
    ENSURE(state < HEALTH_STATE_COUNT);
    return health_states[state];
}

enum health_state health_state_from_name(struct str name)
{
    return (enum health_state)index_of(health_states, HEALTH_STATE_COUNT, name);
}

static const char *const job_states[] = {
#define X(state, name, ended) name,
    JOB_STATES(X)
#undef X
};

const char *job_state_name(enum job_state state)
{
    ENSURE(state < JOB_STATE_COUNT);
    return job_states[state];
}

bool job_state_ended(enum job_state state)
{
    static const bool ends[] = {
#define X(state, name, ended) ended,
        JOB_STATES(X)
#undef X
    };
    ENSURE(state < JOB_STATE_COUNT);
    return ends[state];
}

enum job_state job_state_from_name(struct str name)
{
    return (enum job_state)index_of(job_states, JOB_STATE_COUNT, name);
}

static const char *const attempt_states[] = {
#define X(state, name, ended) name,
    ATTEMPT_STATES(X)
#undef X
};

const char *attempt_state_name(enum attempt_state state)
{
    ENSURE(state < ATTEMPT_STATE_COUNT);
    return attempt_states[state];
}

bool attempt_state_ended(enum attempt_state state)
{
    static const bool ends[] = {
#define X(state, name, ended) ended,
        ATTEMPT_STATES(X)
#undef X
    };
    ENSURE(state < ATTEMPT_STATE_COUNT);
    return ends[state];
}

enum attempt_state attempt_state_from_name(struct str name)
{
    return (enum attempt_state)index_of(attempt_states, ATTEMPT_STATE_COUNT, name);
}

static const char *const job_event_kinds[] = {
#define X(kind, name) name,
    JOB_EVENTS(X)
#undef X
};

const char *job_event_kind_name(enum job_event_kind kind)
{
    ENSURE(kind < JOB_EVENT_COUNT);
    return job_event_kinds[kind];
}

enum job_event_kind job_event_kind_from_name(struct str name)
{
    return (enum job_event_kind)index_of(job_event_kinds, JOB_EVENT_COUNT, name);
}

static const char *const epoch_kinds[] = {"continue", "truncate", "attempt"};

const char *epoch_kind_name(enum epoch_kind kind)
{
    ENSURE((size_t)kind < ARRAY_LEN(epoch_kinds));
    return epoch_kinds[kind];
}

enum epoch_kind epoch_kind_from_name(struct str name)
{
    size_t at = index_of(epoch_kinds, ARRAY_LEN(epoch_kinds), name);
    return at < ARRAY_LEN(epoch_kinds) ? (enum epoch_kind)at : EPOCH_CONTINUE;
}

const char *writer_doc_name(enum writer_doc kind)
{
    static const char *const names[] = {
#define X(doc, name) name,
        WRITER_DOCS(X)
#undef X
    };
    ENSURE(kind < WRITER_DOC_COUNT);
    return names[kind];
}

static const char *const alert_levels[] = {
#define X(level, name) name,
    ALERT_LEVELS(X)
#undef X
};

const char *alert_level_name(enum alert_level level)
{
    ENSURE(level < ALERT_LEVEL_COUNT);
    return alert_levels[level];
}

enum alert_level alert_level_from_name(struct str name)
{
    return (enum alert_level)index_of(alert_levels, ALERT_LEVEL_COUNT, name);
}

static const char *const wait_codes[] = {
#define X(code, name) name,
    WAIT_CODES(X)
#undef X
};

const char *wait_code_name(enum wait_code code)
{
    ENSURE(code < WAIT_CODE_COUNT);
    return wait_codes[code];
}

enum wait_code wait_code_from_name(struct str name)
{
    return (enum wait_code)index_of(wait_codes, WAIT_CODE_COUNT, name);
}

const char *resource_name(enum resource resource)
{
    static const char *const names[] = {"cpus", "gpus", "memory", "slots", ""};
    ENSURE((size_t)resource < ARRAY_LEN(names));
    return names[resource];
}

static const char *const endings[] = {
#define X(code, name, number) [number] = name,
    ENDINGS(X)
#undef X
};

const char *ending_name(enum ending ending)
{
    ENSURE(ending < ENDING_COUNT);
    return endings[ending];
}

enum ending ending_from_name(struct str name)
{
    return (enum ending)index_of(endings, ENDING_COUNT, name);
}

static const char *const share_kinds[] = {"organisation", "team", "project"};

const char *share_kind_name(enum share_kind kind)
{
    ENSURE(kind < SHARE_KIND_COUNT);
    return share_kinds[kind];
}

enum share_kind share_kind_from_name(struct str name)
{
    return (enum share_kind)index_of(share_kinds, SHARE_KIND_COUNT, name);
}

static const char *const job_features[] = {
#define X(feature, name) name,
    JOB_FEATURES(X)
#undef X
};

const char *job_feature_name(enum job_feature feature)
{
    ENSURE(feature < FEATURE_COUNT);
    return job_features[feature];
}

enum job_feature job_feature_from_name(struct str name)
{
    return (enum job_feature)index_of(job_features, FEATURE_COUNT, name);
}
