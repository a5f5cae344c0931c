"""When a label holds: conditions over times and numbers as a small tree, compiled once."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache

from nikawa.generation.template_errors import Position, TemplateError
from nikawa.generation.times import UNITS, Clock, Format, Value

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
    at: Position = field(default=Position(), compare=False)


@dataclass(frozen=True, slots=True)
class Size:
    """An interval or a number slot, or (without a name) a plain integer; `unit` where a length is written out."""

    name: str = ""
    count: int = 0
    unit: str = ""
    at: Position = field(default=Position(), compare=False)


@dataclass(frozen=True, slots=True)
class Shifted:
    """A time or a size plus or minus a size."""

    base: Edge | Size
    sign: int
    by: Size


Term = Edge | Size | Shifted


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
class And:
    """All parts hold."""

    parts: tuple[Condition, ...]


@dataclass(frozen=True, slots=True)
class Or:
    """At least one part holds."""

    parts: tuple[Condition, ...]


@dataclass(frozen=True, slots=True)
class Not:
    """The part does not hold."""

    part: Condition


Condition = Constant | Compare | And | Or | Not
ALWAYS, NEVER = Constant(True), Constant(False)


def iterate_operands(condition: Condition) -> Iterator[Edge | Size]:
    """Every time and size a condition speaks of."""
    for compare in iterate_comparisons(condition):
        for term in (compare.left, compare.right):
            yield from (term.base, term.by) if isinstance(term, Shifted) else (term,)


def iterate_comparisons(condition: Condition) -> Iterator[Compare]:
    """Every comparison in a condition."""
    match condition:
        case Compare():
            yield condition
        case And(parts) | Or(parts):
            for part in parts:
                yield from iterate_comparisons(part)
        case Not(part):
            yield from iterate_comparisons(part)


def compares_only_points(condition: Condition) -> bool:
    """Whether a condition compares points with points and nothing else."""
    return all(
        isinstance(term, Edge) for c in iterate_comparisons(condition) for term in (c.left, c.right)
    )


def bind_values(values: Mapping[str, Value], fmt: Format | None, clock: Clock) -> dict[str, int]:
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
def compile_condition(condition: Condition, clock: Clock, unit: str) -> Test:
    """A condition as a function; `unit` is the unit of its intervals."""
    match condition:
        case Constant(value):
            return lambda env: value
        case Compare(op, left, right):
            compare, a, b = COMPARE[op], _amount(left, clock, unit), _amount(right, clock, unit)
            return lambda env: compare(a(env), b(env))
        case And(parts):
            tests = [compile_condition(part, clock, unit) for part in parts]
            return lambda env: all(test(env) for test in tests)
        case Or(parts):
            tests = [compile_condition(part, clock, unit) for part in parts]
            return lambda env: any(test(env) for test in tests)
        case Not(part):
            test = compile_condition(part, clock, unit)
            return lambda env: not test(env)


def _amount(term: Term, clock: Clock, unit: str) -> Amount:
    match term:
        case Edge(name, side):
            return operator.itemgetter(f"{name}.{side}")
        case Size(name, count, _):
            return operator.itemgetter(name) if name else lambda env: count
        case Shifted(base, sign, by):
            start, size, shift = _amount(base, clock, unit), _amount(by, clock, unit), clock.shift
            if isinstance(base, Size):
                return lambda env: start(env) + sign * size(env)
            step = by.unit or unit
            return lambda env: shift(start(env), sign * size(env), step)


def write_condition(condition: Condition) -> str:
    """A condition in the native notation."""
    match condition:
        case Constant(value):
            return "always" if value else "never"
        case Compare(op, left, right):
            return f"{_term(left)} {op} {_term(right)}"
        case And(parts):
            return " and ".join(_inside(part) for part in parts)
        case Or(parts):
            return " or ".join(_inside(part) for part in parts)
        case Not(part):
            return f"not {_inside(part)}"


def _inside(part: Condition) -> str:
    return (
        f"({write_condition(part)})" if isinstance(part, And | Or | Not) else write_condition(part)
    )


def _term(term: Term) -> str:
    match term:
        case Edge(name, side):
            return f"{name}.{side}"
        case Size(name, count, unit):
            return name or f"{count} {unit}".strip()
        case Shifted(base, sign, by):
            return f"{_term(base)} {'+' if sign > 0 else '-'} {_term(by)}"


ALIASES = {"tp": "time", "np": "noun", "time_unit": "unit"}
"""The authors' words for slots to ours."""
_SLOT = re.compile(r"([A-Za-z]+(?:_[A-Za-z]+)*?)_?([0-9]{0,3})")
_SYNONYMS = {
    "=": "==",
    "before": "<",
    "after": ">",
    "≤": "<=",
    "≥": ">=",
    "≠": "!=",
    "＜": "<",
    "＞": ">",
}
_TOKEN = re.compile(
    r"(?P<space>\s+)|(?P<number>[0-9]{1,9})|(?P<name>[A-Za-z][A-Za-z0-9_]*(?:\.\w+)?)"
    r"|(?P<mark><=|>=|==|!=|[<>=≤≥≠＜＞(),+*-])"
)
DEEPEST = 50
"""Brackets and negations within each other."""


def parse_slot_name(written: str) -> tuple[str, int] | None:
    """Kind and index of a slot's name: `tp_1`, `time1` and `time` are all ("time", 1)."""
    found = _SLOT.fullmatch(written)
    if found is None:
        return None
    return ALIASES.get(found[1], found[1]), int(found[2] or 1)


