"""Jobs on a real cluster: how they run, end, and are brought to the server."""

from __future__ import annotations

import hashlib
import json
import signal
import tarfile
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
from job_calls import console, shown, submit, wait_closed
from kubernetes_cluster import FOREIGN, PY, Front, KubernetesAgent, Namespace, Registry
from small_disk import grow, small_disk
from support import Server, wait_for

TRAINING = """
import euvyra, os, sys, time
run = euvyra.init()
for step in range(300):
    run.log({"loss": 1.0 / (step + 1)}, step=step)
print("logged", flush=True)
"""


def metric(server: Server, run: str, name: str = "loss") -> Any:
    items = server.ok("GET", f"/api/v1/runs/{run}/metrics?kind=metric")["items"]
    return next((one for one in items if one["name"] == name), None)


def wait_metric(server: Server, run: str, count: int) -> None:
    wait_for("all points", lambda: (metric(server, run) or {}).get("count") == count)


def test_a_job_runs_and_ends_with_its_code_and_leaves_nothing(
    server: Server, agent: KubernetesAgent, space: Namespace
) -> None:
    script = (
        'echo "$A|$EUVYRA_PROJECT|$EUVYRA_CONFIG|$EUVYRA_RUN|$EUVYRA_JOB"; '
        'cat "$EUVYRA_CONFIG_FILE"; echo; id -u; pwd; echo err >&2; exit 7'
    )
    job, run = submit(server, ["sh", "-c", script], env={"A": "x y"}, config={"lr": 0.5})
    seen = wait_closed(server, job)
    assert (seen["state"], seen["exit_code"], seen["ending"]) == ("failed", 7, "exit_code")
    text = f'x y|demo|{{"lr":0.5}}|{run}|{job}\n{{"lr":0.5}}\n10001\n/\n'
    lines = console(server, run).decode().splitlines(keepends=True)
    lines.remove("err\n")  # of another stream: it may come at any place
    assert "".join(lines) == text
    image = seen["attempts"][0]["image"]
    assert image.startswith("rig.local/box:1@sha256:"), image
    wait_for("the folder to go", lambda: not agent.attempts())
    wait_for("Job, pod and Secrets to go", lambda: not space.items("jobs,pods,secrets"))


def test_the_record_of_a_training_arrives_whole(server: Server, agent: KubernetesAgent) -> None:
    job, run = submit(server, ["python3", "-c", TRAINING], image=PY)
    seen = wait_closed(server, job)
    assert seen["state"] == "succeeded", console(server, run)
    assert console(server, run).endswith(b"logged\n")
    wait_metric(server, run, 300)


def test_the_record_is_whole_when_the_training_is_killed(
    server: Server, agent: KubernetesAgent
) -> None:
    script = TRAINING + "os.kill(os.getpid(), 9)\n"
    job, run = submit(server, ["python3", "-c", script], image=PY)
    seen = wait_closed(server, job)
    assert (seen["state"], seen["signal"]) == ("failed", 9), console(server, run)
    wait_metric(server, run, 300)


STUBBORN = """
import euvyra, signal, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
run = euvyra.init()
for step in range(100000):
    run.log({"loss": 1.0}, step=step)
    print(step + 1, flush=True)
    time.sleep(0.002)
"""


@pytest.mark.parametrize("how", ["cancel", "delete"])
def test_the_record_is_whole_when_the_pod_is_ended(
    server: Server, agent: KubernetesAgent, space: Namespace, how: str
) -> None:
    job, run = submit(server, ["python3", "-c", STUBBORN], image=PY, grace_s=2, retries=0)
    wait_for("its text", lambda: b"\n500\n" in console(server, run))
    if how == "cancel":
        server.ok("POST", f"/api/v1/jobs/{job}/cancel")
    else:
        space.kubectl("delete", "pods", "--all", "--wait=false", "--grace-period=2")
    wait_closed(server, job)
    printed = [line for line in console(server, run).splitlines() if line.isdigit()]
    assert printed == [b"%d" % (i + 1) for i in range(len(printed))]
    wait_for("all points", lambda: (metric(server, run) or {}).get("count", 0) >= len(printed))


def packed(files: dict[str, str]) -> bytes:
    buffer = BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as tar:
        for name, text in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(text)
            info.mode = 0o644
            tar.addfile(info, BytesIO(text.encode()))
    return buffer.getvalue()


def store(server: Server, data: bytes) -> str:
    digest = hashlib.sha256(data).hexdigest()
    path = f"/api/v1/projects/demo/blobs/{digest}"
    sent = server.send("PUT", path, data, {"Content-Type": "application/octet-stream"})
    assert sent.status == 201, sent.body
    return digest


