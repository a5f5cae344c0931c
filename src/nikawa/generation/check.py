"""Static checks of templates: what can be found before a single problem is made.

Conditions are decided by enumeration. A condition, or two at once, is tried on every assignment of a small domain of each
format (six values of the largest unit, two neighbouring ones of the smallest, intervals up to 3), then of a large one
(twelve, three, 9). What holds there is proved by its witness, which the message shows. What holds nowhere there is taken
never to hold: conditions only compare and shift, so larger domains repeat the same orders and distances.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from itertools import islice, product
from pathlib import Path
from typing import NamedTuple

from nikawa.generation.conditions import (
    NEVER,
    And,
    Condition,
    compares_only_points,
    compile_condition,
    iterate_operands,
)
from nikawa.generation.conditions import Size as Amount
from nikawa.generation.pack import FindFile, Pack, read_pack
from nikawa.generation.template import Template, Time, Word, find_unbound_names, strip_case_number
from nikawa.generation.template_errors import Position, Trouble
from nikawa.generation.time_sampling import TimeRules
from nikawa.generation.time_spans import RANDOM_SPAN
from nikawa.generation.times import CALENDAR, Format, Point, Value, is_in_calendar


class Size(NamedTuple):
    """How much of a domain is tried: values of the largest unit, neighbours of the smallest, lengths of intervals."""

    largest: int
    neighbours: int
    lengths: int


SMALL, LARGE = Size(6, 2, 3), Size(12, 3, 9)
MOST = 50_000
"""Combinations of points of one format that are tried."""
Placed = tuple[Path, Trouble]


def check_pack(spec: str | Path, *, find: FindFile | None = None) -> tuple[Pack, list[Placed]]:
    """Every fault of a pack, a folder or a template file: those that stop reading, then the others."""
    pack, troubles = read_pack(spec, find=find)
    for template, path in zip(pack.templates, pack.sources, strict=True):
        placed = ((path, trouble) for trouble in check_template(template))
        troubles += [pair for pair in placed if pair not in troubles]
    return pack, sorted(troubles, key=lambda pair: (str(pair[0]), pair[1].line, pair[1].column))


def check_template(template: Template) -> Iterator[Trouble]:
    """The faults of one template."""
    names = list(find_unbound_names(template))
    yield from names
    yield from _cases(template)
    yield from _slots(template)
    yield from _days(template)
    yield from _tested(template)
    if not names:
        yield from _conditions(template)


def _trouble(
    template: Template, check: str, at: Position, what: str, cure: str, level: str = "error"
) -> Trouble:
    return Trouble(
        check=check,
        level="warning" if level == "warning" else "error",
        template=template.id,
        line=at.line,
        column=at.column,
        what=what,
        cure=cure,
    )


def _written(template: Template) -> Iterator[tuple[str, Condition]]:
    yield "entails", template.entails
    yield "contradicts", template.contradicts
    if "given" in template.places:
        yield from (("given", condition) for condition in template.given)


def _cases(template: Template) -> Iterator[Trouble]:
    """An argument's case must be one its verb takes."""
    verbs = [slot for slot in template.slots.values() if slot.kind == "verb" and slot.frame]
    taken = {case for verb in verbs for case in verb.frame}
    for use in template.uses:
        if isinstance(use, Word) and use.case and verbs and use.case not in taken:
            near = [
                case for case in taken if strip_case_number(case) == strip_case_number(use.case)
            ]
            what = f"{use.written or use.slot}: the verb takes {', '.join(verbs[0].frame)}, not {use.case}"
            cure = f"write {near[0]}" if near else "add the case to the verb, or change the slot's"
            yield _trouble(template, "case", use.at, what, cure)


def _slots(template: Template) -> Iterator[Trouble]:
    """What is declared twice must agree; the hypothesis may not bring words the premise lacks a frame for."""
    declared: dict[tuple[str, str], object] = {}
    for use in template.uses:
        if not isinstance(use, Word):
            continue
        for name in ("case", "frame", "transitive", "wants"):
            value = getattr(use, name)
            if value in ("", (), None):
                continue
            if declared.setdefault((use.slot, name), value) != value:
                what = f"{use.slot} is declared twice, with a different {name}"
                yield _trouble(template, "declared-twice", use.at, what, "declare it once")
    for slot in template.slots.values():
        if slot.kind == "verb" and not slot.frame:
            what, cure = f"{slot.name} has no frame", "name the cases it takes at its first use"
            yield _trouble(
                template,
                "frame",
                template.places.get("premise", template.at),
                what,
                cure,
                "warning",
            )


def _days(template: Template) -> Iterator[Trouble]:
    """A day before can only be written where days are."""
    for use in template.uses:
        if isinstance(use, Time) and (use.days or use.apart):
            if use.days > 0 or (use.apart and use.apart[1] != -1):
                yield _trouble(
                    template, "format", use.at, "only -1day can be written", "write -1day"
                )
            without = [f.name(template.language) for f in template.formats if "day" not in f.units]
            if without:
                at = template.places.get("formats", template.at)
                what = f"{use.written or use.key} needs a day, which {' '.join(without)} lack"
                yield _trouble(template, "format", at, what, "leave these formats out")


