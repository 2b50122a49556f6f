"""Jobs through the HTTP API, with an agent played by the test."""

from __future__ import annotations

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from copy import copy
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from support import Log, Server, make_id, wait_for


class Agent:
    """Says over HTTP what an agent says."""

    def __init__(self, server: Server, name: str = "rack1") -> None:
        self.server = server
        self.name = name
        server.ok("PUT", "/api/v1/targets/local", {"price_hour_micro": 3_600_000})
        self.id = make_id("a")
        self.boot = make_id("b")[1:]
        self.version = "test"
        server.ok("PUT", f"/api/v1/agents/{self.id}", {"name": name, "target": "local"})
        body = {"kind": "agent", "name": name, "agent": self.id}
        self.key = server.ok("POST", "/api/v1/keys", body)["key"]
        self.held: dict[str, str] = {}
        self.gpus = 0

    def poll(self, wait_ms: int = 0, slots: int = 4, cpus: int = 4) -> Any:
        body = {
            "boot": self.boot,
            "version": self.version,
            "wait_ms": wait_ms,
            "capacity": {"slots": slots, "cpus": cpus, "memory_bytes": 1 << 30, "gpus": self.gpus},
            "attempts": [{"attempt": a, "token": t} for a, t in self.held.items()],
        }
        return self.server.ok("POST", f"/api/v1/agents/{self.id}/poll", body, key=self.key)

    def offer(self) -> dict[str, Any]:
        offers = wait_for("an offer", lambda: self.poll(1000)["offers"])
        return dict(offers[0])

    def tell(self, attempt: str, token: str, verb: str, body: Any = None) -> Any:
        headers = {"Euvyra-Attempt-Token": token}
        raw = None
        if body is not None:
            headers["Content-Type"] = "application/json"
            raw = json.dumps(body).encode()
        return self.server.send(
            "POST", f"/api/v1/attempts/{attempt}/{verb}", raw, headers, key=self.key
        )

    def console(self, attempt: str, token: str, offset: int, text: bytes) -> Any:
        headers = {
            "Euvyra-Attempt-Token": token,
            "Euvyra-Offset": str(offset),
            "Content-Type": "application/octet-stream",
        }
        path = f"/api/v1/attempts/{attempt}/console"
        return self.server.send("PATCH", path, text, headers, key=self.key)


@pytest.fixture(name="server")
def server_whose_jobs_replay(server: Server) -> Iterator[Server]:
    """Whatever happens to jobs in these tests, their rows are what their events make of them."""
    yield server
    code, lines = server.check()
    assert code == 0, lines


def submit(server: Server, project: str = "demo", **spec: Any) -> str:
    job = make_id("j")
    body = {"run": make_id("r"), "name": "train", "spec": {"command": ["python", "t.py"], **spec}}
    server.ok("PUT", f"/api/v1/projects/{project}/jobs/{job}", body)
    return job


def show(server: Server, job: str) -> dict[str, Any]:
    return dict(server.ok("GET", f"/api/v1/jobs/{job}"))


def waits(server: Server, job: str, code: str) -> dict[str, Any]:
    """The job, as soon as the scheduler says this of it."""

    def said() -> dict[str, Any] | None:
        shown = show(server, job)
        return shown if (shown["waiting"] or {}).get("code") == code else None

    return dict(wait_for(f"{job} to wait for {code}", said))


def started(server: Server, agent: Agent, job: str) -> tuple[str, str]:
    offer = agent.offer()
    assert offer["job"] == job
    attempt, token = offer["attempt"], offer["token"]
    assert agent.tell(attempt, token, "accept").json["state"] == "claimed"
    agent.held[attempt] = token
    for state in ("starting", "running"):
        assert agent.tell(attempt, token, "status", {"state": state}).json["state"] == state
    return attempt, token


