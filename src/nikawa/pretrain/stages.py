"""Stages that run once: one folder each, with a marker next to it that records its inputs.

The marker is written last, so a stage that was killed has none and is made again from the start.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from hashlib import blake2b, file_digest
from pathlib import Path
from typing import Any

import msgspec

from nikawa.errors import BadInput
from nikawa.io.atomic import atomic_write
from nikawa.io.file_names import refuse_outside
from nikawa.io.json import encode_json
from nikawa.io.lines import open_packed, read_bytes
from nikawa.io.locks import lock_folder

STAGES = TEXT, VOCABULARY, PACK = "text", "tokenizer", "pack"
STATE, WORK = "state", "work"
REQUIRED_FILES = {VOCABULARY: "tokenizer.json", PACK: "train/pack.json"}
"""Files without which a stage is not there; of the text only its folder, once it was packed."""
_END_BYTES = 1 << 20
"""Bytes at either end of a file that stand for it."""


class Marker(msgspec.Struct, frozen=True):
    """What a stage was made from."""

    key: str
    made_from: dict[str, Any]
    contents: tuple[str, ...] = ()
    """A hash of each file, from end to end."""


def fingerprint(path: Path) -> str:
    """What identifies a file: its size and both its ends. A copy has the same."""
    try:
        size = path.stat().st_size
        with open_packed(path) as stream:
            ends = stream.read(_END_BYTES)
            stream.seek(max(0, size - _END_BYTES))
            ends += stream.read(_END_BYTES)
    except FileNotFoundError:
        raise BadInput("no such file", file=path, cure="check the path") from None
    return f"{size}:{blake2b(ends, digest_size=12).hexdigest()}"


def hash_content(path: Path) -> str:
    """A hash of a file's whole content."""
    with open_packed(path) as stream:
        return file_digest(stream, partial(blake2b, digest_size=12)).hexdigest()


def hash_settings(made_from: dict[str, Any]) -> str:
    """The key of settings: the same for the same values, in any order."""
    encoded = msgspec.json.encode(made_from, order="deterministic")
    return blake2b(encoded, digest_size=12).hexdigest()


class PackCounts(msgspec.Struct):
    """The counts in the description of packed text."""

    pieces: int
    words: int


def read_result(path: Path, kind: Any) -> Any:
    """What a stage wrote, as JSON; None where it is not there."""
    if not path.is_file():
        return None
    try:
        return msgspec.json.decode(read_bytes(path), type=kind)
    except (msgspec.MsgspecError, RecursionError) as problem:
        cure = "remove its folder: the stage then runs again"
        raise BadInput(f"cannot be read ({problem})", file=path, cure=cure) from None


@contextmanager
def lock_work(out: Path) -> Iterator[None]:
    """Lock the folder of the stages for this process: two runs in one folder would undo each other's
    work.

    Where nothing comes of the run, folders that were made for it go again.
    """
    work = out / WORK
    cure = "wait for it, or choose another --out"
    busy = BadInput("another process is working in this folder", file=out, cure=cure)
    misplaced = BadInput("is a file, or a path inside one", file=out, cure="choose another --out")
    with lock_folder(work, busy=busy, misplaced=misplaced):
        yield


@dataclass(frozen=True)
class Stages:
    """The stages below one folder."""

    work: Path
    overwrite: bool = False

    def folder(self, name: str) -> Path:
        """Where a stage is."""
        return self.work / name

    def marker(self, name: str) -> Marker | None:
        """What a finished stage was made from; None where it is not finished."""
        path = self.work / f"{name}.json"
        if not path.is_file() or not (self.folder(name) / REQUIRED_FILES.get(name, "")).exists():
            return None
        try:
            return msgspec.json.decode(read_bytes(path), type=Marker)
        except (msgspec.MsgspecError, RecursionError):
            cure = "remove it: the stage then runs again"
            raise BadInput("is not a stage marker", file=path, cure=cure) from None

    def make(
        self,
        name: str,
        made_from: dict[str, Any],
        build: Callable[[Path], object],
        files: Sequence[Path] = (),
    ) -> str:
        """Build a stage unless it is there; returns its key.

        One made from something else is replaced only with `overwrite`.

        `build` fills the folder it is called with. `files` are what the stage is made from: where
        one was edited since, the stage is another.
        """
        for path in (self.folder(name), self.work / f"{name}.json"):
            refuse_outside(path, self.work.parent)
        marker, key = self.marker(name), hash_settings(made_from)
        is_edited = marker is not None and self._is_edited(name, marker, files)
        if marker is not None and marker.key == key and not is_edited:
            return key
        if marker is not None and not self.overwrite:
            changed = sorted(k for k in made_from if made_from[k] != marker.made_from.get(k))
            # only a masked model needs to know where words are
            other = ["segmenter or objective" if k == "words" else k for k in changed]
            if not other:
                other = ["corpus" if is_edited else "version"]
            what = f"was made with a different {' and '.join(other)}"
            cure = "choose another --out, or pass --overwrite"
            raise BadInput(what, file=self.folder(name), cure=cure)
        new_marker = Marker(key, made_from, tuple(map(hash_content, files)))
        if marker is None:
            shutil.rmtree(self.folder(name), ignore_errors=True)
            build(self.folder(name))
        else:
            self._replace(name, build)
        with atomic_write(self.work / f"{name}.json", overwrite=True) as stream:
            stream.write(encode_json(new_marker) + b"\n")
        return key

    def _replace(self, name: str, build: Callable[[Path], object]) -> None:
        """Build a stage again; the old result stays until there is a new one to take its
        place.
        """
        folder, new = self.folder(name), self.work / f"{name}.new"
        shutil.rmtree(new, ignore_errors=True)
        build(new)
        for later in STAGES[STAGES.index(name) :]:
            (self.work / f"{later}.json").unlink(missing_ok=True)
        shutil.rmtree(folder)
        new.rename(folder)

    def _is_edited(self, name: str, marker: Marker, files: Sequence[Path]) -> bool:
        """Whether a file was written to since, and has other content: its ends may
        be the same.
        """
        made = (self.work / f"{name}.json").stat().st_mtime_ns
        for path, content in zip(files, marker.contents, strict=False):  # earlier markers have none
            if path.stat().st_mtime_ns > made and hash_content(path) != content:
                return True
        return False
