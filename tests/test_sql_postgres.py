"""The migrations run, and every statement is prepared, on a real PostgreSQL.

The server's first driver is SQLite; this keeps the second one from becoming a rewrite.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[1]
SQL = ROOT / "sql"


def tables() -> dict[str, Any]:
    done = subprocess.run(
        [sys.executable, str(ROOT / "tools/gen_sql.py"), "postgres", str(SQL)],
        capture_output=True,
        text=True,
        check=True,
    )
    loaded: dict[str, Any] = json.loads(done.stdout)
    return loaded


TABLES = tables()


@pytest.fixture(scope="module")
def database() -> Iterator[dict[str, str]]:
    """A fresh server; the environment that psql needs."""
    folder = Path(tempfile.mkdtemp(prefix="euvyra-pg."))
    folder.chmod(0o755)
    rig = ROOT / "tests/rigs/postgres.sh"
    subprocess.run([str(rig), "start", str(folder / "pg")], check=True)
    try:
        yield {
            **os.environ,
            "PGHOST": str(folder / "pg"),
            "PGUSER": "euvyra",
            "PGDATABASE": "postgres",
        }
    finally:
        subprocess.run([str(rig), "stop", str(folder / "pg")], check=True)
        shutil.rmtree(folder)


def psql(database: dict[str, str], text: str) -> str:
    """Runs a script, stops at the first error. Returns stdout; fails the test with psql's words."""
    done = subprocess.run(
        ["psql", "-X", "-q", "-v", "ON_ERROR_STOP=1", "-A", "-t", "-f", "-"],
        input=text,
        env=database,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def migrated(database: dict[str, str]) -> dict[str, str]:
    assert psql(database, "SHOW server_version_num;").startswith("15")
    for migration in TABLES["migrations"]:
        psql(database, f"BEGIN;\n{migration['sql']}\nCOMMIT;\n")
    return database


def test_migrations_run(migrated: dict[str, str]) -> None:
    count = psql(
        migrated, "SELECT count(*) FROM information_schema.tables WHERE table_schema = 'public';"
    )
    assert int(count) > 0


def test_integers_are_64_bits(migrated: dict[str, str]) -> None:
    narrow = psql(
        migrated,
        "SELECT table_name || '.' || column_name FROM information_schema.columns"
        " WHERE table_schema = 'public' AND data_type IN ('integer', 'smallint', 'real');",
    )
    assert narrow == ""


@pytest.mark.parametrize("statement", TABLES["statements"], ids=lambda s: str(s["name"]))
def test_statement_is_prepared(migrated: dict[str, str], statement: dict[str, Any]) -> None:
    name = statement["name"]
    out = psql(
        migrated,
        f"PREPARE {name} AS {statement['sql']};\n"
        f"SELECT array_to_string(parameter_types, ',') FROM pg_prepared_statements WHERE name = '{name}';",
    )
    types = [part for part in out.strip().split(",") if part]
    assert len(types) == len(statement["params"])
    assert not [kind for kind in types if re.search(r"smallint|unknown", kind)]
