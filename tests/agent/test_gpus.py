"""A real agent with GPUs that a file tells: inventory, illness, use by others, readings, energy."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from agents import Agent
from fake_nvml import FakeGpus, uuid
from support import BUILD, Server, wait_for
from test_agent import submit, wait_closed, wait_state


@pytest.fixture
def gpus(tmp_path: Path) -> Iterator[FakeGpus]:
    fake = FakeGpus(tmp_path)
    with fake.used():
        yield fake


@pytest.fixture
def agent(server: Server, tmp_path: Path, gpus: FakeGpus) -> Iterator[Agent]:
    made = Agent(server, tmp_path / "agent")
    made.start(*gpus.options)
    with made.ended():
        yield made


def node(server: Server, agent: Agent) -> Any:
    return server.ok("GET", f"/api/v1/agents/{agent.id}")


def wait_node(server: Server, agent: Agent, what: str, test: Any) -> Any:
    def look() -> Any:
        shown = node(server, agent)
        return shown if test(shown) else None

    return wait_for(what, look)


def test_the_inventory_comes_with_the_first_call(
    server: Server, agent: Agent, gpus: FakeGpus
) -> None:
    shown = wait_node(server, agent, "the machine", lambda n: n["machine"])
    assert [g["uuid"] for g in shown["gpus"]] == [uuid(i) for i in range(8)]
    assert {g["type"] for g in shown["gpus"]} == {"A100"}
    assert {g["memory_kind"] for g in shown["gpus"]} == {"dedicated"}
    assert shown["gpus"][3]["bus_id"] == "00000000:04:00.0"
    assert shown["machine"]["driver"] == "570.1"
    assert shown["machine"]["cpu_threads"] > 0
    assert shown["gpus_offered"] == 8
    listed = server.ok("GET", "/api/v1/agents")["items"][0]
    assert (listed["gpus"], listed["gpu_type"]) == (8, "A100")


def test_a_gpu_that_falls_off_the_bus_is_offered_no_more_and_comes_back(
    server: Server, agent: Agent, gpus: FakeGpus
) -> None:
    wait_node(server, agent, "the machine", lambda n: n["gpus_offered"] == 8)
    gpus.say("3 lost 1")
    ill = wait_node(server, agent, "the loss", lambda n: n["gpus_offered"] == 7)
    assert ill["gpus"][3]["ill"] == "it has fallen off the bus, or needs a reset"
    assert ill["gpus"][3]["ill_since"]
    assert ill["gpus"][3]["name"] == "NVIDIA A100-SXM4-80GB"
    sums = server.ok("GET", "/api/v1/targets/here/nodes")["sums"]
    assert (sums["gpus"], sums["gpus_ill"], sums["gpus_idle"]) == (8, 1, 7)
    gpus.say()
    wait_node(server, agent, "the return", lambda n: n["gpus_offered"] == 8)
    assert node(server, agent)["gpus"][3]["ill"] == ""


def test_programs_of_others_are_named_and_their_gpu_is_not_offered(
    server: Server, agent: Agent, gpus: FakeGpus
) -> None:
    with subprocess.Popen(["sleep", "1000"]) as other:
        try:
            gpus.say(f"5 process {other.pid} 900")
            used = wait_node(server, agent, "the use", lambda n: n["gpus_offered"] == 7)
            assert used["gpus"][5]["used_by"] == f"process {other.pid} (sleep)"
            assert server.ok("GET", "/api/v1/targets/here/nodes")["sums"]["gpus_of_others"] == 1
        finally:
            other.kill()
    gpus.say()
    wait_node(server, agent, "its end", lambda n: n["gpus_offered"] == 8)


def test_mig_and_unified_memory_are_told(server: Server, agent: Agent, gpus: FakeGpus) -> None:
    gpus.say("2 mig 1", "7 memory none")
    shown = wait_node(server, agent, "MIG", lambda n: n["gpus_offered"] == 7)
    assert shown["gpus"][2]["mig"] is True
    shared = shown["gpus"][7]
    assert shared["memory_kind"] == "unified"
    machine = shown["machine"]
    assert shared["memory_bytes"] + machine["host_reserve_bytes"] <= machine["memory_bytes"]
    assert shown["memory_bytes"] == machine["memory_bytes"] - machine["host_reserve_bytes"]


def test_readings_come_and_those_of_an_outage_come_later(
    server: Server, agent: Agent, gpus: FakeGpus
) -> None:
    gpus.say("0 utilization 93", "0 power none")

    def means(place: int) -> list[float]:
        shown = server.ok("GET", f"/api/v1/agents/{agent.id}/samples?buckets=1000")
        return [v for v in shown["gpus"][place]["percent"]["mean"] if v is not None]

    wait_node(server, agent, "the inventory", lambda n: len(n["gpus"]) == 8)
    wait_for("a reading", lambda: 93.0 in means(0))
    shown = server.ok("GET", f"/api/v1/agents/{agent.id}/samples")
    assert {v for v in shown["gpus"][0]["watts"]["mean"] if v is not None} <= {60.0}
    assert any(v is not None for v in shown["node"]["memory_bytes"]["mean"])
    server.kill()
    gpus.say("1 utilization 77")
    wait_for("the outage", lambda: "samples.not_sent" in agent.log())
    server.start()
    wait_for("what was read meanwhile", lambda: 77.0 in means(1))


def test_the_log_names_gpus_that_fall_ill(server: Server, agent: Agent, gpus: FakeGpus) -> None:
    gpus.say("6 xid 79")
    wait_for("the log", lambda: "the driver reported Xid 79" in agent.log())


def test_a_library_that_is_missing_is_no_gpus(server: Server, tmp_path: Path) -> None:
    made = Agent(server, tmp_path / "agent")
    made.start("--nvml", "/nonexistent/libnvidia-ml.so.1", "--readings", "1")
    with made.ended():
        shown = wait_node(server, made, "the machine", lambda n: n["machine"])
        assert shown["gpus"] == []
        assert shown["gpus_offered"] == 0


def test_bad_readings_are_refused_by_name(server: Server, tmp_path: Path) -> None:
    made = Agent(server, tmp_path / "agent")
    made.start("--readings", "0")
    assert made.process
    assert made.process.wait(10) == 2
    assert '--readings is a number from 1 to 60, not "0"' in made.log()


def cli(server: Server, tmp_path: Path, *words: str) -> str:
    done = subprocess.run(
        [BUILD / "euvyra", *words],
        env={
            "PATH": os.environ["PATH"],
            "HOME": str(tmp_path),
            "EUVYRA_SERVER": server.url,
            "EUVYRA_API_KEY": server.key,
        },
        text=True,
        capture_output=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_job_shows_which_gpus_it_has_and_what_they_took(
    server: Server, agent: Agent, gpus: FakeGpus, tmp_path: Path
) -> None:
    gpus.say("* utilization 80", "* energy 100")
    job, _ = submit(server, ["sh", "-c", "while [ ! -e go ]; do sleep 0.02; done"], gpus=2)
    wait_state(server, job, "running")
    here = wait_node(
        server, agent, "its GPUs", lambda n: [len(j["gpus"]) for j in n["jobs"]] == [2]
    )
    assert here["jobs"][0]["job"] == job
    assert here["gpus_used"] == 2
    gpus.say("* utilization 80", "* energy 18100")  # 18 kJ each, 0.01 kWh together

    def energy() -> int:
        return int(server.ok("GET", f"/api/v1/jobs/{job}")["energy_mj"])

    wait_for("energy", lambda: energy() >= 36_000_000)
    assert energy() < 40_000_000  # before they had a counter, their power counted
    for folder in agent.attempts():
        (folder / "work/go").touch()
    wait_closed(server, job)
    assert re.search(r"^energy    0\.01\d\d kWh$", cli(server, tmp_path, "job", job), re.MULTILINE)
    bars = server.ok("GET", f"/api/v1/agents/{agent.id}/samples")["jobs"]
    assert [(b["job"], b["gpus"]) for b in bars] == [(job, here["jobs"][0]["gpus"])]


def test_a_job_whose_gpu_falls_off_the_bus_runs_again_on_another(
    server: Server, agent: Agent, gpus: FakeGpus
) -> None:
    wait_node(server, agent, "the machine", lambda n: n["gpus_offered"] == 8)
    command = [
        "sh",
        "-c",
        "echo $CUDA_VISIBLE_DEVICES; while [ ! -e go ]; do sleep 0.02; done; exit 1",
    ]
    job, _ = submit(server, command, gpus=1, retries=1)
    wait_state(server, job, "running")
    here = wait_node(server, agent, "its GPU", lambda n: [j["gpus"] for j in n["jobs"]] != [])
    place = wait_for(
        "its GPU", lambda: [j["gpus"] for j in node(server, agent)["jobs"] if j["gpus"]]
    )[0][0]
    assert here["jobs"][0]["job"] == job
    gpus.say(f"{place} lost 1")
    for folder in agent.attempts():
        (folder / "work/go").touch()
    wait_for(
        "the next attempt",
        lambda: len(server.ok("GET", f"/api/v1/jobs/{job}")["attempts"]) == 2,
    )
    wait_state(server, job, "running")
    shown = server.ok("GET", f"/api/v1/jobs/{job}")
    assert shown["attempts"][0]["ending"] == "gpu_failed"
    assert shown["attempts"][0]["reason"] == (
        f"{uuid(place)}: it has fallen off the bus, or needs a reset"
    )
    for folder in agent.attempts():
        (folder / "work/go").touch()
    shown = wait_closed(server, job)
    assert (shown["state"], shown["ending"]) == ("failed", "exit_code")  # its own fault this time


def test_the_command_line_shows_a_machine_and_lets_it_rest(
    server: Server, agent: Agent, gpus: FakeGpus, tmp_path: Path
) -> None:
    gpus.say("3 lost 1", "0 utilization 42")
    wait_node(server, agent, "readings", lambda n: n["gpus_offered"] == 7 and n["now"])
    shown = cli(server, tmp_path, "agents", "show", "rack1")
    assert re.search(r"^0 +A100 +42 % +30 C +60 W +well$", shown, re.MULTILINE)
    assert "ill: it has fallen off the bus, or needs a reset" in shown
    assert "driver    570.1, CUDA 12.8" in shown
    rest = ("agents", "maintenance", "rack1", "--reason", "new fans")
    assert cli(server, tmp_path, *rest) == "agent rack1 is in maintenance\n"
    assert "rests     new fans" in cli(server, tmp_path, "agents", "show", "rack1")
    job, _ = submit(server, ["true"])
    assert cli(server, tmp_path, "agents", "service", "rack1") == "agent rack1 is in service\n"
    assert wait_closed(server, job)["state"] == "succeeded"
