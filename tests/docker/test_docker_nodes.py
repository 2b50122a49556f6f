"""Jobs on several machines as containers: four agents of one real engine, on a network that all of them
are on, and with the machine's own."""

from __future__ import annotations

import contextlib
import json
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from docker_engine import PYTHON, DockerAgent, Engine, Registry
from job_calls import MEET, console, shown, submit, texts, wait_closed, wait_state
from support import Server, wait_for


@pytest.fixture(params=["gang", "host"])
def agents(
    request: pytest.FixtureRequest, server: Server, tmp_path: Path, engine: Engine
) -> Iterator[list[DockerAgent]]:
    network = str(request.param)
    if network != "host":
        engine.ok("POST", "/networks/create", {"Name": network, "CheckDuplicate": True})
    made = []
    for number in range(4):
        (tmp_path / f"n{number}").mkdir()
        agent = DockerAgent(server, tmp_path / f"n{number}/agent", engine, f"n{number}")
        made.append(agent.start("--nodes-network", network))
    yield made
    for agent in made:
        agent.__exit__()
    if network != "host":
        engine.ok("DELETE", f"/networks/{network}")


def test_containers_of_a_job_meet_and_each_has_its_log(
    server: Server, agents: list[DockerAgent]
) -> None:
    job, run = submit(server, ["python3", "-c", MEET], nodes=4)
    seen = wait_closed(server, job)
    assert seen["state"] == "succeeded", (seen, texts(server, run))
    assert texts(server, run) == {
        0: "met ['1', '2', '3']\nrank 0 of 4\n",
        **{rank: f"rank {rank} of 4\n" for rank in (1, 2, 3)},
    }
    wait_for("the containers to go", lambda: not any(a.containers() for a in agents))


def test_a_container_that_dies_ends_the_others(server: Server, agents: list[DockerAgent]) -> None:
    script = "echo up; if [ $NODE_RANK = 1 ]; then sleep 0.5; exit 7; fi; sleep 600"
    job, run = submit(server, ["sh", "-c", script], nodes=4)
    seen = wait_closed(server, job)
    assert (seen["state"], seen["ending"], seen["exit_code"]) == ("failed", "exit_code", 7)
    endings = [part["ending"] for part in seen["attempts"][0]["placements"]]
    assert endings == ["other_rank", "exit_code", "other_rank", "other_rank"]
    assert set(texts(server, run).values()) == {"up\n"}
    wait_for("the containers to go", lambda: not any(a.containers() for a in agents))


def test_images_are_brought_before_the_first_rank_runs(
    server: Server, tmp_path: Path, engine: Engine
) -> None:
    engine.ok("POST", "/networks/create", {"Name": "gang", "CheckDuplicate": True})
    agents: dict[str, DockerAgent] = {}
    for name in ("n0", "n1"):
        (tmp_path / name).mkdir()
        agents[name] = DockerAgent(server, tmp_path / f"{name}/agent", engine, name)
        agents[name].start("--nodes-network", "gang")
    with (
        contextlib.ExitStack() as stack,
        Registry(engine, tmp_path / "registry") as registry,
    ):
        stack.callback(lambda: engine.ok("DELETE", "/networks/gang"))
        for agent in agents.values():
            stack.enter_context(agent.ended())
        image = registry.push(PYTHON, "team/gang")
        newer = engine.build("euvyra-test/gang:2", f"FROM {PYTHON}\nLABEL newer=yes\n")
        tag = image.split("@")[0] + ":1"
        assert registry.process
        registry.process.send_signal(signal.SIGSTOP)
        stay = "while not os.path.exists('/euvyra/work/go'): time.sleep(0.02)\n"
        job, run = submit(server, ["python3", "-c", MEET + stay], nodes=2, image=tag)
        records = "n?/agent/attempts/t*/docker.json"
        wait_for("their starts", lambda: len(list(tmp_path.glob(records))) == 2)
        placements = shown(server, job)["attempts"][0]["placements"]
        at = {part["rank"]: agents[part["agent"]] for part in placements}
        first, other = at[0], at[1]
        assert first.process
        first.process.send_signal(signal.SIGSTOP)
        registry.process.send_signal(signal.SIGCONT)

        def image_of(agent: DockerAgent) -> str:
            (folder,) = agent.attempts()
            return str(json.loads((folder / "docker.json").read_text())["image"])

        wait_for("the other's image", lambda: image_of(other) == image)
        assert image_of(first) == ""
        other.kill()  # and the image stays the one that it was
        assert registry.push(newer, "team/gang") != image
        other.start("--nodes-network", "gang")
        first.process.send_signal(signal.SIGCONT)
        wait_for("both to run", lambda: len(texts(server, run)) == 2)
        began = engine.inspect(first.containers()[0])["State"]["StartedAt"]
        made = engine.inspect(other.containers()[0])
        assert made["Created"] > began and made["Config"]["Image"] == image
        for agent in (first, other):
            (agent.attempts()[0] / "work/go").touch()
        seen = wait_closed(server, job)
        assert seen["state"] == "succeeded", (seen, texts(server, run))


def test_ranks_of_one_engine_survive_their_agents(
    server: Server, agents: list[DockerAgent], engine: Engine
) -> None:
    script = "echo up; sleep 3; echo done"
    job, run = submit(server, ["sh", "-c", script], nodes=2)
    wait_state(server, job, "running")
    names = [name for agent in agents for name in agent.containers()]
    assert len(set(names)) == 2
    network = engine.inspect(names[0])["HostConfig"]["NetworkMode"]
    for agent in agents:
        agent.kill()
    for agent in agents:
        agent.start("--nodes-network", network)
    assert wait_closed(server, job)["state"] == "succeeded"
    assert texts(server, run) == {0: "up\ndone\n", 1: "up\ndone\n"}
    assert console(server, run) == b"up\ndone\n"


def test_a_network_that_is_not_there_is_told(
    server: Server, tmp_path: Path, engine: Engine
) -> None:
    agent = DockerAgent(server, tmp_path / "agent", engine)
    agent.start("--nodes-network", "nowhere")
    assert agent.process and agent.process.wait(60) != 0
    assert 'the Docker engine has no network "nowhere"' in agent.log()
