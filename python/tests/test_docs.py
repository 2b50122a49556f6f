"""The examples of docs/python.md run as they stand."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

DOCS = Path(__file__).parents[2] / "docs"
EXAMPLES = [
    example
    for page in ("python.md", "resume.md")
    for example in re.findall(r"```python\n(.*?)```", (DOCS / page).read_text(), re.S)
]


@pytest.mark.parametrize("number", range(len(EXAMPLES)))
def test_example_records_a_run(number: int, script: Any, seen: Any) -> None:
    text = EXAMPLES[number]
    done = script(text if "import euvyra" in text else f"import euvyra\n{text}")
    assert done.returncode == 0, done.stderr
    assert seen().one("end").value["exit_code"] == 0
    assert seen().points("loss")


def test_there_are_examples() -> None:
    assert len(EXAMPLES) >= 5
