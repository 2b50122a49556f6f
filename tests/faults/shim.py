"""Running programs with the preloaded shim of shim.c."""

from __future__ import annotations

import os
import struct
from dataclasses import dataclass
from pathlib import Path

from support import BUILD

SHIM = BUILD / "tests" / "faults" / "libfaultshim.so"


@dataclass
class Fault:
    """What is to happen to a program: at which of its calls, and how."""

    folder: Path  # files below count
    ops: str = "write,sync,rename"
    at: int = 0  # 0: never
    errno: int = 0  # 0: the program is killed
    lasting: bool = False
    record: Path | None = None
    clock: Path | None = None

    def environment(self, counter: Path) -> dict[str, str]:
        counter.write_bytes(bytes(8))
        env = {
            "LD_PRELOAD": str(SHIM),
            "FAULT_DIR": str(self.folder),
            "FAULT_OPS": self.ops,
            "FAULT_COUNTER": str(counter),
        }
        if self.at:
            env["FAULT_AT"] = str(self.at)
        if self.errno:
            env["FAULT_ERRNO"] = str(self.errno)
        if self.lasting:
            env["FAULT_LASTING"] = "1"
        if self.record:
            env["FAULT_RECORD"] = str(self.record)
        if self.clock:
            env["FAULT_CLOCK"] = str(self.clock)
        return env


def count(counter: Path) -> int:
    return int(struct.unpack("<Q", counter.read_bytes())[0])


def places(total: int, at_most: int) -> list[int]:
    """Which of 1 to `total` to try: all in the long lane, else evenly spread ones."""
    assert total > 0, "the shim counted nothing"
    if os.environ.get("EUVYRA_FAULT_ALL") or total <= at_most:
        return list(range(1, total + 1))
    return sorted({1 + i * (total - 1) // (at_most - 1) for i in range(at_most)})
