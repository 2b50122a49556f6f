#include "runlog/segments.h"

#include "folder.h"
#include "runlog/writer.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#define WRITER "wabcdefgh2345"

static uint8_t data[RUNLOG_POST_BYTES_MAX];

/* Three segments of notes, 1,000 bytes each. Returns the log's length. */
static uint64_t make_log(int dir_fd)
{
    struct runlog_writer writer;
    char note[1000];

    memset(note, 'n', sizeof note);
    assert_int_equal(
        runlog_writer_open(&writer,
                           &(struct runlog_writer_options){
                               .dir_fd = dir_fd, .writer = WRITER, .segment_bytes_max = 64 * 1024}),
        0);
    for (int i = 0; i < 160; i++)
        assert_int_equal(runlog_writer_append(&writer, RUNLOG_NOTES, note, sizeof note, i), 0);
    uint64_t bytes = runlog_writer_offset(&writer);
    runlog_writer_close(&writer);
    return bytes;
}

static int read_to_end(struct runlog_segments *segments)
{
    size_t len;
    int state;

    do {
        state = runlog_segments_read(segments, data, sizeof data, &len);
    } while (state == RUNLOG_RECORD);
    return state;
}

static void poke(int dir_fd, const char *name, off_t at, char byte)
{
    int fd = openat(dir_fd, name, O_RDWR);

    assert_true(fd >= 0);
    assert_int_equal(pwrite(fd, &byte, 1, at), 1);
    close(fd);
}

static void reading_starts_at_any_record(void **state)
{
    char path[64];
    int dir_fd = folder_make(path);
    uint64_t whole = make_log(dir_fd);
    struct runlog_segments segments;
    (void)state;

    for (uint64_t at = 0; at <= whole; at += 1012 * 16) {
        runlog_segments_init(&segments, dir_fd, WRITER);
        segments.offset = at;
        assert_int_equal(read_to_end(&segments), RUNLOG_TORN);
        assert_true(segments.offset == whole);
        runlog_segments_close(&segments);
    }
    folder_remove(dir_fd, path);
}

static void a_damaged_record_stops_the_reader_and_counts_what_it_skips(void **state)
{
    char path[64];
    int dir_fd = folder_make(path);
    struct runlog_segments segments;
    (void)state;

    (void)make_log(dir_fd);
    poke(dir_fd, WRITER ".000001.log", 64 + 1012 + 500, 'x');
    runlog_segments_init(&segments, dir_fd, WRITER);
    assert_int_equal(read_to_end(&segments), RUNLOG_BAD);
    assert_true(segments.offset % 1012 == 0);
    assert_true(segments.skipped_bytes > 0);
    runlog_segments_close(&segments);
    folder_remove(dir_fd, path);
}

static void a_missing_segment_is_damage(void **state)
{
    char path[64];
    int dir_fd = folder_make(path);
    struct runlog_segments segments;
    (void)state;

    (void)make_log(dir_fd);
    assert_int_equal(unlinkat(dir_fd, WRITER ".000000.log", 0), 0);
    runlog_segments_init(&segments, dir_fd, WRITER);
    assert_int_equal(read_to_end(&segments), RUNLOG_TORN); /* no log at all, as it seems */
    segments.offset = 100 * 1012;
    assert_int_equal(read_to_end(&segments), RUNLOG_TORN);
    runlog_segments_close(&segments);
    folder_remove(dir_fd, path);
}

static void a_log_shorter_than_what_was_read_is_at_its_end(void **state)
{
    char path[64];
    int dir_fd = folder_make(path);
    uint64_t whole = make_log(dir_fd);
    struct runlog_segments segments;
    (void)state;

    runlog_segments_init(&segments, dir_fd, WRITER);
    segments.offset = whole + 1012;
    assert_int_equal(read_to_end(&segments), RUNLOG_TORN);
    assert_true(segments.offset == whole + 1012);
    runlog_segments_close(&segments);
    folder_remove(dir_fd, path);
}

static void a_foreign_header_is_damage(void **state)
{
    char path[64];
    int dir_fd = folder_make(path);
    struct runlog_segments segments;
    (void)state;

    (void)make_log(dir_fd);
    poke(dir_fd, WRITER ".000000.log", 20, 'z');
    runlog_segments_init(&segments, dir_fd, WRITER);
    assert_int_equal(read_to_end(&segments), RUNLOG_BAD);
    runlog_segments_close(&segments);
    folder_remove(dir_fd, path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reading_starts_at_any_record),
        cmocka_unit_test(a_damaged_record_stops_the_reader_and_counts_what_it_skips),
        cmocka_unit_test(a_missing_segment_is_damage),
        cmocka_unit_test(a_log_shorter_than_what_was_read_is_at_its_end),
        cmocka_unit_test(a_foreign_header_is_damage),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
