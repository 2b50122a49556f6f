"""A run as the training script sees it, and how init() finds out which run that is."""

from __future__ import annotations

import contextlib
import json
import os
import sys
import time
from collections.abc import MutableMapping

from . import _console, _core, _ending, _errors, _sidecar, _values

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from types import TracebackType
    from typing import Any

    _Mapping = MutableMapping[str, Any]
else:
    _Mapping = MutableMapping

_LOOK_S = 0.5  # between looks at what the sidecar wrote
_ATTEND_S_MAX = 600.0
_LEVELS = ("info", "warn", "error")
_FIGURES = ("last", "first", "min", "max", "mean", "none")
_GOALS = ("minimize", "maximize")
_NAME_BYTES_MAX = 512
_DEFINED_MAX = 1000
_RANKS = ("RANK", "OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK")
_MODES = ("online", "offline", "disabled")
_TEXTS = {
    "closed": "the run is finished: what is logged now is not recorded",
    "disk_full": "the disk is full: what does not fit is not recorded (and counted)",
    "io": "the run's folder cannot be written: what is logged now is not recorded",
    "too_large": "a value of more than 4 MiB is not recorded",
    "no_memory": "out of memory: a row is not recorded",
    "name": "names of metrics are 1 to 512 bytes without control characters",
    "step": "the step must be an integer; the next step is taken",
    "value": "only numbers can be logged",
}

# Each kind of problem is told once in a process. The flag: the first run of a job was joined.
_told: set[str] = set()
_joined: list[str] = []


def strict() -> bool:
    return os.environ.get("EUVYRA_STRICT", "") not in ("", "0")


def tell(kind: str, text: str) -> None:
    """One warning a kind, to stderr: Python's warnings can be made to raise, these must not."""
    if strict():
        raise _errors.error(kind, text)
    if kind in _told:
        return
    _told.add(kind)
    with contextlib.suppress(OSError, ValueError):  # no stderr: nobody to tell
        print(f"euvyra: {text}", file=sys.stderr, flush=True)


class Record(_Mapping):
    """Configuration or summary: reads like a dict (or by attribute), and what is set is recorded."""

    __slots__ = ("_values", "_write")

    def __init__(self, write: Any, values: dict[str, Any]) -> None:
        object.__setattr__(self, "_write", write)
        object.__setattr__(self, "_values", values)

    def __getitem__(self, key: str) -> Any:
        return self._values[key]

    def __setitem__(self, key: str, value: Any) -> None:
        self.update({key: value})

    def __delitem__(self, key: str) -> None:
        del self._values[key]
        self._write({key: None})

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __repr__(self) -> str:
        return repr(self._values)

    def __getattr__(self, name: str) -> Any:
        try:
            return self._values[name]
        except KeyError:
            raise AttributeError(name) from None

    def __setattr__(self, name: str, value: Any) -> None:
        self[name] = value

    def update(self, *args: Any, **more: Any) -> None:
        """Sets several keys at once: one record."""
        changed = dict(*args, **more)
        self._values.update(changed)
        self._write(changed)


