"""Files at addresses: their names, reading and writing, on the file system that fsspec keeps in memory."""

from __future__ import annotations

import gzip
import os
import pickle
import re
import sqlite3
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path
from typing import Any, ClassVar

import fsspec
import pytest
import zstandard
from fsspec.implementations.memory import MemoryFileSystem
from fsspec.spec import AbstractBufferedFile

from nikawa.datasets import load
from nikawa.datasets.task_lookup import find_tasks
from nikawa.errors import BadInput, MissingExtra
from nikawa.io import remote, uploads
from nikawa.io.atomic import atomic_folder, atomic_write, private_files, staged_files
from nikawa.io.folders import CARD, read_folder, write_folder
from nikawa.io.limits import ReadLimits
from nikawa.io.lines import open_bytes, read_bytes
from nikawa.io.records import read_examples, write_records
from nikawa.io.remote import (
    UNFINISHED,
    RemotePath,
    list_inputs,
    mask_secrets,
    require_local,
    to_path,
)
from nikawa.models.encoder.checkpoint import check_checkpoint
from nikawa.models.lm.checkpoint import check_language_model
from nikawa.records import Dataset, Example

SECRET = "sftp://me:geheim@host/a.txt"


class BlockFile(AbstractBufferedFile):  # type: ignore[misc]
    """A file whose blocks are counted, and that breaks at a byte that a test names."""

    def _fetch_range(self, start: int, end: int) -> bytes:
        if end > BlockSystem.breaks_at:
            raise BlockSystem.error
        BlockSystem.fetched += end - start
        return bytes(self.fs.store[self.path].getvalue()[start:end])


class BlockSystem(MemoryFileSystem):  # type: ignore[misc]
    """A file system that is read by blocks over a network."""

    protocol = "blocks"
    store: ClassVar[dict[str, Any]] = {}
    pseudo_dirs: ClassVar[list[str]] = [""]
    fetched = 0
    breaks_at: float = float("inf")
    error: Exception = OSError("the line is down")

    @classmethod
    def _strip_protocol(cls, path: str) -> str:
        return "/" + str(path).removeprefix("blocks://").strip("/")

    def _open(self, path: str, mode: str = "rb", **options: Any) -> Any:
        if mode != "rb":
            return super()._open(path, mode, **options)
        return BlockFile(self, self._strip_protocol(path), mode, block_size=options["block_size"])


