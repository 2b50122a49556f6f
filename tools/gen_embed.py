#!/usr/bin/env python3
"""Packs the built console into one blob and a C table of its files.

    gen_embed.py DIST --csp FILE --out-h H --out-c C --out-blob B [--depfile D]

Each file is there plain, gzip -9 and brotli 11, whatever is smaller than plain. Names with a hash
(assets/) may be kept by browsers for ever. Without DIST the table is empty: a server for
development, whose operator runs the console apart.
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
import sys
from pathlib import Path

import brotli

TYPES = {
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".svg": "image/svg+xml",
    ".png": "image/png",
    ".ico": "image/x-icon",
    ".json": "application/json",
    ".webmanifest": "application/manifest+json",
    ".woff2": "font/woff2",
    ".txt": "text/plain; charset=utf-8",
}
HEADER = """/* Made by tools/gen_embed.py from the built console. Do not edit. */
/* thread: any (constants) */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct console_bytes {
    const char *data; /* NULL when this coding is not worth it */
    size_t len;
};

struct console_file {
    const char *path;         /* "/index.html", sorted by bytes */
    const char *content_type;
    const char *etag;         /* with its quotes */
    bool immutable;           /* its name holds a hash of its content */
    struct console_bytes plain, gzip, brotli;
};

extern const struct console_file console_files[];
extern const size_t console_file_count; /* 0: built without the console */
/* The Content-Security-Policy of every console page. */
extern const char console_csp[];
"""


class Blob:
    def __init__(self) -> None:
        self.data = bytearray()

    def add(self, content: bytes | None) -> str:
        if content is None:
            return "{NULL, 0}"
        at = len(self.data)
        self.data += content
        return f"{{console_blob + {at}, {len(content)}}}"


def rows_render(dist: Path, blob: Blob) -> list[str]:
    rows = []
    files = [path for path in dist.rglob("*") if path.is_file()]
    for path in sorted(files, key=lambda p: p.relative_to(dist).as_posix().encode()):
        name = "/" + path.relative_to(dist).as_posix()
        if path.suffix not in TYPES:
            raise ValueError(f"{name}: no content type known for {path.suffix!r}")
        plain = path.read_bytes()
        packed = gzip.compress(plain, 9, mtime=0)
        tight = brotli.compress(plain, quality=11)
        digest = hashlib.sha256(plain).hexdigest()[:24]
        rows.append(
            f'    {{.path = "{name}", .content_type = "{TYPES[path.suffix]}", .etag = "\\"{digest}\\"",\n'
            f"     .immutable = {'true' if name.startswith('/assets/') else 'false'},\n"
            f"     .plain = {blob.add(plain)},\n"
            f"     .gzip = {blob.add(packed if len(packed) < len(plain) else None)},\n"
            f"     .brotli = {blob.add(tight if len(tight) < len(plain) else None)}}},\n"
        )
    return rows


def csp_text(path: Path) -> str:
    lines = [line.strip() for line in path.read_text(encoding="utf-8").splitlines()]
    return "; ".join(line for line in lines if line and not line.startswith("#"))


def render_c(args: argparse.Namespace, rows: list[str], blob: Blob) -> str:
    digest = hashlib.sha256(blob.data).hexdigest()
    table = "".join(rows) or "    {NULL, NULL, NULL, false, {NULL, 0}, {NULL, 0}, {NULL, 0}},\n"
    return (
        "/* Made by tools/gen_embed.py from the built console. Do not edit. */\n"
        f'#include "gen/{args.out_h.name}"\n\n'
        f"/* SHA-256 of the blob, so that this file changes with it: {digest} */\n"
        '__asm__(".pushsection .rodata\\n"\n'
        '        ".global console_blob\\n"\n'
        '        ".hidden console_blob\\n"\n'
        '        ".balign 16\\n"\n'
        '        "console_blob:\\n"\n'
        f'        ".incbin \\"{args.out_blob.resolve()}\\"\\n"\n'
        '        ".byte 0\\n"\n'
        '        ".popsection\\n");\n'
        'extern const char console_blob[] __attribute__((visibility("hidden")));\n\n'
        f"const struct console_file console_files[] = {{\n{table}}};\n"
        f"const size_t console_file_count = {len(rows)};\n"
        f'const char console_csp[] = "{csp_text(args.csp)}";\n'
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("dist", type=Path)
    parser.add_argument("--csp", type=Path, required=True)
    parser.add_argument("--out-h", type=Path, required=True)
    parser.add_argument("--out-c", type=Path, required=True)
    parser.add_argument("--out-blob", type=Path, required=True)
    parser.add_argument("--depfile", type=Path)
    args = parser.parse_args()
    blob = Blob()
    try:
        rows = rows_render(args.dist, blob) if args.dist.is_dir() else []
    except ValueError as error:
        print(f"error: console: {error}", file=sys.stderr)
        return 1
    args.out_blob.write_bytes(bytes(blob.data))
    args.out_h.write_text(HEADER, encoding="utf-8")
    args.out_c.write_text(render_c(args, rows, blob), encoding="utf-8")
    if args.depfile:
        # A folder that does not exist yet: its parent changes when it comes.
        inputs = [args.csp, args.dist if args.dist.is_dir() else args.dist.parent]
        if args.dist.is_dir():
            inputs += sorted(args.dist.rglob("*"))
        args.depfile.write_text(f"{args.out_h}: {' '.join(map(str, inputs))}\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