def _tested(template: Template) -> Iterator[Trouble]:
    """Test problems are made in a format the template has."""
    fmt = template.test_format
    if fmt is not None and template.formats and fmt not in template.formats:
        offered = " ".join(f.name(template.language) for f in template.formats)
        what = f"the test format {fmt.name(template.language)} is none of the formats of its times"
        at = template.places.get("test", template.at)
        yield _trouble(
            template, "format", at, what, f"choose one of {offered}, or add it to formats"
        )


def _conditions(template: Template) -> Iterator[Trouble]:
    if not all("day" in f.units for f in template.formats) and any(
        isinstance(u, Time) and (u.days or u.apart) for u in template.uses
    ):
        return
    for field, condition in _written(template):
        at = template.places.get(field, template.at)
        if condition == NEVER:
            continue
        if not list(iterate_operands(condition)):
            if not compile_condition(condition, CALENDAR, "")({}):
                what = f"the {_LABEL[field]} condition is a long way to say never"
                yield _trouble(
                    template, "never", at, what, "write never, if that is meant", "warning"
                )
        elif _witness(template, condition) is None:
            what = f"the {_LABEL[field]} condition can never hold"
            yield _trouble(
                template, "never", at, what, "look for comparisons that exclude each other"
            )
        elif _witness(template, And((condition, *template.given)), template.spec.allowed) is None:
            what = f"the {_LABEL[field]} condition never holds: {_excluded(template, condition)}"
            yield _trouble(template, "never", at, what, "write never, if that is meant", "warning")
    both = _witness(template, And((template.entails, template.contradicts)))
    if both is not None:
        at = template.places.get("contradicts", template.at)
        what = f"both conditions hold for {_shown(template, *both)}"
        yield _trouble(template, "overlap", at, what, "narrow one of them")


def _excluded(template: Template, condition: Condition) -> str:
    """Why a condition that could hold alone never does in a problem."""
    differ = "times of one problem always differ"
    if _witness(template, condition, template.spec.allowed) is None:
        return differ
    if _witness(template, And((condition, *template.given))) is None:
        return "what is given excludes it"
    return f"what is given excludes it, as {differ}"


_LABEL = {"entails": "entailment", "contradicts": "contradiction", "given": "given"}


Witness = tuple[Mapping[str, Value], Format | None]


def _shown(template: Template, values: Mapping[str, Value], fmt: Format | None) -> str:
    texts = template.time_texts(values, fmt)
    return ", ".join(f"{name} {texts[name]}" for name in values if name in texts) or "any problem"


def _witness(
    template: Template,
    condition: Condition,
    allowed: Callable[[Mapping[str, Value], Format | None], bool] | None = None,
) -> Witness | None:
    """An assignment for which the condition holds: from a small domain, else from a large one."""
    for size in (SMALL, LARGE):
        found = _search(template, condition, allowed, size)
        if found is not None or compares_only_points(condition):
            return found
    return None


def _search(
    template: Template,
    condition: Condition,
    allowed: Callable[[Mapping[str, Value], Format | None], bool] | None,
    size: Size,
) -> Witness | None:
    terms = list(iterate_operands(condition))
    names = None if allowed else {term.name for term in terms}
    if any(isinstance(term, Amount) and not term.name for term in terms):
        # A condition that names an integer may need values far from the first ones.
        size = size._replace(lengths=10_000)
    # Points that are only compared have the same orders in every format.
    formats = template.formats[:1] if compares_only_points(condition) else template.formats
    for fmt in formats or (None,):
        test = compile_condition(condition, CALENDAR, fmt.largest if fmt else "")
        for values, env in _assignments(template.spec, names, fmt, size):
            if test(env) and (allowed is None or allowed(values, fmt)):
                return values, fmt
    return None


def _assignments(
    spec: TimeRules, names: set[str] | None, fmt: Format | None, size: Size
) -> Iterator[tuple[dict[str, Value], dict[str, int]]]:
    """Assignments of the slots in `names` (all when None), and what compiled conditions read of them."""
    points, sizes = (
        [n for n in some if names is None or n in names] for some in (spec.points, spec.sizes)
    )
    if fmt is None or not (points or sizes):
        yield {}, {}
        return
    domain = [
        (point, CALENDAR.start(point, fmt), CALENDAR.end(point, fmt))
        for point in (_points(fmt, size) if points else ())
    ]
    offered = RANDOM_SPAN.numbers(fmt) if fmt.measure else RANDOM_SPAN.lengths()
    for combination in islice(product(domain, repeat=len(points)), MOST):
        values: dict[str, Value] = {}
        env: dict[str, int] = {}
        for name, (point, start, end) in zip(points, combination, strict=True):
            values[name], env[f"{name}.start"], env[f"{name}.end"] = point, start, end
        for numbers in product(offered[: size.lengths], repeat=len(sizes)):
            added = dict(zip(sizes, numbers, strict=True))
            yield {**values, **added}, {**env, **added}


def _points(fmt: Format, size: Size) -> Iterator[Point]:
    """Values of the largest unit, each with neighbours of the smallest."""
    first = RANDOM_SPAN.values(fmt.largest, {})
    if len(fmt.units) == 1:
        yield from ((value,) for value in first[: size.largest])
        return
    inner = [{"month": 3, "day": 10}[unit] for unit in fmt.units[1:-1]]
    for value in first[: size.largest]:
        for number in RANDOM_SPAN.values(fmt.smallest, {})[4 : 4 + size.neighbours]:
            if is_in_calendar((value, *inner, number), fmt):
                yield (value, *inner, number)