def test_code_is_brought_into_the_pod(server: Server, agent: KubernetesAgent) -> None:
    code = store(
        server, packed({"hello.txt": "from the folder\n", "sub/train.sh": "cat hello.txt"})
    )
    job, run = submit(server, ["sh", "sub/train.sh"], code=code)
    assert wait_closed(server, job)["state"] == "succeeded"
    assert console(server, run) == b"from the folder\n"


def test_code_that_cannot_be_unpacked_is_said(server: Server, agent: KubernetesAgent) -> None:
    code = store(server, b"this is no archive" * 100)
    job, _ = submit(server, ["true"], code=code)
    seen = wait_closed(server, job)
    assert (seen["state"], seen["ending"]) == ("failed", "start_failed")
    assert "the code cannot be brought in" in seen["reason"], seen["reason"]


def test_secrets_stand_in_no_object_but_secrets(
    server: Server, agent: KubernetesAgent, space: Namespace
) -> None:
    value = "hush-4711"
    server.ok("PUT", "/api/v1/projects/demo/secrets/WORD", {"value": value})
    job, run = submit(
        server,
        ["sh", "-c", 'echo "$PASS" | md5sum; read line < $EUVYRA_API_KEY_FILE; sleep 1000'],
        secrets={"PASS": "WORD"},
    )
    wait_for("the job's text", lambda: console(server, run))
    assert hashlib.md5(f"{value}\n".encode()).hexdigest() in console(server, run).decode()
    for kind in ("jobs", "pods", "events", "configmaps"):
        text = json.dumps(space.items(kind))
        assert value not in text and "euv_job_" not in text
    server.ok("POST", f"/api/v1/jobs/{job}/cancel")
    wait_closed(server, job)


@pytest.mark.parametrize(
    ("script", "state", "code", "number"),
    [
        ("raise SystemExit(0)", "succeeded", 0, None),
        ("raise SystemExit(3)", "failed", 3, None),
        ("import ctypes; ctypes.string_at(0)", "failed", None, 11),
    ],
)
def test_an_end_is_a_code_or_a_signal(
    server: Server,
    agent: KubernetesAgent,
    script: str,
    state: str,
    code: int | None,
    number: int | None,
) -> None:
    job, _ = submit(server, ["python3", "-c", script], image=PY)
    seen = wait_closed(server, job)
    assert (seen["state"], seen["exit_code"], seen["signal"]) == (state, code, number)


def test_a_command_is_not_changed(server: Server, agent: KubernetesAgent) -> None:
    words = ["$(HOME)", "$$", "$$(A)", "$A", "a b", "\"'\\", "", "ünï", "$"]
    job, run = submit(server, ["printf", "%s\\n", *words], env={"A": "no"})
    assert wait_closed(server, job)["state"] == "succeeded"
    assert console(server, run).decode().split("\n") == [*words, ""]


def test_out_of_memory_is_told(server: Server, agent: KubernetesAgent) -> None:
    script = "b = bytearray()\nwhile True: b += b'x' * 1048576"
    job, _run = submit(server, ["python3", "-c", script], image=PY, memory_bytes=64 * 1024 * 1024)
    seen = wait_closed(server, job)
    assert (seen["state"], seen["oom"], seen["ending"]) == ("failed", True, "out_of_memory"), seen


def test_what_cannot_start_says_why(server: Server, agent: KubernetesAgent) -> None:
    missing, _ = submit(server, ["no-such-program"])
    foreign, _ = submit(server, ["/bin/foreign"], image=FOREIGN)
    seen = wait_closed(server, missing)
    assert (seen["state"], seen["ending"]) == ("failed", "start_failed"), seen
    assert "no-such-program" in seen["reason"]
    seen = wait_closed(server, foreign)
    assert (seen["state"], seen["ending"]) == ("failed", "image"), seen
    assert "exec format error" in seen["reason"]


@pytest.mark.parametrize(
    ("code", "error"), [(404, "MANIFEST_UNKNOWN"), (401, "UNAUTHORIZED"), (403, "DENIED")]
)
def test_an_image_that_a_registry_refuses_ends_the_job(
    server: Server, agent: KubernetesAgent, code: int, error: str
) -> None:
    with Registry(code, error) as registry:
        job, _ = submit(server, ["true"], image=f"{registry.name}/nothing:1")
        seen = wait_closed(server, job)
    assert (seen["state"], seen["ending"]) == ("failed", "image"), seen
    assert f"{registry.name}/nothing:1" in seen["reason"]


