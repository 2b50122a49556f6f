"""The agent's rights: what it does is allowed by its Role, and nothing else is."""

from __future__ import annotations

import http.client
import json
import re
import ssl
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml
from job_calls import console, submit, wait_closed
from kubernetes_cluster import ROLE, Cluster, Front, KubernetesAgent, Namespace
from kubernetes_proxy import ApiProxy
from support import BUILD, Server, wait_for

Right = tuple[str, str]  # verb, resource


def rights_of_role() -> set[Right]:
    role = next(one for one in yaml.safe_load_all(ROLE.read_text()) if one["kind"] == "Role")
    return {
        (verb, resource)
        for rule in role["rules"]
        for resource in rule["resources"]
        for verb in rule["verbs"]
    }


def right_of(method: str, path: str) -> Right:
    """What RBAC calls a request."""
    plain, _, query = path.partition("?")
    match = re.fullmatch(r"/(?:api|apis/batch)/v1/namespaces/[^/]+/(\w+)(/[^/]+)?(/\w+)?", plain)
    assert match, path
    resource = match[1] + (match[3] or "")
    if method == "GET" and not match[2]:
        return ("watch" if "watch=1" in query else "list"), resource
    return {"GET": "get", "POST": "create", "PATCH": "patch", "DELETE": "delete"}[method], resource


@pytest.fixture
def proxy(cluster: Cluster) -> Iterator[ApiProxy]:
    opened = ApiProxy(cluster)
    yield opened
    opened.close()


def test_every_call_of_the_agent_is_allowed_by_its_role_and_every_right_is_used(
    server: Server, space: Namespace, front: Front, proxy: ApiProxy, tmp_path: Path
) -> None:
    agent = KubernetesAgent(server, space, front, tmp_path / "agent")
    agent.kubeconfig = space.write_kubeconfig(tmp_path / "proxied", proxy.port)
    with agent:
        quota = {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "q"}}
        text = json.dumps({**quota, "spec": {"hard": {"pods": "0"}}})
        space.kubectl("create", "-f", "-", text=text)
        job, run = submit(server, ["sh", "-c", "echo up; exec sleep 1000"], config={"a": 1})
        wait_for("events to be read", lambda: any("events" in path for _, path in proxy.asked))
        agent.kill()  # what it created is found by name, and made anew where that is not allowed
        (folder,) = agent.attempts()
        record = folder / "pod.json"
        record.write_text(record.read_text().replace('"released":true', '"released":false'))
        name = space.items("jobs")[0]["metadata"]["name"]
        space.kubectl("patch", "job", name, "-p", '{"spec":{"suspend":true}}')
        agent.start()
        space.kubectl("delete", "resourcequota", "q")
        wait_for("its text", lambda: console(server, run))
        server.ok("POST", f"/api/v1/jobs/{job}/cancel")
        wait_closed(server, job)
        wait_for("all to go", lambda: not space.items("jobs,pods"))
    assert {right_of(method, path) for method, path in proxy.asked} == rights_of_role()


VERBS = {
    "get": ("GET", "/none", ""),
    "list": ("GET", "", ""),
    "watch": ("GET", "", "?watch=1&timeoutSeconds=1"),
    "create": ("POST", "", ""),
    "update": ("PUT", "/none", ""),
    "patch": ("PATCH", "/none", ""),
    "delete": ("DELETE", "/none", ""),
    "deletecollection": ("DELETE", "", ""),
}
KINDS = {
    "api/v1": (
        *("pods", "pods/log", "pods/exec", "pods/attach", "pods/portforward", "pods/status"),
        *("secrets", "configmaps", "events", "services", "serviceaccounts"),
        *("serviceaccounts/token", "persistentvolumeclaims", "resourcequotas", "endpoints"),
    ),
    "apis/batch/v1": ("jobs", "jobs/status", "cronjobs"),
    "apis/apps/v1": ("deployments", "daemonsets"),
    "apis/rbac.authorization.k8s.io/v1": ("roles", "rolebindings"),
    "apis/networking.k8s.io/v1": ("networkpolicies",),
}


