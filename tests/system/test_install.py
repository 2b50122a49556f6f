"""The systemd units: systemd accepts them, the programs know their options, and jobs outlive the
agent."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest
from support import BUILD, ROOT

UNITS = ROOT / "deploy" / "systemd"
PROGRAMS = {"euvyrad.service": "euvyrad", "euvyra-agent.service": "euvyra-agent"}


def settings(path: Path) -> dict[str, list[str]]:
    """All values of each key, in order."""
    found: dict[str, list[str]] = {}
    for line in path.read_text().splitlines():
        if line and not line.startswith(("#", "[")):
            key, equals, value = line.partition("=")
            assert equals, f"{path.name}: {line}"
            found.setdefault(key, []).append(value)
    return found


@pytest.mark.parametrize("unit", PROGRAMS)
def test_systemd_accepts_the_unit(unit: str, tmp_path: Path) -> None:
    analyze = shutil.which("systemd-analyze")
    if analyze is None:
        pytest.skip("systemd-analyze is not installed")
    shutil.copytree(UNITS, tmp_path / "units")
    for file in (tmp_path / "units").rglob("*"):
        if file.is_file():
            file.write_text(file.read_text().replace("/usr/local/bin", str(BUILD)))
    done = subprocess.run(
        [analyze, "verify", tmp_path / "units" / unit], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout + done.stderr) == (0, "")


@pytest.mark.parametrize("file", sorted(UNITS.rglob("*.*")), ids=lambda path: str(path.name))
def test_the_programs_know_the_options_of_the_units(file: Path) -> None:
    if file.is_dir():
        return
    (command,) = [value for value in settings(file)["ExecStart"] if value]
    program = Path(command.split()[0])
    assert program.parent == Path("/usr/local/bin")
    help_text = subprocess.run(
        [BUILD / program.name, "--help"], capture_output=True, text=True, check=True
    ).stdout
    options = re.findall(r"--[a-z-]+", command)
    assert options and all(f"  {option} " in help_text for option in options)


def test_a_stop_of_the_agents_unit_leaves_its_jobs_alone() -> None:
    unit = settings(UNITS / "euvyra-agent.service")
    assert unit["KillMode"] == ["process"]
    assert unit["OOMPolicy"] == ["continue"]
    # systemd takes these away when the unit stops, and with them the ground under running jobs.
    assert not {"PrivateTmp", "RuntimeDirectory", "LoadCredential", "DynamicUser"} & unit.keys()


def test_no_unit_carries_a_secret_in_its_command() -> None:
    for file in UNITS.rglob("*.*"):
        assert not file.is_file() or "euv_" not in file.read_text()


def test_the_page_installs_what_is_there() -> None:
    page = (ROOT / "docs" / "install.md").read_text()
    named = set(re.findall(r"deploy/systemd/\S+?\.(?:service|conf)\b(?!\.)", page))
    there = {str(file.relative_to(ROOT)) for file in UNITS.rglob("*") if file.is_file()}
    assert named == there
