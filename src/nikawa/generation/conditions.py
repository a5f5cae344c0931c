"""When a label holds: conditions over times and numbers, read from text and compiled once to a
function.

Both notations of templates share one grammar, loosest first:

    condition  = "always" | "never" | "True" | "False" | clause { "," clause }        "," means and
    clause     = both { "or" both }
    both       = one { "and" one }
    one        = "not" one | "(" condition ")" | expr op expr { op expr }           a chain means and
    op         = "<=" | "<" | ">=" | ">" | "==" | "=" | "!=" | "before" | "after"
    expr       = term [ ("+" | "-") term ]
    term       = time [ ".start" | ".end" ] | interval | number | integer [ "*" ] [ unit ]

A time without `.start` or `.end` stands for its start.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import NamedTuple

from nikawa.errors import suggest
from nikawa.generation.template_errors import Position, TemplateError
from nikawa.generation.times import UNITS, Clock, Format, Values

LABELS = ("entailment", "contradiction", "neutral")
"""The labels of problems, in the published order."""
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
"""A compiled condition."""
Amount = Callable[[Env], int]
"""A compiled term."""


@dataclass(frozen=True, slots=True)
class Edge:
    """The start or the end of a time."""

    name: str
    side: str
    at: Position = field(default=Position(), compare=False)
    source: str = field(default="", compare=False)
    """The name as the author wrote it."""


@dataclass(frozen=True, slots=True)
class Size:
    """An interval or a number slot, or (without a name) a plain integer.

    `unit` is the unit of a length that is written out.
    """

    name: str = ""
    count: int = 0
    unit: str = ""
    at: Position = field(default=Position(), compare=False)
    source: str = field(default="", compare=False)
    """The name as the author wrote it; empty for a plain integer."""


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
"""The tree of a condition, which `write_condition` turns back into text."""
ALWAYS, NEVER = Constant(True), Constant(False)


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


def iterate_operands(condition: Condition) -> Iterator[Edge | Size]:
    """Every time and size that a condition names."""
    for comparison in iterate_comparisons(condition):
        for term in (comparison.left, comparison.right):
            if isinstance(term, Shifted):
                yield term.base
                yield term.by
            else:
                yield term


def compares_only_points(condition: Condition) -> bool:
    """Whether a condition compares points with points and nothing else."""
    return all(
        isinstance(comparison.left, Edge) and isinstance(comparison.right, Edge)
        for comparison in iterate_comparisons(condition)
    )


def bind_values(values: Values, fmt: Format | None, clock: Clock) -> dict[str, int]:
    """What compiled conditions read: both ends of every point, intervals and numbers as they are."""
    env: dict[str, int] = {}
    for name, value in values.items():
        if isinstance(value, tuple):
            assert fmt is not None
            env[f"{name}.start"] = clock.start(value, fmt)
            env[f"{name}.end"] = clock.end(value, fmt)
        else:
            env[name] = value
    return env


@lru_cache(maxsize=4096)
def compile_condition(condition: Condition, clock: Clock, unit: str) -> Test:
    """A condition as a function of what `bind_values` gives.

    `unit` is the unit of its intervals.
    """
    match condition:
        case Constant(value):
            return lambda env: value
        case Compare(op, left, right):
            compare = COMPARE[op]
            a, b = _compile_term(left, clock, unit), _compile_term(right, clock, unit)
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


def _compile_term(term: Term, clock: Clock, unit: str) -> Amount:
    """A term as a function; only times are shifted by the clock, sizes are added."""
    match term:
        case Edge(name, side):
            return operator.itemgetter(f"{name}.{side}")
        case Size(name, count, _):
            return operator.itemgetter(name) if name else lambda env: count
        case Shifted(base, sign, by):
            start, size = _compile_term(base, clock, unit), _compile_term(by, clock, unit)
            if isinstance(base, Size):
                return lambda env: start(env) + sign * size(env)
            shift, step = clock.shift, by.unit or unit
            return lambda env: shift(start(env), sign * size(env), step)


def write_condition(condition: Condition) -> str:
    """A condition in the native notation.

    >>> write_condition(parse_condition("time1 before time2, not time1 == time3", Position()))
    'time_1.start < time_2.start and (not time_1.start == time_3.start)'
    """
    match condition:
        case Constant(value):
            return "always" if value else "never"
        case Compare(op, left, right):
            return f"{_write_term(left)} {op} {_write_term(right)}"
        case And(parts):
            return " and ".join(map(_write_part, parts))
        case Or(parts):
            return " or ".join(map(_write_part, parts))
        case Not(part):
            return f"not {_write_part(part)}"


def _write_part(part: Condition) -> str:
    text = write_condition(part)
    return f"({text})" if isinstance(part, And | Or | Not) else text


def _write_term(term: Term) -> str:
    match term:
        case Edge(name, side):
            return f"{name}.{side}"
        case Size(name, count, unit):
            return name or f"{count} {unit}".strip()
        case Shifted(base, sign, by):
            return f"{_write_term(base)} {'+' if sign > 0 else '-'} {_write_term(by)}"


ALIASES = {"tp": "time", "np": "noun", "time_unit": "unit"}
"""The words of JAMP's notation for slots to ours."""
MAX_DEPTH = 50
"""Brackets and negations within each other."""
_SLOT = re.compile(r"([A-Za-z]+(?:_[A-Za-z]+)*?)_?([0-9]{0,3})")
"""Kind and index of a slot's name."""
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
_AFTER_NUMBERS = ("and", "or", "before", "after")
"""Words that may follow a number that has no unit."""
_MEANT_CONSTANTS = {"true": "always", "yes": "always", "false": "never", "no": "never"}
"""Words that authors try for a condition that always or never holds, and the word to write."""
_CONSTANTS = {"True": ALWAYS, "always": ALWAYS, "False": NEVER, "never": NEVER}
_TOKEN = re.compile(
    r"(?P<space>\s+)|(?P<number>[0-9]{1,9})|(?P<name>[A-Za-z][A-Za-z0-9_]*(?:\.\w+)?)"
    r"|(?P<mark><=|>=|==|!=|[<>=≤≥≠＜＞(),+*-])"
)


