"""Who wrote the texts that others judge: a file next to them that is never published, and a copy in the project.

The texts themselves carry pseudonyms: they end up in a dataset. The names are needed all the same, so that no worker is
given their own text. The intended label of a text is stored here too, since it would reveal the label to judges and models.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import Path

import msgspec

from nikawa.io.atomic import atomic_write
from nikawa.io.records import read_records, suffix_of
from nikawa.records import Example, Record

WRITER = "writer"
"""Who wrote the text of an example, in its meta: the owner's dashboard names them, no worker's page does."""
WRITERS = "writers.jsonl"
"""The file in a project's folder."""
_PSEUDONYM = re.compile(r"w-[0-9a-f]{16}")


class Authorship(Record, frozen=True, kw_only=True, omit_defaults=True):
    """Where a text came from."""

    example: str
    """The id of the text as an example."""
    writer: str
    """The name of the worker, or a pseudonym where the export was asked for these; empty: no worker wrote it here."""
    others: tuple[str, ...] = ()
    """Further workers who may not judge it, such as those whose answers it was made of."""
    meant: str = ""
    """The label the writer was asked for."""
    key: str = ""
    """The mark of the key that a pseudonym was made with (`PseudonymKey.mark`); older files do not have it."""


def writers_file(texts: Path) -> Path:
    """The file of the writers of a file of texts: `written.writers.jsonl` next to `written.jsonl`."""
    return texts.with_name(f"{texts.name.removesuffix(suffix_of(texts))}.{WRITERS}")


def write_writers(path: Path, rows: Iterable[Authorship], *, overwrite: bool = False) -> None:
    """Write who wrote what, for the owner's eyes alone."""
    with atomic_write(path, overwrite=overwrite, private=True) as stream:
        stream.writelines(msgspec.json.encode(row) + b"\n" for row in rows)


def read_writers(path: Path) -> dict[str, Authorship]:
    """Who wrote what, by example; nothing where there is no such file."""
    if not path.is_file() or not path.stat().st_size:
        return {}
    return {row.example: row for row in read_records(path, Authorship)}


def writer_of(example: Example, known: Mapping[str, Authorship]) -> str:
    """The name of an example's writer: that of the file, else what the example says; empty where neither does."""
    if example.id in known:
        return known[example.id].writer
    writer = example.meta.get(WRITER)
    return writer if isinstance(writer, str) else ""


def barred_from(example: Example, known: Mapping[str, Authorship]) -> tuple[str, ...]:
    """All workers who may not judge an example: its writer and the others that the file names."""
    writer = writer_of(example, known)
    others = known[example.id].others if example.id in known else ()
    return (*((writer,) if writer else ()), *others)


def is_pseudonym(name: str) -> bool:
    """Whether a name is one that a project made up: no worker is known by it."""
    return _PSEUDONYM.fullmatch(name) is not None
