"""Files at addresses: `s3://bucket/key`, `gs://…`, `hf://…` and every other file system that fsspec knows.

`to_path` makes a path of what a user named. An address becomes a `RemotePath`: it has the methods of `pathlib.Path` that readers
use, and reads through fsspec, a block at a time. Whatever needs a file of this machine (a database, a lock, a journal) asks the
path for its name in the file system, and gets a `BadInput` that says so. `nikawa.io.uploads` writes to addresses.

Credentials come from where the protocol's own package looks for them. A password in an address is never shown.
"""

from __future__ import annotations

import io
import os
import re
import stat
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from fnmatch import fnmatchcase
from pathlib import Path, PurePosixPath
from time import monotonic
from typing import Any, NoReturn, cast
from urllib.parse import unquote, urlsplit

from nikawa.errors import BadInput, MissingExtra, missing_extra

_BUFFER_BYTES = 1 << 17
READ_BLOCK_BYTES = 8 << 20
"""Bytes that one request reads ahead."""
SECONDS_KNOWN = 2.0
"""How long it is believed that something is still there: each look is a request."""
UNFINISHED = ".nikawa-unfinished"
"""The name of an object in a folder whose upload has not ended."""
MANIFEST = "shards.json"
"""The list of the shards of a finished folder: see `nikawa.io.shards`."""
LOCAL_SCHEMES = ("file", "local")
"""Addresses of files of this machine."""
PACKAGES = {
    "s3": "s3fs",
    "s3a": "s3fs",
    "gs": "gcsfs",
    "gcs": "gcsfs",
    "hf": "huggingface_hub",
    "az": "adlfs",
    "abfs": "adlfs",
    "abfss": "adlfs",
    "http": "aiohttp requests",
    "https": "aiohttp requests",
    "sftp": "paramiko",
    "ssh": "paramiko",
    "smb": "smbprotocol",
    "hdfs": "pyarrow",
    "webdav": "webdav4",
}
"""Protocol to the package that fsspec needs for it."""
READ_ONLY = ("http", "https")
"""Protocols that nothing is written to, so that nothing there is unfinished."""
BUCKETS = ("s3", "s3a", "gs", "gcs")
"""Protocols whose addresses begin with a bucket."""
TAGS = (
    *("ETag", "etag", "md5Hash", "content_md5", "blob_id", "xet_hash"),
    *("LastModified", "mtime", "created"),
)
"""What stores say of a file that changes with it; the first one that is there counts."""
PAGE = "docs/remote.md"
_ADDRESS = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+)://(.*)", re.DOTALL)
_COLLAPSED = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+):/([^/].*)", re.DOTALL)
"""An address that went through `pathlib.Path`, which keeps one of its slashes."""
_PASSWORD = re.compile(r"(://[^/@\s:]*):(?!\d+/)[^@\s]*@")
"""A password in an address. It may have slashes, as the keys of Amazon do; a port with a folder after it is not a password."""
_TOKEN = re.compile(r"(https?://)[^/@\s:]+@")
"""A token in place of a user."""
_QUERY = re.compile(r"(https?://[^\s?]*)\?[^\s]*")
_PATTERN = re.compile(r"[*?\[]")
_known: dict[str, tuple[float, dict[str, Any] | None]] = {}
"""Address to the time of a look and what was there."""
_finished: dict[str, float] = {}
"""Address of a folder to the time of a look that saw no mark in it."""
_masked: dict[str, str] = {}
"""Address without its password to the whole address, for paths that go through a text."""


def is_address(text: object) -> bool:
    """Whether a text names a file at an address.

    >>> is_address("s3://lab/corpus.txt"), is_address("jnli:dev"), is_address("C:/data")
    (True, False, False)
    """
    return isinstance(text, RemotePath) or bool(_ADDRESS.fullmatch(str(text)))


def mask_secrets(text: str) -> str:
    """Return a text without the passwords of its addresses, and without what follows `?` in those of web pages.

    >>> mask_secrets("sftp://me:geheim@host/a.txt and https://host/b?token=1")
    'sftp://me:***@host/a.txt and https://host/b?***'
    >>> mask_secrets("s3://KEY:ge/heim@lab/a, https://token@host/b and https://host:8080/a@b")
    's3://KEY:***@lab/a, https://***@host/b and https://host:8080/a@b'
    """
    return _QUERY.sub(r"\1?***", _TOKEN.sub(r"\1***@", _PASSWORD.sub(r"\1:***@", text)))


