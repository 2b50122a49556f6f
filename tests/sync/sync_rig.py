"""What the sync tests share: the tool, and waiting for conditions."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def find_tool() -> str:
    build = Path(os.environ.get("EUVYRA_BUILD", ROOT / "build"))
    return str(build / "src" / "sync" / "sync_tool")


def wait_for(condition: Callable[[], object], what: str, seconds: float = 30) -> None:
    """Waits for a condition; a test that would wait for ever fails with `what`."""
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            pytest.fail(f"in vain: {what}")
        time.sleep(0.01)


def is_followed(folder: Path) -> bool:
    """Whether a sidecar holds the folder's lock: asked of the kernel, since trying the lock could take
    it away from a sidecar that is just starting."""
    try:
        inode = (folder / "sync.lock").stat().st_ino
    except FileNotFoundError:
        return False
    return f":{inode} " in Path("/proc/locks").read_text()


def wait_for_sidecars(runs: Path) -> None:
    """Before a server goes away: a sidecar would wait a day for it."""
    folders = list(runs.iterdir()) if runs.exists() else []
    wait_for(lambda: not any(map(is_followed, folders)), "the sidecars end")