def test_a_job_from_submit_to_its_record(server: Server) -> None:
    job = submit(server, config={"lr": 0.1}, env={"A": "b"})
    waiting = waits(server, job, "no_agent")
    assert waiting["state"] == "queued"
    run = waiting["run"]
    assert server.ok("GET", f"/api/v1/runs/{run}")["state"] == "pending"
    agent = Agent(server)
    attempt, token = started(server, agent, job)
    assert show(server, job)["state"] == "running"
    assert server.ok("GET", f"/api/v1/runs/{run}")["state"] == "running"
    assert agent.console(attempt, token, 0, b"epoch 1\n").json["offset"] == 8
    wrong = agent.console(attempt, token, 3, b"again")
    assert (wrong.status, wrong.headers["euvyra-offset"]) == (416, "8")
    ended = {"state": "ended", "exit_code": 0, "run_time_ms": 10_000, "final": False}
    assert agent.tell(attempt, token, "status", ended).json["state"] == "succeeded"
    assert agent.console(attempt, token, 8, b"bye\n").status == 200
    assert agent.tell(attempt, token, "status", {**ended, "final": True}).status == 200
    done = show(server, job)
    assert (done["state"], done["exit_code"], done["run_time_ms"]) == ("succeeded", 0, 10_000)
    assert done["cost_micro"] == 10_000  # 10 s of 3.6 an hour
    assert done["console_final"] is True
    shown = server.ok("GET", f"/api/v1/runs/{run}")
    assert (shown["state"], shown["cost_micro"], shown["config"]) == (
        "finished",
        10_000,
        {"lr": 0.1},
    )
    assert server.send("GET", f"/api/v1/runs/{run}/console").body == b"epoch 1\nbye\n"
    kinds = [e["kind"] for e in server.ok("GET", f"/api/v1/jobs/{job}/events")["items"]]
    assert kinds == [
        "submitted",
        "offered",
        "accepted",
        "starting",
        "running",
        "ended",
        "record_complete",
    ]


def test_a_job_key_is_for_its_project_and_dies_with_the_record(server: Server) -> None:
    server.ok("PUT", "/api/v1/projects/other", {})
    job = submit(server)
    agent = Agent(server)
    offer = agent.offer()
    key = offer["key"]
    assert server.ok("GET", "/api/v1/me", key=key)["run"] == offer["run"]
    assert server.call("GET", "/api/v1/projects/other/runs", key=key).status == 404
    assert (
        server.call("PUT", f"/api/v1/projects/demo/runs/{make_id('r')}", {}, key=key).status == 201
    )
    for path in ("/api/v1/projects", "/api/v1/users", "/api/v1/keys"):
        assert server.call("GET", path, key=key).status == 403
    log = Log()
    log.start(config={"seed": 1})
    log.row(0, {"loss": 1.0})
    assert server.append(offer["run"], log, key=key).status == 200
    agent.tell(offer["attempt"], offer["token"], "accept")
    ended = {"state": "ended", "exit_code": 1, "final": True}
    agent.tell(offer["attempt"], offer["token"], "status", ended)
    assert server.call("GET", "/api/v1/me", key=key).status == 401
    assert show(server, job)["state"] == "failed"


def test_tags_of_launch_and_of_the_script_add_up(server: Server) -> None:
    job = make_id("j")
    body = {"run": make_id("r"), "tags": ["night", "x"], "spec": {"command": ["true"]}}
    run = server.ok("PUT", f"/api/v1/projects/demo/jobs/{job}", body)["run"]
    log = Log()
    log.start(tags=["x", "example"])
    server.upload(run, log)
    assert server.ok("GET", f"/api/v1/runs/{run}")["tags"] == ["night", "x", "example"]
    log.document(11, {"tags": ["only"]})
    server.upload(run, log)
    assert server.ok("GET", f"/api/v1/runs/{run}")["tags"] == ["only"]


def test_a_job_follows_its_agent_and_not_its_log(server: Server) -> None:
    job = submit(server)
    agent = Agent(server)
    started(server, agent, job)
    log = Log()
    log.start()
    log.end(exit_code=0)
    run = show(server, job)["run"]
    server.upload(run, log)
    assert server.ok("GET", f"/api/v1/runs/{run}")["state"] == "running"


@pytest.mark.parametrize(
    "report,state,run_state",
    [
        ({"exit_code": 3}, "failed", "failed"),
        ({"signal": 11}, "failed", "killed"),
        ({"signal": 9, "oom": True, "reason": "out of memory"}, "failed", "killed"),
        ({"failed_to_start": True, "reason": "no such program"}, "failed", "failed"),
        ({"exit_code": 0, "timed_out": True}, "failed", "failed"),
    ],
)
def test_how_it_ended_is_told_apart(
    server: Server, report: dict[str, Any], state: str, run_state: str
) -> None:
    job = submit(server)
    agent = Agent(server)
    attempt, token = started(server, agent, job)
    agent.tell(attempt, token, "status", {"state": "ended", "final": True, **report})
    done = show(server, job)
    assert done["state"] == state
    assert (done["exit_code"], done["signal"]) == (report.get("exit_code"), report.get("signal"))
    assert done["oom"] is report.get("oom", False)
    assert server.ok("GET", f"/api/v1/runs/{done['run']}")["state"] == run_state


