"""What is cut, killed, deleted and refused between an agent and its cluster."""

from __future__ import annotations

import json
import random
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from job_calls import console, shown, submit, wait_closed
from kubernetes_cluster import BOX, Cluster, Front, KubernetesAgent, Namespace, SecondNode
from kubernetes_proxy import LOSE, Answer, ApiProxy, status
from support import Server, make_id, report, wait_for

COUNT = "i=0; while [ $i -lt {n} ]; do echo $i; i=$((i+1)); sleep {pause}; done"


def counted(n: int) -> bytes:
    return b"".join(b"%d\n" % i for i in range(n))


@pytest.fixture
def proxy(cluster: Cluster) -> Iterator[ApiProxy]:
    opened = ApiProxy(cluster)
    yield opened
    opened.close()


@pytest.fixture
def proxied(
    server: Server, space: Namespace, front: Front, proxy: ApiProxy, tmp_path: Path
) -> Iterator[KubernetesAgent]:
    """An agent that reaches the API server through the proxy."""
    agent = KubernetesAgent(server, space, front, tmp_path / "agent")
    agent.kubeconfig = space.write_kubeconfig(tmp_path / "proxied", proxy.port)
    with agent:
        yield agent


def submit_counting(server: Server, n: int = 60, pause: float = 0.05, **spec: Any) -> Any:
    return submit(server, ["sh", "-c", COUNT.format(n=n, pause=pause)], **spec)


def assert_counts(server: Server, n: int, pause: float) -> None:
    """A job's text arrives whole."""
    job, run = submit_counting(server, n, pause)
    assert wait_closed(server, job)["state"] == "succeeded"
    assert console(server, run) == counted(n)


def test_an_agent_that_is_killed_again_and_again_loses_and_repeats_nothing(
    server: Server, agent: KubernetesAgent, space: Namespace
) -> None:
    seed = random.randrange(1 << 32)
    report(f"seed {seed}")
    moments = random.Random(seed)
    jobs = [submit_counting(server, 150) for _ in range(3)]
    for _ in range(10):
        time.sleep(moments.uniform(0.05, 1.2))  # when it is killed is the point
        agent.kill()
        agent.start()
    for job, run in jobs:
        seen = wait_closed(server, job, 120)
        assert (seen["state"], len(seen["attempts"])) == ("succeeded", 1)
        assert console(server, run) == counted(150)
    wait_for("all to go", lambda: not space.items("jobs,pods,secrets"))


def test_a_job_that_ended_without_an_agent_is_found(
    server: Server, agent: KubernetesAgent, space: Namespace
) -> None:
    job, run = submit_counting(server, 30, 0.02)
    wait_for("its first text", lambda: console(server, run))
    agent.kill()
    wait_for("its end", lambda: space.pod_state("main") == "terminated")
    agent.start()
    assert wait_closed(server, job)["state"] == "succeeded"
    assert console(server, run) == counted(30)


def test_streams_that_are_cut_go_on(
    server: Server, proxied: KubernetesAgent, proxy: ApiProxy
) -> None:
    job, run = submit_counting(server, 100)
    cuts = 0
    while shown(server, job)["state"] not in ("succeeded", "failed"):
        cuts += proxy.cut()
        time.sleep(0.3)  # a cut now and then
    assert wait_closed(server, job)["state"] == "succeeded"
    assert console(server, run) == counted(100)
    assert cuts > 5


@pytest.mark.parametrize(
    "answer",
    [
        status(429, "TooManyRequests", {"Retry-After": "1"}),
        status(500, "InternalError"),
        (503, {"Content-Type": "text/html"}, b"<html>no backend</html>"),
        (200, {"Content-Type": "text/html"}, b"<html>please log in</html>"),
        (307, {"Location": "/followed"}, b""),
    ],
    ids=["429", "500", "503", "no-json", "redirect"],
)
def test_answers_that_are_errors_are_waited_out(
    server: Server, proxied: KubernetesAgent, proxy: ApiProxy, answer: Answer
) -> None:
    dice = random.Random(4)
    proxy.rule = lambda method, path: answer if dice.random() < 0.4 else None
    job, run = submit_counting(server, 20, 0.02)
    seen = wait_closed(server, job, 180)
    assert (seen["state"], len(seen["attempts"])) == ("succeeded", 1), seen
    assert console(server, run) == counted(20)
    assert not [path for _, path in proxy.asked if path == "/followed"]


