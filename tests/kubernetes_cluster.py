"""A real Kubernetes of one node (tests/rigs/kubernetes), namespaces in it, and agents that use one.

EUVYRA_TEST_KUBERNETES names the folder of a cluster that runs already; else one is started for the
session of tests.
"""

from __future__ import annotations

import base64
import contextlib
import fcntl
import json
import os
import shutil
import signal
import socket
import ssl
import subprocess
import tempfile
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import euvyra
from relay import copy
from support import BUILD, ROOT, WAIT_S, Server, make_id

RIG = ROOT / "tests/rigs/kubernetes"
LOCK = Path("/run/lock/euvyra-test-kubernetes")
ROLE = ROOT / "deploy/kubernetes/agent-role.yaml"
BOX, PY, TOOLS, FOREIGN = (f"rig.local/{name}:1" for name in ("box", "py", "tools", "foreign"))


class Cluster:
    """A cluster that runs in a folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        lines = (folder / "env").read_text().splitlines()
        self.env = dict(line.split("=", 1) for line in lines)

    @property
    def api_port(self) -> int:
        return int(self.env["PORT"])

    @property
    def bridge_address(self) -> str:
        return self.env["BRIDGE_ADDRESS"]

    def kubectl(self, *words: str, text: str | None = None, check: bool = True) -> str:
        done = subprocess.run(
            [self.folder / "kubectl", *words],
            input=text,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        assert not check or done.returncode == 0, done.stderr
        return done.stdout if done.returncode == 0 else done.stderr

    def get(self, *words: str) -> Any:
        return json.loads(self.kubectl("get", *words, "-o", "json"))

    def ctr(self, *words: str) -> str:
        return subprocess.run(
            [self.folder / "ctr", *words], capture_output=True, text=True, timeout=60, check=True
        ).stdout

    def part(self, verb: str, name: str) -> None:
        """`end` kills one of its programs, `run` starts it again."""
        subprocess.run([RIG / "cluster.sh", verb, self.folder, name], check=True, timeout=180)

    def signal(self, name: str, number: int) -> None:
        os.kill(int((self.folder / f"{name}.pid").read_text()), number)

    def compact(self) -> None:
        """Makes the API server forget what was before now: watches from there are Gone."""
        done = subprocess.run(
            [self.folder / "etcdctl", "endpoint", "status", "-w", "json"],
            capture_output=True,
            check=True,
        )
        revision = json.loads(done.stdout)[0]["Status"]["header"]["revision"]
        subprocess.run([self.folder / "etcdctl", "compact", str(revision)], check=True)


@contextlib.contextmanager
def running_cluster() -> Iterator[Cluster]:
    kept = os.environ.get("EUVYRA_TEST_KUBERNETES")
    if kept:
        yield Cluster(Path(kept))
        return
    folder = Path(tempfile.mkdtemp(prefix="euvyra-kube.", dir="/tmp"))
    with LOCK.open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # one at a time: there is one bridge and one kubelet
        try:
            make_images(folder / "images")
            subprocess.run([RIG / "cluster.sh", "start", folder], check=True)
            yield Cluster(folder)
        finally:
            subprocess.run([RIG / "cluster.sh", "stop", folder], check=True)
            shutil.rmtree(folder, ignore_errors=True)


def make_images(folder: Path) -> None:
    environment = {
        **os.environ,
        "BUILD": str(BUILD),
        "PACKAGE": str(Path(str(euvyra.__file__)).parent),
    }
    subprocess.run(["sh", RIG / "images.sh", folder], env=environment, check=True)


class SecondNode:
    """A node that is only said to be there, and well. Where all nodes are silent a cluster gives no pod
    up: it takes itself for the one that is cut off."""

    def __init__(self, cluster: Cluster) -> None:
        self.cluster, self.name, self.stops = cluster, "second", threading.Event()
        self.beats = threading.Thread(target=self.beat, daemon=True)

    def __enter__(self) -> SecondNode:
        node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": self.name}}
        node["spec"] = {"unschedulable": True}
        self.cluster.kubectl("create", "-f", "-", text=json.dumps(node))
        self.beats.start()
        return self

    def beat(self) -> None:
        while not self.stops.wait(1):
            now = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
            ready = {"type": "Ready", "status": "True", "reason": "Said", "lastHeartbeatTime": now}
            patch = json.dumps({"status": {"conditions": [ready]}})
            self.cluster.kubectl(
                *("patch", "node", self.name, "--subresource=status", "-p", patch), check=False
            )

    def __exit__(self, *_: object) -> None:
        self.stops.set()
        self.beats.join()
        self.cluster.kubectl("delete", "node", self.name, "--wait=false")


class Namespace:
    """A namespace with the agent's account and Role, Pod Security enforced as restricted."""

    def __init__(self, cluster: Cluster, folder: Path) -> None:
        self.cluster = cluster
        self.name = "t-" + make_id("n")
        labels = {"pod-security.kubernetes.io/enforce": "restricted"}
        body = {
            "apiVersion": "v1",
            "kind": "Namespace",
            "metadata": {"name": self.name, "labels": labels},
        }
        cluster.kubectl("create", "-f", "-", text=json.dumps(body))
        self.kubectl("apply", "-f", str(ROLE))
        self.token = self.kubectl("create", "token", "euvyra-agent", "--duration=2h").strip()
        self.kubeconfig = self.write_kubeconfig(folder / "kubeconfig", cluster.api_port)

    def write_kubeconfig(self, path: Path, port: int) -> Path:
        ca = base64.b64encode((self.cluster.folder / "pki/ca.crt").read_bytes()).decode()
        path.write_text(
            "apiVersion: v1\n"
            "kind: Config\n"
            "clusters:\n"
            f"- name: rig\n  cluster: {{server: 'https://127.0.0.1:{port}', "
            f"certificate-authority-data: {ca}}}\n"
            f"users:\n- name: agent\n  user: {{token: {self.token}}}\n"
            f"contexts:\n- name: rig\n  context: {{cluster: rig, user: agent, "
            f"namespace: {self.name}}}\n"
            "current-context: rig\n"
        )
        path.chmod(0o600)
        return path

    def kubectl(self, *words: str, text: str | None = None, check: bool = True) -> str:
        return self.cluster.kubectl("-n", self.name, *words, text=text, check=check)

    def items(self, kind: str) -> list[Any]:
        return list(self.cluster.get("-n", self.name, kind)["items"])

    def pod(self) -> Any:
        """The one pod, or None."""
        pods = self.items("pods")
        return pods[0] if pods else None

    def pod_state(self, container: str) -> str:
        """ "running", "terminated", "waiting" or "" of a container of the one pod."""
        pod = self.pod() or {}
        status = pod.get("status", {})
        both = status.get("containerStatuses", []) + status.get("initContainerStatuses", [])
        for one in both:
            if one["name"] == container:
                return str(next(iter(one["state"]), ""))
        return ""

    def delete(self) -> None:
        self.kubectl("delete", "jobs,pods", "--all", "--grace-period=0", "--force", check=False)
        self.cluster.kubectl("delete", "namespace", self.name, "--wait=false")


