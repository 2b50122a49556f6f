"""Runs as tables: CSV by itself, Parquet through pyarrow. Every point is there, none is sampled."""

from __future__ import annotations

import csv
import json
import math
import os
import ssl
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from . import _errors
from ._server import _key, _NoRedirect

TIMEOUT_S = 60.0
POINTS_A_PAGE = 10_000
RUN_COLUMNS = (
    "id", "name", "state", "owner", "host", "group", "job_type", "job", "created_at", "started_at",
    "ended_at", "duration_ms", "cost_micro", "exit_code", "signal", "oom", "reason",
)  # fmt: skip
SPECIALS = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}
Row = dict[str, Any]


class _Server:
    def __init__(self, address: str | None) -> None:
        self.address = (address or os.environ.get("EUVYRA_SERVER", "")).rstrip("/")
        if not self.address.startswith(("http://", "https://")):
            raise _errors.InvalidError(
                f"server={self.address!r} is no http:// or https:// address; EUVYRA_SERVER names one"
            )
        self.key = _key()
        handlers: list[urllib.request.BaseHandler] = [_NoRedirect()]
        if self.address.startswith("https://"):
            context = ssl.create_default_context(cafile=os.environ.get("EUVYRA_CA") or None)
            handlers.append(urllib.request.HTTPSHandler(context=context))
        self.opener = urllib.request.build_opener(*handlers)

    def get(self, path: str, **query: Any) -> Any:
        text = urllib.parse.urlencode({k: v for k, v in query.items() if v not in (None, "")})
        request = urllib.request.Request(f"{self.address}/api/v1{path}?{text}")
        if self.key:
            request.add_header("Authorization", f"Bearer {self.key}")
        try:
            with self.opener.open(request, timeout=TIMEOUT_S) as answer:
                return json.load(answer)
        except urllib.error.HTTPError as error:
            raise _problem(error, path) from None
        except (urllib.error.URLError, TimeoutError) as error:
            raise _errors.Error(f"{self.address} does not answer: {error}", "unavailable") from None

    def pages(self, path: str, **query: Any) -> Iterator[Any]:
        cursor = ""
        while True:
            page = self.get(path, **query, limit=1000, cursor=cursor)
            yield from page["items"]
            cursor = page["next_cursor"]
            if not cursor:
                return

    def points(self, run: str, metric: str) -> Iterator[Any]:
        cursor = ""
        while True:
            page = self.get(
                f"/runs/{run}/metrics/points", metric=metric, points=POINTS_A_PAGE, cursor=cursor
            )
            yield page
            cursor = page["cursor"]
            if not page["more"]:
                return


def _problem(error: urllib.error.HTTPError, path: str) -> _errors.Error:
    try:
        said = json.load(error)
        text, kind = str(said["message"]), str(said["code"])
        if said.get("column"):
            text += f" (column {said['column']})"
    except (ValueError, KeyError, TypeError):
        text, kind = f"{path}: the server answered with status {error.code}", "unavailable"
    if error.code == 404:
        return _errors.NotFoundError(text, kind)
    return _errors.InvalidError(text, kind) if error.code == 400 else _errors.Error(text, kind)


def _flat(value: Any, prefix: str) -> Row:
    """{"optim": {"lr": 0.1}} is "optim.lr"; a list is its JSON."""
    if isinstance(value, dict):
        out: Row = {}
        for key, inner in value.items():
            out.update(_flat(inner, f"{prefix}.{key}"))
        return out
    if isinstance(value, list):
        return {prefix: json.dumps(value, ensure_ascii=False)}
    return {prefix: value}


def _run_row(run: Row) -> Row:
    row = {name: run.get(name) for name in RUN_COLUMNS}
    row["tags"] = json.dumps(run["tags"], ensure_ascii=False)
    row["notes"] = run["notes"]
    row.update(_flat(run["config"], "config"))
    row.update(_flat(run["summary"], "summary"))
    return row


def _number(value: Any) -> float:
    return SPECIALS[value] if isinstance(value, str) else float(value)


