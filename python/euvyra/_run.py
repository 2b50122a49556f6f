"""A run as the training script sees it, and how init() finds out which run that is."""

from __future__ import annotations

import contextlib
import json
import os
import sys
from collections.abc import MutableMapping

from . import _core, _ending, _errors, _sidecar, _values

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from types import TracebackType
    from typing import Any

    _Mapping = MutableMapping[str, Any]
else:
    _Mapping = MutableMapping

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
    def stop_requested(self) -> bool:
        """Whether somebody asked this run to stop. The script decides when: between two steps, say."""
        try:
            with open(f"{self.dir}/status", "rb") as file:  # noqa: PTH123 (pathlib is slow to import)
                status = json.load(file)
        except (OSError, ValueError):
            return False
        return bool(isinstance(status, dict) and status.get("stop"))

    def finish(self, exit_code: int = 0) -> None:
        """Ends the run; 0 is success. Later calls do nothing. Nothing is waited for: the uploader goes on
        until the server has it all."""
        self._finish(exit_code, 0, "finish", None)

    def _finish(self, exit_code: int, signal: int, reason: str, error: str | None) -> None:
        if self._finished:
            return
        self._finished = True
        _ending.forget(self)
        code = self._end(exit_code, signal, reason, error)
        if code != 0 and _core.code_name(code) != "closed":
            tell("end", "the end of the run could not be recorded")

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


def join(folder: str) -> Run:
    """A further writer of the run in `folder`: what a process of the same run calls."""
    run = Run()
    if folder:
        run._open(*(None,) * 9, folder, None, None, _sdk(), "child", list(sys.argv), 0)
    run._begin({})
    if run.id:
        _ending.remember(run)
    return run


def _sdk() -> str:
    return f"python/{_core.VERSION}"


def _job_config() -> dict[str, Any]:
    """What the job was launched with; it wins over what the script says."""
    text = os.environ.get("EUVYRA_CONFIG")
    if not text:
        return {}
    try:
        config = json.loads(text)
    except ValueError:
        config = None
    if not isinstance(config, dict):
        tell("job_config", "EUVYRA_CONFIG is not a JSON object: left out")
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


class _Target:
    """Which run to write: exactly one of a new one, an id, or a folder."""

    run: str | None = ""
    folder: str | None = None
    first_step = 0
    kind: str | None = None  # the library's default


def _resume(
    resume: str, mode: str, dir: str | None, project: str | None, name: str | None
) -> _Target:
    target = _Target()
    wanted: str | None = resume if _is_run_id(resume) else os.environ.get("EUVYRA_RUN")
    if resume == "auto":
        wanted = None
    elif not wanted:
        if resume == "must":
            raise _errors.NotFoundError(
                'resume="must" needs a run id: set EUVYRA_RUN or pass the id'
            )
        return target
    found = _core.find(dir, wanted, project, name)
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


def _choose(
    resume: str | None, mode: str, dir: str | None, project: str | None, name: str | None
) -> _Target:
    target = _Target()
    wanted = os.environ.get("EUVYRA_RUN")
    if (
        resume is not None
        and resume not in ("never", "auto", "allow", "must")
        and not _is_run_id(resume)
    ):
        raise _errors.InvalidError(
            f"resume={resume!r} is none of never, auto, allow, must, a run id"
        )
    parent = _parent_folder()
    if parent is not None and not _joined:
        target.folder = parent
        target.kind = "child"
    elif not _joined and (_is_joined_anyway() or (wanted and resume is None)):
        target.run = None  # the library reads EUVYRA_RUN
    elif not _joined and wanted and resume == "never":
        found = _core.find(dir, wanted, project, name)
        if found is not None:
            raise _errors.ExistsError(f'resume="never": run {wanted} exists in {found[1]}')
        target.run = wanted
    elif resume not in (None, "never"):
        return _resume(str(resume), mode, dir, project, name)
    return target


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
) -> Run:
    """What euvyra.init does."""
    mode = mode or os.environ.get("EUVYRA_MODE") or "online"
    if mode not in _MODES:
        raise _errors.InvalidError(f"mode={mode!r} is none of {', '.join(_MODES)}")
    merged = _values.as_mapping(config)
    if not _joined:
        merged.update(_job_config())
    run = Run()
    if mode == "disabled":
        run._begin(merged)
        return run
    in_job = bool(os.environ.get("EUVYRA_JOB"))
    target = _choose(resume, mode, dir, project, name)
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
        target.first_step,
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
    return run
