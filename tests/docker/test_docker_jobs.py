"""Jobs in containers of a real Docker engine: how they run, and how they end."""

from __future__ import annotations

from docker_engine import DockerAgent, Engine
from job_calls import console, submit, wait_closed
from support import Server, wait_for


def test_a_container_runs_and_leaves_nothing(
    server: Server, agent: DockerAgent, engine: Engine
) -> None:
    script = 'echo "$A|$EUVYRA_PROJECT|$EUVYRA_CONFIG|$PATH|$PWD"; echo err >&2; exit 7'
    job, run = submit(server, ["sh", "-c", script], env={"A": "x y"}, config={"lr": 0.5})
    seen = wait_closed(server, job)
    assert (seen["state"], seen["exit_code"]) == ("failed", 7), seen
    path = "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin"
    assert console(server, run) == f'x y|demo|{{"lr":0.5}}|{path}|/\nerr\n'.encode()
    wait_for("the folder to go", lambda: not agent.attempts())
    assert agent.containers() == []
