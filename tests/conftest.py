"""Where the published data is, for the tests that use it: `NIKAWA_SHARED`, else a folder beside the checkout."""

from __future__ import annotations

import gc
import io
import json
import os
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any
from urllib.parse import unquote

import pytest
import typer
import typer.main
import typer.testing
from hypothesis import HealthCheck, settings

# a busy machine is slow; a test is no worse for it
settings.register_profile("suite", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("suite")

if "PYTEST_XDIST_WORKER" in os.environ:
    # Each core has its test process: more threads or processes would only wait. A job that takes all cores takes one,
    # so it starts no processes of its own; tests of several processes pass their number.
    os.environ.update(dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1"))
    setattr(os, "sched_getaffinity", lambda _: {0})  # noqa: B010  (mypy sees two functions)


_build_tree = typer.main.get_command
_trees: dict[Any, Any] = {}


def _list_callbacks(app: typer.Typer) -> tuple[Any, ...]:
    """Names and functions of all commands of an application: equal ones have equal trees."""
    return (
        app.info.name,
        *((command.name, command.callback) for command in app.registered_commands),
        *(
            (g.name, _list_callbacks(g.typer_instance))
            for g in app.registered_groups
            if g.typer_instance
        ),
    )


def _get_tree(typer_instance: typer.Typer) -> Any:
    """The tree of commands of an application, built once a process: it takes 0.1 s, several thousand times."""
    key = _list_callbacks(typer_instance)
    if key not in _trees:
        _trees[key] = _build_tree(typer_instance)
    return _trees[key]


# before the command line takes it
for _module, _name in ((typer.main, "get_command"), (typer.testing, "_get_command")):
    setattr(_module, _name, _get_tree)


def _shared() -> Path:
    given = os.environ.get("NIKAWA_SHARED")
    return Path(given) if given else Path(__file__).parents[2] / "shared"


def pytest_xdist_auto_num_workers() -> int:
    """One process more than cores for `-n auto`: a fifth of the time tests wait for a browser, a server or a child."""
    return len(os.sched_getaffinity(0)) + 1


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Long tests first, so that no process is left alone with one at the end.

    Those that share the cluster are before all others: the first process begins with them, and what others take over from it is
    at the end of its list, so that one cluster is started however many processes there are.
    """
    items.sort(
        key=lambda item: (
            "cluster" not in getattr(item, "fixturenames", ()),
            item.get_closest_marker("longest") is None,
            item.get_closest_marker("slow") is None,
        )
    )


def pytest_configure() -> None:
    """Search for garbage less often: a tenth of all seconds went there, since packs and dictionaries stay loaded."""
    gc.set_threshold(20_000, 10, 50)


def pytest_collection_finish() -> None:
    """Keep what collecting made out of every later search for garbage: most of it lives to the end."""
    gc.freeze()


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of published datasets; tests that ask for it are skipped where it is absent."""
    folder = _shared() / "data"
    if not folder.is_dir():
        pytest.skip("no published data here: set NIKAWA_SHARED to a folder that holds data/")
    return folder


@pytest.fixture(scope="session")
def shared_corpus() -> Path:
    """The folder of source text; tests that ask for it are skipped where it is absent."""
    folder = _shared() / "corpus"
    if not folder.is_dir():
        pytest.skip("no source text here: set NIKAWA_SHARED to a folder that holds corpus/")
    return folder


@pytest.fixture(scope="session")
def _no_data(tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(tmp_path_factory.getbasetemp() / "no-data")


@pytest.fixture(autouse=True)
def _no_user_data(monkeypatch: pytest.MonkeyPatch, _no_data: str) -> None:
    """No test sees the data folder of the person who runs it."""
    monkeypatch.delenv("NIKAWA_DATA", raising=False)
    monkeypatch.setenv("XDG_DATA_HOME", _no_data)


@pytest.fixture(autouse=True)
def _broken_pipes_ignored() -> Iterator[None]:
    """Fail the test that leaves SIGPIPE as `main` sets it: a later test would end with the client that it kills."""
    before = signal.getsignal(signal.SIGPIPE)
    yield
    after = signal.signal(signal.SIGPIPE, before)
    assert after == before, "this test leaves SIGPIPE changed; put it back"


@contextmanager
def _as_process(words: tuple[str, ...], env: dict[str, str]) -> Iterator[None]:
    """Words and environment as a process of its own would have them; what `main` changes is put back."""
    pipe = signal.getsignal(signal.SIGPIPE)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "argv", ["nikawa", *words])
        patch.setattr(sys.modules["__main__"], "__package__", "")  # else usage lines name pytest
        for name, value in {"NO_COLOR": "1", "COLUMNS": "100", **env}.items():
            patch.setenv(name, value)
        try:
            yield
        finally:
            signal.signal(signal.SIGPIPE, pipe)


@pytest.fixture
def nikawa() -> Callable[..., CompletedProcess[str]]:
    """Run the command as a process would, in this one: a start costs ten times what most commands do."""
    from nikawa.cli import main

    def run(*words: str, **env: str) -> CompletedProcess[str]:
        out, err = (io.TextIOWrapper(io.BytesIO(), "utf-8", newline="\n") for _ in range(2))
        with _as_process(words, env), redirect_stdout(out), redirect_stderr(err):
            with pytest.raises(SystemExit) as ended:
                main()
            out.flush()
            err.flush()
        said = (stream.buffer.getvalue().decode() for stream in (out, err))
        return CompletedProcess(words, int(ended.value.code or 0), *said)

    return run


@pytest.fixture
def reached() -> Callable[[Path, str], Any]:
    """What is at a source, `FILE#/pointer`, seen from a folder."""

    def follow(folder: Path, place: str) -> Any:
        file, _, pointer = place.partition("#")
        found = json.loads((folder / unquote(file)).read_bytes())
        for step in pointer.split("/")[1:]:
            key = unquote(step).replace("~1", "/").replace("~0", "~")
            found = found[int(key)] if isinstance(found, list) else found[key]
        return found

    return follow


@pytest.fixture
def set_limit(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str, str], None]]:
    """Sets a limit of the readers, by its environment variable, for one test."""
    from nikawa.io.limits import read_limits

    def set_one(variable: str, value: str) -> None:
        monkeypatch.setenv(variable, value)
        read_limits.cache_clear()

    yield set_one
    monkeypatch.undo()
    read_limits.cache_clear()
