"""Each limit is found just above it and not at it."""

from __future__ import annotations

from pathlib import Path

import pytest
import tidy
import tomllib

RULES = tomllib.loads((Path(tidy.__file__).parent / "tidy.toml").read_text())
OPEN = "/* What it is for. */\n"


def problems(tmp_path: Path, name: str, text: str) -> list[str]:
    path = tmp_path / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return tidy.run(tmp_path, RULES)


def function(lines: int, parameters: int = 1) -> str:
    """A whole function of so many lines, its head and braces counted."""
    args = ", ".join(f"int p{i}" for i in range(parameters))
    return f"int f({args})\n{{\n" + "    f(1);\n" * (lines - 3) + "}\n"


@pytest.mark.parametrize(("lines", "count"), [(70, 0), (71, 1)])
def test_function_length(tmp_path: Path, lines: int, count: int) -> None:
    found = problems(tmp_path, "src/base/x.c", OPEN + function(lines))
    assert len(found) == count
    assert all("f() has more than 70 lines" in problem for problem in found)


@pytest.mark.parametrize(("parameters", "count"), [(0, 0), (5, 0), (6, 1)])
def test_parameter_count(tmp_path: Path, parameters: int, count: int) -> None:
    found = problems(tmp_path, "src/base/x.c", OPEN + function(10, parameters))
    assert [problem for problem in found if "parameters" in problem] == found
    assert len(found) == count


def test_function_pointer_parameter_counts_once(tmp_path: Path) -> None:
    head = "MUST_CHECK int f(int a, int (*call)(int b, int c, int d), int e, int g,\n      int h)\n"
    assert problems(tmp_path, "src/base/x.c", OPEN + head + "{\n}\n") == []


def test_library_callback_is_exempt(tmp_path: Path) -> None:
    text = OPEN + "/* library callback */\n" + function(10, 7)
    assert problems(tmp_path, "src/base/x.c", text) == []


@pytest.mark.parametrize("call", ["sprintf(a)", "strcpy (a)", "atoi(a)", "system(a)", "alloca(a)"])
def test_banned_call_is_found(tmp_path: Path, call: str) -> None:
    found = problems(tmp_path, "src/base/x.c", f"{OPEN}int f(void)\n{{\n    return {call};\n}}\n")
    assert len(found) == 1
    assert "is banned" in found[0]


@pytest.mark.parametrize(
    "text", ["snprintf(a)", "my_system(a)", "x->system(a)", '"system(a)"', "/* gets(a) */ 1"]
)
def test_what_looks_like_a_banned_call_passes(tmp_path: Path, text: str) -> None:
    assert (
        problems(tmp_path, "src/base/x.c", f"{OPEN}int f(void)\n{{\n    return {text};\n}}\n") == []
    )


def test_file_length_and_columns(tmp_path: Path) -> None:
    found = problems(tmp_path, "src/base/x.c", OPEN + "int a;\n" * 800 + "// " + "x" * 98 + "\n")
    assert [problem.split(": ")[1] for problem in found] == [
        "more than 800 lines",
        "more than 100 columns",
    ]


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("/* thread: any */\nint f(int a);\n", "no #pragma once"),
        ("#pragma once\n/* thread: any */\nint f(int a);\n", "no contract comment"),
        ("/* A thing. */\n#pragma once\nint f(int a);\n", "does not say on which thread"),
    ],
)
def test_header_rules(tmp_path: Path, text: str, what: str) -> None:
    found = problems(tmp_path, "src/base/x.h", text)
    assert len(found) == 1
    assert what in found[0]


def test_good_header_passes(tmp_path: Path) -> None:
    text = "/* A thing. thread: any */\n#pragma once\n\nint f(int a);\n"
    assert problems(tmp_path, "src/base/x.h", text) == []


def test_own_header_comes_first(tmp_path: Path) -> None:
    text = OPEN + '#include "base/y.h"\n#include "base/x.h"\n'
    assert "is not included first" in problems(tmp_path, "src/base/x.c", text)[0]


def test_sql_in_c_is_found(tmp_path: Path) -> None:
    text = OPEN + 'static const char *q = "SELECT id FROM run";\n'
    assert problems(tmp_path, "src/store/x.c", text) == ["src/store/x.c:2: SQL outside sql/"]


def test_marks_and_trailing_space_are_found(tmp_path: Path) -> None:
    found = problems(tmp_path, "tools/x.py", "# TODO later\nx = 1 \n")
    assert found == ["tools/x.py:1: mark TODO", "tools/x.py:2: white space at the end of the line"]


def test_exception_that_is_not_needed_is_a_problem(tmp_path: Path) -> None:
    rules = RULES | {"exceptions": {"list": ["src/base/x.c: SQL outside sql/"]}}
    assert tidy.run(tmp_path, rules) == ["exception 'src/base/x.c: SQL outside sql/' is not needed"]
