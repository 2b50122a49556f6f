/* Facts about libeuvyra, seen through the reader of src/runlog. */
#include "runlog/record.h"
#include "runlog/segments.h"

#include <euvyra/euvyra.h>

#include <dirent.h>
#include <fcntl.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static char base[64];

struct seen {
    int rows, names, ends, starts;
    int64_t last_step;
    char start[65536], end[1024], define[8192];
};

static uint8_t data[RUNLOG_POST_BYTES_MAX];

static void look(const struct euvyra_run *run, const char *writer, struct seen *ret_seen)
{
    int dir_fd = open(euvyra_run_folder(run), O_RDONLY | O_DIRECTORY);
    struct runlog_segments segments;
    struct runlog_record record;
    struct runlog_row row;
    size_t len;

    memset(ret_seen, 0, sizeof *ret_seen);
    runlog_segments_init(&segments, dir_fd, writer);
    while (runlog_segments_read(&segments, data, sizeof data, &len) == RUNLOG_RECORD) {
        for (size_t at = 0; runlog_next(data, len, &at, &record) == RUNLOG_RECORD;) {
            if (record.type == RUNLOG_START)
                memcpy(ret_seen->start, record.payload, record.len);
            if (record.type == RUNLOG_END_OF_RUN)
                memcpy(ret_seen->end, record.payload, record.len);
            if (record.type == RUNLOG_DEFINE)
                memcpy(ret_seen->define, record.payload, record.len);
            ret_seen->starts += record.type == RUNLOG_START;
            ret_seen->ends += record.type == RUNLOG_END_OF_RUN;
            ret_seen->names += record.type == RUNLOG_NAMES;
            if (runlog_row_decode(&record, &row) && record.type == RUNLOG_ROW) {
                ret_seen->rows++;
                ret_seen->last_step = row.step;
            }
        }
    }
    runlog_segments_close(&segments);
    close(dir_fd);
}

static struct euvyra_run *open_run(void)
{
    static const char *const argv[] = {"train.py", "--api-key", "hunter2"};
    struct euvyra_run *run = NULL;
    struct euvyra_options options = {
        .struct_bytes = sizeof options,
        .dir = base,
        .project = "demo",
        .name = "first try",
        .run = "",
        .config_json = "{\"lr\":0.1,\"password\":\"hunter2\"}",
        .argv = argv,
        .argc = 3,
    };

    assert_int_equal(euvyra_open(&options, &run), EUVYRA_OK);
    return run;
}

static void a_run_is_recorded_from_start_to_end(void **state)
{
    struct euvyra_run *run = open_run();
    static struct seen seen;
    uint32_t ids[2], again;
    double values[2] = {0.5, (double)NAN};
    (void)state;

    assert_int_equal(euvyra_metric(run, "loss", 4, &ids[0]), EUVYRA_OK);
    assert_int_equal(euvyra_metric(run, "acc", 3, &ids[1]), EUVYRA_OK);
    assert_int_equal(euvyra_metric(run, "loss", 4, &again), EUVYRA_OK);
    assert_int_equal(again, ids[0]);
    assert_int_equal(euvyra_log(run, EUVYRA_STEP_NEXT, ids, values, 2), EUVYRA_OK);
    assert_int_equal(euvyra_log(run, 10, ids, values, 2), EUVYRA_OK);
    assert_int_equal(euvyra_log(run, EUVYRA_STEP_NEXT, ids, values, 2), EUVYRA_OK);
    assert_int_equal(euvyra_summary(run, "{\"best\":1}", 10), EUVYRA_OK);
    assert_int_equal(euvyra_end(run, 3, 0, "exit", NULL), EUVYRA_OK);
    assert_int_equal(euvyra_log(run, 1, ids, values, 2), EUVYRA_CLOSED);
    look(run, euvyra_writer_id(run), &seen);
    assert_int_equal(seen.starts, 1);
    assert_int_equal(seen.names, 2);
    assert_int_equal(seen.rows, 3);
    assert_int_equal(seen.last_step, 11);
    assert_non_null(strstr(seen.end, "\"exit_code\":3"));
    euvyra_close(run);
}

static void secrets_do_not_reach_the_disk(void **state)
{
    struct euvyra_run *run = open_run();
    static struct seen seen;
    (void)state;

    assert_int_equal(euvyra_config(run, "{\"token\":\"hunter2\"}", 19), EUVYRA_OK);
    look(run, euvyra_writer_id(run), &seen);
    assert_null(memmem(data, sizeof data, "hunter2", 7));
    assert_non_null(strstr(seen.start, "\"redacted\":2"));
    assert_non_null(strstr(seen.start, "\"lr\":0.1"));
    euvyra_close(run);
}

