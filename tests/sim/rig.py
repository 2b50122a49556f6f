"""The simulator as a program."""

from __future__ import annotations

import subprocess
from pathlib import Path

from support import BUILD

SIM = BUILD / "euvyra-sim"


def sim(*args: str | Path, code: int = 0) -> str:
    """What it says on stdout; on stderr where an error is expected."""
    done = subprocess.run([SIM, *args], capture_output=True, text=True)
    assert done.returncode == code, f"{args}: {done.returncode}\n{done.stdout}{done.stderr}"
    return done.stderr if code else done.stdout


def table(path: Path, header: str, *rows: str) -> Path:
    path.write_text("\n".join([header, *rows]) + "\n")
    return path
