"""Jobs through the server over real HTTP: submissions, claims, 100,000 jobs, and the workload of
Kueue's own baseline test. Users and agents are played by bench_jobs, which shares the cores."""

from __future__ import annotations

import json
import os
import random
import shutil
import subprocess
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from run import Figure
from support import BUILD, Server, make_id

GIB = 1024**3
KUEUE_WALL_S, KUEUE_USAGE = 351.0, 58.7
KUEUE_ADMIT_S = {"large": 6.7, "medium": 76.8, "small": 215.0}
KUEUE_BOUND_S = 66.0

# due in ms, project, class, cpus, gpus, run time in ms, priority
Line = tuple[float, str, int, int, int, int, int]


def agents(server: Server, count: int, slots: int, cpus: int, gpus: int) -> str:
    lines = []
    server.ok("PUT", "/api/v1/targets/local", {})
    for number in range(count):
        agent = make_id("a")
        server.ok("PUT", f"/api/v1/agents/{agent}", {"name": f"node-{number}", "target": "local"})
        body = {"kind": "agent", "name": f"node-{number}", "agent": agent}
        made = server.ok("POST", "/api/v1/keys", body)
        lines.append(f"{agent} {made['key']} {slots} {cpus} {cpus * 4 * GIB} {gpus}")
    return "\n".join(lines) + "\n"


def play(
    server: Server, folder: Path, fleet: str, plan: Iterable[Line], connections: int, *more: str
) -> dict[str, Any]:
    (folder / "agents").write_text(fleet)
    with (folder / "plan").open("w") as file:
        for line in plan:
            file.write(" ".join(str(part) for part in line) + "\n")
    done = subprocess.run(
        [BUILD / "bench" / "bench_jobs", str(server.port), folder / "agents", folder / "plan",
         str(connections), *more],
        env={**os.environ, "EUVYRA_API_KEY": server.key}, check=True, stdout=subprocess.PIPE,
    )  # fmt: skip
    told: dict[str, Any] = json.loads(done.stdout)
    return told


def submits(folder: Path) -> list[Figure]:
    with Server(folder / "submits") as server:
        server.ok("PUT", "/api/v1/projects/demo", {})
        plan = [(0.0, "demo", 0, 1, 0, 0, 0)] * 50_000
        told = play(server, folder, "", plan, 64, "--abandon")
    return [
        Figure(
            "submits_per_s",
            len(plan) / told["submit_seconds"],
            "jobs/s",
            "submitted, on disk, 64 clients (goal 5,000; Slurm 330)",
        ),
        Figure("submit_p99_ms", told["submit_p99_ms"], "ms", "a submission among these"),
    ]


FLOOD, FLOOD_MORE, FLOOD_MAX = 100_000, 2_000, 101_000


def flood(folder: Path) -> list[Figure]:
    """100,000 submissions as fast as 64 clients can, while 200 agents claim and run; then more
    than a project may have."""
    with Server(folder / "flood", "--open-jobs-max", str(FLOOD_MAX)) as server:
        for project in ("demo", "full"):
            server.ok("PUT", f"/api/v1/projects/{project}", {})
        fleet = agents(server, 200, 8, 64, 8)
        plan = [(0.0, "demo", 0, 1, 1, 5000, 0)] * FLOOD
        told = play(server, folder, fleet, plan, 64, "--abandon")
        # What is kept: each once, none ended that nobody ended, rows that are what events say.
        jobs, runs, ids, doubled = (
            int(server.sql(f"SELECT {what}"))
            for what in (
                "count(*) FROM job",
                "count(*) FROM run",
                "count(DISTINCT run_id) FROM job",
                "count(*) FROM (SELECT job_id FROM attempt WHERE final = 0 GROUP BY job_id "
                "HAVING count(*) > 1) AS twice",
            )
        )
        assert (jobs, runs, ids, doubled) == (FLOOD, FLOOD, FLOOD, 0), (jobs, runs, ids, doubled)
        plan = [(0.0, "full", 0, 512, 0, 0, 0)] * (FLOOD_MAX + FLOOD_MORE)
        over = play(server, folder, "", plan, 64, "--abandon")
        assert (over["submitted"], over["refused"]) == (FLOOD_MAX, FLOOD_MORE), over
        rss = server.peak_bytes()
        fault, lines = server.check()
        assert fault == 0, lines
    return [
        Figure("flood_s", told["submit_seconds"], "s", "100,000 submissions, 64 clients (60 s)"),
        Figure("flood_submit_p99_ms", told["submit_p99_ms"], "ms", "a submission among these"),
        Figure("flood_claim_p99_ms", told["claim_p99_ms"], "ms", "200 agents accept meanwhile"),
        Figure("flood_ended", told["ended"], "jobs", "that ran and ended meanwhile"),
        Figure("flood_refused", over["refused"], "jobs", "beyond --open-jobs-max: 429"),
        Figure("flood_rss_mb", rss / 2**20, "MiB", "most memory of the server, 201,000 jobs"),
    ]