def test_cancel_waits_for_the_agent_and_repeating_changes_nothing(server: Server) -> None:
    job = submit(server)
    agent = Agent(server)
    attempt, token = started(server, agent, job)
    assert server.ok("POST", f"/api/v1/jobs/{job}/cancel")["state"] == "stopping"
    assert server.ok("POST", f"/api/v1/jobs/{job}/cancel")["state"] == "stopping"
    assert agent.poll()["stop"] == [attempt]
    agent.tell(attempt, token, "status", {"state": "ended", "signal": 15, "final": True})
    assert show(server, job)["state"] == "cancelled"
    assert server.ok("POST", f"/api/v1/jobs/{job}/cancel")["state"] == "cancelled"


def test_a_queued_job_is_cancelled_at_once_and_an_offer_of_it_is_void(server: Server) -> None:
    agent = Agent(server)
    job = submit(server)
    offer = agent.offer()
    assert server.ok("POST", f"/api/v1/jobs/{job}/cancel")["state"] == "cancelled"
    answer = agent.tell(offer["attempt"], offer["token"], "accept")
    assert (answer.status, answer.code) == (409, "fenced")


def test_a_stale_token_is_fenced(server: Server) -> None:
    submit(server)
    agent = Agent(server)
    first = agent.offer()
    second = agent.offer()  # not accepted: offered again under a new token
    assert first["attempt"] == second["attempt"] and first["token"] != second["token"]
    stale = agent.tell(first["attempt"], first["token"], "accept")
    assert (stale.status, stale.code) == (409, "fenced")
    assert agent.tell(second["attempt"], second["token"], "accept").status == 200
    assert agent.tell(second["attempt"], second["token"], "accept").status == 200


def test_another_agent_cannot_touch_an_attempt(server: Server) -> None:
    job = submit(server)
    agent = Agent(server)
    attempt, token = started(server, agent, job)
    other = Agent(server, "rack2")
    assert other.tell(attempt, token, "status", {"state": "ended", "exit_code": 0}).status == 404
    body = {
        "boot": other.boot,
        "version": "x",
        "wait_ms": 0,
        "attempts": [],
        "capacity": {"slots": 1, "cpus": 1, "memory_bytes": 0, "gpus": 0},
    }
    assert server.call("POST", f"/api/v1/agents/{agent.id}/poll", body, key=other.key).status == 403


def test_a_lost_attempt_starts_again_and_the_old_one_is_fenced(tmp_path: Path) -> None:
    with Server(tmp_path / "data", "--lost-after", "1") as server:
        server.ok("PUT", "/api/v1/projects/demo", {})
        job = submit(server)
        old = Agent(server, "old")
        offer = old.offer()
        old.tell(offer["attempt"], offer["token"], "accept")
        old.tell(offer["attempt"], offer["token"], "status", {"state": "running"})
        run = show(server, job)["run"]
        new = wait_for("the loss", lambda: show(server, job)["state"] in ("queued", "offered"))
        assert new
        stale = old.console(offer["attempt"], offer["token"], 0, b"late")
        assert (stale.status, stale.code) == (409, "fenced")
        log = Log()
        log.row(0, {"loss": 1.0})
        kept = server.append(run, log, key=offer["key"])  # its own log, for an hour, kept aside
        assert kept.status == 200 and kept.json["stop"] is True
        assert server.call("GET", "/api/v1/projects/demo/runs", key=offer["key"]).status == 404
        assert server.ok("GET", f"/api/v1/runs/{run}/metrics")["items"] == []
        fresh = Agent(server, "fresh")
        again = wait_for(
            "a new attempt",
            lambda: [
                o
                for o in old.poll(0, slots=0)["offers"] + fresh.poll(500)["offers"]
                if o["attempt"] != offer["attempt"]
            ],
        )[0]
        assert again["number"] == 2
        attempts = show(server, job)["attempts"]
        assert [a["state"] for a in attempts] == ["lost", "offered"]


def test_an_agent_that_lost_an_attempt_is_told_to_kill_it(server: Server) -> None:
    agent = Agent(server)
    agent.held[make_id("t")] = "x" * 43
    assert agent.poll()["fenced"] == list(agent.held)


def test_the_list_of_agents_says_what_is_free(server: Server) -> None:
    agent = Agent(server)
    agent.poll()

    def free() -> tuple[int, int, int]:
        listed = server.ok("GET", "/api/v1/agents")["items"][0]
        return listed["cpus_free"], listed["memory_free_bytes"], listed["gpus_free"]

    assert free() == (4, 1 << 30, 0)
    job = submit(server, cpus=3, memory_bytes=1 << 20)
    started(server, agent, job)
    assert free() == (1, (1 << 30) - (1 << 20), 0)


