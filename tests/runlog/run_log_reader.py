"""A reader of run logs that shares no code with Euvyra.

It was written from docs/internals/run-log.md alone and stays that way: it is the proof that the
page is enough. Tests use it to look into logs that the C library wrote.
"""

from __future__ import annotations

import json
import math
import struct
from dataclasses import dataclass
from pathlib import Path
from typing import Any

TYPES = {
    1: "start", 2: "code", 3: "machine", 4: "names", 5: "row", 6: "summary", 7: "config", 8: "console",
    9: "system", 10: "file", 11: "tags", 12: "notes", 13: "heartbeat", 14: "end", 15: "gap",
    16: "define", 17: "alert", 18: "mark", 19: "gone", 20: "diff",
}  # fmt: skip
JSON_TYPES = {
    "start", "code", "machine", "summary", "config", "file", "tags", "notes", "end", "define",
    "alert", "mark", "gone", "diff",
}  # fmt: skip


class Damaged(Exception):
    """The bytes are not a run log, or no longer."""


def _table() -> list[int]:
    table = []
    for entry in range(256):
        for _ in range(8):
            entry = (entry >> 1) ^ (0x82F63B78 if entry & 1 else 0)
        table.append(entry)
    return table


_TABLE = _table()


def crc32c(data: bytes, crc: int = 0) -> int:
    crc ^= 0xFFFFFFFF
    for byte in data:
        crc = _TABLE[(crc ^ byte) & 0xFF] ^ (crc >> 8)
    return crc ^ 0xFFFFFFFF


def untag(value: Any) -> Any:
    """Turns the tagged forms of a JSON payload into what they stand for."""
    if isinstance(value, list):
        return [untag(item) for item in value]
    if not isinstance(value, dict):
        return value
    if len(value) == 1:
        (key, inner), *_ = value.items()
        if key == "$f":
            return float({"NaN": "nan", "Infinity": "inf", "-Infinity": "-inf"}[inner])
        if key == "$i":
            return int(inner)
        if key == "$o":
            return {name: untag(item) for name, item in inner.items()}
    return {name: untag(item) for name, item in value.items()}


@dataclass
class Record:
    type: str
    value: Any
    offset: int
    raw: bytes


@dataclass
class Segment:
    writer: str
    number: int
    base: int
    created_ms: int
    hint: int
    body: bytes


def read_segment(data: bytes) -> Segment:
    if data[:8] != b"EUVYRLOG":
        raise Damaged("no run log")
    version, header, number = struct.unpack_from("<HHI", data, 8)
    writer = data[16:29].decode("ascii")
    base, created, crc, _, hint = struct.unpack_from("<QqIIQ", data, 32)
    if version != 1 or crc != crc32c(data[:48]):
        raise Damaged("header")
    return Segment(writer, number, base, created, hint, data[header:])


def _pairs(payload: bytes, at: int) -> list[tuple[int, float]]:
    (count,) = struct.unpack_from("<I", payload, at)
    pairs = list(struct.iter_unpack("<Id", payload[at + 4 :]))
    if len(pairs) != count:
        raise Damaged("row")
    return pairs


def _names(payload: bytes) -> list[tuple[int, int, str]]:
    first, count = struct.unpack_from("<II", payload)
    at, names = 8, []
    for index in range(count):
        flags, length = struct.unpack_from("<HH", payload, at)
        names.append((first + index, flags, payload[at + 4 : at + 4 + length].decode("utf-8")))
        at += 4 + length
    return names


def decode(kind: str, payload: bytes) -> Any:
    if kind in JSON_TYPES:
        return untag(json.loads(payload))
    if kind == "row":
        step, time_ms = struct.unpack_from("<qq", payload)
        return {"step": step, "time": time_ms, "pairs": _pairs(payload, 16)}
    if kind == "system":
        return {"time": struct.unpack_from("<q", payload)[0], "pairs": _pairs(payload, 8)}
    if kind == "names":
        return _names(payload)
    if kind == "console":
        return {
            "stream": payload[0],
            "time": struct.unpack_from("<q", payload, 1)[0],
            "bytes": payload[9:],
        }
    if kind == "heartbeat":
        return struct.unpack("<q", payload)[0]
    if kind == "gap":
        return dict(zip(("records", "bytes", "time"), struct.unpack("<QQq", payload), strict=True))
    return payload


def read_records(body: bytes, offset: int = 0) -> list[Record]:
    """All whole records; a torn tail ends the list without an error."""
    records, at = [], 0
    parts: list[bytes] = []
    begin = 0
    while at + 12 <= len(body):
        length, kind, flags, crc = struct.unpack_from("<IHHI", body, at)
        payload = body[at + 12 : at + 12 + length]
        if length == 0 or len(payload) < length:
            break
        if length > 1 << 20 or crc != crc32c(body[at + 4 : at + 8] + payload):
            raise Damaged(f"record at {offset + at}")
        if not parts:
            begin = at
        parts.append(payload)
        at += 12 + length
        if flags & 1:
            continue
        name = TYPES.get(kind, str(kind))
        records.append(Record(name, decode(name, b"".join(parts)), offset + begin, body[begin:at]))
        parts = []
    return records


def read_log(folder: Path, writer: str) -> list[Record]:
    """All records of one writer over all of its segments."""
    records: list[Record] = []
    offset = 0
    for path in sorted(folder.glob(f"{writer}.*.log")):
        segment = read_segment(path.read_bytes())
        if segment.base != offset:
            raise Damaged(f"{path.name}: starts at {segment.base}, expected {offset}")
        found = read_records(segment.body, offset)
        if found:
            offset = found[-1].offset + len(found[-1].raw)
        records += found
    return records


def read_run(folder: Path) -> dict[str, list[Record]]:
    writers = sorted({path.name.split(".")[0] for path in folder.glob("w*.log")})
    return {writer: read_log(folder, writer) for writer in writers}


def metrics(records: list[Record]) -> dict[str, list[tuple[int, float]]]:
    """(step, value) by metric name."""
    names: dict[int, str] = {}
    result: dict[str, list[tuple[int, float]]] = {}
    for record in records:
        if record.type == "names":
            names.update({number: text for number, _, text in record.value})
        elif record.type == "row":
            for number, value in record.value["pairs"]:
                result.setdefault(names[number], []).append((record.value["step"], value))
    return result


def same(left: float, right: float) -> bool:
    """Equal to the bit: NaN equals NaN, and the zeros differ by sign."""
    return struct.pack("<d", left) == struct.pack("<d", right) or (
        math.isnan(left) and math.isnan(right)
    )