class Run(_core.Writer):
    """One run, from init() to finish(). Use it from any thread; a forked child may use it too."""

    config: Record
    summary: Record
    id: str
    dir: str

    def _begin(self, config: dict[str, Any]) -> None:
        self.id, self.dir = self._state()[:2]
        self._finished = not self.id
        self._stopping, self._look_at = False, 0.0
        self._attend_at, self._attend_s = 0.0, 5.0
        self.config = Record(lambda changed: self._put("_config", changed), config)
        self.summary = Record(lambda changed: self._put("_summary", changed), {})

    def _problem(self, kind: str, text: str, about: Any) -> None:
        """Called by log(). Raises in strict mode alone."""
        detail = _TEXTS.get(kind, kind)
        if about is not None:
            detail = f"{detail}: {str(about)[:80]!r}" + (f" is {text}" if text else "")
        tell(kind, detail)

    _flatten = staticmethod(_values.flatten)

    def _put(self, method: str, values: Mapping[str, Any]) -> None:
        if not self.id:
            return
        try:
            code = getattr(self, method)(_values.dumps(values))
        except Exception as error:
            tell("value", f"a value cannot be recorded: {error}")
            return
        if code != 0:
            kind = _core.code_name(code)
            tell(kind, _TEXTS.get(kind, kind))

    @property
    def tags(self) -> tuple[str, ...]:
        return self._tag_list

    @tags.setter
    def tags(self, tags: Sequence[str]) -> None:
        self._tag_list = tuple(str(tag) for tag in tags)
        self._put("_tags", {"tags": self._tag_list})

    _tag_list: tuple[str, ...] = ()

    @property
    def lost(self) -> int:
        """Records that the disk refused."""
        return self._state()[3]

    @property
    def stopping(self) -> bool:
        """Whether somebody asked this run to stop (`euvyra stop`, the console). The script decides when:
        between two steps, say. Cheap enough to ask at every step."""
        now = time.monotonic()
        if self._stopping or now < self._look_at or not self.id:
            return self._stopping
        self._look_at = now + _LOOK_S
        try:
            with open(f"{self.dir}/status", "rb") as file:  # noqa: PTH123 (pathlib is slow to import)
                status = json.load(file)
        except (OSError, ValueError):
            return False
        self._stopping = bool(isinstance(status, dict) and status.get("stop"))
        return self._stopping

    def alert(self, title: str, text: str = "", level: str = "info") -> None:
        """Tells people something: shown with the run and in its project. `level` is "info", "warn" or
        "error"; the title has at most 200 bytes, the text 10,000.

        run.alert("loss is not finite", f"at step {step}", level="error")
        """
        if level not in _LEVELS:
            tell("alert", f"level={level!r} is none of {', '.join(_LEVELS)}: info is taken")
            level = "info"
        self._call("_alert", _values.text(title), _values.text(text), level)

    def define_metric(
        self,
        name: str,
        *,
        step_metric: str | None = None,
        summary: str | None = None,
        goal: str | None = None,
    ) -> None:
        """Says what a metric means, before or after it is logged.

        `name` is a metric, or the beginning of names with `*` behind it. `summary` is the figure shown
        as its value: "last" (the default), "first", "min", "max", "mean" or "none" (it is not shown
        unless asked for). `goal` is "minimize" or "maximize"; without `summary` it means "min" or "max".
        `step_metric` is the metric that it is drawn over. A later call for the same name replaces all of
        an earlier one. A value that cannot be raises InvalidError (a ValueError).

        run.define_metric("val/*", step_metric="epoch")
        run.define_metric("val/loss", step_metric="epoch", goal="minimize")
        """
        _check_definition(name, step_metric, summary, goal)
        if self._defined is None:
            self._defined = set()
        if name not in self._defined and len(self._defined) >= _DEFINED_MAX:
            raise _errors.InvalidError(
                f"name={name!r}: a run has at most {_DEFINED_MAX} definitions"
            )
        self._defined.add(name)
        self._call("_define", name, step_metric, summary, goal)

    _defined: set[str] | None = None

    def mark_preempting(self) -> None:
        """Says that this machine will be taken away soon. When the run then ends without success, or is
        heard of no more, it is shown as preempted, not as failed or crashed."""
        self._call("_preempting")

    def _call(self, method: str, *args: Any) -> None:
        if not self.id:
            return
        try:
            code = getattr(self, method)(*args)
        except Exception as error:
            tell("value", f"a value cannot be recorded: {error}")
            return
        if code != 0:
            kind = _core.code_name(code)
            tell(kind, _TEXTS.get(kind, kind))

    def _attend(self) -> None:
        """Called by log() every few seconds: a sidecar that was killed is started again."""
        now = time.monotonic()
        if now < self._attend_at or self._finished:
            return
        self._attend_at = now + 5.0
        if _sidecar.is_alive(self.dir):
            self._attend_s = 5.0
            return
        # Where none can live (no program, a folder that another host follows) ever less is tried.
        self._attend_at = now + self._attend_s
        self._attend_s = min(self._attend_s * 2, _ATTEND_S_MAX)
        _sidecar.start(self.dir)

    def finish(self, exit_code: int = 0) -> None:
        """Ends the run; 0 is success. Later calls do nothing. Nothing is waited for: the uploader goes on
        until the server has it all."""
        self._finish(exit_code, 0, "finish", None)

    def _finish(self, exit_code: int, signal: int, reason: str, error: str | None) -> None:
        if self._finished:
            return
        self._finished = True
        _ending.forget(self)
        _console.stop(self)
        code = self._end(exit_code, signal, reason, error)
        if code != 0 and _core.code_name(code) != "closed":
            tell("end", "the end of the run could not be recorded")
        if self._state()[4] and not _sidecar.is_alive(self.dir):
            _sidecar.start(self.dir)  # it was killed: the end has to reach the server all the same

    def __enter__(self) -> Run:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._finish(*_ending.of_exception(error))

    def __reduce__(self) -> tuple[Any, ...]:
        """Sent to another process, it becomes a writer of the same run there."""
        return join, (self.dir,)

    def __repr__(self) -> str:
        return f"<euvyra run {self.id or 'disabled'} {self.dir}>"


