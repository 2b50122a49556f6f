"""What metrics mean, as define_metric says it: which value is shown, found and ordered by."""

from __future__ import annotations

import itertools
import json
import urllib.parse
from collections.abc import Iterator
from typing import Any

import pytest
from support import Log, Server, make_id

DEFINE, SUMMARY = 16, 6
RUNS = "/api/v1/projects/demo/runs"
NOTHING = {"step_metric": None, "summary": "last", "goal": None}
LOSSES = {0: 5.0, 1: 2.0, 2: 9.0, 3: 4.0}  # first 5, min 2 at 1, max 9 at 2, mean 5, last 4


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with Server(tmp_path_factory.mktemp("define") / "data") as running:
        running.ok("PUT", "/api/v1/projects/demo", {})
        yield running


def new_run(server: Server, name: str = "one") -> str:
    run = make_id("r")
    server.ok("PUT", f"{RUNS}/{run}", {"name": name})
    return run


@pytest.fixture
def run(server: Server) -> str:
    return new_run(server)


def log_at(minute: int, *said: dict[str, Any], losses: bool = False, **start: Any) -> Log:
    log = Log()
    log.clock += minute * 60_000
    log.start(**start)
    for one in said:
        log.document(DEFINE, one)
    for step, value in LOSSES.items() if losses else ():
        log.row(step, {"loss": value, "epoch": step / 2})
    return log


def show(server: Server, run: str) -> Any:
    return server.ok("GET", f"/api/v1/runs/{run}")


def defined(server: Server, run: str) -> dict[str, tuple[Any, ...]]:
    return {
        one["name"]: (one["step_metric"], one["summary"], one["goal"])
        for one in show(server, run)["definitions"]
    }


def metrics(server: Server, run: str) -> dict[str, Any]:
    items = server.ok("GET", f"/api/v1/runs/{run}/metrics")["items"]
    return {one["name"]: {key: one[key] for key in NOTHING} for one in items}


def listed(server: Server, **query: Any) -> Any:
    return server.ok("GET", f"{RUNS}?{urllib.parse.urlencode(query)}")


@pytest.mark.parametrize(
    ("said", "value"),
    [
        ({}, 4.0),
        ({"summary": "last"}, 4.0),
        ({"summary": "first"}, 5.0),
        ({"summary": "min"}, 2.0),
        ({"summary": "max"}, 9.0),
        ({"summary": "mean"}, 5.0),
        ({"goal": "minimize"}, 2.0),
        ({"goal": "maximize"}, 9.0),
        ({"goal": "maximize", "summary": "last"}, 4.0),
        ({"summary": "none"}, None),
    ],
)
def test_the_value_of_a_metric_is_the_one_that_was_chosen(
    server: Server, run: str, said: Any, value: float | None
) -> None:
    server.upload(run, log_at(0, {"name": "loss", **said}, losses=True))
    assert show(server, run)["summary"].get("loss") == value
    (row,) = listed(server, filter=f"id = {run}", columns="summary.loss,metric.loss.last")["items"]
    assert row["values"] == [value, 4.0]
    found = listed(server, filter=f"id = {run} and summary.loss = {value}")["total"]
    assert found == (value is not None)
    assert listed(server, filter=f"id = {run} and summary.loss is null")["total"] == (value is None)


def test_what_was_said_is_shown_with_the_run_and_its_metrics(server: Server, run: str) -> None:
    log = log_at(
        0,
        {"name": "lo*", "step_metric": "epoch", "summary": "mean"},
        {"name": "loss", "goal": "minimize"},
        {"name": "e*", "step_metric": "epoch"},
        losses=True,
    )
    server.upload(run, log)
    assert [one["name"] for one in show(server, run)["definitions"]] == ["loss", "lo*", "e*"]
    assert defined(server, run) == {
        "loss": (None, "min", "minimize"),
        "lo*": ("epoch", "mean", None),
        "e*": ("epoch", "last", None),
    }
    # One definition counts, whole: the step metric of "lo*" is not that of "loss".
    assert metrics(server, run) == {
        "loss": {"step_metric": None, "summary": "min", "goal": "minimize"},
        "epoch": NOTHING,  # no metric is its own axis
    }


def test_what_the_script_says_of_the_summary_wins(server: Server, run: str) -> None:
    log = log_at(0, {"name": "loss", "goal": "minimize"}, losses=True)
    log.document(SUMMARY, {"loss": 3.5})
    server.upload(run, log)
    assert show(server, run)["summary"]["loss"] == 3.5
    (row,) = listed(server, filter=f"id = {run}", columns="summary.loss")["items"]
    assert row["values"] == [3.5]
    assert row["figures"] == [{"figure": None, "step": None, "goal": "minimize"}]


