"""Charts: 100 runs of 1,000,000 points each in 1,000 buckets, exact; and what a point costs on disk."""

from __future__ import annotations

import http.client
import json
import os
import shutil
import statistics
import tempfile
import time
from pathlib import Path
from typing import Any

from bench_server import post
from run import Figure
from support import Log, Server, make_id, wait_for

RUNS = int(os.environ.get("BENCH_CHART_RUNS", "100"))
POINTS = 1_000_000
ROWS_A_POST = 50_000
PATH = "/api/v1/projects/demo/metrics/query"


def is_compacted(server: Server) -> bool:
    """Of each log less is left than what a compaction waits for."""
    left = "SELECT count(*) FROM writer WHERE compacted_offset < applied_offset - 65536"
    return server.sql(left) == "0"


def bytes_in_use(server: Server) -> int:
    size, count, free = (
        int(server.sql(f"PRAGMA {name}")) for name in ("page_size", "page_count", "freelist_count")
    )
    return size * (count - free)


def ask(server: Server, runs: list[str], **more: Any) -> tuple[float, int]:
    """Milliseconds and bytes of a chart, from request to the last byte of the answer."""
    body = {"runs": runs, "metrics": ["train/metric_0"], "buckets": 1000, "format": "columns"}
    headers = {"Authorization": f"Bearer {server.key}", "Content-Type": "application/json"}
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=120)
    connection.connect()
    begin = time.monotonic()
    connection.request("POST", PATH, json.dumps(body | more), headers)
    answer = connection.getresponse()
    length = len(answer.read())
    ms = (time.monotonic() - begin) * 1000
    assert answer.status == 200
    connection.close()
    return ms, length


def names(server: Server) -> list[Figure]:
    """A run with 100,000 metrics: its first page, and finding some of them."""
    run, log = make_id("r"), Log()
    server.ok("PUT", f"/api/v1/projects/demo/runs/{run}", {})
    for i in range(100_000):
        log.name(f"layer.{i // 100}/block/weight_{i % 100}")
    for at in range(0, 100_000, 10_000):
        log.row(
            at, {f"layer.{i // 100}/block/weight_{i % 100}": 1.0 for i in range(at, at + 10_000)}
        )
    server.upload(run, log)
    server.wait_facts()

    def ms(query: str) -> float:
        waits = []
        for _ in range(7):
            begin = time.monotonic()
            server.ok("GET", f"/api/v1/runs/{run}/metrics?limit=100{query}")
            waits.append((time.monotonic() - begin) * 1000)
        return statistics.median(waits)

    worst = max(ms(""), ms("&contains=weight_77"), ms("&regex=999/.*_99$"))
    return [
        Figure("names_open_ms", ms(""), "ms", "100,000 metrics in a run: first page"),
        Figure("names_contains_ms", ms("&contains=r.999/"), "ms", "a part of the name, at the end"),
        Figure("names_regex_ms", ms("&regex=999/.*_99$"), "ms", "a regular expression over all"),
        Figure("names_ms", worst, "ms", "the slowest of opening and searching (goal 100)"),
    ]


def drop_caches(server: Server) -> None:
    """Forgets the database's pages, as after a reboot."""
    for path in server.data.glob("euvyra.db*"):
        with path.open("rb") as file:
            os.fsync(file.fileno())
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def figures() -> list[Figure]:
    folder = Path(tempfile.mkdtemp(prefix="euvyra-bench-", dir="/var/tmp"))
    try:
        with Server(folder / "data") as server:
            server.ok("PUT", "/api/v1/projects/demo", {})
            empty = bytes_in_use(server)
            runs: list[str] = []
            seconds = 0.0
            for _ in range(0, RUNS, 2):
                told = post(server, 2, 1, ROWS_A_POST, POINTS // ROWS_A_POST)
                runs += told["runs"]
                begin = time.monotonic()
                wait_for("compaction", lambda: is_compacted(server))
                seconds += told["seconds"] + time.monotonic() - begin
            points = len(runs) * POINTS
            used = bytes_in_use(server) - empty
            begun = bytes_in_use(server)
            mixed = post(server, 2, 10, 5000, 40)
            wait_for("compaction", lambda: is_compacted(server))
            mix = (bytes_in_use(server) - begun) / mixed["points"]
            warm = [ask(server, runs)[0] for _ in range(9)][2:]
            cold = []
            server.stop()
            for _ in range(5):
                drop_caches(server)
                server.start()
                cold.append(ask(server, runs)[0])
                server.stop()
            server.start()
            zoom = {"from": 400_000, "to": 402_000}
            near = [ask(server, runs, **zoom)[0] for _ in range(9)][2:]
            over_time = [ask(server, runs, x="time")[0] for _ in range(9)][2:]
            size = ask(server, runs)[1]
            one = [ask(server, runs[:1])[0] for _ in range(9)][2:]
            named = names(server)
        return [
            Figure("load_points_per_s", points / seconds, "points/s", "posted and compacted"),
            Figure("bytes_per_point", mix, "B", "ten usual metrics a step (goal 3.5)"),
            Figure("bytes_per_point_alone", used / points, "B", "one noisy float32 a step"),
            Figure("chart_ms", statistics.median(warm), "ms", f"{RUNS} runs, 1,000 px (goal 60)"),
            Figure("chart_cold_ms", statistics.median(cold), "ms", "after a restart (goal 150)"),
            Figure("chart_zoom_ms", statistics.median(near), "ms", "2,000 of the steps"),
            Figure("chart_time_ms", statistics.median(over_time), "ms", "over wall time"),
            Figure("chart_one_ms", statistics.median(one), "ms", "one of the runs"),
            Figure("chart_mb", size / 1e6, "MB", "the answer"),
            *named,
        ]
    finally:
        shutil.rmtree(folder)
