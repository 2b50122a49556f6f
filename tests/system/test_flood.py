"""More submissions than anybody can run, as fast as 64 clients can: nothing is lost, nothing is there
twice, claims go on, and what is too much is refused. `./dev bench jobs` does it with 100,000."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

from support import BUILD, Server, make_id, wait_for

GIB = 1024**3
CLAIMED, MORE = 2000, 3000
OPEN_MAX = 2700


def fleet(server: Server, count: int) -> str:
    lines = []
    server.ok("PUT", "/api/v1/targets/local", {})
    for number in range(count):
        agent, name = make_id("a"), f"node-{number}"
        server.ok("PUT", f"/api/v1/agents/{agent}", {"name": name, "target": "local"})
        body = {"kind": "agent", "name": name, "agent": agent}
        lines.append(f"{agent} {server.ok('POST', '/api/v1/keys', body)['key']} 8 8 {64 * GIB} 8")
    return "\n".join(lines) + "\n"


def play(server: Server, folder: Path, agents: str, plan: str, *more: str) -> dict[str, Any]:
    (folder / "agents").write_text(agents)
    (folder / "plan").write_text(plan)
    done = subprocess.run(
        [
            *(BUILD / "bench/bench_jobs", str(server.port), folder / "agents", folder / "plan"),
            *("64", *more),
        ],
        env={**os.environ, "EUVYRA_API_KEY": server.key},
        stdout=subprocess.PIPE,
        check=True,
        timeout=120,
    )
    return dict(json.loads(done.stdout))


def count(server: Server, what: str) -> int:
    return int(server.sql(f"SELECT count({what}) FROM job"))


def test_a_flood_of_submissions_loses_nothing_and_makes_nothing_twice(tmp_path: Path) -> None:
    with Server(tmp_path / "data", "--open-jobs-max", str(OPEN_MAX)) as server:
        for project in ("demo", "full"):
            server.ok("PUT", f"/api/v1/projects/{project}", {})
        ran = play(server, tmp_path, fleet(server, 20), "0 demo 0 1 1 5 0\n" * CLAIMED)
        assert (ran["submitted"], ran["ended"], ran["refused"]) == (CLAIMED, CLAIMED, 0)
        assert count(server, "DISTINCT id") == count(server, "DISTINCT run_id") == CLAIMED
        ended = server.sql("SELECT count(*) FROM attempt WHERE state = 'succeeded'")
        assert (int(ended), count(server, "CASE WHEN attempt_count = 1 THEN 1 END")) == (
            CLAIMED,
            CLAIMED,
        )
        over = play(server, tmp_path, "", "0 full 0 512 0 0 0\n" * MORE, "--abandon")
        assert (over["submitted"], over["refused"]) == (OPEN_MAX, MORE - OPEN_MAX)
        assert count(server, "DISTINCT id") == CLAIMED + OPEN_MAX
        wait_for(
            "the scheduler to have seen them all",
            lambda: (
                server.ok("GET", "/api/v1/jobs?project=full&limit=1")["items"][0]["waiting"]["code"]
                == "too_big"
            ),
        )
        body = {"run": make_id("r"), "spec": {"command": ["true"]}}
        answer = server.call("PUT", f"/api/v1/projects/full/jobs/{make_id('j')}", body)
        assert (answer.status, answer.code, answer.headers["retry-after"]) == (429, "limit", "1")
        assert answer.json["message"] == (
            f'project "full" has {OPEN_MAX} jobs that have not ended; with 1 more they would be '
            f"more than {OPEN_MAX}"
        )
        assert "--open-jobs-max" in answer.json["hint"]
        assert server.peak_bytes() < GIB
        code, lines = server.check()
        assert code == 0, lines
