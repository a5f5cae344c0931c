"""A folder of shards: the records of one split or several in many files, listed by `shards.json`.

A stage that writes shards makes one file after the other. While it works, a mark (`remote.UNFINISHED`) is in the folder, and
readers refuse the files next to it. The mark is also the journal: its first line has the settings, each further line a shard that
is finished, with its counts and the hashes of its source and of its content. `shards.json` takes its place at the end. A stage that
was killed takes up the finished shards when the same command is started again.

The folder may be at an address. There, a shard appears when its upload ends, and the journal is an object that is written again, not
after each shard if that takes long: what a killed command finished since then is done again.
"""

from __future__ import annotations

import hashlib
import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from time import monotonic
from typing import Any, BinaryIO, TypeVar, cast

import msgspec

from nikawa.errors import BadInput
from nikawa.io.atomic import atomic_write, sync_folder
from nikawa.io.cards import CARD
from nikawa.io.file_names import check_file_names
from nikawa.io.json import encode_json, read_json
from nikawa.io.lines import describe_unfinished, open_packed, open_unfinished
from nikawa.io.locks import lock_folder
from nikawa.io.pipes import is_piped
from nikawa.io.remote import (
    MANIFEST,
    UNFINISHED,
    RemotePath,
    forget_known,
    list_inputs,
    to_path,
)
from nikawa.io.uploads import put_object, remove_objects
from nikawa.records import Record
from nikawa.version import __version__

SUFFIXES = (".gz", ".zst", ".xz", ".txt", ".jsonl", ".json", ".parquet", ".tsv")
"""What the name of a shard loses before it gets `.jsonl`."""
SHARE_FOR_JOURNAL = 0.05
"""Share of the time that may go into writing the journal at an address."""

Result = TypeVar("Result")


class Shard(Record, frozen=True, kw_only=True):
    """A finished shard."""

    name: str
    """Of its file."""
    split: str = ""
    """Empty where the folder has no splits."""
    source: str = ""
    source_hash: str = ""
    """SHA-256 of the source; of one at an address what the store says, such as size and ETag."""
    content_hash: str
    """SHA-256 of the file."""
    size: int
    """Bytes of the file. Readers skip an empty one."""
    beside_hashes: tuple[str, ...] = ()
    """Of the files with the same name in the other folders of the stage."""
    stamps: tuple[str, ...] = ()
    """At an address: what the store says of each file, by which it is known again."""
    counts: msgspec.Raw = msgspec.Raw(b"{}")
    """What the stage counted in it."""


class _Beginning(Record, frozen=True, kw_only=True):
    """The first line of the journal."""

    settings: dict[str, str]


class Manifest(Record, frozen=True, kw_only=True):
    """The content of `shards.json`."""

    settings: dict[str, str]
    """Name of each setting that decides the content to a hash of it."""
    shards: tuple[Shard, ...]


class PlannedShard(Record, frozen=True, kw_only=True):
    """A shard that is to be written."""

    name: str
    split: str = ""
    source: Path | None = None
    """The file that it is made from."""


def read_manifest(folder: Path) -> Manifest | None:
    """The list of the shards of a folder; None if it is no folder of shards.

    Raises `BadInput` for an unfinished folder, and where a shard is missing or, on this machine, has another size than listed: one
    that was cut at the end of a line would be read as if it were whole.
    """
    folder = to_path(folder)
    if isinstance(folder, RemotePath):
        folder.refuse_unfinished()
    elif (folder / UNFINISHED).exists():
        raise describe_unfinished(folder)
    path = folder / MANIFEST
    if not path.is_file():
        return None
    manifest = read_json(path, Manifest)
    names = [shard.name for shard in manifest.shards]
    check_file_names(names, "shard", file=path)
    there = _list_names(folder)
    if missing := [name for name in names if name not in there]:
        what = f"the shard {missing[0]} is missing"
        raise BadInput(what, file=folder, cure="copy it again, or write the folder again")
    if not isinstance(folder, RemotePath):
        for shard in manifest.shards:
            _refuse_other_size(folder / shard.name, shard.size)
    if not any(shard.size for shard in manifest.shards):
        raise BadInput("holds nothing: all its shards are empty", file=folder, cure="check it")
    return manifest


def _refuse_other_size(path: Path, size: int) -> None:
    """Refuse a shard that does not have the bytes that the manifest lists."""
    there = path.stat().st_size
    if there != size:
        what = f"is not as it was written: it has {there:,} bytes, and {MANIFEST} lists {size:,}"
        raise BadInput(what, file=path, cure="copy it again, or write the folder again")


