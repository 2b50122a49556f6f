"""GPUs by UUID: jobs are told which are theirs, and no two jobs of a machine have the same one."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from agents import Agent
from support import BUILD, Server, wait_for
from test_agent import console, job_state, submit, wait_closed, wait_state

NVML = BUILD / "src/probe/libfake_nvml.so"
SHOW = ["sh", "-c", 'echo "$CUDA_VISIBLE_DEVICES"; while [ ! -e go ]; do sleep 0.02; done']


@pytest.fixture(autouse=True)
def eight_gpus(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """What the GPUs say."""
    said = tmp_path / "nvml.txt"
    said.write_text("* count 8\n")
    monkeypatch.setenv("EUVYRA_FAKE_NVML", str(said))
    return said


def start(agent: Agent, tmp_path: Path) -> Agent:
    return agent.start("--nvml", str(NVML), "--gpu-claims", str(tmp_path / "claims"))


@pytest.fixture
def agents(server: Server, tmp_path: Path) -> Iterator[list[Agent]]:
    """Two on one machine."""
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
    both = [Agent(server, tmp_path / name / "agent", name) for name in ("one", "two")]
    for agent in both:
        start(agent, tmp_path)
    yield both
    for agent in both:
        agent.__exit__()


def gpus_of(server: Server, run: str) -> set[str]:
    text = wait_for("its GPUs", lambda: console(server, run).decode())
    return set(text.strip().split(","))


def go(agents: list[Agent]) -> None:
    for agent in agents:
        for folder in agent.attempts():
            (folder / "work/go").touch()


def test_jobs_of_two_agents_never_share_a_gpu(
    server: Server, agents: list[Agent], tmp_path: Path
) -> None:
    jobs = [submit(server, SHOW, gpus=4) for _ in range(2)]
    for job, _ in jobs:
        wait_state(server, job, "running")
    sets = [gpus_of(server, run) for _, run in jobs]
    assert all(len(one) == 4 for one in sets)
    assert len(set.union(*sets)) == 8
    # Each agent believes in eight GPUs, so a third job is offered: it finds none free.
    late, _ = submit(server, SHOW, gpus=4)
    wait_state(server, late, "starting")
    go(agents)
    for job, _ in jobs:
        assert wait_closed(server, job)["state"] == "succeeded"
    wait_state(server, late, "running")
    go(agents)
    assert wait_closed(server, late)["gpu_ms"] > 0
    wait_for("the claims to go", lambda: not list((tmp_path / "claims").glob("G*")))


def test_a_restarted_agent_keeps_what_its_job_has(
    server: Server, agents: list[Agent], tmp_path: Path
) -> None:
    job, run = submit(server, SHOW, gpus=3)
    wait_state(server, job, "running")
    mine = gpus_of(server, run)
    held = next(agent for agent in agents if agent.attempts())
    held.kill()
    start(held, tmp_path)
    other, other_run = submit(server, SHOW, gpus=5)
    wait_state(server, other, "running")
    assert not mine & gpus_of(server, other_run)
    assert job_state(server, job) == "running"
    go(agents)
    assert wait_closed(server, job)["state"] == "succeeded"
    assert wait_closed(server, other)["state"] == "succeeded"


def test_a_job_without_gpus_is_given_none(server: Server, agents: list[Agent]) -> None:
    job, run = submit(server, ["sh", "-c", 'echo "<$CUDA_VISIBLE_DEVICES>"'])
    wait_closed(server, job)
    assert console(server, run) == b"<>\n"
