/* Judging an attempt by its objects. */
#include "drivers/executor/kubernetes/pod_judge.h"

#include <signal.h>
#include <stdio.h>

#define LOST_MS_MAX 10000  /* after the time by which a pod should have ended */
#define PULL_MS_MAX 600000 /* a registry that does not answer */

static bool is_any(const char *text, const char *const *names)
{
    for (; *names; names++) {
        if (strcmp(text, *names) == 0)
            return true;
    }
    return false;
}

static bool mentions(const char *text, const char *const *words)
{
    for (; *words; words++) {
        if (strcasestr(text, *words))
            return true;
    }
    return false;
}

static void say(char ret_text[EXECUTOR_REASON_BYTES], const char *format, const char *a,
                const char *b)
{
    char text[EXECUTOR_REASON_BYTES * 4];

    /* Cut, not refused: it is for people. */
    (void)snprintf(text, sizeof(text), format, a, b);
    (void)snprintf(ret_text, EXECUTOR_REASON_BYTES, "%.*s", EXECUTOR_REASON_BYTES - 1, text);
}

/* "docker.io/library/python@sha256:..." as the runtime says it; some put a scheme before it. An
 * image that was loaded, not pulled, has its own digest alone. */
static void take_image(const struct kube_container *main, struct executor_look *look)
{
    const char *id = main->image_id, *scheme = strstr(id, "://");
    size_t name_len = strcspn(main->image, "@");

    if (scheme)
        id = scheme + 3;
    if (!strstr(id, "sha256:"))
        return;
    if (strchr(id, '@'))
        (void)snprintf(look->image, sizeof(look->image), "%s", id);
    else
        (void)snprintf(look->image, sizeof(look->image), "%.*s@%.100s", (int)MIN(name_len, 400),
                       main->image, id);
}

/* ---- What keeps it from starting */

/* The image cannot be had, and asking again will not help. */
static bool image_is_out(const struct kube_container *c, const struct pod_facts *facts)
{
    static const char *const at_once[] = {"InvalidImageName", "ErrImageNeverPull", NULL};
    static const char *const pulls[] = {"ErrImagePull", "ImagePullBackOff", "ImageInspectError",
                                        "RegistryUnavailable", NULL};
    static const char *const final[] = {"not found",
                                        "403 forbidden",
                                        "manifest unknown",
                                        "unauthorized",
                                        "authorization failed",
                                        "denied",
                                        "authentication",
                                        "no match for platform",
                                        "not exist",
                                        "invalid reference",
                                        NULL};

    if (c->state != CONTAINER_WAITING)
        return false;
    if (is_any(c->reason, at_once))
        return true;
    if (!is_any(c->reason, pulls))
        return false;
    return mentions(c->message, final) ||
           (facts->pod.created != TIME_NONE && facts->now - facts->pod.created > PULL_MS_MAX);
}

static bool is_refused(const struct kube_container *c)
{
    static const char *const reasons[] = {"CreateContainerConfigError", "CreateContainerError",
                                          "RunContainerError", NULL};

    return c->state == CONTAINER_WAITING && is_any(c->reason, reasons);
}

/* It was made and could not be started: a missing program, one for another machine type. */
static bool never_ran(const struct kube_container *c)
{
    static const char *const reasons[] = {"StartError", "ContainerCannotRun", NULL};

    return c->state == CONTAINER_ENDED && is_any(c->reason, reasons);
}

static void fail_start(struct pod_verdict *v, const struct pod_facts *facts, bool image,
                       const char *what, const char *why)
{
    v->look.phase = EXECUTOR_ENDED;
    v->look.failed_to_start = true;
    v->look.image_failed = image;
    v->look.started_at = TIME_NONE;
    v->look.ended_at = facts->now;
    v->look.run_time_ms = 0;
    say(v->look.reason, "%s: %s", what, why);
}

static const char *words_of(const struct kube_container *c)
{
    return c->message[0] ? c->message : c->reason;
}

