"""Times for a wanted label, without trial and error while generating, and the cells they make.

`sample(template, format, span, label, chance)` draws from an index that is built once for everything that decides a label
(conditions, format, span) and is shared by all templates that agree on it; see `time_index`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from nikawa.generation.spans import RANDOM, SHORT, Chance, Span
from nikawa.generation.template import LABELS, Template, Time
from nikawa.generation.time import Format, Point, day_before
from nikawa.generation.time_index import index
from nikawa.generation.time_spec import TimeSpec, Values


def moved(point: Point, days: int, fmt: Format) -> Point:
    """A point as it is written some days earlier; days lie within the month."""
    for _ in range(-days):
        earlier = day_before(point, fmt)
        assert earlier is not None
        point = earlier
    return point


def spec_of(template: Template, *, given: bool = True) -> TimeSpec:
    """What the labels of a template depend on; without `given` self-contradicting premises may occur."""
    times = [use for use in template.uses if isinstance(use, Time)]
    named = dict.fromkeys((use.slot, use.kind) for use in times)
    return TimeSpec(
        points=tuple(slot for slot, kind in named if kind == "time"),
        sizes=tuple(slot for slot, kind in named if kind in ("interval", "number")),
        entails=template.entails,
        contradicts=template.contradicts,
        given=template.given if given else (),
        before=tuple(dict.fromkeys(use.slot for use in times if use.days)),
        apart=tuple((use.slot, use.apart[0]) for use in times if use.apart),
    )


class Cell(NamedTuple):
    """Problems of one kind: a template, a format and a span (None where it has no times), a label."""

    template: Template
    format: Format | None
    span: Span | None
    label: str

    @property
    def name(self) -> str:
        """Stable name, such as `1/年月/random/neutral`."""
        language = self.template.language
        fmt = self.format.name(language) if self.format else "-"
        return f"{self.template.id}/{fmt}/{self.span.name if self.span else '-'}/{self.label}"


def cells_of(
    template: Template,
    formats: tuple[Format, ...] | None = None,
    spans: tuple[Span, ...] | None = None,
) -> tuple[Cell, ...]:
    """The reachable cells, by format, span and label in the published order."""
    return tuple(cell for cell, reachable in all_cells(template, formats, spans) if reachable)


def unreachable_cells(
    template: Template,
    formats: tuple[Format, ...] | None = None,
    spans: tuple[Span, ...] | None = None,
) -> tuple[Cell, ...]:
    """Cells of labels that the template has elsewhere but that no assignment of this format and span reaches."""
    found = list(all_cells(template, formats, spans))
    labels = {cell.label for cell, reachable in found if reachable}
    return tuple(cell for cell, reachable in found if not reachable and cell.label in labels)


def all_cells(
    template: Template,
    formats: tuple[Format, ...] | None = None,
    spans: tuple[Span, ...] | None = None,
) -> Iterator[tuple[Cell, bool]]:
    """Every combination, and whether it can be reached."""
    spanned = bool(template.spec.points or template.spec.sizes)
    for fmt in _offered(template, formats):
        for span in (spans or (RANDOM, SHORT)) if spanned else (None,):
            reached = labels_of(template, fmt, span)
            yield from ((Cell(template, fmt, span, label), label in reached) for label in LABELS)


def _offered(template: Template, formats: tuple[Format, ...] | None) -> Iterable[Format | None]:
    if not template.formats:
        return (None,)
    return (
        template.formats if formats is None else [fmt for fmt in template.formats if fmt in formats]
    )


def labels_of(template: Template, fmt: Format | None, span: Span | None) -> tuple[str, ...]:
    """The labels some assignment of times gives."""
    return index(template.spec, fmt, span).labels


def sample(
    template: Template, fmt: Format | None, span: Span | None, label: str, chance: Chance
) -> Values | None:
    """Times that give the label, or None where none do. The same chance gives the same times."""
    return index(template.spec, fmt, span).draw(label, chance)