def _is_metric_name(name: object) -> bool:
    if not isinstance(name, str):
        return False
    try:
        size = len(name.encode())
    except UnicodeEncodeError:  # lone surrogates
        return False
    controls = any(c < " " or "\x7f" <= c < "\xa0" for c in name)
    return 0 < size <= _NAME_BYTES_MAX and not controls


def _check_definition(name: object, step_metric: object, summary: object, goal: object) -> None:
    for what, value in (("name", name), ("step_metric", step_metric)):
        if not _is_metric_name(value) and (what == "name" or value is not None):
            raise _errors.InvalidError(
                f"{what}={str(value)[:80]!r} is no name of a metric: 1 to {_NAME_BYTES_MAX} bytes"
                " without control characters"
            )
    if "*" in str(name)[:-1]:
        raise _errors.InvalidError(f"name={name!r}: a * can only be the last character")
    if step_metric == name:
        raise _errors.InvalidError(f"step_metric={step_metric!r} is the metric itself")
    for what, value, known in (("summary", summary, _FIGURES), ("goal", goal, _GOALS)):
        if value is not None and value not in known:
            raise _errors.InvalidError(f"{what}={value!r} is none of {', '.join(known)}")


def join(folder: str) -> Run:
    """A further writer of the run in `folder`: what a process of the same run calls."""
    run = Run()
    if folder:
        run._open(
            *(None,) * 9,
            folder,
            None,
            None,
            _sdk(),
            "child",
            list(sys.argv),
            0,
            (0, -1, -1),
            (0, 0),
            None,
        )
    run._begin({})
    if run.id:
        _ending.remember(run)
    return run


def _sdk() -> str:
    return f"python/{_core.VERSION}"


def _job_config() -> dict[str, Any]:
    """What the job was launched with; it wins over what the script says."""
    path = os.environ.get("EUVYRA_CONFIG_FILE")
    text = os.environ.get("EUVYRA_CONFIG")
    named = f"EUVYRA_CONFIG_FILE={path}" if path else "EUVYRA_CONFIG"
    if not path and not text:
        return {}
    try:
        if path:
            with open(path, encoding="utf-8") as file:  # noqa: PTH123 (pathlib is slow to import)
                text = file.read()
        config = json.loads(text or "")
    except (OSError, ValueError):
        config = None
    if not isinstance(config, dict):
        tell("job_config", f"{named} is not a JSON object: left out")
        return {}
    return config


def _parent_folder() -> str | None:
    """The run folder of the process that multiprocessing spawned this one from."""
    process = sys.modules.get("multiprocessing.process")
    if process is None or process.parent_process() is None:
        return None
    return os.environ.get("EUVYRA_PARENT_FOLDER")


def _is_run_id(text: str) -> bool:
    return (
        len(text) == 13
        and text[0] == "r"
        and set(text[1:]) <= set("abcdefghijklmnopqrstuvwxyz234567")
    )


def run_id(text: str, project: str | None) -> str:
    """The id itself, or the one that a word of the user stands for in a project."""
    if _is_run_id(text):
        return text
    if not text:
        raise _errors.InvalidError("id='' is no id of a run and no word that could stand for one")
    import base64
    import hashlib

    named = project or os.environ.get("EUVYRA_PROJECT") or "default"
    digest = hashlib.sha256(f"{named}/{text}".encode()).digest()
    return "r" + base64.b32encode(digest)[:12].decode().lower()


def _rank_here(rank: int | None) -> int:
    """This process's rank, by the argument or as launchers set it; -1: none."""
    if rank is not None:
        return rank
    names: tuple[str, ...] = _RANKS
    if os.environ.get("SLURM_NTASKS", "1") != "1":
        names = (*_RANKS, "SLURM_PROCID")
    if os.environ.get("NNODES", "1") != "1":
        names = (*names, "NODE_RANK")  # one process on each machine
    for name in names:
        value = os.environ.get(name, "")
        if value.isdigit():
            return int(value)
    return -1