def list_shards(folder: Path, default: str) -> dict[str, list[Path]] | None:
    """Split to its shards in their order; None if it is no folder of shards. Shards without a split are of the one called `default`."""
    manifest = read_manifest(folder)
    if manifest is None:
        return None
    splits: dict[str, list[Path]] = {}
    for shard in manifest.shards:
        if shard.size:
            splits.setdefault(shard.split or default, []).append(folder / shard.name)
    return splits


def list_files(paths: Sequence[Path], *, keep_folders: bool = False) -> list[Path]:
    """Replace each folder, and each address with a pattern, by its files: shards in their order, other files by their names.

    Files of folders inside a folder count too, as at an address. Hidden files and folders are skipped. With `keep_folders`, a folder of
    this machine that is not in shards stays as it is.
    """
    listed: list[Path] = []
    for path in map(to_path, paths):
        if not path.is_dir():
            listed += list_inputs([path])
            continue
        manifest = read_manifest(path)
        if manifest is not None:
            files = [path / shard.name for shard in manifest.shards if shard.size]
        elif isinstance(path, RemotePath):
            files = list_inputs([path])
        elif keep_folders:
            files = [path]
        else:
            files = _search_folder(path)
        if not files:
            raise BadInput("holds no file", file=path, cure="check the path")
        listed += files
    return listed


def _search_folder(folder: Path) -> list[Path]:
    """The files below a folder of this machine, sorted by their paths in it as text."""
    files = {
        file.relative_to(folder).as_posix(): file for file in folder.rglob("*") if file.is_file()
    }
    shown = sorted(name for name in files if "/." not in f"/{name}")
    return [files[name] for name in shown if files[name].name != MANIFEST]


def name_shard(path: Path) -> str:
    """The name of what is made from a file: its own, with `.jsonl` for the `SUFFIXES`.

    >>> name_shard(Path("news/part-1.txt.zst"))
    'part-1.jsonl'
    """
    path = to_path(path)
    if is_piped(path):
        raise BadInput("a pipe is not a shard", file=path, cure="name a file")
    name = path.name
    while name.endswith(SUFFIXES) and Path(name).stem != name:
        name = Path(name).stem
    return f"{name}.jsonl"


def hash_file(path: Path) -> str:
    """SHA-256 of the bytes of a file, packed as they are."""
    with open_packed(path) as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def identify_file(path: Path) -> str:
    """What tells whether a file is as it was: its hash, or for an address what the store says of it."""
    path = to_path(path)
    if not isinstance(path, RemotePath):
        return hash_file(path)
    forget_known()
    return path.identify()


def hash_settings(settings: Mapping[str, Any]) -> dict[str, str]:
    """Name of each setting to a short hash of its value, which needs a JSON form; the version of Nikawa is one of them.

    >>> hash_settings({"seed": 1})["seed"] == hash_settings({"seed": 1})["seed"]
    True
    """
    hashes = {
        name: hashlib.sha256(encode_json(value)).hexdigest()[:16]
        for name, value in settings.items()
    }
    return {**hashes, "version of Nikawa": __version__}


def compare_settings(begun: Mapping[str, str], wanted: Mapping[str, str], place: Path) -> None:
    """Refuse to go on with unfinished work that was begun with other settings, and name them."""
    names = sorted({*begun, *wanted})
    other = [name for name in names if begun.get(name) != wanted.get(name)]
    if other:
        what = f"was begun with other settings: {', '.join(other)}"
        cure = "use the same files and options, or pass --overwrite to begin again"
        raise BadInput(what, file=place, cure=cure)


class _HashedStream:
    """Passes bytes on and hashes them."""

    def __init__(self, stream: BinaryIO) -> None:
        self.stream, self.digest, self.size = stream, hashlib.sha256(), 0

    def write(self, data: bytes) -> int:
        """Write and hash."""
        self.digest.update(data)
        self.size += len(data)
        return self.stream.write(data)

    def writelines(self, lines: Iterable[bytes]) -> None:
        """Write and hash."""
        self.write(b"".join(lines))


