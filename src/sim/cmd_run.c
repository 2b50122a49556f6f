/* euvyra-sim run: one workload, several policies, one table. */
#include "sim/commands.h"
#include "sim/generate.h"
#include "sim/policy.h"
#include "sim/report.h"
#include "sim/trace.h"
#include "sys/clock.h"
#include "sys/file.h"

#include <getopt.h>
#include <math.h>
#include <stdio.h>

#define POLICIES_MAX 32
#define OUT_MAX      (64u * 1024 * 1024)
#define PLOT_MODE    0644
#define WEEK_S       (7 * 24 * 3600)

struct asked {
    const char *generate, *nodes, *tasks, *shares, *trace_nodes, *trace_tasks, *policies, *plot;
    int64_t scale, seed, min_run_ms, reserve_after_ms, projects, load_permille, limit_permille;
    bool json, timing, check, log, heartbeats;
};

static const struct option long_options[] = {
    {"generate", required_argument, NULL, 'g'},
    {"scale", required_argument, NULL, 'S'},
    {"seed", required_argument, NULL, 's'},
    {"nodes", required_argument, NULL, 'n'},
    {"tasks", required_argument, NULL, 't'},
    {"shares", required_argument, NULL, 'h'},
    {"trace-nodes", required_argument, NULL, 'N'},
    {"trace-tasks", required_argument, NULL, 'T'},
    {"projects", required_argument, NULL, 'p'},
    {"load", required_argument, NULL, 'l'},
    {"limit-factor", required_argument, NULL, 'f'},
    {"policies", required_argument, NULL, 'P'},
    {"min-run", required_argument, NULL, 'm'},
    {"reserve-after", required_argument, NULL, 'r'},
    {"plot", required_argument, NULL, 'o'},
    {"json", no_argument, NULL, 'j'},
    {"timing", no_argument, NULL, 'i'},
    {"check", no_argument, NULL, 'c'},
    {"heartbeats", no_argument, NULL, 'b'},
    {"log", no_argument, NULL, 'L'},
    {0},
};

/* "1.5" as 1500. */
static enum err_code take_permille(const char *option, const char *text, double min, double max,
                                   int64_t *ret_value, struct err *err)
{
    double value;

    if (!str_to_f64(str_from(text), &value) || value < min || value > max)
        return err_set(err, ERR_INVALID, "%s \"%.40s\" is not a number from %g to %g", option, text,
                       min, max);
    *ret_value = llround(value * 1000);
    return OK;
}

static enum err_code take_number(int option, struct asked *a, struct err *err)
{
    int64_t seconds = 0;

    switch (option) {
    case 'S': return cmd_number("--scale", optarg, 1, 1000, &a->scale, err);
    case 's': return cmd_number("--seed", optarg, 0, INT64_MAX, &a->seed, err);
    case 'p': return cmd_number("--projects", optarg, 1, 10000, &a->projects, err);
    case 'l': return take_permille("--load", optarg, 0.001, 100000, &a->load_permille, err);
    case 'f': return take_permille("--limit-factor", optarg, 0, 1000, &a->limit_permille, err);
    case 'm':
        TRY(cmd_number("--min-run", optarg, 0, WEEK_S, &seconds, err));
        a->min_run_ms = seconds * 1000;
        return OK;
    case 'r':
        TRY(cmd_number("--reserve-after", optarg, 0, WEEK_S, &seconds, err));
        a->reserve_after_ms = seconds * 1000;
        return OK;
    default: return OK;
    }
}

static enum err_code check_asked(const struct asked *a, struct err *err)
{
    int sources = (a->generate != NULL) + (a->nodes || a->tasks || a->shares) +
                  (a->trace_nodes || a->trace_tasks);

    if (sources > 1)
        return err_set(err, ERR_INVALID,
                       "--generate, --nodes and --trace-nodes exclude each other: one workload");
    if (!a->nodes != !a->tasks || (a->shares && !a->nodes))
        return err_set(err, ERR_INVALID, "--nodes and --tasks belong together");
    if (!a->trace_nodes != !a->trace_tasks)
        return err_set(err, ERR_INVALID, "--trace-nodes and --trace-tasks belong together");
    return OK;
}

