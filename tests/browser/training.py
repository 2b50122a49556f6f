"""A training that goes on when it is told: each line on standard input is one more leg.

The browser test reads the page between legs, so it never has to guess how long a leg takes.
"""

from __future__ import annotations

import math
import sys

import euvyra

STEPS_PER_LEG = 20


def main() -> None:
    config = {"lr": 0.1, "layers": [64, 32], "seed": 20261130}
    with euvyra.init(project="digits", name="watched-run", config=config, tags=["browser"]) as run:
        run.define_metric("train/loss", goal="minimize")
        run.define_metric("train/accuracy", step_metric="epoch")
        step = 0
        for leg, _ in enumerate(sys.stdin):
            for _ in range(STEPS_PER_LEG):
                loss = math.exp(-step / 15)
                row = {"train/loss": loss, "train/accuracy": 1 - loss / 2, "epoch": step / 4}
                run.log(row, step=step)
                step += 1
            print(f"leg {leg} done at step {step} ✓", flush=True)
        run.summary["best"] = 0.5
        run.log({"odd": math.nan}, step=step)


if __name__ == "__main__":
    main()
