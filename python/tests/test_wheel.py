"""The wheel in a root that lacks the libraries of the program: hidden in a mount namespace."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
BUILD = Path(os.environ.get("EUVYRA_BUILD", HERE.parents[1] / "build"))
HIDDEN = ("libcurl", "libarchive", "libjansson", "libmicrohttpd", "libssh2", "libnghttp2")

HIDE = """
set -e
for lib in {libs}; do
    for file in /usr/lib/*/$lib[.-]*so*; do
        [ ! -f "$file" ] || [ -L "$file" ] || mount --bind /dev/null "$file"
    done
done
exec "$@"
""".format(libs=" ".join(HIDDEN))


def in_bare_root(*command: str | Path, **env: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["unshare", "--mount", "sh", "-c", HIDE, "sh", *command],
        env={**os.environ, **env},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def can_hide() -> bool:
    return os.geteuid() == 0 and in_bare_root("true").returncode == 0


@pytest.mark.skipif(not (BUILD / "euvyra").exists(), reason="the euvyra program is not built")
@pytest.mark.skipif(importlib.util.find_spec("auditwheel") is None, reason="auditwheel is missing")
@pytest.mark.skipif(not can_hide(), reason="needs root and mount namespaces")
def test_wheel_works_where_no_library_is_installed(tmp_path: Path) -> None:
    sys.path.insert(0, str(HERE.parent))
    from make_wheel import make

    wheel = make(BUILD, tmp_path / "dist")
    assert "-cp310-abi3-manylinux_" in wheel.name
    site = tmp_path / "site"
    subprocess.run(
        ["uv", "pip", "install", "--quiet", "--no-deps", "--no-index", "--target", site, wheel],
        check=True,
    )
    program = site / "euvyra" / "bin" / "euvyra"
    assert in_bare_root(BUILD / "euvyra", "version").returncode != 0
    assert "0.1.0" in in_bare_root(program, "version", XDG_CONFIG_HOME=str(tmp_path)).stdout
    done = in_bare_root(
        sys.executable,
        *("-c", "import euvyra\nwith euvyra.init() as run: run.log({'a': 1})"),
        PYTHONPATH=str(site),
        EUVYRA_MODE="offline",
        EUVYRA_BIN="",
    )
    assert done.returncode == 0, done.stderr
    assert "not found" not in done.stderr
    (folder,) = (tmp_path / "runs").iterdir()
    assert (folder / "sync.lock").exists() or (folder / "sidecar.log").read_text() == ""
