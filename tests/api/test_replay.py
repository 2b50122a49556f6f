"""What the row of a job says is what its events make of it: `euvyrad check` replays every job."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest
from support import Server, make_id
from test_jobs import Agent, started

SEEDS = [1, 2, 3]
TARGETS = ["spot", "rack", "local"]
QUEUES = ["default", "night", "urgent"]


def place(chance: random.Random) -> dict[str, Any]:
    names = chance.sample(TARGETS, chance.randint(1, 3))
    return {
        "targets": [
            {"target": name} | ({"wait_s": chance.randint(1, 900)} if chance.random() < 0.5 else {})
            for name in names
        ]
    }


def any_change(chance: random.Random) -> dict[str, Any]:
    parts: list[dict[str, Any]] = [
        {"priority": chance.randint(-1000, 1000)},
        {"queue": chance.choice(QUEUES)},
        place(chance),
        {"held": chance.random() < 0.5},
    ]
    chosen = chance.sample(parts, chance.randint(1, len(parts)))
    return {key: value for part in chosen for key, value in part.items()}


def submit_any(server: Server, chance: random.Random) -> str:
    """A job (or an array) as people submit them, with what a change may touch set or absent."""
    spec: dict[str, Any] = {"command": ["true"], "config": {"lr": 0.1, "targets": ["x"]}}
    spec |= chance.choice([{}, {"target": chance.choice(TARGETS)}, place(chance)])
    spec |= chance.choice([{}, {"gpu_type": ["A100", "H100"], "gpus": 1}, {"exclude": ["rack1"]}])
    body: dict[str, Any] = {"run": make_id("r"), "spec": spec}
    body |= chance.choice([{}, {"priority": 7}, {"queue": "night"}, {"held": True}])
    body |= chance.choice([{}, {}, {"array": {"from": 0, "to": 2}}])
    job = make_id("j")
    server.ok("PUT", f"/api/v1/projects/demo/jobs/{job}", body)
    return job


def sound(server: Server, jobs: int) -> None:
    code, lines = server.check()
    assert (code, f" {jobs} jobs," in lines[-1]) == (0, True), lines


def rows(server: Server) -> int:
    return int(server.sql("SELECT count(*) FROM job"))


@pytest.mark.parametrize("seed", SEEDS)
def test_any_changes_of_waiting_jobs_replay_to_their_rows(server: Server, seed: int) -> None:
    chance = random.Random(seed)
    Agent(server)
    for name in TARGETS:
        server.ok("PUT", f"/api/v1/targets/{name}", {})
    for name in QUEUES[1:]:
        server.ok("PUT", f"/api/v1/queues/{name}", {"priority": 1})
    jobs = [submit_any(server, chance) for _ in range(8)]
    sound(server, rows(server))
    changed = 0
    for _ in range(60):
        answer = server.call("PATCH", f"/api/v1/jobs/{chance.choice(jobs)}", any_change(chance))
        assert answer.status == 200, answer.body
        changed += 1
    assert changed == 60
    sound(server, rows(server))


def test_a_job_moved_on_its_way_replays_to_its_row_at_every_step(server: Server) -> None:
    agent = Agent(server)
    server.ok("PUT", "/api/v1/targets/spot", {})
    server.ok("PUT", "/api/v1/queues/night", {"priority": 1})
    spec = {"command": ["true"], "targets": [{"target": "spot", "wait_s": 600}], "retries": 1}
    job = make_id("j")
    server.ok("PUT", f"/api/v1/projects/demo/jobs/{job}", {"run": make_id("r"), "spec": spec})
    path = f"/api/v1/jobs/{job}"
    server.ok("PATCH", path, {"queue": "night", "targets": [{"target": "local"}]})
    sound(server, 1)
    attempt, token = started(server, agent, job)
    server.ok("PATCH", path, {"priority": 3})
    sound(server, 1)
    ended = {"state": "ended", "exit_code": 3, "run_time_ms": 5, "final": True}
    assert agent.tell(attempt, token, "status", ended).status == 200
    assert server.ok("GET", path)["state"] == "failed"
    sound(server, 1)
    events = server.ok("GET", f"{path}/events")["items"]
    first, moved = events[0]["detail"], events[1]["detail"]
    assert first["targets"] == spec["targets"] and first["queue"] == "default"
    assert moved["targets"] == [{"target": "local"}] and moved["queue"] == "night"
    assert moved["reason"] == "queue night, targets local"


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ("UPDATE job SET priority = 5", "another priority"),
        ("UPDATE job SET queue_id = (SELECT max(id) FROM queue)", "another queue"),
        ("UPDATE job SET shape = '{\"needs\":1}'", "another shape"),
        ("UPDATE job SET spec = '{}'", "another spec"),
        ("UPDATE job SET state = 'held'", "another state"),
        ("UPDATE job SET reason = 'x'", "another reason"),
        ("UPDATE job_event SET seq = 9 WHERE seq = 2", "do not replay"),
        ("UPDATE job_event SET detail = 'x' WHERE seq = 2", "do not replay"),
    ],
)
def test_a_row_that_is_not_what_its_events_say_is_named(
    server: Server, change: str, said: str
) -> None:
    server.ok("PUT", "/api/v1/queues/night", {})
    server.ok("PUT", "/api/v1/targets/spot", {})
    job = make_id("j")
    body = {"run": make_id("r"), "spec": {"command": ["true"], "target": "spot"}}
    server.ok("PUT", f"/api/v1/projects/demo/jobs/{job}", body)
    server.ok("PATCH", f"/api/v1/jobs/{job}", {"priority": 1})
    sound(server, 1)
    server.stop()
    server.change(change)
    code, lines = server.check()
    assert code == 1 and any(f"job {job}: " in line and said in line for line in lines), lines
    assert json.dumps(lines).count("fault: ") == 1
