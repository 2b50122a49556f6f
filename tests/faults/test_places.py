"""Every place where a program writes, flushes, renames or allocates: killed there, or refused there
once or for good. What was acknowledged is there afterwards, once; and the work can be completed.

The short lane tries a few places spread over all; ./dev test faults tries every one. Of allocations,
which are tens of thousands, it tries the first on each different way of calls that leads to one.
"""

from __future__ import annotations

import errno
import hashlib
import http.client
import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import postgres_cluster
import pytest
from shim import LONG, Fault, count, every, lift, places, some, struck, ways
from support import BUILD, Log, Server, crc32c, make_id, report, wait_for

FEW = 12  # places in the short lane
POSTS = 5
ROWS = 40
FILE = b"a file of a job\n" * 40_000


class Faulty(Server):
    """A server with the shim, until it is started again without."""

    fault: Fault | None = None

    @property
    def counter(self) -> Path:
        return self.data.with_name("counter")

    def start(self) -> Server:
        self.environment = self.fault.environment(self.counter) if self.fault else {}
        return super().start()


def committed(server: Server, run: str, writer: str) -> int:
    answer = server.call("GET", f"/api/v1/runs/{run}/writers")
    items = answer.json["items"] if answer.status == 200 else []
    return next((int(i["committed_offset"]) for i in items if i["id"] == writer), 0)


class Workload:
    """One run in five posts, and a file. Remembers what was acknowledged."""

    posts = POSTS

    def __init__(self) -> None:
        self.run = make_id("r")
        self.log = Log()
        self.cuts = [0]
        self.fill()
        self.acknowledged = 0  # posts
        self.file_path = f"/api/v1/projects/demo/blobs/{hashlib.sha256(FILE).hexdigest()}"
        self.file_stored = False

    def fill(self) -> None:
        for post in range(POSTS):
            for row in range(ROWS):
                step = post * ROWS + row
                self.log.row(step, {"loss": float(step), f"m{post}": 1.0})
            if post == POSTS - 1:
                self.log.end(exit_code=0)
            self.cuts.append(len(self.log.data))

    def attempt(self, server: Server) -> None:
        """Does what is left; stops at the first thing that goes wrong."""
        server.ok("PUT", "/api/v1/projects/demo", {})
        server.ok("PUT", f"/api/v1/projects/demo/runs/{self.run}", {})
        headers = {"Content-Type": "application/octet-stream"}
        answer = server.send("PUT", self.file_path, FILE, headers)
        assert answer.status in (200, 201), answer.body
        self.file_stored = True
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

    def check_file(self, server: Server) -> None:
        answer = server.send("GET", self.file_path)
        assert answer.status == 200 and answer.body == FILE


class Wide(Workload):
    """A run of so many metrics that their facts are brought in piece by piece, in two posts."""

    posts = 2
    names = 1100

    def fill(self) -> None:
        for post in range(self.posts):
            self.log.row(post, {f"m{n}": float(post * n) for n in range(self.names)})
            if post == self.posts - 1:
                self.log.end(exit_code=0)
            self.cuts.append(len(self.log.data))

    def facts(self, server: Server) -> list[dict[str, Any]]:
        path, cursor, found = f"/api/v1/runs/{self.run}/metrics?limit=1000", "", []
        while True:
            page = server.ok("GET", path + cursor)
            found += page["items"]
            cursor = f"&cursor={page['next_cursor']}"
            if not page["next_cursor"]:
                return found

    def check(self, server: Server, posts: int) -> None:
        at = committed(server, self.run, self.log.writer)
        assert at in self.cuts and at >= self.cuts[posts]
        if not at:
            return
        wait_for("apply", lambda: server.applied(self.run, self.log.writer) == at)
        server.wait_facts()
        done = self.cuts.index(at)
        found = {one["name"]: (one["count"], one["max"], one["min"]) for one in self.facts(server)}
        assert found == {f"m{n}": (done, float((done - 1) * n), 0.0) for n in range(self.names)}


