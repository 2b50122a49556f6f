"""Files that are read in parts."""

from __future__ import annotations

import hashlib
import random
from pathlib import Path

import pytest
from support import Answer, Server

SIZE = 300_000


@pytest.fixture
def data(server: Server) -> bytes:
    data = random.Random(7).randbytes(SIZE)
    headers = {"Content-Type": "application/octet-stream"}
    assert server.send("PUT", path_of(data), data, headers).status == 201
    return data


def path_of(data: bytes) -> str:
    return f"/api/v1/projects/demo/blobs/{hashlib.sha256(data).hexdigest()}"


def part(server: Server, data: bytes, wanted: str, **more: str) -> Answer:
    return server.send("GET", path_of(data), None, {"Range": wanted, **more})


@pytest.mark.parametrize(
    ("wanted", "first", "last"),
    [
        ("bytes=0-0", 0, 0),
        ("bytes=1000-1999", 1000, 1999),
        ("bytes=299999-", SIZE - 1, SIZE - 1),
        ("bytes=-100", SIZE - 100, SIZE - 1),
        ("bytes=5-99999999999999999999", 5, SIZE - 1),
    ],
)
def test_a_range_is_answered_with_that_part(
    server: Server, data: bytes, wanted: str, first: int, last: int
) -> None:
    answer = part(server, data, wanted)
    assert answer.status == 206 and answer.body == data[first : last + 1]
    assert answer.headers["content-range"] == f"bytes {first}-{last}/{SIZE}"
    assert answer.headers["content-length"] == str(last - first + 1)
    head = server.send("HEAD", path_of(data), None, {"Range": wanted})
    assert (head.status, head.body) == (206, b"")


@pytest.mark.parametrize("wanted", ["bytes=5-3", "bytes=0-1,5-6", "lines=1-2", "bytes=x-", ""])
def test_what_is_no_range_is_answered_with_the_whole_file(
    server: Server, data: bytes, wanted: str
) -> None:
    answer = part(server, data, wanted)
    assert answer.status == 200 and answer.body == data
    assert answer.headers["accept-ranges"] == "bytes" and "content-range" not in answer.headers


def test_a_range_behind_the_end_is_refused_with_the_size(server: Server, data: bytes) -> None:
    open_files = len(list(Path(f"/proc/{server.process.pid}/fd").iterdir()))  # type: ignore[union-attr]
    for _ in range(20):
        answer = part(server, data, f"bytes={SIZE}-")
        assert (answer.status, answer.code) == (416, "wrong_offset")
        assert answer.json["field"] == "Range" and str(SIZE) in answer.json["message"]
        assert answer.headers["content-range"] == f"bytes */{SIZE}"
    now = len(list(Path(f"/proc/{server.process.pid}/fd").iterdir()))  # type: ignore[union-attr]
    assert now < open_files + 10, "a refused range leaves its file open"


def test_a_range_counts_only_for_the_file_that_is_meant(server: Server, data: bytes) -> None:
    tag = server.send("GET", path_of(data)).headers["etag"]
    assert part(server, data, "bytes=0-9", **{"If-Range": tag}).status == 206
    for other in ('"0"', "W/" + tag, "Mon, 01 Jan 2024 00:00:00 GMT"):
        answer = part(server, data, "bytes=0-9", **{"If-Range": other})
        assert answer.status == 200 and answer.body == data


def test_a_download_that_was_cut_goes_on_where_it_ended(server: Server, data: bytes) -> None:
    whole = b""
    while len(whole) < SIZE:
        whole += part(server, data, f"bytes={len(whole)}-").body[:70_000]
    assert whole == data
