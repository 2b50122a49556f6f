"""Run in the rivals' own environment, once a measurement: a fresh process each time.

measure.py log NAME FOLDER CALLS      one metric a call: a JSON line of times
measure.py train NAME FOLDER RATE     logs RATE times a second, prints each step, until it is killed
measure.py steps NAME FOLDER RUN      the steps that are on the disk, as JSON
"""

from __future__ import annotations

import importlib
import json
import statistics
import sys
import time
from pathlib import Path

from trackers import METRIC, TRACKERS, Tracker, stay_at_home

SECONDS_MOST = 4.0


def disk_bytes(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def measure_log(tracker: Tracker, calls: int) -> None:
    begin = time.perf_counter()
    importlib.import_module(tracker.package)
    imported = time.perf_counter()
    tracker.begin()
    begun = time.perf_counter()
    waits = []
    for step in range(calls):
        values = {METRIC: 1.0 / (step + 1)}
        before = time.perf_counter()
        tracker.log(step, values)
        waits.append(time.perf_counter() - before)
        if time.perf_counter() - begun > SECONDS_MOST:
            break
    logged = time.perf_counter()
    tracker.finish()
    finished = time.perf_counter()
    waits.sort()
    told = {
        "import_ms": (imported - begin) * 1000,
        "init_ms": (begun - imported) * 1000,
        "log_us_p50": statistics.median(waits) * 1e6,
        "log_us_p99": waits[len(waits) * 99 // 100] * 1e6,
        "log_us_mean": (logged - begun) / len(waits) * 1e6,
        "finish_ms": (finished - logged) * 1000,
        "bytes_per_point": disk_bytes(tracker.folder) / len(waits),
        "calls": len(waits),
    }
    print("\n@" + json.dumps(told), flush=True)


def train(tracker: Tracker, rate: float) -> None:
    tracker.begin()
    print(f"\n@run {tracker.run}", flush=True)
    begun = time.monotonic()
    for step in range(1_000_000):
        tracker.log(step, {METRIC: 1.0 / (step + 1)})
        print(f"@step {step}", flush=True)
        left = begun + (step + 1) / rate - time.monotonic()
        if left > 0:
            time.sleep(left)


def main() -> None:
    what, name, folder, rest = sys.argv[1:5]
    stay_at_home(Path(folder))
    tracker = TRACKERS[name](Path(folder))
    if what == "log":
        measure_log(tracker, int(rest))
    elif what == "train":
        train(tracker, float(rest))
    else:
        tracker.run = rest
        print("\n@" + json.dumps(tracker.steps()))


main()
