"""What define_metric records, and what it refuses."""

from __future__ import annotations

import os
from typing import Any

import euvyra
import pytest


def test_a_definition_is_recorded_with_what_was_said(seen: Any) -> None:
    with euvyra.init() as run:
        run.define_metric("val/*", step_metric="epoch")
        run.define_metric("val/löss", summary="mean", goal="minimize")
        run.define_metric("lr", summary="none")
    assert [record.value for record in seen().records("define")] == [
        {"name": "val/*", "step_metric": "epoch"},
        {"name": "val/löss", "summary": "mean", "goal": "minimize"},
        {"name": "lr", "summary": "none"},
    ]


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ({"name": ""}, "name=''"),
        ({"name": 5}, "name='5'"),
        ({"name": "a\nb"}, "name='a\\\\nb'"),
        ({"name": "ü" * 257}, "name="),
        ({"name": "\ud800"}, "name="),
        ({"name": "a*b"}, "name='a\\*b': a \\* can only be the last character"),
        ({"name": "a", "step_metric": ""}, "step_metric=''"),
        ({"name": "a", "step_metric": "a"}, "step_metric='a' is the metric itself"),
        ({"name": "a", "summary": "median"}, "summary='median' is none of last, first, min"),
        ({"name": "a", "goal": "up"}, "goal='up' is none of minimize, maximize"),
    ],
)
def test_what_cannot_be_raises_and_records_nothing(
    seen: Any, arguments: dict[str, Any], text: str
) -> None:
    with euvyra.init() as run:
        with pytest.raises(ValueError, match=text) as caught:
            run.define_metric(**arguments)
        assert isinstance(caught.value, euvyra.InvalidError)
    assert seen().records("define") == []


def test_a_run_has_at_most_a_thousand_definitions(seen: Any) -> None:
    with euvyra.init() as run:
        for i in range(1000):
            run.define_metric(f"m{i}")
        with pytest.raises(ValueError, match="name='one more': a run has at most 1000"):
            run.define_metric("one more")
        run.define_metric("m7", summary="max")
    assert len(seen().records("define")) == 1001


def test_a_finished_or_disabled_run_takes_no_more(seen: Any, capfd: Any) -> None:
    run = euvyra.init()
    run.finish()
    run.define_metric("a")
    assert "the run is finished" in capfd.readouterr().err
    with euvyra.init(mode="disabled") as disabled:
        disabled.define_metric("a")
        with pytest.raises(ValueError, match="goal"):
            disabled.define_metric("a", goal="up")
    assert seen().records("define") == []


def test_a_forked_child_defines_in_its_own_log(seen: Any) -> None:
    with euvyra.init() as run:
        run.define_metric("a", summary="min")
        child = os.fork()
        if child == 0:
            run.define_metric("a", summary="max")
            os._exit(0)
        os.waitpid(child, 0)
    by_writer = {
        writer: [record.value["summary"] for record in log if record.type == "define"]
        for writer, log in seen().logs.items()
    }
    assert sorted(by_writer.values()) == [["max"], ["min"]]
