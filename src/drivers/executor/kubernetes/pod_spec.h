/* What is created in the cluster for an attempt, as the API's objects: one Job of one pod, and the
 * Secrets that belong to it. Pure. thread: any
 *
 * The pod runs the job's image as the container `main`; beside it, with the image of our own
 * programs, `prepare` (brings the code in, where there is any) and `uploader` (brings the run's
 * record to the server while `main` runs, and to its last byte when it has ended). Everything that
 * is secret, and the whole environment, lies in the Secrets. */
#pragma once

#include "base/json.h"
#include "ports/executor.h"

#define POD_INSIDE        JOB_INSIDE /* the attempt's folder, as the pod sees it */
#define POD_LABEL_ATTEMPT "euvyra.eu/attempt"
#define POD_LABEL_AGENT   "euvyra.eu/agent"
/* For the rest of the record after the main container has ended by itself. Where the pod is told to
 * end, both share the job's own grace, of which a kubelet leaves the uploader 2 s at least. */
#define POD_UPLOAD_GRACE_S 30
#define POD_SECRETS_MAX    3
#define POD_JOB_NAME_BYTES 32

struct pod_options {
    const char *agent;        /* value of POD_LABEL_AGENT */
    const char *tools_image;  /* of our own programs */
    const char *gpu_resource; /* "nvidia.com/gpu" */
    int64_t uid;              /* of all containers, and their group */
};

struct pod_objects {
    json_t *job;                      /* owned; suspended */
    json_t *secrets[POD_SECRETS_MAX]; /* owned; without an owner yet */
    size_t secret_count;
};

void pod_job_name(const struct id *attempt, char ret_name[POD_JOB_NAME_BYTES]);
/* ERR_UNPROCESSABLE: the API takes no such job (a folder of the host as a volume, no image). */
MUST_CHECK enum err_code pod_spec_make(const struct executor_spec *spec,
                                       const struct pod_options *options,
                                       struct pod_objects *ret_objects, struct err *err);
void pod_objects_release(struct pod_objects *objects); /* accepts a zeroed one */
/* Makes the Job the owner of a Secret: it goes when the Job goes. */
void pod_secret_own(json_t *secret, const char *job_name, const char *job_uid);
