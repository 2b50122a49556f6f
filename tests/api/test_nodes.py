"""Machines on a server with played agents: readings and their pyramid, idle GPUs, energy, maintenance."""

from __future__ import annotations

import random
import struct
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from support import Server, make_id, wait_for
from test_jobs import Agent, started, submit, waits

HOUR = 3_600_000
MINUTE = 60_000
UUIDS = ["GPU-a", "GPU-b"]


class Node:
    """The readings of a played agent."""

    def __init__(self, agent: Agent) -> None:
        self.agent = agent
        self.server = agent.server
        self.boot = agent.boot
        self.number = 0

    def tell(self, *gpus: dict[str, Any]) -> None:
        """A poll that says what the machine is."""
        body = {
            "boot": self.boot,
            "version": "test",
            "wait_ms": 0,
            "attempts": [],
            "capacity": {"slots": 4, "cpus": 4, "memory_bytes": 1 << 30, "gpus": len(gpus)},
            "node": {"os": "Debian", "cpu_threads": 4, "gpus": list(gpus)},
        }
        path = f"/api/v1/agents/{self.agent.id}/poll"
        self.server.ok("POST", path, body, key=self.agent.key)
        self.agent.gpus = len(gpus)

    def sample(self, age_ms: int, *percents: float | None, **more: Any) -> dict[str, Any]:
        self.number += 1
        gpus = [[p, 1000, 40, 100] for p in percents]
        return {
            "number": self.number,
            "age_ms": age_ms,
            "node": [5, 100, 200, 1],
            "gpus": gpus,
            **more,
        }

    def send(self, *samples: dict[str, Any], gpus: list[str] | None = None) -> Any:
        body = {"boot": self.boot, "gpus": UUIDS if gpus is None else gpus}
        path = f"/api/v1/agents/{self.agent.id}/samples"
        return self.server.call("POST", path, body | {"samples": list(samples)}, self.agent.key)

    def ok(self, *samples: dict[str, Any]) -> None:
        answer = self.send(*samples)
        assert answer.status == 204, answer.body

    def chart(self, query: str = "") -> Any:
        return self.server.ok("GET", f"/api/v1/agents/{self.agent.id}/samples{query}")

    def show(self) -> Any:
        return self.server.ok("GET", f"/api/v1/agents/{self.agent.id}")


@pytest.fixture
def node(server: Server) -> Node:
    made = Node(Agent(server))
    made.tell({"uuid": "GPU-a", "type": "A100"}, {"uuid": "GPU-b", "type": "A100"})
    return made


def known(values: list[Any]) -> list[Any]:
    return [v for v in values if v is not None]


def at(ms_ago: int) -> str:
    then = datetime.now(UTC) - timedelta(milliseconds=ms_ago)
    return then.isoformat().replace("+00:00", "Z")


def test_a_reading_counts_once_however_often_it_is_sent(node: Node) -> None:
    samples = [node.sample(30_000, 10, 90), node.sample(20_000, 20, None)]
    for _ in range(3):
        node.ok(*samples)
    chart = node.chart("?buckets=1")
    percent = chart["gpus"][0]["percent"]
    assert (percent["min"], percent["max"], percent["mean"]) == ([10], [20], [15])
    assert chart["gpus"][1]["percent"]["mean"] == [90]
    assert chart["node"]["cpu_percent"]["mean"] == [5]
    assert node.server.sql("SELECT count(*) FROM node_sample") == "2"
    shown = node.show()
    assert shown["gpus"][0]["now"]["percent"] == 20
    assert shown["gpus"][1]["now"]["percent"] is None
    node.boot = "bbbbbbbbbbbb"  # another process counts anew
    node.number = 0
    node.ok(node.sample(0, 30, 30))
    assert node.show()["gpus"][0]["now"]["percent"] == 30