def progress_of(server: Server, job: str) -> str:
    attempts = shown(server, job)["attempts"]
    return str(attempts[0]["progress"]) if attempts else ""


def test_a_registry_that_is_slow_is_waited_for_and_the_job_can_be_cancelled(
    server: Server, agent: KubernetesAgent, space: Namespace
) -> None:
    with Registry(404, "MANIFEST_UNKNOWN") as registry:
        registry.silent.set()
        job, _ = submit(server, ["true"], image=f"{registry.name}/slow:1")
        wait_for("progress", lambda: "the image is pulled" in progress_of(server, job))
        server.ok("POST", f"/api/v1/jobs/{job}/cancel")
        assert wait_closed(server, job)["state"] == "cancelled"
    wait_for("all to go", lambda: not space.items("jobs,pods,secrets"))


def test_cancel_asks_then_kills_and_leaves_nothing(
    server: Server, agent: KubernetesAgent, space: Namespace
) -> None:
    script = "trap 'echo asked' TERM; echo up; while :; do sleep 0.1; done"
    job, run = submit(server, ["sh", "-c", script])
    wait_for("the job's text", lambda: b"up" in console(server, run))
    server.ok("POST", f"/api/v1/jobs/{job}/cancel")
    assert wait_closed(server, job)["state"] == "cancelled"
    assert b"asked" in console(server, run)
    wait_for("all to go", lambda: not space.items("jobs,pods,secrets"))


def test_a_job_that_no_node_takes_says_so_and_can_be_cancelled(
    server: Server, agent: KubernetesAgent, space: Namespace
) -> None:
    space.cluster.kubectl("cordon", "127.0.0.1")
    try:
        job, _ = submit(server, ["true"])

        wait_for("the reason", lambda: "no node takes it" in progress_of(server, job))
        server.ok("POST", f"/api/v1/jobs/{job}/cancel")
        assert wait_closed(server, job)["state"] == "cancelled"
    finally:
        space.cluster.kubectl("uncordon", "127.0.0.1")


def test_a_time_limit_ends_it(server: Server, agent: KubernetesAgent) -> None:
    job, run = submit(server, ["sh", "-c", "echo up; sleep 1000"], timeout_s=2)
    seen = wait_closed(server, job)
    assert (seen["state"], seen["ending"]) == ("failed", "timeout"), seen
    assert console(server, run) == b"up\n"


def test_limits_are_requests_and_folders_are_sized(
    server: Server, agent: KubernetesAgent, space: Namespace
) -> None:
    script = (
        "df -k /dev/shm | tail -n 1; touch /x || echo read-only; "
        "touch /tmp/x && echo written; sleep 1000"
    )
    job, run = submit(
        server,
        ["sh", "-c", script],
        cpus=1,
        memory_bytes=256 * 1024 * 1024,
        shm_bytes=32 * 1024 * 1024,
        gpus=3,
        read_only_root=True,
        disk_bytes=1024**3,
    )
    wait_for("the job's text", lambda: b"written" in console(server, run))
    text = console(server, run).decode()
    assert "read-only" in text and "32768" in text
    pod = space.pod()
    (main,) = pod["spec"]["containers"]
    assert main["resources"]["limits"] == main["resources"]["requests"]
    assert main["resources"]["limits"]["nvidia.com/gpu"] == "3"
    assert pod["spec"]["automountServiceAccountToken"] is False
    assert not [m for m in main["volumeMounts"] if "serviceaccount" in m["mountPath"]]
    server.ok("POST", f"/api/v1/jobs/{job}/cancel")
    wait_closed(server, job)


def test_a_full_disk_ends_it_and_is_told(server: Server, agent: KubernetesAgent) -> None:
    script = "dd if=/dev/zero of=$HOME/big bs=1M count=64 2>/dev/null; echo full; sleep 1000"
    job, _run = submit(server, ["sh", "-c", script], disk_bytes=16 * 1024 * 1024)
    seen = wait_closed(server, job, 180)
    assert (seen["state"], seen["ending"]) == ("failed", "disk_full"), seen


def test_a_quota_that_is_used_up_is_told(
    server: Server, agent: KubernetesAgent, space: Namespace
) -> None:
    quota = {
        "apiVersion": "v1",
        "kind": "ResourceQuota",
        "metadata": {"name": "none"},
        "spec": {"hard": {"pods": "0"}},
    }
    space.kubectl("create", "-f", "-", text=json.dumps(quota))
    job, _ = submit(server, ["true"])
    wait_for("the reason", lambda: "exceeded quota" in progress_of(server, job))
    space.kubectl("delete", "resourcequota", "none")
    assert wait_closed(server, job)["state"] == "succeeded"


