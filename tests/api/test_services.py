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
    (offer,) = offers_of(agent, 1)
    assert offer["timeout_s"] == limit
    assert server.call("GET", "/api/v1/me", key=offer["key"]).status == 200


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


def test_nothing_is_planned_behind_the_end_of_a_service(server: Server) -> None:
    agent = able(server)
    service = put(server, {"kind": "service", "cpus": 4, "timeout_s": 3600}).json["id"]
    started(server, agent, service)
    batch = put(server, {"cpus": 4}).json["id"]
    waits(server, batch, "busy")
    waiting = server.ok("GET", f"/api/v1/jobs/{batch}/why")["waiting"]
    assert "start_estimate" not in waiting


def test_a_budget_has_to_cover_a_service_until_the_end_of_the_month(server: Server) -> None:
    server.ok("PUT", "/api/v1/projects/demo/budget", {"cost_micro": 1000})  # a second
    able(server).poll()
    waits(server, put(server, {"kind": "service", "timeout_s": 1}).json["id"], "budget_money")


# ---- Health, as an agent says it

HEALTH = {"kind": "service", "health": {"port": 8000, "path": "/up"}}


def serving(server: Server, agent: Agent) -> tuple[str, str, str]:
    """A service with a health check that runs: job, attempt, token."""
    job = make_id("j")
    put(server, HEALTH, job)
    return (job, *started(server, agent, job))


def say(agent: Agent, attempt: str, token: str, health: str, problem: str = "") -> Any:
    body = {"state": "running", "health": health}
    if problem:
        body["health_problem"] = problem
    return agent.tell(attempt, token, "status", body)


def health_events(server: Server, job: str) -> list[tuple[str, str]]:
    events = server.ok("GET", f"/api/v1/jobs/{job}/events")["items"]
    return [
        (e["detail"]["health"], e["detail"].get("reason", ""))
        for e in events
        if e["kind"] == "health"
    ]


def test_a_service_that_is_asked_needs_an_agent_that_asks(server: Server) -> None:
    plain = Agent(server)
    plain.poll()
    job = make_id("j")
    put(server, HEALTH, job)
    waits(server, job, "no_feature")
    started(server, able(server, "health"), job)


def test_how_to_ask_comes_with_the_offer(server: Server) -> None:
    agent = able(server, "health")
    put(server, HEALTH)
    assert offers_of(agent, 1)[0]["extra"] == {"health": HEALTH["health"]}


def test_health_is_kept_with_its_time_and_its_problem(server: Server) -> None:
    agent = able(server, "health")
    job, attempt, token = serving(server, agent)
    assert show(server, job)["health"] is None
    for state, problem in (("starting", ""), ("healthy", ""), ("unhealthy", "HTTP 503")):
        assert say(agent, attempt, token, state, problem).status == 200
        shown = show(server, job)
        assert (shown["health"]["state"], shown["health"]["problem"]) == (state, problem)
        assert shown["health"]["since"] is not None
        assert shown["attempts"][0]["health"] == shown["health"]
        assert shown["state"] == "running"
    assert server.ok("GET", "/api/v1/jobs")["items"][0]["health"]["state"] == "unhealthy"
    wanted = [("starting", ""), ("healthy", ""), ("unhealthy", "HTTP 503")]
    assert health_events(server, job) == wanted
    since = shown["health"]["since"]
    for problem in ("HTTP 503", "no answer within 5 s", "no answer within 5 s"):
        assert say(agent, attempt, token, "unhealthy", problem).status == 200
    shown = show(server, job)
    assert shown["health"]["problem"] == "no answer within 5 s"
    assert shown["health"]["since"] == since
    assert health_events(server, job) == wanted  # only changes of the state
    server.stop()
    server.start()
    assert show(server, job)["health"] == shown["health"]


def test_what_an_agent_ended_for_its_health_says_so_and_starts_again(server: Server) -> None:
    agent = able(server, "health")
    job, attempt, token = serving(server, agent)
    say(agent, attempt, token, "unhealthy", "HTTP 503")
    ended = {
        "state": "ended",
        "exit_code": 0,
        "stopped": True,
        "unhealthy": True,
        "reason": "3 health checks in a row failed: HTTP 503",
        "final": True,
    }
    assert agent.tell(attempt, token, "status", ended).status == 200
    shown = waits(server, job, "backoff")
    assert shown["health"] is None
    last = shown["attempts"][0]
    assert (last["state"], last["ending"]) == ("failed", "unhealthy")
    assert last["reason"] == "3 health checks in a row failed: HTTP 503"
    assert last["health"]["state"] == "unhealthy"


