/* Jobs for people: submit, list, show, cancel. */
#include "domain/jobs/jobs.h"
#include "domain/jobs/jobs_wait.h"
#include "gen/http_routes.h"
#include "http/http_render.h"
#include "http/http_take.h"
#include "wire/agent_messages.h"

#define ARG_BYTES_MAX 32768
#define COUNT_MAX     9007199254740991

#define GIT_TEXT_BYTES_MAX 4096

static enum err_code render_one(struct http_call *call, const struct job *job, struct err *err)
{
    struct http_job_parts parts = {0};
    struct http_attempt_parts *attempts;
    struct attempt *list;

    TRY(jobs_attempts(&call->cmd, job->id, &list, &parts.attempt_count, err));
    attempts = arena_array(&call->arena, parts.attempt_count, sizeof *attempts);
    for (size_t i = 0; i < parts.attempt_count; i++) {
        attempts[i].attempt = &list[i];
        TRY(jobs_placements(&call->cmd, list[i].id, &attempts[i].placements,
                            &attempts[i].placement_count, err));
    }
    parts.attempts = attempts;
    TRY(jobs_wait(&call->cmd, job, &parts.waits, &parts.wait, err));
    http_render_job(call, job, &parts);
    return OK;
}

enum err_code http_job_list(struct http_call *call, struct err *err)
{
    struct job_filter filter = {.state = JOB_STATE_COUNT, .limit = http_call_limit(call)};
    struct job *jobs;
    struct str state;
    size_t count = 0;

    TRY(http_call_cursor_i64(call, &filter.before_id, err));
    (void)http_call_query(call, "project", &filter.project);
    if (http_call_query(call, "state", &state))
        filter.state = job_state_from_name(state);
    filter.open = http_call_query_bool(call, "open");
    TRY(jobs_list(&call->cmd, &filter, &jobs, &count, err));
    http_call_page_begin(call);
    for (size_t i = 0; i < count; i++)
        TRY(render_one(call, &jobs[i], err));
    http_call_page_end(call, count == (size_t)filter.limit
                                 ? http_call_number_cursor(call, jobs[count - 1].id.v)
                                 : NULL);
    return OK;
}

static struct str member_text(struct http_call *call, json_t *value)
{
    CLEANUP(buf_release) struct buf out = {0};
    struct json_writer w;

    buf_init(&out, HTTP_ANSWER_BYTES_MAX);
    json_writer_init(&w, &out);
    json_put_value(&w, value);
    return arena_copy(&call->arena, buf_str(&out));
}

static bool env_name_is_valid(const char *name)
{
    if (!*name || (*name >= '0' && *name <= '9'))
        return false;
    for (; *name; name++)
        if (!(*name == '_' || (*name >= 'A' && *name <= 'Z') || (*name >= 'a' && *name <= 'z') ||
              (*name >= '0' && *name <= '9')))
            return false;
    return true;
}

static void check_env(struct json_reader *r, json_t *env)
{
    const char *name;
    json_t *value;

    if (json_object_size(env) > WIRE_ENV_MAX)
        r->code =
            err_set_field(r->err, ERR_INVALID, "spec.env", "more than %d variables", WIRE_ENV_MAX);
    json_object_foreach(env, name, value)
    {
        if (r->code != OK)
            return;
        if (!env_name_is_valid(name))
            r->code = err_set_field(r->err, ERR_INVALID, "spec.env",
                                    "\"%.60s\" is not the name of a variable", name);
        else if (!json_is_string(value) || json_string_length(value) > WIRE_ENV_BYTES_MAX)
            r->code = err_set_field(r->err, ERR_INVALID, "spec.env",
                                    "the value of \"%.60s\" is not a text of at most %d bytes",
                                    name, WIRE_ENV_BYTES_MAX);
    }
}

static void check_command(struct json_reader *r, json_t *command)
{
    if (r->code == OK && json_array_size(command) == 0)
        r->code = err_set_field(r->err, ERR_INVALID, "spec.command", "\"spec.command\" is empty");
    http_take_texts(r, "spec.command", command, ARG_BYTES_MAX);
    if (r->code == OK && json_string_length(json_array_get(command, 0)) == 0)
        r->code =
            err_set_field(r->err, ERR_INVALID, "spec.command", "\"spec.command\"[0] is empty");
}