def to_path(name: str | Path) -> Path:
    """Return the path of what a user named: a `RemotePath` for an address, else a path of this machine.

    `file:///a/b` is `/a/b`. An address that has lost a slash in a `Path` (`s3:/bucket/key`) is recognised.

    >>> to_path("data/a.jsonl")
    PosixPath('data/a.jsonl')
    >>> to_path(Path("s3://lab/corpus/a.txt"))
    RemotePath('s3://lab/corpus/a.txt')
    """
    if isinstance(name, RemotePath):
        return name
    text = str(name)
    match = _ADDRESS.fullmatch(text)
    if match is None and isinstance(name, Path) and not name.is_absolute():
        match = _COLLAPSED.fullmatch(text)
        if match is not None:
            text = f"{match[1]}://{match[2]}"
            if match[1].lower() in LOCAL_SCHEMES:
                text = f"{match[1]}:///{match[2]}"
            match = _ADDRESS.fullmatch(text)
    if match is None:
        return Path(name)
    if match[1].lower() in LOCAL_SCHEMES:
        return Path(unquote(urlsplit(text).path))
    return RemotePath(_masked.get(text, text))


def require_local(path: Path, what: str) -> None:
    """Raise if a path is an address; `what` needs a folder of this machine, as in `stored runs`.

    >>> require_local(Path("runs"), "stored runs")
    """
    path = to_path(path)
    if isinstance(path, RemotePath):
        cure = "pass a folder of this machine, and copy it to the address afterwards"
        what = f"is not on this machine; {what} need locks and a journal"
        raise BadInput(what, file=path, cure=cure)


def real_path(path: Path) -> Path:
    """Return the path that two names of the same file share: links are followed.

    >>> real_path(to_path("s3://lab/a")) == real_path(to_path("s3://lab/a/"))
    True
    """
    path = to_path(path)
    # `resolve` raises for links in a circle
    return path if isinstance(path, RemotePath) else Path(os.path.realpath(path))


