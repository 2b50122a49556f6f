"""A real euvyrad for tests, a small HTTP client, and a run log made by hand.

with Server(tmp_path / "data") as server:
    server.call("PUT", "/api/v1/projects/demo", {})
"""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import random
import re
import signal
import sqlite3
import struct
import subprocess
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import postgres_cluster

ROOT = Path(__file__).resolve().parent.parent
BUILD = Path(os.environ.get("EUVYRA_BUILD", ROOT / "build"))
WAIT_S = 60.0
lines_to: list[Callable[[str], None]] = [print]  # where reports go: conftest.py says it


def report(line: str) -> None:
    """A line for whoever runs the tests: counts, progress."""
    lines_to[0](line)


def wait_for(what: str, condition: Callable[[], Any], seconds: float = WAIT_S) -> Any:
    """Asks until the answer is true and returns it; fails after `seconds`."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        value = condition()
        if value:
            return value
        time.sleep(0.02)
    raise AssertionError(f"waited {seconds} s for {what}")


def make_id(letter: str) -> str:
    return letter + "".join(random.choices("abcdefghijklmnopqrstuvwxyz234567", k=12))


@dataclass
class Answer:
    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def code(self) -> str:
        return str(self.json["code"])


class Server:
    """euvyrad on a port of its own, set up with the administrator ada.

    On PostgreSQL where EUVYRA_TEST_POSTGRES is set, else on SQLite; `database` names a database of
    the cluster that is there already.
    """

    def __init__(
        self, data: Path, *options: str, setup: bool = True, database: str | None = None
    ) -> None:
        self.data = data
        self.options = options
        self.database = database or (
            postgres_cluster.name_for(data) if postgres_cluster.socket_folder() else ""
        )
        self.key = ""
        self.process: subprocess.Popen[str] | None = None
        self.url = ""
        self.port = 0  # chosen at the first start; a restart keeps it
        self.setup_link = ""
        self.launcher: list[str] = []  # what starts the program
        self.environment: dict[str, str] = {}  # beside that of the tests
        if self.database:
            self.options += ("--database", postgres_cluster.url(self.database))
            if setup:
                self.key = postgres_cluster.template_key(BUILD / "euvyrad")
            if not database and not data.exists():
                data.mkdir(parents=True, mode=0o700)
                data.with_name(data.name + ".key").write_text(self.key)
                postgres_cluster.create(
                    self.database, postgres_cluster.TEMPLATE if setup else "template1"
                )
        elif setup and not data.exists():
            key_file = data.with_name(data.name + ".key")
            subprocess.run(
                [
                    BUILD / "euvyrad",
                    "setup",
                    "--data",
                    data,
                    "--admin",
                    "ada",
                    "--key-file",
                    key_file,
                ],
                check=True,
                stdout=subprocess.DEVNULL,
            )
            self.key = key_file.read_text().strip()

    def start(self) -> Server:
        self.process = subprocess.Popen(
            [
                *self.launcher,
                BUILD / "euvyrad",
                "--data",
                self.data,
                "--listen",
                f"127.0.0.1:{self.port}",
                *self.options,
            ],
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, **self.environment},
        )
        assert self.process.stdout
        line = self.process.stdout.readline()
        match = re.search(r"listens on (https?://127\.0\.0\.1:(\d+))", line)
        assert match, f"euvyrad said {line!r}"
        self.url = match.group(1)
        self.port = int(match.group(2))
        return self

    def sql(self, statement: str) -> str:
        """What the database answers to a query for one value, whatever it is."""
        if self.database:
            return postgres_cluster.psql(statement, self.database)
        with contextlib.closing(
            sqlite3.connect(f"file:{self.data / 'euvyra.db'}?mode=ro", uri=True)
        ) as db:
            return str(db.execute(statement).fetchone()[0])

    def peak_bytes(self) -> int:
        """The most memory the running server has had."""
        assert self.process
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        match = re.search(r"VmHWM:\s+(\d+) kB", status)
        assert match
        return int(match.group(1)) * 1024

    def check(self) -> tuple[int, list[str]]:
        """What `euvyrad check` says of the data, while it runs or at rest."""
        where = ["--database", postgres_cluster.url(self.database)] if self.database else []
        done = subprocess.run(
            [BUILD / "euvyrad", "check", "--data", self.data, *where],
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        assert done.stderr == "", done.stderr
        return done.returncode, done.stdout.splitlines()

    def wait_compacted(self) -> None:
        """Until all that was logged lies in chunks; fails at once when the server goes away."""

        def compacted() -> bool:
            assert self.process and self.process.poll() is None, "the server is gone"
            return self.sql("SELECT count(*) FROM log_blob") == "0"

        wait_for("compaction", compacted)

    def wait_facts(self) -> None:
        """Until the facts of metrics are those of all that was applied: many come piece by piece."""
        pending = "SELECT count(*) FROM run WHERE facts_stale <> 0"
        wait_for("the facts", lambda: self.sql(pending) == "0")

    def change(self, statement: str) -> None:
        """Changes the database behind the back of a server that is stopped."""
        assert not self.process
        if self.database:
            postgres_cluster.psql(statement, self.database)
            return
        with contextlib.closing(sqlite3.connect(self.data / "euvyra.db")) as db, db:
            db.execute(statement)

    def stop(self) -> int:
        assert self.process
        self.process.send_signal(signal.SIGTERM)
        code = self.process.wait(WAIT_S)
        if self.process.stdout:
            self.process.stdout.close()
        self.process = None
        return code

    def kill(self) -> None:
        assert self.process
        self.process.kill()
        self.process.wait(WAIT_S)
        if self.process.stdout:
            self.process.stdout.close()
        self.process = None

    def __enter__(self) -> Server:
        return self.start()

    def __exit__(self, *_: object) -> None:
        if self.process:
            assert self.stop() == 0

    def connect(self) -> http.client.HTTPConnection:
        return http.client.HTTPConnection("127.0.0.1", self.port, timeout=WAIT_S)

    def send(
        self,
        method: str,
        path: str,
        body: bytes | None = None,
        headers: dict[str, str] | None = None,
        key: str | None = None,
    ) -> Answer:
        """One request as it is; `key` "" sends none, None the administrator's."""
        sent = dict(headers or {})
        if key is None:
            key = self.key
        if key:
            sent["Authorization"] = f"Bearer {key}"
        connection = self.connect()
        try:
            connection.request(method, path, body, sent)
            answer = connection.getresponse()
            return Answer(
                answer.status, {k.lower(): v for k, v in answer.getheaders()}, answer.read()
            )
        finally:
            connection.close()

    def call(self, method: str, path: str, body: Any = None, key: str | None = None) -> Answer:
        """A JSON request."""
        headers = {} if body is None else {"Content-Type": "application/json"}
        raw = None if body is None else json.dumps(body).encode()
        return self.send(method, path, raw, headers, key)

    def ok(self, method: str, path: str, body: Any = None, key: str | None = None) -> Any:
        """As call, for what must succeed: the answer's JSON (None when empty)."""
        answer = self.call(method, path, body, key)
        assert answer.status // 100 == 2, f"{method} {path}: {answer.status} {answer.body!r}"
        return answer.json if answer.body else None

    def user(self, login: str) -> str:
        """A new user; returns a personal key made through a session."""
        password = "correct horse battery"
        user = make_id("u")
        self.ok("PUT", f"/api/v1/users/{user}", {"login": login, "password": password})
        answer = self.call(
            "POST", "/api/v1/sessions", {"login": login, "password": password}, key=""
        )
        cookie = answer.headers["set-cookie"].split(";")[0]
        headers = {
            "Cookie": cookie,
            "Origin": self.url,
            "Euvyra-Console": "1",
            "Content-Type": "application/json",
        }
        made = self.send("POST", "/api/v1/keys", b'{"kind":"user","name":"test"}', headers, key="")
        assert made.status == 201, made.body
        return str(made.json["key"])

    @contextlib.contextmanager
    def events(self, key: str | None = None) -> Iterator[http.client.HTTPResponse]:
        """An open event stream: what a console does that somebody looks at."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=WAIT_S)
        try:
            headers = {"Authorization": f"Bearer {self.key if key is None else key}"}
            connection.request("GET", "/api/v1/events", headers=headers)
            answer = connection.getresponse()
            assert answer.status == 200
            while answer.readline() != b"event: hello\n":
                pass
            yield answer
            answer.close()
        finally:
            connection.close()

    def append(self, run: str, log: Log, key: str | None = None) -> Answer:
        """Posts what the log holds and the server does not have yet."""
        return self.post_log(run, log.writer, log.sent, log.crc_sent(), log.unsent(), key)

    def post_log(
        self, run: str, writer: str, offset: int, crc: int, data: bytes, key: str | None = None
    ) -> Answer:
        headers = {
            "Content-Type": "application/octet-stream",
            "Euvyra-Offset": str(offset),
            "Euvyra-Crc": f"{crc:08x}",
        }
        return self.send("POST", f"/api/v1/runs/{run}/writers/{writer}/log", data, headers, key)

    def upload(self, run: str, log: Log) -> None:
        """Posts all of a log and waits until it is applied."""
        answer = self.append(run, log)
        assert answer.status == 200, answer.body
        log.sent = answer.json["offset"]
        wait_for("the log to be applied", lambda: self.applied(run, log.writer) == log.sent)

    def applied(self, run: str, writer: str) -> int:
        for item in self.ok("GET", f"/api/v1/runs/{run}/writers")["items"]:
            if item["id"] == writer:
                return int(item["applied_offset"])
        return -1


def crc32c_table() -> list[int]:
    table = []
    for byte in range(256):
        crc = byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
        table.append(crc)
    return table


CRC_TABLE = crc32c_table()


def crc32c(data: bytes, crc: int = 0) -> int:
    crc ^= 0xFFFFFFFF
    for byte in data:
        crc = CRC_TABLE[(crc ^ byte) & 0xFF] ^ crc >> 8
    return crc ^ 0xFFFFFFFF


class Log:
    """A run log written by hand, from docs/internals/run-log.md alone."""

    def __init__(self, writer: str | None = None) -> None:
        self.writer = writer or make_id("w")
        self.data = bytearray()
        self.sent = 0
        self.names: dict[str, int] = {}
        self.clock = 1_800_000_000_000

    def record(self, kind: int, payload: bytes, flags: int = 0) -> None:
        head = struct.pack("<HH", kind, flags)
        self.data += struct.pack("<I", len(payload)) + head
        self.data += struct.pack("<I", crc32c(head + payload)) + payload

    def document(self, kind: int, body: Any) -> None:
        self.record(kind, json.dumps(body).encode())

    def start(self, **more: Any) -> None:
        self.document(1, {"kind": "trainer", "time": self.clock, "writer": self.writer, **more})

    def name(self, name: str, system: bool = False) -> int:
        if name not in self.names:
            self.names[name] = len(self.names)
            raw = name.encode()
            self.record(4, struct.pack("<IIHH", self.names[name], 1, int(system), len(raw)) + raw)
        return self.names[name]

    def row(self, step: int, values: dict[str, float]) -> None:
        pairs = [(self.name(name), value) for name, value in values.items()]
        self.clock += 1000
        payload = struct.pack("<qqI", step, self.clock, len(pairs))
        self.record(5, payload + b"".join(struct.pack("<Id", *pair) for pair in pairs))

    def console(self, text: bytes) -> None:
        self.record(8, struct.pack("<Bq", 1, self.clock) + text)

    def end(self, **how: Any) -> None:
        self.document(14, {"time": self.clock, **how})

    def unsent(self) -> bytes:
        return bytes(self.data[self.sent :])

    def crc_sent(self) -> int:
        return crc32c(bytes(self.data[: self.sent]))
