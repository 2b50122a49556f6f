"""What becomes of runs whose processes die, come back, are many, or are taken away."""

from __future__ import annotations

import itertools
import random
import urllib.parse
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from support import Log, Server, make_id, wait_for

MACHINE, ALERT, MARK, GONE, DIFF = 3, 17, 18, 19, 20
RUNS = "/api/v1/projects/demo/runs"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with Server(tmp_path_factory.mktemp("survival") / "data") as running:
        running.ok("PUT", "/api/v1/projects/demo", {})
        yield running


@pytest.fixture
def run(server: Server) -> str:
    run = make_id("r")
    server.ok("PUT", f"{RUNS}/{run}", {})
    return run


def log_at(minute: int, **start: Any) -> Log:
    log = Log()
    log.clock += minute * 60_000
    log.start(**start)
    return log


def show(server: Server, run: str) -> Any:
    return server.ok("GET", f"/api/v1/runs/{run}")


def state(server: Server, run: str) -> str:
    return str(show(server, run)["state"])


def text(server: Server, run: str, writer: str = "") -> bytes:
    query = f"?writer={writer}" if writer else ""
    return server.send("GET", f"/api/v1/runs/{run}/console{query}").body


@pytest.mark.parametrize(
    ("how", "want"),
    [
        ({"exit_code": 0}, ("finished", 0, None, False)),
        ({"exit_code": 3}, ("failed", 3, None, False)),
        ({"signal": 9}, ("killed", None, 9, False)),
        ({"signal": 9, "oom": True}, ("killed", None, 9, True)),
    ],
)
def test_an_end_says_how_a_run_ended(
    server: Server, run: str, how: dict[str, Any], want: tuple[Any, ...]
) -> None:
    log = log_at(0)
    log.end(**how)
    server.upload(run, log)
    shown = show(server, run)
    assert (shown["state"], shown["exit_code"], shown["signal"], shown["oom"]) == want


@pytest.mark.parametrize("first", ["sidecar", "trainer"])
def test_a_sidecar_tells_that_a_process_is_gone_whoever_is_heard_first(
    server: Server, run: str, first: str
) -> None:
    log, sidecar = log_at(0), log_at(0, kind="sidecar")
    log.row(0, {"loss": 1.0})
    sidecar.document(GONE, {"writer": log.writer, "time": log.clock + 500})
    for one in (sidecar, log) if first == "sidecar" else (log, sidecar):
        server.upload(run, one)
    assert state(server, run) == "crashed"
    assert show(server, run)["ended_at"] == "2027-01-15T08:00:01.500Z"
    again = log_at(5, resume="allow")
    server.upload(run, again)
    assert state(server, run) == "running"
    again.end(exit_code=0)
    server.upload(run, again)
    assert state(server, run) == "finished"


@pytest.mark.parametrize(
    ("how", "want"),
    [({"exit_code": 0}, "finished"), ({"signal": 15}, "preempted"), (None, "preempted")],
)
def test_a_machine_that_is_taken_away_is_no_failure(
    server: Server, run: str, how: dict[str, Any] | None, want: str
) -> None:
    log = log_at(0)
    log.document(MARK, {"state": "preempting", "time": log.clock})
    if how is not None:
        log.end(**how)
    server.upload(run, log)
    if how is None:
        sidecar = log_at(0, kind="sidecar")
        sidecar.document(GONE, {"writer": log.writer, "time": log.clock})
        server.upload(run, sidecar)
    assert state(server, run) == want


def test_silence_is_counted_by_the_project(tmp_path: Path) -> None:
    with Server(tmp_path / "data", "--crashed-after", "1") as server:
        for project in ("quick", "slow"):
            server.ok("PUT", f"/api/v1/projects/{project}", {})
        shown = server.ok("PATCH", "/api/v1/projects/slow", {"silent_s": 3600})
        assert (shown["silent_s"], shown["silent_is_default"]) == (3600, False)
        shown = server.ok("GET", "/api/v1/projects/quick")
        assert (shown["silent_s"], shown["silent_is_default"]) == (1, True)
        runs = {project: make_id("r") for project in ("quick", "slow")}
        for project, run in runs.items():
            server.ok("PUT", f"/api/v1/projects/{project}/runs/{run}", {})
            log = log_at(0)
            log.row(0, {"loss": 1.0})
            server.upload(run, log)
        wait_for("the crash", lambda: state(server, runs["quick"]) == "crashed")
        assert state(server, runs["slow"]) == "running"
        shown = server.ok("PATCH", "/api/v1/projects/slow", {"silent_s": 0})
        assert (shown["silent_s"], shown["silent_is_default"]) == (1, True)
        wait_for("the crash", lambda: state(server, runs["slow"]) == "crashed")


