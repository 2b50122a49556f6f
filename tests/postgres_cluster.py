"""Databases for tests on a real PostgreSQL.

EUVYRA_TEST_POSTGRES names the folder of a cluster's socket (./dev test postgres starts one for the
whole run). Each server gets a database of its own, a copy of one that is migrated and has the
administrator ada; `drop_made` removes what was made since it was called last.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
RIG = ROOT / "tests/rigs/postgres.sh"
TEMPLATE = "euvyra_template"
made: list[str] = []


def socket_folder() -> str:
    folder = os.environ.get("EUVYRA_TEST_POSTGRES", "")
    if folder and not folder.startswith("/"):  # libpq would look for a host of that name
        raise ValueError(f"EUVYRA_TEST_POSTGRES={folder} is no folder")
    return folder


def psql(statement: str, database: str = "postgres") -> str:
    """Runs one statement as the cluster's administrator; returns what it gives, unaligned."""
    done = subprocess.run(
        ["psql", "-X", "-q", "-v", "ON_ERROR_STOP=1", "-A", "-t", "-c", statement],
        env={**os.environ, "PGHOST": socket_folder(), "PGUSER": "euvyra", "PGDATABASE": database},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def url(database: str) -> str:
    return f"postgresql:///{database}?host={socket_folder()}&user=euvyra"


def template_key(euvyrad: Path) -> str:
    """The key of ada in the template, which is made when it is missing."""
    kept = Path(socket_folder()) / "template.key"
    if not kept.exists():
        psql(f"CREATE DATABASE {TEMPLATE}")
        with tempfile.TemporaryDirectory() as folder:
            key = Path(folder) / "key"
            subprocess.run(
                [
                    *(euvyrad, "setup", "--data", Path(folder) / "data"),
                    *("--database", url(TEMPLATE), "--admin", "ada", "--key-file", key),
                ],
                check=True,
                stdout=subprocess.DEVNULL,
            )
            kept.write_text(key.read_text().strip())
    return kept.read_text()


def name_for(data: Path) -> str:
    """The database of a data folder: the same each time a server starts there."""
    return "t_" + hashlib.sha256(str(data).encode()).hexdigest()[:24]


def create(name: str, template: str = TEMPLATE) -> None:
    psql(f"CREATE DATABASE {name} TEMPLATE {template} STRATEGY FILE_COPY")
    made.append(name)


def drop(name: str) -> None:
    made.remove(name)
    psql(f"DROP DATABASE IF EXISTS {name} WITH (FORCE)")


def drop_made() -> None:
    while made:
        drop(made[-1])


@contextmanager
def cluster(durable: bool = False, parent: str = "/tmp") -> Iterator[str]:
    """A cluster of one's own; its folder in EUVYRA_TEST_POSTGRES meanwhile."""
    folder = Path(tempfile.mkdtemp(prefix="euvyra-pg.", dir=parent))
    folder.chmod(0o755)
    before = socket_folder()
    how = ["durable"] if durable else []
    subprocess.run([RIG, "start", folder / "pg", *how], check=True)
    os.environ["EUVYRA_TEST_POSTGRES"] = str(folder / "pg")
    try:
        yield str(folder / "pg")
    finally:
        os.environ["EUVYRA_TEST_POSTGRES"] = before
        if not before:
            del os.environ["EUVYRA_TEST_POSTGRES"]
        subprocess.run([RIG, "stop", folder / "pg"], check=True)
        shutil.rmtree(folder)
