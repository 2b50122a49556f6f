"""Runs that are killed, stopped, taken away, many at once, and what is kept of them: the SDK, the
command line and the server, all real."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from support import BUILD, Server, wait_for
from sync_rig import is_followed, wait_for_sidecars

EUVYRA = str(BUILD / "euvyra")


@pytest.fixture
def real(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, runs: Path) -> Iterator[Server]:
    with Server(tmp_path / "data") as running:
        running.ok("PUT", "/api/v1/projects/demo", {})
        monkeypatch.setenv("EUVYRA_SERVER", running.url)
        monkeypatch.setenv("EUVYRA_API_KEY", running.key)
        monkeypatch.setenv("EUVYRA_PROJECT", "demo")
        monkeypatch.setenv("EUVYRA_BIN", EUVYRA)
        yield running
        wait_for_sidecars(runs)


Start = Callable[..., "subprocess.Popen[str]"]


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    """Starts a training script; kills what is left of it."""
    started: list[subprocess.Popen[str]] = []

    def run(text: str, *args: str, **env: str) -> subprocess.Popen[str]:
        path = tmp_path / f"train{len(started)}.py"
        path.write_text(textwrap.dedent(text))
        started.append(
            subprocess.Popen(
                [sys.executable, str(path), *args],
                cwd=tmp_path,
                env={**os.environ, **env},
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
            )
        )
        return started[-1]

    yield run
    for process in started:
        if process.poll() is None:
            process.kill()
        process.communicate()


def line(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    return process.stdout.readline().strip()


def done(process: subprocess.Popen[str]) -> str:
    out, err = process.communicate(timeout=60)
    assert process.returncode == 0, err
    return out


def only_run(runs: Path) -> str:
    (folder,) = runs.iterdir()
    return str(json.loads((folder / "run.json").read_text())["run"])


def shown(server: Server, run: str) -> Any:
    answer = server.call("GET", f"/api/v1/runs/{run}")
    return answer.json if answer.status == 200 else {"state": "not there"}


def until(server: Server, run: str, state: str) -> Any:
    wait_for(f"{run} to be {state}", lambda: shown(server, run)["state"] == state)
    return shown(server, run)


def console(server: Server, run: str) -> bytes:
    return server.send("GET", f"/api/v1/runs/{run}/console?limit=1048576").body


def sidecar_pid(folder: Path) -> int:
    wait_for("the sidecar", lambda: is_followed(folder) and (folder / "sync.lock").read_text())
    return int((folder / "sync.lock").read_text().split()[0])


KILLED = """
    import euvyra, os, sys
    run = euvyra.init()
    if "mark" in sys.argv:
        run.mark_preempting()
    run.log({"loss": 1.0})
    sys.stderr.write("\\r50%")
    os.write(1, b"last words")
    os.kill(os.getpid(), 9)
