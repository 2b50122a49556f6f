"""Secrets of projects through the HTTP API: set, used, never shown again."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import Any

import pytest
from support import BUILD, Server

SECRETS = "/api/v1/projects/demo/secrets"
CANARY = "canary-7f3a-value-that-nobody-sees"


def start_with_log(server: Server, log: Path) -> None:
    server.launcher = ["sh", "-c", f'exec "$@" 2>>"{log}"', "sh"]
    server.start()


def test_a_secret_is_listed_without_what_it_is(server: Server) -> None:
    made = server.call("PUT", f"{SECRETS}/HF_TOKEN", {"value": "one\ntwo\r\n"})
    assert made.status == 201
    assert made.json["name"] == "HF_TOKEN" and made.json["used_at"] is None
    assert made.json["made_by"] == "user:ada"
    assert server.call("PUT", f"{SECRETS}/HF_TOKEN", {"value": "three"}).status == 200
    server.ok("PUT", f"{SECRETS}/AWS", {"value": "x"})
    items = server.ok("GET", SECRETS)["items"]
    assert [i["name"] for i in items] == ["AWS", "HF_TOKEN"]
    assert set(items[0]) == {"name", "made_at", "made_by", "used_at"}
    page = server.ok("GET", f"{SECRETS}?limit=1")
    rest = server.ok("GET", f"{SECRETS}?cursor={page['next_cursor']}")
    assert page["items"] + rest["items"] == items
    assert server.call("GET", f"{SECRETS}/HF_TOKEN").status == 405
    server.ok("DELETE", f"{SECRETS}/HF_TOKEN")
    assert server.call("DELETE", f"{SECRETS}/HF_TOKEN").status == 404


def test_the_value_is_in_no_file_log_audit_row_or_answer(tmp_path: Path) -> None:
    data, log = tmp_path / "data", tmp_path / "log"
    server = Server(data)
    start_with_log(server, log)
    server.ok("PUT", "/api/v1/projects/demo", {})
    answers = [
        server.call("PUT", f"{SECRETS}/TOKEN", {"value": CANARY}),
        server.call("PUT", f"{SECRETS}/TOKEN", {"value": CANARY, "more": CANARY}),
        server.call("PUT", f"{SECRETS}/1", {"value": CANARY}),
        server.call("PUT", "/api/v1/projects/none/secrets/TOKEN", {"value": CANARY}),
        server.call("GET", SECRETS),
        server.call("GET", "/api/v1/audit"),
    ]
    assert [a.status for a in answers] == [201, 400, 404, 404, 200, 200]
    assert b"secret TOKEN made" in answers[-1].body
    assert server.stop() == 0
    seen = [a.body for a in answers] + [log.read_bytes()]
    seen += [p.read_bytes() for p in data.rglob("*") if p.is_file()]
    assert not any(CANARY.encode() in text for text in seen)
    if not server.database:
        assert any(b"TOKEN" in text for text in seen)  # the search looks in the right place


def test_the_key_is_made_once_and_for_the_server_alone(tmp_path: Path) -> None:
    with Server(tmp_path / "data") as server:
        key = tmp_path / "data/secret.key"
        assert key.stat().st_mode & 0o777 == 0o600
        before = key.read_text()
        assert before.startswith("euvyra-secret-key-1 ")
        server.stop()
        server.start()
        assert key.read_text() == before


def test_with_another_key_nothing_is_sealed_and_nothing_is_lost(tmp_path: Path) -> None:
    data, log = tmp_path / "data", tmp_path / "log"
    server = Server(data)
    start_with_log(server, log)
    server.ok("PUT", "/api/v1/projects/demo", {})
    server.ok("PUT", f"{SECRETS}/TOKEN", {"value": "x"})
    server.stop()
    right = (data / "secret.key").read_text()
    (data / "secret.key").write_text("euvyra-secret-key-1 " + "ab" * 32 + "\n")
    start_with_log(server, log)
    answer = server.call("PUT", f"{SECRETS}/OTHER", {"value": "y"})
    assert answer.status == 503 and "secrets here are sealed with the key" in answer.json["message"]
    assert "secrets.key_missing" in log.read_text()
    server.stop()
    (data / "secret.key").unlink()
    start_with_log(server, log)
    answer = server.call("PUT", f"{SECRETS}/OTHER", {"value": "y"})
    assert answer.status == 503
    assert answer.json["message"] == "this server has no key for secrets"
    assert not (data / "secret.key").exists()  # a new one would hide that the old one is gone
    server.stop()
    given = tmp_path / "given.key"
    given.write_text(right)
    given.chmod(0o600)
    server.options += ("--secret-key-file", str(given))
    start_with_log(server, log)
    server.ok("PUT", f"{SECRETS}/OTHER", {"value": "y"})
    assert [i["name"] for i in server.ok("GET", SECRETS)["items"]] == ["OTHER", "TOKEN"]
    assert server.stop() == 0


@pytest.mark.parametrize(
    ("text", "mode", "problem"),
    [
        ("nothing\n", 0o600, "it holds no key for secrets"),
        ("euvyra-secret-key-1 " + "ab" * 32, 0o644, "can be read by others"),
        (None, 0o600, "No such file"),
    ],
)
def test_a_key_file_that_is_none_stops_the_start(
    tmp_path: Path, text: str | None, mode: int, problem: str
) -> None:
    server = Server(tmp_path / "data")
    path = tmp_path / "key"
    if text is not None:
        path.write_text(text)
        path.chmod(mode)
    command = [str(BUILD / "euvyrad"), "--data", str(tmp_path / "data"), *server.options]
    command += ["--listen", "127.0.0.1:0", "--secret-key-file", str(path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=os.environ)
    assert done.returncode != 0
    assert f"euvyrad: {path}" in done.stderr or "the key file" in done.stderr
    assert problem in done.stderr
    assert "abab" not in done.stderr


def test_who_may_set_secrets(server: Server) -> None:
    eve, max_ = server.user("eve"), server.user("max")
    path = f"{SECRETS}/TOKEN"
    assert server.call("PUT", path, {"value": "x"}, key=eve).status == 404
    server.ok("PUT", "/api/v1/projects/demo/members/eve", {"role": "viewer"})
    server.ok("PUT", "/api/v1/projects/demo/members/max", {"role": "editor"})
    assert server.call("PUT", path, {"value": "x"}, key=eve).status == 403
    assert server.ok("PUT", path, {"value": "x"}, key=max_)["made_by"] == "user:max"
    assert [i["name"] for i in server.ok("GET", SECRETS, key=eve)["items"]] == ["TOKEN"]
    assert server.call("DELETE", path, key=eve).status == 403
    server.ok("DELETE", path, key=max_)


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({}, "value"),
        ({"value": ""}, "value"),
        ({"value": 7}, "value"),
        ({"value": None}, "value"),
        ({"value": "x" * 65537}, "value"),
        ({"value": "x", "name": "y"}, "name"),
    ],
)
def test_bad_secrets_name_the_field(server: Server, body: Any, field: str) -> None:
    answer = server.call("PUT", f"{SECRETS}/TOKEN", body)
    assert (answer.status, answer.json["field"]) == (400, field)
    assert server.ok("GET", SECRETS)["items"] == []


def test_names_are_those_of_variables(server: Server) -> None:
    for name in ("1A", "A-B", "A.B", "x" * 64, "%C3%A4"):
        assert server.call("PUT", f"{SECRETS}/{name}", {"value": "x"}).status == 404
    server.ok("PUT", f"{SECRETS}/_a1", {"value": "x" * 65536})


def test_secrets_go_with_their_project(server: Server) -> None:
    server.ok("PUT", "/api/v1/projects/gone", {})
    server.ok("PUT", "/api/v1/projects/gone/secrets/A", {"value": "x"})
    server.ok("DELETE", "/api/v1/projects/gone")
    server.ok("PUT", "/api/v1/projects/gone", {})
    assert server.ok("GET", "/api/v1/projects/gone/secrets")["items"] == []
