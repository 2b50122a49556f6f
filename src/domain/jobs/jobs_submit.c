/* Taking jobs: what a spec names is looked up, rows, runs and first events are written. An array is
 * made whole in one transaction; the ids of its elements follow from its own, so that the same
 * request again finds them. */
#include "domain/jobs/jobs.h"

#include "crypto/digest.h"
#include "domain/audit/audit.h"
#include "domain/jobs/jobs_act.h"
#include "domain/jobs/jobs_references.h"
#include "domain/runs/attributes.h"
#include "store/store_log.h"
#include "store/store_project.h"

#define ARRAY_BYTES_MAX (64 * 1024 * 1024) /* of the specs of all elements */
#define AFTER_ROWS_MAX  100000             /* of all elements */

/* The id of the thing at `place` of what was made under `base`. */
static struct id id_derived(const struct id *base, enum id_kind kind, int64_t place)
{
    uint8_t digest[SHA256_BYTES];
    char text[ID_BYTES + 24];
    uint64_t bits;
    int len = snprintf(text, sizeof text, "%s/%lld", base->text, (long long)place);

    sha256(text, (size_t)len, digest);
    memcpy(&bits, digest, sizeof bits);
    return id_make(kind, bits);
}

/* One job, or one element of an array. */
struct element {
    struct id id, run;
    struct str name;
    int64_t index;
};

static struct element element_at(struct cmd *cmd, const struct job_spec *spec, int64_t place)
{
    struct element e = {.id = spec->id, .run = spec->run};
    struct str name = spec->name.data ? spec->name : id_str(&spec->id);

    if (!spec->array_count) {
        e.name = arena_copy(cmd->arena, name);
        return e;
    }
    e.id = id_derived(&spec->id, ID_JOB, place);
    e.run = id_derived(&spec->run, ID_RUN, place);
    e.index = spec->array_from + place * spec->array_step;
    e.name = str_from(arena_printf(cmd->arena, "%.*s-%lld", STR_ARG(name), (long long)e.index));
    return e;
}

static enum err_code make_run(struct cmd *cmd, const struct project *project,
                              const struct job_spec *spec, const struct element *e, run_id *ret_run,
                              struct err *err)
{
    struct run_spec run_spec = {
        .id = e->run,
        .name = e->name,
        .group = spec->array_count ? id_str(&spec->id) : (struct str){0},
        .notes = spec->notes,
        .tags = spec->tags,
        .command = spec->command,
        .created = TIME_NONE,
        .job = e->id,
    };
    bool created = false;
    struct run run;

    memcpy(run_spec.hash, spec->hash, HASH_BYTES);
    TRY(runs_create(cmd, project->id, project->name, &run_spec, &run, &created, err));
    if (!created)
        return err_set_field(err, ERR_CONFLICT, "run", "run %s exists already", e->run.text);
    if (spec->config.len)
        TRY(attributes_doc_set(cmd, run.id, RUN_DOC_CONFIG, spec->config, err));
    if (spec->git.len)
        TRY(attributes_doc_set(
            cmd, run.id, RUN_DOC_CODE,
            str_from(arena_printf(cmd->arena, "{\"git\":%.*s}", STR_ARG(spec->git))), err));
    *ret_run = run.id;
    return OK;
}

/* A service has no end of its own: it is ended after a time only if it says so itself. */
static int64_t timeout_of(const struct job_spec *spec, const struct job_queue *queue)
{
    if (spec->timeout_s || spec->kind == JOB_SERVICE)
        return spec->timeout_s;
    return queue->timeout_s ? queue->timeout_s : JOB_TIMEOUT_S_DEFAULT;
}

struct job jobs__job_of(struct cmd *cmd, const struct project *project, const struct job_spec *spec,
                        const struct job_references *refs)
{
    struct job job = {
        .project = project->id,
        .queue = refs->queue.id,
        .owner = cmd->who->user,
        .state = spec->held ? JOB_HELD : JOB_QUEUED,
        .kind = spec->kind,
        .priority = spec->priority,
        .spec = spec->spec,
        .node_count = spec->node_count,
        .need = spec->need,
        .shape = refs->shape,
        .timeout_s = timeout_of(spec, &refs->queue),
        .grace_s = spec->grace_s,
        .retries = spec->retries,
        .retry_failed = spec->retry_failed,
        .created = cmd->now,
        .queued = spec->held ? TIME_NONE : cmd->now,
    };

    if (spec->array_count) {
        job.array_public_id = spec->id;
        job.array_limit = spec->array_limit;
        job.array_count = spec->array_count;
    }
    memcpy(job.create_hash, spec->hash, HASH_BYTES);
    return job;
}

