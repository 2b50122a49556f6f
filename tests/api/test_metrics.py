"""Charts over many points: exact through every level of the pyramid, paged, crossed, grouped."""

from __future__ import annotations

import bisect
import json
import math
import os
import random
import statistics
import struct
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest
from support import BUILD, ROOT, Log, Server, make_id, wait_for

Point = tuple[int, int, float]  # step, time, value

MANY = 70_000  # a row of level 2 and more


def ask(server: Server, runs: list[str], metrics: list[str], **more: Any) -> dict[str, Any]:
    body = {"runs": runs, "metrics": metrics, **more}
    answer: dict[str, Any] = server.ok("POST", "/api/v1/projects/demo/metrics/query", body)
    assert answer["exact"] is True
    return answer


def make_run(server: Server, **config: Any) -> str:
    run = make_id("r")
    server.ok("PUT", f"/api/v1/projects/demo/runs/{run}", {})
    if config:
        log = Log()
        log.start(config=config)
        server.upload(run, log)
    return run


def random_value() -> float:
    narrow: float = struct.unpack("f", os.urandom(4))[0]
    return random.choice([random.gauss(0, 1), round(random.random(), 3), narrow])


@pytest.fixture(scope="module")
def charts(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Server, str, list[Point]]]:
    """A run whose points came in order of steps, with gaps, strangers and an uneven clock."""
    random.seed(11)
    log = Log()
    points: list[Point] = []
    step = 0
    for _ in range(MANY):
        step += random.choice((1, 1, 1, 5))
        log.clock += random.randrange(3000) - 1000 * (random.random() < 0.9)
        value = random_value()
        log.row(step, {"loss": value})
        points.append((step, log.clock, value))
    with Server(tmp_path_factory.mktemp("charts") / "data") as server:
        server.ok("PUT", "/api/v1/projects/demo", {})
        run = make_run(server)
        server.upload(run, log)
        log.end(exit_code=0)
        server.upload(run, log)
        server.wait_compacted()
        yield server, run, points


def finite(values: list[float]) -> list[float]:
    return [v for v in values if math.isfinite(v)]


def as_number(value: Any) -> float:
    return float(value)


def same(a: float, b: float) -> bool:
    return a == b or (math.isnan(a) and math.isnan(b))


def check_parts(series: dict[str, Any], pairs: list[tuple[int, float]]) -> None:
    """The buckets cut the points, which are in order of x, into neighbouring parts."""
    at = 0
    for i, count in enumerate(series["counts"]):
        part = pairs[at : at + count]
        at += count
        values = [v for _, v in part]
        some = finite(values)
        assert (series["x"][i], series["x_last"][i]) == (part[0][0], part[-1][0])
        assert same(as_number(series["first"][i]), values[0])
        assert same(as_number(series["last"][i]), values[-1])
        assert series["min"][i] == (min(some) if some else None)
        assert series["max"][i] == (max(some) if some else None)
        if some:
            assert math.isclose(
                series["mean"][i],
                math.fsum(some) / len(some),
                rel_tol=1e-9,
                abs_tol=1e-9 * max(map(abs, some)),
            )
        else:
            assert series["mean"][i] is None
    assert at == len(pairs) == series["count"]
    assert series["not_finite"] == sum(not math.isfinite(v) for _, v in pairs)


def check_edges(series: dict[str, Any], lo: int, hi: int, buckets: int) -> None:
    """No point is further than half a bucket from the bucket it belongs in."""
    width = (hi - lo) // buckets + 1
    for first, last in zip(series["x"], series["x_last"], strict=True):
        assert last - first <= 2 * width
        assert (last - lo) / width - (first - lo) // width <= 1.5


@pytest.mark.parametrize("buckets", [1, 100, 4096])
@pytest.mark.parametrize("part", [(0.0, 1.0), (0.31, 0.34), (0.1, 0.9), (0.5, 0.5004)])
def test_every_point_is_in_one_bucket_and_what_it_says_is_exact(
    charts: tuple[Server, str, list[Point]], buckets: int, part: tuple[float, float]
) -> None:
    server, run, points = charts
    first, last = points[0][0], points[-1][0]
    lo = int(first + part[0] * (last - first))
    hi = int(first + part[1] * (last - first))
    answer = ask(server, [run], ["loss"], buckets=buckets, **{"from": lo, "to": hi})
    pairs = [(step, value) for step, _, value in points if lo <= step <= hi]
    check_parts(answer["series"][0], pairs)
    check_edges(answer["series"][0], lo, hi, buckets)


