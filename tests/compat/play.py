"""How the oracle runs the command line, and what it leaves out of what it sees: times, versions, places.

Nothing here knows a module of Nikawa: a command is what `python -m nikawa` does, in this process for speed.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import re
import runpy
import shlex
import shutil
import signal
import sys
import tarfile
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, redirect_stderr, redirect_stdout, suppress
from pathlib import Path
from typing import Any, NamedTuple

import nikawa

HERE = Path(__file__).parent
MATERIAL = HERE / "material"
STORED = HERE / "stored"
DIGITS = 9
"""Digits of a number that count; the last ones depend on the processor."""

Recorded = dict[str, Any]


class Done(NamedTuple):
    """How a command ended and what it said."""

    status: int
    out: str
    err: str


@contextmanager
def _as_process(words: tuple[str, ...], folder: Path, env: Mapping[str, str]) -> Iterator[None]:
    """Words, folder and environment as a process of its own would have them; all is put back."""
    before, argv, place = dict(os.environ), sys.argv, Path.cwd()
    pipe = signal.getsignal(signal.SIGPIPE)
    for name in [name for name in os.environ if name.startswith("NIKAWA_")]:
        del os.environ[name]
    os.environ.update(
        {"NO_COLOR": "1", "COLUMNS": "100", "XDG_DATA_HOME": str(folder / ".none"), **env}
    )
    sys.argv = ["nikawa", *words]
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(place)
        sys.argv = argv
        os.environ.clear()
        os.environ.update(before)
        signal.signal(signal.SIGPIPE, pipe)


def command(folder: Path, *words: str, **env: str) -> Done:
    """Run `python -m nikawa WORDS` in a folder, inside this process: a start costs more than most commands."""
    out, err = (io.TextIOWrapper(io.BytesIO(), "utf-8", newline="\n") for _ in range(2))
    status: object = 0
    with (
        _as_process(words, folder, env),
        redirect_stdout(out),
        redirect_stderr(err),
        warnings.catch_warnings(),
    ):
        warnings.simplefilter(
            "ignore"
        )  # a process shows none of ours either; the oracle is about what is written
        try:
            runpy.run_module("nikawa", run_name="__main__")
        except SystemExit as ended:
            status = ended.code or 0
        out.flush()
        err.flush()
    said = [stream.buffer.getvalue().decode() for stream in (out, err)]
    return Done(int(str(status)), *said)


def said(folder: Path, line: str, **env: str) -> Done:
    """Run a command as it is typed, without the word nikawa."""
    return command(folder, *shlex.split(line), **env)


def sheet(folder: Path) -> Path:
    """Put the material of the scenes into a folder and return it."""
    shutil.copytree(MATERIAL, folder, dirs_exist_ok=True)
    return folder


def unpacked(name: str, folder: Path) -> Path:
    """Put what the version before stored under a name into a folder and return it."""
    with tarfile.open(STORED / f"{name}.tar.xz") as archive:
        archive.extractall(folder, filter="data")
    return folder


def _copied(folder: Path, step: str) -> Done:
    """`cp FROM TO` of a scene: what a person puts into a folder by hand."""
    _, source, target = shlex.split(step)
    shutil.copyfile(folder / source, folder / target)
    return Done(0, "", "")


# --- what is left out -------------------------------------------------------------------------------------------

_TIME = re.compile(r"20\d\d-\d\d-\d\d[T ]\d\d:\d\d(:\d\d)?(\.\d+)?(Z|\+00:00| UTC)?")
_VERSION = re.compile(r"(nikawa(?:[\"':= ]|==|/)+v?)\d+\.\d+\.\d+[\w.+-]*")
_NUMBER = re.compile(r"-?\d+\.\d{6,}(?:[eE][-+]?\d+)?")
_TOKEN = re.compile(r"/w/[\w-]{16,}")
_HASHED = re.compile(r'("(?:sha256|contentSize)":\s*")[^"]*')
_PACKAGES = re.compile(r'("packages":\s*)\{[^{}]*\}')
_PYTHON = re.compile(r'("python":\s*)"[^"]*"')
_INSIDE = re.compile(re.escape(str(Path(nikawa.__file__).parent)) + r"(?:/[\w.-]+)*")
UNSTABLE = frozenset({"started", "ended", "created", "last", "process", "password", "bytes"})
"""Keys whose values tell when, how large or a secret."""

PROSE = frozenset(
    {"title", "about", "note", "notes", "what", "makes", "remarks", "difference", "en"}
)
"""Keys whose English sentences are for people: their words may change, that there are some may not."""


def _shipped(found: re.Match[str]) -> str:
    """A file or folder of the package: its modules move, so only a file's own name is kept."""
    last = found.group().rpartition("/")[2]
    return f"PACKAGE/{last}" if "." in last else "PACKAGE"


