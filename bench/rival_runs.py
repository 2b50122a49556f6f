"""What the benches against rivals share: their environment, and one measurement in it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

from support import BUILD

HERE = Path(__file__).resolve().parent
HOME = BUILD / "rivals"
NAMES = ["euvyra", "wandb", "mlflow", "aim", "trackio", "tensorboard"]


def environment() -> Path:
    """The Python of a virtual environment with the rivals; made at the first use (some minutes)."""
    python = HOME / "bin" / "python"
    wanted = HERE / "rivals" / "requirements.txt"
    mark = HOME / "requirements.txt"
    if mark.exists() and mark.read_text() == wanted.read_text():
        return python
    print("installs the rivals into build/rivals", file=sys.stderr, flush=True)
    subprocess.run([sys.executable, "-m", "venv", "--clear", HOME], check=True)
    subprocess.run(
        [python, "-m", "pip", "-q", "install", "--disable-pip-version-check", "-r", wanted],
        check=True,
    )
    mark.write_text(wanted.read_text())
    return python


def command(what: str, name: str, folder: Path, rest: str) -> list[str]:
    measure = HERE / "rivals" / "measure.py"
    return [str(environment()), str(measure), what, name, str(folder), rest]


def variables() -> dict[str, str]:
    """Our own package from where it is installed, the rivals from their environment."""
    import euvyra

    links = HOME / "ours"
    links.mkdir(parents=True, exist_ok=True)
    link = links / "euvyra"
    if not link.exists():
        link.symlink_to(Path(euvyra.__file__).parent)
    reader = HERE.parent / "tests" / "runlog"
    return {
        **os.environ,
        "PYTHONPATH": f"{links}{os.pathsep}{reader}",
        "EUVYRA_BIN": str(BUILD / "euvyra"),
    }


def answer(text: str) -> object | None:
    """The JSON of the last line that begins with @."""
    lines = [line for line in text.splitlines() if line.startswith("@") and line[1:2] in "[{"]
    return json.loads(lines[-1][1:]) if lines else None
