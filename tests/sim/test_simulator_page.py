"""The commands of docs/simulator.md run as they stand, in order."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

from support import BUILD

PAGE = Path(__file__).resolve().parents[2] / "docs/simulator.md"


def test_the_page_runs_as_it_stands(tmp_path: Path) -> None:
    blocks = re.findall(r"^```\n(.+?)^```$", PAGE.read_text(), re.MULTILINE | re.DOTALL)
    assert len(blocks) == 4
    env = {**os.environ, "PATH": f"{BUILD}:{os.environ['PATH']}"}
    for block in blocks:
        done = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", block],
            cwd=tmp_path, env=env, capture_output=True, text=True,
        )  # fmt: skip
        assert done.returncode == 0, block + done.stdout + done.stderr
    assert (tmp_path / "waits.svg").stat().st_size > 5000