def test_readings_that_come_too_close_or_without_end_are_bounded(node: Node) -> None:
    node.ok(*[node.sample(59 - i, 1, 1) for i in range(60)])
    assert node.server.sql("SELECT count(*) FROM node_sample") == "1"
    assert node.send(node.sample(0, 1, 1), gpus=["GPU-z"]).status == 400  # more GPUs than named
    assert node.send(node.sample(0, 1), gpus=["GPU-z"]).status == 204  # one that nobody told of
    assert [g["uuid"] for g in node.show()["gpus"]] == UUIDS


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"node": [5, 1, 1]}, "samples[0].node: has not 4 numbers"),
        ({"node": [101, 1, 1, 1]}, "samples[0].node[0]: is null, or a number from 0 to 100"),
        ({"node": ["NaN", 1, 1, 1]}, "samples[0].node[0]: is null, or a number from 0 to 100"),
        ({"gpus": [[1, -1, 0, 0]]}, "samples[0].gpus[0][1]: is null, or a number from 0"),
        ({"age_ms": 7_200_001}, "age_ms"),
        ({"number": 0}, "number"),
        ({"attempts": [{"attempt": "x"}]}, "attempt"),
        ({"more": 1}, "more"),
    ],
)
def test_a_reading_that_is_none_is_refused_by_name(
    node: Node, change: dict[str, Any], said: str
) -> None:
    answer = node.send(node.sample(0, 1, 1) | change)
    assert answer.status == 400, answer.body
    assert said in answer.json["message"] + str(answer.json.get("field"))


def test_readings_are_the_agents_own(node: Node, server: Server) -> None:
    other = Agent(server, "other")
    body = {"boot": node.boot, "gpus": [], "samples": []}
    path = f"/api/v1/agents/{node.agent.id}/samples"
    assert server.call("POST", path, body, key=other.key).status == 403
    assert server.call("POST", path, body).status == 403
    assert server.call("GET", path, key="").status == 401


def fill(server: Server, node: Node, hours: int) -> list[tuple[int, float]]:
    """Readings of some hours until now, as if they had come in time; gives those of GPU-a."""
    rng = random.Random(7)
    made: list[tuple[int, float]] = []
    node.ok(node.sample(0, 50.0, 50.0))
    server.stop()
    now = int(server.sql("SELECT max(at_ms) FROM node_sample"))
    for number in range(1, hours * 360):
        percent = round(rng.uniform(0, 100), 1)
        made.append((now - number * 10_000, percent))
    columns = "agent_id, at_ms, gpu_readings, gpu_tenths, data"
    rows = [
        f"(1, {when}, 2, {round(percent * 10) + 500}, {blob(server, percent)})"
        for when, percent in made
    ]
    for start in range(0, len(rows), 500):
        some = ",".join(rows[start : start + 500])
        server.change(f"INSERT INTO node_sample ({columns}) VALUES {some}")
    server.start()
    return [*made, (now, 50.0)]


def blob(server: Server, percent: float) -> str:
    raw = bytes([1, 2]) + struct.pack("<12d", 5, 100, 200, 1, percent, 1, 40, 9, 50, 1, 40, 9)
    return f"'\\x{raw.hex()}'" if server.database else f"x'{raw.hex()}'"


def test_hours_are_packed_and_every_level_tells_the_same(node: Node, server: Server) -> None:
    made = fill(server, node, 30)
    now = max(when for when, _ in made)
    wait_for(
        "packing",
        lambda: (
            int(server.sql("SELECT count(*) FROM node_sample")) <= 3 * 360
            and int(server.sql("SELECT count(*) FROM node_hour")) >= 27
        ),
    )
    for hours, buckets in ((1, 600), (6, 300), (30, 150), (30, 20)):
        query = f"?buckets={buckets}&from={at(hours * HOUR)}"
        chart = node.chart(query)
        begin = int(datetime.fromisoformat(chart["from"]).timestamp() * 1000)
        inside = [v for when, v in made if when >= begin]
        percent = chart["gpus"][0]["percent"]
        assert max(known(percent["max"])) == max(inside)
        assert min(known(percent["min"])) == min(inside)
        counted = sum(
            v is not None and begin + k * chart["width_ms"] <= now
            for k, v in enumerate(percent["mean"])
        )
        assert counted >= buckets // 2
    sums = server.ok("GET", "/api/v1/targets/local/nodes")["sums"]
    all_of = sum(v for _, v in made) + 50.0 * len(made)
    assert sums["utilization_percent"] == pytest.approx(all_of / 2 / len(made), abs=1e-9)
    assert sums["nodes"] == 1


def test_what_is_older_than_a_week_goes(node: Node, server: Server) -> None:
    node.ok(node.sample(0, 50.0, 50.0))
    server.stop()
    now = int(server.sql("SELECT max(at_ms) FROM node_sample"))
    server.change(f"UPDATE node_sample SET at_ms = {now - 8 * 24 * HOUR}")
    server.start()
    gone = "SELECT (SELECT count(*) FROM node_sample) + (SELECT count(*) FROM node_hour)"
    wait_for("its end", lambda: server.sql(gone) == "0")
    assert known(node.chart(f"?from={at(7 * 24 * HOUR)}")["gpus"][0]["percent"]["mean"]) == []


