"""The example of docs/internals/run-log.md, read by the independent reader."""

from __future__ import annotations

import math
import re
from pathlib import Path

import pytest
from run_log_reader import Damaged, crc32c, read_records, read_segment, same

DOC = Path(__file__).parents[2] / "docs" / "internals" / "run-log.md"


def example() -> bytes:
    found = re.search(r"```hex\n(.*?)```", DOC.read_text(), re.S)
    assert found
    lines = [line for line in found.group(1).splitlines() if not line.startswith("#")]
    return bytes.fromhex(" ".join(lines))


def test_checksum_has_the_documented_value() -> None:
    assert crc32c(b"123456789") == 0xE3069283
    assert crc32c(b"6789", crc32c(b"12345")) == 0xE3069283


def test_example_reads_as_the_page_says() -> None:
    segment = read_segment(example())
    assert (segment.writer, segment.number, segment.base) == ("wabcdefgh2345", 0, 0)
    records = read_records(segment.body)
    assert [record.type for record in records] == [
        "names",
        "row",
        "row",
        "config",
        "console",
        "heartbeat",
        "end",
    ]
    assert records[0].value == [(0, 0, "loss"), (1, 0, "acc")]
    assert records[1].value["step"] == 1
    assert same(records[1].value["pairs"][1][1], -0.0)
    assert math.isnan(records[2].value["pairs"][0][1])
    assert records[3].value == {"lr": math.inf}
    assert records[4].value["bytes"] == b"hi\n"
    assert records[6].value == {"exit_code": 0}
    assert segment.hint == records[-1].offset + len(records[-1].raw)


def test_damage_is_told_from_a_torn_tail() -> None:
    body = read_segment(example()).body
    whole = read_records(body)
    end = whole[-1].offset + len(whole[-1].raw)
    assert len(read_records(body[: end - 1])) == len(whole) - 1
    with pytest.raises(Damaged):
        read_records(body[:20] + b"\xff" + body[21:])
