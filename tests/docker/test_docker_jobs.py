"""Jobs in containers of a real Docker engine: how they run, and how they end."""

from __future__ import annotations

import gzip
import hashlib
import json
import socket
from pathlib import Path
from typing import Any

import pytest
from docker_engine import PYTHON, DockerAgent, Engine, tar_of
from job_calls import console, shown, submit, wait_closed, wait_state
from support import Server, wait_for

MB = 1024 * 1024


def attempt_of(server: Server, job: str) -> str:
    return str(shown(server, job)["attempts"][-1]["id"])


def name_of(server: Server, job: str) -> str:
    return "euvyra-" + attempt_of(server, job)


def endpoints(engine: Engine) -> Any:
    return engine.ok("GET", "/networks/euvyra")["Containers"]


def upload_code(server: Server, files: dict[str, bytes]) -> str:
    """A packed folder; returns its digest."""
    packed = gzip.compress(tar_of(files))
    digest = hashlib.sha256(packed).hexdigest()
    kind = {"Content-Type": "application/octet-stream"}
    sent = server.send("PUT", f"/api/v1/projects/demo/blobs/{digest}", packed, kind)
    assert sent.status == 201, sent.body
    return digest


def test_a_container_runs_and_leaves_nothing(
    server: Server, agent: DockerAgent, engine: Engine
) -> None:
    script = 'echo "$A|$EUVYRA_PROJECT|$EUVYRA_CONFIG|$PATH|$PWD"; echo err >&2; exit 7'
    job, run = submit(server, ["sh", "-c", script], env={"A": "x y"}, config={"lr": 0.5})
    seen = wait_closed(server, job)
    assert (seen["state"], seen["exit_code"]) == ("failed", 7), seen
    path = "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin"
    # The engine reads two pipes: which line is first is not said.
    lines = sorted(console(server, run).decode().splitlines())
    assert lines == ["err", f'x y|demo|{{"lr":0.5}}|{path}|/']
    assert seen["cost_micro"] == seen["run_time_ms"] * 1000
    wait_for("the folder to go", lambda: not agent.attempts())
    assert agent.containers() == [] and endpoints(engine) == {}


def test_the_kernel_keeps_it_in(server: Server, agent: DockerAgent, engine: Engine) -> None:
    script = (
        "grep -E '^(CapEff|CapBnd|NoNewPrivs|Seccomp):' /proc/self/status | tr -s '\\t ' ' '; "
        "ls /sys/class/net; ls /euvyra; ls /var/run/docker.sock 2>/dev/null; "
        "touch /euvyra/key /euvyra/x 2>&1; cat /proc/1/comm; hostname | cut -c1-3 >/dev/null; "
        "unshare -U true 2>&1 | head -1"
    )
    job, run = submit(server, ["sh", "-c", script], config={"a": 1})
    seen = wait_closed(server, job)
    assert seen["state"] == "succeeded", seen
    text = console(server, run).decode()
    assert "CapEff: 0000000000000000\n" in text and "CapBnd: 0000000000000000\n" in text
    assert "NoNewPrivs: 1\n" in text and "Seccomp: 2\n" in text
    assert "eth0\nlo\n" in text and "config.json\nkey\nruns\nwork\n" in text
    assert "offer.json" not in text and "docker.sock" not in text
    assert "'/euvyra/key': Read-only file system" in text
    assert "docker-init" in text and "Operation not permitted" in text


def test_containers_do_not_reach_each_other(
    server: Server, agent: DockerAgent, engine: Engine
) -> None:
    listen = (
        "import socket, time; s = socket.create_server(('', 8000)); print('up'); time.sleep(1000)"
    )
    first, run = submit(server, ["python3", "-u", "-c", listen])
    wait_for("it to listen", lambda: console(server, run))
    networks = engine.inspect(name_of(server, first))["NetworkSettings"]["Networks"]
    there = (networks["euvyra"]["IPAddress"], 8000)
    with engine.inside():  # the machine itself does
        socket.create_connection(there, timeout=30).close()
    connect = f"import socket; socket.create_connection({there}, timeout=3)"
    second, run = submit(server, ["python3", "-c", connect])
    assert wait_closed(server, second)["exit_code"] == 1
    assert b"TimeoutError" in console(server, run)