def test_a_change_whose_answer_was_lost_is_made_once(
    server: Server, proxied: KubernetesAgent, proxy: ApiProxy
) -> None:
    lost: list[tuple[str, str]] = []

    def lose(method: str, path: str) -> Answer | None:
        """The first answer to each kind of change."""
        kind = (method, path.split("?")[0].split("/")[6 if "/apis/" in path else 5])
        if method == "GET" or kind in lost:
            return None
        lost.append(kind)
        return LOSE

    proxy.rule = lose
    job, run = submit_counting(server, 5, 0.01)
    seen = wait_closed(server, job)
    assert (seen["state"], len(seen["attempts"])) == ("succeeded", 1), seen
    assert console(server, run) == counted(5)
    assert len(lost) >= 3, lost


def test_a_place_in_a_watch_that_is_gone_is_listed_anew(
    server: Server, proxied: KubernetesAgent, proxy: ApiProxy
) -> None:
    gone: list[str] = []

    def refuse(method: str, path: str) -> Answer | None:
        if "watch=1" in path and (len(gone) < 4 or path in gone):
            if path not in gone:
                gone.append(path)
            if gone.index(path) % 2:
                return status(410, "Expired")
            event = {"type": "ERROR", "object": {"kind": "Status", "code": 410}}
            return 200, {"Content-Type": "application/json"}, json.dumps(event).encode() + b"\n"
        return None

    proxy.rule = refuse
    job, run = submit_counting(server, 10, 0.01)
    proxy.cut()
    assert wait_closed(server, job)["state"] == "succeeded"
    assert console(server, run) == counted(10)
    assert len(gone) == 4


def a_job_failed(space: Namespace) -> bool:
    conditions = [
        one for job in space.items("jobs") for one in job.get("status", {}).get("conditions", [])
    ]
    return any(one["type"] == "Failed" for one in conditions)


@pytest.mark.parametrize("seen", [True, False], ids=["once", "never"])
def test_an_end_waits_for_what_its_pod_says(
    server: Server, proxied: KubernetesAgent, proxy: ApiProxy, space: Namespace, seen: bool
) -> None:
    """The Job's watch may be ahead of the pods' one, which is refused here."""

    def refuse(method: str, path: str) -> Answer | None:
        hidden = "/pods?" in path and method == "GET"
        return status(500, "InternalError") if hidden else None

    wait_closed(server, submit(server, ["true"])[0])  # so that both are watched
    if not seen:
        proxy.rule = refuse
        proxy.cut()
    script = f"{COUNT.format(n=20, pause=0.1)}; exit 7"
    job, run = submit(server, ["sh", "-c", script], retries=0)
    if seen:
        wait_for("its first text", lambda: console(server, run))
        proxy.rule = refuse
        proxy.cut()
    wait_for("the end of the Job", lambda: a_job_failed(space))
    time.sleep(8)  # longer than the end of a lost node waits for its text
    assert not shown(server, job)["ending"]
    proxy.rule = lambda method, path: None
    told = wait_closed(server, job)
    assert (told["state"], told["exit_code"]) == ("failed", 7), told
    assert console(server, run) == counted(20)


@pytest.mark.parametrize(
    "answer",
    [
        (200, {"Content-Type": "text/plain"}, b"unable to retrieve container logs for x://y\n"),
        (307, {"Location": "/followed"}, b""),
        status(404, "NotFound"),
    ],
    ids=["no-log", "redirect", "404"],
)
def test_a_node_that_once_does_not_find_a_log_is_asked_again(
    server: Server,
    proxied: KubernetesAgent,
    proxy: ApiProxy,
    space: Namespace,
    answer: Answer,
) -> None:
    """A node says so in place of the text when its runtime is too busy to answer."""
    asked: list[str] = []

    def forget(method: str, path: str) -> Answer | None:
        if "/log?" not in path or len(asked) >= 3:
            return None
        if space.pod_state("main") == "terminated":
            asked.append(path)
        return answer

    proxy.rule = forget
    assert_counts(server, 5, 0.01)
    assert len(asked) == 3