@pytest.mark.parametrize("bad", [-1, 1, 9, 2592001, "60", 1.5, None])
def test_a_silence_that_cannot_be_is_refused_by_name(server: Server, bad: Any) -> None:
    answer = server.call("PATCH", "/api/v1/projects/demo", {"silent_s": bad})
    assert answer.status == 400
    assert answer.json["field"] == "silent_s"


def test_the_last_started_process_decides_and_a_new_one_opens_the_run_again(
    server: Server, run: str
) -> None:
    first, second = log_at(0), log_at(9, resume="must")
    first.end(exit_code=1)
    server.upload(run, first)
    assert state(server, run) == "failed"
    server.upload(run, second)
    assert state(server, run) == "running"
    second.end(exit_code=0)
    server.upload(run, second)
    assert (state(server, run), show(server, run)["exit_code"]) == ("finished", 0)
    assert show(server, run)["started_at"] == "2027-01-15T08:00:00.000Z"


def test_rank_0_decides_when_many_write_one_run(server: Server, run: str) -> None:
    logs = [
        log_at(0, rank=rank, local_rank=rank % 4, world_size=64, host=f"n{rank // 4}")
        for rank in range(64)
    ]
    for log in reversed(logs):
        log.row(0, {"loss": 1.0})
        server.upload(run, log)
    for log in logs[1:]:
        log.end(exit_code=1)
        server.upload(run, log)
    assert state(server, run) == "running"
    logs[0].end(exit_code=0)
    server.upload(run, logs[0])
    assert state(server, run) == "finished"
    writers = server.ok("GET", f"/api/v1/runs/{run}/writers")["items"]
    assert sorted((one["rank"], one["local_rank"], one["host"]) for one in writers) == [
        (rank, rank % 4, f"n{rank // 4}") for rank in range(64)
    ]


def lives() -> list[Log]:
    """A run of three lives and a sidecar: what each says contradicts the others."""
    logs = []
    for minute, word in enumerate(["one", "two", "three"]):
        log = log_at(minute * 10, host=word, group=word, config={"lr": minute, word: 1}, name=word)
        log.document(6, {"best": minute, word: minute})
        log.document(11, {"tags": [word]} if minute == 1 else {"tags": ["x", word]})
        log.document(12, {"notes": word})
        log.row(minute * 10, {"loss": float(minute)})
        log.console(f"{word}\r\n".encode())
        log.document(ALERT, {"title": word, "text": "t", "level": "warn", "time": log.clock})
        logs.append(log)
    logs[1].end(signal=15)
    logs[2].end(exit_code=0)
    side = log_at(1, kind="sidecar")
    side.document(2, {"git": {"commit": "c1"}})
    side.document(DIFF, {"diff": "+1", "bytes": 2, "cut": False})
    side.document(GONE, {"writer": logs[0].writer, "time": logs[0].clock})
    return [*logs, side]


def portrait(server: Server, run: str) -> Any:
    """All that a run shows, without what names it."""
    shown = show(server, run)
    for key in ("id", "name", "created_at"):
        shown.pop(key)
    alerts = server.ok("GET", f"/api/v1/runs/{run}/alerts")["items"]
    told = sorted((one["title"], one["level"], one["at"]) for one in alerts)
    diff = server.ok("GET", f"/api/v1/runs/{run}/diff")
    return shown, text(server, run), told, diff


