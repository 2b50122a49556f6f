"""Logs at the server: exactly once, exact charts, console text, what survives a kill."""

from __future__ import annotations

import itertools
import json
import math
import random
import threading
from pathlib import Path
from typing import Any

from support import Log, Server, crc32c, make_id, wait_for


def query(server: Server, run: str, metric: str, **more: Any) -> dict[str, Any]:
    answer = server.ok(
        "POST", "/api/v1/projects/demo/metrics/query", {"runs": [run], "metrics": [metric], **more}
    )
    assert answer["exact"] is True
    return dict(answer["series"][0]) if answer["series"] else {}


def test_a_log_becomes_a_run(server: Server, run: str) -> None:
    log = Log()
    log.start(
        config={"lr": 0.1, "deep": {"x": [1, {"$f": "NaN"}]}},
        host="box",
        command=["python", "t.py"],
    )
    for step in range(10):
        log.row(step, {"loss": 1.0 / (step + 1)})
    log.document(6, {"best": 7, "big": {"$i": "9007199254740993"}, "odd": {"$o": {"$f": "x"}}})
    log.console("grüße\n".encode())
    log.end(exit_code=0)
    server.upload(run, log)
    shown = server.ok("GET", f"/api/v1/runs/{run}")
    assert (shown["state"], shown["exit_code"], shown["host"]) == ("finished", 0, "box")
    assert shown["config"] == {"lr": 0.1, "deep": {"x": [1, "NaN"]}}
    assert shown["summary"] == {
        "best": 7,
        "big": "9007199254740993",
        "odd": {"$f": "x"},
        "loss": 0.1,
    }
    assert shown["command"] == ["python", "t.py"]
    text = server.send("GET", f"/api/v1/runs/{run}/console?offset=3")
    assert text.body.decode("utf-8", "replace").endswith("\xdfe\n")
    assert text.headers["euvyra-offset"] == "8"


def test_the_name_of_init_names_a_run_that_has_none(server: Server) -> None:
    def show_name(of: str) -> Any:
        return server.ok("GET", f"/api/v1/runs/{of}")["name"]

    def start(of: str, **more: Any) -> None:
        log = Log()
        log.clock += next(minutes) * 60_000
        log.start(**more)
        server.upload(of, log)

    minutes = itertools.count()
    named: list[Any] = []
    for more in ({}, {"name": "by hand"}):
        made = make_id("r")
        server.ok("PUT", f"/api/v1/projects/demo/runs/{made}", more)
        before = show_name(made)
        start(made, name="of a child", kind="child")
        start(made, name="")
        assert show_name(made) == before
        start(made, name="from init")
        start(made, name="later")
        named.append(show_name(made))
    for more in ({}, {"name": "of launch"}):
        body = {"run": make_id("r"), "spec": {"command": ["true"]}, **more}
        job = server.ok("PUT", f"/api/v1/projects/demo/jobs/{make_id('j')}", body)
        start(job["run"], name="from init")
        named.append(show_name(job["run"]))
    assert named == ["from init", "by hand", "from init", "of launch"]


def test_a_wrong_offset_is_told_the_right_one_and_a_repeat_changes_nothing(
    server: Server, run: str
) -> None:
    log = Log()
    log.row(0, {"loss": 1.0})
    assert server.append(run, log).status == 200
    again = server.append(run, log)
    assert (again.status, again.code) == (416, "wrong_offset")
    assert int(again.headers["euvyra-offset"]) == len(log.data)
    ahead = server.post_log(run, log.writer, len(log.data) + 7, 0, bytes(log.data))
    assert ahead.status == 416
    wait_for("apply", lambda: server.applied(run, log.writer) == len(log.data))
    assert query(server, run, "loss")["count"] == 1


def test_another_history_before_the_offset_is_refused(server: Server, run: str) -> None:
    log, other = Log(), Log()
    log.row(0, {"loss": 1.0})
    server.upload(run, log)
    other.row(0, {"loss": 2.0})
    answer = server.post_log(run, log.writer, log.sent, other.crc_sent() ^ 1, bytes(other.data))
    assert (answer.status, answer.code) == (409, "writer_diverged")


def test_only_whole_undamaged_records_are_taken(server: Server, run: str) -> None:
    log = Log()
    log.row(0, {"loss": 1.0})
    whole = bytes(log.data)
    for bad in (whole[:-1], whole[:5], b"", b"\0" * 40, whole[:-3] + b"xyz"):
        answer = server.post_log(run, log.writer, 0, 0, bad)
        assert answer.status == 400, bad
    assert server.ok("GET", f"/api/v1/runs/{run}/writers")["items"] == []


def test_records_of_unknown_types_are_kept_and_break_nothing(server: Server, run: str) -> None:
    log = Log()
    log.record(999, b"from the future")
    log.document(7, [1, 2])  # a config that is no object
    log.row(0, {"loss": 1.0})
    server.upload(run, log)
    assert server.ok("GET", f"/api/v1/runs/{run}")["unknown_records"] == 2
    assert query(server, run, "loss")["count"] == 1


