"""The texts of times, remembered: problems of one format share most of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from math import gcd
from operator import itemgetter
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec
from msgspec.structs import replace

from nikawa.errors import BadInput, unknown
from nikawa.generation.lexicon import Lexicon, load_lexicon
from nikawa.generation.pack import Pack
from nikawa.generation.randomness import KeyedRandom, hash_key
from nikawa.generation.template import Choice, Literal, Side, Template, Time
from nikawa.generation.time_sampling import Cell, index_times, moved
from nikawa.generation.time_spans import RandomSource, TimeSpan, draw_below
from nikawa.generation.times import TIME_WORDS, Format, Value, render_interval, render_point
from nikawa.generation.word_space import RESIDUE_COUNT, WordSpace, attach_particle, verb_unit
from nikawa.records import Example, Origin

if TYPE_CHECKING:
    from nikawa.generation.randomness_arrays import Numbers


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
            text = TIME_WORDS[language].unit[fmt.largest]
        elif fmt.measure is not None:
            text = fmt.measure.text.format(value)
        else:
            text = render_interval(value, fmt.largest, language)
        return attach_particle(text, particle) if particle else text

    return write, {}


__all__ = ["Generator", "PlannedCell", "load_pack_lexicon"]


FEW_WAYS = 8
"""Ways to fill a template up to which spans share them: fewer are not worth dividing."""


class PlannedCell(NamedTuple):
    """A cell of a split and how many problems it is asked for."""

    number: int
    """Its place among all cells of the pack, from 1: the first part of its problems' ids."""
    cell: Cell
    n: int
    """As many as were asked for, or as there are."""


class WordShare(NamedTuple):
    """The words of a cell among those of its template.

    Cells of different spans have no words in common, for their times may be the same; those of one span never make the same
    problem, for they differ in format or label.
    """

    space: WordSpace
    spans: int
    """How many spans share the space."""
    span: int
    """Which of them this one is."""
    cells: int
    """How many cells share what the span has."""
    offset: int
    """Which of them this one is."""

    @property
    def size(self) -> int:
        """How many words there are for the span."""
        return len(range(self.span, self.space.size, self.spans))

    def number(self, i: int) -> int:
        """The number of item i's words; all numbers come up before one returns."""
        size = self.size
        return int(self._number(i, size, gcd(size, self.cells)))

    def numbers(self, items: range) -> Numbers:
        """The numbers of many items."""
        import numpy as np

        size = self.size
        found: Numbers = self._number(
            np.arange(items.start, items.stop, dtype=np.int64), size, gcd(size, self.cells)
        )
        return found.astype(np.uint64)

    def _number(self, i: Any, size: int, ways: int) -> Any:
        lap, place = i // (size // ways), i % (size // ways)
        own = place * self.cells + self.offset - self.offset % ways + (self.offset + lap) % ways
        return own % size * self.spans + self.span


def load_pack_lexicon(pack: Pack) -> Lexicon:
    """The lexicon a pack names: a folder beside it, or a shipped one."""
    beside = pack.folder / pack.head.lexicon
    if pack.head.lexicon and (beside / "lexicon.toml").is_file():
        found = load_lexicon(beside)
    else:
        found = load_lexicon(pack.head.lexicon or pack.language)
    if found.language != pack.language:
        what = f"the pack {pack.name} is {pack.language!r}, its lexicon {found.about.name!r} is {found.language!r}"
        raise BadInput(what, cure="name a lexicon of the same language")
    return found