/* The runtime's words about a program that is not there name it: exec: "NAME": ... */
static void say_missing(const struct kube_container *c, struct executor_look *look)
{
    static const char *const missing[] = {"executable file not found", "no such file or directory",
                                          NULL};
    const char *name = strstr(c->message, "exec: \"");
    int len = name ? (int)strcspn(name + 7, "\"") : 0;

    if (name && mentions(name, missing))
        (void)snprintf(look->reason, sizeof(look->reason), "program \"%.*s\" is not in the image",
                       MIN(len, 200), name + 7);
}

/* True when it can never start; the verdict says why. */
static bool cannot_start(const struct pod_facts *facts, struct pod_verdict *v)
{
    const struct kube_pod *pod = &facts->pod;
    const struct kube_container *tools[] = {&pod->prepare, &pod->uploader};
    static const char *const foreign[] = {"exec format error", NULL};

    if (never_ran(&pod->main)) {
        fail_start(v, facts, mentions(pod->main.message, foreign), "the container cannot start",
                   words_of(&pod->main));
        say_missing(&pod->main, &v->look);
        return true;
    }
    if (pod->prepare.state == CONTAINER_ENDED && pod->prepare.exit_code != 0) {
        fail_start(v, facts, false, "the code cannot be brought in", words_of(&pod->prepare));
        return true;
    }
    if (image_is_out(&pod->main, facts)) {
        fail_start(v, facts, true, "the image", words_of(&pod->main));
        return v->never = true;
    }
    for (size_t i = 0; i < ARRAY_LEN(tools); i++) {
        if (image_is_out(tools[i], facts) || never_ran(tools[i])) {
            fail_start(v, facts, false, "the agent's --tools-image", words_of(tools[i]));
            return v->never = true;
        }
    }
    if (is_refused(&pod->main)) {
        fail_start(v, facts, false, "the container cannot start", words_of(&pod->main));
        return v->never = true;
    }
    return false;
}

static void tell_progress(const struct pod_facts *facts, struct executor_look *look)
{
    const struct kube_pod *pod = &facts->pod;
    const struct kube_container *waiting = &pod->main;

    if (pod->uploader.state == CONTAINER_WAITING)
        waiting = &pod->uploader;
    if (pod->prepare.state == CONTAINER_WAITING)
        waiting = &pod->prepare;
    if (!pod->uid[0])
        say(look->progress, "%s%s", "the cluster makes the pod", "");
    else if (pod->unschedulable[0])
        say(look->progress, "%s: %s", "no node takes it", pod->unschedulable);
    else if (pod->prepare.state == CONTAINER_RUNNING)
        say(look->progress, "%s%s", "the code is brought in", "");
    else if (waiting->message[0])
        say(look->progress, "%s: %s", waiting->reason, waiting->message);
    else if (pod->node[0])
        say(look->progress, "the image is pulled, the container made on %s%s", pod->node, "");
}

/* ---- How it ended */

static void take_exit(const struct pod_facts *facts, struct executor_look *look)
{
    const struct kube_container *main = &facts->pod.main;

    look->started_at = main->started;
    look->ended_at = main->ended != TIME_NONE ? main->ended : facts->now;
    if (main->started != TIME_NONE)
        look->run_time_ms = MAX(look->ended_at - main->started, 0);
    if (main->exit_code > 128 && main->exit_code < 128 + NSIG)
        look->exit_signal = main->exit_code - 128;
    else
        look->exit_code = main->exit_code;
    look->oom = strcmp(main->reason, "OOMKilled") == 0 && main->exit_code == 128 + SIGKILL;
}

