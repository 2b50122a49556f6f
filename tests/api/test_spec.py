"""What a job asks for: the whole spec, arrays, dependencies, secrets, and what is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from support import Server, make_id, wait_for
from test_jobs import Agent, show, started, submit, waits


def put(server: Server, spec: Any = None, job: str = "", **beside: Any) -> Any:
    """The answer to a submission."""
    body = {"run": make_id("r"), "spec": {"command": ["true"], **(spec or {})}, **beside}
    return server.call("PUT", f"/api/v1/projects/demo/jobs/{job or make_id('j')}", body)


def finish(agent: Agent, attempt: str, token: str, exit_code: int = 0) -> None:
    ended = {"state": "ended", "exit_code": exit_code, "final": True}
    assert agent.tell(attempt, token, "status", ended).status == 200
    del agent.held[attempt]


def able(server: Server, *features: str, name: str = "able") -> Agent:
    """An agent whose executor can do these."""

    class Able(Agent):
        def poll(self, wait_ms: int = 0, slots: int = 4, cpus: int = 4) -> Any:
            capacity = {"slots": slots, "cpus": cpus, "memory_bytes": 1 << 30, "gpus": 0}
            body = {
                "boot": self.boot,
                "version": "test",
                "wait_ms": wait_ms,
                "capacity": {**capacity, "features": list(features)},
                "attempts": [{"attempt": a, "token": t} for a, t in self.held.items()],
            }
            return self.server.ok("POST", f"/api/v1/agents/{self.id}/poll", body, key=self.key)

    return Able(server, name)


WHOLE = {
    "image": "registry.example.org/team/train:1.2",
    "registry": "REGISTRY",
    "secrets": {"HF_TOKEN": "HUGGINGFACE"},
    "gpus": 2,
    "gpu_type": ["A100", "H100"],
    "gpu_memory_bytes": 40 << 30,
    "cpus": 8,
    "memory_bytes": 64 << 30,
    "shm_bytes": 16 << 30,
    "disk_bytes": 100 << 30,
    "pids": 4096,
    "read_only_root": True,
    "nodes": 2,
    "launcher": "torchrun",
    "targets": [{"target": "spot", "wait_s": 600}, {"target": "local"}],
    "exclude": ["rack1"],
    "timeout_s": 3600,
    "grace_s": 60,
    "retries": 5,
    "retry_failed": True,
    "volumes": [{"name": "data", "path": "/data", "read_only": True}],
    "buckets": ["models"],
    "kind": "batch",
    "config": {"lr": 0.1},
    "env": {"A": "b"},
}


def with_targets(server: Server) -> Agent:
    """Targets with what the whole spec names, and an agent at the one that is not spot."""
    agent = Agent(server)
    things = {
        "volumes": [{"name": "data", "claim": "data"}],
        "buckets": [{"name": "models", "endpoint": "https://s3.example.org", "bucket": "m"}],
    }
    server.ok("PUT", "/api/v1/targets/spot", {"price_hour_micro": 1, "spot": True, **things})
    server.ok("PUT", "/api/v1/targets/local", things)
    for name in ("REGISTRY", "HUGGINGFACE"):
        server.ok("PUT", f"/api/v1/projects/demo/secrets/{name}", {"value": "x"})
    return agent


def test_the_whole_spec_is_taken_and_kept_as_it_came(server: Server) -> None:
    with_targets(server)
    answer = put(server, WHOLE)
    assert answer.status == 201, answer.body
    assert answer.json["spec"] == {"command": ["true"], **WHOLE}
    assert show(server, answer.json["id"])["spec"] == answer.json["spec"]
    assert any("image, shm" in w for w in answer.json["warnings"])
    service = {
        "kind": "service",
        "replicas": 3,
        "health": {
            "port": 8000,
            "path": "/health",
            "every_s": 5,
            "timeout_s": 2,
            "failures": 3,
            "starts_within_s": 60,
        },
    }
    assert put(server, service).status == 201


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"image": "a b"}, "spec.image"),
        ({"image": "-rm"}, "spec.image"),
        ({"registry": "R"}, "spec.registry"),
        ({"gpu_type": []}, "spec.gpu_type"),
        ({"gpu_type": "A100"}, "spec.gpu_type"),
        ({"gpus": 1, "gpu_type": [1]}, "spec.gpu_type"),
        ({"target": "a", "targets": [{"target": "b"}]}, "spec.target"),
        ({"targets": []}, "spec.targets"),
        ({"targets": [{"target": "a", "wait": 5}]}, "spec.targets[0].wait"),
        ({"targets": [{"target": "none"}]}, "spec.targets[0].target"),
        ({"exclude": ["nobody"]}, "spec.exclude"),
        ({"secrets": {"A": "NONE"}}, "spec.secrets"),
        ({"secrets": {"A": "X"}, "env": {"A": "b"}}, "spec.secrets"),
        ({"secrets": {"A": 1}}, "spec.secrets"),
        ({"env": {"EUVYRA_ARRAY_INDEX": "1"}}, "spec.env"),
        ({"launcher": "bash"}, "spec.launcher"),
        ({"replicas": 2}, "spec.replicas"),
        ({"kind": "service", "replicas": 1001}, "spec.replicas"),
        ({"kind": "service", "replicas": 0}, "spec.replicas"),
        ({"health": {"port": 1}}, "spec.health"),
        ({"kind": "service", "health": {}}, "spec.health.port"),
        ({"kind": "service", "health": {"port": 0}}, "spec.health.port"),
        ({"kind": "service", "replicas": 2, "health": {"port": 65535}}, "spec.health.port"),
        ({"kind": "service", "health": {"port": 1, "path": "up"}}, "spec.health.path"),
        ({"kind": "service", "health": {"port": 1, "path": "/a b"}}, "spec.health.path"),
        ({"kind": "service", "health": {"port": 1, "every_s": 0}}, "spec.health.every_s"),
        ({"kind": "service", "health": {"port": 1, "timeout_s": 61}}, "spec.health.timeout_s"),
        ({"kind": "service", "health": {"port": 1, "failures": 101}}, "spec.health.failures"),
        (
            {"kind": "service", "health": {"port": 1, "starts_within_s": 86401}},
            "spec.health.starts_within_s",
        ),
        ({"kind": "service", "health": {"port": 1, "host": "x"}}, "spec.health.host"),
        ({"volumes": [{"name": "data", "path": "/data"}]}, "spec.targets"),
        ({"volumes": [{"name": "data", "path": "data"}]}, "spec.volumes[0].path"),
        ({"volumes": [{"name": "data", "path": "/euvyra"}]}, "spec.volumes[0].path"),
        ({"volumes": [{"name": "data", "path": "/euvyra/work"}]}, "spec.volumes[0].path"),
        ({"volumes": [{"name": "data", "path": "/euvyra/work/data"}]}, "spec.targets"),
        ({"volumes": [{"name": "data", "path": "/euvyra-data"}]}, "spec.targets"),
        ({"target": "local", "buckets": ["none"]}, "spec.buckets"),
        ({"pids": 0}, "spec.pids"),
        ({"privileged": True}, "spec.privileged"),
        ({"hostPath": "/"}, "spec.hostPath"),
        ({"docker_args": ["-v", "/:/host"]}, "spec.docker_args"),
    ],
)
def test_what_is_wrong_in_a_spec_is_named(server: Server, change: Any, field: str) -> None:
    server.ok("PUT", "/api/v1/targets/local", {"price_hour_micro": 1})
    answer = put(server, change)
    assert answer.status in (400, 422), answer.body
    assert answer.json["field"] == field, answer.body
    assert server.ok("GET", "/api/v1/jobs")["items"] == []


def test_a_field_that_no_job_may_have_leaves_an_audit_row(server: Server) -> None:
    job = make_id("j")
    answer = put(server, {"privileged": True}, job)
    assert (answer.status, answer.code) == (400, "unknown_field")
    rows = server.ok("GET", "/api/v1/audit")["items"]
    row = next(r for r in rows if r["subject"] == f"job {job}")
    assert "refused" in row["detail"] and "privileged" in row["detail"]


def test_a_job_waits_for_an_agent_that_can_do_what_it_needs(server: Server) -> None:
    Agent(server).poll()
    job = put(server, {"image": "python:3.12", "shm_bytes": 1}).json["id"]
    waiting = waits(server, job, "no_feature")["waiting"]
    assert "image, shm" in waiting["text"]
    able(server, "image", name="half").poll()
    wait_for(
        "the rest to be missing",
        lambda: "image" not in (show(server, job)["waiting"] or {"text": "image"})["text"],
    )
    agent = able(server, "image", "shm")
    offer = agent.offer()
    assert offer["job"] == job
    assert offer["extra"] == {"image": "python:3.12", "shm_bytes": 1}


def test_a_process_agent_gets_no_gang(server: Server) -> None:
    able(server).poll()
    answer = put(server, {"nodes": 2})
    assert "nodes" in answer.json["warnings"][0]
    assert "nodes" in waits(server, answer.json["id"], "no_feature")["waiting"]["text"]


def test_secrets_reach_the_environment_and_nothing_else(server: Server) -> None:
    value = "canary-5b1c-in-one-environment-only"
    server.ok("PUT", "/api/v1/projects/demo/secrets/HUGGINGFACE", {"value": value})
    agent = Agent(server)
    settings = {"env": {"HF_TOKEN": "of the target", "B": "of the target", "C": "of the target"}}
    server.ok("PUT", "/api/v1/targets/local", {"settings": settings})
    spec = {"secrets": {"HF_TOKEN": "HUGGINGFACE"}, "env": {"B": "own"}}
    job = put(server, spec).json["id"]
    offer = agent.offer()
    assert offer["env"] == {"HF_TOKEN": value, "B": "own", "C": "of the target"}
    run = offer["run"]
    for path in (f"jobs/{job}", f"jobs/{job}/events", f"runs/{run}", "audit", "jobs"):
        assert value.encode() not in server.call("GET", f"/api/v1/{path}").body
    assert server.stop() == 0
    database = [p for p in server.data.rglob("*") if p.is_file()]
    assert not any(value.encode() in p.read_bytes() for p in database)


def test_a_job_whose_secret_is_gone_fails_with_that_ending(server: Server) -> None:
    server.ok("PUT", "/api/v1/projects/demo/secrets/TOKEN", {"value": "x"})
    job = put(server, {"secrets": {"A": "TOKEN"}}).json["id"]
    server.ok("DELETE", "/api/v1/projects/demo/secrets/TOKEN")
    agent = Agent(server)

    def ended() -> Any:
        agent.poll(100)
        shown = show(server, job)
        return shown if shown["state"] == "failed" else None

    shown = wait_for("the job to fail", ended)
    assert shown["ending"] == "secret_missing" and "TOKEN" in shown["reason"]
    assert shown["console_final"] is True
    assert server.ok("GET", f"/api/v1/runs/{shown['run']}")["state"] == "failed"


def test_an_array_is_made_whole_and_once(server: Server) -> None:
    array, run = make_id("j"), make_id("r")
    path = f"/api/v1/projects/demo/jobs/{array}"
    body = {
        "run": run,
        "name": "sweep",
        "array": {"from": 2, "to": 10, "step": 4, "limit": 2},
        "spec": {"command": ["true"], "config": {"lr": 1}},
    }
    made = server.call("PUT", path, body)
    assert made.status == 201
    assert made.json["array"] == {"id": array, "index": 2, "count": 3, "limit": 2}
    again = server.call("PUT", path, body)
    assert (again.status, again.json["id"]) == (200, made.json["id"])
    assert server.call("PUT", path, {**body, "name": "other"}).status == 409
    assert server.call("PUT", path, {k: v for k, v in body.items() if k != "array"}).status == 409
    items = server.ok("GET", f"/api/v1/jobs?array={array}")["items"]
    assert [i["name"] for i in items] == ["sweep-2", "sweep-6", "sweep-10"]
    assert len({i["id"] for i in items}) == len({i["run"] for i in items}) == 3
    runs = server.ok("GET", "/api/v1/projects/demo/runs")["items"]
    assert {(r["name"], r["group"]) for r in runs} == {(i["name"], array) for i in items}
    page = server.ok("GET", f"/api/v1/jobs?array={array}&limit=2")
    rest = server.ok("GET", f"/api/v1/jobs?array={array}&cursor={page['next_cursor']}")
    assert [i["id"] for i in page["items"] + rest["items"]] == [i["id"] for i in items]


def test_an_element_that_pauses_takes_no_place_from_the_next(server: Server) -> None:
    agent = Agent(server)
    array = make_id("j")
    body = {
        "run": make_id("r"),
        "array": {"from": 0, "to": 1, "limit": 1},
        "spec": {"command": ["true"], "retries": 3, "retry_failed": True},
    }
    server.ok("PUT", f"/api/v1/projects/demo/jobs/{array}", body)
    first, second = server.ok("GET", f"/api/v1/jobs?array={array}")["items"]
    attempt, token = started(server, agent, first["id"])
    waits(server, second["id"], "array_limit")
    failed = {"state": "ended", "exit_code": 1, "run_time_ms": 5, "final": True}
    assert agent.tell(attempt, token, "status", failed).status == 200
    del agent.held[attempt]
    assert show(server, first["id"])["waiting"] is not None
    started(server, agent, second["id"])
    waits(server, first["id"], "backoff")


def test_an_element_that_was_moved_takes_no_place_from_the_others(server: Server) -> None:
    agent = Agent(server)
    server.ok("PUT", "/api/v1/queues/night", {})
    server.ok("POST", "/api/v1/queues/night/hold")
    array = make_id("j")
    body = {
        "run": make_id("r"),
        "array": {"from": 0, "to": 2, "limit": 1},
        "spec": {"command": ["true"]},
        "held": True,
    }
    server.ok("PUT", f"/api/v1/projects/demo/jobs/{array}", body)
    first, second, third = server.ok("GET", f"/api/v1/jobs?array={array}")["items"]
    server.ok("PATCH", f"/api/v1/jobs/{first['id']}", {"queue": "night"})
    server.ok("POST", f"/api/v1/jobs/{array}/release")
    started(server, agent, second["id"])
    assert waits(server, third["id"], "array_limit")["waiting"]["free"] == 1
    waits(server, first["id"], "queue_held")


def test_elements_know_their_place_and_at_most_so_many_run(server: Server) -> None:
    array = put(server, {}, array={"from": 5, "to": 7, "limit": 2}).json["array"]["id"]
    agent = Agent(server)
    offers = wait_for("two offers", lambda: (o := agent.poll(500)["offers"]) and len(o) == 2 and o)
    assert [o["env"]["EUVYRA_ARRAY_INDEX"] for o in offers] == ["5", "6"]
    assert {o["env"]["EUVYRA_ARRAY_COUNT"] for o in offers} == {"3"}
    last = server.ok("GET", f"/api/v1/jobs?array={array}")["items"][2]
    assert waits(server, last["id"], "array_limit")["waiting"]["free"] == 2
    attempt, token = offers[0]["attempt"], offers[0]["token"]
    assert agent.tell(attempt, token, "accept").status == 200
    agent.held[attempt] = token
    agent.held[offers[1]["attempt"]] = offers[1]["token"]
    finish(agent, attempt, token)
    assert agent.offer()["job"] == last["id"]


def test_an_array_is_listed_as_one_and_cancelled_as_one(server: Server) -> None:
    single = submit(server)
    array = put(server, {}, array={"from": 0, "to": 4}, held=True).json["array"]["id"]
    folded = server.ok("GET", "/api/v1/jobs?fold=true&open=true")["items"]
    assert [f["array"] and f["array"]["states"] for f in folded] == [{"held": 5}, None]
    assert folded[1]["id"] == single
    first = folded[0]["id"]
    server.ok("POST", f"/api/v1/jobs/{first}/cancel")
    assert server.ok("GET", f"/api/v1/jobs/{array}")["array"]["states"] == {
        "held": 4,
        "cancelled": 1,
    }
    assert len(server.ok("GET", "/api/v1/jobs?fold=true&open=true")["items"]) == 2
    released = server.ok("POST", f"/api/v1/jobs/{array}/release")
    assert released["array"]["states"] == {"queued": 4, "cancelled": 1}
    for _ in range(2):  # repeating changes nothing
        cancelled = server.ok("POST", f"/api/v1/jobs/{array}/cancel")
        assert cancelled["array"]["states"] == {"cancelled": 5}
    assert len(server.ok("GET", "/api/v1/jobs?fold=true&open=true")["items"]) == 1


@pytest.mark.parametrize(
    ("array", "field"),
    [
        ({"from": 5, "to": 4}, "array.to"),
        ({"from": 0, "to": 1000}, "array.to"),
        ({"from": 0}, "array.to"),
        ({"from": 0, "to": 1, "step": 0}, "array.step"),
        ({"from": 0, "to": 1, "size": 2}, "array.size"),
    ],
)
def test_what_is_wrong_in_an_array_is_named(server: Server, array: Any, field: str) -> None:
    answer = put(server, {}, array=array)
    assert (answer.status, answer.json["field"]) == (400, field)


def test_a_large_array_is_one_request(server: Server) -> None:
    count = 1_000
    answer = put(server, {"config": {"a": 1}}, array={"from": 1, "to": count}, held=True)
    assert answer.status == 201
    array = answer.json["array"]["id"]
    states = server.ok("GET", f"/api/v1/jobs/{array}")["array"]["states"]
    assert states == {"held": count}
    after = put(server, {}, after=[{"job": array, "any": True}]).json["id"]
    assert waits(server, after, "after")["waiting"]["asked"] == count
    server.ok("POST", f"/api/v1/jobs/{array}/cancel")
    wait_for("the dependency", lambda: show(server, after)["waiting"]["code"] != "after")


def test_a_job_starts_after_the_one_before_it(server: Server) -> None:
    first = submit(server)
    second = put(server, {}, after=[{"job": first}]).json["id"]
    assert waits(server, second, "after")["waiting"]["job"] == first
    agent = Agent(server)
    attempt, token = started(server, agent, first)
    assert agent.poll()["offers"] == []
    finish(agent, attempt, token)
    assert agent.offer()["job"] == second
    done = put(server, {}, after=[{"job": first}])  # that one has ended well: nothing to wait for
    assert done.status == 201


def test_a_job_after_one_that_failed_ends_unless_any_end_will_do(server: Server) -> None:
    first = submit(server, retries=0)
    strict = put(server, {}, after=[{"job": first}]).json["id"]
    loose = put(server, {}, after=[{"job": first, "any": True}]).json["id"]
    agent = Agent(server)
    attempt, token = started(server, agent, first)
    finish(agent, attempt, token, 3)
    assert agent.offer()["job"] == loose
    ended = wait_for(
        "the strict one to end",
        lambda: (j := show(server, strict))["state"] == "cancelled" and j,
    )
    assert ended["ending"] == "dependency"
    late = put(server, {}, after=[{"job": first}])
    assert (late.status, late.json["field"]) == (422, "after") and "failed" in late.json["message"]
    assert put(server, {}, after=[{"job": first, "any": True}]).status == 201


def test_only_jobs_of_the_project_can_come_before(server: Server) -> None:
    server.ok("PUT", "/api/v1/projects/other", {})
    other = submit(server, "other")
    for job in (make_id("j"), other):
        answer = put(server, {}, after=[{"job": job}])
        assert (answer.status, answer.json["field"]) == (422, "after")
    assert put(server, {}, after=[{"job": "x"}]).json["field"] == "after[0].job"


def test_asking_beyond_quota_and_borrowing_never_fits(server: Server) -> None:
    share = {"quota": {"gpus": 2}, "borrow": {"gpus": 2}}
    server.ok("PUT", "/api/v1/projects/demo/share", share)
    answer = put(server, {"gpus": 5})
    assert (answer.status, answer.json["field"]) == (422, "spec.gpus")
    assert "never fits" in answer.json["message"] and "4" in answer.json["message"]
    assert put(server, {"gpus": 3, "nodes": 2}).status == 422
    assert put(server, {"gpus": 4}).status == 201  # it fits later


def test_a_target_that_the_project_may_not_use_is_refused(server: Server) -> None:
    for name in ("allowed", "barred"):
        server.ok("PUT", f"/api/v1/targets/{name}", {"price_hour_micro": 1})
    server.ok("PUT", "/api/v1/projects/demo/share", {"targets": ["allowed"]})
    answer = put(server, {"target": "barred"})
    assert (answer.status, answer.json["field"]) == (422, "spec.target")
    assert put(server, {"targets": [{"target": "allowed"}]}).status == 201


def test_gpus_where_every_machine_is_known_to_have_none_never_fit(server: Server) -> None:
    agent = Agent(server)
    assert put(server, {"target": "local", "gpus": 1}).status == 201  # it has not called yet
    agent.poll()
    answer = put(server, {"target": "local", "gpus": 1})
    assert (answer.status, answer.json["field"]) == (422, "spec.gpus")
    larger = put(server, {"cpus": 64})
    assert larger.status == 201 and "largest" in larger.json["warnings"][0]


def test_a_project_has_so_many_open_jobs_at_most(tmp_path: Path) -> None:
    with Server(tmp_path / "data", "--open-jobs-max", "3") as server:
        server.ok("PUT", "/api/v1/projects/demo", {})
        jobs = [submit(server) for _ in range(2)]
        refused = put(server, {}, array={"from": 1, "to": 2})
        assert (refused.status, refused.code) == (429, "limit") and "3" in refused.json["message"]
        submit(server)
        assert put(server).status == 429
        server.ok("POST", f"/api/v1/jobs/{jobs[0]}/cancel")
        assert put(server).status == 201
        server.ok("PUT", "/api/v1/projects/other", {})
        submit(server, "other")


def change(server: Server, job: str, **what: Any) -> Any:
    return server.call("PATCH", f"/api/v1/jobs/{job}", what)


def test_a_job_moves_to_another_target_by_changing_one_word(server: Server) -> None:
    agent = Agent(server)
    server.ok("PUT", "/api/v1/targets/away", {"price_hour_micro": 1})
    agent.poll()
    job = put(server, {"target": "away"}).json["id"]
    waits(server, job, "no_agent")
    moved = change(server, job, targets=[{"target": "local"}])
    assert (moved.status, moved.json["spec"]["targets"]) == (200, [{"target": "local"}])
    assert "target" not in moved.json["spec"]
    assert agent.offer()["job"] == job
    events = server.ok("GET", f"/api/v1/jobs/{job}/events")["items"]
    assert [e["detail"]["reason"] for e in events if e["kind"] == "changed"] == ["targets local"]


def test_what_waits_can_be_changed_and_what_runs_only_its_priority(server: Server) -> None:
    server.ok("PUT", "/api/v1/queues/night", {})
    job = put(server).json["id"]
    changed = change(server, job, priority=7, queue="night", held=True).json
    assert (changed["priority"], changed["queue"], changed["state"]) == (7, "night", "held")
    assert change(server, job, held=False).json["state"] == "queued"
    assert change(server, job, queue="none").json["field"] == "queue"
    assert change(server, job, targets=[{"target": "none"}]).status == 422
    assert change(server, job).status == 400
    agent = Agent(server)
    attempt, token = started(server, agent, job)
    assert change(server, job, priority=9).json["priority"] == 9
    refused = change(server, job, queue="default")
    assert refused.status == 409 and "running" in refused.json["message"]
    finish(agent, attempt, token)
    ended = change(server, job, priority=1)
    assert ended.status == 409 and "succeeded" in ended.json["message"]


def test_an_array_is_changed_as_one(server: Server) -> None:
    array = put(server, {}, array={"from": 1, "to": 3}).json["array"]["id"]
    assert change(server, array, held=True).json["array"]["states"] == {"held": 3}
    change(server, array, priority=5)
    assert {j["priority"] for j in server.ok("GET", f"/api/v1/jobs?array={array}")["items"]} == {5}
