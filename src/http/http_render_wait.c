/* Why a job waits, in words. A text names its values in braces; the console has the same texts in
 * its languages, by the code. */
#include "http/http_render.h"

struct words {
    const char *text, *change;
};

static const struct words words[WAIT_CODE_COUNT] = {
    [WAIT_HELD] = {"it is held", "release it"},
    [WAIT_AFTER] = {"it comes after job {job}", "it starts when that one has ended"},
    [WAIT_ARRAY] = {"{free} jobs of its array may run at once",
                    "it starts when one of them ends, or raise the array's limit"},
    [WAIT_BACKOFF] = {"its last start failed; it is tried again at {until}", ""},
    [WAIT_RECORD] = {"its last attempt still sends its log", ""},
    [WAIT_OFFERED] = {"agents have the offer and prepare to take it", ""},
    [WAIT_QUEUE_HELD] = {"queue {queue} is held", "resume the queue"},
    [WAIT_QUEUE_DRAINED] = {"queue {queue} is drained", "move it to another queue"},
    [WAIT_PROJECT_HELD] = {"{share} is held", "an administrator can release it"},
    [WAIT_QUOTA] = {"{asked} {resource} are asked for, {share} may use {free} more",
                    "it starts when jobs of {share} end, or raise its quota or what it may borrow"},
    [WAIT_LENT_BACK] = {"{asked} {resource} are asked for; {free} are free, the rest is kept for "
                        "those whose quota it is",
                        "lend more, or give {share} a larger quota"},
    [WAIT_PARALLEL] = {"{share} may have {free} jobs at once and has {asked}",
                       "it starts when one of them ends, or raise the limit"},
    [WAIT_BUDGET_HOURS] = {"it may use {asked} GPU hours, {share} has {free} left this month",
                           "a shorter time limit, a larger budget, or the next month"},
    [WAIT_BUDGET_MONEY] = {"it may cost {asked}, {share} has {free} left this month",
                           "a shorter time limit, a larger budget, or the next month"},
    [WAIT_NO_AGENT] = {"no agent is online", "connect a machine: euvyra agents add NAME"},
    [WAIT_NO_TARGET] = {"no agent of a target that it may use is online",
                        "name another target, or connect a machine there"},
    [WAIT_TARGET_STEP] = {"the next target of its list opens at {until}", ""},
    [WAIT_MAINTENANCE] = {"target {target} is in maintenance", "name another target, or wait"},
    [WAIT_AGENT_OFFLINE] = {"{asked} machines that could take it are not online", "start them"},
    [WAIT_NODES_EXCLUDED] = {"the machines that could take it are excluded",
                             "exclude fewer machines"},
    [WAIT_GPU_TYPE] = {"no machine has such a GPU", "ask for another GPU type"},
    [WAIT_NO_FEATURE] = {"no machine that it may use can do this for it: {features}",
                         "connect one whose agent can, or ask for less"},
    [WAIT_TOO_BIG] = {"{asked} {resource} are asked for on one machine, the largest has {free}",
                      "ask for less on a machine, or for more machines"},
    [WAIT_TOO_FEW_NODES] = {"{asked} machines are asked for, {free} are large enough",
                            "ask for fewer machines"},
    [WAIT_BUSY] = {"{asked} {resource} are asked for, the most that is free on one machine is "
                   "{free}",
                   "it starts when something ends there"},
    [WAIT_FRAGMENTED] = {"{asked} {resource} are asked for on one machine; {free} are free, but "
                         "on several",
                         "it starts when one machine is free enough, or ask for less on each"},
    [WAIT_GANG] = {"{asked} machines are asked for, {free} are free now",
                   "it starts when enough are free at the same time"},
    [WAIT_RESERVED] = {"what is free is held for job {job}, which has waited longer",
                       "a time limit that ends before that one starts lets it pass"},
    [WAIT_VICTIMS] = {"{asked} jobs are being ended to make room for it", ""},
    [WAIT_COMING] = {"a machine is on its way", ""},
    [WAIT_TURN] = {"others go first", "a higher priority"},
    [WAIT_NOT_LOOKED] = {"the scheduler has not looked at it yet", ""},
};

static const char *amount(struct http_call *call, const struct wait *w, int64_t value)
{
    if (w->code == WAIT_BUDGET_HOURS)
        return arena_printf(&call->arena, "%.1f", (double)value / 3600000.0);
    if (w->code == WAIT_BUDGET_MONEY)
        return arena_printf(&call->arena, "%.2f %s", (double)value / 1e6,
                            call->env->domain->config.currency);
    if (w->resource == RESOURCE_CPU)
        return arena_printf(&call->arena, "%g", (double)value / 1000.0);
    if (w->resource == RESOURCE_MEMORY)
        return arena_printf(&call->arena, "%.1f GiB of", (double)value / 1073741824.0);
    return arena_printf(&call->arena, "%lld", (long long)value);
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
        return str_from(amount(call, &w->wait, w->wait.available));
    if (str_eq_c(name, "resource"))
        return str_from(resource_name(w->wait.resource));
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

void http_render_wait(struct http_call *call, const struct job_wait *wait)
{
    const struct words *say = &words[wait->wait.code];
    const struct wait *v = &wait->wait;
    struct json_writer *w = &call->json;

    json_begin_object(w);
    http_render_text(w, "code", str_from(wait_code_name(v->code)));
    http_render_text(w, "text", fill(call, wait, say->text));
    if (say->change[0])
        http_render_text(w, "change", fill(call, wait, say->change));
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
