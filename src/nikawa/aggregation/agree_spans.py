"""What `nikawa agree` needs to know to measure agreement about spans: how long the texts are, and what to say."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from nikawa.errors import BadInput
from nikawa.records import Example

if TYPE_CHECKING:
    from nikawa.aggregation.agree import Options
    from nikawa.aggregation.table import Table

TEXTS = ("text", "context")
"""Inputs that spans count the characters of, the first that is there."""
CHANCE = (
    "span-f1 and span-f1-overlap take off no chance: spans that nobody marks cannot be counted."
)
UNKNOWN = "alpha-characters needs the texts: name them with --examples FILE."


@dataclass(frozen=True)
class Spans:
    """A table whose answers are spans."""

    labels: dict[str, int]
    """How many spans were marked, by label."""
    lengths: Mapping[str, int] | None
    """Characters of the text of each item; None where the texts are not known."""

    @property
    def remarks(self) -> tuple[str, ...]:
        """What a reader of the measures must know."""
        return (CHANCE,) if self.lengths is not None else (CHANCE, UNKNOWN)


def spans_of(table: Table, known: Mapping[str, Example] | None, options: Options) -> Spans | None:
    """What is known about a table of spans; None where the answers are labels or numbers."""
    from nikawa.aggregation.span_agreement import are_spans, spans_by_label

    if not are_spans(table):
        return None
    if options.level not in (None, "nominal"):
        raise BadInput(f"spans have no {options.level} level", cure="leave --level out")
    if options.author is not None:
        raise BadInput("spans are not held against an author's", cure="leave --author out")
    if not (table.per_item() > 1).any():
        raise BadInput(
            f"no item has two answers to {table.question!r}", cure="agreement needs two workers"
        )
    lengths = (
        None if known is None else {item: len(text_of(item, known[item])) for item in table.items}
    )
    return Spans(spans_by_label(table), lengths)


def text_of(item: str, example: Example) -> str:
    """The text whose characters spans count."""
    texts = {name: value for name, value in example.inputs.items() if isinstance(value, str)}
    name = next(
        (name for name in (*TEXTS, *(texts if len(texts) == 1 else ())) if name in texts), None
    )
    if name is None:
        what = f"{item} has no input that spans could count the characters of"
        raise BadInput(what, cure=f"call the text {' or '.join(TEXTS)}")
    return texts[name]
