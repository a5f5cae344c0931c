"""What a template is once read, whichever notation it was written in.

A side (premise, hypothesis) is a tuple of elements. Two templates are equal when they mean the same: places in the file
and the words they were written with do not count.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from operator import itemgetter
from typing import TYPE_CHECKING

from nikawa.errors import suggest
from nikawa.generation.conditions import (
    NEVER,
    Condition,
    bind_values,
    compile_condition,
    iterate_operands,
)
from nikawa.generation.template_errors import Position, TemplateError, TemplateErrors, Trouble
from nikawa.generation.times import (
    CALENDAR,
    TIME_WORDS,
    Clock,
    Format,
    Value,
    render_interval,
    render_point,
)

if TYPE_CHECKING:
    from nikawa.generation.time_sampling import Cell, TimeRules
    from nikawa.generation.time_spans import TimeSpan

LABELS = ("entailment", "contradiction", "neutral")
WORD_KINDS = ("agent", "noun", "place", "verb")
"""Kinds of word slots every pack has; a pack may add its own."""
TIME_KINDS = ("time", "interval", "unit", "number")
MOST_TIMES = 5
INFLECTED = ("verb", "adjective")
"""Kinds whose uses name a form."""


@dataclass(frozen=True, slots=True)
class Literal:
    """Text that stands as it is."""

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
    """A use of a word slot. Case, frame, transitivity and wish are declared at one use and hold for all."""

    kind: str
    index: int
    form: str = ""
    """The inflected form asked for, `dictionary` among them; empty for words that do not inflect."""
    case: str = ""
    """ガ, ヲ, ニ, マデ, ノ~ヲ; a number after it tells several agents of one verb apart (ガ1, ガ2)."""
    frame: tuple[str, ...] = ()
    """The cases a verb must take."""
    transitive: bool | None = None
    wants: str = ""
    """The time a verb must go with: `point`, `within` (finished in an interval), `during` (lasting one), `again` (may be repeated)."""
    particle: str = ""
    """A particle whose shape depends on the word (은/는)."""
    at: Position = field(default=Position(), compare=False)
    written: str = field(default="", compare=False)

    @property
    def slot(self) -> str:
        """The slot's name, such as `verb_1`."""
        return f"{self.kind}_{self.index}"

    @property
    def key(self) -> str:
        """What `render` asks for, such as `verb_1.past` or `agent_1+은/는`."""
        return (
            self.slot
            + (f".{self.form}" if self.form else "")
            + (f"+{self.particle}" if self.particle else "")
        )


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
    at: Position = field(default=Position(), compare=False)
    written: str = field(default="", compare=False)

    @property
    def slot(self) -> str:
        """The slot's name, such as `time_1`."""
        return f"{self.kind}_{self.index}"

    @property
    def key(self) -> str:
        """What `render` asks for, such as `time_1` or `time_1-1day`."""
        moved = f"{self.days:+d}day" if self.days else ""
        return self.slot + moved + (f"+{self.particle}" if self.particle else "")


Element = Literal | Choice | Word | Time
Side = tuple[Element, ...]


@dataclass(frozen=True, slots=True)
class Slot:
    """All that is known of a slot: what was declared, and the forms its uses ask for."""

    name: str
    kind: str
    case: str = ""
    frame: tuple[str, ...] = ()
    transitive: bool | None = None
    wants: str = ""
    forms: tuple[str, ...] = ()
    options: tuple[str, ...] = ()
    """The texts of a choice."""

    @property
    def stative(self) -> bool:
        """Whether some use asks for the state the verb leaves."""
        return any(form.startswith("progressive") for form in self.forms)


def strip_case_number(case: str) -> str:
    """A case without the number that tells agents apart: ガ2 is ガ."""
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
    formats: tuple[Format, ...] = ()
    """The formats its times may have; none for a template without times."""
    test_format: Format | None = None
    category: str = ""
    language: str = "ja"
    note: str = field(default="", compare=False)
    at: Position = field(default=Position(), compare=False)
    places: Mapping[str, Position] = field(default_factory=dict, compare=False, hash=False)
    """Where each field was written."""
    written: Mapping[str, str] = field(default_factory=dict, compare=False, hash=False)
    """What each field says, in the native notation."""

    @cached_property
    def uses(self) -> tuple[Choice | Word | Time, ...]:
        """Every element but the literals, premise first."""
        return tuple(e for e in (*self.premise, *self.hypothesis) if not isinstance(e, Literal))

    @cached_property
    def keys(self) -> tuple[str, ...]:
        """What `render` needs, each once."""
        return tuple(dict.fromkeys(use.key for use in self.uses))

    @cached_property
    def slots(self) -> dict[str, Slot]:
        """Name to slot, in order of first use; choices are slots too."""
        found: dict[str, Slot] = {}
        for use in self.uses:
            name = use.key if isinstance(use, Choice) else use.slot
            found[name] = _merged(found.get(name), use, name)
        return found

    @cached_property
    def spec(self) -> TimeRules:
        """What the labels depend on; templates with the same one share their index of times."""
        from nikawa.generation.time_sampling import spec_of

        return spec_of(self)

    def render(self, fillers: Mapping[str, str]) -> tuple[str, str]:
        """Premise and hypothesis with a text for every one of `keys`."""
        (premise, first), (hypothesis, second) = self._printers
        return premise % first(fillers), hypothesis % second(fillers)

    @cached_property
    def _printers(self) -> tuple[_Printer, _Printer]:
        return _printer(self.premise), _printer(self.hypothesis)

    def time_texts(self, values: Mapping[str, Value], fmt: Format | None) -> dict[str, str]:
        """The text of every time key; intervals are in the format's largest unit, particles attached."""
        if fmt is None:
            return {}
        times = (use for use in self.uses if isinstance(use, Time))
        return {
            use.key: _attached(self._time_text(use, values, fmt), use.particle) for use in times
        }

    def _time_text(self, use: Time, values: Mapping[str, Value], fmt: Format) -> str:
        from nikawa.generation.time_sampling import moved

        value = values.get(use.slot, 1)
        if isinstance(value, tuple):
            return render_point(moved(value, use.days, fmt), fmt, self.language)
        if use.kind == "unit":
            return TIME_WORDS[self.language].unit[fmt.largest]
        if fmt.measure is not None:
            return fmt.measure.text.replace("{}", str(value))
        return render_interval(value, fmt.largest, self.language)

    def label(
        self, values: Mapping[str, Value], fmt: Format | None, clock: Clock = CALENDAR
    ) -> str:
        """Entailment where its condition holds, else contradiction where its does, else neutral."""
        unit = fmt.largest if fmt else ""
        env = bind_values(values, fmt, clock)
        if compile_condition(self.entails, clock, unit)(env):
            return "entailment"
        return (
            "contradiction" if compile_condition(self.contradicts, clock, unit)(env) else "neutral"
        )

    def consistent(
        self, values: Mapping[str, Value], fmt: Format | None, clock: Clock = CALENDAR
    ) -> bool:
        """Whether what the premise takes for granted holds."""
        unit = fmt.largest if fmt else ""
        env = bind_values(values, fmt, clock)
        return all(compile_condition(condition, clock, unit)(env) for condition in self.given)

    def cells(
        self, formats: tuple[Format, ...] | None = None, spans: tuple[TimeSpan, ...] | None = None
    ) -> tuple[Cell, ...]:
        """The reachable cells of this template, in the published order."""
        from nikawa.generation.time_sampling import cells_of

        return cells_of(self, formats, spans)


