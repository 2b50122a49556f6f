/* euvyra-sim check: random worlds by seed, spread over processes. An assertion of the scheduler
 * ends the process that meets it: its seed is told by a signal handler, and another process goes on
 * with the seed behind it. */
#include "sim/commands.h"
#include "sim/generate.h"
#include "sys/file.h"
#include "sys/process.h"

#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define JOBS_MAX         64
#define FAILURES_MAX     10
#define SEED_SECONDS_MAX 60
#define SEED_MAX         INT64_C(1000000000000)

struct asked {
    int64_t from, to, jobs;
    bool worker, log;
};

static enum err_code parse_seeds(const char *text, struct asked *asked, struct err *err)
{
    struct str rest = str_from(text), first = rest;
    const char *dots = strstr(text, "..");

    if (dots) {
        first = str_n(text, (size_t)(dots - text));
        rest = str_from(dots + 2);
    }
    if (!str_to_i64(first, &asked->from) || !str_to_i64(rest, &asked->to) || asked->from < 0 ||
        asked->to < asked->from || asked->to > SEED_MAX)
        return err_set(err, ERR_INVALID, "--seeds \"%.40s\" is not A..B with 0 <= A <= B", text);
    return OK;
}

static enum err_code parse(int argc, char **argv, struct asked *asked, struct err *err)
{
    static const struct option options[] = {
        {"seeds", required_argument, NULL, 's'},
        {"jobs", required_argument, NULL, 'j'},
        {"worker", no_argument, NULL, 'w'},
        {"log", no_argument, NULL, 'l'},
        {0},
    };
    int c;

    *asked = (struct asked){.from = -1, .jobs = 2};
    opterr = 0;
    while ((c = getopt_long(argc, argv, "", options, NULL)) != -1) {
        switch (c) {
        case 's': TRY(parse_seeds(optarg, asked, err)); break;
        case 'j': TRY(cmd_number("--jobs", optarg, 1, JOBS_MAX, &asked->jobs, err)); break;
        case 'w': asked->worker = true; break;
        case 'l': asked->log = true; break;
        default:
            return err_set(err, ERR_INVALID, "option \"%.60s\" is unknown or lacks its value",
                           argv[optind - 1]);
        }
    }
    if (optind < argc)
        return err_set(err, ERR_INVALID, "argument \"%.60s\" is not expected", argv[optind]);
    if (asked->from < 0)
        return err_set(err, ERR_INVALID, "check needs --seeds A..B");
    return OK;
}

/* ---- One process */

/* What the handlers write: they can format nothing. */
static char aborted[64], endless[64];

static void on_abort(int number)
{
    ssize_t ignored = write(STDOUT_FILENO, aborted, strlen(aborted));

    (void)ignored; /* the process is about to end either way */
    (void)number;
}

/* A seed takes milliseconds: this one goes round and round. */
static void on_alarm(int number)
{
    ssize_t ignored = write(STDOUT_FILENO, endless, strlen(endless));

    (void)ignored;
    (void)number;
    (void)signal(SIGABRT, SIG_DFL);
    abort();
}

static void check_one(int64_t seed, bool log, int *failures)
{
    struct sim_chaos chaos;
    struct sim *sim;

    (void)snprintf(aborted, sizeof aborted, "fail %lld an assertion, see above\n", (long long)seed);
    sim_chaos_init(&chaos, (uint64_t)seed);
    chaos.options.log = log;
    sim = sim_new(&chaos.world, &chaos.options);
    sim_run(sim);
    if (sim_violation(sim)) {
        (*failures)++;
        (void)printf("fail %lld %s\n", (long long)seed, sim_violation(sim));
        (void)fflush(stdout);
    }
    sim_free(sim);
    sim_chaos_release(&chaos);
}

static int work(const struct asked *asked)
{
    int failures = 0;

    (void)signal(SIGABRT, on_abort);
    (void)signal(SIGALRM, on_alarm);
    for (int64_t seed = asked->from; seed <= asked->to && failures < FAILURES_MAX; seed++)
        check_one(seed, asked->log, &failures);
    return 0;
}

/* ---- All of them */

