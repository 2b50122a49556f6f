"""The real torchrun over gloo on four machines: a job with the launcher trains one model on all of them."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from pathlib import Path

import pytest
from agents import Agent
from netns import Network
from support import Server, make_id, wait_for
from test_torch import PYTHON

pytestmark = pytest.mark.skipif(not PYTHON.exists(), reason="./dev test frameworks")

TRAIN = textwrap.dedent("""
    import os, sys
    import euvyra, torch
    import torch.distributed as dist

    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    torch.manual_seed(0)
    model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(1, 1))
    rate = torch.optim.SGD(model.parameters(), lr=0.2)
    run = euvyra.init() if rank == 0 else None
    x = torch.linspace(0, 1, 16)[rank::world].unsqueeze(1)  # each rank has its part
    for step in range(60):
        loss = torch.nn.functional.mse_loss(model(x), 2 * x + 1)
        rate.zero_grad()
        loss.backward()
        rate.step()
        if "die" in sys.argv and rank == 3 and step == 5:
            os._exit(9)
        whole = loss.detach().clone()
        dist.all_reduce(whole)
        if run:
            run.log({"loss": float(whole) / world}, step=step)
    weights = torch.cat([p.detach().flatten() for p in model.parameters()])
    alike = [torch.zeros_like(weights) for _ in range(world)]
    dist.all_gather(alike, weights)
    print("rank", rank, "of", world, "local", os.environ["LOCAL_RANK"], all(w.equal(weights) for w in alike))
    if run:
        run.finish()
    dist.destroy_process_group()
    sys.stdout.flush()
    os._exit(0)  # PyTorch's own threads now and then abort the interpreter's end
""")


@pytest.fixture
def agents(server: Server, tmp_path: Path) -> Iterator[list[Agent]]:
    with Network(4) as network:
        made = []
        for number in range(4):
            (tmp_path / f"n{number}").mkdir()
            agent = Agent(server, tmp_path / f"n{number}/agent", f"n{number}")
            network.reach(number, server.port)
            agent.launcher = network.launcher(number)
            made.append(agent.start("--address", network.address(number)))
        yield made
        for agent in made:
            agent.__exit__()


def launch(server: Server, script: Path, *words: str) -> tuple[str, str]:
    script.write_text(TRAIN)
    job, run = make_id("j"), make_id("r")
    spec = {
        "command": [str(PYTHON), "-u", str(script), *words],
        "nodes": 4,
        "launcher": "torchrun",
        "grace_s": 5,
        "env": {"GLOO_SOCKET_IFNAME": "eth0", "OMP_NUM_THREADS": "1"},
    }
    server.ok("PUT", f"/api/v1/projects/demo/jobs/{job}", {"run": run, "spec": spec})
    return job, run


def closed(server: Server, job: str) -> dict[str, object]:
    def look() -> dict[str, object] | None:
        shown = dict(server.ok("GET", f"/api/v1/jobs/{job}"))
        return shown if shown["console_final"] else None

    return dict(wait_for("the job to be closed", look, 300))


def consoles(server: Server, run: str) -> list[str]:
    texts = [server.call("GET", f"/api/v1/runs/{run}/console").body.decode()]
    for writer in server.ok("GET", f"/api/v1/runs/{run}/writers")["items"]:
        if writer["console_bytes"]:
            path = f"/api/v1/runs/{run}/console?writer={writer['id']}"
            texts.append(server.call("GET", path).body.decode())
    return texts


def test_torchrun_trains_one_model_on_four_machines(
    server: Server, agents: list[Agent], tmp_path: Path
) -> None:
    job, run = launch(server, tmp_path / "train.py")
    shown = closed(server, job)
    texts = consoles(server, run)
    assert shown["state"] == "succeeded", texts
    for rank in range(4):
        assert sum(f"rank {rank} of 4 local 0 True" in text for text in texts) == 1
    points = server.ok("GET", f"/api/v1/runs/{run}/metrics/points?metric=loss")
    losses = points["values"]
    assert points["steps"] == list(range(60)) and losses[-1] < losses[0] / 10


def test_a_rank_that_dies_under_torchrun_ends_the_job(
    server: Server, agents: list[Agent], tmp_path: Path
) -> None:
    job, run = launch(server, tmp_path / "train.py", "die")
    shown = closed(server, job)
    assert (shown["state"], shown["ending"]) == ("failed", "exit_code"), consoles(server, run)
    placements = shown["attempts"][0]["placements"]  # type: ignore[index]
    assert sum(part["ending"] == "exit_code" for part in placements) >= 1
    wait_for("the folders to go", lambda: not any(agent.attempts() for agent in agents))
