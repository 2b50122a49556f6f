/* Two drawings side by side as one SVG: utilisation over time, and the part of jobs that had
 * started after so long. Colours that are told apart without colour vision too; text is text. */
#include "sim/report.h"

#include <math.h>
#include <stdio.h>

#define WIDTH    1200
#define HEIGHT   520
#define LEFT     70
#define RIGHT    660
#define TOP      60
#define PLOT_W   480
#define PLOT_H   360
#define POINTS   240
#define HALF_W   (WIDTH / 2)
#define TICKS    4
#define LEGEND_Y 470

static const char *const colours[] = {"#0072b2", "#d55e00", "#009e73", "#cc79a7",
                                      "#e69f00", "#56b4e9", "#000000", "#999999"};
static const char *const dashes[] = {"", "6 3", "2 3", "8 3 2 3"};

static void escape(struct buf *out, const char *text)
{
    for (; *text; text++) {
        if (*text == '<')
            (void)buf_add_text(out, "&lt;");
        else if (*text == '&')
            (void)buf_add_text(out, "&amp;");
        else
            (void)buf_add_char(out, *text);
    }
}

static void text(struct buf *out, double x, double y, const char *anchor, const char *what)
{
    (void)buf_printf(out, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\">", x, y, anchor);
    escape(out, what);
    (void)buf_add_text(out, "</text>\n");
}

static void frame(struct buf *out, int left, const char *title)
{
    text(out, left, TOP - 12, "start", title);
    for (int i = 0; i <= TICKS; i++) {
        double y = TOP + PLOT_H - (double)PLOT_H * i / TICKS;
        char label[16];

        (void)snprintf(label, sizeof label, "%d %%", 100 * i / TICKS);
        (void)buf_printf(out,
                         "<line x1=\"%d\" x2=\"%d\" y1=\"%.1f\" y2=\"%.1f\" stroke=\"#ccc\"/>\n",
                         left, left + PLOT_W, y, y);
        text(out, left - 8, y + 4, "end", label);
    }
}

static void begin_line(struct buf *out, size_t i, const char *name)
{
    (void)buf_printf(out,
                     "<polyline fill=\"none\" stroke-width=\"1.5\" stroke=\"%s\" "
                     "stroke-dasharray=\"%s\" data-policy=\"",
                     colours[i % ARRAY_LEN(colours)],
                     dashes[i / ARRAY_LEN(colours) % ARRAY_LEN(dashes)]);
    escape(out, name);
    (void)buf_add_text(out, "\" points=\"");
}

/* The mean between two moments, as it was used. */
static double mean_use(const struct sim_report *r, double from, double to, size_t *at)
{
    double used = 0, total = 0;

    while (*at + 1 < r->series_count && (double)r->series[*at + 1].at <= from)
        (*at)++;
    for (size_t i = *at; i < r->series_count && (double)r->series[i].at < to; i++) {
        double begin = fmax(from, (double)r->series[i].at);
        double end = i + 1 < r->series_count ? fmin(to, (double)r->series[i + 1].at) : to;

        if (end <= begin)
            continue;
        used += (double)r->series[i].gpus_used * (end - begin);
        total += (double)r->series[i].gpus_total * (end - begin);
    }
    return total > 0 ? used / total : 0;
}

/* Until when it was in use by a tenth of its peak: a few jobs that stay for months would leave no
 * room for all others. */
static double busy_until(const struct sim_report *r)
{
    int64_t peak = 0;
    size_t last = 0;

    for (size_t i = 0; i < r->series_count; i++)
        peak = MAX(peak, r->series[i].gpus_used);
    for (size_t i = 0; i < r->series_count; i++)
        if (r->series[i].gpus_used * 10 >= peak && peak > 0)
            last = i;
    return last + 1 < r->series_count ? (double)r->series[last + 1].at : r->makespan_s * 1000;
}

static void use_over_time(struct buf *out, const struct sim_report *reports, size_t count)
{
    double end = 1;
    char label[64];

    frame(out, LEFT, "GPUs in use, until a tenth of the peak is left");
    for (size_t i = 0; i < count; i++)
        end = fmax(end, busy_until(&reports[i]));
    for (size_t i = 0; i < count; i++) {
        size_t at = 0;

        begin_line(out, i, reports[i].name);
        for (int p = 0; p < POINTS; p++) {
            double use = mean_use(&reports[i], end * p / POINTS, end * (p + 1) / POINTS, &at);

            (void)buf_printf(out, "%.1f,%.1f ", LEFT + (double)PLOT_W * p / POINTS,
                             TOP + PLOT_H * (1 - fmin(use, 1)));
        }
        (void)buf_add_text(out, "\"/>\n");
    }
    duration_format((int64_t)end, label);
    text(out, LEFT, TOP + PLOT_H + 20, "start", "0");
    text(out, LEFT + PLOT_W, TOP + PLOT_H + 20, "end", label);
}

/* The axis is logarithmic from a tenth of a second on. */
static void waits(struct buf *out, const struct sim_report *reports, size_t count)
{
    double longest = 10000;
    char label[64];

    frame(out, RIGHT, "Jobs that had started after a wait of (logarithmic)");
    for (size_t i = 0; i < count; i++)
        longest = fmax(longest, (double)sim_waits_at(&reports[i].all, 1000));
    for (size_t i = 0; i < count; i++) {
        const struct sim_waits *w = &reports[i].all;
        uint32_t at = 0, all = w->count + w->waiting;

        begin_line(out, i, reports[i].name);
        for (int p = 0; p <= POINTS; p++) {
            double ms = 100 * pow(longest / 100, (double)p / POINTS);

            while (at < w->count && (double)w->sorted[at] <= ms + 0.5)
                at++;
            (void)buf_printf(out, "%.1f,%.1f ", RIGHT + (double)PLOT_W * p / POINTS,
                             TOP + PLOT_H * (1 - (all ? (double)at / all : 0)));
        }
        (void)buf_add_text(out, "\"/>\n");
    }
    for (int i = 0; i <= TICKS; i++) {
        duration_format((int64_t)(100 * pow(longest / 100, (double)i / TICKS)), label);
        text(out, RIGHT + (double)PLOT_W * i / TICKS, TOP + PLOT_H + 20, "middle", label);
    }
}

void sim_plot(const struct sim_report *reports, size_t count, const char *title, struct buf *out)
{
    (void)buf_printf(out,
                     "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" "
                     "font-family=\"sans-serif\" font-size=\"13\">\n"
                     "<rect width=\"%d\" height=\"%d\" fill=\"#fff\"/>\n",
                     WIDTH, HEIGHT, WIDTH, HEIGHT);
    text(out, HALF_W, 24, "middle", title);
    use_over_time(out, reports, count);
    waits(out, reports, count);
    for (size_t i = 0; i < count; i++) {
        double x = LEFT + (double)(i % 6) * 180, y = LEGEND_Y + (double)(i / 6) * 20;

        (void)buf_printf(out,
                         "<line x1=\"%.1f\" x2=\"%.1f\" y1=\"%.1f\" y2=\"%.1f\" stroke=\"%s\" "
                         "stroke-width=\"2\" stroke-dasharray=\"%s\"/>\n",
                         x, x + 24, y, y, colours[i % ARRAY_LEN(colours)],
                         dashes[i / ARRAY_LEN(colours) % ARRAY_LEN(dashes)]);
        text(out, x + 30, y + 4, "start", reports[i].name);
    }
    (void)buf_add_text(out, "</svg>\n");
}
