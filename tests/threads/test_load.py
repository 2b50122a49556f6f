"""The whole server under the load of many agents and people at once, for the thread sanitizer: `./dev
test tsan` runs this against a server that is built with it, which ends at the first race it sees."""

from __future__ import annotations

import itertools
import json
import os
import subprocess
import threading
from collections.abc import Callable
from pathlib import Path

from support import BUILD, Server, make_id

AGENTS = 100
JOBS = 1500
GIB = 1024**3


def fleet(server: Server, count: int) -> str:
    lines = []
    for number in range(count):
        agent, name = make_id("a"), f"node-{number}"
        server.ok("PUT", f"/api/v1/agents/{agent}", {"name": name, "target": f"t{number % 3}"})
        body = {"kind": "agent", "name": name, "agent": agent}
        key = server.ok("POST", "/api/v1/keys", body)["key"]
        lines.append(f"{agent} {key} 8 8 {64 * GIB} 8")
    return "\n".join(lines) + "\n"


def people(
    server: Server, stop: threading.Event, failed: list[BaseException]
) -> list[threading.Thread]:
    """Somebody for each kind of thing that is done while jobs run."""
    numbers = itertools.count()

    def submit_and_cancel() -> None:
        job = make_id("j")
        body = {"run": make_id("r"), "spec": {"command": ["true"], "gpus": 8, "nodes": 2}}
        server.ok("PUT", f"/api/v1/projects/p0/jobs/{job}", body)
        server.ok("GET", f"/api/v1/jobs/{job}/why")
        server.ok("POST", f"/api/v1/jobs/{job}/cancel")

    def look() -> None:
        server.ok("GET", "/api/v1/jobs?open=true&limit=50")
        server.ok("GET", "/api/v1/shares")
        server.ok("GET", "/api/v1/queues")
        server.ok("GET", "/api/v1/agents")
        server.ok("GET", "/api/v1/projects/p1/runs?limit=20")

    def change() -> None:
        number = next(numbers)
        server.ok("PUT", "/api/v1/projects/p1/share", {"quota": {"gpus": number % 50}})
        server.ok("PUT", "/api/v1/queues/other", {"priority": number % 10})
        server.ok("POST", f"/api/v1/queues/default/{'hold' if number % 2 else 'resume'}")
        server.ok("PUT", "/api/v1/projects/p2/budget", {"gpu_hours": 1_000_000 + number})

    def go(what: Callable[[], None]) -> None:
        try:
            while not stop.is_set():
                what()
        except BaseException as error:  # told by the test
            failed.append(error)

    return [threading.Thread(target=go, args=[what]) for what in (submit_and_cancel, look, change)]


def test_many_agents_and_people_at_once(tmp_path: Path) -> None:
    stop, failed = threading.Event(), list[BaseException]()
    with Server(tmp_path / "data", "--min-run", "0") as server:
        for number in range(3):
            server.ok("PUT", f"/api/v1/targets/t{number}", {})
        for number in range(5):
            server.ok("PUT", f"/api/v1/projects/p{number}", {})
        (tmp_path / "agents").write_text(fleet(server, AGENTS))
        plan = [f"{n // 4} p{n % 5} 0 1 {n % 3} {n % 50} {n % 4}" for n in range(JOBS)]
        (tmp_path / "plan").write_text("\n".join(plan) + "\n")
        busy = people(server, stop, failed)
        for thread in busy:
            thread.start()
        try:
            done = subprocess.run(
                [BUILD / "bench" / "bench_jobs", str(server.port), tmp_path / "agents",
                 tmp_path / "plan", "32"],
                env={**os.environ, "EUVYRA_API_KEY": server.key},
                stdout=subprocess.PIPE, check=True, timeout=300,
            )  # fmt: skip
        finally:
            stop.set()
            for thread in busy:
                thread.join()
        assert not failed, failed
        assert json.loads(done.stdout)["ended"] == JOBS
        assert server.stop() == 0
