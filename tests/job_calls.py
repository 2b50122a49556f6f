"""Submitting jobs to a server and waiting for what becomes of them."""

from __future__ import annotations

from typing import Any

from support import Server, make_id, wait_for

# Rank 0 hears from each of the others who it is.
MEET = """
import os, socket, time
nodes, rank = int(os.environ["NNODES"]), int(os.environ["NODE_RANK"])
where = (os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"]))
if rank == 0:
    with socket.create_server(where) as master:
        print("met", sorted(master.accept()[0].recv(10).decode() for _ in range(nodes - 1)))
else:
    while True:
        try:
            with socket.create_connection(where) as there:
                there.send(str(rank).encode())
            break
        except ConnectionRefusedError:  # a name that is not known would end it
            time.sleep(0.05)
print("rank", rank, "of", nodes, flush=True)
"""


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
    text = bytearray()
    while piece := server.call("GET", f"/api/v1/runs/{run}/console?offset={len(text)}").body:
        text += piece
    return bytes(text)


def texts(server: Server, run: str) -> dict[int, str]:
    """What each rank wrote."""
    found = {0: console(server, run).decode()}
    for writer in server.ok("GET", f"/api/v1/runs/{run}/writers")["items"]:
        if writer["console_bytes"]:
            path = f"/api/v1/runs/{run}/console?writer={writer['id']}"
            found[writer["rank"]] = server.call("GET", path).body.decode()
    return found
