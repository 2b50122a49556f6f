"""The SDK, the command line and the server, all real: one point from log() to the API."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parents[1]))

from support import BUILD, ROOT, Server, wait_for
from sync_rig import wait_for_sidecars

pytestmark = pytest.mark.skipif(not (BUILD / "euvyrad").exists(), reason="euvyrad is not built")

TRAIN = """
import euvyra, math
with euvyra.init(project="demo", name="n", config={"lr": 0.1, "nan": math.nan}, tags=["a"], notes="b") as run:
    for i in range(100):
        run.log({"loss": 1 / (i + 1), "odd": math.nan if i % 2 else float(i)})
    run.summary["best"] = 0.5
"""


@pytest.fixture
def real(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, runs: Path) -> Any:
    with Server(tmp_path / "data") as running:
        running.ok("PUT", "/api/v1/projects/demo", {})
        monkeypatch.setenv("EUVYRA_SERVER", running.url)
        monkeypatch.setenv("EUVYRA_API_KEY", running.key)
        monkeypatch.setenv("EUVYRA_BIN", str(BUILD / "euvyra"))
        yield running
        wait_for_sidecars(runs)


def start(tmp_path: Path, script: str, *args: str) -> subprocess.CompletedProcess[str]:
    path = tmp_path / "train.py"
    path.write_text(script)
    return subprocess.run(
        [sys.executable, str(path), *args],
        cwd=tmp_path,
        env=os.environ,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def only_run(runs: Path) -> str:
    (folder,) = runs.iterdir()
    return str(json.loads((folder / "run.json").read_text())["run"])


def ended(server: Server, run: str) -> Any:
    answer = server.call("GET", f"/api/v1/runs/{run}")
    return answer.json if answer.status == 200 and answer.json["ended_at"] else None


def points(server: Server, run: str, metric: str) -> int:
    page = server.ok("GET", f"/api/v1/runs/{run}/metrics?limit=100")
    return next((item["count"] for item in page["items"] if item["name"] == metric), 0)


def test_a_run_reaches_the_server_whole(real: Server, tmp_path: Path, runs: Path) -> None:
    done = start(tmp_path, TRAIN)
    assert done.returncode == 0, done.stderr
    run = only_run(runs)
    detail = wait_for("the run to end", lambda: ended(real, run))
    assert detail["state"] == "finished"
    assert (detail["name"], detail["tags"], detail["notes"]) == ("n", ["a"], "b")
    assert detail["config"]["lr"] == 0.1
    assert detail["summary"]["best"] == 0.5
    wait_for("all points", lambda: points(real, run, "loss") == 100)
    assert points(real, run, "odd") == 100
    wait_for("code", lambda: real.ok("GET", f"/api/v1/runs/{run}")["code"])
    assert real.ok("GET", f"/api/v1/runs/{run}")["machine"]["memory_bytes"] > 0


def test_a_server_away_for_the_whole_training_gets_the_same_run(
    real: Server, tmp_path: Path, runs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EUVYRA_MODE", "offline")
    assert start(tmp_path, TRAIN).returncode == 0
    command = [str(BUILD / "euvyra"), "sync", str(runs)]
    for _ in range(2):
        done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
        assert done.returncode == 0, done.stderr
    run = only_run(runs)
    assert wait_for("the run to end", lambda: ended(real, run))["state"] == "finished"
    wait_for("all points", lambda: points(real, run, "loss") == 100)


def test_the_example_trains_and_is_recorded(real: Server, runs: Path) -> None:
    pytest.importorskip("sklearn")
    done = subprocess.run(
        [sys.executable, str(ROOT / "examples" / "digits" / "train.py"), "--epochs", "3"],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    run = only_run(runs)
    detail = wait_for("the run to end", lambda: ended(real, run))
    assert detail["summary"]["val/accuracy"] > 0.8
    wait_for("all points", lambda: points(real, run, "val/accuracy") == 3)


def test_exec_of_a_failing_command_is_a_failed_run(real: Server, runs: Path) -> None:
    done = subprocess.run(
        [BUILD / "euvyra", "exec", "--project", "demo", "--", "sh", "-c", "echo hello; exit 3"],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stdout) == (3, "hello\n")
    run = only_run(runs)
    detail = wait_for("the run to end", lambda: ended(real, run))
    assert (detail["state"], detail["exit_code"]) == ("failed", 3)
    assert detail["console_bytes"] >= len("hello\n")


def test_a_command_of_exec_finds_the_program_that_runs_it(
    real: Server, runs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = ["sh", "-c", "echo $EUVYRA_BIN"]
    command = [str(BUILD / "euvyra"), "exec", "--project", "demo", "--", *script]
    monkeypatch.delenv("EUVYRA_BIN", raising=False)
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout == f"{BUILD / 'euvyra'}\n"
    monkeypatch.setenv("EUVYRA_BIN", "/opt/another")
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout == "/opt/another\n"


@pytest.mark.parametrize("mode", ["online", "offline"])
def test_the_parent_of_exec_knows_better_than_the_script(
    real: Server, tmp_path: Path, runs: Path, monkeypatch: pytest.MonkeyPatch, mode: str
) -> None:
    monkeypatch.setenv("EUVYRA_MODE", mode)
    script = (
        "import euvyra, os\nrun = euvyra.init()\nrun.log({'a': 1})\nrun.finish()\nos._exit(3)\n"
    )
    (tmp_path / "train.py").write_text(script)
    command = [str(BUILD / "euvyra"), "exec", "--project", "demo", "--", sys.executable]
    done = subprocess.run(
        [*command, str(tmp_path / "train.py")], capture_output=True, timeout=60, check=False
    )
    assert done.returncode == 3, done.stderr
    run = only_run(runs)
    if mode == "offline":
        subprocess.run([BUILD / "euvyra", "sync", runs], check=True, stdout=subprocess.DEVNULL)
    state = wait_for(
        "the parent's word",
        lambda: (ended(real, run) or {}).get("exit_code") == 3 and ended(real, run),
        10,
    )
    assert state["state"] == "failed"