static void a_forked_child_writes_a_log_of_its_own(void **state)
{
    struct euvyra_run *run = open_run();
    char parent[16], child_writer[16] = "";
    static struct seen seen;
    int fds[2], status;
    uint32_t id;
    double value = 1;
    (void)state;

    snprintf(parent, sizeof parent, "%s", euvyra_writer_id(run));
    assert_int_equal(euvyra_metric(run, "loss", 4, &id), EUVYRA_OK);
    assert_int_equal(pipe(fds), 0);
    pid_t child = fork();
    if (child == 0) {
        int bad = euvyra_log(run, 7, &id, &value, 1) != EUVYRA_OK || euvyra_is_owner(run);
        bad |= write(fds[1], euvyra_writer_id(run), 14) != 14;
        euvyra_close(run);
        _exit(bad);
    }
    assert_int_equal(euvyra_log(run, 1, &id, &value, 1), EUVYRA_OK);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    assert_int_equal(read(fds[0], child_writer, 14), 14);
    assert_string_not_equal(child_writer, parent);
    look(run, child_writer, &seen);
    assert_int_equal(seen.rows, 1);
    assert_int_equal(seen.last_step, 7);
    assert_int_equal(seen.names, 1);
    assert_non_null(strstr(seen.start, parent));
    look(run, parent, &seen);
    assert_int_equal(seen.rows, 1);
    assert_int_equal(seen.last_step, 1);
    euvyra_close(run);
    close(fds[0]);
    close(fds[1]);
}

static void names_that_cannot_be_are_refused(void **state)
{
    struct euvyra_run *run = open_run();
    char text[600];
    uint32_t id;
    (void)state;

    memset(text, 'x', sizeof text);
    assert_int_equal(euvyra_metric(run, "", 0, &id), EUVYRA_INVALID);
    assert_int_equal(euvyra_metric(run, text, 513, &id), EUVYRA_INVALID);
    assert_int_equal(euvyra_metric(run, text, 512, &id), EUVYRA_OK);
    assert_int_equal(euvyra_metric(run, "a\nb", 3, &id), EUVYRA_INVALID);
    assert_int_equal(euvyra_metric(run, "\xff", 1, &id), EUVYRA_INVALID);
    assert_int_equal(euvyra_metric(run, "\xc2\x85", 2, &id), EUVYRA_INVALID);
    assert_int_equal(euvyra_metric(run, "\xc3\xa4", 2, &id), EUVYRA_OK);
    euvyra_close(run);
}

static void a_definition_is_recorded_with_what_was_said(void **state)
{
    static char long_name[] = "0123456789abcdef\"\\/*";
    struct euvyra_run *run = open_run();
    static struct seen seen;
    (void)state;

    assert_int_equal(euvyra_define_metric(run, long_name, "epoch", "mean", "minimize"), EUVYRA_OK);
    look(run, euvyra_writer_id(run), &seen);
    assert_string_equal(seen.define, "{\"name\":\"0123456789abcdef\\\"\\\\/*\",\"step_metric\":"
                                     "\"epoch\",\"summary\":\"mean\",\"goal\":\"minimize\"}");
    assert_int_equal(euvyra_define_metric(run, "a", NULL, NULL, NULL), EUVYRA_OK);
    euvyra_close(run);
}

static void definitions_that_cannot_be_are_refused(void **state)
{
    struct euvyra_run *run = open_run();
    char text[600];
    static struct seen seen;
    (void)state;

    memset(text, 'x', sizeof text);
    text[513] = 0;
    assert_int_equal(euvyra_define_metric(run, NULL, NULL, NULL, NULL), EUVYRA_INVALID);
    assert_int_equal(euvyra_define_metric(run, "", NULL, NULL, NULL), EUVYRA_INVALID);
    assert_int_equal(euvyra_define_metric(run, text, NULL, NULL, NULL), EUVYRA_INVALID);
    assert_int_equal(euvyra_define_metric(run, "a*b", NULL, NULL, NULL), EUVYRA_INVALID);
    assert_int_equal(euvyra_define_metric(run, "a**", NULL, NULL, NULL), EUVYRA_INVALID);
    assert_int_equal(euvyra_define_metric(run, "a", "a", NULL, NULL), EUVYRA_INVALID);
    assert_int_equal(euvyra_define_metric(run, "a", "", NULL, NULL), EUVYRA_INVALID);
    assert_int_equal(euvyra_define_metric(run, "a", text, NULL, NULL), EUVYRA_INVALID);
    assert_int_equal(euvyra_define_metric(run, "a", NULL, "median", NULL), EUVYRA_INVALID);
    assert_int_equal(euvyra_define_metric(run, "a", NULL, NULL, "up"), EUVYRA_INVALID);
    look(run, euvyra_writer_id(run), &seen);
    assert_string_equal(seen.define, "");
    text[512] = 0; /* the longest name, as an axis too, in the worst escapes there are */
    assert_int_equal(euvyra_define_metric(run, text, "b", NULL, NULL), EUVYRA_OK);
    memset(text, '"', 512);
    assert_int_equal(euvyra_define_metric(run, "a", text, NULL, NULL), EUVYRA_OK);
    euvyra_close(run);
}

