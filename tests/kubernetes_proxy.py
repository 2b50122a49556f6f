"""A proxy between an agent and the API server: it notes what is asked, and can answer in its place,
cut streams, or keep silent."""

from __future__ import annotations

import contextlib
import http.client
import json
import socket
import ssl
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, ClassVar

from kubernetes_cluster import Cluster

Answer = tuple[int, dict[str, str], bytes]


def status(code: int, reason: str, headers: dict[str, str] | None = None) -> Answer:
    """An error as the API server says it."""
    body = {"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": code}
    text = json.dumps({**body, "reason": reason, "message": f"the proxy says {reason}"})
    return code, {"Content-Type": "application/json", **(headers or {})}, text.encode()


LOSE: Answer = (0, {}, b"")  # the API server does it, and its answer is lost


class ApiProxy:
    """`rule` is asked about each request: None lets it through."""

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster
        self.asked: list[tuple[str, str]] = []
        self.rule: Callable[[str, str], Answer | None] = lambda method, path: None
        self.holds: Callable[[str], bool] = lambda path: False  # is the end of this one kept back?
        self.streams: set[socket.socket] = set()
        self.context = ssl.create_default_context(cafile=str(cluster.folder / "pki/ca.crt"))
        proxy = self

        class Handler(ApiHandler):
            owner = proxy

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        pki = cluster.folder / "pki"
        tls.load_cert_chain(pki / "apiserver.crt", pki / "apiserver.key")
        self.server.socket = tls.wrap_socket(self.server.socket, server_side=True)
        self.port = int(self.server.server_address[1])
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def cut(self) -> int:
        """Ends all streams that are open; returns how many there were."""
        open_now = list(self.streams)
        for stream in open_now:
            with contextlib.suppress(OSError):
                stream.shutdown(socket.SHUT_RDWR)
        return len(open_now)

    def close(self) -> None:
        self.server.shutdown()
        self.server.server_close()
        self.cut()


class ApiHandler(BaseHTTPRequestHandler):
    owner: ClassVar[ApiProxy]
    protocol_version = "HTTP/1.1"

    def log_message(self, format: str, *args: Any) -> None:
        """Says nothing."""

    def answer(self, answer: Answer) -> None:
        code, headers, body = answer
        self.send_response(code)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def serve(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        self.owner.asked.append((self.command, self.path))
        answer = self.owner.rule(self.command, self.path)
        if answer and answer is not LOSE:
            self.answer(answer)
            return
        connection = http.client.HTTPSConnection(
            "127.0.0.1", self.owner.cluster.api_port, context=self.owner.context, timeout=600
        )
        kept = ("Authorization", "Content-Type", "Accept", "User-Agent")
        headers = {name: self.headers[name] for name in kept if self.headers[name]}
        try:
            connection.request(self.command, self.path, body or None, headers)
            given = connection.getresponse()
            if answer is LOSE:
                given.read()
                self.answer(status(500, "InternalError"))
            else:
                self.pass_on(given)
        except OSError:
            self.close_connection = True
        finally:
            connection.close()

    def pass_on(self, given: http.client.HTTPResponse) -> None:
        self.send_response(given.status)
        self.send_header("Content-Type", given.headers.get("Content-Type", "text/plain"))
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        self.owner.streams.add(self.connection)
        try:
            while data := given.read1(65536):
                self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))
            if self.owner.holds(self.path):
                self.rfile.read(1)  # until the other side closes, or cut() does
            self.wfile.write(b"0\r\n\r\n")
        finally:
            self.owner.streams.discard(self.connection)

    do_GET = do_POST = do_PATCH = do_DELETE = do_PUT = serve