static enum err_code parse(int argc, char **argv, struct asked *a, struct err *err)
{
    int c;

    *a = (struct asked){.scale = 100,
                        .seed = 1,
                        .min_run_ms = -1,
                        .reserve_after_ms = -1,
                        .projects = 20,
                        .load_permille = 1000,
                        .limit_permille = 2000,
                        .policies = "fifo,fifo+backfill,fgd,euvyra"};
    opterr = 0;
    while ((c = getopt_long(argc, argv, "", long_options, NULL)) != -1) {
        switch (c) {
        case 'g': a->generate = optarg; break;
        case 'n': a->nodes = optarg; break;
        case 't': a->tasks = optarg; break;
        case 'h': a->shares = optarg; break;
        case 'N': a->trace_nodes = optarg; break;
        case 'T': a->trace_tasks = optarg; break;
        case 'P': a->policies = optarg; break;
        case 'o': a->plot = optarg; break;
        case 'j': a->json = true; break;
        case 'i': a->timing = true; break;
        case 'c': a->check = true; break;
        case 'b': a->heartbeats = true; break;
        case 'L': a->log = true; break;
        case '?':
            return err_set(err, ERR_INVALID, "option \"%.60s\" is unknown or lacks its value",
                           argv[optind - 1]);
        default: TRY(take_number(c, a, err));
        }
    }
    if (optind < argc)
        return err_set(err, ERR_INVALID, "argument \"%.60s\" is not expected", argv[optind]);
    return check_asked(a, err);
}

/* ---- The world */

static enum err_code make_world(const struct asked *a, struct sim_world *world, struct buf *title,
                                struct err *err)
{
    struct sim_trace_options trace = {.nodes = a->nodes,
                                      .tasks = a->tasks,
                                      .shares = a->shares,
                                      .load_permille = a->load_permille,
                                      .limit_permille = a->limit_permille,
                                      .projects = a->projects};
    const struct sim_generator *generator;
    struct sim_rand rand = sim_rand_from((uint64_t)a->seed);

    if (a->trace_nodes) {
        trace.nodes = a->trace_nodes;
        trace.tasks = a->trace_tasks;
        (void)buf_printf(title,
                         "trace at load %g; projects: %lld, from a hash of the name, the k-th with "
                         "1/k of the largest; parts of a GPU count as one",
                         (double)a->load_permille / 1000, (long long)a->projects);
        TRY(sim_trace_read_openb(&trace, world, err));
    } else if (a->nodes) {
        (void)buf_printf(title, "%s at load %g", a->tasks, (double)a->load_permille / 1000);
        TRY(sim_trace_read(&trace, world, err));
    } else {
        const char *name = a->generate ? a->generate : "cluster";

        generator = sim_generator_find(name);
        if (!generator)
            return err_set(err, ERR_INVALID, "--generate \"%.40s\" is not known; see list", name);
        (void)buf_printf(title, "%s, %lld %%, seed %lld", generator->name, (long long)a->scale,
                         (long long)a->seed);
        sim_world_init(world);
        generator->make(world, &rand, a->scale);
        return OK;
    }
    if (a->limit_permille)
        (void)buf_printf(title, "; time limit where none is given: %g run times",
                         (double)a->limit_permille / 1000);
    return OK;
}

/* ---- The policies */

static enum err_code take_policies(const char *names, const struct sim_policy **ret_policies,
                                   size_t *ret_count, struct err *err)
{
    struct str rest = str_from(names), name;
    size_t all, count = 0;
    const struct sim_policy *known = sim_policies(&all);

    if (strcmp(names, "all") == 0) {
        for (count = 0; count < all; count++)
            ret_policies[count] = &known[count];
        rest = STR("");
    }
    while (rest.len && count < POLICIES_MAX) {
        (void)str_cut(&rest, ',', &name);
        ret_policies[count] = sim_policy_find(str_trim(name));
        if (!ret_policies[count])
            return err_set(err, ERR_INVALID, "--policies \"%.*s\" is not known; see list",
                           (int)MIN(name.len, 40), name.data);
        count++;
    }
    if (rest.len || count == 0)
        return err_set(err, ERR_INVALID, "--policies needs 1 to %d names", POLICIES_MAX);
    *ret_count = count;
    return OK;
}

