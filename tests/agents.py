"""A real euvyra-agent for tests, and what it runs.

with Server(tmp_path / "data") as server, Agent(server, tmp_path / "agent") as agent:
    ...
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

from support import BUILD, WAIT_S, Server, make_id


class Agent:
    """euvyra-agent in a folder of its own; may be killed and started again."""

    def __init__(self, server: Server, folder: Path, name: str = "rack1") -> None:
        self.folder = folder
        self.name = name
        self.id = make_id("a")
        self.process: subprocess.Popen[bytes] | None = None
        self.url = server.url
        self.launcher: list[str] = []  # what starts the program
        server.ok("PUT", "/api/v1/targets/here", {"price_hour_micro": 3_600_000_000})
        server.ok("PUT", f"/api/v1/agents/{self.id}", {"name": name, "target": "here"})
        made = server.ok("POST", "/api/v1/keys", {"kind": "agent", "name": "k", "agent": self.id})
        self.key_file = folder.with_name("agent.key")
        self.key_file.write_text(made["key"])

    @classmethod
    def copy_of(cls, agent: Agent, folder: Path) -> Agent:
        """The same name and key in another folder."""
        copy = cls.__new__(cls)
        copy.__dict__.update(agent.__dict__, folder=folder, process=None)
        return copy

    def start(self, *options: str) -> Agent:
        log = self.folder.with_suffix(".log").open("ab")
        self.process = subprocess.Popen(
            [
                *self.launcher,
                BUILD / "euvyra-agent",
                *("--server", self.url, "--key-file", self.key_file, "--dir", self.folder),
                *(
                    "--name",
                    self.name,
                    "--target",
                    "here",
                    "--allow-root",
                    "--slots",
                    "4",
                    *options,
                ),
            ],
            stderr=log,
        )
        log.close()
        return self

    @contextlib.contextmanager
    def ended(self) -> Iterator[Agent]:
        """Ends it on the way out, however it was started."""
        try:
            yield self
        finally:
            self.__exit__()

    def log(self) -> str:
        return self.folder.with_suffix(".log").read_text()

    def __enter__(self) -> Agent:
        return self.start()

    def __exit__(self, *_: object) -> None:
        """Ends the agent and whatever it still runs."""
        if self.process and self.process.poll() is None:
            self.kill(signal.SIGTERM)
        for folder in self.attempts():
            (folder / "kill").touch()
            for pid in processes_of(folder.name):
                os.kill(pid, signal.SIGKILL)

    def kill(self, number: int = signal.SIGKILL) -> int:
        assert self.process
        self.process.send_signal(number)
        return self.process.wait(WAIT_S)

    def attempts(self) -> list[Path]:
        return sorted((self.folder / "attempts").glob("t*"))


def processes_of(attempt: str) -> list[int]:
    """Processes whose environment names the attempt."""
    wanted = f"EUVYRA_ATTEMPT={attempt}".encode()
    found = []
    for entry in Path("/proc").glob("[0-9]*/environ"):
        try:
            if wanted in entry.read_bytes().split(b"\0"):
                state = (entry.parent / "stat").read_text().rsplit(")", 1)[1].split()[0]
                if state != "Z":
                    found.append(int(entry.parent.name))
        except OSError:
            continue
    return found
