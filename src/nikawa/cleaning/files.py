"""The files of a cleaning: their names, encodings, languages, and the documents in them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from nikawa.cleaning.encoding import detect_language
from nikawa.cleaning.origins import read_origins, with_origins
from nikawa.cleaning.source import Document, documents, look, read_text_lines
from nikawa.errors import BadInput, unknown
from nikawa.records import Record


class Reading(Record, frozen=True, kw_only=True):
    """How to read the files."""

    encoding: str | None = None
    field: str = "text"
    licence: str = ""
    """Of documents that do not name their own."""
    source: str = ""
    sources: Path | None = None
    """A table of which lines of a mixed file come from where."""
    only: Path | None = None
    """A file whose first column names the documents to take."""


class Input(Record, frozen=True, kw_only=True):
    """One file as it will be read."""

    path: str
    name: str
    encoding: str
    language: str


def inputs_of(texts: Sequence[Path], reading: Reading, language: str = "") -> list[Input]:
    """Look at each file; one that cannot be read as text is refused here, before any work."""
    if language not in ("", "ja", "ko"):
        raise unknown("language that can be cleaned", language, ("ja", "ko"))
    bases = Counter(path.name for path in texts)
    if len({path.resolve() for path in texts}) < len(texts):
        raise BadInput("a file is named twice", cure="name each once")
    if reading.sources and len(texts) > 1:
        raise BadInput(
            "a table of sources is about one file",
            file=reading.sources,
            cure="clean the files one by one",
        )
    found = []
    for path in texts:
        encoding, start = look(path, reading.encoding)
        name = path.name if bases[path.name] == 1 else path.as_posix()
        told = language or detect_language(start, path)
        found.append(Input(path=str(path), name=name, encoding=encoding, language=told))
    return found


def read(
    files: Sequence[Input], reading: Reading, leave_out: Callable[[], None]
) -> Iterator[Document]:
    """The documents of all files with their source and licence; `leave_out` hears of each not selected."""
    chosen = None if reading.only is None else _chosen(reading.only)
    for document in _all(files, reading):
        if chosen is not None and document.id not in chosen and document.name not in chosen:
            leave_out()
            continue
        yield document._replace(
            source=document.source or reading.source, licence=document.licence or reading.licence
        )


def _all(files: Sequence[Input], reading: Reading) -> Iterator[Document]:
    origins = read_origins(reading.sources) if reading.sources else None
    for file in files:
        found = documents(Path(file.path), file.name, file.encoding, reading.field)
        yield from with_origins(found, file.name, origins) if origins else found


def _chosen(path: Path) -> frozenset[str]:
    names = frozenset(line.split("\t")[0] for _, line in read_text_lines(path, "utf-8"))
    if not names - {""}:
        raise BadInput(
            "names no document", file=path, cure="write an id a line, as nikawa rank does"
        )
    return names
