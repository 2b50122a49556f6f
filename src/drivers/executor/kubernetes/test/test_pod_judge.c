/* What Jobs and pods, as the API shows them, say about an attempt. */
#include "drivers/executor/kubernetes/pod_judge.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <signal.h>

#define NOW INT64_C(1796072400000) /* 2026-11-30T21:00:00Z */
#define JOB "\"metadata\":{\"uid\":\"j\"},\"spec\":{\"suspend\":false}"
#define FAILED                                                                                     \
    JOB ",\"status\":{\"conditions\":[{\"type\":\"Failed\",\"status\":\"True\","                   \
        "\"reason\":\"BackoffLimitExceeded\",\"message\":\"has reached the limit\"}]}"
#define COMPLETE JOB ",\"status\":{\"conditions\":[{\"type\":\"Complete\",\"status\":\"True\"}]}"
#define POD                                                                                        \
    "\"metadata\":{\"uid\":\"p\",\"name\":\"pod\",\"creationTimestamp\":\"2026-11-30T20:59:00Z\""
#define DELETING ",\"deletionTimestamp\":\"2026-11-30T20:59:30Z\""
#define STATE(s)                                                                                   \
    "\"containerStatuses\":[{\"name\":\"main\",\"image\":\"r/box:1\",\"imageID\":"                 \
    "\"r/box@sha256:abc\",\"state\":{" s "}}]"
#define RUNNING STATE("\"running\":{\"startedAt\":\"2026-11-30T20:59:10Z\"}")
#define ENDED(code, reason)                                                                        \
    STATE("\"terminated\":{\"exitCode\":" code ",\"reason\":\"" reason                             \
          "\",\"startedAt\":\"2026-11-30T20:59:10Z\",\"finishedAt\":\"2026-11-30T20:59:15Z\"}")

static void judge(const char *job, const char *pod, struct pod_facts *facts,
                  struct pod_verdict *ret_verdict)
{
    char text[4096];
    json_t *value;
    bool job_gone = facts->job.gone, pod_gone = facts->pod.gone;

    facts->now = NOW;
    facts->pod = kube_pod_none;
    (void)snprintf(text, sizeof text, "{%s}", job);
    value = json_loads(text, 0, NULL);
    assert_non_null(value);
    kube_job_read(value, &facts->job);
    json_decref(value);
    if (pod) {
        (void)snprintf(text, sizeof text, "{%s}", pod);
        value = json_loads(text, 0, NULL);
        assert_non_null(value);
        kube_pod_read(value, &facts->pod);
        json_decref(value);
    }
    facts->job.gone = job_gone;
    facts->pod.gone = pod_gone;
    pod_judge(facts, ret_verdict);
}

static void what_it_does_before_it_runs_is_said(void **state)
{
    struct pod_facts facts = {0};
    struct pod_verdict v;

    (void)state;
    judge(JOB, NULL, &facts, &v);
    assert_int_equal(v.look.phase, EXECUTOR_STARTING);
    judge(JOB,
          POD "},\"status\":{\"phase\":\"Pending\",\"conditions\":[{\"type\":\"PodScheduled\","
              "\"status\":\"False\",\"reason\":\"Unschedulable\",\"message\":\"0/1 nodes\"}]}",
          &facts, &v);
    assert_int_equal(v.look.phase, EXECUTOR_STARTING);
    assert_string_equal(v.look.progress, "no node takes it: 0/1 nodes");
}

static void a_container_that_runs_is_running_in_its_image(void **state)
{
    struct pod_facts facts = {0};
    struct pod_verdict v;

    (void)state;
    judge(JOB, POD "},\"status\":{\"phase\":\"Running\"," RUNNING "}", &facts, &v);
    assert_int_equal(v.look.phase, EXECUTOR_RUNNING);
    assert_int_equal(v.look.started_at, NOW - 50000);
    assert_string_equal(v.look.image, "r/box@sha256:abc");
}

static void an_end_is_told_when_the_job_says_so(void **state)
{
    struct pod_facts facts = {0};
    struct pod_verdict v;

    (void)state;
    judge(JOB, POD "},\"status\":{\"phase\":\"Running\"," ENDED("0", "Completed") "}", &facts, &v);
    assert_int_equal(v.look.phase, EXECUTOR_RUNNING); /* the uploader works */
    judge(COMPLETE, POD "},\"status\":{\"phase\":\"Succeeded\"," ENDED("0", "Completed") "}",
          &facts, &v);
    assert_int_equal(v.look.phase, EXECUTOR_ENDED);
    assert_int_equal(v.look.exit_code, 0);
    assert_int_equal(v.look.run_time_ms, 5000);
    judge(FAILED, POD "},\"status\":{\"phase\":\"Failed\"," ENDED("7", "Error") "}", &facts, &v);
    assert_int_equal(v.look.exit_code, 7);
    assert_string_equal(v.look.reason, "");
    judge(FAILED, POD "},\"status\":{\"phase\":\"Failed\"," ENDED("139", "Error") "}", &facts, &v);
    assert_int_equal(v.look.exit_code, -1);
    assert_int_equal(v.look.exit_signal, SIGSEGV);
}

