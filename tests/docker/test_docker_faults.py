"""Agents and engines die and come back; containers go on, and not a byte of their output is lost."""

from __future__ import annotations

import random
import signal
from pathlib import Path

import pytest
from docker_engine import PYTHON, DockerAgent, Engine
from job_calls import console, shown, submit, wait_closed, wait_state
from support import Server, wait_for

# Numbered lines, in bursts, until the file `go` is there; then so many more.
COUNTER = """
import os, sys, time
n = 0
def burst(count):
    global n
    os.write(1, b"".join(b"line %d\\n" % i for i in range(n, n + count)))
    n += count
while not os.path.exists("/euvyra/work/go"):
    burst(int(sys.argv[1]))
    time.sleep(0.01)
burst(1000)
"""


def folder_of(agent: DockerAgent) -> Path:
    folders: list[Path] = wait_for("the attempt", agent.attempts)
    return folders[0]


def wait_text(server: Server, run: str, more: int = 0) -> None:
    """Until there is more console text than now."""
    before = len(console(server, run))
    wait_for("more text", lambda: len(console(server, run)) > before + more)


def wait_size(file: Path, size: int) -> None:
    wait_for("the console to grow", lambda: file.exists() and file.stat().st_size > size)


def go(agent: DockerAgent) -> None:
    (folder_of(agent) / "work/go").touch()


def check_lines(text: bytes) -> int:
    """Every line once, in order."""
    lines = text.split(b"\n")
    assert lines.pop() == b""
    for i, line in enumerate(lines):
        assert line == b"line %d" % i, (i, line, len(lines))
    return len(lines)


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_a_restarted_agent_takes_the_container_up(
    server: Server, agent: DockerAgent, engine: Engine, number: int
) -> None:
    job, run = submit(server, ["python3", "-c", COUNTER, "3"])
    chance = random.Random(7)
    for _ in range(5):
        wait_text(server, run, 500)
        wait_for("a while", lambda: chance.random() < 0.02)
        agent.kill(number)
        assert len(agent.containers()) == 1  # it goes on
        agent.start()
    go(agent)
    seen = wait_closed(server, job)
    assert (seen["state"], len(seen["attempts"])) == ("succeeded", 1)
    assert check_lines(console(server, run)) > 1000
    wait_for("the container to go", lambda: agent.containers() == [])


def test_text_that_comes_fast_is_whole_after_kills(server: Server, agent: DockerAgent) -> None:
    job, run = submit(server, ["python3", "-c", COUNTER, "2000"])
    for wanted in (1_000_000, 6_000_000):
        wait_size(folder_of(agent) / "console", wanted)
        agent.kill()
        agent.start()
    go(agent)
    assert wait_closed(server, job, 120)["state"] == "succeeded"
    assert check_lines(console(server, run)) > 100_000


def test_a_container_that_ends_without_an_agent_is_told_later(
    server: Server, agent: DockerAgent, engine: Engine
) -> None:
    job, run = submit(server, ["python3", "-c", COUNTER + "sys.exit(9)", "3"])
    wait_for("the job's text", lambda: console(server, run))
    agent.kill()
    go(agent)
    (name,) = agent.containers()
    wait_for("its end", lambda: not engine.inspect(name)["State"]["Running"])
    agent.start()
    seen = wait_closed(server, job)
    assert (seen["state"], seen["exit_code"]) == ("failed", 9)
    assert check_lines(console(server, run)) > 1000


@pytest.mark.parametrize("state", ["offered", "claimed", "starting", "running"])
def test_an_agent_killed_at_the_start_starts_it_once(
    server: Server, agent: DockerAgent, engine: Engine, state: str
) -> None:
    states = ("offered", "claimed", "starting", "running", "succeeded")
    later = states[states.index(state) :]
    wait_for("the agent", lambda: "agent.ready" in agent.log())
    job, run = submit(server, ["sh", "-c", "echo one; sleep 0.2; echo two"])
    wait_for(f"it to be {state}", lambda: shown(server, job)["state"] in later)
    agent.kill()
    agent.start()
    seen = wait_closed(server, job)
    assert (seen["state"], len(seen["attempts"])) == ("succeeded", 1), seen
    assert console(server, run) == b"one\ntwo\n"
    wait_for("the folders to go", lambda: not agent.attempts())
    assert agent.containers() == []


