"""Beyond loopback only with TLS: the server's certificate, and clients that know its authority."""

from __future__ import annotations

import os
import re
import signal
import socket
import ssl
import subprocess
import threading
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from support import BUILD, WAIT_S, Server


def make_certificate(folder: Path) -> None:
    subprocess.run(
        [
            *("openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2"),
            *("-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1,DNS:far.test"),
            *("-keyout", folder / "key.pem", "-out", folder / "cert.pem"),
        ],
        check=True,
        capture_output=True,
    )


@contextmanager
def tls_server(folder: Path) -> Iterator[tuple[Server, str]]:
    """A server that speaks TLS alone, and its address."""
    make_certificate(folder)
    server = Server(folder / "data")
    process = subprocess.Popen(
        [
            *(BUILD / "euvyrad", "--data", server.data, "--listen", "127.0.0.1:0"),
            *("--tls-cert", folder / "cert.pem", "--tls-key", folder / "key.pem"),
        ],
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stdout
        match = re.search(r"listens on (https://\S+)", process.stdout.readline())
        assert match
        yield server, match.group(1)
    finally:
        process.terminate()
        assert process.wait(60) == 0
        if process.stdout:
            process.stdout.close()


def test_tls_with_a_certificate_of_ones_own(tmp_path: Path) -> None:
    with tls_server(tmp_path) as (server, url):
        context = ssl.create_default_context(cafile=str(tmp_path / "cert.pem"))
        with urllib.request.urlopen(f"{url}/health", context=context, timeout=30) as answer:
            assert answer.read() == b'{"status":"ok"}'
        env = {**os.environ, "EUVYRA_SERVER": url, "EUVYRA_API_KEY": server.key}
        command: list[str | Path] = [BUILD / "euvyra", "projects", "create", "demo"]
        stranger = subprocess.run(command, env=env, capture_output=True, text=True)
        assert stranger.returncode == 69 and "certificate" in stranger.stderr.lower()
        env["EUVYRA_CA"] = str(tmp_path / "cert.pem")
        friend = subprocess.run(command, env=env, capture_output=True, text=True)
        assert friend.returncode == 0, friend.stderr


class Proxy(threading.Thread):
    """A CONNECT proxy: the only way to the host name that it knows."""

    def __init__(self, host: str, port: int) -> None:
        super().__init__(daemon=True)
        self.host = host
        self.port = port
        self.asked: list[str] = []
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self.listener.getsockname()[1]}"

    def run(self) -> None:
        while True:
            try:
                near, _ = self.listener.accept()
            except OSError:  # closed: the test is over
                return
            threading.Thread(target=self.serve, args=(near,), daemon=True).start()

    def serve(self, near: socket.socket) -> None:
        head = b""
        while b"\r\n\r\n" not in head:
            more = near.recv(4096)
            if not more:
                return
            head += more
        asked = head.split(b"\r\n", 1)[0].decode()
        self.asked.append(asked)
        if asked != f"CONNECT {self.host}:{self.port} HTTP/1.1":
            near.sendall(b"HTTP/1.1 403 Forbidden\r\n\r\n")
            near.close()
            return
        far = socket.create_connection(("127.0.0.1", self.port))
        near.sendall(b"HTTP/1.1 200 OK\r\n\r\n")
        threading.Thread(target=pump, args=(far, near), daemon=True).start()
        pump(near, far)


def pump(source: socket.socket, sink: socket.socket) -> None:
    try:
        while data := source.recv(65536):
            sink.sendall(data)
        sink.shutdown(socket.SHUT_WR)
    except OSError:
        pass  # either side hung up


def test_an_agent_behind_a_proxy_reaches_the_server_through_it_alone(tmp_path: Path) -> None:
    with tls_server(tmp_path) as (server, url):
        port = int(url.rsplit(":", 1)[1])
        proxy = Proxy("far.test", port)  # a name that no resolver knows
        proxy.start()
        env = {
            **os.environ,
            "EUVYRA_SERVER": url,
            "EUVYRA_API_KEY": server.key,
            "EUVYRA_CA": str(tmp_path / "cert.pem"),
        }

        def euvyra(*words: str) -> str:
            done = subprocess.run(
                [BUILD / "euvyra", *words], env=env, capture_output=True, text=True
            )
            assert done.returncode == 0, done.stderr
            return done.stdout

        euvyra("projects", "create", "demo")
        euvyra("agents", "add", "rack1", "--key-file", str(tmp_path / "agent.key"))
        agent = subprocess.Popen(
            [
                *(BUILD / "euvyra-agent", "--server", f"https://far.test:{port}"),
                *("--key-file", tmp_path / "agent.key", "--dir", tmp_path / "agent"),
                *("--name", "rack1", "--target", "local", "--allow-root"),
            ],
            env={**env, "HTTPS_PROXY": proxy.url},
        )
        try:
            command = "echo through $HTTPS_PROXY"
            words = ("--project", "demo", "--no-code", "--wait", "--", "sh", "-c", command)
            assert f"through {proxy.url}" in euvyra("launch", *words)
        finally:
            agent.send_signal(signal.SIGTERM)
            assert agent.wait(WAIT_S) == 0
            proxy.listener.close()
        assert set(proxy.asked) == {f"CONNECT far.test:{port} HTTP/1.1"}
