-- Servers of one database.

-- name: leader_get
-- one row
SELECT number FROM leader WHERE id = 1;

-- name: leader_take
UPDATE leader SET number = number + 1 WHERE id = 1 RETURNING number;

-- name: schema_number_get
-- one row
SELECT number FROM schema_number WHERE id = 1;

-- name: schema_number_set
UPDATE schema_number SET number = :number WHERE id = 1;

-- name: installation_blobs_get
-- one row
SELECT blobs FROM installation WHERE id = 1;

-- name: installation_blobs_set
INSERT INTO installation (id, blobs) VALUES (1, :blobs);
