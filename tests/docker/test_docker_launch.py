"""The command that people type, with containers that know nothing of Euvyra and with those that do."""

from __future__ import annotations

import http.client
import os
import signal
import ssl
import subprocess
import sysconfig
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import docker_engine
import pytest
from docker_engine import PYTHON, DockerAgent, Engine
from fake_nvml import FakeGpus, uuid
from job_calls import submit, wait_state
from support import BUILD, WAIT_S, Server, wait_for

TRAIN = """\
import os, time
print("gpus", os.environ["NVIDIA_VISIBLE_DEVICES"], flush=True)
time.sleep(1.2)
print("loss 0.25")
raise SystemExit(int(open("code.txt").read()))
"""
LOGGED = """\
import euvyra
run = euvyra.init(config={"lr": 0.5})
for step in range(100):
    run.log({"loss": 1 / (step + 1)}, step=step)
print("lr", run.config["lr"], run.config["seed"])
run.finish()
"""
LIVE = """\
import time, pathlib, euvyra
run = euvyra.init()
run.log({"loss": 0.5}, step=1)
while not pathlib.Path("/euvyra/work/go").exists():
    time.sleep(0.05)
run.finish()
"""


@pytest.fixture
def gpus(tmp_path: Path) -> Iterator[FakeGpus]:
    said = FakeGpus(tmp_path)
    with said.used():
        yield said


@pytest.fixture
def agent(server: Server, tmp_path: Path, engine: Engine, gpus: FakeGpus) -> Iterator[DockerAgent]:
    server.ok("PUT", "/api/v1/projects/medical-ai", {})
    with DockerAgent(server, tmp_path / "agent", engine) as running:
        running.kill(signal.SIGTERM)
        running.start(*gpus.options)
        yield running


@pytest.fixture(scope="session")
def plain(engine: Engine) -> str:
    """Python, and nothing of ours."""
    return engine.build(
        "euvyra-test/plain:1", f"FROM {PYTHON}\nRUN ln -s python3 /usr/bin/python\n"
    )


@pytest.fixture(scope="session")
def with_sdk(engine: Engine, plain: str) -> str:
    """The Python package, as an image of a team has it; without the uploader."""
    package = Path(sysconfig.get_paths()["platlib"]) / "euvyra"
    files = {f"sdk/euvyra/{file.name}": file.read_bytes() for file in package.glob("*.[ps]*")}
    where = "/usr/local/lib/python3.11/dist-packages"
    return engine.build("euvyra-test/sdk:1", f"FROM {plain}\nCOPY sdk {where}\n", files)


@pytest.fixture(scope="session")
def with_uploader(engine: Engine, with_sdk: str) -> str:
    """The package as its wheel is: with the uploader and its libraries."""
    files = {"bin/euvyra": (BUILD / "euvyra").read_bytes()}
    told = subprocess.run(["ldd", BUILD / "euvyra"], capture_output=True, text=True, check=True)
    for line in told.stdout.splitlines():
        path = Path(line.split("=>")[1].split()[0]) if "=>" in line else None
        if path and not path.name.startswith(("libc.", "libm.")):
            files[f"lib/{path.name}"] = path.read_bytes()
    lines = f"FROM {with_sdk}\nCOPY bin /usr/local/bin\nCOPY lib /usr/local/lib\nRUN ldconfig\n"
    return engine.build("euvyra-test/uploader:1", lines, files)


def launch(server: Server, folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [BUILD / "euvyra", "launch", *words],
        env={"PATH": os.environ["PATH"], "HOME": str(folder), "EUVYRA_SERVER": server.url}
        | {"EUVYRA_API_KEY": server.key},
        cwd=folder,
        text=True,
        capture_output=True,
        timeout=WAIT_S,
        check=False,
    )


def code_folder(tmp_path: Path, text: str, code: int = 0) -> Path:
    folder = tmp_path / "code"
    folder.mkdir()
    (folder / "train.py").write_text(text)
    (folder / "code.txt").write_text(str(code))
    return folder


def only_job(server: Server) -> Any:
    (item,) = server.ok("GET", "/api/v1/jobs?project=medical-ai")["items"]
    return server.ok("GET", f"/api/v1/jobs/{item['id']}")


