"""Items and chunks on the machines of a Ray cluster: `--executor ray`.

Ray starts processes on the nodes and moves values between them. What Nikawa adds: contents travel by hash, once per node
(`contents.py`); results come back in bounded parts and are written by the process that sent the work; an item whose node dies is
sent again, at most `MAX_RETRIES` times. Nothing here needs a disk that the machines share.

Ray is imported only when it is used.
"""

from __future__ import annotations

import logging
import os
import shutil
import socket
import tempfile
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import chdir, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

from nikawa.errors import BadInput, missing_extra
from nikawa.execute.base import (
    Content,
    Errand,
    ExecuteOptions,
    ExecutorKind,
    Killed,
    ProgressMeter,
    Resources,
    TravellingWork,
    Work,
    limit_future_threads,
    limit_threads,
)
from nikawa.execute.contents import ContentSender, SentContent, fetch_content, node_folder
from nikawa.version import __version__

MAX_RETRIES = 3
"""How often an item is sent again after its node died."""
QUEUE_AHEAD = 2
"""Items that are sent per place in the cluster: one under way, one that is ready when it ends."""
REPORT_SECONDS = 1.0
"""Between two reports of progress."""
NODE_PATIENCE_SECONDS = 120.0
"""How long items wait for a node that has room for them."""
PARTS_AHEAD = 4
"""Parts of a result that a node may send before they are taken."""
CONNECT_SECONDS = 5.0
LOOPBACK = ("127.", "localhost", "[::1]")


def import_ray() -> Any:
    """The package `ray`, quiet and without telemetry; raises MissingExtra where it is not installed."""
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    try:
        import ray
    except ImportError:
        raise missing_extra("the package 'ray'", "cluster") from None
    return ray


@contextmanager
def connect(address: str) -> Iterator[Any]:
    """Ray, connected to a cluster while the block runs; a connection that the caller opened before is used and kept.

    An empty address means the cluster that this machine belongs to, or, where there is none, one that is started for
    this block on this machine.
    Raises BadInput if there is no cluster at the address.
    """
    ray = import_ray()
    if ray.is_initialized():
        yield ray
        return
    chosen = address or os.environ.get("RAY_ADDRESS", "")
    check_address(chosen)
    if chosen.startswith(LOOPBACK):
        # otherwise Ray takes this machine's address in the network, where such a cluster does not listen
        ray._private.ray_constants.ENABLE_RAY_CLUSTER = False
    try:
        start_ray(ray, chosen or "auto")
    except (ConnectionError, RuntimeError, ValueError) as problem:
        if chosen or not isinstance(problem, ConnectionError):
            raise no_cluster(chosen or "auto") from None
        start_ray(ray, "local")
    try:
        yield ray
    finally:
        ray.shutdown()


def check_address(address: str) -> None:
    """Refuse an address at which nothing listens: Ray itself would try for minutes."""
    host, _, port = address.rpartition(":")
    if address in ("", "auto", "local") or "://" in address:
        return
    try:
        with socket.create_connection((host.strip("[]"), int(port)), timeout=CONNECT_SECONDS):
            return
    except (OSError, ValueError, OverflowError):
        raise no_cluster(address) from None


def no_cluster(address: str) -> BadInput:
    """The error for an address without a cluster."""
    what = "there is no Ray cluster that this machine belongs to"
    if address != "auto":
        what = f"there is no Ray cluster at {address}"
    cure = "start one (ray start --head), or pass --address HOST:PORT of one that runs"
    return BadInput(what, cure=cure)


def start_ray(ray: Any, address: str) -> None:
    """Connect to a cluster, or start a `local` one that other machines cannot reach; neither writes to the terminal."""
    local = {"include_dashboard": False, "_node_ip_address": "127.0.0.1"}
    ray.init(
        address=address,
        log_to_driver=False,
        logging_level=logging.CRITICAL,
        **(local if address == "local" else {}),
    )
    # It prints the trouble of nodes on stdout, where a command may print JSON. The report says what became of the items.
    ray._private.worker.print_to_stdstream = lambda *_args, **_options: None


def count_places(ray: Any, resources: Resources) -> tuple[int, int]:
    """The nodes that have room for an item, and the items they have room for at a time."""
    needs = {"CPU": resources.cpus, "GPU": resources.gpus, "memory": resources.memory}
    needs = {name: amount for name, amount in needs.items() if amount}
    nodes = places = 0
    for node in ray.nodes():
        if node["Alive"]:
            there = node["Resources"]
            room = [int(there.get(name, 0) / amount + 1e-9) for name, amount in needs.items()]
            nodes += min(room, default=1) > 0
            places += min(room, default=1)
    return nodes, places


def task_options(resources: Resources) -> dict[str, Any]:
    """The resources as Ray takes them."""
    memory = {"memory": resources.memory} if resources.memory else {}
    return {"num_cpus": resources.cpus, "num_gpus": resources.gpus or 0, **memory}


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
    if version != __version__:
        what = f"a node has nikawa {__version__}, and the command runs {version}"
        raise BadInput(what, cure=f"install nikawa {version} on every node")
    folder = node_folder()
    files, fetched = {}, 0
    for name, sent in contents.items():
        files[name], size = fetch_content(sent, folder, ray.get)
        fetched += size
    yield Arrived(ray.get_runtime_context().get_node_id(), fetched)
    place = folder / "work"
    place.mkdir(mode=0o700, exist_ok=True)
    remove_leftovers(place)
    own = tempfile.TemporaryDirectory(prefix=f"{os.getpid()}@{socket.gethostname()}@", dir=place)
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


