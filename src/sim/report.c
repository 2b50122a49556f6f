/* Figures out of a finished run, and as text. */
#include "sim/report.h"

#include "base/json.h"

#include <math.h>
#include <stdlib.h>

static int by_value(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

    return (x > y) - (x < y);
}

static void take_waits(const struct sim *sim, struct arena *arena, int class,
                       struct sim_waits *waits)
{
    waits->sorted = arena_array(arena, sim->arrived, sizeof *waits->sorted);
    for (uint32_t i = 0; i < sim->arrived; i++) {
        const struct sim_job *j = &sim->jobs[i];

        if (class >= 0 && j->spec->class != (unsigned)class)
            continue;
        if (j->first_start == TIME_NONE) {
            waits->waiting += !job_state_ended(j->model.state);
            continue;
        }
        waits->sorted[waits->count++] = j->first_start - j->model.created;
        waits->last_sum += j->last_start - j->model.created;
    }
    qsort(waits->sorted, waits->count, sizeof *waits->sorted, by_value);
}

int64_t sim_waits_at(const struct sim_waits *waits, int64_t permille)
{
    int64_t at = ((int64_t)waits->count * permille + 999) / 1000;

    return waits->count ? waits->sorted[MAX(at, 1) - 1] : 0;
}

int64_t sim_waits_mean(const struct sim_waits *waits)
{
    __int128 sum = 0;

    for (uint32_t i = 0; i < waits->count; i++)
        sum += waits->sorted[i];
    return waits->count ? (int64_t)(sum / waits->count) : 0;
}

int64_t sim_waits_last_mean(const struct sim_waits *waits)
{
    return waits->count ? (int64_t)(waits->last_sum / waits->count) : 0;
}

static double part(__int128 of, __int128 all)
{
    return all > 0 ? (double)of / (double)all : NAN;
}

/* Jain's index over what each project got of what was its due, and the worst of them. */
static void take_fairness(const struct sim *sim, struct sim_report *report)
{
    const struct sim_figures *f = &sim->figures;
    double sum = 0, squares = 0;
    uint32_t count = 0;

    report->worst = NAN;
    for (uint32_t i = 0; i < sim->world->share_count; i++) {
        double x = part(f->got_ms[i], f->due_ms[i]);

        if (isnan(x))
            continue;
        sum += x;
        squares += x * x;
        count++;
        if (isnan(report->worst) || x < report->worst) {
            report->worst = x;
            report->worst_share = sim->world->share_names[i];
        }
    }
    report->jain = squares > 0 ? sum * sum / (count * squares) : NAN;
}

static void count_ends(const struct sim *sim, struct sim_report *report)
{
    for (uint32_t i = 0; i < sim->arrived; i++) {
        switch (sim->jobs[i].model.state) {
        case JOB_SUCCEEDED: report->succeeded++; break;
        case JOB_FAILED: report->failed++; break;
        case JOB_CANCELLED: report->cancelled++; break;
        default: report->waiting++;
        }
    }
}

void sim_report_make(const struct sim *sim, struct arena *arena, struct sim_report *ret_report)
{
    const struct sim_figures *f = &sim->figures;
    struct sim_report r = {.name = sim->options.name, .jobs = sim->arrived};

    count_ends(sim, &r);
    take_fairness(sim, &r);
    r.utilisation = part(f->used_gpu_ms, f->total_gpu_ms);
    r.utilisation_arriving = part(f->used_window, f->total_window);
    r.fragmentation = part(f->unusable_gpu_ms, f->saturated_gpu_ms);
    r.unallocated = 1 - part(f->saturated_used_gpu_ms, f->saturated_gpu_ms);
    r.saturated_s = (double)f->saturated_ms / 1000;
    r.makespan_s = (double)sim->changed / 1000;
    r.preemptions = f->evictions;
    r.losses = f->losses;
    r.lost_gpu_hours = (double)f->lost_gpu_ms / 3600000;
    r.cycles = f->cycles;
    r.cycle_ns = f->cycle_ns;
    r.cycle_ns_max = f->cycle_ns_max;
    take_waits(sim, arena, -1, &r.all);
    for (unsigned c = 0; c < sim->world->class_count; c++)
        take_waits(sim, arena, (int)c, &r.classes[c]);
    r.series = arena_array(arena, f->series_count, sizeof *r.series);
    r.series_count = f->series_count;
    if (f->series_count)
        memcpy(r.series, f->series, f->series_count * sizeof *r.series);
    *ret_report = r;
}

/* ---- Text */

/* "93.4", or "-" where there is nothing to say. */
static const char *percent(double value, char text[16])
{
    if (isnan(value))
        return "-";
    (void)snprintf(text, 16, "%.1f", value * 100);
    return text;
}

static void wait_rows(const struct sim_report *reports, size_t count, const char *name, int class,
                      struct buf *out)
{
    for (size_t i = 0; i < count; i++) {
        const struct sim_waits *w = class < 0 ? &reports[i].all : &reports[i].classes[class];
        char mean[DURATION_TEXT_BYTES], p50[DURATION_TEXT_BYTES], p90[DURATION_TEXT_BYTES],
            p99[DURATION_TEXT_BYTES], last[DURATION_TEXT_BYTES];

        duration_format(sim_waits_mean(w), mean);
        duration_format(sim_waits_at(w, 500), p50);
        duration_format(sim_waits_at(w, 900), p90);
        duration_format(sim_waits_at(w, 990), p99);
        duration_format(sim_waits_last_mean(w), last);
        (void)buf_printf(out, "%-8s %-14s %8u %8u %14s %14s %14s %14s %14s\n", i ? "" : name,
                         reports[i].name, w->count, w->waiting, mean, p50, p90, p99, last);
    }
}

