"""Starting an agent beside a Docker engine: docs/docker.md as it stands, volumes, and bad starts."""

from __future__ import annotations

import os
import re
import shlex
import signal
import subprocess
from pathlib import Path

import pytest
from docker_engine import PYTHON, DockerAgent, Engine, Registry
from fake_nvml import FakeGpus
from job_calls import console, shown, submit, wait_closed, wait_state
from support import BUILD, ROOT, WAIT_S, Server, wait_for


def commands(program: str) -> list[list[str]]:
    """Lines of the page's blocks that call this program, as words."""
    text = (ROOT / "docs/docker.md").read_text()
    blocks = re.findall(r"^```\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    lines = [line for block in blocks for line in block.splitlines()]
    return [shlex.split(line) for line in lines if line.startswith(program + " ")]


def replace(words: list[str], values: dict[str, str]) -> list[str]:
    """The words with what is different here: options with values, and other words by themselves."""
    words = [values.get(word, word) for word in words]
    for i in range(len(words) - 1):
        words[i + 1] = values.get(f"{words[i]} _", words[i + 1])
    return words


def test_the_page_works_as_written(
    server: Server, tmp_path: Path, engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    (started,) = commands("euvyra-agent")
    (launched,) = commands("euvyra launch")
    for folder in [tmp_path, *tmp_path.parents]:
        if folder != Path("/tmp") and folder.is_relative_to("/tmp"):
            folder.chmod(0o755)
    server.ok("PUT", "/api/v1/projects/medical-ai", {})
    plain = engine.build(
        "euvyra-test/page:1", f"FROM {PYTHON}\nRUN ln -s python3 /usr/bin/python\n"
    )
    code = tmp_path / "code"
    code.mkdir()
    (code / "train.py").write_text("print('trained')")
    gpus = FakeGpus(tmp_path)
    agent = DockerAgent(server, tmp_path / "agent", engine)
    here = {
        "--server _": server.url,
        "--key-file _": str(agent.key_file),
        "--dir _": str(agent.folder),
        "--image _": PYTHON,
        "--job-user _": "nobody",
        "--volumes _": str(tmp_path),
    }
    started = [str(BUILD / "euvyra-agent"), *replace(started[1:], here)]
    started += ["--docker-socket", str(engine.socket), "--allow-old-runc", *gpus.options]
    with gpus.used(), Registry(engine, tmp_path / "registry") as registry, agent.ended():
        registry.push(plain, "team/train", "3")
        agent.process = subprocess.Popen(started, stderr=subprocess.DEVNULL)
        image = next(word for word in launched if "/team/train:3" in word)
        words = replace(launched[1:], {image: "127.0.0.1:5000/team/train:3"})
        done = subprocess.run(
            [BUILD / "euvyra", *words],
            env={**os.environ, "EUVYRA_SERVER": server.url, "EUVYRA_API_KEY": server.key},
            cwd=code,
            capture_output=True,
            text=True,
            timeout=2 * WAIT_S,
            check=False,
        )
        assert (done.returncode, "trained" in done.stdout) == (0, True), done.stderr


def test_the_page_names_every_option() -> None:
    page = (ROOT / "docs/docker.md").read_text()
    usage = subprocess.run([BUILD / "euvyra-agent", "--help"], capture_output=True, text=True)
    for option in ("--docker-socket", "--pull-minutes", "--allow-old-runc", "--server-for-jobs"):
        assert option in page and option in usage.stdout


def test_volumes_that_the_administrator_allows_are_given(
    server: Server, tmp_path: Path, engine: Engine
) -> None:
    allowed, other = tmp_path / "sets", tmp_path / "other"
    for folder in (allowed / "one", other):
        folder.mkdir(parents=True)
    (allowed / "one/x").write_text("from the set\n")
    volumes = [
        {"name": "set", "host_path": str(allowed / "one"), "read_only": True},
        {"name": "scratch", "host_path": str(allowed)},
        {"name": "other", "host_path": str(other)},
    ]
    with DockerAgent(server, tmp_path / "agent", engine) as agent:
        agent.kill(signal.SIGTERM)
        agent.start("--volumes", str(allowed))
        server.ok("PUT", "/api/v1/targets/here", {"volumes": volumes})
        script = "cat /sets/x; touch /sets/y 2>&1; echo made > /scratch/z"
        mounts = [{"name": "set", "path": "/sets"}, {"name": "scratch", "path": "/scratch"}]
        job, run = submit(server, ["sh", "-c", script], target="here", volumes=mounts)
        seen = wait_closed(server, job)
        text = console(server, run)
        assert seen["state"] == "succeeded", (seen, text)
        assert text.startswith(b"from the set\n") and b"Read-only file system" in text
        assert (allowed / "z").read_text() == "made\n"
        wanted = [{"name": "other", "path": "/o"}]
        job, _ = submit(server, ["true"], target="here", volumes=wanted)
        assert "is not allowed on this machine" in wait_closed(server, job)["reason"]


def start_badly(agent: DockerAgent, *options: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [
            str(BUILD / "euvyra-agent"),
            *("--server", agent.url, "--key-file", str(agent.key_file), "--allow-root"),
            *("--dir", str(agent.folder), "--executor", "docker", *options),
        ],
        capture_output=True,
        text=True,
        timeout=WAIT_S,
        check=False,
    )


def test_bad_starts_are_one_clear_line(server: Server, tmp_path: Path, engine: Engine) -> None:
    agent = DockerAgent(server, tmp_path / "agent", engine)
    here = ("--docker-socket", str(engine.socket), "--image", PYTHON)
    for options, code, said in (
        (("--docker-socket", str(engine.socket)), 2, "--image is missing"),
        (("--docker-socket", "docker.sock", "--image", "x"), 2, "socket is an absolute path"),
        ((*here, "--pull-minutes", "soon"), 2, "--pull-minutes is a number from 0 to 1440"),
        (here, 77, "an image can take over this machine (CVE-2024-21626"),
    ):
        done = start_badly(agent, *options)
        assert (done.returncode, said in done.stderr) == (code, True), done.stderr
    assert "--allow-old-runc" in start_badly(agent, *here).stderr


def test_a_socket_that_is_not_for_the_agent_is_told(
    server: Server, tmp_path: Path, engine: Engine
) -> None:
    agent = DockerAgent(server, tmp_path / "agent", engine)
    for folder in [engine.folder, tmp_path, *tmp_path.parents]:
        if folder != Path("/tmp") and folder.is_relative_to("/tmp"):
            folder.chmod(0o755)
    agent.folder.mkdir()
    for path in (agent.folder, agent.key_file):
        os.chown(path, 65534, 65534)
    done = subprocess.run(
        [
            *("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"),
            *(str(BUILD / "euvyra-agent"), "--server", agent.url, "--dir", str(agent.folder)),
            *("--key-file", str(agent.key_file), "--executor", "docker", "--image", PYTHON),
            *("--docker-socket", str(engine.socket)),
        ],
        capture_output=True,
        text=True,
        timeout=WAIT_S,
        check=False,
    )
    said = f"may not use the Docker engine at {engine.socket}"
    assert (done.returncode, said in done.stderr) == (77, True), done.stderr


def test_a_network_that_is_not_ours_is_left_alone(
    server: Server, tmp_path: Path, engine: Engine
) -> None:
    for name in engine.containers():
        engine.remove(name)
    engine.call("DELETE", "/networks/euvyra")
    engine.ok("POST", "/networks/create", {"Name": "euvyra", "Driver": "bridge"})
    try:
        agent = DockerAgent(server, tmp_path / "agent", engine)
        here = ("--docker-socket", str(engine.socket), "--image", PYTHON, "--allow-old-runc")
        done = start_badly(agent, *here)
        assert (done.returncode, 'a network "euvyra" that is not ours' in done.stderr) == (5, True)
    finally:
        engine.ok("DELETE", "/networks/euvyra")


def test_a_network_that_was_pruned_is_made_again(
    server: Server, agent: DockerAgent, engine: Engine
) -> None:
    wait_for("the agent", lambda: "agent.ready" in agent.log())
    engine.ok("DELETE", "/networks/euvyra")
    job, run = submit(server, ["echo", "fine"])
    assert wait_closed(server, job)["state"] == "succeeded"
    assert console(server, run) == b"fine\n"


def test_an_engine_that_comes_up_later_is_waited_for(
    server: Server, tmp_path: Path, engine: Engine
) -> None:
    with DockerAgent(server, tmp_path / "agent", engine) as agent:
        job, _ = submit(server, ["sleep", "1000"])
        wait_state(server, job, "running")
        agent.kill()
        engine.kill()
        agent.start()
        wait_for("the agent to say so", lambda: "engine.away" in agent.log())
        engine.start()
        wait_for("the agent", lambda: agent.log().count("agent.ready") == 2)
        assert shown(server, job)["state"] == "running"
