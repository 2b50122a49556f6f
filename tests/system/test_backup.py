"""euvyrad backup, restore and check, with a server at work and with damage of every kind."""

from __future__ import annotations

import contextlib
import hashlib
import json
import sqlite3
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from support import BUILD, Log, Server, make_id, wait_for


def euvyrad(*words: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([BUILD / "euvyrad", *words], capture_output=True, text=True, check=False)


def ok(*words: str | Path) -> str:
    done = euvyrad(*words)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def tables(path: Path) -> dict[str, list[Any]]:
    """Every row of every table."""
    with contextlib.closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as db:
        names = [row[0] for row in db.execute("SELECT name FROM sqlite_master WHERE type='table'")]
        return {name: sorted(db.execute(f"SELECT * FROM {name}"), key=repr) for name in names}


def files(folder: Path) -> dict[str, bytes]:
    return {p.name: p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}


def store_file(server: Server, data: bytes) -> str:
    digest = hashlib.sha256(data).hexdigest()
    path = f"/api/v1/projects/demo/blobs/{digest}"
    headers = {"Content-Type": "application/octet-stream"}
    assert server.send("PUT", path, data, headers).status == 201
    return digest


def make_log(rows: int) -> Log:
    log = Log()
    log.start(config={"lr": 0.1})
    for step in range(rows):
        log.row(step, {"loss": 1 / (step + 1), "acc": step * 0.5})
    log.console(b"some text\n")
    return log


def full_server(data: Path) -> Server:
    server = Server(data)
    server.start()
    server.ok("PUT", "/api/v1/projects/demo", {})
    store_file(server, b"first file")
    store_file(server, b"x" * 3_000_000)
    run = make_id("r")
    server.ok("PUT", f"/api/v1/projects/demo/runs/{run}", {"name": "whole", "tags": ["keep"]})
    log = make_log(5000)
    log.end(exit_code=0)
    server.upload(run, log)
    wait_for("chunks", lambda: server.sql("SELECT count(*) FROM metric_level") != "0")
    return server


def test_a_backup_under_load_is_restored_whole(tmp_path: Path) -> None:
    data, saved, again = tmp_path / "data", tmp_path / "saved", tmp_path / "again"
    server = full_server(data)
    stop = threading.Event()
    done: list[str] = []

    def write() -> None:
        while not stop.is_set():
            run = make_id("r")
            server.ok("PUT", f"/api/v1/projects/demo/runs/{run}", {"name": run})
            server.upload(run, make_log(50))
            store_file(server, run.encode())
            done.append(run)

    threads = [threading.Thread(target=write) for _ in range(3)]
    for thread in threads:
        thread.start()
    try:
        wait_for("some load", lambda: len(done) > 10)
        acknowledged = list(done)
        assert "backup is whole" in ok("backup", saved, "--data", data)
        count = len(done)
        wait_for("the server to go on", lambda: len(done) > count)
    finally:
        stop.set()
        for thread in threads:
            thread.join()
    assert server.stop() == 0
    ok("restore", saved, "--data", again)
    assert tables(saved / "euvyra.db") == tables(again / "euvyra.db")
    assert files(saved / "blobs") == files(again / "blobs")
    live, then = tables(data / "euvyra.db"), tables(again / "euvyra.db")
    assert set(live) == set(then)
    assert set(then["blob"]) <= set(live["blob"])  # blobs never change
    named = {row[0] for row in then["blob"]}
    assert named <= set(files(again / "blobs"))
    assert "no fault" in ok("check", "--data", again)
    restored = Server(again)
    restored.key = server.key
    with restored:
        runs = restored.ok("GET", "/api/v1/projects/demo/runs?limit=1000")["items"]
        assert set(acknowledged) <= {run["id"] for run in runs}
        assert restored.ok("GET", "/api/v1/projects/demo/runs?filter=tags=keep")["total"] == 1
        restored.ok("PUT", f"/api/v1/projects/demo/runs/{make_id('r')}", {})


def test_a_backup_of_a_server_at_rest_equals_its_data(tmp_path: Path) -> None:
    server = full_server(tmp_path / "data")
    ok("backup", tmp_path / "saved", "--data", tmp_path / "data")
    assert server.stop() == 0
    names = {p.name for p in (tmp_path / "saved").iterdir()}
    assert names == {"backup.json", "blobs", "euvyra.db"}
    assert tables(tmp_path / "saved/euvyra.db") == tables(tmp_path / "data/euvyra.db")
    assert files(tmp_path / "saved/blobs") == files(tmp_path / "data/blobs")
    note = json.loads((tmp_path / "saved/backup.json").read_text())
    digest = hashlib.sha256((tmp_path / "saved/euvyra.db").read_bytes()).hexdigest()
    assert (note["format"], note["database_sha256"], note["files"]) == (1, digest, 2)


def test_what_cannot_be_is_refused(tmp_path: Path) -> None:
    server = full_server(tmp_path / "data")
    saved = tmp_path / "saved"
    ok("backup", saved, "--data", tmp_path / "data")
    again = euvyrad("backup", saved, "--data", tmp_path / "data")
    assert (again.returncode, "exists already" in again.stderr) == (5, True)
    onto = euvyrad("restore", saved, "--data", tmp_path / "data")
    assert onto.returncode == 5  # a server is at work there
    assert server.stop() == 0
    onto = euvyrad("restore", saved, "--data", tmp_path / "data")
    assert (onto.returncode, "holds data already" in onto.stderr) == (5, True)
    assert euvyrad("backup", "--data", tmp_path / "data").returncode == 2
    assert euvyrad("backup", tmp_path / "x", "--data", tmp_path / "nothing").returncode == 4
    assert not (tmp_path / "x").exists()
    assert euvyrad("restore", tmp_path, "--data", tmp_path / "y").returncode != 0
    with (saved / "euvyra.db").open("r+b") as file:
        file.seek(5000)
        file.write(b"\xff")
    bad = euvyrad("restore", saved, "--data", tmp_path / "z")
    assert (bad.returncode, "is damaged" in bad.stderr) == (74, True)
    assert not (tmp_path / "z/euvyra.db").exists()


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    folder = tmp_path_factory.mktemp("sound")
    server = full_server(folder / "data")
    run = make_id("r")  # an open one: its log waits in one piece
    server.ok("PUT", f"/api/v1/projects/demo/runs/{run}", {"name": "open"})
    server.upload(run, make_log(20))
    assert server.stop() == 0
    assert "no fault" in ok("check", "--data", folder / "data")
    yield folder / "data"


def flip(data: bytes, at: int) -> bytes:
    return data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :]


