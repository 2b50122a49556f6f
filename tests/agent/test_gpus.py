"""A real agent with GPUs that a file tells: inventory, illness, use by others, readings, energy."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from agents import Agent
from fake_nvml import FakeGpus, uuid
from support import Server, wait_for


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
