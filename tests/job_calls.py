"""Submitting jobs to a server and waiting for what becomes of them."""

from __future__ import annotations

from typing import Any

from support import Server, make_id, wait_for


def submit(server: Server, command: list[str], **spec: Any) -> tuple[str, str]:
    job, run = make_id("j"), make_id("r")
    body = {"run": run, "spec": {"command": command, "grace_s": 1, **spec}}
    server.ok("PUT", f"/api/v1/projects/demo/jobs/{job}", body)
    return job, run


def shown(server: Server, job: str) -> Any:
    return server.ok("GET", f"/api/v1/jobs/{job}")


def wait_state(server: Server, job: str, *states: str) -> Any:
    wait_for(f"{job} to be {states}", lambda: shown(server, job)["state"] in states)
    return shown(server, job)


def wait_closed(server: Server, job: str, seconds: float = 60) -> Any:
    """Ended, with its record complete."""

    def closed() -> Any:
        seen = shown(server, job)
        return seen if seen.get("console_final") else None

    return wait_for(f"{job} to be closed", closed, seconds)


def console(server: Server, run: str) -> bytes:
    """All of a run's console text."""
    text = b""
    while piece := server.call("GET", f"/api/v1/runs/{run}/console?offset={len(text)}").body:
        text += piece
    return text
