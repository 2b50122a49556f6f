"""The agent against a real server, with real processes: offers, ends, cancels, restarts, faults."""

from __future__ import annotations

import hashlib
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from agents import Agent, processes_of
from support import BUILD, WAIT_S, Server, make_id, wait_for


@pytest.fixture
def agent(server: Server, tmp_path: Path) -> Iterator[Agent]:
    with Agent(server, tmp_path / "agent") as running:
        yield running


def submit(server: Server, command: list[str], **spec: Any) -> tuple[str, str]:
    job, run = make_id("j"), make_id("r")
    body = {"run": run, "spec": {"command": command, "grace_s": 1, **spec}}
    server.ok("PUT", f"/api/v1/projects/demo/jobs/{job}", body)
    return job, run


def job_state(server: Server, job: str) -> str:
    return str(server.ok("GET", f"/api/v1/jobs/{job}")["state"])


def wait_state(server: Server, job: str, *states: str) -> Any:
    wait_for(f"{job} to be {states}", lambda: job_state(server, job) in states)
    return server.ok("GET", f"/api/v1/jobs/{job}")


def wait_closed(server: Server, job: str) -> Any:
    """Ended, with its record complete."""

    def closed() -> Any:
        shown = server.ok("GET", f"/api/v1/jobs/{job}")
        return shown if shown.get("console_final") else None

    return wait_for(f"{job} to be closed", closed)


def console(server: Server, run: str) -> bytes:
    return server.call("GET", f"/api/v1/runs/{run}/console").body


def test_a_job_runs_with_its_environment_and_ends_with_its_code(
    server: Server, agent: Agent
) -> None:
    script = (
        'echo "$A|$EUVYRA_PROJECT|$EUVYRA_CONFIG|$EUVYRA_RUN|$EUVYRA_JOB"; '
        'stat -c %a "$EUVYRA_API_KEY_FILE"; env | grep -c API_KEY=; exit 7'
    )
    job, run = submit(server, ["sh", "-c", script], env={"A": "x y"}, config={"lr": 0.5})
    shown = wait_closed(server, job)
    assert (shown["state"], shown["exit_code"]) == ("failed", 7)
    assert console(server, run) == f'x y|demo|{{"lr":0.5}}|{run}|{job}\n600\n0\n'.encode()
    assert shown["cost_micro"] == shown["run_time_ms"] * 1000  # 3600 an hour: 1 a second
    assert shown["run_time_ms"] > 0
    wait_for("the folder to go", lambda: not agent.attempts())


def test_a_configuration_of_half_a_megabyte_reaches_the_script(
    server: Server, agent: Agent
) -> None:
    script = (
        "import euvyra, os\n"
        "run = euvyra.init()\n"
        "size = os.stat(os.environ['EUVYRA_CONFIG_FILE'])\n"
        "print(len(run.config['text']), oct(size.st_mode & 0o777), 'EUVYRA_CONFIG' in os.environ)\n"
    )
    job, run = submit(server, [sys.executable, "-c", script], config={"text": "x" * 500_000})
    assert wait_closed(server, job)["state"] == "succeeded", console(server, run)
    assert b"500000 0o600 False\n" in console(server, run)


def test_a_signal_is_not_an_exit_code(server: Server, agent: Agent) -> None:
    job, _ = submit(server, ["sh", "-c", "kill -SEGV $$"])
    shown = wait_closed(server, job)
    assert (shown["state"], shown["exit_code"], shown["signal"]) == ("failed", None, 11)


def test_a_missing_program_is_named(server: Server, agent: Agent) -> None:
    job, _ = submit(server, ["no-such-program"])
    shown = wait_closed(server, job)
    assert shown["state"] == "failed"
    assert 'program "no-such-program" is not in PATH' in shown["reason"]


def test_long_console_text_arrives_whole(server: Server, agent: Agent) -> None:
    job, run = submit(server, ["sh", "-c", "seq 1 300000"])
    shown = wait_closed(server, job)
    assert shown["state"] == "succeeded"
    text, offset = b"", 0
    while True:
        answer = server.call("GET", f"/api/v1/runs/{run}/console?offset={offset}")
        if not answer.body:
            break
        text += answer.body
        offset += len(answer.body)
    assert text == b"".join(b"%d\n" % i for i in range(1, 300001))


