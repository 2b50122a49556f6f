"""Ingest on PostgreSQL beside SQLite, durable both, in the same run."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

import postgres_cluster
from bench_server import ingest
from run import Figure


def figures() -> list[Figure]:
    folder = Path(tempfile.mkdtemp(prefix="euvyra-bench-", dir="/var/tmp"))
    folder.chmod(0o755)  # PostgreSQL runs as another user where this is root
    try:
        sqlite = {row.key: row for row in ingest(folder / "sqlite")}
        with postgres_cluster.cluster(durable=True, parent=str(folder)):
            postgres = ingest(folder / "postgres")
            postgres_cluster.drop_made()
    finally:
        shutil.rmtree(folder)
    rows = []
    for row in postgres:
        base = sqlite[row.key]
        rows.append(Figure(f"sqlite_{row.key}", base.value, row.unit, base.what))
        rows.append(
            Figure(
                f"postgres_{row.key}",
                row.value,
                row.unit,
                "PostgreSQL 15 on the same two cores, over its socket",
                row.value / base.value,
                "SQLite",
            )
        )
    return rows
