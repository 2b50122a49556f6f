"""Makes the tools importable and offers a C compiler run."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))


@pytest.fixture
def root() -> Path:
    return ROOT


def tool_run(name: str, *args: str | Path) -> subprocess.CompletedProcess[str]:
    """Runs one of the tools as a user would."""
    command = [sys.executable, str(ROOT / "tools" / name), *map(str, args)]
    return subprocess.run(command, capture_output=True, text=True, check=False)
