"""The runs table: filters against an evaluator of our own, order, pages, groups, columns."""

from __future__ import annotations

import math
import random
import re
import urllib.parse
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from support import ROOT, Log, Server, make_id, wait_for

STATES = ["finished", "failed", "running"]
Row = dict[str, Any]


def listed(server: Server, **query: Any) -> Any:
    text = urllib.parse.urlencode(query)
    return server.ok("GET", f"/api/v1/projects/demo/runs?{text}")


def refused(server: Server, **query: Any) -> Any:
    answer = server.call("GET", f"/api/v1/projects/demo/runs?{urllib.parse.urlencode(query)}")
    assert answer.status == 400, answer.body
    return answer.json


def names(page: Any) -> list[str]:
    return [item["name"] for item in page["items"]]


def make_run(server: Server, index: int, rng: random.Random) -> Row:
    """A run whose every value the tests know."""
    run = make_id("r")
    row: Row = {"id": run, "name": f"run {index:03d}", "index": index}
    row["tags"] = rng.sample(["keep", "baseline", "a b", "größe"], rng.randrange(3))
    row["group"] = rng.choice(["", "g1", "g2"])
    row["notes"] = rng.choice(["", "see page 7", "nothing"])
    body = {"name": row["name"], "tags": row["tags"], "notes": row["notes"]}
    if row["group"]:
        body["group"] = row["group"]
    server.ok("PUT", f"/api/v1/projects/demo/runs/{run}", body)
    config: Row = {"lr": rng.choice([0.1, 0.01, 1e-4, 3]), "model": rng.choice(["resnet", "vit"])}
    if rng.random() < 0.5:
        config["optim"] = {"name": rng.choice(["adam", "sgd"]), "amp": rng.random() < 0.5}
    if rng.random() < 0.3:
        config["layers"] = [1, 2, index % 3]
    if rng.random() < 0.3:
        config["mixed"] = rng.choice(["text", 5, True, None])
    log = Log()
    log.clock += index * 100_000
    log.start(config=config, host=f"box{index % 3}")
    row["host"] = f"box{index % 3}"
    row["config"] = config
    values = [rng.choice([math.nan, rng.uniform(0, 1)]) for _ in range(3)]
    for step, value in enumerate(values):
        if index % 5:
            log.row(step, {"val/loss": value})
    row["loss"] = values if index % 5 else []
    row["summary"] = {}
    if index % 4 == 0:
        row["summary"] = {"best": index / 10, "val/loss": -1.0}
        log.document(6, row["summary"])
    row["state"] = STATES[index % 3]
    if row["state"] != "running":
        log.end(exit_code=0 if row["state"] == "finished" else 1)
    server.upload(run, log)
    return row


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Any:
    folder = tmp_path_factory.mktemp("table")
    rng = random.Random(7)
    with Server(folder / "data") as server:
        server.ok("PUT", "/api/v1/projects/demo", {})
        server.ok("PUT", "/api/v1/projects/other", {})
        rows = []
        for index in range(60):
            other = make_id("r")  # runs of another project lie between them
            server.ok("PUT", f"/api/v1/projects/other/runs/{other}", {"name": "run 001"})
            rows.append(make_run(server, index, rng))
        yield server, rows


def config(row: Row, path: str) -> Any:
    value: Any = row["config"]
    for part in path.split("."):
        value = value.get(part) if isinstance(value, dict) else None
    return value


def loss(row: Row, figure: str) -> float | None:
    finite: list[float] = [v for v in row["loss"] if not math.isnan(v)]
    if not row["loss"]:
        return None
    if figure == "count":
        return float(len(row["loss"]))
    if figure in ("first", "last"):
        return float(row["loss"][0 if figure == "first" else -1])
    if not finite:
        return math.nan
    if figure == "mean":
        return sum(finite) / len(finite)
    return min(finite) if figure == "min" else max(finite)


def shown_loss(row: Row) -> float | None:
    value: float | None = row["summary"].get("val/loss", loss(row, "last"))
    return value


def less(value: Any, limit: float) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and value < limit


