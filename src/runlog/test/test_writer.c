#include "runlog/writer.h"

#include "folder.h"
#include "runlog/encode.h"
#include "runlog/segments.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#define WRITER "wabcdefgh2345"

static int open_writer(struct runlog_writer *writer, int dir_fd, bool plain)
{
    return runlog_writer_open(writer, &(struct runlog_writer_options){
                                          .dir_fd = dir_fd,
                                          .writer = WRITER,
                                          .segment_bytes_max = 64 * 1024,
                                          .plain_writes = plain,
                                          .now_ms = 1,
                                      });
}

static int write_row(struct runlog_writer *writer, int64_t step)
{
    uint8_t *payload;
    int rc = runlog_writer_reserve(writer, RUNLOG_ROW_BYTES(1), step, &payload);

    if (rc != 0)
        return rc;
    runlog_row_begin(payload, step, step, 1);
    runlog_row_put(payload, 0, 0, (double)step);
    return runlog_writer_commit(writer, RUNLOG_ROW, 0, RUNLOG_ROW_BYTES(1));
}

/* Reads all rows and checks that their steps run on from 0 without a hole; returns their count. */
static int64_t rows_in_order(int dir_fd, uint64_t *ret_bytes, int *ret_state)
{
    static uint8_t data[RUNLOG_POST_BYTES_MAX];
    struct runlog_segments segments;
    struct runlog_record record;
    struct runlog_row row;
    int64_t rows = 0;
    size_t len;
    int state;

    runlog_segments_init(&segments, dir_fd, WRITER);
    while ((state = runlog_segments_read(&segments, data, sizeof data, &len)) == RUNLOG_RECORD) {
        for (size_t at = 0; runlog_next(data, len, &at, &record) == RUNLOG_RECORD;) {
            if (record.type != RUNLOG_ROW)
                continue;
            assert_true(runlog_row_decode(&record, &row));
            assert_int_equal(row.step, rows);
            rows++;
        }
    }
    *ret_bytes = segments.offset;
    *ret_state = state;
    runlog_segments_close(&segments);
    return rows;
}

static void check_many_segments(bool plain)
{
    char path[64];
    int dir_fd = folder_make(path);
    struct runlog_writer writer;
    uint64_t bytes;
    int state;

    assert_int_equal(open_writer(&writer, dir_fd, plain), 0);
    for (int64_t i = 0; i < 5000; i++)
        assert_int_equal(write_row(&writer, i), 0);
    assert_true(writer.segment_number >= 3);
    assert_int_equal(rows_in_order(dir_fd, &bytes, &state), 5000); /* while it is still open */
    assert_int_equal(state, RUNLOG_TORN);
    assert_true(bytes == runlog_writer_offset(&writer));
    runlog_writer_close(&writer);
    assert_int_equal(rows_in_order(dir_fd, &bytes, &state), 5000);
    assert_true(bytes == 5000 * (12 + RUNLOG_ROW_BYTES(1)));
    folder_remove(dir_fd, path);
}

static void many_segments_read_as_one_log(void **state)
{
    (void)state;
    check_many_segments(false);
    check_many_segments(true);
}

static void nothing_is_lost_when_the_process_is_killed(void **state)
{
    (void)state;
    for (int round = 0; round < 6; round++) {
        char path[64];
        int dir_fd = folder_make(path), pipe_fds[2];
        struct runlog_writer writer;
        uint64_t bytes;
        int log_state;
        int64_t told = 0;

        assert_int_equal(pipe(pipe_fds), 0);
        pid_t child = fork();
        if (child == 0) {
            if (open_writer(&writer, dir_fd, round % 2 == 1) != 0)
                _exit(1);
            for (int64_t i = 0; write_row(&writer, i) == 0; i++)
                if (i % 100 == 0 && write(pipe_fds[1], &i, sizeof i) < 0)
                    _exit(1);
            _exit(1);
        }
        close(pipe_fds[1]);
        for (int i = 0; i < 20 + round * 7; i++)
            assert_int_equal(read(pipe_fds[0], &told, sizeof told), (ssize_t)sizeof told);
        kill(child, SIGKILL);
        assert_int_equal(waitpid(child, NULL, 0), child);
        close(pipe_fds[0]);
        assert_true(rows_in_order(dir_fd, &bytes, &log_state) > told);
        assert_int_equal(log_state, RUNLOG_TORN);
        folder_remove(dir_fd, path);
    }
}

static void shorter_payload_than_reserved_leaves_no_rest(void **state)
{
    char path[64];
    int dir_fd = folder_make(path);
    struct runlog_writer writer;
    uint8_t *payload;
    uint64_t bytes;
    int log_state;
    (void)state;

    assert_int_equal(open_writer(&writer, dir_fd, false), 0);
    assert_int_equal(runlog_writer_reserve(&writer, 1000, 1, &payload), 0);
    memset(payload, 0xff, 1000);
    runlog_writer_cancel(&writer);
    assert_int_equal(runlog_writer_reserve(&writer, 1000, 1, &payload), 0);
    memset(payload, 0xff, 1000);
    assert_int_equal(runlog_writer_commit(&writer, RUNLOG_NOTES, 0, 3), 0);
    assert_int_equal(write_row(&writer, 0), 0);
    assert_int_equal(rows_in_order(dir_fd, &bytes, &log_state), 1);
    assert_int_equal(log_state, RUNLOG_TORN);
    runlog_writer_close(&writer);
    folder_remove(dir_fd, path);
}

