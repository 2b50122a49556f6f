-- What backup and check read: everything, row by row.

-- name: maintain_blobs
SELECT digest, size_bytes FROM blob ORDER BY digest LIMIT :limit;

-- name: maintain_writers
SELECT w.id, w.public_id, r.public_id, w.committed_offset, w.applied_offset, w.compacted_offset, w.fenced
FROM writer w JOIN run r ON r.id = w.run_id ORDER BY w.id LIMIT :limit;

-- name: maintain_log_blobs
SELECT start_offset, end_offset, data FROM log_blob
WHERE writer_id = :writer_id ORDER BY start_offset LIMIT :limit;

-- name: maintain_chunks
SELECT r.public_id, w.public_id, m.name, c.seq, c.data, t.data, c.run_id, c.metric_id, c.writer_id
FROM metric_chunk c JOIN run r ON r.id = c.run_id JOIN writer w ON w.id = c.writer_id
JOIN metric_name m ON m.id = c.metric_id LEFT JOIN metric_chunk t ON t.run_id = c.run_id
    AND t.metric_id = c.times_of AND t.writer_id = c.writer_id AND t.seq = c.seq
WHERE (c.run_id, c.metric_id, c.writer_id, c.seq) > (:run_id, :metric_id, :writer_id, :seq)
ORDER BY c.run_id, c.metric_id, c.writer_id, c.seq LIMIT :limit;

-- name: maintain_levels
SELECT r.public_id, w.public_id, m.name, c.seq, c.data, t.data, c.run_id, c.metric_id, c.writer_id,
    c.level
FROM metric_level c JOIN run r ON r.id = c.run_id JOIN writer w ON w.id = c.writer_id
JOIN metric_name m ON m.id = c.metric_id LEFT JOIN metric_level t ON t.run_id = c.run_id
    AND t.metric_id = c.times_of AND t.writer_id = c.writer_id AND t.level = c.level
    AND t.seq = c.seq
WHERE (c.run_id, c.metric_id, c.writer_id, c.level, c.seq)
    > (:run_id, :metric_id, :writer_id, :level, :seq)
ORDER BY c.run_id, c.metric_id, c.writer_id, c.level, c.seq LIMIT :limit;

-- name: maintain_tails
SELECT r.public_id, w.public_id, m.name, c.point_count, c.tail, NULL, c.run_id, c.metric_id,
    c.writer_id
FROM metric_series c JOIN run r ON r.id = c.run_id JOIN writer w ON w.id = c.writer_id
JOIN metric_name m ON m.id = c.metric_id
WHERE (c.run_id, c.metric_id, c.writer_id) > (:run_id, :metric_id, :writer_id)
    AND c.tail IS NOT NULL
ORDER BY c.run_id, c.metric_id, c.writer_id LIMIT :limit;
