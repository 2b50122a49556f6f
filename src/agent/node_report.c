/* Sending readings. What a server refuses for good is dropped, so that one bad reading does not
 * stop those after it; everything else is tried again with the next reading. */
#include "agent/node_report.h"

#include "base/log.h"
#include "base/mem.h"
#include "sys/thread.h"

#include <stdio.h>

#define BODY_BYTES_MAX (1024 * 1024)
#define TIMEOUT_MS     20000
#define WAIT_MS        1000
#define MANY           30 /* in one call: with 64 GPUs that is well below the limit of a body */

struct node_report {
    struct node_report_options options;
    struct http_client *client;
    struct thread *thread;
    bool failed; /* it was said */
};

static bool keep_going(void *ctx)
{
    const struct node_report *report = ctx;

    return !atomic_load(report->options.agent_stops);
}

/* Refused: sending the same again would be refused again. */
static bool is_final(enum err_code code)
{
    return code == ERR_INVALID || code == ERR_UNKNOWN_FIELD || code == ERR_TOO_LARGE ||
           code == ERR_BAD_JSON || code == ERR_NOT_FOUND || code == ERR_UNPROCESSABLE;
}

static enum err_code send(struct node_report *report, struct str body, struct err *err)
{
    CLEANUP(http_client_answer_release) struct http_client_answer answer = {0};
    char path[64];
    struct http_client_request request = {.method = "POST",
                                          .path = path,
                                          .body = body,
                                          .timeout_ms = TIMEOUT_MS,
                                          .keep_going = keep_going,
                                          .ctx = report};

    (void)snprintf(path, sizeof path, "/api/v1/agents/%s/samples", report->options.agent.text);
    TRY(http_client_send(report->client, &request, &answer, err));
    if (answer.status < 200 || answer.status > 299)
        return http_client_answer_error(&answer, err);
    return OK;
}

/* True: there may be more to send at once. */
static bool send_some(struct node_report *report)
{
    CLEANUP(buf_release) struct buf body = {0};
    struct agent_gpus *gpus = report->options.gpus;
    struct err err = {0};
    struct json_writer w;
    enum err_code code;
    int64_t last;

    buf_init(&body, BODY_BYTES_MAX);
    json_writer_init(&w, &body);
    last = agent_gpus_samples_encode(gpus, str_from(report->options.boot), MANY, &w);
    if (last == 0)
        return false;
    code = buf_check(&body, "the readings", &err);
    if (code == OK)
        code = send(report, buf_str(&body), &err);
    if (code == OK || is_final(code))
        agent_gpus_samples_drop(gpus, last);
    if (code != OK && !report->failed && keep_going(report))
        log_warn("samples.not_sent", "error", err.text);
    report->failed = code != OK;
    return code == OK;
}

static void run(void *ctx)
{
    struct node_report *report = ctx;

    while (keep_going(report)) {
        agent_gpus_wait(report->options.gpus, WAIT_MS);
        while (keep_going(report) && send_some(report))
            ;
    }
}

enum err_code node_report_new(struct node_report **ret_report,
                              const struct node_report_options *options, struct err *err)
{
    struct node_report *report = MEM_NEW(struct node_report);
    enum err_code code;

    report->options = *options;
    code = http_client_new(&report->client, &options->client, err);
    if (code == OK)
        code = thread_start(&report->thread, "readings", run, report, err);
    if (code != OK) {
        node_report_free(report);
        return code;
    }
    *ret_report = report;
    return OK;
}

void node_report_free(struct node_report *report)
{
    if (!report)
        return;
    thread_join(&report->thread);
    http_client_free(report->client);
    mem_free(report);
}
