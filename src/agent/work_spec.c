/* Making an executor's spec. */
#include "agent/work_spec.h"

#include "agent/job_env.h"
#include "agent/launcher.h"
#include "agent/work_gpus.h"
#include "agent/work_health.h"
#include "sys/file.h"
#include "wire/offer_container.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <unistd.h>

#define CA_BYTES_MAX (1024 * 1024)

/* A file that the job alone may read. */
static enum err_code write_for_job(const struct work_env *env, const char *path, struct str text,
                                   struct err *err)
{
    const struct agent_options *options = env->options;

    if (!text.len)
        return OK;
    TRY(file_write_atomic(path, text, 0600, err));
    if (options->set_user && lchown(path, options->uid, options->gid) != 0)
        return err_set_errno(err, ERR_IO, errno, "cannot give %s to the job", path);
    return OK;
}

/* Below a folder that this machine's administrator allowed, also where links lead: that path is
 * what is given, so that a link which a job changes meanwhile leads nowhere else. */
static enum err_code check_volume(const struct work_env *env, const struct wire_mount *mount,
                                  char ret_real[PATH_MAX], struct err *err)
{
    const char *const *allowed = env->options->volumes;
    char path[PATH_MAX];

    (void)snprintf(path, sizeof(path), "%.*s", STR_ARG(mount->host_path));
    if (!realpath(path, ret_real))
        return err_set_errno(err, ERR_UNPROCESSABLE, errno, "volume %s", path);
    for (; allowed && *allowed; allowed++) {
        size_t len = strcmp(*allowed, "/") == 0 ? 0 : strlen(*allowed);

        if (strncmp(ret_real, *allowed, len) == 0 && (ret_real[len] == '/' || !ret_real[len]))
            return OK;
    }
    (void)err_set(err, ERR_UNPROCESSABLE, "volume %s is not allowed on this machine", path);
    err_hint(err, "its administrator starts the agent with --volumes and a folder above it");
    return ERR_UNPROCESSABLE;
}

static enum err_code take_mounts(const struct work_env *env, const struct wire_offer *offer,
                                 struct arena *arena, struct executor_spec *spec, struct err *err)
{
    struct executor_mount *mounts = arena_array(arena, offer->mount_count, sizeof(mounts[0]));

    for (size_t i = 0; i < offer->mount_count; i++) {
        const struct wire_mount *m = &offer->mounts[i];
        char real[PATH_MAX];

        if (m->host_path.len)
            TRY(check_volume(env, m, real, err));
        mounts[i] = (struct executor_mount){
            .host_path = m->host_path.len ? arena_text(arena, str_from(real)) : NULL,
            .claim = m->claim.len ? arena_text(arena, m->claim) : NULL,
            .target = arena_text(arena, m->path),
            .read_only = m->read_only};
    }
    spec->mounts = mounts;
    spec->mount_count = offer->mount_count;
    return OK;
}

static enum err_code take_container(const struct work_env *env, const struct wire_offer *offer,
                                    struct arena *arena, struct executor_spec *spec,
                                    struct err *err)
{
    struct wire_container c;

    TRY(wire_offer_container(arena, offer, &c, err));
    spec->image = c.image.len ? arena_text(arena, c.image) : env->options->image;
    spec->shm_bytes = c.shm_bytes;
    spec->disk_bytes = c.disk_bytes;
    spec->pids = c.pids;
    spec->read_only_root = c.read_only_root;
    if (offer->registry_user.len) {
        spec->registry_user = arena_text(arena, offer->registry_user);
        spec->registry_secret = arena_text(arena, offer->registry_secret);
    }
    return take_mounts(env, offer, arena, spec, err);
}

static enum err_code read_ca(const struct work_env *env, struct arena *arena, struct str *ret_text,
                             struct err *err)
{
    CLEANUP(buf_release) struct buf text = {0};

    *ret_text = STR("");
    if (!env->options->ca_file || env->executor->host_programs)
        return OK;
    TRY(file_read(env->options->ca_file, CA_BYTES_MAX, &text, err));
    *ret_text = arena_copy(arena, buf_str(&text));
    return OK;
}

