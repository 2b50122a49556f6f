/* What a spec names, looked up, and whether the job can ever start. Folder-private.
 * thread: any owner of a store */
#pragma once

#include "domain/jobs/jobs.h"
#include "domain/jobs/jobs_shape.h"
#include "model/share.h"

struct job_reference_before {
    job_id job;
    bool any_end;
};

struct job_references {
    struct job_queue queue;
    struct str shape;
    const struct job_reference_before *before; /* of jobs that have not ended well */
    size_t before_count;
};

/* The job of a spec, or what all elements of its array have in common: not written, without id and
 * run. */
struct job jobs__job_of(struct cmd *cmd, const struct project *project, const struct job_spec *spec,
                        const struct job_references *refs);
/* ERR_UNPROCESSABLE names the field: what it names is not there or not allowed, or it asks for what
 * the limits of its project can never give. ERR_CONFLICT: the queue takes nothing. */
MUST_CHECK enum err_code jobs__references(struct cmd *cmd, const struct project *project,
                                          const struct job_spec *spec,
                                          struct job_references *ret_refs, struct err *err);
MUST_CHECK enum err_code jobs__queue_of(struct cmd *cmd, struct str name,
                                        struct job_queue *ret_queue, struct err *err);
/* The targets of `spec`, by id, allowed to project and queue. */
MUST_CHECK enum err_code jobs__steps_of(struct cmd *cmd, project_id project,
                                        const struct job_queue *queue, const struct job_spec *spec,
                                        struct job_shape *shape, struct err *err);