def test_of_sixteen_posts_of_the_same_bytes_one_is_taken(server: Server, run: str) -> None:
    log = Log()
    log.row(0, {"loss": 1.0})
    statuses: list[int] = []
    threads = [
        threading.Thread(target=lambda: statuses.append(server.append(run, log).status))
        for _ in range(16)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(statuses) == [200] + [416] * 15
    wait_for("apply", lambda: server.applied(run, log.writer) == len(log.data))
    assert query(server, run, "loss")["count"] == 1


def expected(
    points: list[tuple[int, float]], lo: int, hi: int, buckets: int
) -> dict[str, list[Any]]:
    """The answer as arithmetic says it, from all points."""
    inside = [(x, v) for x, v in points if lo <= x <= hi]
    first, last = max(lo, min(x for x, _ in points)), min(hi, max(x for x, _ in points))
    width = (last - first) // buckets + 1
    out: dict[str, list[Any]] = {
        name: [] for name in ("x", "min", "max", "first", "last", "counts")
    }
    for bucket in range(buckets):
        some = [(x, v) for x, v in inside if (x - first) // width == bucket]
        if not some:
            continue
        finite = [v for _, v in some if math.isfinite(v)]
        low, high = min(x for x, _ in some), max(x for x, _ in some)
        out["x"].append(low)
        out["min"].append(min(finite) if finite else None)
        out["max"].append(max(finite) if finite else None)
        out["first"].append(text_of(next(v for x, v in some if x == low)))
        out["last"].append(text_of([v for x, v in some if x == high][-1]))
        out["counts"].append(len(some))
    return out


def text_of(value: float) -> Any:
    if math.isfinite(value):
        return value
    return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"


def test_charts_are_exact_before_and_after_compaction_and_a_restart(tmp_path: Path) -> None:
    random.seed(7)
    points: list[tuple[int, float]] = []
    log = Log()
    for index in range(4000):  # fewer than a row of the pyramid sums up
        step = index * 3 + random.randrange(3) - (40 if index % 97 == 0 else 0)
        value = random.choice([random.gauss(0, 1)] * 30 + [math.nan, math.inf, -math.inf, -0.0])
        log.row(step, {"loss": value})
        points.append((step, value))
    with Server(tmp_path / "data") as server:
        server.ok("PUT", "/api/v1/projects/demo", {})
        run = make_id("r")
        server.ok("PUT", f"/api/v1/projects/demo/runs/{run}", {})
        middle = len(log.data) // 2
        whole, at = bytes(log.data), 0
        while at < middle:  # cut at a record, so that there are two posts
            at += 12 + int.from_bytes(whole[at : at + 4], "little")
        assert server.post_log(run, log.writer, 0, 0, whole[:at]).status == 200
        check_chart(server, run, None, 5000)
        answer = server.post_log(run, log.writer, at, crc32c(whole[:at]), whole[at:])
        assert answer.status == 200
        wait_for("apply", lambda: server.applied(run, log.writer) == len(whole))
        for buckets in (1, 7, 1000, 4096):
            check_chart(server, run, points, buckets)
            check_chart(server, run, points, buckets, 333, 7777)
        log.sent = len(whole)
        log.end(exit_code=0)
        server.upload(run, log)
        server.wait_compacted()
        for buckets in (1, 7, 1000, 4096):
            check_chart(server, run, points, buckets)
            check_chart(server, run, points, buckets, 333, 7777)
    with Server(tmp_path / "data") as again:
        again.key = server.key
        check_chart(again, run, points, 100)
        facts = again.ok("GET", f"/api/v1/runs/{run}/metrics")["items"][0]
        finite = [v for _, v in points if math.isfinite(v)]
        assert (facts["count"], facts["min"], facts["max"]) == (4000, min(finite), max(finite))


def check_chart(
    server: Server,
    run: str,
    points: list[tuple[int, float]] | None,
    buckets: int,
    lo: int = -(1 << 50),
    hi: int = 1 << 50,
) -> None:
    if points is None:
        return
    got = query(server, run, "loss", buckets=min(buckets, 4096), **{"from": lo, "to": hi})
    want = expected(points, lo, hi, min(buckets, 4096))
    for column, values in want.items():
        assert got[column] == values, (column, buckets)
    assert got["not_finite"] == sum(1 for x, v in points if lo <= x <= hi and not math.isfinite(v))


def test_nothing_acknowledged_is_lost_when_the_server_is_killed(tmp_path: Path) -> None:
    server = Server(tmp_path / "data").start()
    server.ok("PUT", "/api/v1/projects/demo", {})
    run = make_id("r")
    server.ok("PUT", f"/api/v1/projects/demo/runs/{run}", {})
    log = Log()
    for step in range(60):
        log.row(step, {"loss": float(step)})
        answer = server.append(run, log)
        assert answer.status == 200
        log.sent = answer.json["offset"]
        if step % 20 == 19:
            server.kill()
            server.start()
            items = server.ok("GET", f"/api/v1/runs/{run}/writers")["items"]
            assert items[0]["committed_offset"] == log.sent
            assert items[0]["crc"] == f"{log.crc_sent():08x}"
    wait_for("apply", lambda: server.applied(run, log.writer) == log.sent)
    assert query(server, run, "loss")["counts"] == [1] * 60
    server.stop()


def test_a_run_without_a_sign_of_life_crashes_and_runs_again_when_data_comes(
    tmp_path: Path,
) -> None:
    with Server(tmp_path / "data", "--crashed-after", "1") as server:
        server.ok("PUT", "/api/v1/projects/demo", {})
        run = make_id("r")
        server.ok("PUT", f"/api/v1/projects/demo/runs/{run}", {})
        log = Log()
        log.row(0, {"loss": 1.0})
        server.upload(run, log)

        def state() -> str:
            return str(server.ok("GET", f"/api/v1/runs/{run}")["state"])

        wait_for("crash", lambda: state() == "crashed")
        log.row(1, {"loss": 1.0})
        server.upload(run, log)
        assert state() in ("running", "crashed")
        log.end(signal=9)
        server.upload(run, log)
        shown = server.ok("GET", f"/api/v1/runs/{run}")
        assert (shown["state"], shown["signal"]) == ("killed", 9)


def test_a_deleted_run_is_gone_with_all_it_recorded(server: Server, run: str) -> None:
    log = Log()
    log.row(0, {"loss": 1.0})
    log.console(b"x" * 1000)
    server.upload(run, log)
    server.ok("DELETE", f"/api/v1/runs/{run}")
    assert server.call("GET", f"/api/v1/runs/{run}").status in (404, 410)  # 404 once it is purged
    assert server.append(run, log).status in (404, 410)
    assert server.ok("GET", "/api/v1/projects/demo/runs")["items"] == []


def test_console_text_is_read_in_parts_by_byte(server: Server, run: str) -> None:
    log = Log()
    for line in range(200):
        log.console(f"line {line}\n".encode() + bytes([255]))
    server.upload(run, log)
    whole, offset = b"", 0
    while True:
        answer = server.send("GET", f"/api/v1/runs/{run}/console?offset={offset}&limit=77")
        if not answer.body:
            break
        whole += answer.body
        offset = int(answer.headers["euvyra-offset"])
    assert whole == b"".join(f"line {line}\n".encode() + b"\xff" for line in range(200))
    assert int(answer.headers["euvyra-size"]) == len(whole)


def test_many_names_and_pages_of_them(server: Server, run: str) -> None:
    log = Log()
    log.row(0, {f"m/{n:04d}": float(n) for n in range(2500)})
    server.upload(run, log)
    server.wait_facts()
    names: list[str] = []
    cursor = ""
    while True:
        path = f"/api/v1/runs/{run}/metrics?limit=1000" + (f"&cursor={cursor}" if cursor else "")
        page = server.ok("GET", path)
        names += [item["name"] for item in page["items"]]
        if not page["next_cursor"]:
            break
        cursor = page["next_cursor"].replace("/", "%2F")
    assert names == [f"m/{n:04d}" for n in range(2500)]
    assert json.dumps(names[0])


SOON, LATER = 1000, 15000


def next_ms(server: Server, run: str, log: Log) -> int:
    """What a post of one more row is told about when to come again."""
    log.row(len(log.data), {"loss": 1.0})
    answer = server.append(run, log)
    assert answer.status == 200, answer.body
    log.sent = answer.json["offset"]
    return int(answer.json["next_ms"])


def test_a_post_is_to_come_again_soon_only_while_somebody_watches(server: Server, run: str) -> None:
    log = Log()
    assert next_ms(server, run, log) == SOON, "the first post of a log"
    assert next_ms(server, run, log) == LATER
    with server.events():
        assert next_ms(server, run, log) == SOON
    wait_for("the stream to be gone", lambda: next_ms(server, run, log) == LATER)


def test_a_stream_that_may_not_see_the_project_watches_nothing(server: Server, run: str) -> None:
    log, key = Log(), server.user("bob")
    assert next_ms(server, run, log) == SOON
    with server.events(key):
        assert next_ms(server, run, log) == LATER
    server.ok("PUT", "/api/v1/projects/demo/members/bob", {"role": "viewer"})
    with server.events(key):
        assert next_ms(server, run, log) == SOON


def test_whoever_follows_console_text_that_comes_from_the_run_watches_it(
    server: Server, run: str
) -> None:
    log, other = Log(), Log()
    made = make_id("r")
    server.ok("PUT", f"/api/v1/projects/demo/runs/{made}", {})
    assert (next_ms(server, run, log), next_ms(server, made, other)) == (SOON, SOON)
    server.send("GET", f"/api/v1/runs/{run}/console")
    assert (next_ms(server, run, log), next_ms(server, made, other)) == (SOON, LATER)
    job = server.ok(
        "PUT",
        f"/api/v1/projects/demo/jobs/{make_id('j')}",
        {"run": make_id("r"), "spec": {"command": ["true"]}},
    )
    of_job = Log()
    assert next_ms(server, job["run"], of_job) == SOON
    server.send("GET", f"/api/v1/runs/{job['run']}/console")  # this text comes from the agent
    assert next_ms(server, job["run"], of_job) == LATER
