/* What one log() costs from C: five values a call, against formatting the record alone and against
 * a write(2) per record. Prints nanoseconds a call: least, median and greatest of the rounds, the
 * candidates taking turns in each round. With --json one document. */
#include "runlog/encode.h"
#include "runlog/writer.h"

#include <euvyra/euvyra.h>

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define ROUNDS     9
#define CALLS      200000
#define VALUES     5
#define CANDIDATES 4
#define BASE       2 /* the candidate that ratios are against */

struct bench {
    struct euvyra_run *run;
    struct runlog_writer plain;
    uint32_t ids[VALUES];
    double values[VALUES];
    uint64_t sink;
};

static double now_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static void fill_row(const struct bench *b, uint8_t *payload, int step)
{
    runlog_row_begin(payload, step, (int64_t)now_ns(), VALUES);
    for (uint32_t k = 0; k < VALUES; k++)
        runlog_row_put(payload, k, b->ids[k], b->values[k]);
}

static void run_clock(struct bench *b)
{
    for (int i = 0; i < CALLS; i++)
        b->sink += (uint64_t)now_ns();
}

static void run_format(struct bench *b)
{
    uint8_t payload[RUNLOG_ROW_BYTES(VALUES)], record[128];

    for (int i = 0; i < CALLS; i++) {
        fill_row(b, payload, i);
        b->sink += runlog_record_encode(RUNLOG_ROW, 0, payload, sizeof payload, record) + record[8];
    }
}

static void run_log(struct bench *b)
{
    for (int i = 0; i < CALLS; i++)
        b->sink += euvyra_log(b->run, i, b->ids, b->values, VALUES);
}

static void run_write(struct bench *b)
{
    for (int i = 0; i < CALLS; i++) {
        uint8_t *payload;
        if (runlog_writer_reserve(&b->plain, RUNLOG_ROW_BYTES(VALUES), i, &payload) != 0)
            abort();
        fill_row(b, payload, i);
        if (runlog_writer_commit(&b->plain, RUNLOG_ROW, 0, RUNLOG_ROW_BYTES(VALUES)) != 0)
            abort();
    }
}

static const struct {
    const char *name;
    void (*run)(struct bench *b);
} candidates[CANDIDATES] = {
    {"clock_gettime alone", run_clock},
    {"record formatted in memory", run_format},
    {"euvyra_log, 5 values", run_log},
    {"write(2) per record", run_write},
};

static int compare(const void *a, const void *b)
{
    double left = *(const double *)a, right = *(const double *)b;

    return (left > right) - (left < right);
}

static void report(double times[CANDIDATES][ROUNDS], int as_json)
{
    for (int c = 0; c < CANDIDATES; c++)
        qsort(times[c], ROUNDS, sizeof(double), compare);
    printf(as_json ? "[" : "ns a call: least / median / greatest of %d rounds\n", ROUNDS);
    for (int c = 0; c < CANDIDATES; c++) {
        double median = times[c][ROUNDS / 2], ratio = median / times[BASE][ROUNDS / 2];
        if (as_json)
            printf("%s{\"name\":\"%s\",\"unit\":\"ns a call\",\"min\":%.1f,\"median\":%.1f,"
                   "\"max\":%.1f,\"ratio\":%.3f,\"against\":\"%s\"}",
                   c > 0 ? "," : "", candidates[c].name, times[c][0], median, times[c][ROUNDS - 1],
                   ratio, candidates[BASE].name);
        else
            printf("%-28s %8.1f / %8.1f / %8.1f   %6.2f x euvyra_log\n", candidates[c].name,
                   times[c][0], median, times[c][ROUNDS - 1], ratio);
    }
    if (as_json)
        printf("]\n");
}

static int bench_open(struct bench *b, const char *folder, int dir_fd)
{
    struct euvyra_options options = {.struct_bytes = sizeof options, .dir = folder, .run = ""};
    struct runlog_writer_options plain = {
        .dir_fd = dir_fd, .writer = "wabcdefghijkl", .plain_writes = true};

    if (dir_fd < 0 || euvyra_open(&options, &b->run) != EUVYRA_OK ||
        runlog_writer_open(&b->plain, &plain) != 0)
        return 1;
    for (uint32_t k = 0; k < VALUES; k++) {
        char name[16];
        int len = snprintf(name, sizeof name, "metric%u", k);
        b->values[k] = 0.1 * k;
        if (euvyra_metric(b->run, name, (size_t)len, &b->ids[k]) != EUVYRA_OK)
            return 1;
    }
    return 0;
}

int main(int argc, char **argv)
{
    static double times[CANDIDATES][ROUNDS];
    const char *folder = argc > 1 ? argv[1] : ".";
    struct bench b = {0};
    int dir_fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    if (bench_open(&b, folder, dir_fd) != 0) {
        fprintf(stderr, "usage: bench_log EMPTY_FOLDER [--json]\n");
        return 1;
    }
    for (int round = 0; round < ROUNDS; round++)
        for (int c = 0; c < CANDIDATES; c++) {
            double begin = now_ns();
            candidates[c].run(&b);
            times[c][round] = (now_ns() - begin) / CALLS;
        }
    report(times, argc > 2 && strcmp(argv[2], "--json") == 0);
    euvyra_close(b.run);
    runlog_writer_close(&b.plain);
    close(dir_fd);
    return b.sink == 1;
}