TERMS: list[tuple[str, Callable[[Row], bool]]] = [
    ("state = finished", lambda r: r["state"] == "finished"),
    ("state != finished", lambda r: r["state"] != "finished"),
    ("state in (failed, running)", lambda r: r["state"] in ("failed", "running")),
    ("name > 'run 030'", lambda r: r["name"] > "run 030"),
    ("name contains 'UN 01'", lambda r: "run 01" in r["name"]),
    ('name ~ "[37]$"', lambda r: r["name"][-1] in "37"),
    ('name !~ "(?i)RUN 0[0-2]"', lambda r: not re.search("run 0[0-2]", r["name"])),
    ("tags = keep", lambda r: "keep" in r["tags"]),
    ("tags != keep", lambda r: "keep" not in r["tags"]),
    ('tags in ("a b", größe)', lambda r: bool({"a b", "größe"} & set(r["tags"]))),
    ("tags is null", lambda r: not r["tags"]),
    ("tags ~ '^b'", lambda r: any(t.startswith("b") for t in r["tags"])),
    ("group is null", lambda r: not r["group"]),
    ("group >= g2", lambda r: r["group"] >= "g2"),
    ("notes contains PAGE", lambda r: "page" in r["notes"]),
    ("notes is not null", lambda r: bool(r["notes"])),
    ('notes ~ "\\d"', lambda r: bool(re.search(r"\d", r["notes"]))),
    ("host = box1", lambda r: r["host"] == "box1"),
    ("config.lr < 0.05", lambda r: r["config"]["lr"] < 0.05),
    ("config.lr >= 0.1", lambda r: r["config"]["lr"] >= 0.1),
    ("config.lr in (3, 1e-4)", lambda r: r["config"]["lr"] in (3, 1e-4)),
    ('config.lr = "3"', lambda r: False),
    ("config.model = vit", lambda r: r["config"]["model"] == "vit"),
    ("config.optim.name = adam", lambda r: config(r, "optim.name") == "adam"),
    ("config.optim.amp = true", lambda r: config(r, "optim.amp") is True),
    ("config.optim.amp != true", lambda r: config(r, "optim.amp") is not True),
    ("config.optim.name is null", lambda r: config(r, "optim.name") is None),
    ('config.layers = "[1,2,1]"', lambda r: config(r, "layers") == [1, 2, 1]),
    ("config.mixed = 5", lambda r: config(r, "mixed") == 5 and config(r, "mixed") is not True),
    ("config.mixed = text", lambda r: config(r, "mixed") == "text"),
    ("config.mixed is null", lambda r: config(r, "mixed") is None),
    ("config.mixed > 4", lambda r: r["config"].get("mixed") == 5),
    ("summary.best > 1.5", lambda r: r["summary"].get("best", 0) > 1.5),
    ("summary.val/loss < 0.5", lambda r: less(shown_loss(r), 0.5)),
    ("summary.val/loss is null", lambda r: shown_loss(r) is None),
    ("metric.val/loss.min < 0.2", lambda r: less(loss(r, "min"), 0.2)),
    ("metric.val/loss.max < 0.8", lambda r: less(loss(r, "max"), 0.8)),
    ("metric.val/loss.mean < 0.5", lambda r: less(loss(r, "mean"), 0.5)),
    ("metric.val/loss.first < 0.5", lambda r: less(loss(r, "first"), 0.5)),
    ("metric.val/loss.count = 3", lambda r: len(r["loss"]) == 3),
    ('metric."val/loss" is null', lambda r: not r["loss"]),
    ("exit_code = 1", lambda r: r["state"] == "failed"),
    ("ended is null", lambda r: r["state"] == "running"),
    ("runtime < 1d and ended is not null", lambda r: r["state"] != "running"),
    ("created > 1h ago", lambda r: True),
    ("created < 2026-01-01", lambda r: False),
    ("owner = ada", lambda r: True),
    ("owner = bob", lambda r: False),
    ("cost is null", lambda r: True),
    ("config.never = 1", lambda r: False),
    ("config.never is null", lambda r: True),
]


def found(server: Server, text: str) -> list[str]:
    page = listed(server, filter=text, limit=1000, columns="state")
    assert page["total"] == len(page["items"])
    return sorted(names(page))


@pytest.mark.parametrize("term", TERMS, ids=lambda t: str(t[0]))
def test_a_comparison_finds_what_it_says(table: Any, term: Any) -> None:
    server, rows = table
    assert found(server, term[0]) == sorted(r["name"] for r in rows if term[1](r)), term[0]


def random_filter(rng: random.Random, depth: int) -> tuple[str, Callable[[Row], bool]]:
    kind = rng.choice(["term", "and", "or", "not"]) if depth else "term"
    if kind == "term":
        return rng.choice(TERMS)
    left, holds = random_filter(rng, depth - 1)
    if kind == "not":
        return f"not ({left})", lambda r: not holds(r)
    right, also = random_filter(rng, depth - 1)
    if kind == "and":
        return f"({left}) and ({right})", lambda r: holds(r) and also(r)
    return f"({left}) or ({right})", lambda r: holds(r) or also(r)


