"""Every place where a program writes, flushes, renames or allocates: killed there, or refused there
once or for good. What was acknowledged is there afterwards, once; and the work can be completed.

The short lane tries a few places spread over all; ./dev test faults tries every one.
"""

from __future__ import annotations

import errno
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import postgres_cluster
import pytest
from shim import Fault, count, places
from support import BUILD, Log, Server, crc32c, make_id, wait_for

FEW = 12  # places in the short lane
POSTS = 5
ROWS = 40


class Faulty(Server):
    """A server with the shim, until it is started again without."""

    fault: Fault | None = None

    def start(self) -> Server:
        old = dict(os.environ)
        if self.fault:
            os.environ |= self.fault.environment(self.data.with_name("counter"))
        try:
            return super().start()
        finally:
            os.environ.clear()
            os.environ |= old


def committed(server: Server, run: str, writer: str) -> int:
    answer = server.call("GET", f"/api/v1/runs/{run}/writers")
    items = answer.json["items"] if answer.status == 200 else []
    return next((int(i["committed_offset"]) for i in items if i["id"] == writer), 0)


class Workload:
    """One run in five posts. Remembers what was acknowledged."""

    def __init__(self) -> None:
        self.run = make_id("r")
        self.log = Log()
        self.cuts = [0]
        for post in range(POSTS):
            for row in range(ROWS):
                step = post * ROWS + row
                self.log.row(step, {"loss": float(step), f"m{post}": 1.0})
            if post == POSTS - 1:
                self.log.end(exit_code=0)
            self.cuts.append(len(self.log.data))
        self.acknowledged = 0  # posts

    def attempt(self, server: Server) -> None:
        """Does what is left; stops at the first thing that goes wrong."""
        server.ok("PUT", "/api/v1/projects/demo", {})
        server.ok("PUT", f"/api/v1/projects/demo/runs/{self.run}", {})
        at = max(committed(server, self.run, self.log.writer), 0)
        while at < len(self.log.data):
            end = next(cut for cut in self.cuts if cut > at)
            data = bytes(self.log.data)
            answer = server.post_log(self.run, self.log.writer, at, crc32c(data[:at]), data[at:end])
            assert answer.status == 200, answer.body
            at = int(answer.json["offset"])
            self.acknowledged = max(self.acknowledged, self.cuts.index(at))
        server.ok("PATCH", f"/api/v1/runs/{self.run}", {"tags": ["done"]})

    def check(self, server: Server, posts: int) -> None:
        """At least the points of `posts` posts are there, each once."""
        at = committed(server, self.run, self.log.writer)
        assert at in self.cuts and at >= self.cuts[posts]
        if not at:
            return
        wait_for("apply", lambda: server.applied(self.run, self.log.writer) == at)
        body = {"runs": [self.run], "metrics": ["loss"], "buckets": 4096}
        series = server.ok("POST", "/api/v1/projects/demo/metrics/query", body)["series"][0]
        steps = list(range(self.cuts.index(at) * ROWS))
        assert (series["x"], series["first"]) == (steps, steps)
        assert set(series["counts"]) == {1}


@pytest.fixture(scope="module")
def empty(tmp_path_factory: pytest.TempPathFactory) -> Server:
    """A data folder that is set up; each test takes a copy."""
    if postgres_cluster.socket_folder():
        pytest.skip("about the files of SQLite; tests/postgres/test_sends.py is the other one")
    return Server(tmp_path_factory.mktemp("empty") / "data")


def server_on(empty: Server, folder: Path) -> Faulty:
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    shutil.copytree(empty.data, folder / "data")
    server = Faulty(folder / "data", setup=False)
    server.key = empty.key
    return server


def is_gone(server: Server, wait_s: float) -> bool:
    assert server.process
    try:
        server.process.wait(wait_s)
    except subprocess.TimeoutExpired:
        return False
    return True


