"""Trains a classifier of handwritten digits and records the run.

The data set comes with scikit-learn: nothing is downloaded. By hand, `python train.py` records into
euvyra-runs/ and needs no server; `euvyra sync euvyra-runs` brings the record in later. As a job:

    euvyra launch --project demo --wait -- python examples/digits/train.py
"""

from __future__ import annotations

import argparse
import time

import euvyra
import numpy as np
from sklearn.datasets import load_digits
from sklearn.linear_model import SGDClassifier
from sklearn.metrics import accuracy_score, log_loss
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Trains a classifier of handwritten digits.")
    parser.add_argument("--epochs", type=int, default=30)
    parser.add_argument("--lr", type=float, default=0.001)
    parser.add_argument("--alpha", type=float, default=1e-4, help="strength of regularisation")
    parser.add_argument("--batch-size", type=int, default=64)
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--pace", type=float, default=0.0, help="seconds to wait after an epoch")
    return parser.parse_args()


def main() -> None:
    run = euvyra.init(project="demo", name="digits", config=parse_arguments(), tags=["example"])
    config = run.config  # inside a job it also holds what the job was launched with
    run.define_metric("val/loss", goal="minimize")  # a run is known by its best, not by its last
    run.define_metric("val/accuracy", goal="maximize")

    pixels, labels = load_digits(return_X_y=True)
    train_x, test_x, train_y, test_y = train_test_split(
        pixels, labels, test_size=0.25, random_state=config.seed, stratify=labels
    )
    scaler = StandardScaler().fit(train_x)
    train_x, test_x = scaler.transform(train_x), scaler.transform(test_x)

    model = SGDClassifier(
        loss="log_loss",
        alpha=config.alpha,
        learning_rate="constant",
        eta0=config.lr,
        random_state=config.seed,
    )
    digits = np.unique(labels)
    shuffle = np.random.default_rng(config.seed)
    step = 0
    for epoch in range(config.epochs):
        began = time.perf_counter()
        order = shuffle.permutation(len(train_x))
        for start in range(0, len(order), config.batch_size):
            batch = order[start : start + config.batch_size]
            model.partial_fit(train_x[batch], train_y[batch], classes=digits)
            loss = log_loss(train_y[batch], model.predict_proba(train_x[batch]), labels=digits)
            run.log({"train/loss": loss, "epoch": epoch}, step=step)
            step += 1
        accuracy = accuracy_score(test_y, model.predict(test_x))
        loss = log_loss(test_y, model.predict_proba(test_x), labels=digits)
        run.log(
            {
                "val/loss": loss,
                "val/accuracy": accuracy,
                "epoch_seconds": time.perf_counter() - began,
            },
            step=step - 1,
        )
        print(
            f"epoch {epoch + 1:2d}/{config.epochs}  loss {loss:.4f}  accuracy {accuracy:.4f}",
            flush=True,
        )
        if run.stopping:
            print("asked to stop")
            break
        time.sleep(config.pace)

    run.summary["steps"] = step
    run.finish()


if __name__ == "__main__":
    main()
