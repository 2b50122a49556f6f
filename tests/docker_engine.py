"""A real Docker engine for tests, of their own: socket, images and network namespace.

One engine serves a whole session (tests/docker/conftest.py). Containers reach no server of the host:
`forward` opens a port in the engine's namespace that leads to the host's loopback.
"""

from __future__ import annotations

import contextlib
import ctypes
import http.client
import io
import json
import shutil
import signal
import socket
import subprocess
import tarfile
import tempfile
import urllib.parse
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import relay
from agents import Agent
from support import ROOT, WAIT_S, Server, wait_for

RIG = ROOT / "tests/rigs/docker.sh"
PYTHON = "euvyra-test/python:1"  # Debian with python3, made by the rig
CLONE_NEWNET = 0x40000000


class UnixConnection(http.client.HTTPConnection):
    def __init__(self, path: Path) -> None:
        super().__init__("docker", timeout=300)
        self.path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(300)
        self.sock.connect(str(self.path))


def tar_of(files: dict[str, bytes]) -> bytes:
    """An archive of these files, all of which may be run."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as archive:
        for name, data in files.items():
            info = tarfile.TarInfo(name)
            info.size, info.mode = len(data), 0o755
            archive.addfile(info, io.BytesIO(data))
    return out.getvalue()


class Engine:
    """dockerd, with containerd beside it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.socket = folder / "docker.sock"

    def rig(self, verb: str, *more: str) -> None:
        done = subprocess.run(
            [RIG, verb, self.folder, *more], capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr

    def start(self) -> Engine:
        self.rig("start")
        return self

    def kill(self) -> None:
        """kill -9 of the engine alone: its containers go on."""
        self.rig("kill")

    @property
    def namespace(self) -> str:
        return (self.folder / "namespace").read_text()

    def call(
        self, method: str, path: str, body: Any = None, headers: dict[str, str] | None = None
    ) -> tuple[int, bytes]:
        connection = UnixConnection(self.socket)
        try:
            raw = body if isinstance(body, bytes) or body is None else json.dumps(body).encode()
            connection.request(
                method, path, raw, {"Content-Type": "application/json", **(headers or {})}
            )
            answer = connection.getresponse()
            return answer.status, answer.read()
        finally:
            connection.close()

    def ok(self, method: str, path: str, body: Any = None, **more: Any) -> Any:
        status, answer = self.call(method, path, body, **more)
        assert status // 100 == 2, f"{method} {path}: {status} {answer!r}"
        return json.loads(answer) if answer[:1] in (b"{", b"[") and b"\n{" not in answer else answer

    def containers(self, agent: Path | None = None) -> list[str]:
        """Names of all containers that are ours, of the agent in this folder only if it is given."""
        label = "euvyra.attempt"
        if agent:
            mark = agent / "attempts/.docker-agent"
            label = f"euvyra.agent={mark.read_text() if mark.exists() else 'none'}"
        filters = urllib.parse.quote(json.dumps({"label": [label]}))
        found = self.ok("GET", f"/containers/json?all=1&filters={filters}")
        return sorted(item["Names"][0].lstrip("/") for item in found)

    def inspect(self, name: str) -> Any:
        return self.ok("GET", f"/containers/{name}/json")

    def remove(self, name: str) -> None:
        status, body = self.call("DELETE", f"/containers/{name}?force=1&v=1")
        assert status in (204, 404), body

    def build(self, tag: str, dockerfile: str, files: dict[str, bytes] | None = None) -> str:
        """An image of a Dockerfile and files beside it; its builds have no network."""
        archive = tar_of({"Dockerfile": dockerfile.encode(), **(files or {})})
        status, said = self.call(
            "POST",
            f"/build?t={tag}&networkmode=none",
            archive,
            {"Content-Type": "application/x-tar"},
        )
        assert status == 200 and b"errorDetail" not in said, said
        return tag

    def pid_of(self, name: str) -> int:
        return int(self.inspect(name)["State"]["Pid"])

    @contextlib.contextmanager
    def inside(self) -> Iterator[None]:
        """This thread in the engine's network namespace; sockets that it opens stay there."""
        libc = ctypes.CDLL(None, use_errno=True)
        with Path("/proc/thread-self/ns/net").open() as home, Path(self.namespace).open() as there:
            assert libc.setns(there.fileno(), CLONE_NEWNET) == 0
            try:
                yield
            finally:
                assert libc.setns(home.fileno(), CLONE_NEWNET) == 0

    @property
    def gateway(self) -> str:
        """This machine, as containers reach it."""
        config = self.ok("GET", "/networks/bridge")["IPAM"]["Config"][0]
        return str(config.get("Gateway") or "172.17.0.1")

    @contextlib.contextmanager
    def forward(self, port: int, address: str = "127.0.0.1") -> Iterator[None]:
        """Port of this number in the engine's namespace leads to the host's loopback."""
        with self.inside():
            listener = socket.create_server((address, port), backlog=64)
        end = relay.serve(listener, port)
        try:
            yield
        finally:
            end()


@contextlib.contextmanager
def engine(subids: str = "") -> Iterator[Engine]:
    """An engine with the image PYTHON; nothing of it is left afterwards. `subids`: a line of
    /etc/subuid, by which it remaps users."""
    folder = Path(tempfile.mkdtemp(prefix="euvyra-docker.", dir="/tmp"))  # sockets have short paths
    running = Engine(folder)
    try:
        if subids:
            (folder / "subids").write_text(subids + "\n")
            folder.chmod(0o711)  # root inside passes through
        running.start()
        running.rig("image", PYTHON)
        yield running
    finally:
        running.rig("stop")
        shutil.rmtree(folder)


class Registry:
    """A real registry at 127.0.0.1:5000 of the engine's namespace, where plain HTTP is trusted."""

    def __init__(self, running: Engine, folder: Path, password: str = "") -> None:
        self.engine = running
        self.folder = folder
        self.process: subprocess.Popen[bytes] | None = None
        self.credential = {"username": "trainer", "password": password} if password else None
        folder.mkdir()
        auth = ""
        if password:
            import crypt  # the registry takes bcrypt alone

            hashed = crypt.crypt(password, crypt.mksalt(crypt.METHOD_BLOWFISH, rounds=16))
            (folder / "htpasswd").write_text(f"trainer:{hashed}\n")
            auth = f"auth: {{htpasswd: {{realm: test, path: {folder}/htpasswd}}}}\n"
        (folder / "config.yml").write_text(
            "version: 0.1\nlog: {level: warn}\n"
            f"storage: {{filesystem: {{rootdirectory: {folder}/data}}, delete: {{enabled: true}}}}\n"
            f"http: {{addr: 127.0.0.1:5000}}\n{auth}"
        )

    def start(self) -> Registry:
        log = (self.folder / "log").open("ab")
        self.process = subprocess.Popen(
            [
                *("nsenter", f"--net={self.engine.namespace}", "docker-registry", "serve"),
                self.folder / "config.yml",
            ],
            stdout=log,
            stderr=log,
        )
        log.close()
        wait_for("the registry", self.answers)
        return self

    def answers(self) -> bool:
        with contextlib.suppress(OSError), self.engine.inside():
            socket.create_connection(("127.0.0.1", 5000), timeout=5).close()
            return True
        return False

    def stop(self) -> None:
        assert self.process
        self.process.send_signal(signal.SIGTERM)
        self.process.send_signal(signal.SIGCONT)  # a test that failed may have stopped it
        self.process.wait(WAIT_S)
        self.process = None

    def __enter__(self) -> Registry:
        return self.start()

    def __exit__(self, *_: object) -> None:
        if self.process:
            self.stop()

    def headers(self) -> dict[str, str]:
        import base64

        login = json.dumps(self.credential or {}).encode()
        return {"X-Registry-Auth": base64.urlsafe_b64encode(login).decode()}

    def push(self, image: str, name: str, tag: str = "1") -> str:
        """Puts an image of the engine here and forgets it there; returns its name with digest."""
        full = f"127.0.0.1:5000/{name}"
        self.engine.ok("POST", f"/images/{image}/tag?repo={full}&tag={tag}")
        status, said = self.engine.call(
            "POST", f"/images/{full}/push?tag={tag}", headers=self.headers()
        )
        assert status == 200 and b"errorDetail" not in said, said
        shown = self.engine.ok("GET", f"/images/{full}:{tag}/json")
        digest = next(item for item in shown["RepoDigests"] if item.startswith(full))
        self.engine.ok("DELETE", f"/images/{full}:{tag}")
        return str(digest)

    def send(self, method: str, path: str, body: bytes = b"", kind: str = "") -> tuple[int, bytes]:
        """A request to the registry itself."""
        with self.engine.inside():
            connection = http.client.HTTPConnection("127.0.0.1", 5000, timeout=WAIT_S)
            connection.connect()
        try:
            connection.request(method, path, body or None, {"Content-Type": kind} if kind else {})
            answer = connection.getresponse()
            return answer.status, answer.read()
        finally:
            connection.close()


class DockerAgent(Agent):
    """euvyra-agent with this engine; ends with nothing of it left in the engine."""

    def __init__(self, server: Server, folder: Path, running: Engine, name: str = "rack1") -> None:
        super().__init__(server, folder, name)
        self.engine = running

    def start(self, *options: str) -> DockerAgent:
        super().start(
            *("--executor", "docker", "--docker-socket", str(self.engine.socket)),
            *("--allow-old-runc", "--image", PYTHON, *options),
        )
        return self

    def __enter__(self) -> DockerAgent:
        return self.start()

    def __exit__(self, *_: object) -> None:
        code = 0
        if self.process and self.process.poll() is None:
            code = self.kill(signal.SIGTERM)
        for name in self.engine.containers(self.folder):
            self.engine.remove(name)
        assert code == 0, self.log()

    def log(self) -> str:
        return self.folder.with_suffix(".log").read_text()

    def containers(self) -> list[str]:
        return self.engine.containers(self.folder)
