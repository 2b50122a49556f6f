"""The image that runs beside each job has what its program needs."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

from support import BUILD, ROOT

DOCKERFILE = ROOT / "deploy/kubernetes/tools.Dockerfile"


def said(*command: str) -> str:
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def package_of(library: str) -> str:
    path = next(
        line.split("=> ")[1]
        for line in said("/usr/sbin/ldconfig", "-p").splitlines()
        if line.split()[0] == library and "x86-64" in line
    )
    return said("dpkg", "-S", f"*/{Path(path).resolve().name}").split(":")[0]


def test_its_packages_are_those_of_the_libraries() -> None:
    needed = re.findall(r"NEEDED.*\[(.*)\]", said("readelf", "-d", str(BUILD / "euvyra-agent")))
    text = DOCKERFILE.read_text().replace("\\\n", " ")
    installed = text.split("--no-install-recommends")[1].split("&&")[0].split()
    want = {package_of(library) for library in needed} - {"libc6"} | {"ca-certificates"}
    assert set(installed) == want
