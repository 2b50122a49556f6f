"""An agent that runs in a pod of the cluster that it serves, and one whose token is renewed."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest
import relay
from job_calls import console, submit, wait_closed
from kubernetes_cluster import BOX, TOOLS, Cluster, Front, KubernetesAgent, Namespace
from support import Server, wait_for

ACCOUNT = "/var/run/secrets/kubernetes.io/serviceaccount"


@pytest.fixture
def api_port(cluster: Cluster) -> Iterator[int]:
    """Where pods reach the API server."""
    listener = socket.create_server((cluster.bridge_address, 0))
    end = relay.serve(listener, cluster.api_port)
    yield listener.getsockname()[1]
    end()


def pod_of_agent(front: Front, api: tuple[str, int]) -> str:
    options = ["--server", front.url, "--key-file", "/key/agent", "--dir", "/data"]
    options += ["--executor", "kubernetes", "--tools-image", TOOLS, "--image", BOX]
    options += ["--cpus", "4", "--memory", "16"]
    environment = {
        "KUBERNETES_SERVICE_HOST": api[0],
        "KUBERNETES_SERVICE_PORT": str(api[1]),
        "EUVYRA_CA": f"{ACCOUNT}/ca.crt",  # one authority signs all certificates of the rig
    }
    container = {
        "name": "agent",
        "image": TOOLS,
        "imagePullPolicy": "Never",
        "command": ["/usr/local/bin/euvyra-agent", *options],
        "env": [{"name": name, "value": value} for name, value in environment.items()],
        "securityContext": {
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"]},
        },
        "volumeMounts": [
            {"name": "data", "mountPath": "/data"},
            {"name": "key", "mountPath": "/key", "readOnly": True},
        ],
    }
    security = {
        "runAsNonRoot": True,
        **dict.fromkeys(("runAsUser", "runAsGroup", "fsGroup"), 10001),
        "seccompProfile": {"type": "RuntimeDefault"},
    }
    spec = {
        "serviceAccountName": "euvyra-agent",
        "automountServiceAccountToken": True,
        "securityContext": security,
        "containers": [container],
        "volumes": [
            {"name": "data", "emptyDir": {}},
            {"name": "key", "secret": {"secretName": "agent-key", "defaultMode": 0o440}},
        ],
    }
    metadata = {"name": "euvyra-agent"}
    return json.dumps({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec})


def test_an_agent_runs_in_the_cluster_that_it_serves(
    server: Server, space: Namespace, front: Front, api_port: int, tmp_path: Path
) -> None:
    key = KubernetesAgent(server, space, front, tmp_path / "agent").key_file
    space.kubectl("create", "secret", "generic", "agent-key", f"--from-file=agent={key}")
    address = space.cluster.bridge_address
    space.kubectl("create", "-f", "-", text=pod_of_agent(front, (address, api_port)))
    job, run = submit(server, ["sh", "-c", "echo inside; exit 3"], retries=0)
    seen = wait_closed(server, job)
    assert (seen["state"], seen["exit_code"]) == ("failed", 3), space.kubectl(
        "logs", "euvyra-agent"
    )
    assert console(server, run) == b"inside\n"
    wait_for("its Job to go", lambda: not space.items("jobs"))
    assert [pod["metadata"]["name"] for pod in space.items("pods")] == ["euvyra-agent"]


def test_a_token_that_is_renewed_is_taken_up(
    server: Server, space: Namespace, front: Front, tmp_path: Path
) -> None:
    """The file holds one that the API server refuses; then it holds a good one."""
    file = tmp_path / "token"
    file.write_text("no.good.token")
    config = tmp_path / "renewed"
    text = space.kubeconfig.read_text()
    config.write_text(text.replace(f"token: {space.token}", "tokenFile: token"))
    agent = KubernetesAgent(server, space, front, tmp_path / "agent")
    agent.kubeconfig = config
    with agent:
        wait_for("the refusal", lambda: "kubernetes.away" in agent.log)
        file.write_text(f"{space.token}\n")
        job, run = submit(server, ["echo", "renewed"])
        assert wait_closed(server, job)["state"] == "succeeded"
        assert console(server, run) == b"renewed\n"
