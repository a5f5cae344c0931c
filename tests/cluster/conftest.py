"""One cluster of two nodes for all tests of this folder."""

from __future__ import annotations

import tempfile
import warnings
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.cluster.nodes import TestCluster, start_cluster


@pytest.fixture(scope="session")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestCluster]:
    """Two nodes that cannot read the temporary folders of tests; this process stays connected to them."""
    pytest.importorskip("ray")
    from nikawa.execute.ray_connection import connect

    forbidden = tmp_path_factory.getbasetemp()
    # the folders of the nodes are elsewhere, as on other machines
    with warnings.catch_warnings(), tempfile.TemporaryDirectory() as folder:
        warnings.simplefilter("ignore")  # Ray announces changes of its own
        with start_cluster(Path(folder), forbidden) as started, connect(started.address):
            yield started