/* On the host, where the executor takes them from. */
static enum err_code write_files(const struct work_env *env, const char *folder,
                                 const struct executor_files *files, struct arena *arena,
                                 struct err *err)
{
    TRY(write_for_job(env, arena_printf(arena, "%s/key", folder), files->key, err));
    TRY(write_for_job(env, arena_printf(arena, "%s/ca.pem", folder), files->ca, err));
    return write_for_job(env, arena_printf(arena, "%s/config.json", folder), files->config, err);
}

static struct job_env_facts facts_of(const struct work_env *env, const struct executor_place *place,
                                     const struct executor_files *files, struct arena *arena)
{
    const struct agent_options *options = env->options;
    const char *inside = place->inside;
    struct job_env_facts facts = {
        .server = arena_text(arena, files->server),
        .key_file = arena_printf(arena, "%s/key", inside),
        .runs_dir = arena_printf(arena, "%s/runs", inside),
        .config_file = files->config.len ? arena_printf(arena, "%s/config.json", inside) : NULL,
        .ca_file = files->ca.len ? arena_printf(arena, "%s/ca.pem", inside) : NULL};

    if (env->executor->host_programs) {
        facts.agent_env = options->environ;
        facts.ca_file = options->ca_file;
        facts.euvyra = options->euvyra;
        facts.user_name = options->user_name;
        facts.user_home = options->user_home;
    }
    return facts;
}

/* For programs of this host, which see all of its GPUs and are told which are theirs. */
static const char *gpus_text(const struct work_env *env, const char *const *uuids,
                             struct arena *arena)
{
    const char *text = "";

    if (!env->executor->host_programs)
        return NULL;
    for (; uuids && *uuids; uuids++)
        text = arena_printf(arena, "%s%s%s", text, *text ? "," : "", *uuids);
    return text;
}

/* Where the first of its machines is. */
static enum err_code take_launch(const struct work_start *start, struct arena *arena,
                                 struct launch *ret_launch, struct err *err)
{
    const struct wire_offer *offer = start->offer;
    struct wire_container c;
    struct str host;

    TRY(wire_offer_container(arena, offer, &c, err));
    *ret_launch = (struct launch){.launcher = c.launcher,
                                  .nodes = offer->node_count,
                                  .rank = offer->rank,
                                  .processes = MAX(offer->gpus, 1)};
    if (offer->node_count == 1)
        return OK;
    if (!wire_rendezvous_parse(start->rendezvous, &host, &ret_launch->master_port))
        return err_set(err, ERR_UNPROCESSABLE,
                       "nobody said where the machines of the job can meet");
    ret_launch->master_addr = arena_text(arena, host);
    return OK;
}

enum err_code work_spec_make(const struct work_start *start, struct arena *arena,
                             struct executor_spec *ret_spec, struct err *err)
{
    const struct work_env *env = start->env;
    const struct agent_options *options = env->options;
    const struct wire_offer *offer = start->offer;
    const struct executor_place *place = start->place;
    struct executor_spec spec = {
        .attempt = offer->attempt.id,
        .rank = offer->rank,
        .node_count = offer->node_count,
        .waits = env->executor->meets_late && offer->node_count > 1 && offer->rank > 0,
        .work_dir = arena_printf(arena, "%s/work", place->inside),
        .timeout_s = offer->timeout_s,
        .grace_s = offer->grace_s,
        .cpus = offer->cpus,
        .memory_bytes = offer->memory_bytes,
        .gpu_count = offer->gpus,
        .console_bytes_max = options->console_bytes_max,
        .files = {.key = offer->key,
                  .config = offer->config,
                  .code = offer->code,
                  .server = str_from(options->server_for_jobs ? options->server_for_jobs
                                                              : options->server),
                  .token = str_from(offer->attempt.token)}};
    struct job_env_facts facts;
    struct launch launch;

    TRY(take_launch(start, arena, &launch, err));
    TRY(launch_argv(&launch, offer->argv, arena, &spec.argv, err));
    TRY(take_container(env, offer, arena, &spec, err));
    TRY(read_ca(env, arena, &spec.files.ca, err));
    TRY(work_gpus_take(env, offer, place, arena, &spec.gpus, err));
    facts = facts_of(env, place, &spec.files, arena);
    facts.gpus = gpus_text(env, spec.gpus, arena);
    facts.launch = &launch;
    TRY(work_health_port(env, offer, &facts.port, err));
    TRY(write_files(env, place->folder, &spec.files, arena, err));
    spec.env = job_env_build(arena, offer, &facts);
    *ret_spec = spec;
    return OK;
}
