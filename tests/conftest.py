"""Fixtures that several folders of tests share."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import postgres_cluster
import pytest
import support
from support import Server, make_id


def pytest_sessionstart(session: pytest.Session) -> None:
    """Reports come out at once, past the capturing of what tests print."""
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    capture = session.config.pluginmanager.get_plugin("capturemanager")

    assert reporter and capture
    disabled, write_line = capture.global_and_fixture_disabled, reporter.write_line

    def write(line: str) -> None:
        with disabled():
            write_line(line)

    support.lines_to[0] = write


@pytest.fixture(scope="module", autouse=True)
def databases() -> Iterator[None]:
    """Removes what the tests of a file made on PostgreSQL."""
    yield
    postgres_cluster.drop_made()


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    """A fresh server with the project demo."""
    with Server(tmp_path / "data") as running:
        running.ok("PUT", "/api/v1/projects/demo", {})
        yield running


@pytest.fixture
def run(server: Server) -> str:
    """A run of the project demo."""
    run = make_id("r")
    server.ok("PUT", f"/api/v1/projects/demo/runs/{run}", {"name": "one"})
    return run
