"""What log(), config and summary record."""

from __future__ import annotations

import argparse
import dataclasses
import enum
import math
from pathlib import Path
from typing import Any

import euvyra
import numpy as np
import pytest
from run_log_reader import same


def test_steps_count_by_themselves_and_follow_what_was_given(seen: Any) -> None:
    with euvyra.init(project="demo") as run:
        run.log({"loss": 1.0})
        run.log({"loss": 2.0}, step=10)
        run.log({"loss": 3.0})
        run.log({"loss": 4.0}, step=3)
        run.log(metrics={"loss": 5.0}, step=np.int64(20))
    points = [(0, 1.0), (10, 2.0), (11, 3.0), (3, 4.0), (20, 5.0)]
    assert seen().points("loss") == points


def test_odd_numbers_survive_exactly(seen: Any) -> None:
    values = [math.nan, math.inf, -math.inf, -0.0, 5e-324, 1.7976931348623157e308, 0.1, 2**53]
    with euvyra.init() as run:
        for value in values:
            run.log({"x": value})
    read = [value for _, value in seen().points("x")]
    assert all(same(left, float(right)) for left, right in zip(read, values, strict=True))


class Tensor:
    """Converts like a torch scalar."""

    def __init__(self, value: float) -> None:
        self.value = value

    def __float__(self) -> float:
        return self.value


def test_numbers_of_other_libraries_are_taken(seen: Any) -> None:
    with euvyra.init() as run:
        run.log({"a": np.float32(0.5), "b": np.array(2.0), "c": Tensor(3.0), "d": True, "e": 7})
    assert [seen().points(name) for name in "abcde"] == [
        [(0, 0.5)],
        [(0, 2.0)],
        [(0, 3.0)],
        [(0, 1.0)],
        [(0, 7.0)],
    ]


def test_nested_mappings_get_names_with_dots(seen: Any) -> None:
    with euvyra.init() as run:
        run.log({"val": {"loss": 1.0, "by": {"cls": 2.0}}, "lr": 0.1})
    assert seen().points("val.loss") == [(0, 1.0)]
    assert seen().points("val.by.cls") == [(0, 2.0)]
    assert seen().points("lr") == [(0, 0.1)]


class Broken:
    def __float__(self) -> float:
        raise RuntimeError("no")


