"""Fixtures of the sync tests: a stand-in server, the tool, and waiting for conditions."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from stand_in import StandIn
from sync_rig import find_tool, wait_for_sidecars

Tool = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch, runs: Path) -> Iterator[StandIn]:
    stand_in = StandIn()
    monkeypatch.setenv("EUVYRA_SERVER", stand_in.url)
    monkeypatch.setenv("EUVYRA_API_KEY", "euv_user_test")
    yield stand_in
    wait_for_sidecars(runs)
    stand_in.shutdown()
    stand_in.server_close()


@pytest.fixture(autouse=True)
def runs(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    for name in list(os.environ):
        if name.startswith("EUVYRA_") and name not in ("EUVYRA_BUILD", "EUVYRA_TEST_POSTGRES"):
            monkeypatch.delenv(name)
    monkeypatch.setenv("EUVYRA_DIR", str(tmp_path / "runs"))
    monkeypatch.setenv("EUVYRA_BIN", find_tool())
    return tmp_path / "runs"


@pytest.fixture
def tool() -> Tool:
    def run(*args: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [find_tool(), *args], capture_output=True, text=True, timeout=60, check=False
        )

    return run


@pytest.fixture
def train(tmp_path: Path) -> Callable[..., subprocess.CompletedProcess[str]]:
    def run(text: str, **env: str) -> subprocess.CompletedProcess[str]:
        path = tmp_path / "train.py"
        path.write_text(text)
        return subprocess.run(
            [sys.executable, str(path)],
            capture_output=True,
            text=True,
            timeout=60,
            env={**os.environ, **env},
            cwd=tmp_path,
            check=False,
        )

    return run