def test_a_range_that_is_none_is_refused_by_name(node: Node) -> None:
    path = f"/api/v1/agents/{node.agent.id}/samples"
    for query in ("?from=yesterday", f"?from={at(-HOUR)}", f"?from={at(9 * 24 * HOUR)}"):
        answer = node.server.call("GET", path + query)
        assert answer.status == 400
        assert answer.json["field"] == "from"
    assert node.server.call("GET", path + "?buckets=0").status == 400


def running(node: Node, **spec: Any) -> tuple[str, str]:
    """A job with a GPU that runs; its id and its attempt's."""
    job = submit(node.server, gpus=1, **spec)
    return job, started(node.server, node.agent, job)[0]


def use(attempt: str, percent: float, energy_mj: int = 0) -> dict[str, Any]:
    return {"attempt": attempt, "gpus": [0], "energy_mj": energy_mj, "percent": percent}


def job_of(node: Node, job: str) -> Any:
    return node.server.ok("GET", f"/api/v1/jobs/{job}")


def test_energy_of_an_attempt_is_the_sum_of_its_readings(node: Node) -> None:
    job, attempt = running(node)
    samples = [
        node.sample(20_000, 80, 0, attempts=[use(attempt, 80, 3_000_000)]),
        node.sample(10_000, 80, 0, attempts=[use(attempt, 80, 600_000)]),
    ]
    for _ in range(2):
        node.ok(*samples)
    shown = job_of(node, job)
    assert (shown["energy_mj"], shown["attempts"][0]["energy_mj"]) == (3_600_000, 3_600_000)
    assert shown["idle_since"] is None
    bars = node.chart()["jobs"]
    assert [(b["job"], b["gpus"], b["running"]) for b in bars] == [(job, [0], True)]
    assert [(j["job"], j["gpus"]) for j in node.show()["jobs"]] == [(job, [0])]
    node.ok(node.sample(0, 80, 0, attempts=[use(attempt, 80, 400_000)]))
    (there,) = node.show()["jobs"]
    assert (there["energy_mj"], job_of(node, job)["energy_mj"]) == (4_000_000, 4_000_000)


def test_readings_of_what_an_agent_does_not_hold_count_for_nothing(
    node: Node, server: Server
) -> None:
    job, attempt = running(node)
    other = Node(Agent(server, "other"))
    other.ok(
        other.sample(10_000, 80, 0, attempts=[use(make_id("t"), 80, 1)]),
        other.sample(0, 80, 0, attempts=[use(attempt, 80, 1)]),
    )
    assert job_of(node, job)["energy_mj"] == 0
    assert other.chart()["jobs"] == []


def test_what_another_project_runs_is_not_named(node: Node, server: Server) -> None:
    job, attempt = running(node)
    node.ok(node.sample(0, 80, 0, attempts=[use(attempt, 80)]))
    bob = server.user("bob")
    shown = server.ok("GET", f"/api/v1/agents/{node.agent.id}", key=bob)
    assert [j["job"] for j in shown["jobs"]] == [None]
    assert job not in str(shown)
    assert job not in str(server.ok("GET", f"/api/v1/agents/{node.agent.id}/samples", key=bob))


def test_a_job_that_leaves_its_gpus_idle_is_marked_and_its_owner_told(
    node: Node, server: Server
) -> None:
    job, attempt = running(node)
    node.ok(
        node.sample(40 * MINUTE, 0, 0, attempts=[use(attempt, 4.9)]),
        node.sample(10_000, 0, 0, attempts=[use(attempt, 0)]),
    )
    shown = wait_for("the mark", lambda: job_of(node, job)["idle_since"])
    assert shown
    alerts = server.ok("GET", "/api/v1/projects/demo/alerts")["items"]
    assert [a["text"] for a in alerts] == ["All its GPUs stayed below 5 % for 30 minutes."]
    assert job_of(node, job)["state"] == "running"
    node.ok(node.sample(0, 90, 0, attempts=[use(attempt, 90)]))
    wait_for("its end", lambda: job_of(node, job)["idle_since"] is None)
    assert len(server.ok("GET", "/api/v1/projects/demo/alerts")["items"]) == 1