def round_of(empty: Server, folder: Path, **fault: Any) -> tuple[int, bool, bool]:
    """One server with one fault. How many calls there were, whether it struck, and whether the
    server went away."""
    server = server_on(empty, folder)
    server.fault = Fault(server.data, **fault)
    counter = server.data.with_name("counter")
    work = Workload()
    gone = True
    try:
        server.start()
        work.attempt(server)
        if not fault.get("lasting"):
            server.wait_compacted()
    except (OSError, AssertionError):
        pass  # the fault struck: what was acknowledged is what counts
    struck = 0 < fault.get("at", 0) <= count(counter)
    if server.process:
        gone = struck and is_gone(server, 0 if fault.get("errno") == errno.ENOSPC else 3)
        server.process.kill()
        server.process.wait()
        if server.process.stdout:
            server.process.stdout.close()
        server.process = None
    calls = count(counter)
    server.fault = None
    server.start()
    work.check(server, work.acknowledged)
    work.attempt(server)
    work.check(server, POSTS)
    assert server.ok("GET", f"/api/v1/runs/{work.run}")["state"] == "finished"
    assert server.stop() == 0
    assert server.sql("PRAGMA integrity_check") == "ok"
    return calls, struck, gone


def tally(what: str, total: int, rounds: list[tuple[int, bool, bool]]) -> None:
    struck, gone = sum(r[1] for r in rounds), sum(r[2] for r in rounds)
    print(f"{what}: {struck} of {len(rounds)} places struck (about {total} there), {gone} stops")


def test_a_server_killed_at_any_write_keeps_what_it_acknowledged(
    empty: Server, tmp_path: Path
) -> None:
    total, *_ = round_of(empty, tmp_path / "count")
    rounds = [round_of(empty, tmp_path / "kill", at=at) for at in places(total, FEW)]
    assert all(gone for _, struck, gone in rounds if struck)
    tally("killed at a write, flush or rename", total, rounds)


