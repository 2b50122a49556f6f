"""Deleting runs: gone at once, freed in the background, also after a kill; retention."""

from __future__ import annotations

import urllib.parse
from pathlib import Path

from support import Log, Server, make_id, wait_for

TABLES = [
    "run_doc", "run_console", "run_file", "writer", "writer_doc", "writer_console", "writer_name",
    "writer_gone", "log_blob", "log_record", "run_metric", "metric_chunk", "metric_level",
    "metric_series", "alert", "attribute", "run",
]  # fmt: skip


def add_run(server: Server, rows: int, name: str = "x", ended_at: int = 0) -> str:
    run = make_id("r")
    server.ok("PUT", f"/api/v1/projects/demo/runs/{run}", {"name": name, "tags": ["a"]})
    log = Log()
    if ended_at:
        log.clock = ended_at
    log.start(config={"lr": 0.1})
    for step in range(rows):
        log.row(step, {f"m{n}": step * 0.37 + n for n in range(20)})
    log.console(b"text\n")
    log.record(999, b"of another version")
    log.end(exit_code=0)
    server.upload(run, log)
    return run


def rows_left(server: Server) -> dict[str, int]:
    return {table: int(server.sql(f"SELECT count(*) FROM {table}")) for table in TABLES}


def test_a_deleted_run_is_gone_at_once_and_its_rows_soon(server: Server) -> None:
    kept = add_run(server, 5000, "kept")
    server.wait_compacted()
    before = rows_left(server)
    run = add_run(server, 3000, "gone")
    log = Log()
    server.ok("DELETE", f"/api/v1/runs/{run}")
    answer = server.call("GET", f"/api/v1/runs/{run}")
    assert (answer.status, answer.code) in ((410, "gone"), (404, "not_found"))
    log.start()
    assert server.append(run, log).status in (404, 410)
    listed = server.ok("GET", "/api/v1/projects/demo/runs?sort=metric.m0.min")
    assert [item["id"] for item in listed["items"]] == [kept]
    assert listed["total"] == 1
    query = urllib.parse.urlencode({"filter": "metric.m0.count > 0"})
    assert server.ok("GET", f"/api/v1/projects/demo/runs?{query}")["total"] == 1
    assert server.ok("GET", "/api/v1/projects/demo")["run_count"] == 1
    wait_for("its rows to go", lambda: rows_left(server) == before)
    assert server.call("GET", f"/api/v1/runs/{run}").status == 404
    assert server.ok("PUT", f"/api/v1/projects/demo/runs/{run}", {})["id"] == run


def test_deletion_frees_space_and_goes_on_after_a_kill(tmp_path: Path) -> None:
    server = Server(tmp_path / "data")
    server.start()
    server.ok("PUT", "/api/v1/projects/demo", {})
    runs = [add_run(server, 8000) for _ in range(2)]
    wait_for(
        "chunks",
        lambda: server.sql("SELECT count(*) FROM writer WHERE compacted_offset = 0") == "0",
    )
    for run in runs:
        server.ok("DELETE", f"/api/v1/runs/{run}")
    server.kill()
    assert server.sql("SELECT count(*) FROM run") != "0"
    with server:
        wait_for("the rest to go", lambda: not any(rows_left(server).values()))
        if not server.database:
            wait_for("free pages", lambda: int(server.sql("PRAGMA freelist_count")) <= 256)
    if not server.database:
        assert (server.data / "euvyra.db").stat().st_size < 3_000_000


def test_old_runs_are_deleted_where_a_project_says_so(tmp_path: Path) -> None:
    server = Server(tmp_path / "data")
    with server:
        server.ok("PUT", "/api/v1/projects/demo", {})
        assert server.ok("GET", "/api/v1/projects/demo")["retain_days"] == 0
        long_ago = 1_600_000_000_000
        old = [add_run(server, 3, "old", long_ago) for _ in range(25)]
        keep = add_run(server, 3, "keep", long_ago)
        server.ok("PATCH", f"/api/v1/runs/{keep}", {"tags": ["keep"]})
        running = make_id("r")
        server.ok("PUT", f"/api/v1/projects/demo/runs/{running}", {})
        new = add_run(server, 3, "new")
        done = server.ok("PATCH", "/api/v1/projects/demo", {"retain_days": 30})
        assert done["retain_days"] == 30
        bad = server.call("PATCH", "/api/v1/projects/demo", {"retain_days": -1})
        assert (bad.status, bad.json["field"]) == (400, "retain_days")
    with server:  # looks at the start and every hour
        path = "/api/v1/projects/demo/runs?limit=1000"
        wait_for("the old ones to go", lambda: server.ok("GET", path)["total"] == 3)
        left = {item["id"] for item in server.ok("GET", path)["items"]}
        assert left == {keep, running, new}
        assert server.call("GET", f"/api/v1/runs/{old[0]}").status in (404, 410)
        audit = server.ok("GET", "/api/v1/audit?limit=1000")["items"]
        told = [row for row in audit if row["operation"] == "retain"]
        assert len(told) == len(old)