static void take_cause(const struct pod_facts *facts, struct executor_look *look)
{
    const struct kube_pod *pod = &facts->pod;
    static const char *const disk[] = {"ephemeral", "emptydir", "nodefs", "disk", NULL};

    look->was_stopped = facts->stop_asked || facts->kill_asked;
    look->timed_out = facts->timed_out || strcmp(pod->reason, "DeadlineExceeded") == 0;
    if (look->timed_out || look->was_stopped || facts->job.complete)
        return;
    if (strcmp(pod->reason, "Evicted") == 0) {
        look->disk_full = mentions(pod->message, disk);
        say(look->reason, "%s: %s", "evicted by its node", pod->message);
    } else if (facts->job.gone || facts->job.deleting) {
        say(look->reason, "%s%s", "its Job was deleted in the cluster", "");
    } else if (pod->disrupted[0]) {
        say(look->reason, "ended by the cluster: %s%s", pod->disrupted, "");
    } else if (pod->deleting || pod->gone) {
        say(look->reason, "%s%s", "its pod was deleted in the cluster", "");
    } else if (pod->message[0]) {
        say(look->reason, "%s%s", pod->message, "");
    } else if (pod->main.state != CONTAINER_ENDED) {
        say(look->reason, "%s: %s", "its Job failed", facts->job.message);
    }
}

static void take_end(const struct pod_facts *facts, struct executor_look *look)
{
    const struct kube_container *main = &facts->pod.main;

    look->phase = EXECUTOR_ENDED;
    if (main->state == CONTAINER_ENDED) {
        take_exit(facts, look);
    } else {
        look->started_at = main->started;
        look->ended_at = facts->now;
        if (main->started != TIME_NONE)
            look->run_time_ms = MAX(facts->now - main->started, 0);
    }
    take_cause(facts, look);
    if (look->started_at == TIME_NONE) {
        look->failed_to_start = true;
        look->run_time_ms = 0;
    }
}

/* Its node is silent, and nobody there will say how it ends. */
static bool node_is_lost(const struct pod_facts *facts)
{
    const struct kube_pod *pod = &facts->pod;

    return pod->uid[0] && !pod->gone && pod->deleting && pod->main.state != CONTAINER_ENDED &&
           facts->now - pod->delete_at > LOST_MS_MAX;
}

static bool pod_has_ended(const struct kube_pod *pod)
{
    return strcmp(pod->phase, "Succeeded") == 0 || strcmp(pod->phase, "Failed") == 0;
}

static bool has_ended(const struct pod_facts *facts, struct pod_verdict *v)
{
    const struct kube_job *job = &facts->job;
    const struct kube_pod *pod = &facts->pod;
    bool nothing_runs = !pod->uid[0] || pod->gone || pod_has_ended(pod);

    if (facts->pod_unseen)
        return false;
    if (job->complete || job->failed || job->gone) {
        v->orphan = job->gone && !nothing_runs && !pod->deleting;
        return nothing_runs || node_is_lost(facts);
    }
    if (facts->kill_asked && pod->gone)
        return true;
    return pod_has_ended(pod) && !pod->deleting && !pod->gone;
}

void pod_judge(const struct pod_facts *facts, struct pod_verdict *ret_verdict)
{
    const struct kube_pod *pod = &facts->pod;
    struct executor_look *look = &ret_verdict->look;

    *ret_verdict = (struct pod_verdict){.look = {.phase = EXECUTOR_STARTING,
                                                 .started_at = TIME_NONE,
                                                 .ended_at = TIME_NONE,
                                                 .run_time_ms = -1,
                                                 .exit_code = -1}};
    take_image(&pod->main, look);
    if (has_ended(facts, ret_verdict)) {
        if (!cannot_start(facts, ret_verdict))
            take_end(facts, look);
        ret_verdict->never = false;
        return;
    }
    if (facts->job.suspended) {
        say(look->progress, "suspended in the cluster%s%s",
            facts->job.suspended_by[0] ? " by " : "", facts->job.suspended_by);
        return;
    }
    if (node_is_lost(facts)) {
        take_end(facts, look);
        say(look->reason, "node %s was lost; its container may still run%s", pod->node, "");
        return;
    }
    if (!pod->deleting && cannot_start(facts, ret_verdict))
        return;
    look->started_at = pod->main.started;
    if (pod->main.started != TIME_NONE && !pod->gone)
        look->phase = EXECUTOR_RUNNING;
    else
        tell_progress(facts, look);
}
