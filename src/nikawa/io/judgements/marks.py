"""Spans and relations as other tools write them, turned into ours: characters counted by code points, the end exclusive.

Browsers count UTF-16 units, in which an emoji is two. Where a tool keeps the text of a span beside its offsets, the text
decides which of the two it counted; where neither fits, the answer is refused.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

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


def place_spans(spans: Iterable[ForeignSpan], texts: Sequence[str]) -> PlacedSpans:
    """The spans counted in characters of one of the item's texts; a `ValueError` says why that cannot be.

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
    is_utf16 = False
    if any(span.quote is not None for span in rows) and texts:
        if not any(covers_quotes(rows, text) for text in texts):
            fitting = [text for text in texts if covers_quotes(rows, text, utf16=True)]
            if not fitting:
                span = next(
                    s
                    for s in rows
                    if s.quote is not None and not any(covers_quotes([s], t) for t in texts)
                )
                what = f"marks {span.quote!r} at {span.start} to {span.end}, where the text says something else"
                raise ValueError(what)
            is_utf16 = True
            units = fitting[0].encode("utf-16-le", "surrogatepass")
            rows = [
                span._replace(
                    start=len(units[: 2 * span.start].decode("utf-16-le", "replace")),
                    end=len(units[: 2 * span.end].decode("utf-16-le", "replace")),
                )
                for span in rows
            ]
    elif texts and all(any(span.end > len(text) for span in rows) for text in texts):
        last = max(rows, key=lambda span: int(span.end))
        raise ValueError(f"marks characters up to {last.end}, the text has {max(map(len, texts))}")
    placed = {s.name: {"start": s.start, "end": s.end, "label": s.label} for s in rows if s.name}
    unique = dict.fromkeys((span.start, span.end, span.label) for span in rows)
    ordered = [{"start": start, "end": end, "label": label} for start, end, label in sorted(unique)]
    return PlacedSpans(ordered, placed, is_utf16)


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
            raise ValueError(f"a relation leads {side} {name!r}, which is no span of the answer")
        ends[side] = placed.by_name[name]
    if direction == "left":
        ends = {"from": ends["to"], "to": ends["from"]}
    more = {} if direction in ("left", "right", "") else {"direction": direction}
    return [{**ends, "label": label, **more} for label in labels or [""]]


def find_texts(value: Any) -> list[str]:
    """The texts an item holds, which spans may count the characters of."""
    values = value.values() if isinstance(value, Mapping) else [value]
    return [text for text in values if isinstance(text, str)]
