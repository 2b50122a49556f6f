"""Targets through the HTTP API: prices over time, maintenance, what jobs there get, deletion."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from support import Server, make_id, wait_for
from test_jobs import Agent, submit

RACK = "/api/v1/targets/rack"


def later(**delta: float) -> str:
    return (datetime.now(UTC) + timedelta(**delta)).isoformat().replace("+00:00", "Z")


def test_what_is_not_given_stays(server: Server) -> None:
    body = {
        "price_hour_micro": 1000,
        "price_gpu_hour_micro": 2000,
        "spot": True,
        "labels": {"region": "eu-1", "gpu/vendor": ""},
        "excluded": ["broken-1"],
        "tolerations": [
            {"key": "gpu", "operator": "Exists", "effect": "NoExecute", "seconds": 60},
            {"value": "x"},
        ],
        "settings": {
            "env": {"HF_HOME": "/data/hf"},
            "volumes": [{"name": "data", "path": "/data", "read_only": True}],
        },
        "volumes": [
            {"name": "data", "host_path": "/srv/data", "read_only": True},
            {"name": "scratch", "claim": "scratch-claim"},
        ],
        "buckets": [
            {
                "name": "models",
                "endpoint": "https://s3.example.org:9000/x",
                "bucket": "models.prod",
                "region": "eu-1",
                "secret": "S3_KEY",
            }
        ],
    }
    made = server.call("PUT", RACK, body)
    assert made.status == 201
    assert {k: made.json[k] for k in body} == body
    assert made.json["maintenance"] is None
    again = server.call("PUT", RACK, {"price_hour_micro": 5})
    assert again.status == 200
    assert {k: again.json[k] for k in body} == {**body, "price_hour_micro": 5}
    assert server.ok("GET", RACK) == again.json
    assert server.ok("GET", "/api/v1/targets")["items"] == [again.json]
    emptied = server.ok("PUT", RACK, {"labels": {}, "volumes": [], "spot": False})
    assert emptied["labels"] == {} and emptied["volumes"] == [] and not emptied["spot"]
    assert emptied["buckets"] == body["buckets"]


def test_where_volumes_lie_is_for_administrators(server: Server) -> None:
    eve = server.user("eve")
    volumes = [{"name": "data", "host_path": "/srv/data", "read_only": True}]
    server.ok("PUT", RACK, {"volumes": volumes})
    assert server.ok("GET", RACK, key=eve)["volumes"] == [{"name": "data", "read_only": True}]
    assert server.ok("GET", RACK)["volumes"] == volumes


def test_prices_hold_from_their_moment_on(server: Server) -> None:
    server.ok("PUT", RACK, {"price_hour_micro": 1})
    server.ok("PUT", RACK, {"price_hour_micro": 2})
    server.ok("PUT", RACK, {"labels": {}})  # no new price
    far, soon = later(days=40), later(seconds=3)
    items = [
        {"from": far, "price_hour_micro": 9, "price_gpu_hour_micro": 1},
        {"from": soon, "price_hour_micro": 3, "price_gpu_hour_micro": 0},
    ]
    server.ok("PUT", f"{RACK}/prices", {"items": items})
    prices = server.ok("GET", f"{RACK}/prices")["items"]
    assert [p["price_hour_micro"] for p in prices] == [9, 3, 2, 1]
    assert server.ok("GET", RACK)["price_hour_micro"] in (2, 3)
    wait_for("the price", lambda: server.ok("GET", RACK)["price_hour_micro"] == 3)
    server.ok("PUT", f"{RACK}/prices", {"items": []})
    prices = server.ok("GET", f"{RACK}/prices")["items"]
    assert [p["price_hour_micro"] for p in prices] == [3, 2, 1]
    page = server.ok("GET", f"{RACK}/prices?limit=2")
    rest = server.ok("GET", f"{RACK}/prices?cursor={page['next_cursor']}")
    assert page["items"] + rest["items"] == prices


def test_a_running_attempt_keeps_its_price(server: Server) -> None:
    agent = Agent(server)
    job = submit(server)
    offer = agent.offer()
    server.ok("PUT", "/api/v1/targets/local", {"price_hour_micro": 99_000_000})
    attempt, token = offer["attempt"], offer["token"]
    assert agent.tell(attempt, token, "accept").status == 200
    ended = {"state": "ended", "exit_code": 0, "run_time_ms": 3_600_000}
    assert agent.tell(attempt, token, "status", ended).status == 200
    assert server.ok("GET", f"/api/v1/jobs/{job}")["cost_micro"] == 3_600_000


@pytest.mark.parametrize(
    ("items", "status", "field"),
    [
        ([{"from": later(days=-1), "price_hour_micro": 1, "price_gpu_hour_micro": 1}], 422, "items"),
        ([{"from": "soon", "price_hour_micro": 1, "price_gpu_hour_micro": 1}], 400, "items[0].from"),
        ([{"price_hour_micro": 1, "price_gpu_hour_micro": 1}], 400, "items[0].from"),
        ([{"from": later(days=1), "price_hour_micro": -1, "price_gpu_hour_micro": 1}], 400,
         "items[0].price_hour_micro"),
        ([{"from": "2099-01-01T00:00:00Z", "price_hour_micro": 1, "price_gpu_hour_micro": 1}] * 2,
         422, "items"),
    ],
)  # fmt: skip
def test_bad_prices_change_nothing(server: Server, items: Any, status: int, field: str) -> None:
    server.ok("PUT", RACK, {"price_hour_micro": 1})
    body = {"items": [{"from": later(days=2), "price_hour_micro": 7, "price_gpu_hour_micro": 7}]}
    server.ok("PUT", f"{RACK}/prices", body)
    answer = server.call("PUT", f"{RACK}/prices", {"items": items})
    assert (answer.status, answer.json["field"]) == (status, field)
    prices = server.ok("GET", f"{RACK}/prices")["items"]
    assert [p["price_hour_micro"] for p in prices] == [7, 1]


def test_maintenance_has_a_reason_and_an_end(server: Server) -> None:
    server.ok("PUT", RACK, {})
    until = later(hours=1)
    body = {"reason": "new switch", "until": until}
    found = server.ok("PUT", f"{RACK}/maintenance", body)["maintenance"]
    assert found["reason"] == "new switch"
    assert datetime.fromisoformat(found["until"]) - datetime.fromisoformat(until) < timedelta(
        milliseconds=2
    )
    open_end = server.ok("PUT", f"{RACK}/maintenance", {"reason": "new floor"})
    assert open_end["maintenance"] == {"reason": "new floor", "until": None}
    assert server.ok("DELETE", f"{RACK}/maintenance")["maintenance"] is None
    past = server.call("PUT", f"{RACK}/maintenance", {"reason": "x", "until": later(hours=-1)})
    assert (past.status, past.json["field"]) == (422, "until")
    soon = later(seconds=2)
    server.ok("PUT", f"{RACK}/maintenance", {"reason": "short", "until": soon})
    wait_for("its end", lambda: server.ok("GET", RACK)["maintenance"] is None)


def test_what_uses_a_target_keeps_it(server: Server) -> None:
    server.ok("PUT", RACK, {})
    agent = make_id("a")
    server.ok("PUT", f"/api/v1/agents/{agent}", {"name": "one", "target": "rack"})
    job = submit(server, target="rack")
    server.ok("PUT", "/api/v1/queues/night", {"targets": ["rack"]})
    server.ok("PUT", "/api/v1/teams/vision", {"targets": ["rack"]})
    answer = server.call("DELETE", RACK)
    assert answer.status == 409
    assert answer.json["message"] == (
        'target "rack" is in use by 1 agent, 1 job that has not ended, queue "night",'
        ' the share of "vision"'
    )
    server.ok("DELETE", f"/api/v1/agents/{agent}")
    server.ok("POST", f"/api/v1/jobs/{job}/cancel")
    server.ok("PUT", "/api/v1/queues/night", {})
    assert server.call("DELETE", RACK).json["message"] == (
        'target "rack" is in use by the share of "vision"'
    )
    server.ok("PUT", "/api/v1/teams/vision", {})
    server.ok("DELETE", RACK)
    assert server.call("GET", RACK).status == 404
    assert server.call("DELETE", RACK).status == 404
    assert server.ok("GET", "/api/v1/targets")["items"] == []
    assert server.call("PUT", RACK, {}).status == 201


def test_a_removed_target_is_still_named_by_what_ran_there(server: Server) -> None:
    agent = Agent(server)
    job = submit(server)
    offer = agent.offer()
    attempt, token = offer["attempt"], offer["token"]
    assert agent.tell(attempt, token, "accept").status == 200
    ended = {"state": "ended", "exit_code": 0, "run_time_ms": 1, "final": True}
    assert agent.tell(attempt, token, "status", ended).status == 200
    server.ok("DELETE", f"/api/v1/agents/{agent.id}")
    server.ok("DELETE", "/api/v1/targets/local")
    (shown,) = server.ok("GET", f"/api/v1/jobs/{job}")["attempts"]
    assert shown["target"].startswith("local (removed")


def test_jobs_get_the_variables_of_target_and_project(server: Server) -> None:
    agent = Agent(server)
    local = "/api/v1/targets/local"
    server.ok("PUT", local, {"settings": {"env": {"A": "target", "B": "target", "C": "target"}}})
    path = "/api/v1/projects/demo/targets/local/settings"
    assert server.ok("GET", path) == {}
    settings = {"env": {"B": "project", "C": "project"}}
    assert server.ok("PUT", path, settings) == settings
    assert server.ok("GET", path) == settings
    submit(server, env={"C": "job", "D": "job"})
    offer = agent.offer()
    assert offer["env"] == {"A": "target", "B": "project", "C": "job", "D": "job"}
    server.ok("DELETE", path)
    assert server.ok("GET", path) == {}


BAD: list[tuple[Any, str]] = [
    ({"labels": {"": "x"}}, "labels"),
    ({"labels": {"a b": "x"}}, "labels"),
    ({"labels": {"a": 1}}, "labels"),
    ({"labels": {f"l{i}": "" for i in range(65)}}, "labels"),
    ({"spot": "yes"}, "spot"),
    ({"excluded": ["NOT a label"]}, "excluded"),
    ({"tolerations": [{"effect": "Never"}]}, "tolerations[0].effect"),
    ({"tolerations": [{}, {"tolerance": 1}]}, "tolerations[1].tolerance"),
    ({"volumes": [{"name": "a"}]}, "volumes[0].host_path"),
    ({"volumes": [{"name": "a", "host_path": "/x", "claim": "y"}]}, "volumes[0].host_path"),
    ({"volumes": [{"name": "a", "host_path": "/"}]}, "volumes[0].host_path"),
    ({"volumes": [{"name": "a", "host_path": "/a/../b"}]}, "volumes[0].host_path"),
    ({"volumes": [{"name": "a", "host_path": "a"}]}, "volumes[0].host_path"),
    ({"volumes": [{"name": "a", "claim": "A"}]}, "volumes[0].claim"),
    ({"volumes": [{"name": "a", "claim": "b"}] * 2}, "volumes[1].name"),
    ({"volumes": ["a"]}, "volumes[0]"),
    ({"buckets": [{"name": "b", "bucket": "b"}]}, "buckets[0].endpoint"),
    ({"buckets": [{"name": "b", "bucket": "b", "endpoint": "ftp://x"}]}, "buckets[0].endpoint"),
    (
        {"buckets": [{"name": "b", "bucket": "b", "endpoint": "https://u:p@x"}]},
        "buckets[0].endpoint",
    ),
    (
        {"buckets": [{"name": "b", "bucket": "b", "endpoint": "https://x?key=1"}]},
        "buckets[0].endpoint",
    ),
    (
        {"buckets": [{"name": "b", "bucket": "b", "endpoint": "https://x", "secret": "1"}]},
        "buckets[0].secret",
    ),
    ({"settings": {"image": "x"}}, "settings.image"),
    ({"settings": {"env": {"1A": "x"}}}, "settings.env"),
    ({"settings": {"env": {"A": None}}}, "settings.env"),
    ({"settings": {"volumes": [{"name": "a", "path": "relative"}]}}, "settings.volumes[0].path"),
    ({"privileged": True}, "privileged"),
]


@pytest.mark.parametrize(("body", "field"), BAD)
def test_bad_targets_name_the_field(server: Server, body: Any, field: str) -> None:
    answer = server.call("PUT", RACK, body)
    assert answer.status == 400, answer.body
    assert answer.json["field"] == field
    assert server.call("GET", RACK).status == 404


def test_only_administrators_change_targets(server: Server) -> None:
    eve = server.user("eve")
    server.ok("PUT", RACK, {})
    server.ok("PUT", "/api/v1/projects/hers", {}, key=eve)
    settings = "/api/v1/projects/hers/targets/rack/settings"
    for method, path, body in (
        ("PUT", RACK, {}),
        ("DELETE", RACK, None),
        ("PUT", f"{RACK}/maintenance", {"reason": "x"}),
        ("DELETE", f"{RACK}/maintenance", None),
        ("PUT", f"{RACK}/prices", {"items": []}),
        ("PUT", settings, {}),
        ("DELETE", settings, None),
    ):
        assert server.call(method, path, body, key=eve).status == 403, path
    assert server.ok("GET", settings, key=eve) == {}


def test_a_project_goes_with_what_it_set_at_targets(tmp_path: Path) -> None:
    with Server(tmp_path / "data") as server:
        server.ok("PUT", RACK, {})
        server.ok("PUT", "/api/v1/projects/gone", {})
        path = "/api/v1/projects/gone/targets/rack/settings"
        server.ok("PUT", path, {"env": {"A": "1"}})
        server.ok("DELETE", "/api/v1/projects/gone")
        server.ok("PUT", "/api/v1/projects/gone", {})
        assert server.ok("GET", path) == {}
