#!/usr/bin/env python3
"""The main job on this machine: a server, an agent, and a training launched through the queue.

    ./dev demo          then serves the run's page until Ctrl-C
    ./dev demo --once   prints the result, stops everything and ends

Everything lies in demo-data/: the server's folder, keys, and the agent's work. Deleting it starts
afresh.
"""

from __future__ import annotations

import argparse
import json
import os
import secrets
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BUILD = ROOT / "build"
DATA = Path(os.environ.get("EUVYRA_DEMO_DATA", ROOT / "demo-data"))
PORT = 8470
LOGIN = "demo"


def say(text: str) -> None:
    print(f"demo: {text}", flush=True)


def free_port(wanted: int) -> int:
    """The wanted port when nobody listens there, else one that the kernel chooses."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", wanted))
        except OSError:
            return 0
    return wanted


class Demo:
    def __init__(self) -> None:
        self.children: list[subprocess.Popen[str]] = []
        self.url = ""
        self.env = {
            **os.environ,
            "PATH": f"{ROOT / '.venv/bin'}:{BUILD}:{os.environ.get('PATH', '')}",
            "EUVYRA_API_KEY_FILE": str(DATA / "admin.key"),
            "OMP_NUM_THREADS": "1",
        }

    def run(self, *words: str | Path) -> None:
        subprocess.run([str(word) for word in words], check=True, env=self.env)

    def start(self, log: str, *words: str | Path) -> subprocess.Popen[str]:
        """A program of ours in the background; it ends with us."""
        with (DATA / log).open("a") as err:
            child = subprocess.Popen(
                [str(word) for word in words],
                env=self.env,
                stdout=subprocess.PIPE,
                stderr=err,
                text=True,
                start_new_session=True,  # Ctrl-C is ours to handle
            )
        self.children.append(child)
        return child

    def start_server(self, port: int) -> None:
        if not (DATA / "admin.key").exists():
            self.run(
                BUILD / "euvyrad", "setup", "--data", DATA / "server", "--admin", "admin",
                "--key-file", DATA / "admin.key",
            )  # fmt: skip
        server = self.start(
            "server.log",
            BUILD / "euvyrad",
            "--data",
            DATA / "server",
            "--listen",
            f"127.0.0.1:{port}",
        )
        assert server.stdout
        line = server.stdout.readline()
        if "listens on " not in line:
            sys.exit(f"demo: the server did not start; see {DATA / 'server.log'}")
        self.url = line.split("listens on ")[1].strip()
        self.env["EUVYRA_SERVER"] = self.url
        say(f"server at {self.url}")

    def make_login(self) -> str:
        """A user for the browser. The password is kept beside the keys, for this demo alone."""
        file = DATA / "password"
        if not file.exists():
            password = secrets.token_urlsafe(12)
            body = json.dumps({"login": LOGIN, "password": password, "admin": True}).encode()
            key = (DATA / "admin.key").read_text().strip()
            request = urllib.request.Request(
                f"{self.url}/api/v1/users/udemodemodemo",
                body,
                {"Authorization": f"Bearer {key}", "Content-Type": "application/json"},
                method="PUT",
            )
            with urllib.request.urlopen(request):
                file.touch(mode=0o600)
                file.write_text(password)
        return file.read_text()

    def start_agent(self) -> None:
        key = DATA / "agent.key"
        if not key.exists():
            self.run(
                BUILD / "euvyra", "agents", "add", "this-machine", "--target", "local",
                "--key-file", key,
            )  # fmt: skip
            self.run(BUILD / "euvyra", "targets", "set", "local", "--hour", "0.36")
        root = ["--allow-root"] if os.geteuid() == 0 else []
        self.start(
            "agent.log", BUILD / "euvyra-agent", "--server", self.url, "--key-file", key,
            "--dir", DATA / "agent", *root,
        )  # fmt: skip
        say("agent started")

    def launch(self) -> int:
        self.run(BUILD / "euvyra", "projects", "create", "demo")
        command = [
            "launch",
            "--project",
            "demo",
            "--wait",
            "--name",
            "digits",
            "--config",
            "lr=0.5",
        ]
        training = ["python", "examples/digits/train.py"]
        say(f"euvyra {' '.join(command)} -- {' '.join(training)}")
        done = subprocess.run(
            [str(BUILD / "euvyra"), *command, "--", *training], cwd=ROOT, env=self.env
        )
        return done.returncode

    def stop(self) -> None:
        for child in reversed(self.children):
            if child.poll() is None:
                child.send_signal(signal.SIGTERM)
        for child in self.children:
            try:
                child.wait(15)
            except subprocess.TimeoutExpired:
                child.kill()
                child.wait()
            if child.stdout:
                child.stdout.close()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--once", action="store_true", help="print the result, stop, end")
    args = parser.parse_args()
    DATA.mkdir(mode=0o700, exist_ok=True)
    demo = Demo()
    try:
        demo.start_server(0 if args.once else free_port(PORT))
        password = demo.make_login()
        demo.start_agent()
        code = demo.launch()
        if args.once:
            return code
        say(f"sign in as {LOGIN} with the password {password}; Ctrl-C ends everything")
        while True:
            time.sleep(3600)
    except KeyboardInterrupt:
        print()
        return 0
    except subprocess.CalledProcessError as error:
        say(f"failed: {' '.join(error.cmd[:3])}")
        return 1
    finally:
        demo.stop()


if __name__ == "__main__":
    sys.exit(main())