def test_everything_else_is_refused(space: Namespace, cluster: Cluster) -> None:
    context = ssl.create_default_context(cafile=str(cluster.folder / "pki/ca.crt"))
    connection = http.client.HTTPSConnection("127.0.0.1", cluster.api_port, context=context)
    allowed = rights_of_role()

    def is_allowed(method: str, path: str) -> bool:
        headers = {
            "Authorization": f"Bearer {space.token}",
            "Content-Type": "application/merge-patch+json"
            if method == "PATCH"
            else "application/json",
        }
        connection.request(method, path, None if method == "GET" else b"{}", headers)
        answer = connection.getresponse()
        text = answer.read()
        assert answer.status != 401, text
        return answer.status != 403

    for group, kinds in KINDS.items():
        for kind in kinds:
            plural, _, part = kind.partition("/")
            for verb, (method, name, query) in VERBS.items():
                if part and not name and verb != "create":
                    continue  # a part belongs to one object
                one = f"/{plural}{'/none' if part else name}{'/' + part if part else ''}{query}"
                here = f"/{group}/namespaces/{space.name}{one}"
                assert is_allowed(method, here) == ((verb, kind) in allowed), (verb, kind)
                assert not is_allowed(method, f"/{group}/namespaces/default{one}"), (verb, kind)
    for path in ("nodes", "namespaces", "persistentvolumes", "pods", "secrets", "events"):
        assert not is_allowed("GET", f"/api/v1/{path}"), path
    connection.close()


def test_the_namespace_refuses_a_pod_that_is_not_restricted(space: Namespace) -> None:
    said = space.kubectl(*("run", "root", "--image", "rig.local/box:1"), check=False)
    assert "violates PodSecurity" in said


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--cpus", "4", "--memory", "8"], "--tools-image NAME is missing"),
        (["--tools-image", "t", "--memory", "8"], "--cpus N is missing"),
        (["--tools-image", "t", "--cpus", "4"], "--memory GIB is missing"),
        (["--tools-image", "t", "--cpus", "0", "--memory", "8"], '--cpus is a number from 1'),
        (["--tools-image", "t", "--cpus", "4", "--memory", "8", "--pod-user", "0"], "--pod-user is"),
        (
            ["--tools-image", "t", "--cpus", "4", "--memory", "8", "--namespace", "No_Name"],
            '"No_Name" is not the name of a namespace',
        ),
    ],
)  # fmt: skip
def test_options_that_are_wrong_are_named(
    server: Server, tmp_path: Path, options: list[str], said: str
) -> None:
    config = tmp_path / "config"
    config.write_text(
        "current-context: c\n"
        "contexts: [{name: c, context: {cluster: k, user: u}}]\n"
        "clusters: [{name: k, cluster: {server: 'https://127.0.0.1:1'}}]\n"
        "users: [{name: u, user: {token: t}}]\n"
    )
    assert said in refused(server, tmp_path, "--kubeconfig", str(config), *options)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a: [", "in line"),
        ("current-context: none\n", "current-context names no context"),
        ("current-context: c\ncontexts: [{name: c, context: {cluster: k}}]\n", "is not https"),
        (
            "current-context: c\ncontexts: [{name: c, context: {cluster: k, user: u}}]\n"
            "clusters: [{name: k, cluster: {server: 'https://h'}}]\n",
            "has neither token nor tokenFile",
        ),
    ],
)
def test_a_kubeconfig_that_is_wrong_is_named(
    server: Server, tmp_path: Path, text: str, said: str
) -> None:
    config = tmp_path / "config"
    config.write_text(text)
    told = refused(
        *(server, tmp_path, "--kubeconfig", str(config), "--tools-image", "t"),
        *("--cpus", "4", "--memory", "8"),
    )
    assert said in told and str(config) in told


@pytest.mark.parametrize("url", ["http://euvyra.example.org", "https://127.0.0.1:8470"])
def test_a_server_that_pods_do_not_reach_is_refused(
    server: Server, tmp_path: Path, url: str
) -> None:
    told = refused(
        *(server, tmp_path, "--tools-image", "t", "--cpus", "4", "--memory", "8"),
        *("--server-for-jobs", url),
    )
    assert f"pods do not reach the server at {url}" in told


def refused(server: Server, folder: Path, *options: str) -> str:
    """What an agent says that does not start."""
    key = folder / "key"
    key.write_text(server.key)
    done = subprocess.run(
        [
            *(BUILD / "euvyra-agent", "--server", server.url, "--key-file", key),
            *("--dir", folder / "agent", "--allow-root", "--executor", "kubernetes"),
            *("--image", "box", "--server-for-jobs", "https://euvyra.example.org", *options),
        ],
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )
    assert done.returncode == 2, done
    return done.stderr
