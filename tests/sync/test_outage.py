"""A server that is away for as long as a day of training takes, and workers that load data meanwhile."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import textwrap
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from support import BUILD, Server, wait_for
from sync_rig import wait_for_sidecars

STEPS_A_DAY = 86_400  # one a second
SCALARS = 20
LINE_EVERY = 10
GROWTH_KB = 8 * 1024
PEAK_KB = 96 * 1024  # of the sidecar, which sends the day in posts of 8 MiB

DAY = f"""
    import euvyra, json, sys
    from pathlib import Path

    def resident(pid):
        lines = Path(f"/proc/{{pid}}/status").read_text().splitlines()
        return {{l.split(":")[0]: int(l.split()[1]) for l in lines if l.startswith("Rss")}}

    run = euvyra.init()
    run.log({{f"m{{n}}": 0.0 for n in range({SCALARS})}}, step=0)
    print("begun", run.dir, flush=True)
    sys.stdin.readline()  # until the server is gone
    lock = Path(run.dir, "sync.lock")
    memory = []
    for step in range(1, {STEPS_A_DAY}):
        run.log({{f"m{{n}}": step + n / 10 for n in range({SCALARS})}}, step=step)
        if step % {LINE_EVERY} == 0:
            print("step", step, flush=True)
        if step % ({STEPS_A_DAY} // 4) == 100:
            memory.append([resident("self"), resident(lock.read_text().split()[0])])
    print(json.dumps(memory), file=sys.stderr, flush=True)
    sys.stdin.readline()  # until the server is back
    run.finish()
"""


@pytest.fixture
def real(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, runs: Path) -> Iterator[Server]:
    with Server(tmp_path / "data") as running:
        running.ok("PUT", "/api/v1/projects/demo", {})
        monkeypatch.setenv("EUVYRA_SERVER", running.url)
        monkeypatch.setenv("EUVYRA_API_KEY", running.key)
        monkeypatch.setenv("EUVYRA_PROJECT", "demo")
        monkeypatch.setenv("EUVYRA_BIN", str(BUILD / "euvyra"))
        yield running
        wait_for_sidecars(runs)


def script(tmp_path: Path, text: str) -> subprocess.Popen[str]:
    path = tmp_path / "train.py"
    path.write_text(textwrap.dedent(text))
    return subprocess.Popen(
        [sys.executable, str(path)],
        cwd=tmp_path,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def counts(server: Server, run: str) -> dict[str, int]:
    items = server.ok("GET", f"/api/v1/runs/{run}/metrics?kind=metric&limit=1000")["items"]
    return {one["name"]: one["count"] for one in items}


def peak_kb(pid: int) -> int:
    """The most memory that a process has used until its end."""
    most = 0
    while True:
        try:
            status = Path(f"/proc/{pid}/status").read_text()
        except (FileNotFoundError, ProcessLookupError):
            return most
        found = re.search(r"^VmHWM:\s+(\d+)", status, re.MULTILINE)
        if not found:  # a zombie has none
            return most
        most = int(found.group(1))
        time.sleep(0.01)


def state(server: Server, run: str) -> str:
    answer = server.call("GET", f"/api/v1/runs/{run}")
    return str(answer.json["state"]) if answer.status == 200 else "not there"


def only(runs: Path) -> Path:
    (folder,) = runs.iterdir()
    return folder


def run_of(folder: Path) -> str:
    return str(json.loads((folder / "run.json").read_text())["run"])


def text_of(server: Server, run: str) -> str:
    text, offset = b"", 0
    while True:
        answer = server.send("GET", f"/api/v1/runs/{run}/console?offset={offset}&limit=1048576")
        if not answer.body:
            return text.decode()
        text += answer.body
        offset = int(answer.headers["euvyra-offset"])


def test_a_day_without_a_server_is_complete_afterwards_and_costs_no_memory(
    real: Server, runs: Path, tmp_path: Path
) -> None:
    process = script(tmp_path, DAY)
    assert process.stdin and process.stdout and process.stderr
    lines = iter(process.stdout.readline, "")
    assert next(line for line in lines if line.startswith("begun"))
    folder = only(runs)
    run = run_of(folder)
    wait_for("the first point", lambda: real.call("GET", f"/api/v1/runs/{run}").status == 200)
    wait_for("it", lambda: counts(real, run).get("m0") == 1)
    real.kill()
    process.stdin.write("gone\n")
    process.stdin.flush()
    last = (STEPS_A_DAY - 1) // LINE_EVERY * LINE_EVERY
    assert next(line for line in lines if line == f"step {last}\n")
    memory = next(json.loads(line) for line in process.stderr if line.startswith("[["))
    sidecar = int((folder / "sync.lock").read_text().split()[0])
    real.start()
    process.stdin.write("back\n")
    process.stdin.flush()
    most = peak_kb(sidecar)
    err = process.communicate(timeout=120)[1]
    assert process.returncode == 0, err
    assert 0 < most < PEAK_KB, most
    wait_for("the end", lambda: state(real, run) == "finished", 120)
    wait_for(
        "all points", lambda: counts(real, run) == {f"m{n}": STEPS_A_DAY for n in range(SCALARS)}
    )
    body = {"runs": [run], "metrics": ["m7"], "buckets": 4096}
    (series,) = real.ok("POST", "/api/v1/projects/demo/metrics/query", body)["series"]
    assert sum(series["counts"]) == STEPS_A_DAY
    assert series["x"][0] == 0 and series["last"][-1] == STEPS_A_DAY - 1 + 0.7
    printed = [line for line in text_of(real, run).splitlines() if line.startswith("step ")]
    assert printed == [f"step {step}" for step in range(LINE_EVERY, STEPS_A_DAY, LINE_EVERY)]
    assert len(memory) == 4
    for who in range(2):  # the training and its sidecar
        grown = memory[-1][who]["RssAnon"] - memory[0][who]["RssAnon"]
        assert grown < GROWTH_KB, memory
        assert memory[-1][who]["RssFile"] < 128 * 1024, memory  # the log is mapped piece by piece


# What a DataLoader with workers does: they are forked or spawned, again for each epoch, and log on
# their own while the main process does.
WORKERS = """
    import euvyra, multiprocessing, sys

    BATCHES, WORKERS, EPOCHS = 200, 3, 2

    def load(run, worker, epoch, batches):
        for batch in range(worker, BATCHES, WORKERS):
            run.log({f"load/{worker}": float(batch)}, step=epoch * BATCHES + batch)
            batches.put(batch)

    if __name__ == "__main__":
        run = euvyra.init()
        context = multiprocessing.get_context(sys.argv[1])
        for epoch in range(EPOCHS):
            batches = context.Queue(4)
            workers = [
                context.Process(target=load, args=(run, n, epoch, batches)) for n in range(WORKERS)
            ]
            for worker in workers:
                worker.start()
            for n in range(BATCHES):
                run.log({"loss": float(batches.get())}, step=epoch * BATCHES + n)
            for worker in workers:
                worker.join()
                assert worker.exitcode == 0
        run.finish()
"""


@pytest.mark.parametrize("kind", ["fork", "spawn", "forkserver"])
def test_workers_that_load_data_and_the_training_log_every_point_once(
    real: Server, runs: Path, tmp_path: Path, kind: str
) -> None:
    path = tmp_path / "train.py"
    path.write_text(textwrap.dedent(WORKERS))
    done = subprocess.run(
        [sys.executable, path, kind], cwd=tmp_path, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    run = run_of(only(runs))
    wait_for("the end", lambda: state(real, run) == "finished")
    want = {"loss": list(range(400))} | {
        f"load/{worker}": [
            epoch * 200 + batch for epoch in range(2) for batch in range(worker, 200, 3)
        ]
        for worker in range(3)
    }
    wait_for("the points", lambda: counts(real, run) == {k: len(v) for k, v in want.items()})
    for name, steps in want.items():
        body = {"runs": [run], "metrics": [name], "buckets": 4096}
        (series,) = real.ok("POST", "/api/v1/projects/demo/metrics/query", body)["series"]
        assert (series["x"], set(series["counts"])) == (steps, {1}), name


def test_init_twice_in_one_process_makes_two_runs_with_and_without_finish(
    real: Server, runs: Path, tmp_path: Path
) -> None:
    text = """
        import euvyra
        first = euvyra.init(name="first")
        first.log({"loss": 1.0})
        first.finish()
        second = euvyra.init(name="second")
        second.log({"loss": 2.0})
        third = euvyra.init(name="third")  # the second goes on beside it
        third.log({"loss": 3.0})
        second.log({"loss": 2.5})
        print(first.id, second.id, third.id)
    """
    path = tmp_path / "train.py"
    path.write_text(textwrap.dedent(text))
    done = subprocess.run([sys.executable, path], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    for run, want in zip(done.stdout.split()[-3:], ([1.0], [2.0, 2.5], [3.0]), strict=True):
        wait_for("the end", lambda: state(real, run) == "finished")  # noqa: B023
        wait_for("the points", lambda: counts(real, run) == {"loss": len(want)})  # noqa: B023
        body = {"runs": [run], "metrics": ["loss"]}
        (series,) = real.ok("POST", "/api/v1/projects/demo/metrics/query", body)["series"]
        assert series["last"] == want


def test_a_kernel_that_is_interrupted_in_log_goes_on_without_a_hole(
    real: Server, runs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    client_of = pytest.importorskip("jupyter_client")
    monkeypatch.setenv("JUPYTER_RUNTIME_DIR", str(tmp_path / "runtime"))
    kernels = tmp_path / "jupyter" / "kernels" / "python3"
    kernels.mkdir(parents=True)
    argv = [sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}"]
    (kernels / "kernel.json").write_text(
        json.dumps({"argv": argv, "display_name": "p", "language": "python"})
    )
    monkeypatch.setenv("JUPYTER_PATH", str(tmp_path / "jupyter"))
    manager, client = client_of.manager.start_new_kernel(kernel_name="python3", cwd=str(tmp_path))

    def cell(text: str) -> Any:
        return client.execute_interactive(textwrap.dedent(text), timeout=60)["content"]

    try:
        assert cell("import euvyra\nrun = euvyra.init()\nlogged = 0")["status"] == "ok"
        for _ in range(5):
            client.execute("while True:\n    run.log({'loss': 1.0}); logged += 1")
            folder = only(runs)
            size = sum(path.stat().st_blocks for path in folder.glob("*.log"))
            wait_for(
                "it to log",
                lambda: sum(p.stat().st_blocks for p in folder.glob("*.log")) > size,  # noqa: B023
            )
            manager.interrupt_kernel()
            assert cell("pass")["status"] in ("ok", "aborted")
            wait_for("the kernel", lambda: cell("logged")["status"] == "ok")
        done = cell("""
            before = logged
            run.log({"loss": 2.0})
            run.summary["logged"] = logged + 1
            run.finish()
        """)
        assert done["status"] == "ok", done
    finally:
        client.stop_channels()
        manager.shutdown_kernel(now=True)
    run = run_of(only(runs))
    wait_for("the end", lambda: state(real, run) == "finished")
    told = real.ok("GET", f"/api/v1/runs/{run}")["summary"]["logged"]
    # An interrupt may come between log() and the count of it.
    wait_for("the points", lambda: told <= counts(real, run).get("loss", 0) <= told + 5)
