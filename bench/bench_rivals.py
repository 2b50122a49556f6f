"""Ours and other trackers on the same work in the same run: one metric a call, on this machine alone.

W&B offline, MLflow on SQLite, Aim, Trackio and tensorboardX, in a virtual environment of their own.
"""

from __future__ import annotations

import shutil
import statistics
import subprocess
import tempfile
from pathlib import Path

from rival_runs import NAMES, answer, command, variables
from run import Figure

CALLS = 5000
REPEATS = 3
WHAT = {
    "import_ms": ("ms", "import"),
    "init_ms": ("ms", "begin a run"),
    "log_us_p50": ("us", "log(), median"),
    "log_us_p99": ("us", "log(), 99 of 100 below"),
    "log_us_mean": ("us", "log(), mean: what a loop pays"),
    "finish_ms": ("ms", "end the run"),
    "bytes_per_point": ("B", "on disk at the end"),
}


def measure(name: str) -> dict[str, float] | None:
    found: list[dict[str, float]] = []
    for _ in range(REPEATS):
        folder = Path(tempfile.mkdtemp(prefix="euvyra-rival-", dir="/var/tmp"))
        done = subprocess.run(
            command("log", name, folder, str(CALLS)),
            env=variables(),
            capture_output=True,
            text=True,
            timeout=300,
        )
        told = answer(done.stdout)
        shutil.rmtree(folder, ignore_errors=True)
        if not isinstance(told, dict):
            return None
        found.append(told)
    return {key: statistics.median(one[key] for one in found) for key in WHAT}


def figures() -> list[Figure]:
    rows: list[Figure] = []
    ours: dict[str, float] = {}
    for name in NAMES:
        told = measure(name)
        if told is None:
            rows.append(Figure(f"{name}_failed", 1, "", "did not run here"))
            continue
        ours = ours or told
        for key, (unit, what) in WHAT.items():
            ratio = None if name == "euvyra" else told[key] / max(ours[key], 1e-9)
            rows.append(Figure(f"{name}_{key}", told[key], unit, what, ratio, "ours"))
    return rows
