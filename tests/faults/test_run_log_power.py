"""The power goes while a training records: of its log, what was flushed is there, of the pages behind it
some are, some are not, some in part. What is read from that is the beginning of what was logged, at least
up to what was flushed, and nothing else; the sidecar of another day brings it to the server."""

from __future__ import annotations

import json
import os
import random
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from shim import LONG, every
from support import BUILD, Server, make_id, report
from test_places import recorded

PAGE, SECTOR = 4096, 512
ROWS = 3000
DISKS = 300 if LONG else 12
SCRIPT = f"""
import euvyra
run = euvyra.init(project="demo", console=False)
for step in range({ROWS}):
    run.log({{"loss": float(step)}}, step=step)
run.finish()
"""


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a run that was never interrupted."""
    runs = tmp_path_factory.mktemp("whole")
    env = {**os.environ, "EUVYRA_MODE": "offline", "EUVYRA_DIR": str(runs), "EUVYRA_BIN": "/none"}
    subprocess.run([sys.executable, "-c", SCRIPT], env=env, check=True, capture_output=True)
    (folder,) = runs.iterdir()
    return folder


def after_power_loss(data: bytes, flushed: int, chance: random.Random) -> bytes:
    """The log as the disk may hold it, everything before `flushed` being safe."""
    found = bytearray(data)
    at = flushed
    while at < len(found):
        end = min(at // PAGE * PAGE + PAGE, len(found))
        fate = chance.choice(["there", "lost", "torn"])
        if fate == "torn":
            at = min(at // SECTOR * SECTOR + SECTOR * chance.randrange(1, PAGE // SECTOR), end)
        if fate != "there":
            found[at:end] = bytes(end - at)
        at = end
    if chance.random() < 0.3:  # the length was not flushed either
        del found[chance.randrange(flushed, len(found) + 1) :]
    return bytes(found)


def test_what_was_flushed_is_read_and_nothing_that_was_not_logged(
    server: Server, whole: Path, tmp_path: Path
) -> None:
    (log,) = whole.glob("*.log")
    data = log.read_bytes()
    end = len(data.rstrip(b"\0"))
    seed = int(os.environ.get("EUVYRA_FAULT_SEED", "0")) or random.randrange(1, 1 << 30)
    report(f"power loss of a training: EUVYRA_FAULT_SEED={seed}")
    env = {**os.environ, "EUVYRA_SERVER": server.url, "EUVYRA_API_KEY": server.key}

    def trial(number: int) -> int:
        chance = random.Random(seed * 1000 + number)
        flushed = chance.randrange(PAGE, end)
        folder = tmp_path / str(number) / whole.name
        shutil.copytree(whole, folder)
        # A run of its own for each disk: a server keeps what it had of a log that is shorter now.
        about = json.loads((folder / "run.json").read_text())
        (folder / "run.json").write_text(json.dumps(about | {"run": make_id("r")}))
        (folder / log.name).write_bytes(after_power_loss(data, flushed, chance))
        done = subprocess.run([BUILD / "euvyra", "sync", folder], env=env, capture_output=True)
        assert done.returncode in (0, 2, 4, 5, 74), done
        steps = recorded(server, folder)
        assert steps == list(range(len(steps))), "not the beginning of what was logged"
        safe = rows_before(data, flushed)
        assert len(steps) >= safe, f"{safe} were flushed"
        shutil.rmtree(folder)
        return len(steps) - safe

    more = every("power loss of a training", range(DISKS), trial)
    report(
        f"training, power loss: {DISKS} disks, {sum(map(bool, more))} with more than was flushed"
    )


def rows_before(data: bytes, offset: int) -> int:
    """How many rows lie wholly before a place in the file."""
    header = int.from_bytes(data[10:12], "little")
    at, rows = header, 0
    while True:
        length = int.from_bytes(data[at : at + 4], "little")
        kind = int.from_bytes(data[at + 4 : at + 6], "little")
        if length == 0 or at + 12 + length > offset:
            return rows
        rows += kind == 5
        at += 12 + length