class Front:
    """TLS before the server, at the address where pods reach this machine: a reverse proxy."""

    def __init__(self, cluster: Cluster, server: Server) -> None:
        self.server = server
        self.socket = socket.create_server((cluster.bridge_address, 0), backlog=64)
        self.url = f"https://{cluster.bridge_address}:{self.socket.getsockname()[1]}"
        self.ca = cluster.folder / "pki/ca.crt"
        self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.context.load_cert_chain(
            cluster.folder / "pki/euvyrad.crt", cluster.folder / "pki/euvyrad.key"
        )
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self) -> None:
        while True:
            try:
                client, _ = self.socket.accept()
            except OSError:
                return
            threading.Thread(target=self.serve, args=(client,), daemon=True).start()

    def serve(self, raw: socket.socket) -> None:
        with contextlib.suppress(OSError), contextlib.ExitStack() as stack:
            client = stack.enter_context(self.context.wrap_socket(raw, server_side=True))
            server = stack.enter_context(socket.create_connection(("127.0.0.1", self.server.port)))
            back = threading.Thread(target=copy, args=(server, client), daemon=True)
            back.start()
            # The server behind it knows itself by its own address alone.
            outer = f"Host: {self.url.removeprefix('https://')}\r\n".encode()
            inner = f"Host: 127.0.0.1:{self.server.port}\r\n".encode()
            copy(client, server, lambda data: data.replace(outer, inner))
            back.join()

    def close(self) -> None:
        self.socket.close()


