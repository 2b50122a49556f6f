"""The simulator: jobs a second, the shapes of another queue manager, and policies on a recorded trace.

BENCH_TRACE names a folder with openb_node_list_gpu_node.csv and openb_pod_list_gpuspec33.csv
of the public trace cluster-trace-gpu-v2023; without it there are no figures of it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from run import Figure

ROOT = Path(__file__).resolve().parent.parent
BUILD = Path(os.environ.get("EUVYRA_BUILD", ROOT / "build"))
TRACE = os.environ.get("BENCH_TRACE", "")
# The trace fills its cluster by a few hundredths; loads of thousands make it wait.
LOADS = os.environ.get("BENCH_TRACE_LOADS", "1,2,4,3000").split(",")
POLICIES = "fifo,fifo+backfill,fgd,euvyra"


def told(*args: str | Path) -> list[dict[str, Any]]:
    command = [BUILD / "euvyra-sim", "run", "--json", "--timing", *args]
    done = subprocess.run(command, check=True, capture_output=True)
    policies: list[dict[str, Any]] = json.loads(done.stdout)["policies"]
    return policies


def rush() -> list[Figure]:
    row = told("--generate", "rush", "--policies", "euvyra", "--heartbeats")[0]
    what = f"{row['jobs']:,} jobs through 2,000 agents (goal 5,000)"
    return [
        Figure("sim_jobs_per_s", row["succeeded"] / row["seconds"], "jobs/s", what),
        Figure("sim_cycle_ms", row["cycle_ms"], "ms", f"mean of {row['cycles']:,} cycles"),
    ]


def kueue() -> list[Figure]:
    row = told("--generate", "kueue-baseline", "--policies", "euvyra")[0]
    rows = [
        Figure("sim_kueue_wall_s", row["makespan_s"], "s", "15,000 workloads, virtual time"),
        Figure("sim_kueue_usage", row["utilisation"] * 100, "%", "of the quota over that time"),
    ]
    for name in ("large", "medium", "small"):
        mean = row["waits"][name]["mean_s"]
        rows.append(Figure(f"sim_kueue_admit_s_{name}", mean, "s", "mean wait"))
    return rows


def trace() -> list[Figure]:
    nodes = Path(TRACE) / "openb_node_list_gpu_node.csv"
    tasks = Path(TRACE) / "openb_pod_list_gpuspec33.csv"
    if not TRACE or not nodes.exists() or not tasks.exists():
        print(
            "sim: BENCH_TRACE names no folder with the trace: its figures are left out",
            file=sys.stderr,
        )
        return []
    rows = []
    for load in LOADS:
        policies = told(
            "--trace-nodes", nodes, "--trace-tasks", tasks, "--load", load, "--policies", POLICIES
        )  # fmt: skip
        for policy in policies:
            key = f"trace_{load}_{policy['policy']}"
            waits = policy["waits"]["all"]
            for name, value, unit, what in (
                ("busy", policy["utilisation_arriving"], "%", "GPUs in use while jobs arrive"),
                ("jain", policy["jain"], "", "Jain's index; projects from a hash of the name"),
                ("worst", policy["worst_share"], "%", "the worst project's part of its due"),
                ("free", policy["unallocated"], "%", "GPUs free while somebody waits"),
                ("p50_s", waits["p50_s"], "s", "half waited no longer"),
                ("p99_s", waits["p99_s"], "s", "99 % waited no longer"),
            ):
                if value is not None:
                    scale = 100 if unit == "%" else 1
                    rows.append(Figure(f"{key}_{name}", value * scale, unit, what))
    return rows


def figures() -> list[Figure]:
    return [*rush(), *kueue(), *trace()]
