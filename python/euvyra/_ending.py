"""How a run ends when nobody calls finish(): at exit, by an exception, by a signal.

A kill -9 leaves no end in the log; the server calls such a run crashed. Forked children share these
hooks but never end the parent's run.
"""

from __future__ import annotations

import atexit
import os
import signal
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import FrameType, TracebackType
    from typing import Any

    from ._run import Run

Ending = tuple[int, int, str, str | None]

_open_runs: list[Run] = []
_state: dict[str, Any] = {"installed": False, "ending": (0, 0, "exit", None)}
_SIGNALS = (signal.SIGTERM, signal.SIGHUP)


def of_exception(error: BaseException | None) -> Ending:
    """Exit code, signal, reason and error line of a block or script that ended with `error`."""
    if error is None:
        return 0, 0, "finish", None
    if isinstance(error, SystemExit):
        if error.code is None or isinstance(error.code, int):
            return error.code or 0, 0, "exit", None
        return 1, 0, "exit", str(error.code)
    if isinstance(error, KeyboardInterrupt):
        return 0, int(signal.SIGINT), "signal", None
    return 1, 0, "exception", f"{type(error).__name__}: {error}"


def remember(run: Run) -> None:
    _open_runs.append(run)
    if not _state["installed"]:
        _state["installed"] = True
        _install()


def open_runs() -> list[Run]:
    """Of this process, not of the one it was forked from."""
    return [run for run in _open_runs if run._state()[4]]


def forget(run: Run) -> None:
    if run in _open_runs:
        _open_runs.remove(run)


def _end_all() -> None:
    for run in list(_open_runs):
        if run._state()[4]:
            run._finish(*_state["ending"])


def _on_signal(number: int, frame: FrameType | None) -> None:
    _state["ending"] = (0, number, "signal", None)
    _end_all()
    # As if we had never been here: the process dies of that signal, for its parent to see.
    signal.signal(number, signal.SIG_DFL)
    os.kill(os.getpid(), number)


def _install() -> None:
    atexit.register(_end_all)
    hook, leave = sys.excepthook, sys.exit

    def on_exception(
        kind: type[BaseException], error: BaseException, trace: TracebackType | None
    ) -> None:
        _state["ending"] = of_exception(error)
        hook(kind, error, trace)

    def on_exit(status: Any = None, /) -> Any:
        # SystemExit passes no hook, so the exit code is noted here; a caller may still catch it.
        _state["ending"] = of_exception(SystemExit(status))
        leave(status)

    sys.excepthook = on_exception
    sys.exit = on_exit
    for number in _SIGNALS:
        try:
            if signal.getsignal(number) is signal.SIG_DFL:
                signal.signal(number, _on_signal)
        except ValueError:
            return  # not the main thread: the process dies as it would without us
