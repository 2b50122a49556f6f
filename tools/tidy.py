#!/usr/bin/env python3
"""Checks the limits of STYLE.md that a formatter does not: tools/tidy.toml has the numbers.

    tidy.py [ROOT]      prints one line a problem; exit code 1 when there is any

C is read as text with comments and literals blanked, not parsed: the style makes that enough
(functions start in column 0, their brace stands alone in column 0).
"""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

import tomllib

Rules = dict[str, Any]

C_NOISE = re.compile(
    r"""//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'""",
    re.DOTALL,
)
FUNCTION = re.compile(r"^(?P<head>[A-Za-z_][^;{}#]*?)\n\{", re.MULTILINE)
SQL_IN_C = re.compile(
    r'"\s*(SELECT\s[^"]*\sFROM\s|INSERT\s+INTO\s|UPDATE\s+\w+\s+SET\s|DELETE\s+FROM\s|CREATE\s+(TABLE|INDEX)\s)'
)
# The driver's own words (PRAGMA, BEGIN) are no statements of the product.


class Check:
    def __init__(self, root: Path, rules: Rules) -> None:
        self.root = root
        self.rules = rules
        self.exceptions = set(rules["exceptions"]["list"])
        self.used: set[str] = set()
        self.problems: list[str] = []

    def say(self, where: str, line: int, what: str) -> None:
        key = f"{where}: {what}"
        if key in self.exceptions:
            self.used.add(key)
        else:
            self.problems.append(f"{where}:{line}: {what}")


def blank(text: str, pattern: re.Pattern[str] = C_NOISE) -> str:
    """Comments and literals become spaces, lines stay."""
    return pattern.sub(lambda m: re.sub(r"[^\n]", " ", m.group()), text)


def line_of(text: str, at: int) -> int:
    return text.count("\n", 0, at) + 1


def parameter_count(head: str) -> int:
    """Commas at depth one of the last parameter list; function pointers nest deeper."""
    start = head.find("(")
    # Attributes such as MUST_CHECK come first; the list is the one that closes last.
    depth = 0
    spans: list[tuple[int, int]] = []
    for index, char in enumerate(head):
        if char == "(":
            if depth == 0:
                start = index
            depth += 1
        elif char == ")":
            depth -= 1
            if depth == 0:
                spans.append((start, index))
    lists = [
        head[a + 1 : b].strip() for a, b in spans if not re.search(r"__attribute__\s*$", head[:a])
    ]
    lists = [
        text
        for text, (a, _) in zip(lists, spans, strict=False)
        if not re.search(r"\b(CLEANUP|PRINTF_LIKE|__attribute__)\s*$", head[:a])
    ]
    if not lists or lists[0] in ("", "void"):
        return 0
    parts, depth = [""], 0
    for char in lists[0]:
        depth += (char == "(") - (char == ")")
        if char == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += char
    return sum(not FRAME_PARAMETER.search(part.strip()) for part in parts)


# What every function of a kind carries in the same place does not count (docs/decisions/0001):
# the error, the outputs, the arena that outputs live in, and the connection or command in front.
FRAME_PARAMETER = re.compile(
    r"^struct (err|arena|store|cmd|db|http_call) \*\w+$|\bret_\w+(\[[^\]]*\])*$"
)


def function_name(head: str) -> str:
    match = re.search(r"(\w+)\s*\([^()]*(?:\([^()]*\)[^()]*)*\)\s*$", head.strip())
    return match.group(1) if match else head.split("(")[0].split()[-1]


def is_library_callback(head: str, lines_before: str) -> bool:
    """A callback whose type a library fixes is exempt; the line above says so."""
    return "library callback" in lines_before


def functions_check(check: Check, where: str, text: str, code: str) -> None:
    limits = check.rules["limits"]
    for match in FUNCTION.finditer(code):
        head = match.group("head")
        if "(" not in head or "=" in head.split("(")[0]:
            continue
        name = function_name(head)
        end = code.find("\n}", match.end())
        first = line_of(code, match.start())
        length = line_of(code, end if end > 0 else len(code)) + 1 - first + 1
        if length > limits["function_lines"]:
            check.say(where, first, f"{name}() has more than {limits['function_lines']} lines")
        before = "\n".join(text.splitlines()[max(0, first - 4) : first])
        if parameter_count(head) > limits["parameters"] and not is_library_callback(head, before):
            check.say(where, first, f"{name}() has more than {limits['parameters']} parameters")