@dataclass(frozen=True)
class Generator:
    """Problems of one pack with one seed."""

    pack: Pack
    lexicon: Lexicon
    seed: str = "0"

    @cached_property
    def _numbers(self) -> dict[str, int]:
        """Name of each cell of the pack to its number."""
        every = [cell.name for t in self.pack.templates for cell in t.cells(spans=self.pack.spans)]
        return {name: number for number, name in enumerate(every, start=1)}

    def places(self, split: str, per: int) -> list[PlannedCell]:
        """The cells of a split, each with the number of problems it gives: `per`, or as many as it has."""
        return [
            PlannedCell(self._numbers[cell.name], cell, min(per, self._most(cell, split)))
            for cell in self.pack.cells(split)
        ]

    def _most(self, cell: Cell, split: str) -> int:
        """How many different problems a cell is sure to have: times make more of the same words."""
        share = self._share(cell, split)
        if cell.span is not None and share.size:
            return 1 << 62
        return len(range(share.offset, share.size, share.cells))

    def returns(self, split: str, place: PlannedCell) -> bool:
        """Whether words of a cell come up again, or in another span, so that two problems may be the same."""
        if place.cell.span is None:
            return False
        share = self._share(place.cell, split)
        return place.n > share.size or (share.spans == 1 and len(self.pack.spans) > 1)

    def problems(
        self, split: str, place: PlannedCell, start: int = 0, stop: int | None = None
    ) -> Iterator[Example]:
        """Items `start` to `stop` of a cell, all of them when left out."""
        return map(self._maker(split, place), range(start, place.n if stop is None else stop))

    def words(self, cell: Cell, chance: RandomSource) -> dict[str, str]:
        """Texts for every key of a cell's template that is no time, drawn by chance."""
        space = self._share(cell, self.first_split).space
        fillers = space.fill(draw_below(chance, space.size), 0)
        if choose := _chooser(cell.template):
            choose(fillers, chance)
        return fillers

    def lines(
        self, split: str, place: PlannedCell, start: int = 0, stop: int | None = None
    ) -> bytes:
        """Items `start` to `stop` as JSON lines: the very bytes of the records, without making the records."""
        items = range(start, place.n if stop is None else stop)
        example = self._example(split, place)
        line = _line(example, place.cell.template) if self._written_as_they_are else None
        if line is not None:
            text, pick = line
            filled = enumerate(self._filled(split, place.cell, items), start=start + 1)
            return "".join([text % (i, *pick(fillers)) for i, fillers in filled]).encode()
        return b"".join(
            _encode(found) + b"\n" for found in self.problems(split, place, start, stop)
        )

    @cached_property
    def _written_as_they_are(self) -> bool:
        """Whether no word needs an escape in JSON."""
        measures = [measure.text for measure in self.pack.head.measure.values()]
        lexicon = self.lexicon
        return not any(map(_escaped, (*measures, *lexicon.agents, *lexicon.nouns, *lexicon.verbs)))

    def _maker(self, split: str, place: PlannedCell) -> Callable[[int], Example]:
        example, fill, render = (
            self._example(split, place),
            self._filler(split, place.cell),
            place.cell.template.render,
        )

        def make(i: int) -> Example:
            premise, hypothesis = render(fill(i))
            inputs = {"premise": premise, "hypothesis": hypothesis}
            return replace(example, id=f"{place.number}-{i + 1}", inputs=inputs)

        return make

    def _example(self, split: str, place: PlannedCell) -> Example:
        """What all problems of a cell share; the id lacks its second part, the texts are empty."""
        template = place.cell.template
        return Example(
            id=f"{place.number}-",
            inputs={"premise": "", "hypothesis": ""},
            gold={"label": place.cell.label},
            tags=frozenset({template.category}),
            meta=self.meta(place.cell, split),
            group=f"template-{template.id}",
            origin=Origin(recipe=self.pack.name, step=template.id, gold="derived"),
        )

    def _filled(self, split: str, cell: Cell, items: range) -> Iterator[dict[str, str]]:
        """The texts of all slots of each item; those with fresh words are worked out together where they are many."""
        from nikawa.generation import randomness_arrays as batch

        share = self._share(cell, split)
        fresh = range(items.start, max(items.start, min(items.stop, share.size)))
        if (
            len(fresh) >= batch.LEAST
            and max(share.space.size, fresh.stop * share.cells) < batch.MOST
        ):
            yield from self._filled_together(split, cell, fresh)
            items = range(fresh.stop, items.stop)
        if items:
            yield from map(self._filler(split, cell), items)

    def _filled_together(self, split: str, cell: Cell, items: range) -> Iterator[dict[str, str]]:
        from nikawa.generation.randomness_arrays import drawn

        share = self._share(cell, split)
        words, dice = self._keys(split, cell)
        texts, choose, chosen = timer(cell), _chooser(cell.template), hash_key(dice, "choice")
        times = drawn(self._draw(cell), dice, items.start, items.stop)
        for i, fillers, values in zip(
            items, share.space.fill_many(share.numbers(items), words), times, strict=True
        ):
            texts(fillers, values)
            if choose is not None:
                choose(fillers, KeyedRandom(chosen, i))
            yield fillers

    def _keys(self, split: str, cell: Cell) -> tuple[int, int]:
        """What the words and the times of a cell are keyed by."""
        words = hash_key(self.seed, self.pack.name, split, cell.template.id, verb_unit(cell))
        return words, hash_key(self.seed, self.pack.name, split, cell.name)

    def _filler(self, split: str, cell: Cell) -> Callable[[int], dict[str, str]]:
        """A function that gives the texts of all slots of item i."""
        share = self._share(cell, split)
        if not share.size:
            raise BadInput(
                f"{cell.name}: the lexicon has too few words for {split}",
                cure="add nouns, or agents",
            )
        words, dice = self._keys(split, cell)
        drawn = _drawer(self._draw(cell), dice, share.size)
        texts, choose, chosen = timer(cell), _chooser(cell.template), hash_key(dice, "choice")
        fill, number = share.space.fill, share.number

        def filled(i: int) -> dict[str, str]:
            fillers = fill(number(i), words)
            texts(fillers, drawn(i))
            if choose is not None:
                choose(fillers, KeyedRandom(chosen, i))
            return fillers

        return filled

    def meta(self, cell: Cell, split: str) -> dict[str, str | None]:
        """What a problem can be sliced by; test problems say which training splits have seen their kind."""
        template = cell.template
        found: dict[str, str | None] = {
            "template": template.id,
            "category": template.category,
            "time_format": cell.format.name(template.language) if cell.format else None,
            "time_span": cell.span.name if cell.span else None,
            "cell": cell.name,
        }
        if split != self.first_split:
            for name in self.pack.rules:
                found[name] = "seen" if self.pack.seen(name, found) else "unseen"
        return found

    @property
    def first_split(self) -> str:
        """The split that is trained on."""
        return next(iter(self.pack.head.cells))

    @cached_property
    def owned(self) -> dict[str, tuple[int, ...]]:
        """Split to the residues it owns: one each, the rest for the first."""
        names = list(self.pack.head.cells)
        if len(names) > RESIDUE_COUNT:
            raise BadInput(
                f"{self.pack.name} has {len(names)} splits",
                cure=f"at most {RESIDUE_COUNT} can be kept apart",
            )
        rest = tuple(range(RESIDUE_COUNT - len(names) + 1))
        return {name: rest if i == 0 else (RESIDUE_COUNT - i,) for i, name in enumerate(names)}

    def _share(self, cell: Cell, split: str) -> WordShare:
        """The words of a cell."""
        if split not in self.owned:
            raise unknown(f"split of {self.pack.name}", split, self.owned)
        template, unit = cell.template, verb_unit(cell)
        where = (template.id, unit, split)
        if where not in self._spaces:
            space = WordSpace(template, self.lexicon, unit, self.owned[split])
            mates: dict[TimeSpan | None, list[str]] = {}
            for other in template.cells(spans=self.pack.spans):
                if verb_unit(other) == unit:
                    mates.setdefault(other.span if space.size > FEW_WAYS else None, []).append(
                        other.name
                    )
            self._spaces[where] = space, list(mates.values())
        space, order = self._spaces[where]
        span = next(i for i, names in enumerate(order) if cell.name in names)
        return WordShare(space, len(order), span, len(order[span]), order[span].index(cell.name))

    @cached_property
    def _spaces(self) -> dict[tuple[str, str, str], tuple[WordSpace, list[list[str]]]]:
        return {}

    def _draw(self, cell: Cell) -> Draw:
        draw = index_times(cell.template.spec, cell.format, cell.span).drawer(cell.label)
        assert draw is not None, "cells are those that can be reached"
        return draw