"""


@pytest.mark.parametrize(("word", "state"), [("", "crashed"), ("mark", "preempted")])
def test_a_killed_script_is_known_at_once_and_its_last_words_are_kept(
    real: Server, start: Start, runs: Path, word: str, state: str
) -> None:
    process = start(KILLED, word)
    out, _ = process.communicate(timeout=60)
    assert out == "last words"
    run = only_run(runs)
    until(real, run, state)
    wait_for("the text", lambda: len(console(real, run)) == len("last words\r50%"))
    assert b"last words" in console(real, run)


def test_what_any_process_prints_is_kept_and_passed_on(
    real: Server, start: Start, runs: Path
) -> None:
    process = start("""
        import euvyra, os, subprocess, sys
        print("before")
        run = euvyra.init()
        print("from python")
        subprocess.run(["sh", "-c", "echo from a child; echo wrong >&2"])
        os.write(1, b"from C\\n")
        sys.stdout.write("x" * 300_000 + "\\n")
        run.finish()
        print("after")
    """)
    out, err = process.communicate(timeout=60)
    wanted = "from python\nfrom a child\nfrom C\n" + "x" * 300_000 + "\n"
    assert out == f"before\n{wanted}after\n"
    assert err.endswith("wrong\n")
    run = only_run(runs)
    until(real, run, "finished")
    whole = len(wanted) + len("wrong\n")
    wait_for("the text", lambda: len(console(real, run)) == whole)
    text = console(real, run).decode()
    assert text.replace("wrong\n", "") == wanted and "wrong\n" in text


@pytest.mark.parametrize(
    ("argument", "env"), [("console=False", {}), ("", {"EUVYRA_CONSOLE": "off"})]
)
def test_text_is_not_kept_where_nobody_wants_it(
    real: Server, start: Start, runs: Path, argument: str, env: dict[str, str]
) -> None:
    assert (
        done(start(f"import euvyra; euvyra.init({argument}).finish(); print('x')", **env)) == "x\n"
    )
    assert until(real, only_run(runs), "finished")["console_bytes"] == 0


def test_printing_goes_on_when_the_recorder_of_the_text_dies(start: Start, runs: Path) -> None:
    process = start(
        """
        import euvyra, os, signal, sys
        run = euvyra.init(mode="offline")
        print("one")
        sys.stdin.readline()
        from euvyra import _console
        os.kill(_console._state["capture"].pid, signal.SIGKILL)
        for n in range(20_000):
            print(f"{n:0100d}")
        run.finish()
        print("end")
        """,
    )
    assert line(process) == "one"
    out = "one\n" + process.communicate("go\n", timeout=60)[0]
    assert out.endswith(f"{19_999:0100d}\nend\n")
    assert out.count("\n") == 20_002


def test_a_run_hears_that_it_is_asked_to_stop(real: Server, start: Start, runs: Path) -> None:
    process = start("""
        import euvyra, time
        run = euvyra.init(console=False)
        print("up", flush=True)
        step = 0
        while not run.stopping:
            run.log({"loss": step})
            step += 1
            time.sleep(0.01)
        print("stopped")
    """)
    assert line(process) == "up"
    run = only_run(runs)
    until(real, run, "running")
    asked = subprocess.run([EUVYRA, "stop", run], capture_output=True, text=True, check=True)
    assert run in asked.stdout
    assert shown(real, run)["stopping"] is True
    assert done(process) == "stopped\n"
    assert until(real, run, "finished")["stopping"] is False


def test_alerts_reach_people(real: Server, start: Start, runs: Path) -> None:
    done(
        start("""
        import euvyra
        with euvyra.init() as run:
            run.alert("loss is odd", "at step 3: ü", level="warn")
            run.alert("no such level", level="loud")
    """)
    )
    run = only_run(runs)
    until(real, run, "finished")
    items = real.ok("GET", f"/api/v1/runs/{run}/alerts")["items"]
    told = [(one["title"], one["text"], one["level"]) for one in items]
    assert told == [("no such level", "", "info"), ("loss is odd", "at step 3: ü", "warn")]
    listed = subprocess.run([EUVYRA, "alerts"], capture_output=True, text=True, check=True).stdout
    assert "loss is odd" in listed and run in listed


def test_what_metrics_mean_is_said_offline_by_forks_and_again_on_resume(
    real: Server, start: Start, runs: Path
) -> None:
    script = """
        import euvyra, os, sys
        run = euvyra.init(id="means", resume="allow")
        run.define_metric("loss", goal="minimize")
        if sys.argv[1] == "first":
            run.define_metric("*", summary="max")
            if os.fork() == 0:
                run.define_metric("forked", summary="first")
                run.log({"forked": 7})
                os._exit(0)
            os.wait()
        else:
            run.define_metric("acc", summary="mean", step_metric="epoch")
        for step in range(3):
            run.log({"loss": [3, 1, 2][step], "acc": [1, 9, 2][step], "other": [1, 9, 2][step]})
        run.finish()
    """
    for life in ("first", "second"):
        done(start(script, life, EUVYRA_MODE="offline"))
        wait_for_sidecars(runs)
    env = {**os.environ, "EUVYRA_SERVER": real.url, "EUVYRA_API_KEY": real.key}
    subprocess.run([EUVYRA, "sync", str(runs)], env=env, check=True, capture_output=True)
    run = only_run(runs)
    until(real, run, "finished")
    wait_for(
        "all logs",
        lambda: real.sql("SELECT sum(committed_offset - applied_offset) FROM writer") == "0",
    )
    assert real.ok("GET", f"/api/v1/runs/{run}")["definitions"] == [
        {"name": "acc", "step_metric": "epoch", "summary": "mean", "goal": None},
        {"name": "forked", "step_metric": None, "summary": "first", "goal": None},
        {"name": "loss", "step_metric": None, "summary": "min", "goal": "minimize"},
        {"name": "*", "step_metric": None, "summary": "max", "goal": None},
    ]
    shown = real.ok("GET", f"/api/v1/runs/{run}")["summary"]
    assert shown == {"acc": 4.0, "forked": 7.0, "loss": 1.0, "other": 9.0}
    told = subprocess.run([EUVYRA, "run", run], env=env, capture_output=True, text=True, check=True)
    assert "  loss                 min, minimize\n" in told.stdout
    assert "  acc                  mean, over epoch\n" in told.stdout


@pytest.mark.parametrize("how", ["log", "finish"])
def test_a_killed_sidecar_is_started_again(
    real: Server, start: Start, runs: Path, how: str
) -> None:
    process = start(
        """
        import euvyra, sys, time
        run = euvyra.init(console=False)
        run.log({"loss": 0})
        print("up", flush=True)
        sys.stdin.readline()
        step = 0
        while sys.argv[1] == "log" and step < 2000:
            step += 1
            run.log({"loss": step})
            time.sleep(0.005)
        run.finish()
    """,
        how,
    )
    assert line(process) == "up"
    (folder,) = runs.iterdir()
    os.kill(sidecar_pid(folder), signal.SIGKILL)
    wait_for("its death", lambda: not is_followed(folder))
    assert process.stdin is not None
    process.stdin.write("go\n")
    process.stdin.flush()
    if how == "log":
        wait_for("another one", lambda: is_followed(folder))
    done(process)
    run = only_run(runs)
    until(real, run, "finished")
    want = 2001 if how == "log" else 1
    metrics = f"/api/v1/runs/{run}/metrics?kind=metric"
    wait_for("all points", lambda: real.ok("GET", metrics)["items"][0]["count"] == want)


RANK = """
    import euvyra, sys, time
    run = euvyra.init(id="shared", console=False)
    for step in range(30):
        run.log({"loss": 1.0}, step=step)
    print("up", flush=True)
    sys.stdin.readline()
    run.finish(int(sys.argv[1]))