def test_joined_comparisons_find_what_they_say(table: Any) -> None:
    server, rows = table
    rng = random.Random(3)
    for _ in range(150):
        text, holds = random_filter(rng, 3)
        if text.count("~") > 8:
            continue
        assert found(server, text) == sorted(r["name"] for r in rows if holds(r)), text


def order_key(value: Any) -> tuple[int, Any]:
    if isinstance(value, bool):
        return 2, value
    if isinstance(value, str):
        return 3, value.encode()
    return (4, 0) if math.isnan(value) else (1, value)


def expected_order(rows: list[Row], value: Callable[[Row], Any], descending: bool) -> list[str]:
    have = [r for r in rows if value(r) is not None]
    without = [r for r in rows if value(r) is None]
    out: list[str] = []
    for kind in (1, 2, 3, 4):
        part = [r for r in have if order_key(value(r))[0] == kind]
        part.sort(key=lambda r: (order_key(value(r))[1], r["index"]), reverse=descending)
        out += [r["name"] for r in part]
    return out + [r["name"] for r in sorted(without, key=lambda r: -r["index"])]


SORTS: list[tuple[str, Callable[[Row], Any]]] = [
    ("name", lambda r: r["name"]),
    ("state", lambda r: r["state"]),
    ("group", lambda r: r["group"] or None),
    ("config.lr", lambda r: r["config"]["lr"]),
    ("config.optim.name", lambda r: config(r, "optim.name")),
    ("config.mixed", lambda r: config(r, "mixed")),
    ("summary.best", lambda r: r["summary"].get("best")),
    ("summary.val/loss", shown_loss),
    ("metric.val/loss.min", lambda r: loss(r, "min")),
    ("metric.val/loss.mean", lambda r: loss(r, "mean")),
    ("created", lambda r: r["index"]),
    ("config.never", lambda r: None),
]


@pytest.mark.parametrize("sort", SORTS, ids=lambda s: str(s[0]))
@pytest.mark.parametrize("descending", [False, True])
@pytest.mark.parametrize("filtered", [False, True])
def test_pages_follow_the_order_of_any_key(
    table: Any, sort: Any, descending: bool, filtered: bool
) -> None:
    server, rows = table
    query = {"sort": ("-" if descending else "") + sort[0], "limit": 7, "columns": "config.lr"}
    if filtered:
        query["filter"] = "config.lr < 1"
        rows = [r for r in rows if r["config"]["lr"] < 1]
    want = expected_order(rows, sort[1], descending)
    got, pages, page = [], 0, listed(server, **query)
    while True:
        got += names(page)
        pages += 1
        assert page["total"] == len(rows)
        if not page["next_cursor"]:
            break
        page = listed(server, **query, cursor=page["next_cursor"])
    assert got == want
    assert pages == math.ceil(len(rows) / 7)
    assert names(listed(server, **{**query, "limit": 10}, skip=35)) == want[35:45]


def test_without_a_sort_the_newest_come_first(table: Any) -> None:
    server, rows = table
    page = listed(server, limit=25)
    again = listed(server, limit=100, cursor=page["next_cursor"])
    assert names(page) + names(again) == [r["name"] for r in reversed(rows)]
    assert again["next_cursor"] is None
    # whole documents when no columns are chosen
    assert page["items"][0]["config"] == rows[-1]["config"]


def test_columns_carry_the_values_that_were_asked_for(table: Any) -> None:
    server, rows = table
    keys = ["config.lr", "config.optim.amp", "summary.val/loss", "metric.val/loss.max", "config.no"]
    page = listed(server, columns=",".join(keys), sort="name", limit=60)
    assert page["columns"] == keys
    assert page["warnings"] == ["no run has config.no"]
    for item, row in zip(page["items"], rows, strict=True):
        want = [
            row["config"]["lr"],
            config(row, "optim.amp"),
            shown_loss(row),
            loss(row, "max"),
            None,
        ]
        want = ["NaN" if isinstance(v, float) and math.isnan(v) else v for v in want]
        assert item["values"] == want
        assert item["config"] == {}