static void an_end_waits_for_what_the_pod_says(void **state)
{
    struct pod_facts facts = {0};
    struct pod_verdict v;

    (void)state;
    judge(FAILED, POD "},\"status\":{\"phase\":\"Running\"," RUNNING "}", &facts, &v);
    assert_int_equal(v.look.phase, EXECUTOR_RUNNING);
    assert_false(v.orphan);
    facts.pod_unseen = true;
    judge(FAILED, NULL, &facts, &v);
    assert_int_equal(v.look.phase, EXECUTOR_STARTING);
    facts.pod_unseen = false;
    judge(FAILED, NULL, &facts, &v);
    assert_int_equal(v.look.phase, EXECUTOR_ENDED);
    assert_true(v.look.failed_to_start);
}

static void out_of_memory_needs_the_kernel_s_signal(void **state)
{
    struct pod_facts facts = {0};
    struct pod_verdict v;

    (void)state;
    judge(FAILED, POD "},\"status\":{\"phase\":\"Failed\"," ENDED("137", "OOMKilled") "}", &facts,
          &v);
    assert_true(v.look.oom);
    judge(COMPLETE, POD "},\"status\":{\"phase\":\"Succeeded\"," ENDED("0", "OOMKilled") "}",
          &facts, &v);
    assert_false(v.look.oom); /* a child was killed, the job went on */
}

static void a_pod_that_is_taken_away_has_not_ended_while_its_job_is_suspended(void **state)
{
    struct pod_facts facts = {0};
    struct pod_verdict v;

    (void)state;
    facts.pod.gone = true;
    judge("\"metadata\":{\"uid\":\"j\",\"managedFields\":[{\"manager\":\"kueue\",\"fieldsV1\":{"
          "\"f:spec\":{\"f:suspend\":{}}}}]},\"spec\":{\"suspend\":true}",
          POD DELETING "},\"status\":{\"phase\":\"Failed\"," ENDED("143", "Error") "}", &facts, &v);
    assert_int_equal(v.look.phase, EXECUTOR_STARTING);
    assert_string_equal(v.look.progress, "suspended in the cluster by kueue");
}

static void what_was_deleted_by_hand_has_ended_with_that_reason(void **state)
{
    struct pod_facts facts = {0};
    struct pod_verdict v;

    (void)state;
    facts.pod.gone = true;
    judge(FAILED, POD DELETING "},\"status\":{\"phase\":\"Failed\"," ENDED("143", "Error") "}",
          &facts, &v);
    assert_int_equal(v.look.phase, EXECUTOR_ENDED);
    assert_string_equal(v.look.reason, "its pod was deleted in the cluster");
    facts.job.gone = true;
    judge(JOB, POD DELETING "},\"status\":{\"phase\":\"Failed\"," ENDED("143", "Error") "}", &facts,
          &v);
    assert_int_equal(v.look.phase, EXECUTOR_ENDED);
    assert_string_equal(v.look.reason, "its Job was deleted in the cluster");
    facts.pod.gone = false;
    judge(JOB, POD "},\"status\":{\"phase\":\"Running\"," RUNNING "}", &facts, &v);
    assert_int_equal(v.look.phase, EXECUTOR_RUNNING);
    assert_true(v.orphan);
}

static void a_stop_of_ours_is_no_fault_of_the_cluster(void **state)
{
    struct pod_facts facts = {.stop_asked = true};
    struct pod_verdict v;

    (void)state;
    facts.pod.gone = true;
    judge(FAILED, POD DELETING "},\"status\":{\"phase\":\"Failed\"," ENDED("143", "Error") "}",
          &facts, &v);
    assert_true(v.look.was_stopped);
    assert_int_equal(v.look.exit_signal, SIGTERM);
    assert_string_equal(v.look.reason, "");
}