class _Target:
    """Which run to write: exactly one of a new one, an id, or a folder."""

    run: str | None = ""
    folder: str | None = None
    first_step = 0
    kind: str | None = None  # the library's default


class _Asked:
    """What init() was asked for, as far as it decides which run that is."""

    def __init__(
        self,
        project: str | None,
        name: str | None,
        dir: str | None,
        mode: str,
        resume: str | None,
        id: str | None,
        rank: int | None,
    ) -> None:
        if (
            resume is not None
            and resume not in ("never", "auto", "allow", "must")
            and not _is_run_id(resume)
        ):
            raise _errors.InvalidError(
                f"resume={resume!r} is none of never, auto, allow, must, a run id"
            )
        if id is not None and resume is not None and _is_run_id(resume):
            raise _errors.InvalidError("id and resume both name a run")
        self.project, self.name, self.dir, self.mode = project, name, dir, mode
        self.resume = "allow" if resume and _is_run_id(resume) else resume
        named = resume if resume and _is_run_id(resume) else id
        self.explicit = named is not None
        self.wanted = (
            run_id(named, project) if named is not None else os.environ.get("EUVYRA_RUN") or None
        )
        self.rank = _rank_here(rank)

    def find(self, run: str | None) -> tuple[str, str, int] | None:
        return _core.find(self.dir, run, self.project, self.name, self.rank)


def _resume(asked: _Asked) -> _Target:
    target = _Target()
    resume, wanted, mode = asked.resume, asked.wanted, asked.mode
    if resume == "auto":
        wanted = None
    elif not wanted:
        if resume == "must":
            raise _errors.NotFoundError(
                'resume="must" needs a run id: pass id=..., or set EUVYRA_RUN'
            )
        return target
    found = asked.find(wanted)
    if found is not None:
        target.folder = found[1]
        target.first_step = max(found[2] + 1, 0)
    elif wanted:
        target.run = wanted
        if resume == "must":
            target.first_step = _last_step(wanted, mode) + 1
    return target


def _last_step(run: str, mode: str) -> int:
    """Of a run that is not here."""
    if mode == "offline":
        raise _errors.NotFoundError(
            f'resume="must": run {run} is not here, and offline no server is asked'
        )
    from ._server import last_step

    return last_step(run)


def _is_joined_anyway() -> bool:
    """Whether the first init() joins the run of somebody above: an agent or `euvyra exec`."""
    return bool(
        os.environ.get("EUVYRA_RUN")
        and (os.environ.get("EUVYRA_JOB") or os.environ.get("EUVYRA_EXEC"))
    )


def _choose(asked: _Asked) -> _Target:
    target = _Target()
    wanted, resume = asked.wanted, asked.resume
    parent = _parent_folder()
    if parent is not None and not _joined:
        target.folder = parent
        target.kind = "child"
    elif not _joined and _is_joined_anyway():
        target.run = None  # the library reads EUVYRA_RUN
    elif wanted and resume is None and (asked.explicit or not _joined):
        target.run = wanted
    elif wanted and resume == "never" and (asked.explicit or not _joined):
        found = asked.find(wanted)
        if found is not None:
            raise _errors.ExistsError(f'resume="never": run {wanted} exists in {found[1]}')
        target.run = wanted
    elif resume not in (None, "never"):
        return _resume(asked)
    return target


def _check_steps(
    asked: _Asked, from_step: int | None, branch_from: str | None
) -> tuple[int | None, str | None]:
    """from_step and branch_from as they count, or what is wrong with them."""
    if from_step is not None:
        import operator

        try:
            from_step = operator.index(from_step)
        except TypeError:
            raise _errors.InvalidError(f"from_step={from_step!r} is no integer") from None
        if not -(1 << 63) < from_step < 1 << 63:
            raise _errors.InvalidError(f"from_step={from_step} does not fit into 64 bits")
    if branch_from is not None:
        if from_step is None:
            raise _errors.InvalidError("branch_from needs from_step: the first step of the new run")
        if asked.resume not in (None, "never"):
            raise _errors.InvalidError("branch_from makes a new run: it cannot resume one")
        parent = run_id(branch_from, asked.project)
        if parent == asked.wanted:
            raise _errors.InvalidError(f"branch_from={branch_from!r} is the run itself")
        return from_step, parent
    if from_step is not None and not asked.wanted and asked.resume != "auto":
        raise _errors.InvalidError(
            "from_step needs the run to go on with: pass id=..., or branch_from=... for a new one"
        )
    if from_step is not None and asked.resume is None:
        asked.resume = "allow"
    return from_step, None


