-- Alerts of the server itself, which come from no log.
ALTER TABLE alert ALTER COLUMN writer_id DROP NOT NULL;
