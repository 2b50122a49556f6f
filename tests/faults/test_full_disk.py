"""A disk that is really full, at every stage: a small file system in memory, in a mount namespace of its
own, whose last blocks another file has. The processes go on, and when there is room again so does the
record."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import postgres_cluster
import pytest
from shim import every, some
from support import BUILD, Server, report, wait_for
from test_places import POSTS, Workload, is_followed, put_down, recorded

UNSHARE = ["unshare", "-m"] if os.geteuid() == 0 else ["unshare", "-rm"]
CAN = subprocess.run([*UNSHARE, "mount", "-t", "tmpfs", "none", "/tmp"], capture_output=True)
pytestmark = pytest.mark.skipif(CAN.returncode != 0, reason="no mount namespaces here")
DISK_KIB = 4096
FEW = 4


class SmallDisk:
    """A tmpfs at `folder` that only the processes started through `command` see."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True)
        self.folder = folder
        self.holder = subprocess.Popen(
            [
                *UNSHARE,
                "sh",
                "-c",
                f"mount -t tmpfs -o size={DISK_KIB}k none {folder} && echo ready && exec cat",
            ],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        assert self.holder.stdout and self.holder.stdout.readline() == b"ready\n"

    @property
    def inside(self) -> Path:
        """The folder as it looks from outside of the namespace."""
        return Path(f"/proc/{self.holder.pid}/root{self.folder}")

    def command(self, *words: str | Path) -> list[str]:
        user = [] if os.geteuid() == 0 else ["-U", "--preserve-credentials"]
        enter = ["nsenter", "-t", str(self.holder.pid), "-m", *user, f"--wd={Path.cwd()}"]
        return [*enter, *map(str, words)]

    def fill(self, free_kib: int) -> None:
        """Another file takes all but so much."""
        stat = os.statvfs(self.inside)
        free = stat.f_bavail * stat.f_frsize - free_kib * 1024
        with (self.inside / "another").open("wb") as file:
            file.write(bytes(max(free, 0)))

    def make_room(self) -> None:
        (self.inside / "another").unlink()

    def close(self) -> None:
        assert self.holder.stdin and self.holder.stdout
        self.holder.stdin.close()
        self.holder.wait(30)
        self.holder.stdout.close()


@pytest.fixture(scope="module")
def empty(tmp_path_factory: pytest.TempPathFactory) -> Server:
    if postgres_cluster.socket_folder():
        pytest.skip("about the files of SQLite")
    return Server(tmp_path_factory.mktemp("empty") / "data")


def server_round(empty: Server, folder: Path, free_kib: int) -> bool:
    """A server whose disk has so much room left when it starts. Whether it was too little."""
    disk = SmallDisk(folder / "disk")
    shutil.copytree(empty.data, disk.inside / "data")
    server = Server(disk.folder / "data", setup=False)
    server.launcher, server.key = disk.command(), empty.key
    disk.fill(free_kib)
    work = Workload()
    full = False
    try:
        try:
            server.start()
            work.attempt(server)
            work.check(server, POSTS)
        except (OSError, AssertionError):
            full = True
        assert server.process
        disk.make_room()
        if server.url and server.process.poll() is None:
            work.check(server, work.acknowledged)
            work.attempt(server)  # the same server goes on
            work.check(server, POSTS)
        put_down(server)
        server.start()
        work.check(server, work.acknowledged)
        if work.file_stored:
            work.check_file(server)
        work.attempt(server)
        work.check(server, POSTS)
        work.check_file(server)
        assert server.stop() == 0
    finally:
        if server.process:
            put_down(server)
        disk.close()
    return full


def test_a_server_on_a_full_disk_goes_on_when_there_is_room(empty: Server, tmp_path: Path) -> None:
    stages = some(range(0, 2400, 24), FEW)
    full = every(
        "full disk of a server",
        stages,
        lambda free: server_round(empty, tmp_path / str(free), free),
    )
    report(f"server, full disk: {len(stages)} stages tried, {sum(full)} too full")
    assert any(full) and not all(full)


STEPS = 2000
SCRIPT = f"""
import euvyra
run = euvyra.init(project="demo")
for step in range({STEPS}):
    run.log({{"loss": float(step), **{{f"m{{i}}": 0.5 for i in range(80)}}}}, step=step)
print("logged", step + 1, flush=True)
run.finish()
"""


def test_a_training_on_a_full_disk_ends_well_and_what_was_recorded_arrives(
    server: Server, tmp_path: Path
) -> None:
    def trial(free_kib: int) -> bool:
        disk = SmallDisk(tmp_path / f"disk-{free_kib}")
        try:
            disk.fill(free_kib)
            variables = {
                **os.environ,
                "EUVYRA_SERVER": server.url,
                "EUVYRA_API_KEY": server.key,
                "EUVYRA_DIR": str(disk.folder / "runs"),
                "EUVYRA_BIN": str(BUILD / "euvyra"),
            }
            done = subprocess.run(
                disk.command(sys.executable, "-c", SCRIPT),
                env=variables,
                capture_output=True,
                text=True,
            )
            assert done.returncode == 0, done.stderr
            assert f"logged {STEPS}\n" in done.stdout
            disk.make_room()
            runs = list((disk.inside / "runs").iterdir()) if (disk.inside / "runs").exists() else []
            for run in runs:
                wait_for("the sidecar to end", lambda: not is_followed(run))  # noqa: B023
                if not (run / "run.json").exists():
                    continue
                words = disk.command(BUILD / "euvyra", "sync", disk.folder / "runs" / run.name)
                sent = subprocess.run(words, env=variables, capture_output=True)
                assert sent.returncode in (0, 4), sent.stderr
            steps = recorded(server, disk.inside / "runs")
            assert steps == list(range(len(steps))), "a hole in the middle"
            return len(steps) < STEPS
        finally:
            disk.close()

    stages = some(range(0, 3600, 72), FEW)
    full = every("full disk of a training", stages, trial)
    report(f"training, full disk: {len(stages)} stages tried, {sum(full)} too full")
    assert any(full) and not all(full)
