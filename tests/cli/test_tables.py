"""euvyra.export(): runs as CSV and Parquet, every point, nothing sampled."""

from __future__ import annotations

import csv
import math
from pathlib import Path
from typing import Any

import euvyra
import pyarrow.parquet
import pytest
from support import Log, Server, make_id


@pytest.fixture
def filled(server: Server, monkeypatch: pytest.MonkeyPatch) -> tuple[Server, list[str]]:
    monkeypatch.setenv("EUVYRA_SERVER", server.url)
    monkeypatch.setenv("EUVYRA_API_KEY", server.key)
    runs = []
    for index in range(2):
        run = make_id("r")
        server.ok("PUT", f"/api/v1/projects/demo/runs/{run}", {"name": f"=run {index}"})
        log = Log()
        mixed: Any = "text" if index else 5
        log.start(config={"optim": {"lr": index / 10}, "mixed": mixed, "list": [1, 2]})
        for step in range(12_000):
            log.row(step, {"val/loss": step * 0.1} if step % 1000 else {"val/loss": math.nan})
        log.row(3, {"other": -math.inf})
        server.upload(run, log)
        runs.append(run)
    return server, runs


def read(path: Path) -> list[dict[str, str]]:
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def check_points(rows: list[dict[str, Any]]) -> None:
    loss = [row for row in rows if row["metric"] == "val/loss"]
    assert [int(row["step"]) for row in loss] == list(range(12_000))
    for step, row in enumerate(loss):
        value = float(row["value"])
        assert value == step * 0.1 if step % 1000 else math.isnan(value)
    (other,) = [row for row in rows if row["metric"] == "other"]
    assert (int(other["step"]), float(other["value"])) == (3, -math.inf)


def test_csv_holds_every_point_and_no_formula(filled: Any, tmp_path: Path) -> None:
    _, runs = filled
    assert sorted(euvyra.export(str(tmp_path), project="demo")) == sorted(runs)
    rows = {row["id"]: row for row in read(tmp_path / "runs.csv")}
    assert rows[runs[1]]["name"] == "'=run 1"
    assert rows[runs[1]]["config.optim.lr"] == "0.1"
    assert [rows[run]["config.mixed"] for run in runs] == ["5", "text"]
    assert rows[runs[0]]["config.list"] == "[1, 2]"
    assert rows[runs[0]]["summary.val/loss"] == repr(11_999 * 0.1)
    for run in runs:
        check_points(read(tmp_path / f"metrics/{run}.csv"))


def test_parquet_holds_the_same(filled: Any, tmp_path: Path) -> None:
    _, runs = filled
    assert euvyra.export(str(tmp_path), run=runs[0], format="parquet") == [runs[0]]
    table = pyarrow.parquet.read_table(tmp_path / f"metrics/{runs[0]}.parquet")
    assert [str(kind) for kind in table.schema.types] == ["string", "int64", "int64", "double"]
    check_points(table.to_pylist())
    (row,) = pyarrow.parquet.read_table(tmp_path / "runs.parquet").to_pylist()
    assert (row["config.mixed"], row["config.optim.lr"], row["state"]) == (5, 0.0, "running")
    euvyra.export(str(tmp_path / "all"), project="demo", format="parquet")
    rows = pyarrow.parquet.read_table(tmp_path / "all/runs.parquet").to_pylist()
    assert sorted(row["config.mixed"] for row in rows) == ["5", "text"]


def test_a_filter_takes_some_and_may_find_none(filled: Any, tmp_path: Path) -> None:
    _, runs = filled
    found = euvyra.export(str(tmp_path), project="demo", filter="config.optim.lr > 0")
    assert found == [runs[1]]
    for kind in ("csv", "parquet"):
        nothing = euvyra.export(str(tmp_path), project="demo", filter="name = x", format=kind)
        assert nothing == []


def test_faults_say_what_is_wrong(
    filled: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for arguments, text in [
        ({}, "one of them"),
        ({"project": "demo", "run": "x"}, "one of them"),
        ({"project": "demo", "format": "xls"}, "xls"),
        ({"project": "demo", "filter": "nmae = 1"}, 'no field "nmae" (column 1)'),
        ({"project": "demo", "server": "nowhere"}, "nowhere"),
    ]:
        with pytest.raises(euvyra.InvalidError) as caught:
            euvyra.export(str(tmp_path), **arguments)
        assert text in str(caught.value)
    with pytest.raises(euvyra.NotFoundError):
        euvyra.export(str(tmp_path), project="missing")
    with pytest.raises(euvyra.Error):
        euvyra.export(str(tmp_path), project="demo", server="http://127.0.0.1:9")
