/* The body that submits a job, as api/openapi.yaml describes it (JobCreate, JobSpec): the one place
 * that reads it. What is not described there is an unknown field; nothing reaches an engine as it
 * came. thread: any */
#pragma once

#include "domain/jobs/jobs.h"
#include "http/http_call.h"

/* Fills everything but `id`. Texts are borrowed from the body or lie in the call's arena. */
MUST_CHECK enum err_code http_take_job(struct http_call *call, struct job_spec *spec,
                                       struct err *err);
/* The member `name`: a list of targets in order of preference. */
void http_take_places(struct http_call *call, struct json_reader *r, const char *name,
                      struct job_spec *spec);