def test_groups_count_and_say_how_to_find_their_runs(table: Any) -> None:
    server, rows = table
    query = urllib.parse.urlencode(
        {"by": "config.model,state,config.optim.amp", "filter": "config.lr < 1"}
    )
    groups = server.ok("GET", f"/api/v1/projects/demo/run-groups?{query}")
    rows = [r for r in rows if r["config"]["lr"] < 1]
    want = Counter((r["config"]["model"], r["state"], config(r, "optim.amp")) for r in rows)
    assert {tuple(g["values"]): g["count"] for g in groups["items"]} == want
    assert groups["total"] == len(rows)
    assert groups["group_count"] == len(want)
    counts = [g["count"] for g in groups["items"]]
    assert counts == sorted(counts, reverse=True)
    for group in groups["items"]:
        page = listed(server, filter=f"config.lr < 1 and {group['filter']}", limit=100)
        assert page["total"] == group["count"]


@pytest.mark.parametrize("by", ["tags", "notes", "metric.val/loss.min", "runtime", "a,b,c,d"])
def test_what_cannot_be_grouped_is_refused(table: Any, by: str) -> None:
    server, _ = table
    answer = server.call("GET", f"/api/v1/projects/demo/run-groups?by={by}")
    assert (answer.status, answer.json["field"]) == (400, "by")


def test_columns_are_offered_by_how_often_and_how_variously_they_occur(table: Any) -> None:
    server, rows = table
    items = server.ok("GET", "/api/v1/projects/demo/run-columns")["items"]
    by_key = {item["key"]: item for item in items}
    for key in ["lr", "model", "optim.name", "optim.amp", "layers", "mixed"]:
        values = [config(r, key) for r in rows if config(r, key) is not None]
        item = by_key[f"config.{key}"]
        assert (item["runs"], item["values"]) == (len(values), len({str(v) for v in values}))
    assert by_key["summary.best"]["runs"] == len([r for r in rows if r["summary"]])
    configs = [item for item in items if item["key"].startswith("config.")]
    assert configs == sorted(configs, key=lambda i: (i["values"] < 2, -i["runs"], -i["values"]))
    found = server.ok("GET", "/api/v1/projects/demo/run-columns?search=LOSS")["items"]
    assert {item["key"] for item in found} == {"summary.val/loss"}


def test_a_fault_says_its_column_and_what_was_meant(table: Any) -> None:
    server, _ = table
    error = refused(server, filter="state = finished and nmae = x")
    assert (error["field"], error["column"]) == ("filter", 22)
    assert error["message"] == 'there is no field "nmae"'
    assert error["hint"] == "did you mean name?"
    assert refused(server, sort="-nmae")["field"] == "sort"
    assert refused(server, sort="tags")["message"] == "runs cannot be sorted by tags"
    assert refused(server, columns="config.lr,x")["field"] == "columns"
    assert refused(server, cursor="nonsense")["field"] == "cursor"
    assert refused(server, filter="x" * 4001)["field"] == "filter"
    error = refused(server, filter='name ~ "("')
    assert (error["field"], error["column"]) == ("filter", 10)
    page = listed(server, filter="config.modle = vit")
    assert page["total"] == 0
    assert page["warnings"] == ["no run has config.modle; did you mean config.model?"]


def test_a_costly_expression_ends_with_an_error(table: Any) -> None:
    server, _ = table
    run = make_id("r")
    server.ok("PUT", f"/api/v1/projects/other/runs/{run}", {"name": "a" * 60 + "!"})
    query = urllib.parse.urlencode({"filter": 'name ~ "^(a+)+$"'})
    answer = server.call("GET", f"/api/v1/projects/other/runs?{query}")
    assert (answer.status, answer.code, answer.json["column"]) == (429, "limit", 1)


def test_a_run_that_comes_between_two_pages_moves_none(server: Server) -> None:
    def add(index: int) -> None:
        server.ok(
            "PUT", f"/api/v1/projects/demo/runs/{make_id('r')}", {"name": f"n{index % 4}-{index}"}
        )

    for index in range(8):
        add(index)
    for sort in ("name", "-name", "created", ""):
        query = {"limit": 3, **({"sort": sort} if sort else {})}
        whole = names(listed(server, **{**query, "limit": 100}))
        got, page = [], listed(server, **query)
        while True:
            got += names(page)
            if not page["next_cursor"]:
                break
            add(100 + len(got))
            page = listed(server, **query, cursor=page["next_cursor"])
            assert page["total"] == len(whole)
        assert got == whole