def test_the_order_of_arrival_changes_nothing(server: Server) -> None:
    logs = lives()
    seen = []
    for order in itertools.permutations(logs):
        run = make_id("r")
        server.ok("PUT", f"{RUNS}/{run}", {"tags": ["base"]})
        for log in order:
            log.sent = 0
            server.upload(run, log)
        seen.append(portrait(server, run))
    for one in seen[1:]:
        assert one == seen[0]
    shown, console, told, diff = seen[0]
    assert shown["state"] == "finished"
    assert shown["config"] == {"lr": 2, "one": 1, "two": 1, "three": 1}
    assert (shown["summary"]["best"], shown["notes"], shown["host"]) == (2, "three", "three")
    assert shown["tags"] == ["x", "three"]
    assert console == b"one\r\ntwo\r\nthree\r\n"
    assert len(told) == 3 and diff == {"diff": "+1", "bytes": 2, "cut": False}


def cluster() -> list[Log]:
    """Two hosts of two ranks, taken up again once: sidecars say what each machine is."""
    logs = []
    for host in range(2):
        for life in range(2):
            side = log_at(10 * life + host, kind="sidecar", host=f"n{host}")
            gpus = [{"name": "H100", "uuid": f"{host}-{gpu}"} for gpu in range(8)]
            side.document(MACHINE, {"host": f"n{host}", "driver": f"55{life}", "gpus": gpus})
            logs.append(side)
        for rank in range(2):
            logs.append(log_at(2, host=f"n{host}", rank=2 * host + rank, world_size=4))
    return logs


def test_each_host_tells_its_machine_once_in_whatever_order(server: Server) -> None:
    seen = []
    rng = random.Random(7)
    for turn in range(8):
        logs = cluster()
        if turn:
            rng.shuffle(logs)
        run = make_id("r")
        server.ok("PUT", f"{RUNS}/{run}", {})
        for log in logs:
            server.upload(run, log)
        shown = show(server, run)
        seen.append((shown["machines"], shown["machine"], shown["host_count"]))
    machines, machine, count = seen[0]
    assert all(one == seen[0] for one in seen)
    assert count == 2
    assert [(one["host"], one["ranks"]) for one in machines] == [("n0", [0, 1]), ("n1", [2, 3])]
    assert [one["machine"]["driver"] for one in machines] == ["551", "551"]
    assert len(machines[1]["machine"]["gpus"]) == 8
    assert machine == machines[0]["machine"]


def found(server: Server, term: str) -> list[str]:
    query = urllib.parse.urlencode({"filter": term, "columns": "host"})
    return [row["id"] for row in server.ok("GET", f"{RUNS}?{query}")["items"]]


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 1, 0), (1, 2, 0)])
def test_a_run_is_found_by_each_of_its_hosts(
    server: Server, run: str, order: tuple[int, ...]
) -> None:
    names = [f"{run}-{host}" for host in range(3)]
    logs = [log_at(host, host=names[host], rank=host) for host in range(3)]
    for host in order:
        server.upload(run, logs[host])
        assert found(server, f'host = "{names[host]}"') == [run]
    for name in names:
        assert found(server, f'host = "{name}"') == [run]
    assert found(server, f'host ~ "{run}-[01]"') == [run]
    assert found(server, f'host = "{run}-3"') == []
    assert run not in found(server, f'host != "{names[0]}"')
    assert run in found(server, "host is not null") and run not in found(server, "host is null")
    server.ok("DELETE", f"/api/v1/runs/{run}")
    assert found(server, f'host = "{names[0]}"') == []


def test_a_host_whose_machine_is_not_known_is_listed_all_the_same(server: Server, run: str) -> None:
    server.upload(run, log_at(0, host="a", rank=0))
    side = log_at(1, kind="sidecar", host="b")
    side.document(MACHINE, {"host": "b"})
    server.upload(run, side)
    server.upload(run, log_at(1, host="b", rank=1))
    huge = log_at(2, kind="sidecar", host="c")
    huge.document(MACHINE, {"host": "c", "note": "x" * 300_000})
    server.upload(run, huge)
    shown = show(server, run)
    assert shown["machines"] == [
        {"host": "a", "ranks": [0], "machine": None},
        {"host": "b", "ranks": [1], "machine": {"host": "b"}},
        {"host": "c", "ranks": [], "machine": None},
    ]
    assert shown["machine"] == {"host": "b"}