def test_a_project_can_have_idle_jobs_stopped(node: Node, server: Server) -> None:
    policy = {"idle_gpus": "stop", "idle_minutes": 10}
    shown = server.ok("PATCH", "/api/v1/projects/demo", policy)
    assert (shown["idle_gpus"], shown["idle_minutes"]) == ("stop", 10)
    job, attempt = running(node)
    idle = [use(attempt, 0)]
    node.ok(node.sample(9 * MINUTE, 0, 0, attempts=idle), node.sample(0, 0, 0, attempts=idle))
    server.ok("PATCH", "/api/v1/projects/demo", {"idle_minutes": 8})
    wait_for("the stop", lambda: node.agent.poll()["stop"] == [attempt])
    assert job_of(node, job)["state"] == "stopping"
    alerts = server.ok("GET", "/api/v1/projects/demo/alerts")["items"]
    assert "so it was stopped" in alerts[0]["text"]
    for bad in ({"idle_gpus": "kill"}, {"idle_minutes": 4}):
        assert server.call("PATCH", "/api/v1/projects/demo", bad).status == 400


def test_a_service_that_waits_for_requests_is_marked_and_not_stopped(
    node: Node, server: Server
) -> None:
    server.ok("PATCH", "/api/v1/projects/demo", {"idle_gpus": "stop"})
    service, waiting = running(node, kind="service")
    job, attempt = running(node)
    for ms_ago in (40 * MINUTE, 0):
        node.ok(node.sample(ms_ago, 0, 0, attempts=[use(waiting, 0), use(attempt, 0)]))
    wait_for("the mark", lambda: job_of(node, service)["idle_since"])
    wait_for("the stop of the other", lambda: job_of(node, job)["state"] == "stopping")
    assert job_of(node, service)["state"] == "running"


def test_an_agent_that_is_not_heard_does_not_say_that_gpus_are_idle(
    node: Node, server: Server
) -> None:
    server.ok("PATCH", "/api/v1/projects/demo", {"idle_gpus": "stop"})
    quiet, attempt = running(node)
    node.ok(
        node.sample(60 * MINUTE, 0, 0, attempts=[use(attempt, 0)]),
        node.sample(40 * MINUTE, 0, 0, attempts=[use(attempt, 0)]),
    )
    other = Node(Agent(server, "other"))
    other.tell({"uuid": "GPU-a"}, {"uuid": "GPU-b"})
    job = submit(server, gpus=1, exclude=["rack1"])
    heard = started(server, other.agent, job)[0]
    other.ok(
        other.sample(40 * MINUTE, 0, 0, attempts=[use(heard, 0)]),
        other.sample(0, 0, 0, attempts=[use(heard, 0)]),
    )
    wait_for("the stop", lambda: job_of(other, job)["state"] == "stopping")
    assert job_of(node, quiet)["state"] == "running"
    assert job_of(node, quiet)["idle_since"] is None


def test_a_gang_is_idle_when_all_its_machines_say_so(node: Node, server: Server) -> None:
    second = Node(Agent(server, "second"))
    second.tell({"uuid": "GPU-a"}, {"uuid": "GPU-b"})
    job = submit(server, gpus=1, nodes=2)
    offers = [(one, one.agent.offer()) for one in (node, second)]
    attempt = offers[0][1]["attempt"]
    for verb, body in (("accept", None), ("status", {"state": "running"})):
        for one, offer in offers:
            assert one.agent.tell(attempt, offer["token"], verb, body).status == 200
    busy, idle = [use(attempt, 90)], [use(attempt, 0)]
    for one, end in ((node, idle), (second, busy)):
        one.ok(one.sample(40 * MINUTE, 0, 0, attempts=idle), one.sample(0, 0, 0, attempts=end))
    third = Node(Agent(server, "third"))
    third.tell({"uuid": "GPU-a"}, {"uuid": "GPU-b"})
    alone = submit(server, gpus=1, exclude=["rack1", "second"])
    own = [use(started(server, third.agent, alone)[0], 0)]
    third.ok(third.sample(40 * MINUTE, 0, 0, attempts=own), third.sample(0, 0, 0, attempts=own))
    wait_for("the mark", lambda: job_of(node, alone)["idle_since"])
    assert job_of(node, job)["idle_since"] is None