def through(folder: Path) -> list[Figure]:
    """100,000 jobs through 2,000 agents that hold a poll each."""
    with Server(folder / "through") as server:
        for number in range(20):
            server.ok("PUT", f"/api/v1/projects/p{number}", {})
        fleet = agents(server, 2000, 8, 64, 8)
        plan = [(0.0, f"p{n % 20}", 0, 1, 1, 0, 0) for n in range(100_000)]
        told = play(server, folder, fleet, plan, 64)
    return [
        Figure(
            "jobs_per_s",
            told["ended"] / told["seconds"],
            "jobs/s",
            "submitted to ended, 2,000 agents (goal 1,000; Slurm 50)",
        ),
        Figure("claim_p50_ms", told["claim_p50_ms"], "ms", "accept to answer, meanwhile"),
    ]


def claims(folder: Path) -> list[Figure]:
    """100 jobs a second on 2,000 agents."""
    with Server(folder / "claims") as server:
        server.ok("PUT", "/api/v1/projects/demo", {})
        fleet = agents(server, 2000, 8, 64, 8)
        plan = [(n * 10.0, "demo", 0, 1, 1, 500, 0) for n in range(2000)]
        told = play(server, folder, fleet, plan, 64)
    return [
        Figure("claim_p99_ms", told["claim_p99_ms"], "ms", "2,000 agents poll (goal 20)"),
        Figure("submit_to_claim_ms", told["class_wait_ms"][0], "ms", "mean, at 100 jobs a second"),
    ]


def kueue_plan(queues: list[str]) -> list[Line]:
    classes = [(2, 20, 1000, 200, 50, 1200), (1, 5, 500, 100, 100, 500), (0, 1, 200, 50, 350, 100)]
    plan: list[Line] = []
    for queue in queues:
        for number, units, run_ms, priority, count, every in classes:
            plan += [
                (float(every * n), queue, number, units, 0, run_ms, priority)
                for n in range(1, count + 1)
            ]
    random.Random(1).shuffle(plan)
    return sorted(plan, key=lambda line: line[0])


def kueue(folder: Path) -> list[Figure]:
    """Five teams of six projects, each sure of 20 of 600 units; 15,000 jobs in real time, on 30
    machines of 20 units (Kueue's own test has no machines, only quotas). As there, what is ended
    for another is lost and begins anew, and an admission is a job's last."""
    with Server(folder / "kueue", "--min-run", "0") as server:
        queues = []
        for team in range(5):
            limits = {"quota": {"cpus": 120}, "borrow": {"cpus": 0}}
            server.ok("PUT", f"/api/v1/teams/team-{team}", limits)
            for number in range(6):
                name = f"q{team}-{number}"
                server.ok("PUT", f"/api/v1/projects/{name}", {})
                share = {"parent": f"team-{team}", "quota": {"cpus": 20}, "borrow": {"cpus": 100}}
                server.ok("PUT", f"/api/v1/projects/{name}/share", share)
                queues.append(name)
        fleet = agents(server, 30, 20, 20, 0)
        told = play(server, folder, fleet, kueue_plan(queues), 64)
    usage = told["unit_ms"] / (600 * told["seconds"] * 1000) * 100
    rows = [
        Figure(
            "kueue_wall_s",
            told["seconds"],
            "s",
            f"Kueue's baseline workload (goal 75, bound {KUEUE_BOUND_S:.0f})",
            told["seconds"] / KUEUE_WALL_S,
            f"Kueue ({KUEUE_WALL_S:.0f} s)",
        ),
        Figure("kueue_usage", usage, "%", f"of 600 units (goal 88, Kueue {KUEUE_USAGE})"),
    ]
    rows.append(Figure("kueue_ends", told["stops"], "", "attempts ended for others, and run again"))
    for number, name in enumerate(("small", "medium", "large")):
        wait = told["class_wait_ms"][number] / 1000
        rows.append(
            Figure(
                f"kueue_admit_s_{name}",
                wait,
                "s",
                "mean, submitted to accepted (of one ended for another: to the last time)",
                wait / KUEUE_ADMIT_S[name],
                f"Kueue ({KUEUE_ADMIT_S[name]} s)",
            )
        )
    return rows


PARTS = (submits, flood, through, claims, kueue)


def figures() -> list[Figure]:
    folder = Path(tempfile.mkdtemp(prefix="euvyra-bench-", dir="/var/tmp"))
    only = os.environ.get("BENCH_JOBS", "")
    try:
        return [row for part in PARTS if only in part.__name__ for row in part(folder)]
    finally:
        if not os.environ.get("BENCH_KEEP"):
            shutil.rmtree(folder, ignore_errors=True)