@pytest.mark.parametrize("word", ["cancel", "timeout"])
def test_a_stop_goes_on_with_the_next_agent(server: Server, agent: DockerAgent, word: str) -> None:
    script = "trap 'echo asked' TERM; echo up; while :; do sleep 0.1; done"
    more = {"timeout_s": 3} if word == "timeout" else {}
    job, run = submit(server, ["sh", "-c", script], **{"grace_s": 4, **more})
    wait_for("the job's text", lambda: b"up" in console(server, run))
    if word == "cancel":
        server.ok("POST", f"/api/v1/jobs/{job}/cancel")
    wait_for("the request", lambda: b"asked" in console(server, run))
    agent.kill()
    agent.start()
    seen = wait_closed(server, job)
    assert seen["state"] == ("cancelled" if word == "cancel" else "failed"), seen
    assert word == "cancel" or seen["reason"] == "it ran longer than 3 s"


def test_an_end_that_an_earlier_agent_asked_for_is_a_stop(
    server: Server, agent: DockerAgent, engine: Engine
) -> None:
    script = (
        "trap 'echo asked; while [ ! -e /euvyra/work/go ]; do sleep 0.05; done; exit 3' TERM; "
        "echo up; while :; do sleep 0.1; done"
    )
    job, run = submit(server, ["sh", "-c", script], grace_s=600)
    wait_for("the job's text", lambda: b"up" in console(server, run))
    server.ok("POST", f"/api/v1/jobs/{job}/cancel")
    wait_for("the request", lambda: b"asked" in console(server, run))
    agent.kill()
    go(agent)
    (name,) = agent.containers()
    wait_for("its end", lambda: not engine.inspect(name)["State"]["Running"])
    agent.start()
    seen = wait_closed(server, job)
    assert (seen["state"], seen["reason"]) == ("cancelled", "it was stopped"), seen


def test_an_end_that_was_written_down_outlives_its_container(
    server: Server, agent: DockerAgent, engine: Engine
) -> None:
    script = "echo up; until [ -e /euvyra/work/go ]; do sleep 0.05; done; exit 6"
    job, run = submit(server, ["sh", "-c", script])
    wait_for("the job's text", lambda: console(server, run))
    assert server.process
    server.process.send_signal(signal.SIGSTOP)  # nobody hears of the end
    try:
        go(agent)
        wait_for("its end", (folder_of(agent) / "ended.json").exists)
        agent.kill()
        for name in agent.containers():
            engine.remove(name)
    finally:
        server.process.send_signal(signal.SIGCONT)
    agent.start()
    seen = wait_closed(server, job)
    assert (seen["state"], seen["exit_code"]) == ("failed", 6), seen


def test_a_container_goes_also_when_the_engine_was_away_at_its_end(
    server: Server, agent: DockerAgent, engine: Engine
) -> None:
    script = "echo up; until [ -e /euvyra/work/go ]; do sleep 0.05; done"
    job, run = submit(server, ["sh", "-c", script])
    wait_for("the job's text", lambda: console(server, run))
    assert server.process
    server.process.send_signal(signal.SIGSTOP)
    try:
        go(agent)
        wait_for("its end", (folder_of(agent) / "ended.json").exists)
        engine.kill()
    finally:
        server.process.send_signal(signal.SIGCONT)
    assert wait_closed(server, job)["state"] == "succeeded"
    wait_for("the agent to find the engine away", lambda: "attempt.remove" in agent.log())
    engine.start()
    wait_for("the folder to go", lambda: not agent.attempts())
    assert agent.containers() == []