class Registry:
    """A registry of images that has none: each question gets the same answer. Nodes reach it on
    loopback, where they ask without TLS."""

    def __init__(self, code: int, error: str) -> None:
        text = json.dumps({"errors": [{"code": error, "message": error.lower()}]}).encode()
        self.silent = threading.Event()  # set: it does not answer
        registry = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                while registry.silent.is_set():
                    time.sleep(0.1)
                self.send_response(code)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(text)))
                self.end_headers()
                if self.command == "GET":
                    self.wfile.write(text)

            do_HEAD = do_GET

            def log_message(self, format: str, *args: Any) -> None:
                """Says nothing."""

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.name = f"127.0.0.1:{self.server.server_address[1]}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def __enter__(self) -> Registry:
        return self

    def __exit__(self, *_: object) -> None:
        self.silent.clear()
        self.server.shutdown()
        self.server.server_close()


class KubernetesAgent:
    """euvyra-agent with --executor kubernetes; may be killed and started again."""

    def __init__(self, server: Server, space: Namespace, front: Front, folder: Path) -> None:
        self.folder, self.space, self.server, self.front = folder, space, server, front
        self.kubeconfig = space.kubeconfig
        self.process: subprocess.Popen[bytes] | None = None
        self.id = make_id("a")
        server.ok("PUT", "/api/v1/targets/cluster", {"price_hour_micro": 3_600_000_000})
        server.ok("PUT", f"/api/v1/agents/{self.id}", {"name": "kube", "target": "cluster"})
        made = server.ok("POST", "/api/v1/keys", {"kind": "agent", "name": "k", "agent": self.id})
        self.key_file = folder.with_name("agent.key")
        self.key_file.write_text(made["key"])

    @property
    def log(self) -> str:
        return self.folder.with_suffix(".log").read_text()

    def start(self, *options: str) -> KubernetesAgent:
        with self.folder.with_suffix(".log").open("ab") as log:
            self.process = subprocess.Popen(
                [
                    BUILD / "euvyra-agent",
                    *("--server", self.server.url, "--server-for-jobs", self.front.url),
                    *("--key-file", self.key_file, "--dir", self.folder, "--allow-root"),
                    *("--executor", "kubernetes", "--kubeconfig", self.kubeconfig),
                    *("--image", BOX, "--tools-image", TOOLS),
                    *("--cpus", "4", "--memory", "16", "--gpus", "8", "--slots", "8"),
                    *options,
                ],
                stderr=log,
                env={**os.environ, "EUVYRA_CA": str(self.front.ca)},
            )
        return self

    def kill(self, number: int = signal.SIGKILL) -> int:
        assert self.process
        self.process.send_signal(number)
        return self.process.wait(WAIT_S)

    def attempts(self) -> list[Path]:
        return sorted((self.folder / "attempts").glob("t*"))

    def __enter__(self) -> KubernetesAgent:
        return self.start()

    def __exit__(self, *_: object) -> None:
        if self.process and self.process.poll() is None:
            self.kill(signal.SIGTERM)
