"""Spans and relations as other tools write them, turned into ours: characters counted by code points, the end exclusive.

Browsers count UTF-16 units, in which an emoji is two. If a tool keeps the text of a span with its offsets, the text
decides which of the two it counted; where neither fits, the answer is refused. Where it does not, the caller says what was
counted, or a text in which it makes a difference is refused.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from nikawa.io.judgements.base import OffsetUnit

UTF16 = "offsets in UTF-16 units"
UTF16_DONE = "turned into characters by the text of each span"


class ForeignSpan(NamedTuple):
    """A span as a tool gives it."""

    start: Any
    end: Any
    label: str
    quote: str | None = None
    """The text it covers, where the tool keeps it."""
    name: str = ""
    """What relations call it."""


class PlacedSpans(NamedTuple):
    """The spans of an answer with the offsets of ours."""

    spans: list[dict[str, Any]]
    """In order, none twice."""
    by_name: Mapping[str, dict[str, Any]]
    """The same under the names that relations use."""
    is_utf16: bool
    """Whether the tool counted UTF-16 units."""


def place_spans(
    spans: Iterable[ForeignSpan], texts: Sequence[str], unit: OffsetUnit | None = "characters"
) -> PlacedSpans:
    """The spans counted in characters of one of the item's texts; a `ValueError` says why that cannot be.

    `unit` is the unit of a tool that does not keep the text of a span. None means that it is not known: a text in which it
    makes a difference is an error.

    >>> place_spans([ForeignSpan(2, 3, "PS", "猫")], ["🍣猫"]).spans
    [{'start': 1, 'end': 2, 'label': 'PS'}]
    """
    rows = list(spans)
    for span in rows:
        if (
            type(span.start) is not int
            or type(span.end) is not int
            or not 0 <= span.start < span.end
        ):
            raise ValueError(f"marks characters {span.start!r} to {span.end!r}")
    is_utf16 = unit == "utf16"
    counted_in = texts[0] if texts else ""
    if texts and any(span.quote is not None for span in rows):
        fitting = [text for text in texts if covers_quotes(rows, text)]
        is_utf16 = not fitting
        if is_utf16:
            fitting = [text for text in texts if covers_quotes(rows, text, utf16=True)]
        if not fitting:
            span = next(s for s in rows if not any(covers_quotes([s], text) for text in texts))
            raise ValueError(
                f"marks {span.quote!r} at {span.start} to {span.end}, where the text is different"
            )
        counted_in = fitting[0]
    elif rows and unit is None and any(not counts_alike(text) for text in texts):
        raise ValueError("marks a text in which offsets depend on the unit")
    if is_utf16 and rows and texts:
        units = counted_in.encode("utf-16-le", "surrogatepass")
        if any(2 * span.end > len(units) for span in rows):
            raise ValueError(f"marks more than the {len(units) // 2} UTF-16 units of the text")
        rows = [
            span._replace(
                start=count_characters(units, span.start), end=count_characters(units, span.end)
            )
            for span in rows
        ]
    elif rows and texts and all(any(span.end > len(text) for span in rows) for text in texts):
        last = max(rows, key=lambda span: int(span.end))
        raise ValueError(f"marks characters up to {last.end}, the text has {max(map(len, texts))}")
    placed = {s.name: {"start": s.start, "end": s.end, "label": s.label} for s in rows if s.name}
    unique = dict.fromkeys((span.start, span.end, span.label) for span in rows)
    ordered = [{"start": start, "end": end, "label": label} for start, end, label in sorted(unique)]
    return PlacedSpans(ordered, placed, is_utf16)


def counts_alike(text: str) -> bool:
    """Whether characters, UTF-16 units and what a reader sees as characters are the same number, wherever they are counted.

    >>> counts_alike("雨が降る"), counts_alike("🍣"), counts_alike("か\u3099")
    (True, False, False)
    """
    return all(
        character < "\U00010000"
        and unicodedata.category(character) not in ("Mn", "Me", "Mc", "Cf")
        and not "\u1100" <= character <= "\u11ff"
        and character != "\r"
        for character in text
    )


def count_characters(units: bytes, offset: int) -> int:
    """Convert an offset in UTF-16 units of a text, given in UTF-16, to characters; an offset inside a character is an error."""
    low = units[2 * offset : 2 * offset + 2]
    if low and 0xDC00 <= int.from_bytes(low, "little") <= 0xDFFF:
        raise ValueError(f"marks half of a character: UTF-16 unit {offset} is inside one")
    return len(units[: 2 * offset].decode("utf-16-le", "replace"))


def count_utf16(text: str, offset: int) -> int:
    """An offset in characters as one in UTF-16 units, which pages of browsers count."""
    return len(text[:offset].encode("utf-16-le", "surrogatepass")) // 2


def covers_quotes(spans: Iterable[ForeignSpan], text: str, *, utf16: bool = False) -> bool:
    """Whether each span covers what it quotes; tools write a line break of a quote as two characters, or trim it."""
    units = text.encode("utf-16-le", "surrogatepass")
    for span in spans:
        if span.quote is None:
            continue
        if utf16:
            covered = units[2 * span.start : 2 * span.end].decode("utf-16-le", "replace")
        else:
            covered = text[span.start : span.end]
        if covered.strip() != span.quote.replace("\\n", "\n").strip():
            return False
    return True


def join_relation(
    source: str, target: str, labels: Sequence[str], direction: str, placed: PlacedSpans
) -> list[dict[str, Any]]:
    """A relation between two spans, once a label; a `ValueError` says which span it does not have."""
    ends = {}
    for side, name in (("from", source), ("to", target)):
        if name not in placed.by_name:
            raise ValueError(f"a relation leads {side} {name!r}, which is not a span of the answer")
        ends[side] = placed.by_name[name]
    if direction == "left":
        ends = {"from": ends["to"], "to": ends["from"]}
    more = {} if direction in ("left", "right", "") else {"direction": direction}
    return [{**ends, "label": label, **more} for label in labels or [""]]


def find_texts(value: Any) -> list[str]:
    """The texts an item holds, which spans may count the characters of."""
    values = value.values() if isinstance(value, Mapping) else [value]
    return [text for text in values if isinstance(text, str)]