def let_end(space: Namespace) -> None:
    """Programs that print much wait for this before they end: containerd before 1.6.22 and 1.7.3
    throws away what it has not read yet when a container ends."""
    space.kubectl("exec", space.pod()["metadata"]["name"], "-c", "main", "--", "touch", "/tmp/end")


def test_long_and_odd_console_text_arrives_whole(
    server: Server, agent: KubernetesAgent, space: Namespace
) -> None:
    script = (
        "import os, sys, time\n"
        "out = sys.stdout.buffer\n"
        "out.write(b'x' * 3000000 + b'\\n')\n"
        "out.write(bytes(range(256)) * 4 + b'\\n')\n"
        "out.write(b'\\x1b[31mred\\x1b[0m\\r10 %\\r20 %\\n')\n"
        "out.write(b''.join(b'%d\\n' % i for i in range(100000)))\n"
        "out.flush()\n"
        "while not os.path.exists('/tmp/end'): time.sleep(0.05)\n"
        "out.write(b'no end of line')\n"
    )
    job, run = submit(server, ["python3", "-c", script], image=PY)
    want = (
        b"x" * 3000000 + b"\n" + bytes(range(256)) * 4 + b"\n" + b"\x1b[31mred\x1b[0m\r10 %\r20 %\n"
    )
    want += b"".join(b"%d\n" % i for i in range(100000))
    wait_for("all lines", lambda: len(console(server, run)) == len(want))
    assert console(server, run) == want
    let_end(space)
    assert wait_closed(server, job)["state"] == "succeeded"
    assert console(server, run) == want + b"no end of line"


def test_a_full_disk_of_the_agent_holds_text_back_and_loses_none(
    server: Server, space: Namespace, front: Front, tmp_path: Path
) -> None:
    with (
        small_disk(tmp_path / "disk", "4m") as disk,
        KubernetesAgent(server, space, front, disk / "agent") as agent,
    ):
        wait_for("the agent", lambda: "agent.ready" in agent.log)
        lines = "i=0; while [ $i -lt 6000 ]; do printf '%01000d\\n' $i; i=$((i+1)); done"
        script = f"{lines}; until [ -e /tmp/end ]; do sleep 0.05; done"
        job, run = submit(server, ["sh", "-c", script])
        wait_for("the disk to be full", lambda: "No space" in agent.log)
        assert shown(server, job)["state"] == "running"
        grow(disk, "64m")
        want = b"".join(b"%01000d\n" % i for i in range(6000))
        wait_for("all lines", lambda: len(console(server, run)) == len(want))
        let_end(space)
        assert wait_closed(server, job)["state"] == "succeeded"
        assert console(server, run) == want


def test_a_service_is_asked_in_its_pod(server: Server, agent: KubernetesAgent) -> None:
    job, run = submit(
        server,
        ["python3", "-m", "http.server", "8000"],
        image=PY,
        kind="service",
        health={"port": 8000, "every_s": 1, "failures": 1},
    )
    wait_for("good health", lambda: (shown(server, job)["health"] or {}).get("state") == "healthy")
    wait_for("its text", lambda: b'"GET / HTTP/1.1" 200' in console(server, run))
    server.ok("POST", f"/api/v1/jobs/{job}/cancel")
    assert wait_closed(server, job)["state"] == "cancelled"


def test_console_text_beyond_the_limit_is_left_out(
    server: Server, space: Namespace, agent: KubernetesAgent
) -> None:
    agent.kill(signal.SIGTERM)
    agent.start("--console-mb", "1")
    line = "0123456789abcde"
    script = f"yes {line} | head -n 200000; until [ -e /tmp/end ]; do sleep 0.05; done"
    job, run = submit(server, ["sh", "-c", script])

    def all_is_logged() -> bool:
        pod = space.pod()
        log = (
            space.kubectl("logs", pod["metadata"]["name"], "-c", "main", check=False) if pod else ""
        )
        return log.count("\n") == 200000

    wait_for("all lines in the node's log", all_is_logged)
    let_end(space)
    assert wait_closed(server, job)["state"] == "succeeded"
    text = console(server, run)
    assert text.startswith(f"{line}\n".encode() * 65536)
    left_out = 200000 * 16 - 1024 * 1024
    assert text[1024 * 1024 :] == (
        b"\neuvyra-agent: console text is kept up to 1048576 bytes; "
        b"the %d bytes after that were left out\n" % left_out
    )
