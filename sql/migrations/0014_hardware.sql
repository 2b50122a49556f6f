-- What image an attempt runs, by digest; what a start that takes long does now; where its ranks meet.
ALTER TABLE attempt ADD COLUMN image TEXT NOT NULL DEFAULT '';
ALTER TABLE attempt ADD COLUMN progress TEXT NOT NULL DEFAULT '';
ALTER TABLE attempt ADD COLUMN rendezvous TEXT NOT NULL DEFAULT '';
