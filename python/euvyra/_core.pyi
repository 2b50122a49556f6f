from collections.abc import Mapping
from typing import Any

VERSION: str

class Writer:
    def log(self, metrics: Mapping[str, Any], step: Any = None) -> None: ...
    def _open(
        self,
        dir: str | None,
        project: str | None,
        name: str | None,
        group: str | None,
        job_type: str | None,
        notes: str | None,
        mode: str | None,
        resume: str | None,
        run: str | None,
        folder: str | None,
        config_json: str | None,
        tags_json: str | None,
        sdk: str | None,
        kind: str | None,
        argv: list[str],
        first_step: int,
        /,
    ) -> int: ...
    def _config(self, text: str, /) -> int: ...
    def _summary(self, text: str, /) -> int: ...
    def _code_facts(self, text: str, /) -> int: ...
    def _tags(self, text: str, /) -> int: ...
    def _end(self, exit_code: int, signal: int, reason: str, error: str | None, /) -> int: ...
    def _state(self) -> tuple[str, str, str, int, int]: ...

def find(
    dir: str | None, run: str | None, project: str | None, name: str | None, /
) -> tuple[str, str, int] | None: ...
def code_name(code: int, /) -> str: ...
