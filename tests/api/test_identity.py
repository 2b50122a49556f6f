"""Who may do what: set-up, sessions, keys, roles."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest
from support import BUILD, ROOT, Server, make_id

PASSWORD = "correct horse battery"


def sign_in(server: Server, login: str, password: str) -> tuple[int, str, str]:
    answer = server.call("POST", "/api/v1/sessions", {"login": login, "password": password}, key="")
    cookie = answer.headers.get("set-cookie", "").split(";")[0]
    message = "" if answer.status == 201 else str(answer.json["message"])
    return answer.status, cookie, message


def test_the_set_up_link_makes_the_first_administrator_once(tmp_path: Path) -> None:
    with Server(tmp_path / "data", setup=False) as server:
        assert server.process and server.process.stdout
        match = re.search(r"/setup#(\S+)", server.process.stdout.readline())
        assert match
        body = {"token": match.group(1), "login": "ada", "password": PASSWORD}
        wrong = server.call("POST", "/api/v1/setup", {**body, "token": "x" * 43}, key="")
        assert (wrong.status, wrong.code) == (403, "forbidden")
        short = server.call("POST", "/api/v1/setup", {**body, "password": "short"}, key="")
        assert (short.status, short.json["field"]) == (400, "password")
        assert server.call("POST", "/api/v1/setup", body, key="").status == 201
        assert server.call("POST", "/api/v1/setup", body, key="").status == 403
        assert sign_in(server, "ada", PASSWORD)[0] == 201


def test_a_cookie_is_host_only_and_changes_need_origin_and_header(server: Server) -> None:
    user = make_id("u")
    server.ok("PUT", f"/api/v1/users/{user}", {"login": "bob", "password": PASSWORD})
    answer = server.call("POST", "/api/v1/sessions", {"login": "bob", "password": PASSWORD}, key="")
    raw = answer.headers["set-cookie"]
    assert raw.startswith("__Host-euvyra=") and "HttpOnly" in raw and "Secure" in raw
    cookie = {"Cookie": raw.split(";")[0]}
    assert server.send("GET", "/api/v1/me", None, cookie, key="").json["login"] == "bob"
    change = {**cookie, "Content-Type": "application/json"}
    good = {**change, "Origin": server.url, "Euvyra-Console": "1"}
    path = "/api/v1/projects/mine"
    for bad in (change, {**good, "Origin": "http://evil.example"}, {**good, "Euvyra-Console": "0"}):
        assert server.send("PUT", path, b"{}", bad, key="").status == 403
    assert server.send("PUT", path, b"{}", good, key="").status == 201
    assert server.send("DELETE", "/api/v1/sessions/current", None, good, key="").status == 204
    assert server.send("GET", "/api/v1/me", None, cookie, key="").status == 401


def test_wrong_password_and_unknown_user_answer_the_same(server: Server) -> None:
    server.ok("PUT", f"/api/v1/users/{make_id('u')}", {"login": "bob", "password": PASSWORD})
    assert sign_in(server, "bob", "wrong wrong wrong") == sign_in(server, "eve", PASSWORD)
    assert sign_in(server, "bob", "wrong wrong wrong")[0] == 401


def test_every_operation_but_the_public_ones_refuses_strangers(server: Server) -> None:
    text = (ROOT / "api/openapi.yaml").read_text()
    ids = {
        "run": "r",
        "writer": "w",
        "job": "j",
        "attempt": "t",
        "agent": "a",
        "user": "u",
        "key": "k",
    }
    checked = 0
    for path, rest in re.findall(r"^  (/\S+):\n((?:    .*\n)+)", text, re.MULTILINE):
        for method, operation in re.findall(r"^    (\w+):\n((?:      .*\n)+)", rest, re.MULTILINE):
            if "x-permission: public" in operation:
                continue
            url = re.sub(
                r"\{(\w+)\}", lambda m: make_id(ids[m[1]]) if m[1] in ids else "demo", path
            )
            url = url.replace("/blobs/demo", "/blobs/" + "0" * 64)
            body = b"{}" if "application/json" in operation.split("responses:")[0] else None
            headers = {"Content-Type": "application/json"} if body else {}
            answer = server.send(method.upper(), url, body, headers, key="")
            assert answer.status == 401, f"{method} {url}: {answer.status} {answer.body!r}"
            checked += 1
    assert checked > 35


def test_roles_open_what_they_should_and_no_more(server: Server) -> None:
    bob = server.user("bob")
    runs = "/api/v1/projects/demo/runs"
    run = f"{runs}/{make_id('r')}"
    assert server.call("GET", runs, key=bob).status == 404
    server.ok("PUT", "/api/v1/projects/demo/members/bob", {"role": "viewer"})
    assert server.call("GET", runs, key=bob).status == 200
    refused = server.call("PUT", run, {}, key=bob)
    assert (refused.status, refused.code) == (403, "forbidden")
    assert "editor" in refused.json["message"]
    server.ok("PUT", "/api/v1/projects/demo/members/bob", {"role": "editor"})
    assert server.call("PUT", run, {}, key=bob).status == 201
    assert server.call("PATCH", "/api/v1/projects/demo", {"title": "x"}, key=bob).status == 403
    assert server.call("GET", "/api/v1/audit", key=bob).status == 403
    server.ok("DELETE", "/api/v1/projects/demo/members/bob")
    assert server.call("GET", runs, key=bob).status == 404


def test_a_project_keeps_an_owner(server: Server) -> None:
    bob = server.user("bob")
    server.ok("PUT", "/api/v1/projects/own", {}, key=bob)
    answer = server.call("PUT", "/api/v1/projects/own/members/bob", {"role": "viewer"}, key=bob)
    assert (answer.status, answer.code) == (409, "conflict")
    assert server.call("DELETE", "/api/v1/projects/own/members/bob", key=bob).status == 409


def test_a_revoked_key_is_refused_and_lists_show_no_secret(server: Server) -> None:
    made = server.ok("POST", "/api/v1/keys", {"kind": "user", "name": "laptop"})
    assert server.call("GET", "/api/v1/me", key=made["key"]).status == 200
    listed = server.call("GET", "/api/v1/keys")
    assert made["id"] in listed.body.decode() and made["key"] not in listed.body.decode()
    server.ok("DELETE", f"/api/v1/keys/{made['id']}")
    assert server.call("GET", "/api/v1/me", key=made["key"]).code == "unauthenticated"


@pytest.mark.parametrize("key", ["euv_user_x", "Bearer", "x" * 300])
def test_what_is_no_key_is_refused(server: Server, key: str) -> None:
    assert server.call("GET", "/api/v1/me", key=key).status == 401


def test_creates_can_be_repeated_and_another_body_is_a_conflict(server: Server) -> None:
    path = f"/api/v1/projects/demo/runs/{make_id('r')}"
    assert server.call("PUT", path, {"name": "a", "tags": ["x"]}).status == 201
    assert server.call("PUT", path, {"tags": ["x"], "name": "a"}).status == 200
    again = server.call("PUT", path, {"name": "b"})
    assert (again.status, again.code) == (409, "conflict")


def test_every_change_has_its_audit_row_and_no_secret_in_it(server: Server) -> None:
    made = server.ok("POST", "/api/v1/keys", {"kind": "user", "name": "laptop"})
    answer = server.call("GET", "/api/v1/audit")
    newest = answer.json["items"][0]
    assert newest["operation"] == "key_create" and newest["actor"] == "user:ada"
    assert made["id"] in newest["subject"] and made["key"] not in answer.body.decode()


def test_no_default_credential_and_no_secret_in_the_data_folder(tmp_path: Path) -> None:
    with Server(tmp_path / "data") as server:
        for line in ("admin", "root", "euvyra"):
            assert sign_in(server, line, line)[0] == 401
    found = subprocess.run(["grep", "-r", "-l", server.key, tmp_path / "data"], capture_output=True)
    assert found.returncode == 1, "the key lies in the data folder"
    assert (BUILD / "euvyrad").exists()
