"""The generator: cells in, problems out.

Item i of a cell depends on the seed, the cell and i, and on nothing else. A split is made of cells
(template x format x span x label). The words of item i come from the template's `WordSpace`, whose
numbers its cells share out among themselves (cell c of C takes c, c + C, c + 2C, …), so that no two
problems of a template have all words in common until every way is used; then each takes those of
the next, lest a name stick to a label. The times come from the index of the wanted label.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, cached_property
from math import gcd
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec
from msgspec.structs import replace

from nikawa.errors import BadInput, name_faulty_file, unknown
from nikawa.generation.lexicon import Lexicon, load_lexicon
from nikawa.generation.pack import Pack
from nikawa.generation.randomness import KeyedRandom, RandomSource, draw_below, hash_key
from nikawa.generation.template import (
    Choice,
    Literal,
    PickTexts,
    ProblemCell,
    Template,
    Time,
    format_side,
    pick_texts,
    render_time,
)
from nikawa.generation.time_sampling import Draw, TimeValues, index_times
from nikawa.generation.time_spans import TimeSpan
from nikawa.generation.times import Format, Value, Values
from nikawa.generation.word_space import RESIDUE_COUNT, WordSpace, verb_unit
from nikawa.records import Example, Origin

if TYPE_CHECKING:
    from nikawa.generation.randomness_arrays import Numbers

MAX_SHARED_WAYS = 8
"""Ways to fill a template up to which spans share them: fewer are not worth dividing."""
MAX_TIME_TEXTS = 9_000
"""Texts of times kept of each format: all days of the years of a span, not all their hours."""
MAX_TIME_TRIES = 20
"""How often an item looks for times that an earlier item with the same words does not have."""


class PlannedCell(NamedTuple):
    """A cell of a split and how many problems it gives."""

    number: int
    """Its place among all cells of the pack, from 1: the first part of its problems' ids."""
    cell: ProblemCell
    n: int
    """As many as were asked for, or as there are."""


@dataclass(frozen=True)
class WordShare:
    """The words of a cell among those of its template.

    Cells of different spans have no words in common, for their times may be the same; those of one
    span never make the same problem, for they differ in format or label.
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

    @cached_property
    def size(self) -> int:
        """How many words there are for the span."""
        return len(range(self.span, self.space.size, self.spans))

    @cached_property
    def _ways(self) -> int:
        return gcd(self.size, self.cells)

    def number(self, i: int) -> int:
        """The number of item i's words; all numbers come up before one returns."""
        return int(self._number(i))

    def numbers(self, items: range) -> Numbers:
        """The numbers of many items."""
        import numpy as np

        places = np.arange(items.start, items.stop, dtype=np.int64)
        numbers: Numbers = self._number(places).astype(np.uint64)
        return numbers

    def _number(self, i: Any) -> Any:
        """For an item, or an array of them."""
        size, ways = self.size, self._ways
        lap, place = i // (size // ways), i % (size // ways)
        first = self.offset - self.offset % ways
        own = place * self.cells + first + (self.offset + lap) % ways
        return own % size * self.spans + self.span


def load_pack_lexicon(pack: Pack) -> Lexicon:
    """The lexicon a pack names: a folder next to the pack, or a shipped one."""
    beside = pack.folder / pack.head.lexicon
    if pack.head.lexicon and (beside / "lexicon.toml").is_file():
        lexicon = load_lexicon(beside)
    else:
        with name_faulty_file(pack.file):
            lexicon = load_lexicon(pack.head.lexicon or pack.language)
    if lexicon.language != pack.language:
        what = f"the pack {pack.name} is {pack.language!r}, its lexicon {lexicon.about.name!r} is {lexicon.language!r}"
        cure = f'write lexicon = "…" of a lexicon in {pack.language!r}, or correct language'
        raise BadInput(what, file=pack.file, cure=cure)
    return lexicon


