"""Members of a zip file, Zstandard-packed ones too, which Python reads by itself only from 3.14."""

from __future__ import annotations

import struct
import zipfile
from collections.abc import Iterator
from pathlib import Path

import zstandard

from nikawa.errors import BadInput

_ZSTD = 93
_HEADER = 30
"""Bytes of a member's local header before its name."""


def members(path: Path, folder: str) -> Iterator[tuple[str, bytes]]:
    """(Name, content) of the JSON files in `folder` of the archive, in the archive's order."""
    try:
        with zipfile.ZipFile(path) as archive:
            for info in archive.infolist():
                if info.filename.startswith(folder) and info.filename.endswith(".json"):
                    yield info.filename, _content(archive, info, path)
    except (zipfile.BadZipFile, zstandard.ZstdError, EOFError, OSError) as problem:
        raise BadInput(
            f"is a damaged archive ({problem})", file=path, cure="copy or write the log again"
        ) from None


def _content(archive: zipfile.ZipFile, info: zipfile.ZipInfo, path: Path) -> bytes:
    if info.compress_type == _ZSTD:
        return zstandard.ZstdDecompressor().decompressobj().decompress(_packed(path, info))
    try:
        return archive.read(info)
    except (
        NotImplementedError,
        RuntimeError,
    ):  # zipfile's words for a method it lacks, and for a password
        what = f"{info.filename} is packed in a way that is not known here"
        raise BadInput(
            what, file=path, cure="write the log as JSON, with inspect log convert"
        ) from None


def _packed(path: Path, info: zipfile.ZipInfo) -> bytes:
    with path.open("rb") as stream:
        stream.seek(info.header_offset)
        head = stream.read(_HEADER)
        if len(head) < _HEADER:
            raise EOFError("a member is missing")
        name, extra = struct.unpack("<HH", head[26:30])
        stream.seek(name + extra, 1)
        return stream.read(info.compress_size)
