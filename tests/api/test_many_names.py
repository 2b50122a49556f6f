"""Runs of so many metrics that they are written piece by piece."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

from support import Log, Server, make_id, wait_for

NAMES = 2_600  # three pieces and more
STEPS = 3


def row_of(step: int) -> dict[str, float]:
    return {f"layer/{n:05d}": float(step * NAMES + n) for n in range(NAMES)}


def facts_of(server: Server, run: str) -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = {}
    cursor = ""
    while True:
        page = server.ok("GET", f"/api/v1/runs/{run}/metrics?limit=1000{cursor}")
        found |= {item["name"]: item for item in page["items"]}
        if not page["next_cursor"]:
            return found
        cursor = f"&cursor={page['next_cursor']}"


def are_whole(facts: dict[str, dict[str, Any]], steps: list[int]) -> bool:
    """Whether every name has each of the steps once."""
    if len(facts) != NAMES:
        return False
    rows = {step: row_of(step) for step in steps}
    return all(
        (
            (one["count"], one["first"], one["last"], one["min"], one["max"])
            == (len(steps), rows[steps[0]][name], rows[steps[-1]][name], *ends(rows, name))
        )
        for name, one in facts.items()
    )


def ends(rows: dict[int, dict[str, float]], name: str) -> tuple[float, float]:
    values = [row[name] for row in rows.values()]
    return min(values), max(values)


def test_every_fact_of_many_metrics_is_brought_in_once(server: Server, run: str) -> None:
    log = Log()
    for step in range(STEPS):
        log.row(step, row_of(step))
        server.upload(run, log)
        wait_for("the facts", lambda: are_whole(facts_of(server, run), list(range(step + 1))))  # noqa: B023
    assert server.sql("SELECT facts_stale FROM run") == "0"
    assert server.ok("GET", f"/api/v1/runs/{run}")["unknown_records"] == 0


def test_two_processes_of_many_metrics_meet_in_one_run(server: Server, run: str) -> None:
    logs = [Log(), Log()]
    for index, log in enumerate(logs):
        log.clock += (
            index  # two points of the same moment would be told apart by their values alone
        )
        for step in range(index, 6, 2):
            log.row(step, row_of(step))
    threads = [threading.Thread(target=server.upload, args=(run, log)) for log in logs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    wait_for("the facts", lambda: are_whole(facts_of(server, run), list(range(6))))


def test_a_number_that_is_given_to_a_second_name_counts_for_it(server: Server, run: str) -> None:
    log = Log()
    for n in range(NAMES):
        log.name(f"layer/{n:05d}")
    log.names |= {"again": log.name("layer/00000")}
    log.names["alias"] = NAMES + 5
    raw = b"layer/00001"
    log.record(4, (NAMES + 5).to_bytes(4, "little") + b"\1\0\0\0\0\0" + bytes([len(raw), 0]) + raw)
    log.row(0, row_of(0) | {"alias": 7.0})
    server.upload(run, log)
    wait_for("the facts", lambda: len(facts_of(server, run)) == NAMES)
    server.wait_facts()
    facts = facts_of(server, run)
    assert (facts["layer/00001"]["count"], facts["layer/00001"]["max"]) == (2, 7.0)
    assert facts["layer/00002"]["count"] == 1


def test_what_was_cut_short_is_worked_out_anew(tmp_path: Path) -> None:
    with Server(tmp_path / "data") as server:
        server.ok("PUT", "/api/v1/projects/demo", {})
        run = make_id("r")
        server.ok("PUT", f"/api/v1/projects/demo/runs/{run}", {})
        log = Log()
        log.row(0, row_of(0))
        server.upload(run, log)
        wait_for("the facts", lambda: are_whole(facts_of(server, run), [0]))
    # As a server leaves it that is killed among the pieces: some are in, some are not.
    server.change("UPDATE run SET facts_stale = 2")
    server.change("UPDATE run_metric SET point_count = 9 WHERE metric_id % 2 = 0")
    server.change("DELETE FROM run_metric WHERE metric_id % 3 = 0")
    with server:
        wait_for("the facts", lambda: are_whole(facts_of(server, run), [0]))
        log.row(1, row_of(1))
        server.upload(run, log)
        wait_for("the facts", lambda: are_whole(facts_of(server, run), [0, 1]))