def test_a_long_poll_answers_as_soon_as_there_is_work(server: Server) -> None:
    import threading

    agent = Agent(server)
    agent.poll()
    got: list[Any] = []
    thread = threading.Thread(target=lambda: got.append(agent.poll(10_000)))
    thread.start()
    job = submit(server)
    thread.join()
    assert [o["job"] for o in got[0]["offers"]] == [job]


def test_two_processes_with_one_agent_key_are_noticed(server: Server) -> None:
    agent = Agent(server)
    boots = [make_id("b")[1:] for _ in range(5)]
    for agent.boot in [*boots, boots[4], boots[3], boots[4]]:
        agent.poll()  # restarts, and a late message between two of the new one
    agent.boot = boots[3]
    for _ in range(2):
        with pytest.raises(AssertionError, match=r"409 .*agent_conflict.*agents clear rack1"):
            agent.poll()
    assert server.ok("GET", "/api/v1/agents")["items"][0]["state"] == "conflict"
    for _ in range(2):
        assert server.ok("POST", f"/api/v1/agents/{agent.id}/clear")["state"] == "online"
    agent.poll()


def test_calls_that_wait_for_processes_that_are_gone_say_nothing(server: Server) -> None:
    """A machine that starts again and again, whose connections nobody closed."""
    agent = Agent(server)
    agent.poll(slots=100, cpus=100)

    def newest() -> str:
        return str(server.ok("GET", "/api/v1/agents")["items"][0]["version"])

    with ThreadPoolExecutor(max_workers=20) as calls:
        for start in range(8):
            agent.boot, agent.version = make_id("b")[1:], f"start-{start}"
            waiting = calls.submit(agent.poll, 20_000, slots=100, cpus=100)
            wait_for("the call", lambda: newest() == agent.version)
            job = submit(server)
            offer = waiting.result()["offers"][0]
            assert offer["job"] == job
            assert agent.tell(offer["attempt"], offer["token"], "accept").status == 200
            agent.held[offer["attempt"]] = offer["token"]
            dying = copy(agent)
            dying.held, dying.version = dict(agent.held), f"dies-{start}"
            calls.submit(dying.poll, 20_000, slots=100, cpus=100)  # it dies while this waits
            wait_for("its last call", lambda: newest().startswith("dies"))
    assert server.ok("GET", "/api/v1/agents")["items"][0]["state"] == "online"
    assert agent.poll(slots=100, cpus=100)["fenced"] == []


def test_priority_goes_first_and_what_is_too_big_says_so(server: Server) -> None:
    big = submit(server, cpus=64)
    agent = Agent(server)
    agent.poll()
    waiting = waits(server, big, "too_big")["waiting"]
    assert (waiting["resource"], waiting["asked"], waiting["free"]) == ("cpus", 64, 4)
    low = submit(server, cpus=4)
    assert agent.offer()["job"] == low


def test_a_held_job_waits_until_it_is_released(server: Server) -> None:
    agent = Agent(server)
    agent.poll()
    job = make_id("j")
    body = {"run": make_id("r"), "held": True, "spec": {"command": ["true"]}}
    held = server.ok("PUT", f"/api/v1/projects/demo/jobs/{job}", body)
    assert (held["state"], held["waiting"]["code"]) == ("held", "held")
    other = submit(server)
    assert agent.offer()["job"] == other
    assert server.ok("POST", f"/api/v1/jobs/{job}/release")["state"] in ("queued", "offered")
    assert server.ok("POST", f"/api/v1/jobs/{job}/release")["state"] in ("queued", "offered")
    wait_for("its offer", lambda: job in [o["job"] for o in agent.poll(500)["offers"]])


def test_offers_of_large_jobs_come_in_answers_that_an_agent_reads(server: Server) -> None:
    jobs = {submit(server, cpus=1, config={"text": "x" * 1_000_000}) for _ in range(20)}
    agent = Agent(server)
    offered: dict[str, int] = {}
    rounds = 0
    while len(offered) < len(jobs):
        answer = agent.poll(5000, slots=40, cpus=40)
        assert len(json.dumps(answer)) < 12 << 20  # 16 MiB is what the agent reads
        for offer in answer["offers"]:
            assert offer["job"] in jobs
            agent.held[offer["attempt"]] = offer["token"]
            offered[offer["job"]] = offered.get(offer["job"], 0) + 1
            assert agent.tell(offer["attempt"], offer["token"], "accept").status == 200
        rounds += 1
        assert rounds < 20
    assert rounds > 1 and set(offered.values()) == {1}