void sim_report_table(const struct sim_world *world, const struct sim_report *reports, size_t count,
                      bool timing, struct buf *out)
{
    (void)buf_printf(out, "%-14s %7s %7s %6s %6s %6s %6s %8s %6s %9s %7s %7s\n", "policy", "used %",
                     "busy %", "jain", "worst%", "frag %", "free %", "preempt", "lost", "lost GPUh",
                     "failed", "waiting");
    for (size_t i = 0; i < count; i++) {
        const struct sim_report *r = &reports[i];
        char a[16], b[16], c[16], d[16], e[16], jain[16] = "-";

        if (!isnan(r->jain))
            (void)snprintf(jain, sizeof jain, "%.3f", r->jain);
        (void)buf_printf(out, "%-14s %7s %7s %6s %6s %6s %6s %8lld %6lld %9.1f %7u %7u\n", r->name,
                         percent(r->utilisation, a), percent(r->utilisation_arriving, b), jain,
                         percent(r->worst, c), percent(r->fragmentation, d),
                         percent(r->unallocated, e), (long long)r->preemptions,
                         (long long)r->losses, r->lost_gpu_hours, r->failed, r->waiting);
    }
    (void)buf_printf(out, "\n%-8s %-14s %8s %8s %14s %14s %14s %14s %14s\n", "GPUs", "policy",
                     "started", "waiting", "wait mean", "p50", "p90", "p99", "last mean");
    wait_rows(reports, count, "all", -1, out);
    for (unsigned c = 0; c < world->class_count; c++) {
        if (reports[0].classes[c].count || reports[0].classes[c].waiting)
            wait_rows(reports, count, world->classes[c], (int)c, out);
    }
    for (size_t i = 0; i < count && timing; i++)
        (void)buf_printf(out, "%s%-14s %.2f s, %lld cycles, %.3f ms each, longest %.1f ms\n",
                         i ? "" : "\n", reports[i].name, reports[i].seconds,
                         (long long)reports[i].cycles,
                         (double)reports[i].cycle_ns / 1e6 / (double)MAX(reports[i].cycles, 1),
                         (double)reports[i].cycle_ns_max / 1e6);
}

/* ---- JSON */

static void put(struct json_writer *w, const char *key, double value)
{
    json_put_key(w, key);
    if (isnan(value))
        json_put_null(w);
    else
        json_put_f64(w, value);
}

static void put_i64(struct json_writer *w, const char *key, int64_t value)
{
    json_put_key(w, key);
    json_put_i64(w, value);
}

static void put_waits(struct json_writer *w, const char *name, const struct sim_waits *waits)
{
    json_put_key(w, name);
    json_begin_object(w);
    put_i64(w, "started", waits->count);
    put_i64(w, "waiting", waits->waiting);
    put(w, "mean_s", (double)sim_waits_mean(waits) / 1000);
    put(w, "last_mean_s", (double)sim_waits_last_mean(waits) / 1000);
    put(w, "p50_s", (double)sim_waits_at(waits, 500) / 1000);
    put(w, "p90_s", (double)sim_waits_at(waits, 900) / 1000);
    put(w, "p99_s", (double)sim_waits_at(waits, 990) / 1000);
    json_end_object(w);
}

static void put_report(struct json_writer *w, const struct sim_world *world,
                       const struct sim_report *r, bool timing)
{
    json_begin_object(w);
    json_put_key(w, "policy");
    json_put_text(w, r->name);
    put_i64(w, "jobs", r->jobs);
    put_i64(w, "succeeded", r->succeeded);
    put_i64(w, "failed", r->failed);
    put_i64(w, "cancelled", r->cancelled);
    put_i64(w, "waiting", r->waiting);
    put(w, "utilisation", r->utilisation);
    put(w, "utilisation_arriving", r->utilisation_arriving);
    put(w, "jain", r->jain);
    put(w, "worst_share", r->worst);
    json_put_key(w, "worst_project");
    json_put_text(w, r->worst_share);
    put(w, "fragmentation", r->fragmentation);
    put(w, "unallocated", r->unallocated);
    put(w, "saturated_s", r->saturated_s);
    put(w, "makespan_s", r->makespan_s);
    put_i64(w, "preemptions", r->preemptions);
    put_i64(w, "losses", r->losses);
    put(w, "lost_gpu_hours", r->lost_gpu_hours);
    if (timing) {
        put(w, "seconds", r->seconds);
        put_i64(w, "cycles", r->cycles);
        put(w, "cycle_ms", (double)r->cycle_ns / 1e6 / (double)MAX(r->cycles, 1));
        put(w, "cycle_ms_max", (double)r->cycle_ns_max / 1e6);
    }
    json_put_key(w, "waits");
    json_begin_object(w);
    put_waits(w, "all", &r->all);
    for (unsigned c = 0; c < world->class_count; c++)
        put_waits(w, world->classes[c], &r->classes[c]);
    json_end_object(w);
    json_end_object(w);
}

void sim_report_json(const struct sim_world *world, const struct sim_report *reports, size_t count,
                     bool timing, struct buf *out)
{
    struct json_writer w;

    json_writer_init(&w, out);
    json_begin_object(&w);
    put_i64(&w, "nodes", world->node_count);
    put_i64(&w, "jobs", world->job_count);
    put_i64(&w, "projects", world->share_count);
    json_put_key(&w, "policies");
    json_begin_array(&w);
    for (size_t i = 0; i < count; i++)
        put_report(&w, world, &reports[i], timing);
    json_end_array(&w);
    json_end_object(&w);
    (void)buf_add_char(out, '\n');
}