DAMAGES = {
    "chunk 0": "UPDATE metric_chunk SET data = flip(data, 40) WHERE seq = 0",
    "tail after point 5000": "UPDATE metric_series SET tail = flip(tail, 40)",
    "metric acc": "UPDATE metric_chunk SET data = flip(data, 60) WHERE times_of IS NULL",
    "pyramid row 0": "UPDATE metric_level SET data = flip(data, 40) WHERE seq = 0",
    "the log is damaged at byte": "UPDATE log_blob SET data = flip(data, 30)",
    "offsets are out of order": "UPDATE writer SET applied_offset = committed_offset + 1",
    "are missing": "UPDATE writer SET committed_offset = committed_offset + 9",
    "log bytes 0 to": "DELETE FROM log_blob",
    "refers to one that is not there, in table run_doc": "UPDATE run_doc SET run_id = run_id + 100",
}


@pytest.mark.parametrize("said", DAMAGES)
def test_check_names_what_is_damaged(sound: Path, tmp_path: Path, said: str) -> None:
    subprocess.run(["cp", "-r", sound, tmp_path / "data"], check=True)
    with contextlib.closing(sqlite3.connect(tmp_path / "data/euvyra.db")) as db, db:
        db.create_function("flip", 2, flip)
        db.execute(DAMAGES[said])
    done = euvyrad("check", "--data", tmp_path / "data")
    assert done.returncode == 1, done.stdout + done.stderr
    faults = [line for line in done.stdout.splitlines() if line.startswith("fault: ")]
    assert any(said in fault for fault in faults), done.stdout
    assert done.stdout.splitlines()[-1].endswith(": faults")


def test_check_names_damaged_and_missing_files(sound: Path, tmp_path: Path) -> None:
    subprocess.run(["cp", "-r", sound, tmp_path / "data"], check=True)
    one, two = (p for p in sorted((tmp_path / "data/blobs").glob("??/*")))
    one.write_bytes(flip(one.read_bytes(), 0))
    two.unlink()
    done = euvyrad("check", "--data", tmp_path / "data")
    assert done.returncode == 1
    assert f"fault: file {one.name}: its bytes have the digest" in done.stdout
    assert f"fault: file {two.name}: the file {two.name} is missing" in done.stdout
