"""Services on a real agent: replicas, health checks, starting again; a real HTTP server as the job."""

from __future__ import annotations

import os
import random
import shlex
import signal
import socket
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from agents import Agent, processes_of
from support import BUILD, ROOT, Server, make_id, wait_for

# Answers as the file mode-N of the folder says: a status, or "hang". N: its index, or 0.
SERVICE = """
import os, sys, time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

index = os.environ.get("EUVYRA_ARRAY_INDEX", "0")
port = int(os.environ["EUVYRA_PORT"])

class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        try:
            mode = open(os.path.join(sys.argv[1], "mode-" + index)).read()
        except OSError:
            mode = "200"
        if mode == "hang":
            time.sleep(1000)
        self.send_response(int(mode))
        self.end_headers()
        self.wfile.write(b"x" * 100000)

    def log_message(self, *words):
        pass

server = ThreadingHTTPServer(("127.0.0.1", port), Handler)
server.daemon_threads = True
print("up on", port)
server.serve_forever()
"""


@pytest.fixture
def agent(server: Server, tmp_path: Path) -> Iterator[Agent]:
    with Agent(server, tmp_path / "agent") as running:
        yield running


def free_port(count: int = 1) -> int:
    """The first of so many ports in a row that nobody listens on, below those that the kernel gives
    to connections: a service finds its port free again when it is started anew."""
    low = int(Path("/proc/sys/net/ipv4/ip_local_port_range").read_text().split()[0])
    while True:
        first = random.randrange(min(10000, low // 2), low - count)
        held: list[socket.socket] = []
        try:
            held += [socket.create_server(("127.0.0.1", first + i)) for i in range(count)]
        except OSError:
            continue
        else:
            return first
        finally:
            for one in held:
                one.close()


def submit(server: Server, command: list[str], **spec: Any) -> str:
    job = make_id("j")
    body = {
        "run": make_id("r"),
        "name": "web",
        "spec": {"command": command, "kind": "service", "grace_s": 1, **spec},
    }
    server.ok("PUT", f"/api/v1/projects/demo/jobs/{job}", body)
    return job


def serve(server: Server, folder: Path, **spec: Any) -> str:
    return submit(server, [sys.executable, "-c", SERVICE, str(folder)], **spec)


def show(server: Server, job: str) -> Any:
    return server.ok("GET", f"/api/v1/jobs/{job}")


def elements(server: Server, array: str) -> list[Any]:
    return list(server.ok("GET", f"/api/v1/jobs?array={array}")["items"])


def health_of(job: Any) -> str:
    return str((job["health"] or {}).get("state"))


def wait_health(server: Server, job: str, state: str) -> Any:
    def so() -> Any:
        shown = show(server, job)
        return shown if health_of(shown) == state else None

    return wait_for(f"{job} to be {state}", so)


def wait_ended(server: Server, job: str, number: int = 1) -> Any:
    """The attempt of this number, once it has ended."""

    def so() -> Any:
        attempts = [a for a in show(server, job)["attempts"] if a["number"] == number]
        return attempts[0] if attempts and attempts[0]["ended_at"] else None

    return wait_for(f"attempt {number} of {job} to end", so)


def check(port: int, **more: int) -> dict[str, Any]:
    return {"port": port, "path": "/up", "every_s": 1, "timeout_s": 1, "failures": 2, **more}


def test_a_replica_that_answers_badly_starts_again_and_the_others_go_on(
    server: Server, agent: Agent, tmp_path: Path
) -> None:
    (tmp_path / "second").mkdir()
    with Agent(server, tmp_path / "second" / "agent", "rack2"):  # one may have too few cores
        port = free_port(3)
        array = serve(server, tmp_path, replicas=3, health=check(port))
        wait_for(
            "all to be healthy",
            lambda: server.ok("GET", f"/api/v1/jobs/{array}")["array"]["healthy"] == 3,
        )
        for n in range(3):  # each has a port of its own
            socket.create_connection(("127.0.0.1", port + n)).close()
        first, sick, last = [element["id"] for element in elements(server, array)]
        (tmp_path / "mode-1").write_text("503")
        ended = wait_ended(server, sick)
        (tmp_path / "mode-1").write_text("302")  # is well, and is not followed
        assert (ended["state"], ended["ending"]) == ("failed", "unhealthy")
        assert ended["reason"] == "2 health checks in a row failed: HTTP 503"
        assert ended["health"]["state"] == "unhealthy"
        again = wait_health(server, sick, "healthy")
        assert [a["number"] for a in again["attempts"]] == [1, 2]
        for other in (first, last):
            shown = show(server, other)
            assert (len(shown["attempts"]), health_of(shown)) == (1, "healthy")
        states = [
            e["detail"]["health"]
            for e in server.ok("GET", f"/api/v1/jobs/{sick}/events")["items"]
            if e["kind"] == "health"
        ]
        assert states == ["starting", "healthy", "unhealthy", "starting", "healthy"]
        attempts = [element["attempts"][-1]["id"] for element in elements(server, array)]
        server.ok("POST", f"/api/v1/jobs/{array}/cancel")
        wait_for(
            "all to be cancelled",
            lambda: {e["state"] for e in elements(server, array)} == {"cancelled"},
        )
        wait_for(
            "nothing of them to be left",
            lambda: not [pid for attempt in attempts for pid in processes_of(attempt)],
        )


def test_a_service_that_hangs_is_ended(server: Server, agent: Agent, tmp_path: Path) -> None:
    port = free_port()
    job = serve(server, tmp_path, health=check(port))
    wait_health(server, job, "healthy")
    (tmp_path / "mode-0").write_text("hang")
    ended = wait_ended(server, job)
    assert ended["reason"] == "2 health checks in a row failed: no answer within 1 s"


def test_a_service_that_never_comes_up_is_ended(server: Server, agent: Agent) -> None:
    port = free_port()
    job = submit(server, ["sleep", "1000"], health=check(port, starts_within_s=2))
    wait_health(server, job, "starting")
    ended = wait_ended(server, job)
    assert (ended["ending"], ended["signal"]) == ("unhealthy", 15)
    assert ended["reason"] == "it did not come up within 2 s: connection refused"
    assert ended["health"]["state"] == "starting"


def test_one_that_ignores_the_request_to_end_is_killed(server: Server, agent: Agent) -> None:
    port = free_port()
    script = "trap '' TERM; while :; do sleep 1; done"
    job = submit(server, ["sh", "-c", script], health=check(port, starts_within_s=1))
    ended = wait_ended(server, job)
    assert (ended["ending"], ended["signal"]) == ("unhealthy", 9)


def test_a_service_is_asked_by_the_agent_that_comes_after(
    server: Server, agent: Agent, tmp_path: Path
) -> None:
    port = free_port()
    job = serve(server, tmp_path, health=check(port, starts_within_s=1))
    wait_health(server, job, "healthy")
    agent.kill()
    (tmp_path / "mode-0").write_text("500")
    agent.start()
    # It was healthy before, so that it is not coming up now: two failures end it.
    ended = wait_ended(server, job)
    assert ended["reason"] == "2 health checks in a row failed: HTTP 500"


def test_what_an_agent_gave_up_before_it_was_killed_is_said_by_the_next(
    server: Server, agent: Agent
) -> None:
    port = free_port()
    script = "trap '' TERM; while :; do sleep 1; done"
    job = submit(server, ["sh", "-c", script], grace_s=30, health=check(port, starts_within_s=1))
    attempt = wait_health(server, job, "starting")["attempts"][0]["id"]
    folder = agent.folder / "attempts" / attempt
    wait_for("the request to end", lambda: (folder / "stop").exists())
    agent.kill()
    for pid in processes_of(attempt):
        os.kill(pid, signal.SIGKILL)
    agent.start()
    ended = wait_ended(server, job)
    assert (ended["ending"], ended["signal"]) == ("unhealthy", 9)
    assert ended["reason"] == "it did not come up within 1 s: connection refused"


def test_health_goes_on_while_the_server_is_away(
    server: Server, agent: Agent, tmp_path: Path
) -> None:
    port = free_port()
    job = serve(server, tmp_path, health=check(port))
    attempt = wait_health(server, job, "healthy")["attempts"][0]["id"]
    server.kill()
    (tmp_path / "mode-0").write_text("503")
    wait_for("its end", lambda: not processes_of(attempt))
    server.start()
    assert wait_ended(server, job)["ending"] == "unhealthy"


def test_the_example_of_the_docs_serves_two_replicas(
    server: Server, agent: Agent, tmp_path: Path
) -> None:
    page = (ROOT / "docs/jobs.md").read_text().split("## Services")[1]
    port = free_port(2)
    line = page.split("```\n")[1].replace("8000/", f"{port}/")
    words = shlex.split(line.replace("exec python ", f"exec {sys.executable} "))
    assert words[:3] == ["euvyra", "launch", "--service"]
    env = {**os.environ, "EUVYRA_SERVER": server.url, "EUVYRA_API_KEY": server.key}
    done = subprocess.run(
        [BUILD / "euvyra", "launch", "--project", "demo", *words[2:]],
        env=env,
        cwd=tmp_path,
        text=True,
        capture_output=True,
    )
    assert done.returncode == 0, done.stderr
    array = done.stdout.strip()
    for element in elements(server, array):
        wait_health(server, element["id"], "healthy")
    for n in range(2):
        with urllib.request.urlopen(f"http://127.0.0.1:{port + n}/") as answer:
            assert answer.status == 200
    listed = subprocess.run(
        [BUILD / "euvyra", "jobs"], env=env, text=True, capture_output=True
    ).stdout
    assert "2 running (2 healthy)" in listed, listed
    server.ok("POST", f"/api/v1/jobs/{array}/cancel")


def test_a_service_that_is_not_asked_starts_again_whatever_its_end(
    server: Server, agent: Agent
) -> None:
    job = submit(server, ["true"])
    assert wait_ended(server, job)["ending"] == "done"
    wait_ended(server, job, 2)
    server.ok("POST", f"/api/v1/jobs/{job}/cancel")
    wait_for("its end", lambda: show(server, job)["state"] == "cancelled")
