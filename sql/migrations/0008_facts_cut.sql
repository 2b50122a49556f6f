-- 1: not all points of the run's logs count (a later epoch set steps aside), so what is known of its
-- metrics is worked out from those that do.
ALTER TABLE run ADD COLUMN facts_cut INTEGER NOT NULL DEFAULT 0;
