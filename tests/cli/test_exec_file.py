"""euvyra exec -f: the file of a job, run here."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest
from support import BUILD, Server, wait_for


def run(server: Server, folder: Path, *words: str, **env: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "EUVYRA_SERVER": server.url, "EUVYRA_API_KEY": server.key, **env}
    command = [str(BUILD / "euvyra"), "exec", *words]
    return subprocess.run(
        command,
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def write(folder: Path, **body: Any) -> str:
    (folder / "job.yaml").write_text(json.dumps(body))
    return "job.yaml"


def recorded(server: Server, folder: Path) -> Any:
    (made,) = (folder / "euvyra-runs").iterdir()

    def ended() -> Any:
        answer = server.call("GET", f"/api/v1/runs/{made.name}")
        return answer.json if answer.status == 200 and answer.json["ended_at"] else None

    return wait_for("the record", ended)


def test_the_command_of_a_file_runs_here_and_is_recorded(server: Server, tmp_path: Path) -> None:
    spec = {
        "command": ["sh", "-c", 'echo "$A $B $EUVYRA_CONFIG"; exit 4'],
        "env": {"A": "of the file", "B": "b"},
        "config": {"lr": 0.5},
        "gpus": 8,  # nothing is asked of this machine
        "nodes": 2,
    }
    file = write(tmp_path, name="tried", project="demo", tags=["x"], notes="n", spec=spec)
    done = run(server, tmp_path, "-f", file, A="of the shell")
    assert (done.returncode, done.stdout) == (4, 'of the file b {"lr":0.5}\n'), done.stderr
    seen = recorded(server, tmp_path)
    assert (seen["name"], seen["tags"], seen["notes"]) == ("tried", ["x"], "n")
    assert seen["config"] == {"lr": 0.5} and seen["exit_code"] == 4


def test_a_command_and_options_go_over_the_file(server: Server, tmp_path: Path) -> None:
    file = write(tmp_path, name="tried", spec={"command": ["false"], "config": {}})
    done = run(
        server, tmp_path, "-f", file, "--name", "mine", "--project", "demo", "--", "echo", "x"
    )
    assert (done.returncode, done.stdout) == (0, "x\n"), done.stderr
    assert recorded(server, tmp_path)["name"] == "mine"


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ({"spec": {}}, "the job's file has no command"),
        ({"spec": {"command": [1]}}, "spec.command: item 0 is no text"),
        ({"spec": {"command": ["true"], "env": {"A": 1}}}, 'spec.env: "A" is no text'),
        ({"command": ["true"]}, 'job.yaml has no map "spec"'),
        (
            {"spec": {"command": ["true"], "secrets": {"HF_TOKEN": "HUB"}}},
            'the job gets HF_TOKEN from the secret "HUB", and it is not set here',
        ),
        (
            {"spec": {"command": ["true"], "config": {"x": "y" * 100000}}},
            "spec.config has more than 98304 bytes; launch it as a job",
        ),
    ],
)
def test_a_file_that_cannot_be_run_here_is_refused(
    server: Server, tmp_path: Path, body: Any, said: str
) -> None:
    done = run(server, tmp_path, "-f", write(tmp_path, **body))
    assert (done.returncode, said in done.stderr) == (125, True), done.stderr
    assert not (tmp_path / "euvyra-runs").exists()


def test_a_secret_that_is_set_here_will_do(server: Server, tmp_path: Path) -> None:
    spec = {"command": ["sh", "-c", 'test "$HF_TOKEN" = canary'], "secrets": {"HF_TOKEN": "HUB"}}
    done = run(server, tmp_path, "-f", write(tmp_path, spec=spec), HF_TOKEN="canary")
    assert done.returncode == 0, done.stderr


def test_exec_wants_a_command(server: Server, tmp_path: Path) -> None:
    done = run(server, tmp_path)
    assert "euvyra exec wants -- COMMAND..., or a file that has one" in done.stderr
    assert done.returncode == 125