"""


def test_ranks_that_start_together_are_one_run(real: Server, start: Start, runs: Path) -> None:
    ranks = [
        start(RANK, "0" if rank == 0 else "1", RANK=str(rank), LOCAL_RANK=str(rank), WORLD_SIZE="6")
        for rank in range(6)
    ]
    for process in ranks:
        assert line(process) == "up"
    run = only_run(runs)
    wanted = {f"rank.{rank}.memory_bytes" for rank in range(6)}

    def sampled() -> bool:
        page = real.call("GET", f"/api/v1/runs/{run}/metrics?kind=system&limit=1000")
        return page.status == 200 and wanted <= {one["name"] for one in page.json["items"]}

    with real.events():  # somebody watches: the sidecar comes every second
        wait_for("a sample of each rank", sampled)
    for process in reversed(ranks):
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()
        process.wait(60)
    until(real, run, "finished")
    writers = real.ok("GET", f"/api/v1/runs/{run}/writers")["items"]
    trainers = [one for one in writers if one["kind"] == "trainer"]
    assert sorted(one["rank"] for one in trainers) == list(range(6))
    assert {one["world_size"] for one in trainers} == {6}
    (loss,) = real.ok("GET", f"/api/v1/runs/{run}/metrics?kind=metric")["items"]
    assert loss["count"] == 180


def test_forked_and_spawned_workers_write_the_same_run(
    real: Server, start: Start, runs: Path
) -> None:
    done(
        start("""
        import euvyra, multiprocessing, os

        def work(run, n):
            run.log({"worker": n}, step=n)

        if __name__ == "__main__":
            run = euvyra.init()
            for kind in ("fork", "spawn"):
                process = multiprocessing.get_context(kind).Process
                workers = [process(target=work, args=(run, n)) for n in range(3)]
                for one in workers:
                    one.start()
                for one in workers:
                    one.join()
            run.log({"loss": 1.0})
            run.finish()
    """)
    )
    run = only_run(runs)
    until(real, run, "finished")

    def counts() -> dict[str, int]:
        items = real.ok("GET", f"/api/v1/runs/{run}/metrics?kind=metric")["items"]
        return {one["name"]: one["count"] for one in items}

    wait_for("all points", lambda: counts() == {"worker": 6, "loss": 1})


def test_a_diff_and_new_files_are_kept_without_secrets(
    real: Server, start: Start, runs: Path, tmp_path: Path
) -> None:
    def git(*words: str) -> None:
        command = ["git", "-c", "user.name=a", "-c", "user.email=a@b", *words]
        subprocess.run(command, cwd=tmp_path, check=True, capture_output=True)

    (tmp_path / ".gitignore").write_text("data*\nruns\n*.key\n")
    (tmp_path / "model.py").write_text("a = 1\n")
    git("init")
    git("add", ".")
    git("commit", "-m", "one")
    (tmp_path / "model.py").write_text("a = 2\nurl = 'https://me:hunter2@host/x'\n")
    (tmp_path / "new grün.txt").write_text("x")
    done(start("import euvyra; euvyra.init().finish()"))
    run = only_run(runs)
    until(real, run, "finished")
    wait_for("the diff", lambda: real.call("GET", f"/api/v1/runs/{run}/diff").status == 200)
    diff = real.ok("GET", f"/api/v1/runs/{run}/diff")
    assert "-a = 1\n+a = 2\n" in diff["diff"] and diff["cut"] is False
    assert "hunter2" not in json.dumps(diff)
    code = shown(real, run)["code"]
    assert "new grün.txt" in code["untracked"]
    (folder,) = runs.iterdir()
    assert "+a = 2" in (folder / "git.diff").read_text()
    wait_for("the count", lambda: shown(real, run)["redacted"] == 1)


def test_secrets_are_taken_out_before_the_disk(real: Server, start: Start, runs: Path) -> None:
    done(
        start(
            """
        import euvyra
        run = euvyra.init(config={"password": "hunter2", "lr": 1})
        run.config["api_key"] = "hunter2"
        run.summary["note"] = "https://me:hunter2@host/"
        run.finish()
        """,
            "--token",
            "hunter2",
        )
    )
    run = only_run(runs)
    until(real, run, "finished")
    wait_for("the count", lambda: shown(real, run)["redacted"] == 4)
    (folder,) = runs.iterdir()
    assert all(b"hunter2" not in path.read_bytes() for path in folder.iterdir())


def all_applied(server: Server, run: str) -> None:
    def done() -> bool:
        items = server.ok("GET", f"/api/v1/runs/{run}/writers")["items"]
        return all(one["applied_offset"] == one["committed_offset"] for one in items)

    wait_for("all to be applied", done)


def portrait(server: Server, run: str) -> Any:
    """All that a run shows, but for what each server makes up itself."""
    run_shown = shown(server, run)
    for key in ("created_at", "owner"):
        run_shown.pop(key)
    metrics = server.ok("GET", f"/api/v1/runs/{run}/metrics?limit=1000")["items"]
    names = [one["name"] for one in metrics]
    query = {"runs": [run], "metrics": names[:50], "buckets": 500}
    series = server.ok("POST", "/api/v1/projects/demo/metrics/query", query)["series"]
    writers = server.ok("GET", f"/api/v1/runs/{run}/writers")["items"]
    alerts = server.ok("GET", f"/api/v1/runs/{run}/alerts")["items"]
    told = sorted((one["title"], one["text"], one["at"]) for one in alerts)
    return run_shown, metrics, series, writers, console(server, run), told


OFFLINE = """
    import euvyra, os, sys
    config = {"life": sys.argv[1], sys.argv[1]: 1}
    run = euvyra.init(id="night", resume="allow", config=config, tags=[sys.argv[1]])
    for step in range(3000):
        run.log({"loss": 1 / (step + 1), "acc": step / 7})
    run.summary["best"] = sys.argv[1]
    run.alert("life", sys.argv[1])
    print(sys.argv[1])
    if sys.argv[1] == "first":
        os.kill(os.getpid(), 9)
