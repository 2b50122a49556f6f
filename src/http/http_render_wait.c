/* Why a job waits, in words. A text names its values in braces; the console has the same texts in
 * its languages, by the code. */
#include "http/http_render.h"

struct words {
    const char *text, *change;
};

/* Amounts bring their units with them ("1 GPU", "3 machines"), so the texts avoid verbs that would
 * have to agree with them. */
static const struct words words[WAIT_CODE_COUNT] = {
    [WAIT_HELD] = {"it is held", "release it"},
    [WAIT_AFTER] = {"it comes after {asked} that must end first, such as {job}",
                    "it starts when they have ended"},
    [WAIT_ARRAY] = {"its array may run {free} at once",
                    "it starts when one of them ends, or raise the array's limit"},
    [WAIT_BACKOFF] = {"it pauses after its last attempt; the next one may start at {until}", ""},
    [WAIT_RECORD] = {"its last attempt still sends its log", ""},
    [WAIT_OFFERED] = {"agents have the offer and prepare to take it", ""},
    [WAIT_QUEUE_HELD] = {"queue {queue} is held", "resume the queue"},
    [WAIT_QUEUE_DRAINED] = {"queue {queue} is drained", "move it to another queue"},
    [WAIT_PROJECT_HELD] = {"{share} is held", "an administrator can release it"},
    [WAIT_QUOTA] = {"it asks for {asked}; {share} may use {free} more",
                    "it starts when jobs of {share} end, or raise its quota or what it may borrow"},
    [WAIT_LENT_BACK] = {"it asks for {asked}; free for it: {free}, the rest is kept for those "
                        "whose quota it is",
                        "lend more, or give {share} a larger quota"},
    [WAIT_PARALLEL] = {"{share} may run {free} at once; now running: {asked}",
                       "it starts when one of them ends, or raise the limit"},
    [WAIT_BUDGET_HOURS] = {"it may use {asked}; {share} has {free} left this month",
                           "a shorter time limit, a larger budget, or the next month"},
    [WAIT_BUDGET_MONEY] = {"it may cost {asked}; {share} has {free} left this month",
                           "a shorter time limit, a larger budget, or the next month"},
    [WAIT_NO_AGENT] = {"no agent is online", "connect a machine: euvyra agents add NAME"},
    [WAIT_NO_TARGET] = {"no agent of a target that it may use is online",
                        "name another target, or connect a machine there"},
    [WAIT_TARGET_STEP] = {"the next target of its list opens at {until}", ""},
    [WAIT_MAINTENANCE] = {"target {target} is in maintenance", "name another target, or wait"},
    [WAIT_AGENT_OFFLINE] = {"it needs {asked}; online of those that could take it: {free}",
                            "start the others, or ask for fewer machines"},
    [WAIT_NODES_EXCLUDED] = {"it needs {asked}; not excluded of those that could take it: {free}",
                             "exclude fewer machines"},
    [WAIT_GPU_TYPE] = {"no machine has such a GPU", "ask for another GPU type"},
    [WAIT_NO_FEATURE] = {"no machine that it may use can do this for it: {features}",
                         "connect one whose agent can, or ask for less"},
    [WAIT_TOO_BIG] = {"it asks for {asked} on one machine; the largest has {free}",
                      "ask for less on a machine, or for more machines"},
    [WAIT_TOO_FEW_NODES] = {"it asks for {asked}; large enough: {free}", "ask for fewer machines"},
    [WAIT_BUSY] = {"it asks for {asked}; the most that is free on one machine is {free}",
                   "it starts when something ends there"},
    [WAIT_FRAGMENTED] = {"it asks for {asked} on one machine; free on several together: {free}",
                         "it starts when one machine is free enough, or ask for less on each"},
    [WAIT_GANG] = {"it asks for {asked}; free for it now: {free}",
                   "it starts when enough are free at the same time"},
    [WAIT_RESERVED] = {"what is free is held for job {job}, which has waited longer",
                       "a time limit that ends before that one starts lets it pass"},
    [WAIT_VICTIMS] = {"{asked} must end first to make room for it; they were told to", ""},
    [WAIT_COMING] = {"a machine is on its way; it is expected at {until}", ""},
    [WAIT_TURN] = {"others go first", "a higher priority"},
    [WAIT_NOT_LOOKED] = {"the scheduler has not looked at it yet", ""},
};

/* What is counted where the numbers of a code are of no resource. */
static const char *counted(enum wait_code code)
{
    switch (code) {
    case WAIT_AFTER:
    case WAIT_ARRAY:
    case WAIT_PARALLEL:
    case WAIT_VICTIMS: return "job";
    default: return "machine";
    }
}

static const char *unit(const struct wait *w)
{
    switch (w->resource) {
    case RESOURCE_CPU: return "core";
    case RESOURCE_GPU: return "GPU";
    case RESOURCE_SLOT: return "place";
    case RESOURCE_MEMORY:
    case RESOURCE_NONE: break;
    }
    return counted(w->code);
}

