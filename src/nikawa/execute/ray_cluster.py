"""Items on the machines of a Ray cluster: `--executor ray`.

Ray starts processes on the nodes and moves values between them. What Nikawa adds: contents travel by hash, once per node
(`contents.py`); results come back in bounded parts and are written by the process that sent the work; an item whose node dies is
sent again, at most `MAX_RETRIES` times. Nothing here needs a disk that the machines share. `ray_map.py` has the ordered map over
chunks, `ray_connection.py` what both need of Ray.

Ray is imported only when it is used.
"""

from __future__ import annotations

import os
import shutil
import socket
import tempfile
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import chdir, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

from nikawa.errors import BadInput
from nikawa.execute.base import (
    Content,
    Errand,
    ExecuteOptions,
    ExecutorKind,
    Killed,
    ProgressMeter,
    TravellingWork,
    Work,
)
from nikawa.execute.contents import (
    ContentSender,
    SentContent,
    explain_disk,
    fetch_content,
    node_folder,
)
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
from nikawa.execute.ray_keep import keep_on_cluster
from nikawa.execute.ray_map import map_on_cluster
from nikawa.version import __version__

QUEUE_AHEAD = 2
"""Items that are sent per place in the cluster: one under way, one that is ready when it ends."""
PARTS_AHEAD = 4
"""Parts of a result that a node may send before they are taken."""


@dataclass(frozen=True)
class Arrived:
    """The first thing a node sends back: what it had to fetch."""

    node: str
    fetched: int
    """Bytes."""


def do_errand(
    work: Callable[[Mapping[str, Path], Path], Iterator[Any]],
    contents: Mapping[str, SentContent],
    threads: int,
    version: str,
) -> Iterator[Any]:
    """Do an errand on this node, in an empty folder that is also the working directory."""
    ray = import_ray()
    refuse_other_version(__version__, version)
    folder = node_folder()
    files, fetched = {}, 0
    for name, sent in contents.items():
        files[name], size = fetch_content(sent, folder, ray.get)
        fetched += size
    yield Arrived(ray.get_runtime_context().get_node_id(), fetched)
    place = folder / "work"
    prefix = f"{os.getpid()}@{socket.gethostname()}@"
    with explain_disk(folder):
        place.mkdir(mode=0o700, exist_ok=True)
        remove_leftovers(place)
        own = tempfile.TemporaryDirectory(prefix=prefix, dir=place)
    with own as name, chdir(name), keep_to_threads(threads):
        yield from work(files, Path(name))


def remove_leftovers(place: Path) -> None:
    """Remove the folders of processes of this machine that were killed; a folder's name says whose it is."""
    for folder in place.glob(f"*@{socket.gethostname()}@*"):
        if not is_alive(int(folder.name.partition("@")[0])):
            shutil.rmtree(folder, ignore_errors=True)


def is_alive(process: int) -> bool:
    """Whether a process of this number runs on this machine."""
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:  # it belongs to somebody else
        pass
    return True


@dataclass
class _Trip:
    """An item that was sent."""

    item: Any
    errand: Errand[Any]
    tries: int = 0