@contextmanager
def open_shards(
    folders: Sequence[Path],
    planned: Sequence[PlannedShard],
    settings: Mapping[str, Any],
    *,
    overwrite: bool,
) -> Iterator[ShardFolder]:
    """Begin a folder of shards, or take up an unfinished one, and hold its lock; `ShardFolder.close` finishes it.

    Further `folders` get a file with the same name for each shard. `settings` is everything that decides the content but for the
    sources: an unfinished folder of other settings is refused with their names. Raises `BadInput` for a folder with anything in it,
    unless `overwrite` is set.
    """
    folders = [to_path(folder) for folder in folders]
    check_shards(planned)
    sources = {to_path(shard.source) for shard in planned if shard.source is not None}
    with ExitStack() as stack:
        for folder in folders:
            parents = {source.parent for source in sources}
            if folder.resolve() in {parent.resolve() for parent in parents}:
                raise BadInput("holds an input file", file=folder, cure="choose another folder")
            misplaced = BadInput("is a file, not a folder", file=folder, cure="name a folder")
            if isinstance(folder, RemotePath):
                forget_known()
                if folder.is_file():
                    raise misplaced
                continue
            busy = BadInput("is in use by another command", file=folder, cure="wait until it ends")
            stack.enter_context(lock_folder(folder, busy=busy, misplaced=misplaced))
        inputs = [(shard.name, shard.split) for shard in planned]
        hashes = hash_settings({**settings, "input files": inputs})
        writer = ShardFolder(folders, planned, hashes)
        writer.open(overwrite)
        try:
            yield writer
        except BaseException:
            with suppress(BadInput):  # the store may be out of reach
                writer.save() if writer.shards else writer.discard()
            raise


def check_shards(planned: Sequence[PlannedShard]) -> None:
    """Refuse shards that cannot be files of one folder."""
    seen: dict[str, Path | None] = {}
    for shard in planned:
        if shard.name in seen:
            what = f"would be written to {shard.name}, as {seen[shard.name]} is"
            raise BadInput(what, file=shard.source, cure="rename one of them")
        seen[shard.name] = shard.source
    check_file_names(list(seen), "shard")


