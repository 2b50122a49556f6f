"""Limits of the process executor, and a full disk, through a real agent."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from agents import Agent
from small_disk import small_disk
from support import Server, wait_for
from test_agent import console, submit, wait_closed


@pytest.fixture
def agent(server: Server, tmp_path: Path) -> Iterator[Agent]:
    with Agent(server, tmp_path / "agent") as running:
        yield running


def test_memory_is_limited_to_what_was_asked(server: Server, agent: Agent) -> None:
    command = ["dd", "if=/dev/zero", "of=/dev/null", "bs=400M", "count=1"]
    job, _ = submit(server, command, memory_bytes=32 << 20)
    shown = wait_closed(server, job)
    assert (shown["ending"], shown["reason"]) == (
        "out_of_memory",
        "the kernel killed it for memory",
    )


def test_processes_are_limited_where_the_kernel_counts_them(server: Server, agent: Agent) -> None:
    many = "for i in 1 2 3 4 5 6 7 8 9; do sleep 600 & done; wait"
    job, run = submit(server, ["sh", "-c", many], pids=5)
    assert wait_closed(server, job)["ending"] == "exit_code"
    assert b"fork" in console(server, run)


def test_a_folder_that_grows_beyond_its_limit_ends_its_job(server: Server, agent: Agent) -> None:
    script = "dd if=/dev/zero of=checkpoint bs=1M count=20; echo written; sleep 600"
    job, run = submit(server, ["sh", "-c", script], disk_bytes=10 << 20)
    shown = wait_closed(server, job)
    assert (shown["state"], shown["ending"]) == ("failed", "disk_full")
    assert shown["reason"] == "its folder held more than the 10485760 bytes that it asked for"
    assert console(server, run).endswith(b"written\n")
    wait_for("the folder to go", lambda: not agent.attempts())


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    with small_disk(tmp_path / "small", "8m") as folder:
        yield folder


def test_a_job_that_fills_the_disk_says_so_and_the_agent_goes_on(
    server: Server, disk: Path
) -> None:
    fill = "dd if=/dev/zero of=all bs=1M || exit 9"
    with Agent(server, disk / "agent") as agent:
        job, _ = submit(server, ["sh", "-c", fill])
        shown = wait_closed(server, job)
        assert (shown["ending"], shown["exit_code"]) == ("disk_full", 9)
        assert shown["reason"] == "the disk of the machine is full"
        wait_for("the folder to go", lambda: not agent.attempts())
        job, run = submit(server, ["echo", "again"])
        assert wait_closed(server, job)["state"] == "succeeded"
        assert console(server, run) == b"again\n"