"""


def test_a_life_without_network_is_one_run_from_however_many_copies(
    real: Server, start: Start, runs: Path, tmp_path: Path
) -> None:
    for life in ("first", "second"):
        start(OFFLINE, life, EUVYRA_MODE="offline").communicate(timeout=60)
        wait_for_sidecars(runs)
    copies = [tmp_path / f"copy{n}" for n in range(3)]
    for copy in copies:
        shutil.copytree(runs, copy)
    run = only_run(runs)

    def sync(folder: Path, server: Server) -> subprocess.Popen[bytes]:
        env = {**os.environ, "EUVYRA_SERVER": server.url, "EUVYRA_API_KEY": server.key}
        return subprocess.Popen(
            [EUVYRA, "sync", str(folder)], env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )

    for delay in (0.0, 0.005, 0.02):  # cut off at some place or other
        cut = sync(copies[0], real)
        try:
            cut.wait(delay)
        except subprocess.TimeoutExpired:
            cut.kill()
        cut.communicate()
    together = [sync(copy, real) for copy in copies]
    for one in together:
        one.communicate(timeout=60)
    assert sync(copies[0], real).wait(60) == 0
    with Server(tmp_path / "other") as other:
        other.ok("PUT", "/api/v1/projects/demo", {})
        assert sync(runs, other).wait(60) == 0
        for server in (real, other):
            until(server, run, "finished")
            all_applied(server, run)
        mine, theirs = portrait(real, run), portrait(other, run)
    for one, another in zip(mine, theirs, strict=True):
        assert one == another
    detail, metrics, series = mine[:3]
    assert detail["config"] == {"life": "second", "first": 1, "second": 1}
    assert detail["summary"]["best"] == "second" and detail["tags"] == ["first", "second"]
    assert {one["name"]: one["count"] for one in metrics if one["kind"] == "metric"} == {
        "loss": 6000,
        "acc": 6000,
    }
    assert [one["x_last"][-1] for one in series if one["metric"] == "loss"] == [5999]


def rss(pid: int) -> int:
    for row in Path(f"/proc/{pid}/status").read_text().splitlines():
        if row.startswith("VmRSS"):
            return int(row.split()[1]) * 1024
    raise AssertionError("no VmRSS")


def test_an_outage_costs_neither_data_nor_memory(real: Server, start: Start, runs: Path) -> None:
    process = start("""
        import euvyra, sys
        run = euvyra.init(console=False)
        step = 0
        for word in sys.stdin:
            for step in range(step, step + 100_000):
                run.log({"a": step, "b": 0.5, "c": 1.0})
            step += 1
            print("logged", flush=True)
    """)
    assert process.stdin is not None

    def more() -> None:
        assert process.stdin is not None
        process.stdin.write("more\n")
        process.stdin.flush()
        assert line(process) == "logged"

    more()
    (folder,) = runs.iterdir()
    run = only_run(runs)
    until(real, run, "running")
    sidecar = sidecar_pid(folder)
    real.kill()
    more()
    before = rss(sidecar)
    for _ in range(8):
        more()
    seen = (folder / "status").stat().st_mtime_ns
    wait_for("the sidecar to have looked", lambda: (folder / "status").stat().st_mtime_ns > seen)
    assert rss(sidecar) < before + 16 * 1024 * 1024
    real.start()
    done(process)
    wait_for(
        "all points",
        lambda: (
            [
                one["count"]
                for one in real.ok("GET", f"/api/v1/runs/{run}/metrics?kind=metric")["items"]
            ]
            == [1_000_000] * 3
        ),
        120,
    )
    until(real, run, "finished")


MEMORY = Path("/sys/fs/cgroup/memory")


@pytest.mark.skipif(
    not os.access(MEMORY / "cgroup.procs", os.W_OK), reason="no memory cgroup to make"
)
@pytest.mark.parametrize("shell", [False, True])
def test_exec_tells_out_of_memory_from_any_other_kill(
    real: Server, runs: Path, shell: bool
) -> None:
    group = MEMORY / f"euvyra-test-{os.getpid()}"
    group.mkdir()
    try:
        (group / "memory.limit_in_bytes").write_text(str(64 << 20))
        eat = f"{sys.executable} -c 'x = bytearray(1 << 30)'"
        text = f"{eat}; exit \\$?" if shell else f"exec {eat}"
        enter = f'echo $$ > {group}/cgroup.procs; exec {EUVYRA} exec -- sh -c "{text}"'
        ended = subprocess.run(
            ["sh", "-c", enter], capture_output=True, text=True, timeout=60, check=False
        )
        assert ended.returncode == 137, ended.stderr
        run = only_run(runs)
        wait_for("the end", lambda: shown(real, run).get("ended_at"))
        assert shown(real, run)["oom"] is True
        wait_for_sidecars(runs)
    finally:
        wait_for("the group to be empty", lambda: not (group / "cgroup.procs").read_text())
        group.rmdir()


def test_a_kill_without_evidence_is_no_lack_of_memory(real: Server, runs: Path) -> None:
    command = [EUVYRA, "exec", "--", "sh", "-c", "kill -9 $$"]
    assert subprocess.run(command, capture_output=True, timeout=60, check=False).returncode == 137
    detail = until(real, only_run(runs), "killed")
    assert (detail["oom"], detail["signal"]) == (False, 9)


def notebook(*cells: str) -> None:
    nbformat = pytest.importorskip("nbformat")
    client = pytest.importorskip("nbclient")
    book = nbformat.v4.new_notebook()
    book.cells = [nbformat.v4.new_code_cell(textwrap.dedent(cell)) for cell in cells]
    client.NotebookClient(book, timeout=60, kernel_name="python3").execute()


@pytest.fixture
def kernel(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The kernel of this interpreter, wherever else kernels are installed."""
    folder = tmp_path / "jupyter" / "kernels" / "python3"
    folder.mkdir(parents=True)
    argv = [sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}"]
    (folder / "kernel.json").write_text(
        json.dumps({"argv": argv, "display_name": "p", "language": "python"})
    )
    monkeypatch.setenv("JUPYTER_PATH", str(tmp_path / "jupyter"))
    monkeypatch.setenv("JUPYTER_RUNTIME_DIR", str(tmp_path / "runtime"))


