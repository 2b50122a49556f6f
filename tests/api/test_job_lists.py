"""Lists of jobs: by rank, with a line for each array, a page at a time."""

from __future__ import annotations

from typing import Any

from support import Server, make_id, wait_for
from test_jobs import Agent, started, submit


def submit_array(server: Server, to: int, **more: Any) -> str:
    array = make_id("j")
    body = {
        "run": make_id("r"),
        "name": "sweep",
        "array": {"from": 0, "to": to},
        "spec": {"command": ["true"], "cpus": 3},  # one at a time
    }
    server.ok("PUT", f"/api/v1/projects/demo/jobs/{array}", body | more)
    return array


def ranked(server: Server, query: str = "", key: str | None = None) -> list[dict[str, Any]]:
    return list(server.ok("GET", f"/api/v1/jobs?order=rank{query}", key=key)["items"])


def test_jobs_by_rank_come_next_first_and_in_pages(server: Server) -> None:
    low = [submit(server) for _ in range(3)]
    high = make_id("j")
    body = {"run": make_id("r"), "spec": {"command": ["true"]}, "priority": 5}
    server.ok("PUT", f"/api/v1/projects/demo/jobs/{high}", body)
    held = make_id("j")
    body = {"run": make_id("r"), "spec": {"command": ["true"]}, "held": True}
    server.ok("PUT", f"/api/v1/projects/demo/jobs/{held}", body)
    wait_for("a rank for each", lambda: len(ranked(server)) == 4)
    items = ranked(server)
    assert [i["id"] for i in items] == [high, *low]
    assert [i["waiting"]["rank"] for i in items] == [1, 2, 3, 4]
    page = server.ok("GET", "/api/v1/jobs?order=rank&limit=3")
    assert [i["id"] for i in page["items"]] == [high, *low[:2]]
    rest = server.ok("GET", f"/api/v1/jobs?order=rank&limit=3&cursor={page['next_cursor']}")
    assert [i["id"] for i in rest["items"]] == low[2:] and rest["next_cursor"] is None
    server.ok("POST", f"/api/v1/jobs/{high}/cancel")
    assert ranked(server)[0]["id"] == low[0]
    refused = server.call("GET", "/api/v1/jobs?order=rank&state=queued")
    assert (refused.status, refused.json["field"]) == (400, "order")


def test_an_array_is_one_line_of_the_element_that_is_next(server: Server) -> None:
    agent = Agent(server)
    array = submit_array(server, 4)
    alone = submit(server, cpus=3)
    attempt, token = started(server, agent, server.ok("GET", f"/api/v1/jobs/{array}")["id"])
    wait_for("a rank for the others", lambda: len(ranked(server)) == 5)
    line, other = ranked(server, "&fold=true")
    assert other["id"] == alone
    assert line["array"]["id"] == array and line["array"]["index"] == 1
    assert line["array"]["states"] == {"queued": 4, "running": 1}
    folded = server.ok("GET", "/api/v1/jobs?open=true&fold=true")["items"]
    assert [(i["id"], i["state"]) for i in folded] == [
        (alone, "queued"),
        (line["id"], "queued"),
    ]
    ended = {"state": "ended", "exit_code": 0, "run_time_ms": 5, "final": True}
    assert agent.tell(attempt, token, "status", ended).status == 200
    (line,) = (i for i in ranked(server, "&fold=true") if i["array"])
    assert line["array"]["states"] == {"queued": 4, "succeeded": 1}
    server.ok("POST", f"/api/v1/jobs/{array}/cancel")
    (line,) = (i for i in server.ok("GET", "/api/v1/jobs?fold=true")["items"] if i["array"])
    assert line["array"]["index"] == 0 and line["state"] == "succeeded"
    assert line["array"]["states"] == {"cancelled": 4, "succeeded": 1}


def test_a_list_by_rank_has_only_what_one_may_see(server: Server) -> None:
    server.ok("PUT", "/api/v1/projects/secret", {})
    hidden = submit(server, "secret")
    shown = submit(server)
    key = server.user("eve")
    server.ok("PUT", "/api/v1/projects/demo/members/eve", {"role": "viewer"})
    wait_for("a rank for both", lambda: len(ranked(server)) == 2)
    assert [i["id"] for i in ranked(server, key=key)] == [shown]
    assert [i["id"] for i in ranked(server, "&project=secret")] == [hidden]
    assert server.call("GET", "/api/v1/jobs?order=rank&project=secret", key=key).status == 404
