"""What a template is once read, whichever notation it was written in, and the cells that its
problems fall into.

A side (premise, hypothesis) is a tuple of elements. Two templates are equal when they mean the
same: positions in the file and the words they were written with do not count.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from operator import itemgetter
from typing import NamedTuple

from nikawa.errors import suggest
from nikawa.generation.conditions import (
    LABELS,
    NEVER,
    Condition,
    bind_values,
    compile_condition,
    iterate_operands,
)
from nikawa.generation.randomness import RandomSource
from nikawa.generation.template_errors import Position, TemplateError
from nikawa.generation.time_sampling import TimeRules, TimeValues, index_times
from nikawa.generation.time_spans import RANDOM_SPAN, SHORT_SPAN, TimeSpan
from nikawa.generation.times import (
    CALENDAR,
    TIME_WORDS,
    Clock,
    Format,
    Value,
    Values,
    move_days,
    render_value,
)

WORD_KINDS = ("agent", "noun", "place", "verb")
"""Kinds of word slots every pack has; a pack may add its own."""
TIME_KINDS = ("time", "interval", "unit", "number")
INFLECTED = ("verb", "adjective")
"""Kinds whose uses name a form."""


@dataclass(frozen=True, slots=True)
class Literal:
    """Text that is the same in every problem."""

    text: str
    at: Position = field(default=Position(), compare=False)


@dataclass(frozen=True, slots=True)
class Choice:
    """One of several texts; equal lists in one template choose alike."""

    key: str
    options: tuple[str, ...]
    at: Position = field(default=Position(), compare=False)


@dataclass(frozen=True, slots=True)
class Word:
    """A use of a word slot.

    Case, frame, transitivity and wish are declared at one use and hold for all.
    """

    kind: str
    index: int
    form: str = ""
    """The inflected form asked for, `dictionary` among them; empty for words that do not inflect.
    """
    case: str = ""
    """ガ, ヲ, ニ, マデ, ノ~ヲ; a number after it tells several agents of one verb apart (ガ1, ガ2)."""
    frame: tuple[str, ...] = ()
    """The cases a verb must take."""
    transitive: bool | None = None
    wants: str = ""
    """The time a verb must go with: `point`, `within` (finished in an interval), `during` (lasting
    one), `again` (may be repeated)."""
    tag: str = ""
    """A class of verbs that the lexicon names: `housework` for `{verb 他 ガ ヲ #housework}`."""
    particle: str = ""
    """A particle whose shape depends on the word (은/는)."""
    at: Position = field(default=Position(), compare=False)
    source: str = field(default="", compare=False)
    """How it was written."""

    @property
    def slot(self) -> str:
        """The slot's name, such as `verb_1`."""
        return f"{self.kind}_{self.index}"

    @property
    def key(self) -> str:
        """The name under which `render` takes its text, such as `verb_1.past` or `agent_1+은/는`."""
        key = f"{self.slot}.{self.form}" if self.form else self.slot
        return f"{key}+{self.particle}" if self.particle else key


@dataclass(frozen=True, slots=True)
class Time:
    """A use of a time, interval, unit or number slot."""

    kind: str
    index: int
    days: int = 0
    """Days added to the point where it is written (`tp_1-1day` has -1)."""
    apart: tuple[str, int] | None = None
    """A point, moved by days, that this one must differ from (`tp_2!=tp_1-1day`)."""
    particle: str = ""
    bare: bool = False
    """Whether an interval is written without 間: 3年以内, 3ヶ月で."""
    at: Position = field(default=Position(), compare=False)
    source: str = field(default="", compare=False)
    """How it was written."""

    @property
    def slot(self) -> str:
        """The slot's name, such as `time_1`."""
        return f"{self.kind}_{self.index}"

    @property
    def key(self) -> str:
        """The name under which `render` takes its text: `time_1`, `time_1-1day`, `interval_1.bare`."""
        key = f"{self.slot}{self.days:+d}day" if self.days else self.slot
        key = f"{key}.bare" if self.bare else key
        return f"{key}+{self.particle}" if self.particle else key


