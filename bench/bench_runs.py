"""The runs table: 100,000 runs, filter, sort and first page over HTTP."""

from __future__ import annotations

import http.client
import json
import random
import shutil
import sqlite3
import statistics
import struct
import tempfile
import time
import urllib.parse
from pathlib import Path

from run import Figure
from support import Server, make_id

RUNS = 100_000
REPEATS = 15
STATES = ["finished", "finished", "finished", "failed", "crashed"]


def bits(value: float) -> int:
    """A float64 as the order-preserving int64 of the store."""
    number = int(struct.unpack("<q", struct.pack("<d", value))[0])
    return number if number >= 0 else number ^ 0x7FFFFFFFFFFFFFFF


class Loader:
    """Writes runs as the server does, straight into its database: 100,000 by HTTP take minutes."""

    def __init__(self, path: Path, project: int) -> None:
        self.database = sqlite3.connect(path)
        self.project = project
        self.keys: dict[tuple[int, str], int] = {}

    def key(self, space: int, name: str) -> int:
        if (space, name) not in self.keys:
            cursor = self.database.execute(
                "INSERT INTO attribute_key (project_id, space, name, run_count, value_count)"
                " VALUES (?, ?, ?, ?, 2)",
                (self.project, space, name, RUNS),
            )
            self.keys[space, name] = int(cursor.lastrowid or 0)
        return self.keys[space, name]

    def load(self) -> None:
        rng = random.Random(1)
        metrics = [
            int(
                self.database.execute(
                    "INSERT INTO metric_name (project_id, kind, name) VALUES (?, 0, ?)",
                    (self.project, f"m{n}"),
                ).lastrowid
                or 0
            )
            for n in range(5)
        ]
        owner = self.database.execute("SELECT id FROM app_user").fetchone()[0]
        runs, values, points, docs = [], [], [], []
        for run in range(1, RUNS + 1):
            name, state = f"run {run}", rng.choice(STATES)
            made = 1_700_000_000_000 + run * 60_000
            runs.append(
                (run, make_id("r"), self.project, name, state, owner, made, made, made + run)
            )
            config = {f"p{n}": rng.random() * 10**-n for n in range(10)}
            texts = {"model": f"model {rng.randrange(12)}", "data": f"set {run % 5}"}
            summary = {"acc": rng.random(), "best": rng.random()}
            docs.append((run, "config", json.dumps({**config, **texts})))
            docs.append((run, "summary", json.dumps(summary)))
            fields = {"name": name, "state": state, "owner": "ada", "tags": f"t{run % 7}"}
            for at in ("created", "started", "ended"):
                values.append((self.key(0, at), 1, bits(float(made)), b"", run))
            for space, known in ((1, config), (2, summary)):
                for key, number in known.items():
                    values.append((self.key(space, key), 1, bits(number), b"", run))
            defined = {"m2": "min" if run % 2 else "last"}
            meaning = {name: {"summary": figure} for name, figure in defined.items()}
            docs.append((run, "defined", json.dumps(meaning)))
            for space, words in ((0, fields), (1, texts), (4, defined)):
                for key, word in words.items():
                    values.append((self.key(space, key), 3, 0, word.encode(), run))
            for metric in metrics:
                low, high = bits(rng.random()), bits(1 + rng.random())
                points.append((run, metric, low, low, high))
        self.database.executemany(
            "INSERT INTO run (id, public_id, project_id, name, state, owner_id, run_group, job_type,"
            " host, notes, tags, command, reason, oom, created_ms, started_ms, ended_ms,"
            " console_bytes, console_final, create_hash, indexed)"
            " VALUES (?, ?, ?, ?, ?, ?, '', '', '', '', '[]', '[]', '', 0, ?, ?, ?, 0, 1, x'00', 1)",
            runs,
        )
        values.sort()  # in the order of the table: it is packed as tightly as it can be
        self.database.executemany("INSERT INTO attribute VALUES (?, ?, ?, ?, ?)", values)
        self.database.executemany(
            "INSERT INTO run_metric (run_id, metric_id, point_count, finite_count, last_step,"
            " last_bits, min_bits, max_bits) VALUES (?, ?, 9, 9, 8, ?, ?, ?)",
            points,
        )
        self.database.executemany("INSERT INTO run_doc VALUES (?, ?, ?)", docs)
        self.database.commit()
        self.database.close()


QUERIES = {
    "runs_ms": ("filter + sort + first page", {
        "filter": "state = finished and config.p1 < 0.05 and tags in (t1, t2, t3)",
        "sort": "-summary.acc", "columns": "config.p0,config.model,summary.acc,summary.m0",
    }),
    "runs_metric_sort_ms": ("sorted by a metric's lowest value", {
        "filter": "config.model = 'model 3'", "sort": "metric.m1.min", "columns": "metric.m1.min",
    }),
    "runs_defined_sort_ms": ("sorted by a metric, each run by its own definition", {
        "filter": "config.model = 'model 3'", "sort": "summary.m2", "columns": "summary.m2",
    }),
    "runs_defined_best_ms": ("the best of all by the same", {"sort": "summary.m2", "limit": "1"}),
    "runs_regex_ms": ("regular expression over all names", {
        "filter": 'name ~ "9{3}"', "sort": "name", "columns": "config.p0",
    }),
    "runs_rare_ms": ("a filter that finds next to nothing", {
        "filter": "config.p0 < 0.9 and config.p1 > 0.0999 and summary.acc < 0.001",
        "sort": "-created", "columns": "config.p0",
    }),
    "runs_all_ms": ("no filter, sorted", {"sort": "config.p2", "columns": "config.p2"}),
    "runs_deep_ms": ("row 90,000 of the same", {
        "sort": "config.p2", "columns": "config.p2", "skip": "90000"}),
}  # fmt: skip


def ask(connection: http.client.HTTPConnection, key: str, path: str) -> float:
    begin = time.perf_counter()
    connection.request("GET", path, headers={"Authorization": f"Bearer {key}"})
    answer = connection.getresponse()
    body = answer.read()
    assert answer.status == 200, body
    return (time.perf_counter() - begin) * 1000


def figures() -> list[Figure]:
    folder = Path(tempfile.mkdtemp(prefix="euvyra-bench-", dir="/var/tmp"))
    try:
        server = Server(folder / "data")
        with server:
            server.ok("PUT", "/api/v1/projects/demo", {})
        Loader(folder / "data/euvyra.db", 1).load()
        rows = []
        with server:
            connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=60)
            for key, (what, query) in QUERIES.items():
                path = f"/api/v1/projects/demo/runs?{urllib.parse.urlencode(query)}"
                times = [ask(connection, server.key, path) for _ in range(REPEATS)]
                rows.append(
                    Figure(key, statistics.median(times[1:]), "ms", f"{RUNS:,} runs: {what}")
                )
            path = "/api/v1/projects/demo/run-groups?by=config.model,state"
            times = [ask(connection, server.key, path) for _ in range(REPEATS)]
            rows.append(
                Figure("run_groups_ms", statistics.median(times[1:]), "ms", "grouped by two keys")
            )
            path = "/api/v1/projects/demo/run-columns"
            times = [ask(connection, server.key, path) for _ in range(REPEATS)]
            rows.append(Figure("run_columns_ms", statistics.median(times[1:]), "ms", "columns"))
        return rows
    finally:
        shutil.rmtree(folder)
