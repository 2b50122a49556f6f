"""Reported faults of schedulers, played one by one; each report has a scenario or a reason."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from rig import sim

ROOT = Path(__file__).resolve().parents[2]
ROW = re.compile(r"^ *(\d+)  (\S+) +(\S.*)$")


def listed() -> list[tuple[int, str, str]]:
    rows = [ROW.match(line) for line in sim("scenario", "list").splitlines()]
    return [(int(row[1]), row[2], row[3]) for row in rows if row]


NAMES = [name for _, name, _ in listed() if name != "-"]


@pytest.mark.parametrize("name", NAMES)
def test_it_ends_well(name: str) -> None:
    for seed in ("1", "2", "3"):
        assert "1 scenarios, 0 failed" in sim("scenario", name, "--seed", seed)


def test_each_of_the_57_reports_has_a_scenario_or_a_reason() -> None:
    assert {number for number, _, _ in listed()} == set(range(1, 58))
    for number, name, why in listed():
        assert why.startswith("not shown: ") == (name == "-"), number
        assert len(why) > 20


def test_the_page_of_reports_tells_the_same() -> None:
    page = (ROOT / "docs/internals/scheduler-reports.md").read_text()
    rows = re.findall(r"^\| (\d+) \| .+? \| .+? \| (.+?) \|$", page, re.MULTILINE)
    told = {int(number): what for number, what in rows}
    for number, name, _ in listed():
        assert ("not shown" in told[number]) == (name == "-"), number
        assert name == "-" or f"`{name}`" in told[number], name
    names = {name for what in told.values() for name in re.findall(r"`(\w+)`", what)}
    assert names == set(NAMES)


def test_a_name_that_is_not_known_is_told() -> None:
    assert 'scenario "nothing" is not known' in sim("scenario", "nothing", code=4)
    assert "scenario needs one name" in sim("scenario", code=2)