Element = Literal | Choice | Word | Time
Side = tuple[Element, ...]
"""A sentence with slots."""
Formats = tuple[Format, ...]
Spans = tuple[TimeSpan, ...]


@dataclass(frozen=True, slots=True)
class Slot:
    """All that is known of a slot: what was declared, and the forms its uses name."""

    name: str
    kind: str
    case: str = ""
    frame: tuple[str, ...] = ()
    transitive: bool | None = None
    wants: str = ""
    tag: str = ""
    forms: tuple[str, ...] = ()
    options: tuple[str, ...] = ()
    """The texts of a choice."""

    @property
    def is_stative(self) -> bool:
        """Whether some use names the state that the verb leaves."""
        return any(form.startswith("progressive") for form in self.forms)


def strip_case_number(case: str) -> str:
    """A case without the number that distinguishes agents: ガ2 is ガ."""
    return case.rstrip("0123456789")


@dataclass(frozen=True)
class Template:
    """Premise and hypothesis with slots, and when which label holds."""

    id: str
    premise: Side
    hypothesis: Side
    entails: Condition = NEVER
    contradicts: Condition = NEVER
    given: tuple[Condition, ...] = ()
    """What the premise takes for granted; where it fails, the premise contradicts itself."""
    formats: Formats = ()
    """The formats its times may have; none for a template without times."""
    test_format: Format | None = None
    category: str = ""
    spans: tuple[str, ...] = ()
    """The spans its times may have; all of the pack if empty."""
    weights: tuple[int, int, int] = (1, 1, 1)
    """How many times the usual number of problems the cells of each label give; 0 leaves them out."""
    language: str = "ja"
    note: str = field(default="", compare=False)
    at: Position = field(default=Position(), compare=False)
    positions: Mapping[str, Position] = field(default_factory=dict, compare=False, hash=False)
    """Where each field was written."""
    source: Mapping[str, str] = field(default_factory=dict, compare=False, hash=False)
    """What each field says, in the native notation; empty for a template of another one."""

    @cached_property
    def uses(self) -> tuple[Choice | Word | Time, ...]:
        """Every element but the literals, premise first."""
        both = (*self.premise, *self.hypothesis)
        return tuple(element for element in both if not isinstance(element, Literal))

    @cached_property
    def keys(self) -> tuple[str, ...]:
        """What `render` needs, each once."""
        return tuple(dict.fromkeys(use.key for use in self.uses))

    @cached_property
    def slots(self) -> dict[str, Slot]:
        """Name to slot, in order of first use; choices are slots too."""
        slots: dict[str, Slot] = {}
        for use in self.uses:
            if isinstance(use, Choice):
                slots[use.key] = Slot(use.key, "choice", options=use.options)
            elif isinstance(use, Time):
                slots[use.slot] = Slot(use.slot, use.kind)
            else:
                old = slots.get(use.slot) or Slot(use.slot, use.kind)
                is_new_form = use.form and use.form not in old.forms
                slots[use.slot] = Slot(
                    use.slot,
                    use.kind,
                    case=old.case or use.case,
                    frame=old.frame or use.frame,
                    transitive=use.transitive if old.transitive is None else old.transitive,
                    wants=old.wants or use.wants,
                    tag=old.tag or use.tag,
                    forms=(*old.forms, use.form) if is_new_form else old.forms,
                )
        return slots

    @cached_property
    def written_names(self) -> dict[str, str]:
        """Name of each slot to the name that the author wrote: `time1` for `time_1`."""
        names: dict[str, str] = {}
        for use in self.uses:
            if not isinstance(use, Choice):
                words = re.split(r"[\s+,、\[!=-]", use.source.strip("{}"), maxsplit=1)
                names.setdefault(use.slot, words[0] or use.slot)
        return names

    @cached_property
    def time_rules(self) -> TimeRules:
        """What the labels depend on; templates with the same rules share their index of times."""
        times = [use for use in self.uses if isinstance(use, Time)]
        kinds = {use.slot: use.kind for use in times}
        return TimeRules(
            points=tuple(slot for slot, kind in kinds.items() if kind == "time"),
            sizes=tuple(slot for slot, kind in kinds.items() if kind in ("interval", "number")),
            entails=self.entails,
            contradicts=self.contradicts,
            given=self.given,
            before=tuple(dict.fromkeys(use.slot for use in times if use.days)),
            apart=tuple((use.slot, use.apart[0]) for use in times if use.apart),
        )

    def render(self, texts: Mapping[str, str]) -> tuple[str, str]:
        """Premise and hypothesis with a text for every one of `keys`."""
        (premise, pick_first), (hypothesis, pick_second) = self._side_formats
        return premise % pick_first(texts), hypothesis % pick_second(texts)

    @cached_property
    def _side_formats(self) -> tuple[SideFormat, SideFormat]:
        return format_side(self.premise), format_side(self.hypothesis)

    def render_times(self, values: Values, fmt: Format | None) -> dict[str, str]:
        """The text of every time key.

        Intervals are in the format's largest unit, particles attached.
        """
        if fmt is None:
            return {}
        return {
            use.key: render_time(use, values.get(use.slot, 1), fmt, self.language)
            for use in self.uses
            if isinstance(use, Time)
        }

    def compute_label(self, values: Values, fmt: Format | None, clock: Clock = CALENDAR) -> str:
        """Entailment where its condition holds, else contradiction where its does, else neutral."""
        unit = fmt.largest if fmt else ""
        env = bind_values(values, fmt, clock)
        if compile_condition(self.entails, clock, unit)(env):
            return "entailment"
        if compile_condition(self.contradicts, clock, unit)(env):
            return "contradiction"
        return "neutral"

    def is_consistent(self, values: Values, fmt: Format | None, clock: Clock = CALENDAR) -> bool:
        """Whether what the premise takes for granted holds."""
        unit = fmt.largest if fmt else ""
        env = bind_values(values, fmt, clock)
        return all(compile_condition(condition, clock, unit)(env) for condition in self.given)

    def cells(
        self,
        formats: Formats | None = None,
        spans: Spans | None = None,
    ) -> tuple[ProblemCell, ...]:
        """The reachable cells of this template, by format, span and label in the published order.

        `formats` leaves the other formats out; `spans` are RANDOM_SPAN and SHORT_SPAN where none
        are named.
        """
        combinations = self._combine_cells(formats, spans)
        return tuple(cell for cell, is_reachable in combinations if is_reachable)

    def unreachable_cells(
        self,
        formats: Formats | None = None,
        spans: Spans | None = None,
    ) -> tuple[ProblemCell, ...]:
        """Cells of labels that the template has elsewhere but that no assignment of this format and
        span reaches.
        """
        combinations = list(self._combine_cells(formats, spans))
        labels = {cell.label for cell, is_reachable in combinations if is_reachable}
        return tuple(
            cell for cell, is_reachable in combinations if not is_reachable and cell.label in labels
        )

    def _combine_cells(
        self, formats: Formats | None, spans: Spans | None
    ) -> Iterator[tuple[ProblemCell, bool]]:
        """Every combination of format, span and label, and whether it can be reached."""
        own_formats: tuple[Format | None, ...] = (None,)
        if self.formats:
            own_formats = tuple(f for f in self.formats if formats is None or f in formats)
        own_spans: tuple[TimeSpan | None, ...] = (None,)
        if self.time_rules.points or self.time_rules.sizes:
            own_spans = spans or (RANDOM_SPAN, SHORT_SPAN)
            if self.spans:
                own_spans = tuple(span for span in own_spans if span and span.name in self.spans)
        for fmt in own_formats:
            for span in own_spans:
                labels = index_times(self.time_rules, fmt, span).labels
                for label, weight in zip(LABELS, self.weights, strict=True):
                    if not weight:
                        continue
                    yield ProblemCell(self, fmt, span, label), label in labels


