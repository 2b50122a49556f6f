"""Agents at the hardware: how long a job waits for its container or pod beside what the engine itself
takes, what an agent needs, its logs, and a thousand short containers. BENCH_AGENT chooses parts."""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import shutil
import ssl
import statistics
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import docker_engine
from agents import Agent
from docker_engine import PYTHON, DockerAgent, Engine
from job_calls import console, submit, wait_closed, wait_state
from kubernetes_cluster import PY, Front, KubernetesAgent, Namespace, running_cluster
from run import Figure
from support import Server, make_id, wait_for

ROUNDS, JOBS, SHORT, AT_ONCE, LOG_MB = 15, 50, 1000, 8, 64
NOW = ["date", "+%s%N"]
NOW_PYTHON = ["python3", "-c", "import time; print(time.time_ns())"]
TICKS = os.sysconf("SC_CLK_TCK")


@contextlib.contextmanager
def server_in(folder: Path) -> Iterator[Server]:
    folder.mkdir()
    with Server(folder / "data") as server:
        server.ok("PUT", "/api/v1/projects/demo", {})
        yield server


def job_ms(server: Server, command: list[str], **spec: Any) -> float:
    """From the submission to the first moment of the job's own program."""
    begin = time.time_ns()
    job, run = submit(server, command, **spec)
    wait_closed(server, job)
    return (int(console(server, run).split()[0]) - begin) / 1e6


def command_ms(run: Callable[[], str]) -> float:
    begin = time.time_ns()
    return (int(run().split()[0]) - begin) / 1e6


def in_turn(ours: Callable[[], float], theirs: Callable[[], float]) -> tuple[float, float]:
    """Medians, each measured after the other."""
    ours(), theirs()
    pairs = [(ours(), theirs()) for _ in range(ROUNDS)]
    return statistics.median(p[0] for p in pairs), statistics.median(p[1] for p in pairs)


