/* The log of a pod in pieces: whatever is cut, every byte is kept once. */
#include "drivers/common/console_text.h"
#include "drivers/executor/kubernetes/pod_logs.h"

#include "sys/file.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#define T1 "2026-11-30T21:00:01.100000000Z "
#define T2 "2026-11-30T21:00:01.200000000Z "
#define T3 "2026-11-30T21:00:02.300000000Z "
#define T4 "2026-11-30T21:00:03.400000000Z "

static char folder[64];

static int make_folder(void **state)
{
    (void)state;
    (void)snprintf(folder, sizeof folder, "/tmp/euvyra-podlog.XXXXXX");
    return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **state)
{
    struct err err;

    (void)state;
    return file_remove_tree(folder, &err) == OK ? 0 : -1;
}

static void open_log(struct pod_log *log, int64_t bytes_max)
{
    struct err err;

    assert_int_equal(pod_log_open(log, folder, bytes_max, &err), OK);
    pod_log_begin(log, "pod-1");
}

static void take(struct pod_log *log, const char *text)
{
    struct err err = {0};

    assert_int_equal(pod_log_take(log, str_from(text), &err), OK);
}

static void commit(struct pod_log *log)
{
    struct err err = {0};

    assert_int_equal(pod_log_commit(log, &err), OK);
}

static void assert_console(const char *want)
{
    struct buf text = {0};
    char path[128];
    struct err err;

    (void)snprintf(path, sizeof path, "%s/console", folder);
    assert_int_equal(file_read(path, 1 << 20, &text, &err), OK);
    assert_int_equal(text.len, strlen(want));
    assert_memory_equal(text.len ? text.data : "", want, text.len);
    buf_release(&text);
}

static void times_are_cut_off_whatever_the_pieces(void **state)
{
    static const char stream[] =
        T1 "one\n" T2 "\n" T3 "with 2026-11-30T21:00:01Z inside\n" T4 "end";
    struct pod_log log;

    (void)state;
    open_log(&log, 0);
    for (const char *c = stream; *c; c++)
        take(&log, (char[]){*c, '\0'});
    commit(&log);
    assert_console("one\n\nwith 2026-11-30T21:00:01Z inside\nend");
    pod_log_close(&log);
}

/* The same stream, cut at every place and read again from where the place says. */
static void a_stream_that_is_cut_anywhere_goes_on_without_loss_or_repetition(void **state)
{
    static const char *const lines[] = {T1 "a1\n", T2 "a2\n", T3 "b\n", T4 "c\n"};
    static const char whole[] = "a1\na2\nb\nc\n";
    static const char all[] = T1 "a1\n" T2 "a2\n" T3 "b\n" T4 "c\n";

    for (size_t cut = 0; cut <= strlen(all); cut++) {
        struct pod_log log;
        char head[512];

        (void)snprintf(head, sizeof head, "%.*s", (int)cut, all);
        open_log(&log, 0);
        take(&log, head);
        commit(&log);
        pod_log_close(&log);
        open_log(&log, 0);
        for (size_t i = 0; i < 4; i++) { /* what the API gives from that second on */
            if (!log.since[0] || strncmp(lines[i], log.since, 19) >= 0)
                take(&log, lines[i]);
        }
        commit(&log);
        pod_log_close(&log);
        assert_console(whole);
        assert_int_equal(remove_folder(state), 0);
        assert_int_equal(make_folder(state), 0);
    }
}

static void what_was_not_committed_is_forgotten(void **state)
{
    struct pod_log log;

    (void)state;
    open_log(&log, 0);
    take(&log, T1 "kept\n");
    commit(&log);
    take(&log, T2 "lost\n");
    pod_log_close(&log);
    open_log(&log, 0);
    take(&log, T1 "kept\n" T2 "lost\n" T3 "more\n");
    commit(&log);
    assert_console("kept\nlost\nmore\n");
    pod_log_close(&log);
}

/* A long line is cut into pieces that have times of their own, which nobody shows: the place stays
 * at its beginning until a short line of a later second. */
