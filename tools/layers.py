#!/usr/bin/env python3
"""Checks who includes whom against tools/layers.toml: C, Python and TypeScript, and cycles in each.

layers.py [ROOT]      prints one line a violation; exit code 1 when there is any
"""

from __future__ import annotations

import ast
import re
import sys
from fnmatch import fnmatch
from pathlib import Path, PurePosixPath
from typing import Any

import tomllib

Rules = dict[str, Any]
Graph = dict[str, set[str]]

INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"', re.MULTILINE)
TS_IMPORT = re.compile(
    r"""^\s*(?:import|export)\b[^'"\n;]*?(?:\bfrom\s*)?['"]([^'"]+)['"]|\bimport\(\s*['"]([^'"]+)['"]""",
    re.MULTILINE,
)
# An import that spans lines: join them first.
TS_JOIN = re.compile(r"^(\s*(?:import|export)\s+(?:type\s+)?\{[^}]*\})", re.MULTILINE)


class Check:
    def __init__(self, root: Path, rules: Rules) -> None:
        self.root = root
        self.rules = rules
        self.exceptions = set(rules.get("exceptions", {}).get("list", []))
        self.used: set[str] = set()
        self.problems: list[str] = []

    def say(self, where: str, what: str, why: str) -> None:
        key = f"{where} -> {what}"
        if key in self.exceptions:
            self.used.add(key)
            return
        self.problems.append(f"{where}: may not include {what} ({why})")


# ---- C


def c_folder(path: str) -> str:
    """The layer a path below src/ belongs to; drivers split one or two levels down."""
    parts = PurePosixPath(path).parts
    if parts[0] == "euvyra":
        return "public"
    if parts[0] != "drivers" or len(parts) < 3:
        return parts[0]
    if parts[1] == "common":
        return "drivers/common"
    return "/".join(parts[:3] if len(parts) > 3 else parts[:2])


def c_rule(rules: Rules, folder: str) -> Rules | None:
    table: Rules = rules["c"]
    if folder in table:
        rule: Rules = table[folder]
        return rule
    if folder.startswith("drivers/"):
        driver: Rules = table["drivers/*"]
        return driver
    return None


def domain_part(path: str) -> tuple[str, str]:
    """("jobs", "state") of domain/jobs/jobs_state.h or domain/jobs_state.h."""
    stem = PurePosixPath(path).stem
    parts = PurePosixPath(path).parts
    module = parts[1] if len(parts) > 2 else stem.split("_")[0]
    return module, stem.rsplit("_", 1)[-1]


def allowed(may: list[str], source_folder: str, target: str) -> bool:
    folder = c_folder(target)
    if folder == source_folder:
        return True
    for name in may:
        if ":" in name:
            layer, part = name.split(":")
            if folder == layer and domain_part(target)[1] == part and target.endswith(".h"):
                return True
        elif fnmatch(folder, name):
            return True
    return False


def domain_rank_check(check: Check, where: str, source: str, target: str) -> None:
    rank: list[str] = check.rules["domain"]["rank"]
    mine, theirs = domain_part(source)[0], domain_part(target)[0]
    if mine == theirs or theirs not in rank or mine not in rank:
        return
    if rank.index(theirs) > rank.index(mine):
        check.say(where, target, f"{theirs} ranks above {mine}")


def c_file_check(check: Check, path: Path, folder: str, graph: Graph) -> None:
    where = path.relative_to(check.root).as_posix()
    rule = c_rule(check.rules, folder)
    if rule is None:
        check.problems.append(f"{where}: folder {folder!r} has no rule in tools/layers.toml")
        return
    is_test = "/test/" in where
    for target in INCLUDE.findall(path.read_text(encoding="utf-8", errors="replace")):
        if "/" not in target or target.startswith("../"):
            if not is_test:
                check.say(where, target, 'write "folder/file.h"')
            continue
        graph.setdefault(folder, set()).add(c_folder(target))
        if not allowed(rule["may"], folder, target):
            check.say(where, target, rule["reason"])
        elif folder == "domain" and c_folder(target) == "domain":
            source = path.relative_to(check.root / "src").as_posix()
            domain_rank_check(check, where, source, target)


def c_check(check: Check) -> None:
    graph: Graph = {}
    for path in sorted((check.root / "src").rglob("*.[ch]")):
        inside = path.relative_to(check.root / "src").as_posix()
        c_file_check(check, path, c_folder(inside), graph)
    for path in sorted((check.root / "include").rglob("*.h")):
        c_file_check(check, path, "public", graph)
    for path in sorted((check.root / "python").rglob("*.c")):
        c_file_check(check, path, "python", graph)
    # gen is made from http's own terms and used by http: the one knot, by construction.
    graph.pop("gen", None)
    cycle_check(check, "src", graph)
    header_cycle_check(check)


def header_cycle_check(check: Check) -> None:
    src = check.root / "src"
    graph: Graph = {}
    for path in src.rglob("*.h"):
        name = path.relative_to(src).as_posix()
        graph[name] = set(INCLUDE.findall(path.read_text(encoding="utf-8", errors="replace")))
    cycle_check(check, "headers", graph)


