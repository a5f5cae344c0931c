"""States spread over the nodes of a Ray cluster: each is in a process of its own, on one node after the other.

A node that dies takes its states with it. A new one on another node starts from what was last stored, and gets the calls since
then again: so it is the same state as before.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from itertools import count
from sys import getsizeof
from tempfile import TemporaryFile
from typing import Any

from nikawa.errors import BadInput
from nikawa.execute.base import ExecuteOptions, Keeper, State
from nikawa.execute.ray_connection import (
    MAX_RETRIES,
    connect,
    describe_loss,
    find_cause,
    refuse_other_version,
)
from nikawa.version import __version__

CALLS_KEPT, BYTES_KEPT = 256, 8 << 20
"""Calls, and bytes of their arguments, that are kept in memory to be repeated; then the state is stored on disk."""


class StateHolder:
    """In a process of a node: one state."""

    def __init__(self, make: Callable[[], State], version: str) -> None:
        refuse_other_version(__version__, version)
        self.state = make()

    def call(self, method: str, *arguments: Any) -> Any:
        """Call a method of the state."""
        return getattr(self.state, method)(*arguments)


@dataclass
class _RayKeeper:
    ray: Any
    make: Callable[[], State]
    places: Iterator[Any]
    """Where the next holder is to be."""
    told: list[tuple[str, tuple[Any, ...]]] = field(default_factory=list)
    """What changed the state since it was stored."""
    told_bytes: int = 0
    losses: int = 0

    def __post_init__(self) -> None:
        self.stored = TemporaryFile()  # noqa: SIM115  # it lives as long as this object
        self.actor = self._start()

    def _start(self) -> Any:
        actor = self.ray.remote(StateHolder).options(
            num_cpus=0, scheduling_strategy=next(self.places)
        )
        return actor.remote(self.make, __version__)

    def ask(self, method: str, *arguments: Any) -> Callable[[], Any]:
        reference = self.actor.call.remote(method, *arguments)
        return lambda: self._wait(reference, method, arguments)

    def tell(self, method: str, *arguments: Any) -> None:
        self.told.append((method, arguments))
        self.told_bytes += sum(getattr(each, "nbytes", getsizeof(each)) for each in arguments)
        self.actor.call.remote(method, *arguments)
        if len(self.told) >= CALLS_KEPT or self.told_bytes >= BYTES_KEPT:
            content = self.ask("dump")()
            self.stored.seek(0)
            self.stored.write(content)
            self.stored.truncate()
            self.told.clear()
            self.told_bytes = 0

    def _wait(self, reference: Any, method: str, arguments: tuple[Any, ...]) -> Any:
        errors = self.ray.exceptions
        while True:
            try:
                return self.ray.get(reference)
            except (errors.RayActorError, errors.ActorUnschedulableError) as problem:
                self.losses += 1
                if self.losses > MAX_RETRIES:
                    times = f"{describe_loss(problem)}, {self.losses} times"
                    what = f"a part of the work failed: {times}"
                    raise BadInput(what, cure="run it again") from None
                self._restore()
                reference = self.actor.call.remote(method, *arguments)
            except errors.RayTaskError as problem:
                raise find_cause(problem) from None

    def _restore(self) -> None:
        """Start the state again where it was."""
        self.actor = self._start()
        self.stored.seek(0)
        if content := self.stored.read():
            self.actor.call.remote("load", content)
        for method, arguments in self.told:
            self.actor.call.remote(method, *arguments)

    def close(self) -> None:
        self.stored.close()
        with suppress(Exception):  # its node may be gone
            self.ray.kill(self.actor)


@contextmanager
def keep_on_cluster(
    makers: Sequence[Callable[[], State]], options: ExecuteOptions
) -> Iterator[list[Keeper]]:
    """`nikawa.execute.ordered.keep_states` on a cluster."""
    with connect(options.address) as ray:
        places = _cycle_nodes(ray)
        keepers: list[_RayKeeper] = []
        try:
            keepers.extend(_RayKeeper(ray, make, places) for make in makers)
            yield list(keepers)
        finally:
            for keeper in keepers:
                keeper.close()


def _cycle_nodes(ray: Any) -> Iterator[Any]:
    """Of one living node after the other what tells Ray to use it."""
    from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

    for number in count():
        living = (node for node in ray.nodes() if node["Alive"])
        nodes = sorted(living, key=lambda node: str(node["NodeID"]))  # Ray lists them in any order
        workers = [node for node in nodes if node["Resources"].get("CPU")] or nodes
        node = workers[number % len(workers)]
        yield NodeAffinitySchedulingStrategy(node["NodeID"], soft=False)