@pytest.mark.parametrize("lasting", [False, True])
@pytest.mark.parametrize("number", [errno.EIO, errno.ENOSPC])
def test_a_server_whose_disk_refuses_keeps_what_it_acknowledged(
    empty: Server, tmp_path: Path, number: int, lasting: bool
) -> None:
    fault = {"ops": "write,rename", "errno": number, "lasting": lasting}
    total, *_ = round_of(empty, tmp_path / "count", ops="write,rename")
    rounds = [round_of(empty, tmp_path / "fail", at=at, **fault) for at in places(total, FEW // 2)]
    tally(f"{errno.errorcode[number]} from a write or rename", total, rounds)


def test_a_flush_that_fails_stops_the_server(empty: Server, tmp_path: Path) -> None:
    total, *_ = round_of(empty, tmp_path / "count", ops="sync")
    fault = {"ops": "sync", "errno": errno.EIO}
    rounds = [round_of(empty, tmp_path / "sync", at=at, **fault) for at in places(total, FEW // 2)]
    tally("EIO from a flush", total, rounds)
    assert all(gone for _, struck, gone in rounds if struck)


def test_a_server_without_memory_dies_and_recovers(empty: Server, tmp_path: Path) -> None:
    total, *_ = round_of(empty, tmp_path / "count", ops="alloc")
    step = max(1, total // 60)  # tens of thousands: every so many even in the long lane
    fault = {"ops": "alloc", "errno": errno.ENOMEM}
    tried = [1 + (at - 1) * step for at in places(total // step, FEW // 2)]
    rounds = [round_of(empty, tmp_path / "alloc", at=at, **fault) for at in tried]
    tally("no memory", total, rounds)


def train(folder: Path, **fault: Any) -> tuple[int, list[int]]:
    """The C training with one fault. Returns calls, and the steps that it was told are recorded."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    runs = folder / "runs"
    counter = folder / "counter"
    env = {"PATH": os.environ["PATH"], "EUVYRA_DIR": str(runs)}
    env |= Fault(folder, **fault).environment(counter)
    done = subprocess.run(
        [BUILD / "tests" / "faults" / "fault_trainer"], env=env, capture_output=True, text=True
    )
    if not (fault.get("at") and not fault.get("errno")):
        assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    points = [int(line[6:]) for line in done.stdout.splitlines() if line.startswith("point ")]
    return count(counter), points


def upload(server: Server, folder: Path) -> None:
    env = {
        "PATH": os.environ["PATH"],
        "EUVYRA_SERVER": server.url,
        "EUVYRA_API_KEY": server.key,
    }
    for run in (folder / "runs").iterdir() if (folder / "runs").exists() else []:
        if (run / "run.json").exists():
            done = subprocess.run([BUILD / "euvyra", "sync", run], env=env, capture_output=True)
            assert done.returncode in (0, 4), done.stderr


def wait_applied(server: Server, run: str) -> None:
    def applied() -> bool:
        items = server.ok("GET", f"/api/v1/runs/{run}/writers")["items"]
        return all(i["applied_offset"] == i["committed_offset"] for i in items)

    wait_for("apply", applied)


def recorded(server: Server) -> list[int]:
    """The steps of all runs of the project, which is then emptied."""
    steps: list[int] = []
    for run in server.ok("GET", "/api/v1/projects/demo/runs")["items"]:
        wait_applied(server, run["id"])
        body = {"runs": [run["id"]], "metrics": ["loss"], "buckets": 4096}
        for series in server.ok("POST", "/api/v1/projects/demo/metrics/query", body)["series"]:
            assert set(series["counts"]) == {1}
            steps += series["x"]
        server.ok("DELETE", f"/api/v1/runs/{run['id']}")
    return steps


@pytest.mark.parametrize(
    ("ops", "number", "lasting"),
    [
        ("write,sync,rename", 0, False),
        ("write,sync,rename", errno.ENOSPC, False),
        ("write,sync,rename", errno.ENOSPC, True),
        ("write,sync,rename", errno.EIO, True),
        ("alloc", errno.ENOMEM, False),
        ("alloc", errno.ENOMEM, True),
    ],
)
def test_a_training_goes_on_wherever_its_disk_or_memory_fails(
    server: Server, tmp_path: Path, ops: str, number: int, lasting: bool
) -> None:
    server.ok("PUT", "/api/v1/projects/demo", {})
    total, steps = train(tmp_path / "count", ops=ops)
    assert steps == list(range(60)) and total > 0
    tried = places(total, FEW)
    for at in tried:
        folder = tmp_path / "train"
        _, told = train(folder, ops=ops, at=at, errno=number, lasting=lasting)
        upload(server, folder)
        assert recorded(server) == told, f"place {at} of {total}"
    print(f"{ops} {errno.errorcode.get(number, 'kill')}: {len(tried)} of {total} places")


SCRIPT = """
import sys, time, euvyra
run = euvyra.init(project="demo")
for step in range(60):
    run.log({"loss": float(step)}, step=step)
    time.sleep(0.002)
run.finish()
"""


@pytest.mark.parametrize("number", [0, errno.ENOSPC, errno.EIO])
def test_a_sidecar_killed_or_refused_anywhere_loses_nothing(
    server: Server, tmp_path: Path, number: int
) -> None:
    server.ok("PUT", "/api/v1/projects/demo", {})
    env = {
        **os.environ,
        "EUVYRA_SERVER": server.url,
        "EUVYRA_API_KEY": server.key,
    }

    def round_at(at: int) -> int:
        """A training whose sidecar has the fault, and an upload by hand afterwards."""
        folder, counter = tmp_path / "train", tmp_path / "counter"
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        fault = Fault(folder, at=at, errno=number).environment(counter)
        sidecar = tmp_path / "euvyra"
        exports = "".join(f"export {name}='{value}'\n" for name, value in fault.items())
        sidecar.write_text(f'#!/bin/sh\n{exports}exec {BUILD / "euvyra"} "$@"\n')
        sidecar.chmod(0o755)
        mine = {"EUVYRA_BIN": str(sidecar), "EUVYRA_DIR": str(folder / "runs")}
        done = subprocess.run([sys.executable, "-c", SCRIPT], env=env | mine, capture_output=True)
        assert done.returncode == 0, done.stderr
        calls = count(counter)
        upload(server, folder)
        assert recorded(server) == list(range(60)), f"place {at}"
        return calls

    total = round_at(0)
    tried = places(total, FEW // 2)
    for at in tried:
        round_at(at)
    print(f"sidecar {errno.errorcode.get(number, 'kill')}: {len(tried)} of {total} places")