def banned_check(check: Check, where: str, code: str) -> None:
    for name, instead in check.rules["banned"].items():
        for match in re.finditer(rf"(?<![\w.>]){name}\s*\(", code):
            check.say(where, line_of(code, match.start()), f"{name}() is banned: {instead}")


def header_check(check: Check, where: str, text: str, code: str) -> None:
    if not re.search(r"^#pragma once$", text, re.MULTILINE):
        check.say(where, 1, "no #pragma once")
    before = text.split("#pragma once")[0]
    if not before.lstrip().startswith("/*"):
        check.say(where, 1, "no contract comment before #pragma once")
    declares = re.search(r"^[A-Za-z_][^;{}#=]*\([^;{}]*\)[^;{}]*;", code, re.MULTILINE)
    if declares and not re.search(
        r"\bthread:|\bmay block\b|One thread|one thread|between threads", text
    ):
        check.say(where, 1, "does not say on which thread its functions run (thread: ...)")


def source_check(check: Check, where: str, text: str) -> None:
    """A .c opens with what it is for, and its own header comes first."""
    if not text.lstrip().startswith("/*"):
        check.say(where, 1, "does not open with a comment that says what it is for")
    inside = where.removeprefix("src/")
    own = inside[:-2] + ".h"
    includes = re.findall(r'^#include\s+[<"]([^">]+)[">]', text, re.MULTILINE)
    if own in includes and includes[0] != own:
        check.say(where, 1, f'its own header "{own}" is not included first')


def c_check(check: Check, where: str, text: str) -> None:
    code = blank(text)
    functions_check(check, where, text, code)
    banned_check(check, where, code)
    for match in re.finditer(r"^\s*goto\s+(\w+)\s*;", code, re.MULTILINE):
        label = re.search(rf"^{match.group(1)}:", code[: match.start()], re.MULTILINE)
        if label and label.start() > code.rfind("\n}", 0, match.start()):
            check.say(where, line_of(code, match.start()), "goto jumps backwards")
    comments_off = re.sub(
        r"/\*.*?\*/", lambda m: re.sub(r"[^\n]", " ", m.group()), text, flags=re.DOTALL
    )
    for match in SQL_IN_C.finditer(comments_off):
        if "/test/" in where:  # a test plays the administrator of the database
            break
        check.say(where, line_of(text, match.start()), "SQL outside sql/")
    if where.endswith(".h"):
        header_check(check, where, text, code)
    elif where.startswith("src/") and "/test/" not in where:
        source_check(check, where, text)


def text_check(check: Check, where: str, text: str) -> None:
    limits = check.rules["limits"]
    lines = text.splitlines()
    if len(lines) > limits["file_lines"]:
        check.say(where, len(lines), f"more than {limits['file_lines']} lines")
    columns = limits["columns" if where.endswith((".c", ".h")) else "columns_text"]
    words = "|".join(check.rules["marks"]["words"])
    for number, line in enumerate(lines, 1):
        if len(line) > columns and not where.endswith((".sql", ".yaml")):
            check.say(where, number, f"more than {columns} columns")
        mark = re.search(rf"\b({words})\b", line)
        if mark:
            check.say(where, number, f"mark {mark.group(1)}")
        if line != line.rstrip():
            check.say(where, number, "white space at the end of the line")
    if text and not text.endswith("\n"):
        check.say(where, len(lines), "no newline at the end of the file")


def files_of(check: Check) -> list[Path]:
    rules = check.rules["files"]
    found = []
    for name in rules["roots"]:
        for path in sorted((check.root / name).rglob("*")):
            where = path.relative_to(check.root).as_posix()
            wanted = path.suffix in rules["extensions"] and path.is_file()
            if wanted and not any(skip in where for skip in rules["skip"]):
                found.append(path)
    return found


def run(root: Path, rules: Rules) -> list[str]:
    check = Check(root, rules)
    for path in files_of(check):
        where = path.relative_to(root).as_posix()
        text = path.read_text(encoding="utf-8")
        text_check(check, where, text)
        if path.suffix in (".c", ".h"):
            c_check(check, where, text)
    check.problems += [f"exception {key!r} is not needed" for key in check.exceptions - check.used]
    return check.problems


def main() -> int:
    root = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).resolve().parents[1]
    with (Path(__file__).resolve().parent / "tidy.toml").open("rb") as file:
        problems = run(root, tomllib.load(file))
    for problem in problems:
        print(problem)
    print(f"tidy: {len(problems)} problems")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
