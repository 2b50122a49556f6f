"""Beyond loopback only with TLS: the server's certificate, and clients that know its authority."""

from __future__ import annotations

import os
import re
import ssl
import subprocess
import urllib.request
from pathlib import Path

from support import BUILD, Server


def make_certificate(folder: Path) -> None:
    subprocess.run(
        [
            *("openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2"),
            *("-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1"),
            *("-keyout", folder / "key.pem", "-out", folder / "cert.pem"),
        ],
        check=True,
        capture_output=True,
    )


def test_tls_with_a_certificate_of_ones_own(tmp_path: Path) -> None:
    make_certificate(tmp_path)
    server = Server(tmp_path / "data")
    process = subprocess.Popen(
        [
            *(BUILD / "euvyrad", "--data", server.data, "--listen", "127.0.0.1:0"),
            *("--tls-cert", tmp_path / "cert.pem", "--tls-key", tmp_path / "key.pem"),
        ],
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stdout
        match = re.search(r"listens on (https://\S+)", process.stdout.readline())
        assert match
        url = match.group(1)
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
    finally:
        process.terminate()
        assert process.wait(60) == 0
        if process.stdout:
            process.stdout.close()
