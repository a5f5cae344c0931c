"""The connection to a Ray cluster: where it is, what room its nodes have, and what became of lost work.

Ray is imported only when it is used.
"""

from __future__ import annotations

import logging
import os
import platform
import re
import signal
import socket
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from tempfile import TemporaryFile
from threading import Event, Thread, current_thread, main_thread
from typing import Any

from nikawa.errors import BadInput, missing_extra
from nikawa.execute.base import Resources, limit_future_threads, limit_threads
from nikawa.version import __version__

MAX_RETRIES = 3
"""How often an item is sent again after its node died."""
REPORT_SECONDS = 1.0
"""Between two reports of progress."""
NODE_PATIENCE_SECONDS = 120.0
"""How long items wait for a node that has room for them."""
CONNECT_SECONDS = 5.0
GONE_SECONDS = 20.0
"""How long the first node of a cluster may be silent before the cluster counts as gone."""
BLOCKED_SECONDS = 35.0
"""How long the first node may be silent before the process ends itself; Ray would end it after a minute."""
ANSWER_SECONDS = 30.0
"""How long nodes may take to say which version they have."""
LEVEL_VARIABLE = "RAY_BACKEND_LOG_LEVEL"
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

    An empty address means the cluster that this machine belongs to, or if it belongs to no cluster, one that is started for
    this block on this machine.
    Raises BadInput if there is no cluster at the address, and if a node that has CPUs has another version of this package.
    """
    ray = import_ray()
    if ray.is_initialized():
        yield ray
        return
    chosen = address
    if chosen in ("", "auto"):
        chosen = os.environ.get("RAY_ADDRESS", "auto")
    if chosen == "auto":
        chosen = find_cluster(ray) or address
    check_address(chosen)
    if chosen.startswith(LOOPBACK):
        # otherwise Ray takes this machine's address in the network, where such a cluster does not listen
        ray._private.ray_constants.ENABLE_RAY_CLUSTER = False
    try:
        if ":" in chosen and "://" not in chosen:
            check_token(ray, chosen)
        start_ray(ray, chosen or "auto")
    except ray.exceptions.AuthenticationError:
        raise wrong_token(chosen or "auto") from None
    except (ConnectionError, RuntimeError, ValueError) as problem:
        if "Version mismatch" in str(problem):
            raise other_ray(ray, chosen or "auto", str(problem)) from None
        if chosen or not isinstance(problem, ConnectionError):
            raise no_cluster(chosen or "auto") from None
        start_ray(ray, "local")
    try:
        with end_if_blocked(ray.get_runtime_context().gcs_address):
            check_versions(ray)
            yield ray
    finally:
        ray.shutdown()


def find_cluster(ray: Any) -> str:
    """The address of a cluster that a process of Ray on this machine belongs to; empty: no process does.

    Ray itself would look for it at this machine's address in the network, for half a minute, also if it listens on 127.0.0.1 only.
    """
    services = ray._private.services
    running = services.find_gcs_addresses()
    latest = services.find_bootstrap_address(None)
    return str(latest if latest in running else next(iter(sorted(running)), ""))


def check_address(address: str) -> None:
    """Refuse an address where nothing listens, or something else than Ray, such as its dashboard: Ray would try for minutes."""
    host, _, port = address.rpartition(":")
    if address in ("", "auto", "local") or "://" in address:
        return
    try:
        with socket.create_connection((host.strip("[]"), int(port)), CONNECT_SECONDS) as server:
            if os.environ.get("RAY_USE_TLS", "0") == "0" and not speaks_http2(server):
                raise no_cluster(address)
    except (OSError, ValueError, OverflowError):
        raise no_cluster(address) from None


def check_token(ray: Any, address: str) -> None:
    """Raise the `AuthenticationError` of Ray where the token is missing or wrong; `ray.init` would try for 20 seconds."""
    from ray._private.authentication.authentication_token_setup import ensure_token_if_auth_enabled

    ensure_token_if_auth_enabled(create_token_if_missing=False)
    ray._raylet.GcsClient(address=address)


def speaks_http2(server: socket.socket) -> bool:
    """Whether a server answers as those of gRPC do, which Ray uses: with a frame of settings."""
    server.sendall(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes((0, 0, 0, 4, 0, 0, 0, 0, 0)))
    head = b""
    while len(head) < 4 and (more := server.recv(4 - len(head))):
        head += more
    return head[3:] == b"\x04"


def no_cluster(address: str) -> BadInput:
    """The error for an address without a cluster."""
    what = "there is no Ray cluster that this machine belongs to"
    if address != "auto":
        what = f"there is no Ray cluster at {address}"
    cure = "start one (ray start --head), or pass --address HOST:PORT of one that runs"
    return BadInput(what, cure=cure)


def wrong_token(address: str) -> BadInput:
    """The error for a cluster whose token is not sent: Ray sends it to an address only if `RAY_AUTH_MODE` says so."""
    what = f"the token for the Ray cluster at {address} is missing or wrong"
    cure = "set RAY_AUTH_MODE=token, and copy ~/.ray/auth_token from the machine that started it"
    return BadInput(what, cure=cure)


def other_ray(ray: Any, address: str, problem: str) -> BadInput:
    """The error for a cluster that was started with another version of Ray or Python; Ray's message names first the cluster's."""
    theirs = ", ".join(re.findall(r"(?:Ray|Python): [\w.+]+", problem)[:2])
    what = f"the Ray cluster at {address} has {theirs or 'another version of Ray'}"
    ours = f"Ray {ray.__version__} and Python {platform.python_version()}"
    return BadInput(what, cure=f"start it with those of the command: {ours}")


def check_versions(ray: Any) -> None:
    """Ask every node that has CPUs for its version of this package, before any work is sent.

    A node that does not answer is left to its fate; each item asks again (`refuse_other_version`), for nodes may come later.
    """
    from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

    def read_version() -> str:  # inside, so that it travels whole: another version need not have it
        from nikawa.version import __version__ as version

        return version

    task = ray.remote(read_version)
    answers = {}
    for node in ray.nodes():
        if node["Alive"] and node["Resources"].get("CPU"):
            there = NodeAffinitySchedulingStrategy(node["NodeID"], soft=False)
            options = {"num_cpus": 0, "max_retries": 0, "scheduling_strategy": there}
            answers[task.options(**options).remote()] = node["NodeManagerAddress"]
    ready, _ = (
        ray.wait(list(answers), num_returns=len(answers), timeout=ANSWER_SECONDS)
        if answers
        else ([], [])
    )
    for answer in ready:
        try:
            refuse_other_version(ray.get(answer), __version__, f"the node {answers[answer]}")
        except ray.exceptions.RayTaskError as problem:
            raise find_cause(problem) from None
        except ray.exceptions.RayError:
            continue


def start_ray(ray: Any, address: str) -> None:
    """Connect to a cluster, or start a `local` one that other machines cannot reach; neither writes to the terminal."""
    local = {"include_dashboard": False, "_node_ip_address": "127.0.0.1"}
    quiet = {"log_to_driver": False, "logging_level": logging.CRITICAL}
    with keep_termination():
        if address == "local":
            ray.init(address=address, **quiet, **local)
        else:
            with silence_backend():
                ray.init(address=address, **quiet)
    # It prints the trouble of nodes on stdout, where a command may print JSON. The report says what became of the items.
    ray._private.worker.print_to_stdstream = lambda *_args, **_options: None


@contextmanager
def keep_termination() -> Iterator[None]:
    """Let SIGTERM do what it did before Ray was started: Ray would print the stack of its own code, and abort."""
    if current_thread() is not main_thread():
        yield
        return
    before = signal.getsignal(signal.SIGTERM)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_DFL if before is None else before)


@contextmanager
def silence_backend() -> Iterator[None]:
    """Connect with a Ray that writes no errors to stderr, where a command has one line: what befell the items is in the report.

    Its backend reads the level of its log when it connects, and says so on stderr. A level that the user set stays.
    """
    if LEVEL_VARIABLE in os.environ:
        yield
        return
    os.environ[LEVEL_VARIABLE] = "fatal"
    try:
        with TemporaryFile() as written:
            before = os.dup(2)
            os.dup2(written.fileno(), 2)
            try:
                yield
            finally:
                os.dup2(before, 2)
                os.close(before)
            written.seek(0)
            for line in written:
                if LEVEL_VARIABLE.encode() not in line:
                    os.write(2, line)
    finally:
        del os.environ[LEVEL_VARIABLE]


def count_places(ray: Any, resources: Resources) -> tuple[int, int]:
    """The nodes that have room for an item, and the items they have room for at a time.

    Raises BadInput if the cluster is gone.
    """
    wait_for_head(ray.get_runtime_context().gcs_address)
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


def wait_for_head(address: str) -> None:
    """Wait until the first node of the cluster answers. Raises BadInput if it does not for `GONE_SECONDS`.

    Ray itself would end this process after a minute, wherever it is.
    """
    end = time.monotonic() + GONE_SECONDS
    while not answers(address):
        if time.monotonic() > end:
            raise cluster_gone(address)
        time.sleep(REPORT_SECONDS)


def answers(address: str) -> bool:
    """Whether a server listens at an address."""
    host, _, port = address.rpartition(":")
    try:
        socket.create_connection((host.strip("[]"), int(port)), CONNECT_SECONDS).close()
    except OSError:
        return False
    return True


def cluster_gone(address: str) -> BadInput:
    """The error for a cluster that answered before."""
    what = f"the Ray cluster at {address} does not answer any more"
    return BadInput(what, cure="start it, and run the same command again")


@contextmanager
def end_if_blocked(address: str) -> Iterator[None]:
    """End this process with one line if the cluster is gone and the block does not notice it.

    Some calls of Ray wait for the first node, and no exception reaches them. Ray would end the process too, with a line of its log.
    """
    is_over = Event()

    def watch() -> None:
        answered_at = time.monotonic()
        while not is_over.wait(REPORT_SECONDS):
            if answers(address):
                answered_at = time.monotonic()
            elif time.monotonic() > answered_at + BLOCKED_SECONDS and not is_over.is_set():
                sys.stderr.write(f"nikawa: {cluster_gone(address)}\n")
                sys.stderr.flush()
                os._exit(2)

    watcher = Thread(target=watch, daemon=True)
    watcher.start()
    try:
        yield
    finally:
        is_over.set()
        watcher.join(REPORT_SECONDS)  # it may be asking just now


def task_options(resources: Resources) -> dict[str, Any]:
    """The resources as Ray takes them."""
    memory = {"memory": resources.memory} if resources.memory else {}
    return {"num_cpus": resources.cpus, "num_gpus": resources.gpus or 0, **memory}


def refuse_other_version(of_node: str, of_command: str, node: str = "a node") -> None:
    """Refuse a node with another version than the command has: it might read what travels in another way."""
    if of_node != of_command:
        what = f"{node} has nikawa {of_node}, and the command runs {of_command}"
        raise BadInput(what, cure=f"install nikawa {of_command} on every node")


@contextmanager
def keep_to_threads(count: int) -> Iterator[None]:
    """Limit numerical libraries in this process to so many threads, whether they are loaded already or not."""
    with limit_threads(count), limit_future_threads(count):
        yield


def find_cause(problem: Any) -> Exception:
    """The error of a function, as it was raised on a node."""
    cause: Exception = problem.cause if isinstance(problem.cause, Exception) else problem
    text = str(cause)
    is_unread = type(cause).__name__ == "RaySystemError" and "nikawa" in text
    if (is_unread and ("ImportError" in text or "ModuleNotFoundError" in text)) or (
        isinstance(cause, RuntimeError) and "failed to import on the worker" in text
    ):
        cure = f"install nikawa {__version__} on every node, in the environment that starts Ray"
        return BadInput("a node cannot import nikawa", cure=cure)
    return cause


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
