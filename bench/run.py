#!/usr/bin/env python3
"""./dev bench [NAME...] [--json] [--plot FOLDER]: figures, and ratios of one and the same run.

Each bench/bench_NAME.py has `figures()`, which returns rows. Nothing here passes or fails.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import platform
import sys
from dataclasses import asdict, dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent


@dataclass
class Figure:
    """One measured number. `ratio` is against `baseline`, which was measured in the same run."""

    key: str
    value: float
    unit: str
    what: str
    ratio: float | None = None
    baseline: str = ""


def table(name: str, rows: list[Figure]) -> str:
    lines = [f"{name}"]
    for row in rows:
        number = f"{row.value:,.0f}" if abs(row.value) >= 100 else f"{row.value:,.3g}"
        ratio = f"   {row.ratio:.3g} x {row.baseline}" if row.ratio is not None else ""
        lines.append(f"  {row.key:<34} {number:>14} {row.unit:<9} {row.what}{ratio}")
    return "\n".join(lines)


def main() -> int:
    names = sorted(path.stem[len("bench_") :] for path in HERE.glob("bench_*.py"))
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "names", nargs="*", metavar="NAME", help=f"of {', '.join(names)}; default all"
    )
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--plot", type=Path, metavar="FOLDER", help="draws what has a growth")
    args = parser.parse_args()
    for name in args.names:
        if name not in names:
            print(f"bench: there is no {name!r}; there are {', '.join(names)}", file=sys.stderr)
            return 2
    sys.path[:0] = [str(HERE), str(HERE.parent / "tests")]
    sys.modules["run"] = sys.modules[__name__]
    machine = f"{platform.machine()}, {os.cpu_count()} cores, {platform.release()}"
    result: dict[str, object] = {"machine": machine}
    if not args.json:
        print(machine)
    for name in args.names or names:
        module = importlib.import_module(f"bench_{name}")
        rows: list[Figure] = module.figures()
        result[name] = [asdict(row) for row in rows]
        if not args.json:
            print(table(name, rows), flush=True)
        if args.plot and hasattr(module, "plot"):
            args.plot.mkdir(parents=True, exist_ok=True)
            print(f"  drawn in {module.plot(args.plot)}", file=sys.stderr)
    if args.json:
        print(json.dumps(result, indent=2))
    return 0


if __name__ == "__main__":
    sys.exit(main())