static void a_large_payload_is_split_and_joined(void **state)
{
    static uint8_t data[RUNLOG_POST_BYTES_MAX];
    size_t len = 3 * RUNLOG_PAYLOAD_BYTES_MAX + 17, got = 0, at = 0;
    char path[64];
    int dir_fd = folder_make(path);
    struct runlog_writer writer;
    struct runlog_segments segments;
    struct runlog_group group;
    uint8_t *text = malloc(len), *joined = malloc(len);
    (void)state;

    for (size_t i = 0; i < len; i++)
        text[i] = (uint8_t)(i * 31);
    assert_int_equal(runlog_writer_open(&writer, &(struct runlog_writer_options){.dir_fd = dir_fd,
                                                                                 .writer = WRITER}),
                     0);
    assert_int_equal(runlog_writer_append(&writer, RUNLOG_CONFIG, text, len, 5), 0);
    assert_int_equal(
        runlog_writer_append(&writer, RUNLOG_CONFIG, text, RUNLOG_GROUP_BYTES_MAX + 1, 5),
        -EMSGSIZE);
    assert_int_equal(runlog_writer_append(&writer, RUNLOG_ROW, text, len, 5), -EMSGSIZE);
    runlog_writer_close(&writer);
    runlog_segments_init(&segments, dir_fd, WRITER);
    assert_int_equal(runlog_segments_read(&segments, data, sizeof data, &got), RUNLOG_RECORD);
    assert_int_equal(runlog_next_group(data, got, &at, &group), RUNLOG_RECORD);
    assert_int_equal(group.part_count, 4);
    assert_int_equal(group.payload_bytes, len);
    runlog_group_copy(&group, joined);
    assert_memory_equal(joined, text, len);
    runlog_segments_close(&segments);
    free(text);
    free(joined);
    folder_remove(dir_fd, path);
}

/* Fills the file-size limit of a child, frees it, and goes on: the log must hold a gap record. */
static int full_disk_child(int dir_fd, bool plain)
{
    struct rlimit limit = {4096, 1 << 20};
    struct runlog_writer writer;
    int64_t step = 0;
    int rc;

    signal(SIGXFSZ, SIG_IGN);
    if (open_writer(&writer, dir_fd, plain) != 0 || setrlimit(RLIMIT_FSIZE, &limit) != 0)
        return 2;
    while ((rc = write_row(&writer, step)) == 0)
        step++;
    if (rc != -EFBIG || write_row(&writer, step) != -EFBIG || writer.lost_total != 2)
        return 3;
    limit.rlim_cur = limit.rlim_max;
    if (setrlimit(RLIMIT_FSIZE, &limit) != 0 || write_row(&writer, step) != 0)
        return 4;
    runlog_writer_close(&writer);
    return writer.lost_total == 2 && writer.lost_records == 0 ? 0 : 5;
}

static void check_full_disk(bool plain)
{
    static uint8_t data[RUNLOG_POST_BYTES_MAX];
    char path[64];
    int dir_fd = folder_make(path), status;
    struct runlog_segments segments;
    struct runlog_record record;
    struct runlog_gap gap = {0};
    uint64_t bytes, lost = 0;
    size_t len, at;
    int log_state;

    pid_t child = fork();
    if (child == 0)
        _exit(full_disk_child(dir_fd, plain));
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    assert_true(rows_in_order(dir_fd, &bytes, &status) > 0);
    runlog_segments_init(&segments, dir_fd, WRITER);
    while ((log_state = runlog_segments_read(&segments, data, sizeof data, &len)) ==
           RUNLOG_RECORD) {
        for (at = 0; runlog_next(data, len, &at, &record) == RUNLOG_RECORD;) {
            if (record.type != RUNLOG_GAP)
                continue;
            assert_true(runlog_gap_decode(&record, &gap));
            assert_true(gap.bytes > 0);
            lost += gap.records;
        }
    }
    assert_int_equal(log_state, RUNLOG_TORN);
    assert_int_equal(lost, 2);
    runlog_segments_close(&segments);
    folder_remove(dir_fd, path);
}

static void a_full_disk_is_an_error_and_leaves_a_gap_record(void **state)
{
    (void)state;
    check_full_disk(true);
    check_full_disk(false);
}

static void a_writer_id_is_used_once(void **state)
{
    char path[64];
    int dir_fd = folder_make(path);
    struct runlog_writer writer, second;
    (void)state;

    assert_int_equal(open_writer(&writer, dir_fd, false), 0);
    assert_int_equal(open_writer(&second, dir_fd, false), -EEXIST);
    runlog_writer_close(&writer);
    assert_int_equal(open_writer(&second, dir_fd, false), -EEXIST);
    folder_remove(dir_fd, path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(many_segments_read_as_one_log),
        cmocka_unit_test(nothing_is_lost_when_the_process_is_killed),
        cmocka_unit_test(shorter_payload_than_reserved_leaves_no_rest),
        cmocka_unit_test(a_large_payload_is_split_and_joined),
        cmocka_unit_test(a_full_disk_is_an_error_and_leaves_a_gap_record),
        cmocka_unit_test(a_writer_id_is_used_once),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