class ShardFolder:
    """The folders that a stage fills, with the journal in the first one."""

    def __init__(
        self, folders: Sequence[Path], planned: Sequence[PlannedShard], settings: dict[str, str]
    ) -> None:
        self.folders, self.planned, self.settings = folders, planned, settings
        self.shards: list[Shard] = []
        """Those that are finished, in their order."""
        self._unsaved = False
        self._saved_at = self._save_seconds = 0.0

    @property
    def out(self) -> Path:
        """The first folder."""
        return self.folders[0]

    @property
    def journal(self) -> Path:
        """The mark of the folder while it is not finished."""
        return self.out / UNFINISHED

    def open(self, overwrite: bool) -> None:
        """Begin, or take up what is there."""
        if self.journal.exists() and not overwrite:
            self.shards = self._read_journal()
        else:
            for folder in self.folders:
                self._refuse_content(folder, overwrite)
        self._write_journal()
        for folder in self.folders[1:]:
            _put_file(folder / UNFINISHED, b"")
        for folder in self.folders:
            self._remove_old(folder)

    def _refuse_content(self, folder: Path, overwrite: bool) -> None:
        """Refuse a folder with anything in it that must not be replaced."""
        names = _list_names(folder)
        if names and not overwrite:
            cure = "choose another folder, or pass --overwrite to replace its shards"
            raise BadInput("is not empty", file=folder, cure=cure)
        if CARD in names and not {MANIFEST, UNFINISHED} & names:
            what, cure = "holds a dataset that is not in shards", "choose another folder"
            raise BadInput(what, file=folder, cure=cure)

    def _remove_old(self, folder: Path) -> None:
        """Remove the shards of before that are not kept; other files stay."""
        names = _list_names(folder)
        old = {CARD, MANIFEST}
        if MANIFEST in names:
            with open_unfinished(folder / MANIFEST) as stream, suppress(msgspec.DecodeError):
                shards = msgspec.json.decode(stream.read(), type=Manifest).shards
                old |= {Path(shard.name).name for shard in shards}
        old |= {shard.name for shard in self.planned}
        kept = {shard.name for shard in self.shards}
        _remove_files(folder, sorted((old - kept) & names))

    def _read_journal(self) -> list[Shard]:
        """The finished shards that are as they were, up to the first that is not."""
        with open_unfinished(self.journal) as stream:
            first, *lines = stream.read().split(b"\n")
        try:
            begun = msgspec.json.decode(first, type=_Beginning).settings
        except msgspec.DecodeError:
            begun = {}
        compare_settings(begun, self.settings, self.out)
        done: list[Shard] = []
        for line, planned in zip(lines, self.planned, strict=False):
            try:  # the last line may have been cut
                shard = msgspec.json.decode(line, type=Shard)
            except msgspec.DecodeError:
                break
            if shard.name != planned.name or not self._is_unchanged(shard, planned):
                break
            done.append(shard)
        return done

    def _is_unchanged(self, shard: Shard, planned: PlannedShard) -> bool:
        """Whether the files of a finished shard and its source are as they were."""
        if planned.source is not None and shard.source_hash != identify_file(planned.source):
            return False
        for number, content_hash in enumerate((shard.content_hash, *shard.beside_hashes)):
            path = self.folders[number] / shard.name
            if not path.exists():
                return False
            if isinstance(path, RemotePath):
                if shard.stamps[number : number + 1] != (path.identify(),):
                    return False
            elif _hash_unfinished(path) != content_hash:
                return False
        return True

    def read_lines(self, number: int) -> Iterator[bytes]:
        """The lines of a finished shard of the first folder, before the whole is finished."""
        with open_unfinished(self.out / self.planned[number].name) as lines:
            yield from lines

    def write_all(
        self,
        results: Iterable[tuple[int, Result]],
        write: Callable[[int, Iterator[Result], Sequence[BinaryIO]], Record],
    ) -> None:
        """Write each shard of which there are results, by its number, in their order; a shard without any is empty.

        `write` writes the results of a shard to a stream a folder, and returns what it counted. Results of shards that were
        finished before are taken and dropped.
        """
        for number, group in groupby(results, key=itemgetter(0)):
            own = map(itemgetter(1), group)
            if number < len(self.shards):
                deque(own, maxlen=0)
                continue
            while len(self.shards) < number:
                self._write_shard(iter(()), write)
            self._write_shard(own, write)
        while len(self.shards) < len(self.planned):
            self._write_shard(iter(()), write)

    def _write_shard(
        self,
        results: Iterator[Result],
        write: Callable[[int, Iterator[Result], Sequence[BinaryIO]], Record],
    ) -> None:
        number = len(self.shards)
        planned = self.planned[number]
        paths = [folder / planned.name for folder in self.folders]
        with ExitStack() as stack:
            streams = [
                _HashedStream(stack.enter_context(atomic_write(path, overwrite=True)))
                for path in paths
            ]
            counts = write(number, results, [cast(BinaryIO, stream) for stream in streams])
        hashes = [stream.digest.hexdigest() for stream in streams]
        shard = Shard(
            name=planned.name,
            split=planned.split,
            source="" if planned.source is None else str(planned.source),
            source_hash="" if planned.source is None else identify_file(planned.source),
            content_hash=hashes[0],
            size=streams[0].size,
            beside_hashes=tuple(hashes[1:]),
            stamps=tuple(path.identify() for path in paths if isinstance(path, RemotePath)),
            counts=msgspec.Raw(encode_json(counts)),
        )
        self.shards.append(shard)
        if not isinstance(self.journal, RemotePath):
            with self.journal.open("ab") as journal:
                journal.write(msgspec.json.encode(shard) + b"\n")
                journal.flush()
                os.fsync(journal.fileno())
            return
        self._unsaved = True
        if (monotonic() - self._saved_at) * SHARE_FOR_JOURNAL >= self._save_seconds:
            self.save()

    def save(self) -> None:
        """Bring the journal of an address up to date."""
        if self._unsaved:
            begin = monotonic()
            self._write_journal()
            self._saved_at = monotonic()
            self._save_seconds = self._saved_at - begin

    def _write_journal(self) -> None:
        lines = [
            msgspec.json.encode(each) for each in (_Beginning(settings=self.settings), *self.shards)
        ]
        _put_file(self.journal, b"".join(line + b"\n" for line in lines))
        self._unsaved = False

    def close(self, extra_files: Mapping[str, bytes] | None = None) -> None:
        """Write the manifest and the `extra_files`, such as a card, and remove the mark."""
        for name, content in (extra_files or {}).items():
            _put_file(self.out / name, content)
        manifest = Manifest(settings=self.settings, shards=tuple(self.shards))
        _put_file(self.out / MANIFEST, msgspec.json.encode(manifest) + b"\n")
        self._unsaved = False
        for folder in reversed(self.folders):
            _remove_files(folder, [UNFINISHED])

    def discard(self) -> None:
        """Remove the shards and the mark: nothing came of the work."""
        self._unsaved = False
        if not self.journal.exists():
            return
        for folder in reversed(self.folders):
            _remove_files(folder, [*(shard.name for shard in self.shards), UNFINISHED])


def _hash_unfinished(path: Path) -> str:
    with open_unfinished(path) as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _list_names(folder: Path) -> set[str]:
    """The names of all that is in a folder, finished or not."""
    if isinstance(folder, RemotePath):
        return {name.partition("/")[0] for name in folder.list_names()}
    return {path.name for path in folder.iterdir()}


def _put_file(path: Path, content: bytes) -> None:
    if isinstance(path, RemotePath):
        put_object(path, content)
        return
    with atomic_write(path, overwrite=True) as stream:
        stream.write(content)


def _remove_files(folder: Path, names: Sequence[str]) -> None:
    if isinstance(folder, RemotePath):
        remove_objects(folder, names)
        return
    for name in names:
        (folder / name).unlink(missing_ok=True)
    sync_folder(folder)
