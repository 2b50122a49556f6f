/* The tree by which hardware is shared: organisation, teams, projects. */
#include "domain/shares/shares.h"
#include "domain/targets/allowed.h"
#include "gen/http_routes.h"
#include "http/http_render.h"
#include "http/http_take.h"

#define UNITS_MAX  1000000000 /* of GPUs and cores */
#define MEMORY_MAX 9007199254740991

static void take_amounts(struct http_call *call, struct json_reader *outer, const char *name,
                         struct share_amounts *ret_amounts)
{
    char path[32];
    struct json_reader r;
    int64_t cpus = SHARE_UNSET;
    json_t *object = NULL;

    json_take_object_opt(outer, name, &object);
    if (!object)
        return;
    snprintf(path, sizeof path, "%s.", name);
    json_reader_init_strict(&r, object, arena_text(&call->arena, str_from(path)), outer->err);
    json_take_i64_opt(&r, "gpus", 0, UNITS_MAX, &ret_amounts->v[RESOURCE_GPU]);
    json_take_i64_opt(&r, "cpus", 0, UNITS_MAX, &cpus);
    json_take_i64_opt(&r, "memory_bytes", 0, MEMORY_MAX, &ret_amounts->v[RESOURCE_MEMORY]);
    if (cpus != SHARE_UNSET)
        ret_amounts->v[RESOURCE_CPU] = cpus * 1000;
    if (outer->code == OK)
        outer->code = json_reader_end(&r);
}

static enum err_code take_spec(struct http_call *call, bool is_organisation,
                               struct share_spec *ret_spec, struct err *err)
{
    struct json_reader r;

    share_spec_init(ret_spec);
    json_reader_init_strict(&r, call->body, "", err);
    if (!is_organisation)
        http_take_label_opt(&r, "parent", &ret_spec->team);
    json_take_i64_opt(&r, "weight", 0, SHARE_WEIGHT_MAX, &ret_spec->weight);
    take_amounts(call, &r, "quota", &ret_spec->quota);
    take_amounts(call, &r, "borrow", &ret_spec->borrow);
    take_amounts(call, &r, "lend", &ret_spec->lend);
    json_take_i64_opt(&r, "parallel_jobs", 0, SHARE_JOBS_MAX, &ret_spec->jobs_max);
    json_take_bool_opt(&r, "held", &ret_spec->held);
    http_take_labels(&r, &call->arena, "targets", SHARE_TARGETS_MAX, &ret_spec->targets,
                     &ret_spec->target_count);
    return json_reader_end(&r);
}

static void render_set(struct json_writer *w, const char *key, int64_t amount)
{
    json_put_key(w, key);
    if (amount == SHARE_UNSET)
        json_put_null(w);
    else
        json_put_i64(w, amount);
}

static void render_amounts(struct json_writer *w, const char *key, const struct share_amounts *a)
{
    int64_t cpus = a->v[RESOURCE_CPU];

    json_put_key(w, key);
    json_begin_object(w);
    render_set(w, "gpus", a->v[RESOURCE_GPU]);
    render_set(w, "cpus", cpus == SHARE_UNSET ? cpus : cpus / 1000);
    render_set(w, "memory_bytes", a->v[RESOURCE_MEMORY]);
    json_end_object(w);
}

static enum err_code render_share(struct http_call *call, const struct share *share,
                                  struct str parent, struct err *err)
{
    struct json_writer *w = &call->json;
    struct str *targets;

    TRY(allowed_targets_names(&call->cmd, &share->targets, &targets, err));
    json_begin_object(w);
    http_render_text(w, "kind", str_from(share_kind_name(share->kind)));
    http_render_text(w, "name", share->name);
    json_put_key(w, "parent");
    if (parent.len)
        json_put_str(w, parent);
    else
        json_put_null(w);
    http_render_number(w, "weight", share->weight);
    render_amounts(w, "quota", &share->quota);
    render_amounts(w, "borrow", &share->borrow);
    render_amounts(w, "lend", &share->lend);
    render_set(w, "parallel_jobs", share->jobs_max);
    http_render_bool(w, "held", share->held);
    http_render_names(w, "targets", targets, share->targets.count);
    render_amounts(w, "use", &share->use);
    http_render_number(w, "running", share->running);
    json_end_object(w);
    return OK;
}

/* Where a node lies in the list: by depth, then by id. What comes meanwhile moves no other. */
static int64_t order_of(const struct share *share)
{
    return (int64_t)(share->depth + 1) << 48 | share->id.v;
}

enum err_code http_share_list(struct http_call *call, struct err *err)
{
    struct share *shares;
    size_t count = 0, from = 0, end;
    int64_t after;

    TRY(http_call_cursor_i64(call, &after, err));
    TRY(shares_visible(&call->cmd, &shares, &count, err));
    while (from < count && after && order_of(&shares[from]) <= after)
        from++;
    end = MIN(count, from + (size_t)http_call_limit(call));
    http_call_page_begin(call);
    for (size_t i = from; i < end; i++)
        TRY(render_share(call, &shares[i], share_team_name(shares, &shares[i]), err));
    http_call_page_end(call, end < count ? http_call_number_cursor(call, order_of(&shares[end - 1]))
                                         : NULL);
    return OK;
}

enum err_code http_organisation_show(struct http_call *call, struct err *err)
{
    struct share share;

    TRY(shares_organisation(&call->cmd, &share, err));
    return render_share(call, &share, STR(""), err);
}

enum err_code http_organisation_set(struct http_call *call, struct err *err)
{
    struct share_spec spec;
    struct share share;

    TRY(take_spec(call, true, &spec, err));
    TRY(shares_organisation_set(&call->cmd, &spec, &share, err));
    return render_share(call, &share, STR(""), err);
}

enum err_code http_team_show(struct http_call *call, struct err *err)
{
    struct share share;
    struct str parent;

    TRY(shares_team(&call->cmd, http_call_path(call, 0), &share, &parent, err));
    return render_share(call, &share, parent, err);
}

enum err_code http_team_set(struct http_call *call, struct err *err)
{
    struct share_spec spec;
    struct share share;
    bool created = false;

    TRY(take_spec(call, false, &spec, err));
    TRY(shares_team_set(&call->cmd, http_call_path(call, 0), &spec, &share, &created, err));
    http_call_created(call, created);
    return render_share(call, &share, spec.team, err);
}

enum err_code http_team_delete(struct http_call *call, struct err *err)
{
    call->status = 204;
    return shares_team_delete(&call->cmd, http_call_path(call, 0), err);
}

enum err_code http_project_share_show(struct http_call *call, struct err *err)
{
    struct share share;
    struct str parent;

    TRY(shares_of_project(&call->cmd, &call->project, &share, &parent, err));
    return render_share(call, &share, parent, err);
}

enum err_code http_project_share_set(struct http_call *call, struct err *err)
{
    struct share_spec spec;
    struct share share;

    TRY(take_spec(call, false, &spec, err));
    TRY(shares_project_set(&call->cmd, http_call_path(call, 0), &spec, &share, err));
    return render_share(call, &share, spec.team, err);
}