def test_what_a_person_changed_stays_when_logs_come_late(server: Server, run: str) -> None:
    first, late = log_at(0), log_at(5)
    first.document(12, {"notes": "of the script"})
    server.upload(run, first)
    server.ok("PATCH", f"/api/v1/runs/{run}", {"notes": "mine", "tags": ["mine"], "name": "mine"})
    late.document(12, {"notes": "of the script again"})
    late.document(11, {"tags": ["script"]})
    server.upload(run, late)
    shown = show(server, run)
    assert (shown["notes"], shown["tags"], shown["name"]) == ("mine", ["mine"], "mine")


def test_console_text_is_kept_by_process(server: Server, run: str) -> None:
    logs = [log_at(rank, rank=rank) for rank in range(3)]
    for part in range(2):
        for rank, log in enumerate(logs):
            log.console(f"{rank}.{part}\n".encode())
            server.upload(run, log)
    assert text(server, run) == b"0.0\n0.1\n1.0\n1.1\n2.0\n2.1\n"
    assert text(server, run, logs[1].writer) == b"1.0\n1.1\n"
    whole, offset = b"", 0
    while True:
        answer = server.send("GET", f"/api/v1/runs/{run}/console?offset={offset}&limit=3")
        if not answer.body:
            break
        whole += answer.body
        offset = int(answer.headers["euvyra-offset"])
    assert whole == text(server, run)
    assert server.send("GET", f"/api/v1/runs/{run}/console?writer={make_id('w')}").status == 404
    assert show(server, run)["console_bytes"] == len(whole)


def test_alerts_are_listed_by_run_and_project_page_by_page(server: Server, run: str) -> None:
    log = log_at(0)
    for number in range(5):
        log.document(ALERT, {"title": f"t{number}", "text": "a\nb", "time": log.clock})
    log.document(ALERT, {"title": "x" * 300, "level": "error", "time": log.clock})
    log.document(ALERT, {"text": "without a title"})
    server.upload(run, log)
    seen, cursor = [], ""
    while True:
        page = server.ok("GET", f"/api/v1/runs/{run}/alerts?limit=2{cursor}")
        seen += page["items"]
        if not page["next_cursor"]:
            break
        cursor = f"&cursor={page['next_cursor']}"
    assert [one["title"] for one in seen] == ["x" * 200, "t4", "t3", "t2", "t1", "t0"]
    assert seen[0]["level"] == "error" and seen[1]["level"] == "info"
    assert seen[1]["text"] == "a\nb"
    assert server.ok("GET", "/api/v1/projects/demo/alerts")["items"][0]["run"] == run
    assert show(server, run)["unknown_records"] == 1


def test_a_run_is_asked_to_stop_and_a_new_process_is_not(server: Server, run: str) -> None:
    log = log_at(0)
    assert server.append(run, log).json["stop"] is False
    log.sent = len(log.data)
    wait_for("it runs", lambda: state(server, run) == "running")
    assert server.ok("POST", f"/api/v1/runs/{run}/stop")["stopping"] is True
    log.row(0, {"loss": 1.0})
    answer = server.append(run, log).json
    assert answer["stop"] is True
    log.sent = answer["offset"]
    log.end(exit_code=0)
    server.upload(run, log)
    assert show(server, run)["stopping"] is False
    answer = server.call("POST", f"/api/v1/runs/{run}/stop")
    assert (answer.status, answer.code) == (409, "conflict")
    again = log_at(3)
    server.upload(run, again)
    again.row(1, {"loss": 1.0})
    assert server.append(run, again).json["stop"] is False


def test_stopping_needs_an_editor(server: Server, run: str) -> None:
    key = server.user("viewer")
    server.ok("PUT", "/api/v1/projects/demo/members/viewer", {"role": "viewer"})
    assert server.call("POST", f"/api/v1/runs/{run}/stop", key=key).status == 403
    assert server.call("GET", f"/api/v1/runs/{run}/alerts", key=key).status == 200


def test_secrets_that_were_taken_out_are_counted(server: Server, run: str) -> None:
    log = log_at(0, redacted=2)
    log.document(MARK, {"redacted": 5})
    server.upload(run, log)
    server.upload(run, log_at(1, redacted=1))
    assert show(server, run)["redacted"] == 6


def test_a_deleted_run_takes_its_alerts_and_texts_along(server: Server, run: str) -> None:
    for log in lives():
        server.upload(run, log)
    server.ok("DELETE", f"/api/v1/runs/{run}")
    assert all(
        one["run"] != run for one in server.ok("GET", "/api/v1/projects/demo/alerts")["items"]
    )