@pytest.fixture(autouse=True)
def stores(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Empty stores."""
    fsspec.register_implementation("blocks", BlockSystem, clobber=True)
    monkeypatch.setattr(BlockSystem, "fetched", 0)
    yield
    remote.forget_known()
    for system in (MemoryFileSystem, BlockSystem):
        system.store.clear()
        system.pseudo_dirs[:] = [""]


def put(address: str, data: bytes) -> Path:
    fsspec.filesystem(address.partition("://")[0]).pipe_file(address, data)
    remote.forget_known()
    return to_path(address)


def names() -> list[str]:
    return sorted(MemoryFileSystem.store)


# names


def test_an_address_has_the_names_of_a_path() -> None:
    path = to_path("s3://lab/corpus/part.1.txt.zst/")
    assert isinstance(path, RemotePath)
    assert str(path) == "s3://lab/corpus/part.1.txt.zst"
    assert (path.name, path.stem, path.suffix) == ("part.1.txt.zst", "part.1.txt", ".zst")
    assert str(path.parent) == "s3://lab/corpus"
    assert [str(each) for each in path.parents] == ["s3://lab/corpus", "s3://lab"]
    assert str(path.parent / "a" / "b.txt") == "s3://lab/corpus/a/b.txt"
    assert str(path.with_name("x.gz").with_suffix(".txt")) == "s3://lab/corpus/x.txt"
    assert path.relative_to(path.parent.parent).as_posix() == "corpus/part.1.txt.zst"
    assert not path.is_relative_to(to_path("s3://lab/corp"))
    assert path.parts == ("s3://", "lab", "corpus", "part.1.txt.zst")
    assert path.resolve() == path.absolute() == pickle.loads(pickle.dumps(path)) == path
    assert path != Path("s3:/lab/corpus/part.1.txt.zst")
    assert len({path, to_path(str(path))}) == 1


def test_a_path_that_lost_a_slash_is_the_same_address() -> None:
    assert to_path(Path("s3://lab/a.txt")) == to_path("s3://lab/a.txt")
    assert to_path("file:///tmp/a%20b") == to_path(Path("file:///tmp/a b")) == Path("/tmp/a b")
    assert isinstance(to_path("a:b/c"), type(Path()))
    assert not isinstance(to_path(Path("C:/data")), RemotePath)


@pytest.mark.parametrize(
    ("address", "what"),
    [
        ("s3://", "names no file or folder"),
        ("s3://lab/../x", "has a part that is . or .."),
        ("zip://a.txt::s3://lab/x.zip", "is a chain of file systems"),
        ("s3://lab/a\nb", "has an invisible character"),
    ],
)
def test_what_names_no_place_is_refused(address: str, what: str) -> None:
    with pytest.raises(BadInput, match=what):
        to_path(address)


def test_secrets_are_not_shown() -> None:
    path = to_path(SECRET)
    assert str(path) == "sftp://me:***@host/a.txt"
    assert "geheim" not in f"{path!r} {path.parent} {path / 'b'} {BadInput('x', file=path)}"
    assert to_path(str(path)) == path  # the text stands for the whole address in this process
    assert (
        mask_secrets("GET https://host/a?X-Signature=1 failed") == "GET https://host/a?*** failed"
    )


def test_what_needs_a_local_file_says_so() -> None:
    path = to_path("memory://lab/a.db")
    for use in (os.fspath, sqlite3.connect, lambda p: os.open(p, os.O_RDONLY), os.path.realpath):
        with pytest.raises(BadInput, match="this step needs a local file"):
            use(path)
    with pytest.raises(BadInput, match="would change it in place"):
        path.mkdir()
    with pytest.raises(BadInput, match="would change it in place"):
        path.open("w")
    with pytest.raises(BadInput, match="stored runs need locks"):
        require_local(Path("s3://lab/runs"), "stored runs")


# what is installed


def test_a_missing_package_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(BadInput, match="there is no protocol 's9'"):
        to_path("s9://lab/a").exists()

    def refuse(*_: Any, **__: Any) -> None:
        raise ImportError("Install s3fs")

    monkeypatch.setattr("fsspec.core.url_to_fs", refuse)
    with pytest.raises(
        MissingExtra, match=r"s3fs, which reads s3://, is not installed; run: .*remote"
    ):
        to_path("s3://lab/a").exists()
    with pytest.raises(MissingExtra, match=r"gs:// needs a package.*pip install gcsfs"):
        to_path("gs://lab/a").exists()
    monkeypatch.setitem(__import__("sys").modules, "fsspec.core", None)
    with pytest.raises(MissingExtra, match=r"fsspec, which reads memory://, is not installed"):
        to_path("memory://lab/a").exists()


# reading


def test_a_long_file_is_read_by_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(remote, "READ_BLOCK_BYTES", 1 << 16)
    text = os.urandom(1 << 20)
    with open_bytes(put("blocks://lab/a.txt", text)) as stream:
        assert stream.read(100) == text[:100]
        assert BlockSystem.fetched < 1 << 18
    for suffix, packed in ((".gz", gzip.compress(text)), (".zst", zstandard.compress(text))):
        assert read_bytes(put(f"blocks://lab/a{suffix}", packed)) == text


def test_a_broken_line_names_the_address(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(remote, "READ_BLOCK_BYTES", 1 << 16)
    monkeypatch.setattr(BlockSystem, "breaks_at", 1 << 19)
    path = put("blocks://lab/a.txt", os.urandom(1 << 20))
    for error, what in (
        (OSError("the line is down"), r"cannot be read \(the line is down\).*the network"),
        (PermissionError("Forbidden"), "permission denied .*check your credentials"),
        (FileNotFoundError("gone"), "no such file"),
    ):
        monkeypatch.setattr(BlockSystem, "error", error)
        with pytest.raises(BadInput, match=rf"^blocks://lab/a.txt: .*{what}"):
            read_bytes(path)


def test_limits_hold(monkeypatch: pytest.MonkeyPatch) -> None:
    path = put("memory://lab/a.json", b"[" + b"1," * 100 + b"1]")
    monkeypatch.setattr("nikawa.io.lines.read_limits", lambda: ReadLimits(document=50))
    with pytest.raises(BadInput, match=r"^memory://lab/a.json: is one document of more than 50"):
        read_bytes(path)


def test_folders_and_patterns_become_their_files() -> None:
    for name in ("b.txt", "a.txt", "c.gz", "deep/d.txt", ".hidden.txt", ".git/e.txt"):
        put(f"memory://lab/texts/{name}", b"x")

    def shown(*addresses: str) -> list[str]:
        found = list_inputs([to_path(address) for address in addresses])
        return [str(path).removeprefix("memory://lab/texts/") for path in found]

    assert shown("memory://lab/texts/") == ["a.txt", "b.txt", "c.gz", "deep/d.txt"]
    assert shown("memory://lab/texts/*.txt") == ["a.txt", "b.txt"]
    assert shown("memory://lab/texts/**/*.txt") == ["a.txt", "b.txt", "deep/d.txt"]
    assert shown("memory://lab/texts/*/[a-d].txt") == ["deep/d.txt"]
    assert shown("memory://lab/texts/b.txt", "memory://lab/texts/a.txt") == ["b.txt", "a.txt"]
    assert list_inputs([Path("*.txt")]) == [Path("*.txt")]
    with pytest.raises(BadInput, match="no file has this pattern"):
        shown("memory://lab/texts/*.jsonl")
    with pytest.raises(BadInput, match="has a pattern in its first part"):
        shown("memory://*/a.txt")


# writing


def write_half(path: Path) -> None:
    with atomic_write(path) as stream:
        stream.write(b"half")
        raise RuntimeError("it broke")


@pytest.mark.parametrize("scheme", ["memory", "blocks"])  # blocks: one that could show half a file
def test_a_file_appears_when_it_is_whole(scheme: str, tmp_path: Path) -> None:
    store = MemoryFileSystem.store if scheme == "memory" else BlockSystem.store
    examples = [Example(id="1", inputs={"text": "橋"})]
    for suffix in (".jsonl", ".jsonl.gz", ".tsv.zst", ".parquet"):
        path, local = to_path(f"{scheme}://lab/a{suffix}"), tmp_path / f"a{suffix}"
        with pytest.raises(RuntimeError, match="broke"):
            write_half(path)
        assert not store
        write_records(local, examples)
        write_records(path, examples)
        assert path.read_bytes() == local.read_bytes()
        assert list(read_examples(path)) == examples
        with pytest.raises(BadInput, match="already exists"):
            write_records(path, examples)
        write_records(path, [], overwrite=True)
        assert len(store) == 1
        store.clear()
        remote.forget_known()


def test_a_file_that_appears_meanwhile_is_kept() -> None:
    path = to_path("memory://lab/x")
    with pytest.raises(BadInput, match="already exists"), atomic_write(path):
        put("memory://lab/x", b"theirs")
    assert path.read_bytes() == b"theirs"


def small() -> Dataset:
    return load("mini-ja:dev")


def test_a_dataset_is_whole_or_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    path = to_path("memory://lab/mini")
    write_folder(small(), path)
    assert load("memory://lab/mini").splits == small().splits
    put("memory://lab/mini/notes.txt", b"mine")
    with pytest.raises(BadInput, match="already contains a dataset"):
        write_folder(small(), path)

    def break_down(self: uploads.KeptUpload) -> None:
        raise OSError("the line is down")

    with monkeypatch.context() as patch:
        patch.setattr(uploads.KeptUpload, "publish", break_down)
        with pytest.raises(OSError, match="the line is down"):
            write_folder(small(), path, overwrite=True)
    assert f"/lab/mini/{UNFINISHED}" in names()
    assert f"/lab/mini/{CARD}" not in names()
    for read in (read_folder, lambda p: load(str(p)), lambda p: list(p.iterdir())):
        with pytest.raises(BadInput, match="is incomplete: its upload has not ended"):
            read(path)
    with pytest.raises(BadInput, match="is incomplete"):
        write_folder(small(), path)
    write_folder(small(), path, overwrite=True)
    assert load("memory://lab/mini").splits == small().splits
    assert names() == [f"/lab/mini/{name}" for name in (CARD, "dev.jsonl", "notes.txt")]


def test_an_error_before_the_end_leaves_the_old_folder() -> None:
    path = to_path("memory://lab/out")
    with atomic_folder(path) as folder:
        (folder / "old.txt").write_text("old")
    before = names()
    with pytest.raises(OSError, match="full"), atomic_folder(path, overwrite=True):
        raise OSError("full")
    with pytest.raises(OSError, match="full"), staged_files(path, ["old.txt"], "old.txt"):
        raise OSError("full")
    assert names() == before
    with pytest.raises(BadInput, match="already exists"), atomic_folder(path):
        pass
    with atomic_folder(path, overwrite=True) as folder:
        (folder / "new").mkdir()
        (folder / "new" / "a.txt").write_text("new")
    assert names() == ["/lab/out/new/a.txt"]


def test_hidden_labels_go_only_to_an_address_that_was_named(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    path = to_path("memory://lab/keys.jsonl")
    refusal = r"would hold hidden labels.*NIKAWA_HIDDEN_REMOTE=memory://lab"
    with pytest.raises(BadInput, match=refusal), atomic_write(path, private=True):
        pass
    with pytest.raises(BadInput, match=refusal), private_files(), atomic_folder(path):
        pass
    assert not names()
    monkeypatch.setenv(uploads.HIDDEN_PLACES, "memory://lab")
    with atomic_write(path, private=True) as stream:
        stream.write(BytesIO(b"x").getvalue())
    with pytest.raises(BadInput, match=r"NIKAWA_HIDDEN_REMOTE=memory://laboratory"):
        uploads.refuse_hidden(RemotePath("memory://laboratory/keys"), private=True)


def test_a_folder_with_a_key_that_no_path_can_name_is_refused() -> None:
    put("memory://lab/a.txt", b"a")
    MemoryFileSystem.store["/lab//b.txt"] = MemoryFileSystem.store["/lab/a.txt"]
    with pytest.raises(BadInput, match=r"name has an empty part: '/b.txt'; give that object"):
        list_inputs([to_path("memory://lab")])


def test_the_message_on_a_missing_task_hides_the_password() -> None:
    with pytest.raises(BadInput, match=r"memory://me:\*\*\*@lab/x: no such file"):
        find_tasks("memory://me:geheim@lab/x")


@pytest.mark.parametrize(
    "address", ["s3://KEY:ge/heim+x@lab/a.txt", "s3://token@lab/a.txt", "gs://a:b@lab"]
)
def test_a_bucket_takes_no_key(address: str) -> None:
    with pytest.raises(BadInput, match="does not take a key in its address") as refusal:
        to_path(address)
    assert not re.search("KEY|heim|token|a:b", str(refusal.value))


def test_a_run_does_not_record_a_password() -> None:
    put("memory://me:geheim@lab/mine.jsonl", b'{"id": "a", "gold": {"label": "x"}}\n')
    with pytest.raises(BadInput, match="this address has a password") as refusal:
        find_tasks("memory://me:geheim@lab/mine.jsonl")
    assert "geheim" not in str(refusal.value)


def test_a_checkpoint_at_an_address_is_refused_with_the_cure() -> None:
    pytest.importorskip("transformers")
    cure = r"s3://lab/bert: a checkpoint must be on this machine; copy .*s3 cp --recursive s3://lab/bert bert"
    for check in (check_checkpoint, check_language_model):
        with pytest.raises(BadInput, match=cure):
            check("s3://lab/bert")


@pytest.mark.parametrize("suffix", [".jsonl", ".jsonl.gz", ".tsv", ".parquet", ".json"])
@pytest.mark.parametrize("place", ["here", "address"])
def test_no_reader_takes_a_file_of_an_unfinished_folder(
    suffix: str, place: str, tmp_path: Path
) -> None:
    folder = tmp_path if place == "here" else to_path("memory://lab/shards")
    path = folder / f"part{suffix}"
    examples = list(small())[:2] if suffix != ".tsv" else [Example(id="a", inputs={"text": "犬"})]
    write_records(path, examples)
    assert len(list(read_examples(path))) == len(examples)
    if place == "here":
        (folder / UNFINISHED).touch()
    else:
        put(f"memory://lab/shards/{UNFINISHED}", b"")
        remote.forget_known()
    with pytest.raises(BadInput, match="is incomplete"):
        list(read_examples(path))
