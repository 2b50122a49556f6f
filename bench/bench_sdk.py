"""What recording costs: import, init, log() and finish, from Python and from C.

    python bench/bench_sdk.py [--json]

Figures and ratios of one run of this program; candidates take turns in each round, and least, median
and greatest are shown. log() is compared with an empty Python function, with a write per record,
and with json.dumps.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROUNDS = 9
CALLS = 100_000
METRICS = {"loss": 0.1, "acc": 0.2, "lr": 0.3, "norm": 0.4, "speed": 0.5}
BUILD = Path(os.environ.get("EUVYRA_BUILD", Path(__file__).resolve().parent.parent / "build"))
Figures = dict[str, list[float]]
Row = dict[str, Any]


def empty(metrics: dict[str, float]) -> None:
    """What a call costs when it does nothing."""


def timed(call: Callable[[dict[str, float]], Any]) -> float:
    """Nanoseconds a call."""
    calls = range(CALLS)
    begin = time.perf_counter_ns()
    for _ in calls:
        call(METRICS)
    return (time.perf_counter_ns() - begin) / CALLS


def bench_log(folder: Path) -> Figures:
    import euvyra

    run = euvyra.init(project="bench", dir=str(folder))
    pack = struct.Struct("<qqI5d").pack
    texts: list[str] = []
    figures: Figures = {}
    with (folder / "plain").open("wb", buffering=0) as plain:
        candidates: dict[str, Callable[[dict[str, float]], Any]] = {
            "empty function": empty,
            "run.log, 5 values": run.log,
            "struct.pack and write(2)": lambda m: plain.write(
                pack(0, time.time_ns(), 5, *m.values())
            ),
            "json.dumps to a list": lambda m: texts.append(json.dumps(m)),
        }
        for _ in range(ROUNDS):
            for name, call in candidates.items():
                figures.setdefault(name, []).append(timed(call))
            texts.clear()
    run.finish()
    return figures


LIFE = """
import json, time
t0 = time.perf_counter_ns()
import euvyra
t1 = time.perf_counter_ns()
run = euvyra.init(project="bench", config={"lr": 0.1})
t2 = time.perf_counter_ns()
run.log({"loss": 1.0})
t3 = time.perf_counter_ns()
run.finish()
t4 = time.perf_counter_ns()
print(json.dumps([t1 - t0, t2 - t1, t3 - t2, t4 - t3]))
"""


def bench_life(folder: Path, program: str) -> Figures:
    """Milliseconds, each in a fresh interpreter."""
    names = ("import euvyra", "init", "first log", "finish")
    env = {**os.environ, "EUVYRA_DIR": str(folder), "EUVYRA_BIN": program}
    figures: Figures = {}
    for _ in range(ROUNDS):
        begin = time.perf_counter_ns()
        subprocess.run([sys.executable, "-c", "pass"], check=True)
        figures.setdefault("bare interpreter", []).append((time.perf_counter_ns() - begin) / 1e6)
        done = subprocess.run(
            [sys.executable, "-c", LIFE], env=env, capture_output=True, text=True, check=True
        )
        for name, ns in zip(names, json.loads(done.stdout), strict=True):
            figures.setdefault(name, []).append(ns / 1e6)
    return figures


def rows(figures: Figures, unit: str, against: str) -> list[Row]:
    base = statistics.median(figures[against])
    return [
        {
            "name": name,
            "unit": unit,
            "min": round(min(values), 3),
            "median": round(statistics.median(values), 3),
            "max": round(max(values), 3),
            "ratio": round(statistics.median(values) / base, 3),
            "against": against,
        }
        for name, values in figures.items()
    ]


def bench_c(folder: Path) -> list[Row]:
    program = BUILD / "bench" / "bench_log"
    if not program.exists():
        return []
    done = subprocess.run([program, folder, "--json"], capture_output=True, text=True, check=True)
    result: list[Row] = json.loads(done.stdout)
    return [{**row, "name": f"C: {row['name']}"} for row in result]


def main() -> None:
    parser = argparse.ArgumentParser(description="What recording costs.")
    parser.add_argument("--json", action="store_true")
    as_json = parser.parse_args().json
    os.environ["EUVYRA_MODE"] = "offline"
    os.environ["EUVYRA_BIN"] = "/nonexistent"
    result: list[Row] = []
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as name:
        folder = Path(name)
        result += bench_c(folder)
        result += rows(bench_log(folder), "ns a call", "empty function")
        result += rows(bench_life(folder, "/nonexistent"), "ms, no sidecar", "bare interpreter")
        if (BUILD / "euvyra").exists():
            life = bench_life(folder, str(BUILD / "euvyra"))
            result += rows(life, "ms, with sidecar", "bare interpreter")
    if as_json:
        print(json.dumps(result))
        return
    for row in result:
        figures = f"{row['min']:>10} / {row['median']:>10} / {row['max']:>10} {row['unit']:<18}"
        print(f"{row['name']:<30}{figures}{row['ratio']:>9} x {row['against']}")


if __name__ == "__main__":
    main()
