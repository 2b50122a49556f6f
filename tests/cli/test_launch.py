"""euvyra launch with all its options, files and arrays; the commands about jobs that wait."""

from __future__ import annotations

import gzip
import json
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
from agents import Agent
from support import ROOT, Server, wait_for
from test_cli import Cli


@pytest.fixture
def cli(server: Server, tmp_path: Path) -> Cli:
    return Cli(server, tmp_path / "home")


FILE = """\
# A job as people write it.
name: train
queue: default
tags: [first, second]
spec:
  command: [python, train.py, --epochs, "3"]
  cpus: 2
  config:
    lr: 0.1
    layers: [64, 64]
    note: "true"
  env: {A: b}
"""


def dry(cli: Cli, *words: str | Path) -> Any:
    """What would be submitted, read back from the YAML that is printed."""
    text = cli.ok("launch", "--dry-run", *words)
    path = cli.folder / "dry.yaml"
    path.write_text(text)
    assert cli.ok("launch", "--dry-run", "-f", path) == text  # it reads its own words
    return path, text


def submitted(cli: Cli, server: Server, *words: str | Path) -> dict[str, Any]:
    job = cli.ok("launch", "--project", "demo", "--no-code", "--held", *words).strip()
    return dict(server.ok("GET", f"/api/v1/jobs/{job}"))


def test_every_option_is_a_member_of_the_spec(cli: Cli, server: Server) -> None:
    things = {
        "volumes": [{"name": "data", "claim": "data"}],
        "buckets": [{"name": "models", "endpoint": "https://s3.example.org", "bucket": "m"}],
    }
    for target in ("spot", "local"):
        server.ok("PUT", f"/api/v1/targets/{target}", things)
    server.ok("PUT", "/api/v1/projects/demo/secrets/TOKEN", {"value": "x"})
    options = (
        "--target spot:10m --target local --gpus 2 --gpu-type A100 --gpu-type H100 --gpu-memory 40G "
        "--cpus 8 --memory 64G --nodes 2 --launcher torchrun --image team/train:1 --registry TOKEN "
        "--shm 16G --disk 100G --pids 4096 --read-only-root --volume data:/data:ro --bucket models "
        "--config lr=0.1 --env A=b --secret HF=TOKEN --timeout 2h --grace 1m --retries 5 "
        "--retry-failed"
    )
    job = submitted(cli, server, *options.split(), "--", "python", "t.py")
    assert job["spec"] == {
        "command": ["python", "t.py"],
        "targets": [{"target": "spot", "wait_s": 600}, {"target": "local"}],
        "gpus": 2,
        "gpu_type": ["A100", "H100"],
        "gpu_memory_bytes": 40 << 30,
        "cpus": 8,
        "memory_bytes": 64 << 30,
        "nodes": 2,
        "launcher": "torchrun",
        "image": "team/train:1",
        "registry": "TOKEN",
        "shm_bytes": 16 << 30,
        "disk_bytes": 100 << 30,
        "pids": 4096,
        "read_only_root": True,
        "volumes": [{"name": "data", "path": "/data", "read_only": True}],
        "buckets": ["models"],
        "config": {"lr": 0.1},
        "env": {"A": "b"},
        "secrets": {"HF": "TOKEN"},
        "timeout_s": 7200,
        "grace_s": 60,
        "retries": 5,
        "retry_failed": True,
    }


def test_a_file_is_a_job_and_options_go_over_it(cli: Cli, server: Server) -> None:
    path = cli.folder / "job.yaml"
    path.write_text(FILE)
    job = submitted(cli, server, "-f", path, "--cpus", "3", "--config", "lr=0.2", "--env", "C=d")
    assert (job["name"], job["queue"]) == ("train", "default")
    assert job["spec"] == {
        "command": ["python", "train.py", "--epochs", "3"],
        "cpus": 3,
        "config": {"lr": 0.2, "layers": [64, 64], "note": "true"},
        "env": {"A": "b", "C": "d"},
    }
    other = submitted(cli, server, "--file", path, "--", "sh", "-c", "true")
    assert other["spec"]["command"] == ["sh", "-c", "true"]