/* Writes one element; `job` is what all have in common, and becomes this one. */
static enum err_code make_element(struct cmd *cmd, const struct project *project,
                                  const struct job_spec *spec, const struct job_references *refs,
                                  struct job *job, int64_t place, struct err *err)
{
    struct element e = element_at(cmd, spec, place);
    struct job_event submitted = {
        .priority = job->priority,
        .queue = refs->queue.id,
        .queue_name = refs->queue.name,
        .shape = job->shape,
        .targets = jobs__targets_text(cmd, spec->places, spec->place_count, spec->one_place),
        .spec = job->spec,
    };

    job->public_id = e.id;
    job->name = e.name;
    job->array_index = e.index;
    TRY(make_run(cmd, project, spec, &e, &job->run, err));
    TRY(jobs__begin(cmd, job, &submitted, err));
    for (size_t i = 0; i < refs->before_count; i++)
        TRY(store_job_after_add(cmd->store, job->id, refs->before[i].job, refs->before[i].any_end,
                                err));
    return OK;
}

/* It was made before: by the same request, or its id is taken. */
static enum err_code find_made(struct cmd *cmd, const struct project *project,
                               const struct job_spec *spec, struct job *ret_job, bool *ret_found,
                               struct err *err)
{
    struct job job;
    bool array = false;

    if (store_job_get(cmd->store, &spec->id, cmd->arena, &job, NULL) != OK)
        array = store_job_array_first(cmd->store, &spec->id, cmd->arena, &job, NULL) == OK;
    else
        *ret_found = true;
    TRY(store_trouble(cmd->store, err));
    *ret_found |= array;
    if (!*ret_found)
        return OK;
    if (job.project.v != project->id.v || memcmp(job.create_hash, spec->hash, HASH_BYTES) != 0 ||
        array != (spec->array_count > 0))
        return err_set(err, ERR_CONFLICT, "job %s exists already, made with another body",
                       spec->id.text);
    *ret_job = job;
    return OK;
}

static enum err_code check_sizes(const struct job_spec *spec, size_t before_count, struct err *err)
{
    size_t count = (size_t)MAX(spec->array_count, 1);

    if (count * before_count > AFTER_ROWS_MAX)
        return err_set_field(err, ERR_UNPROCESSABLE, "after",
                             "%zu jobs that come after %zu each are more than %d dependencies",
                             count, before_count, AFTER_ROWS_MAX);
    if (count * spec->spec.len > ARRAY_BYTES_MAX)
        return err_set_field(err, ERR_TOO_LARGE, "array",
                             "%zu jobs of %zu bytes are more than %d bytes", count, spec->spec.len,
                             ARRAY_BYTES_MAX);
    return OK;
}

static enum err_code count_open(struct cmd *cmd, const struct project *project, int64_t count,
                                struct err *err)
{
    int64_t max = cmd->domain->config.open_jobs_max, open = 0;

    TRY(store_project_open_jobs(cmd->store, project->id, count, &open, err));
    if (open <= max)
        return OK;
    (void)err_set(err, ERR_LIMIT,
                  "project \"%.*s\" has %lld jobs that have not ended; with %lld more they would "
                  "be more than %lld",
                  STR_ARG(project->name), (long long)(open - count), (long long)count,
                  (long long)max);
    err_hint(err, "wait for some to end, or raise the server's --open-jobs-max");
    return ERR_LIMIT;
}

enum err_code jobs_submit(struct cmd *cmd, const struct project *project,
                          const struct job_spec *spec, struct job *ret_job, bool *ret_created,
                          struct err *err)
{
    int64_t count = MAX(spec->array_count, 1);
    struct job_references refs = {0};
    struct job job, first = {0};
    bool found = false;

    TRY(find_made(cmd, project, spec, ret_job, &found, err));
    *ret_created = !found;
    if (found)
        return OK;
    TRY(jobs__references(cmd, project, spec, &refs, err));
    TRY(check_sizes(spec, refs.before_count, err));
    TRY(count_open(cmd, project, count, err));
    job = jobs__job_of(cmd, project, spec, &refs);
    for (int64_t i = 0; i < count; i++) {
        struct job made = job;
        made.array = first.array;
        TRY(make_element(cmd, project, spec, &refs, &made, i, err));
        first = i == 0 ? made : first;
    }
    TRY(audit_add(cmd, str_from(arena_printf(cmd->arena, "job %s", spec->id.text)),
                  spec->array_count ? str_from(arena_printf(cmd->arena, "%lld jobs: %.*s",
                                                            (long long)count, STR_ARG(first.name)))
                                    : first.name,
                  err));
    *ret_job = first;
    return OK;
}
