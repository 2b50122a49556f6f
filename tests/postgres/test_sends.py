"""Every message that the server sends, to its database or in answer: killed there with half of it
sent, or cut off there. What was acknowledged is there afterwards, once, and the work goes on.

The short lane tries some places spread over all; EUVYRA_FAULT_ALL tries every one.
"""

from __future__ import annotations

import errno
import http.client
import shutil
import signal
import sys
from pathlib import Path
from typing import Any

import postgres_cluster
from support import report, wait_for

sys.path.insert(0, str(Path(__file__).parents[1] / "faults"))

from shim import Fault, count, every, lift, places
from test_places import POSTS, Faulty, Workload

FEW = 16  # places in the short lane


def work_on(server: Faulty, work: Workload) -> None:
    """Does the work, again after whatever went wrong, as a client would."""

    def done() -> bool:
        try:
            work.attempt(server)
            work.check(server, POSTS)
        except (OSError, AssertionError, http.client.HTTPException):
            assert server.process
            return server.process.poll() is not None
        return True

    wait_for("the work to be done", done)


def is_killed(server: Faulty, counter: Path) -> bool:
    """Whether the fault has struck dead; from here on it cannot any more."""
    lift(counter)
    assert server.process
    try:
        server.call("GET", "/health", key="")
    except (OSError, http.client.HTTPException):
        server.process.wait(60)
    return server.process.poll() is not None


def round_of(folder: Path, **fault: Any) -> tuple[int, bool]:
    """One server, on a database of its own, with one fault. How many messages there were, and
    whether the server ended after it had listened."""
    folder.mkdir()
    server = Faulty(folder / "data")
    counter = server.data.with_name("counter")
    server.fault = Fault(server.data, ops="send", **fault)
    work = Workload()
    calls, killed = 0, False
    try:
        server.start()
    except AssertionError:  # it ended before it listened: a start needs the database
        assert server.process
        assert server.process.wait(60) == (69 if fault.get("errno") else -signal.SIGKILL)
    if server.process and server.process.poll() is None:
        work_on(server, work)
        calls = count(counter)
        killed = is_killed(server, counter)
    server.fault = None
    if server.process and server.process.poll() is not None:
        server.kill()
        server.start()
        work.check(server, work.acknowledged)
        work.attempt(server)
    work.check(server, POSTS)
    assert server.ok("GET", f"/api/v1/runs/{work.run}")["state"] == "finished"
    server.wait_compacted()
    work.check(server, POSTS)
    assert server.stop() == 0
    postgres_cluster.drop(server.database)  # there are hundreds
    shutil.rmtree(folder)
    return calls, killed


def test_a_server_killed_at_any_message_keeps_what_it_acknowledged(tmp_path: Path) -> None:
    total, _ = round_of(tmp_path / "count")
    rounds = every(
        "killed at a message",
        places(total, FEW),
        lambda at: round_of(tmp_path / f"at-{at}", at=at),
    )
    dead = sum(killed for _, killed in rounds)
    report(f"server, killed at a message: {len(rounds)} of {total} places tried, {dead} struck")
    assert any(killed for _, killed in rounds)


def test_a_server_cut_off_at_any_message_goes_on_by_itself(tmp_path: Path) -> None:
    total, _ = round_of(tmp_path / "count")
    rounds = every(
        "cut off at a message",
        places(total, FEW),
        lambda at: round_of(tmp_path / f"at-{at}", at=at, errno=errno.ECONNRESET),
    )
    report(f"server, cut off at a message: {len(rounds)} of {total} places tried")
    assert not any(killed for _, killed in rounds)