def test_runs_of_one_table_use_their_own_definitions(server: Server) -> None:
    server.ok("PUT", "/api/v1/projects/mixed", {})
    chosen = {
        "least": [{"name": "loss", "goal": "minimize"}],
        "greatest": [{"name": "*", "summary": "max"}],
        "both": [{"name": "lo*", "summary": "max"}, {"name": "loss", "summary": "mean"}],
        "longest": [{"name": "lo*", "summary": "min"}, {"name": "los*", "summary": "first"}],
        "hidden": [{"name": "*", "summary": "none"}],
        "plain": [],
        "other": [{"name": "loss2", "summary": "max"}],
    }
    for name, said in chosen.items():
        run = make_id("r")
        server.ok("PUT", f"/api/v1/projects/mixed/runs/{run}", {"name": name})
        server.upload(run, log_at(0, *said, losses=True))
    want = {
        "least": 2.0,
        "greatest": 9.0,
        "both": 5.0,
        "longest": 5.0,
        "plain": 4.0,
        "other": 4.0,
        "hidden": None,
    }

    def table(**query: Any) -> Any:
        text = urllib.parse.urlencode(query)
        return server.ok("GET", f"/api/v1/projects/mixed/runs?{text}")

    page = table(columns="summary.loss,name,metric.loss.max")
    assert {row["values"][1]: row["values"][0] for row in page["items"]} == want
    by_name = {row["values"][1]: row["figures"] for row in page["items"]}
    assert by_name["least"][0] == {"figure": "min", "step": 1, "goal": "minimize"}
    assert by_name["greatest"][0] == {"figure": "max", "step": 2, "goal": None}
    assert by_name["both"][0] == {"figure": "mean", "step": None, "goal": None}
    assert by_name["plain"] == [
        {"figure": "last", "step": 3, "goal": None},
        None,
        {"figure": "max", "step": 2, "goal": None},
    ]
    assert by_name["hidden"][0] is None
    for sign in ("", "-"):
        rows = table(sort=f"{sign}summary.loss", columns="summary.loss", limit=3)
        more = table(
            sort=f"{sign}summary.loss",
            columns="summary.loss",
            limit=10,
            cursor=rows["next_cursor"],
        )
        values = [row["values"][0] for row in rows["items"] + more["items"]]
        known = sorted((v for v in want.values() if v is not None), reverse=sign == "-")
        assert values == [*known, None]
    found = table(filter="summary.loss >= 5", sort="name")
    assert [row["name"] for row in found["items"]] == ["both", "greatest", "longest"]
    assert table(filter="metric.loss.last = 4")["total"] == len(chosen)


def test_the_order_of_arrival_does_not_matter(server: Server) -> None:
    said = [
        log_at(0, {"name": "loss", "summary": "min"}, {"name": "a", "goal": "minimize"}),
        log_at(1, {"name": "loss", "summary": "max"}, {"name": "b*", "step_metric": "x"}),
        log_at(2, {"name": "loss", "summary": "mean"}, {"name": "loss", "summary": "first"}),
    ]
    want = {
        "loss": (None, "first", None),
        "a": (None, "min", "minimize"),
        "b*": ("x", "last", None),
    }
    for order in itertools.permutations(said):
        run = new_run(server)
        for log in order:
            log.sent = 0
            server.upload(run, log)
        assert defined(server, run) == want
        assert [one["name"] for one in show(server, run)["definitions"]] == ["a", "loss", "b*"]


def test_a_resume_that_says_it_again_replaces_it(server: Server, run: str) -> None:
    server.upload(run, log_at(0, {"name": "loss", "goal": "minimize"}, losses=True))
    server.upload(run, log_at(9, {"name": "loss", "step_metric": "epoch"}))
    assert defined(server, run) == {"loss": ("epoch", "last", None)}
    assert show(server, run)["summary"]["loss"] == 4.0
    (row,) = listed(server, filter=f"id = {run}", columns="summary.loss")["items"]
    assert (row["values"], row["figures"][0]["figure"]) == ([4.0], "last")