@pytest.mark.parametrize("buckets", [7, 1000])
def test_charts_over_time_have_every_point(
    charts: tuple[Server, str, list[Point]], buckets: int
) -> None:
    server, run, points = charts
    series = ask(server, [run], ["loss"], x="time", buckets=buckets)["series"][0]
    assert sum(series["counts"]) == series["count"] == MANY
    values = finite([v for *_, v in points])
    assert min(v for v in series["min"] if v is not None) == min(values)
    assert max(v for v in series["max"] if v is not None) == max(values)
    # Points are not quite in order of time, so buckets may touch; each holds what its ends say.
    times = sorted(at for _, at, _ in points)
    width = (times[-1] - times[0]) // buckets + 1
    for x, x_last, count in zip(series["x"], series["x_last"], series["counts"], strict=True):
        near = bisect.bisect_right(times, x_last) - bisect.bisect_left(times, x)
        assert count <= near and x_last - x <= 2 * width
    shown = server.ok("GET", f"/api/v1/runs/{run}")
    relative = ask(server, [run], ["loss"], x="relative", buckets=buckets)["series"][0]
    assert relative["counts"] == series["counts"]
    assert relative["x_last"][0] - relative["x"][0] == series["x_last"][0] - series["x"][0]
    assert shown["id"] == run


def test_points_come_page_by_page_as_they_were_logged(
    charts: tuple[Server, str, list[Point]],
) -> None:
    server, run, points = charts
    got: list[Point] = []
    cursor = ""
    more = True
    while more:
        query = f"metric=loss&points=9999{'&cursor=' + cursor if cursor else ''}"
        page = server.ok("GET", f"/api/v1/runs/{run}/metrics/points?{query}")
        values = [as_number(v) for v in page["values"]]
        got += zip(page["steps"], page["times"], values, strict=True)
        cursor, more = page["cursor"], page["more"]
    assert len(got) == MANY
    assert all(a[:2] == b[:2] and same(a[2], b[2]) for a, b in zip(got, points, strict=True))
    again = server.ok("GET", f"/api/v1/runs/{run}/metrics/points?metric=loss&cursor={cursor}")
    assert (again["steps"], again["cursor"], again["more"]) == ([], cursor, False)
    bad = server.call("GET", f"/api/v1/runs/{run}/metrics/points?metric=loss&cursor=nonsense")
    assert (bad.status, bad.json["field"]) == (400, "cursor")


def test_the_summary_of_a_metric_tells_where_its_values_were(
    charts: tuple[Server, str, list[Point]],
) -> None:
    server, run, points = charts
    facts = server.ok("GET", f"/api/v1/runs/{run}/metrics")["items"][0]
    some = [(v, step) for step, _, v in points if math.isfinite(v)]
    values = [v for v, _ in some]
    assert (facts["count"], facts["not_finite"]) == (MANY, MANY - len(some))
    assert (facts["min"], facts["min_step"]) == min(some)
    greatest = max(values)
    where = min(step for v, step in some if v == greatest)
    assert (facts["max"], facts["max_step"]) == (greatest, where)
    assert same(as_number(facts["first"]), points[0][2]) and facts["first_step"] == points[0][0]
    assert same(as_number(facts["last"]), points[-1][2]) and facts["last_step"] == points[-1][0]
    assert math.isclose(facts["mean"], math.fsum(values) / len(values), rel_tol=1e-6)