static enum err_code run_one(const struct asked *a, const struct sim_world *world,
                             const struct sim_policy *policy, struct arena *arena,
                             struct sim_report *ret_report, struct err *err)
{
    struct sim_options options = sim_options_default();
    int64_t begin = clock_mono_ns();
    struct sim *sim;
    enum err_code code = OK;

    options.ideal = !a->heartbeats;
    options.check = a->check;
    options.log = a->log;
    options.series = a->plot != NULL;
    options.seed = (uint64_t)a->seed;
    /* Long traces: what waits is looked at again when something happens, else once a minute. */
    if (options.ideal)
        options.period_ms = 60000;
    if (a->reserve_after_ms >= 0)
        options.policy.reserve_after_ms = a->reserve_after_ms;
    sim_policy_use(policy, world, &options, arena);
    sim = sim_new(world, &options);
    sim_run(sim);
    if (sim_violation(sim))
        code = err_set(err, ERR_INTERNAL, "%s: %.400s", policy->name, sim_violation(sim));
    else
        sim_report_make(sim, arena, ret_report);
    sim_free(sim);
    ret_report->seconds = (double)(clock_mono_ns() - begin) / 1e9;
    return code;
}

static enum err_code show(const struct asked *a, const struct sim_world *world,
                          const struct sim_report *reports, size_t count, const char *title,
                          struct err *err)
{
    CLEANUP(buf_release) struct buf out = {0}, plot = {0};

    buf_init(&out, OUT_MAX);
    buf_init(&plot, OUT_MAX);
    if (a->json) {
        sim_report_json(world, reports, count, a->timing, &out);
    } else {
        (void)buf_printf(&out, "%s\n%u nodes, %u jobs, %u projects\n\n", title, world->node_count,
                         world->job_count, world->share_count - 1);
        sim_report_table(world, reports, count, a->timing, &out);
    }
    TRY(cmd_print(&out, err));
    if (!a->plot)
        return OK;
    sim_plot(reports, count, title, &plot);
    TRY(buf_check(&plot, "the drawing", err));
    return file_write_atomic(a->plot, buf_str(&plot), PLOT_MODE, err);
}

static enum err_code run(const struct asked *a, struct sim_world *world, struct arena *arena,
                         struct err *err)
{
    const struct sim_policy *policies[POLICIES_MAX];
    struct sim_report reports[POLICIES_MAX] = {0};
    CLEANUP(buf_release) struct buf title = {0};
    size_t count = 0;

    buf_init(&title, 4096);
    TRY(take_policies(a->policies, policies, &count, err));
    TRY(make_world(a, world, &title, err));
    if (a->min_run_ms >= 0)
        world->min_run_ms = a->min_run_ms;
    for (size_t i = 0; i < count; i++)
        TRY(run_one(a, world, policies[i], arena, &reports[i], err));
    return show(a, world, reports, count, buf_str(&title).data, err);
}

static bool list(const struct asked *a)
{
    size_t count;

    if (a->generate && strcmp(a->generate, "list") == 0) {
        const struct sim_generator *g = sim_generators(&count);

        for (size_t i = 0; i < count; i++)
            (void)printf("%-16s %s\n", g[i].name, g[i].about);
        return true;
    }
    if (strcmp(a->policies, "list") == 0) {
        const struct sim_policy *p = sim_policies(&count);

        for (size_t i = 0; i < count; i++)
            (void)printf("%-16s %s\n", p[i].name, p[i].about);
        return true;
    }
    return false;
}

int cmd_run(int argc, char **argv)
{
    struct asked asked;
    struct sim_world world = {0};
    struct arena arena = {0};
    struct err err;
    enum err_code code;

    if (parse(argc, argv, &asked, &err) != OK)
        return cmd_fail(&err);
    if (list(&asked))
        return 0;
    code = run(&asked, &world, &arena, &err);
    sim_world_release(&world);
    arena_release(&arena);
    if (code == ERR_INTERNAL) {
        (void)cmd_fail(&err);
        return 1;
    }
    return code == OK ? 0 : cmd_fail(&err);
}
