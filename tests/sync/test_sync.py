"""From run folders to a server: every record once, whatever goes wrong between."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from run_log_reader import read_run
from stand_in import StandIn
from sync_rig import find_tool, is_followed, wait_for

TRAIN = """
import euvyra
with euvyra.init(project="demo", name="n", config={"lr": 0.1}) as run:
    for i in range(1000):
        run.log({"i": float(i)})
"""


def record_offline(train: Any, runs: Path) -> Path:
    """A run whose sidecar never ran: what a machine without the program leaves behind."""
    assert train(TRAIN, EUVYRA_BIN="/nonexistent").returncode == 0
    (folder,) = runs.iterdir()
    return folder


def complete(server: StandIn, folder: Path) -> None:
    """Everything in the folder is on the server, byte for byte."""
    run = json.loads((folder / "run.json").read_text())["run"]
    for writer, records in read_run(folder).items():
        local = b"".join(record.raw for record in records)
        assert bytes(server.logs[(run, writer)]) == local


def status(folder: Path) -> dict[str, Any]:
    try:
        document: dict[str, Any] = json.loads((folder / "status").read_text())
    except (OSError, ValueError):
        return {}
    return document


def test_a_folder_is_brought_in_once_however_often(
    server: StandIn, tool: Any, train: Any, runs: Path
) -> None:
    folder = record_offline(train, runs)
    first = tool("sync", str(runs))
    assert first.returncode == 0, first.stderr
    complete(server, folder)
    posts = server.posts
    second = tool("sync", str(folder))
    assert second.returncode == 0
    assert "0 failed, 0 bytes" in second.stdout
    assert server.posts == posts
    assert server.keys == {"Bearer euv_user_test"}


def test_two_processes_at_once_give_the_same_run(server: StandIn, train: Any, runs: Path) -> None:
    folder = record_offline(train, runs)
    both = [
        subprocess.Popen([find_tool(), "sync", str(runs)], stdout=subprocess.DEVNULL)
        for _ in range(4)
    ]
    assert [process.wait(60) for process in both] == [0, 0, 0, 0]
    complete(server, folder)


def test_an_answer_that_is_lost_sends_nothing_twice(
    server: StandIn, tool: Any, train: Any, runs: Path
) -> None:
    folder = record_offline(train, runs)
    server.drop_answers = 1
    tool("sync", str(runs))  # the client may or may not have tried again by itself
    assert tool("sync", str(runs)).returncode == 0
    complete(server, folder)


def test_a_damaged_file_is_named_and_does_not_stop_the_others(
    server: StandIn, tool: Any, train: Any, runs: Path
) -> None:
    record_offline(train, runs)
    assert train(TRAIN, EUVYRA_BIN="/nonexistent").returncode == 0
    bad, good = sorted(runs.iterdir())
    (log,) = bad.glob("w*.log")
    data = bytearray(log.read_bytes())
    data[len(data) // 2] ^= 0xFF
    log.write_bytes(data)
    done = tool("sync", str(runs))
    assert done.returncode != 0
    assert log.name in done.stderr
    assert "bytes are skipped" in done.stderr
    complete(server, good)
    run = json.loads((bad / "run.json").read_text())["run"]
    assert 100 < len(server.records(run, "row")) < 1000


def test_another_history_is_refused_and_told(
    server: StandIn, tool: Any, train: Any, runs: Path
) -> None:
    folder = record_offline(train, runs)
    assert tool("sync", str(runs)).returncode == 0
    for log in server.logs.values():
        log[20] ^= 1
    server.sums.clear()
    done = tool("sync", str(folder))
    assert done.returncode == 5
    assert "another history" in done.stderr


def test_a_server_that_has_more_is_normal(
    server: StandIn, tool: Any, train: Any, runs: Path
) -> None:
    folder = record_offline(train, runs)
    assert tool("sync", str(runs)).returncode == 0
    (log,) = folder.glob("w*.log")
    os.truncate(log, log.stat().st_size // 2)
    assert tool("sync", str(runs)).returncode == 0


def test_nothing_to_bring_in_is_said(server: StandIn, tool: Any, tmp_path: Path) -> None:
    done = tool("sync", str(tmp_path))
    assert done.returncode == 4
    assert "holds no run" in done.stderr


def test_without_a_server_address_it_says_what_to_do(tool: Any, train: Any, runs: Path) -> None:
    record_offline(train, runs)
    done = tool("sync", str(runs))
    assert done.returncode == 4
    assert "no server is known" in done.stderr


def test_a_wrong_key_is_one_clear_line(server: StandIn, tool: Any, train: Any, runs: Path) -> None:
    record_offline(train, runs)
    server.faults = [401]
    done = tool("sync", str(runs))
    assert done.returncode == 77
    assert done.stderr.count("stand-in says unauthenticated") >= 1


def test_the_sidecar_uploads_all_and_says_so(server: StandIn, train: Any, runs: Path) -> None:
    assert train(TRAIN).returncode == 0
    (folder,) = runs.iterdir()
    wait_for(lambda: status(folder).get("complete"), "the sidecar is done")
    complete(server, folder)
    run = json.loads((folder / "run.json").read_text())["run"]
    kinds = {record.value["kind"] for record in server.records(run, "start")}
    assert kinds == {"trainer", "sidecar", "console"}
    (machine,) = server.records(run, "machine")
    assert machine.value["memory_bytes"] > 0
    (code,) = server.records(run, "code")
    assert code.value["python"].startswith("3.")
    assert "pytest" in code.value["packages"]
    assert server.records(run, "heartbeat")
    assert server.records(run, "system")
    assert len(server.records(run, "row")) == 1000


def test_a_server_that_is_away_during_the_training_gets_all_of_it(
    server: StandIn, train: Any, runs: Path
) -> None:
    server.faults = [503, 503]
    assert train(TRAIN).returncode == 0
    (folder,) = runs.iterdir()
    wait_for(lambda: status(folder).get("complete"), "the sidecar is done")
    complete(server, folder)


def test_a_revoked_key_stops_the_sending_and_nothing_else(
    server: StandIn, train: Any, tool: Any, runs: Path
) -> None:
    server.faults = [401]
    assert train(TRAIN).returncode == 0
    (folder,) = runs.iterdir()
    wait_for(lambda: status(folder).get("error"), "the refusal is in the status file")
    assert "unauthenticated" in status(folder)["error"]
    wait_for(lambda: not is_followed(folder), "it ends")
    assert tool("sync", str(folder)).returncode == 0
    complete(server, folder)


def test_offline_ends_with_the_trainer_and_is_brought_in_later(
    server: StandIn, train: Any, tool: Any, runs: Path
) -> None:
    assert train(TRAIN, EUVYRA_MODE="offline").returncode == 0
    (folder,) = runs.iterdir()
    wait_for(
        lambda: len(read_run(folder)) == 3 and not is_followed(folder),
        "the sidecar ends",
    )
    assert not server.logs
    assert tool("sync", str(folder)).returncode == 0
    complete(server, folder)


def test_a_stop_request_reaches_the_script(server: StandIn, train: Any) -> None:
    server.answer = {"next_ms": 200, "stop": True}
    done = train(
        "import euvyra, time\nrun = euvyra.init()\ni = 0\n"
        "while not run.stopping:\n    run.log({'i': i}); i += 1; time.sleep(0.01)\n"
        "run.finish()\nprint('stopped')\n"
    )
    assert done.stdout == "stopped\n"


LOOP = """
import euvyra, time
run = euvyra.init(project="demo")
i = 0
while True:
    run.log({"i": float(i)})
    i += 1
    if i % 1000 == 0:
        print(i, flush=True)
        time.sleep(0.02)