def test_changes_are_found_at_once(server: Server, run: str) -> None:
    path = f"/api/v1/runs/{run}"
    server.ok("PATCH", path, {"tags": ["x", "y"], "name": "first"})
    assert listed(server, filter="tags = y and name = first")["total"] == 1
    server.ok("PATCH", path, {"tags": ["y"], "name": "second"})
    assert listed(server, filter="tags = x or name = first")["total"] == 0
    assert listed(server, filter="tags = y and name = second")["total"] == 1
    log = Log()
    log.start(config={"a": {"b": 1, "c": 2}})
    log.document(6, {"best": 1})
    server.upload(run, log)
    assert listed(server, filter="config.a.c = 2 and summary.best = 1")["total"] == 1
    log.document(7, {"a": {"b": 5}})
    log.document(6, {"best": {"$f": "NaN"}})
    server.upload(run, log)
    assert listed(server, filter="config.a.c is null and config.a.b = 5")["total"] == 1
    assert listed(server, filter="summary.best is not null and summary.best < 9")["total"] == 0
    server.ok("DELETE", path)
    assert listed(server)["total"] == 0
    assert server.ok("GET", "/api/v1/projects/demo/run-columns")["items"] == []
    server.ok("DELETE", "/api/v1/projects/demo")


def test_odd_keys_and_long_texts_are_flattened_with_limits(server: Server, run: str) -> None:
    deep: Any = 1
    for _ in range(20):
        deep = {"d": deep}
    log = Log()
    log.start(
        config={
            "a b": 1,
            'q"\\': 2,
            "long": "ä" * 400,
            "deep": deep,
            "k" * 600: 1,
            "empty": {},
            "list": list(range(100_000)),
            "big": {"$i": "9007199254740993"},
        }
    )
    server.upload(run, log)
    keys = {item["key"] for item in server.ok("GET", "/api/v1/projects/demo/run-columns")["items"]}
    assert {'config."a b"', 'config."q\\"\\\\"', "config.long", "config.list"} <= keys
    assert len(keys) == 6
    page = listed(server, columns='config."a b",config.long,config.list,config.big')
    values = page["items"][0]["values"]
    assert values[0] == 1
    assert values[1].startswith("ää") and values[1].endswith("ä…")
    assert len(values[1].encode()) <= 512
    assert values[2] == "(100000 values)"
    assert values[3] == 9007199254740992.0
    assert listed(server, filter='config."q\\"\\\\" = 2')["total"] == 1


def test_runs_of_an_older_version_are_indexed_at_the_start(tmp_path: Path) -> None:
    data = tmp_path / "data"
    with Server(data) as server:
        server.ok("PUT", "/api/v1/projects/demo", {})
        for index in range(40):
            run = make_id("r")
            server.ok("PUT", f"/api/v1/projects/demo/runs/{run}", {"name": f"n{index}"})
            log = Log()
            log.start(config={"n": index})
            server.upload(run, log)
        stopped = server
    stopped.change("DELETE FROM attribute")
    stopped.change("DELETE FROM attribute_key")
    stopped.change("UPDATE run SET indexed = 0")
    with stopped as server:
        wait_for("the index", lambda: listed(server, filter="config.n >= 0")["total"] == 40)
        page = listed(server, filter="config.n < 3 and state = running", sort="-config.n")
        assert names(page) == ["n2", "n1", "n0"]


def documented() -> list[str]:
    text = (ROOT / "docs/filtering.md").read_text()
    return text.split("```")[1].strip().splitlines()


@pytest.mark.parametrize("text", documented())
def test_the_examples_of_the_documentation_are_accepted(table: Any, text: str) -> None:
    server, _ = table
    assert listed(server, filter=text)["items"] is not None


def test_the_fields_of_the_documentation_are_all_there_are(table: Any) -> None:
    server, _ = table
    text = (ROOT / "docs/filtering.md").read_text()
    keys = text.split("## Keys")[1].split("A name with other")[0]
    fields = set(re.findall(r"`([a-z_]+(?:\.[a-z]+)?)`", keys))
    fields -= {"pending", "running", "finished", "failed", "crashed", "killed", "preempted"}
    fields -= {"last", "min", "max", "mean", "first", "count"}
    listed(server, filter=" or ".join(f"{field} is null" for field in sorted(fields)))
    header = (ROOT / "src/domain/runs/run_key.h").read_text()
    assert fields == set(re.findall(r'X\(RUN_FIELD_\w+, "([a-z_.]+)"', header))
