-- What image an attempt runs, by digest, and what a start that takes long does now.
ALTER TABLE attempt ADD COLUMN image TEXT NOT NULL DEFAULT '';
ALTER TABLE attempt ADD COLUMN progress TEXT NOT NULL DEFAULT '';
