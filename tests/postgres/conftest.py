"""Fixtures of the tests about PostgreSQL: a cluster, where the run has none yet."""

from __future__ import annotations

from collections.abc import Iterator

import postgres_cluster
import pytest


@pytest.fixture(scope="session", autouse=True)
def shared_cluster() -> Iterator[None]:
    if postgres_cluster.socket_folder():
        yield
        return
    with postgres_cluster.cluster():
        yield
