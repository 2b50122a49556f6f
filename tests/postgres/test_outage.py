"""The database goes away in the middle of everything and comes back: the server waits for it."""

from __future__ import annotations

import functools
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import postgres_cluster
import pytest
from support import Answer, Log, Server, crc32c, make_id, wait_for

POINTS = 1500


@pytest.fixture
def own_cluster() -> Iterator[str]:
    """A cluster that may be stopped: the others of the run keep theirs."""
    with postgres_cluster.cluster() as folder:
        yield folder


def cluster_do(verb: str, folder: str) -> None:
    subprocess.run([postgres_cluster.RIG, verb, folder], check=True)


class Writer(threading.Thread):
    """Posts a log a few rows at a time and comes again after a 503, as a sidecar does."""

    def __init__(self, server: Server, run: str) -> None:
        super().__init__()
        self.server, self.run_id = server, run
        self.log = Log()
        self.log.start()
        self.cuts = [0]
        for step in range(POINTS):
            self.log.row(step, {"loss": float(step)})
            self.cuts.append(len(self.log.data))
        self.refused: list[Answer] = []
        self.acknowledged = 0
        self.pause = threading.Event()
        self.failure = ""

    def is_beyond(self, part: int) -> bool:
        return self.acknowledged > len(self.log.data) // part

    def run(self) -> None:
        whole = bytes(self.log.data)
        have = 0
        while have < len(whole) and not self.failure:
            end = self.cuts[min(self.cuts.index(have) + 5, POINTS)]
            answer = self.server.post_log(
                self.run_id, self.log.writer, have, crc32c(whole[:have]), whole[have:end]
            )
            if answer.status == 200:
                have = self.acknowledged = answer.json["offset"]
            elif answer.status == 416:  # the answer to an acknowledged post was lost
                have = int(answer.headers["euvyra-offset"])
                assert have >= self.acknowledged
            elif answer.status == 503:
                self.refused.append(answer)
                self.pause.wait(0.05)
            else:
                self.failure = f"{answer.status} {answer.body!r}"


def check_whole(server: Server, writer: Writer) -> None:
    assert not writer.failure
    assert writer.acknowledged == len(writer.log.data)
    run, log = writer.run_id, writer.log
    wait_for("apply", lambda: server.applied(run, log.writer) == len(log.data))
    body = {"runs": [run], "metrics": ["loss"], "buckets": 4096}
    got: Any = server.ok("POST", "/api/v1/projects/demo/metrics/query", body)["series"][0]
    assert got["x"] == list(range(POINTS))
    assert got["counts"] == [1] * POINTS
    assert got["last"] == [float(step) for step in range(POINTS)]


@pytest.fixture
def writing(own_cluster: str, tmp_path: Path) -> Iterator[tuple[Server, Writer]]:
    with Server(tmp_path / "data") as server:
        server.ok("PUT", "/api/v1/projects/demo", {})
        run = make_id("r")
        server.ok("PUT", f"/api/v1/projects/demo/runs/{run}", {})
        yield server, Writer(server, run)


def test_a_database_that_is_stopped_and_started_costs_nothing(
    writing: tuple[Server, Writer], own_cluster: str
) -> None:
    server, writer = writing
    assert server.process
    pid = server.process.pid
    writer.start()
    for part in (4, 2):
        wait_for("a part", functools.partial(writer.is_beyond, part))
        writer.refused.clear()
        cluster_do("stop", own_cluster)  # at once, in the middle of whatever it does
        wait_for("a refusal", lambda: writer.refused)
        for path in ("/api/v1/projects", f"/api/v1/runs/{writer.run_id}"):
            answer = server.call("GET", path)
            assert (answer.status, answer.code) == (503, "unavailable")
            assert int(answer.headers["retry-after"]) >= 1
        cluster_do("start", own_cluster)
    writer.join()
    check_whole(server, writer)
    assert server.process.pid == pid and server.process.poll() is None
    with server.events():  # streams work again
        server.ok("PUT", f"/api/v1/projects/demo/runs/{make_id('r')}", {})


def test_connections_that_are_cut_again_and_again_cost_nothing(
    writing: tuple[Server, Writer],
) -> None:
    server, writer = writing
    writer.start()
    cut = 0
    while writer.is_alive():
        cut += int(
            postgres_cluster.psql(
                "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity"
                f" WHERE datname = '{server.database}'"
            )
        )
        writer.join(0.1)
    assert cut > 10
    check_whole(server, writer)


def test_a_commit_whose_answer_was_lost_is_found_out_by_repeating(
    writing: tuple[Server, Writer],
) -> None:
    """Creates are repeated as they were: 201 or 200, never a conflict, and there is one."""
    server, _ = writing
    stop = threading.Event()

    def cut() -> None:
        while not stop.wait(0.02):
            postgres_cluster.psql(
                "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity"
                f" WHERE datname = '{server.database}'"
            )

    thread = threading.Thread(target=cut)
    thread.start()
    try:
        for _ in range(60):
            run = make_id("r")

            def made(run: str = run) -> bool:
                status = server.call("PUT", f"/api/v1/projects/demo/runs/{run}", {}).status
                assert status in (200, 201, 503)
                return status != 503

            wait_for("the run to be made", made)
    finally:
        stop.set()
        thread.join()
    assert server.sql("SELECT count(*) FROM run") == "61"


def test_a_server_without_its_database_still_stops_in_order(
    writing: tuple[Server, Writer], own_cluster: str
) -> None:
    server, _ = writing
    cluster_do("stop", own_cluster)
    answer = server.call("GET", "/health", key="")
    assert answer.status == 503
    assert server.stop() == 0
    cluster_do("start", own_cluster)
    server.start()
    assert server.call("GET", "/health", key="").status == 200
