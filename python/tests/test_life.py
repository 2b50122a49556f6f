"""How a run begins, is continued, is shared by processes, and ends."""

from __future__ import annotations

import multiprocessing
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import euvyra
import pytest

LOOP = """
import euvyra, sys
run = euvyra.init(project="demo")
i = 0
while True:
    run.log({"i": float(i)})
    i += 1
    if i % 1000 == 0:
        print(i, flush=True)
"""


@pytest.mark.parametrize(
    ("tail", "code", "end"),
    [
        ("", 0, {"exit_code": 0, "reason": "exit"}),
        ("run.finish(4)", 0, {"exit_code": 4, "reason": "finish"}),
        ("import sys; sys.exit(3)", 3, {"exit_code": 3, "reason": "exit"}),
        (
            "raise ValueError('x')",
            1,
            {"exit_code": 1, "reason": "exception", "error": "ValueError: x"},
        ),
        ("raise KeyboardInterrupt", 130, {"signal": 2, "reason": "signal"}),
        (
            "import os, signal; os.kill(os.getpid(), signal.SIGTERM)",
            -15,
            {"signal": 15, "reason": "signal"},
        ),
    ],
)
def test_the_end_is_recorded_as_it_was(
    script: Any, seen: Any, tail: str, code: int, end: dict[str, Any]
) -> None:
    done = script(f"import euvyra\nrun = euvyra.init()\nrun.log({{'a': 1}})\n{tail}\n")
    assert done.returncode in (code, -2 if code == 130 else code)
    value = seen().one("end").value
    assert {key: value.get(key) for key in end} == end


def test_context_manager_records_an_exception(seen: Any) -> None:
    with pytest.raises(RuntimeError), euvyra.init():
        raise RuntimeError("boom")
    assert seen().one("end").value["error"] == "RuntimeError: boom"