class RemotePath(type(Path())):  # type: ignore[misc]  # the class of paths of this system
    """A file or folder at an address, with the methods of `pathlib.Path` for reading.

    Its text is the address without a password. `os.fspath` raises `BadInput`: it is no file of this machine.
    """

    address: str
    """The whole address, with its password."""

    def __new__(cls, address: str) -> RemotePath:
        """Make a path of an address; raises `BadInput` if it names no place."""
        match = _ADDRESS.fullmatch(address)
        if match is None:
            raise BadInput(f"{mask_secrets(address)!r} is not an address", cure="write s3://…")
        scheme, rest = match[1].lower(), match[2].rstrip("/")
        path = super().__new__(cls, f"{scheme}:/{rest}")
        address = f"{scheme}://{rest}"
        shown = mask_secrets(address)
        if not rest.strip("/") and scheme != "memory":
            raise BadInput("names no file or folder", file=shown, cure=f"write {scheme}://NAME/…")
        if scheme in BUCKETS and "@" in rest.partition("/")[0] + shown.partition(":***")[2]:
            place = f"{scheme}://{rest.rpartition('@')[2]}"
            cure = f"remove it, and set the credentials as {PAGE} says"
            raise BadInput("does not take a key in its address", file=place, cure=cure)
        if "::" in address:
            cure = "copy the file out of its archive first"
            raise BadInput("is a chain of file systems", file=shown, cure=cure)
        if any(part in (".", "..") for part in rest.split("/")):
            cure = "write the address without . and .."
            raise BadInput("has a part that is . or ..", file=shown, cure=cure)
        if any(ord(character) < 32 for character in rest):
            raise BadInput("has an invisible character", file=shown, cure="correct the address")
        if shown != address:
            _masked[shown] = address
        path.address = address
        return cast(RemotePath, path)

    def __init__(self, address: str) -> None:
        if sys.version_info >= (3, 12):
            super().__init__(f"{self.scheme}:/{self._rest}")

    @property
    def scheme(self) -> str:
        """The protocol: `s3`."""
        return self.address.partition("://")[0]

    @property
    def _rest(self) -> str:
        return self.address.partition("://")[2]

    @property
    def _plain(self) -> PurePosixPath:
        """What follows the protocol, without the query of a web page."""
        rest = self._rest.partition("?")[0] if self.scheme in ("http", "https") else self._rest
        return PurePosixPath(rest or "/")

    def _with(self, rest: str) -> RemotePath:
        return RemotePath(f"{self.scheme}://{rest}")

    # names

    def __str__(self) -> str:
        return mask_secrets(self.address)

    def __repr__(self) -> str:
        return f"RemotePath({str(self)!r})"

    def __fspath__(self) -> NoReturn:
        cure = "pass a file or folder of this machine, and copy it to the address afterwards"
        raise BadInput(
            "is not on this machine, and this step needs a local file", file=self, cure=cure
        )

    def __reduce__(self) -> tuple[Any, ...]:
        return RemotePath, (self.address,)

    def __hash__(self) -> int:
        return hash(self.address)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, RemotePath) and self.address == other.address

    def __lt__(self, other: object) -> bool:
        return str(self) < str(other)

    def __truediv__(self, name: str | Path) -> RemotePath:
        return self.joinpath(name)

    def __rtruediv__(self, other: object) -> NoReturn:
        raise BadInput(
            "cannot be inside a folder of this machine", file=self, cure="pass the address alone"
        )

    def joinpath(self, *names: str | Path) -> RemotePath:
        """The path of something below this folder."""
        tail = "/".join(str(name).strip("/") for name in names if str(name) not in ("", "."))
        return self._with(f"{self._rest.rstrip('/')}/{tail}") if tail else self

    def as_posix(self) -> str:
        """The address without a password."""
        return str(self)

    @property
    def name(self) -> str:
        """The last part."""
        return self._plain.name

    @property
    def stem(self) -> str:
        """The last part without its last suffix."""
        return self._plain.stem

    @property
    def suffix(self) -> str:
        """The last suffix."""
        return self._plain.suffix

    @property
    def suffixes(self) -> list[str]:
        """All suffixes."""
        return self._plain.suffixes

    @property
    def parts(self) -> tuple[str, ...]:
        """The protocol, then each part."""
        return (f"{self.scheme}://", *(part for part in self._plain.parts if part != "/"))

    @property
    def parent(self) -> RemotePath:
        """The folder that it is in; a bucket is in itself."""
        above = self._rest.rpartition("/")[0].rstrip("/")
        return self._with(above) if above else self

    @property
    def parents(self) -> tuple[RemotePath, ...]:
        """The folders above, the nearest first."""
        folders: list[RemotePath] = []
        here = self
        while (above := here.parent) != here:
            folders.append(above)
            here = above
        return tuple(folders)

    def with_name(self, name: str) -> RemotePath:
        """The path of another file in the same folder."""
        return self.parent / name

    def with_stem(self, stem: str) -> RemotePath:
        """The same path with another stem."""
        return self.with_name(stem + self.suffix)

    def with_suffix(self, suffix: str) -> RemotePath:
        """The same path with another suffix."""
        return self.with_name(self.stem + suffix)

    def relative_to(self, *other: Any, **_: Any) -> PurePosixPath:
        """The path below a folder."""
        folder = other[0]
        if not self.is_relative_to(folder):
            raise ValueError(f"{str(self)!r} is not below {str(folder)!r}")
        return PurePosixPath(self.address[len(folder.address) :].lstrip("/") or ".")

    def is_relative_to(self, *other: Any) -> bool:
        """Whether it is this folder or below it."""
        return isinstance(other[0], RemotePath) and (
            self == other[0] or self.address.startswith(other[0].address.rstrip("/") + "/")
        )

    def match(self, pattern: str, **_: Any) -> bool:
        """Whether the end of the path has this pattern."""
        return self._plain.match(pattern)

    def is_absolute(self) -> bool:
        """Always: no address depends on the working directory."""
        return True

    def absolute(self) -> RemotePath:
        """The path itself."""
        return self

    def resolve(self, strict: bool = False) -> RemotePath:
        """The path itself: there are no links."""
        return self

    def expanduser(self) -> RemotePath:
        """The path itself."""
        return self

    # what is there

    def info(self) -> dict[str, Any] | None:
        """What the file system knows of it, or None if there is nothing.

        What is there is looked up again after `SECONDS_KNOWN`, or after `forget_known`.
        """
        moment, about = _known.get(self.address, (0.0, None))
        if about is not None and monotonic() - moment < SECONDS_KNOWN:
            return about
        with translate_errors(self):
            system, place = open_system(self)
            system.invalidate_cache()
            try:
                about = dict(system.info(place))
            except (FileNotFoundError, NotADirectoryError):
                return None
        _known[self.address] = (monotonic(), about)
        return about

    def exists(self, **_: Any) -> bool:
        """Whether a file or a folder is there."""
        return self.info() is not None

    def is_file(self, **_: Any) -> bool:
        """Whether a file is there."""
        about = self.info()
        return about is not None and about["type"] == "file"

    def is_dir(self, **_: Any) -> bool:
        """Whether a folder is there."""
        about = self.info()
        return about is not None and about["type"] == "directory"

    def is_symlink(self) -> bool:
        """Never."""
        return False

    def is_mount(self) -> bool:
        """Never."""
        return False

    def samefile(self, other: Any) -> bool:
        """Whether the other path is the same address."""
        return self == (other if isinstance(other, Path) else to_path(str(other)))

    def stat(self, **_: Any) -> os.stat_result:
        """Kind, size and time of change. Raises `FileNotFoundError` if there is nothing."""
        about = self.info()
        if about is None:
            raise FileNotFoundError(2, "no such file", str(self))
        is_folder = about["type"] == "directory"
        mode = stat.S_IFDIR | 0o755 if is_folder else stat.S_IFREG | 0o644
        changed = about.get("LastModified") or about.get("mtime") or about.get("created") or 0
        seconds = changed.timestamp() if isinstance(changed, datetime) else 0
        if isinstance(changed, int | float):
            seconds = changed
        size = int(about.get("size") or 0)
        return os.stat_result((mode, 0, 0, 1, 0, 0, size, seconds, seconds, seconds))

    def refuse_unfinished(self) -> None:
        """Raise if it is a folder whose upload has not ended."""
        if self.scheme in READ_ONLY:
            return
        with translate_errors(self):
            system, place = open_system(self)
            system.invalidate_cache()
            try:
                is_unfinished = system.exists(f"{place}/{UNFINISHED}")
            except PermissionError:  # who may read a file may not see what else is there
                is_unfinished = False
        if is_unfinished:
            cure = (
                "wait for the upload, or run the command that writes it again: a stage that "
                "writes shards goes on, others need --overwrite"
            )
            raise BadInput("is incomplete: its upload has not ended", file=self, cure=cure)
        _finished[self.address] = monotonic()

    def identify(self) -> str:
        """What the store says of a file, by which a changed one is known: its size and its tag, or else its time."""
        about = self.info() or {}
        for key in TAGS:
            if about.get(key):
                return f"{about.get('size')}:{str(about[key]).strip(chr(34))}"
        return str(about.get("size"))

    def iterdir(self) -> Iterator[RemotePath]:
        """What is in the folder, in the order of the names; raises if its upload has not ended."""
        self.refuse_unfinished()
        with translate_errors(self):
            system, place = open_system(self)
            system.invalidate_cache()
            names = _cut_names(system.ls(place, detail=False), place, self)
        return iter([self / name for name in names])

    def glob(self, pattern: str, **_: Any) -> Iterator[RemotePath]:
        """The files below the folder that have a pattern, in the order of their names."""
        self.refuse_unfinished()
        names = self.list_names(None if "**" in pattern else pattern.count("/") + 1)
        return iter([self / name for name in names if _has_pattern(name, pattern)])

    def rglob(self, pattern: str, **_: Any) -> Iterator[RemotePath]:
        """The files below the folder whose name has a pattern, in order."""
        return self.glob(f"**/{pattern}")

    def list_names(self, depth: int | None = None) -> list[str]:
        """The names of all files below the folder, or of those so many levels below; sorted."""
        with translate_errors(self):
            system, place = open_system(self)
            system.invalidate_cache()
            return _cut_names(system.find(place, maxdepth=depth), place, self)

    def shows(self, path: RemotePath) -> bool:
        """Whether a file below this folder is not hidden."""
        return not any(part.startswith(".") for part in path.relative_to(self).parts)

    def refuse_missing_bucket(self) -> None:
        """Raise if the bucket of the address does not exist."""
        bucket = self._rest.partition("/")[0]
        if self.scheme not in BUCKETS:
            return
        system, _ = open_system(self)
        try:
            is_there = system.exists(bucket)
        except Exception as problem:
            raise describe_failure(problem, self, "read") from None
        if not is_there:
            cure = "check the address and your credentials"
            raise BadInput(f"the bucket {bucket!r} does not exist", file=self, cure=cure)

    # content

    def open(
        self,
        mode: str = "r",
        buffering: int = -1,
        encoding: str | None = None,
        errors: str | None = None,
        newline: str | None = None,
    ) -> Any:
        """Open the file for reading. Writing goes through `nikawa.io.atomic`."""
        if set(mode) - set("rbt"):
            self._refuse_change()
        stream = open_remote(self)
        return stream if "b" in mode else io.TextIOWrapper(stream, encoding, errors, newline)

    def read_bytes(self) -> bytes:
        """The content."""
        with open_remote(self) as stream:
            return stream.read()

    def read_text(
        self, encoding: str | None = None, errors: str | None = None, newline: str | None = None
    ) -> str:
        """The content as text."""
        with self.open("r", encoding=encoding, errors=errors, newline=newline) as stream:
            return str(stream.read())

    def _refuse_change(self, *_: Any, **__: Any) -> NoReturn:
        what = "is not on this machine, and this step would change it in place"
        raise BadInput(what, file=self, cure="pass a file or folder of this machine")

    write_bytes = write_text = touch = mkdir = rmdir = unlink = rename = replace = _refuse_change
    chmod = symlink_to = hardlink_to = _refuse_change


