-- Deleted runs lie in project 0, which nobody sees, until what they recorded is gone, slice by slice.
INSERT INTO project (id, name, title, description, created_ms) VALUES (0, '', '', '', 0);

-- Runs that ended so many days ago are deleted; NULL: kept.
ALTER TABLE project ADD COLUMN retain_days INTEGER;
