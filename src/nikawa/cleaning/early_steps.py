"""The early steps over chunks of documents, here or in other processes, in order."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache, partial

import msgspec

from nikawa.cleaning import Settings, choose
from nikawa.cleaning.engine import Cleaner, Gone
from nikawa.cleaning.minhash import Signatures, signatures
from nikawa.cleaning.engine import Piece
from nikawa.cleaning.source import Document
from nikawa.cleaning.engine import Tally
from nikawa.execute.ordered import map_ordered
from nikawa.io.chunks import by_characters

CHUNK = 100_000
"""Characters of a chunk."""


class Work(msgspec.Struct, frozen=True):
    """What a worker must know."""

    steps: tuple[str, ...]
    settings: Settings
    signed: bool


class Sentence(msgspec.Struct, frozen=True):
    """A sentence and its place in its document."""

    document: Document
    start: int
    end: int
    text: str


@dataclass
class Part:
    """What came of a chunk."""

    kept: list[Sentence]
    gone: list[tuple[Sentence, str, str]]
    """(Sentence, step, why)."""
    sentences: int
    tally: Tally
    signatures: Signatures | None = None


def chunks(documents: Iterator[Document]) -> Iterator[list[Document]]:
    """Documents together until they have `CHUNK` characters."""
    return by_characters(documents, CHUNK)


def parts(given: Iterator[list[Document]], work: Work, workers: int) -> Iterator[Part]:
    """The parts in the order of their chunks."""
    return map_ordered(partial(clean_chunk, work=work), given, workers)


def clean_chunk(chunk: list[Document], work: Work) -> Part:
    """Run the early steps over a chunk."""
    steps = _chosen(work.steps)
    cleaner = Cleaner(steps, work.settings)
    part = Part([], [], 0, cleaner.tally)
    for document in chunk:
        bare = document._replace(text="")  # the sentences hold what is needed of it
        for found in cleaner.clean(document.text):
            part.sentences += 1
            if isinstance(found, Gone):
                part.gone.append((_sentence(bare, found.piece), found.step, found.why))
            else:
                part.kept.append(_sentence(bare, found))
    if work.signed:
        part.signatures = signatures([sentence.text for sentence in part.kept])
    return part


_chosen = lru_cache(choose)


def _sentence(document: Document, piece: Piece) -> Sentence:
    start, end = piece.place()
    return Sentence(document, document.base + start, document.base + end, piece.text)
