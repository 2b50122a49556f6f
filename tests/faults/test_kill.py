"""kill -9 at random moments of a training: nothing acknowledged is lost, nothing counted twice, the
job and its run end as they should, and no process is left.

EUVYRA_FAULT_ROUNDS says how often for each victim (3; ./dev test faults: 20); a failing round prints
its seed, and EUVYRA_FAULT_SEED replays it.
"""

from __future__ import annotations

import contextlib
import os
import random
import signal
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from agents import Agent, processes_of
from support import Server, make_id, wait_for

ROUNDS = int(os.environ.get("EUVYRA_FAULT_ROUNDS", "3"))
SEED = int(os.environ.get("EUVYRA_FAULT_SEED", "0")) or random.randrange(1, 1 << 30)
STEPS = 150
TRAINING = f"""
import time, euvyra
run = euvyra.init(config={{"steps": {STEPS}}})
for step in range({STEPS}):
    run.log({{"loss": float(step)}}, step=step)
    print("step", step, flush=True)
    time.sleep(0.01)
run.finish()
"""


def command_of(pid: int) -> str:
    try:
        return (
            Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
        )
    except OSError:
        return ""


def every_process() -> list[int]:
    return [int(entry.name) for entry in Path("/proc").glob("[0-9]*")]


def victims(kind: str, server: Server, agent: Agent, attempt: Path) -> list[int]:
    """The processes to kill; empty while there is none yet."""
    if kind == "server":
        return [server.process.pid] if server.process else []
    if kind == "agent":
        return [agent.process.pid] if agent.process else []
    if kind == "supervisor":
        wanted = f"attempt {attempt}"
        return [pid for pid in every_process() if wanted in command_of(pid)]
    mine = processes_of(attempt.name)
    sidecars = [pid for pid in mine if "--follow" in command_of(pid)]
    if kind == "sidecar":
        return sidecars
    return [pid for pid in mine if "train.py" in command_of(pid)]


def show(server: Server, job: str) -> dict[str, Any]:
    """The job; the server may be away for a moment."""
    try:
        return dict(server.ok("GET", f"/api/v1/jobs/{job}"))
    except OSError:
        return {}


def points(server: Server, run: str) -> list[tuple[int, float, int]]:
    body = {"runs": [run], "metrics": ["loss"], "buckets": 4096}
    series = server.ok("POST", "/api/v1/projects/demo/metrics/query", body)["series"]
    if not series:
        return []
    return list(zip(series[0]["x"], series[0]["last"], series[0]["counts"], strict=True))


@pytest.mark.parametrize("round_", range(ROUNDS))
@pytest.mark.parametrize("kind", ["trainer", "sidecar", "server", "agent", "supervisor"])
def test_killed_at_a_random_moment(kind: str, round_: int, tmp_path: Path) -> None:
    chance = random.Random(SEED * 1000 + round_)
    print(f"EUVYRA_FAULT_SEED={SEED}")
    script = tmp_path / "train.py"
    script.write_text(TRAINING)
    server = Server(tmp_path / "data").start()
    try:
        server.ok("PUT", "/api/v1/projects/demo", {})
        with Agent(server, tmp_path / "agent") as agent:
            job = make_id("j")
            spec = {"command": [sys.executable, str(script)], "grace_s": 5}
            server.ok(
                "PUT", f"/api/v1/projects/demo/jobs/{job}", {"run": make_id("r"), "spec": spec}
            )
            wait_for("the start", lambda: show(server, job).get("state") == "running")
            attempt = wait_for("the attempt's folder", agent.attempts)[0]
            pids = wait_for(f"the {kind}", lambda: victims(kind, server, agent, attempt))
            time.sleep(chance.uniform(0, 1.2))  # the random moment
            for pid in pids:
                with contextlib.suppress(ProcessLookupError):  # a kill after the end is a case too
                    os.kill(pid, signal.SIGKILL)
            if kind == "server":
                assert server.process
                server.process.wait()
                server.kill()
                server.start()
            if kind == "agent":
                assert agent.process
                agent.process.wait()
                agent.start()
            done = wait_for("the end of the record", lambda: ended(server, job))
            check(kind, server, done)
            wait_for("no process to be left", lambda: not processes_of(attempt.name))
    finally:
        if server.process:
            server.stop()


def ended(server: Server, job: str) -> dict[str, Any]:
    shown = show(server, job)
    return shown if shown.get("console_final") else {}


def check(kind: str, server: Server, job: dict[str, Any]) -> None:
    got = points(server, job["run"])
    run = server.ok("GET", f"/api/v1/runs/{job['run']}")
    for step, value, count in got:
        assert (value, count) == (float(step), 1), f"step {step}: {value}, {count} times"
    assert [step for step, _, _ in got] == list(range(len(got))), "a step is missing in the middle"
    text = server.send("GET", f"/api/v1/runs/{job['run']}/console?limit=1048576").body.decode()
    printed = [int(line.split()[1]) for line in text.splitlines() if line.startswith("step ")]
    assert printed == list(range(len(printed))), "console text is lost or doubled"
    if kind in ("trainer", "supervisor") and job["state"] != "succeeded":
        assert (job["state"], run["state"]) == ("failed", "killed" if job["signal"] else "failed")
        # log() comes before print(): every line that was printed has its point
        assert len(got) >= len(printed)
        return
    assert (job["state"], job["exit_code"], run["state"]) == ("succeeded", 0, "finished"), job
    assert len(got) == STEPS and len(printed) == STEPS