def parse_slot_name(written: str) -> tuple[str, int] | None:
    """Kind and index of a slot's name: `tp_1`, `time1` and `time` are all ("time", 1); None where
    it is no name.

    >>> parse_slot_name("interval_2")
    ('interval', 2)
    """
    match = _SLOT.fullmatch(written)
    if match is None:
        return None
    kind, index = match.groups()
    return ALIASES.get(kind, kind), int(index or 1)


def parse_condition(text: str, at: Position) -> Condition:
    """The tree of a condition that begins at `at`.

    A `TemplateError` says where it cannot be read.
    """
    return _Parser(text, at).parse()


class _Token(NamedTuple):
    kind: str
    text: str
    at: Position


def _syntax_error(what: str, at: Position, cure: str) -> TemplateError:
    return TemplateError("syntax", what, at, cure)


class _Parser:
    """Recursive descent over the tokens of one condition: a method for each rule of the grammar."""

    def __init__(self, text: str, at: Position) -> None:
        self.at = at
        self.tokens = list(self._scan(text))
        self.end = _Token("end", "", at.forward(len(text)))
        self.place = self.depth = 0

    def _scan(self, text: str) -> Iterator[_Token]:
        position = 0
        while position < len(text):
            match = _TOKEN.match(text, position)
            if match is None:
                what = f"{text[position]!r} has no place in a condition"
                cure = "compare times with < <= > >= == !=, join with and, or"
                raise _syntax_error(what, self.at.forward(position), cure)
            if match.lastgroup != "space":
                yield _Token(str(match.lastgroup), match[0], self.at.forward(position))
            position = match.end()

    def parse(self) -> Condition:
        """The whole condition."""
        if not self.tokens:
            cure = "write always, never, or a comparison"
            raise _syntax_error("the condition is empty", self.at, cure)
        condition = self.parse_clauses()
        if self.place < len(self.tokens):
            token = self.peek()
            cure = "join comparisons with and, or, a comma"
            raise _syntax_error(f"{token.text!r} is not expected here", token.at, cure)
        return condition

    def peek(self) -> _Token:
        """The next token, which is not taken."""
        return self.tokens[self.place] if self.place < len(self.tokens) else self.end

    def take(self, word: str) -> bool:
        """Take the next token if it is this word."""
        if self.peek().text != word:
            return False
        self.place += 1
        return True

    def parse_clauses(self) -> Condition:
        return self.parse_joined(",", self.parse_clause, And)

    def parse_clause(self) -> Condition:
        return self.parse_joined("or", self.parse_both, Or)

    def parse_both(self) -> Condition:
        return self.parse_joined("and", self.parse_one, And)

    def parse_joined(
        self, word: str, parse_part: Callable[[], Condition], make: type[And] | type[Or]
    ) -> Condition:
        """Parts with `word` between them; a lone part stays as it is."""
        parts = [parse_part()]
        while self.take(word):
            parts.append(parse_part())
        return parts[0] if len(parts) == 1 else make(tuple(parts))

    def parse_one(self) -> Condition:
        """A negation, a bracket, a constant, or a chain of comparisons."""
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise _syntax_error("the condition is too deep", self.peek().at, "take it apart")
        try:
            if self.take("not"):
                return Not(self.parse_one())
            if self.take("("):
                inside = self.parse_clauses()
                if not self.take(")"):
                    raise _syntax_error("a bracket is not closed", self.peek().at, "write )")
                return inside
            for word, constant in _CONSTANTS.items():
                if self.take(word):
                    return constant
            token = self.peek()
            meant = _MEANT_CONSTANTS.get(token.text.lower())
            if meant is not None:
                what = f"{token.text!r} is not a condition"
                raise _syntax_error(what, token.at, f"write {meant}")
            return self.parse_chain()
        finally:
            self.depth -= 1

    def parse_chain(self) -> Condition:
        """`a < b <= c`: neighbours compared, all of which must hold."""
        comparisons = []
        left = self.parse_expression()
        while True:
            mark = self.peek()
            op = _SYNONYMS.get(mark.text, mark.text)
            if op not in COMPARE:
                break
            self.place += 1
            right = self.parse_expression()
            if _is_instant(left) != _is_instant(right):
                cure = "compare times with times, intervals with intervals"
                raise _syntax_error("compares a time with a length", mark.at, cure)
            comparisons.append(Compare(op, left, right))
            left = right
        if not comparisons:
            cure = "write for example time1 < time2"
            raise _syntax_error("a comparison is missing", mark.at, cure)
        return comparisons[0] if len(comparisons) == 1 else And(tuple(comparisons))

    def parse_expression(self) -> Term:
        """A term, with a length that is added to it or not."""
        base = self.parse_term()
        mark = self.peek()
        if mark.text not in ("+", "-"):
            return base
        self.place += 1
        by = self.parse_term()
        if not isinstance(by, Size) or (isinstance(base, Size) and by.unit):
            cure = "write time1 + interval1, or time1 - 1 day"
            raise _syntax_error("only an interval or a number can be added", mark.at, cure)
        return Shifted(base, 1 if mark.text == "+" else -1, by)

    def parse_term(self) -> Edge | Size:
        """A named slot or an integer, which may have a unit."""
        token = self.peek()
        self.place += 1
        if token.kind == "number":
            self.take("*")
            following = self.peek()
            unit = following.text.removesuffix("s")
            if unit not in UNITS:
                if following.kind == "name" and following.text not in _AFTER_NUMBERS:
                    what = f"{following.text!r} is not a unit of time"
                    raise _syntax_error(what, following.at, suggest(unit, UNITS))
                return Size("", int(token.text), "", token.at)
            self.place += 1
            return Size("", int(token.text), unit, token.at)
        if token.kind == "name":
            return self.parse_name(token)
        what = "a time, an interval or a number is missing"
        raise _syntax_error(what, token.at, "write for example time1")

    def parse_name(self, token: _Token) -> Edge | Size:
        """The end of a time, or the size that an interval or number slot holds."""
        name, dot, side = token.text.partition(".")
        slot = parse_slot_name(name)
        key = f"{slot[0]}_{slot[1]}" if slot else name
        after_dot = token.at.forward(len(name) + 1)
        if slot and slot[0] == "time":
            if dot and side not in ("start", "end"):
                raise _syntax_error(f"a time has no {side!r}", after_dot, "write .start or .end")
            return Edge(key, side or "start", token.at, name)
        if dot:
            cure = "only a time has .start and .end"
            raise _syntax_error(f"{name} has no {side!r}", after_dot, cure)
        return Size(key, 0, "", token.at, name)


def _is_instant(term: Term) -> bool:
    return isinstance(term.base if isinstance(term, Shifted) else term, Edge)