struct slot {
    int64_t from, to; /* what is left to do; from > to: nothing */
    struct process process;
    int fd; /* -1, or what it says */
};

static enum err_code start(struct slot *slot, struct err *err)
{
    char seeds[64];
    const char *const argv[] = {"/proc/self/exe", "check", "--worker", "--seeds", seeds, NULL};
    struct process_options options = {
        .argv = argv, .stdin_fd = -1, .stderr_fd = STDERR_FILENO, .extra_fd = -1};

    (void)snprintf(seeds, sizeof seeds, "%lld..%lld", (long long)slot->from, (long long)slot->to);
    TRY(file_open_unlinked("/tmp", &slot->fd, err));
    options.stdout_fd = slot->fd;
    return process_start(&slot->process, &options, err);
}

/* Says what a process found; the seed at which it ended by an assertion, or -1. */
static int64_t tell(const struct slot *slot, const struct process_end *end, int64_t *failures)
{
    char text[16384];
    ssize_t len = pread(slot->fd, text, sizeof text, 0);
    struct str rest = str_n(text, len > 0 ? (size_t)len : 0), line, word;
    int64_t seed = -1;

    while (rest.len) {
        (void)str_cut(&rest, '\n', &line);
        (void)str_cut(&line, ' ', &word);
        (void)str_cut(&line, ' ', &word);
        if (!str_to_i64(word, &seed))
            continue;
        (*failures)++;
        (void)printf("seed %lld: %.*s\n  again: euvyra-sim check --seeds %lld..%lld --log\n",
                     (long long)seed, STR_ARG(line), (long long)seed, (long long)seed);
    }
    return end->signaled ? seed : -1;
}

static enum err_code wait_for(struct slot *slot, int64_t *failures, struct err *err)
{
    struct process_end end;
    int64_t seed;

    (void)process_wait(&slot->process, -1, &end); /* without a limit it always ends */
    seed = tell(slot, &end, failures);
    file_close(&slot->fd);
    if (end.signaled && seed < slot->from)
        return err_set(err, ERR_INTERNAL, "a process for seeds %lld..%lld was ended by signal %d",
                       (long long)slot->from, (long long)slot->to, end.code);
    if (!end.signaled && end.code != 0)
        return err_set(err, ERR_INTERNAL, "a process for seeds %lld..%lld ended with code %d",
                       (long long)slot->from, (long long)slot->to, end.code);
    slot->from = end.signaled ? seed + 1 : slot->to + 1;
    return OK;
}

static enum err_code check_all(const struct asked *asked, int64_t *ret_failures, struct err *err)
{
    struct slot slots[JOBS_MAX];
    int64_t count = asked->to - asked->from + 1, failures = 0, at = asked->from;
    int64_t jobs = MIN(asked->jobs, count);
    bool more = true;

    for (int64_t i = 0; i < jobs; i++) {
        int64_t next = asked->from + count * (i + 1) / jobs;

        slots[i] = (struct slot){.from = at, .to = next - 1, .fd = -1};
        at = next;
    }
    while (more && failures < FAILURES_MAX) {
        more = false;
        for (int64_t i = 0; i < jobs; i++) {
            if (slots[i].from <= slots[i].to)
                TRY(start(&slots[i], err));
        }
        for (int64_t i = 0; i < jobs; i++) {
            if (slots[i].fd >= 0)
                TRY(wait_for(&slots[i], &failures, err));
            more |= slots[i].from <= slots[i].to;
        }
    }
    *ret_failures = failures;
    return OK;
}

int cmd_check(int argc, char **argv)
{
    struct asked asked;
    struct err err;
    int64_t failures = 0;

    if (parse(argc, argv, &asked, &err) != OK)
        return cmd_fail(&err);
    if (asked.worker || (asked.from == asked.to && asked.log))
        return work(&asked);
    if (check_all(&asked, &failures, &err) != OK)
        return cmd_fail(&err);
    if (failures >= FAILURES_MAX)
        (void)printf("stopped after %lld failures\n", (long long)failures);
    else
        (void)printf("%lld seeds, %lld failed\n", (long long)(asked.to - asked.from + 1),
                     (long long)failures);
    return failures ? 1 : 0;
}