def test_a_file_may_name_its_project(cli: Cli, server: Server) -> None:
    server.ok("PUT", "/api/v1/projects/other", {})
    path = cli.folder / "job.yaml"
    path.write_text("project: other\n" + FILE)
    job = cli.ok("launch", "-f", path, "--no-code").split()[0]
    assert server.ok("GET", f"/api/v1/jobs/{job}")["project"] == "other"
    job = cli.ok("launch", "-f", path, "--no-code", "--project", "demo").split()[0]
    assert server.ok("GET", f"/api/v1/jobs/{job}")["project"] == "demo"
    path.write_text("project: [a]\n" + FILE)
    assert '"project" is the name of a project' in cli.run("launch", "-f", path).stderr


def test_the_file_in_the_docs_is_read_as_it_stands_there(cli: Cli) -> None:
    page = (ROOT / "docs/jobs.md").read_text()
    path = cli.folder / "job.yaml"
    path.write_text(page.split("```yaml\n")[1].split("```")[0])
    _, text = dry(cli, "-f", path)
    assert "wait_s: 600" in text and "HF_TOKEN: HUGGINGFACE" in text


def test_dry_run_prints_yaml_that_launch_reads(cli: Cli, server: Server) -> None:
    path = cli.folder / "job.yaml"
    path.write_text(FILE)
    _, text = dry(cli, "-f", path, "--array", "0-9:3%2", "--config", 'odd={"a": [null, "1e5"]}')
    assert "  from: 0\n" in text and 'note: "true"' in text and '"1e5"' in text
    _, text = dry(cli, "--service", "--replicas", "2", "--health", "8000/up", "--", "serve")
    assert "path: /up" in text and "kind: service" in text
    path.write_text(text)
    how = ("--health-every", "1m", "--health-timeout", "2s", "--health-failures", "5")
    made = submitted(cli, server, "-f", path, *how, "--health-start", "1h")
    assert made["spec"]["health"] == {
        "port": 8000,
        "path": "/up",
        "every_s": 60,
        "timeout_s": 2,
        "failures": 5,
        "starts_within_s": 3600,
    }


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("spec:\n  cpus: 1\n  cpus: 2\n", "line 3, column 3"),
        ("a: &x 1\n", "anchors"),
        ("a: *x\n", "line 1, column 4"),
        ("a: !!python/name:os 1\n", "tag"),
        ("[" * 70, "nested too deep"),
        ("a: 1\n---\nb: 2\n", "second document"),
        ("a: [1\n", "line 2"),
        ("- a\n", "spec"),
        ("spec: {command: [a], gpu: 1}\n", "spec.gpu"),
    ],
)
def test_what_is_wrong_in_a_file_is_said_with_its_place(
    cli: Cli,
    text: str,
    said: str,
) -> None:
    path = cli.folder / "job.yaml"
    path.write_text(text)
    done = cli.run("launch", "--project", "demo", "--no-code", "-f", path)
    assert done.returncode == 125 and said in done.stderr, done.stderr


@pytest.mark.parametrize(
    "words",
    [
        ("--array", "5"),
        ("--array", "a-b"),
        ("--after", "j234567abcdef:all"),
        ("--volume", "data"),
        ("--health", "up"),
        ("--health-every", "often"),
        ("--target", "spot:soon"),
        ("--shm", "8X"),
    ],
)
def test_an_option_with_a_wrong_value_is_named(cli: Cli, words: tuple[str, str]) -> None:
    done = cli.run("launch", "--dry-run", *words, "--", "true")
    assert done.returncode == 125 and words[0] in done.stderr
    assert words[1].split(":")[-1] in done.stderr


def test_the_health_of_a_service_is_listed_and_shown(
    cli: Cli, server: Server, tmp_path: Path
) -> None:
    launch = ("launch", "--project", "demo", "--no-code", "--service", "--health", "1/up")
    with Agent(server, tmp_path / "agent"):
        job = cli.ok(*launch, "--", "sleep", "1000").strip()
        wait_for("its health", lambda: "running (starting)" in cli.ok("jobs"))
        shown = cli.ok("job", job)
        assert re.search(r"^health    starting since ", shown, re.MULTILINE), shown
        assert re.search(r" health +running +agent:rack1  starting$", shown, re.MULTILINE), shown
        cli.ok("cancel", job)
        wait_for("its end", lambda: job not in cli.ok("jobs"))