def test_what_the_engine_was_told(server: Server, agent: DockerAgent, engine: Engine) -> None:
    job, _ = submit(server, ["sleep", "1000"], memory_bytes=64 * MB, pids=50, shm_bytes=8 * MB)
    wait_state(server, job, "running")
    made = engine.inspect(name_of(server, job))
    host, labels = made["HostConfig"], made["Config"]["Labels"]
    assert host["CapDrop"] == ["ALL"] and host["SecurityOpt"] == ["no-new-privileges"]
    assert (host["Privileged"], host["NetworkMode"], host["PidMode"]) == (False, "euvyra", "")
    assert host["IpcMode"] in ("private", "") and host["PortBindings"] in ({}, None)
    assert (host["Memory"], host["MemorySwap"]) == (64 * MB, 64 * MB)
    assert (host["NanoCpus"], host["PidsLimit"], host["ShmSize"]) == (10**9, 50, 8 * MB)
    assert (host["Init"], host["AutoRemove"]) == (True, False)
    assert host["RestartPolicy"]["Name"] == "no" and host["LogConfig"]["Type"] == "local"
    assert labels["euvyra.attempt"] == attempt_of(server, job)
    assert len(labels["euvyra.token"]) == 64 and "euvyra.gpus" not in labels
    (folder,) = agent.attempts()
    token = json.loads((folder / "offer.json").read_text())["token"]
    assert labels["euvyra.token"] == hashlib.sha256(token.encode()).hexdigest()
    sources = {mount["Source"] for mount in made["Mounts"]}
    assert sources == {str(folder / name) for name in ("work", "runs", "key", "config.json")}
    network = engine.ok("GET", "/networks/euvyra")
    assert network["Options"]["com.docker.network.bridge.enable_icc"] == "false"
    server.ok("POST", f"/api/v1/jobs/{job}/cancel")
    assert wait_closed(server, job)["state"] == "cancelled"


def test_memory_beyond_the_limit_is_told_as_such(server: Server, agent: DockerAgent) -> None:
    script = "x = bytearray(300 * 1024 * 1024); print(len(x))"
    job, _ = submit(server, ["python3", "-c", script], memory_bytes=64 * MB)
    seen = wait_closed(server, job)
    assert (seen["state"], seen["oom"]) == ("failed", True), seen


def test_a_child_killed_for_memory_is_not_the_job(server: Server, agent: DockerAgent) -> None:
    child = "x = bytearray(300 * 1024 * 1024); print(len(x))"
    job, _ = submit(server, ["sh", "-c", f"python3 -c '{child}'; exit 5"], memory_bytes=64 * MB)
    seen = wait_closed(server, job)
    assert (seen["state"], seen["exit_code"], seen["oom"]) == ("failed", 5, False), seen


def test_limits_bite(server: Server, agent: DockerAgent) -> None:
    script = (
        "import os, subprocess, time\n"
        "held = []\n"
        "try:\n"
        "    while len(held) < 200: held.append(subprocess.Popen(['sleep', '100']))\n"
        "except OSError as problem: print('pids', 10 < len(held) < 60, problem.errno)\n"
        "for child in held: child.kill()\n"
        "print('shm', os.statvfs('/dev/shm').f_blocks * os.statvfs('/dev/shm').f_frsize)\n"
        "begin, cpu = time.monotonic(), time.process_time()\n"
        "for name in ('cpu/cpu.cfs_quota_us', 'cpu.max'):\n"
        "    path = '/sys/fs/cgroup/' + name\n"
        "    if os.path.exists(path): print('cpu', open(path).read().split()[0])\n"
        "try: open('/usr/x', 'w')\n"
        "except OSError as problem: print('root', problem.errno)\n"
        "open('/tmp/x', 'w').write('x'); open('/euvyra/work/x', 'w').write('x')\n"
        "print('tmp', os.statvfs('/tmp').f_blocks * os.statvfs('/tmp').f_frsize)\n"
    )
    job, run = submit(
        server,
        ["python3", "-c", script],
        pids=60,
        shm_bytes=3 * MB,
        cpus=2,
        memory_bytes=128 * MB,
        read_only_root=True,
    )
    seen = wait_closed(server, job)
    text = console(server, run).decode()
    assert seen["state"] == "succeeded", (seen, text)
    assert "pids True 11\n" in text and f"shm {3 * MB}\n" in text and "cpu 200000\n" in text
    assert "root 30\n" in text and f"tmp {64 * MB}\n" in text


def test_more_than_the_engine_can_keep_is_refused(server: Server, agent: DockerAgent) -> None:
    job, _ = submit(server, ["true"], memory_bytes=1 * MB)
    seen = wait_closed(server, job)
    assert "memory 1048576 is below the 6291456 bytes" in seen["reason"]


@pytest.mark.parametrize("place", ["/euvyra/work", "/var/tmp"])
def test_more_on_the_disk_than_asked_for_ends_it(
    server: Server, agent: DockerAgent, place: str
) -> None:
    script = f"head -c 50000000 /dev/zero > {place}/x; echo written; sleep 1000"
    job, run = submit(server, ["sh", "-c", script], disk_bytes=30 * MB)
    seen = wait_closed(server, job)
    assert (seen["state"], seen["ending"]) == ("failed", "disk_full"), seen
    assert seen["reason"] == f"it wrote more than the {30 * MB} bytes that it asked for"
    assert console(server, run) == b"written\n"


