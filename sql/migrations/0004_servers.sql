-- Several servers on one database: who leads, and by which number.

CREATE TABLE leader (
    id INTEGER PRIMARY KEY,
    number INTEGER NOT NULL
) STRICT;
INSERT INTO leader (id, number) VALUES (1, 0);

-- The name that the folder of files carries, so that servers notice when they have different ones.
CREATE TABLE installation (
    id INTEGER PRIMARY KEY,
    blobs TEXT NOT NULL
) STRICT;

-- Logs with bytes to apply are looked for again and again.
CREATE INDEX writer_unapplied ON writer (id) WHERE applied_offset < committed_offset AND fenced = 0;
