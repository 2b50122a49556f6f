"""What an agent is told about the container of a job, and what the server keeps of it."""

from __future__ import annotations

from typing import Any

import pytest
from support import Server, wait_for
from test_jobs import show, started, submit, waits
from test_spec import able

IMAGE = "registry.example.org/team/train:1.2"
DIGEST = "registry.example.org/team/train@sha256:" + "ab" * 32


def rack(server: Server) -> None:
    """The target with three volumes, of which all jobs get one."""
    body = {
        "volumes": [
            {"name": "data", "host_path": "/srv/data", "read_only": True},
            {"name": "cache", "host_path": "/srv/cache"},
            {"name": "claim", "claim": "team-claim"},
        ],
        "settings": {"volumes": [{"name": "cache", "path": "/cache"}]},
    }
    server.ok("PUT", "/api/v1/targets/local", body)


def offer_of(agent: Any, job: str) -> dict[str, Any]:
    offer = dict(agent.offer())
    assert offer["job"] == job
    return offer


def test_volumes_are_told_by_where_they_lie(server: Server) -> None:
    agent = able(server, "image", "volumes")
    rack(server)
    own = [{"name": "data", "path": "/data"}, {"name": "claim", "path": "/c", "read_only": True}]
    offer = offer_of(agent, submit(server, image=IMAGE, target="local", volumes=own))
    assert offer["extra"]["image"] == IMAGE and "image" not in offer
    assert offer["mounts"] == [
        {"host_path": "/srv/data", "path": "/data", "read_only": True},
        {"claim": "team-claim", "path": "/c", "read_only": True},
        {"host_path": "/srv/cache", "path": "/cache", "read_only": False},
    ]


def test_the_volume_of_a_job_goes_over_that_of_its_target(server: Server) -> None:
    agent = able(server, "volumes")
    rack(server)
    offer = offer_of(
        agent, submit(server, target="local", volumes=[{"name": "data", "path": "/cache"}])
    )
    assert [m["host_path"] for m in offer["mounts"]] == ["/srv/data"]


def test_an_agent_that_has_no_volumes_is_told_of_none(server: Server) -> None:
    agent = able(server, "image")
    rack(server)
    assert "mounts" not in offer_of(agent, submit(server, image=IMAGE))


def test_a_volume_that_the_target_lost_is_waited_for(server: Server) -> None:
    agent = able(server, "volumes")
    rack(server)
    job = submit(server, target="local", volumes=[{"name": "data", "path": "/data"}])
    server.ok("PUT", "/api/v1/targets/local", {"volumes": [{"name": "cache", "host_path": "/c"}]})
    assert agent.poll(0)["offers"] == []

    def said() -> bool:
        agent.poll(0)
        events = server.ok("GET", f"/api/v1/jobs/{job}/events")["items"]
        return any("has no volume" in str(e) for e in events)

    wait_for("the reason", said)


def test_the_credential_of_a_registry_goes_to_the_agent_alone(server: Server) -> None:
    agent = able(server, "image", "registry")
    secret = {"value": "robot:s3cret:with:colons"}
    server.ok("PUT", "/api/v1/projects/demo/secrets/REGISTRY", secret)
    job = submit(server, image=IMAGE, registry="REGISTRY")
    offer = offer_of(agent, job)
    assert offer["registry"] == {"user": "robot", "secret": "s3cret:with:colons"}
    assert "s3cret" not in str(show(server, job))


def test_a_credential_without_a_user_is_not_given_out(server: Server) -> None:
    agent = able(server, "image", "registry")
    server.ok("PUT", "/api/v1/projects/demo/secrets/REGISTRY", {"value": "token-alone"})
    job = submit(server, image=IMAGE, registry="REGISTRY")

    def said() -> bool:
        assert agent.poll(0)["offers"] == []
        events = server.ok("GET", f"/api/v1/jobs/{job}/events")["items"]
        return any("secret REGISTRY is not USER:PASSWORD" in str(e) for e in events)

    wait_for("the reason", said)


def test_the_first_digest_is_kept_and_used_again(server: Server) -> None:
    agent = able(server, "image")
    job = submit(server, image=IMAGE, retries=1, retry_failed=True)
    attempt, token = started(server, agent, job)
    pulling = {"state": "starting", "progress": "pulling: 412 of 1,300 MB"}
    running = {"state": "running", "image": DIGEST}
    other = {"state": "running", "image": DIGEST.replace("ab", "cd")}
    assert agent.tell(attempt, token, "status", pulling).status == 200
    assert show(server, job)["attempts"][0]["progress"] == "pulling: 412 of 1,300 MB"
    for status in (running, other):
        assert agent.tell(attempt, token, "status", status).status == 200
    shown = show(server, job)["attempts"][0]
    assert (shown["image"], shown["progress"]) == (DIGEST, "")
    ended = {"state": "ended", "exit_code": 1, "final": True}
    assert agent.tell(attempt, token, "status", ended).status == 200
    del agent.held[attempt]
    offer = wait_for("the next attempt", lambda: agent.poll(1000)["offers"], 60)[0]
    assert offer["image"] == DIGEST and offer["extra"]["image"] == IMAGE


@pytest.mark.parametrize(
    ("said", "ending"),
    [
        ({"failed_to_start": True, "image_failed": True}, "image"),
        ({"exit_code": 1, "disk_full": True}, "disk_full"),
        ({"exit_code": 1, "gpu_failed": True}, "gpu_failed"),
    ],
)
def test_an_end_by_image_or_disk_is_told_apart(
    server: Server, said: dict[str, Any], ending: str
) -> None:
    agent = able(server, "image")
    job = submit(server, image=IMAGE, retries=0)
    attempt, token = started(server, agent, job)
    ended = {"state": "ended", "reason": "no such image", "final": True, **said}
    assert agent.tell(attempt, token, "status", ended).status == 200
    shown = show(server, job)
    assert (shown["state"], shown["ending"], shown["reason"]) == ("failed", ending, "no such image")
    assert shown["attempts"][0]["ending"] == ending
    del agent.held[attempt]


def test_what_needs_a_container_waits_for_one(server: Server) -> None:
    able(server, "image").poll(0)
    job = submit(server, image=IMAGE, shm_bytes=1 << 30)
    assert "shm" in str(waits(server, job, "no_feature")["waiting"])
