/* Reading Jobs and pods. A field that is missing reads as nothing. */
#include "drivers/executor/kubernetes/objects.h"

#include <stdio.h>

#define NO_CONTAINER                                                                               \
    {                                                                                              \
        .started = TIME_NONE, .ended = TIME_NONE                                                   \
    }

const struct kube_pod kube_pod_none = {.delete_at = TIME_NONE,
                                       .created = TIME_NONE,
                                       .prepare = NO_CONTAINER,
                                       .uploader = NO_CONTAINER,
                                       .main = NO_CONTAINER};

static const char *text_of(const json_t *object, const char *name)
{
    const char *text = json_string_value(json_object_get(object, name));

    return text ? text : "";
}

/* One line for people: control bytes become spaces. */
static void copy_line(char *ret_text, size_t size, const char *text)
{
    size_t len = 0;

    for (; text[len] && len + 1 < size; len++)
        ret_text[len] = (unsigned char)text[len] < 0x20 || text[len] == 0x7f ? ' ' : text[len];
    ret_text[len] = '\0';
    while (len > 0 && ret_text[len - 1] == ' ')
        ret_text[--len] = '\0';
}

#define TAKE(target, object, name) copy_line(target, sizeof(target), text_of(object, name))

static time_ms time_of(const json_t *object, const char *name)
{
    time_ms at;

    return time_parse(str_from(text_of(object, name)), &at) ? at : TIME_NONE;
}

const char *kube_label(const json_t *object, const char *name)
{
    return json_string_value(
        json_object_get(json_object_get(json_object_get(object, "metadata"), "labels"), name));
}

static bool is_true(const json_t *condition)
{
    return strcmp(text_of(condition, "status"), "True") == 0;
}

static void take_job_condition(struct kube_job *job, const json_t *condition)
{
    const char *type = text_of(condition, "type");
    bool failed = strcmp(type, "Failed") == 0, failing = strcmp(type, "FailureTarget") == 0;

    if (!is_true(condition))
        return;
    job->complete = job->complete || strcmp(type, "Complete") == 0;
    job->failed = job->failed || failed;
    if (!failed && !failing)
        return;
    TAKE(job->message, condition, "message");
}

/* Who set spec.suspend last. */
static void take_suspender(struct kube_job *job, const json_t *metadata)
{
    size_t i;
    json_t *entry;

    json_array_foreach(json_object_get(metadata, "managedFields"), i, entry)
    {
        const json_t *fields = json_object_get(json_object_get(entry, "fieldsV1"), "f:spec");

        if (json_object_get(fields, "f:suspend"))
            TAKE(job->suspended_by, entry, "manager");
    }
}

void kube_job_read(const json_t *object, struct kube_job *ret_job)
{
    const json_t *metadata = json_object_get(object, "metadata");
    size_t i;
    json_t *condition;

    *ret_job = (struct kube_job){0};
    TAKE(ret_job->uid, metadata, "uid");
    ret_job->deleting = text_of(metadata, "deletionTimestamp")[0] != '\0';
    ret_job->suspended = json_is_true(json_object_get(json_object_get(object, "spec"), "suspend"));
    take_suspender(ret_job, metadata);
    json_array_foreach(json_object_get(json_object_get(object, "status"), "conditions"), i,
                       condition) take_job_condition(ret_job, condition);
}

static void take_container(struct kube_container *c, const json_t *status)
{
    const json_t *state = json_object_get(status, "state"), *part;

    TAKE(c->image_id, status, "imageID");
    TAKE(c->image, status, "image");
    if ((part = json_object_get(state, "terminated")) != NULL) {
        c->state = CONTAINER_ENDED;
        c->started = time_of(part, "startedAt");
        c->ended = time_of(part, "finishedAt");
        c->exit_code = (int)json_integer_value(json_object_get(part, "exitCode"));
    } else if ((part = json_object_get(state, "running")) != NULL) {
        c->state = CONTAINER_RUNNING;
        c->started = time_of(part, "startedAt");
    } else if ((part = json_object_get(state, "waiting")) != NULL) {
        c->state = CONTAINER_WAITING;
    }
    if (c->started != TIME_NONE && c->started <= 0)
        c->started = TIME_NONE; /* it never ran */
    TAKE(c->reason, part, "reason");
    TAKE(c->message, part, "message");
}

static void take_containers(struct kube_pod *pod, const json_t *list)
{
    size_t i;
    json_t *status;

    json_array_foreach(list, i, status)
    {
        const char *name = text_of(status, "name");

        if (strcmp(name, "main") == 0)
            take_container(&pod->main, status);
        else if (strcmp(name, "uploader") == 0)
            take_container(&pod->uploader, status);
        else if (strcmp(name, "prepare") == 0)
            take_container(&pod->prepare, status);
    }
}

static void take_pod_condition(struct kube_pod *pod, const json_t *condition)
{
    const char *type = text_of(condition, "type");

    if (strcmp(type, "PodScheduled") == 0 && !is_true(condition) &&
        strcmp(text_of(condition, "reason"), "Unschedulable") == 0)
        TAKE(pod->unschedulable, condition, "message");
    if (strcmp(type, "DisruptionTarget") == 0 && is_true(condition)) {
        TAKE(pod->disrupted, condition, "message");
        if (!pod->disrupted[0])
            TAKE(pod->disrupted, condition, "reason");
    }
}

void kube_pod_read(const json_t *object, struct kube_pod *ret_pod)
{
    const json_t *metadata = json_object_get(object, "metadata");
    const json_t *status = json_object_get(object, "status");
    size_t i;
    json_t *condition;

    *ret_pod = kube_pod_none;
    TAKE(ret_pod->uid, metadata, "uid");
    TAKE(ret_pod->name, metadata, "name");
    TAKE(ret_pod->node, json_object_get(object, "spec"), "nodeName");
    TAKE(ret_pod->address, status, "podIP");
    TAKE(ret_pod->phase, status, "phase");
    TAKE(ret_pod->reason, status, "reason");
    TAKE(ret_pod->message, status, "message");
    ret_pod->created = time_of(metadata, "creationTimestamp");
    ret_pod->delete_at = time_of(metadata, "deletionTimestamp");
    ret_pod->deleting = ret_pod->delete_at != TIME_NONE;
    json_array_foreach(json_object_get(status, "conditions"), i, condition)
        take_pod_condition(ret_pod, condition);
    take_containers(ret_pod, json_object_get(status, "initContainerStatuses"));
    take_containers(ret_pod, json_object_get(status, "containerStatuses"));
}
