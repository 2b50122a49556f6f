"""The tree by which hardware is shared, and queues, through the HTTP API."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from support import Server, make_id, wait_for
from test_jobs import Agent, submit, waits


def share(server: Server, kind: str, name: str = "") -> dict[str, Any]:
    items = server.ok("GET", "/api/v1/shares?limit=1000")["items"]
    return dict(next(i for i in items if i["kind"] == kind and i["name"] == name))


def names(server: Server, key: str | None = None) -> list[str]:
    items = server.ok("GET", "/api/v1/shares", key=key)["items"]
    return [i["name"] for i in items if i["name"] != "demo"]


def test_a_new_installation_has_an_organisation_and_a_default_queue(server: Server) -> None:
    assert share(server, "organisation")["parent"] is None
    (queue,) = server.ok("GET", "/api/v1/queues")["items"]
    assert queue == {
        "name": "default",
        "priority": 0,
        "aging_s": 3600,
        "timeout_s": None,
        "strategy": "pack",
        "targets": [],
        "held": False,
        "draining": False,
        "open_jobs": 0,
    }


def test_a_project_comes_and_goes_with_its_leaf(server: Server) -> None:
    server.ok("PUT", "/api/v1/projects/leaf", {})
    found = share(server, "project", "leaf")
    assert found["parent"] is None and found["weight"] == 1
    assert found["quota"] == {"gpus": None, "cpus": None, "memory_bytes": None}
    assert found["use"] == {"gpus": 0, "cpus": 0, "memory_bytes": 0}
    server.ok("DELETE", "/api/v1/projects/leaf")
    assert "leaf" not in names(server)


def test_what_is_set_of_a_share_is_there_and_the_rest_is_not_set(server: Server) -> None:
    server.ok("PUT", "/api/v1/targets/rack", {})
    body = {
        "weight": 3,
        "quota": {"gpus": 8, "cpus": 64, "memory_bytes": 1 << 40},
        "borrow": {"gpus": 0},
        "lend": {"gpus": 2},
        "parallel_jobs": 5,
        "held": True,
        "targets": ["rack", "rack"],
    }
    made = server.call("PUT", "/api/v1/teams/vision", body)
    assert made.status == 201
    assert made.json["targets"] == ["rack"]
    for path in ("/api/v1/teams/vision", "/api/v1/organisation"):
        again = server.call("PUT", path, body)
        assert again.status == 200
        assert server.ok("GET", path) == again.json
        assert again.json["quota"] == body["quota"]
        assert again.json["borrow"] == {"gpus": 0, "cpus": None, "memory_bytes": None}
        assert again.json["parallel_jobs"] == 5 and again.json["held"]
        bare = server.ok("PUT", path, {})
        assert bare["parallel_jobs"] is None and not bare["held"] and bare["targets"] == []
        assert bare["weight"] == 1


def test_parents_come_before_children_wherever_they_were_moved(server: Server) -> None:
    for name in ("a", "b", "c"):
        server.ok("PUT", f"/api/v1/teams/{name}", {})
    server.ok("PUT", "/api/v1/projects/deep", {})
    server.ok("PUT", "/api/v1/projects/deep/share", {"parent": "a", "quota": {"gpus": 1}})
    server.ok("PUT", "/api/v1/teams/a", {"parent": "b"})
    server.ok("PUT", "/api/v1/teams/b", {"parent": "c"})
    assert names(server) == ["", "c", "b", "a", "deep"]
    assert server.ok("GET", "/api/v1/projects/deep/share")["parent"] == "a"
    first = server.ok("GET", "/api/v1/shares?limit=2")
    rest = server.ok("GET", f"/api/v1/shares?cursor={first['next_cursor']}")
    both = [i["name"] for i in first["items"] + rest["items"]]
    assert [name for name in both if name != "demo"] == names(server)
    answer = server.call("PUT", "/api/v1/teams/c", {"parent": "a"})
    assert (answer.status, answer.json["field"]) == (422, "parent")
    assert answer.json["message"] == 'team "c" would lie below itself'
    assert server.call("PUT", "/api/v1/teams/c", {"parent": "c"}).status == 422
    assert share(server, "team", "c")["parent"] is None


def test_teams_lie_eight_deep_and_no_deeper(server: Server) -> None:
    above = ""
    for depth in range(1, 9):
        server.ok("PUT", f"/api/v1/teams/t{depth}", {"parent": above} if above else {})
        above = f"t{depth}"
    answer = server.call("PUT", "/api/v1/teams/t9", {"parent": "t8"})
    assert answer.status == 422
    assert answer.json["message"] == "teams would lie 9 deep, at most 8 are allowed"
    server.ok("PUT", "/api/v1/teams/top", {})
    assert server.call("PUT", "/api/v1/teams/t1", {"parent": "top"}).status == 422
    server.ok("PUT", "/api/v1/projects/bottom", {})
    server.ok("PUT", "/api/v1/projects/bottom/share", {"parent": "t8"})
    assert share(server, "project", "bottom")["parent"] == "t8"


def test_a_team_with_something_below_it_stays(server: Server) -> None:
    server.ok("PUT", "/api/v1/teams/full", {})
    server.ok("PUT", "/api/v1/projects/inside", {})
    server.ok("PUT", "/api/v1/projects/inside/share", {"parent": "full"})
    answer = server.call("DELETE", "/api/v1/teams/full")
    assert answer.status == 409
    assert answer.json["message"] == 'below team "full" lies project "inside"'
    server.ok("PUT", "/api/v1/projects/inside/share", {})
    server.ok("DELETE", "/api/v1/teams/full")
    assert server.call("GET", "/api/v1/teams/full").status == 404
    assert server.call("DELETE", "/api/v1/teams/full").status == 404


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"weight": -1}, "weight"),
        ({"quota": {"gpus": -1}}, "quota.gpus"),
        ({"quota": {"tpus": 1}}, "quota.tpus"),
        ({"lend": 3}, "lend"),
        ({"parallel_jobs": "many"}, "parallel_jobs"),
        ({"targets": ["no such"]}, "targets"),
        ({"targets": ["nowhere"]}, "targets"),
        ({"parent": "nobody"}, "parent"),
        ({"surprise": 1}, "surprise"),
    ],
)
def test_bad_shares_name_the_field(server: Server, body: Any, field: str) -> None:
    answer = server.call("PUT", "/api/v1/teams/bad", body)
    assert answer.status in (400, 422)
    assert answer.json["field"] == field
    assert server.call("GET", "/api/v1/teams/bad").status == 404


def test_only_administrators_change_shares_and_members_see_their_own(server: Server) -> None:
    eve = server.user("eve")
    server.ok("PUT", "/api/v1/projects/hers", {}, key=eve)
    server.ok("PUT", "/api/v1/projects/other", {})
    server.ok("PUT", "/api/v1/teams/team", {})
    server.ok("PUT", "/api/v1/projects/hers/share", {"parent": "team"})
    assert names(server, key=eve) == ["", "team", "hers"]
    assert server.ok("GET", "/api/v1/projects/hers/share", key=eve)["parent"] == "team"
    assert server.call("GET", "/api/v1/projects/other/share", key=eve).status == 404
    for path in ("teams/team", "organisation", "projects/hers/share", "queues/q"):
        assert server.call("PUT", f"/api/v1/{path}", {}, key=eve).status == 403
    for verb in ("hold", "resume", "drain"):
        assert server.call("POST", f"/api/v1/queues/default/{verb}", key=eve).status == 403
    assert server.call("DELETE", "/api/v1/teams/team", key=eve).status == 403


def test_changes_of_shares_and_queues_are_audited(server: Server) -> None:
    server.ok("PUT", "/api/v1/teams/seen", {"quota": {"gpus": 4}})
    server.ok("POST", "/api/v1/queues/default/hold")
    rows = server.ok("GET", "/api/v1/audit")["items"]
    assert [r["subject"] for r in rows[:2]] == ["default", "seen"]
    assert "quota 4/-/-" in rows[1]["detail"] and "held" in rows[0]["detail"]


def test_use_is_summed_up_the_tree(server: Server) -> None:
    server.ok("PUT", "/api/v1/teams/busy", {})
    server.ok("PUT", "/api/v1/projects/demo/share", {"parent": "busy"})
    agent = Agent(server)
    submit(server, cpus=2)
    agent.offer()
    for kind, name in (("project", "demo"), ("team", "busy"), ("organisation", "")):
        found = share(server, kind, name)
        assert found["running"] == 1 and found["use"]["cpus"] == 2


def test_a_gang_uses_what_it_holds_on_all_its_nodes(server: Server) -> None:
    one, two = Agent(server, "one"), Agent(server, "two")
    submit(server, cpus=3, nodes=2)

    def started() -> bool:
        one.poll()
        two.poll()
        return bool(share(server, "organisation")["running"] == 1)

    wait_for("an attempt", started)
    assert share(server, "organisation")["use"]["cpus"] == 6


def test_a_queue_keeps_its_settings_and_orders(server: Server) -> None:
    server.ok("PUT", "/api/v1/targets/rack", {})
    body = {
        "priority": -5,
        "aging_s": 60,
        "timeout_s": 3600,
        "strategy": "spread",
        "targets": ["rack"],
    }
    made = server.call("PUT", "/api/v1/queues/night", body)
    assert made.status == 201
    assert made.json == {
        **body,
        "name": "night",
        "held": False,
        "draining": False,
        "open_jobs": 0,
    }
    for verb, state in (
        ("hold", (True, False)),
        ("drain", (True, True)),
        ("resume", (False, False)),
        ("drain", (False, True)),
    ):
        now = server.ok("POST", f"/api/v1/queues/night/{verb}")
        assert (now["held"], now["draining"]) == state
    again = server.ok("PUT", "/api/v1/queues/night", {})
    assert again["draining"] and again["priority"] == 0 and again["timeout_s"] is None
    assert [q["name"] for q in server.ok("GET", "/api/v1/queues")["items"]] == ["default", "night"]
    assert server.ok("GET", "/api/v1/queues/night") == again
    server.ok("DELETE", "/api/v1/queues/night")
    assert server.call("GET", "/api/v1/queues/night").status == 404
    assert server.call("PUT", "/api/v1/queues/night", {}).status == 201


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"priority": 1001}, "priority"),
        ({"aging_s": -1}, "aging_s"),
        ({"timeout_s": 0}, "timeout_s"),
        ({"strategy": "random"}, "strategy"),
        ({"targets": ["nowhere"]}, "targets"),
        ({"held": True}, "held"),
    ],
)
def test_bad_queues_name_the_field(server: Server, body: Any, field: str) -> None:
    answer = server.call("PUT", "/api/v1/queues/bad", body)
    assert answer.status in (400, 422)
    assert answer.json["field"] == field


def test_a_queue_with_open_jobs_stays_and_so_does_the_default(server: Server) -> None:
    submit(server)
    assert server.ok("GET", "/api/v1/queues/default")["open_jobs"] == 1
    answer = server.call("DELETE", "/api/v1/queues/default")
    assert answer.status == 409
    assert "default" in answer.json["message"]


def test_jobs_that_have_not_ended_keep_their_queue(tmp_path: Path) -> None:
    with Server(tmp_path / "data") as server:
        server.ok("PUT", "/api/v1/projects/demo", {})
        server.ok("PUT", "/api/v1/queues/busy", {})
        submit(server)
        server.stop()
        server.change("UPDATE job SET queue_id = 2")
        server.start()
        answer = server.call("DELETE", "/api/v1/queues/busy")
        assert answer.status == 409
        assert answer.json["message"] == 'queue "busy" still has 1 job that has not ended'
        server.stop()
        server.change("UPDATE job SET ended = 1")
        server.start()
        server.ok("DELETE", "/api/v1/queues/busy")


def test_ids_of_others_are_no_names_of_queues(server: Server) -> None:
    assert server.call("GET", f"/api/v1/queues/{make_id('q')}").status == 404


def test_a_held_queue_starts_nothing_and_a_drained_one_takes_nothing(server: Server) -> None:
    agent = Agent(server)
    path = "/api/v1/queues/night"
    server.ok("PUT", path, {})

    def put(queue: str) -> Any:
        body = {"run": make_id("r"), "queue": queue, "spec": {"command": ["true"]}}
        return server.call("PUT", f"/api/v1/projects/demo/jobs/{make_id('j')}", body)

    server.ok("POST", f"{path}/hold")
    held = put("night").json["id"]
    agent.poll()
    waits(server, held, "queue_held")
    assert agent.poll()["offers"] == []
    server.ok("POST", f"{path}/resume")
    server.ok("POST", f"{path}/drain")
    refused = put("night")
    assert (refused.status, refused.json["field"]) == (409, "queue")
    assert refused.json["message"] == 'queue "night" is drained: it takes nothing more'
    elsewhere = put("default").json["id"]
    offers = [wait_for("both", lambda: agent.poll(1000)["offers"])]
    assert {held, elsewhere} & {offer["job"] for offer in offers[0]}, "what is in it still starts"
    body = {"run": make_id("r"), "held": True, "spec": {"command": ["true"]}}
    moved = make_id("j")
    server.ok("PUT", f"/api/v1/projects/demo/jobs/{moved}", body)
    assert server.call("PATCH", f"/api/v1/jobs/{moved}", {"queue": "night"}).status == 409
    wait_for(
        "it to have started",
        lambda: server.ok("GET", f"/api/v1/jobs/{held}")["attempts"],
    )


def test_what_a_team_may_borrow_holds_for_all_projects_below_it(server: Server) -> None:
    agent = Agent(server)
    agent.poll()
    team = {"quota": {"cpus": 1}, "borrow": {"cpus": 1}}
    server.ok("PUT", "/api/v1/teams/vision", team)
    for project in ("demo", "other"):
        server.ok("PUT", f"/api/v1/projects/{project}", {})
        server.ok("PUT", f"/api/v1/projects/{project}/share", {"parent": "vision"})
    first = submit(server, cpus=2)
    assert agent.offer()["job"] == first
    second = submit(server, "other")
    waiting = waits(server, second, "quota")["waiting"]
    assert (waiting["share"], waiting["asked"], waiting["free"]) == ("vision", 1, 0)
    server.ok("PUT", "/api/v1/teams/vision", {"quota": {"cpus": 1}, "borrow": {"cpus": 2}})
    wait_for("it to start", lambda: server.ok("GET", f"/api/v1/jobs/{second}")["attempts"])