static enum err_code check_names(const struct job_spec *s, struct err *err)
{
    if (s->code.len && !http_digest_is_valid(s->code))
        return err_set_field(err, ERR_INVALID, "spec.code", "\"spec.code\" is not a digest");
    if (s->target.len && !http_label_is_valid(s->target))
        return err_set_field(err, ERR_INVALID, "spec.target", "\"%.*s\" is not a name",
                             STR_ARG(s->target));
    return OK;
}

static bool is_commit(struct str text)
{
    static const char hex[] = "0123456789abcdef";

    for (size_t i = 0; i < text.len; i++)
        if (!memchr(hex, text.data[i], sizeof hex - 1))
            return false;
    return text.len == 40 || text.len == 64; /* SHA-1 or SHA-256 */
}

static enum err_code check_git(json_t *git, struct err *err)
{
    struct str commit = {0}, branch = {0}, remote = {0}, diff = {0};
    struct json_reader r;
    bool dirty;

    json_reader_init_strict(&r, git, "spec.git.", err);
    json_take_text(&r, "commit", 64, &commit);
    json_take_text_opt(&r, "branch", GIT_TEXT_BYTES_MAX, &branch);
    json_take_text_opt(&r, "remote", GIT_TEXT_BYTES_MAX, &remote);
    json_take_bool_opt(&r, "dirty", &dirty);
    json_take_text_opt(&r, "diff_sha256", 64, &diff);
    TRY(json_reader_end(&r));
    if (!is_commit(commit))
        return err_set_field(err, ERR_INVALID, "spec.git.commit", "\"%.*s\" is not a commit",
                             STR_ARG(commit));
    if (diff.len && !http_digest_is_valid(diff))
        return err_set_field(err, ERR_INVALID, "spec.git.diff_sha256", "\"%.*s\" is not a digest",
                             STR_ARG(diff));
    return OK;
}

/* A config that is accepted must fit into the message that offers the job. */
static enum err_code check_config(struct str config, struct err *err)
{
    if (json_depth(config) > WIRE_CONFIG_DEPTH_MAX)
        return err_set_field(err, ERR_INVALID, "spec.config",
                             "\"spec.config\" is nested deeper than %d levels",
                             WIRE_CONFIG_DEPTH_MAX);
    if (config.len > WIRE_CONFIG_BYTES_MAX)
        return err_set_field(err, ERR_INVALID, "spec.config",
                             "\"spec.config\" is %zu bytes, more than %d", config.len,
                             WIRE_CONFIG_BYTES_MAX);
    return OK;
}

static enum err_code take_spec(struct http_call *call, json_t *object, struct job_spec *s,
                               struct err *err)
{
    json_t *command = NULL, *config = NULL, *env = NULL, *git = NULL;
    struct json_reader r;

    s->grace_s = JOB_GRACE_S_DEFAULT;
    s->retries = JOB_RETRIES_DEFAULT;
    s->node_count = 1;
    json_reader_init_strict(&r, object, "spec.", err);
    json_take_array_opt(&r, "command", WIRE_ARGS_MAX, &command);
    json_take_text_opt(&r, "code", 64, &s->code);
    json_take_object_opt(&r, "git", &git);
    json_take_object_opt(&r, "config", &config);
    json_take_object_opt(&r, "env", &env);
    json_take_i64_opt(&r, "gpus", 0, 1024, &s->need.gpus);
    json_take_i64_opt(&r, "cpus", 0, 4096, &s->need.cpus);
    json_take_i64_opt(&r, "memory_bytes", 0, COUNT_MAX, &s->need.memory_bytes);
    json_take_text_opt(&r, "target", PROJECT_NAME_BYTES_MAX, &s->target);
    json_take_i64_opt(&r, "timeout_s", 1, 31536000, &s->timeout_s);
    json_take_i64_opt(&r, "grace_s", 0, 3600, &s->grace_s);
    json_take_i64_opt(&r, "retries", 0, 100, &s->retries);
    json_take_bool_opt(&r, "retry_failed", &s->retry_failed);
    json_take_i64_opt(&r, "nodes", 1, JOB_NODES_MAX, &s->node_count);
    check_command(&r, command);
    if (env)
        check_env(&r, env);
    TRY(json_reader_end(&r));
    TRY(check_names(s, err));
    if (git)
        TRY(check_git(git, err));
    s->need.cpus = s->need.cpus ? s->need.cpus : 1;
    s->spec = member_text(call, object);
    s->command = member_text(call, command);
    if (config)
        s->config = member_text(call, config);
    if (git)
        s->git = member_text(call, git);
    return check_config(s->config, err);
}

