"""One cluster of real processes for all tests of a session."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest


@pytest.fixture(scope="session")
def client() -> Iterator[Any]:
    """A client of two workers with a thread each."""
    distributed = pytest.importorskip("distributed")
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0"
        ) as cluster,
        distributed.Client(cluster, set_as_default=False) as client,
    ):
        yield client


@pytest.fixture
def two(client: Any) -> Any:
    """The client of the session, with two workers whatever a test before has done to them."""
    client.cluster.scale(2)
    client.wait_for_workers(2, timeout=30)
    return client
