"""One job's file on every kind of hardware, and on none: what is recorded is the same."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import docker_engine
import euvyra
import pytest
from agents import Agent
from docker_engine import PYTHON, DockerAgent, Engine
from job_calls import console, shown
from kubernetes_cluster import PY, Front, KubernetesAgent, Namespace
from support import BUILD, Server, wait_for

TRAIN = """
import os, sys
import euvyra
run = euvyra.init()
os.write(1, f"lr {run.config['lr']} {os.environ['FLAVOUR']}\\n".encode())  # whole beside stderr
for step in range(20):
    run.log({"loss": 1 / (step + 1)}, step=step)
run.summary["best"] = 0.05
print("no more data", file=sys.stderr)
sys.exit(3)
"""
JOB = {
    "project": "demo",
    "name": "the same everywhere",
    "tags": ["table"],
    "notes": "one file",
    "spec": {
        "command": ["python3", "-u", "-c", TRAIN],
        "config": {"lr": 0.5, "layers": [1, 2]},
        "env": {"FLAVOUR": "plain"},
        "cpus": 1,
        "memory_bytes": 512 << 20,
        "timeout_s": 600,
        "grace_s": 5,
    },
}


def image_with_package(engine: Engine) -> str:
    """Python with the package, as a user would build it."""
    package = Path(str(euvyra.__file__)).parent
    files = {
        f"euvyra/{path.relative_to(package)}": path.read_bytes()
        for path in package.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    recipe = f"FROM {PYTHON}\nCOPY euvyra /usr/lib/python3/dist-packages/euvyra\n"
    return engine.build("euvyra-test/package:1", recipe, files)


@pytest.fixture
def environment(server: Server, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """python3 is the one that has the package, for the agent without containers too."""
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    monkeypatch.setenv("PATH", path)
    return {**os.environ, "EUVYRA_SERVER": server.url, "EUVYRA_API_KEY": server.key}


@pytest.fixture
def hardware(
    server: Server, space: Namespace, front: Front, tmp_path: Path, environment: dict[str, str]
) -> Iterator[None]:
    for name in ("plain", "engine", "cluster"):
        (tmp_path / name).mkdir()
    with docker_engine.engine() as engine:
        image = image_with_package(engine)
        plain = Agent(server, tmp_path / "plain/agent", "plain")
        boxes = DockerAgent(server, tmp_path / "engine/agent", engine, "engine")
        cluster = KubernetesAgent(server, space, front, tmp_path / "cluster/agent")
        with plain, boxes, cluster:
            boxes.kill()
            boxes.start("--image", image)
            cluster.kill()
            cluster.start("--image", PY)
            yield


def euvyra_run(tmp_path: Path, environment: dict[str, str], *words: str) -> tuple[int, str]:
    done = subprocess.run(
        [BUILD / "euvyra", *words],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    return done.returncode, done.stdout + done.stderr


def run_record(server: Server, run: str) -> dict[str, Any]:
    """What is kept of a run that does not depend on where and when it ran."""
    seen = server.ok("GET", f"/api/v1/runs/{run}")
    points = server.ok("GET", f"/api/v1/runs/{run}/metrics/points?metric=loss")
    return {
        "state": seen["state"],
        "exit code": seen["exit_code"],
        "name": seen["name"],
        "tags": seen["tags"],
        "notes": seen["notes"],
        "config": seen["config"],
        "summary": {key: seen["summary"].get(key) for key in ("best", "loss")},
        "steps": points["steps"],
        "values": points["values"],
        # Where the SDK records to is the machine's own, and engines do not keep the order of the
        # two streams.
        "console": sorted(
            line
            for line in console(server, run).decode().splitlines()
            if not line.startswith("euvyra: ")
        ),
    }


def whole_record(server: Server, run: str) -> dict[str, Any]:
    """What was acknowledged is read into rows a moment later."""

    def whole() -> dict[str, Any] | None:
        answer = server.call("GET", f"/api/v1/runs/{run}")
        if answer.status != 200 or answer.json["state"] != "failed":
            return None
        seen = run_record(server, run)
        parts = len(seen["values"]), len(seen["console"]), seen["summary"]["best"] is None
        return seen if parts == (20, 2, False) else None

    return dict(wait_for("the whole record", whole))


def job_record(server: Server, job: str) -> dict[str, Any]:
    seen = shown(server, job)
    names = ("state", "ending", "exit_code", "signal", "oom", "reason", "gpu_ms")
    return {f"job {name}": seen[name] for name in names}


def test_one_file_leaves_the_same_record_everywhere(
    server: Server, hardware: None, tmp_path: Path, environment: dict[str, str]
) -> None:
    file = tmp_path / "job.yaml"
    file.write_text(json.dumps(JOB))  # JSON is YAML
    table: dict[str, dict[str, Any]] = {}
    places = {
        "process": ["--target", "here", "--exclude", "engine"],
        "docker": ["--target", "here", "--exclude", "plain"],
        "kubernetes": ["--target", "cluster"],
    }
    for place, words in places.items():
        code, said = euvyra_run(
            tmp_path, environment, "launch", "-f", str(file), "--wait", "--no-code", *words
        )
        assert code == 3, said
        (job,) = [
            item["id"]
            for item in server.ok("GET", "/api/v1/jobs?project=demo")["items"]
            if item["id"] not in {row.get("id") for row in table.values()}
        ]
        run = shown(server, job)["run"]
        table[place] = {"id": job, **whole_record(server, run), **job_record(server, job)}
    code, said = euvyra_run(tmp_path, environment, "exec", "-f", str(file))
    assert code == 3, said
    (folder,) = (tmp_path / "euvyra-runs").iterdir()

    code, said = euvyra_run(tmp_path, environment, "sync", "euvyra-runs")  # to its last byte
    assert code == 0, said
    here = whole_record(server, folder.name)
    for place, row in table.items():
        del row["id"]
        assert {key: row[key] for key in here} == here, place
        assert row == table["process"], place
    assert here["console"] == ["lr 0.5 plain", "no more data"]
    assert here["values"] == [1 / (step + 1) for step in range(20)]
    assert here["config"] == JOB["spec"]["config"]  # type: ignore[index]
