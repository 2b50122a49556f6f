"""Many metric names: runs of 100,000 each, a million in the project, beside others who work."""

from __future__ import annotations

import os
import shutil
import statistics
import struct
import tempfile
import threading
import time
from pathlib import Path

from run import Figure
from support import Log, Server, make_id, wait_for

RUNS = int(os.environ.get("BENCH_NAMES_RUNS", "10"))
NAMES = 100_000
NAMES_A_ROW = 60_000  # a record is at most 1 MiB
POST_BYTES = 8 * 1024 * 1024


class Neighbour:
    """Somebody else's small changes, again and again, and how long each takes."""

    def __init__(self, server: Server) -> None:
        self.server, self.run, self.waits = server, make_id("r"), list[float]()
        server.ok("PUT", f"/api/v1/projects/demo/runs/{self.run}", {})
        self.ended = threading.Event()
        self.thread = threading.Thread(target=self.work)
        self.thread.start()

    def work(self) -> None:
        while not self.ended.wait(0.005):
            begin = time.monotonic()
            self.server.ok("PATCH", f"/api/v1/runs/{self.run}", {"notes": str(begin)})
            self.waits.append((time.monotonic() - begin) * 1000)

    def take(self) -> list[float]:
        waits, self.waits = sorted(self.waits), []
        return waits

    def end(self) -> None:
        self.ended.set()
        self.thread.join()


def wide_log(project_run: int) -> Log:
    log = Log()
    log.start()
    for n in range(NAMES):
        log.name(f"model.{project_run}/layer.{n // 100:04d}/weight_{n % 100:02d}")
    return log


def add_row(log: Log, step: int) -> None:
    log.clock += 1000
    for at in range(0, NAMES, NAMES_A_ROW):
        ids = range(at, min(at + NAMES_A_ROW, NAMES))
        head = struct.pack("<qqI", step, log.clock, len(ids))
        log.record(5, head + b"".join(struct.pack("<Id", n, n * 0.5 + step) for n in ids))


def send(server: Server, run: str, log: Log) -> None:
    """Posts all that is left, in posts of whole records, and waits until it is applied."""
    while log.sent < len(log.data):
        end = log.sent
        while end < len(log.data):
            size = 12 + int(struct.unpack_from("<I", log.data, end)[0])
            if end + size - log.sent > POST_BYTES:
                break
            end += size
        data = bytes(log.data[log.sent : end])
        answer = server.post_log(run, log.writer, log.sent, log.crc_sent(), data)
        assert answer.status == 200, answer.body
        log.sent = answer.json["offset"]
    wait_for("apply", lambda: server.applied(run, log.writer) == log.sent)
    server.wait_facts()


def ask_ms(server: Server, run: str, query: str) -> float:
    waits = []
    for _ in range(7):
        begin = time.monotonic()
        server.ok("GET", f"/api/v1/runs/{run}/metrics?limit=100{query}")
        waits.append((time.monotonic() - begin) * 1000)
    return statistics.median(waits)


def part(waits: list[float], share: float) -> float:
    return waits[min(int(len(waits) * share), len(waits) - 1)]


def figures() -> list[Figure]:
    folder = Path(tempfile.mkdtemp(prefix="euvyra-bench-", dir="/var/tmp"))
    neighbour = None
    try:
        with Server(folder / "data") as server:
            server.ok("PUT", "/api/v1/projects/demo", {})
            neighbour = Neighbour(server)
            time.sleep(3)
            quiet = neighbour.take()
            first, again, runs = [], [], []
            for index in range(RUNS):
                run, log = make_id("r"), wide_log(index)
                server.ok("PUT", f"/api/v1/projects/demo/runs/{run}", {})
                add_row(log, 0)
                begin = time.monotonic()
                send(server, run, log)
                first.append(time.monotonic() - begin)
                add_row(log, 1)
                begin = time.monotonic()
                send(server, run, log)
                again.append(time.monotonic() - begin)
                runs.append(run)
            busy = neighbour.take()
            begin = time.monotonic()
            server.wait_compacted()
            compaction = time.monotonic() - begin
            compacting = neighbour.take()
            searches = [
                "",
                "&prefix=model.0/layer.05",
                "&contains=0999/weight_9",
                "&regex=7/.*_99$",
            ]
            worst = [ask_ms(server, runs[0], query) for query in searches]
            neighbour.take()
            begin = time.monotonic()
            server.ok("DELETE", f"/api/v1/runs/{runs[0]}")
            gone = time.monotonic() - begin
            rows = "SELECT count(*) FROM run WHERE project_id = 0"
            wait_for("the space", lambda: server.sql(rows) == "0", 600)
            freed = time.monotonic() - begin
            deleting = neighbour.take()
            neighbour.end()
    finally:
        if neighbour:
            neighbour.ended.set()
        shutil.rmtree(folder)
    total = RUNS * NAMES
    base = part(quiet, 0.99)
    quiet_is = "of the same on a quiet server"
    return [
        Figure("names_first_row_s", statistics.median(first), "s", f"{NAMES:,} new names, one row"),
        Figure("names_next_row_s", statistics.median(again), "s", "a row of them, applied"),
        Figure("names_last_run_s", first[-1], "s", f"first row of the run that ends at {total:,}"),
        Figure("names_wait_ms_p50", part(busy, 0.5), "ms", "another's change meanwhile"),
        Figure(
            "names_wait_ms_p99",
            part(busy, 0.99),
            "ms",
            "(goal 50)",
            part(busy, 0.99) / base,
            quiet_is,
        ),
        Figure("names_wait_ms_max", busy[-1], "ms", "the longest"),
        Figure("names_compaction_s", compaction, "s", "until all is in chunks, after the last row"),
        Figure("names_compaction_wait_ms_p99", part(compacting, 0.99), "ms", "a change meanwhile"),
        Figure("names_list_ms", worst[0], "ms", f"first page of a run, {total:,} in the project"),
        Figure("names_prefix_ms", worst[1], "ms", "by prefix"),
        Figure("names_part_ms", worst[2], "ms", "by a part"),
        Figure("names_search_ms", worst[3], "ms", "by a regular expression"),
        Figure("names_delete_ms", gone * 1000, "ms", "a run of them is gone for its readers"),
        Figure("names_freed_s", freed, "s", "and its rows"),
        Figure("names_delete_wait_ms_p99", part(deleting, 0.99), "ms", "a change meanwhile"),
    ]
