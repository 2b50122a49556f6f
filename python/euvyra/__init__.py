"""Euvyra records training runs.

    import euvyra

    run = euvyra.init(project="demo", config={"lr": 0.1})
    for step in range(100):
        run.log({"loss": 1 / (step + 1)})
    run.finish()

Importing this package takes milliseconds and imports nothing heavy; the rest comes with init().
"""

from __future__ import annotations

from ._errors import (
    ClosedError,
    DiskError,
    Error,
    ExistsError,
    InvalidError,
    NotFoundError,
    TooLargeError,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from ._launch import After, Array, Job, JobSpec
    from ._run import Run

__version__ = "0.1.0"
__all__ = [
    "ClosedError",
    "DiskError",
    "Error",
    "ExistsError",
    "InvalidError",
    "NotFoundError",
    "TooLargeError",
    "export",
    "init",
    "launch",
]


def init(
    project: str | None = None,
    name: str | None = None,
    config: Any = None,
    tags: Sequence[str] | None = None,
    notes: str | None = None,
    group: str | None = None,
    job_type: str | None = None,
    dir: str | None = None,
    mode: str | None = None,
    resume: str | None = None,
    id: str | None = None,
    from_step: int | None = None,
    branch_from: str | None = None,
    rank: int | None = None,
    local_rank: int | None = None,
    world_size: int | None = None,
    console: bool | None = None,
) -> Run:
    """Starts recording a run and returns it. Takes milliseconds and asks no server.

    project, name, tags, notes, group, job_type: texts for people, shown and searchable.
    config: a mapping, dataclass or argparse namespace; nested values are kept. Read run.config
        afterwards: inside a job it also holds what the job was launched with.
    dir: where run folders lie; else EUVYRA_DIR, else "euvyra-runs".
    mode: "online", "offline" (recorded, brought in later by `euvyra sync`) or "disabled" (records
        nothing); else EUVYRA_MODE, else "online".
    id: which run: a run id, or any word of yours, which stands for the same run wherever it is used in
        this project. Else EUVYRA_RUN, else a new run. Processes that pass the same id write one run.
    resume: None: a new run, or the one that `id` names, from step 0 on. "auto": go on with the newest
        unfinished run of this project and name in `dir`. "allow", "must" and "never" are about the run
        that `id` names: it may exist, it has to (looked for in `dir`, then on the server for at most
        10 s, else NotFoundError), or it must not exist in `dir` (else ExistsError). Steps go on behind
        the last one. A run id means "allow" with that run.
    from_step: go on at this step: what was logged at it and later is set aside (not lost).
    branch_from: makes a new run that has the steps of that run below `from_step` and goes on there.
    rank, local_rank, world_size: which one of several processes of the run this is; else from RANK,
        LOCAL_RANK, WORLD_SIZE and what MPI and Slurm set.
    console: whether to record what is printed; else EUVYRA_CONSOLE, else yes. Inside a job and under
        `euvyra exec` the parent records it.

    Inside a job, and in processes of one run (forked, spawned by multiprocessing, ranks under
    `euvyra exec`), the first call joins that run, whatever its arguments, and merges them.

        with euvyra.init(project="demo", config={"lr": 0.1}) as run:
            run.log({"loss": 0.25})

    Raises InvalidError for arguments that cannot be. A folder that cannot be written is warned about
    and nothing is recorded, unless EUVYRA_STRICT=1 asks for DiskError.
    """
    from ._run import start

    return start(
        project=project,
        name=name,
        config=config,
        tags=tags,
        notes=notes,
        group=group,
        job_type=job_type,
        dir=dir,
        mode=mode,
        resume=resume,
        id=id,
        from_step=from_step,
        branch_from=branch_from,
        rank=rank,
        local_rank=local_rank,
        world_size=world_size,
        console=console,
    )


def export(
    dir: str,
    run: str | None = None,
    project: str | None = None,
    filter: str | None = None,
    format: str = "csv",
    server: str | None = None,
) -> Sequence[str]:
    """Writes runs of a server as tables and returns their ids.

    dir: gets `runs.csv`, a row a run with its configuration and summary flattened ("config.optim.lr"),
        and `metrics/RUN.csv` with the columns metric, step, time_ms and value: every point, in the
        order in which it was logged.
    run, project: which: one run, or those of a project, of which `filter` takes some
        ("config.lr < 0.01 and tags = keep"; docs/filtering.md).
    format: "csv", or "parquet", which needs pyarrow: pip install "euvyra[parquet]".
    server: its address, else EUVYRA_SERVER; the key comes from EUVYRA_API_KEY_FILE or EUVYRA_API_KEY.

        euvyra.export("tables", project="demo", filter="state = finished", format="parquet")

    Raises NotFoundError, InvalidError (with the column of a fault in the filter) and Error when the server
    does not answer.
    """
    from ._export import export as write

    return write(dir, run, project, filter, format, server)


def launch(
    spec: JobSpec,
    project: str | None = None,
    name: str | None = None,
    queue: str | None = None,
    priority: int | None = None,
    held: bool = False,
    tags: Sequence[str] | None = None,
    notes: str | None = None,
    array: Array | None = None,
    after: Sequence[After] | None = None,
    code: bool = True,
    cwd: str | None = None,
    server: str | None = None,
) -> Job:
    """Submits a job, or an array of jobs, and returns a handle with `id`, `status()` and `wait()`.

    spec: what it runs and asks for; the members are those of docs/jobs.md, sizes in bytes, times in
        seconds. `command` is needed.
    project: else EUVYRA_PROJECT. name, tags, notes: of the run that is made with it.
    queue, priority, held: where it waits, and whether until somebody releases it.
    array: {"from": 0, "to": 99, "limit": 10}: a job for each index. after: jobs or arrays that end
        before it starts: [{"job": "j...", "any": True}].
    code: whether the folder `cwd` (else the current one) is packed and goes with it.
    server: its address, else EUVYRA_SERVER or that of `euvyra login`, which also has the key.

        job = euvyra.launch({"command": ["python", "train.py"], "gpus": 1}, project="demo")
        print(job.id, job.wait())

    Raises NotFoundError when there is no program `euvyra`, and Error with the server's words when it
    refuses the job.
    """
    from ._launch import launch as submit

    beside = {
        "name": name,
        "queue": queue,
        "priority": priority,
        "held": held or None,
        "tags": tags,
        "notes": notes,
        "array": array,
        "after": after,
    }
    body = {"spec": spec, **{k: v for k, v in beside.items() if v is not None}}
    return submit(body, project, cwd, code, server)