_Printer = tuple[str, Callable[[Mapping[str, str]], tuple[str, ...]]]


def _printer(side: Side) -> _Printer:
    """A format string and what picks its values: the fastest way Python has to fill a text."""
    keys = [e.key for e in side if not isinstance(e, Literal)]
    text = "".join(e.text.replace("%", "%%") if isinstance(e, Literal) else "%s" for e in side)
    if len(keys) == 1:
        (only,) = keys
        return text, lambda fillers: (fillers[only],)
    return text, itemgetter(*keys) if keys else lambda fillers: ()


def _attached(text: str, particle: str) -> str:
    if not particle:
        return text
    from nikawa.text.korean_forms import attach

    return attach(text, particle)


def _merged(slot: Slot | None, use: Choice | Word | Time, name: str) -> Slot:
    if isinstance(use, Choice):
        return Slot(name, "choice", options=use.options)
    if isinstance(use, Time):
        return Slot(name, use.kind)
    old = slot or Slot(name, use.kind)
    forms = old.forms if not use.form or use.form in old.forms else (*old.forms, use.form)
    return Slot(
        name,
        use.kind,
        old.case or use.case,
        old.frame or use.frame,
        use.transitive if old.transitive is None else old.transitive,
        old.wants or use.wants,
        forms,
    )


def merge_literals(elements: list[Element]) -> Side:
    """A side with neighbouring literals made one and empty ones left out."""
    side: list[Element] = []
    for element in elements:
        if isinstance(element, Literal) and side and isinstance(side[-1], Literal):
            side[-1] = Literal(side[-1].text + element.text, side[-1].at)
        elif not (isinstance(element, Literal) and not element.text):
            side.append(element)
    return tuple(side)


def refuse_too_many_times(side: Side, at: Position) -> None:
    """All orders of the times are tried, so there is a limit to them."""
    for kind in TIME_KINDS:
        count = len({e.index for e in side if isinstance(e, Time) and e.kind == kind})
        if count > MOST_TIMES:
            raise TemplateError(
                "syntax", f"has {count} slots of the kind {kind}", at, f"use at most {MOST_TIMES}"
            )


def find_unbound_names(template: Template) -> Iterator[Trouble]:
    """Conditions may speak only of times and numbers the sentences have."""
    return (mistake.trouble(template.id) for mistake in unbound_mistakes(template))


def settled(template: Template, faults: TemplateErrors) -> Template:
    """The template where it has no fault; else the `Mistake` that says why there is none, and knows all of them."""
    if faults and not faults.hide_times:
        faults.extend(unbound_mistakes(template))
    faults.refuse()
    return template


def unbound_mistakes(template: Template) -> Iterator[TemplateError]:
    """The names of conditions that no sentence has."""
    bound = {
        name for name, slot in template.slots.items() if slot.kind in ("time", "interval", "number")
    }
    used = [
        (leaf.name, leaf.at)
        for condition in (template.entails, template.contradicts, *template.given)
        for leaf in iterate_operands(condition)
        if leaf.name
    ]
    used += [(use.apart[0], use.at) for use in template.uses if isinstance(use, Time) and use.apart]
    for name, at in used:
        if name not in bound:
            what = f"{name} is in a condition but in no sentence"
            yield TemplateError("unbound-name", what, at, suggest(name, bound))


def find_since_and_now(premise: Side) -> tuple[str, str] | None:
    """The two times of a premise `A以来…。現在、Bである`: its present may not lie before A."""
    since = now = ""
    for before, time, after in zip(("", *premise), premise, (*premise[1:], ""), strict=False):
        if isinstance(time, Time) and time.kind == "time":
            if isinstance(after, Literal) and after.text.startswith("以来"):
                since = time.slot
            if isinstance(before, Literal) and re.search("現在、?$", before.text):
                now = time.slot
    return (since, now) if since and now else None