@dataclass(frozen=True)
class Generator:
    """Problems of one pack with one seed.

    generator = Generator(pack, load_pack_lexicon(pack), seed="1")
    for planned in generator.plan_cells("train", per_cell=2):
        problems = list(generator.problems("train", planned))
    """

    pack: Pack
    lexicon: Lexicon
    seed: str = "0"
    """All words, times and choices depend on it."""

    @property
    def first_split(self) -> str:
        """The split that models are trained on."""
        return self.pack.head.first_split

    def plan_cells(self, split: str, per_cell: int) -> list[PlannedCell]:
        """The cells of a split, each with the number of problems it gives: `per_cell`, or as many
        as it has.
        """
        planned = []
        for cell in self.pack.cells(split):
            n = min(per_cell * cell.weight, self._count(cell, split))
            planned.append(PlannedCell(self._cell_numbers[cell.name], cell, n))
        return planned

    @cached_property
    def _cell_numbers(self) -> dict[str, int]:
        """Name of each cell of the pack to its number."""
        names: list[str] = []
        for template in self.pack.templates:
            names += [cell.name for cell in template.cells(spans=self.pack.spans)]
        return {name: number for number, name in enumerate(names, start=1)}

    def _count(self, cell: ProblemCell, split: str) -> int:
        """The minimum number of different problems in a cell; other times make more of the same words."""
        share = self.word_share(cell, split)
        if cell.span is not None and share.size:
            return 1 << 62
        return len(range(share.offset, share.size, share.cells))

    def may_repeat(self, split: str, planned: PlannedCell) -> bool:
        """Whether words of a cell come up again, or in another span, so that two problems may be
        the same.
        """
        if planned.cell.span is None:
            return False
        share = self.word_share(planned.cell, split)
        spans_share_words = share.spans == 1 and len(self.pack.spans) > 1
        return spans_share_words or planned.n > share.size

    def problems(
        self, split: str, planned: PlannedCell, start: int = 0, stop: int | None = None
    ) -> Iterator[Example]:
        """Items `start` to `stop` of a cell, all of them when left out."""
        example = self._shared_example(split, planned)
        fill = _CellFiller(self, split, planned.cell).fill
        render = planned.cell.template.render

        def make(i: int) -> Example:
            premise, hypothesis = render(fill(i))
            inputs = {"premise": premise, "hypothesis": hypothesis}
            return replace(example, id=f"{planned.number}-{i + 1}", inputs=inputs)

        return map(make, range(start, planned.n if stop is None else stop))

    def lines(
        self, split: str, planned: PlannedCell, start: int = 0, stop: int | None = None
    ) -> bytes:
        """Items `start` to `stop` as JSON lines: the very bytes of the records, without making the
        records.
        """
        items = range(start, planned.n if stop is None else stop)
        if not items:
            return b""
        line_format = None
        if self._words_need_no_escape:
            example = self._shared_example(split, planned)
            line_format = format_line(example, planned.cell.template)
        if line_format is None:
            problems = self.problems(split, planned, items.start, items.stop)
            return b"".join(_encode(problem) + b"\n" for problem in problems)
        line, pick = line_format
        filled = _CellFiller(self, split, planned.cell).fill_range(items)
        lines = [line % (i, *pick(texts)) for i, texts in enumerate(filled, start + 1)]
        return "".join(lines).encode()

    @cached_property
    def _words_need_no_escape(self) -> bool:
        """Whether no word needs an escape in JSON."""
        measures = [measure.text for measure in self.pack.head.measure.values()]
        words = (*measures, *self.lexicon.agents, *self.lexicon.nouns, *self.lexicon.verbs)
        return not any(map(_needs_escape, words))

    def draw_words(self, cell: ProblemCell, rng: RandomSource) -> dict[str, str]:
        """Texts for every key of a cell's template that is no time, drawn at random."""
        space = self.word_share(cell, self.first_split).space
        texts = space.fill(draw_below(rng, space.size), 0)
        for key, options in _list_choices(cell.template):
            texts[key] = options[draw_below(rng, len(options))]
        return texts

    def _shared_example(self, split: str, planned: PlannedCell) -> Example:
        """What all problems of a cell share; the id lacks its second part, the texts are empty."""
        template = planned.cell.template
        return Example(
            id=f"{planned.number}-",
            inputs={"premise": "", "hypothesis": ""},
            gold={"label": planned.cell.label},
            tags=frozenset({template.category}),
            meta=self.meta(planned.cell, split),
            group=f"template-{template.id}",
            origin=Origin(recipe=self.pack.name, step=template.id, gold="derived"),
        )

    def meta(self, cell: ProblemCell, split: str) -> dict[str, str | None]:
        """What a problem can be sliced by.

        Test problems say which training splits have seen their kind.
        """
        template = cell.template
        meta: dict[str, str | None] = {
            "template": template.id,
            "category": template.category,
            "time_format": cell.format.name(template.language) if cell.format else None,
            "time_span": cell.span.name if cell.span else None,
            "cell": cell.name,
        }
        if split != self.first_split:
            for name in self.pack.rules:
                meta[name] = "seen" if self.pack.is_seen(name, meta) else "unseen"
        return meta

    @cached_property
    def owned_residues(self) -> dict[str, tuple[int, ...]]:
        """Split to the residues it owns: one each, the rest for the first."""
        names = list(self.pack.head.cells)
        if len(names) > RESIDUE_COUNT:
            what = f"{self.pack.name} has {len(names)} splits"
            cure = f"at most {RESIDUE_COUNT} can be kept apart"
            raise BadInput(what, file=self.pack.file, cure=cure)
        rest = tuple(range(RESIDUE_COUNT - len(names) + 1))
        owned = {}
        for i, name in enumerate(names):
            owned[name] = (RESIDUE_COUNT - i,) if i else rest
        return owned

    def word_share(self, cell: ProblemCell, split: str) -> WordShare:
        """The words of a cell in a split."""
        if split not in self.owned_residues:
            raise unknown(f"split of {self.pack.name}", split, self.owned_residues)
        template, unit = cell.template, verb_unit(cell)
        key = (template.id, unit, split)
        if key not in self._word_spaces:
            space = WordSpace(template, self.lexicon, unit, self.owned_residues[split])
            by_span: dict[TimeSpan | None, list[str]] = {}
            for other in template.cells(spans=self.pack.spans):
                if verb_unit(other) == unit:
                    span = other.span if space.size > MAX_SHARED_WAYS else None
                    by_span.setdefault(span, []).append(other.name)
            self._word_spaces[key] = space, list(by_span.values())
        space, names = self._word_spaces[key]
        place = next(i for i, own in enumerate(names) if cell.name in own)
        return WordShare(
            space,
            spans=len(names),
            span=place,
            cells=len(names[place]),
            offset=names[place].index(cell.name),
        )

    @cached_property
    def _word_spaces(self) -> dict[tuple[str, str, str], tuple[WordSpace, list[list[str]]]]:
        """Template, unit and split to the words, and the names of the cells that share them by
        span.
        """
        return {}