class JobLife(Workload):
    """A job from its submission to its complete record, with an agent that outlives the server.
    What is acknowledged: 1 submitted, 2 offered, 3 accepted, 4 running, 5 its text, 6 ended, 7 all."""

    posts = 7
    TEXT = b"epoch 1\n"
    LEAST = ((), ("claimed", "running", "succeeded"), ("running", "succeeded"), ("succeeded",))

    def __init__(self) -> None:
        super().__init__()
        self.job, self.agent, self.boot = make_id("j"), make_id("a"), make_id("b")[1:]
        self.key = self.attempt_id = self.token = ""

    def fill(self) -> None:
        """Its run has no log."""

    def check_file(self, server: Server) -> None:
        """It has no file."""

    def tell(self, server: Server, verb: str, body: Any = None) -> Any:
        path = f"/api/v1/attempts/{self.attempt_id}/{verb}"
        headers = {"Euvyra-Attempt-Token": self.token, "Content-Type": "application/json"}
        raw = b"" if body is None else json.dumps(body).encode()
        answer = server.send("POST", path, raw, headers, key=self.key)
        assert answer.status == 200, answer.body
        return answer.json

    def poll(self, server: Server) -> None:
        held = [{"attempt": self.attempt_id, "token": self.token}] if self.token else []
        body = {
            "boot": self.boot, "version": "test", "wait_ms": 500, "attempts": held,
            "capacity": {"slots": 1, "cpus": 1, "memory_bytes": 1 << 30, "gpus": 0},
        }  # fmt: skip
        path = f"/api/v1/agents/{self.agent}/poll"
        for offer in server.ok("POST", path, body, key=self.key)["offers"]:
            self.attempt_id, self.token = offer["attempt"], offer["token"]

    def say(self, server: Server) -> None:
        path = f"/api/v1/attempts/{self.attempt_id}/console"
        headers = {
            "Euvyra-Attempt-Token": self.token, "Euvyra-Offset": "0",
            "Content-Type": "application/octet-stream",
        }  # fmt: skip
        answer = server.send("PATCH", path, self.TEXT, headers, key=self.key)
        repeated = answer.headers.get("euvyra-offset") == str(len(self.TEXT))
        assert answer.status == 200 or repeated, answer.body

    def step(self, server: Server, number: int) -> bool:
        end = {"state": "ended", "exit_code": 0, "run_time_ms": 10}
        if number == 2:
            self.poll(server)
            return self.token != ""
        if number == 3:
            self.tell(server, "accept")
        if number == 4:
            self.tell(server, "status", {"state": "running"})
        if number == 5:
            self.say(server)
        if number == 6:
            self.tell(server, "status", end)
        if number == 7:
            self.tell(server, "status", {**end, "final": True})
        return True

    def attempt(self, server: Server) -> None:
        server.ok("PUT", "/api/v1/projects/demo", {})
        server.ok("PUT", "/api/v1/targets/local", {})
        server.ok("PUT", f"/api/v1/agents/{self.agent}", {"name": "rack", "target": "local"})
        if not self.key:
            body = {"kind": "agent", "name": "rack", "agent": self.agent}
            self.key = server.ok("POST", "/api/v1/keys", body)["key"]
        job = {"run": self.run, "name": "train", "spec": {"command": ["true"]}}
        server.ok("PUT", f"/api/v1/projects/demo/jobs/{self.job}", job)
        self.acknowledged = max(self.acknowledged, 1)
        end = time.monotonic() + 60
        while self.acknowledged < self.posts and time.monotonic() < end:
            if self.step(server, self.acknowledged + 1):
                self.acknowledged += 1
        assert self.acknowledged == self.posts

    def check(self, server: Server, posts: int) -> None:
        answer = server.call("GET", f"/api/v1/jobs/{self.job}")
        if answer.status == 404:
            assert posts == 0
            return
        job = answer.json
        if posts >= 3:
            assert job["state"] in self.LEAST[1 if posts == 3 else 2 if posts < 6 else 3]
        if posts >= 5:
            text = server.send("GET", f"/api/v1/runs/{self.run}/console").body
            assert text == self.TEXT
        assert job["console_final"] or posts < 7
        events = server.ok("GET", f"/api/v1/jobs/{self.job}/events")["items"]
        kinds = [event["kind"] for event in events]
        assert len(kinds) == len(set(kinds)), kinds  # nothing happened twice
        assert [event["seq"] for event in events] == list(range(1, len(kinds) + 1))
        states = [event["state"] for event in events]
        assert job["state"] in states[-2:]  # it may have been offered meanwhile


