"""The published files at their pinned revisions: which there are, how large, with which checksum.

`upstream.json` holds facts only (repository, commit, git blob id and bytes of each file), no content.
"""

from __future__ import annotations

import hashlib
import os
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path

import msgspec

FILES: dict[str, tuple[str, ...]] = {
    "marc-ja": ("jglue/preprocess/marc-ja/*",),
    "jsts": ("jglue/datasets/jsts-*",),
    "jnli": ("jglue/datasets/jnli-*",),
    "jsquad": ("jglue/datasets/jsquad-*",),
    "jcommonsenseqa": ("jglue/datasets/jcommonsenseqa-*",),
    "jcola": ("jcola/*",),
    "ynat": ("klue/klue_benchmark/ynat-*",),
    "klue-sts": ("klue/klue_benchmark/klue-sts-*",),
    "klue-nli": ("klue/klue_benchmark/klue-nli-*",),
    "klue-ner": ("klue/klue_benchmark/klue-ner-*",),
    "klue-re": ("klue/klue_benchmark/klue-re-*",),
    "klue-dp": ("klue/klue_benchmark/klue-dp-*",),
    "klue-mrc": ("klue/klue_benchmark/klue-mrc-*",),
    "wos": ("klue/klue_benchmark/wos-*",),
    "jsick": ("jsick/jsick/*",),
    "jsick-en": ("jsick/jsick/*",),
    "jsick-stress": ("jsick/jsick-stress/*", "jsick/jsick/jsick.tsv", "jsick/jsick/test.tsv"),
    "jamp": ("jamp/*",),
    "jsem": ("jsem/*",),
}
"""Dataset to globs over `repository/path`: its splits and what its readers use beside them."""

WITHDRAWN = {
    "marc-ja": "the reviews themselves were withdrawn by Amazon and cannot be fetched, only JGLUE's lists of review ids; "
    "a copy of the reviews you already have can be converted",
}
"""What a fetch cannot bring, by dataset."""
INSTEAD = {
    "marc-ja": "the reviews were withdrawn and cannot be fetched: put your own copy of amazon_reviews_multilingual_JP_v1_00.tsv.gz into {folder}, or use marc-ja@FILE",
}
"""What to do where a fetch cannot help; `{folder}` is the folder of the repository."""
CHUNK = 1 << 20


class Entry(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What `upstream.json` says of a file."""

    git_blob: str
    bytes: int | None


class Repository(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A repository at one commit."""

    repository: str
    commit: str
    files: dict[str, Entry]


class Upstream(msgspec.Struct, frozen=True):
    """One published file."""

    folder: str
    """Key of the repository and name of its folder below the data root."""
    repository: str
    commit: str
    path: str
    git_blob: str
    size: int | None
    """Bytes; None where unknown."""

    @property
    def place(self) -> str:
        """Where it lies below the data root."""
        return f"{self.folder}/{self.path}"


@cache
def repositories() -> dict[str, Repository]:
    """Every pinned repository, by the name of its folder."""
    raw = (Path(__file__).parent / "upstream.json").read_bytes()
    return msgspec.json.decode(raw, type=dict[str, Repository])


@cache
def upstream_files() -> tuple[Upstream, ...]:
    """Every published file that is pinned."""
    return tuple(
        Upstream(folder, pinned.repository, pinned.commit, path, entry.git_blob, entry.bytes)
        for folder, pinned in repositories().items()
        for path, entry in pinned.files.items()
    )


def pinned_files(dataset: str) -> tuple[Upstream, ...]:
    """The published files of a dataset, with what its readers use beside the splits; none where it is embedded."""
    return tuple(
        file
        for file in upstream_files()
        if any(fnmatchcase(file.place, glob) for glob in FILES.get(dataset, ()))
    )


def blob_id(path: Path) -> str:
    """The git blob id of a file: SHA-1 over `blob SIZE`, a NUL, and the content."""
    with path.open("rb") as stream:
        size = os.fstat(stream.fileno()).st_size
        digest = hashlib.sha1(b"blob %d\0" % size, usedforsecurity=False)
        while chunk := stream.read(CHUNK):
            digest.update(chunk)
    return digest.hexdigest()


def is_published(file: Upstream, path: Path) -> bool:
    """Whether `path` holds the pinned content of `file`, byte for byte."""
    return file.size in (None, path.stat().st_size) and blob_id(path) == file.git_blob