@pytest.mark.parametrize("code", [0, 3])
def test_launch_as_it_is_written(
    server: Server, agent: DockerAgent, plain: str, tmp_path: Path, code: int
) -> None:
    """A container without our package: status, run time, exit code, GPU hours, cost and log all the same."""
    server.ok(
        "PUT", "/api/v1/targets/here", {"price_hour_micro": 0, "price_gpu_hour_micro": 3600_000_000}
    )
    folder = code_folder(tmp_path, TRAIN, code)
    words = ("--project", "medical-ai", "--image", plain, "--gpus", "1", "--wait")
    done = launch(server, folder, *words, "--", "python", "train.py")
    assert done.returncode == code, done.stderr
    assert "loss 0.25" in done.stdout and f"gpus {uuid(0)[:12]}" in done.stdout
    job = only_job(server)
    assert (job["state"], job["exit_code"]) == ("failed" if code else "succeeded", code)
    assert job["run_time_ms"] > 0 and job["gpu_ms"] == job["run_time_ms"]
    assert job["cost_micro"] == job["run_time_ms"] * 1000
    run = server.ok("GET", f"/api/v1/runs/{job['run']}")
    assert run["state"] == ("failed" if code else "finished")
    assert b"loss 0.25\n" in server.call("GET", f"/api/v1/runs/{job['run']}/console").body


def test_a_container_with_the_package_leaves_its_whole_record(
    server: Server, agent: DockerAgent, with_sdk: str, tmp_path: Path
) -> None:
    """It reaches no server: the agent brings the record when the container has ended."""
    folder = code_folder(tmp_path, LOGGED)
    words = ("--project", "medical-ai", "--image", with_sdk, "--config", "seed=7", "--wait")
    done = launch(server, folder, *words, "--", "python", "train.py")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "lr 0.5 7" in done.stdout
    run = only_job(server)["run"]
    wait_for("the record", lambda: server.ok("GET", f"/api/v1/runs/{run}")["summary"].get("loss"))
    seen = server.ok("GET", f"/api/v1/runs/{run}")
    assert (seen["state"], seen["summary"]["loss"]) == ("finished", 0.01)
    assert seen["config"] == {"lr": 0.5, "seed": 7}


class TlsServer(Server):
    """A server that speaks TLS alone, with a certificate for these addresses."""

    def __init__(self, folder: Path, *addresses: str) -> None:
        cert, key = folder / "cert.pem", folder / "key.pem"
        names = ",".join(f"IP:{address}" for address in addresses)
        subprocess.run(
            [
                *("openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2"),
                *("-subj", "/CN=euvyra.test", "-addext", f"subjectAltName={names}"),
                *("-keyout", key, "-out", cert),
            ],
            check=True,
            capture_output=True,
        )
        super().__init__(folder / "tls-data", "--tls-cert", str(cert), "--tls-key", str(key))
        self.context = ssl.create_default_context(cafile=str(cert))

    def connect(self) -> http.client.HTTPConnection:
        return http.client.HTTPSConnection(
            "127.0.0.1", self.port, timeout=WAIT_S, context=self.context
        )