def test_every_accepted_config_fits_into_an_offer(server: Server) -> None:
    def nested(levels: int) -> dict[str, Any]:
        config: dict[str, Any] = {}
        for _ in range(levels - 1):
            config = {"a": config}
        return config

    body = {"run": make_id("r"), "spec": {"command": ["true"], "config": nested(61)}}
    refused = server.call("PUT", f"/api/v1/projects/demo/jobs/{make_id('j')}", body)
    assert (refused.status, refused.json["field"]) == (400, "spec.config")
    assert "deeper than 60 levels" in refused.json["message"]
    job = submit(server, config=nested(60), env={"A": "1=2", "B": ""})
    offer = Agent(server).offer()
    assert (offer["job"], offer["config"]) == (job, nested(60))
    assert (offer["command"], offer["env"]) == (["python", "t.py"], {"A": "1=2", "B": ""})
    assert (offer["code"], offer["timeout_s"], offer["grace_s"]) == (None, 7 * 24 * 3600, 30)


@pytest.mark.parametrize(
    ("change", "code", "field"),
    [
        ({"boot": "ABCDEFGHIJ22"}, "invalid", "boot"),
        ({"executor": "systemd"}, "invalid", "executor"),
        ({"wait_ms": 60001}, "invalid", "wait_ms"),
        ({"capacity": {"slots": 1, "cpus": 1, "memory_bytes": 0}}, "invalid", "capacity.gpus"),
        ({"attempts": [{"attempt": "x", "token": "x" * 43}]}, "invalid", "attempts[0].attempt"),
        ({"attempts": None}, "invalid", "attempts"),
        ({"more": 1}, "unknown_field", "more"),
    ],
)
def test_a_poll_that_is_wrong_is_refused_by_its_field(
    server: Server, change: dict[str, Any], code: str, field: str
) -> None:
    agent = Agent(server)
    capacity = {"slots": 1, "cpus": 1, "memory_bytes": 0, "gpus": 0}
    body = {"boot": agent.boot, "version": "test", "wait_ms": 0, "attempts": []}
    body = {**body, "capacity": capacity, **change}
    refused = server.call("POST", f"/api/v1/agents/{agent.id}/poll", body, key=agent.key)
    assert (refused.status, refused.code, refused.json["field"]) == (400, code, field)


def test_a_report_that_is_wrong_is_refused_by_its_field(server: Server) -> None:
    submit(server)
    agent = Agent(server)
    offer = agent.offer()
    for body, code, field in [
        ({"state": "asleep"}, "invalid", "state"),
        ({"state": "ended", "exit_code": 256}, "invalid", "exit_code"),
        ({"state": "ended", "reason": None}, "invalid", "reason"),
        ({"state": "ended", "more": 1}, "unknown_field", "more"),
    ]:
        refused = agent.tell(offer["attempt"], offer["token"], "status", body)
        assert (refused.status, refused.code, refused.json["field"]) == (400, code, field)
    refused = agent.tell(offer["attempt"], "short", "accept")
    assert (refused.status, refused.json["field"]) == (400, "Euvyra-Attempt-Token")


def test_why_says_what_would_change_it_and_when_it_may_start(server: Server) -> None:
    agent = Agent(server)
    agent.poll()
    first = submit(server, cpus=4, timeout_s=3600)
    started(server, agent, first)
    second = submit(server, cpus=4)
    waits(server, second, "busy")
    why = server.ok("GET", f"/api/v1/jobs/{second}/why")
    assert why["state"] == "queued"
    assert "it asks for 4 cores" in why["waiting"]["text"]
    assert why["waiting"]["change"]
    begun = datetime.fromisoformat(show(server, first)["started_at"])
    assert datetime.fromisoformat(why["waiting"]["start_estimate"]) == begun + timedelta(hours=1)
    assert server.ok("GET", f"/api/v1/jobs/{first}/why") == {"state": "running", "waiting": None}