def _ranks(
    rank: int | None, local_rank: int | None, world_size: int | None
) -> tuple[int, int, int]:
    """World size (0: by the environment), rank, local rank."""
    for what, value in (("rank", rank), ("local_rank", local_rank), ("world_size", world_size)):
        if value is not None and not (isinstance(value, int) and 0 <= value <= 10_000_000):
            raise _errors.InvalidError(f"{what}={value!r} is no number of a process")
    if rank is None:
        if local_rank is not None or world_size is not None:
            raise _errors.InvalidError("local_rank and world_size need rank")
        return 0, -1, -1
    if world_size is not None and rank >= world_size:
        raise _errors.InvalidError(f"rank={rank} is not below world_size={world_size}")
    return world_size or rank + 1, rank, -1 if local_rank is None else local_rank


def _again_in_notebook(asked: _Asked) -> Run | None:
    """A cell that runs again: the run that it names is still open and goes on, any other one that is
    open was started by an earlier run of a cell and is finished."""
    if not _console.in_notebook():
        return None
    for run in _ending.open_runs():
        if asked.explicit and run.id == asked.wanted:
            return run
        print(f"euvyra: run {run.id} is finished, a new one begins", file=sys.stderr)
        run._finish(0, 0, "new init", None)
    return None


def start(
    *,
    project: str | None,
    name: str | None,
    config: Any,
    tags: Sequence[str] | None,
    notes: str | None,
    group: str | None,
    job_type: str | None,
    dir: str | None,
    mode: str | None,
    resume: str | None,
    id: str | None,
    from_step: int | None,
    branch_from: str | None,
    rank: int | None,
    local_rank: int | None,
    world_size: int | None,
    console: bool | None,
) -> Run:
    """What euvyra.init does."""
    mode = mode or os.environ.get("EUVYRA_MODE") or "online"
    if mode not in _MODES:
        raise _errors.InvalidError(f"mode={mode!r} is none of {', '.join(_MODES)}")
    merged = _values.as_mapping(config)
    if not _joined:
        merged.update(_job_config())
    ranks = _ranks(rank, local_rank, world_size)
    asked = _Asked(project, name, dir, mode, resume, id, rank)
    from_step, parent = _check_steps(asked, from_step, branch_from)
    open_run = _again_in_notebook(asked) if mode != "disabled" else None
    if open_run is not None:
        open_run.config.update(merged)
        return open_run
    run = Run()
    if mode == "disabled":
        run._begin(merged)
        return run
    in_job = bool(os.environ.get("EUVYRA_JOB"))
    target = _choose(asked)
    tag_list = tuple(str(tag) for tag in tags or ())
    code = run._open(
        # Inside a job the agent says where; the script keeps what it says on the laptop.
        None if in_job else dir,
        os.environ.get("EUVYRA_PROJECT") if in_job else project,
        name,
        group,
        job_type,
        notes,
        mode,
        resume,
        target.run,
        target.folder,
        _values.dumps(merged),
        json.dumps(tag_list) if tags is not None else None,
        _sdk(),
        target.kind,
        [sys.executable or "python", *sys.argv],
        target.first_step if from_step is None else from_step,
        ranks,
        (0, 0) if from_step is None else (1, from_step),
        parent,
    )
    run._begin(merged)
    run._tag_list = tag_list
    if code != 0:
        kind = _core.code_name(code)
        tell(f"open_{kind}", f"nothing is recorded: the run's folder cannot be made ({kind})")
        return run
    _joined.append(run.id)
    os.environ["EUVYRA_PARENT_FOLDER"] = run.dir
    _ending.remember(run)
    print(f"euvyra: recording to {run.dir}", file=sys.stderr)
    trouble = _sidecar.start(run.dir)
    if trouble is not None:
        tell("sidecar", trouble)
    if target.kind is None:  # a child prints into what its parent captures
        _console.start(run, run.dir, console)
    return run