def test_a_log_that_ends_while_its_container_runs_is_read_on(
    server: Server, proxied: KubernetesAgent, proxy: ApiProxy
) -> None:
    ended: list[str] = []

    def end(method: str, path: str) -> Answer | None:
        if "/log?" not in path or len(ended) >= 3:
            return None
        ended.append(path)
        return 200, {"Content-Type": "text/plain"}, b""

    proxy.rule = end
    assert_counts(server, 50, 0.1)
    assert len(ended) == 3


def test_a_log_that_grows_after_its_container_s_end_is_read_on(
    server: Server, proxied: KubernetesAgent, proxy: ApiProxy, space: Namespace
) -> None:
    """Runtimes may still write the last lines then."""
    given: list[str] = []

    def withhold(method: str, path: str) -> Answer | None:
        """Three lines, then six, then all."""
        if "/log?" not in path or len(given) == 2:
            return None
        if space.pod_state("main") == "terminated":
            name = space.pod()["metadata"]["name"]
            text = space.kubectl("logs", name, "-c", "main", "--timestamps")
            given.append("".join(text.splitlines(keepends=True)[: 3 * len(given) + 3]))
        return 200, {"Content-Type": "text/plain"}, "".join(given[-1:]).encode()

    proxy.rule = withhold
    assert_counts(server, 10, 0.05)
    assert len(given) == 2


def test_a_log_that_never_ends_is_left(
    server: Server, proxied: KubernetesAgent, proxy: ApiProxy
) -> None:
    """Nodes have been seen to follow a log beyond its container's end."""
    held: list[str] = []

    def hold(path: str) -> bool:
        if "/log?" not in path or held:
            return False
        held.append(path)
        return True

    proxy.holds = hold
    assert_counts(server, 20, 0.01)
    assert held


def test_an_api_server_that_hangs_dies_and_forgets_is_survived(
    server: Server, agent: KubernetesAgent, cluster: Cluster
) -> None:
    job, run = submit_counting(server, 150, 0.1)
    wait_for("its first text", lambda: console(server, run))
    cluster.signal("apiserver", signal.SIGSTOP)
    time.sleep(12)  # longer than a call waits
    cluster.signal("apiserver", signal.SIGCONT)
    cluster.part("end", "apiserver")
    cluster.compact()
    cluster.part("run", "apiserver")
    seen = wait_closed(server, job, 180)
    assert (seen["state"], len(seen["attempts"])) == ("succeeded", 1), seen
    assert console(server, run) == counted(150)


def test_a_job_that_is_submitted_while_the_api_server_is_away_starts_later(
    server: Server, agent: KubernetesAgent, cluster: Cluster
) -> None:
    cluster.part("end", "apiserver")
    try:
        job, run = submit_counting(server, 5, 0.01)
        wait_for("progress", lambda: (shown(server, job)["attempts"] or [{}])[0].get("progress"))
        assert "API server" in shown(server, job)["attempts"][0]["progress"]
    finally:
        cluster.part("run", "apiserver")
    assert wait_closed(server, job, 180)["state"] == "succeeded"
    assert console(server, run) == counted(5)


@pytest.mark.parametrize(
    ("kind", "cascade"), [("pod", "background"), ("job", "background"), ("job", "orphan")]
)
def test_what_is_deleted_by_hand_has_ended(
    server: Server, agent: KubernetesAgent, space: Namespace, kind: str, cascade: str
) -> None:
    """A pod whose Job alone was deleted is ended too."""
    job, run = submit(server, ["sh", "-c", "echo up; exec sleep 1000"], retries=0)
    wait_for("its text", lambda: console(server, run))
    how = ("--wait=false", "--grace-period=1", f"--cascade={cascade}")
    space.kubectl("delete", f"{kind}s", "--all", *how)
    seen = wait_closed(server, job, 120)
    attempt = seen["attempts"][0]
    assert f"its {kind.title() if kind == 'job' else kind} was deleted in the cluster" in (
        attempt["reason"] or seen["reason"]
    ), seen


