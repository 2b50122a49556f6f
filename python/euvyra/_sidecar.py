"""Starts the uploader, `euvyra sync --follow FOLDER`: a process of its own that lives longer than this
one and holds none of its files."""

from __future__ import annotations

import os
import sys


def find_program() -> str | None:
    """EUVYRA_BIN, else beside this package (as in the wheel), else in PATH."""
    named = os.environ.get("EUVYRA_BIN")
    if named:
        return named if os.access(named, os.X_OK) else None
    folders = [f"{__file__.rpartition('/')[0]}/bin", *os.get_exec_path()]
    for folder in folders:
        program = f"{folder}/euvyra"
        if os.access(program, os.X_OK):
            return program
    return None


def _environment() -> dict[str, str]:
    """Ours, and what the sidecar records of Python, which it cannot see from outside."""
    return {
        **os.environ,
        "EUVYRA_PYTHON": sys.version.split()[0],
        "EUVYRA_PROGRAM": sys.argv[0] if sys.argv else "",
        "EUVYRA_PYTHON_PATH": os.pathsep.join(path for path in sys.path if path),
    }


def is_alive(folder: str) -> bool:
    """Whether the sidecar that signed the folder's lock runs still, on this machine."""
    try:
        with open(f"{folder}/sync.lock", "rb") as file:  # noqa: PTH123 (pathlib is slow to import)
            pid, ticks = file.read(64).split()[:2]
        with open(b"/proc/" + pid + b"/stat", "rb") as file:  # noqa: PTH123
            fields = file.read(1024).rpartition(b")")[2].split()
    except (OSError, ValueError):
        return False
    return fields[19] == ticks and fields[0] not in (b"Z", b"X")


def start(folder: str) -> str | None:
    """None when it runs, else what is wrong, in one line. Takes a few milliseconds: the program detaches
    itself at once, and its first process is waited for so that no zombie stays."""
    program = find_program()
    if program is None:
        return "the euvyra program was not found: the record stays in the folder"
    argv = [program, "sync", "--follow", "--detach", folder]
    null = os.devnull
    actions = [
        (os.POSIX_SPAWN_OPEN, 0, null, os.O_RDONLY, 0),
        (os.POSIX_SPAWN_OPEN, 1, null, os.O_WRONLY, 0),
        (
            os.POSIX_SPAWN_OPEN,
            2,
            f"{folder}/sidecar.log",
            os.O_WRONLY | os.O_CREAT | os.O_APPEND,
            0o644,
        ),
    ]
    try:
        pid = os.posix_spawn(program, argv, _environment(), file_actions=actions, setsid=True)
        _, status = os.waitpid(pid, 0)
    except OSError as error:
        return f"the uploader could not be started: {error.strerror}"
    if status != 0:
        return f"the uploader could not be started (see {folder}/sidecar.log)"
    return None
