#!/usr/bin/env python3
"""Makes the C route table and the API reference from api/openapi.yaml.

    gen_api.py routes SPEC --out-h H --out-c C [--handlers DIR] [--depfile D]
    gen_api.py reference SPEC [--out FILE | --check FILE]
    gen_api.py check SPEC

The description is the only place that names an operation, who may call it and what is audited. Every
mistake is one line that names the operation, and fails the build. What an operation must and may
say is in docs/internals/api.md.
"""

from __future__ import annotations

import argparse
import re
import sys
from pathlib import Path

from api_reference import render_reference
from api_routes import render_routes_c, render_routes_h
from api_spec import SpecError, handlers_check, spec_load


def write_if_changed(path: Path, text: str) -> None:
    """Leaves the time stamp of an equal file alone, so that nothing is built again for it."""
    if not path.exists() or path.read_text(encoding="utf-8") != text:
        path.write_text(text, encoding="utf-8")


def depfile_write(path: Path, target: Path, inputs: list[Path]) -> None:
    names = " ".join(re.sub(r"([ #])", r"\\\1", str(p)) for p in inputs)
    path.write_text(f"{target}: {names}\n", encoding="utf-8")


def run_routes(args: argparse.Namespace) -> None:
    operations = spec_load(args.spec).operations
    inputs = [args.spec]
    if args.handlers:
        sources = sorted(args.handlers.rglob("*.c"))
        handlers_check(operations, sources)
        inputs += [args.handlers, *sources]
    args.out_h.write_text(render_routes_h(operations), encoding="utf-8")
    args.out_c.write_text(render_routes_c(operations, args.out_h.name), encoding="utf-8")
    if args.depfile:
        depfile_write(args.depfile, args.out_h, inputs)


def run_reference(args: argparse.Namespace) -> None:
    text = render_reference(spec_load(args.spec))
    if args.check:
        current = args.check.read_text(encoding="utf-8") if args.check.exists() else ""
        if current != text:
            raise SpecError(f"{args.check} is not current: run ./dev fmt")
    elif args.out:
        args.out.parent.mkdir(parents=True, exist_ok=True)
        write_if_changed(args.out, text)
    else:
        sys.stdout.write(text)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    routes = commands.add_parser("routes")
    routes.add_argument("spec", type=Path)
    routes.add_argument("--out-h", type=Path, required=True)
    routes.add_argument("--out-c", type=Path, required=True)
    routes.add_argument("--handlers", type=Path)
    routes.add_argument("--depfile", type=Path)
    reference = commands.add_parser("reference")
    reference.add_argument("spec", type=Path)
    reference.add_argument("--out", type=Path)
    reference.add_argument("--check", type=Path)
    check = commands.add_parser("check")
    check.add_argument("spec", type=Path)
    args = parser.parse_args()
    try:
        if args.command == "routes":
            run_routes(args)
        elif args.command == "reference":
            run_reference(args)
        else:
            spec_load(args.spec)
    except SpecError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
