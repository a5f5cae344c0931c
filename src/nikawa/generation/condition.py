"""When a label holds: conditions over times and numbers as a small tree, compiled once."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache

from nikawa.generation.mistakes import At
from nikawa.generation.time import Clock, Format, Value

COMPARE: dict[str, Callable[[int, int], bool]] = {
    "<=": operator.le,
    "<": operator.lt,
    ">=": operator.ge,
    ">": operator.gt,
    "==": operator.eq,
    "!=": operator.ne,
}
Env = Mapping[str, int]
"""`time_1.start`, `time_1.end`, `interval_1`, `number_1` to integers."""
Test = Callable[[Env], bool]
Amount = Callable[[Env], int]


@dataclass(frozen=True, slots=True)
class Edge:
    """The start or the end of a time."""

    name: str
    side: str
    at: At = field(default=At(), compare=False)


@dataclass(frozen=True, slots=True)
class Size:
    """An interval or a number slot, or (without a name) a plain integer; `unit` where a length is written out."""

    name: str = ""
    count: int = 0
    unit: str = ""
    at: At = field(default=At(), compare=False)


@dataclass(frozen=True, slots=True)
class Moved:
    """A time or a size plus or minus a size."""

    base: Edge | Size
    sign: int
    by: Size


Term = Edge | Size | Moved


@dataclass(frozen=True, slots=True)
class Constant:
    """Always or never."""

    value: bool


@dataclass(frozen=True, slots=True)
class Compare:
    """Two terms compared."""

    op: str
    left: Term
    right: Term


@dataclass(frozen=True, slots=True)
class Every:
    """All parts hold."""

    parts: tuple[Condition, ...]


@dataclass(frozen=True, slots=True)
class Some:
    """At least one part holds."""

    parts: tuple[Condition, ...]


@dataclass(frozen=True, slots=True)
class Opposite:
    """The part does not hold."""

    part: Condition


Condition = Constant | Compare | Every | Some | Opposite
ALWAYS, NEVER = Constant(True), Constant(False)


def leaves(condition: Condition) -> Iterator[Edge | Size]:
    """Every time and size a condition speaks of."""
    for compare in comparisons(condition):
        for term in (compare.left, compare.right):
            yield from (term.base, term.by) if isinstance(term, Moved) else (term,)


def comparisons(condition: Condition) -> Iterator[Compare]:
    """Every comparison in a condition."""
    match condition:
        case Compare():
            yield condition
        case Every(parts) | Some(parts):
            for part in parts:
                yield from comparisons(part)
        case Opposite(part):
            yield from comparisons(part)


def only_order(condition: Condition) -> bool:
    """Whether a condition compares points with points and nothing else."""
    return all(isinstance(term, Edge) for c in comparisons(condition) for term in (c.left, c.right))


def bind(values: Mapping[str, Value], fmt: Format | None, clock: Clock) -> dict[str, int]:
    """What compiled conditions read: both ends of every point, intervals and numbers as they are."""
    env: dict[str, int] = {}
    for name, value in values.items():
        if isinstance(value, tuple):
            assert fmt is not None
            env[f"{name}.start"], env[f"{name}.end"] = (
                clock.start(value, fmt),
                clock.end(value, fmt),
            )
        else:
            env[name] = value
    return env


@lru_cache(maxsize=4096)
def compiled(condition: Condition, clock: Clock, unit: str) -> Test:
    """A condition as a function; `unit` is the unit of its intervals."""
    match condition:
        case Constant(value):
            return lambda env: value
        case Compare(op, left, right):
            compare, a, b = COMPARE[op], _amount(left, clock, unit), _amount(right, clock, unit)
            return lambda env: compare(a(env), b(env))
        case Every(parts):
            tests = [compiled(part, clock, unit) for part in parts]
            return lambda env: all(test(env) for test in tests)
        case Some(parts):
            tests = [compiled(part, clock, unit) for part in parts]
            return lambda env: any(test(env) for test in tests)
        case Opposite(part):
            test = compiled(part, clock, unit)
            return lambda env: not test(env)


def _amount(term: Term, clock: Clock, unit: str) -> Amount:
    match term:
        case Edge(name, side):
            return operator.itemgetter(f"{name}.{side}")
        case Size(name, count, _):
            return operator.itemgetter(name) if name else lambda env: count
        case Moved(base, sign, by):
            start, size, shift = _amount(base, clock, unit), _amount(by, clock, unit), clock.shift
            if isinstance(base, Size):
                return lambda env: start(env) + sign * size(env)
            step = by.unit or unit
            return lambda env: shift(start(env), sign * size(env), step)


def written(condition: Condition) -> str:
    """A condition in the native notation."""
    match condition:
        case Constant(value):
            return "always" if value else "never"
        case Compare(op, left, right):
            return f"{_term(left)} {op} {_term(right)}"
        case Every(parts):
            return " and ".join(_inside(part) for part in parts)
        case Some(parts):
            return " or ".join(_inside(part) for part in parts)
        case Opposite(part):
            return f"not {_inside(part)}"


def _inside(part: Condition) -> str:
    return f"({written(part)})" if isinstance(part, Every | Some | Opposite) else written(part)


def _term(term: Term) -> str:
    match term:
        case Edge(name, side):
            return f"{name}.{side}"
        case Size(name, count, unit):
            return name or f"{count} {unit}".strip()
        case Moved(base, sign, by):
            return f"{_term(base)} {'+' if sign > 0 else '-'} {_term(by)}"
