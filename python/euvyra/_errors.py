"""The exceptions: one tree, mapped from the codes of the C library. They are raised by init(), and by
log() and the like only where EUVYRA_STRICT=1 asks for it."""

from __future__ import annotations


class Error(Exception):
    """Anything that Euvyra could not do. `kind` is a stable word such as "disk_full"."""

    kind = "error"

    def __init__(self, text: str, kind: str | None = None) -> None:
        super().__init__(text)
        if kind is not None:
            self.kind = kind


class InvalidError(Error, ValueError):
    kind = "invalid"


class DiskError(Error, OSError):
    """The disk is full or refuses: what was to be recorded is not."""

    kind = "io"


class TooLargeError(Error, ValueError):
    kind = "too_large"


class ClosedError(Error):
    kind = "closed"


class NotFoundError(Error, LookupError):
    kind = "not_found"


class ExistsError(Error):
    """There is a run of that id already, and resume="never" forbids going on with it."""

    kind = "exists"


_CLASSES: dict[str, type[Error]] = {
    "invalid": InvalidError,
    "value": InvalidError,
    "name": InvalidError,
    "step": InvalidError,
    "disk_full": DiskError,
    "io": DiskError,
    "too_large": TooLargeError,
    "closed": ClosedError,
    "not_found": NotFoundError,
    "exists": ExistsError,
}


def error(kind: str, text: str) -> Error:
    """The exception of a code or of a kind of problem."""
    return _CLASSES.get(kind, Error)(text, kind)
