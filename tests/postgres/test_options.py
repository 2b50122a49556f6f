"""How euvyrad is told of its PostgreSQL, and what it refuses."""

from __future__ import annotations

import subprocess
from pathlib import Path

import postgres_cluster
from support import BUILD, Log, Server, make_id


def start(*words: str | Path) -> tuple[int, str]:
    done = subprocess.run(
        [BUILD / "euvyrad", *words, "--listen", "127.0.0.1:0"],
        capture_output=True,
        text=True,
        timeout=60,
    )
    return done.returncode, done.stderr


def test_the_conninfo_comes_from_a_file_nobody_else_can_read(tmp_path: Path) -> None:
    with Server(tmp_path / "first") as server:
        database = server.database
    file = tmp_path / "database"
    file.write_text(postgres_cluster.url(database) + "&password=hunter2\n")
    file.chmod(0o644)
    code, said = start("--data", tmp_path / "data", "--database-file", file)
    assert code == 2 and "can be read by others" in said
    file.chmod(0o600)
    other = Server(tmp_path / "data", setup=False, database=database)
    other.options = ("--database-file", str(file), "--blobs", str(server.data / "blobs"))
    other.key = server.key
    with other:
        assert other.process
        assert other.call("GET", "/api/v1/projects").status == 200
        argv = Path(f"/proc/{other.process.pid}/cmdline").read_bytes()
        assert b"hunter2" not in argv


def test_a_password_on_the_command_line_is_refused_and_not_repeated(tmp_path: Path) -> None:
    code, said = start("--data", tmp_path / "d", "--database", "postgresql://a:hunter2@h/x")
    assert code == 2 and "password" in said and "hunter2" not in said
    code, said = start("--data", tmp_path / "d", "--database", "nonsense hunter2")
    assert code == 2 and "connection string" in said and "hunter2" not in said


def test_a_database_that_cannot_be_reached_is_one_clear_line(tmp_path: Path) -> None:
    code, said = start("--data", tmp_path / "d", "--database", "postgresql:///x?host=/nowhere")
    assert code == 69 and "PostgreSQL" in said and "/nowhere" in said


def test_a_database_with_another_encoding_is_refused(tmp_path: Path) -> None:
    postgres_cluster.psql("CREATE DATABASE latin ENCODING 'LATIN1' LOCALE 'C' TEMPLATE template0")
    postgres_cluster.made.append("latin")
    code, said = start("--data", tmp_path / "d", "--database", postgres_cluster.url("latin"))
    assert code == 5 and "LATIN1" in said and "UTF8" in said


def test_a_database_of_a_newer_version_is_left_alone(tmp_path: Path) -> None:
    with Server(tmp_path / "data") as server:
        pass
    postgres_cluster.psql("UPDATE schema_number SET number = 9999", server.database)
    code, said = start(
        "--data", tmp_path / "data", "--database", postgres_cluster.url(server.database)
    )
    assert code == 5 and "newer version" in said
    assert server.sql("SELECT number FROM schema_number") == "9999"


def test_a_folder_does_not_change_its_kind_of_database_by_accident(tmp_path: Path) -> None:
    with Server(tmp_path / "data") as server:
        pass
    code, said = start("--data", tmp_path / "data")
    assert code == 5 and "lies in PostgreSQL" in said
    subprocess.run(
        [
            *(BUILD / "euvyrad", "setup", "--data", tmp_path / "lite"),
            *("--admin", "ada", "--key-file", tmp_path / "key"),
        ],
        check=True,
    )
    code, said = start(
        "--data", tmp_path / "lite", "--database", postgres_cluster.url(server.database)
    )
    assert code == 5 and "SQLite" in said


def test_a_server_with_other_files_than_the_database_knows_is_refused(tmp_path: Path) -> None:
    with Server(tmp_path / "a") as first:
        first.ok("PUT", "/api/v1/projects/demo", {})
    code, said = start("--data", tmp_path / "b", "--database", postgres_cluster.url(first.database))
    assert code == 5 and "--blobs" in said
    shared = ("--blobs", str(first.data / "blobs"))
    other = Server(tmp_path / "b", *shared, database=first.database)
    with other:
        run = make_id("r")
        other.ok("PUT", f"/api/v1/projects/demo/runs/{run}", {})


def maintain(server: Server, *words: str | Path) -> tuple[int, str]:
    where = ("--data", server.data, "--database", postgres_cluster.url(server.database))
    done = subprocess.run(
        [BUILD / "euvyrad", *words, *where], capture_output=True, text=True, timeout=60
    )
    return done.returncode, done.stdout + done.stderr


def test_damage_is_found_and_backup_names_the_tool_that_does_it(tmp_path: Path) -> None:
    with Server(tmp_path / "data") as server:
        server.ok("PUT", "/api/v1/projects/demo", {})
        run = make_id("r")
        server.ok("PUT", f"/api/v1/projects/demo/runs/{run}", {})
        log = Log()
        for step in range(100):
            log.row(step, {"loss": float(step)})
        server.upload(run, log)
        code, said = maintain(server, "check")
        assert code == 0 and "checked" in said, said
        code, said = maintain(server, "backup", tmp_path / "backup")
        assert code != 0 and "pg_dump" in said
    postgres_cluster.psql(
        "UPDATE log_blob SET data = set_byte(data, 50, get_byte(data, 50) # 1)", server.database
    )
    code, said = maintain(server, "check")
    assert code == 1 and f"fault: run {run}" in said, said
