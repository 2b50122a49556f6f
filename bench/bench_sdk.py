"""What recording costs: import, init, log() and finish, from Python and from C.

Medians of nine rounds in which the candidates take turns. log() is compared with an empty Python
function, with a write per record, and with json.dumps.
"""

from __future__ import annotations

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

from run import Figure

ROUNDS = 9
CALLS = 100_000
METRICS = {"loss": 0.1, "acc": 0.2, "lr": 0.3, "norm": 0.4, "speed": 0.5}
BUILD = Path(os.environ.get("EUVYRA_BUILD", Path(__file__).resolve().parent.parent / "build"))
Figures = dict[str, list[float]]


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


def rows(prefix: str, figures: Figures, unit: str, what: str) -> list[Figure]:
    """One row a candidate; the first candidate is what the others are compared with."""
    against = next(iter(figures))
    base = statistics.median(figures[against])
    result = []
    for name, values in figures.items():
        middle = statistics.median(values)
        spread = f"{name} ({min(values):.3g} to {max(values):.3g}), {what}"
        key = prefix + "_".join(name.split(",")[0].replace(".", " ").replace("(2)", "").split())
        ratio = None if name == against else middle / base
        result.append(Figure(key, middle, unit, spread, ratio, "" if ratio is None else against))
    return result


def bench_c(folder: Path) -> list[Figure]:
    program = BUILD / "bench" / "bench_log"
    if not program.exists():
        return []
    done = subprocess.run([program, folder, "--json"], capture_output=True, text=True, check=True)
    figures: Figures = {
        row["name"]: [row["min"], row["median"], row["max"]] for row in json.loads(done.stdout)
    }
    ordered = {name: figures[name] for name in sorted(figures, key=lambda name: "log" not in name)}
    return rows("c_", ordered, "ns", "one call from C")


OUTAGE = """
import json, sys, time, euvyra
CALLS, WARM = 200_000, 5_000
metrics = {"loss": 0.1, "acc": 0.2, "lr": 0.3, "norm": 0.4, "speed": 0.5}
run = euvyra.init(project="bench")
clock = time.perf_counter_ns

def measure():
    spent = []
    for _ in range(CALLS):
        begin = clock()
        run.log(metrics)
        spent.append(clock() - begin)
    spent = sorted(spent[WARM:])
    return [spent[len(spent) // 2], spent[len(spent) * 99 // 100]]

for line in sys.stdin:
    print(json.dumps(measure()), flush=True)
run.finish()
"""


def bench_outage(folder: Path) -> list[Figure]:
    """log() with a server that takes what comes, without it, and with it again: in one run, a reading of
    the clock in each figure."""
    from support import Server

    folder.mkdir()
    with Server(folder / "data") as server:
        server.ok("PUT", "/api/v1/projects/bench", {})
        env = {
            **os.environ,
            "EUVYRA_MODE": "online",
            "EUVYRA_BIN": str(BUILD / "euvyra"),
            "EUVYRA_DIR": str(folder / "runs"),
            "EUVYRA_SERVER": server.url,
            "EUVYRA_API_KEY": server.key,
        }
        process = subprocess.Popen(
            [sys.executable, "-c", OUTAGE],
            env=env,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )

        def measure() -> list[int]:
            assert process.stdin and process.stdout
            process.stdin.write("go\n")
            process.stdin.flush()
            answer: list[int] = json.loads(process.stdout.readline())
            return answer

        told: dict[str, list[list[int]]] = {"up": [], "outage": []}
        for _ in range(3):
            told["up"].append(measure())
            server.kill()
            told["outage"].append(measure())
            server.start()
        process.communicate()
    result = []
    for index, part in enumerate(("p50", "p99")):
        up, away = (statistics.median(one[index] for one in told[k]) for k in ("up", "outage"))
        result.append(Figure(f"log_up_ns_{part}", up, "ns", "a call, the server is there"))
        what = "a call, the server is away"
        result.append(
            Figure(f"log_outage_ns_{part}", away, "ns", what, away / up, "the same with the server")
        )
    return result


def figures() -> list[Figure]:
    os.environ["EUVYRA_MODE"] = "offline"
    os.environ["EUVYRA_BIN"] = "/nonexistent"
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as name:
        folder = Path(name)
        result = bench_c(folder)
        result += rows("py_", bench_log(folder), "ns", "one call from Python")
        result += rows("alone_", bench_life(folder, "/nonexistent"), "ms", "without a sidecar")
        if (BUILD / "euvyra").exists():
            life = bench_life(folder, str(BUILD / "euvyra"))
            result += rows("sidecar_", life, "ms", "with the sidecar")
            result += bench_outage(folder / "outage")
    return result