def test_replicas_cannot_be_waited_for_as_one_job(cli: Cli) -> None:
    launch = ("launch", "--project", "demo", "--no-code", "--service", "--replicas", "2")
    done = cli.run(*launch, "--wait", "--", "serve")
    assert done.returncode == 125 and "--wait follows one job" in done.stderr


def test_an_array_is_one_line_and_one_word(cli: Cli, server: Server) -> None:
    launch = ("launch", "--project", "demo", "--no-code", "--array", "1-3%2")
    array = cli.ok(*launch, "--", "true").strip()
    after = cli.ok("launch", "--project", "demo", "--no-code", "--after", array, "--", "true")
    lines = cli.ok("jobs", "list").splitlines()
    assert len(lines) == 3 and f"{array}" in lines[2] and "3 queued" in lines[2]
    assert len(cli.ok("jobs", "--array", array).splitlines()) == 4
    assert "waits" in cli.ok("job", after.strip())
    cli.ok("cancel", array)
    assert server.ok("GET", f"/api/v1/jobs/{array}")["array"]["states"] == {"cancelled": 3}


def test_why_says_what_would_change_it(cli: Cli, server: Server) -> None:
    job = cli.ok("launch", "--project", "demo", "--no-code", "--", "true").strip()
    wait_for("the scheduler", lambda: "no_agent" in cli.ok("job", "why", job))
    said = cli.ok("job", "why", job)
    assert "why       no agent is online" in said and "change    connect a machine" in said
    assert "job" in cli.ok("job", "hold", job)
    assert "code      held" in cli.ok("job", "why", job)
    said = cli.ok("job", "why", job, "--priority", "5")
    assert said.endswith("\nwith priority 5\nwhy       its priority is not what keeps it waiting\n")
    cli.ok("release", job)
    server.ok("PUT", "/api/v1/targets/away", {"price_hour_micro": 1})
    cli.ok("job", "set", job, "--target", "away", "--priority", "-5")
    shown = cli.json("job", job)
    assert (shown["priority"], shown["spec"]["targets"]) == (-5, [{"target": "away"}])
    assert cli.run("job", "set", job).returncode == 2
    cli.ok("jobs", "priority", job, "-7")
    assert cli.json("jobs", "show", job)["priority"] == -7
    assert cli.run("jobs", "priority", job, "high").returncode == 2
    assert cli.run("jobs", "priority", job, "5000").returncode == 2


def test_a_job_is_launched_again_from_its_run(cli: Cli, server: Server) -> None:
    first = submitted(cli, server, "--config", "lr=0.1", "--cpus", "2", "--", "python", "t.py")
    again = submitted(cli, server, "--from", first["run"], "--config", "lr=0.3")
    assert again["id"] != first["id"]
    assert again["spec"] == {**first["spec"], "config": {"lr": 0.3}}
    bare = "r234567abcdef"
    server.ok("PUT", f"/api/v1/projects/demo/runs/{bare}", {})
    done = cli.run("launch", "--project", "demo", "--from", bare)
    assert done.returncode == 125 and "neither a job nor a recorded commit" in done.stderr