def test_a_cell_that_runs_again_finishes_the_run_before(
    real: Server, runs: Path, kernel: None
) -> None:
    cell = """
        import euvyra
        run = euvyra.init(name="cell")
        print("printed in a cell")
        run.log({"loss": 1.0})
    """
    notebook(cell, cell, "run.finish()")
    wait_for_sidecars(runs)
    ids = [json.loads((folder / "run.json").read_text())["run"] for folder in runs.iterdir()]
    assert len(ids) == 2
    for run in ids:
        until(real, run, "finished")
        assert console(real, run).decode().count("printed in a cell") == 1


def test_a_cell_that_names_its_run_goes_on_with_it(real: Server, runs: Path, kernel: None) -> None:
    cell = """
        import euvyra
        run = euvyra.init(id="my-notebook")
        run.log({"loss": 1.0})
    """
    notebook(cell, cell, "run.finish()")
    run = only_run(runs)
    until(real, run, "finished")
    (loss,) = real.ok("GET", f"/api/v1/runs/{run}/metrics?kind=metric")["items"]
    assert (loss["count"], loss["last_step"]) == (2, 1)


STEPS = """
    import euvyra, sys
    arguments = eval(sys.argv[1])
    run = euvyra.init(console=False, **arguments)
    for step in range(int(sys.argv[2])):
        run.log({"loss": float(sys.argv[3])})
    print(run.id)
"""


