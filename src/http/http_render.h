/* Model structs as the JSON of the API description: one function a schema. thread: any */
#pragma once

#include "domain/jobs/jobs.h"
#include "domain/jobs/jobs_wait.h"
#include "domain/metrics/metrics.h"
#include "domain/runs/runs.h"
#include "http/http_call.h"

/* A document as a run log carries it, with its tagged values as the API shows them: {"$f":"NaN"}
 * becomes "NaN", {"$i":"9007199254740993"} that text, {"$o":{...}} the object. */
void http_render_tagged(struct json_writer *w, struct str json);

void http_render_time(struct json_writer *w, const char *key, time_ms at);
void http_render_text(struct json_writer *w, const char *key, struct str text);
void http_render_number(struct json_writer *w, const char *key, int64_t number);
void http_render_bool(struct json_writer *w, const char *key, bool value);
/* A list of texts. */
void http_render_names(struct json_writer *w, const char *key, const struct str *names,
                       size_t count);
/* null when negative */
void http_render_exit(struct json_writer *w, const char *key, int value);
/* null when empty */
void http_render_id(struct json_writer *w, const char *key, const struct id *id);

void http_render_user(struct json_writer *w, const struct user *user);
void http_render_key(struct json_writer *w, const struct access_key *key);
void http_render_audit(struct json_writer *w, const struct audit_row *row);
void http_render_project(struct json_writer *w, const struct project *project, bool admin);
/* Opens the object and leaves it open. */
void http_render_run_row(struct json_writer *w, const struct run *run, time_ms now);
/* Opens and closes the object; `detail` may be NULL. `now` is for the duration of a live run. */
void http_render_writer(struct json_writer *w, const struct writer *writer,
                        const struct writer_view *view);
void http_render_alert(struct json_writer *w, const struct alert *alert);
void http_render_run(struct json_writer *w, const struct run *run, const struct run_detail *detail,
                     time_ms now);
/* `defined`: of the run. */
void http_render_metric(struct json_writer *w, const struct metric_facts *facts,
                        const struct definitions *defined);
/* `wait` may be NULL; `attempts` may be empty (in lists). */
struct http_attempt_parts {
    const struct attempt *attempt;
    struct placement *placements;
    size_t placement_count;
};
struct http_job_parts {
    bool waits;
    struct job_wait wait;
    const struct http_attempt_parts *attempts;
    size_t attempt_count;
    const int64_t *array_states; /* by state, when it stands for its array; NULL: it does not */
    int64_t array_healthy;       /* where array_states is not NULL; -1: it is not asked */
    struct str warnings[JOB_WARNINGS_MAX]; /* at its submission */
    size_t warning_count;
};
void http_render_job(struct http_call *call, const struct job *job,
                     const struct http_job_parts *parts);
/* The member "waiting". */
void http_render_wait(struct http_call *call, const struct job_wait *wait);
void http_render_job_event(struct json_writer *w, const struct job_event_row *event);
void http_render_agent(struct json_writer *w, const struct agent *agent, const char *state,
                       time_ms now);
/* The member "maintenance": null where it is not `on`. */
void http_render_maintenance(struct json_writer *w, bool on, struct str reason, time_ms until);
