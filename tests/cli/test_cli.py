"""The command line against a real server, with a real agent where a job has to run."""

from __future__ import annotations

import json
import os
import re
import signal
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from agents import Agent
from support import BUILD, WAIT_S, Log, Server, make_id, wait_for


class Cli:
    """`euvyra` with a home of its own."""

    def __init__(self, server: Server, folder: Path) -> None:
        self.folder = folder
        folder.mkdir()
        self.env = {
            "PATH": os.environ["PATH"],
            "HOME": str(folder),
            "XDG_CONFIG_HOME": str(folder / "config"),
            "EUVYRA_SERVER": server.url,
            "EUVYRA_API_KEY": server.key,
        }

    def start(self, *words: str | Path, **more: Any) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [BUILD / "euvyra", *words],
            env=self.env,
            cwd=more.pop("cwd", self.folder),
            text=True,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )

    def run(
        self, *words: str | Path, cwd: Path | None = None, stdin: str = ""
    ) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [BUILD / "euvyra", *words],
            env=self.env,
            cwd=cwd or self.folder,
            input=stdin,
            text=True,
            capture_output=True,
            timeout=WAIT_S,
        )

    def ok(self, *words: str | Path, cwd: Path | None = None) -> str:
        done = self.run(*words, cwd=cwd)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def json(self, *words: str | Path) -> Any:
        return json.loads(self.ok(*words, "--json"))


@pytest.fixture
def cli(server: Server, tmp_path: Path) -> Cli:
    return Cli(server, tmp_path / "home")


@pytest.fixture
def agent(server: Server, tmp_path: Path) -> Iterator[Agent]:
    with Agent(server, tmp_path / "agent") as running:
        yield running


def project_folder(folder: Path) -> Path:
    folder.mkdir()
    (folder / "main.sh").write_text('echo "code says $1"; cat data/x.txt; exit "$2"\n')
    (folder / "data").mkdir()
    (folder / "data" / "x.txt").write_text("forty-two\n")
    return folder


def test_login_keeps_a_private_key_for_its_server_only(cli: Cli, server: Server) -> None:
    key = cli.env.pop("EUVYRA_API_KEY")
    del cli.env["EUVYRA_SERVER"]
    refused = cli.run("projects", "--server", server.url)
    assert refused.returncode == 77 and "euvyra login" in refused.stderr
    done = cli.run("login", "--server", server.url, "--key-file", "-", stdin=key + "\n")
    assert done.returncode == 0, done.stderr
    (kept,) = [path for path in (cli.folder / "config").rglob("*") if path.is_file()]
    assert stat.S_IMODE(kept.stat().st_mode) == 0o600
    assert key not in done.stdout + done.stderr
    assert "demo" in cli.ok("projects")
    elsewhere = cli.run("projects", "--server", "http://127.0.0.1:9")
    assert elsewhere.returncode == 77  # the key stays at home


def test_login_with_a_wrong_key_is_refused_and_keeps_nothing(cli: Cli, server: Server) -> None:
    wrong = server.key[:-1] + ("a" if server.key[-1] != "a" else "b")
    done = cli.run("login", "--server", server.url, "--key-file", "-", stdin=wrong)
    assert done.returncode != 0
    assert wrong not in done.stderr
    assert not list(cli.folder.rglob("config.json"))


def test_launch_wait_brings_log_exit_code_and_the_final_block(
    cli: Cli, agent: Agent, tmp_path: Path
) -> None:
    folder = project_folder(tmp_path / "code")
    done = cli.run(
        *("launch", "--project", "demo", "--wait", "--name", "first", "--config", "lr=0.1"),
        *("--", "sh", "main.sh", "hello", "7"),
        cwd=folder,
    )
    assert done.returncode == 7, done.stderr
    assert "code says hello\nforty-two\n" in done.stdout
    assert re.search(r"^state +failed \(it exited with code 7\)$", done.stdout, re.M)
    assert re.search(r"^exit code +7$", done.stdout, re.M)
    assert re.search(r"^run time +\S+", done.stdout, re.M)
    assert re.search(r"^cost +\S+", done.stdout, re.M)
    assert re.search(r"^run +http://127\.0\.0\.1:\d+/p/demo/r/r[a-z2-7]{12}$", done.stdout, re.M)
    assert re.search(r"queued|offered|starting|running", done.stderr)
    assert "\r" not in done.stderr + done.stdout and "\x1b" not in done.stderr  # plain in a pipe