TRIES = 20
"""How often an item looks for times that an earlier item with the same words does not have."""
Draw = Callable[[RandomSource], Mapping[str, Value]]


def _drawer(draw: Draw, seed: int, period: int) -> Callable[[int], Mapping[str, Value]]:
    """Times of item i; words return after `period` items, and then other times must make the difference."""
    known: dict[int, tuple[list[Mapping[str, Value]], set[tuple[Value, ...]]]] = {}

    def drawn(i: int) -> Mapping[str, Value]:
        if i < period:
            return draw(KeyedRandom(seed, i))
        chain, taken = known.setdefault(i % period, ([], set()))
        while len(chain) <= i // period:
            chain.append(_fresh(draw, seed, i % period + len(chain) * period, taken))
        return chain[i // period]

    return drawn


def _fresh(draw: Draw, seed: int, i: int, taken: set[tuple[Value, ...]]) -> Mapping[str, Value]:
    for attempt in range(TRIES):
        values = draw(KeyedRandom(seed + attempt, i))
        if (found := tuple(values.values())) not in taken:
            break
    taken.add(found)
    return values


def _chooser(template: Template) -> Callable[[dict[str, str], RandomSource], None] | None:
    choices = list({u.key: u.options for u in template.uses if isinstance(u, Choice)}.items())
    if not choices:
        return None

    def choose(fillers: dict[str, str], chance: RandomSource) -> None:
        for name, options in choices:
            fillers[name] = options[draw_below(chance, len(options))]

    return choose


Line = tuple[str, Callable[[Mapping[str, str]], tuple[str, ...]]]
_encode = msgspec.json.Encoder(order="deterministic").encode
_ID, _PREMISE, _HYPOTHESIS = "\x01", "\x02", "\x03"


def _line(example: Example, template: Template) -> Line | None:
    """A whole JSON line as one format string and what picks its values: number, then the slots of both sides.

    None where a literal needs escapes: then nothing can be put together from parts.
    """
    known = [e.text for e in (*template.premise, *template.hypothesis) if isinstance(e, Literal)]
    if any(_escaped(text) for text in known) or any(_escaped(o) for o in _options(template)):
        return None
    inputs = {"premise": _PREMISE, "hypothesis": _HYPOTHESIS}
    text = (
        (_encode(replace(example, id=example.id + _ID, inputs=inputs)) + b"\n")
        .decode()
        .replace("%", "%%")
    )
    sides = {"\\u0002": template.premise, "\\u0003": template.hypothesis}
    marks = sorted(sides, key=text.index)
    keys = [e.key for mark in marks for e in sides[mark] if not isinstance(e, Literal)]
    for mark in marks:
        text = text.replace(mark, _pattern(sides[mark]))
    return text.replace("\\u0001", "%d"), _picker(keys)


def _pattern(side: Side) -> str:
    return "".join(e.text.replace("%", "%%") if isinstance(e, Literal) else "%s" for e in side)


def _options(template: Template) -> Iterator[str]:
    for use in template.uses:
        if isinstance(use, Choice):
            yield from use.options


def _picker(keys: list[str]) -> Callable[[Mapping[str, str]], tuple[str, ...]]:
    if len(keys) == 1:
        (only,) = keys
        return lambda fillers: (fillers[only],)
    return itemgetter(*keys) if keys else lambda fillers: ()


def _escaped(text: str) -> bool:
    """Whether JSON writes the text otherwise than it is."""
    return _encode(text) != f'"{text}"'.encode()
