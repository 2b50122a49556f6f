"""GPUs by UUID through a real engine: a stand-in for NVIDIA's hook writes down what it was asked for."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from docker_engine import PYTHON, DockerAgent, Engine
from fake_nvml import FakeGpus, uuid
from job_calls import console, shown, submit, wait_closed, wait_state
from support import Server, wait_for

SHOW = ["sh", "-c", 'echo "$NVIDIA_VISIBLE_DEVICES|$NVIDIA_DRIVER_CAPABILITIES"; sleep 1000']


@pytest.fixture
def gpus(tmp_path: Path) -> Iterator[FakeGpus]:
    said = FakeGpus(tmp_path)
    with said.used():
        yield said


@pytest.fixture
def agent(server: Server, tmp_path: Path, engine: Engine, gpus: FakeGpus) -> Iterator[DockerAgent]:
    with DockerAgent(server, tmp_path / "agent", engine) as running:
        running.kill(signal.SIGTERM)
        running.start(*gpus.options)
        yield running


def asked(engine: Engine, container: str) -> str:
    """What the hook was asked for by this container."""
    wanted = engine.inspect(container)["Id"]
    lines = (engine.folder / "gpu-hook.log").read_text().splitlines()
    return next(line.split(" ", 1)[1] for line in lines if line.startswith(wanted))


def requests(engine: Engine, container: str) -> Any:
    return engine.inspect(container)["HostConfig"]["DeviceRequests"]


def test_a_job_is_given_its_gpus_alone(server: Server, agent: DockerAgent, engine: Engine) -> None:
    job, run = submit(server, SHOW, gpus=2, env={"NVIDIA_VISIBLE_DEVICES": "all"})
    wait_for("the job's text", lambda: console(server, run))
    (name,) = agent.containers()
    (request,) = requests(engine, name)
    assert len(request["DeviceIDs"]) == 2 and request["Driver"] == "nvidia"
    assert set(request["DeviceIDs"]) <= {uuid(i) for i in range(8)}
    ids = ",".join(request["DeviceIDs"])
    assert console(server, run) == f"{ids}|compute,utility\n".encode()
    assert engine.inspect(name)["Config"]["Labels"]["euvyra.gpus"] == ids
    told = asked(engine, name)
    assert f"NVIDIA_VISIBLE_DEVICES={ids}" in told and "DEVICES=all" not in told
    assert shown(server, job)["state"] == "running"


def test_a_job_without_gpus_is_given_none(
    server: Server, agent: DockerAgent, engine: Engine
) -> None:
    _, run = submit(server, SHOW)
    wait_for("the job's text", lambda: console(server, run))
    (name,) = agent.containers()
    assert not requests(engine, name)
    assert console(server, run) == b"void|\n"


def test_the_user_s_capabilities_stay(server: Server, agent: DockerAgent) -> None:
    _, run = submit(server, SHOW, gpus=1, env={"NVIDIA_DRIVER_CAPABILITIES": "all"})
    wait_for("the job's text", lambda: console(server, run))
    assert console(server, run).endswith(b"|all\n")


def test_two_agents_on_one_engine_never_share_a_gpu(
    server: Server, tmp_path: Path, engine: Engine, gpus: FakeGpus
) -> None:
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
    with (
        DockerAgent(server, tmp_path / "one/agent", engine, "one") as one,
        DockerAgent(server, tmp_path / "two/agent", engine, "two") as two,
    ):
        for agent in (one, two):
            agent.kill(signal.SIGTERM)
            agent.start(*gpus.options)
        jobs = [submit(server, SHOW, gpus=4)[0] for _ in range(2)]
        for job in jobs:
            wait_state(server, job, "running")
        held = [requests(engine, c)[0]["DeviceIDs"] for c in one.containers() + two.containers()]
        assert len(held) == 2 and len(set(held[0] + held[1])) == 8


@pytest.mark.parametrize("state", ["created", "running"])
def test_a_gpu_that_another_container_of_ours_has_is_refused(
    server: Server, agent: DockerAgent, engine: Engine, state: str
) -> None:
    """The claims on disk were lost, or the other agent has others: the engine knows."""
    labels = {
        "euvyra.agent": "aaaaaaaaaaaaa",
        "euvyra.attempt": "tzzzzzzzzzzzz",
        "euvyra.gpus": ",".join(uuid(i) for i in range(8)),
    }
    body = {"Image": PYTHON, "Cmd": ["sleep", "1000"], "Labels": labels}
    engine.ok("POST", "/containers/create?name=euvyra-tzzzzzzzzzzzz", body)
    if state == "running":
        engine.ok("POST", "/containers/euvyra-tzzzzzzzzzzzz/start")
    try:
        job, _ = submit(server, SHOW, gpus=1)
        seen = wait_closed(server, job)
        assert seen["state"] == "failed"
        assert "is in use by attempt tzzzzzzzzzzzz, of another agent" in seen["reason"]
    finally:
        engine.remove("euvyra-tzzzzzzzzzzzz")


def test_gpus_that_cannot_be_given_are_told(
    server: Server, agent: DockerAgent, engine: Engine
) -> None:
    fails = engine.folder / "gpu-hook.fail"
    fails.touch()
    try:
        job, _ = submit(server, SHOW, gpus=1)
        seen = wait_closed(server, job)
    finally:
        fails.unlink()
    assert seen["state"] == "failed"
    assert "its GPUs cannot be given: device error" in seen["reason"], seen
    wait_for("the container to go", lambda: agent.containers() == [])
