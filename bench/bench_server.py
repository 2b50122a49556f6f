"""The server: start, memory, durable ingest over HTTP, submit to start of a job."""

from __future__ import annotations

import http.client
import json
import os
import shutil
import socket
import statistics
import subprocess
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

from run import Figure
from support import BUILD, Log, Server, crc32c, make_id

SECONDS = 3.0
POINTS_A_POST = 500


def fdatasync_rate(folder: Path) -> float:
    """How often the disk of the data folder takes 4 KiB and is flushed, a second."""
    with (folder / "probe").open("wb") as file:
        block, count, end = b"x" * 4096, 0, time.monotonic() + 1.0
        while time.monotonic() < end:
            os.write(file.fileno(), block)
            os.fdatasync(file.fileno())
            count += 1
    return float(count)


def rss_kb(pid: int, which: str = "VmRSS") -> int:
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith(which):
            return int(line.split()[1])
    return 0


def start_times(folder: Path) -> list[float]:
    times = []
    server = Server(folder / "start")
    for _ in range(7):
        begin = time.monotonic()
        server.start()
        times.append((time.monotonic() - begin) * 1000)
        server.stop()
    return times


def post_of(steps: int, first: bool) -> bytes:
    log = Log("waaaaaaaaaaaa")
    names = {f"metric/{n}": 0.1 for n in range(10)}
    if first:
        for name in names:
            log.name(name)
    else:
        log.names = {name: n for n, name in enumerate(names)}
    for step in range(steps):
        log.row(step, {name: step * 0.37 + n for n, name in enumerate(names)})
    return bytes(log.data)


class Client(threading.Thread):
    """Posts logs of a run of its own, each waiting for "on disk"."""

    def __init__(
        self, server: Server, end: float, head: bytes, body: bytes, tables: list[int]
    ) -> None:
        super().__init__()
        self.server, self.end, self.head, self.body = server, end, head, body
        self.crcs = tables
        self.posts = 0
        self.waits: list[float] = []

    def run(self) -> None:
        run, writer = make_id("r"), make_id("w")
        self.server.ok("PUT", f"/api/v1/projects/demo/runs/{run}", {})
        connection = http.client.HTTPConnection("127.0.0.1", self.server.port, timeout=60)
        offset = 0
        while time.monotonic() < self.end and self.posts < len(self.crcs) - 1:
            body = self.head if self.posts == 0 else self.body
            headers = {
                "Authorization": f"Bearer {self.server.key}",
                "Content-Type": "application/octet-stream",
                "Euvyra-Offset": str(offset),
                "Euvyra-Crc": f"{self.crcs[self.posts]:08x}",
            }
            begin = time.monotonic()
            connection.request("POST", f"/api/v1/runs/{run}/writers/{writer}/log", body, headers)
            answer = connection.getresponse()
            answer.read()
            assert answer.status == 200, answer.status
            self.waits.append((time.monotonic() - begin) * 1000)
            offset += len(body)
            self.posts += 1
        connection.close()


def crc_chain(head: bytes, body: bytes, posts: int) -> list[int]:
    """CRC before each post. The same body again and again: the CRC is linear, but plain is fine."""
    crcs, crc = [0], crc32c(head)
    crcs.append(crc)
    for _ in range(posts):
        crc = crc32c(body, crc)
        crcs.append(crc)
    return crcs


def ingest_python(
    folder: Path, clients: int, crcs: list[int], head: bytes, body: bytes, syncs: float
) -> list[Figure]:
    with Server(folder / f"ingest-{clients}") as server:
        assert server.process
        server.ok("PUT", "/api/v1/projects/demo", {})
        end = time.monotonic() + SECONDS
        threads = [Client(server, end, head, body, crcs) for _ in range(clients)]
        begin = time.monotonic()
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        seconds = time.monotonic() - begin
        posts = sum(thread.posts for thread in threads)
        waits = sorted(wait for thread in threads for wait in thread.waits)
        rate = posts / seconds
        key = f"ingest_{clients}"
        return [
            Figure(
                f"{key}_points_per_s",
                rate * POINTS_A_POST,
                "points/s",
                "durable, Python clients on the same cores",
            ),
            Figure(
                f"{key}_posts_per_s",
                rate,
                "posts/s",
                "acknowledged",
                rate / syncs,
                "fdatasync/s of this disk",
            ),
            Figure(f"{key}_ack_ms_p50", statistics.median(waits), "ms", "post to acknowledgement"),
            Figure(f"{key}_rss_mb", rss_kb(server.process.pid) / 1024, "MB", "server afterwards"),
        ]


