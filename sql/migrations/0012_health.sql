-- How the service of an attempt is, as its agent said last: numbers of HEALTH_STATES in
-- src/model/health.h.
ALTER TABLE attempt ADD COLUMN health INTEGER NOT NULL DEFAULT 0;
ALTER TABLE attempt ADD COLUMN health_since_ms INTEGER;
ALTER TABLE attempt ADD COLUMN health_problem TEXT NOT NULL DEFAULT '';