def test_a_gang_starts_together_or_not_at_all(server: Server) -> None:
    agents = [Agent(server, f"n{number}") for number in range(3)]
    for agent in agents[:2]:
        agent.poll()
    job = submit(server, nodes=3)
    waits(server, job, "too_few_nodes")
    agents[2].poll()
    offers = [agent.offer() for agent in agents]
    assert sorted(offer["rank"] for offer in offers) == [0, 1, 2]
    assert {offer["node_count"] for offer in offers} == {3}
    states = [
        agent.tell(offer["attempt"], offer["token"], "accept").json["state"]
        for agent, offer in zip(agents, offers, strict=True)
    ]
    assert states == ["offered", "offered", "claimed"]
    attempt = offers[0]["attempt"]
    for agent, offer in zip(agents, offers, strict=True):
        agent.held[attempt] = offer["token"]
        agent.tell(attempt, offer["token"], "status", {"state": "running"})
    assert show(server, job)["state"] == "running"
    end = {"state": "ended", "exit_code": 3, "final": True}
    agents[1].tell(attempt, offers[1]["token"], "status", end)
    assert show(server, job)["state"] == "stopping"
    for agent, offer in ((agents[0], offers[0]), (agents[2], offers[2])):
        assert agent.poll()["stop"] == [attempt]
        end = {"state": "ended", "signal": 15, "stopped": True, "final": True}
        agent.tell(attempt, offer["token"], "status", end)
    done = show(server, job)
    assert (done["state"], done["ending"], done["exit_code"]) == ("failed", "exit_code", 3)
    ends = [part["ending"] for part in done["attempts"][0]["placements"]]
    rank = offers[1]["rank"]
    assert ends[rank] == "exit_code"
    assert ends[:rank] + ends[rank + 1 :] == ["other_rank", "other_rank"]


def test_the_ranks_of_a_gang_are_told_where_the_first_is(server: Server) -> None:
    agents = [Agent(server, f"n{number}") for number in range(3)]
    for agent in agents:
        agent.poll()
    job = submit(server, nodes=3)
    offers = {}
    for agent in agents:
        offer = agent.offer()
        offers[offer["rank"]] = (agent, offer)

    def accept(rank: int, place: str) -> Any:
        agent, offer = offers[rank]
        headers = {"Euvyra-Attempt-Token": offer["token"], "Euvyra-Rendezvous": place}
        path = f"/api/v1/attempts/{offer['attempt']}/accept"
        return server.send("POST", path, None, headers, key=agent.key)

    assert accept(0, "nowhere").json["field"] == "Euvyra-Rendezvous"
    assert accept(2, "10.0.0.2:7").json == {"state": "offered"}
    assert accept(0, "10.0.0.1:29500").json["rendezvous"] == "10.0.0.1:29500"
    # What others may have heard stays, also when its agent was started again meanwhile.
    assert accept(0, "10.0.0.1:29777").json["rendezvous"] == "10.0.0.1:29500"
    last = accept(1, "10.0.0.3:7").json
    assert last == {"state": "claimed", "rendezvous": "10.0.0.1:29500"}
    assert accept(2, "10.0.0.2:7").json == last
    run = show(server, job)["run"]
    for rank in (0, 1, 2):
        agent, offer = offers[rank]
        running = {"state": "running"}
        assert agent.tell(offer["attempt"], offer["token"], "status", running).status == 200
        for offset, text in ((0, b"rank "), (5, f"{rank}\n".encode())):
            answer = agent.console(offer["attempt"], offer["token"], offset, text)
            assert answer.json["offset"] == offset + len(text)
    assert server.send("GET", f"/api/v1/runs/{run}/console").body == b"rank 0\n"
    writers = server.ok("GET", f"/api/v1/runs/{run}/writers")["items"]
    assert sorted((w["rank"], w["kind"], w["host"]) for w in writers) == [
        (rank, "agent", offers[rank][0].name) for rank in (1, 2)
    ]
    for writer in writers:
        path = f"/api/v1/runs/{run}/console?writer={writer['id']}"
        assert server.send("GET", path).body == f"rank {writer['rank']}\n".encode()


def test_an_owner_takes_back_what_was_lent(tmp_path: Path) -> None:
    with Server(tmp_path / "data", "--min-run", "0") as server:
        for name, cpus in (("owner", 4), ("guest", 0)):
            server.ok("PUT", f"/api/v1/projects/{name}", {})
            server.ok("PUT", f"/api/v1/projects/{name}/share", {"quota": {"cpus": cpus}})
        agent = Agent(server)
        agent.poll()
        guest = submit(server, "guest", cpus=4, timeout_s=3600)
        attempt, token = started(server, agent, guest)
        owner = submit(server, "owner", cpus=4, timeout_s=3600)
        wait_for("the eviction", lambda: show(server, guest)["state"] == "stopping")
        assert waits(server, owner, "waiting_victims")
        assert wait_for("the stop", lambda: agent.poll()["stop"]) == [attempt]
        end = {"state": "ended", "signal": 15, "stopped": True, "run_time_ms": 5, "final": True}
        agent.tell(attempt, token, "status", end)
        del agent.held[attempt]
        started(server, agent, owner)
        shown = show(server, guest)
        assert (shown["state"], shown["attempts"][0]["state"]) == ("queued", "preempted")
        assert shown["attempts"][0]["ending"] == "reclaimed"


