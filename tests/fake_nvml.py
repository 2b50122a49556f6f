"""GPUs that are not there: NVIDIA's library as a file tells it, for a real agent.

gpus = FakeGpus(tmp_path)
gpus.say("3 lost 1", "* power 250")
with Agent(server, tmp_path / "agent", options=gpus.options): ...
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from support import BUILD

LIBRARY = BUILD / "src" / "probe" / "libfake_nvml.so"


def uuid(index: int) -> str:
    return f"GPU-{index:08d}-aaaa-bbbb-cccc-0123456789ab"


class FakeGpus:
    """Eight A100 that say what was said last; src/probe/test/fake_nvml.c tells the words."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "gpus.txt"
        claims = ("--gpu-claims", str(folder / "claims"))
        self.options = ("--nvml", str(LIBRARY), "--readings", "1", *claims)
        self.say()

    def say(self, *lines: str) -> None:
        fresh = self.path.with_suffix(".new")
        fresh.write_text("".join(f"{line}\n" for line in lines))
        fresh.rename(self.path)

    @contextmanager
    def used(self) -> Iterator[None]:
        """Agents that start within see them."""
        os.environ["EUVYRA_FAKE_NVML"] = str(self.path)
        try:
            yield
        finally:
            del os.environ["EUVYRA_FAKE_NVML"]