static const char *amount(struct http_call *call, const struct wait *w, int64_t value)
{
    if (w->code == WAIT_BUDGET_HOURS)
        return arena_printf(&call->arena, "%.1f GPU hours", (double)value / 3600000.0);
    if (w->code == WAIT_BUDGET_MONEY)
        return arena_printf(&call->arena, "%.2f %s", (double)value / 1e6,
                            call->env->domain->config.currency);
    if (w->resource == RESOURCE_MEMORY)
        return arena_printf(&call->arena, "%.1f GiB of memory", (double)value / 1073741824.0);
    if (w->resource == RESOURCE_CPU)
        return arena_printf(&call->arena, "%g %s%s", (double)value / 1000.0, unit(w),
                            value == 1000 ? "" : "s");
    return arena_printf(&call->arena, "%lld %s%s", (long long)value, unit(w),
                        value == 1 ? "" : "s");
}

static struct str features_of(struct http_call *call, uint64_t features)
{
    CLEANUP(buf_release) struct buf out = {0};

    buf_init(&out, 1024);
    for (int i = 0; i < FEATURE_COUNT; i++) {
        if (!(features & FEATURE_BIT(i)))
            continue;
        (void)buf_add_text(&out, out.len ? ", " : "");
        (void)buf_add_text(&out, job_feature_name((enum job_feature)i));
    }
    return arena_copy(&call->arena, buf_str(&out));
}

static struct str value_of(struct http_call *call, const struct job_wait *w, struct str name)
{
    char text[TIME_TEXT_BYTES];

    if (str_eq_c(name, "asked"))
        return str_from(amount(call, &w->wait, w->wait.asked));
    if (str_eq_c(name, "free"))
        return str_from(amount(call, &w->wait, MAX(w->wait.available, 0)));
    if (str_eq_c(name, "share"))
        return w->share;
    if (str_eq_c(name, "queue"))
        return w->queue;
    if (str_eq_c(name, "target"))
        return w->target;
    if (str_eq_c(name, "job"))
        return str_from(arena_text(&call->arena, id_str(&w->job)));
    if (str_eq_c(name, "features"))
        return features_of(call, w->wait.features);
    ENSURE(str_eq_c(name, "until"));
    if (w->wait.until == TIME_NONE)
        return STR("a time that is not known");
    time_format(w->wait.until, text);
    return str_from(arena_text(&call->arena, str_from(text)));
}

static struct str fill(struct http_call *call, const struct job_wait *w, const char *words_of)
{
    CLEANUP(buf_release) struct buf out = {0};
    struct str rest = str_from(words_of), part, name;

    buf_init(&out, 1024);
    while (str_cut(&rest, '{', &part)) {
        (void)buf_add_str(&out, part);
        (void)str_cut(&rest, '}', &name);
        (void)buf_add_str(&out, value_of(call, w, name));
    }
    (void)buf_add_str(&out, part);
    return arena_copy(&call->arena, buf_str(&out));
}

/* Cores as people write them. */
static void put_amount(struct json_writer *w, const char *key, const struct wait *wait,
                       int64_t value)
{
    if (wait->resource == RESOURCE_CPU && value % 1000 != 0) {
        json_put_key(w, key);
        json_put_f64(w, (double)value / 1000.0);
        return;
    }
    http_render_number(w, key, wait->resource == RESOURCE_CPU ? value / 1000 : value);
}

/* Of several targets none is named. */
static struct words words_of(const struct job_wait *wait)
{
    struct words say = words[wait->wait.code];

    if (wait->wait.code == WAIT_MAINTENANCE && !wait->target.len)
        say.text = "the machines that could take it are in maintenance";
    return say;
}

void http_render_wait(struct http_call *call, const struct job_wait *wait)
{
    struct words say = words_of(wait);
    const struct wait *v = &wait->wait;
    struct json_writer *w = &call->json;

    json_begin_object(w);
    http_render_text(w, "code", str_from(wait_code_name(v->code)));
    http_render_text(w, "text", fill(call, wait, say.text));
    if (say.change[0])
        http_render_text(w, "change", fill(call, wait, say.change));
    if (v->asked || v->available) {
        put_amount(w, "asked", v, v->asked);
        put_amount(w, "free", v, MAX(v->available, 0));
    }
    if (v->resource != RESOURCE_NONE)
        http_render_text(w, "resource", str_from(resource_name(v->resource)));
    if (wait->share.len)
        http_render_text(w, "share", wait->share);
    if (wait->queue.len)
        http_render_text(w, "queue", wait->queue);
    if (wait->target.len)
        http_render_text(w, "target", wait->target);
    if (wait->job.text[0])
        http_render_id(w, "job", &wait->job);
    if (v->until != TIME_NONE)
        http_render_time(w, "until", v->until);
    if (v->start_estimate != TIME_NONE)
        http_render_time(w, "start_estimate", v->start_estimate);
    if (v->rank)
        http_render_number(w, "rank", v->rank);
    json_end_object(w);
}
