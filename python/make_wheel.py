"""Builds the wheel that people install: the extension, the `euvyra` program, and its libraries.

    python python/make_wheel.py BUILD_FOLDER OUTPUT_FOLDER

The program is taken from a finished build. auditwheel copies every shared library that a bare Linux
with the same C library may lack (libcurl and what it needs) into the wheel and points the program
at them, so that the wheel works where no Debian package is installed.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent


def run(*command: str | Path) -> None:
    subprocess.run(command, check=True)


def make(build: Path, output: Path) -> Path:
    """Returns the repaired wheel."""
    program = HERE / "euvyra" / "bin" / "euvyra"
    program.parent.mkdir(exist_ok=True)
    output.mkdir(parents=True, exist_ok=True)
    try:
        run("strip", "-o", program, build / "euvyra")
        with tempfile.TemporaryDirectory() as name:
            plain = Path(name)
            run(
                *("uv", "build", "--quiet", "--wheel", "--no-build-isolation"),
                *("--python", sys.executable, "--out-dir", plain, HERE),
            )
            (wheel,) = plain.glob("*.whl")
            run(*(sys.executable, "-m", "auditwheel", "repair", "--wheel-dir", output, wheel))
    finally:
        shutil.rmtree(program.parent)
        # setuptools would pack what it finds there into the next build too.
        shutil.rmtree(HERE / "build", ignore_errors=True)
    return max(output.glob("euvyra-*.whl"), key=lambda path: path.stat().st_mtime)


if __name__ == "__main__":
    print(make(Path(sys.argv[1]), Path(sys.argv[2])))
