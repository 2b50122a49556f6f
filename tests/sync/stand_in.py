"""A server that keeps run logs by the rules of api/openapi.yaml and can be told to misbehave.

The real server has tests of its own; this one makes faults happen at chosen moments.
"""

from __future__ import annotations

import json
import re
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1] / "runlog"))

from run_log_reader import Record, crc32c, read_records

LOG = re.compile(r"/api/v1/runs/(r\w{12})/writers/(w\w{12})/log")


class StandIn(ThreadingHTTPServer):
    """`logs` holds what was committed by (run, writer); `faults` are answered before anything else."""

    daemon_threads = True

    def __init__(self) -> None:
        self.logs: dict[tuple[str, str], bytearray] = {}
        self.sums: dict[tuple[str, str], tuple[int, int]] = {}
        self.runs: dict[str, Any] = {}
        self.faults: list[int] = []
        self.drop_answers = 0
        self.posts = 0
        self.keys: set[str | None] = set()
        self.answer: dict[str, Any] = {"next_ms": 200, "stop": False}
        self.lock = threading.Lock()
        super().__init__(("127.0.0.1", 0), _Handler)
        self.thread = threading.Thread(target=self.serve_forever, args=(0.02,), daemon=True)
        self.thread.start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"

    def checksum(self, key: tuple[str, str]) -> str:
        """Of a log so far; goes on from where it was left, which a changed log makes wrong."""
        log = self.logs[key]
        length, crc = self.sums.get(key, (0, 0))
        crc = crc32c(bytes(log[length:]), crc)
        self.sums[key] = len(log), crc
        return f"{crc:08x}"

    def records(self, run: str, kind: str) -> list[Record]:
        with self.lock:
            logs = [bytes(log) for (owner, _), log in self.logs.items() if owner == run]
        return [record for log in logs for record in read_records(log) if record.type == kind]


class _Handler(BaseHTTPRequestHandler):
    server: StandIn
    protocol_version = "HTTP/1.1"

    def log_message(self, *_: Any) -> None:
        pass

    def reply(self, status: int, document: Any, offset: int | None = None) -> None:
        body = json.dumps(document).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        if offset is not None:
            self.send_header("Euvyra-Offset", str(offset))
        self.end_headers()
        self.wfile.write(body)

    def refuse(self, status: int, code: str, offset: int | None = None) -> None:
        self.reply(status, {"code": code, "message": f"stand-in says {code}"}, offset)

    def body(self) -> bytes:
        return self.rfile.read(int(self.headers.get("Content-Length", 0)))

    def fault(self) -> bool:
        with self.server.lock:
            status = self.server.faults.pop(0) if self.server.faults else 0
        if status:
            names = {401: "unauthenticated", 410: "gone", 422: "unprocessable"}
            self.refuse(status, names.get(status, "unavailable"))
        return bool(status)

    def do_PUT(self) -> None:
        body = json.loads(self.body())
        self.server.keys.add(self.headers.get("Authorization"))
        if self.fault():
            return
        run = self.path.rsplit("/", 1)[1]
        with self.server.lock:
            known = self.server.runs.setdefault(run, body)
        if known == body:
            self.reply(201, {"id": run})
        else:
            self.refuse(409, "conflict")

    def do_GET(self) -> None:
        if self.fault():
            return None
        run = self.path.split("/")[4]
        if run not in self.server.runs:
            return self.refuse(404, "not_found")
        with self.server.lock:
            items = [
                {
                    "id": writer,
                    "committed_offset": len(log),
                    "crc": self.server.checksum((run, writer)),
                }
                for (owner, writer), log in self.server.logs.items()
                if owner == run
            ]
        return self.reply(200, {"items": items})

    def do_POST(self) -> None:
        found = LOG.fullmatch(self.path)
        body = self.body()
        if found is None or self.fault():
            return None
        offset, crc = int(self.headers["Euvyra-Offset"]), self.headers["Euvyra-Crc"]
        with self.server.lock:
            self.server.posts += 1
            key = found[1], found[2]
            log = self.server.logs.setdefault(key, bytearray())
            if offset != len(log):
                return self.refuse(416, "wrong_offset", len(log))
            if crc != self.server.checksum(key):
                return self.refuse(409, "writer_diverged")
            records = read_records(body)
            if sum(len(record.raw) for record in records) != len(body) or not body:
                return self.refuse(400, "invalid")
            log += body
            if self.server.drop_answers > 0:
                self.server.drop_answers -= 1
                self.close_connection = True
                self.connection.close()
                return None
            answer = {"offset": len(log), "crc": self.server.checksum(key), **self.server.answer}
        return self.reply(200, answer)