def test_a_job_that_is_suspended_by_somebody_goes_on_later(
    server: Server, agent: KubernetesAgent, space: Namespace
) -> None:
    job, run = submit(
        server, ["sh", "-c", "trap 'exit 1' TERM; echo up; sleep 5 & wait; echo done"]
    )
    wait_for("its text", lambda: console(server, run))
    name = space.items("jobs")[0]["metadata"]["name"]
    space.kubectl("patch", "job", name, "-p", '{"spec":{"suspend":true}}')
    wait_for("the pod to go", lambda: not space.pod())
    time.sleep(3)  # nothing may come of it
    assert shown(server, job)["state"] in ("starting", "running")
    space.kubectl("patch", "job", name, "-p", '{"spec":{"suspend":false}}')
    seen = wait_closed(server, job, 120)
    assert (seen["state"], len(seen["attempts"])) == ("succeeded", 1), seen
    assert console(server, run) == b"up\nup\ndone\n"


def test_a_job_of_ours_without_an_attempt_is_swept(
    server: Server, agent: KubernetesAgent, space: Namespace
) -> None:
    _job, run = submit(server, ["sh", "-c", "echo up; exec sleep 1000"])
    wait_for("its text", lambda: console(server, run))
    agent.kill()
    (folder,) = agent.attempts()
    for path in sorted(folder.rglob("*"), reverse=True):
        path.rmdir() if path.is_dir() else path.unlink()
    folder.rmdir()
    agent.start()
    wait_for("the Job to go", lambda: not space.items("jobs"))


def test_more_jobs_than_a_page_holds_are_seen(
    server: Server, agent: KubernetesAgent, space: Namespace
) -> None:
    file = agent.folder / "attempts/kubernetes-agent"
    wait_for("its name in the cluster", file.exists)
    agent.kill()
    name = file.read_text()
    pod = {"restartPolicy": "Never", "containers": [{"name": "main", "image": BOX}]}

    def job() -> dict[str, Any]:
        attempt = make_id("t")
        labels = {"euvyra.eu/agent": name, "euvyra.eu/attempt": attempt}
        spec = {"suspend": True, "template": {"spec": pod}}
        metadata = {"name": f"euvyra-{attempt}", "labels": labels}
        return {"apiVersion": "batch/v1", "kind": "Job", "metadata": metadata, "spec": spec}

    many = {"apiVersion": "v1", "kind": "List", "items": [job() for _ in range(201)]}
    space.kubectl("create", "-f", "-", text=json.dumps(many))
    agent.start()
    wait_for("all to be swept", lambda: not space.items("jobs"))


def test_a_removal_that_was_not_heard_is_made_good(
    server: Server, proxied: KubernetesAgent, proxy: ApiProxy, space: Namespace
) -> None:
    proxy.rule = lambda method, path: status(500, "InternalError") if method == "DELETE" else None
    job, _ = submit_counting(server, 3, 0.01)
    assert wait_closed(server, job)["state"] == "succeeded"
    wait_for("the folder to go", lambda: not proxied.attempts())
    assert space.items("jobs")
    proxy.rule = lambda method, path: None
    wait_for("the watch to be open", lambda: proxy.cut() > 0)
    wait_for("all to go", lambda: not space.items("jobs,pods,secrets"))


def test_a_lost_node_ends_the_attempt_while_its_container_runs_on(
    server: Server, agent: KubernetesAgent, cluster: Cluster
) -> None:
    with SecondNode(cluster):
        job, run = submit(server, ["sh", "-c", "echo up; exec sleep 1000"], retries=0)
        wait_for("its text", lambda: console(server, run))
        cluster.part("end", "kubelet")
        try:
            seen = wait_closed(server, job, 180)
            assert seen["attempts"][0]["reason"] == (
                "node 127.0.0.1 was lost; its container may still run"
            ), seen
            assert cluster.ctr("tasks", "ls").count("RUNNING") >= 2  # it does
        finally:
            cluster.part("run", "kubelet")
