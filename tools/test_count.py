#!/usr/bin/env python3
"""Adds up what the test runners wrote and prints one line: N passed, N failed, N skipped.

    test_count.py FOLDER [BROKEN...]   *.junit.xml and *.meson.json; BROKEN: suites whose runner
                                       failed; exit code 1 when a test failed or none ran

A suite that could not even start its tests counts as one that failed. A C test program counts as
many tests as cmocka says it ran.
"""

from __future__ import annotations

import json
import re
import sys
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree


@dataclass
class Count:
    passed: int = 0
    failed: int = 0
    skipped: int = 0

    def add(self, passed: int, failed: int, skipped: int) -> None:
        self.passed += passed
        self.failed += failed
        self.skipped += skipped


def junit_add(count: Count, path: Path) -> None:
    """Counts the cases themselves: runners disagree on the totals of a suite."""
    # Some runners copy colour codes of a failure into their XML, where they are not allowed.
    text = re.sub(r"[\x00-\x08\x0b\x0c\x0e-\x1f]", "", path.read_text(encoding="utf-8"))
    for case in ElementTree.fromstring(text).iter("testcase"):
        if case.find("failure") is not None or case.find("error") is not None:
            count.add(0, 1, 0)
        elif case.find("skipped") is not None:
            count.add(0, 0, 1)
        else:
            count.add(1, 0, 0)


def cmocka_number(text: str, word: str) -> int:
    """Of either output: the standard one, or the lines of the Test Anything Protocol."""
    said = re.findall(rf"^\[  {word}  \] (\d+) test\(s\)", text, re.MULTILINE)
    patterns = {
        "PASSED": r"^ok \d+ (?!.*# SKIP)",
        "FAILED": r"^not ok \d+ ",
        "SKIPPED": r"^(?:not )?ok \d+ .*# SKIP",
    }
    return sum(map(int, said)) + len(re.findall(patterns[word], text, re.MULTILINE))


def meson_add(count: Count, path: Path) -> None:
    """One JSON object a line, one a test program."""
    for line in path.read_text(encoding="utf-8").splitlines():
        test = json.loads(line)
        text = test.get("stdout", "") + test.get("stderr", "")
        passed = cmocka_number(text, "PASSED")
        failed = cmocka_number(text, "FAILED")
        skipped = cmocka_number(text, "SKIPPED")
        result = test["result"]
        if result == "SKIP":
            count.add(0, 0, 1)
        elif result in ("OK", "EXPECTEDFAIL"):
            count.add(max(passed, 1), 0, skipped)
        else:
            # A program that crashed says nothing about the test that did it.
            count.add(passed, max(failed, 1), skipped)


def main() -> int:
    count = Count()
    folder = Path(sys.argv[1])
    for path in sorted(folder.glob("*.junit.xml")):
        junit_add(count, path)
    for path in sorted(folder.glob("*.meson.json")):
        meson_add(count, path)
    if not count.failed:
        count.failed = len(sys.argv) - 2
    print(f"{count.passed} passed, {count.failed} failed, {count.skipped} skipped")
    return 1 if count.failed or not count.passed else 0


if __name__ == "__main__":
    sys.exit(main())
