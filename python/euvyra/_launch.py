"""launch(): jobs from Python. The `euvyra` program packs the folder and submits, so that a job is the same
whoever launches it."""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TypedDict

from . import _errors, _sidecar

ENDED = ("succeeded", "failed", "cancelled")
LOOK_S = 1.0
EXITS: dict[int, type[_errors.Error]] = {2: _errors.InvalidError, 4: _errors.NotFoundError}


class Target(TypedDict, total=False):
    """A target of a list; wait_s seconds later the next one may be used too."""

    target: str
    wait_s: int


class Volume(TypedDict, total=False):
    """A volume of the targets, at a path of the job's."""

    name: str
    path: str
    read_only: bool


class Health(TypedDict, total=False):
    """What answers while a service is well, and how it is asked: see docs/jobs.md."""

    port: int
    path: str
    every_s: int
    timeout_s: int
    failures: int
    starts_within_s: int


class JobSpec(TypedDict, total=False):
    """What a job runs and asks for: the members of docs/jobs.md. Sizes are bytes, times seconds."""

    command: Sequence[str]
    image: str
    registry: str
    code: str
    config: Mapping[str, Any]
    env: Mapping[str, str]
    secrets: Mapping[str, str]
    gpus: int
    gpu_type: str | Sequence[str]
    gpu_memory_bytes: int
    cpus: int
    memory_bytes: int
    shm_bytes: int
    disk_bytes: int
    pids: int
    read_only_root: bool
    nodes: int
    launcher: str
    target: str
    targets: Sequence[Target]
    exclude: Sequence[str]
    timeout_s: int
    grace_s: int
    retries: int
    retry_failed: bool
    volumes: Sequence[Volume]
    buckets: Sequence[str]
    kind: str
    replicas: int
    health: Health


Array = TypedDict("Array", {"from": int, "to": int, "step": int, "limit": int}, total=False)


class After(TypedDict, total=False):
    """A job or array that comes before; `any`: however it ends."""

    job: str
    any: bool


def _call(words: Sequence[str], cwd: str | None, server: str | None) -> Any:
    program = _sidecar.find_program()
    if not program:
        raise _errors.NotFoundError("the program euvyra is not there: put it on PATH")
    more = ["--server", server] if server else []
    done = subprocess.run(
        [program, *words, "--json", *more], cwd=cwd, capture_output=True, text=True, check=False
    )
    if done.returncode == 0:
        return json.loads(done.stdout)
    said = done.stderr.strip().removeprefix("euvyra: ") or f"exit code {done.returncode}"
    raise EXITS.get(done.returncode, _errors.Error)(said)


class Job:
    """A job that was launched, or an array of jobs (then `id` is the array's)."""

    def __init__(self, answer: Mapping[str, Any], server: str | None) -> None:
        array = answer.get("array")
        self.id: str = array["id"] if array else answer["id"]
        self.run: str = answer["run"]
        self.warnings: list[str] = list(answer.get("warnings", ()))
        self._array = bool(array)
        self._server = server

    def __repr__(self) -> str:
        return f"<euvyra.Job {self.id}>"

    def show(self) -> dict[str, Any]:
        """The job as the server has it; of an array its first job, with counts in `array`."""
        return dict(_call(["job", self.id], None, self._server))

    def status(self) -> str:
        """Its state, such as "queued" or "running"; of an array the one it is in as a whole:
        "running" until all have ended, then "succeeded" or "failed"."""
        shown = self.show()
        if not self._array:
            return str(shown["state"])
        states = shown["array"]["states"]
        if any(state not in ENDED for state in states):
            begun = any(state not in ("held", "queued") for state in states)
            return "running" if begun else "queued"
        return "succeeded" if set(states) == {"succeeded"} else "failed"

    def wait(self, timeout: float | None = None) -> str:
        """Waits until it has ended and returns its state; TimeoutError after `timeout` seconds."""
        end = None if timeout is None else time.monotonic() + timeout
        while (state := self.status()) not in ENDED:
            if end is not None and time.monotonic() >= end:
                raise TimeoutError(f"job {self.id} is {state} after {timeout} s")
            time.sleep(LOOK_S)
        return state

    def cancel(self) -> None:
        """Cancels it, or all jobs of the array; repeating it changes nothing."""
        _call(["cancel", self.id], None, self._server)


def launch(
    body: Mapping[str, Any], project: str | None, cwd: str | None, code: bool, server: str | None
) -> Job:
    try:
        text = json.dumps(body, ensure_ascii=False, allow_nan=False)
    except (TypeError, ValueError) as error:
        raise _errors.InvalidError(f"the job cannot be written as JSON: {error}") from None
    handle, path = tempfile.mkstemp(suffix=".yaml")
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
        words = ["launch", "--file", path]
        words += ["--project", project] if project else []
        words += [] if code else ["--no-code"]
        return Job(_call(words, cwd, server), server)
    finally:
        Path(path).unlink()
