/* What we look at of a Job and of its pod, read from the API's objects. Pure. thread: any */
#pragma once

#include "base/json.h"
#include "base/timeval.h"

#define KUBE_ID_BYTES   64  /* a UID */
#define KUBE_HOST_BYTES 256 /* names of pods and nodes, addresses */
#define KUBE_TEXT_BYTES 512 /* what the cluster says about something */

struct kube_job {
    char uid[KUBE_ID_BYTES];          /* "": none was seen */
    bool gone;                        /* it was deleted */
    bool deleting;                    /* somebody asked for that */
    bool suspended;                   /* spec.suspend */
    char suspended_by[KUBE_ID_BYTES]; /* the field manager that set it, or "" */
    bool complete, failed;            /* terminal: all pods have ended */
    char message[KUBE_TEXT_BYTES];    /* of its failure */
};

enum kube_container_state {
    CONTAINER_UNKNOWN,
    CONTAINER_WAITING,
    CONTAINER_RUNNING,
    CONTAINER_ENDED
};

struct kube_container {
    enum kube_container_state state;
    char reason[KUBE_ID_BYTES], message[KUBE_TEXT_BYTES];
    time_ms started, ended; /* TIME_NONE */
    int exit_code;          /* of one that ended */
    char image_id[KUBE_TEXT_BYTES];
    char image[KUBE_TEXT_BYTES];
};

struct kube_pod {
    char uid[KUBE_ID_BYTES]; /* "": none was seen */
    char name[KUBE_HOST_BYTES], node[KUBE_HOST_BYTES], address[KUBE_HOST_BYTES];
    char phase[KUBE_ID_BYTES];
    bool gone;                           /* it was deleted, and this is its last state */
    bool deleting;                       /* it has been told to end */
    time_ms delete_at;                   /* by then it should have: TIME_NONE */
    char unschedulable[KUBE_TEXT_BYTES]; /* why no node takes it, or "" */
    char disrupted[KUBE_TEXT_BYTES];     /* the cluster ends it: why, or "" */
    char reason[KUBE_ID_BYTES], message[KUBE_TEXT_BYTES]; /* of the pod as a whole: "Evicted" */
    time_ms created;
    struct kube_container prepare, uploader, main;
};

extern const struct kube_pod kube_pod_none; /* nothing was seen */

void kube_job_read(const json_t *object, struct kube_job *ret_job);
void kube_pod_read(const json_t *object, struct kube_pod *ret_pod);
/* The value of a label, or NULL. */
const char *kube_label(const json_t *object, const char *name);
