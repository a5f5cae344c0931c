"""Files, folders and values that travel to other machines by content: each goes to a machine only once.

The sender cuts a content into blocks of bounded size and puts them where the other machines can get them. A machine that
needs the content looks it up in its cache by digest, and fetches the blocks only if it is not there. It is in the cache whole or
not at all. Where it was on the sender does not matter.
"""

from __future__ import annotations

import errno
import os
import shutil
import socket
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from hashlib import blake2b
from pathlib import Path
from typing import Any

from nikawa.errors import BadInput
from nikawa.execute.base import Content
from nikawa.io.json import encode_json
from nikawa.io.locks import lock_descriptor

BLOCK_BYTES = 32 << 20
"""Most bytes of a file that are in memory at a time."""
NODE_VARIABLE = "NIKAWA_NODE_DIR"
"""The environment variable with the folder that a machine of a cluster works in."""
NOT_SENT = ("state", "work")
"""Folders in a checkpoint that hold unfinished training: no model reads them."""

PutBlock = Callable[[bytes], Any]
"""Puts a block where other machines can get it, and returns a reference."""
GetBlock = Callable[[Any], bytes]
"""Gets a block by its reference."""


@dataclass(frozen=True)
class SentFile:
    """A file on its way."""

    name: str
    """Its path inside the folder; the content's own name if it is a single file."""
    digest: str
    size: int
    """Bytes."""
    blocks: tuple[Any, ...]
    """References to its bytes."""


@dataclass(frozen=True)
class SentContent:
    """A file, folder or value on its way."""

    name: str
    digest: str
    files: tuple[SentFile, ...]
    is_folder: bool


@dataclass
class ContentSender:
    """Puts contents up for other machines, each once."""

    put: PutBlock
    bytes_put: int = 0
    _sent: dict[str, SentContent] = field(default_factory=dict)
    """By digest."""
    _digests: dict[Any, str] = field(default_factory=dict)
    """Digest by path, sizes and times of change."""

    def send(self, content: Content) -> SentContent:
        """Put up a file, a folder or a value, unless it is there already."""
        source, name = content.source, content.name
        if isinstance(source, bytes):
            digest = compute_digest(source)
            if digest not in self._sent:
                cuts = range(0, len(source), BLOCK_BYTES)
                blocks = tuple(self._put(source[cut : cut + BLOCK_BYTES]) for cut in cuts)
                file = SentFile(name, digest, len(source), blocks)
                self._sent[digest] = SentContent(name, digest, (file,), is_folder=False)
            return self._sent[digest]
        files = list_files(source)
        stamps = [(path.stat().st_mtime_ns, path.stat().st_size) for path in files.values()]
        key = (name, str(source.absolute()), tuple(zip(files, stamps, strict=True)))
        if key not in self._digests:
            sent = self._send_files(name, files, source.is_dir())
            self._digests[key] = sent.digest
            self._sent.setdefault(sent.digest, sent)
        return self._sent[self._digests[key]]

    def _send_files(self, content: str, files: dict[str, Path], is_folder: bool) -> SentContent:
        sent = []
        for name, path in files.items():
            state = blake2b(digest_size=16)
            blocks, size = [], 0
            for block in read_blocks(path):
                state.update(block)
                size += len(block)
                blocks.append(self._put(block))
            own_name = name if is_folder else content
            sent.append(SentFile(own_name, state.hexdigest(), size, tuple(blocks)))
        # the name counts too: a reader may choose by it, as by the ending of a file
        value = encode_json([content, [(file.name, file.digest) for file in sent]])
        return SentContent(content, compute_digest(value), tuple(sent), is_folder)

    def _put(self, block: bytes) -> Any:
        self.bytes_put += len(block)
        return self.put(block)


def list_files(content: Path) -> dict[str, Path]:
    """The files of a content by their path inside it; hidden files and `NOT_SENT` are left out."""
    if not content.is_dir():
        return {content.absolute().name: content}
    files = {}
    for path in sorted(content.rglob("*")):
        parts = path.relative_to(content).parts
        is_left_out = any(part.startswith(".") for part in parts) or parts[0] in NOT_SENT
        if path.is_file() and not is_left_out:
            files["/".join(parts)] = path
    return files


