"""Budgets of projects through the HTTP API. What charges them is tested in C (test_ledger)."""

from __future__ import annotations

import subprocess
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from support import BUILD, Server
from test_jobs import Agent, submit

BUDGET = "/api/v1/projects/demo/budget"


def month_of(moment: datetime, zone: str) -> tuple[datetime, datetime]:
    local = moment.astimezone(ZoneInfo(zone))
    start = local.replace(day=1, hour=0, minute=0, second=0, microsecond=0)
    end = (start + timedelta(days=32)).replace(day=1)
    return start.astimezone(UTC), end.astimezone(UTC)


def bounds(period: dict[str, Any]) -> tuple[datetime, datetime]:
    return datetime.fromisoformat(period["start"]), datetime.fromisoformat(period["end"])


def ms(moment: datetime) -> int:
    return int(moment.timestamp() * 1000)


def test_without_a_budget_nothing_is_limited(server: Server) -> None:
    budget = server.ok("GET", BUDGET)
    assert budget["gpu_hours"] is None and budget["cost_micro"] is None
    assert budget["zone"] == "UTC"
    assert budget["left"] == {"gpu_ms": None, "cost_micro": None}
    assert budget["period"]["gpu_ms"] == 0
    start, end = bounds(budget["period"])
    assert start <= datetime.now(UTC) < end
    assert budget["next_period"]["start"] == budget["period"]["end"]
    assert server.ok("GET", f"{BUDGET}/periods") == {"items": [], "next_cursor": None}


def test_months_are_those_of_the_project_s_zone(server: Server) -> None:
    server.ok("PUT", "/api/v1/projects/east", {})
    path = "/api/v1/projects/east/budget"
    first = server.ok("PUT", path, {"gpu_hours": 10, "zone": "Pacific/Kiritimati"})
    assert first["zone"] == "Pacific/Kiritimati"
    # The running month keeps its bounds; the one after it ends where the zone says.
    assert first["period"]["zone"] == "UTC"
    assert bounds(first["period"]) == month_of(datetime.now(UTC), "UTC")
    start, end = bounds(first["next_period"])
    assert start == bounds(first["period"])[1]
    middle = start + timedelta(days=15)
    assert end == month_of(middle, "Pacific/Kiritimati")[1]
    assert server.ok("GET", path) == first


def test_what_was_used_is_shown_with_what_is_left_and_the_forecast(tmp_path: Path) -> None:
    with Server(tmp_path / "data") as server:
        server.ok("PUT", "/api/v1/projects/demo", {})
        server.ok("PUT", BUDGET, {"gpu_hours": 100, "cost_micro": 5_000_000})
        now = datetime.now(UTC)
        start, end = month_of(now, "UTC")
        before = start - timedelta(days=30)
        server.stop()
        for begin, finish, used in ((start, end, 36_000_000), (before, start, 7)):
            server.change(
                "INSERT INTO ledger (project_id, start_ms, end_ms, zone, gpu_ms_used, micro_used,"
                f" gpu_ms_lost) SELECT id, {ms(begin)}, {ms(finish)}, 'UTC', {used}, 6000000, 5"
                " FROM project WHERE name = 'demo'"
            )
        server.start()
        budget = server.ok("GET", BUDGET)
        assert budget["period"]["gpu_ms"] == 36_000_000
        assert budget["left"] == {"gpu_ms": 90 * 3_600_000, "cost_micro": 0}
        if now - start > timedelta(hours=2):
            assert budget["forecast"]["gpu_ms"] >= 36_000_000
        periods = server.ok("GET", f"{BUDGET}/periods")["items"]
        assert [p["gpu_ms"] for p in periods] == [36_000_000, 7]
        assert periods[1]["gpu_ms_lost"] == 5
        page = server.ok("GET", f"{BUDGET}/periods?limit=1")
        rest = server.ok("GET", f"{BUDGET}/periods?cursor={page['next_cursor']}")
        assert page["items"] + rest["items"] == periods
        server.ok("DELETE", "/api/v1/projects/demo")


def test_what_a_job_cost_is_in_the_ledger_to_the_last_millionth(server: Server) -> None:
    agent = Agent(server)
    job = submit(server)
    offer = agent.offer()
    attempt, token = offer["attempt"], offer["token"]
    assert agent.tell(attempt, token, "accept").status == 200
    assert agent.tell(attempt, token, "status", {"state": "running"}).status == 200
    ended = {"state": "ended", "exit_code": 0, "run_time_ms": 3_600_000}
    assert agent.tell(attempt, token, "status", ended).status == 200
    assert server.ok("GET", f"/api/v1/jobs/{job}")["cost_micro"] == 3_600_000
    budget = server.ok("GET", BUDGET)  # at the end of a month a part is the next one's
    used = [budget[part]["cost_micro"] for part in ("period", "next_period")]
    assert sum(used) == 3_600_000


@pytest.mark.parametrize(
    ("body", "status", "field"),
    [
        ({"gpu_hours": -1}, 400, "gpu_hours"),
        ({"gpu_hours": 10**10}, 400, "gpu_hours"),
        ({"gpu_hours": 1.5}, 400, "gpu_hours"),
        ({"cost_micro": "5 EUR"}, 400, "cost_micro"),
        ({"zone": "Europe/Atlantis"}, 422, "zone"),
        ({"zone": "../../etc/passwd"}, 422, "zone"),
        ({"zone": "posix/Europe/Berlin"}, 422, "zone"),
        ({"zone": "x" * 65}, 400, "zone"),
        ({"per": "week"}, 400, "per"),
    ],
)
def test_bad_budgets_name_the_field(server: Server, body: Any, status: int, field: str) -> None:
    answer = server.call("PUT", BUDGET, body)
    assert (answer.status, answer.json["field"]) == (status, field)
    assert server.ok("GET", BUDGET)["gpu_hours"] is None


def test_only_administrators_set_budgets(server: Server) -> None:
    eve = server.user("eve")
    server.ok("PUT", "/api/v1/projects/hers", {}, key=eve)
    path = "/api/v1/projects/hers/budget"
    assert server.call("PUT", path, {"gpu_hours": 1}, key=eve).status == 403
    server.ok("PUT", path, {"gpu_hours": 1})
    assert server.ok("GET", path, key=eve)["gpu_hours"] == 1
    assert server.call("GET", BUDGET, key=eve).status == 404
    (row, *_) = server.ok("GET", "/api/v1/audit")["items"]
    assert row["subject"] == "hers" and "GPU hours 1" in row["detail"]


def test_the_installation_has_a_time_zone(tmp_path: Path) -> None:
    with Server(tmp_path / "data", "--time-zone", "Asia/Kathmandu") as server:
        server.ok("PUT", "/api/v1/projects/demo", {})
        budget = server.ok("GET", BUDGET)
        assert budget["zone"] == "Asia/Kathmandu"
        assert bounds(budget["period"]) == month_of(datetime.now(UTC), "Asia/Kathmandu")


def test_an_unknown_time_zone_is_refused_at_the_start(tmp_path: Path) -> None:
    done = subprocess.run(
        [BUILD / "euvyrad", "--data", tmp_path / "data", "--time-zone", "Mars/Olympus"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert '--time-zone: this system has no time zone "Mars/Olympus"' in done.stderr
    assert not (tmp_path / "data").exists()
