"""What the dashboard and the page for decisions add to the store's own figures: their words, the latest answers."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping
from functools import cache
from importlib.resources import files
from types import MappingProxyType
from typing import Any, NamedTuple

import msgspec

from nikawa.collect.database import Link
from nikawa.collect.form import LANGUAGES
from nikawa.collect.records import WRITER, example_of


class Given(NamedTuple):
    """An answer that stands, with the texts it was given to."""

    ref: str
    worker: str
    inputs: dict[str, Any]
    answer: dict[str, Any]
    writer: str
    """Who wrote the text that was judged; empty where nobody said."""


@cache
def words(language: str) -> Mapping[str, str]:
    """The messages of the owner's pages; they stand apart, so that no worker's page carries them."""
    chosen = language if language in LANGUAGES else "en"
    text = (files("nikawa.collect") / "messages" / "owner" / f"{chosen}.toml").read_text("utf-8")
    return MappingProxyType(tomllib.loads(text))


def latest(link: Link, limit: int) -> Iterator[Given]:
    """The last answers to the main items that stand, the latest first."""
    for ref, worker, text, body in link.stream(
        "SELECT i.ref, w.name, t.body, a.body FROM answers a JOIN items i ON i.id = a.item"
        " JOIN texts t ON t.item = i.id JOIN workers w ON w.id = a.worker"
        " LEFT JOIN withdrawals x ON x.answer = a.seq WHERE a.kind = 'main' AND a.surplus = 0"
        " AND x.answer IS NULL AND w.state <> 'excluded' ORDER BY a.seq DESC LIMIT ?",
        limit,
    ):
        example = example_of(text)
        writer = str(example.meta.get(WRITER, ""))
        yield Given(ref, worker, example.inputs, msgspec.json.decode(body), writer)


def troubled(link: Link, limit: int) -> list[tuple[str, int, bool]]:
    """Items that workers reported or that are set aside: reference, reports, whether set aside; most reports first."""
    rows = link.rows(
        "SELECT ref, reports, held FROM items WHERE kind = 'main' AND reports > 0"
        " ORDER BY reports DESC, ref LIMIT ?",
        limit,
    )
    return [(str(ref), int(reports), bool(held)) for ref, reports, held in rows]
