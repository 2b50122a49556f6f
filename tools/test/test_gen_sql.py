"""sql/ becomes tables, or one line that names the statement that breaks a rule."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from conftest import tool_run

MIGRATION = "CREATE TABLE run (id TEXT PRIMARY KEY, size INTEGER NOT NULL, body BLOB) STRICT;\n"
STATEMENTS = """
-- name: run_insert
INSERT INTO run (id, size) VALUES (:id, :size);
-- name: run_get
-- one row
SELECT id, size FROM run WHERE id = :id;   -- by its id
-- name: run_list
SELECT id, ':not_a_param' FROM run WHERE size > :size AND id > :id AND size <> :size ORDER BY id LIMIT :limit;
"""


def folder(tmp_path: Path, statements: str = STATEMENTS, migration: str = MIGRATION) -> Path:
    (tmp_path / "migrations").mkdir()
    (tmp_path / "statements").mkdir()
    (tmp_path / "migrations/0001_first.sql").write_text(migration)
    (tmp_path / "statements/run.sql").write_text(statements)
    return tmp_path


def postgres(sql: Path) -> dict[str, dict[str, object]]:
    done = tool_run("gen_sql.py", "postgres", sql)
    assert done.returncode == 0, done.stderr
    return {statement["name"]: statement for statement in json.loads(done.stdout)["statements"]}


def test_parameters_are_numbered_by_first_appearance(tmp_path: Path) -> None:
    statement = postgres(folder(tmp_path))["run_list"]
    assert statement["params"] == ["size", "id", "limit"]
    assert statement["sql"] == (
        "SELECT id, ':not_a_param' FROM run WHERE size > $1 AND id > $2 AND size <> $1 ORDER BY id LIMIT $3"
    )


def test_migration_is_translated(tmp_path: Path) -> None:
    done = tool_run("gen_sql.py", "postgres", folder(tmp_path))
    sql = json.loads(done.stdout)["migrations"][0]["sql"]
    text = 'TEXT COLLATE "C"'
    assert sql == f"CREATE TABLE run (id {text} PRIMARY KEY, size BIGINT NOT NULL, body BYTEA);"


def test_variant_overrides_one_statement(tmp_path: Path) -> None:
    sql = folder(tmp_path)
    (sql / "statements/run.postgres.sql").write_text(
        "-- name: run_get\nSELECT id, size FROM run WHERE id = :id::text;\n"
    )
    assert postgres(sql)["run_get"]["sql"] == "SELECT id, size FROM run WHERE id = $1::text"


def test_tables_compile_shape(tmp_path: Path) -> None:
    sql = folder(tmp_path)
    done = tool_run("gen_sql.py", "tables", sql, "--out-h", sql / "s.h", "--out-c", sql / "s.c")
    assert done.returncode == 0, done.stderr
    assert (
        "    SQL_RUN_INSERT,\n    SQL_RUN_GET,\n    SQL_RUN_LIST,\n    SQL_COUNT\n"
        in (sql / "s.h").read_text()
    )
    text = (sql / "s.c").read_text()
    assert text.count(".writes = true") == 1
    assert "by its id" not in text


@pytest.mark.parametrize(
    ("statement", "message"),
    [
        ("SELECT * FROM run LIMIT 1", "names no columns ('*')"),
        ("SELECT r.* FROM run AS r LIMIT 1", "names no columns ('*')"),
        ("INSERT INTO run (id) VALUES (:id) RETURNING *", "names no columns ('*')"),
        ("INSERT INTO run VALUES (:id)", "INSERT names no columns"),
        ("SELECT id FROM run", "a list without LIMIT"),
        ("SELECT id FROM run WHERE id IN (SELECT id FROM run LIMIT 1)", "a list without LIMIT"),
        ("SELECT id FROM run WHERE id = ?1 LIMIT 1", "parameters are :name"),
        ("SELECT id FROM run LIMIT 1; DELETE FROM run", "more than one statement"),
        ("DROP TABLE run", "is not SELECT, INSERT"),
    ],
)
def test_statement_that_breaks_a_rule_is_named(
    tmp_path: Path, statement: str, message: str
) -> None:
    done = tool_run("gen_sql.py", "check", folder(tmp_path, f"-- name: run_x\n{statement};\n"))
    assert done.returncode == 1
    assert "run.sql:1: run_x: " in done.stderr
    assert message in done.stderr


def test_count_star_is_no_column_list(tmp_path: Path) -> None:
    sql = folder(tmp_path, "-- name: run_count\n-- one row\nSELECT COUNT(*) AS n FROM run;\n")
    assert tool_run("gen_sql.py", "check", sql).returncode == 0


def test_table_must_be_strict(tmp_path: Path) -> None:
    done = tool_run(
        "gen_sql.py", "check", folder(tmp_path, migration="CREATE TABLE run (id TEXT);")
    )
    assert "table run is not STRICT" in done.stderr


def test_released_migration_may_not_change(tmp_path: Path) -> None:
    sql = folder(tmp_path)
    assert tool_run("gen_sql.py", "release", sql).returncode == 0
    assert tool_run("gen_sql.py", "check", sql).returncode == 0
    (sql / "migrations/0001_first.sql").write_text(MIGRATION + "-- later\n")
    done = tool_run("gen_sql.py", "check", sql)
    assert "migration 0001_first: was released and may not change" in done.stderr


def test_hole_in_the_numbers_is_refused(tmp_path: Path) -> None:
    sql = folder(tmp_path)
    (sql / "migrations/0003_third.sql").write_text("DROP TABLE run;")
    assert "number 0002 is missing" in tool_run("gen_sql.py", "check", sql).stderr


COLUMNS = """
-- columns: run_columns
r.id,
    r.size  -- in bytes

-- name: run_get
-- one row
SELECT {run_columns} FROM run r WHERE r.id = :id;
-- name: run_list
SELECT {run_columns}, '{}' FROM run r WHERE r.id > :id ORDER BY r.id LIMIT :limit;
"""


def test_columns_written_once_stand_in_every_statement(tmp_path: Path) -> None:
    found = postgres(folder(tmp_path, COLUMNS))
    assert list(found) == ["run_get", "run_list"]
    assert found["run_get"]["sql"] == "SELECT r.id,\n    r.size FROM run r WHERE r.id = $1"
    assert str(found["run_list"]["sql"]).startswith("SELECT r.id,\n    r.size, '{}' FROM run r")


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("{run_columns}, '{}'", "{run_colums}", "run_list: no '-- columns: run_colums' here"),
        ("{run_columns}", "r.id", "columns run_columns are not used"),
        ("r.id,\n", "r.*,\n", "run_columns is not a list of columns"),
        ("-- name: run_get", "-- columns: run_columns\nr.id\n-- name: run_get", "there twice"),
    ],
)
def test_columns_that_break_a_rule_are_named(
    tmp_path: Path, old: str, new: str, message: str
) -> None:
    sql = folder(tmp_path, COLUMNS.replace(old, new))
    done = tool_run("gen_sql.py", "check", sql)
    assert done.returncode == 1
    assert message in done.stderr


def test_integer_keys_number_themselves_on_postgres_too(tmp_path: Path) -> None:
    text = "CREATE TABLE blob (\n    id INTEGER PRIMARY KEY,\n    other INTEGER\n) STRICT;\n"
    done = tool_run("gen_sql.py", "postgres", folder(tmp_path, migration=text))
    sql = json.loads(done.stdout)["migrations"][0]["sql"]
    assert "CREATE TABLE blob (" in sql
    assert "id BIGINT GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY," in sql
    assert "other BIGINT\n" in sql
