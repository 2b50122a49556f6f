"""What would become of a job: with another priority, or before it is submitted."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from support import Server, make_id, wait_for
from test_job_lists import ranked
from test_jobs import Agent, started, submit


def body(**more: Any) -> dict[str, Any]:
    return {"run": make_id("r"), "spec": {"command": ["true"], "cpus": 4}} | more


def put(server: Server, project: str = "demo", **more: Any) -> str:
    job = make_id("j")
    server.ok("PUT", f"/api/v1/projects/{project}/jobs/{job}", body(**more))
    return job


def forecast(server: Server, key: str | None = None, **more: Any) -> dict[str, Any]:
    path = "/api/v1/projects/demo/jobs/forecast"
    return dict(server.ok("POST", path, body(**more), key=key))


def with_priority(server: Server, job: str, priority: int, key: str | None = None) -> Any:
    return server.ok("GET", f"/api/v1/jobs/{job}/why?priority={priority}", key=key)["forecast"]


def test_a_higher_priority_says_whom_it_would_pass_and_changes_nothing(server: Server) -> None:
    jobs = [put(server) for _ in range(4)]
    wait_for("a rank for each", lambda: [i["id"] for i in ranked(server)] == jobs)
    seen = with_priority(server, jobs[3], 1)
    assert seen["starts"] is False and seen["waiting_count"] == 4
    assert (seen["rank_now"], seen["waiting"]["rank"], seen["passed_count"]) == (4, 1, 3)
    assert [j["id"] for j in seen["passed"]] == jobs[:3]
    seen = with_priority(server, jobs[0], -1)
    assert (seen["rank_now"], seen["waiting"]["rank"], seen["passed_count"]) == (1, 4, 0)
    assert with_priority(server, jobs[2], 0)["waiting"]["rank"] == 3
    assert [i["id"] for i in ranked(server)] == jobs
    assert server.ok("GET", f"/api/v1/jobs/{jobs[3]}")["priority"] == 0
    assert "forecast" not in server.ok("GET", f"/api/v1/jobs/{jobs[3]}/why")


def test_a_forecast_says_what_the_job_then_does(server: Server) -> None:
    """The rank that was foretold is the rank it gets."""
    jobs = [put(server, priority=p) for p in (3, 1, 2, 0)]
    wait_for("a rank for each", lambda: len(ranked(server)) == 4)
    told = with_priority(server, jobs[3], 2)["waiting"]["rank"]
    server.ok("PATCH", f"/api/v1/jobs/{jobs[3]}", {"priority": 2})
    wait_for(
        "its new rank",
        lambda: next(i for i in ranked(server) if i["id"] == jobs[3])["waiting"]["rank"] == told,
    )
    told = forecast(server, priority=2)["waiting"]["rank"]
    late = put(server, priority=2)
    wait_for("five", lambda: len(ranked(server)) == 5)
    assert next(i for i in ranked(server) if i["id"] == late)["waiting"]["rank"] == told


def test_a_job_that_is_not_submitted_yet_knows_when_it_might_start(server: Server) -> None:
    assert forecast(server)["waiting"]["code"] == "no_agent"
    agent = Agent(server)  # 4 cores
    agent.poll()
    wait_for("the machine is seen", lambda: forecast(server)["starts"])
    spec: dict[str, Any] = {"command": ["sleep"], "cpus": 4, "timeout_s": 3600}
    running = submit(server, **spec)
    started(server, agent, running)
    told = forecast(server)
    assert told["starts"] is False and told["waiting_count"] == 1
    assert told["waiting"]["rank"] == 1 and told["waiting"]["code"] == "busy"
    begun = datetime.fromisoformat(server.ok("GET", f"/api/v1/jobs/{running}")["started_at"])
    assert datetime.fromisoformat(told["waiting"]["start_estimate"]) == begun + timedelta(hours=1)
    assert [j["id"] for j in server.ok("GET", "/api/v1/jobs")["items"]] == [running]
    runs = server.ok("GET", "/api/v1/projects/demo/runs")["items"]
    assert len(runs) == 1


def test_what_keeps_a_job_by_itself_is_said(server: Server) -> None:
    first = put(server)
    told = forecast(server, held=True)
    assert told["waiting"]["code"] == "held"
    told = forecast(server, after=[{"job": first}])
    assert told["waiting"]["code"] == "after" and told["waiting"]["job"] == first
    held = put(server, held=True)
    assert with_priority(server, held, 5) is None
    assert forecast(server, array={"from": 0, "to": 9})["waiting"]["rank"] == 2


def test_what_a_submission_would_refuse_a_forecast_refuses(server: Server) -> None:
    refusals: list[tuple[dict[str, Any], str, str]] = [
        ({"queue": "nowhere"}, "unprocessable", "queue"),
        ({"priority": 5000}, "invalid", "priority"),
        ({"spec": {"command": ["true"], "privileged": True}}, "unknown_field", "spec.privileged"),
    ]
    for bad, code, field in refusals:
        made = server.call("PUT", f"/api/v1/projects/demo/jobs/{make_id('j')}", body(**bad))
        told = forecast(server, **bad)
        assert (told["starts"], told["waiting"]) == (False, None)
        assert told["refused"] == {k: made.json[k] for k in ("code", "message", "field")}
        assert (told["refused"]["code"], told["refused"]["field"]) == (code, field)
    job = put(server)
    refused = server.call("GET", f"/api/v1/jobs/{job}/why?priority=5000")
    assert (refused.status, refused.json["field"]) == (400, "priority")


def test_jobs_of_projects_one_may_not_see_are_counted_and_not_named(server: Server) -> None:
    server.ok("PUT", "/api/v1/projects/theirs", {})
    key = server.user("eve")
    server.ok("PUT", "/api/v1/projects/demo/members/eve", {"role": "viewer"})
    theirs = put(server, "theirs")
    mine = put(server)
    wait_for("a rank for each", lambda: len(ranked(server)) == 2)
    seen = with_priority(server, mine, 9)
    hidden = with_priority(server, mine, 9, key=key)
    assert [j["id"] for j in seen["passed"]] == [theirs]
    assert hidden["passed"] == [] and hidden["passed_count"] == seen["passed_count"]
    path = "/api/v1/projects/demo/jobs/forecast"
    assert server.call("POST", path, body(), key=key).status == 403