def _rounded(found: re.Match[str]) -> str:
    return f"{float(found.group()):.{DIGITS}g}"


def plain_text(text: str, folder: Path) -> str:
    """A text without what differs from day to day and place to place; numbers to nine digits."""
    text = text.replace(str(folder.resolve()), "FOLDER").replace(str(folder), "FOLDER")
    text = _INSIDE.sub(_shipped, text)
    text = _TOKEN.sub("/w/TOKEN", _VERSION.sub(r"\1VERSION", _TIME.sub("TIME", text)))
    text = _PYTHON.sub(r'\1"LEFT OUT"', _PACKAGES.sub(r'\1"LEFT OUT"', text))
    return _NUMBER.sub(_rounded, _HASHED.sub(r"\1LEFT OUT", text))


def plain(value: Any, folder: Path, unstable: frozenset[str] = UNSTABLE, key: str = "") -> Any:
    """The same of what was read from JSON; `key` is the one the value stands under."""
    if key == "nikawa" or (key in unstable and not isinstance(value, dict)):
        return "LEFT OUT"
    if isinstance(value, dict):
        if not key and all(isinstance(part, str) for part in value.values()):
            return dict.fromkeys(value, "WORDS")  # a list of ways, each with its sentence
        return {name: plain(part, folder, unstable, name) for name, part in value.items()}
    if isinstance(value, list):
        parts = [plain(part, folder, unstable, key or "item") for part in value]
        return (
            sorted(parts)
            if key == "tags" and all(isinstance(part, str) for part in parts)
            else parts
        )
    return _plain_value(value, folder, key)


def _plain_value(value: Any, folder: Path, key: str) -> Any:
    if isinstance(value, float):
        return float(f"{value:.{DIGITS}g}")
    if not isinstance(value, str):
        return value
    sentence = key in PROSE and value.count(" ") >= 3 and value.isascii()
    return "WORDS" if sentence else plain_text(value, folder)


# --- what is on the disk ----------------------------------------------------------------------------------------

_PACKED = (".zst", ".gz", ".parquet", ".db", ".safetensors", ".npz", ".npy", ".index")
_PROSE = (".md", ".html", ".svg", ".tex")
"""Written for people: their words may change, that they are there may not."""
_OTHERS = (
    "about.json",
    "done.json",
    "lock",
    ".lock",
    "secret.key",
    "owner.key",
    ".nikawa-export.json",
)
"""What tells times, a secret, or digests of bytes that hang on the processor or on another library."""


def digest(path: Path, folder: Path) -> str:
    """The SHA-256 of a file without what is left out, or that it is there where only that can be told."""
    if (
        path.name in _OTHERS
        or path.name.startswith("nameless")
        or path.suffix in _PROSE
        or path.suffix in _PACKED
    ):
        return "present"
    raw = path.read_bytes()
    with suppress(UnicodeDecodeError):
        raw = plain_text(raw.decode(), folder).encode()
    return hashlib.sha256(raw).hexdigest()


def digests(folder: Path) -> dict[str, str]:
    """Every file below a folder with its digest."""
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix(): digest(path, folder) for path in files}


# --- scenes -----------------------------------------------------------------------------------------------------


class Scene(NamedTuple):
    """Commands that are given one after the other in one folder, and the packages they need."""

    steps: tuple[str, ...]
    needs: tuple[str, ...] = ()
    varying: tuple[str, ...] = ()
    """Further keys of its JSON whose values may change, such as the number of patterns in a pack that grows."""
    start: str = ""
    """The archive in stored/ that it starts from; else from the material."""


def played(scene: Scene, folder: Path) -> Iterator[tuple[str, Recorded, dict[str, str]]]:
    """Each command of a scene: what it answered (status, JSON), and the digests of what it wrote or changed."""
    if scene.start:
        unpacked(scene.start, folder)
    else:
        sheet(folder)
    before = digests(folder)
    for step in scene.steps:
        done = said(folder, step) if not step.startswith("cp ") else _copied(folder, step)
        answer: Recorded = {"status": done.status}
        if done.out.strip() and done.status in (0, 1) and "--json" in step:
            answer["json"] = plain(json.loads(done.out), folder, UNSTABLE | set(scene.varying))
        after = digests(folder)
        changed = {name: found for name, found in after.items() if before.get(name) != found}
        changed |= {name: "gone" for name in before if name not in after}
        before = after
        if done.status not in (0, 1):
            answer["said"] = done.err  # never wanted: seen when the recording is made
        yield step, answer, changed