@pytest.mark.parametrize("hours", [-1, 1])
def test_an_agent_whose_clock_is_off_changes_no_time_and_no_cost(
    server: Server, hours: int
) -> None:
    agent = Agent(server)
    agent.poll()
    job = submit(server)
    offer = agent.offer()
    attempt, token = offer["attempt"], offer["token"]
    agent.tell(attempt, token, "accept")
    wrong = datetime.now(UTC) + timedelta(hours=hours)
    agent.tell(attempt, token, "status", {"state": "running", "at": wrong.isoformat()})
    end = {"state": "ended", "exit_code": 0, "run_time_ms": 5, "at": wrong.isoformat()}
    agent.tell(attempt, token, "status", {**end, "final": True})
    shown = show(server, job)
    begin, started_at, ended_at = (
        datetime.fromisoformat(shown[key]) for key in ("created_at", "started_at", "ended_at")
    )
    assert begin <= started_at <= ended_at <= datetime.now(UTC)
    assert (shown["run_time_ms"], shown["cost_micro"]) == (5, 5)


def test_a_cancel_that_races_the_end_leaves_one_end(server: Server) -> None:
    agent = Agent(server)
    agent.poll()
    for _ in range(10):
        job = submit(server, cpus=1)
        attempt, token = started(server, agent, job)
        end = {"state": "ended", "exit_code": 0, "final": True}
        with ThreadPoolExecutor(2) as pool:
            told = pool.submit(agent.tell, attempt, token, "status", end)
            asked = pool.submit(server.call, "POST", f"/api/v1/jobs/{job}/cancel")
            assert (told.result().status, asked.result().status) == (200, 200)
        del agent.held[attempt]
        first = show(server, job)
        assert first["state"] in ("succeeded", "cancelled")
        server.ok("POST", f"/api/v1/jobs/{job}/cancel")
        agent.tell(attempt, token, "status", {"state": "ended", "exit_code": 1, "final": True})
        assert show(server, job) == first
        kinds = [e["kind"] for e in server.ok("GET", f"/api/v1/jobs/{job}/events")["items"]]
        assert kinds.count("ended") == 1


def test_what_a_job_used_is_charged_to_its_project(server: Server) -> None:
    server.ok("PUT", "/api/v1/projects/demo/budget", {"cost_micro": 100_000_000})
    agent = Agent(server)
    agent.poll()
    job = submit(server, timeout_s=60)
    attempt, token = started(server, agent, job)
    end = {"state": "ended", "exit_code": 0, "run_time_ms": 7000, "final": True}
    agent.tell(attempt, token, "status", end)
    budget = server.ok("GET", "/api/v1/projects/demo/budget")
    assert show(server, job)["cost_micro"] == 7000  # 3.6 an hour
    assert budget["period"]["cost_micro"] == 7000


def zone_in_mid_month() -> str:
    """A time zone whose month goes on for hours: what is spent later counts in another."""
    for zone in ("UTC", "Pacific/Kiritimati", "Pacific/Pago_Pago"):
        now = datetime.now(ZoneInfo(zone))
        if now.month == (now + timedelta(hours=3)).month:
            return zone
    raise AssertionError("months end everywhere at once")


def test_a_job_that_the_budget_does_not_cover_waits_and_says_so(tmp_path: Path) -> None:
    with Server(tmp_path / "data", "--time-zone", zone_in_mid_month()) as server:
        server.ok("PUT", "/api/v1/projects/demo", {})
        server.ok("PUT", "/api/v1/projects/demo/budget", {"cost_micro": 3_600_000})
        agent = Agent(server)
        agent.poll()
        waits(server, submit(server, timeout_s=3601), "budget_money")
        fits = submit(server, timeout_s=3600)
        started(server, agent, fits)
        budget = server.ok("GET", "/api/v1/projects/demo/budget")
        assert 3_500_000 < budget["committed"]["cost_micro"] <= 3_600_000
        assert budget["left"]["cost_micro"] == 3_600_000 - budget["committed"]["cost_micro"]
        # What runs may still cost all of it: nothing else fits, however short.
        shown = waits(server, submit(server, timeout_s=600), "budget_money")["waiting"]
        assert (shown["asked"], shown["free"]) == (600_000, budget["left"]["cost_micro"])