def test_the_binary_form_says_what_the_json_says(charts: tuple[Server, str, list[Point]]) -> None:
    server, run, _ = charts
    asked = {"runs": [run], "metrics": ["loss"], "buckets": 50, "format": "columns"}
    answer = server.call("POST", "/api/v1/projects/demo/metrics/query", asked)
    assert answer.body[:8] == b"EUVCOL01"
    length = int.from_bytes(answer.body[8:12], "little")
    head = json.loads(answer.body[16 : 16 + length])
    numbers = struct.unpack_from(
        f"<{(len(answer.body) - 16 - length) // 8}d", answer.body, 16 + length
    )
    told = ask(server, [run], ["loss"], buckets=50)["series"][0]
    at = 0
    for name in head["series_columns"]:
        column = numbers[at : at + head["series"][0]["buckets"]]
        at += len(column)
        want = [math.nan if v is None else float(v) for v in told[name]]
        assert all(same(a, b) for a, b in zip(column, want, strict=True)), name
    assert at == len(numbers)


def test_points_out_of_order_are_near_their_place(server: Server) -> None:
    server.ok("PUT", "/api/v1/projects/demo", {})
    random.seed(5)
    run, log = make_run(server), Log()
    points = []
    for index in range(20_000):
        step = index + random.randrange(-300, 300) * (index % 50 == 0)
        log.row(step, {"loss": float(index)})
        points.append((step, float(index)))
    log.end(exit_code=0)
    server.upload(run, log)
    server.wait_compacted()
    lo, hi = min(points)[0], max(points)[0]
    series = ask(server, [run], ["loss"], buckets=20)["series"][0]
    assert sum(series["counts"]) == 20_000
    width = (hi - lo) // 20 + 1
    for i in range(20):
        # A record goes where it begins: up to half a bucket of what follows, nothing of before.
        near = [v for s, v in points if lo + i * width <= s < lo + (i + 1.5) * width]
        sure = [v for s, v in points if lo + (i + 0.5) * width <= s < lo + (i + 1) * width]
        assert len(sure) <= series["counts"][i] <= len(near)
        assert series["min"][i] >= min(near) and series["max"][i] <= max(near)


def test_a_metric_over_another_matches_what_one_call_logged(server: Server) -> None:
    server.ok("PUT", "/api/v1/projects/demo", {})
    run, log = make_run(server), Log()
    want = []
    for step in range(3000):
        values = {"examples": float(step * 32), "loss": 1 / (step + 1)}
        if step % 3 == 0:
            del values["examples"]  # logged without: not on this chart
        else:
            want.append((values["examples"], values["loss"]))
        log.row(step, values)
    server.upload(run, log)
    axis = {"x": "metric", "x_metric": "examples"}
    series = ask(server, [run], ["loss"], buckets=4096, **axis)["series"][0]
    assert [(x, y) for x, y in zip(series["x"], series["first"], strict=True)] == want
    some = ask(server, [run], ["loss"], buckets=4096, **axis, **{"from": 320.5, "to": 640.25})
    assert some["series"][0]["count"] == sum(320.5 <= x <= 640.25 for x, _ in want)
    for wrong, field in (
        ({"x": "metric"}, "x_metric"),
        ({"x_metric": "loss"}, "x_metric"),
        ({**axis, "group_by": "lr"}, "group_by"),
        ({"from": 0.5}, "from"),
        ({"since": [1, 2]}, "since"),
        ({"format": "xml"}, "format"),
        ({"x": "place"}, "x"),
    ):
        body = {"runs": [run], "metrics": ["loss"], **wrong}
        answer = server.call("POST", "/api/v1/projects/demo/metrics/query", body)
        assert (answer.status, answer.json["field"]) == (400, field), wrong


def test_runs_are_grouped_by_a_value_of_their_configuration(server: Server) -> None:
    server.ok("PUT", "/api/v1/projects/demo", {})
    random.seed(3)
    runs, values = [], {}
    for index in range(7):
        config = {"optimizer": {"lr": [0.1, 0.01][index % 2]}} if index < 6 else {"seed": 1}
        run, log = make_run(server, **config), Log()
        values[run] = [random.random() for _ in range(40)]
        for step, value in enumerate(values[run]):
            log.row(step, {"loss": value})
        server.upload(run, log)
        runs.append(run)
    answer = ask(server, runs, ["loss"], buckets=10, group_by="optimizer.lr")
    assert answer["series"] == []
    assert [group["key"] for group in answer["groups"]] == [0.1, 0.01, None]
    assert [group["runs"] for group in answer["groups"]] == [3, 3, 1]
    for group, members in zip(answer["groups"], (runs[0:6:2], runs[1:6:2], runs[6:]), strict=True):
        for bucket in range(10):
            means = [statistics.fmean(values[r][4 * bucket : 4 * bucket + 4]) for r in members]
            told = {k: group[k][bucket] for k in ("mean", "median", "min", "max", "deviation")}
            want = {
                "mean": statistics.fmean(means),
                "median": statistics.median(means),
                "min": min(means),
                "max": max(means),
                "deviation": statistics.stdev(means) if len(means) > 1 else 0,
            }
            assert told == pytest.approx(want), (group["key"], bucket)
            assert group["counts"][bucket] == len(members)


