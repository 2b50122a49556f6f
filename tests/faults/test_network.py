"""A network that delays, doubles, cuts and loses what is sent, and a clock that jumps: the record of a
run is whole and single in the end, and what runs goes on."""

from __future__ import annotations

import http.client
import os
import random
import socket
import struct
import subprocess
import sys
import threading
import time
from collections import Counter
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from agents import Agent
from shim import Fault
from support import BUILD, WAIT_S, Server, make_id, report, wait_for
from test_places import Faulty, is_followed, recorded

ROUNDS = int(os.environ.get("EUVYRA_FAULT_ROUNDS", "3"))
SCRIPT = """
import time, euvyra
run = euvyra.init(project="demo")
for step in range(400):
    run.log({"loss": float(step)}, step=step)
    time.sleep(0.002)
run.finish()
"""


class Proxy(ThreadingHTTPServer):
    """Passes requests on to the server, most of them badly."""

    daemon_threads = True

    def __init__(self, port: int, seed: int) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.far = port
        self.random = random.Random(seed)
        self.did: Counter[str] = Counter()
        self.late: list[tuple[str, str, bytes, dict[str, str]]] = []
        self.good = False
        threading.Thread(target=self.serve_forever, daemon=True).start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"

    def choose(self) -> str:
        if self.good:
            return "pass"
        deeds = ["pass", "pass", "delay", "double", "late", "lose", "cut", "deaf"]
        deed = self.random.choice(deeds)
        self.did[deed] += 1
        return deed


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Proxy

    def log_message(self, format: str, *args: object) -> None:
        del format, args

    def forward(self, method: str, path: str, body: bytes, headers: dict[str, str]) -> None:
        connection = http.client.HTTPConnection("127.0.0.1", self.server.far, timeout=WAIT_S)
        connection.request(method, path, body, headers)
        self.answer = connection.getresponse()
        self.text = self.answer.read()
        connection.close()

    def half(self, method: str, path: str, body: bytes, headers: dict[str, str]) -> None:
        with socket.create_connection(("127.0.0.1", self.server.far)) as far:
            lines = [f"{method} {path} HTTP/1.1", *(f"{k}: {v}" for k, v in headers.items())]
            far.sendall("\r\n".join([*lines, "", ""]).encode() + body[: len(body) // 2])

    def any(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        call = (self.command, self.path, body, dict(self.headers.items()))
        deed = self.server.choose()
        if deed == "lose":
            self.close_connection = True
            return
        if deed == "cut":
            self.half(*call)
            self.close_connection = True
            return
        if deed == "delay":
            time.sleep(self.server.random.random() * 0.3)
        self.forward(*call)
        if deed == "double":
            self.forward(*call)  # the second answer counts
        if deed == "late" and self.command == "POST":
            self.server.late.append(call)
        elif self.server.late and deed == "pass":
            first = self.answer, self.text
            self.forward(*self.server.late.pop(0))  # an old request once more, out of order
            self.answer, self.text = first
        if deed == "deaf":
            self.close_connection = True
            return
        self.send_response(self.answer.status)
        for name, value in self.answer.getheaders():
            if name.lower() not in ("content-length", "connection", "date", "server"):
                self.send_header(name, value)
        self.send_header("Content-Length", str(len(self.text)))
        self.end_headers()
        self.wfile.write(self.text)

    do_GET = do_POST = do_PUT = do_PATCH = any


def test_a_bad_network_changes_nothing_but_the_time(server: Server, tmp_path: Path) -> None:
    server.ok("PUT", "/api/v1/projects/demo", {})
    for index in range(ROUNDS):
        seed = int(os.environ.get("EUVYRA_FAULT_SEED", "0")) or random.randrange(1, 1 << 30)
        print(f"EUVYRA_FAULT_SEED={seed}")
        proxy = Proxy(server.port, seed)
        folder = tmp_path / f"runs-{index}"
        env = {
            **os.environ,
            "EUVYRA_SERVER": proxy.url,
            "EUVYRA_API_KEY": server.key,
            "EUVYRA_DIR": str(folder),
            "EUVYRA_BIN": str(BUILD / "euvyra"),
        }
        done = subprocess.run([sys.executable, "-c", SCRIPT], env=env, capture_output=True)
        assert done.returncode == 0, done.stderr
        sync: list[str | Path] = [BUILD / "euvyra", "sync", *folder.iterdir()]
        for _ in range(6):  # by hand, as often as it takes
            if subprocess.run(sync, env=env).returncode == 0:
                break
        proxy.good = True
        assert subprocess.run(sync, env=env).returncode == 0
        for run in folder.iterdir():  # a sidecar whose server is away would wait a day for it
            wait_for("the sidecar to end", lambda: not is_followed(run))  # noqa: B023
        proxy.shutdown()
        proxy.server_close()
        assert recorded(server, folder) == list(range(400))
        report(f"a bad network: {dict(proxy.did)}")


@pytest.mark.parametrize("hours", [1, -1, 24 * 365, -24 * 365])
def test_a_clock_that_jumps_ends_nothing(tmp_path: Path, hours: int) -> None:
    clock = tmp_path / "clock"
    clock.write_bytes(bytes(8))
    server = Faulty(tmp_path / "data")
    server.fault = Fault(server.data, clock=clock)
    mark = tmp_path / "go-on"
    command = ["sh", "-c", f"while [ ! -e {mark} ]; do sleep 0.05; done; exit 3"]
    with server, Agent(server, tmp_path / "agent"):
        server.ok("PUT", "/api/v1/projects/demo", {})
        job, run = make_id("j"), make_id("r")
        body = {"run": run, "spec": {"command": command}}
        server.ok("PUT", f"/api/v1/projects/demo/jobs/{job}", body)

        def state() -> str:
            return str(server.ok("GET", f"/api/v1/jobs/{job}")["state"])

        wait_for("the job to run", lambda: state() == "running")
        clock.write_bytes(struct.pack("<q", hours * 3_600_000))
        time.sleep(3)  # sweeps look for what is overdue once a second
        shown = server.ok("GET", f"/api/v1/jobs/{job}")
        assert (shown["state"], len(shown["attempts"])) == ("running", 1)
        assert server.ok("GET", f"/api/v1/runs/{run}")["state"] == "running"
        mark.touch()
        wait_for("the job to end", lambda: state() == "failed")
        shown = server.ok("GET", f"/api/v1/jobs/{job}")
        assert shown["exit_code"] == 3 and 0 <= shown["run_time_ms"] < 60_000
