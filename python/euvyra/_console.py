"""What the script prints, kept with the run: at the level of descriptors, so that C libraries and
child processes count too.

Standard output and error become pipes (or, where there was a terminal, a pseudo-terminal) that a
process of its own reads, passes on and records. It outlives this one, so that nothing that was
printed is lost to a kill. In a notebook, where printing never reaches a descriptor, the stream
objects are listened to instead.
"""

from __future__ import annotations

import contextlib
import os
import sys

from . import _core, _sidecar

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

STREAMS = (1, 2)
WAIT_S = 0.3  # at the end: for the last text to arrive where it goes
_PIPE_BYTES = 1 << 20
_state: dict[str, Any] = {"capture": None}


def is_wanted(asked: bool | None) -> bool:
    """Whether to capture: by the argument, else by EUVYRA_CONSOLE. Never where a parent does it."""
    if os.environ.get("EUVYRA_JOB") or os.environ.get("EUVYRA_EXEC"):
        return False
    if asked is not None:
        return asked
    return os.environ.get("EUVYRA_CONSOLE", "1").lower() not in ("", "0", "off", "false", "no")


def in_notebook() -> bool:
    return "ipykernel" in sys.modules


def _is_interactive() -> bool:
    return hasattr(sys, "ps1") or bool(sys.flags.interactive)


def _flush() -> None:
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(Exception):
            stream.flush()


def _channel(fd: int) -> tuple[int, int]:
    """Read and write end of what takes the place of `fd`."""
    if not os.isatty(fd):
        ends = os.pipe()
        with contextlib.suppress(Exception):
            import fcntl

            fcntl.fcntl(ends[1], 1031, _PIPE_BYTES)  # F_SETPIPE_SZ
        return ends
    import fcntl
    import termios

    reader, writer = os.openpty()
    mode = termios.tcgetattr(writer)
    mode[1] &= ~termios.OPOST  # the real terminal does what terminals do to newlines
    mode[3] &= ~termios.ECHO
    termios.tcsetattr(writer, termios.TCSANOW, mode)
    with contextlib.suppress(OSError):
        size = fcntl.ioctl(fd, termios.TIOCGWINSZ, b"\0" * 8)
        fcntl.ioctl(writer, termios.TIOCSWINSZ, size)
    return reader, writer


def _high(fd: int) -> int:
    """A copy of `fd` far from the numbers that the reader gets."""
    import fcntl

    return fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, 64)


class Capture:
    """Both streams, from start() to stop()."""

    def __init__(self) -> None:
        self.pid = 0
        self.saved: list[int] = []
        self.readers: list[int] = []
        self.owner = os.getpid()

    def start(self, program: str, folder: str) -> bool:
        _flush()
        writers: list[int] = []
        try:
            for fd in STREAMS:
                self.saved.append(_high(fd))
                reader, writer = _channel(fd)
                self.readers.append(_high(reader))
                writers.append(_high(writer))
                os.close(reader)
                os.close(writer)
            self._spawn(program, folder)
            for fd, writer in zip(STREAMS, writers, strict=True):
                os.dup2(writer, fd)
            watching = _core.watch_start(
                self.pid,
                (self.readers[0], self.readers[1]),
                (self.saved[0], self.saved[1]),
            )
            if watching != 0:  # nobody would notice its death: rather no record of the text
                self._give_back()
        except OSError:
            self._give_back()
            watching = -1
        finally:
            for writer in writers:
                os.close(writer)
        if watching != 0:
            self._close()
            return False
        _line_by_line()
        return True

    def _spawn(self, program: str, folder: str) -> None:
        actions = [
            (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
            (os.POSIX_SPAWN_DUP2, self.readers[0], 3),
            (os.POSIX_SPAWN_DUP2, self.readers[1], 4),
            (os.POSIX_SPAWN_DUP2, self.saved[0], 1),
            (os.POSIX_SPAWN_DUP2, self.saved[1], 2),
        ]
        self.pid = os.posix_spawn(
            program,
            [program, "sync", "--tee", folder],
            os.environ,
            file_actions=actions,
            setsid=True,
        )

    def _give_back(self) -> None:
        for fd, saved in zip(STREAMS, self.saved, strict=False):
            with contextlib.suppress(OSError):
                os.dup2(saved, fd)

    def _close(self) -> None:
        for fd in (*self.readers, *self.saved):
            with contextlib.suppress(OSError):
                os.close(fd)

    def stop(self) -> None:
        if os.getpid() != self.owner:
            return  # a forked child: the streams are its parent's business
        _flush()
        if not _core.watch_stop():
            return  # the reader died and the streams were given back: what it used stays open
        self._give_back()
        self._close()
        self._wait()

    def _wait(self) -> None:
        """For the reader to pass on the last text, unless children hold the streams open."""
        import select

        try:
            handle = os.pidfd_open(self.pid)
        except (AttributeError, OSError):
            return
        try:
            ready = select.select([handle], [], [], WAIT_S)[0]
        finally:
            os.close(handle)
        if ready:
            with contextlib.suppress(ChildProcessError):
                os.waitpid(self.pid, 0)


def _line_by_line() -> None:
    """Python keeps back what goes into a file or pipe; printed lines shall be on record at once."""
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(Exception):
            stream.reconfigure(line_buffering=True)  # type: ignore[union-attr]


class Listener:
    """For notebooks: stream objects whose write() is listened to."""

    def __init__(self, run: _core.Writer) -> None:
        self.run = run
        self.streams: list[tuple[Any, Any]] = []

    def start(self) -> None:
        for number, stream in zip(STREAMS, (sys.stdout, sys.stderr), strict=True):
            self._listen(number, stream)

    def _listen(self, number: int, stream: Any) -> None:
        plain = stream.write

        def write(text: Any) -> Any:
            with contextlib.suppress(Exception):
                self.run._console(number, text)
            return plain(text)

        with contextlib.suppress(AttributeError, TypeError):
            stream.write = write
            self.streams.append((stream, plain))

    def stop(self) -> None:
        for stream, _plain in self.streams:
            with contextlib.suppress(AttributeError):
                del stream.write


def start(run: _core.Writer, folder: str, asked: bool | None) -> None:
    """Begins to record what is printed, if that is wanted and can be had."""
    if _state["capture"] is not None or not is_wanted(asked):
        return
    capture: Any = None
    if in_notebook():
        capture = Listener(run)
        capture.start()
    elif not _is_interactive():
        program = _sidecar.find_program()
        capture = Capture()
        if program is None or not capture.start(program, folder):
            capture = None
    _state["capture"] = capture
    _state["run"] = run


def stop(run: _core.Writer) -> None:
    """At the end of the run that it was started for."""
    capture = _state["capture"]
    if capture is None or _state.get("run") is not run:
        return
    _state["capture"] = _state["run"] = None
    capture.stop()
