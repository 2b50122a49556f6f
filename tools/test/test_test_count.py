"""What the runners wrote is added up."""

from __future__ import annotations

import json
from pathlib import Path

from conftest import tool_run

JUNIT = """<testsuites><testsuite name="a" tests="9">
<testcase name="1"/><testcase name="2"><failure>\x1b[31mred</failure></testcase>
<testcase name="3"><skipped/></testcase>
</testsuite></testsuites>"""


def meson(result: str, text: str) -> str:
    return json.dumps({"name": "t", "result": result, "stdout": "", "stderr": text}) + "\n"


def test_all_kinds_add_up(tmp_path: Path) -> None:
    (tmp_path / "a.junit.xml").write_text(JUNIT)
    (tmp_path / "b.meson.json").write_text(
        meson("OK", "[==========] 4 test(s) run.\n[  PASSED  ] 4 test(s).\n")
        + meson("FAIL", "[  PASSED  ] 2 test(s).\n[  FAILED  ] 1 test(s), listed below:\n")
        + meson("OK", "1..3\nok 1 - a\nok 2 - b\nok 3 - c # SKIP none\n# ok - tests\n")
        + meson("TIMEOUT", "")
        + meson("OK", "no cmocka")
    )
    done = tool_run("test_count.py", tmp_path)
    assert done.stdout == "10 passed, 3 failed, 2 skipped\n"
    assert done.returncode == 1


def test_suite_that_could_not_start_counts_as_failed(tmp_path: Path) -> None:
    (tmp_path / "b.meson.json").write_text(meson("OK", ""))
    assert tool_run("test_count.py", tmp_path).returncode == 0
    assert tool_run("test_count.py", tmp_path, "asan").stdout == "1 passed, 1 failed, 0 skipped\n"


def test_no_test_at_all_is_a_failure(tmp_path: Path) -> None:
    done = tool_run("test_count.py", tmp_path)
    assert (done.returncode, done.stdout) == (1, "0 passed, 0 failed, 0 skipped\n")