static void an_image_that_cannot_be_had_ends_the_start(void **state)
{
    static const char *const reasons[][2] = {
        {"InvalidImageName", "couldn't parse image name"},
        {"ErrImageNeverPull", "is not present with pull policy of Never"},
        {"ImagePullBackOff", "failed to resolve reference: not found"},
        {"ErrImagePull", "pull access denied"},
    };
    struct pod_facts facts = {0};
    struct pod_verdict v;
    char pod[1024];

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(reasons); i++) {
        (void)snprintf(pod, sizeof pod,
                       POD "},\"status\":{\"phase\":\"Pending\"," STATE(
                           "\"waiting\":{\"reason\":\"%s\",\"message\":\"%s\"}") "}",
                       reasons[i][0], reasons[i][1]);
        judge(JOB, pod, &facts, &v);
        assert_int_equal(v.look.phase, EXECUTOR_ENDED);
        assert_true(v.never && v.look.failed_to_start && v.look.image_failed);
    }
}

static void a_registry_that_is_away_is_waited_for(void **state)
{
    struct pod_facts facts = {0};
    struct pod_verdict v;

    (void)state;
    judge(JOB,
          POD "},\"status\":{\"phase\":\"Pending\"," STATE(
              "\"waiting\":{\"reason\":\"ImagePullBackOff\",\"message\":\"i/o timeout\"}") "}",
          &facts, &v);
    assert_int_equal(v.look.phase, EXECUTOR_STARTING);
    assert_string_equal(v.look.progress, "ImagePullBackOff: i/o timeout");
}

static void a_program_that_cannot_start_is_a_failed_start(void **state)
{
    struct pod_facts facts = {0};
    struct pod_verdict v;

    (void)state;
    judge(FAILED,
          POD "},\"status\":{\"phase\":\"Failed\"," STATE(
              "\"terminated\":{\"exitCode\":128,\"reason\":\"StartError\",\"message\":\"failed: "
              "exec: "
              "\\\"nope\\\": executable file not found in "
              "$PATH\",\"startedAt\":\"1970-01-01T00:00:00Z\"}") "}",
          &facts, &v);
    assert_int_equal(v.look.phase, EXECUTOR_ENDED);
    assert_true(v.look.failed_to_start);
    assert_false(v.look.image_failed);
    assert_string_equal(v.look.reason, "program \"nope\" is not in the image");
}

static void a_silent_node_is_lost_after_its_time(void **state)
{
    static const char pod[] = POD DELETING
        "},\"spec\":{\"nodeName\":\"n1\"},\"status\":{\"phase\":\"Running\",\"conditions\":[{"
        "\"type\":"
        "\"DisruptionTarget\",\"status\":\"True\",\"message\":\"taint\"}]," RUNNING "}";
    struct pod_facts facts = {0};
    struct pod_verdict v;

    (void)state;
    judge(JOB, pod, &facts, &v); /* 30 s after the time by which it should have ended */
    assert_int_equal(v.look.phase, EXECUTOR_ENDED);
    assert_string_equal(v.look.reason, "node n1 was lost; its container may still run");
}

static void an_evicted_pod_says_whether_it_was_the_disk(void **state)
{
    struct pod_facts facts = {0};
    struct pod_verdict v;

    (void)state;
    judge(FAILED,
          POD "},\"status\":{\"phase\":\"Failed\",\"reason\":\"Evicted\",\"message\":\"Usage of "
              "EmptyDir volume work exceeds the limit\"," ENDED("137", "Error") "}",
          &facts, &v);
    assert_true(v.look.disk_full);
    judge(FAILED,
          POD
          "},\"status\":{\"phase\":\"Failed\",\"reason\":\"Evicted\",\"message\":\"The node was "
          "low on resource: memory\"," ENDED("137", "Error") "}",
          &facts, &v);
    assert_false(v.look.disk_full);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_it_does_before_it_runs_is_said),
        cmocka_unit_test(a_container_that_runs_is_running_in_its_image),
        cmocka_unit_test(an_end_is_told_when_the_job_says_so),
        cmocka_unit_test(an_end_waits_for_what_the_pod_says),
        cmocka_unit_test(out_of_memory_needs_the_kernel_s_signal),
        cmocka_unit_test(a_pod_that_is_taken_away_has_not_ended_while_its_job_is_suspended),
        cmocka_unit_test(what_was_deleted_by_hand_has_ended_with_that_reason),
        cmocka_unit_test(a_stop_of_ours_is_no_fault_of_the_cluster),
        cmocka_unit_test(an_image_that_cannot_be_had_ends_the_start),
        cmocka_unit_test(a_registry_that_is_away_is_waited_for),
        cmocka_unit_test(a_program_that_cannot_start_is_a_failed_start),
        cmocka_unit_test(a_silent_node_is_lost_after_its_time),
        cmocka_unit_test(an_evicted_pod_says_whether_it_was_the_disk),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