def cycle_check(check: Check, what: str, graph: Graph) -> None:
    """Depth-first, with a stack of our own: reports each cycle once, by its first node."""
    state: dict[str, int] = {}
    for start in sorted(graph):
        if state.get(start):
            continue
        stack = [(start, iter(sorted(graph[start])))]
        state[start] = 1
        trail = [start]
        while stack:
            node, children = stack[-1]
            child = next(children, None)
            if child is None:
                state[node] = 2
                stack.pop()
                trail.pop()
            elif child == node or child not in graph:
                continue
            elif state.get(child) == 1:
                cycle = [*trail[trail.index(child) :], child]
                check.problems.append(f"{what}: cycle {' -> '.join(cycle)}")
            elif not state.get(child):
                state[child] = 1
                trail.append(child)
                stack.append((child, iter(sorted(graph[child]))))


# ---- Python


def python_imports(tree: ast.Module) -> list[tuple[str, bool]]:
    """(module, at import time) of every import; those under TYPE_CHECKING do not count."""
    found: list[tuple[str, bool]] = []

    def visit(body: list[ast.stmt], top: bool) -> None:
        for node in body:
            if isinstance(node, ast.Import):
                found.extend((alias.name, top) for alias in node.names)
            elif isinstance(node, ast.ImportFrom):
                base = "." * node.level + (node.module or "")
                found.append((base, top))
                if node.level and not node.module:
                    found.extend((f".{alias.name}", top) for alias in node.names)
            elif isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test):
                visit(node.orelse, top)
            else:
                inner = isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
                for name in ("body", "orelse", "finalbody"):
                    visit(getattr(node, name, []), top and not inner)
                for handler in getattr(node, "handlers", []):
                    visit(handler.body, top and not inner)

    visit(tree.body, True)
    return found


def python_check(check: Check) -> None:
    rules = check.rules["python"]
    root = check.root / rules["root"]
    if not root.is_dir():
        return
    graph: Graph = {}
    for path in sorted(root.rglob("*.py")):
        where = path.relative_to(check.root).as_posix()
        name = path.relative_to(root).with_suffix("").as_posix().replace("/", ".")
        edges = graph.setdefault(name, set())
        for module, at_import in python_imports(ast.parse(path.read_text(encoding="utf-8"))):
            if at_import and module.split(".")[0] in rules["forbidden"]:
                check.say(where, module, rules["reason"])
            inside = re.sub(rf"^{rules['package']}\.", ".", module)
            if at_import and inside.startswith(".") and inside.strip("."):
                edges.add(inside.lstrip("."))
    cycle_check(check, rules["root"], graph)


# ---- TypeScript


def ts_imports(text: str) -> list[str]:
    text = re.sub(r"/\*.*?\*/|//[^\n]*", "", text, flags=re.DOTALL)
    text = TS_JOIN.sub(lambda match: " ".join(match.group(1).split()), text)
    return [first or second for first, second in TS_IMPORT.findall(text)]


def ts_layer(inside: str) -> tuple[str, str]:
    """("features", "features/runs") of features/runs/page.tsx."""
    parts = PurePosixPath(inside).parts
    if parts[0] == "features" and len(parts) > 2:
        return "features", f"features/{parts[1]}"
    return parts[0], parts[0]


def ts_package_check(check: Check, where: str, inside: str, target: str) -> None:
    for name, rule in check.rules["typescript"]["packages"].items():
        if target != name and not target.startswith(name + "/"):
            continue
        folders = rule.get("only")
        if folders and not any(inside.startswith(f"{folder}/") for folder in folders):
            check.say(where, target, rule["reason"])
        if any(inside.startswith(f"{folder}/") for folder in rule.get("not", [])):
            check.say(where, target, rule["reason"])


def ts_check(check: Check) -> None:
    rules = check.rules["typescript"]
    root = check.root / rules["root"]
    graph: Graph = {}
    for path in sorted([*root.rglob("*.ts"), *root.rglob("*.tsx")]):
        inside = path.relative_to(root).as_posix()
        where = path.relative_to(check.root).as_posix()
        layer, unit = ts_layer(inside)
        if "/" not in inside:
            continue  # main.tsx and type declarations wire everything
        if layer not in rules["may"]:
            check.problems.append(f"{where}: folder {layer!r} has no rule in tools/layers.toml")
            continue
        edges = graph.setdefault(inside.rsplit(".", 1)[0], set())
        for target in ts_imports(path.read_text(encoding="utf-8")):
            if not target.startswith("."):
                ts_package_check(check, where, inside, target)
                continue
            resolved = (path.parent / target).resolve()
            if not resolved.is_relative_to(root.resolve()):
                continue
            to = resolved.relative_to(root.resolve()).as_posix()
            edges.add(re.sub(r"\.(ts|tsx|js)$", "", to))
            to_layer, to_unit = ts_layer(to)
            if to_layer != layer and to_layer not in rules["may"][layer]:
                check.say(where, to, f"{layer} lies below {to_layer}")
            elif to_layer == layer and to_unit != unit:
                check.say(where, to, "features never import each other")
    cycle_check(check, rules["root"], graph)


def run(root: Path, rules: Rules) -> list[str]:
    check = Check(root, rules)
    c_check(check)
    python_check(check)
    ts_check(check)
    check.problems += [f"exception {key!r} is not needed" for key in check.exceptions - check.used]
    return check.problems


def main() -> int:
    root = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).resolve().parents[1]
    with (Path(__file__).resolve().parent / "layers.toml").open("rb") as file:
        problems = run(root, tomllib.load(file))
    for problem in problems:
        print(problem)
    print(f"layers: {len(problems)} problems")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
