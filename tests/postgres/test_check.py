"""euvyrad check on PostgreSQL: nothing to say of a sound database, and what is damaged by name."""

from __future__ import annotations

import hashlib
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from support import BUILD, Log, Server, make_id

FLIPPED = "set_byte(data, {0}, get_byte(data, {0}) # 1)"


def make_log(rows: int) -> Log:
    log = Log()
    log.start(config={"lr": 0.1})
    for step in range(rows):
        log.row(step, {"loss": 1 / (step + 1), "acc": step * 0.5})
    log.console(b"some text\n")
    return log


def add_run(server: Server, log: Log) -> str:
    run = make_id("r")
    server.ok("PUT", f"/api/v1/projects/demo/runs/{run}", {})
    server.upload(run, log)
    return run


@pytest.fixture
def sound(tmp_path: Path) -> Iterator[Server]:
    """A database at rest: a finished run in chunks and a pyramid, an open one, two files."""
    server = Server(tmp_path / "data")
    with server:
        server.ok("PUT", "/api/v1/projects/demo", {})
        finished = make_log(9000)
        finished.end(exit_code=0)
        add_run(server, finished)
        server.wait_compacted()
        add_run(server, make_log(20))
        for data in (b"one", b"two" * 1000):
            digest = hashlib.sha256(data).hexdigest()
            path = f"/api/v1/projects/demo/blobs/{digest}"
            headers = {"Content-Type": "application/octet-stream"}
            assert server.send("PUT", path, data, headers).status == 201
    yield server


def test_a_sound_database_has_no_fault_at_rest_and_while_a_server_runs(sound: Server) -> None:
    code, lines = sound.check()
    assert (code, lines[-1].endswith(": no fault")) == (0, True), lines
    assert "2 files" in lines[-1]
    with sound:
        code, lines = sound.check()
        assert code == 0, lines


DAMAGES = {
    "chunk 0": f"UPDATE metric_chunk SET data = {FLIPPED.format(40)} WHERE seq = 0",
    "pyramid row 0": f"UPDATE metric_level SET data = {FLIPPED.format(40)} WHERE seq = 0",
    "the log is damaged at byte": f"UPDATE log_blob SET data = {FLIPPED.format(30)}",
    "offsets are out of order": "UPDATE writer SET applied_offset = committed_offset + 1",
    "are missing": "UPDATE writer SET committed_offset = committed_offset + 9",
    "log bytes 0 to": "DELETE FROM log_blob",
}


@pytest.mark.parametrize("said", DAMAGES)
def test_check_names_what_is_damaged(sound: Server, said: str) -> None:
    sound.change(DAMAGES[said])
    code, lines = sound.check()
    assert code == 1
    assert any(said in line for line in lines if line.startswith("fault: ")), lines
    assert lines[-1].endswith(": faults")


def test_check_names_damaged_and_missing_files(sound: Server) -> None:
    one, two = sorted((sound.data / "blobs").glob("??/*"))
    one.write_bytes(b"X" + one.read_bytes()[1:])
    two.unlink()
    code, lines = sound.check()
    assert code == 1
    faults = [line for line in lines if line.startswith("fault: ")]
    assert any(one.name in line for line in faults) and any(two.name in line for line in faults)


def test_check_of_a_database_that_is_away_says_so(sound: Server, tmp_path: Path) -> None:
    url = f"postgresql:///nothing?host={tmp_path}&user=euvyra"
    command: list[str | Path] = [
        BUILD / "euvyrad",
        "check",
        "--data",
        sound.data,
        "--database",
        url,
    ]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 69 and done.stderr
