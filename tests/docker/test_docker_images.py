"""Images: digests, registries with and without credentials, and everything that can be wrong with them."""

from __future__ import annotations

import json
import random
import re
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from docker_engine import PYTHON, DockerAgent, Engine, Registry, tar_of
from job_calls import console, shown, submit, wait_closed, wait_state
from support import Server, wait_for

HOST = "127.0.0.1:5000"
MANIFEST = "application/vnd.docker.distribution.manifest.v2+json"


@pytest.fixture
def registry(engine: Engine, tmp_path: Path) -> Iterator[Registry]:
    with Registry(engine, tmp_path / "registry") as running:
        yield running


def small_image(engine: Engine, tag: str, text: str) -> str:
    return engine.build(tag, f"FROM {PYTHON}\nCOPY word /word\n", {"word": text.encode()})


def forget(engine: Engine, name: str) -> None:
    """All that the engine has of a repository of the registry."""
    for image in engine.ok("GET", "/images/json?digests=1"):
        for digest in image["RepoDigests"] or []:
            if digest.startswith(f"{HOST}/{name}@"):
                engine.call("DELETE", f"/images/{digest}?force=1")


def image_of(server: Server, job: str) -> str:
    return str(shown(server, job)["attempts"][-1]["image"])


def reason(server: Server, job: str) -> str:
    seen = wait_closed(server, job)
    assert seen["state"] == "failed", seen
    return str(seen["reason"])


def test_a_tag_becomes_a_digest_once(
    server: Server, agent: DockerAgent, engine: Engine, registry: Registry
) -> None:
    first = registry.push(small_image(engine, "euvyra-test/word:1", "one\n"), "team/word")
    forget(engine, "team/word")
    job, run = submit(server, ["cat", "/word"], image=f"{HOST}/team/word:1")
    assert wait_closed(server, job)["state"] == "succeeded"
    assert (console(server, run), image_of(server, job)) == (b"one\n", first)
    second = registry.push(small_image(engine, "euvyra-test/word:2", "two\n"), "team/word")
    assert second != first
    engine.ok(
        "POST", f"/images/{first}/tag?repo={HOST}/team/word&tag=1"
    )  # as a pull by hand left it
    job, run = submit(server, ["cat", "/word"], image=f"{HOST}/team/word:1")  # the tag has moved
    assert wait_closed(server, job)["state"] == "succeeded"
    assert (console(server, run), image_of(server, job)) == (b"two\n", second)
    job, run = submit(server, ["cat", "/word"], image=first)
    assert wait_closed(server, job)["state"] == "succeeded"
    assert (console(server, run), image_of(server, job)) == (b"one\n", first)


def test_an_image_of_this_machine_alone_runs_by_its_id(
    server: Server, agent: DockerAgent, engine: Engine
) -> None:
    small_image(engine, "euvyra-test/local:1", "here\n")
    job, run = submit(server, ["cat", "/word"], image="euvyra-test/local:1")
    assert wait_closed(server, job)["state"] == "succeeded"
    assert console(server, run) == b"here\n"
    assert image_of(server, job) == engine.ok("GET", "/images/euvyra-test/local:1/json")["Id"]


def test_what_is_wrong_with_an_image_is_told_apart(
    server: Server, agent: DockerAgent, engine: Engine, registry: Registry
) -> None:
    job, _ = submit(server, ["true"], image=f"{HOST}/team/nothing:1")
    assert reason(server, job) == f"image {HOST}/team/nothing:1 does not exist"
    assert shown(server, job)["ending"] == "image"
    gone = f"{HOST}/team/word@sha256:{'0' * 64}"
    registry.push(PYTHON, "team/word")
    job, _ = submit(server, ["true"], image=gone)
    assert reason(server, job) == f"image {gone} is not in its registry (any more)"
    job, _ = submit(server, ["true"], image=f"{HOST}/Team/Word")
    assert "is no name of an image" in reason(server, job)
    wait_for("the containers to go", lambda: agent.containers() == [])


def foreign_image(engine: Engine, tag: str) -> None:
    """An image for another machine, as `docker save` writes one."""
    layer = tar_of({"word": b"x"})
    import hashlib

    config = {
        "architecture": "s390x",
        "os": "linux",
        "config": {"Cmd": ["/word"]},
        "rootfs": {"type": "layers", "diff_ids": ["sha256:" + hashlib.sha256(layer).hexdigest()]},
    }
    manifest = [{"Config": "config.json", "RepoTags": [tag], "Layers": ["layer.tar"]}]
    archive = tar_of(
        {
            "config.json": json.dumps(config).encode(),
            "layer.tar": layer,
            "manifest.json": json.dumps(manifest).encode(),
        }
    )
    engine.ok("POST", "/images/load", archive, headers={"Content-Type": "application/x-tar"})


