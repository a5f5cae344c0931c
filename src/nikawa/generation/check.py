"""Static checks of templates: what can be found before a single problem is made.

Conditions are decided by enumeration. A condition, or two at once, is tried on every assignment of
a small domain of each format (six values of the largest unit, two neighbouring ones of the
smallest, intervals up to 3), then of a large one (twelve, three, 9). What holds there is proved by
its witness, which the message shows. What holds nowhere there is taken never to hold: conditions
only compare and shift, so larger domains repeat the same orders and distances.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from itertools import islice, product
from pathlib import Path
from typing import NamedTuple

from nikawa.errors import BadInput
from nikawa.generation.conditions import (
    NEVER,
    And,
    Condition,
    Size,
    compares_only_points,
    compile_condition,
    iterate_operands,
)
from nikawa.generation.generator import load_pack_lexicon
from nikawa.generation.pack import PACK_FILE, FindFile, Pack, find_data_file, pack_names, read_pack
from nikawa.generation.template import (
    INFLECTED,
    TIME_KINDS,
    Template,
    Time,
    Word,
    find_unbound_names,
    strip_case_number,
)
from nikawa.generation.template_errors import Level, Position, Trouble
from nikawa.generation.time_spans import RANDOM_SPAN
from nikawa.generation.times import CALENDAR, Format, Point, Value, Values, is_in_calendar
from nikawa.records import Record


class DomainSize(NamedTuple):
    """How much of a domain is tried: values of the largest unit, neighbours of the smallest,
    lengths of intervals.
    """

    largest: int
    neighbours: int
    lengths: int


SMALL = DomainSize(6, 2, 3)
LARGE = DomainSize(12, 3, 9)
MAX_COMBINATIONS = 50_000
"""Combinations of points of one format that are tried."""
_INNER_VALUES = {"month": 3, "day": 10}
"""What units between the largest and the smallest have."""
MAX_LENGTHS = 10_000
"""Lengths that are tried where a condition names an integer, which may lie far from the first ones.
"""
_WITHOUT_CASE = ("verb", "agent", "choice", *INFLECTED, *TIME_KINDS)
"""Kinds of slots that need no case of a verb."""
_LABELS = {"entails": "entailment", "contradicts": "contradiction", "given": "given"}
"""Fields of a template to what messages call them."""


class PlacedTrouble(Record, frozen=True, kw_only=True):
    """A trouble and its file."""

    file: str
    trouble: Trouble

    def __str__(self) -> str:
        return self.trouble.sentence(self.file)


class CheckReport(Record, frozen=True, kw_only=True):
    """What a check of templates reports."""

    templates: int
    """Templates that could be read."""
    errors: int
    warnings: int
    troubles: tuple[PlacedTrouble, ...]
    """By file and position."""


def check_templates(spec: str, data: Path | None = None) -> CheckReport:
    """Every trouble of a pack, a folder or a template file.

    `data` is the folder of the published data.

    >>> report = check_templates("comparative-ja")
    >>> report.errors
    0
    """
    pack, troubles = check_pack(spec, find=partial(find_data_file, data=data))
    levels = [trouble.level for _, trouble in troubles]
    return CheckReport(
        templates=len(pack.templates),
        errors=levels.count("error"),
        warnings=levels.count("warning"),
        troubles=tuple(PlacedTrouble(file=str(path), trouble=one) for path, one in troubles),
    )


def check_pack(
    spec: str | Path, *, find: FindFile | None = None
) -> tuple[Pack, list[tuple[Path, Trouble]]]:
    """A pack with every trouble and its file, by position: those that stop reading, and those of
    what was read.
    """
    pack, troubles = read_pack(spec, find=find)
    troubles += _find_lexicon_trouble(pack)
    for template, path in zip(pack.templates, pack.sources, strict=True):
        placed = ((path, trouble) for trouble in check_template(template))
        troubles += [pair for pair in placed if pair not in troubles]

    def place(pair: tuple[Path, Trouble]) -> tuple[str, int, int]:
        path, trouble = pair
        return str(path), trouble.line, trouble.column

    return pack, sorted(troubles, key=place)


def _find_lexicon_trouble(pack: Pack) -> list[tuple[Path, Trouble]]:
    """Why the lexicon that a pack names cannot be read; empty if it can be, or if none is named."""
    if not pack.head.lexicon:
        return []
    try:
        load_pack_lexicon(pack)
    except BadInput as error:
        path, line = Path(error.file or pack.file), error.line or 0
        if not line and path == pack.file:
            lines = path.read_text("utf-8-sig").splitlines()
            line = next((n for n, text in enumerate(lines, 1) if text.startswith("lexicon")), 0)
        trouble = Trouble(check="lexicon", line=line, column=1, what=error.what, cure=error.cure)
        return [(path, trouble)]
    return []


def refuse_faults(spec: str, data: Path | None = None, template: str | None = None) -> None:
    """Raise the first error of a pack of the user's own: labels of a faulty template mean nothing.

    With `template`, only an error that keeps this template from being written counts. The packs
    that come with Nikawa are not checked again. What is wrong with a lexicon is raised, with its
    cure, when it is loaded.
    """
    if spec in pack_names() and not (Path(spec) / PACK_FILE).is_file():
        return
    checks = check_templates(spec, data)
    for placed in checks.troubles:
        trouble = placed.trouble
        if trouble.check == "lexicon":
            continue
        counts = template is None or (trouble.template, trouble.check) == (template, "format")
        if trouble.level == "error" and counts:
            cure = f"nikawa templates check {spec} lists all {checks.errors}"
            raise BadInput(trouble.what, file=placed.file, line=trouble.line, cure=cure)


def check_template(template: Template) -> list[Trouble]:
    """The troubles of one template."""
    return _TemplateCheck(template).run()


Witness = tuple[Values, Format | None]
"""An assignment for which a condition holds, and its format."""


class _TemplateCheck:
    """The checks of one template; each adds to `troubles`."""

    def __init__(self, template: Template) -> None:
        self.template = template
        self.troubles: list[Trouble] = []

    def run(self) -> list[Trouble]:
        """All checks; conditions are left out where they name what no sentence has."""
        template = self.template
        unbound = [error.to_trouble(template.id) for error in find_unbound_names(template)]
        self.troubles += unbound
        self.check_cases()
        self.check_declarations()
        self.check_days()
        self.check_test_format()
        if not unbound:
            self.check_conditions()
        return self.troubles

    def add(self, check: str, at: Position, what: str, cure: str, level: Level = "error") -> None:
        """Note a trouble under the stable name of its check."""
        trouble = Trouble(
            check=check,
            level=level,
            template=self.template.id,
            line=at.line,
            column=at.column,
            what=what,
            cure=cure,
        )
        self.troubles.append(trouble)

    def position(self, field: str) -> Position:
        """Where a field of the template was written."""
        return self.template.positions.get(field, self.template.at)

    def check_cases(self) -> None:
        """An argument's case must be one its verb takes."""
        slots = self.template.slots.values()
        verbs = [slot for slot in slots if slot.kind == "verb" and slot.frame]
        cases = {case for verb in verbs for case in verb.frame}
        for use in self.template.uses:
            if isinstance(use, Word) and use.case and verbs and use.case not in cases:
                bare = strip_case_number(use.case)
                near = [case for case in cases if strip_case_number(case) == bare]
                what = f"{use.source or use.slot}: the verb takes {', '.join(verbs[0].frame)}, not {use.case}"
                cure = "add the case to the verb, or change the slot's"
                self.add("case", use.at, what, f"write {near[0]}" if near else cure)
        uncased = {slot.name for slot in slots if slot.kind not in _WITHOUT_CASE and not slot.case}
        for use in self.template.uses:
            if verbs and isinstance(use, Word) and use.slot in uncased:
                uncased.remove(use.slot)
                what = f"{self.template.written_names[use.slot]} has no case, so any word of its kind can be there"
                self.add(
                    "case",
                    use.at,
                    what,
                    f"write for example {{{use.kind} {verbs[0].frame[-1]}}}",
                    "warning",
                )

    def check_declarations(self) -> None:
        """What is declared twice must agree, and every verb needs a frame."""
        declared: dict[tuple[str, str], object] = {}
        for use in self.template.uses:
            if not isinstance(use, Word):
                continue
            for name in ("case", "frame", "transitive", "wants", "tag"):
                value = getattr(use, name)
                if value in ("", (), None):
                    continue
                if declared.setdefault((use.slot, name), value) != value:
                    written = self.template.written_names[use.slot]
                    what = f"{written} is declared twice, with a different {name}"
                    self.add("declared-twice", use.at, what, "declare it once")
        for slot in self.template.slots.values():
            if slot.kind == "verb" and not slot.frame:
                what = f"{self.template.written_names[slot.name]} has no frame"
                cure = "name the cases it takes at its first use"
                self.add("frame", self.position("premise"), what, cure, "warning")

    def check_days(self) -> None:
        """A day before can only be written where days are."""
        template = self.template
        for use in template.uses:
            if isinstance(use, Time) and (use.days or use.apart):
                if use.days > 0 or (use.apart and use.apart[1] != -1):
                    self.add("format", use.at, "only -1day can be written", "write -1day")
                without = [fmt for fmt in template.formats if "day" not in fmt.units]
                if without:
                    names = " ".join(fmt.name(template.language) for fmt in without)
                    what = f"{use.source or use.key} needs a day, which {names} lack"
                    at = template.positions.get("formats")
                    cure = "leave these formats out" if at else f"add formats: all but {names}"
                    self.add("format", at or use.at, what, cure)

    def check_test_format(self) -> None:
        """Test problems are made in a format the template has."""
        template, fmt = self.template, self.template.test_format
        if fmt is not None and template.formats and fmt not in template.formats:
            name = fmt.name(template.language)
            what = f"its times do not have the test format {name}"
            names = " ".join(other.name(template.language) for other in template.formats)
            cure = f"choose one of {names}, or add it to formats"
            self.add("format", self.position("test"), what, cure)

    def check_conditions(self) -> None:
        """A condition must be able to hold, and two of them not at once."""
        template = self.template
        times = [use for use in template.uses if isinstance(use, Time)]
        names_days = any(use.days or use.apart for use in times)
        if names_days and not all("day" in fmt.units for fmt in template.formats):
            return
        conditions = [("entails", template.entails), ("contradicts", template.contradicts)]
        if "given" in template.positions:
            conditions += [("given", condition) for condition in template.given]
        for field, condition in conditions:
            if condition != NEVER:
                self.check_condition(field, condition)
        both = self.find_witness(And((template.entails, template.contradicts)))
        if both is not None:
            values, fmt = both
            texts = template.render_times(values, fmt)
            shown_texts = {
                use.slot: f"{template.written_names[use.slot]} {texts[use.key]}"
                for use in template.uses
                if isinstance(use, Time) and not use.days and use.key in texts
            }
            shown = ", ".join(shown_texts[name] for name in values if name in shown_texts)
            what = f"both conditions hold for {shown or 'any problem'}"
            self.add("overlap", self.position("contradicts"), what, "narrow one of them")

    def check_condition(self, field: str, condition: Condition) -> None:
        """A condition must be able to hold: alone, and with what is given in a problem."""
        template = self.template
        name, at = _LABELS[field], self.position(field)
        write_never = "write never, if that is meant"
        if not list(iterate_operands(condition)):
            if not compile_condition(condition, CALENDAR, "")({}):
                what = f"the {name} condition is a long way to say never"
                self.add("never", at, what, write_never, "warning")
            return
        if self.find_witness(condition) is None:
            what = f"the {name} condition can never hold"
            self.add("never", at, what, "look for comparisons that exclude each other")
            return
        with_given = And((condition, *template.given))
        if self.find_witness(with_given, only_allowed=True) is not None:
            return
        # It could hold alone, but never does in a problem.
        differ = "times of one problem always differ"
        if self.find_witness(condition, only_allowed=True) is None:
            reason = differ
        elif self.find_witness(with_given) is None:
            reason = "what is given excludes it"
        else:
            reason = f"what is given excludes it, as {differ}"
        what = f"the {name} condition never holds: {reason}"
        self.add("never", at, what, write_never, "warning")

    def find_witness(self, condition: Condition, only_allowed: bool = False) -> Witness | None:
        """An assignment for which the condition holds: from a small domain, else from a large one.

        With `only_allowed`, it is one that a problem may have.
        """
        for size in (SMALL, LARGE):
            witness = self.search_domain(condition, only_allowed, size)
            if witness is not None or compares_only_points(condition):
                return witness
        return None

    def search_domain(
        self, condition: Condition, only_allowed: bool, size: DomainSize
    ) -> Witness | None:
        """An assignment of one domain for which the condition holds; see `find_witness`."""
        template, rules = self.template, self.template.time_rules
        operands = list(iterate_operands(condition))
        names = {operand.name for operand in operands}
        points = [name for name in rules.points if only_allowed or name in names]
        sizes = [name for name in rules.sizes if only_allowed or name in names]
        if any(isinstance(operand, Size) and not operand.name for operand in operands):
            size = size._replace(lengths=MAX_LENGTHS)
        # Points that are only compared have the same orders in every format.
        formats = template.formats[:1] if compares_only_points(condition) else template.formats
        for fmt in formats or (None,):
            holds = compile_condition(condition, CALENDAR, fmt.largest if fmt else "")
            for values, env in _assign_values(points, sizes, fmt, size):
                if holds(env) and (not only_allowed or rules.allow(values, fmt)):
                    return values, fmt
        return None


