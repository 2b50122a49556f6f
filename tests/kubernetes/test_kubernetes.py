"""Jobs on a real cluster: how they run, end, and are brought to the server."""

from __future__ import annotations

from kubernetes_cluster import BOX, KubernetesAgent, Namespace, console, submit, wait_closed
from support import Server, wait_for


def test_a_job_runs_and_ends_with_its_code_and_leaves_nothing(
    server: Server, agent: KubernetesAgent, space: Namespace
) -> None:
    script = (
        'echo "$A|$EUVYRA_PROJECT|$EUVYRA_CONFIG|$EUVYRA_RUN|$EUVYRA_JOB"; '
        'cat "$EUVYRA_CONFIG_FILE"; echo; id -u; pwd; exit 7'
    )
    job, run = submit(server, ["sh", "-c", script], image=BOX, env={"A": "x y"}, config={"lr": 0.5})
    shown = wait_closed(server, job)
    assert (shown["state"], shown["exit_code"]) == ("failed", 7)
    text = f'x y|demo|{{"lr":0.5}}|{run}|{job}\n{{"lr":0.5}}\n10001\n/euvyra/work\n'
    assert console(server, run) == text.encode()
    wait_for("the folder to go", lambda: not agent.attempts())
    wait_for("Job, pod and Secrets to go", lambda: not space.items("jobs,pods,secrets"))
