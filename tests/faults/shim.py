"""Running programs with the preloaded shim of shim.c, at every place or at some."""

from __future__ import annotations

import os
import struct
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import support

SHIM = support.BUILD / "tests" / "faults" / "libfaultshim.so"
LONG = bool(os.environ.get("EUVYRA_FAULT_ALL"))
JOBS = int(
    os.environ.get("EUVYRA_FAULT_JOBS", "3")
)  # trials at once: most of their time is waiting
PROGRESS_S = 20

T = TypeVar("T")
R = TypeVar("R")


@dataclass
class Fault:
    """What is to happen to a program: at which of its calls, and how."""

    folder: Path  # files below count
    ops: str = "write,sync,rename"
    at: int = 0  # 0: never
    stack: str = ""  # in place of `at`: the way to the call
    errno: int = 0  # 0: the program is killed
    lasting: bool = False
    record: Path | None = None
    stacks: Path | None = None
    source: str = ""  # a library: its allocations alone
    clock: Path | None = None

    def environment(self, counter: Path) -> dict[str, str]:
        counter.write_bytes(bytes(24))
        env = {
            "LD_PRELOAD": str(SHIM),
            "FAULT_DIR": str(self.folder),
            "FAULT_OPS": self.ops,
            "FAULT_COUNTER": str(counter),
        }
        optional = {
            "FAULT_AT": self.at,
            "FAULT_STACK": self.stack,
            "FAULT_ERRNO": self.errno,
            "FAULT_LASTING": int(self.lasting),
            "FAULT_RECORD": self.record,
            "FAULT_STACKS": self.stacks,
            "FAULT_FROM": self.source,
            "FAULT_CLOCK": self.clock,
        }
        return env | {name: str(value) for name, value in optional.items() if value}


def _number(counter: Path, index: int) -> int:
    return int(struct.unpack_from("<Q", counter.read_bytes(), 8 * index)[0])


def count(counter: Path) -> int:
    """How many calls there were."""
    return _number(counter, 0)


def struck(counter: Path) -> int:
    """How often the fault happened."""
    return _number(counter, 2)


def lift(counter: Path) -> None:
    """From here on nothing happens any more."""
    with counter.open("r+b") as file:
        file.seek(8)
        file.write(struct.pack("<Q", 1))


def ways(stacks: Path) -> tuple[list[str], int]:
    """The different ways to a call, in the order of their first time, and how many calls there were."""
    raw = stacks.read_bytes()
    hashes = struct.unpack(f"<{len(raw) // 8}Q", raw)
    return [f"{value:x}" for value in dict.fromkeys(hashes)], len(hashes)


def some(items: Sequence[T], at_most: int) -> list[T]:
    """Which to try: all in the long lane, else evenly spread ones."""
    assert items, "the shim counted nothing"
    if LONG or len(items) <= at_most:
        return list(items)
    last = len(items) - 1
    return [items[i] for i in sorted({i * last // (at_most - 1) for i in range(at_most)})]


def places(total: int, at_most: int) -> list[int]:
    return some(range(1, total + 1), at_most)


def every(what: str, tried: Sequence[T], trial: Callable[[T], R]) -> list[R]:
    """Does the trial for each, some at once. Fails in the end with all that failed."""
    lock, begun = threading.Lock(), time.monotonic()
    done, told, failed = 0, begun, []

    def one(item: T) -> R | None:
        nonlocal done, told
        try:
            return trial(item)
        except BaseException as error:
            text = " ".join(str(error).split())[:300]
            with lock:
                failed.append(f"{item}: {type(error).__name__} {text}")
                if LONG:
                    support.report(f"FAILED {what}, place {failed[-1]}")
            return None
        finally:
            with lock:
                done += 1
                if LONG and time.monotonic() > told + PROGRESS_S:
                    told = time.monotonic()
                    support.report(f"  {what}: {done} of {len(tried)}, {told - begun:.0f} s")

    with ThreadPoolExecutor(JOBS) as pool:
        results = list(pool.map(one, tried))
    assert not failed, f"{len(failed)} of {len(tried)} places: " + "; ".join(failed[:20])
    return [result for result in results if result is not None]
