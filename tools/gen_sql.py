#!/usr/bin/env python3
"""Makes C tables of migrations and named statements from sql/.

    gen_sql.py tables SQL_DIR --out-h H --out-c C [--depfile D]
    gen_sql.py check SQL_DIR          what the tables would say, without writing
    gen_sql.py release SQL_DIR        writes the hashes of all migrations to migrations.lock
    gen_sql.py postgres SQL_DIR       JSON for tests: migrations and statements as PostgreSQL sees them

The rules of the folder are in sql/README.md; breaking one is a line that names file and statement.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import re
import sys
from dataclasses import dataclass
from pathlib import Path

from sql_text import (
    code_only,
    number_params,
    params_in,
    schema_to_postgres,
    strip_comments,
    to_postgres,
    top_level,
)

BANNER = "/* Made by tools/gen_sql.py from sql/. Do not edit. */\n"
PARAMS_MAX = 32


class SqlError(Exception):
    """One line that names the file."""


@dataclass
class Statement:
    name: str
    where: str
    text: str
    one_row: bool
    postgres: str = ""

    @property
    def params(self) -> list[str]:
        return params_in(self.text)

    @property
    def writes(self) -> bool:
        words = re.findall(r"[A-Z]+", top_level(self.text))
        return bool({"INSERT", "UPDATE", "DELETE"} & set(words))


@dataclass
class Migration:
    number: int
    name: str
    sqlite: str
    postgres: str
    digest: str


def columns_fill(statements: list[Statement], columns: list[Statement]) -> None:
    """Puts the column lists of a file where its statements say `{name}`."""
    lists: dict[str, str] = {}
    unused: dict[str, str] = {}
    for found in columns:
        if found.name in lists:
            raise SqlError(f"{found.where}: columns {found.name} are there twice")
        if not re.fullmatch(r"[a-z_.]+(,\s+[a-z_.]+)*", found.text):
            raise SqlError(f"{found.where}: {found.name} is not a list of columns")
        lists[found.name] = found.text
        unused[found.name] = found.where
    for statement in statements:
        for name in re.findall(r"\{([a-z][a-z0-9_]*)\}", statement.text):
            if name not in lists:
                raise SqlError(f"{statement.where}: {statement.name}: no '-- columns: {name}' here")
            statement.text = statement.text.replace(f"{{{name}}}", lists[name])
            unused.pop(name, None)
    for name, where in unused.items():
        raise SqlError(f"{where}: columns {name} are not used")


def statements_parse(path: Path) -> list[Statement]:
    found: dict[str, list[Statement]] = {"name": [], "columns": []}
    current: Statement | None = None
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        match = re.fullmatch(r"-- (name|columns): ([a-z][a-z0-9_]*)", line.strip())
        if match:
            current = Statement(match.group(2), f"{path.name}:{number}", "", False)
            found[match.group(1)].append(current)
        elif current:
            current.text += f"{line}\n"
        elif strip_comments(line):
            raise SqlError(f"{path.name}:{number}: SQL before the first '-- name:' line")
    for statement in found["name"] + found["columns"]:
        statement.one_row = bool(re.search(r"^\s*-- one row\b", statement.text, re.MULTILINE))
        statement.text = strip_comments(statement.text).rstrip(";").rstrip()
    columns_fill(found["name"], found["columns"])
    return found["name"]


def statement_lint(statement: Statement, text: str) -> None:
    where = f"{statement.where}: {statement.name}"
    code, top = code_only(text), top_level(text)
    words = re.findall(r"[A-Z_]+", top)
    if not words or words[0] not in ("SELECT", "INSERT", "UPDATE", "DELETE", "WITH"):
        raise SqlError(f"{where}: is not SELECT, INSERT, UPDATE, DELETE or WITH")
    if ";" in code:
        raise SqlError(f"{where}: holds more than one statement")
    if re.search(r"(\bSELECT|\bRETURNING|\bDISTINCT|,)\s+\*|\.\s*\*", code):
        raise SqlError(f"{where}: names no columns ('*')")
    if re.search(r"\bINSERT\s+INTO\s+\w+\s*(VALUES|SELECT|DEFAULT)\b", code):
        raise SqlError(f"{where}: INSERT names no columns")
    if re.search(r"\?|\$\d", code):
        raise SqlError(f"{where}: parameters are :name")
    lists = "SELECT" in words and not ({"INSERT", "UPDATE", "DELETE"} & set(words))
    if lists and not statement.one_row and "LIMIT" not in words:
        raise SqlError(
            f"{where}: a list without LIMIT (mark it '-- one row' if it can give but one)"
        )
    if len(params_in(text)) > PARAMS_MAX:
        raise SqlError(f"{where}: more than {PARAMS_MAX} parameters")


def statements_load(folder: Path) -> list[Statement]:
    by_name: dict[str, Statement] = {}
    for path in sorted(folder.glob("*.sql")):
        if path.name.endswith(".postgres.sql"):
            continue
        for statement in statements_parse(path):
            if statement.name in by_name:
                raise SqlError(f"{statement.where}: {statement.name} is there twice")
            by_name[statement.name] = statement
            statement_lint(statement, statement.text)
            statement.postgres = number_params(to_postgres(statement.text), statement.params)
    for path in sorted(folder.glob("*.postgres.sql")):
        for variant in statements_parse(path):
            base = by_name.get(variant.name)
            if not base:
                raise SqlError(f"{variant.where}: {variant.name} is a variant of nothing")
            variant.one_row = base.one_row
            statement_lint(variant, variant.text)
            if sorted(variant.params) != sorted(base.params):
                raise SqlError(
                    f"{variant.where}: {variant.name} takes other parameters than its base"
                )
            base.postgres = number_params(variant.text, base.params)
    return list(by_name.values())


def migration_lint(path: Path, text: str) -> None:
    code = code_only(text)
    if re.search(r"\bAUTOINCREMENT\b|\bDROP\s+DATABASE\b", code):
        raise SqlError(f"{path.name}: AUTOINCREMENT: ids come from the application")
    if path.name.endswith(".postgres.sql"):
        return
    for match in re.finditer(r"\bCREATE\s+TABLE\s+(?:IF\s+NOT\s+EXISTS\s+)?(\w+)([^;]*);", code):
        if not re.search(r"\bSTRICT\b[^)]*$", match.group(2)):
            raise SqlError(f"{path.name}: table {match.group(1).lower()} is not STRICT")


def migrations_load(folder: Path) -> list[Migration]:
    found: list[Migration] = []
    for path in sorted(folder.glob("*.sql")):
        match = re.fullmatch(r"(\d{4})_([a-z0-9_]+)(\.postgres)?\.sql", path.name)
        if not match:
            raise SqlError(f"{path.name}: is not NNNN_name.sql")
        migration_lint(path, path.read_text(encoding="utf-8"))
        if match.group(3):
            continue
        raw = path.read_bytes()
        text = strip_comments(raw.decode("utf-8"))
        variant = path.with_suffix(".postgres.sql")
        postgres = schema_to_postgres(text)
        if variant.exists():
            raw += variant.read_bytes()
            postgres = strip_comments(variant.read_text(encoding="utf-8"))
        digest = hashlib.sha256(raw).hexdigest()
        found.append(Migration(int(match.group(1)), match.group(2), text, postgres, digest))
    for index, migration in enumerate(found):
        if migration.number != index + 1:
            raise SqlError(
                f"migration {migration.number:04d}: number {index + 1:04d} is missing or double"
            )
    for path in folder.glob("*.postgres.sql"):
        if not path.with_name(path.name.replace(".postgres.sql", ".sql")).exists():
            raise SqlError(f"{path.name}: is a variant of nothing")
    return found


def lock_check(path: Path, migrations: list[Migration]) -> None:
    if not path.exists():
        return
    by_number = {migration.number: migration for migration in migrations}
    for line in path.read_text(encoding="utf-8").splitlines():
        if not line or line.startswith("#"):
            continue
        number, name, digest = line.split()
        migration = by_number.get(int(number))
        if not migration:
            raise SqlError(f"migrations.lock: released migration {number}_{name} is gone")
        if migration.digest != digest:
            raise SqlError(
                f"migration {number}_{name}: was released and may not change; add a new one"
            )


def c_string(text: str, indent: str = "        ") -> str:
    lines = text.split("\n")
    ends = ["\\n"] * (len(lines) - 1) + [""]
    escaped = [line.replace("\\", "\\\\").replace('"', '\\"') for line in lines]
    return "\n".join(
        f'{indent}"{line}{end}"' for line, end in zip(escaped, ends, strict=True)
    ).lstrip()


def render_h(statements: list[Statement]) -> str:
    ids = "".join(f"    SQL_{statement.name.upper()},\n" for statement in statements)
    return (
        f"{BANNER}/* thread: any (constants) */\n#pragma once\n\n"
        "#include <stdbool.h>\n#include <stddef.h>\n\n"
        f"enum sql_id {{\n{ids}    SQL_COUNT\n}};\n\n"
        "struct sql_statement {\n"
        '    const char *name;          /* "run_insert" */\n'
        "    const char *sqlite;        /* parameters are :name */\n"
        "    const char *postgres;      /* parameters are $1.., in the order of `params` */\n"
        "    const char *const *params; /* names without the colon */\n"
        "    size_t param_count;\n"
        "    bool writes;\n"
        "};\n"
        "extern const struct sql_statement sql_statements[SQL_COUNT];\n\n"
        "struct sql_migration {\n"
        "    int number; /* from 1, without holes */\n"
        "    const char *name;\n"
        "    const char *sqlite;\n"
        "    const char *postgres;\n"
        "};\n"
        "extern const struct sql_migration sql_migrations[];\n"
        "extern const size_t sql_migration_count;\n"
    )


def render_c(header: str, statements: list[Statement], migrations: list[Migration]) -> str:
    out = f'{BANNER}#include "gen/{header}"\n\n'
    for statement in statements:
        if statement.params:
            names = ", ".join(f'"{name}"' for name in statement.params)
            out += f"static const char *const {statement.name}_params[] = {{{names}}};\n"
    out += "\nconst struct sql_statement sql_statements[SQL_COUNT] = {\n"
    for statement in statements:
        params = f"{statement.name}_params" if statement.params else "NULL"
        out += (
            f'    [SQL_{statement.name.upper()}] = {{\n        .name = "{statement.name}",\n'
            f"        .sqlite = {c_string(statement.text)},\n"
            f"        .postgres = {c_string(statement.postgres)},\n"
            f"        .params = {params},\n        .param_count = {len(statement.params)},\n"
            f"        .writes = {'true' if statement.writes else 'false'},\n    }},\n"
        )
    out += "};\n\nconst struct sql_migration sql_migrations[] = {\n"
    for migration in migrations:
        out += (
            f'    {{\n        .number = {migration.number},\n        .name = "{migration.name}",\n'
            f"        .sqlite = {c_string(migration.sqlite)},\n"
            f"        .postgres = {c_string(migration.postgres)},\n    }},\n"
        )
    return f"{out}}};\nconst size_t sql_migration_count = {len(migrations)};\n"


def postgres_json(statements: list[Statement], migrations: list[Migration]) -> str:
    return json.dumps(
        {
            "migrations": [
                {"name": m.name, "number": m.number, "sql": m.postgres} for m in migrations
            ],
            "statements": [
                {"name": s.name, "sql": s.postgres, "params": s.params} for s in statements
            ],
        },
        indent=1,
    )


def tables_write(
    args: argparse.Namespace, statements: list[Statement], migrations: list[Migration]
) -> None:
    args.out_h.write_text(render_h(statements), encoding="utf-8")
    args.out_c.write_text(render_c(args.out_h.name, statements, migrations), encoding="utf-8")
    if args.depfile:
        folders = [args.sql, args.sql / "migrations", args.sql / "statements"]
        inputs = [path for path in [*folders, *sorted(args.sql.rglob("*.sql"))] if path.exists()]
        args.depfile.write_text(f"{args.out_h}: {' '.join(map(str, inputs))}\n", encoding="utf-8")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("command", choices=["tables", "check", "release", "postgres"])
    parser.add_argument("sql", type=Path)
    parser.add_argument("--out-h", type=Path)
    parser.add_argument("--out-c", type=Path)
    parser.add_argument("--depfile", type=Path)
    args = parser.parse_args()
    lock = args.sql / "migrations.lock"
    try:
        migrations = migrations_load(args.sql / "migrations")
        statements = statements_load(args.sql / "statements")
        lock_check(lock, migrations)
    except SqlError as error:
        print(f"error: sql: {error}", file=sys.stderr)
        return 1
    if args.command == "tables":
        tables_write(args, statements, migrations)
    elif args.command == "postgres":
        print(postgres_json(statements, migrations))
    elif args.command == "release":
        lock.write_text(
            "# Released migrations never change: number, name, SHA-256 of the file and its variant.\n"
            + "".join(f"{m.number:04d} {m.name} {m.digest}\n" for m in migrations),
            encoding="utf-8",
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