def test_what_cannot_be_logged_never_raises_and_is_told_once(
    seen: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    with euvyra.init() as run:
        for _ in range(3):
            run.log({"a": 1.0, "text": "no", "none": None, "broken": Broken(), "list": [1]})
        run.log({"": 1.0, "a\nb": 2.0, "x" * 600: 3.0, "b": 4.0})
        run.log({"a": 1.0}, step="seven")
        run.log(None)  # type: ignore[arg-type]
    run.log({"a": 1.0})
    told = capsys.readouterr().err.splitlines()
    assert len([line for line in told if "only numbers" in line]) == 1
    assert len([line for line in told if "512 bytes" in line]) == 1
    assert len([line for line in told if "finished" in line]) == 1
    assert len(seen().points("a")) == 4
    assert seen().points("b") == [(3, 4.0)]


def test_strict_mode_raises(monkeypatch: pytest.MonkeyPatch) -> None:
    run = euvyra.init()
    monkeypatch.setenv("EUVYRA_STRICT", "1")
    with pytest.raises(euvyra.InvalidError):
        run.log({"a": "text"})
    run.finish()
    with pytest.raises(euvyra.ClosedError):
        run.log({"a": 1})


def test_interrupts_pass_through_log() -> None:
    class Interrupts:
        def __float__(self) -> float:
            raise KeyboardInterrupt

    with euvyra.init() as run, pytest.raises(KeyboardInterrupt):
        run.log({"a": Interrupts()})


def test_many_names_made_in_a_loop_keep_their_ids(seen: Any) -> None:
    with euvyra.init() as run:
        for step in range(3):
            run.log({f"layer.{i}": float(i) for i in range(2000)}, step=step)
    for i in (0, 699, 700, 1999):
        assert seen().points(f"layer.{i}") == [(step, float(i)) for step in range(3)]


class Mode(enum.Enum):
    FAST = "fast"


@dataclasses.dataclass
class Config:
    lr: float = 0.1
    path: Path = Path("/data")


def test_configuration_keeps_every_kind_of_value(seen: Any) -> None:
    config = {
        "nan": math.nan,
        "big": 2**60,
        "minus_zero": -0.0,
        "nested": {"list": [1, 2.5, "x", None, True], "dataclass": Config()},
        "tag": {"$f": "mine"},
        "enum": Mode.FAST,
        "array": np.arange(3),
        "scalar": np.float32(0.5),
        "text": "ä\n\u2028😀",
        1: "one",
        "object": object,
    }
    with euvyra.init(config=config) as run:
        run.config["later"] = {"inf": math.inf}
        run.config.lr = 0.5
        assert run.config["later"] == {"inf": math.inf}
        assert run.config.lr == 0.5
    start = seen().one("start").value["config"]
    assert math.isnan(start["nan"])
    assert start["big"] == 2**60
    assert same(start["minus_zero"], -0.0)
    assert start["nested"]["list"] == [1, 2.5, "x", None, True]
    assert start["nested"]["dataclass"] == {"lr": 0.1, "path": "/data"}
    assert start["tag"] == {"$f": "mine"}
    assert start["enum"] == "fast"
    assert start["array"] == [0, 1, 2]
    assert start["scalar"] == 0.5
    assert start["text"] == "ä\n\u2028😀"
    assert start["1"] == "one"
    assert [record.value for record in seen().records("config")] == [
        {"later": {"inf": math.inf}},
        {"lr": 0.5},
    ]


def test_namespaces_and_dataclasses_are_configurations(seen: Any) -> None:
    euvyra.init(config=argparse.Namespace(lr=0.5), name="a").finish()
    assert seen().one("start").value["config"] == {"lr": 0.5}
    euvyra.init(config=Config(), name="b").finish()
    assert seen(2).one("start").value["config"]["lr"] == 0.1


def test_secrets_are_taken_out(seen: Any) -> None:
    with euvyra.init(config={"api_key": "hunter2", "url": "https://me:hunter2@host/x"}) as run:
        run.config["password"] = "hunter2"
    folder = seen().folder
    assert b"hunter2" not in b"".join(path.read_bytes() for path in folder.iterdir())
    assert seen().one("start").value["redacted"] == 2


def test_summary_tags_and_notes_are_recorded(seen: Any) -> None:
    with euvyra.init(tags=["a"], notes="line\n2", group="g", job_type="train", name="n") as run:
        run.summary["best"] = 0.9
        run.summary.update(acc=1, loss=math.nan)
        run.tags = ("a", "b")
        assert dict(run.summary)["acc"] == 1
    start = seen().one("start").value
    assert (start["tags"], start["notes"], start["group"]) == (["a"], "line\n2", "g")
    assert (start["job_type"], start["name"], start["kind"]) == ("train", "n", "trainer")
    assert seen().records("summary")[0].value == {"best": 0.9}
    assert seen().one("tags").value == {"tags": ["a", "b"]}
    assert seen().folder.name.endswith(f"-n-{run.id}")


def test_disabled_records_nothing(tmp_path: Path) -> None:
    with euvyra.init(mode="disabled", config={"lr": 1}) as run:
        run.log({"a": 1})
        run.summary["x"] = 1
        assert run.config.lr == 1
    assert not (tmp_path / "runs").exists()


def test_wrong_arguments_of_init_raise() -> None:
    with pytest.raises(euvyra.InvalidError):
        euvyra.init(mode="onlin")
    with pytest.raises(ValueError, match="resume"):
        euvyra.init(resume="yes")


def test_a_folder_that_cannot_be_made_is_told_and_nothing_raises(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").write_text("")
    run = euvyra.init(dir=str(tmp_path / "file"))
    run.log({"a": 1})
    run.summary["x"] = 1
    run.finish()
    assert "nothing is recorded" in capsys.readouterr().err