def parse_condition(text: str, at: Position) -> Condition:
    """The tree of a condition that begins at `at`; a `Mistake` says where it cannot be read."""
    return _Parser(text, at).whole()


class _Parser:
    """Recursive descent over the tokens of one condition."""

    def __init__(self, text: str, at: Position) -> None:
        self.at = at
        self.tokens = list(self._scan(text))
        self.end = at.later(len(text))
        self.place = self.depth = 0

    def _scan(self, text: str) -> Iterator[tuple[str, str, Position]]:
        position = 0
        while position < len(text):
            found = _TOKEN.match(text, position)
            if found is None:
                what = f"{text[position]!r} has no place in a condition"
                raise TemplateError(
                    "syntax",
                    what,
                    self.at.later(position),
                    "compare times with < <= > >= == !=, join with and, or",
                )
            if found.lastgroup != "space":
                yield str(found.lastgroup), found[0], self.at.later(position)
            position = found.end()

    def whole(self) -> Condition:
        if not self.tokens:
            raise TemplateError(
                "syntax", "the condition is empty", self.at, "write always, never, or a comparison"
            )
        result = self.joined(",", self.clause, And)
        if self.place < len(self.tokens):
            _, word, at = self.tokens[self.place]
            raise TemplateError(
                "syntax",
                f"{word!r} is not expected here",
                at,
                "join comparisons with and, or, a comma",
            )
        return result

    def clause(self) -> Condition:
        return self.joined("or", lambda: self.joined("and", self.one, And), Or)

    def joined(
        self, word: str, part: Callable[[], Condition], make: type[And] | type[Or]
    ) -> Condition:
        parts = [part()]
        while self.takes(word):
            parts.append(part())
        return parts[0] if len(parts) == 1 else make(tuple(parts))

    def peek(self) -> tuple[str, str, Position]:
        return self.tokens[self.place] if self.place < len(self.tokens) else ("end", "", self.end)

    def takes(self, word: str) -> bool:
        if self.peek()[1] != word:
            return False
        self.place += 1
        return True

    def one(self) -> Condition:
        self.depth += 1
        if self.depth > DEEPEST:
            raise TemplateError(
                "syntax", "the condition is too deep", self.peek()[2], "take it apart"
            )
        try:
            return self.single()
        finally:
            self.depth -= 1

    def single(self) -> Condition:
        if self.takes("not"):
            return Not(self.one())
        if self.takes("("):
            inside = self.joined(",", self.clause, And)
            if not self.takes(")"):
                raise TemplateError("syntax", "a bracket is not closed", self.peek()[2], "write )")
            return inside
        for word, value in (
            ("True", ALWAYS),
            ("always", ALWAYS),
            ("False", NEVER),
            ("never", NEVER),
        ):
            if self.takes(word):
                return value
        return self.chain()

    def chain(self) -> Condition:
        terms, parts = [self.expression()], []
        while (op := _SYNONYMS.get(self.peek()[1], self.peek()[1])) in COMPARE:
            at = self.peek()[2]
            self.place += 1
            terms.append(self.expression())
            _same_kind(terms[-2], terms[-1], at)
            parts.append(Compare(op, terms[-2], terms[-1]))
        if not parts:
            raise TemplateError(
                "syntax",
                "a comparison is missing",
                self.peek()[2],
                "write for example time1 < time2",
            )
        return parts[0] if len(parts) == 1 else And(tuple(parts))

    def expression(self) -> Term:
        base = self.term()
        _, mark, at = self.peek()
        if mark not in ("+", "-"):
            return base
        self.place += 1
        by = self.term()
        if not isinstance(by, Size) or (isinstance(base, Size) and by.unit):
            raise TemplateError(
                "syntax",
                "only an interval or a number can be added",
                at,
                "write time1 + interval1, or time1 - 1 day",
            )
        return Shifted(base, 1 if mark == "+" else -1, by)

    def term(self) -> Edge | Size:
        kind, word, at = self.peek()
        self.place += 1
        if kind == "number":
            self.takes("*")
            unit = self.peek()[1].removesuffix("s")
            self.place += unit in UNITS
            return Size("", int(word), unit if unit in UNITS else "", at)
        if kind == "name":
            return _named(word, at)
        raise TemplateError(
            "syntax", "a time, an interval or a number is missing", at, "write for example time1"
        )


def _named(word: str, at: Position) -> Edge | Size:
    name, dot, side = word.partition(".")
    slot = parse_slot_name(name)
    key = f"{slot[0]}_{slot[1]}" if slot else name
    if slot and slot[0] == "time":
        if dot and side not in ("start", "end"):
            raise TemplateError(
                "syntax", f"a time has no {side!r}", at.later(len(name) + 1), "write .start or .end"
            )
        return Edge(key, side or "start", at)
    if dot:
        raise TemplateError(
            "syntax",
            f"{name} has no {side!r}",
            at.later(len(name) + 1),
            "only a time has .start and .end",
        )
    return Size(key, 0, "", at)


def _same_kind(left: Term, right: Term, at: Position) -> None:
    if _is_instant(left) != _is_instant(right):
        raise TemplateError(
            "syntax",
            "compares a time with a length",
            at,
            "compare times with times, intervals with intervals",
        )


def _is_instant(term: Term) -> bool:
    return isinstance(term.base if isinstance(term, Shifted) else term, Edge)
