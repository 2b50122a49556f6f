"""What a container writes, brought into the console as it was: long lines, binary, limits, full disks."""

from __future__ import annotations

import hashlib
import json
import random
import signal
from pathlib import Path

from docker_engine import DockerAgent, Engine
from job_calls import console, shown, submit, wait_closed
from small_disk import grow, small_disk
from support import Server, wait_for

MB = 1024 * 1024


def test_every_byte_passes_as_it_is(server: Server, agent: DockerAgent) -> None:
    script = (
        "import os, random\n"
        "random.seed(5)\n"
        "os.write(1, b'\\x1b[31mred\\x1b[0m 50%\\r100%\\r\\n\\0\\xff\\xfe \\xc3\\x28\\n')\n"
        "for i in range(300): os.write(1, random.randbytes(random.randrange(1, 40000)))\n"
        "os.write(1, b'\\nno end')\n"
    )
    job, run = submit(server, ["python3", "-c", script])
    assert wait_closed(server, job)["state"] == "succeeded"
    chance = random.Random(5)
    wanted = b"\x1b[31mred\x1b[0m 50%\r100%\r\n\0\xff\xfe \xc3\x28\n"
    wanted += b"".join(chance.randbytes(chance.randrange(1, 40000)) for _ in range(300))
    wanted += b"\nno end"
    got = console(server, run)
    assert len(got) == len(wanted)
    assert hashlib.sha256(got).digest() == hashlib.sha256(wanted).digest()


def test_one_line_of_64_megabytes_is_one_line(server: Server, agent: DockerAgent) -> None:
    script = "import os\nfor i in range(64): os.write(1, b'%07d.' % i * 131072)\nos.write(1, b'\\nend\\n')"
    job, run = submit(server, ["python3", "-c", script])
    assert wait_closed(server, job, 180)["state"] == "succeeded"
    got = console(server, run)
    assert got.count(b"\n") == 2 and len(got) == 64 * MB + 5
    assert got == b"".join(b"%07d." % i * 131072 for i in range(64)) + b"\nend\n"


def text_seen(folder: Path) -> int:
    """How much text the agent has written down that it has taken."""
    place = folder / "logs.json"
    return int(json.loads(place.read_text())["bytes"]) if place.exists() else 0


def test_text_beyond_the_limit_is_left_out_and_the_job_goes_on(
    server: Server, tmp_path: Path, engine: Engine
) -> None:
    with DockerAgent(server, tmp_path / "agent", engine) as agent:
        agent.kill(signal.SIGTERM)
        agent.start("--console-mb", "1")
        script = (
            "import os, time\n"
            "for i in range(10): os.write(1, b'0123456789abcdef' * 65535 + b'0123456789abcde\\n')\n"
            "while not os.path.exists('/euvyra/work/go'): time.sleep(0.02)\n"
            "os.write(1, b'the end')\n"
        )
        job, run = submit(server, ["python3", "-c", script])
        (folder,) = wait_for("the attempt", agent.attempts)
        wait_for("the text", lambda: text_seen(folder) > MB)
        assert (folder / "console").stat().st_size <= MB + 4096
        agent.kill()  # the next one has another limit; the attempt keeps its own
        agent.start("--console-mb", "3")
        (folder / "work/go").touch()
        assert wait_closed(server, job)["state"] == "succeeded"
    got = console(server, run)
    assert got[:MB] == b"0123456789abcdef" * 65535 + b"0123456789abcde\n"
    wanted = f"the {9 * MB + 7} bytes after that were left out\n"
    assert got[MB:].decode() == f"\neuvyra-agent: console text is kept up to {MB} bytes; {wanted}"


def test_a_log_that_the_engine_rotates_is_whole(
    server: Server, tmp_path: Path, engine: Engine
) -> None:
    """Short lines: to the engine they are many times as long, and fill a second file of its log."""
    with DockerAgent(server, tmp_path / "agent", engine) as agent:
        agent.kill(signal.SIGTERM)
        agent.start("--console-mb", "8")
        script = (
            "import os, time\n"
            "for n in range(70):\n"
            "    os.write(1, b''.join(b'%d\\n' % i for i in range(n * 10000, n * 10000 + 10000)))\n"
            "    time.sleep(0.05)\n"
        )
        job, run = submit(server, ["python3", "-c", script])
        assert wait_closed(server, job, 120)["state"] == "succeeded"
    assert console(server, run) == b"".join(b"%d\n" % i for i in range(700_000))


def test_two_streams_keep_their_lines(server: Server, agent: DockerAgent) -> None:
    script = "for i in $(seq 1 2000); do echo out $i; echo err $i >&2; done"
    job, run = submit(server, ["sh", "-c", script])
    assert wait_closed(server, job)["state"] == "succeeded"
    lines = console(server, run).decode().splitlines()
    assert [line for line in lines if line[0] == "o"] == [f"out {i}" for i in range(1, 2001)]
    assert [line for line in lines if line[0] == "e"] == [f"err {i}" for i in range(1, 2001)]


def test_a_full_disk_of_the_agent_holds_text_back_and_loses_none(
    server: Server, tmp_path: Path, engine: Engine
) -> None:
    with (
        small_disk(tmp_path / "disk", "8m") as disk,
        DockerAgent(server, disk / "agent", engine) as agent,
    ):
        wait_for("the agent", lambda: "agent.ready" in agent.log())
        script = "for i in range(1000000): print('line', i)"
        job, run = submit(server, ["python3", "-c", script])

        def troubles() -> int:
            lines = agent.log().splitlines()
            return sum("attempt.console attempt=" in line and "No space" in line for line in lines)

        # Said once while it runs, and once when the rest is read after its end.
        wait_for("the disk to be full", lambda: troubles() > 1)
        assert shown(server, job)["state"] in ("running", "starting")
        grow(disk, "64m")
        assert wait_closed(server, job)["state"] == "succeeded"
        assert console(server, run) == b"".join(b"line %d\n" % i for i in range(1_000_000))