def _cut_names(names: Iterable[Any], place: str, folder: RemotePath) -> list[str]:
    """The names below a place, sorted. Raises if one has an empty part, which a path cannot name."""
    start = place.strip("/")
    tails = [str(name).strip("/").removeprefix(start) for name in names]
    for tail in tails:
        if "//" in tail:
            what = f"holds an object whose name has an empty part: {tail[1:]!r}"
            raise BadInput(what, file=folder, cure="give that object another name")
    return sorted({name for tail in tails if (name := tail.strip("/"))})


def _has_pattern(name: str, pattern: str) -> bool:
    """Whether a name below a folder has a pattern; `**/` stands for any folders, also for none."""
    if pattern.startswith("**/"):
        tails = [name, *(name.split("/", count)[-1] for count in range(1, name.count("/") + 1))]
        return any(_has_pattern(tail, pattern[3:]) for tail in tails)
    parts, wanted = name.split("/"), pattern.split("/")
    return len(parts) == len(wanted) and all(map(fnmatchcase, parts, wanted))


def forget_known() -> None:
    """Look everything up again: something was written."""
    _known.clear()
    _finished.clear()


def list_inputs(paths: Sequence[Path]) -> list[Path]:
    """Replace each address of a folder or with a pattern (`s3://lab/corpus/*.txt.zst`) by its files, in the order of their names.

    Paths of this machine stay as they are: the shell has expanded them. Hidden files are left out. Raises `BadInput` where
    there is no file.
    """
    listed: list[Path] = []
    for path in paths:
        if not isinstance(path, RemotePath):
            listed.append(path)
            continue
        parts = path._rest.split("/")
        first = next((at for at, part in enumerate(parts) if _PATTERN.search(part)), None)
        if first is None and not path.is_dir():
            listed.append(path)
            continue
        if first == 0:
            raise BadInput("has a pattern in its first part", file=path, cure="name the bucket")
        folder = path if first is None else path._with("/".join(parts[:first]))
        pattern = "**/*" if first is None else "/".join(parts[first:])
        shown = [each for each in folder.glob(pattern) if folder.shows(each)]
        shown = [each for each in shown if each.name != MANIFEST]
        if not shown:
            folder.refuse_missing_bucket()
            what = "holds no file" if first is None else "no file has this pattern"
            raise BadInput(what, file=path, cure="check the address")
        listed.extend(shown)
    return listed


