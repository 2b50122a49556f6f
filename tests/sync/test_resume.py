"""init(resume=...) against a real server, one that is away, and ones that misbehave."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import euvyra
import pytest
from euvyra import _server
from support import BUILD, Log, Server, make_id, wait_for
from sync_rig import wait_for_sidecars

Train = Callable[..., "subprocess.CompletedProcess[str]"]

STEP = """
import euvyra, sys
try:
    run = euvyra.init(project="demo", resume={resume!r})
except euvyra.Error as error:
    sys.exit(f"{{type(error).__name__}} {{error.kind}}: {{error}}")
run.log({{"loss": 1.0}})
run.finish()
"""


@pytest.fixture
def real(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, runs: Path) -> Iterator[Server]:
    with Server(tmp_path / "data") as running:
        running.ok("PUT", "/api/v1/projects/demo", {})
        monkeypatch.setenv("EUVYRA_SERVER", running.url)
        monkeypatch.setenv("EUVYRA_API_KEY", running.key)
        monkeypatch.setenv("EUVYRA_BIN", str(BUILD / "euvyra"))
        yield running
        wait_for_sidecars(runs)


def steps(server: Server, run: str) -> list[int]:
    """Of the metric; none while the server does not know the run."""
    body = {"runs": [run], "metrics": ["loss"]}
    answer = server.call("POST", "/api/v1/projects/demo/metrics/query", body)
    if answer.status == 404:
        return []
    series = answer.json["series"]
    return list(series[0]["x"]) if series else []


def has_steps(server: Server, run: str, wanted: list[int]) -> bool:
    return steps(server, run) == wanted


def run_on_server(server: Server) -> str:
    """A run that only the server has: its last step is that of the last of 1500 metrics."""
    run, log = make_id("r"), Log()
    server.ok("PUT", f"/api/v1/projects/demo/runs/{run}", {})
    log.start()
    log.row(0, {f"a/{n:04d}": 1.0 for n in range(1500)})
    log.row(40, {"loss": 1.0})
    log.name("system/cpu", system=True)
    log.row(900, {"system/cpu": 1.0})  # a sample, no step of the script
    server.upload(run, log)
    return run


def test_must_goes_on_with_a_run_that_only_the_server_has(
    real: Server, train: Train, runs: Path
) -> None:
    run = run_on_server(real)
    done = train(STEP.format(resume="must"), EUVYRA_RUN=run)
    assert done.returncode == 0, done.stderr
    wait_for("the next step", lambda: steps(real, run) == [40, 41])
    assert len(real.ok("GET", "/api/v1/projects/demo/runs")["items"]) == 1


def test_must_is_refused_when_nobody_knows_the_run(real: Server, train: Train, runs: Path) -> None:
    run = make_id("r")
    done = train(STEP.format(resume="must"), EUVYRA_RUN=run)
    assert done.returncode == 1
    assert done.stderr.startswith("NotFoundError not_found: ")
    assert run in done.stderr and real.url in done.stderr
    assert not runs.exists() or not list(runs.iterdir())
    assert real.ok("GET", "/api/v1/projects/demo/runs")["items"] == []


def test_must_says_that_the_key_is_refused(real: Server, train: Train) -> None:
    done = train(STEP.format(resume="must"), EUVYRA_RUN=run_on_server(real), EUVYRA_API_KEY="euv_x")
    assert done.stderr.startswith("NotFoundError unauthenticated: ")
    assert "euv_x" not in done.stderr


def test_must_in_the_folder_asks_nobody(train: Train, runs: Path) -> None:
    away = {"EUVYRA_SERVER": "http://127.0.0.1:9", "EUVYRA_BIN": "/nonexistent"}
    assert train(STEP.format(resume=None), **away).returncode == 0
    (folder,) = runs.iterdir()
    run = json.loads((folder / "run.json").read_text())["run"]
    done = train(STEP.format(resume="must"), EUVYRA_RUN=run, **away)
    assert done.returncode == 0, done.stderr
    assert list(runs.iterdir()) == [folder]


@pytest.mark.parametrize("mode", ["online", "offline"])
def test_must_without_a_server_that_answers_is_refused(train: Train, runs: Path, mode: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as gone:
        port = gone.getsockname()[1]
    done = train(
        STEP.format(resume="must"),
        EUVYRA_RUN=make_id("r"),
        EUVYRA_SERVER=f"http://127.0.0.1:{port}",
        EUVYRA_MODE=mode,
    )
    assert done.returncode == 1
    want = "NotFoundError unavailable: " if mode == "online" else "NotFoundError not_found: "
    assert done.stderr.startswith(want), done.stderr
    assert not runs.exists()


class Odd:
    """Answers every connection with the same bytes; then closes, is mute (b"") or trickles."""

    def __init__(self, answer: bytes, then: bytes | None = None) -> None:
        self.answer, self.then = answer, then
        self.seen: list[bytes] = []
        self.over = threading.Event()
        self.socket = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self.socket.getsockname()[1]}"
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self) -> None:
        while not self.over.is_set():
            try:
                connection, _ = self.socket.accept()
            except OSError:
                return
            threading.Thread(target=self.talk, args=(connection,), daemon=True).start()

    def talk(self, connection: socket.socket) -> None:
        with connection:
            self.seen.append(connection.recv(65536))
            try:
                connection.sendall(self.answer)
                while self.then is not None and not self.over.wait(0.02):
                    connection.sendall(self.then)
            except OSError:
                return

    def __enter__(self) -> Odd:
        return self

    def __exit__(self, *_: Any) -> None:
        self.over.set()
        self.socket.close()


TRICKLE = b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n{"


@pytest.mark.parametrize(
    ("answer", "then"), [(b"", b""), (TRICKLE, b"x"), (b"", b"H")], ids=["mute", "body", "head"]
)
def test_must_gives_up_on_an_answer_that_never_ends(
    monkeypatch: pytest.MonkeyPatch, answer: bytes, then: bytes
) -> None:
    monkeypatch.setattr(_server, "WAIT_S", 0.3)
    with Odd(answer, then) as odd:
        monkeypatch.setenv("EUVYRA_SERVER", odd.url)
        with pytest.raises(euvyra.NotFoundError, match=r"did not answer in 0\.3 s") as caught:
            _server.last_step(make_id("r"))
    assert caught.value.kind == "unavailable"


@pytest.mark.parametrize(
    "answer",
    [
        b"",
        b"SSH-2.0-x\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n[]",
        b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nnope",
        b"HTTP/1.1 503 Busy\r\nContent-Length: 0\r\n\r\n",
    ],
)
def test_must_takes_nonsense_for_no_answer(monkeypatch: pytest.MonkeyPatch, answer: bytes) -> None:
    with Odd(answer) as odd:
        monkeypatch.setenv("EUVYRA_SERVER", odd.url)
        with pytest.raises(euvyra.NotFoundError) as caught:
            _server.last_step(make_id("r"))
    assert caught.value.kind == "unavailable"


def test_must_carries_the_key_nowhere_else(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EUVYRA_API_KEY", "euv_user_secret")
    with Odd(b"") as other:
        head = f"HTTP/1.1 302 Found\r\nLocation: {other.url}/\r\nContent-Length: 0\r\n\r\n"
        with Odd(head.encode()) as odd:
            monkeypatch.setenv("EUVYRA_SERVER", odd.url)
            with pytest.raises(euvyra.NotFoundError, match="302"):
                _server.last_step(make_id("r"))
            assert b"euv_user_secret" in odd.seen[0]
        assert other.seen == []


def test_never_is_refused_where_the_run_lies_in_the_folder(
    real: Server, train: Train, runs: Path
) -> None:
    run = make_id("r")
    assert train(STEP.format(resume="never"), EUVYRA_RUN=run).returncode == 0
    wait_for("the run", lambda: steps(real, run) == [0])
    done = train(STEP.format(resume="never"), EUVYRA_RUN=run)
    assert done.returncode == 1
    assert done.stderr.startswith(f'ExistsError exists: resume="never": run {run} exists in ')
    assert steps(real, run) == [0]


@pytest.mark.parametrize("by_id", [True, False])
def test_allow_takes_the_run_whether_it_is_there_or_not(
    real: Server, train: Train, runs: Path, by_id: bool
) -> None:
    run = make_id("r")
    for count in (1, 2):
        done = train(STEP.format(resume=run if by_id else "allow"), EUVYRA_RUN=run)
        assert done.returncode == 0, done.stderr
        wanted = list(range(count))
        wait_for("the step", partial(has_steps, real, run, wanted))


@pytest.mark.parametrize("word", ["must", "never"])
def test_under_exec_the_run_is_joined_whatever_resume_says(
    real: Server, tmp_path: Path, runs: Path, word: str
) -> None:
    script = tmp_path / "train.py"
    script.write_text(STEP.format(resume=word))
    command = [str(BUILD / "euvyra"), "exec", "--project", "demo", "--"]
    command += [sys.executable, str(script)]
    done = subprocess.run(command, env=os.environ, capture_output=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    (folder,) = runs.iterdir()
    run = json.loads((folder / "run.json").read_text())["run"]
    wait_for("the step", lambda: steps(real, run) == [0])
