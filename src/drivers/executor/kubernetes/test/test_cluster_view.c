/* What lists and watches make of what is known of attempts. */
#include "drivers/executor/kubernetes/cluster_view.h"

#include "base/json.h"
#include "drivers/executor/kubernetes/pod_spec.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>

static const struct id attempt = {"tabcdefghij23"};
static int changes;
static bool wanted;

static bool on_change(void *ctx, const struct id *id)
{
    (void)ctx;
    assert_string_equal(id->text, attempt.text);
    changes++;
    return wanted;
}

static struct cluster_view *new_view(void)
{
    changes = 0;
    wanted = true;
    return cluster_view_new(on_change, NULL);
}

/* A Job or pod of the attempt. */
static json_t *object(const char *uid, const char *created)
{
    return json_pack("{s:{s:s, s:s, s:{s:s}}}", "metadata", "uid", uid, "creationTimestamp",
                     created, "labels", POD_LABEL_ATTEMPT, attempt.text);
}

static void put(struct cluster_view *view, enum view_kind kind, const char *uid,
                const char *created, bool deleted)
{
    CLEANUP(json_release) json_t *value = object(uid, created);

    cluster_view_put(view, kind, value, deleted);
}

#define EARLY "2026-11-30T20:00:00Z"
#define LATE  "2026-11-30T21:00:00Z"

static void the_newer_pod_of_a_job_that_goes_on_counts(void **state)
{
    struct cluster_view *view = new_view();
    struct view_seen seen;

    (void)state;
    put(view, VIEW_PODS, "old", EARLY, false);
    put(view, VIEW_PODS, "new", LATE, false);
    put(view, VIEW_PODS, "old", EARLY, false); /* it ends, after the new one was made */
    put(view, VIEW_PODS, "old", EARLY, true);
    cluster_view_get(view, &attempt, &seen);
    assert_string_equal(seen.pod.uid, "new");
    assert_false(seen.pod.gone);
    put(view, VIEW_PODS, "new", LATE, true);
    put(view, VIEW_PODS, "third", EARLY, false); /* clocks of a cluster may go back */
    cluster_view_get(view, &attempt, &seen);
    assert_string_equal(seen.pod.uid, "third");
    assert_int_equal(changes, 6);
    cluster_view_free(view);
}

static void what_a_list_does_not_hold_is_gone_and_its_last_state_stays(void **state)
{
    CLEANUP(json_release) json_t *none = json_array();
    struct cluster_view *view = new_view();
    struct view_seen seen;
    struct id found[2];

    (void)state;
    put(view, VIEW_JOBS, "job", EARLY, false);
    put(view, VIEW_PODS, "pod", EARLY, false);
    assert_int_equal(cluster_view_jobs(view, found, 2), 1);
    cluster_view_replace(view, VIEW_PODS, none);
    cluster_view_get(view, &attempt, &seen);
    assert_true(seen.pod.gone);
    assert_string_equal(seen.pod.uid, "pod");
    assert_false(seen.job.gone);
    cluster_view_replace(view, VIEW_JOBS, none);
    cluster_view_get(view, &attempt, &seen);
    assert_true(seen.job.gone);
    assert_int_equal(cluster_view_jobs(view, found, 2), 0);
    cluster_view_free(view);
}

static void nothing_is_judged_before_both_lists(void **state)
{
    CLEANUP(json_release) json_t *none = json_array();
    struct cluster_view *view = new_view();

    (void)state;
    put(view, VIEW_JOBS, "job", EARLY, false);
    assert_false(cluster_view_is_whole(view));
    cluster_view_replace(view, VIEW_JOBS, none);
    assert_false(cluster_view_is_whole(view));
    cluster_view_replace(view, VIEW_PODS, none);
    assert_true(cluster_view_is_whole(view));
    cluster_view_free(view);
}

static void what_nobody_asks_for_is_forgotten_once_all_of_it_is_gone(void **state)
{
    struct cluster_view *view = new_view();
    struct view_seen seen;

    (void)state;
    wanted = false;
    put(view, VIEW_JOBS, "job", EARLY, false);
    put(view, VIEW_PODS, "pod", EARLY, false);
    put(view, VIEW_JOBS, "job", EARLY, true);
    cluster_view_get(view, &attempt, &seen);
    assert_string_equal(seen.job.uid, "job");
    put(view, VIEW_PODS, "pod", EARLY, true);
    cluster_view_get(view, &attempt, &seen);
    assert_string_equal(seen.job.uid, "");
    assert_string_equal(seen.pod.uid, "");
    cluster_view_free(view);
}

static void others_than_ours_are_left_out(void **state)
{
    CLEANUP(json_release) json_t *no_label = json_pack("{s:{s:s}}", "metadata", "uid", "u");
    CLEANUP(json_release)
    json_t *odd = json_pack("{s:{s:s, s:{s:s}}}", "metadata", "uid", "u", "labels",
                            POD_LABEL_ATTEMPT, "../../etc");
    struct cluster_view *view = new_view();

    (void)state;
    cluster_view_put(view, VIEW_JOBS, no_label, false);
    cluster_view_put(view, VIEW_JOBS, odd, false);
    assert_int_equal(changes, 0);
    cluster_view_free(view);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_newer_pod_of_a_job_that_goes_on_counts),
        cmocka_unit_test(what_a_list_does_not_hold_is_gone_and_its_last_state_stays),
        cmocka_unit_test(nothing_is_judged_before_both_lists),
        cmocka_unit_test(what_nobody_asks_for_is_forgotten_once_all_of_it_is_gone),
        cmocka_unit_test(others_than_ours_are_left_out),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
