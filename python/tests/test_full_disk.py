"""A disk that is full in the middle of a training: a tmpfs of a megabyte in a mount namespace."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

TRAIN = """
import euvyra, os, sys
disk = sys.argv[1]
with open(f"{disk}/filler", "wb") as filler:
    filler.write(bytes(600_000))
run = euvyra.init(dir=disk)
step = 0
while not run.lost:
    run.log({"i": float(step)}, step=step)
    step += 1
for _ in range(99):
    run.log({"i": -1.0}, step=step)
os.unlink(f"{disk}/filler")
run.log({"i": float(step)}, step=step)
print(step, run.lost)
run.finish(7)
"""


def in_small_disk(disk: Path, out: Path, *command: str) -> subprocess.CompletedProcess[str]:
    """Runs the command with `disk` as a tmpfs of 1 MiB and copies what is on it to `out`."""
    text = 'mount -t tmpfs -o size=1m none "$0" && out=$1 && shift && "$@"; code=$?; '
    text += 'cp -r "$0"/. "$out"; exit $code'
    return subprocess.run(
        ["unshare", "--mount", "sh", "-c", text, disk, out, *command],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def can_mount(tmp_path: Path) -> bool:
    return os.geteuid() == 0 and in_small_disk(tmp_path, tmp_path, "true").returncode == 0


def test_a_full_disk_costs_what_does_not_fit_and_nothing_else(tmp_path: Path, seen: Any) -> None:
    disk, out = tmp_path / "disk", tmp_path / "runs"
    disk.mkdir()
    out.mkdir()
    if not can_mount(disk):
        pytest.skip("needs root and mount namespaces")
    (tmp_path / "train.py").write_text(TRAIN)
    done = in_small_disk(disk, out, sys.executable, str(tmp_path / "train.py"), str(disk))
    assert done.returncode == 0, done.stderr
    assert done.stderr.count("the disk is full") == 1
    last, lost = (int(word) for word in done.stdout.split())
    assert lost == 100
    points = seen().points("i")
    # The one that did not fit first is missing, then come the ones after the disk had room again.
    assert points == [(step, float(step)) for step in [*range(last - 1), last]]
    # A gap record is shorter than a row: one may fit before the disk is full to the last byte.
    assert sum(record.value["records"] for record in seen().records("gap")) == lost
    assert seen().one("end").value["exit_code"] == 7
