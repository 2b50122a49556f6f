"""Reads SQL text: splits code from quotes and comments, translates to PostgreSQL, numbers parameters.

One text serves both databases where it can. The translation is small and fixed (sql/README.md): in
code, never inside quotes, INTEGER becomes BIGINT, BLOB becomes BYTEA, REAL becomes DOUBLE PRECISION,
and the table options STRICT and WITHOUT ROWID go. What needs more has a variant.
"""

from __future__ import annotations

import re

TOKEN = re.compile(
    r"""(?P<comment>--[^\n]*|/\*.*?\*/)
      | (?P<quote>'(?:[^']|'')*'|"(?:[^"]|"")*")
      | (?P<cast>::)
      | (?P<param>:[a-z_][a-z0-9_]*)
      | (?P<word>[A-Za-z_][A-Za-z0-9_]*)
      | (?P<space>\s+)
      | (?P<other>.)""",
    re.VERBOSE | re.DOTALL,
)
POSTGRES_WORDS = {"INTEGER": "BIGINT", "BLOB": "BYTEA", "REAL": "DOUBLE PRECISION"}


def tokens(text: str) -> list[tuple[str, str]]:
    return [(str(match.lastgroup), match.group()) for match in TOKEN.finditer(text)]


def strip_comments(text: str) -> str:
    """Without comments; empty lines go too."""
    kept = "".join(value for kind, value in tokens(text) if kind != "comment")
    lines = [line.rstrip() for line in kept.splitlines()]
    return "\n".join(line for line in lines if line).strip()


def code_only(text: str) -> str:
    """For lint: comments and quotes become blanks, everything else is upper case."""
    return "".join(
        " " if kind in ("comment", "quote") else value.upper() for kind, value in tokens(text)
    )


def params_in(text: str) -> list[str]:
    """Names in the order of their first appearance."""
    found: dict[str, None] = {}
    for kind, value in tokens(text):
        if kind == "param":
            found.setdefault(value[1:])
    return list(found)


def number_params(text: str, names: list[str]) -> str:
    """`:name` becomes `$n`, n by position in `names`."""
    return "".join(
        f"${names.index(value[1:]) + 1}" if kind == "param" else value
        for kind, value in tokens(text)
    )


def to_postgres(text: str) -> str:
    out = "".join(
        POSTGRES_WORDS.get(value.upper(), value) if kind == "word" else value
        for kind, value in tokens(text)
    )
    return re.sub(r"\)\s*(STRICT|WITHOUT\s+ROWID)(\s*,\s*(STRICT|WITHOUT\s+ROWID))?\s*;", ");", out)


def top_level(text: str) -> str:
    """Upper-case code outside all parentheses: what belongs to the outermost statement."""
    depth = 0
    out = []
    for char in code_only(text):
        if char == "(":
            depth += 1
        elif char == ")":
            depth -= 1
            out.append(" ")
        elif depth == 0:
            out.append(char)
    return "".join(out)
