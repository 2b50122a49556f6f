"""The same few lines of training for each tracker: begin, log, end, and which steps are on the disk.

A tracker is imported when it is begun, so that its import can be timed. Nothing leaves the machine.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

METRIC = "m0"
Values = dict[str, float]


class Tracker:
    """One run in a folder of its own."""

    package = ""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.run = "r0"
        self.log: Callable[[int, Values], Any] = lambda step, values: None
        self.finish: Callable[[], Any] = lambda: None

    def begin(self) -> None:
        raise NotImplementedError

    def steps(self) -> list[int]:
        """Steps of METRIC, read back by what the tracker itself offers."""
        raise NotImplementedError


class Euvyra(Tracker):
    package = "euvyra"

    def begin(self) -> None:
        import euvyra

        run = euvyra.init(project="bench", dir=str(self.folder / "runs"), mode="offline")
        self.run = run.id
        self.log = lambda step, values: run.log(values, step=step)
        self.finish = run.finish

    def steps(self) -> list[int]:
        from run_log_reader import metrics, read_run  # written from the format's page alone

        return [
            step
            for folder in (self.folder / "runs").iterdir()
            for records in read_run(folder).values()
            for step, _ in metrics(records).get(METRIC, [])
        ]


class Wandb(Tracker):
    package = "wandb"

    def begin(self) -> None:
        import wandb

        run = wandb.init(project="bench", id=self.run, dir=self.folder, mode="offline")
        self.log = lambda step, values: run.log(values, step=step)
        self.finish = run.finish

    def steps(self) -> list[int]:
        return [
            record.history.step.num
            for path in self.folder.glob(f"wandb/*{self.run}/*.wandb")
            for record in wandb_records(path.read_bytes())
            if record.WhichOneof("record_type") == "history"
        ]


def wandb_records(data: bytes) -> Iterator[Any]:
    """Blocks of 32 KiB of pieces (CRC, length, type), after a header of 7 bytes; types 1 and 4 end a
    record. A piece that is not whole ends the log."""
    from wandb.proto import wandb_internal_pb2

    at, whole = 7, b""
    while at + 7 <= len(data):
        room = 32768 - at % 32768
        if room < 7:
            at += room
            continue
        _, length, kind = struct.unpack_from("<IHB", data, at)
        piece = data[at + 7 : at + 7 + length]
        if kind == 0 or len(piece) < length:
            return
        at += 7 + length
        whole += piece
        if kind in (1, 4):
            record = wandb_internal_pb2.Record()
            record.ParseFromString(whole)
            whole = b""
            yield record


class Mlflow(Tracker):
    package = "mlflow"

    @property
    def uri(self) -> str:
        return f"sqlite:///{self.folder}/mlflow.db"

    def begin(self) -> None:
        import mlflow

        mlflow.set_tracking_uri(self.uri)
        run = mlflow.start_run()
        self.run = run.info.run_id
        self.log = lambda step, values: mlflow.log_metrics(values, step=step)
        self.finish = mlflow.end_run

    def steps(self) -> list[int]:
        import mlflow

        return [p.step for p in mlflow.MlflowClient(self.uri).get_metric_history(self.run, METRIC)]


class Aim(Tracker):
    package = "aim"

    def begin(self) -> None:
        import aim

        run = aim.Run(repo=str(self.folder), system_tracking_interval=None, log_system_params=False)
        self.run = run.hash
        self.log = lambda step, values: run.track(values, step=step)
        self.finish = run.close

    def steps(self) -> list[int]:
        import aim

        aim.Repo(str(self.folder))._recreate_index()  # else the reader does not see the run
        run = aim.Run(self.run, repo=str(self.folder), read_only=True)
        return [
            int(step)
            for metric in run.metrics()
            if metric.name == METRIC
            for step in metric.dataframe()["step"]
        ]


class Trackio(Tracker):
    package = "trackio"

    def begin(self) -> None:
        import trackio

        trackio.init(project="bench", name=self.run, embed=False)
        self.log = lambda step, values: trackio.log(values, step=step)
        self.finish = trackio.finish

    def steps(self) -> list[int]:
        from trackio.sqlite_storage import SQLiteStorage

        return [row["step"] for row in SQLiteStorage.get_logs("bench", self.run) if METRIC in row]


class TensorBoard(Tracker):
    package = "tensorboardX"

    def begin(self) -> None:
        from tensorboardX import SummaryWriter

        writer = SummaryWriter(str(self.folder / self.run))

        def log(step: int, values: Values) -> None:
            for name, value in values.items():
                writer.add_scalar(name, value, step)

        self.log = log
        self.finish = writer.close

    def steps(self) -> list[int]:
        from tensorboard.backend.event_processing.event_file_loader import EventFileLoader

        return [
            event.step
            for path in (self.folder / self.run).glob("events*")
            for event in EventFileLoader(str(path)).Load()
            if event.summary.value
        ]


TRACKERS: dict[str, type[Tracker]] = {
    "euvyra": Euvyra,
    "wandb": Wandb,
    "mlflow": Mlflow,
    "aim": Aim,
    "trackio": Trackio,
    "tensorboard": TensorBoard,
}


def stay_at_home(folder: Path) -> None:
    """No telemetry, no network, nothing outside the folder. Before the tracker is imported."""
    folder.mkdir(parents=True, exist_ok=True)
    os.environ.update(
        HOME=str(folder),
        AIM_UI_TELEMETRY_ENABLED="0",
        DO_NOT_TRACK="1",
        GIT_PYTHON_REFRESH="quiet",
        HF_HUB_DISABLE_TELEMETRY="1",
        HF_HUB_OFFLINE="1",
        MLFLOW_DISABLE_TELEMETRY="true",
        OMP_NUM_THREADS="1",
        TRACKIO_DIR=str(folder / "trackio"),
        WANDB_ERROR_REPORTING="false",
        WANDB_SILENT="true",
    )
    os.chdir(folder)
