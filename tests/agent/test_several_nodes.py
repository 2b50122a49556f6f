"""A job on four machines: they find each other, each has a log, and one that dies ends all."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from agents import Agent, processes_of
from job_calls import MEET, submit, texts, wait_closed, wait_state
from netns import Network
from support import Server, wait_for


class Cluster:
    def __init__(self, server: Server, network: Network, folder: Path) -> None:
        self.agents = []
        for number in range(4):
            (folder / f"n{number}").mkdir()
            agent = Agent(server, folder / f"n{number}/agent", f"n{number}")
            network.reach(number, server.port)
            agent.launcher = network.launcher(number)
            agent.start("--address", network.address(number))
            self.agents.append(agent)

    def attempts(self) -> list[Path]:
        return [folder for agent in self.agents for folder in agent.attempts()]


@pytest.fixture
def cluster(server: Server, tmp_path: Path) -> Iterator[Cluster]:
    with Network(4) as network:
        made = Cluster(server, network, tmp_path)
        yield made
        for agent in made.agents:
            agent.__exit__()


def test_four_machines_meet_and_each_has_its_log(server: Server, cluster: Cluster) -> None:
    job, run = submit(server, ["python3", "-c", MEET], nodes=4)
    shown = wait_closed(server, job)
    assert shown["state"] == "succeeded", shown
    assert texts(server, run) == {
        0: "met ['1', '2', '3']\nrank 0 of 4\n",
        **{rank: f"rank {rank} of 4\n" for rank in (1, 2, 3)},
    }
    assert server.ok("GET", f"/api/v1/runs/{run}")["state"] == "finished"
    assert len(shown["attempts"][0]["placements"]) == 4
    wait_for("the folders to go", lambda: not cluster.attempts())


def processes_in(folder: Path) -> list[int]:
    wanted = f"EUVYRA_DIR={folder}/runs".encode()
    return [
        pid
        for pid in processes_of(folder.name)
        if wanted in Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
    ]


@pytest.mark.parametrize(("victim", "how"), [(2, "exit 7"), (0, "kill -SEGV $$")])
def test_a_rank_that_dies_ends_all_with_its_reason(
    server: Server, cluster: Cluster, victim: int, how: str
) -> None:
    script = f"echo up; if [ $NODE_RANK = {victim} ]; then sleep 0.5; {how}; fi; sleep 600"
    job, run = submit(server, ["sh", "-c", script], nodes=4)
    shown = wait_closed(server, job)
    assert shown["state"] == "failed"
    if victim:
        assert (shown["ending"], shown["exit_code"]) == ("exit_code", 7)
    else:
        assert (shown["ending"], shown["signal"]) == ("signal", 11)
    endings = [part["ending"] for part in shown["attempts"][0]["placements"]]
    assert endings.count("other_rank") == 3 and endings[victim] != "other_rank"
    assert set(texts(server, run).values()) == {"up\n"}
    wait_for("the folders to go", lambda: not cluster.attempts())


def test_a_killed_supervisor_takes_no_other_rank_with_it(server: Server, cluster: Cluster) -> None:
    wait = 'trap "" TERM; while [ ! -e ../go ]; do sleep 0.05; done; exit 0'
    job, _ = submit(server, ["sh", "-c", wait], nodes=2, grace_s=60)
    wait_state(server, job, "running")
    first, second = cluster.attempts()
    (first / "kill").touch()
    for pid in processes_in(first):
        os.kill(pid, signal.SIGKILL)
    ended: Any = wait_for("an end", lambda: not processes_in(first))
    assert ended and processes_in(second)
    (second / "go").touch()
    assert wait_closed(server, job)["state"] == "failed"


def test_ranks_survive_their_agents(server: Server, cluster: Cluster) -> None:
    wait = "while [ ! -e ../go ]; do sleep 0.05; done; echo done"
    job, run = submit(server, ["sh", "-c", wait], nodes=4)
    wait_state(server, job, "running")
    for agent in cluster.agents:
        agent.kill()
    for folder in cluster.attempts():
        (folder / "go").touch()
    for agent in cluster.agents:
        agent.start("--address", "10.231.7.9")
    assert wait_closed(server, job)["state"] == "succeeded"
    assert texts(server, run) == dict.fromkeys(range(4), "done\n")