def test_cancel_asks_then_kills_and_leaves_no_process(server: Server, agent: Agent) -> None:
    job, run = submit(
        server,
        ["sh", "-c", "trap 'echo asked' TERM; setsid sleep 1000 & echo up; while :; do wait; done"],
    )
    wait_for("the job's text", lambda: b"up" in console(server, run))
    attempt = server.ok("GET", f"/api/v1/jobs/{job}")["attempts"][0]["id"]
    assert processes_of(attempt)
    server.ok("POST", f"/api/v1/jobs/{job}/cancel")
    shown = wait_closed(server, job)
    assert shown["state"] == "cancelled"
    assert b"asked" in console(server, run)
    assert not processes_of(attempt)


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_a_restarted_agent_takes_the_job_up(
    server: Server, agent: Agent, tmp_path: Path, number: int
) -> None:
    go = tmp_path / "go"
    job, run = submit(
        server, ["sh", "-c", f"echo one; while [ ! -e {go} ]; do sleep 0.02; done; echo two"]
    )
    wait_for("the job's text", lambda: b"one" in console(server, run))
    agent.kill(number)
    attempt = server.ok("GET", f"/api/v1/jobs/{job}")["attempts"][0]["id"]
    assert processes_of(attempt)  # the training goes on
    go.touch()
    wait_for("the job to end by itself", lambda: not processes_of(attempt))
    assert job_state(server, job) == "running"
    agent.start()
    shown = wait_closed(server, job)
    assert (shown["state"], len(shown["attempts"])) == ("succeeded", 1)
    assert console(server, run) == b"one\ntwo\n"


def test_the_server_may_be_away(server: Server, agent: Agent, tmp_path: Path) -> None:
    go = tmp_path / "go"
    job, run = submit(
        server, ["sh", "-c", f"echo one; while [ ! -e {go} ]; do sleep 0.02; done; echo two"]
    )
    wait_for("the job's text", lambda: b"one" in console(server, run))
    port = server.port
    server.kill()
    go.touch()
    wait_for("the job to end", lambda: list(agent.folder.glob("attempts/*/exit.json")))
    server.options = ("--listen", f"127.0.0.1:{port}")
    server.start()
    shown = wait_closed(server, job)
    assert shown["state"] == "succeeded"
    assert console(server, run) == b"one\ntwo\n"


def test_a_killed_supervisor_ends_the_job_and_all_of_it(server: Server, agent: Agent) -> None:
    job, run = submit(server, ["sh", "-c", "setsid sleep 1000 & echo up; wait"])
    wait_for("the job's text", lambda: b"up" in console(server, run))
    wait_state(server, job, "running")
    (folder,) = agent.attempts()
    supervisor = json.loads((folder / "supervisor.json").read_text())
    os.kill(supervisor["pid"], signal.SIGKILL)
    shown = wait_closed(server, job)
    assert (shown["state"], shown["signal"]) == ("failed", 9)
    assert shown["reason"] == "its supervisor was killed"
    assert not processes_of(folder.name)


def test_two_agents_cannot_share_a_folder(server: Server, agent: Agent) -> None:
    wait_for("the first agent", lambda: (agent.folder / "attempts").exists())
    second = subprocess.run(
        [
            BUILD / "euvyra-agent",
            *("--server", server.url, "--key-file", agent.key_file, "--dir", agent.folder),
            "--allow-root",
        ],
        capture_output=True,
        text=True,
        timeout=WAIT_S,
    )
    assert second.returncode == 5
    assert f"another agent runs in {agent.folder}" in second.stderr


def run_agent(*options: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [BUILD / "euvyra-agent", *options], capture_output=True, text=True, timeout=WAIT_S
    )


def test_bad_starts_are_one_clear_line(server: Server, agent: Agent, tmp_path: Path) -> None:
    where = ("--server", server.url, "--dir", tmp_path / "other")
    missing = run_agent("--server", server.url)
    assert (missing.returncode, "--key-file FILE is missing" in missing.stderr) == (2, True)
    bad = tmp_path / "bad.key"
    bad.write_text("nonsense")
    shown = run_agent(*where, "--key-file", bad, "--allow-root")
    assert (shown.returncode, "does not hold a key" in shown.stderr) == (77, True)
    bad.write_text(server.key)
    shown = run_agent(*where, "--key-file", bad, "--allow-root")
    assert (shown.returncode, "the key is not an agent's" in shown.stderr) == (77, True)
    shown = run_agent(*where, "--key-file", agent.key_file, "--allow-root", "--name", "other")
    assert (shown.returncode, 'belongs to agent "rack1"' in shown.stderr) == (5, True)
    shown = run_agent(*where, "--key-file", agent.key_file, "--address", "rack 1")
    assert shown.returncode == 2
    assert '--address is a host name or an address, not "rack 1"' in shown.stderr
    if os.geteuid() == 0:
        shown = run_agent(*where, "--key-file", agent.key_file)
        assert (shown.returncode, "jobs would run as root" in shown.stderr) == (77, True)