enum err_code http_job_create(struct http_call *call, struct err *err)
{
    struct job_spec spec = {.id = http_call_path_id(call, 1)};
    struct str run = {0};
    json_t *object = NULL;
    struct json_reader r;
    bool created = false;

    json_reader_init_strict(&r, call->body, "", err);
    json_take_text(&r, "run", ID_LEN, &run);
    json_take_text_opt(&r, "name", NAME_BYTES_MAX, &spec.name);
    json_take_text_opt(&r, "queue", PROJECT_NAME_BYTES_MAX, &spec.queue);
    json_take_i64_opt(&r, "priority", -1000, 1000, &spec.priority);
    json_take_bool_opt(&r, "held", &spec.held);
    http_take_tags(&r, &call->arena, &spec.tags);
    json_take_note_opt(&r, "notes", NOTE_BYTES_MAX, &spec.notes);
    json_take_object_opt(&r, "spec", &object);
    TRY(json_reader_end(&r));
    if (!id_parse(run, ID_RUN, &spec.run))
        return err_set_field(err, ERR_INVALID, "run", "\"%.*s\" is not the id of a run",
                             STR_ARG(run));
    if (!object)
        return err_set_field(err, ERR_INVALID, "spec", "\"spec\" is missing");
    TRY(take_spec(call, object, &spec, err));
    cmd_body_hash(http_call_canonical_body(call), spec.hash);
    TRY(jobs_submit(&call->cmd, &call->project, &spec, &call->job, &created, err));
    http_call_created(call, created);
    return render_one(call, &call->job, err);
}

enum err_code http_job_show(struct http_call *call, struct err *err)
{
    return render_one(call, &call->job, err);
}

enum err_code http_job_why(struct http_call *call, struct err *err)
{
    struct job_wait wait;
    bool waits = false;

    TRY(jobs_why(&call->cmd, &call->job, &waits, &wait, err));
    json_begin_object(&call->json);
    http_render_text(&call->json, "state", str_from(job_state_name(call->job.state)));
    json_put_key(&call->json, "waiting");
    if (waits)
        http_render_wait(call, &wait);
    else
        json_put_null(&call->json);
    json_end_object(&call->json);
    return OK;
}

enum err_code http_job_event_list(struct http_call *call, struct err *err)
{
    struct job_event_row *events;
    size_t count = 0;
    int64_t after;
    int limit = http_call_limit(call);

    TRY(http_call_cursor_i64(call, &after, err));
    TRY(jobs_events(&call->cmd, call->job.id, after, limit, &events, &count, err));
    http_call_page_begin(call);
    for (size_t i = 0; i < count; i++)
        http_render_job_event(&call->json, &events[i]);
    http_call_page_end(
        call, count == (size_t)limit ? http_call_number_cursor(call, events[count - 1].seq) : NULL);
    return OK;
}

enum err_code http_job_cancel(struct http_call *call, struct err *err)
{
    TRY(jobs_cancel(&call->cmd, &call->job, err));
    return render_one(call, &call->job, err);
}

enum err_code http_job_release(struct http_call *call, struct err *err)
{
    TRY(jobs_release(&call->cmd, &call->job, err));
    return render_one(call, &call->job, err);
}