def expand_patterns(paths: Sequence[Path]) -> list[Path]:
    """Replace each address with a pattern by its files; an address of a folder stays, for it may be one system's answers."""
    expanded: list[Path] = []
    for path in map(to_path, paths):
        expanded.extend(list_inputs([path]) if has_pattern(path) else [path])
    return expanded


def has_pattern(path: Path) -> bool:
    """Whether a path is an address that stands for many files."""
    return isinstance(path, RemotePath) and bool(_PATTERN.search(str(path._plain)))


def open_system(path: RemotePath) -> tuple[Any, str]:
    """Return the file system of an address, and the place in it.

    Raises `MissingExtra` or `BadInput` with the command that installs what is missing.
    """
    try:
        from fsspec.core import url_to_fs
    except ImportError:
        raise missing_extra(f"fsspec, which reads {path.scheme}://,", "remote") from None
    try:
        system, place = url_to_fs(path.address)
    except ImportError:
        package = PACKAGES.get(path.scheme, "")
        if package == "s3fs":
            raise missing_extra("s3fs, which reads s3://,", "remote") from None
        what = f"{path.scheme}:// needs a package that is not installed"
        cure = f"run: pip install {package}" if package else f"see {PAGE}"
        raise MissingExtra(what, file=path, cure=cure) from None
    except ValueError as problem:
        if "not known" not in str(problem):
            raise
        cure = f"{PAGE} lists protocols; a path of this machine has no ://"
        raise BadInput(f"there is no protocol {path.scheme!r}", file=path, cure=cure) from None
    return system, str(place)


