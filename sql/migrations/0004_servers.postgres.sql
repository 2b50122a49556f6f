-- As in SQLite, and the number of the schema, which SQLite keeps in its header.

CREATE TABLE leader (
    id BIGINT PRIMARY KEY,
    number BIGINT NOT NULL
);
INSERT INTO leader (id, number) VALUES (1, 0);

CREATE TABLE installation (
    id BIGINT PRIMARY KEY,
    blobs TEXT COLLATE "C" NOT NULL
);

CREATE INDEX writer_unapplied ON writer (id) WHERE applied_offset < committed_offset AND fenced = 0;

CREATE TABLE schema_number (
    id BIGINT PRIMARY KEY,
    number BIGINT NOT NULL
);
INSERT INTO schema_number (id, number) VALUES (1, 0);

-- Posts, columns and levels are dense already: compressing them again costs a tenth of ingest.
ALTER TABLE log_blob ALTER COLUMN data SET STORAGE EXTERNAL;
ALTER TABLE metric_chunk ALTER COLUMN data SET STORAGE EXTERNAL;
ALTER TABLE metric_level ALTER COLUMN data SET STORAGE EXTERNAL;
