"""The ordered map over chunks on the nodes of a Ray cluster; see `nikawa.execute.ordered.map_in_order`.

Only functions that every node can import, plain data and the bytes of files travel. The function goes to a node once, a chunk
with each task. What is under way is bounded by the places of the cluster, so memory is bounded on the nodes and here.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from nikawa.errors import BadInput
from nikawa.execute.base import Content, ExecuteOptions, FunctionWithFiles, ProgressMeter
from nikawa.execute.contents import ContentSender, SentContent, fetch_content, node_folder
from nikawa.execute.ray_connection import (
    MAX_RETRIES,
    NODE_PATIENCE_SECONDS,
    REPORT_SECONDS,
    connect,
    count_places,
    describe_loss,
    describe_shortage,
    find_cause,
    import_ray,
    keep_to_threads,
    refuse_other_version,
    task_options,
)
from nikawa.version import __version__


def map_on_cluster(
    function: Callable[[Any], Any], chunks: Iterable[Any], options: ExecuteOptions, ahead: int
) -> Iterator[Any]:
    """`nikawa.execute.ordered.map_in_order` on a cluster; a chunk whose node dies is sent again, at most `MAX_RETRIES` times."""
    with connect(options.address) as ray:
        reference = ray.put(send_function(function, ray.put))
        # Ray could repeat lost tasks itself, but it writes to stderr when it does.
        task = ray.remote(call_function).options(max_retries=0, **task_options(options.resources))
        start = partial(task.remote, [reference], threads=options.threads)
        crowd = _Crowd(ray, options)
        waiting: deque[_SentChunk] = deque()
        # Where the map is left early, what is under way ends with the connection. It is not cancelled: Ray 2.60 may abort this
        # process if a task ends at the moment when it is cancelled.
        for chunk in chunks:
            waiting.append(_SentChunk(chunk, start, start(chunk)))
            while len(waiting) >= ahead * crowd.count_places():
                yield crowd.take_result(waiting)
        while waiting:
            yield crowd.take_result(waiting)


@dataclass
class _SentChunk:
    """A chunk on its way; it is kept here until its result is here."""

    chunk: Any
    start: Callable[[Any], Any]
    reference: Any
    losses: int = 0

    def take_result(self, ray: Any) -> Any:
        """The result. An error of the function is raised as it was there.

        A lost chunk is sent again, and raises `_Lost`; after too many times it is a BadInput.
        """
        try:
            return ray.get(self.reference)
        except ray.exceptions.RayTaskError as problem:
            raise find_cause(problem) from None
        except ray.exceptions.RayError as problem:
            self.losses += 1
            if self.losses > MAX_RETRIES:
                times = f"{describe_loss(problem)}, {self.losses} times"
                raise BadInput(f"a part of the work failed: {times}", cure="run it again") from None
            self.reference = self.start(self.chunk)
            raise _Lost from None


class _Lost(Exception):
    """A chunk was lost, and was sent again."""


@dataclass
class _Crowd:
    """The nodes while they work on chunks. It raises BadInput where no node has had room for a chunk for a long time."""

    ray: Any
    options: ExecuteOptions
    nodes: int = 0
    places: int = 0
    last_place: float = field(default_factory=time.monotonic)
    next_count: float = 0.0

    def __post_init__(self) -> None:
        self.meter = ProgressMeter(0, self.options.on_progress)

    def count_places(self) -> int:
        """The chunks that are worked on at a time; waits for the first node."""
        self._count()
        while not self.places:
            self.meter.report(self.nodes, 0)
            time.sleep(REPORT_SECONDS)
            self._count()
        return self.options.workers or self.places

    def take_result(self, waiting: deque[_SentChunk]) -> Any:
        """The result of the first of these chunks."""
        while True:
            while not self.ray.wait([waiting[0].reference], timeout=REPORT_SECONDS)[0]:
                self._count()
                self.meter.report(self.nodes, min(len(waiting), self.places))
            with suppress(_Lost):
                result = waiting[0].take_result(self.ray)
                break
        waiting.popleft()
        self.meter.count()
        self._count()
        self.meter.report(self.nodes, min(len(waiting), self.places))
        return result

    def _count(self) -> None:
        now = time.monotonic()
        if now < self.next_count:
            return
        self.nodes, self.places = count_places(self.ray, self.options.resources)
        self.next_count = now + REPORT_SECONDS
        if self.places:
            self.last_place = now
        elif now > self.last_place + NODE_PATIENCE_SECONDS:
            what, _, cure = describe_shortage(self.options.resources).partition(": ")
            raise BadInput(what, cure=cure)


@dataclass(frozen=True)
class SentFunction:
    """A function on its way, with the files it reads."""

    function: Callable[[Any], Any]
    """The function; or, with files, what builds it from their places."""
    files: dict[str, SentContent] | None
    version: str
    """Of the package that sent it."""

    def open(self) -> Callable[[Any], Any]:
        """On a node: fetch the files that are not there yet, and make the function."""
        refuse_other_version(__version__, self.version)
        if self.files is None:
            return self.function
        folder, get = node_folder(), import_ray().get
        places = {name: fetch_content(sent, folder, get)[0] for name, sent in self.files.items()}
        made: Callable[[Any], Any] = self.function(places)
        return made


def send_function(function: Callable[[Any], Any], put: Callable[[Any], Any]) -> SentFunction:
    """Put up the files of a function for the nodes."""
    if not isinstance(function, FunctionWithFiles):
        return SentFunction(function, None, __version__)
    sender = ContentSender(put)
    places = {name: Path(path).absolute() for name, path in function.files.items()}
    files = {name: sender.send(Content(path, path.name)) for name, path in places.items()}
    return SentFunction(function.build, files, __version__)


_functions: dict[Any, Callable[[Any], Any]] = {}
"""The functions of this process by reference: each is fetched once, not with every chunk."""


def call_function(references: list[Any], chunk: Any, threads: int) -> Any:
    """Work on a chunk in a process of a node."""
    (reference,) = references
    if reference not in _functions:
        sent: SentFunction = import_ray().get(reference)
        _functions.clear()
        _functions[reference] = sent.open()
    with keep_to_threads(threads):
        return _functions[reference](chunk)
