"""What euvyrad says when it cannot start, and what it leaves alone then."""

from __future__ import annotations

import os
import re
import socket
import sqlite3
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from small_disk import grow, small_disk
from support import BUILD, Log, Server, make_id


def start(*words: str | Path) -> tuple[int, str]:
    done = subprocess.run(
        [BUILD / "euvyrad", *words],
        capture_output=True,
        text=True,
        timeout=60,
        stdin=subprocess.DEVNULL,
    )
    lines = done.stderr.strip().splitlines()
    assert 1 <= len(lines) <= 2, done.stderr
    assert lines[0].startswith("euvyrad: "), done.stderr
    return done.returncode, lines[0]


def test_a_port_in_use_is_one_clear_line(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        code, line = start("--data", tmp_path / "data", "--listen", address)
    assert code != 0 and address in line


def test_two_servers_on_one_folder_the_second_refuses(tmp_path: Path) -> None:
    with Server(tmp_path / "data") as server:
        code, line = start("--data", server.data, "--listen", "127.0.0.1:0")
        assert code == 5 and str(server.data) in line and "in use" in line
        assert server.call("GET", "/health").status == 200


def test_a_folder_from_a_newer_version_is_left_alone(tmp_path: Path) -> None:
    data = tmp_path / "data"
    with Server(data):
        pass
    with sqlite3.connect(data / "euvyra.db") as db:
        db.execute("PRAGMA user_version=9999")
    code, line = start("--data", data, "--listen", "127.0.0.1:0")
    assert code == 5 and "newer version" in line
    with sqlite3.connect(data / "euvyra.db") as db:
        assert db.execute("PRAGMA user_version").fetchone()[0] == 9999


@pytest.mark.parametrize(
    "words,part",
    [
        (["--data"], "--data"),
        (["--nonsense"], "--nonsense"),
        ([], "--data DIR is missing"),
        (["--data", "x", "--listen", "0.0.0.0:0"], "needs TLS"),
        (["--data", "x", "--tls-cert", "y"], "go together"),
        (["--data", "x", "--lost-after", "soon"], "--lost-after"),
        (["--data", "x", "more"], "more"),
        (["setup", "--data", "x"], "--admin"),
    ],
)
def test_wrong_options_are_named(words: list[str], part: str) -> None:
    code, line = start(*words)
    assert code == 2 and part in line


def test_a_folder_that_cannot_be_written_is_named() -> None:
    code, line = start("--data", "/proc/euvyra", "--listen", "127.0.0.1:0")
    assert code != 0 and "/proc/euvyra" in line


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    if os.geteuid() != 0:
        pytest.skip("mounting needs root")
    with small_disk(tmp_path / "small", "3m") as folder:
        yield folder


def test_a_full_disk_refuses_writes_and_loses_nothing(disk: Path) -> None:
    data = disk / "data"
    server = Server(data).start()
    server.ok("PUT", "/api/v1/projects/demo", {})
    run = make_id("r")
    server.ok("PUT", f"/api/v1/projects/demo/runs/{run}", {})
    log = Log()
    status = 200
    while status == 200:
        for _ in range(20):
            log.console(b"x" * 10_000)
        answer = server.append(run, log)
        status = answer.status
        if status == 200:
            log.sent = answer.json["offset"]
    assert (status, answer.code) == (507, "disk_full")
    assert server.ok("GET", f"/api/v1/runs/{run}")["id"] == run  # reading goes on
    writers = server.ok("GET", f"/api/v1/runs/{run}/writers")["items"]
    assert writers[0]["committed_offset"] == log.sent
    grow(disk, "64m")
    assert server.append(run, log).status == 200  # recovers by itself
    server.stop()
    with Server(data) as again:
        again.key = server.key
        items = again.ok("GET", f"/api/v1/runs/{run}/writers")["items"]
        assert items[0]["committed_offset"] == len(log.data)


def test_it_stops_cleanly_with_a_poll_and_a_stream_open(tmp_path: Path) -> None:
    server = Server(tmp_path / "data").start()
    with socket.create_connection(("127.0.0.1", server.port)) as stream:
        stream.sendall(
            f"GET /api/v1/events HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\n"
            f"Authorization: Bearer {server.key}\r\n\r\n".encode()
        )
        assert b"hello" in read_until(stream, b"hello")
        assert server.stop() == 0


def read_until(stream: socket.socket, mark: bytes) -> bytes:
    stream.settimeout(30)
    got = b""
    while mark not in got:
        part = stream.recv(4096)
        if not part:
            break
        got += part
    return got


def test_events_tell_of_changes_to_those_who_may_know(server: Server) -> None:
    bob = server.user("bob")
    request = (
        f"GET /api/v1/events HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\nAuthorization: Bearer "
    )
    with (
        socket.create_connection(("127.0.0.1", server.port)) as hers,
        socket.create_connection(("127.0.0.1", server.port)) as his,
    ):
        hers.sendall(f"{request}{server.key}\r\n\r\n".encode())
        his.sendall(f"{request}{bob}\r\n\r\n".encode())
        read_until(hers, b"hello")
        read_until(his, b"hello")
        run = make_id("r")
        server.ok("PUT", f"/api/v1/projects/demo/runs/{run}", {})
        assert run.encode() in read_until(hers, run.encode())
        server.ok("PUT", "/api/v1/projects/demo/members/bob", {"role": "viewer"})
        rest = read_until(
            his, b"0\r\n\r\n"
        )  # closed, so that he connects again with his new rights
        assert run.encode() not in rest


def test_without_the_client_library_of_postgresql_only_postgresql_is_missed(
    tmp_path: Path,
) -> None:
    """In a mount namespace where that library is an empty file."""
    found = subprocess.run(["ldconfig", "-p"], capture_output=True, text=True, check=True).stdout
    libraries = re.findall(r"libpq\.so\.5 .*=> (\S+)", found)
    assert libraries
    hide = " && ".join(f'mount --bind /dev/null "$(readlink -f {path})"' for path in libraries)
    words = [str(BUILD / "euvyrad"), "--data", str(tmp_path), "--database", "host=/nowhere"]
    done = subprocess.run(
        ["unshare", "--mount", "sh", "-c", f'{hide} && exec "$@"', "sh", *words],
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 69
    assert "libpq" in done.stderr and "apt install libpq5" in done.stderr
    with Server(tmp_path / "data") as server:
        assert server.process
        assert "libpq" not in Path(f"/proc/{server.process.pid}/maps").read_text()