@pytest.fixture(scope="module")
def empty(tmp_path_factory: pytest.TempPathFactory) -> Server:
    """A data folder that is set up; each test takes a copy."""
    if postgres_cluster.socket_folder():
        pytest.skip("about the files of SQLite; tests/postgres/test_sends.py is the other one")
    return Server(tmp_path_factory.mktemp("empty") / "data")


def server_on(empty: Server, folder: Path) -> Faulty:
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
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


@dataclass
class Round:
    fault: dict[str, Any]
    calls: int
    struck: bool  # the fault happened
    gone: bool  # and the server ended by itself
    refused: bool  # or it told the client that the file cannot be stored


def put_down(server: Server) -> None:
    """The server ends, if it has not yet; the next start takes another port, since others start too."""
    assert server.process
    server.process.kill()
    server.process.wait()
    if server.process.stdout:
        server.process.stdout.close()
    server.process = None
    server.port = 0


def round_of(empty: Server, folder: Path, kind: type[Workload] = Workload, **fault: Any) -> Round:
    """One server with one fault. What was acknowledged is there after it, and the work can be done."""
    server = server_on(empty, folder)
    server.fault = Fault(server.data, **fault)
    number = fault.get("errno", 0)
    full = number == errno.ENOSPC
    work = kind()
    refused = False
    try:
        try:
            server.start()
            work.attempt(server)
            if not fault.get("lasting"):
                server.wait_compacted()
        except (OSError, AssertionError, http.client.HTTPException) as error:
            refused = not work.file_stored and isinstance(error, AssertionError)
        happened = struck(server.counter) > 0
        assert server.process
        gone = happened and is_gone(server, 3 if number == 0 or fault.get("ops") == "sync" else 0)
        calls = count(server.counter)
        if full and not gone and server.url and server.process.poll() is None:
            lift(server.counter)  # there is room again: the same server goes on
            work.check(server, work.acknowledged)
            work.attempt(server)
            work.check(server, work.posts)
        put_down(server)
        server.fault = None
        server.start()
        work.check(server, work.acknowledged)
        if work.file_stored:
            work.check_file(server)
        work.attempt(server)
        work.check(server, work.posts)
        work.check_file(server)
        assert server.ok("GET", f"/api/v1/runs/{work.run}")["state"] == "finished"
        assert server.stop() == 0
        assert server.sql("PRAGMA integrity_check") == "ok"
    finally:
        if server.process:
            put_down(server)
    shutil.rmtree(folder)
    return Round(fault, calls, happened, gone, refused)


def tally(what: str, total: int, rounds: list[Round], calls: int = 0) -> None:
    happened, gone = sum(r.struck for r in rounds), sum(r.gone for r in rounds)
    of = f"{total} places" if not calls else f"{total} ways to {calls} calls"
    report(f"server, {what}: {len(rounds)} of {of} tried, {happened} struck, {gone} stops")


def try_places(
    what: str,
    empty: Server,
    tmp_path: Path,
    at_most: int,
    kind: type[Workload] = Workload,
    **fault: Any,
) -> list[Round]:
    """One round for each place, and one to count them."""
    ops = fault.get("ops", "write,sync,rename")
    total = round_of(empty, tmp_path / "count", kind, ops=ops).calls

    def trial(at: int) -> Round:
        return round_of(empty, tmp_path / f"at-{at}", kind, at=at, **fault)

    rounds = every(what, places(total, at_most), trial)
    tally(what, total, rounds)
    return rounds


def test_a_server_killed_at_any_write_keeps_what_it_acknowledged(
    empty: Server, tmp_path: Path
) -> None:
    rounds = try_places("killed at a write, flush or rename", empty, tmp_path, FEW)
    assert all(one.gone for one in rounds if one.struck)


def test_a_server_killed_among_the_facts_of_many_metrics_has_them_right(
    empty: Server, tmp_path: Path
) -> None:
    what = "killed at a flush, many metrics"
    rounds = try_places(what, empty, tmp_path, FEW, Wide, ops="sync")
    assert all(one.gone for one in rounds if one.struck)