static void many_names_keep_their_ids(void **state)
{
    struct euvyra_run *run = open_run();
    char text[32];
    uint32_t id;
    (void)state;

    for (uint32_t round = 0; round < 2; round++)
        for (uint32_t i = 0; i < 20000; i++) {
            int len = snprintf(text, sizeof text, "metric/%u", i);
            assert_int_equal(euvyra_metric(run, text, (size_t)len, &id), EUVYRA_OK);
            assert_int_equal(id, i);
        }
    euvyra_close(run);
}

static enum euvyra_code find(const char *dir, const char *run, const char *project,
                             const char *name, struct euvyra_found *ret_found)
{
    return euvyra_find(&(struct euvyra_query){dir, run, project, name, -1}, ret_found);
}

static void an_unfinished_run_is_found_again(void **state)
{
    struct euvyra_run *run = open_run();
    struct euvyra_found found;
    uint32_t id;
    double value = 1;
    (void)state;

    assert_int_equal(euvyra_metric(run, "loss", 4, &id), EUVYRA_OK);
    assert_int_equal(euvyra_log(run, 41, &id, &value, 1), EUVYRA_OK);
    assert_int_equal(find(base, euvyra_run_id(run), NULL, NULL, &found), EUVYRA_OK);
    assert_string_equal(found.run, euvyra_run_id(run));
    assert_int_equal(found.last_step, 41);
    struct euvyra_options options = {
        .struct_bytes = sizeof options, .folder = found.folder, .first_step = 42};
    struct euvyra_run *again;
    assert_int_equal(euvyra_open(&options, &again), EUVYRA_OK);
    assert_string_equal(euvyra_run_id(again), euvyra_run_id(run));
    euvyra_close(again);
    euvyra_close(run);
    assert_int_equal(find(base, "raaaaaaaaaaaa", NULL, NULL, &found), EUVYRA_NOT_FOUND);
    assert_int_equal(find(base, NULL, "other", "none", &found), EUVYRA_NOT_FOUND);
}

static int make_base(void **state)
{
    static const char pattern[] = "/tmp/euvyra-client-XXXXXX";
    (void)state;

    memcpy(base, pattern, sizeof pattern);
    return mkdtemp(base) == NULL;
}

static void remove_folder(const char *path)
{
    DIR *dir = opendir(path);
    struct dirent *entry;

    while (dir != NULL && (entry = readdir(dir)) != NULL)
        (void)unlinkat(dirfd(dir), entry->d_name, 0);
    if (dir != NULL)
        closedir(dir);
    (void)rmdir(path);
}

static int remove_base(void **state)
{
    DIR *dir = opendir(base);
    struct dirent *entry;
    (void)state;

    while (dir != NULL && (entry = readdir(dir)) != NULL) {
        char path[400];
        snprintf(path, sizeof path, "%s/%s", base, entry->d_name);
        if (entry->d_name[0] != '.')
            remove_folder(path);
    }
    closedir(dir);
    return rmdir(base);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_run_is_recorded_from_start_to_end),
        cmocka_unit_test(secrets_do_not_reach_the_disk),
        cmocka_unit_test(a_forked_child_writes_a_log_of_its_own),
        cmocka_unit_test(names_that_cannot_be_are_refused),
        cmocka_unit_test(a_definition_is_recorded_with_what_was_said),
        cmocka_unit_test(definitions_that_cannot_be_are_refused),
        cmocka_unit_test(many_names_keep_their_ids),
        cmocka_unit_test(an_unfinished_run_is_found_again),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, make_base, remove_base);
}
