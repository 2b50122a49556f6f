/* What a Job and its pod, as last seen, say about an attempt. Pure. thread: any
 *
 * An end is believed only when it cannot be undone: the Job is in a terminal state or gone, or its
 * pod has ended by itself. A pod that is being taken away may mean that the Job was suspended
 * again, and goes on later. What is seen of a Job may be ahead of what is seen of its pod, which
 * alone knows how it ended: its word is waited for. */
#pragma once

#include "drivers/executor/kubernetes/objects.h"
#include "ports/executor.h"

struct pod_facts {
    struct kube_job job;
    struct kube_pod pod;
    bool stop_asked, kill_asked; /* of us */
    bool timed_out;              /* we ended it for its time limit */
    bool pod_unseen;             /* the cluster has a pod that is not in `pod` yet */
    time_ms now;
};

struct pod_verdict {
    struct executor_look look; /* without console_bytes */
    bool never;  /* it can never start: its pod must be ended now; `look` then is how it ended */
    bool orphan; /* its Job is gone, its pod runs on: it must be ended */
};

/* The Job was created and told to run before. */
void pod_judge(const struct pod_facts *facts, struct pod_verdict *ret_verdict);