def cpu_s(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


def rss_mb(pid: int) -> float:
    status = Path(f"/proc/{pid}/status").read_text()
    return int(status.split("VmRSS:")[1].split()[0]) / 1024


def needs(agent: Agent | KubernetesAgent, key: str, what: str) -> list[Figure]:
    """Memory and CPU of the agent over ten seconds."""
    assert agent.process
    before, begin = cpu_s(agent.process.pid), time.monotonic()
    time.sleep(10)
    percent = 100 * (cpu_s(agent.process.pid) - before) / (time.monotonic() - begin)
    return [
        Figure(f"{key}_rss_mb", rss_mb(agent.process.pid), "MB", f"memory of the agent, {what}"),
        Figure(f"{key}_cpu_percent", percent, "%", f"of one core, {what}"),
    ]


def idle_and_busy(server: Server, agent: Agent, key: str) -> list[Figure]:
    figures = needs(agent, f"{key}_idle", "idle")
    jobs = [submit(server, ["sleep", "1000"])[0] for _ in range(JOBS)]
    for job in jobs:
        wait_state(server, job, "running")
    figures += needs(agent, f"{key}_busy", f"{JOBS} jobs")
    for job in jobs:
        server.ok("POST", f"/api/v1/jobs/{job}/cancel")
    for job in jobs:
        wait_closed(server, job, 300)
    return figures


def log_speed(server: Server, key: str) -> list[Figure]:
    line = "x" * 99
    script = f"import sys; sys.stdout.write(('{line}' + chr(10)) * {LOG_MB * 10_000}); sys.stdout.flush()"
    begin = time.monotonic()
    job, run = submit(server, ["python3", "-c", script])
    wait_closed(server, job, 300)
    seconds = time.monotonic() - begin
    size = int(server.call("GET", f"/api/v1/runs/{run}/console?limit=1").headers["euvyra-size"])
    assert size == LOG_MB * 1_000_000, size
    script = "import time\nfor _ in range(20): print(time.time_ns(), flush=True); time.sleep(0.2)"
    _, run = submit(server, ["python3", "-c", script])
    delays, seen = [], b""
    while seen.count(b"\n") < 20:
        text = console(server, run)
        now = time.time_ns()
        delays += [(now - int(stamp)) / 1e6 for stamp in text[len(seen) :].split()]
        seen = text
        time.sleep(0.005)
    return [
        Figure(
            f"{key}_log_mb_per_s", LOG_MB / seconds, "MB/s", f"{LOG_MB} MB of lines, job and all"
        ),
        Figure(
            f"{key}_log_delay_ms", statistics.median(delays), "ms", "print to the server's answer"
        ),
    ]


def many(server: Server, agent: Agent, key: str, what: str) -> list[Figure]:
    """As many at once as two cores can start."""
    count = SHORT
    agent.kill()
    agent.start(*capacity(AT_ONCE))
    begin = time.monotonic()
    jobs = [submit(server, ["true"])[0] for _ in range(count)]
    states = [wait_closed(server, job, 1800)["state"] for job in jobs]
    assert states == ["succeeded"] * count
    seconds = time.monotonic() - begin
    return [
        Figure(
            f"{key}_short_per_s",
            count / seconds,
            "jobs/s",
            f"{count:,} {what}, {AT_ONCE} at once, none lost",
        )
    ]


def capacity(jobs: int) -> list[str]:
    return ["--slots", str(jobs), "--cpus", str(jobs), "--memory", "1000"]


def process_part(folder: Path) -> list[Figure]:
    with server_in(folder) as server:
        agent = Agent(server, folder / "agent")
        with agent:
            agent.kill()
            agent.start(*capacity(JOBS))
            ours, bare = in_turn(
                lambda: job_ms(server, NOW),
                lambda: command_ms(
                    lambda: subprocess.run(NOW, capture_output=True, text=True, check=True).stdout
                ),
            )
            return [
                Figure("process_start_ms", ours, "ms", "submitted to its program running"),
                Figure("process_bare_ms", bare, "ms", "fork and exec by Python"),
                *idle_and_busy(server, agent, "process"),
                *log_speed(server, "process"),
                *many(server, agent, "process", "processes"),
            ]


def docker_run(engine: Engine) -> str:
    command = [
        "/usr/bin/docker",
        "-H",
        f"unix://{engine.socket}",
        "run",
        "--rm",
        "--network",
        "euvyra",
        PYTHON,
    ]
    return subprocess.run([*command, *NOW], capture_output=True, text=True, check=True).stdout


def docker_part(folder: Path) -> list[Figure]:
    with server_in(folder) as server, docker_engine.engine() as engine:
        agent = DockerAgent(server, folder / "agent", engine)
        with agent:
            agent.kill()
            agent.start(*capacity(JOBS))
            ours, theirs = in_turn(
                lambda: job_ms(server, NOW), lambda: command_ms(lambda: docker_run(engine))
            )
            return [
                Figure(
                    "docker_start_ms",
                    ours,
                    "ms",
                    "submitted to its program running",
                    ours / theirs,
                    "docker run",
                ),
                Figure("docker_run_ms", theirs, "ms", "docker run, to its program running"),
                *idle_and_busy(server, agent, "docker"),
                *log_speed(server, "docker"),
                *many(server, agent, "docker", "containers"),
            ]


class Api:
    """The API server as the agent's account may use it."""

    def __init__(self, cluster: Any, space: Any) -> None:
        self.port, self.token, self.name = cluster.api_port, space.token, space.name
        self.context = ssl.create_default_context(cafile=str(cluster.folder / "pki/ca.crt"))

    def call(self, method: str, path: str, body: Any = None) -> tuple[int, bytes]:
        there = http.client.HTTPSConnection("127.0.0.1", self.port, context=self.context)
        with contextlib.closing(there):
            headers = {"Authorization": f"Bearer {self.token}", "Content-Type": "application/json"}
            there.request(method, path, json.dumps(body) if body else None, headers)
            answer = there.getresponse()
            return answer.status, answer.read()

    def bare_job(self, image: str) -> str:
        """What a Job without us prints."""
        name = make_id("j")
        own = {
            "allowPrivilegeEscalation": False,
            "capabilities": {"drop": ["ALL"]},
            "runAsNonRoot": True,
            "runAsUser": 10001,
            "seccompProfile": {"type": "RuntimeDefault"},
        }
        main = {"name": "main", "image": image, "command": NOW_PYTHON, "securityContext": own}
        template = {"spec": {"restartPolicy": "Never", "containers": [main]}}
        job = {"metadata": {"name": name}, "spec": {"backoffLimit": 0, "template": template}}
        status, said = self.call("POST", f"/apis/batch/v1/namespaces/{self.name}/jobs", job)
        assert status == 201, said
        pods = f"/api/v1/namespaces/{self.name}/pods"

        def printed() -> str:
            _, found = self.call("GET", f"{pods}?labelSelector=job-name%3D{name}")
            for pod in json.loads(found)["items"]:
                status, text = self.call("GET", f"{pods}/{pod['metadata']['name']}/log")
                if status == 200 and text:
                    return text.decode()
            return ""

        return str(wait_for("its text", printed))


def kubernetes_part(folder: Path) -> list[Figure]:
    with server_in(folder) as server, running_cluster() as cluster:
        space, front = Namespace(cluster, folder), Front(cluster, server)
        api = Api(cluster, space)
        with KubernetesAgent(server, space, front, folder / "agent") as agent:
            ours, theirs = in_turn(
                lambda: job_ms(server, NOW_PYTHON, image=PY),
                lambda: command_ms(lambda: api.bare_job(PY)),
            )
            figures = needs(agent, "kubernetes_idle", "idle")
        front.close()
        space.delete()
    return [
        Figure(
            "pod_start_ms", ours, "ms", "submitted to its program running", ours / theirs, "Job"
        ),
        Figure("bare_job_ms", theirs, "ms", "a Job of the same image, to its program running"),
        *figures,
    ]


PARTS = {"process": process_part, "docker": docker_part, "kubernetes": kubernetes_part}


def figures() -> list[Figure]:
    wanted = os.environ.get("BENCH_AGENT", ",".join(PARTS)).split(",")
    folder = Path(tempfile.mkdtemp(prefix="euvyra-bench."))
    try:
        return [row for name in wanted for row in PARTS[name](folder / name)]
    finally:
        shutil.rmtree(folder, ignore_errors=True)