@dataclass
class RayExecutor:
    """The executor of a Ray cluster. Entered by `with`, it stays connected from one `submit` to the next."""

    work: Work[Any, Any]
    options: ExecuteOptions
    fetched: dict[str, int] = field(default_factory=dict, init=False)
    """Bytes that each node fetched."""
    _connection: Any = field(default=None, init=False, repr=False)
    _sender: ContentSender | None = field(default=None, init=False, repr=False)
    _ray: Any = field(default=None, init=False, repr=False)
    _task: Any = field(default=None, init=False, repr=False)
    """Made once: Ray asks the first node for each new one, and waits if that is gone."""
    _owns_connection: bool = field(default=False, init=False, repr=False)
    """Whether the connection is closed, and so everything on it ended, when this executor ends."""

    def __enter__(self) -> Self:
        self._owns_connection = not import_ray().is_initialized()
        self._connection = connect(self.options.address)
        self._ray = self._connection.__enter__()
        if self.options.resources.gpus is None and self._ray.cluster_resources().get("GPU"):
            self.__exit__()
            cure = "pass --gpus-per-run 1, a share of one such as 0.25, or 0 to use CPUs"
            raise BadInput("the cluster has GPUs, and the model can use one", cure=cure)
        self._sender = ContentSender(self._ray.put)
        self._task = self._ray.remote(do_errand).options(
            num_returns="streaming",
            max_retries=0,
            _generator_backpressure_num_objects=PARTS_AHEAD,
            **task_options(self.options.resources),
        )
        return self

    def __exit__(self, *_: object) -> None:
        self._sender = None
        self._connection.__exit__(None, None, None)
        self._ray = self._task = None

    def submit(self, items: Sequence[Any]) -> Iterator[Any]:
        """Yield results as they come; a node that dies costs its own items a retry."""
        if self._ray is None:
            with self:
                yield from self._work_on(items)
        else:
            yield from self._work_on(items)

    def _work_on(self, items: Sequence[Any]) -> Iterator[Any]:
        trips: dict[Any, _Trip] = {}
        waiting = deque(items)
        meter = ProgressMeter(len(items), self.options.on_progress)
        next_report = 0.0
        nodes, places = count_places(self._ray, self.options.resources)
        last_place = time.monotonic()
        try:
            while waiting or trips:
                while waiting and len(trips) < self._most_trips(places):
                    result = self._send(waiting.popleft(), trips)
                    if result is not None:
                        meter.count(took_work=False)
                        yield result
                now = time.monotonic()
                if now >= next_report:
                    nodes, places = count_places(self._ray, self.options.resources)
                    meter.report(nodes, min(len(trips), places))
                    next_report = now + REPORT_SECONDS
                    last_place = now if places else last_place
                if now - last_place > NODE_PATIENCE_SECONDS:
                    yield from self._fail_all(trips, waiting)
                    return
                ready, _ = (
                    self._ray.wait(list(trips), timeout=REPORT_SECONDS) if trips else ([], [])
                )
                for stream in ready:
                    for result in self._take(stream, trips):
                        meter.count()
                        yield result
        finally:
            self._cancel(trips)
            for trip in trips.values():
                trip.errand.close()

    def _most_trips(self, places: int) -> int:
        """How many items may be on their way: a cluster that grows on demand needs to see a demand."""
        return self.options.workers or max(1, places) * QUEUE_AHEAD

    def _send(self, item: Any, trips: dict[Any, _Trip]) -> Any:
        """Send an item; the result, where it needs no work."""
        errand: Errand[Any] | None = _PlainErrand(self.work, item)
        result = None
        if isinstance(self.work, TravellingWork):
            errand, result = self.work.prepare_errand(item)
        if errand is None:
            return result
        self._start(_Trip(item, errand), trips)
        return None

    def _start(self, trip: _Trip, trips: dict[Any, _Trip]) -> None:
        assert self._sender is not None
        trip.errand.begin()
        contents = {name: self._sender.send(one) for name, one in trip.errand.contents.items()}
        stream = self._task.remote(trip.errand.work, contents, self.options.threads, __version__)
        trips[stream] = trip

    def _take(self, stream: Any, trips: dict[Any, _Trip]) -> Iterator[Any]:
        """Take the next part of an item; yield its result, where that was the last."""
        trip = trips[stream]
        errors = self._ray.exceptions
        try:
            part = self._ray.get(next(stream))
        except StopIteration:
            del trips[stream]
            yield self._end(trip, trip.errand.finish)
        except errors.RayTaskError as problem:  # a fault of the program or the node's disk
            del trips[stream]
            cause = find_cause(problem)
            text = str(cause) if isinstance(cause, BadInput) else f"{type(cause).__name__}: {cause}"
            line = " ".join(text.split())
            yield self._end(trip, lambda: trip.errand.fail(line))
        except errors.RayError as problem:  # the node, or the process on it, is gone
            del trips[stream]
            trip.tries += 1
            if trip.tries <= MAX_RETRIES:
                self._start(trip, trips)
                return
            line = f"{describe_loss(problem)}, {trip.tries} times: run the same command again"
            yield self._end(trip, lambda: trip.errand.fail(line))
        else:
            if isinstance(part, Arrived):
                self.fetched[part.node] = self.fetched.get(part.node, 0) + part.fetched
            else:
                trip.errand.receive(part)

    def _end(self, trip: _Trip, make_result: Callable[[], Any]) -> Any:
        try:
            return make_result()
        finally:
            trip.errand.close()

    def _cancel(self, streams: Iterable[Any]) -> None:
        """Take back items, so that they do not hold the nodes, if they do not end with the connection.

        Ray 2.60 may abort this process if an item ends at the moment when it is cancelled.
        """
        if not self._owns_connection:
            for stream in streams:
                with suppress(Exception):  # the item may have ended meanwhile
                    self._ray.cancel(stream, force=True)

    def _fail_all(self, trips: dict[Any, _Trip], waiting: deque[Any]) -> Iterator[Any]:
        """The results of all items that are left, where no node has room for them."""
        problem = describe_shortage(self.options.resources)
        for stream in list(trips):
            trip = trips.pop(stream)
            self._cancel([stream])
            yield self._end(trip, lambda trip=trip: trip.errand.fail(problem))  # type: ignore[misc]
        while waiting:
            yield Killed(waiting.popleft(), problem)


class _PlainErrand:
    """An item whose work is a plain function of it: only the item and the result travel."""

    def __init__(self, work: Work[Any, Any], item: Any) -> None:
        self.item = item
        self.contents: Mapping[str, Content] = {}
        self.work = _PlainWork(work, item)
        self.parts: list[Any] = []

    def begin(self) -> None:
        self.parts = []

    def receive(self, part: Any) -> None:
        self.parts.append(part)

    def finish(self) -> Any:
        return self.parts[-1]

    def fail(self, problem: str) -> Killed[Any]:
        return Killed(self.item, problem)

    def close(self) -> None:
        """Nothing is held."""


@dataclass(frozen=True)
class _PlainWork:
    work: Work[Any, Any]
    item: Any

    def __call__(self, _files: Mapping[str, Path], _folder: Path) -> Iterator[Any]:
        yield self.work(self.item)


EXECUTOR = ExecutorKind(
    "ray",
    "the nodes of a Ray cluster",
    RayExecutor,
    map_on_cluster,
    keep_on_cluster,
    is_cluster=True,
)
