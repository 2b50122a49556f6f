"""Machines of their own on one host: network namespaces on a bridge that the test makes.

with Network(4) as network:
    with network.at(2): socket...         # this thread is on machine 2
    [*network.launcher(2), program, ...]  # starts a program there
    network.reach(2, server.port)         # the server of this host, on that machine's loopback
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import socket
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import relay

CLONE_NEWNET = 0x40000000
LIBC = ctypes.CDLL(None, use_errno=True)


def enter(namespace: str) -> None:
    fd = os.open(namespace, os.O_RDONLY)
    try:
        if LIBC.setns(fd, CLONE_NEWNET) != 0:
            raise OSError(ctypes.get_errno(), f"cannot enter {namespace}")
    finally:
        os.close(fd)


def ip(*words: str) -> None:
    subprocess.run(["ip", *words], check=True)


class Network:
    """Needs root."""

    def __init__(self, count: int) -> None:
        self.names = [f"ev{os.getpid()}-{number}" for number in range(count)]
        self.hub = f"ev{os.getpid()}-hub"
        self.ends: list[Callable[[], None]] = []

    def __enter__(self) -> Network:
        try:
            return self.make()
        except BaseException:
            self.__exit__()
            raise

    def make(self) -> Network:
        ip("netns", "add", self.hub)
        ip("-n", self.hub, "link", "add", "name", "hub0", "type", "bridge")
        ip("-n", self.hub, "link", "set", "hub0", "up")
        for number, name in enumerate(self.names):
            ip("netns", "add", name)
            ip("-n", name, "link", "set", "lo", "up")
            pair = ["type", "veth", "peer", "name", f"p{number}", "netns", self.hub]
            ip("-n", name, "link", "add", "name", "eth0", *pair)
            ip("-n", self.hub, "link", "set", f"p{number}", "master", "hub0", "up")
            ip("-n", name, "addr", "add", f"{self.address(number)}/24", "dev", "eth0")
            ip("-n", name, "link", "set", "eth0", "up")
        return self

    def __exit__(self, *_: object) -> None:
        for end in self.ends:
            end()
        for name in (*self.names, self.hub):
            if Path(f"/run/netns/{name}").exists():
                ip("netns", "del", name)

    def address(self, number: int) -> str:
        return f"10.231.7.{number + 1}"

    def launcher(self, number: int) -> list[str]:
        # Not `ip netns exec`: it mounts /sys anew and hides control groups.
        return ["nsenter", f"--net=/run/netns/{self.names[number]}"]

    @contextlib.contextmanager
    def at(self, number: int) -> Iterator[None]:
        home = os.open("/proc/thread-self/ns/net", os.O_RDONLY)
        try:
            enter(f"/run/netns/{self.names[number]}")
            yield
        finally:
            enter(f"/proc/self/fd/{home}")
            os.close(home)

    def reach(self, number: int, port: int) -> None:
        """Connections to this port of the machine's loopback go to that of the host."""
        with self.at(number):
            listener = socket.create_server(("127.0.0.1", port))
        self.ends.append(relay.serve(listener, port))