@pytest.mark.parametrize(
    ("command", "reason"),
    [
        (["no-such-program"], 'program "no-such-program" is not in the image'),
        (["/etc/passwd"], 'program "/etc/passwd" may not be run'),
    ],
)
def test_a_program_that_cannot_run_is_named(
    server: Server, agent: DockerAgent, command: list[str], reason: str
) -> None:
    job, _ = submit(server, command)
    seen = wait_closed(server, job)
    assert (seen["state"], seen["reason"]) == ("failed", reason), seen
    wait_for("the container to go", lambda: agent.containers() == [])


def test_a_signal_is_not_an_exit_code(server: Server, agent: DockerAgent) -> None:
    job, _ = submit(server, ["sh", "-c", "kill -SEGV $$"])
    seen = wait_closed(server, job)
    assert (seen["state"], seen["exit_code"], seen["signal"]) == ("failed", None, 11), seen


def test_a_job_that_takes_too_long_is_ended(server: Server, agent: DockerAgent) -> None:
    job, run = submit(
        server,
        ["sh", "-c", "trap 'echo asked' TERM; echo up; while :; do sleep 0.1; done"],
        timeout_s=2,
    )
    seen = wait_closed(server, job)
    assert (seen["state"], seen["reason"]) == ("failed", "it ran longer than 2 s"), seen
    assert console(server, run) == b"up\nasked\n"


def test_cancel_asks_then_kills_and_leaves_nothing(
    server: Server, agent: DockerAgent, engine: Engine
) -> None:
    script = "trap 'echo asked' TERM; setsid sleep 1000 & echo up; while :; do sleep 0.1; done"
    job, run = submit(server, ["sh", "-c", script])
    wait_for("the job's text", lambda: b"up" in console(server, run))
    pid = engine.pid_of(name_of(server, job))
    server.ok("POST", f"/api/v1/jobs/{job}/cancel")
    seen = wait_closed(server, job)
    assert (seen["state"], console(server, run)) == ("cancelled", b"up\nasked\n")
    wait_for("the folder to go", lambda: not agent.attempts())
    assert agent.containers() == [] and endpoints(engine) == {}
    assert not Path(f"/proc/{pid}").exists()


def test_a_container_removed_by_hand_is_told(
    server: Server, agent: DockerAgent, engine: Engine
) -> None:
    job, run = submit(server, ["sh", "-c", "echo up; sleep 1000"])
    wait_for("the job's text", lambda: b"up" in console(server, run))
    engine.remove(name_of(server, job))
    seen = wait_closed(server, job)
    assert (seen["state"], seen["exit_code"]) == ("failed", None)
    assert seen["reason"] == "its container was removed by somebody else"
    assert console(server, run) == b"up\n"


def test_the_entry_point_of_an_image_does_not_stand_before_the_command(
    server: Server, agent: DockerAgent, engine: Engine
) -> None:
    image = engine.build(
        "euvyra-test/entry:1",
        f"FROM {PYTHON}\nENV FROM_IMAGE=yes NVIDIA_VISIBLE_DEVICES=all\nWORKDIR /srv\n"
        'USER 1000\nENTRYPOINT ["false"]\nCMD ["x"]\n',
    )
    script = 'echo "$PWD $FROM_IMAGE $NVIDIA_VISIBLE_DEVICES $(id -u)"'
    job, run = submit(server, ["sh", "-c", script], image=image)
    seen = wait_closed(server, job)
    assert console(server, run) == b"/srv yes void 0\n", seen


def test_volumes_of_an_image_go_with_its_container(
    server: Server, agent: DockerAgent, engine: Engine
) -> None:
    image = engine.build("euvyra-test/volume:1", f"FROM {PYTHON}\nVOLUME /data\n")
    job, _ = submit(server, ["touch", "/data/x"], image=image)
    assert wait_closed(server, job)["state"] == "succeeded"
    wait_for("the folder to go", lambda: not agent.attempts())
    assert not engine.ok("GET", "/volumes")["Volumes"]


def test_code_and_image_together(server: Server, agent: DockerAgent) -> None:
    code = upload_code(
        server, {"train.py": b"import helper; print(helper.TEXT)", "helper.py": b"TEXT = 'ours'"}
    )
    job, run = submit(server, ["python3", "train.py"], code=code, image=PYTHON)
    seen = wait_closed(server, job)
    assert (seen["state"], console(server, run)) == ("succeeded", b"ours\n"), seen
