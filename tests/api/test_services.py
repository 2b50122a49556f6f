"""Services: replicas, starting again, and what agents say about their health."""

from __future__ import annotations

from typing import Any

import pytest
from support import Server, make_id, wait_for
from test_jobs import Agent, show, started, waits
from test_spec import able, change, finish, put


def offers_of(agent: Agent, count: int) -> list[Any]:
    def all_of_them() -> Any:
        offers = agent.poll(1000)["offers"]
        return offers if len(offers) == count else None

    return list(wait_for(f"{count} offers", all_of_them))


def test_replicas_are_jobs_of_their_own(server: Server) -> None:
    agent = able(server)
    service = {"kind": "service", "replicas": 3}
    made = put(server, service, name="web").json
    array = made["array"]["id"]
    assert made["array"] == {"id": array, "index": 0, "count": 3}
    items = server.ok("GET", f"/api/v1/jobs?array={array}")["items"]
    assert [i["name"] for i in items] == ["web-0", "web-1", "web-2"]
    assert [i["spec"] for i in items] == [{"command": ["true"], **service}] * 3
    assert len({i["run"] for i in items}) == 3
    offers = offers_of(agent, 3)
    assert sorted(o["env"]["EUVYRA_ARRAY_INDEX"] for o in offers) == ["0", "1", "2"]
    assert {o["env"]["EUVYRA_ARRAY_COUNT"] for o in offers} == {"3"}
    assert {o["node_count"] for o in offers} == {1}
    cancelled = server.ok("POST", f"/api/v1/jobs/{array}/cancel")
    assert cancelled["array"]["states"] == {"cancelled": 3}


def test_one_replica_is_a_plain_job(server: Server) -> None:
    for replicas in ({}, {"replicas": 1}):
        made = put(server, {"kind": "service", **replicas})
        assert (made.status, made.json["array"]) == (201, None)


def test_replicas_and_an_array_are_two_things(server: Server) -> None:
    answer = put(server, {"kind": "service", "replicas": 2}, array={"from": 0, "to": 1})
    assert (answer.status, answer.json["field"]) == (400, "array")
    long = put(server, {"kind": "service", "replicas": 2}, name="n" * 200)
    assert (long.status, long.json["field"]) == (400, "name")


def test_replicas_of_several_machines_wait_for_agents_that_can_do_that(server: Server) -> None:
    able(server).poll()
    made = put(server, {"kind": "service", "replicas": 2, "nodes": 2}).json
    waits(server, made["id"], "no_feature")
    assert made["array"]["count"] == 2


def test_replicas_are_held_released_and_changed_as_one(server: Server) -> None:
    array = put(server, {"kind": "service", "replicas": 2}).json["array"]["id"]
    assert change(server, array, held=True).json["array"]["states"] == {"held": 2}
    assert change(server, array, priority=7).status == 200
    released = server.ok("POST", f"/api/v1/jobs/{array}/release")
    assert released["array"]["states"] == {"queued": 2}
    items = server.ok("GET", f"/api/v1/jobs?array={array}")["items"]
    assert [i["priority"] for i in items] == [7, 7]


def test_a_job_after_a_service_starts_when_all_its_replicas_are_cancelled(server: Server) -> None:
    agent = able(server)
    array = put(server, {"kind": "service", "replicas": 2}, held=True).json["array"]["id"]
    after = put(server, {}, after=[{"job": array, "any": True}]).json["id"]
    waits(server, after, "after")
    server.ok("POST", f"/api/v1/jobs/{array}/cancel")
    started(server, agent, after)


@pytest.mark.parametrize(("spec", "limit"), [({}, 0), ({"timeout_s": 90}, 90)])
def test_a_service_has_the_time_limit_that_it_says_itself(
    server: Server, spec: Any, limit: int
) -> None:
    server.ok("PUT", "/api/v1/queues/short", {"timeout_s": 60})
    job = make_id("j")
    put(server, {"kind": "service", **spec}, job, queue="short")
    agent = able(server)
    assert [o["timeout_s"] for o in offers_of(agent, 1)] == [limit]


def test_a_service_that_ends_well_waits_to_start_again(server: Server) -> None:
    agent = able(server)
    job = make_id("j")
    put(server, {"kind": "service"}, job)
    attempt, token = started(server, agent, job)
    finish(agent, attempt, token)
    waits(server, job, "backoff")
    shown = show(server, job)
    assert shown["attempts"][0]["ending"] == "done"
    assert server.ok("POST", f"/api/v1/jobs/{job}/cancel")["state"] == "cancelled"