"""


@pytest.mark.parametrize("round_number", range(3))
def test_nothing_is_lost_when_trainer_and_sidecar_are_killed(
    server: StandIn, tool: Any, tmp_path: Path, runs: Path, round_number: int
) -> None:
    (tmp_path / "train.py").write_text(LOOP)
    with subprocess.Popen(
        [sys.executable, str(tmp_path / "train.py")],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as trainer:
        assert trainer.stdout is not None
        trainer.stdout.readline()
        (folder,) = runs.iterdir()
        wait_for(lambda: server.logs, "the sidecar sends")
        sidecars = [
            record.value["pid"]
            for log in read_run(folder).values()
            for record in log
            if record.type == "start" and record.value["kind"] == "sidecar"
        ]
        for _ in range(round_number * 3):
            trainer.stdout.readline()
        os.kill(sidecars[0], signal.SIGKILL)
        trainer.kill()
    assert tool("sync", str(folder)).returncode == 0
    complete(server, folder)
    run = json.loads((folder / "run.json").read_text())["run"]
    steps = [record.value["step"] for record in server.records(run, "row")]
    assert steps == list(range(len(steps)))
    ends = {record.value["reason"] for record in server.records(run, "end")}
    assert ends <= {"end of text"}  # nobody says that the trainer ended


def test_a_second_sidecar_leaves_the_folder_alone(
    server: StandIn, tool: Any, tmp_path: Path, runs: Path
) -> None:
    (tmp_path / "train.py").write_text(LOOP)
    with subprocess.Popen(
        [sys.executable, str(tmp_path / "train.py")], stdout=subprocess.PIPE, text=True
    ) as trainer:
        assert trainer.stdout is not None
        trainer.stdout.readline()
        (folder,) = runs.iterdir()
        wait_for(lambda: server.logs, "the sidecar sends")
        assert tool("sync", "--follow", str(folder)).returncode == 5
        trainer.kill()
    wait_for(lambda: status(folder).get("complete"), "the sidecar ends by itself")


def test_exec_records_console_and_exit_code(server: StandIn, tool: Any, runs: Path) -> None:
    done = tool("exec", "--", "sh", "-c", "echo out; echo err >&2; exit 3")
    assert (done.returncode, done.stdout) == (3, "out\n")
    assert "err" in done.stderr
    (folder,) = runs.iterdir()
    wait_for(lambda: status(folder).get("complete"), "the sidecar is done")
    complete(server, folder)
    run = json.loads((folder / "run.json").read_text())["run"]
    (end,) = server.records(run, "end")
    assert end.value["exit_code"] == 3
    text = {
        record.value["stream"]: record.value["bytes"] for record in server.records(run, "console")
    }
    assert text == {1: b"out\n", 2: b"err\n"}


def test_exec_tells_signals_and_missing_commands(server: StandIn, tool: Any, runs: Path) -> None:
    assert tool("exec", "--", "sh", "-c", "kill -9 $$").returncode == 137
    (folder,) = runs.iterdir()
    run = json.loads((folder / "run.json").read_text())["run"]
    wait_for(lambda: server.records(run, "end"), "the end arrives")
    assert server.records(run, "end")[0].value["signal"] == 9
    assert tool("exec", "--", "/nonexistent/command").returncode == 127


def test_the_sdk_inside_exec_joins_its_run(
    server: StandIn, tool: Any, tmp_path: Path, runs: Path
) -> None:
    (tmp_path / "train.py").write_text(TRAIN)
    assert tool("exec", "--", sys.executable, str(tmp_path / "train.py")).returncode == 0
    (folder,) = runs.iterdir()
    wait_for(lambda: status(folder).get("complete"), "the sidecar is done")
    complete(server, folder)
    run = json.loads((folder / "run.json").read_text())["run"]
    kinds = sorted(record.value["kind"] for record in server.records(run, "start"))
    assert kinds == ["child", "exec", "sidecar"]