def _assign_values(
    points: list[str], sizes: list[str], fmt: Format | None, size: DomainSize
) -> Iterator[tuple[dict[str, Value], dict[str, int]]]:
    """Assignments of these slots, and what compiled conditions read of them."""
    if fmt is None or not (points or sizes):
        yield {}, {}
        return
    domain = []
    for point in list_points(fmt, size) if points else ():
        start, end = CALENDAR.start(point, fmt), CALENDAR.end(point, fmt)
        domain.append((point, start, end))
    numbers = RANDOM_SPAN.numbers(fmt) if fmt.measure else RANDOM_SPAN.lengths()
    for combination in islice(product(domain, repeat=len(points)), MAX_COMBINATIONS):
        values: dict[str, Value] = {}
        env: dict[str, int] = {}
        for name, (point, start, end) in zip(points, combination, strict=True):
            values[name] = point
            env[f"{name}.start"] = start
            env[f"{name}.end"] = end
        for lengths in product(numbers[: size.lengths], repeat=len(sizes)):
            added = dict(zip(sizes, lengths, strict=True))
            yield {**values, **added}, {**env, **added}


def list_points(fmt: Format, size: DomainSize) -> Iterator[Point]:
    """Values of the largest unit, each with neighbours of the smallest."""
    first = RANDOM_SPAN.values(fmt.largest, {})
    if len(fmt.units) == 1:
        yield from ((value,) for value in first[: size.largest])
        return
    inner = [_INNER_VALUES[unit] for unit in fmt.units[1:-1]]
    last = RANDOM_SPAN.values(fmt.smallest, {})
    for value in first[: size.largest]:
        for number in last[4 : 4 + size.neighbours]:
            point = (value, *inner, number)
            if is_in_calendar(point, fmt):
                yield point