def loss(server: Server, run: str) -> list[tuple[int, float]]:
    body = {"runs": [run], "metrics": ["loss"]}
    answer = server.call("POST", "/api/v1/projects/demo/metrics/query", body)
    if answer.status != 200 or not answer.json["series"]:
        return []
    (series,) = answer.json["series"]
    return list(zip(series["x"], series["first"], strict=True))


def test_a_run_goes_on_where_the_script_says(real: Server, start: Start, runs: Path) -> None:
    first = done(start(STEPS, "dict(id='mine')", "6", "1.0")).strip()
    assert done(start(STEPS, "dict(id='mine', resume='must')", "2", "2.0")).strip() == first
    want = [(step, 1.0) for step in range(6)] + [(6, 2.0), (7, 2.0)]
    wait_for("steps that go on", lambda: loss(real, first) == want)
    done(start(STEPS, "dict(id='mine', from_step=4)", "3", "3.0"))
    want = [(step, 1.0) for step in range(4)] + [(step, 3.0) for step in (4, 5, 6)]
    wait_for("the new steps", lambda: loss(real, first) == want)
    child = done(start(STEPS, "dict(branch_from='mine', from_step=2)", "2", "4.0")).strip()
    assert child != first
    wait_for("the branch", lambda: loss(real, child) == [(0, 1.0), (1, 1.0), (2, 4.0), (3, 4.0)])
    assert until(real, child, "finished")["parent"] == first
    done(start(STEPS, "dict(id='mine', resume='allow')", "1", "5.0"))
    wait_for("the next step", lambda: loss(real, first)[-1] == (8, 5.0))  # behind all it ever had


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ("dict(from_step=3)", "from_step needs the run to go on with"),
        ("dict(branch_from='x')", "branch_from needs from_step"),
        ("dict(branch_from='x', from_step=1, resume='must')", "branch_from makes a new run"),
        ("dict(id='x', branch_from='x', from_step=1)", "is the run itself"),
        ("dict(id='x', from_step='a')", "from_step='a' is no integer"),
        ("dict(id='')", "id='' is no id"),
        ("dict(id='x', resume='raaaaaaaaaaaa')", "id and resume both name a run"),
        ("dict(rank=4, world_size=4)", "rank=4 is not below world_size=4"),
        ("dict(world_size=4)", "local_rank and world_size need rank"),
        ("dict(rank=-1)", "rank=-1 is no number of a process"),
    ],
)
def test_arguments_that_cannot_be_are_named(
    start: Start, runs: Path, arguments: str, says: str
) -> None:
    process = start(STEPS, arguments, "1", "1.0", EUVYRA_MODE="offline")
    _, err = process.communicate(timeout=60)
    assert process.returncode == 1 and "euvyra._errors.InvalidError" in err
    assert says in err.splitlines()[-1]
    assert not runs.exists()
