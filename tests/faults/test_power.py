"""The power goes: what was written but not flushed is lost, half there, or there out of order. Whatever
a server acknowledged before is there when it starts again, once, and the rest can be sent again.

A server runs with every write, flush and answer recorded in order. For many moments, folders are
made as a disk could hold them then, and a server is started on each.
"""

from __future__ import annotations

import os
import random
import re
import shutil
import struct
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import postgres_cluster
import pytest
from shim import Fault
from support import Server, report
from test_places import POSTS, Faulty, Workload, committed

pytestmark = pytest.mark.skipif(
    bool(postgres_cluster.socket_folder()), reason="about the files of SQLite"
)
MOMENTS = sys.maxsize if os.environ.get("EUVYRA_FAULT_ALL") else 30
SECTOR = 512


@dataclass
class Event:
    kind: str
    path: str
    other: str
    data: bytes
    offset: int


def events(file: Path) -> Iterator[Event]:
    kinds = ["write", "truncate", "sync", "rename", "unlink", "send", "mkdir"]
    raw, at = file.read_bytes(), 0
    while at < len(raw):
        kind, path, other, data, offset = struct.unpack_from("<IIIIq", raw, at)
        at += 24
        parts = []
        for length in (path, other, data):
            parts.append(raw[at : at + length])
            at += length
        yield Event(kinds[kind], parts[0].decode(), parts[1].decode(), parts[2], offset)


@dataclass
class File:
    """What is on the disk for sure, and what has been written since the last flush."""

    flushed: bytearray = field(default_factory=bytearray)
    pending: list[Event] = field(default_factory=list)

    def sync(self) -> None:
        for event in self.pending:
            apply(self.flushed, event, len(event.data))
        self.pending = []


def apply(content: bytearray, event: Event, length: int) -> None:
    if event.kind == "truncate":
        del content[event.offset :]
        content.extend(bytes(event.offset - len(content)))
        return
    end = event.offset + length
    if len(content) < end:
        content.extend(bytes(end - len(content)))
    content[event.offset : end] = event.data[:length]


def after_power_loss(file: File, how: str) -> bytes:
    """The file as it may be found: `none` or `all` of what was pending, or `some`, in any order, torn."""
    content = bytearray(file.flushed)
    pending = list(file.pending)
    if how == "none":
        pending = []
    if how == "some":
        pending = [event for event in pending if random.random() < 0.6]
        random.shuffle(pending)
    for event in pending:
        length = len(event.data)
        if how == "some" and random.random() < 0.2:
            length = SECTOR * random.randrange(length // SECTOR + 1)
        apply(content, event, length)
    return bytes(content)


class Disk:
    """The data folder, as events change it."""

    def __init__(self, folder: Path) -> None:
        self.files = {
            str(path): File(bytearray(path.read_bytes()))
            for path in folder.rglob("*")
            if path.is_file()
        }
        self.acknowledged = 0
        self.file_stored = False
        self.loose: dict[str, str] = {}  # names that are not flushed, by the folder they lie in

    def take(self, event: Event) -> None:
        if event.kind == "send":
            told = re.search(rb'"offset":(\d+)', event.data)
            if told:
                self.acknowledged = max(self.acknowledged, int(told.group(1)))
            if b'"digest"' in event.data:
                self.file_stored = True
                assert not self.loose, "a file is acknowledged that its folder may not have"
        elif event.kind == "sync":
            if event.path in self.files:  # folders are flushed too
                self.files[event.path].sync()
            self.loose = {k: v for k, v in self.loose.items() if v != event.path}
        elif event.kind == "mkdir":
            self.loose[event.path] = str(Path(event.path).parent)
        elif event.kind == "rename":
            self.loose[event.other] = str(Path(event.other).parent)
            self.files[event.other] = self.files.pop(event.path, File())
        elif event.kind == "unlink":
            self.files.pop(event.path, None)
        elif not event.path.endswith("/.nameless"):
            self.files.setdefault(event.path, File()).pending.append(event)

    def write(self, was: Path, folder: Path, how: str) -> None:
        for name, file in self.files.items():
            if name.endswith("-shm"):
                continue  # is made anew at every start
            path = folder / Path(name).relative_to(was)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(after_power_loss(file, how))
            path.chmod(0o600)  # as it was made: the server refuses a key that others can read


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path, Workload, str]:
    """A folder before, the events of a whole workload on it, and that workload."""
    folder = tmp_path_factory.mktemp("power")
    empty = Server(folder / "before")
    shutil.copytree(empty.data, folder / "data")
    server = Faulty(folder / "data", setup=False)
    server.key = empty.key
    server.fault = Fault(server.data, record=folder / "events")
    server.start()
    work = Workload()
    work.attempt(server)
    server.wait_compacted()
    server.kill()
    return folder, server.data, work, empty.key


def test_nothing_acknowledged_is_lost_when_the_power_goes(
    recorded: tuple[Path, Path, Workload, str], tmp_path: Path
) -> None:
    folder, was, work, key = recorded
    seed = int(os.environ.get("EUVYRA_FAULT_SEED", "0")) or random.randrange(1, 1 << 30)
    report(f"power loss: EUVYRA_FAULT_SEED={seed}")
    random.seed(seed)
    happened = list(events(folder / "events"))
    assert sum(event.kind == "sync" for event in happened) > 3
    disk = Disk(folder / "before")
    disk.files = {
        name.replace(str(folder / "before"), str(was)): f for name, f in disk.files.items()
    }
    moments = set(random.sample(range(len(happened)), min(MOMENTS, len(happened))))
    tried = 0
    for index, event in enumerate(happened):
        disk.take(event)
        if index not in moments:
            continue
        for how in ("none", "some", "all"):
            data = tmp_path / "data"
            shutil.rmtree(data, ignore_errors=True)
            data.mkdir()
            disk.write(was, data, how)
            check(data, key, work, disk)
            tried += 1
    assert disk.acknowledged == len(work.log.data) and disk.file_stored
    report(f"power loss: {tried} disks at {len(moments)} of {len(happened)} moments")


def check(data: Path, key: str, work: Workload, disk: Disk) -> None:
    server = Server(data, setup=False)
    server.key = key
    with server:
        at = committed(server, work.run, work.log.writer)
        assert at >= disk.acknowledged
        if disk.acknowledged:
            work.check(server, work.cuts.index(at))
        if disk.file_stored:
            work.check_file(server)
        work.attempt(server)
        work.check(server, POSTS)
    assert server.sql("PRAGMA integrity_check") == "ok"
    assert server.sql("SELECT count(*) FROM run") == "1"