def test_a_viewer_reads_a_job_and_a_stranger_does_not_know_it(server: Server) -> None:
    job = submit(server)
    viewer, stranger = server.user("vera"), server.user("sam")
    server.ok("PUT", "/api/v1/projects/demo/members/vera", {"role": "viewer"})
    server.ok("PUT", "/api/v1/projects/other", {})
    server.ok("PUT", "/api/v1/projects/other/members/sam", {"role": "owner"})
    path = f"/api/v1/jobs/{job}"
    reads = [("GET", path, None), ("GET", f"{path}/why", None), ("GET", f"{path}/events", None)]
    changes = [
        ("PATCH", path, {"priority": 1}),
        ("PATCH", path, {"held": True}),
        ("POST", f"{path}/release", None),
        ("POST", f"{path}/cancel", None),
    ]
    for method, where, body in reads + changes:
        assert server.call(method, where, body, key=stranger).status == 404, where
    for method, where, body in reads:
        assert server.call(method, where, body, key=viewer).status == 200, where
    for method, where, body in changes:
        assert server.call(method, where, body, key=viewer).status == 403, (where, body)
    assert [i["id"] for i in server.ok("GET", "/api/v1/jobs", key=viewer)["items"]] == [job]
    assert server.ok("GET", "/api/v1/jobs", key=stranger)["items"] == []
    assert [e["kind"] for e in server.ok("GET", f"{path}/events")["items"]] == ["submitted"]


def test_of_a_job_that_runs_only_the_priority_changes(server: Server) -> None:
    server.ok("PUT", "/api/v1/queues/night", {})
    agent = Agent(server)
    job = submit(server)
    started(server, agent, job)
    path = f"/api/v1/jobs/{job}"
    for body in ({"queue": "night"}, {"targets": [{"target": "local"}]}, {"held": True}):
        refused = server.call("PATCH", path, body)
        assert refused.status == 409 and "running" in refused.json["message"], body
    assert server.ok("PATCH", path, {"priority": 9})["priority"] == 9
    shown = server.ok("GET", path)
    assert (shown["state"], shown["queue"]) == ("running", "default")


def gang_of_two(server: Server) -> tuple[str, str, list[Agent], list[str]]:
    """A running job on two machines: its id, its attempt, agents and tokens by rank."""
    agents = [Agent(server, f"n{number}") for number in range(2)]
    for agent in agents:
        agent.poll()
    job = submit(server, nodes=2, retries=0)
    offers = sorted(((a.offer(), a) for a in agents), key=lambda one: int(one[0]["rank"]))
    attempt = str(offers[0][0]["attempt"])
    for verb, body in (("accept", None), ("status", {"state": "running"})):
        for offer, agent in offers:
            assert agent.tell(attempt, offer["token"], verb, body).status == 200
    return job, attempt, [a for _, a in offers], [str(o["token"]) for o, _ in offers]


def is_final(server: Server, job: str) -> bool:
    console = server.send("GET", f"/api/v1/runs/{show(server, job)['run']}/console")
    return console.headers["euvyra-final"] == "1"


def test_a_gang_whose_last_machine_is_lost_has_its_record_closed(tmp_path: Path) -> None:
    with Server(tmp_path / "data", "--lost-after", "1") as server:
        server.ok("PUT", "/api/v1/projects/demo", {})
        job, attempt, agents, tokens = gang_of_two(server)
        agents[0].held[attempt] = tokens[0]
        ended = {"state": "ended", "exit_code": 3, "final": True}
        assert agents[0].tell(attempt, tokens[0], "status", ended).status == 200

        def has_ended() -> bool:
            agents[0].poll()
            return str(show(server, job)["state"]) == "failed"

        wait_for("the loss", has_ended)
        assert show(server, job)["exit_code"] == 3
        assert is_final(server, job)


def test_a_lost_rank_does_not_close_the_record_of_the_others(tmp_path: Path) -> None:
    with Server(tmp_path / "data", "--lost-after", "1") as server:
        server.ok("PUT", "/api/v1/projects/demo", {})
        job, attempt, agents, tokens = gang_of_two(server)
        agents[0].held[attempt] = tokens[0]
        wait_for("the loss", lambda: agents[0].poll()["stop"] == [attempt])
        ended = {"state": "ended", "signal": 15, "stopped": True}
        assert agents[0].tell(attempt, tokens[0], "status", ended).status == 200
        assert show(server, job)["state"] == "failed"
        assert not is_final(server, job)
        assert agents[0].console(attempt, tokens[0], 0, b"last words\n").status == 200
        ended["final"] = True
        assert agents[0].tell(attempt, tokens[0], "status", ended).status == 200
        assert is_final(server, job)