def test_an_engine_that_is_killed_keeps_its_containers(
    server: Server, agent: DockerAgent, engine: Engine
) -> None:
    script = COUNTER.replace("0.01", "0.2")
    job, run = submit(server, ["python3", "-c", script, "3"])
    for _ in range(2):
        wait_text(server, run)
        engine.kill()
        wait_for("the agent to notice", lambda: "engine.away" in agent.log())
        assert shown(server, job)["state"] == "running"
        engine.start()
    wait_text(server, run)
    go(agent)
    seen = wait_closed(server, job)
    assert (seen["state"], len(seen["attempts"])) == ("succeeded", 1), seen
    assert check_lines(console(server, run)) > 1000
    assert "engine.back" in agent.log()


def test_what_ends_while_the_engine_is_away_is_told_when_it_is_back(
    server: Server, agent: DockerAgent, engine: Engine
) -> None:
    job, run = submit(
        server, ["python3", "-c", COUNTER.replace("0.01", "0.2") + "sys.exit(4)", "3"]
    )
    wait_for("the job's text", lambda: console(server, run))
    (name,) = agent.containers()
    pid = engine.pid_of(name)
    engine.kill()
    go(agent)
    wait_for("its end", lambda: not Path(f"/proc/{pid}").exists())
    agent.kill()  # both were away
    engine.start()
    agent.start()
    seen = wait_closed(server, job)
    assert (seen["state"], seen["exit_code"], len(seen["attempts"])) == ("failed", 4, 1), seen


def test_a_job_waits_for_an_engine_that_is_away(
    server: Server, agent: DockerAgent, engine: Engine
) -> None:
    wait_for("the agent", lambda: "agent.ready" in agent.log())
    engine.kill()
    job, run = submit(server, ["echo", "late"])
    wait_for(
        "the agent to notice",
        lambda: "engine.away" in agent.log() or "progress" in str(shown(server, job)["attempts"]),
    )
    engine.start()
    assert wait_closed(server, job)["state"] == "succeeded"
    assert console(server, run) == b"late\n"


def test_a_container_without_its_folder_is_swept_away(
    server: Server, agent: DockerAgent, engine: Engine
) -> None:
    wait_for("the agent", lambda: "agent.ready" in agent.log())
    mark = (agent.folder / "attempts/.docker-agent").read_text()
    labels = {"euvyra.agent": mark, "euvyra.attempt": "taaaaaaaaaaaa"}
    other = {"euvyra.agent": "aaaaaaaaaaaaa", "euvyra.attempt": "tbbbbbbbbbbbb"}
    for name, words in (("euvyra-taaaaaaaaaaaa", labels), ("euvyra-tbbbbbbbbbbbb", other)):
        body = {"Image": PYTHON, "Cmd": ["sleep", "1000"], "Labels": words}
        engine.ok("POST", f"/containers/create?name={name}", body)
        engine.ok("POST", f"/containers/{name}/start")
    try:
        agent.kill(signal.SIGTERM)
        agent.start()
        wait_for("it to go", lambda: agent.containers() == [])
        assert "euvyra-tbbbbbbbbbbbb" in engine.containers()
    finally:
        engine.remove("euvyra-tbbbbbbbbbbbb")


def test_a_fenced_attempt_is_killed(engine: Engine, tmp_path: Path) -> None:
    with Server(tmp_path / "data", "--lost-after", "1") as server:
        server.ok("PUT", "/api/v1/projects/demo", {})
        with DockerAgent(server, tmp_path / "agent", engine) as agent:
            job, run = submit(server, ["sh", "-c", "echo up; sleep 1000"])
            wait_for("the job's text", lambda: console(server, run))
            (first,) = agent.containers()
            assert agent.process
            agent.process.send_signal(signal.SIGSTOP)
            wait_for("it to be lost", lambda: shown(server, job)["attempts"][0]["state"] == "lost")
            assert first in agent.containers()  # silent is not gone
            agent.process.send_signal(signal.SIGCONT)
            wait_for("the old one to go", lambda: first not in agent.containers())
            wait_state(server, job, "running")
            assert len(shown(server, job)["attempts"]) == 2