def test_nothing_is_lost_when_the_trainer_is_killed(tmp_path: Path, seen: Any) -> None:
    path = tmp_path / "train.py"
    path.write_text(LOOP)
    with subprocess.Popen(
        [sys.executable, str(path)], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as trainer:
        assert trainer.stdout is not None
        told = 0
        while told < 20_000:
            told = int(trainer.stdout.readline())
        trainer.kill()
        told = max([told, *(int(line) for line in trainer.stdout.read().split("\n") if line)])
    points = seen().points("i")
    assert len(points) >= told
    assert points == [(i, float(i)) for i in range(len(points))]
    assert not seen().records("end")


def test_a_forked_child_has_its_own_log(seen: Any) -> None:
    run = euvyra.init()
    run.log({"a": 1.0})
    child = os.fork()
    if child == 0:
        run.log({"a": 2.0}, step=7)
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
    run.log({"a": 3.0})
    run.finish()
    assert len(seen().logs) == 2
    assert sorted(seen().points("a")) == [(0, 1.0), (1, 3.0), (7, 2.0)]
    parents = [record.value.get("parent_writer") for record in seen().records("start")]
    assert len([parent for parent in parents if parent]) == 1
    kinds = sorted(record.value["kind"] for record in seen().records("start"))
    assert kinds == ["child", "trainer"]  # the child's end would not decide


SPAWN = """
import multiprocessing, euvyra

def work(rank):
    run = euvyra.init(project="ignored", config={"rank": rank})
    run.log({"rank": float(rank)}, step=rank)
    run.finish()

if __name__ == "__main__":
    run = euvyra.init(project="demo")
    context = multiprocessing.get_context("spawn")
    children = [context.Process(target=work, args=(rank,)) for rank in (1, 2)]
    for child in children: child.start()
    for child in children: child.join()
    run.log({"rank": 0.0}, step=0)
"""


def test_spawned_children_join_the_run(script: Any, seen: Any) -> None:
    assert script(SPAWN).returncode == 0
    assert len(seen().logs) == 3
    assert sorted(seen().points("rank")) == [(0, 0.0), (1, 1.0), (2, 2.0)]
    kinds = sorted(record.value["kind"] for record in seen().records("start"))
    assert kinds == ["child", "child", "trainer"]


def test_a_run_sent_to_a_process_writes_there(seen: Any) -> None:
    run = euvyra.init()
    with multiprocessing.get_context("fork").Pool(1) as pool:
        pool.apply(type(run).log, (run, {"a": 1.0}, 3))
    run.finish()
    assert seen().points("a") == [(3, 1.0)]


def test_a_job_is_joined_whatever_the_arguments(seen: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EUVYRA_RUN", "rabcdefghijkl")
    monkeypatch.setenv("EUVYRA_JOB", "jabcdefghijkl")
    monkeypatch.setenv("EUVYRA_PROJECT", "real")
    monkeypatch.setenv("EUVYRA_CONFIG", '{"lr": 0.5}')
    run = euvyra.init("laptop", dir="/nonexistent", config={"lr": 0.1, "k": 1}, resume="must")
    assert run.id == "rabcdefghijkl"
    assert dict(run.config) == {"lr": 0.5, "k": 1}
    run.finish()
    start = seen().one("start").value
    assert (start["project"], start["job"]) == ("real", "jabcdefghijkl")
    assert start["config"] == {"lr": 0.5, "k": 1}
    assert start["epoch"]["kind"] == "attempt"
    further = euvyra.init(project="laptop")
    assert further.id != run.id
    further.finish()


def test_two_processes_of_one_id_meet_in_one_folder(
    seen: Any, monkeypatch: pytest.MonkeyPatch, script: Any
) -> None:
    monkeypatch.setenv("EUVYRA_RUN", "rabcdefghijkl")
    text = "import euvyra\nwith euvyra.init() as run: run.log({'a': 1})\n"
    assert script(text).returncode == 0
    assert script(text).returncode == 0
    assert len(seen().logs) == 2


def test_auto_resumes_the_unfinished_run_behind_its_last_step(seen: Any, script: Any) -> None:
    crash = "import euvyra, os\nr = euvyra.init(name='n', resume='auto')\n"
    assert script(crash + "r.log({'a': 1}, step=41)\nos._exit(1)").returncode == 1
    assert script(crash + "r.log({'a': 2})\nr.finish()").returncode == 0
    assert seen().points("a") in ([(41, 1.0), (42, 2.0)], [(42, 2.0), (41, 1.0)])
    assert script(crash).returncode == 0
    seen(2)  # the first one is finished now: this is another run


def test_a_run_id_resumes_that_run(seen: Any) -> None:
    first = euvyra.init()
    first.log({"a": 1})
    first.finish()
    second = euvyra.init(resume=first.id)
    second.log({"a": 2})
    second.finish()
    assert second.id == first.id
    assert sorted(seen().points("a")) == [(0, 1.0), (1, 2.0)]


def test_must_raises_when_there_is_no_such_run() -> None:
    with pytest.raises(euvyra.NotFoundError):
        euvyra.init(resume="must")


def test_must_waits_for_no_dead_server(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EUVYRA_RUN", "rabcdefghijkl")
    monkeypatch.setenv("EUVYRA_SERVER", "http://127.0.0.1:9")
    with pytest.raises(euvyra.NotFoundError):
        euvyra.init(resume="must")


def test_a_missing_program_is_told_once(script: Any, seen: Any) -> None:
    done = script("import euvyra\nfor _ in range(2): euvyra.init().finish()\n")
    assert done.returncode == 0
    assert done.stderr.count("program was not found") == 1
    assert len(seen(2).records("end")) == 1


def test_import_loads_nothing_heavy(script: Any) -> None:
    done = script(
        "import sys\nbefore = set(sys.modules)\nimport euvyra\n"
        "print(sorted(set(sys.modules) - before))\n"
    )
    assert done.stdout.strip() == "['__future__', 'euvyra', 'euvyra._errors']"


def test_sigterm_handlers_of_the_script_are_left_alone(script: Any, seen: Any) -> None:
    done = script(
        "import signal, os, sys\n"
        "signal.signal(signal.SIGTERM, lambda *_: sys.exit(9))\n"
        "import euvyra\nrun = euvyra.init()\nos.kill(os.getpid(), signal.SIGTERM)\n"
    )
    assert done.returncode == 9
    assert seen().one("end").value["exit_code"] == 9
    assert signal.SIGTERM
