"""The built console becomes one blob and a table that points into it."""

from __future__ import annotations

import gzip
import re
from pathlib import Path

import brotli
from conftest import tool_run


def embed(tmp_path: Path, dist: Path) -> tuple[int, str, bytes]:
    (tmp_path / "csp.txt").write_text("# why\ndefault-src 'none'\nscript-src 'self'\n")
    done = tool_run(
        "gen_embed.py", dist, "--csp", tmp_path / "csp.txt", "--out-h", tmp_path / "c.h",
        "--out-c", tmp_path / "c.c", "--out-blob", tmp_path / "c.bin",
    )  # fmt: skip
    if done.returncode:
        return done.returncode, done.stderr, b""
    return 0, (tmp_path / "c.c").read_text(), (tmp_path / "c.bin").read_bytes()


def test_every_coding_reads_back(tmp_path: Path) -> None:
    dist = tmp_path / "dist"
    (dist / "assets").mkdir(parents=True)
    page = b"<!doctype html>" + b"hello " * 500
    (dist / "index.html").write_bytes(page)
    (dist / "assets/app-abc.js").write_bytes(b"1")
    code, text, blob = embed(tmp_path, dist)
    assert code == 0
    found = re.findall(r"\.(plain|gzip|brotli) = \{console_blob \+ (\d+), (\d+)\}", text)
    parts = [(kind, blob[int(at) : int(at) + int(size)]) for kind, at, size in found]
    assert parts[0] == ("plain", b"1")
    kinds = dict(parts[1:])
    assert kinds["plain"] == page
    assert gzip.decompress(kinds["gzip"]) == page
    assert brotli.decompress(kinds["brotli"]) == page
    assert text.count(".immutable = true") == 1
    assert "console_csp[] = \"default-src 'none'; script-src 'self'\"" in text


def test_missing_console_is_an_empty_table(tmp_path: Path) -> None:
    code, text, blob = embed(tmp_path, tmp_path / "nothing")
    assert (code, blob) == (0, b"")
    assert "console_file_count = 0" in text


def test_unknown_kind_of_file_is_refused(tmp_path: Path) -> None:
    dist = tmp_path / "dist"
    dist.mkdir()
    (dist / "x.exe").write_bytes(b"")
    code, text, _ = embed(tmp_path, dist)
    assert code == 1
    assert "no content type known for '.exe'" in text
