/* euvyra-sim: the scheduler in virtual time. */
#include "base/json.h"
#include "sim/commands.h"

#include <errno.h>
#include <stdio.h>

static const char usage[] =
    "euvyra-sim runs Euvyra's scheduler in virtual time, on made or recorded workloads.\n"
    "\n"
    "  euvyra-sim run [options]          policies side by side on one workload\n"
    "  euvyra-sim check --seeds A..B     what must always hold, on random clusters with faults\n"
    "  euvyra-sim scenario NAME|all|list known faults of schedulers, one by one\n"
    "\n"
    "run:\n"
    "  --generate NAME    a made workload: see --generate list; default cluster\n"
    "  --scale PERCENT    of it; default 100\n"
    "  --nodes FILE --tasks FILE [--shares FILE]\n"
    "                     your own, as tables; columns in docs/simulator.md\n"
    "  --trace-nodes FILE --trace-tasks FILE\n"
    "                     tables of the public trace cluster-trace-gpu-v2023\n"
    "  --projects N       into which the names of that trace are hashed; default 20\n"
    "  --load K           divide the times between arrivals by K, as in 1.5; default 1\n"
    "  --limit-factor F   time limit of tasks that have none, in run times; 0: none; default 2\n"
    "  --policies A,B|all which; see --policies list; default fifo,fifo+backfill,fgd,euvyra\n"
    "  --min-run S        no attempt is ended for others before; default 1800\n"
    "  --reserve-after S  room is held for a job that has waited so long; default the server's\n"
    "  --seed N           of a made workload; default 1\n"
    "  --json             figures as JSON\n"
    "  --plot FILE.svg    draw utilisation and waits\n"
    "  --timing           say how long the cycles took as well\n"
    "  --heartbeats       agents report every 10 s as real ones do; else only what happens\n"
    "  --check            look at all properties after every step (slow)\n"
    "  --log              say what happens\n"
    "check:\n"
    "  --seeds A..B       which random clusters\n"
    "  --jobs N           processes; default 2\n"
    "  --log              say what happens\n"
    "\n"
    "Exit code 1: something did not hold.\n";

int cmd_fail(const struct err *err)
{
    (void)fprintf(stderr, "euvyra-sim: %s\n", err->text);
    if (err->hint[0])
        (void)fprintf(stderr, "hint: %s\n", err->hint);
    return err_code_exit(err->code);
}

enum err_code cmd_number(const char *option, const char *text, int64_t min, int64_t max,
                         int64_t *ret_value, struct err *err)
{
    int64_t value;

    if (!str_to_i64(str_from(text), &value) || value < min || value > max)
        return err_set(err, ERR_INVALID, "%s \"%.40s\" is not a whole number from %lld to %lld",
                       option, text, (long long)min, (long long)max);
    *ret_value = value;
    return OK;
}

enum err_code cmd_print(const struct buf *out, struct err *err)
{
    TRY(buf_check(out, "what is to be printed", err));
    if (fwrite(out->data, 1, out->len, stdout) != out->len || fflush(stdout) != 0)
        return err_set_errno(err, ERR_IO, errno, "cannot write to stdout");
    return OK;
}

int main(int argc, char **argv)
{
    struct err err;

    json_setup();
    if (argc > 1 && strcmp(argv[1], "run") == 0)
        return cmd_run(argc - 1, argv + 1);
    if (argc > 1 && strcmp(argv[1], "check") == 0)
        return cmd_check(argc - 1, argv + 1);
    if (argc > 1 && strcmp(argv[1], "scenario") == 0)
        return cmd_scenario(argc - 1, argv + 1);
    if (argc > 1 && (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "help") == 0)) {
        (void)printf("%s", usage);
        return 0;
    }
    if (argc > 1 && strcmp(argv[1], "--version") == 0) {
        (void)printf("euvyra-sim " EUVYRA_VERSION "\n");
        return 0;
    }
    (void)err_set(&err, ERR_INVALID, "\"%.40s\" is not run, check or scenario",
                  argc > 1 ? argv[1] : "");
    err_hint(&err, "euvyra-sim --help");
    return cmd_fail(&err);
}
