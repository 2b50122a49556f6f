"""One Docker engine for all tests of this folder; each has a server and an agent of its own."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import docker_engine
import pytest
from docker_engine import DockerAgent, Engine
from support import Server


@pytest.fixture(scope="session")
def engine() -> Iterator[Engine]:
    if os.geteuid() != 0:
        pytest.skip("an engine of one's own needs root")
    with docker_engine.engine() as running:
        yield running


@pytest.fixture
def agent(server: Server, tmp_path: Path, engine: Engine) -> Iterator[DockerAgent]:
    with DockerAgent(server, tmp_path / "agent", engine) as running:
        yield running