def test_a_server_killed_anywhere_in_the_life_of_a_job_goes_on_with_it(
    empty: Server, tmp_path: Path
) -> None:
    rounds = try_places("killed in the life of a job", empty, tmp_path, FEW, JobLife)
    assert all(one.gone for one in rounds if one.struck)


@pytest.mark.parametrize("lasting", [False, True], ids=["once", "lasting"])
@pytest.mark.parametrize("number", [errno.EIO, errno.ENOSPC], ids=["EIO", "ENOSPC"])
def test_a_server_whose_disk_refuses_keeps_what_it_acknowledged(
    empty: Server, tmp_path: Path, number: int, lasting: bool
) -> None:
    what = f"{errno.errorcode[number]} from a write or rename, {'lasting' if lasting else 'once'}"
    fault: dict[str, Any] = {"ops": "write,rename", "errno": number, "lasting": lasting}
    try_places(what, empty, tmp_path, FEW // 2, **fault)


@pytest.mark.parametrize("lasting", [False, True], ids=["once", "lasting"])
def test_a_flush_that_fails_stops_the_server(empty: Server, tmp_path: Path, lasting: bool) -> None:
    what = f"EIO from a flush, {'lasting' if lasting else 'once'}"
    fault: dict[str, Any] = {"ops": "sync", "errno": errno.EIO, "lasting": lasting}
    rounds = try_places(what, empty, tmp_path, FEW // 2, **fault)
    went_on = [one for one in rounds if one.struck and not one.gone and not one.refused]
    assert len(went_on) <= 1  # SQLite's flush of the folder, which the server has flushed before
    assert any(one.gone for one in rounds)


@pytest.mark.parametrize("lasting", [False, True], ids=["once", "lasting"])
def test_a_server_without_memory_dies_and_recovers(
    empty: Server, tmp_path: Path, lasting: bool
) -> None:
    stacks = tmp_path / "stacks"
    round_of(empty, tmp_path / "count", ops="alloc", stacks=stacks)
    found, calls = ways(stacks)
    what = f"no memory, {'lasting' if lasting else 'once'}"
    fault: dict[str, Any] = {"ops": "alloc", "errno": errno.ENOMEM, "lasting": lasting}

    def trial(way: str) -> Round:
        return round_of(empty, tmp_path / way, stack=way, **fault)

    tally(what, len(found), every(what, some(found, FEW // 2), trial), calls)


def test_documents_are_not_read_with_a_member_missing_for_want_of_memory(
    empty: Server, tmp_path: Path
) -> None:
    """The library would go on without; so it is given our allocator, which ends the program."""
    for source, asks in (("libjansson", False), ("libmicrohttpd", True)):
        counted = round_of(empty, tmp_path / source, ops="alloc", source=source).calls
        assert bool(counted) == asks, source


def train(folder: Path, **fault: Any) -> tuple[Path, list[int]]:
    """The C training with one fault. Returns its counter, and the steps that it was told are
    recorded."""
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
    return counter, [
        int(line[6:]) for line in done.stdout.splitlines() if line.startswith("point ")
    ]


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


def recorded(server: Server, folder: Path) -> list[int]:
    """The steps of the runs whose folders lie below `folder`; they are deleted."""
    steps: list[int] = []
    for file in folder.rglob("run.json"):
        run = json.loads(file.read_text())["run"]
        if server.call("GET", f"/api/v1/runs/{run}").status == 404:
            continue  # nothing of it was ever uploaded
        wait_applied(server, run)
        body = {"runs": [run], "metrics": ["loss"], "buckets": 4096}
        for series in server.ok("POST", "/api/v1/projects/demo/metrics/query", body)["series"]:
            assert set(series["counts"]) == {1}
            steps += series["x"]
        server.ok("DELETE", f"/api/v1/runs/{run}")
    return steps


def is_followed(run: Path) -> bool:
    """Whether a sidecar holds the lock of a run's folder, as the kernel knows it."""
    lock = run / "sync.lock"
    return lock.exists() and f":{lock.stat().st_ino} " in Path("/proc/locks").read_text()


def fault_name(ops: str, number: int, lasting: bool) -> str:
    what = errno.errorcode[number] if number else "killed"
    return f"{what} at {ops.replace(',', ', ')}, {'lasting' if lasting else 'once'}"


DISK = "write,sync,rename"
FAULTS = [
    (DISK, 0, False),
    (DISK, errno.ENOSPC, False),
    (DISK, errno.ENOSPC, True),
    (DISK, errno.EIO, False),
    (DISK, errno.EIO, True),
    ("alloc", errno.ENOMEM, False),
    ("alloc", errno.ENOMEM, True),
]


@pytest.mark.parametrize(("ops", "number", "lasting"), FAULTS)
def test_a_training_goes_on_wherever_its_disk_or_memory_fails(
    server: Server, tmp_path: Path, ops: str, number: int, lasting: bool
) -> None:
    counter, steps = train(tmp_path / "count", ops=ops)
    total = count(counter)
    assert steps == list(range(60)) and total > 0
    what = fault_name(ops, number, lasting)

    def trial(at: int) -> bool:
        folder = tmp_path / f"at-{at}"
        counter, told = train(folder, ops=ops, at=at, errno=number, lasting=lasting)
        upload(server, folder)
        assert recorded(server, folder) == told
        return struck(counter) > 0

    done = every(what, places(total, FEW), trial)
    report(f"training, {what}: {len(done)} of {total} places tried, {sum(done)} struck")


SCRIPT = """
import sys, time, euvyra
run = euvyra.init(project="demo")
for step in range(60):
    run.log({"loss": float(step)}, step=step)
    time.sleep(float(sys.argv[1]))
run.finish()
"""


@pytest.mark.parametrize(("ops", "number", "lasting"), FAULTS)
def test_a_sidecar_killed_or_refused_anywhere_loses_nothing(
    server: Server, tmp_path: Path, ops: str, number: int, lasting: bool
) -> None:
    env = {
        **os.environ,
        "EUVYRA_SERVER": server.url,
        "EUVYRA_API_KEY": server.key,
    }
    # So long that it looks around more than once; ways to allocations are too many for that.
    pause = "0.02" if LONG and ops != "alloc" else "0.002"

    def round_with(folder: Path, **fault: Any) -> Path:
        """A training whose sidecar has the fault, and an upload by hand afterwards."""
        folder.mkdir()
        counter, sidecar = folder / "counter", folder / "euvyra"
        variables = Fault(folder / "runs", ops=ops, **fault).environment(counter)
        exports = "".join(f"export {name}='{value}'\n" for name, value in variables.items())
        sidecar.write_text(f'#!/bin/sh\n{exports}exec {BUILD / "euvyra"} "$@"\n')
        sidecar.chmod(0o755)
        mine = {"EUVYRA_BIN": str(sidecar), "EUVYRA_DIR": str(folder / "runs")}
        script = [sys.executable, "-c", SCRIPT, pause]
        done = subprocess.run(script, env=env | mine, capture_output=True)
        assert done.returncode == 0, done.stderr
        if "stacks" not in fault:
            lift(counter)
        upload(server, folder)
        assert recorded(server, folder) == list(range(60))
        for run in (folder / "runs").iterdir():
            wait_for("the sidecar to end", lambda: not is_followed(run))  # noqa: B023
        return counter

    def trial(place: int | str) -> bool:
        where = {"stack": place} if isinstance(place, str) else {"at": place}
        folder = tmp_path / f"at-{place}"
        counter = round_with(folder, errno=number, lasting=lasting, **where)
        happened = struck(counter) > 0
        shutil.rmtree(folder)
        return happened

    stacks = tmp_path / "stacks"
    counter = round_with(tmp_path / "count", **({"stacks": stacks} if ops == "alloc" else {}))
    tried: Sequence[int | str]
    if ops == "alloc":
        found, calls = ways(stacks)
        of, tried = f"{len(found)} ways to {calls} calls", some(found, FEW // 2)
    else:
        total = count(counter)
        of, tried = f"{total} places", places(total, FEW // 2)
    what = fault_name(ops, number, lasting)
    done = every(what, tried, trial)
    report(f"sidecar, {what}: {len(done)} of {of} tried, {sum(done)} struck")