def test_what_a_container_logs_arrives_while_it_runs(
    tmp_path: Path, engine: Engine, with_uploader: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """--server-for-jobs: the server as containers reach it, with an authority of one's own."""
    monkeypatch.setenv("EUVYRA_CA", str(tmp_path / "cert.pem"))
    with TlsServer(tmp_path, "127.0.0.1", engine.gateway) as server:
        server.ok("PUT", "/api/v1/projects/demo", {})
        with (
            engine.forward(server.port, engine.gateway),
            DockerAgent(server, tmp_path / "agent", engine) as agent,
        ):
            agent.kill(signal.SIGTERM)
            agent.start("--server-for-jobs", f"https://{engine.gateway}:{server.port}")
            job, run = submit(server, ["python", "-c", LIVE], image=with_uploader)

            def loss() -> Any:
                return server.ok("GET", f"/api/v1/runs/{run}")["summary"].get("loss")

            wait_for("the first point", lambda: loss() == 0.5)
            assert wait_state(server, job, "running")
            (agent.attempts()[0] / "work/go").touch()
            wait_state(server, job, "succeeded")
            assert "not_for_containers" not in agent.log().rsplit("engine.ready", 1)[1]


def test_jobs_run_as_a_user_of_this_machine(
    server: Server, tmp_path: Path, engine: Engine, with_sdk: str
) -> None:
    for folder in [tmp_path, *tmp_path.parents]:
        if folder != Path("/tmp") and folder.is_relative_to("/tmp"):
            folder.chmod(0o755)
    with DockerAgent(server, tmp_path / "agent", engine) as agent:
        agent.kill(signal.SIGTERM)
        agent.start("--job-user", "nobody")
        script = (
            "import os; print(os.getuid(), os.environ['HOME'], open('/euvyra/key').read()[:4])\n"
        )
        script += "open('/euvyra/work/x', 'w'); " + LOGGED.replace('run.config["seed"]', "1")
        job, run = submit(server, ["python", "-c", script], image=with_sdk)
        seen = wait_state(server, job, "succeeded", "failed")
        text = server.call("GET", f"/api/v1/runs/{run}/console").body
        assert seen["state"] == "succeeded", text
        assert text.startswith(b"65534 /euvyra/work euv_\n")
        wait_for(
            "the record", lambda: server.ok("GET", f"/api/v1/runs/{run}")["summary"].get("loss")
        )
        wait_for("the folder to go", lambda: not agent.attempts())


def test_jobs_run_on_an_engine_that_remaps_users(server: Server, tmp_path: Path) -> None:
    for folder in [tmp_path, *tmp_path.parents]:
        if folder != Path("/tmp") and folder.is_relative_to("/tmp"):
            folder.chmod(0o755)
    (tmp_path / "passwd").write_text(
        Path("/etc/passwd").read_text() + "trainer:x:301000:302000::/:/bin/false\n"
    )
    with docker_engine.engine("daemon:300000:65536") as remaps:
        agent = DockerAgent(server, tmp_path / "agent", remaps)
        agent.launcher = [
            *("unshare", "--mount", "--propagation", "slave", "bash", "-c"),
            *('mount --bind "$0" /etc/passwd; exec "$@"', str(tmp_path / "passwd")),
        ]
        with agent.ended():
            agent.start("--job-user", "nobody")
            assert agent.process and agent.process.wait(WAIT_S) == 2
            assert "remaps users: user 65534, group 65534 are nobody inside" in agent.log()
            agent.start("--job-user", "trainer")
            script = "import os; print(os.getuid(), os.getgid(), open('/euvyra/key').read()[:4])\n"
            script += "open('/euvyra/work/x', 'w').write('x')"
            job, run = submit(server, ["python3", "-c", script], config={"a": 1})
            seen = wait_state(server, job, "succeeded", "failed")
            text = server.call("GET", f"/api/v1/runs/{run}/console").body
            assert (seen["state"], text) == ("succeeded", b"1000 2000 euv_\n"), (seen, text)
            wait_for("the folder to go", lambda: not agent.attempts())


SERVICE = """\
import http.server, os
class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(500 if os.path.exists("/euvyra/work/ill") else 200)
        self.end_headers()
    def log_message(self, *words): pass
http.server.HTTPServer(("0.0.0.0", int(os.environ["EUVYRA_PORT"])), Handler).serve_forever()
"""


def test_a_service_is_asked_at_its_container(
    server: Server, tmp_path: Path, engine: Engine, plain: str
) -> None:
    """The agent stands in the engine's namespace, as it does on a real host."""
    with (
        engine.forward(server.port),
        DockerAgent(server, tmp_path / "agent", engine) as agent,
    ):
        agent.kill(signal.SIGTERM)
        agent.launcher = ["nsenter", f"--net={engine.namespace}"]
        agent.start()
        job, _ = submit(
            server,
            ["python", "-c", SERVICE],
            image=plain,
            kind="service",
            health={"port": 8000, "every_s": 1, "failures": 2},
        )

        def seen() -> Any:
            return server.ok("GET", f"/api/v1/jobs/{job}")

        wait_for("it to be well", lambda: (seen()["health"] or {}).get("state") == "healthy")
        (folder,) = agent.attempts()
        (folder / "work/ill").touch()
        wait_for("a new attempt", lambda: len(seen()["attempts"]) > 1)
        server.ok("POST", f"/api/v1/jobs/{job}/cancel")
        wait_state(server, job, "cancelled")