@contextmanager
def translate_errors(path: RemotePath, doing: str = "read") -> Iterator[None]:
    """Let each error of a file system be one line that names the address."""
    try:
        yield
    except (BadInput, GeneratorExit):
        raise
    except FileNotFoundError:
        path.refuse_missing_bucket()
        raise BadInput("no such file", file=path, cure="check the address") from None
    except IsADirectoryError:
        raise BadInput("is a folder, not a file", file=path, cure="pass a file inside it") from None
    except Exception as problem:
        raise describe_failure(problem, path, doing) from None


def describe_failure(problem: Exception, path: RemotePath, doing: str) -> BadInput:
    """Return the line for an error of a file system or of the network."""
    reason = mask_secrets(str(problem).strip().partition("\n")[0] or type(problem).__name__)
    kind = type(problem).__name__
    if isinstance(problem, PermissionError) or "Credentials" in kind:
        what = f"cannot be {doing}: permission denied ({reason})"
        return BadInput(what, file=path, cure=f"check your credentials; see {PAGE}")
    if kind == "FileExpired":
        what, cure = "changed while it was read", "run the same command again"
        return BadInput(what, file=path, cure=cure)
    cure = "check the address and the network, and run the same command again"
    return BadInput(f"cannot be {doing} ({reason})", file=path, cure=cure)


class _RemoteReader(io.RawIOBase):
    """The bytes of a file at an address, with errors of one line."""

    def __init__(self, path: RemotePath) -> None:
        self._path = path
        with translate_errors(path):
            system, place = open_system(path)
            system.invalidate_cache()
            self._file = system.open(place, "rb", block_size=READ_BLOCK_BYTES)

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return bool(self._file.seekable())

    def readinto(self, buffer: Any) -> int:
        with translate_errors(self._path):
            data = self._file.read(len(buffer))
        buffer[: len(data)] = data
        return len(data)

    def seek(self, offset: int, whence: int = 0) -> int:
        with translate_errors(self._path):
            return int(self._file.seek(offset, whence))

    def tell(self) -> int:
        return int(self._file.tell())

    def close(self) -> None:
        if not self.closed:
            self._file.close()
        super().close()


def open_remote(path: RemotePath, *, is_own: bool = False) -> io.BufferedReader:
    """Open a file at an address for reading; only the blocks that are read are fetched.

    A file of an unfinished folder is refused, unless the folder `is_own`.
    """
    folder = path.parent
    if not is_own and monotonic() - _finished.get(folder.address, -SECONDS_KNOWN) >= SECONDS_KNOWN:
        folder.refuse_unfinished()
    return io.BufferedReader(_RemoteReader(path), _BUFFER_BYTES)
