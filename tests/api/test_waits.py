"""Why a job waits, as people read it: codes, words and numbers on a server with played agents."""

from __future__ import annotations

from typing import Any

import pytest
from support import Server, make_id
from test_jobs import Agent, submit, waits

GIB = 1 << 30


def put(server: Server, body: dict[str, Any] | None = None, **spec: Any) -> str:
    job = make_id("j")
    whole = {"run": make_id("r"), "spec": {"command": ["true"], **spec}} | (body or {})
    server.ok("PUT", f"/api/v1/projects/demo/jobs/{job}", whole)
    return job


def said(server: Server, job: str, code: str) -> str:
    return str(waits(server, job, code)["waiting"]["text"])


def test_amounts_are_said_with_their_units(server: Server) -> None:
    job = put(server)
    assert said(server, job, "no_agent") == "no agent is online"
    agent = Agent(server)
    agent.poll()  # 4 slots, 4 cores, 1 GiB
    agent.held[agent.offer()["attempt"]] = "x"
    assert said(server, put(server, cpus=8), "too_big") == (
        "it asks for 8 cores on one machine; the largest has 4 cores"
    )
    assert said(server, put(server, memory_bytes=2 * GIB), "too_big") == (
        "it asks for 2.0 GiB of memory on one machine; the largest has 1.0 GiB of memory"
    )
    assert said(server, put(server, cpus=4), "busy") == (
        "it asks for 4 cores; the most that is free on one machine is 3 cores"
    )
    assert said(server, put(server, nodes=2), "too_few_nodes") == (
        "it asks for 2 machines; large enough: 1 machine"
    )
    assert said(server, put(server, image="python:3.12"), "no_feature") == (
        "no machine that it may use can do this for it: image"
    )


def test_machines_that_are_missing_are_told_from_those_that_are_needed(server: Server) -> None:
    agents = [Agent(server, f"n{number}") for number in range(3)]
    for agent in agents:
        agent.poll()
    both = put(server, nodes=2, exclude=["n0", "n1"])
    shown = waits(server, both, "nodes_excluded")["waiting"]
    assert shown["text"] == (
        "it needs 2 machines; not excluded of those that could take it: 1 machine"
    )
    assert (shown["asked"], shown["free"]) == (2, 1)
    server.stop()
    silent = server.sql("SELECT min(id) FROM agent")
    server.change(f"UPDATE agent SET seen_ms = 1 WHERE id = {silent}")
    server.start()
    for agent in agents[1:]:
        agent.poll()
    offline = put(server, nodes=3)
    shown = waits(server, offline, "agent_offline")["waiting"]
    assert (shown["asked"], shown["free"]) == (3, 2)
    assert shown["text"] == ("it needs 3 machines; online of those that could take it: 2 machines")
    assert shown["change"] == "start the others, or ask for fewer machines"


def test_what_people_set_is_said_with_its_name(server: Server) -> None:
    agent = Agent(server)
    agent.poll()
    server.ok("PUT", "/api/v1/queues/night", {})
    server.ok("POST", "/api/v1/queues/night/hold")
    assert said(server, put(server, {"queue": "night"}), "queue_held") == "queue night is held"
    assert said(server, put(server, {"held": True}), "held") == "it is held"
    first = put(server, {"held": True})
    after = put(server, {"after": [{"job": first}]})
    assert said(server, after, "after") == (
        f"it comes after 1 job that must end first, such as {first}"
    )
    array = {"array": {"from": 0, "to": 2, "limit": 1}, "after": [{"job": first}]}
    put(server, array)
    second = put(server, {"held": True})
    body = {"after": [{"job": first}, {"job": second}]}
    assert said(server, put(server, body), "after").startswith("it comes after 2 jobs that must")
    server.ok("PUT", "/api/v1/projects/demo/share", {"parallel_jobs": 1, "quota": {"cpus": 2}})
    agent.held[agent.offer()["attempt"]] = "x" if put(server) else ""
    assert said(server, put(server), "parallel_jobs") == (
        "demo may run 1 job at once; now running: 1 job"
    )
    server.ok("PUT", "/api/v1/projects/demo/share", {"quota": {"cpus": 2}, "borrow": {"cpus": 1}})
    assert said(server, put(server, cpus=3), "quota") == (
        "it asks for 3 cores; demo may use 1 core more"
    )
    server.ok("PUT", "/api/v1/projects/demo/share", {})
    server.ok("PUT", "/api/v1/targets/local/maintenance", {"reason": "new disks"})
    job = put(server)
    assert said(server, job, "maintenance") == "target local is in maintenance"


@pytest.mark.parametrize(("count", "words"), [(1, "1 job at once"), (2, "2 jobs at once")])
def test_the_limit_of_an_array_is_counted(server: Server, count: int, words: str) -> None:
    agent = Agent(server)
    array = make_id("j")
    body = {"run": make_id("r"), "spec": {"command": ["true"]}}
    more = {"array": {"from": 0, "to": 3, "limit": count}}
    server.ok("PUT", f"/api/v1/projects/demo/jobs/{array}", body | more)
    agent.offer()
    last = server.ok("GET", f"/api/v1/jobs?array={array}")["items"][-1]["id"]
    assert said(server, last, "array_limit") == f"its array may run {words}"


def test_a_share_of_a_team_names_the_team(server: Server) -> None:
    Agent(server).poll()
    server.ok("PUT", "/api/v1/teams/vision", {"parallel_jobs": 1})
    server.ok("PUT", "/api/v1/projects/demo/share", {"parent": "vision"})
    submit(server)
    text = said(server, submit(server), "parallel_jobs")
    assert text == "vision may run 1 job at once; now running: 1 job"


def test_a_machine_that_its_target_excludes_is_not_used(server: Server) -> None:
    agent = Agent(server)
    agent.poll()
    server.ok("PUT", "/api/v1/targets/local", {"excluded": ["rack1"]})
    job = put(server)
    assert said(server, job, "nodes_excluded") == (
        "it needs 1 machine; not excluded of those that could take it: 0 machines"
    )
    assert agent.poll()["offers"] == []
    server.ok("PUT", "/api/v1/targets/local", {"excluded": []})
    assert agent.offer()["job"] == job
