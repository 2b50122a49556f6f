"""One cluster for the session, one namespace and agent for each test."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from kubernetes_cluster import Cluster, Front, KubernetesAgent, Namespace, running_cluster
from support import Server


@pytest.fixture(scope="session")
def cluster() -> Iterator[Cluster]:
    with running_cluster() as running:
        yield running


@pytest.fixture
def space(cluster: Cluster, tmp_path: Path) -> Iterator[Namespace]:
    made = Namespace(cluster, tmp_path)
    yield made
    made.delete()


@pytest.fixture
def front(cluster: Cluster, server: Server) -> Iterator[Front]:
    opened = Front(cluster, server)
    yield opened
    opened.close()


@pytest.fixture
def agent(
    server: Server, space: Namespace, front: Front, tmp_path: Path
) -> Iterator[KubernetesAgent]:
    with KubernetesAgent(server, space, front, tmp_path / "agent") as running:
        yield running