def test_an_alert_of_the_server_itself_is_exported(node: Node, server: Server) -> None:
    job, attempt = running(node)
    idle = [use(attempt, 0)]
    node.ok(node.sample(40 * MINUTE, 0, 0, attempts=idle), node.sample(0, 0, 0, attempts=idle))
    wait_for("the mark", lambda: job_of(node, job)["idle_since"])
    told = server.ok("GET", "/api/v1/projects/demo/alerts")["items"]
    saved = server.send("GET", f"/api/v1/runs/{job_of(node, job)['run']}/export").body
    server.ok("PUT", "/api/v1/projects/copy", {})
    path = f"/api/v1/projects/copy/runs/{make_id('r')}/import"
    headers = {"Content-Type": "application/octet-stream"}
    answer = server.send("POST", path, saved, headers)
    assert answer.status // 100 == 2, answer.body
    (copied,) = server.ok("GET", "/api/v1/projects/copy/alerts")["items"]
    for name in ("level", "title", "text", "at"):
        assert copied[name] == told[0][name]


def test_a_machine_in_maintenance_starts_nothing_and_says_why(node: Node, server: Server) -> None:
    path = f"/api/v1/agents/{node.agent.id}/maintenance"
    shown = server.ok("PUT", path, {"reason": "new fans"})
    assert shown["maintenance"] == {"reason": "new fans", "until": None}
    job = submit(server)
    said = waits(server, job, "maintenance")["waiting"]["text"]
    assert said == "the machines that could take it are in maintenance"
    assert node.agent.poll()["offers"] == []
    assert server.ok("DELETE", path)["maintenance"] is None
    server.ok("DELETE", path)
    assert node.agent.offer()["job"] == job
    rows = server.ok("GET", "/api/v1/audit")["items"]
    assert [r["detail"] for r in rows if "maintenance" in r["detail"]] == [
        "maintenance ended",
        "maintenance (open end): new fans",
    ]
    past = {"reason": "x", "until": "2020-01-01T00:00:00Z"}
    assert server.call("PUT", path, past).status == 422
    bob = server.user("bob")
    assert server.call("PUT", path, {"reason": "x"}, key=bob).status == 403


def test_machines_come_in_pages_with_sums_over_all_in_the_first(node: Node, server: Server) -> None:
    for name in ("b", "c", "d"):
        Node(Agent(server, name)).tell({"uuid": "GPU-a", "ill": "it does not answer"})
    path = "/api/v1/targets/local/nodes?limit=2"
    first = server.ok("GET", path)
    last = server.ok("GET", f"{path}&cursor={first['next_cursor']}")
    names = [[item["name"] for item in page["items"]] for page in (first, last)]
    assert names == [["rack1", "b"], ["c", "d"]]
    sums = first["sums"]
    assert (sums["nodes"], sums["gpus"], sums["gpus_ill"], sums["gpus_idle"]) == (4, 5, 3, 2)
    assert last["next_cursor"] is None and "sums" not in last


def test_a_gpu_that_is_not_named_any_more_is_missed(node: Node) -> None:
    node.tell({"uuid": "GPU-b"}, {"uuid": "GPU-c", "ill": "it does not answer"})
    gpus = node.show()["gpus"]
    assert [(g["place"], g["uuid"], g["ill"]) for g in gpus] == [
        (0, "GPU-a", "the agent does not name it any more"),
        (1, "GPU-b", ""),
        (2, "GPU-c", "it does not answer"),
    ]
    since = gpus[2]["ill_since"]
    node.tell({"uuid": "GPU-a"}, {"uuid": "GPU-c", "ill": "it does not answer, still"})
    again = node.show()["gpus"]
    assert (again[0]["ill"], again[0]["ill_since"]) == ("", None)
    assert (again[2]["ill"], again[2]["ill_since"]) == ("it does not answer, still", since)


def test_an_inventory_that_is_none_is_refused_by_name(node: Node) -> None:
    for gpus, said in (
        ([{}], "node.gpus[0].uuid"),
        ([{"uuid": "x"}, {"uuid": "x"}], "is there twice"),
        ([{"uuid": "x", "memory_kind": "fast"}], "is dedicated, unified or unknown"),
        ([{"uuid": "x" * 96}], "uuid"),
        ([{"uuid": str(i)} for i in range(65)], "gpus"),
    ):
        body = {
            "boot": node.boot,
            "version": "test",
            "wait_ms": 0,
            "attempts": [],
            "capacity": {"slots": 1, "cpus": 1, "memory_bytes": 1, "gpus": 0},
            "node": {"gpus": gpus},
        }
        path = f"/api/v1/agents/{node.agent.id}/poll"
        answer = node.server.call("POST", path, body, key=node.agent.key)
        assert answer.status == 400
        assert said in answer.json["message"]
