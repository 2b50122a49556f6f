/* The calls. The order of creation makes every crash harmless: the Job is suspended until its
 * Secrets are there, and the Secrets belong to the Job, so that none stays behind. */
#include "drivers/executor/kubernetes/pod_calls.h"

#include <inttypes.h>
#include <stdio.h>

#define MERGE_PATCH "application/merge-patch+json"

static void job_path(const struct pod_calls *calls, char ret_path[KUBE_PATH_BYTES])
{
    char name[POD_JOB_NAME_BYTES];

    pod_job_name(&calls->attempt, name);
    (void)snprintf(ret_path, KUBE_PATH_BYTES, "/apis/batch/v1/namespaces/%s/jobs/%s", calls->space,
                   name);
}

static enum err_code get_job(const struct pod_calls *calls, json_t **ret_job, struct err *err)
{
    char path[KUBE_PATH_BYTES];

    job_path(calls, path);
    return kube_api_call(calls->api, &(struct kube_call){.method = "GET", .path = path}, ret_job,
                         err);
}

enum err_code pod_calls_find_job(const struct pod_calls *calls, struct err *err)
{
    CLEANUP(json_release) json_t *job = NULL;

    return get_job(calls, &job, err);
}

enum err_code pod_calls_find_pod(const struct pod_calls *calls, struct err *err)
{
    CLEANUP(json_release) json_t *list = NULL;
    char path[KUBE_PATH_BYTES];

    (void)snprintf(path, sizeof(path),
                   "/api/v1/namespaces/%s/pods?limit=1&labelSelector=" POD_LABEL_ATTEMPT "%%3D%s",
                   calls->space, calls->attempt.text);
    TRY(kube_api_call(calls->api, &(struct kube_call){.method = "GET", .path = path}, &list, err));
    if (json_array_size(json_object_get(list, "items")) == 0)
        return err_set(err, ERR_NOT_FOUND, "the Job has no pod");
    return OK;
}

/* The Job as it is there: just made, or by an earlier try. */
static enum err_code make_job(const struct pod_calls *calls, const json_t *body, json_t **ret_job,
                              struct err *err)
{
    char path[KUBE_PATH_BYTES];
    const char *label;
    struct kube_job job;
    enum err_code code;

    (void)snprintf(path, sizeof(path), "/apis/batch/v1/namespaces/%s/jobs", calls->space);
    code =
        kube_api_call(calls->api, &(struct kube_call){.method = "POST", .path = path, .body = body},
                      ret_job, err);
    if (code != ERR_CONFLICT)
        return code;
    TRY(get_job(calls, ret_job, err));
    label = kube_label(*ret_job, POD_LABEL_ATTEMPT);
    kube_job_read(*ret_job, &job);
    if (label && strcmp(label, calls->attempt.text) == 0 && !job.deleting)
        return OK;
    json_release(ret_job);
    if (job.deleting)
        return err_set(err, ERR_UNAVAILABLE, "a Job of this name is being deleted");
    return err_set(err, ERR_CONFLICT, "a Job of this name is there that is not ours");
}

static const char *name_of(const json_t *object)
{
    return json_string_value(json_object_get(json_object_get(object, "metadata"), "name"));
}

static enum err_code delete_path(const struct pod_calls *calls, const char *path, struct err *err)
{
    enum err_code code =
        kube_api_call(calls->api, &(struct kube_call){.method = "DELETE", .path = path}, NULL, err);

    return code == ERR_NOT_FOUND ? OK : code;
}

/* One that is there may belong to a Job of the past, and go with it: we may not read it, so it is
 * made anew. */
static enum err_code make_secret(const struct pod_calls *calls, json_t *body, struct err *err)
{
    char path[KUBE_PATH_BYTES], one[KUBE_PATH_BYTES];
    struct kube_call create = {.method = "POST", .path = path, .body = body};
    enum err_code code;

    (void)snprintf(path, sizeof(path), "/api/v1/namespaces/%s/secrets", calls->space);
    code = kube_api_call(calls->api, &create, NULL, err);
    if (code != ERR_CONFLICT)
        return code;
    (void)snprintf(one, sizeof(one), "/api/v1/namespaces/%s/secrets/%s", calls->space,
                   name_of(body));
    TRY(delete_path(calls, one, err));
    return kube_api_call(calls->api, &create, NULL, err);
}

static enum err_code release_job(const struct pod_calls *calls, struct err *err)
{
    CLEANUP(json_release) json_t *patch = json_pack("{s:{s:b}}", "spec", "suspend", 0);
    char path[KUBE_PATH_BYTES];

    job_path(calls, path);
    return kube_api_call(
        calls->api,
        &(struct kube_call){
            .method = "PATCH", .path = path, .content_type = MERGE_PATCH, .body = patch},
        NULL, err);
}

enum err_code pod_calls_create(const struct pod_calls *calls, const struct pod_objects *objects,
                               struct err *err)
{
    CLEANUP(json_release) json_t *there = NULL;
    char name[POD_JOB_NAME_BYTES];
    struct kube_job job;

    pod_job_name(&calls->attempt, name);
    TRY(make_job(calls, objects->job, &there, err));
    kube_job_read(there, &job);
    if (!job.suspended)
        return OK; /* an earlier try came to the end */
    for (size_t i = 0; i < objects->secret_count; i++) {
        enum err_code code;

        pod_secret_own(objects->secrets[i], name, job.uid);
        code = make_secret(calls, objects->secrets[i], err);
        if (code == ERR_CONFLICT) /* its predecessor is still going away */
            return err_set(err, ERR_UNAVAILABLE, "a Secret of this name is being deleted");
        TRY(code);
    }
    return release_job(calls, err);
}

enum err_code pod_calls_end_pod(const struct pod_calls *calls, const char *pod, int64_t grace_s,
                                struct err *err)
{
    char path[KUBE_PATH_BYTES];

    (void)snprintf(path, sizeof(path), "/api/v1/namespaces/%s/pods/%s?gracePeriodSeconds=%" PRId64,
                   calls->space, pod, grace_s);
    return delete_path(calls, path, err);
}

enum err_code pod_calls_delete_job(const struct pod_calls *calls, struct err *err)
{
    char path[KUBE_PATH_BYTES + 64], base[KUBE_PATH_BYTES];

    job_path(calls, base);
    (void)snprintf(path, sizeof(path), "%s?propagationPolicy=Background", base);
    return delete_path(calls, path, err);
}

enum err_code pod_calls_why_no_pod(const struct pod_calls *calls, char ret_text[KUBE_TEXT_BYTES],
                                   struct err *err)
{
    CLEANUP(json_release) json_t *list = NULL;
    char path[KUBE_PATH_BYTES], name[POD_JOB_NAME_BYTES];
    size_t i;
    json_t *event;

    pod_job_name(&calls->attempt, name);
    ret_text[0] = '\0';
    (void)snprintf(path, sizeof(path),
                   "/api/v1/namespaces/%s/events?limit=20&fieldSelector=reason%%3DFailedCreate%%2C"
                   "involvedObject.kind%%3DJob%%2CinvolvedObject.name%%3D%s",
                   calls->space, name);
    TRY(kube_api_call(calls->api, &(struct kube_call){.method = "GET", .path = path}, &list, err));
    json_array_foreach(json_object_get(list, "items"), i, event)
    {
        const char *message = json_string_value(json_object_get(event, "message"));

        (void)snprintf(ret_text, KUBE_TEXT_BYTES, "%s", message ? message : "");
    }
    return OK;
}