class ProblemCell(NamedTuple):
    """Problems of one kind: a template, a format and a span (None where it has no times), a label."""

    template: Template
    format: Format | None
    span: TimeSpan | None
    label: str

    @property
    def weight(self) -> int:
        """How many times the usual number of problems it gives."""
        return self.template.weights[LABELS.index(self.label)]

    @property
    def name(self) -> str:
        """Stable name, such as `1/年月/random/neutral`."""
        fmt = self.format.name(self.template.language) if self.format else "-"
        return f"{self.template.id}/{fmt}/{self.span.name if self.span else '-'}/{self.label}"

    def draw_times(self, rng: RandomSource) -> TimeValues | None:
        """Times that give the label, or None where none do.

        The same random numbers give the same times.
        """
        draw = index_times(self.template.time_rules, self.format, self.span).drawer(self.label)
        return None if draw is None else draw(rng)


PickTexts = Callable[[Mapping[str, str]], tuple[str, ...]]
"""Picks the values of a format string out of the texts by key."""
SideFormat = tuple[str, PickTexts]
"""A format string and what picks its values: the fastest way Python has to fill a text."""


def format_side(side: Side) -> SideFormat:
    """The format string of a side, with a `%s` for every element but the literals."""
    keys, parts = [], []
    for element in side:
        if isinstance(element, Literal):
            parts.append(element.text.replace("%", "%%"))
        else:
            parts.append("%s")
            keys.append(element.key)
    return "".join(parts), pick_texts(keys)


