"""`nikawa conformance`: check our functions against a golden file of inputs and the results of the official functions.

Numbers agree within 1e-9, correlations of float32 scores within 1e-6 (1e-5 in percent). `{"special": "nan"}` means
NaN; `{"raises": …}`, at the top or under a key, means that the official function refuses the input. The result must have every
key of an expected mapping. A group without a function fails as a whole.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from numbers import Real
from pathlib import Path
from typing import Any

import msgspec

from nikawa.errors import BadInput
from nikawa.io.json import plain_fault, read_json
from nikawa.metrics import Adapter, golden_adapters
from nikawa.records import Record

EXACT = 1e-9
TOLERANCES = {"jsts_pearson_spearman": 1e-6, "klue_sts_pearsonr": 1e-5}
"""Groups whose reference rounds to float32: as a fraction, and in percent."""
CURE = 'a golden file is {"metrics": {GROUP: {"cases": [{"id", "input", "expected"}]}}}'
MAX_VALUE_CHARS = 60
"""Characters of a value that a failure shows."""


class Case(msgspec.Struct, frozen=True):
    """An input and the result of the official function."""

    id: str | int
    input: Any
    expected: Any


class Cases(msgspec.Struct, frozen=True):
    """The cases of one group; other fields are for people."""

    cases: list[Case]


class Failure(Record, frozen=True, kw_only=True):
    """A case with another result."""

    id: str
    why: str


class GroupResult(Record, frozen=True, kw_only=True):
    """The result of one group."""

    name: str
    cases: int
    passed: int
    failures: tuple[Failure, ...]


class ConformanceReport(Record, frozen=True, kw_only=True):
    """All groups of a file, and the total number of failures."""

    groups: tuple[GroupResult, ...]
    failed: int


class Refusal:
    """Represents the result of a function that raised."""

    def __init__(self, problem: Exception) -> None:
        self.why = f"{type(problem).__name__}: {problem}"

    def __repr__(self) -> str:
        return f"a refusal ({self.why})"


def check_conformance(
    path: Path, adapters: Mapping[str, Adapter] | None = None
) -> ConformanceReport:
    """Run every case of the golden file at `path`.

    `adapters` are the functions of further groups in addition to the metrics, such as `nikawa.aggregation.golden.GOLDEN`.
    """
    known = {name: golden_adapters()[name] for name in golden_adapters()}
    known |= adapters or {}
    groups = []
    for name, cases in read_golden(path).items():
        groups.append(run_group(name, cases, known.get(name)))
    failed = sum(len(group.failures) for group in groups)
    return ConformanceReport(groups=tuple(groups), failed=failed)


def read_golden(path: Path) -> dict[str, list[Case]]:
    """The cases by group; anything else is refused in one line."""
    document = read_json(path, object)
    groups = document.get("metrics") if isinstance(document, dict) else None
    if not isinstance(groups, dict) or not groups:
        raise BadInput("contains no groups of cases", file=path, cure=CURE)
    cases = {}
    for name, group in groups.items():
        try:
            cases[name] = msgspec.convert(group, Cases).cases
        except msgspec.ValidationError as problem:
            what = f"group {name}: {plain_fault(str(problem))}"
            raise BadInput(what, file=path, cure=CURE) from None
    return cases


def run_group(name: str, cases: list[Case], adapter: Adapter | None) -> GroupResult:
    """Every case of a group, with the function that answers it."""
    failures = []
    if adapter is None:
        why = "no metric is registered for this group"
        failures = [Failure(id=str(case.id), why=why) for case in cases] or [
            Failure(id="", why=why)
        ]
        return GroupResult(name=name, cases=len(cases), passed=0, failures=tuple(failures))
    for case in cases:
        why = run_case(case, adapter, TOLERANCES.get(name, EXACT))
        if why:
            failures.append(Failure(id=str(case.id), why=why))
    passed = len(cases) - len(failures)
    return GroupResult(name=name, cases=len(cases), passed=passed, failures=tuple(failures))


def run_case(case: Case, adapter: Adapter, tolerance: float) -> str:
    """The difference of a result from the expected one; empty if they agree."""
    value = call_or_refuse(lambda: adapter(case.input))
    return find_difference(case.expected, value, tolerance)


def call_or_refuse(call: Callable[[], Any]) -> Any:
    """What `call` returns; a `Refusal` if it raises, for any reason, as in the reference."""
    try:
        return call()
    except Exception as problem:
        return Refusal(problem)


def find_difference(expected: Any, value: Any, tolerance: float, at: str = "") -> str:
    """The first place where `value` is not `expected`, in words; empty if they agree.

    `at` is the place of the value inside the whole.
    """
    if callable(value):
        value = call_or_refuse(value)
    if isinstance(expected, Mapping) and not {"special", "raises"} & expected.keys():
        return find_in_mapping(expected, value, tolerance, at)
    if isinstance(expected, list) and isinstance(value, list | tuple):
        if len(expected) != len(value):
            return f"{at + ': ' if at else ''}expected {len(expected)} values, found {len(value)}"
        for place, (one, other) in enumerate(zip(expected, value, strict=True)):
            why = find_difference(one, other, tolerance, f"{at}[{place}]")
            if why:
                return why
        return ""
    return "" if is_same(expected, value, tolerance) else _differ(expected, value, at)


def find_in_mapping(expected: Mapping[str, Any], value: Any, tolerance: float, at: str) -> str:
    """Like `find_difference` for an expected mapping: every key of it must be answered as expected."""
    for key, part in expected.items():
        place = f"{at}.{key}" if at else str(key)
        if isinstance(value, Mapping) and key not in value:
            return f"{place}: expected {_shorten(part)}, found nothing"
        own = value[key] if isinstance(value, Mapping) else value
        why = find_difference(part, own, tolerance, place)
        if why:
            return why
    if isinstance(value, Mapping | Refusal) and (expected or not value):
        return ""
    return _differ(expected, value, at)


def _differ(expected: Any, value: Any, at: str) -> str:
    return f"{at + ': ' if at else ''}expected {_shorten(expected)}, found {_shorten(value)}"


def is_same(expected: Any, value: Any, tolerance: float) -> bool:
    """Whether a single value is the expected one."""
    if isinstance(expected, Mapping) and "raises" in expected:
        return isinstance(value, Refusal)
    if isinstance(expected, Mapping):
        special = expected["special"]
        if not is_number(value):
            return False
        if special == "nan":
            return math.isnan(value)
        return special in ("inf", "-inf") and value == float(special)
    if is_number(expected) and is_number(value):
        return bool(expected == value or abs(expected - value) <= tolerance)
    return type(expected) is type(value) and bool(expected == value)


def is_number(value: Any) -> bool:
    """Whether a value is a real number, including numpy's; a boolean is not."""
    return isinstance(value, Real) and not isinstance(value, bool)


def _shorten(value: Any) -> str:
    if isinstance(value, Mapping) and "special" in value:
        return str(value["special"])
    if isinstance(value, Mapping) and "raises" in value:
        return "a refusal"
    text = repr(value)
    return text if len(text) <= MAX_VALUE_CHARS else f"{text[: MAX_VALUE_CHARS - 1]}…"