def test_a_run_without_a_job_is_launched_again_from_its_commit(cli: Cli, server: Server) -> None:
    folder = cli.folder / "work"
    folder.mkdir()

    def git(*words: str) -> None:
        name = ("-c", "user.name=ada", "-c", "user.email=ada@example.org")
        subprocess.run(["git", *name, *words], cwd=folder, check=True, capture_output=True)

    git("init", "-q")
    (folder / "train.py").write_text("print('committed')\n")
    git("add", ".")
    git("commit", "-qm", "one")
    (folder / "train.py").write_text("print('changed')\n")
    cli.ok("exec", "--project", "demo", "--", "python3", "train.py", cwd=folder)
    runs = "/api/v1/projects/demo/runs"
    run = wait_for("the run", lambda: (r := server.ok("GET", runs)["items"]) and r[0]["id"])
    shown = wait_for(
        "its commit", lambda: (d := server.ok("GET", f"/api/v1/runs/{run}"))["code"] and d
    )
    wait_for("its changes", lambda: server.call("GET", f"/api/v1/runs/{run}/diff").status == 200)
    git("commit", "-qam", "two")
    (folder / "train.py").write_text("print('later')\n")
    launch = ("launch", "--project", "demo", "--held", "--from", run)
    job = cli.ok(*launch, cwd=folder).strip()
    spec = server.ok("GET", f"/api/v1/jobs/{job}")["spec"]
    assert spec["command"] == ["python3", "train.py"]
    assert spec["git"]["commit"] == shown["code"]["git"]["commit"]
    code = server.send("GET", f"/api/v1/projects/demo/blobs/{spec['code']}").body
    assert b"print('changed')" in gzip.decompress(code)
    done = cli.run(*launch)  # not in the repository
    assert done.returncode == 125 and "is not in the repository" in done.stderr


def test_a_secret_comes_from_standard_input_and_is_never_shown(
    cli: Cli,
    server: Server,
) -> None:
    set_it = ("secrets", "set", "TOKEN", "--project", "demo")
    assert cli.run(*set_it, stdin="hunter2\n").returncode == 0
    path = cli.folder / "value"
    path.write_text("other")
    cli.ok(*set_it, "--file", path)
    listed = cli.ok("secrets", "--project", "demo")
    assert "TOKEN" in listed and "hunter2" not in listed and "other" not in listed
    cli.ok("secrets", "delete", "TOKEN", "--project", "demo")
    assert cli.json("secrets", "--project", "demo") == []
    assert cli.run("secrets", "set", "a-b", "--project", "demo", stdin="x").returncode == 2


def test_queues_teams_quota_budget_and_maintenance_are_tables(
    cli: Cli,
    server: Server,
) -> None:
    server.ok("PUT", "/api/v1/projects/demo/share", {"quota": {"gpus": 4}, "borrow": {"gpus": 2}})
    assert "default" in cli.ok("queues")
    assert "0 of 4 + 2" in cli.ok("teams")
    assert "0 of 4 + 2" in cli.ok("quota", "--project", "demo")
    assert "any GPU hours" in cli.ok("budget", "--project", "demo")
    server.ok("PUT", "/api/v1/projects/demo/budget", {"gpu_hours": 100})
    shown = cli.ok("budget", "--project", "demo")
    assert "limit      100 GPU hours, any" in shown and "used       0.0 GPU hours" in shown
    assert "left       100.0 GPU hours, any" in shown
    cli.ok("targets", "set", "local")
    cli.ok("targets", "maintenance", "local", "--reason", "new cables")
    shown = json.loads(cli.ok("targets", "--json"))
    assert shown[0]["maintenance"]["reason"] == "new cables"
    cli.ok("targets", "service", "local")
    assert json.loads(cli.ok("targets", "--json"))[0]["maintenance"] is None


def test_another_priority_and_a_job_to_come_are_looked_at_before_they_are_real(
    cli: Cli, server: Server
) -> None:
    first, second = (
        cli.ok("launch", "--project", "demo", "--no-code", "--name", name, "--", "true").strip()
        for name in ("first", "second")
    )
    wait_for("the scheduler", lambda: "rank      2" in cli.ok("job", "why", second))
    lines = cli.ok("job", "why", second, "--priority", "5").splitlines()
    assert "rank      2" in lines and "with priority 5" in lines
    assert lines[-2:] == ["rank      1", f"passes    {first}  demo  first"]
    lines = cli.ok(
        "launch", "--project", "demo", "--no-code", "--estimate", "--", "true"
    ).splitlines()
    assert lines[0] == "code      no_agent" and lines[-2:] == [
        "rank      3",
        "of        3 that wait",
    ]
    assert len(server.ok("GET", "/api/v1/jobs")["items"]) == 2
    refused = cli.run("launch", "--project", "demo", "--estimate", "--queue", "x", "--", "true")
    assert refused.returncode != 0 and 'queue "x" not found' in refused.stderr