class _CellFiller:
    """Fills the slots of a cell's items: words by number, times and choices by keyed random
    numbers.
    """

    def __init__(self, generator: Generator, split: str, cell: ProblemCell) -> None:
        self.cell = cell
        self.share = generator.word_share(cell, split)
        self.period = self.share.size
        """Items after which words return."""
        if not self.period:
            what = f"{cell.name}: the lexicon has too few words for {split}"
            raise BadInput(what, file=generator.lexicon.folder, cure="add nouns, or agents")
        base = (generator.seed, generator.pack.name, split)
        self.word_seed = hash_key(*base, cell.template.id, verb_unit(cell))
        self.time_seed = hash_key(*base, cell.name)
        self.choice_seed = hash_key(self.time_seed, "choice")
        self.choices = _list_choices(cell.template)
        index = index_times(cell.template.time_rules, cell.format, cell.span)
        draw = index.drawer(cell.label)
        assert draw is not None, "cells are those that can be reached"
        self.draw: Draw = draw
        self.times: list[tuple[str, Time, dict[Value, str]]] = []
        """Key, use, and the texts that were written of it so far."""
        if cell.format is not None:
            language = cell.template.language
            uses = {use.key: use for use in cell.template.uses if isinstance(use, Time)}
            for use in uses.values():
                texts = _time_texts(
                    use.kind, use.days, use.particle, use.bare, cell.format, language
                )
                self.times.append((use.key, use, texts))
        self._returned: dict[int, tuple[list[TimeValues], set[tuple[Value, ...]]]] = {}
        """Items of the first period to the times of the items with the same words, in their order
        and as a set."""

    def fill(self, i: int) -> dict[str, str]:
        """The texts of all slots of item i."""
        texts = self.share.space.fill(self.share.number(i), self.word_seed)
        self._add_texts(i, texts, self._draw_times(i))
        return texts

    def fill_range(self, items: range) -> Iterator[dict[str, str]]:
        """The texts of all slots of each item.

        Those with fresh words are computed together where they are many.
        """
        from nikawa.generation.randomness_arrays import MAX_NUMBER, MIN_ITEMS, draw_items

        share = self.share
        stop = min(items.stop, self.period)
        fresh = range(items.start, max(items.start, stop))
        is_small = max(share.space.size, fresh.stop * share.cells) < MAX_NUMBER
        if len(fresh) >= MIN_ITEMS and is_small:
            words = share.space.fill_many(share.numbers(fresh), self.word_seed)
            times = draw_items(self.draw, self.time_seed, fresh.start, fresh.stop)
            for i, texts, values in zip(fresh, words, times, strict=True):
                self._add_texts(i, texts, values)
                yield texts
            items = range(fresh.stop, items.stop)
        yield from map(self.fill, items)

    def _add_texts(self, i: int, texts: dict[str, str], values: Values) -> None:
        """Add the times and the choices of an item to its words."""
        for key, use, known in self.times:
            value = values.get(use.slot, 1)
            if value in known:
                texts[key] = known[value]
                continue
            assert self.cell.format is not None
            text = render_time(use, value, self.cell.format, self.cell.template.language)
            texts[key] = text
            if len(known) < MAX_TIME_TEXTS:
                known[value] = text
        if self.choices:
            rng = KeyedRandom(self.choice_seed, i)
            for key, options in self.choices:
                texts[key] = options[draw_below(rng, len(options))]

    def _draw_times(self, i: int) -> TimeValues:
        """Times of item i; words return after a period, and then other times must make the
        difference.
        """
        if i < self.period:
            return self.draw(KeyedRandom(self.time_seed, i))
        lap, first = divmod(i, self.period)
        drawn, taken = self._returned.setdefault(first, ([], set()))
        while len(drawn) <= lap:
            item = first + len(drawn) * self.period
            for attempt in range(MAX_TIME_TRIES):
                values = self.draw(KeyedRandom(self.time_seed + attempt, item))
                combination = tuple(values.values())
                if combination not in taken:
                    break
            taken.add(combination)
            drawn.append(values)
        return drawn[lap]


