"""The texts of times, remembered: problems of one format share most of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache

from nikawa.generation.engine_words import attached
from nikawa.generation.template import Time
from nikawa.generation.time import SURFACES, Format, Value, render_interval, render_point
from nikawa.generation.times import Cell, moved

Timer = Callable[[dict[str, str], Mapping[str, Value]], None]
"""Writes the texts of the times into the fillers."""
REMEMBERED = 9_000
"""Texts kept of each format: all days of the years of a span, not all their hours."""


def timer(cell: Cell) -> Timer:
    """What writes the times of a cell's problems."""
    uses = {use.key: use for use in cell.template.uses if isinstance(use, Time)}
    if cell.format is None or not uses:
        return lambda fillers, values: None
    language = cell.template.language
    writers = [
        (name, use.slot, *_writer(use.kind, use.days, use.particle, cell.format, language))
        for name, use in uses.items()
    ]

    def write(fillers: dict[str, str], values: Mapping[str, Value]) -> None:
        for name, slot, make, known in writers:
            value = values.get(slot, 1)
            if value in known:
                fillers[name] = known[value]
                continue
            text = fillers[name] = make(value)
            if len(known) < REMEMBERED:
                known[value] = text

    return write


@cache
def _writer(
    kind: str, days: int, particle: str, fmt: Format, language: str
) -> tuple[Callable[[Value], str], dict[Value, str]]:
    """What writes one kind of time, and what it has written so far."""

    def write(value: Value) -> str:
        if isinstance(value, tuple):
            text = render_point(moved(value, days, fmt), fmt, language)
        elif kind == "unit":
            text = SURFACES[language].unit[fmt.largest]
        elif fmt.measure is not None:
            text = fmt.measure.text.format(value)
        else:
            text = render_interval(value, fmt.largest, language)
        return attached(text, particle) if particle else text

    return write, {}