def test_a_run_without_news_is_left_out(server: Server) -> None:
    server.ok("PUT", "/api/v1/projects/demo", {})
    runs, logs = [make_run(server), make_run(server)], [Log(), Log()]
    for run, log in zip(runs, logs, strict=True):
        log.row(0, {"loss": 1.0})
        server.upload(run, log)
    versions = ask(server, runs, ["loss"])["versions"]
    assert ask(server, runs, ["loss"], since=versions)["series"] == []
    logs[1].row(1, {"loss": 2.0})
    server.upload(runs[1], logs[1])
    answer = ask(server, runs, ["loss"], since=versions)
    assert [series["run"] for series in answer["series"]] == [runs[1]]
    assert answer["versions"][0] == versions[0] and answer["versions"][1] > versions[1]
    assert len(ask(server, runs, ["loss"], since=[-1, -1])["series"]) == 2


def test_many_runs_are_answered_in_the_order_they_were_asked_for(server: Server) -> None:
    """A query over many runs is cut into parts that several threads answer."""
    server.ok("PUT", "/api/v1/projects/demo", {})
    server.ok("PUT", "/api/v1/projects/other", {})
    runs = []
    for i in range(60):
        log = Log()
        for step in range(40):
            log.row(step, {"loss": i + step / 100, "acc": -i})
        runs.append(make_run(server))
        server.upload(runs[-1], log)
    random.shuffle(runs)

    def check() -> None:
        answer = ask(server, runs, ["loss", "acc"], buckets=3)
        got = [(s["run"], s["metric"]) for s in answer["series"]]
        assert got == [(run, metric) for run in runs for metric in ("loss", "acc")]
        acc = [s["last"][0] for s in answer["series"] if s["metric"] == "acc"]
        loss = [s["first"][0] for s in answer["series"] if s["metric"] == "loss"]
        assert [-a for a in acc] == loss
        assert len(answer["versions"]) == 60 and min(answer["versions"]) > 0

    with ThreadPoolExecutor(8) as pool:
        for future in [pool.submit(check) for _ in range(40)]:
            future.result()
    stranger = make_id("r")
    server.ok("PUT", f"/api/v1/projects/other/runs/{stranger}", {})
    body = {"runs": [*runs[:30], stranger, *runs[30:]], "metrics": ["loss"]}
    bad = server.call("POST", "/api/v1/projects/demo/metrics/query", body)
    assert (bad.status, bad.json["field"]) == (404, "runs") and stranger in bad.json["message"]


def test_the_top_of_the_pyramid_sums_up_a_million_points(server: Server, tmp_path: Path) -> None:
    count = 1_200_000
    script = (
        "import euvyra\n"
        "with euvyra.init(project='demo', mode='offline') as run:\n"
        f"    for i in range({count}):\n"
        "        run.log({'i': i}, step=i)\n"
        "    print(run.id)\n"
    )
    env = {**os.environ, "EUVYRA_DIR": str(tmp_path / "runs")}
    done = subprocess.run(
        [sys.executable, "-c", script], env=env, check=True, capture_output=True, text=True
    )
    run = done.stdout.split()[-1]
    server.ok("PUT", "/api/v1/projects/demo", {})
    env |= {"EUVYRA_SERVER": server.url, "EUVYRA_API_KEY": server.key}
    subprocess.run([BUILD / "euvyra", "sync", *(tmp_path / "runs").iterdir()], env=env, check=True)
    server.wait_compacted()
    for buckets in (1, 10, 1000):
        series = ask(server, [run], ["i"], buckets=buckets)["series"][0]
        at = 0
        for i, n in enumerate(series["counts"]):
            assert (series["x"][i], series["x_last"][i]) == (at, at + n - 1)
            assert (series["min"][i], series["max"][i]) == (at, at + n - 1)
            assert series["mean"][i] == at + (n - 1) / 2
            at += n
        assert at == count


