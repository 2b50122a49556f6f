-- Arrays of jobs, what agents can do, and how many jobs of a project have not ended.

-- Of the elements of an array; NULL and 0 of other jobs.
ALTER TABLE job ADD COLUMN array_public_id TEXT;
ALTER TABLE job ADD COLUMN array_count INTEGER NOT NULL DEFAULT 0;
CREATE INDEX job_by_array_name ON job (array_public_id, id) WHERE array_public_id IS NOT NULL;
CREATE INDEX job_by_array_state ON job (array_public_id, ended, state)
WHERE array_public_id IS NOT NULL;

-- Bits, in the order of JOB_FEATURES in src/model/job.h.
ALTER TABLE agent ADD COLUMN features INTEGER NOT NULL DEFAULT 0;

ALTER TABLE project ADD COLUMN open_jobs INTEGER NOT NULL DEFAULT 0;
UPDATE project SET open_jobs = (
    SELECT count(j.id) FROM job j WHERE j.project_id = project.id AND j.ended = 0
);