class _Csv:
    """UTF-8, a header, empty cells for what is missing."""

    def __init__(self, path: Path, columns: Sequence[str]) -> None:
        self.file = path.open("w", newline="", encoding="utf-8")
        self.writer = csv.writer(self.file)
        self.writer.writerow([self._cell(name) for name in columns])

    @staticmethod
    def _cell(value: Any) -> Any:
        """A text that a spreadsheet would take for a formula is told to be a text."""
        if isinstance(value, str) and value[:1] in ("=", "+", "-", "@", "\t", "\r"):
            return "'" + value
        if isinstance(value, float):
            return repr(value)
        return "" if value is None else value

    def add(self, columns: Sequence[Sequence[Any]]) -> None:
        for row in zip(*columns, strict=True):
            self.writer.writerow([self._cell(value) for value in row])

    def close(self) -> None:
        self.file.close()


class _Parquet:
    """zstd, a row group a page."""

    def __init__(self, path: Path, columns: Sequence[str]) -> None:
        self.path, self.columns = path, columns
        self.writer: Any = None

    def add(self, columns: Sequence[Sequence[Any]]) -> None:
        import pyarrow
        import pyarrow.parquet

        arrays = [self._array(column) for column in columns]
        table = pyarrow.Table.from_arrays(arrays, names=list(self.columns))
        if self.writer is None:
            self.writer = pyarrow.parquet.ParquetWriter(self.path, table.schema, compression="zstd")
        self.writer.write_table(table)

    @staticmethod
    def _array(values: Sequence[Any]) -> Any:
        import pyarrow

        kinds = {type(value) for value in values if value is not None}
        if kinds == {int, float}:
            return pyarrow.array([None if v is None else float(v) for v in values])
        if len(kinds) > 1:  # a key that is a number here and a text there
            return pyarrow.array([None if v is None else _as_text(v) for v in values])
        return pyarrow.array(list(values), pyarrow.string() if not kinds else None)

    def close(self) -> None:
        if self.writer is None:
            import pyarrow

            self.add([pyarrow.array([], pyarrow.string()) for _ in self.columns])
        self.writer.close()


def _as_text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)


METRIC_COLUMNS = ("metric", "step", "time_ms", "value")


def _metrics(server: _Server, run: str, path: Path, writer_of: type[_Csv | _Parquet]) -> None:
    part = path.with_name(path.name + ".partial")
    writer = writer_of(part, METRIC_COLUMNS)
    try:
        for metric in server.pages(f"/runs/{run}/metrics", kind="metric"):
            name = metric["name"]
            for page in server.points(run, name):
                values = [_number(value) for value in page["values"]]
                if values:
                    names = [name] * len(values)
                    writer.add([names, page["steps"], page["times"], values])
    finally:
        writer.close()
    part.replace(path)


def _runs_table(rows: list[Row], path: Path, writer_of: type[_Csv | _Parquet]) -> None:
    columns: dict[str, None] = {}
    for row in rows:
        columns.update(dict.fromkeys(row))
    writer = writer_of(path, list(columns))
    try:
        if rows:
            writer.add([[row.get(name) for row in rows] for name in columns])
    finally:
        writer.close()


def export(
    folder: str | os.PathLike[str],
    run: str | None,
    project: str | None,
    filter: str | None,
    format: str,
    server: str | None,
) -> list[str]:
    if format not in ("csv", "parquet"):
        raise _errors.InvalidError(f'format={format!r} is not "csv" or "parquet"')
    if (run is None) == (project is None):
        raise _errors.InvalidError("give run= or project=, one of them")
    if format == "parquet":
        try:
            import pyarrow.parquet  # noqa: F401
        except ImportError:
            raise _errors.InvalidError(
                "Parquet needs pyarrow: pip install 'euvyra[parquet]'; format=\"csv\" needs nothing"
            ) from None
    asked = _Server(server)
    if run is not None:
        runs = [asked.get(f"/runs/{urllib.parse.quote(run, safe='')}")]
    else:
        path = f"/projects/{urllib.parse.quote(str(project), safe='')}/runs"
        runs = list(asked.pages(path, filter=filter))
    writer_of: type[_Csv | _Parquet] = _Csv if format == "csv" else _Parquet
    out = Path(folder)
    (out / "metrics").mkdir(parents=True, exist_ok=True)
    _runs_table([_run_row(one) for one in runs], out / f"runs.{format}", writer_of)
    for one in runs:
        _metrics(asked, one["id"], out / "metrics" / f"{one['id']}.{format}", writer_of)
    return [one["id"] for one in runs]
