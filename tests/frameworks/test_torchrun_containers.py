"""The real torchrun over gloo in containers of one Docker engine: they meet by the name of the first."""

from __future__ import annotations

import textwrap
from pathlib import Path

import docker_engine
import pytest
from docker_engine import DockerAgent
from job_calls import submit, texts, wait_closed
from support import Server
from test_torch import PYTHON

pytestmark = pytest.mark.skipif(not PYTHON.exists(), reason="./dev test frameworks")

TRAIN = textwrap.dedent("""
    import os, sys
    import torch
    import torch.distributed as dist

    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    torch.manual_seed(0)
    model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(1, 1))
    rate = torch.optim.SGD(model.parameters(), lr=0.2)
    x = torch.linspace(0, 1, 16)[rank::world].unsqueeze(1)  # each rank has its part
    losses = []
    for step in range(60):
        loss = torch.nn.functional.mse_loss(model(x), 2 * x + 1)
        rate.zero_grad()
        loss.backward()
        rate.step()
        losses.append(float(loss))
    weights = torch.cat([p.detach().flatten() for p in model.parameters()])
    alike = [torch.zeros_like(weights) for _ in range(world)]
    dist.all_gather(alike, weights)
    print("rank", rank, "of", world, losses[-1] < losses[0] / 10, all(w.equal(weights) for w in alike))
    dist.destroy_process_group()
    sys.stdout.flush()
    os._exit(0)  # PyTorch's own threads now and then abort the interpreter's end
""")


def test_torchrun_trains_one_model_in_two_containers(server: Server, tmp_path: Path) -> None:
    code, torch = tmp_path / "code", PYTHON.parent.parent
    code.mkdir()
    (code / "train.py").write_text(TRAIN)
    with docker_engine.engine() as engine:
        engine.ok("POST", "/networks/create", {"Name": "gang", "CheckDuplicate": True})
        agents = []
        for number in range(2):
            (tmp_path / f"n{number}").mkdir()
            agent = DockerAgent(server, tmp_path / f"n{number}/agent", engine, f"n{number}")
            allowed = ("--volumes", str(code), "--volumes", str(torch))
            agents.append(agent.start("--nodes-network", "gang", *allowed))
        with agents[0].ended(), agents[1].ended():
            volumes = [
                {"name": "code", "host_path": str(code), "read_only": True},
                {"name": "torch", "host_path": str(torch), "read_only": True},
            ]
            server.ok("PUT", "/api/v1/targets/here", {"volumes": volumes})
            job, run = submit(
                server,
                ["/torch/bin/python", "-u", "/code/train.py"],
                nodes=2,
                launcher="torchrun",
                target="here",
                volumes=[{"name": name, "path": f"/{name}"} for name in ("code", "torch")],
                env={"GLOO_SOCKET_IFNAME": "eth0", "OMP_NUM_THREADS": "1"},
            )
            seen = wait_closed(server, job, 240)
            said = texts(server, run)
    assert seen["state"] == "succeeded", (seen, said)
    for rank in range(2):
        assert sum(f"rank {rank} of 2 True True" in text for text in said.values()) == 1