def test_compaction_that_is_killed_again_and_again_keeps_every_point(tmp_path: Path) -> None:
    log, want = Log(), []
    for step in range(30_000):
        log.row(step, {f"m{k}": float(step + k) for k in range(4)})
        want.append(step)
    log.end(exit_code=0)
    server = Server(tmp_path / "data").start()
    server.ok("PUT", "/api/v1/projects/demo", {})
    run = make_run(server)
    server.upload(run, log)
    for _ in range(8):
        server.kill()
        server.start()
        facts = ask(server, [run], ["m0", "m3"], buckets=3)["series"]
        assert [sum(s["counts"]) for s in facts] == [30_000, 30_000]
    server.wait_compacted()
    for k in (0, 3):
        cursor, steps, more = "", [], True
        while more:
            query = f"metric=m{k}&points=10000{'&cursor=' + cursor if cursor else ''}"
            page = server.ok("GET", f"/api/v1/runs/{run}/metrics/points?{query}")
            assert page["values"] == [s + k for s in page["steps"]]
            steps += page["steps"]
            cursor, more = page["cursor"], page["more"]
        assert steps == want
    assert server.stop() == 0


def points_of(server: Server, run: str, metric: str) -> list[Point]:
    got: list[Point] = []
    cursor, more = "", True
    while more:
        query = f"metric={metric}&points=10000{'&cursor=' + cursor if cursor else ''}"
        page = server.ok("GET", f"/api/v1/runs/{run}/metrics/points?{query}")
        got += zip(page["steps"], page["times"], page["values"], strict=True)
        cursor, more = page["cursor"], page["more"]
    return got


def test_metrics_of_one_call_share_their_times_and_keep_every_point(server: Server) -> None:
    """Piece by piece, so that tails, open rows and lenders are taken up again."""
    server.ok("PUT", "/api/v1/projects/demo", {})
    run, log = make_run(server), Log()
    want: dict[str, list[Point]] = {"a": [], "b": [], "c": []}
    behind = "SELECT count(*) FROM writer WHERE compacted_offset < applied_offset - 65536"
    step = 0
    for rows in (1500, 2600, 7000, 3000, 66_000, 1100, 30_000):
        for _ in range(rows):
            log.clock += random.randrange(500)
            values = {name: random_value() for name in want}
            if step % 20_000 == 9_999:
                del values["b"]  # from here on its points are elsewhere
            if step % 50_000 < 3:
                values["c"] = math.nan
            log.row(step, values)
            for name, value in values.items():
                want[name].append((step, log.clock, value))
            step += 1
        server.upload(run, log)
        wait_for("compaction", lambda: server.sql(behind) == "0")
    log.end(exit_code=0)
    server.upload(run, log)
    server.wait_compacted()
    lent = "SELECT count(*) FROM {} WHERE times_of IS NOT NULL"
    chunks = step // 1024
    assert int(server.sql(lent.format("metric_chunk"))) > chunks  # c's, and the first of b's
    assert int(server.sql(lent.format("metric_level"))) >= step // 4096
    for name, points in want.items():
        got = [(s, at, as_number(v)) for s, at, v in points_of(server, run, name)]
        assert len(got) == len(points)
        assert all(p[:2] == q[:2] and same(p[2], q[2]) for p, q in zip(got, points, strict=True))
        for buckets in (3, 500):
            by_step = ask(server, [run], [name], buckets=buckets)["series"][0]
            check_parts(by_step, [(s, v) for s, _, v in points])
            by_time = ask(server, [run], [name], buckets=buckets, x="time")["series"][0]
            check_parts(by_time, [(at, v) for _, at, v in points])