def test_a_signal_of_the_job_becomes_128_and_its_number(cli: Cli, agent: Agent) -> None:
    done = cli.run(
        *("launch", "--project", "demo", "--no-code", "--wait", "--", "sh", "-c", "kill -9 $$")
    )
    assert done.returncode == 137, done.stderr


def make_repository(folder: Path) -> str:
    """Commits all of a folder on branch `tune`; the commit."""

    def git(*words: str) -> str:
        return subprocess.run(
            ["git", "-c", "user.name=a", "-c", "user.email=a@b", *words],
            cwd=folder,
            check=True,
            capture_output=True,
            text=True,
        ).stdout.strip()

    git("init", "-b", "tune")
    git("add", ".")
    git("commit", "-m", "one")
    git("remote", "add", "origin", "https://me:hunter2@git.example/team/code.git")
    return git("rev-parse", "HEAD")


@pytest.mark.parametrize("with_sdk", [False, True])
def test_the_run_of_a_job_names_the_commit_that_was_launched(
    cli: Cli, agent: Agent, tmp_path: Path, with_sdk: bool
) -> None:
    folder = project_folder(tmp_path / "code")
    (folder / "train.py").write_text(
        "import euvyra\nwith euvyra.init() as run:\n    run.log({'loss': 1.0})\n"
    )
    commit = make_repository(folder)
    command = [sys.executable, "train.py"] if with_sdk else ["true"]
    cli.ok("launch", "--project", "demo", "--wait", "--name", "clean", "--", *command, cwd=folder)
    (folder / "train.py").write_text((folder / "train.py").read_text() + "print('more')\n")
    cli.ok("launch", "--project", "demo", "--wait", "--name", "dirty", "--", *command, cwd=folder)
    runs = json.loads(cli.ok("runs", "--project", "demo", "--json"))
    told = {run["name"]: json.loads(cli.ok("run", run["id"], "--json"))["code"] for run in runs}
    remote = told["clean"]["git"].pop("remote")
    assert told["clean"]["git"] == {"commit": commit, "branch": "tune", "dirty": False}
    assert "git.example/team/code.git" in remote and "hunter2" not in json.dumps(told)
    assert told["dirty"]["git"]["commit"] == commit
    assert told["dirty"]["git"]["dirty"] is True and len(told["dirty"]["git"]["diff_sha256"]) == 64
    assert ("packages" in told["dirty"]) == with_sdk


def test_a_git_folder_is_packed_with_its_changes_and_without_what_it_ignores(
    cli: Cli, agent: Agent, tmp_path: Path
) -> None:
    folder = project_folder(tmp_path / "code")

    (folder / ".gitignore").write_text("secret.txt\n")
    (folder / "secret.txt").write_text("s")
    make_repository(folder)
    (folder / "data" / "x.txt").write_text("changed\n")
    (folder / "new.txt").write_text("n")
    done = cli.run(
        *("launch", "--project", "demo", "--wait", "--", "sh", "-c", "cat data/x.txt; ls -A"),
        cwd=folder,
    )
    assert done.returncode == 0, done.stderr
    shown = done.stdout.splitlines()
    assert shown[0] == "changed"
    assert "new.txt" in shown and "secret.txt" not in shown and ".git" not in shown


def test_own_failures_of_launch_end_with_125(cli: Cli, server: Server) -> None:
    assert cli.run("launch", "--no-code", "--project", "nope", "--", "true").returncode == 125
    assert cli.run("launch", "--project", "demo").returncode == 125  # no command
    bad = cli.run("launch", "--project", "demo", "--no-code", "--timeout", "soon", "--", "true")
    assert (bad.returncode, "soon" in bad.stderr) == (125, True)
    cli.env["EUVYRA_SERVER"] = "http://127.0.0.1:9"
    away = cli.run("launch", "--project", "demo", "--no-code", "--", "true")
    assert (away.returncode, "127.0.0.1:9" in away.stderr) == (125, True)


def test_jobs_are_listed_shown_and_cancelled(cli: Cli) -> None:
    job = cli.ok("launch", "--project", "demo", "--no-code", "--", "sleep", "100").strip()
    assert re.fullmatch("j[a-z2-7]{12}", job)
    assert job in cli.ok("jobs")
    (listed,) = cli.json("jobs", "--project", "demo")
    assert (listed["id"], listed["state"]) == (job, "queued")
    assert "waits" in cli.ok("job", job)
    assert cli.json("job", job)["spec"]["command"] == ["sleep", "100"]
    assert "cancelled" in cli.ok("cancel", job)
    assert job not in cli.ok("jobs") and job in cli.ok("jobs", "--all")
    missing = cli.run("job", "jaaaaaaaaaaaa")
    assert missing.returncode == 4