def query(server: Server, runs: list[str], metric: str = "loss", **more: Any) -> list[Any]:
    body = {"runs": runs, "metrics": [metric], **more}
    return list(server.ok("POST", "/api/v1/projects/demo/metrics/query", body)["series"])


def points(series: Any) -> list[tuple[int, float]]:
    assert all(count == 1 for count in series["counts"])
    return list(zip(series["x"], series["first"], strict=True))


def facts(server: Server, run: str, name: str = "loss") -> Any:
    items = server.ok("GET", f"/api/v1/runs/{run}/metrics")["items"]
    return next((one for one in items if one["name"] == name), {"count": 0})


def logged(minute: int, steps: range, value: float, **start: Any) -> Log:
    log = log_at(minute, **start)
    for step in steps:
        log.row(step, {"loss": value})
    return log


def truncate(step: int, key: str) -> dict[str, Any]:
    return {"epoch": {"kind": "truncate", "step": step, "key": key}}


def test_a_run_taken_up_at_an_earlier_step_shows_the_new_steps_alone(
    server: Server, run: str
) -> None:
    first = logged(0, range(10), 1.0)
    second = logged(5, range(6, 9), 2.0, **truncate(6, "a"))
    server.upload(run, first)
    assert facts(server, run)["count"] == 10
    server.upload(run, second)
    (series,) = query(server, [run])
    assert points(series) == [(step, 1.0) for step in range(6)] + [
        (step, 2.0) for step in (6, 7, 8)
    ]
    seen, hidden = query(server, [run], hidden=True)
    assert points(seen) == points(series) and "hidden" not in seen
    assert hidden["hidden"] is True
    assert points(hidden) == [(step, 1.0) for step in range(6, 10)]
    wait_for("the facts", lambda: facts(server, run)["count"] == 9)
    shown = facts(server, run)
    assert (shown["last"], shown["last_step"], shown["max"], shown["min"]) == (2.0, 8, 2.0, 1.0)
    assert show(server, run)["summary"]["loss"] == 2.0
    assert show(server, run)["has_hidden"] is True
    page = server.ok("GET", f"/api/v1/runs/{run}/metrics/points?metric=loss")
    assert page["steps"] == [*range(6), 6, 7, 8]
    for step in range(9, 12):  # it goes on
        second.row(step, {"loss": 3.0})
    server.upload(run, second)
    wait_for("the facts", lambda: facts(server, run)["count"] == 12)
    assert facts(server, run)["max"] == 3.0


def test_the_order_of_epochs_is_that_of_their_starts(server: Server) -> None:
    logs = [
        logged(0, range(20), 1.0),
        logged(5, range(10, 20), 2.0, rank=0, world_size=2, **truncate(10, "launch-1")),
        logged(5, range(10, 20), 2.0, rank=1, world_size=2, **truncate(10, "launch-1")),
        logged(9, range(5, 8), 3.0, **truncate(5, "launch-2")),
    ]
    seen = []
    for order in itertools.permutations(logs):
        run = make_id("r")
        server.ok("PUT", f"{RUNS}/{run}", {})
        for log in order:
            log.sent = 0
            server.upload(run, log)
        wait_for("the facts", lambda: facts(server, run)["count"] == 8)  # noqa: B023
        shown = facts(server, run)
        seen.append((query(server, [run], hidden=True), shown))
        for series in seen[-1][0]:
            series.pop("run")
    for one in seen[1:]:
        assert one == seen[0]
    visible, hidden = seen[0][0]
    assert points(visible) == [(step, 1.0) for step in range(5)] + [
        (step, 3.0) for step in (5, 6, 7)
    ]
    assert hidden["count"] == 15 + 20


def test_a_new_attempt_of_a_job_begins_at_its_first_step(server: Server) -> None:
    run = make_id("r")
    body = {"run": run, "spec": {"command": ["true"]}}
    server.ok("PUT", f"/api/v1/projects/demo/jobs/{make_id('j')}", body)
    for minute, (attempt, steps) in enumerate(
        {"taaaaaaaaaaaa": range(10), "tbbbbbbbbbbbb": range(7, 12)}.items()
    ):
        log = logged(minute, steps, float(minute), attempt=attempt, epoch={"kind": "attempt"})
        server.upload(run, log)
    (series,) = query(server, [run])
    assert points(series) == [(step, 0.0) for step in range(7)] + [
        (step, 1.0) for step in range(7, 12)
    ]
    wait_for("the facts", lambda: facts(server, run)["count"] == 12)