static void the_place_does_not_move_behind_a_long_line(void **state)
{
    struct pod_log log;
    char *line = malloc(20001);

    (void)state;
    memset(line, 'x', 19999);
    line[19999] = '\n';
    line[20000] = '\0';
    open_log(&log, 0);
    take(&log, T1);
    take(&log, line);
    take(&log, T3 "short\n");
    assert_string_equal(log.since, "2026-11-30T21:00:01Z");
    take(&log, T4 "later\n");
    assert_string_equal(log.since, "2026-11-30T21:00:03Z");
    pod_log_close(&log);
    free(line);
}

/* Two streams of one program: a line of an earlier second may come late. */
static void a_late_line_is_kept_and_not_counted(void **state)
{
    struct pod_log log;

    (void)state;
    open_log(&log, 0);
    take(&log, T1 "a\n" T3 "b\n" T2 "late\n" T3 "c\n");
    commit(&log);
    pod_log_close(&log);
    open_log(&log, 0);
    assert_string_equal(log.since, "2026-11-30T21:00:02Z");
    take(&log, T3 "b\n" T3 "c\n" T4 "d\n");
    commit(&log);
    assert_console("a\nb\nlate\nc\nd\n");
    pod_log_close(&log);
}

static void text_that_the_cluster_lost_is_marked(void **state)
{
    struct pod_log log;

    (void)state;
    open_log(&log, 0);
    take(&log, T1 "a\n" T2 "b\n");
    commit(&log);
    pod_log_close(&log);
    open_log(&log, 0);
    take(&log, T2 "b\n" T4 "d\n"); /* T1 is gone: the log was rotated */
    commit(&log);
    assert_console("a\nb\n\neuvyra-agent: the cluster has lost console text here\nd\n");
    pod_log_close(&log);
}

static void a_new_pod_begins_anew_and_is_appended(void **state)
{
    struct pod_log log;

    (void)state;
    open_log(&log, 0);
    take(&log, T1 "first\n");
    commit(&log);
    pod_log_begin(&log, "pod-2");
    assert_string_equal(log.since, "");
    take(&log, T4 "second\n");
    commit(&log);
    assert_console("first\nsecond\n");
    pod_log_close(&log);
}

static void what_a_node_says_in_place_of_a_log_is_no_text(void **state)
{
    struct pod_log log;
    struct err err;

    (void)state;
    open_log(&log, 0);
    assert_int_equal(
        pod_log_take(&log, STR("unable to retrieve container logs for containerd://1\n"), &err),
        ERR_NOT_FOUND);
    pod_log_close(&log);
}

static void text_beyond_the_limit_is_counted_and_said_once(void **state)
{
    struct pod_log log;
    struct buf text = {0};
    char path[128], *line = malloc(10001);
    struct err err;

    (void)state;
    memset(line, 'y', 10000);
    line[10000] = '\0';
    open_log(&log, 20000);
    take(&log, T1);
    for (int i = 0; i < 5; i++)
        take(&log, line);
    assert_int_equal(pod_log_bytes(&log), 20000);
    assert_int_equal(pod_log_finish(&log, &err), OK);
    assert_int_equal(pod_log_finish(&log, &err), OK);
    (void)snprintf(path, sizeof path, "%s/console", folder);
    assert_int_equal(file_read(path, 1 << 20, &text, &err), OK);
    assert_int_equal(text.len, pod_log_bytes(&log));
    assert_string_equal(text.data + 20000,
                        "\neuvyra-agent: console text is kept up to 20000 bytes; the 30000 bytes "
                        "after that were left out\n");
    buf_release(&text);
    pod_log_close(&log);
    free(line);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, make_folder, remove_folder)
    const struct CMUnitTest tests[] = {
        T(times_are_cut_off_whatever_the_pieces),
        T(a_stream_that_is_cut_anywhere_goes_on_without_loss_or_repetition),
        T(what_was_not_committed_is_forgotten),
        T(the_place_does_not_move_behind_a_long_line),
        T(a_late_line_is_kept_and_not_counted),
        T(text_that_the_cluster_lost_is_marked),
        T(a_new_pod_begins_anew_and_is_appended),
        T(what_a_node_says_in_place_of_a_log_is_no_text),
        T(text_beyond_the_limit_is_counted_and_said_once),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
