"""kill -9 of a training, alone or with all its helpers: how many of the points that log() had taken are
still there when the record is read back, and are any there twice?"""

from __future__ import annotations

import os
import random
import re
import shutil
import signal
import subprocess
import tempfile
import time
from pathlib import Path

from rival_runs import NAMES, answer, command, variables
from run import Figure

RATES = [float(rate) for rate in os.environ.get("BENCH_CRASH_RATES", "200,5").split(",")]
REPEATS = int(os.environ.get("BENCH_CRASH_REPEATS", "2"))
LOGS_S = (2.0, 4.0)  # logging time before the kill
SETTLES_S = 3.0  # what helpers that live on may take to save


def one(name: str, rate: float, whole_group: bool) -> tuple[int, int, int] | None:
    """Points that log() took, that are lost, that are there more than once."""
    folder = Path(tempfile.mkdtemp(prefix="euvyra-crash-", dir="/var/tmp"))
    try:
        process = subprocess.Popen(
            command("train", name, folder, str(rate)),
            env=variables(),
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            start_new_session=True,
        )
        assert process.stdout
        run, steps, end = "", set(), 0.0
        for line in process.stdout:
            if line.startswith("@run"):
                run = line.split()[1]
                end = time.monotonic() + random.uniform(*LOGS_S)
            match = re.fullmatch(r"@step (\d+)\n", line)
            if match:
                steps.add(int(match.group(1)))
            if end and time.monotonic() >= end:
                break
        if whole_group:
            os.killpg(process.pid, signal.SIGKILL)
        else:
            process.kill()
        process.wait()
        if not run:
            return None
        time.sleep(SETTLES_S)
        done = subprocess.run(
            command("steps", name, folder, run),
            env=variables(),
            capture_output=True,
            text=True,
            timeout=300,
        )
        kept = answer(done.stdout)
        if not isinstance(kept, list):
            kept = []  # unreadable: all is lost
        return len(steps), len(steps - set(kept)), len(kept) - len(set(kept))
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def figures() -> list[Figure]:
    rows = []
    for name in NAMES:
        for rate in RATES:
            for whole_group in (False, True):
                told = [one(name, rate, whole_group) for _ in range(REPEATS)]
                key = f"{name}_lost_{rate:g}_{'group' if whole_group else 'alone'}"
                rounds = [t for t in told if t]
                if not rounds:
                    rows.append(Figure(key, -1, "", "did not run here"))
                    continue
                taken, lost, twice = (max(t[i] for t in rounds) for i in range(3))
                what = f"points at most, of {taken} at {rate:g} a second; twice: {twice}"
                rows.append(Figure(key, lost, "points", what))
    return rows
