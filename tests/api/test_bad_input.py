"""Hostile and mistaken requests: one clear error, and nothing changes."""

from __future__ import annotations

import gzip
import json
from typing import Any

import pytest
from support import Server, make_id

JSON = {"Content-Type": "application/json"}


def audit_count(server: Server) -> int:
    return int(server.ok("GET", "/api/v1/audit?limit=1")["items"][0]["seq"])


def deep(depth: int) -> bytes:
    return b'{"notes":' + b"[" * depth + b"]" * depth + b"}"


CASES: list[tuple[str, bytes, int, str, str]] = [
    ("unknown field", b'{"nmae":"x"}', 400, "unknown_field", "nmae"),
    ("wrong type", b'{"name":7}', 400, "invalid", "name"),
    ("control bytes in a name", b'{"name":"a\\u0007b"}', 400, "invalid", "name"),
    ("too long a name", b'{"name":"' + b"x" * 201 + b'"}', 400, "invalid", "name"),
    ("depth 100", deep(100), 400, "bad_json", ""),
    ("duplicate keys", b'{"name":"a","name":"b"}', 400, "bad_json", ""),
    ("invalid UTF-8", b'{"name":"\xff"}', 400, "bad_utf8", ""),
    ("no JSON", b"{", 400, "bad_json", ""),
    ("trailing text", b"{} {}", 400, "bad_json", ""),
    ("an array", b"[]", 400, "invalid", ""),
    ("NUL in a text", b'{"name":"a\\u0000"}', 400, "bad_json", ""),
    ("tags of numbers", b'{"tags":[1]}', 400, "invalid", "tags"),
]


@pytest.mark.parametrize(
    "body,status,code,field", [c[1:] for c in CASES], ids=[c[0] for c in CASES]
)
def test_bad_bodies_get_one_clear_error_and_change_nothing(
    server: Server, body: bytes, status: int, code: str, field: str
) -> None:
    before = audit_count(server)
    run = make_id("r")
    answer = server.send("PUT", f"/api/v1/projects/demo/runs/{run}", body, JSON)
    assert (answer.status, answer.code) == (status, code), answer.body
    assert answer.json.get("field", "") == field
    assert len(answer.json["request_id"]) == 13 and answer.json["message"]
    assert audit_count(server) == before
    assert server.call("GET", f"/api/v1/runs/{run}").status == 404


def test_a_missing_project_is_named(server: Server) -> None:
    answer = server.call("PUT", f"/api/v1/projects/nowhere/runs/{make_id('r')}", {})
    assert (answer.status, answer.code) == (404, "not_found")
    assert "nowhere" in answer.json["message"]


def test_a_17_mb_body_is_refused_by_its_length(server: Server) -> None:
    body = b'{"notes":"' + b"x" * (17 << 20) + b'"}'
    try:
        answer = server.send("PUT", f"/api/v1/projects/demo/runs/{make_id('r')}", body, JSON)
    except (BrokenPipeError, ConnectionResetError):
        return  # closed while we were still sending: refused before it was read
    assert (answer.status, answer.code) == (413, "too_large")


def test_gzip_is_refused(server: Server) -> None:
    headers = {**JSON, "Content-Encoding": "gzip"}
    path = f"/api/v1/projects/demo/runs/{make_id('r')}"
    answer = server.send("PUT", path, gzip.compress(b"{}"), headers)
    assert (answer.status, answer.code) == (415, "unsupported_media")


def test_another_content_type_is_refused(server: Server) -> None:
    path = f"/api/v1/projects/demo/runs/{make_id('r')}"
    answer = server.send("PUT", path, b"{}", {"Content-Type": "text/plain"})
    assert (answer.status, answer.code) == (415, "unsupported_media")


@pytest.mark.parametrize(
    "path,status,code",
    [
        ("/api/v1/projects/demo/runs?limit=0", 400, "invalid"),
        ("/api/v1/projects/demo/runs?limit=many", 400, "invalid"),
        ("/api/v1/projects/demo/runs?limit=1&limit=2", 400, "invalid"),
        ("/api/v1/projects/demo/runs?colour=red", 400, "unknown_field"),
        ("/api/v1/projects/demo/runs?cursor=x", 400, "invalid"),
        ("/api/v1/runs/not-an-id", 404, "not_found"),
        ("/api/v1/nothing", 404, "not_found"),
    ],
)
def test_bad_parameters_are_named(server: Server, path: str, status: int, code: str) -> None:
    answer = server.call("GET", path)
    assert (answer.status, answer.code) == (status, code), answer.body


def test_a_wrong_method_says_what_is_allowed(server: Server) -> None:
    answer = server.call("POST", "/api/v1/projects", {})
    assert (answer.status, answer.code) == (405, "method_not_allowed")
    assert "GET" in answer.json["message"]


def test_an_older_and_a_newer_client_are_told_what_is_needed(server: Server) -> None:
    for protocol in (0, 99):
        headers = {"Euvyra-Client": f"sdk/9.9.9; protocol={protocol}"}
        answer = server.send("GET", "/api/v1/me", None, headers)
        assert (answer.status, answer.code) == (426, "upgrade_required")
        assert answer.json["hint"]


def test_another_host_name_is_refused(server: Server) -> None:
    answer = server.send("GET", "/api/v1/server", None, {"Host": "attacker.example"})
    assert answer.status == 400


def job_body(**spec: Any) -> bytes:
    return json.dumps({"run": make_id("r"), "spec": {"command": ["true"], **spec}}).encode()


@pytest.mark.parametrize(
    "body,field",
    [
        (job_body(privileged=True), "spec.privileged"),
        (job_body(host_path="/"), "spec.host_path"),
        (job_body(gpus=-1), "spec.gpus"),
        (job_body(env={"A=B": "x"}), "spec.env"),
        (job_body(env={"A": 1}), "spec.env"),
        (job_body(command=[]), "spec.command"),
        (job_body(command=["a", 1]), "spec.command"),
        (job_body(target="nowhere"), "spec.target"),
        (job_body(code="0" * 64), "spec.code"),
        (b'{"run":"rx","spec":{"command":["a"]}}', "run"),
        (b'{"spec":{"command":["a"]}}', "run"),
    ],
)
def test_a_job_spec_is_closed_and_its_errors_name_the_field(
    server: Server, body: bytes, field: str
) -> None:
    answer = server.send("PUT", f"/api/v1/projects/demo/jobs/{make_id('j')}", body, JSON)
    assert answer.status in (400, 422), answer.body
    assert answer.json["field"] == field
    assert server.ok("GET", "/api/v1/jobs")["items"] == []