def test_an_image_for_another_machine_is_told(
    server: Server, agent: DockerAgent, engine: Engine, registry: Registry
) -> None:
    foreign_image(engine, "euvyra-test/foreign:1")
    job, _ = submit(server, ["true"], image="euvyra-test/foreign:1")
    wanted = "is not for this kind of machine (linux/amd64)"
    assert reason(server, job) == f"image euvyra-test/foreign:1 {wanted}"
    digest = registry.push("euvyra-test/foreign:1", "team/foreign")
    forget(engine, "team/foreign")
    job, _ = submit(server, ["true"], image=f"{HOST}/team/foreign:1")
    assert reason(server, job) == f"image {HOST}/team/foreign:1 {wanted}"
    status, body = registry.send(
        "GET", f"/v2/team/foreign/manifests/{digest.split('@')[1]}", kind=""
    )
    entry = {
        "mediaType": MANIFEST,
        "digest": digest.split("@")[1],
        "size": len(body),
        "platform": {"architecture": "s390x", "os": "linux"},
    }
    kind = "application/vnd.docker.distribution.manifest.list.v2+json"
    several = json.dumps({"schemaVersion": 2, "mediaType": kind, "manifests": [entry]}).encode()
    status, body = registry.send("PUT", "/v2/team/foreign/manifests/list", several, kind)
    assert status == 201, body
    job, _ = submit(server, ["true"], image=f"{HOST}/team/foreign:list")
    assert reason(server, job) == f"image {HOST}/team/foreign:list {wanted}"


def secret(server: Server, name: str, value: str) -> None:
    server.ok("PUT", f"/api/v1/projects/demo/secrets/{name}", {"value": value})


def test_a_private_registry_wants_the_job_s_credential(
    server: Server, agent: DockerAgent, engine: Engine, tmp_path: Path
) -> None:
    password = "open>>>sesame???"  # in base64 with every character of it
    with Registry(engine, tmp_path / "private", password=password) as registry:
        digest = registry.push(small_image(engine, "euvyra-test/word:3", "mine\n"), "team/secret")
        image = f"{HOST}/team/secret:1"
        secret(server, "REGISTRY", f"trainer:{password}")
        secret(server, "WRONG", f"trainer:{password}2")
        job, _ = submit(server, ["true"], image=image)
        assert "refuses image" in reason(server, job)
        job, _ = submit(server, ["true"], image=image, registry="WRONG")
        assert "the credential may not read it" in reason(server, job)
        for _ in range(2):  # the second time it is on this machine already
            job, run = submit(server, ["cat", "/word"], image=image, registry="REGISTRY")
            seen = wait_closed(server, job)
            assert (seen["state"], console(server, run)) == ("succeeded", b"mine\n"), seen
            assert image_of(server, job) == digest
        for name in (image, digest):  # being here does not make it public
            job, _ = submit(server, ["true"], image=name)
            assert "refuses image" in reason(server, job)
        assert "sesame" not in agent.log()
        for file in (engine.folder / "docker.log", *agent.folder.rglob("*")):
            assert not file.is_file() or password.encode() not in file.read_bytes(), file


def test_a_registry_that_is_away_is_waited_for(
    server: Server, agent: DockerAgent, engine: Engine, tmp_path: Path
) -> None:
    registry = Registry(engine, tmp_path / "registry").start()
    registry.push(small_image(engine, "euvyra-test/word:4", "late\n"), "team/late")
    forget(engine, "team/late")
    registry.stop()
    job, run = submit(server, ["cat", "/word"], image=f"{HOST}/team/late:1")
    wait_for(
        "what it waits for",
        lambda: "connection refused" in str(shown(server, job)["attempts"][-1:]),
    )
    with registry:
        seen = wait_closed(server, job)
        assert (seen["state"], console(server, run)) == ("succeeded", b"late\n"), seen
    # What is here by digest runs also without its registry.
    job, run = submit(server, ["cat", "/word"], image=image_of(server, job))
    seen = wait_closed(server, job)
    assert (seen["state"], console(server, run)) == ("succeeded", b"late\n"), seen


def test_how_far_a_pull_is_is_shown(
    server: Server, agent: DockerAgent, engine: Engine, registry: Registry
) -> None:
    large = {"word": random.Random(3).randbytes(48 * 1024 * 1024)}
    local = engine.build("euvyra-test/large:1", f"FROM {PYTHON}\nCOPY word /word\n", large)
    image = registry.push(local, "team/large")
    forget(engine, "team/large")
    engine.ok("DELETE", f"/images/{local}")
    job, _ = submit(server, ["true"], image=image)
    arriving = (engine.folder / "data/tmp").glob
    wait_for("its layer", lambda: any(f.stat().st_size for f in arriving("GetImageBlob*")))
    assert registry.process
    registry.process.send_signal(signal.SIGSTOP)

    def progress() -> str:
        return str(shown(server, job)["attempts"][-1].get("progress"))

    try:
        wait_for("its progress", lambda: re.fullmatch(r"pulling: \d+ of 51 MB", progress()))
    finally:
        registry.process.send_signal(signal.SIGCONT)
    assert wait_closed(server, job)["state"] == "succeeded"
    assert progress() in ("", "None")