def pick_texts(keys: list[str]) -> PickTexts:
    """A function that picks the texts of these keys, in order, as a tuple."""
    if len(keys) == 1:
        (only,) = keys
        return lambda texts: (texts[only],)
    return itemgetter(*keys) if keys else lambda texts: ()


def render_time(use: Time, value: Value, fmt: Format, language: str) -> str:
    """The text of a use of a time, with its particle."""
    if use.kind == "unit":
        text = TIME_WORDS[language].unit[fmt.largest]
    else:
        moved = move_days(value, use.days, fmt) if isinstance(value, tuple) else value
        text = render_value(moved, fmt, language, is_bare=use.bare)
    return attach_particle(text, use.particle) if use.particle else text


@lru_cache(maxsize=1 << 16)
def attach_particle(word: str, particle: str) -> str:
    """A word with a particle in the shape that the word asks for (은/는)."""
    from nikawa.text.conjugation_ko import attach

    return attach(word, particle)


def merge_literals(elements: list[Element]) -> Side:
    """A side with neighbouring literals made one and empty ones left out."""
    side: list[Element] = []
    for element in elements:
        if not isinstance(element, Literal):
            side.append(element)
        elif side and isinstance(last := side[-1], Literal):
            side[-1] = Literal(last.text + element.text, last.at)
        elif element.text:
            side.append(element)
    return tuple(side)


def find_unbound_names(template: Template) -> Iterator[TemplateError]:
    """The names of conditions that no sentence has: conditions may name only times and numbers of
    the sentences.
    """
    kinds = ("time", "interval", "number")
    bound = {name for name, slot in template.slots.items() if slot.kind in kinds}
    written = template.written_names
    names = []
    for condition in (template.entails, template.contradicts, *template.given):
        for operand in iterate_operands(condition):
            if operand.name:
                names.append((operand.name, operand.source or operand.name, operand.at))
    for use in template.uses:
        if isinstance(use, Time) and use.apart:
            slot = use.apart[0]
            names.append((slot, written.get(slot, slot.replace("_", "")), use.at))
    for name, shown, at in names:
        if name in template.slots and name not in bound:
            what = f"{shown} is in a condition, but it is no time, interval or number"
            yield TemplateError("unbound-name", what, at, "compare times, intervals or numbers")
        elif name not in bound:
            what = f"{shown} is in a condition but in no sentence"
            known = [written.get(slot, slot) for slot in bound]
            yield TemplateError("unbound-name", what, at, suggest(shown, known))
