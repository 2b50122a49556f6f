"""The real PyTorch: data loaders with workers, and ranks under torchrun. ./dev test frameworks makes the
environment that these run in."""

from __future__ import annotations

import json
import os
import subprocess
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from support import BUILD, ROOT, Server, wait_for

PYTHON = Path(os.environ.get("EUVYRA_FRAMEWORKS", ROOT / ".cache" / "frameworks")) / "bin/python"
pytestmark = pytest.mark.skipif(not PYTHON.exists(), reason="./dev test frameworks")

ITEMS, BATCH, EPOCHS, WORKERS = 120, 8, 2, 2

LOADER = f"""
    import sys
    import euvyra, torch
    from torch.utils.data import DataLoader, Dataset, get_worker_info

    class Numbers(Dataset):
        def __init__(self, run):
            self.run, self.epoch = run, 0

        def __len__(self):
            return {ITEMS}

        def __getitem__(self, index):
            worker = get_worker_info().id
            step = self.epoch * {ITEMS} + index
            self.run.log({{f"load/{{worker}}": float(index)}}, step=step)
            return torch.tensor([index / {ITEMS}]), torch.tensor([2.0 * index / {ITEMS}])

    if __name__ == "__main__":
        run = euvyra.init(config={{"workers": {WORKERS}}})
        data, model = Numbers(run), torch.nn.Linear(1, 1)
        rate = torch.optim.SGD(model.parameters(), lr=0.1)
        step = 0
        for data.epoch in range({EPOCHS}):
            loader = DataLoader(
                data, {BATCH}, num_workers={WORKERS}, multiprocessing_context=sys.argv[1]
            )
            for x, y in loader:
                loss = torch.nn.functional.mse_loss(model(x), y)
                rate.zero_grad()
                loss.backward()
                rate.step()
                run.log({{"loss": loss}}, step=step)
                step += 1
        run.finish()
"""

RANKS = """
    import euvyra, torch
    import torch.distributed as dist

    dist.init_process_group("gloo")
    run = euvyra.init(id="two-ranks")
    for step in range(50):
        value = torch.tensor([float(dist.get_rank())])
        dist.all_reduce(value)
        run.log({"sum": value, "mine": float(dist.get_rank())}, step=step)
    run.finish()
    dist.destroy_process_group()
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "runs"


@pytest.fixture
def real(tmp_path: Path, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    for name in [name for name in os.environ if name.startswith("EUVYRA_")]:
        monkeypatch.delenv(name)
    with Server(tmp_path / "data") as running:
        running.ok("PUT", "/api/v1/projects/demo", {})
        monkeypatch.setenv("EUVYRA_SERVER", running.url)
        monkeypatch.setenv("EUVYRA_API_KEY", running.key)
        monkeypatch.setenv("EUVYRA_PROJECT", "demo")
        monkeypatch.setenv("EUVYRA_DIR", str(folder))
        monkeypatch.setenv("EUVYRA_BIN", str(BUILD / "euvyra"))
        monkeypatch.setenv("OMP_NUM_THREADS", "1")
        yield running


def train(tmp_path: Path, text: str, *words: str, before: tuple[str, ...] = ()) -> None:
    path = tmp_path / "train.py"
    path.write_text(textwrap.dedent(text))
    command = [str(PYTHON), *before, str(path), *words]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr


def finished(server: Server, folder: Path) -> str:
    (one,) = folder.iterdir()
    run = str(json.loads((one / "run.json").read_text())["run"])
    wait_for("the end", lambda: server.ok("GET", f"/api/v1/runs/{run}")["state"] == "finished")
    return run


def series(server: Server, run: str, metric: str, **more: Any) -> list[Any]:
    body = {"runs": [run], "metrics": [metric], "buckets": 4096, **more}
    return list(server.ok("POST", "/api/v1/projects/demo/metrics/query", body)["series"])


def points(server: Server, run: str, metric: str) -> list[int]:
    found = series(server, run, metric)
    assert all(set(one["counts"]) == {1} for one in found)
    return [step for one in found for step in one["x"]]


@pytest.mark.parametrize("kind", ["fork", "spawn", "forkserver"])
def test_a_data_loader_and_the_training_log_every_point_once(
    real: Server, folder: Path, tmp_path: Path, kind: str
) -> None:
    train(tmp_path, LOADER, kind)
    run = finished(real, folder)
    batches = ITEMS // BATCH * EPOCHS
    wait_for("the losses", lambda: points(real, run, "loss") == list(range(batches)))
    wait_for(
        "what the workers logged",
        lambda: (
            sorted(s for n in range(WORKERS) for s in points(real, run, f"load/{n}"))
            == list(range(ITEMS * EPOCHS))
        ),
    )


def test_ranks_under_torchrun_write_one_run(real: Server, folder: Path, tmp_path: Path) -> None:
    launcher = ("-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2")
    train(tmp_path, RANKS, before=launcher)
    run = finished(real, folder)
    wait_for(
        "both", lambda: [one["count"] for one in series(real, run, "mine", by="rank")] == [50, 50]
    )
    by_rank = {one["rank"]: one for one in series(real, run, "mine", by="rank")}
    assert {rank: one["max"][0] for rank, one in by_rank.items()} == {0: 0.0, 1: 1.0}
    assert [one["count"] for one in series(real, run, "sum")] == [100]