def test_a_branch_inherits_what_its_parent_says_whichever_comes_first(server: Server) -> None:
    parent_said = log_at(0, {"name": "loss", "goal": "minimize"}, {"name": "a", "summary": "max"})
    child_said = {"name": "a", "summary": "mean"}
    want = {"loss": (None, "min", "minimize"), "a": (None, "mean", None)}
    for child_first in (True, False):
        parent, child, grandchild = (new_run(server) for _ in range(3))
        logs = [
            (parent, parent_said),
            (child, log_at(5, child_said, branch={"run": parent, "step": 2})),
            (grandchild, log_at(6, branch={"run": child, "step": 2})),
        ]
        for run, log in reversed(logs) if child_first else logs:
            log.sent = 0
            server.upload(run, log)
        assert defined(server, child) == want
        assert defined(server, grandchild) == want
        later = log_at(20, {"name": "loss", "summary": "first"})
        server.upload(parent, later)
        assert defined(server, grandchild)["loss"] == (None, "first", None)
        server.ok("DELETE", f"/api/v1/runs/{parent}")
        assert defined(server, child) == {"a": (None, "mean", None)}
        assert defined(server, grandchild) == {"a": (None, "mean", None)}


def test_branches_that_name_each_other_end(server: Server) -> None:
    one, other = new_run(server), new_run(server)
    server.upload(one, log_at(0, {"name": "a", "summary": "min"}, branch={"run": other, "step": 1}))
    server.upload(
        other, log_at(0, {"name": "b", "goal": "minimize"}, branch={"run": one, "step": 1})
    )
    assert set(defined(server, one)) == {"a", "b"}


@pytest.mark.parametrize(
    "payload",
    [
        {},
        {"name": ""},
        {"name": "a*b"},
        {"name": "x" * 513},
        {"name": "loss", "summary": "median"},
        {"name": "loss", "goal": 1},
        {"name": "loss", "step_metric": []},
        [],
        "{",
    ],
)
def test_a_record_that_cannot_be_is_kept_and_breaks_nothing(
    server: Server, run: str, payload: Any
) -> None:
    log = log_at(0)
    raw = payload if isinstance(payload, str) else json.dumps(payload)
    log.record(DEFINE, raw.encode())
    log.document(DEFINE, {"name": "loss", "summary": "min"})
    log.row(1, {"loss": 1.5})
    server.upload(run, log)
    shown = show(server, run)
    assert shown["unknown_records"] == 1
    assert defined(server, run) == {"loss": (None, "min", None)}
    assert shown["summary"]["loss"] == 1.5


def test_a_run_keeps_its_first_thousand_definitions(server: Server, run: str) -> None:
    log = log_at(0, *({"name": f"n{i}", "summary": "min"} for i in range(600)))
    server.upload(run, log)
    for i in range(400, 1100):
        log.document(DEFINE, {"name": f"n{i}", "summary": "max"})
    server.upload(run, log)
    have = defined(server, run)
    assert len(have) == 1000
    assert (have["n0"][1], have["n400"][1], have["n999"][1]) == ("min", "max", "max")
    assert "n1000" not in have


def test_a_deleted_run_takes_its_definitions_out_of_the_table(server: Server) -> None:
    run = new_run(server)
    server.upload(run, log_at(0, {"name": "gone/x", "summary": "max"}))
    server.ok("DELETE", f"/api/v1/runs/{run}")
    page = listed(server, columns="summary.gone/x")
    assert all(row["figures"] == [None] for row in page["items"])


def offered(server: Server, search: str) -> list[str]:
    query = urllib.parse.urlencode({"search": search})
    items = server.ok("GET", f"/api/v1/projects/demo/run-columns?{query}")["items"]
    return [item["key"] for item in items]


def test_a_metric_that_no_run_shows_is_offered_by_its_name_alone(server: Server) -> None:
    quiet = [{"name": "quiet/*", "summary": "none"}]
    lives = [(quiet, {"quiet/a": 1.0, "quiet/b": 1.0}), ([], {"quiet/b": 1.0})]
    for said, values in lives:
        log = log_at(0, *said)
        log.row(0, values)
        server.upload(new_run(server), log)
    assert offered(server, "quiet") == ["summary.quiet/b"]
    assert offered(server, "quiet/a") == ["summary.quiet/a"]
    page = listed(server, columns="metric.quiet/a.last", filter="metric.quiet/a.last = 1")
    assert [row["values"] for row in page["items"]] == [[1]]


def test_a_metric_of_which_one_run_shows_a_value_again_is_offered(server: Server) -> None:
    for figure in ("none", "max"):
        log = log_at(0, {"name": "loud", "summary": figure})
        log.row(0, {"loud": 1.0})
        server.upload(new_run(server), log)
        assert offered(server, "lou") == (["summary.loud"] if figure == "max" else [])
