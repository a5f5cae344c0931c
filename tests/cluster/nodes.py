"""A real cluster on this machine: nodes are processes of Ray on 127.0.0.1, each with an empty folder of its own."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.cluster.counting import COUNTS_VARIABLE, write_model

import nikawa

GUARD = Path(__file__).parent / "guard"
SOURCE = str(Path(nikawa.__file__).parents[1])
"""Nodes run the source that is tested, wherever the installed one is."""
STORE_BYTES = 80 << 20
"""The smallest object store that Ray takes is 75 MiB."""
HEALTH = {
    "health_check_initial_delay_ms": 1000,
    "health_check_period_ms": 500,
    "health_check_failure_threshold": 4,
}
"""A node that was killed is noticed after about two seconds; by default Ray takes 16 seconds."""


@dataclass
class TestCluster:
    """A head without CPUs, and nodes with one CPU each; the first one also claims to have a GPU."""

    __test__ = False
    cluster: Any
    folder: Path
    forbidden: Path
    nodes: int = 0

    @property
    def address(self) -> str:
        return str(self.cluster.address)

    @property
    def plugins(self) -> Path:
        """The folder with the packages that nodes have besides nikawa; see `tests.cluster.counting`."""
        return self.folder / "plugins"

    @property
    def counts(self) -> Path:
        """Where the model `counted` notes its runs."""
        return self.folder / "counts.txt"

    def add_node(self, source: str = SOURCE) -> Any:
        """Start a node that may not read the files below `forbidden`; its package nikawa is in the folder `source`."""
        own = self.folder / f"node-{self.nodes}"
        own.mkdir(parents=True)
        self.nodes += 1
        return self.cluster.add_node(
            wait=False,
            num_cpus=1,
            num_gpus=int(self.nodes == 1),
            node_ip_address="127.0.0.1",
            object_store_memory=STORE_BYTES,
            env_vars={
                "NIKAWA_NODE_DIR": str(own),
                "NIKAWA_TEST_FORBIDDEN": str(self.forbidden),
                "PYTHONPATH": os.pathsep.join((str(GUARD), str(self.plugins), source)),
                COUNTS_VARIABLE: str(self.counts),
                "HOME": str(own),
            },
        )

    def kill_node(self, node: Any) -> None:
        """Kill a node and all its processes at once."""
        self.cluster.remove_node(node, allow_graceful=False)


@contextmanager
def start_cluster(folder: Path, forbidden: Path, nodes: int = 2) -> Iterator[TestCluster]:
    """Start a cluster, which ends with the block."""
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    from ray.cluster_utils import Cluster

    cluster = Cluster(
        initialize_head=True,
        head_node_args={
            "num_cpus": 0,
            "include_dashboard": False,
            "node_ip_address": "127.0.0.1",
            "object_store_memory": STORE_BYTES,
            "no_monitor": True,  # of a cluster that grows
            "include_log_monitor": False,
            "_system_config": HEALTH,
        },
    )
    started = TestCluster(cluster, folder, forbidden)
    try:
        started.plugins.mkdir()
        write_model(started.plugins)
        for _ in range(nodes):
            started.add_node()
        cluster.wait_for_nodes()
        yield started
    finally:
        cluster.shutdown()
