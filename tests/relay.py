"""Connections that one side opens are carried on to another address, byte for byte."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Callable


def copy(
    source: socket.socket,
    sink: socket.socket,
    change: Callable[[bytes], bytes] = lambda data: data,
) -> None:
    with contextlib.suppress(OSError):
        while data := source.recv(65536):
            sink.sendall(change(data))
    with contextlib.suppress(OSError):
        sink.shutdown(socket.SHUT_WR)


def carry(near: socket.socket, far: socket.socket) -> None:
    """Both ways, on threads of their own."""
    for pair in ((near, far), (far, near)):
        threading.Thread(target=copy, args=pair, daemon=True).start()


def serve(listener: socket.socket, port: int) -> Callable[[], None]:
    """Connections to the listener, wherever it lies, go to this port of the host's loopback. Returns
    what ends it."""

    def accept() -> None:
        with contextlib.suppress(OSError):
            while True:
                near, _ = listener.accept()
                carry(near, socket.create_connection(("127.0.0.1", port)))

    def end() -> None:
        with contextlib.suppress(OSError):
            listener.shutdown(socket.SHUT_RDWR)  # else accept() goes on waiting
        thread.join()
        listener.close()

    thread = threading.Thread(target=accept, daemon=True)
    thread.start()
    return end