def test_jobs_run_as_another_user(server: Server, tmp_path: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("needs root")
    for folder in [tmp_path, *tmp_path.parents]:
        if folder != Path("/tmp") and folder.is_relative_to("/tmp"):
            folder.chmod(0o755)
    agent = Agent(server, tmp_path / "agent").start("--job-user", "nobody")
    try:
        script = (
            'id -un; cat "$EUVYRA_API_KEY_FILE" | wc -c; touch "$EUVYRA_DIR/x"; cat ../offer.json'
        )
        job, run = submit(server, ["sh", "-c", script])
        shown = wait_closed(server, job)
        assert shown["exit_code"] == 1  # the offer, with its token, is not readable
        assert console(server, run).startswith(b"nobody\n")
    finally:
        agent.kill(signal.SIGTERM)


def test_a_fenced_attempt_is_killed_and_the_next_one_runs(tmp_path: Path) -> None:
    go = tmp_path / "go"
    script = f"echo $EUVYRA_ATTEMPT; while [ ! -e {go} ]; do sleep 0.02; done"
    with Server(tmp_path / "data", "--lost-after", "1") as server:
        server.ok("PUT", "/api/v1/projects/demo", {})
        with Agent(server, tmp_path / "agent") as agent:
            job, run = submit(server, ["sh", "-c", script])
            wait_for("the job's text", lambda: console(server, run))
            first = server.ok("GET", f"/api/v1/jobs/{job}")["attempts"][0]["id"]
            assert agent.process
            agent.process.send_signal(signal.SIGSTOP)
            wait_for("the attempt to be lost", lambda: attempts_of(server, job)[0] == "lost")
            assert processes_of(first)  # silent is not gone
            agent.process.send_signal(signal.SIGCONT)
            wait_for("the old work to go", lambda: not processes_of(first))
            wait_for("a second attempt", lambda: len(attempts_of(server, job)) == 2)
            kept = agent.folder / "unsent" / first / "console"
            assert wait_for("its text", kept.exists) and kept.read_text() == first + "\n"
            go.touch()
            shown = wait_closed(server, job)
            assert (shown["state"], attempts_of(server, job)) == (
                "succeeded",
                ["lost", "succeeded"],
            )
            assert console(server, run).count(b"\n") == 2  # a line of each attempt


def attempts_of(server: Server, job: str) -> list[str]:
    return [attempt["state"] for attempt in server.ok("GET", f"/api/v1/jobs/{job}")["attempts"]]


def test_a_job_that_takes_too_long_is_ended(server: Server, agent: Agent) -> None:
    job, _ = submit(server, ["sleep", "1000"], timeout_s=1)
    shown = wait_closed(server, job)
    assert (shown["state"], shown["reason"]) == ("failed", "it ran longer than 1 s")


def test_code_that_is_no_archive_fails_the_job_with_a_reason(server: Server, agent: Agent) -> None:
    data = b"this is no archive"
    digest = hashlib.sha256(data).hexdigest()
    sent = server.send(
        "PUT",
        f"/api/v1/projects/demo/blobs/{digest}",
        data,
        {"Content-Type": "application/octet-stream"},
    )
    assert sent.status == 201, sent.body
    job, _ = submit(server, ["true"], code=digest)
    shown = wait_closed(server, job)
    assert shown["state"] == "failed"
    assert "the code cannot be unpacked" in shown["reason"]


CHATTY = """
import os, sys, time
line = b"0123456789abcdef" * 63 + b"0123456789abcd\\n\\n"  # 1024 bytes
for _ in range(5 * 1024):
    os.write(1, line)
while not os.path.exists(sys.argv[1]):
    time.sleep(0.02)
os.write(1, b"the end")
"""


@pytest.mark.parametrize("killed", [False, True])
def test_console_text_beyond_the_limit_is_left_out_and_the_job_goes_on(
    server: Server, tmp_path: Path, killed: bool
) -> None:
    go, mb = tmp_path / "go", 1024 * 1024
    with Agent(server, tmp_path / "agent") as agent:
        agent.kill(signal.SIGTERM)
        agent.start("--console-mb", "1")
        job, run = submit(server, ["python3", "-c", CHATTY, str(go)])
        (folder,) = wait_for("the attempt", agent.attempts)
        file = folder / "console"
        wait_for("the text", lambda: file.exists() and file.stat().st_size == 5 * mb)
        wait_for("the disk to get it back", lambda: file.stat().st_blocks * 512 < mb + 65536)
        agent.kill()  # the next one has another limit; the attempt keeps its own
        agent.start("--console-mb", "3")
        if killed:
            pid = json.loads((folder / "supervisor.json").read_text())["pid"]
            os.kill(pid, signal.SIGKILL)
        else:
            go.touch()
        shown = wait_closed(server, job)
    assert shown["state"] == ("failed" if killed else "succeeded")
    parts = (f"limit={mb}", f"offset={mb}&limit={mb}")
    text = b"".join(server.send("GET", f"/api/v1/runs/{run}/console?{p}").body for p in parts)
    left_out = 4 * mb + (0 if killed else len("the end"))
    assert text[:mb] == (b"0123456789abcdef" * 63 + b"0123456789abcd\n\n") * 1024
    assert text[mb:].decode() == (
        f"\neuvyra-agent: console text is kept up to {mb} bytes; "
        f"the {left_out} bytes after that were left out\n"
    )


def test_a_console_limit_that_is_none_is_refused(tmp_path: Path) -> None:
    for wrong in ("0", "-1", "1.5", "1G", "9999999"):
        done = subprocess.run(
            [
                *(BUILD / "euvyra-agent", "--server", "http://127.0.0.1:9"),
                *("--key-file", "/dev/null", "--dir", tmp_path / "agent", "--allow-root"),
                *("--console-mb", wrong),
            ],
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 2
        assert f'--console-mb is a number from 1 to 1048576, not "{wrong}"' in done.stderr
