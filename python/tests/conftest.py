"""Every test records into a folder of its own and reads it back with the independent reader."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "tests" / "runlog"))

from run_log_reader import Record, metrics, read_run


@dataclass
class Seen:
    """What lies in one run folder."""

    folder: Path
    logs: dict[str, list[Record]]

    def records(self, kind: str) -> list[Record]:
        return [record for log in self.logs.values() for record in log if record.type == kind]

    def one(self, kind: str) -> Record:
        (record,) = self.records(kind)
        return record

    def points(self, name: str) -> list[tuple[int, float]]:
        return [point for log in self.logs.values() for point in metrics(log).get(name, [])]


@pytest.fixture(autouse=True)
def quiet_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Path]:
    for name in list(os.environ):
        if name.startswith("EUVYRA_"):
            monkeypatch.delenv(name)
    monkeypatch.setenv("EUVYRA_DIR", str(tmp_path / "runs"))
    monkeypatch.setenv("EUVYRA_BIN", "/nonexistent/euvyra")
    import euvyra._run as module

    monkeypatch.setattr(module, "_joined", [])
    monkeypatch.setattr(module, "_told", {"sidecar"})
    yield tmp_path
    os.environ.pop("EUVYRA_PARENT_FOLDER", None)


@pytest.fixture
def seen(tmp_path: Path) -> Callable[..., Seen]:
    def look(count: int = 1) -> Seen:
        folders = sorted((tmp_path / "runs").iterdir())
        assert len(folders) == count
        return Seen(folders[-1], read_run(folders[-1]))

    return look


Script = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def script(tmp_path: Path) -> Script:
    """Runs a training script in a process of its own."""

    def run(
        text: str, *args: str, env: dict[str, str] | None = None
    ) -> subprocess.CompletedProcess[str]:
        path = tmp_path / "train.py"
        path.write_text(text)
        return subprocess.run(
            [sys.executable, str(path), *args],
            capture_output=True,
            text=True,
            timeout=60,
            cwd=tmp_path,
            env={**os.environ, **(env or {})},
            check=False,
        )

    return run