@cache
def _time_texts(
    kind: str, days: int, particle: str, is_bare: bool, fmt: Format, language: str
) -> dict[Value, str]:
    """The texts written so far of one kind of time: problems of one format share most of them."""
    return {}


def _list_choices(template: Template) -> list[tuple[str, tuple[str, ...]]]:
    """Key and options of each choice, once."""
    choices = {use.key: use.options for use in template.uses if isinstance(use, Choice)}
    return list(choices.items())


_encode = msgspec.json.Encoder(order="deterministic").encode
_ID, _PREMISE, _HYPOTHESIS = "\x01", "\x02", "\x03"
"""Placeholders in a line for the parts that differ between items; JSON writes them as escapes that no text
has."""


def format_line(example: Example, template: Template) -> tuple[str, PickTexts] | None:
    """A whole JSON line as one format string and what picks its values: number, then the slots of
    both sides.

    None where a literal needs escapes: then nothing can be put together from parts.
    """
    elements = (*template.premise, *template.hypothesis)
    literals = [e.text for e in elements if isinstance(e, Literal)]
    options = [option for _, options in _list_choices(template) for option in options]
    if any(map(_needs_escape, (*literals, *options))):
        return None
    inputs = {"premise": _PREMISE, "hypothesis": _HYPOTHESIS}
    marked = replace(example, id=example.id + _ID, inputs=inputs)
    line = _encode(marked).decode().replace("%", "%%") + "\n"
    sides = {"\\u0002": template.premise, "\\u0003": template.hypothesis}
    keys: list[str] = []
    for mark in sorted(sides, key=line.index):
        keys += [e.key for e in sides[mark] if not isinstance(e, Literal)]
        line = line.replace(mark, format_side(sides[mark])[0])
    return line.replace("\\u0001", "%d"), pick_texts(keys)


def _needs_escape(text: str) -> bool:
    """Whether JSON writes the text otherwise than it is."""
    return _encode(text) != f'"{text}"'.encode()
