"""One key on two machines, as after a copied disk: nothing new starts until somebody has looked."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import Any

from agents import Agent
from support import BUILD, Server, wait_for
from test_agent import submit, wait_closed, wait_state


def state(server: Server, agent: Agent) -> str:
    items: list[dict[str, Any]] = server.ok("GET", "/api/v1/agents")["items"]
    return next(str(item["state"]) for item in items if item["id"] == agent.id)


def test_a_cloned_agent_gets_nothing_and_what_runs_goes_on(server: Server, tmp_path: Path) -> None:
    with Agent(server, tmp_path / "agent") as agent:
        go = tmp_path / "go"
        long, _ = submit(server, ["sh", "-c", f"until [ -e {go} ]; do sleep 0.05; done"])
        wait_state(server, long, "running")
        clone = Agent.copy_of(agent, tmp_path / "clone")
        with clone:

            def taken_turns() -> bool:
                submit(server, ["true"])  # each is a reason to call
                return state(server, agent) == "conflict"

            wait_for("the server to see two of them", taken_turns)
            waiting, _ = submit(server, ["true"])
            said = wait_for(
                "why it waits",
                lambda: (
                    (server.ok("GET", f"/api/v1/jobs/{waiting}")["waiting"] or {}).get("code")
                    == "no_agent"
                ),
            )
            assert said
            go.touch()
            ended = wait_closed(server, long)
            assert (ended["state"], len(ended["attempts"])) == ("succeeded", 1)
            assert state(server, agent) == "conflict"
        audit = [row["detail"] for row in server.ok("GET", "/api/v1/audit")["items"]]
        assert "two machines call with its key: nothing new starts there" in audit
        log = (tmp_path / "agent.log").read_text() + (tmp_path / "clone.log").read_text()
        assert 'two machines call as agent \\"rack1\\"' in log
        assert server.ok("GET", f"/api/v1/jobs/{waiting}")["state"] == "queued"
        done = subprocess.run(
            [BUILD / "euvyra", "agents", "clear", "rack1"],
            env={**os.environ, "EUVYRA_SERVER": server.url, "EUVYRA_API_KEY": server.key},
            capture_output=True,
            text=True,
            check=True,
        )
        assert done.stdout == "jobs start at agent rack1 again\n"
        wait_state(server, waiting, "succeeded")
        assert state(server, agent) == "online"


def test_a_machine_that_starts_again_and_again_is_one_machine(
    server: Server, tmp_path: Path
) -> None:
    agent = Agent(server, tmp_path / "agent")
    for _ in range(6):
        with agent:
            job, _ = submit(server, ["true"])
            wait_closed(server, job)
            agent.kill()
    assert state(server, agent) == "online"
