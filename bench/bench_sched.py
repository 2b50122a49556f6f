"""The scheduler's cycle: 1,000 projects, 2,000 nodes of 8 GPUs, up to 200,000 jobs that wait."""

from __future__ import annotations

import functools
import json
import math
import os
import subprocess
from pathlib import Path
from typing import Any

from run import Figure

ROOT = Path(__file__).resolve().parent.parent
BUILD = Path(os.environ.get("EUVYRA_BUILD", ROOT / "build"))
CLUSTERS = {
    "saturated": "cycle",
    "half": "cycle_half",
    "empty": "cycle_empty",
    "light": "cycle_light",
}
WORDS = {
    "saturated": "nothing fits",
    "half": "half of it free",
    "empty": "all of it free",
    "light": "nothing fits",
}


@functools.cache
def measured() -> list[dict[str, Any]]:
    done = subprocess.run(
        [BUILD / "bench" / "bench_sched", "--json"], check=True, capture_output=True
    )
    told: list[dict[str, Any]] = json.loads(done.stdout)
    return told


def growth() -> list[dict[str, Any]]:
    return [row for row in measured() if row["name"] == "growth"]


def figures() -> list[Figure]:
    result = []
    for row in measured():
        if row["name"] not in CLUSTERS:
            continue
        what = f"{row['pending']:,} wait, {WORDS[row['name']]}: {row['starts']} start"
        goal = {"saturated": " (goal 100)", "light": " (goal 10)"}.get(row["name"], "")
        key = CLUSTERS[row["name"]]
        result += [
            Figure(f"{key}_ms", row["median"], "ms", what + goal),
            Figure(f"{key}_worst_ms", row["max"], "ms", "the slowest of 15"),
            Figure(f"{key}_cpu_ms", row["cpu"], "ms", "processor time alone"),
        ]
    first = growth()[0]
    for row in growth():
        ideal = row["pending"] * math.log(row["pending"])
        ratio = row["cpu"] / first["cpu"] / (ideal / first["pending"] / math.log(first["pending"]))
        result.append(
            Figure(
                f"cycle_{row['pending']}_cpu_ms",
                row["cpu"],
                "ms",
                f"{row['pending']:,} wait",
                ratio,
                "n log n of the first",
            )
        )
    return result


def plot(folder: Path) -> Path:
    """The cost over the jobs that wait, both axes logarithmic, beside a line of n log n."""
    rows = growth()
    last = rows[-1]
    ideal = [
        (row["pending"], last["cpu"] * row["pending"] * math.log(row["pending"])) for row in rows
    ]
    scale = last["pending"] * math.log(last["pending"])
    lines = {
        "#999": [(n, cost / scale) for n, cost in ideal],
        "#2563eb": [(row["pending"], row["cpu"]) for row in rows],
    }
    low = min(cost for points in lines.values() for _, cost in points)
    high = max(cost for points in lines.values() for _, cost in points)

    def at(n: float, cost: float) -> tuple[float, float]:
        x = math.log(n / rows[0]["pending"]) / math.log(last["pending"] / rows[0]["pending"])
        y = math.log(cost / low) / math.log(high / low)
        return 60 + 520 * x, 320 - 280 * y

    parts = ['<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 640 380" font-size="12">']
    parts.append('<rect width="640" height="380" fill="#fff"/>')
    for color, points in lines.items():
        places = " ".join(f"{x:.1f},{y:.1f}" for x, y in (at(n, cost) for n, cost in points))
        parts.append(f'<polyline points="{places}" fill="none" stroke="{color}"/>')
    for row in rows:
        x, y = at(row["pending"], row["cpu"])
        parts.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="#2563eb"/>')
        parts.append(f'<text x="{x - 20:.1f}" y="{y - 10:.1f}">{row["cpu"]:.0f} ms</text>')
        parts.append(f'<text x="{x - 20:.1f}" y="345">{row["pending"]:,}</text>')
    parts.append('<text x="60" y="370">jobs that wait; blue: a cycle, grey: n log n</text></svg>')
    path = folder / "sched.svg"
    path.write_text("\n".join(parts) + "\n")
    return path
