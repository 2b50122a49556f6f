-- Values that runs are filtered, sorted, grouped and listed by.

-- name: attribute_key_insert
INSERT INTO attribute_key (project_id, space, name, run_count, value_count)
VALUES (:project_id, :space, :name, 0, 0)
ON CONFLICT (project_id, space, name) DO NOTHING;

-- columns: key_columns
id, space, name, run_count, value_count

-- name: attribute_key_get
-- one row
SELECT {key_columns} FROM attribute_key
WHERE project_id = :project_id AND space = :space AND name = :name;

-- name: attribute_key_count
UPDATE attribute_key SET run_count = run_count + :runs, value_count = value_count + :more_values
WHERE id = :id;

-- name: attribute_key_list
SELECT {key_columns} FROM attribute_key
WHERE project_id = :project_id AND (:space < 0 OR space = :space) AND run_count > 0
    AND (:search_like = '' OR lower(name) LIKE :search_like ESCAPE '!')
ORDER BY CASE WHEN value_count > 1 THEN 0 ELSE 1 END, run_count DESC, value_count DESC, name, space
LIMIT :limit OFFSET :skip;

-- A definition of a metric is for one name, or for those that begin like it when it ends in a star.

-- name: attribute_defined_list
SELECT {key_columns} FROM attribute_key
WHERE project_id = :project_id AND space = :space AND run_count > 0
    AND (name = :name OR (substr(name, length(name)) = '*'
        AND substr(:name, 1, length(name) - 1) = substr(name, 1, length(name) - 1)))
ORDER BY CASE WHEN name = :name THEN 1 ELSE 0 END, length(name), name LIMIT :limit;

-- name: attribute_list
SELECT k.id, k.space, k.name, a.kind, a.number, a.text
FROM attribute a JOIN attribute_key k ON k.id = a.key_id
WHERE a.run_id = :run_id AND (:space < 0 OR k.space = :space)
ORDER BY a.key_id, a.kind, a.number, a.text LIMIT :limit;

-- name: attribute_insert
INSERT INTO attribute (key_id, kind, number, text, run_id)
VALUES (:key_id, :kind, :number, :text, :run_id);

-- name: attribute_delete
DELETE FROM attribute
WHERE key_id = :key_id AND kind = :kind AND number = :number AND text = :text AND run_id = :run_id;

-- name: attribute_value_known
-- one row
SELECT CASE WHEN EXISTS (
    SELECT 1 FROM attribute
    WHERE key_id = :key_id AND kind = :kind AND number = :number AND text = :text)
    THEN 1 ELSE 0 END AS known;

-- name: attribute_of_run
SELECT kind, number, text FROM attribute
WHERE run_id = :run_id AND key_id = :key_id ORDER BY kind, number, text LIMIT :limit;

-- name: attribute_numbers_up
SELECT run_id, number FROM attribute
WHERE key_id = :key_id AND kind = :kind AND number >= :low AND number <= :high
ORDER BY number, text, run_id LIMIT :limit;

-- name: attribute_numbers_down
SELECT run_id, number FROM attribute
WHERE key_id = :key_id AND kind = :kind AND number >= :low AND number <= :high
ORDER BY number DESC, text DESC, run_id DESC LIMIT :limit;

-- name: attribute_texts_up
SELECT run_id, text FROM attribute
WHERE key_id = :key_id AND kind = :kind AND number = 0 AND text >= :low AND text <= :high
ORDER BY text, run_id LIMIT :limit;

-- name: attribute_texts_down
SELECT run_id, text FROM attribute
WHERE key_id = :key_id AND kind = :kind AND number = 0 AND text >= :low AND text <= :high
ORDER BY text DESC, run_id DESC LIMIT :limit;

-- name: attribute_runs_by_number
SELECT run_id FROM attribute
WHERE key_id = :key_id AND kind = :kind AND number >= :low AND number <= :high LIMIT :limit;

-- name: attribute_runs_by_text
SELECT run_id FROM attribute
WHERE key_id = :key_id AND kind = :kind AND number = 0 AND text >= :low AND text <= :high
LIMIT :limit;

-- name: run_id_range
-- one row
SELECT coalesce(min(id), 0) AS low, coalesce(max(id), 0) AS high FROM run
WHERE project_id = :project_id;

-- name: run_id_list
SELECT id FROM run WHERE project_id = :project_id AND id <= :newest ORDER BY id DESC LIMIT :limit;

-- name: run_count
-- one row
SELECT count(id) FROM run WHERE project_id = :project_id AND id <= :newest;

-- name: run_notes_list
SELECT id, notes FROM run WHERE project_id = :project_id AND notes <> '' ORDER BY id LIMIT :limit;

-- name: run_live_list
SELECT id, started_ms FROM run
WHERE state = 'running' AND project_id = :project_id AND started_ms IS NOT NULL
ORDER BY id LIMIT :limit;

-- name: run_unindexed_list
SELECT id FROM run WHERE indexed < :indexed ORDER BY indexed, id LIMIT :limit;

-- name: run_indexed_set
UPDATE run SET indexed = :indexed WHERE id = :id;

-- name: metric_runs
SELECT run_id, last_bits, min_bits, max_bits FROM run_metric WHERE metric_id = :metric_id
ORDER BY run_id LIMIT :limit;

-- name: metric_runs_more
SELECT run_id, first_bits, sum_bits, finite_count, point_count FROM run_metric
WHERE metric_id = :metric_id ORDER BY run_id LIMIT :limit;

-- name: metric_runs_newest
SELECT run_id FROM run_metric WHERE metric_id = :metric_id ORDER BY run_id DESC LIMIT :limit;

-- name: metric_columns
SELECT m.name, (
    SELECT count(r.run_id) FROM (
        SELECT x.run_id FROM run_metric x WHERE x.metric_id = m.id LIMIT :count_max) r) AS run_count
FROM metric_name m
WHERE m.project_id = :project_id AND m.kind = 0 AND m.name > :after_name
    AND (:search_like = '' OR lower(m.name) LIKE :search_like ESCAPE '!')
ORDER BY m.name LIMIT :limit;