def post(server: Server, clients: int, metrics: int, rows: int, posts: int) -> dict[str, Any]:
    """What bench_post says of `clients` that each post `posts` logs of `rows` steps."""
    numbers = [str(n) for n in (server.port, clients, metrics, rows, posts)]
    env = {**os.environ, "EUVYRA_API_KEY": server.key}
    done = subprocess.run(
        [BUILD / "bench" / "bench_post", *numbers], env=env, check=True, capture_output=True
    )
    told: dict[str, Any] = json.loads(done.stdout)
    return told


def ingest(folder: Path) -> list[Figure]:
    """16 clients in C, which cost little of the cores they share with the server."""
    with Server(folder / "ingest") as server:
        assert server.process
        server.ok("PUT", "/api/v1/projects/demo", {})
        told = post(server, clients=16, metrics=10, rows=50, posts=600)
        rate = told["points"] / told["seconds"]
        peak = rss_kb(server.process.pid, "VmHWM") / 1024
    return [
        Figure("ingest_points_per_s", rate, "points/s", "durable, 16 clients (goal 3 M)"),
        Figure("ingest_ack_ms_p50", told["ack_ms_p50"], "ms", "post of 500 points to answer"),
        Figure("server_rss_mb", peak, "MB", "the most the server took meanwhile (goal 64)"),
    ]


def held_connections(folder: Path) -> list[Figure]:
    with Server(folder / "held") as server:
        assert server.process
        time.sleep(0.5)
        idle = rss_kb(server.process.pid)
        sockets = []
        for _ in range(1000):
            stream = socket.create_connection(("127.0.0.1", server.port))
            stream.sendall(
                b"GET /api/v1/events HTTP/1.1\r\nHost: 127.0.0.1\r\n"
                + f"Authorization: Bearer {server.key}\r\n\r\n".encode()
            )
            sockets.append(stream)
        for stream in sockets:
            while b"hello" not in stream.recv(4096):
                pass
        held = rss_kb(server.process.pid)
        for stream in sockets:
            stream.close()
    return [
        Figure("idle_rss_mb", idle / 1024, "MB", "resident, just started (goal 10)"),
        Figure(
            "rss_kb_per_connection", (held - idle) / 1000, "KiB", "a held event stream, of 1,000"
        ),
    ]


def submit_to_start(folder: Path) -> list[Figure]:
    """From the submission to the first line that the job's program prints."""
    waits = []
    with Server(folder / "jobs") as server:
        key_file = folder / "agent.key"
        env = {**os.environ, "EUVYRA_SERVER": server.url, "EUVYRA_API_KEY": server.key}
        server.ok("PUT", "/api/v1/projects/demo", {})
        subprocess.run(
            [BUILD / "euvyra", "agents", "add", "bench", "--key-file", key_file],
            env=env, check=True, stdout=subprocess.DEVNULL,
        )  # fmt: skip
        root = ["--allow-root"] if os.geteuid() == 0 else []
        agent = subprocess.Popen(
            [
                BUILD / "euvyra-agent",
                "--server",
                server.url,
                "--key-file",
                key_file,
                "--dir",
                folder / "agent",
                *root,
            ],
            stderr=subprocess.DEVNULL,
        )
        try:
            for index in range(8):
                mark = folder / f"mark-{index}"
                body = {"run": make_id("r"), "spec": {"command": ["touch", str(mark)]}}
                job = make_id("j")
                begin = time.monotonic()
                server.ok("PUT", f"/api/v1/projects/demo/jobs/{job}", body)
                while not mark.exists():
                    time.sleep(0.001)
                waits.append((time.monotonic() - begin) * 1000)
                while server.ok("GET", f"/api/v1/jobs/{job}")["state"] != "succeeded":
                    time.sleep(0.01)
        finally:
            agent.terminate()
            agent.wait(30)
    return [
        Figure(
            "submit_to_running_ms",
            statistics.median(waits[1:]),
            "ms",
            "submitted to running, idle system",
        )
    ]


def figures() -> list[Figure]:
    folder = Path(tempfile.mkdtemp(prefix="euvyra-bench-", dir="/var/tmp"))
    try:
        times = start_times(folder)
        syncs = fdatasync_rate(folder)
        rows = [
            Figure(
                "start_ms", statistics.median(times), "ms", "process start to listening (goal 50)"
            ),
            Figure(
                "binary_mb",
                (BUILD / "euvyrad").stat().st_size / 1e6,
                "MB",
                "euvyrad with the console, unstripped",
            ),
            Figure("fdatasync_per_s", syncs, "1/s", "4 KiB appended and flushed, this disk"),
            *held_connections(folder),
        ]
        head, body = post_of(POINTS_A_POST // 10, True), post_of(POINTS_A_POST // 10, False)
        crcs = crc_chain(head, body, 600)
        for clients in (1, 16, 64):
            rows += ingest_python(folder, clients, crcs, head, body, syncs)
        return rows + ingest(folder) + submit_to_start(folder)
    finally:
        shutil.rmtree(folder)