def branch(server: Server, parent: str, step: int, log: Log) -> str:
    run = make_id("r")
    server.ok("PUT", f"{RUNS}/{run}", {})
    server.upload(run, log)
    return run


def test_a_branch_has_what_it_inherited(server: Server, run: str) -> None:
    old = logged(0, range(10), 1.0)
    old.row(3, {"other": 5.0})
    child_log = logged(5, range(6, 9), 2.0, branch={"run": run, "step": 6})
    child = branch(server, run, 6, child_log)  # before its parent is there
    assert points(query(server, [child])[0]) == [(6, 2.0), (7, 2.0), (8, 2.0)]
    server.upload(run, old)
    want = [(step, 1.0) for step in range(6)] + [(step, 2.0) for step in (6, 7, 8)]
    assert points(query(server, [child])[0]) == want
    wait_for("the facts", lambda: facts(server, child)["count"] == 9)
    assert facts(server, child, "other")["last"] == 5.0
    grandchild = branch(
        server, child, 7, logged(9, range(7, 8), 3.0, branch={"run": child, "step": 7})
    )
    want = [(step, 1.0) for step in range(6)] + [(6, 2.0), (7, 3.0)]
    assert points(query(server, [grandchild])[0]) == want
    wait_for("the facts", lambda: facts(server, grandchild)["count"] == 8)
    # What becomes of the parent later changes nothing.
    server.upload(run, logged(20, range(2, 9), 9.0, **truncate(2, "late")))
    assert points(query(server, [grandchild])[0]) == want
    shown = show(server, child)
    assert (shown["parent"], shown["parent_step"], shown["parent_exists"]) == (run, 6, True)
    server.ok("DELETE", f"/api/v1/runs/{run}")
    assert show(server, child)["parent_exists"] is False
    assert points(query(server, [child])[0]) == [(6, 2.0), (7, 2.0), (8, 2.0)]
    wait_for("the facts", lambda: facts(server, child)["count"] == 3)
    assert facts(server, child, "other")["count"] == 0


def test_branches_that_name_each_other_or_strangers_end(server: Server, run: str) -> None:
    other = make_id("r")
    server.ok("PUT", f"{RUNS}/{other}", {})
    server.upload(run, logged(0, range(3), 1.0, branch={"run": other, "step": 9}))
    server.upload(other, logged(0, range(3, 6), 2.0, branch={"run": run, "step": 9}))
    assert query(server, [run])[0]["count"] <= 6
    server.ok("PUT", "/api/v1/projects/elsewhere", {})
    stranger = make_id("r")
    server.ok("PUT", f"/api/v1/projects/elsewhere/runs/{stranger}", {})
    server.upload(stranger, logged(0, range(3), 1.0, branch={"run": run, "step": 2}))
    body = {"runs": [stranger], "metrics": ["loss"]}
    answer = server.ok("POST", "/api/v1/projects/elsewhere/metrics/query", body)
    assert answer["series"][0]["count"] == 3
    assert show(server, stranger)["parent_exists"] is False


def test_ranks_and_hosts_are_series_of_their_own_on_request(server: Server, run: str) -> None:
    for rank in range(8):
        log = logged(0, range(5), float(rank), rank=rank, world_size=8, host=f"n{rank // 4}")
        server.upload(run, log)
    assert [one["count"] for one in query(server, [run])] == [40]
    by_rank = query(server, [run], by="rank")
    assert sorted((one["rank"], one["count"], one["max"][0]) for one in by_rank) == [
        (rank, 5, float(rank)) for rank in range(8)
    ]
    by_host = query(server, [run], by="host")
    assert sorted((one["host"], one["count"]) for one in by_host) == [("n0", 20), ("n1", 20)]
    body = {"runs": [run], "metrics": ["loss"], "by": "rank", "group_by": "lr"}
    answer = server.call("POST", "/api/v1/projects/demo/metrics/query", body)
    assert (answer.status, answer.json["field"]) == (400, "by")