def test_a_registry_that_hangs_holds_up_its_job_alone(
    server: Server, agent: DockerAgent, engine: Engine, registry: Registry
) -> None:
    registry.push(small_image(engine, "euvyra-test/word:5", "slow\n"), "team/slow")
    forget(engine, "team/slow")
    assert registry.process
    registry.process.send_signal(signal.SIGSTOP)
    try:
        slow, run = submit(server, ["cat", "/word"], image=f"{HOST}/team/slow:1")
        stopped, _ = submit(server, ["true"], image=f"{HOST}/team/slow:1")
        wait_state(server, slow, "starting")
        wait_state(server, stopped, "starting")
        server.ok("POST", f"/api/v1/jobs/{stopped}/cancel")
        assert wait_closed(server, stopped)["state"] == "cancelled"
        other, _ = submit(server, ["true"])
        assert wait_closed(server, other)["state"] == "succeeded"
        assert shown(server, slow)["state"] == "starting"
    finally:
        registry.process.send_signal(signal.SIGCONT)
    seen = wait_closed(server, slow)
    assert (seen["state"], console(server, run)) == ("succeeded", b"slow\n"), seen


def test_a_container_that_another_agent_has_made_is_left_alone(
    server: Server, agent: DockerAgent, engine: Engine, registry: Registry
) -> None:
    """Of a copy of this machine's folder, or of what was in it before: it has our name for it."""
    registry.push(small_image(engine, "euvyra-test/word:6", "ours\n"), "team/ours")
    assert registry.process
    registry.process.send_signal(signal.SIGSTOP)
    try:
        job, _ = submit(server, ["cat", "/word"], image=f"{HOST}/team/ours:1")
        name = "euvyra-" + str(wait_state(server, job, "starting")["attempts"][-1]["id"])
        labels = {"euvyra.agent": "aaaaaaaaaaaaa", "euvyra.attempt": name.removeprefix("euvyra-")}
        body = {"Image": PYTHON, "Cmd": ["sleep", "1000"], "Labels": labels}
        engine.ok("POST", f"/containers/create?name={name}", body)
        engine.ok("POST", f"/containers/{name}/start")
    finally:
        registry.process.send_signal(signal.SIGCONT)
    try:
        assert reason(server, job) == f"a container {name} is there that another agent has made"
        wait_for("the folder to go", lambda: not agent.attempts())
        assert engine.inspect(name)["State"]["Running"]
    finally:
        engine.remove(name)


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_a_restart_of_the_agent_in_a_pull_ends_no_job(
    server: Server, agent: DockerAgent, engine: Engine, registry: Registry, number: int
) -> None:
    image = registry.push(small_image(engine, "euvyra-test/word:7", "came\n"), "team/came")
    forget(engine, "team/came")
    assert registry.process
    registry.process.send_signal(signal.SIGSTOP)
    job, run = submit(server, ["cat", "/word"], image=image)
    wait_state(server, job, "starting")
    wait_for("its start", lambda: list(agent.folder.glob("attempts/t*/docker.json")))
    agent.kill(number)
    agent.start()
    registry.process.send_signal(signal.SIGCONT)
    seen = wait_closed(server, job)
    assert (seen["state"], len(seen["attempts"])) == ("succeeded", 1), seen
    assert console(server, run) == b"came\n"


def test_a_registry_that_stays_away_fails_the_job(
    server: Server, tmp_path: Path, engine: Engine
) -> None:
    with DockerAgent(server, tmp_path / "agent", engine) as agent:
        agent.kill(signal.SIGTERM)
        agent.start("--pull-minutes", "0")
        job, _ = submit(server, ["true"], image=f"{HOST}/team/away:1")
        assert "cannot be had from its registry now" in reason(server, job)


def test_a_stop_ends_a_wait_for_a_registry(server: Server, agent: DockerAgent) -> None:
    job, _ = submit(server, ["true"], image=f"{HOST}/team/away:1")
    wait_for("it to wait", lambda: "waiting" in str(shown(server, job)["attempts"][-1:]))
    server.ok("POST", f"/api/v1/jobs/{job}/cancel")
    seen = wait_closed(server, job)
    assert seen["state"] == "cancelled", seen
    wait_for("the folder to go", lambda: not agent.attempts())