def test_logs_follow_ends_with_the_job(cli: Cli, agent: Agent, tmp_path: Path) -> None:
    go = tmp_path / "go"
    script = f"echo one; while [ ! -e {go} ]; do sleep 0.02; done; echo two"
    job = cli.ok("launch", "--project", "demo", "--no-code", "--", "sh", "-c", script).strip()
    follower = cli.start("logs", "-f", job)
    assert follower.stdout
    assert follower.stdout.readline() == "one\n"
    go.touch()
    assert follower.stdout.read() == "two\n"
    assert follower.wait(WAIT_S) == 0
    run = cli.json("job", job)["run"]
    assert cli.ok("logs", run) == "one\ntwo\n"
    follower.stdout.close()
    if follower.stderr:
        follower.stderr.close()


def test_interrupted_waiting_leaves_the_job_running(cli: Cli, agent: Agent) -> None:
    waiting = cli.start(
        *("launch", "--project", "demo", "--no-code", "--wait"),
        *("--", "sh", "-c", "echo up; sleep 1000"),
    )
    assert waiting.stdout and waiting.stderr
    assert waiting.stdout.readline() == "up\n"
    waiting.send_signal(signal.SIGINT)
    assert waiting.wait(WAIT_S) == 125
    said = waiting.stderr.read()
    assert "the job goes on" in said and "euvyra cancel" in said
    (job,) = cli.json("jobs")
    assert job["state"] == "running"
    cli.ok("cancel", job["id"])
    waiting.stdout.close()
    waiting.stderr.close()


def test_waiting_survives_a_restart_of_the_server(
    cli: Cli, agent: Agent, server: Server, tmp_path: Path
) -> None:
    go = tmp_path / "go"
    waiting = cli.start(
        *("launch", "--project", "demo", "--no-code", "--wait", "--", "sh", "-c"),
        f"echo up; while [ ! -e {go} ]; do sleep 0.02; done; echo down; exit 3",
    )
    assert waiting.stdout and waiting.stderr
    assert waiting.stdout.readline() == "up\n"
    port = server.port
    server.kill()
    said = waiting.stderr.readline()
    while said and "trying again" not in said:
        said = waiting.stderr.readline()
    assert said
    go.touch()
    server.options = ("--listen", f"127.0.0.1:{port}")
    server.start()
    assert "down\n" in waiting.stdout.read()
    assert waiting.wait(WAIT_S) == 3
    waiting.stdout.close()
    waiting.stderr.close()


def test_agents_add_writes_a_private_key_that_an_agent_can_use(
    cli: Cli, server: Server, tmp_path: Path
) -> None:
    cli.ok("targets", "set", "lab", "--hour", "0.45")
    cli.ok("agents", "add", "box", "--target", "lab", "--key-file", tmp_path / "box.key")
    assert stat.S_IMODE((tmp_path / "box.key").stat().st_mode) == 0o600
    process = subprocess.Popen(
        [
            BUILD / "euvyra-agent",
            *("--server", server.url, "--key-file", tmp_path / "box.key"),
            *("--name", "box", "--target", "lab", "--dir", tmp_path / "agent", "--allow-root"),
        ],
        stderr=subprocess.DEVNULL,
    )
    try:
        wait_for("the agent", lambda: cli.json("agents")[0]["state"] == "online")
    finally:
        process.terminate()
        assert process.wait(WAIT_S) == 0
    (target,) = cli.json("targets")
    assert (target["name"], target["price_hour_micro"]) == ("lab", 450000)


def test_runs_and_exec_and_projects(cli: Cli) -> None:
    done = cli.run(
        "exec", "--project", "demo", "--name", "byhand", "--", "sh", "-c", "echo hi; exit 4"
    )
    assert (done.returncode, done.stdout) == (4, "hi\n")
    listed = wait_for("the run to end", lambda: ended_run(cli))
    assert (listed["name"], listed["exit_code"]) == ("byhand", 4)
    assert listed["id"] in cli.ok("runs", "--project", "demo")
    assert "byhand" in cli.ok("run", listed["id"])
    cli.ok("projects", "create", "other", "--title", "Another")
    assert {project["name"] for project in cli.json("projects")} == {"demo", "other"}