def names_of(server: Server, run: str, **query: str) -> list[str]:
    """Every page of the list."""
    found: list[str] = []
    cursor = ""
    while True:
        asked = urlencode({**query, "limit": "1000", **({"cursor": cursor} if cursor else {})})
        page = server.ok("GET", f"/api/v1/runs/{run}/metrics?{asked}")
        found += [item["name"] for item in page["items"]]
        cursor = page["next_cursor"]
        if not cursor:
            return found


def test_a_hundred_thousand_names_are_found_by_prefix_part_and_expression(server: Server) -> None:
    server.ok("PUT", "/api/v1/projects/demo", {})
    run, log = make_run(server), Log()
    names = [f"layer.{i // 100}/weight_{i % 100}%" for i in range(99_990)]
    names += ["loss", "Loss", "größe", "größer", "a_b", "axb", "x" * 512]
    for name in names:
        log.name(name)
    for at in range(0, len(names), 1000):
        log.row(at, {name: float(at) for name in names[at : at + 1000]})
    log.name("cpu.percent", system=True)
    log.record(9, struct.pack("<qI", log.clock, 1) + struct.pack("<Id", len(names), 1.0))
    server.upload(run, log)
    server.wait_facts()
    assert names_of(server, run, kind="metric") == sorted(names, key=str.encode)
    assert names_of(server, run, prefix="größ") == ["größe", "größer"]
    assert names_of(server, run, prefix="layer.7/") == sorted(
        n for n in names if n.startswith("layer.7/")
    )
    assert names_of(server, run, contains="a_b") == ["a_b"]
    assert names_of(server, run, contains="weight_77%") == sorted(
        n for n in names if "weight_77%" in n
    )
    assert names_of(server, run, regex=r"^layer\.12\d/weight_5%$") == [
        f"layer.12{i}/weight_5%" for i in range(10)
    ]
    assert names_of(server, run, regex="(?i)^loss$", kind="metric") == ["Loss", "loss"]
    assert names_of(server, run, regex="percent|^a.b$") == ["a_b", "axb", "cpu.percent"]
    bad = server.call("GET", f"/api/v1/runs/{run}/metrics?{urlencode({'regex': 'a(b'})}")
    assert (bad.status, bad.json["field"]) == (400, "regex")
    slow = server.call("GET", f"/api/v1/runs/{run}/metrics?{urlencode({'regex': '(x+x+)+y'})}")
    assert slow.status in (200, 429, 422) and server.ok("GET", "/health") == {"status": "ok"}
    cursor = server.call("GET", f"/api/v1/runs/{run}/metrics?cursor=zzz")
    assert (cursor.status, cursor.json["field"]) == (400, "cursor")
    chart = ask(server, [run], ["layer.998/weight_3%"])["series"]
    assert [s["count"] for s in chart] == [1]


def test_names_beyond_the_limit_are_kept_and_break_nothing(server: Server) -> None:
    server.ok("PUT", "/api/v1/projects/demo", {})
    run, log = make_run(server), Log()
    log.names = {f"old{i}": i for i in range(100_000)}  # as if named before
    log.row(0, {"new": 1.0, "newer": 2.0})
    log.names = {}
    log.row(1, {"loss": 3.0})
    server.upload(run, log)
    assert names_of(server, run) == ["loss"]
    assert server.ok("GET", f"/api/v1/runs/{run}")["unknown_records"] == 2


def test_the_script_of_the_page_about_metrics_works_as_written(server: Server) -> None:
    server.ok("PUT", "/api/v1/projects/demo", {})
    for lr in (0.1, 0.1, 0.01):
        run, log = make_run(server, optimizer={"lr": lr}), Log()
        for step in range(250):
            log.row(step, {"loss": 1 / (step + 1), "examples": 32.0 * step})
        server.upload(run, log)
    page = (ROOT / "docs/metrics.md").read_text()
    script = page.split("```python\n")[1].split("```")[0]
    env = {**os.environ, "EUVYRA_SERVER": server.url, "EUVYRA_API_KEY": server.key}
    done = subprocess.run([sys.executable, "-c", script], env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("250 points, least 0.004") == 3
    assert "lr 0.1 of 2 runs" in done.stdout and "lr 0.01 of 1 runs" in done.stdout
    assert "250 points, the first (0, 1)" in done.stdout