@contextmanager
def keep_to_threads(count: int) -> Iterator[None]:
    """Limit numerical libraries in this process to so many threads, whether they are loaded already or not."""
    with limit_threads(count), limit_future_threads(count):
        yield


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

    def __enter__(self) -> Self:
        self._connection = connect(self.options.address)
        self._ray = self._connection.__enter__()
        if self.options.resources.gpus is None and self._ray.cluster_resources().get("GPU"):
            self.__exit__()
            cure = "pass --gpus-per-run 1, a share of one such as 0.25, or 0 to use CPUs"
            raise BadInput("the cluster has GPUs, and the model can use one", cure=cure)
        self._sender = ContentSender(self._ray.put)
        return self

    def __exit__(self, *_: object) -> None:
        self._sender = None
        self._connection.__exit__(None, None, None)
        self._ray = None

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
            for stream, trip in trips.items():
                with suppress(Exception):  # the item may have ended meanwhile
                    self._ray.cancel(stream, force=True)
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
        task = self._ray.remote(do_errand).options(
            num_returns="streaming",
            max_retries=0,
            _generator_backpressure_num_objects=PARTS_AHEAD,
            **task_options(self.options.resources),
        )
        stream = task.remote(trip.errand.work, contents, self.options.threads, __version__)
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
            cause = problem.cause if problem.cause is not None else problem
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

    def _fail_all(self, trips: dict[Any, _Trip], waiting: deque[Any]) -> Iterator[Any]:
        """The results of all items that are left, where no node has room for them."""
        problem = describe_shortage(self.options.resources)
        for stream in list(trips):
            trip = trips.pop(stream)
            with suppress(Exception):
                self._ray.cancel(stream, force=True)
            yield self._end(trip, lambda trip=trip: trip.errand.fail(problem))  # type: ignore[misc]
        while waiting:
            yield Killed(waiting.popleft(), problem)


def describe_loss(problem: Exception) -> str:
    """What became of an item that a node lost, as the beginning of a sentence."""
    name = type(problem).__name__
    if name == "NodeDiedError":
        return "its node died"
    if name == "OutOfMemoryError":
        return "its node ran out of memory"
    return f"its process on the node ended ({name})"


def describe_shortage(resources: Resources) -> str:
    """Why no node takes an item."""
    needs = [f"{resources.cpus:g} CPU"]
    if resources.gpus:
        needs.append(f"{resources.gpus:g} GPU")
    if resources.memory:
        needs.append(f"{resources.memory / 2**30:.1f} GiB of memory")
    return f"no node of the cluster has {' and '.join(needs)}: start one and run the same command again"


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


def map_on_cluster(
    function: Callable[[Any], Any], chunks: Iterable[Any], options: ExecuteOptions, ahead: int
) -> Iterator[Any]:
    """`nikawa.execute.ordered.map_in_order` on a cluster; a chunk whose node dies is sent again, at most `MAX_RETRIES` times."""
    with connect(options.address) as ray:
        reference = ray.put(function)
        task = ray.remote(call_function).options(
            max_retries=MAX_RETRIES, **task_options(options.resources)
        )
        meter = ProgressMeter(0, options.on_progress)
        waiting: deque[Any] = deque()
        nodes, places = wait_for_places(ray, options)
        try:
            for chunk in chunks:
                waiting.append(task.remote([reference], chunk, options.threads))
                if len(waiting) >= ahead * places:
                    yield get_result(ray, waiting[0])
                    waiting.popleft()
                    meter.count()
                    nodes, room = count_places(ray, options.resources)
                    places = options.workers or max(1, room)
                    meter.report(nodes, min(len(waiting), places))
            while waiting:
                yield get_result(ray, waiting[0])
                waiting.popleft()
                meter.count()
                meter.report(nodes, min(len(waiting), places))
        finally:
            for one in waiting:
                with suppress(Exception):  # it may have ended meanwhile
                    ray.cancel(one, force=True)


def wait_for_places(ray: Any, options: ExecuteOptions) -> tuple[int, int]:
    """The nodes, and how many chunks they work on at a time. Raises BadInput if no node has room for one."""
    end = time.monotonic() + NODE_PATIENCE_SECONDS
    while True:
        nodes, places = count_places(ray, options.resources)
        if places:
            return nodes, options.workers or places
        if time.monotonic() > end:
            what, _, cure = describe_shortage(options.resources).partition(": ")
            raise BadInput(what, cure=cure)
        time.sleep(REPORT_SECONDS)


def get_result(ray: Any, reference: Any) -> Any:
    """The result of a chunk. An error of the function is raised as it was there; a lost node is a BadInput."""
    try:
        return ray.get(reference)
    except ray.exceptions.RayTaskError as problem:
        raise (problem.cause if isinstance(problem.cause, Exception) else problem) from None
    except ray.exceptions.RayError as problem:
        times = f"{describe_loss(problem)}, {MAX_RETRIES + 1} times"
        raise BadInput(f"a part of the work failed: {times}", cure="run it again") from None


_functions: dict[Any, Callable[[Any], Any]] = {}
"""The functions of this process by reference: each is fetched once, not with every chunk."""


def call_function(references: list[Any], chunk: Any, threads: int) -> Any:
    """Work on a chunk in a process of a node."""
    (reference,) = references
    if reference not in _functions:
        _functions.clear()
        _functions[reference] = import_ray().get(reference)
    with keep_to_threads(threads):
        return _functions[reference](chunk)


EXECUTOR = ExecutorKind(
    "ray", "the nodes of a Ray cluster", RayExecutor, map_on_cluster, is_cluster=True
)
