"""The real server keeps what api/openapi.yaml promises: schemathesis tries every operation.

Valid and invalid input, as administrator and as agent. A failure prints the request that shows it.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from support import ROOT, Server, make_id

SPEC = ROOT / "api/openapi.yaml"
EXAMPLES = os.environ.get("EUVYRA_SCHEMA_EXAMPLES", "20")
# The stream does not end by itself; a session is what it says: it would sign the caller out.
EXCLUDED = ["event_stream"]
CHECKS = [
    "not_a_server_error",
    "status_code_conformance",
    "content_type_conformance",
    "response_schema_conformance",
    "negative_data_rejection",
    "ignored_auth",
    "unsupported_method",
]


# A body above its limit is refused with 413 before anybody looks at what is in it.
CONFIG = """
[checks.negative_data_rejection]
expected-statuses = ["4xx", "5xx"]
"""


def shown(report: str) -> str:
    """The end of the report; bodies of megabytes cut short."""
    return "\n".join(line[:400] for line in report.splitlines())[-12000:]


def schemathesis(server: Server, key: str, work: Path, *options: str) -> None:
    command = [str(Path(sys.executable).with_name("schemathesis")), "run", str(SPEC)]
    command += ["--url", server.url, "--header", f"Authorization: Bearer {key}"]
    command += ["--checks", ",".join(CHECKS), "--max-examples", EXAMPLES]
    command += ["--phases", "coverage,fuzzing", "--generation-deterministic", "--no-color"]
    command += ["--continue-on-failure", "--workers", "1", "--warnings", "off", *options]
    (work / "schemathesis.toml").write_text(CONFIG)
    done = subprocess.run(command, cwd=work, capture_output=True, text=True, check=False)
    assert done.returncode == 0, shown(done.stdout) + done.stderr[-2000:]


@pytest.mark.parametrize(
    "tag", ["server", "identity", "projects", "runs", "metrics", "blobs", "jobs", "queues"]
)
def test_server_keeps_the_description(server: Server, run: str, tmp_path: Path, tag: str) -> None:
    exclude = [part for name in EXCLUDED for part in ("--exclude-operation-id", name)]
    schemathesis(server, server.key, tmp_path, "--include-tag", tag, *exclude)


def test_agents_get_what_is_described(server: Server, tmp_path: Path) -> None:
    server.ok("PUT", "/api/v1/targets/default", {"price_hour_micro": 1000})
    agent = make_id("a")
    server.ok("PUT", f"/api/v1/agents/{agent}", {"name": "rack1", "target": "default"})
    made = server.ok("POST", "/api/v1/keys", {"kind": "agent", "name": "rack1", "agent": agent})
    schemathesis(server, server.key, tmp_path, "--include-tag", "agents")
    schemathesis(server, made["key"], tmp_path, "--include-tag", "agents")