def test_an_array_says_how_many_of_its_replicas_are_healthy(server: Server) -> None:
    agent = able(server, "health")
    array = put(server, {**HEALTH, "replicas": 3}).json["array"]["id"]
    offers = offers_of(agent, 3)
    for offer, health in zip(offers, ("healthy", "healthy", "unhealthy"), strict=True):
        attempt, token = offer["attempt"], offer["token"]
        agent.held[attempt] = token
        agent.tell(attempt, token, "accept")
        agent.tell(attempt, token, "status", {"state": "running"})
        say(agent, attempt, token, health)
    assert server.ok("GET", f"/api/v1/jobs/{array}")["array"]["healthy"] == 2
    folded = server.ok("GET", "/api/v1/jobs?fold=true")["items"]
    assert [f["array"]["healthy"] for f in folded] == [2]
    plain = put(server, {"kind": "service", "replicas": 2}).json["array"]["id"]
    assert "healthy" not in server.ok("GET", f"/api/v1/jobs/{plain}")["array"]


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"health": "well"}, "health"),
        ({"health": ""}, "health"),
        ({"health_problem": "HTTP 503"}, "health_problem"),
        ({"health": "healthy", "health_problem": "x" * 201}, "health_problem"),
        ({"health": "healthy", "health_problem": "a\nb"}, "health_problem"),
        ({"unhealthy": "yes"}, "unhealthy"),
    ],
)
def test_a_report_of_health_that_is_wrong_is_refused_by_its_field(
    server: Server, body: Any, field: str
) -> None:
    agent = able(server, "health")
    job, attempt, token = serving(server, agent)
    answer = agent.tell(attempt, token, "status", {"state": "running", **body})
    assert (answer.status, answer.json["field"]) == (400, field), answer.body
    assert show(server, job)["health"] is None


def test_a_late_word_about_an_ended_attempt_changes_nothing(server: Server) -> None:
    agent = able(server, "health")
    job, attempt, token = serving(server, agent)
    say(agent, attempt, token, "healthy")
    assert agent.tell(attempt, token, "status", {"state": "ended", "exit_code": 1}).status == 200
    assert say(agent, attempt, token, "unhealthy", "HTTP 500").status == 200
    assert show(server, job)["attempts"][0]["health"]["state"] == "healthy"


def test_a_cancelled_service_ends_for_good_however_it_was(server: Server) -> None:
    agent = able(server, "health")
    job, attempt, token = serving(server, agent)
    say(agent, attempt, token, "healthy")
    server.ok("POST", f"/api/v1/jobs/{job}/cancel")
    assert agent.poll()["stop"] == [attempt]
    ended = {"state": "ended", "signal": 15, "stopped": True, "unhealthy": True, "final": True}
    assert agent.tell(attempt, token, "status", ended).status == 200
    shown = show(server, job)
    assert (shown["state"], shown["attempts"][0]["ending"]) == ("cancelled", "cancelled")


def test_of_a_gang_the_first_machine_speaks(server: Server) -> None:
    agents = [able(server, "health", "nodes", name=f"n{n}") for n in range(2)]
    for agent in agents:
        agent.poll()
    array = put(server, {**HEALTH, "replicas": 2, "nodes": 2}).json["array"]["id"]
    offers = [offers_of(agent, 2) for agent in agents]  # a rank of each gang
    seen = set()
    for agent, list_of in zip(agents, offers, strict=True):
        for offer in list_of:
            agent.held[offer["attempt"]] = offer["token"]
            agent.tell(offer["attempt"], offer["token"], "accept")
            seen.add((offer["env"]["EUVYRA_ARRAY_INDEX"], offer["rank"], offer["node_count"]))
    assert seen == {(index, rank, 2) for index in "01" for rank in (0, 1)}
    for agent, list_of in zip(agents, offers, strict=True):
        for offer in list_of:
            agent.tell(offer["attempt"], offer["token"], "status", {"state": "running"})
    for agent, list_of in zip(agents, offers, strict=True):
        for offer in list_of:
            health = "unhealthy" if offer["rank"] else "healthy"
            say(agent, offer["attempt"], offer["token"], health)
    shown = server.ok("GET", f"/api/v1/jobs/{array}")
    assert shown["array"]["states"] == {"running": 2}
    assert shown["array"]["healthy"] == 2