def test_a_run_tells_each_of_its_machines_on_a_line(cli: Cli, server: Server) -> None:
    run = make_id("r")
    server.ok("PUT", f"/api/v1/projects/demo/runs/{run}", {})
    for host in range(2):
        side = Log()
        side.start(kind="sidecar", host=f"gpu-{host}")
        machine = {"cpu": {"threads": 64}, "memory_bytes": 2 << 40, "driver": "550.54"}
        gpus = [{"name": "H100"}] * 8 if host else [{"name": "H100"}, {"name": "A100"}]
        side.document(3, {**machine, "cuda": "12.4", "gpus": gpus})
        server.upload(run, side)
        for rank in (0, 1, 3):
            log = Log()
            log.start(host=f"gpu-{host}", rank=4 * host + rank)
            server.upload(run, log)
    shown = cli.ok("run", run).split("\n\n")[1].splitlines()
    assert [line.split() for line in shown] == [
        ["HOST", "RANKS", "GPUS", "CPUS", "MEMORY", "DRIVER", "CUDA"],
        *(
            [f"gpu-{host}", ranks, *gpus.split(), "64", "2048", "GiB", "550.54", "12.4"]
            for host, ranks, gpus in [(0, "0-1,3", "1 x H100, 1 x A100"), (1, "4-5,7", "8 x H100")]
        ),
    ]


def test_runs_are_filtered_sorted_and_shown_with_columns(cli: Cli, server: Server) -> None:
    for index in range(3):
        run = make_id("r")
        server.ok("PUT", f"/api/v1/projects/demo/runs/{run}", {"name": f"run {index}"})
        log = Log()
        log.start(config={"lr": index / 10, "a,b": index})
        server.upload(run, log)
    lines = cli.ok(
        "runs", "--project", "demo", "--filter", "config.lr > 0", "--sort", "-config.lr",
        "--columns", 'config.lr,config."a,b",config.no',
    ).splitlines()  # fmt: skip
    assert lines[0].split() == [
        "RUN", "STATE", "NAME", "CREATED", "config.lr", 'config."a,b"', "config.no",
    ]  # fmt: skip
    assert [line.split()[-3:] for line in lines[1:]] == [["0.2", "2", "-"], ["0.1", "1", "-"]]
    done = cli.run("runs", "--project", "demo", "--filter", "state = finished and nmae = x")
    assert done.returncode == 2
    assert done.stderr == (
        'euvyra: there is no field "nmae"\n'
        "  state = finished and nmae = x\n"
        "                       ^\n"
        "hint: did you mean name?\n"
    )


def test_a_project_is_changed(cli: Cli, server: Server) -> None:
    cli.ok("projects", "set", "demo", "--title", "Demo", "--retain-days", "90")
    shown = server.ok("GET", "/api/v1/projects/demo")
    assert (shown["title"], shown["retain_days"]) == ("Demo", 90)


def ended_run(cli: Cli) -> Any:
    runs = cli.json("runs", "--project", "demo")
    return runs[0] if runs and runs[0]["state"] == "failed" else None


def test_help_man_completion_and_version_come_from_the_table(cli: Cli) -> None:
    names = re.findall(r"^  euvyra (\w+)", cli.ok("--help"), re.M)
    assert {"login", "launch", "jobs", "logs", "sync", "exec", "version"} <= set(names)
    for name in names:
        shown = cli.ok(name, "--help")
        assert "options:" in shown
    assert "--wait" in cli.ok("launch", "--help")
    assert "launch" in cli.ok("man") and r"\-\-timeout" in cli.ok("man", "launch")
    script = cli.ok("completion", "bash")
    check = subprocess.run(
        ["bash", "-n"], input=script, text=True, capture_output=True, timeout=WAIT_S
    )
    assert check.returncode == 0, check.stderr
    assert cli.json("version")["client"]


@pytest.mark.parametrize(
    "words,part",
    [
        (["nonsense"], "nonsense"),
        (["jobs", "--nonsense"], "--nonsense"),
        (["jobs", "--limit"], "--limit"),
        (["jobs", "--limit", "x"], "x"),
        (["job"], "JOB"),
        (["job", "../../health"], "../../health"),
    ],
)
def test_wrong_use_is_one_line_and_exit_code_2(cli: Cli, words: list[str], part: str) -> None:
    done = cli.run(*words)
    assert done.returncode == 2, done.stderr
    assert part in done.stderr
    assert done.stderr.startswith("euvyra: ") and len(done.stderr.splitlines()) <= 2