def read_blocks(path: Path) -> Iterator[bytes]:
    """The bytes of a file, a bounded block at a time."""
    with path.open("rb") as stream:
        while block := stream.read(BLOCK_BYTES):
            yield block


def compute_digest(value: bytes) -> str:
    """The digest that a content is kept under."""
    return blake2b(value, digest_size=16).hexdigest()


def node_folder() -> Path:
    """The folder of this machine for contents and unfinished work, which only its user can read.

    It is `NIKAWA_NODE_DIR`, else a folder of the user among the temporary files.
    """
    usual = Path(tempfile.gettempdir()) / f"nikawa-node-{os.getuid()}"
    folder = Path(os.environ.get(NODE_VARIABLE) or usual)
    with explain_disk(folder):
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    if folder.stat().st_uid != os.getuid():
        cure = f"set {NODE_VARIABLE} to a folder of your own on each node"
        raise BadInput("the folder of this node belongs to another user", file=folder, cure=cure)
    return folder


@contextmanager
def explain_disk(folder: Path) -> Iterator[None]:
    """Raise BadInput where this machine cannot write below its folder, such as on a full disk."""
    try:
        yield
    except OSError as problem:
        raise disk_error(folder, problem.strerror or str(problem)) from None


def disk_error(folder: Path, problem: str) -> BadInput:
    """The error of a machine that cannot write below its folder. It names the machine: the user is at another one."""
    what = f"the node {socket.gethostname()} cannot write there: {problem}"
    cure = f"make room, or set {NODE_VARIABLE} to another folder where Ray is started on that node"
    return BadInput(what, file=folder, cure=cure)


def is_disk_full(problem: str) -> bool:
    """Whether a message says that there is no room left on a disk."""
    return any(os.strerror(number) in problem for number in (errno.ENOSPC, errno.EDQUOT))


def fetch_content(sent: SentContent, folder: Path, get: GetBlock) -> tuple[Path, int]:
    """Where a content is below the folder of this machine, and the bytes that were fetched for it: 0 if it was there.

    Several processes may ask for it at the same time: one fetches it, the others wait.
    Raises BadInput where other bytes arrive than were sent, and where they cannot be written.
    """
    with explain_disk(folder):
        return _fetch(sent, folder / "contents", get)


def _fetch(sent: SentContent, cache: Path, get: GetBlock) -> tuple[Path, int]:
    cache.mkdir(mode=0o700, exist_ok=True)
    home = cache / sent.digest
    path = home / sent.name
    if is_whole(sent, home):
        return path, 0
    descriptor = os.open(cache / f"{sent.digest}.lock", os.O_RDWR | os.O_CREAT, 0o600)
    try:
        with lock_descriptor(descriptor):
            if is_whole(sent, home):
                return path, 0
            shutil.rmtree(home, ignore_errors=True)
            unfinished = cache / f"{sent.digest}.part"
            shutil.rmtree(unfinished, ignore_errors=True)
            try:
                size = write_content(sent, unfinished, get)
            except BaseException:  # half of a content must not fill the disk
                shutil.rmtree(unfinished, ignore_errors=True)
                raise
            unfinished.rename(home)
            return path, size
    finally:
        os.close(descriptor)


def is_whole(sent: SentContent, home: Path) -> bool:
    """Whether a content is there with all its files.

    The temporary folder, which is the default place, is one where systems delete files that were not used for days.
    """
    top = locate_top(sent, home)
    try:
        return all((top / file.name).stat().st_size == file.size for file in sent.files)
    except FileNotFoundError:
        return False


def locate_top(sent: SentContent, home: Path) -> Path:
    """The folder that the names of the files of a content begin at."""
    return home / sent.name if sent.is_folder else home


def write_content(sent: SentContent, home: Path, get: GetBlock) -> int:
    """Write a content below a new folder, a block at a time, and return its bytes."""
    size = 0
    top = locate_top(sent, home)
    top.mkdir(mode=0o700, parents=True)
    for file in sent.files:
        path = top / file.name
        path.parent.mkdir(parents=True, exist_ok=True)
        state = blake2b(digest_size=16)
        with path.open("wb") as stream:
            for reference in file.blocks:
                block = get(reference)
                state.update(block)
                size += stream.write(block)
        if state.hexdigest() != file.digest:
            cure = "run the same command again"
            raise BadInput(f"{sent.name} did not arrive as it was sent", cure=cure)
    return size
