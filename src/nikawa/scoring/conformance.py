"""Hold our metrics and measures of agreement against a golden file: inputs with what the official functions return for them.

Numbers agree within 1e-9, correlations of float32 scores within 1e-6 (1e-5 in percent). `{"special": "nan"}` stands
for NaN; `{"raises": …}`, on top or under a key, for an input the official function refuses. Every key of an
expected mapping must be answered; a group without an adapter fails whole.
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
from nikawa.records import Record
from nikawa.registry import scan

EXACT = 1e-9
TOLERANCES = {"jsts_pearson_spearman": 1e-6, "klue_sts_pearsonr": 1e-5}
"""Groups whose reference rounds to float32: as a fraction, and in percent."""
CURE = 'a golden file is {"metrics": {GROUP: {"cases": [{"id", "input", "expected"}]}}}'
SHOWN = 60
"""Characters of a value that a failure shows."""


class Case(msgspec.Struct, frozen=True):
    """An input and what the official function makes of it."""

    id: str | int
    input: Any
    expected: Any


class Cases(msgspec.Struct, frozen=True):
    """The cases of one group; what else the file says of it is for people."""

    cases: list[Case]


class Failure(Record, frozen=True, kw_only=True):
    """A case that came out otherwise."""

    id: str
    why: str


class GroupResult(Record, frozen=True, kw_only=True):
    """How one group fared."""

    name: str
    cases: int
    passed: int
    failures: tuple[Failure, ...]


class Report(Record, frozen=True, kw_only=True):
    """All groups of a file, and how many failures they hold together."""

    groups: tuple[GroupResult, ...]
    failed: int


class Refusal:
    """Stands for the answer of a function that raised."""

    def __init__(self, problem: Exception) -> None:
        self.said = f"{type(problem).__name__}: {problem}"

    def __repr__(self) -> str:
        return f"a refusal ({self.said})"


def conformance(path: Path) -> Report:
    """Run every case of the golden file at `path`."""
    adapters = golden_adapters()
    groups = tuple(
        run_group(name, cases, adapters.get(name)) for name, cases in read_golden(path).items()
    )
    return Report(groups=groups, failed=sum(len(group.failures) for group in groups))


def golden_adapters() -> dict[str, Callable[[Any], Any]]:
    """Group of a golden file to the function that answers its cases, from the metrics and from aggregation."""
    import nikawa.aggregation
    from nikawa.metrics import golden_adapters as of_metrics

    adapters = {name: of_metrics()[name] for name in of_metrics()}
    for module in scan(nikawa.aggregation):
        adapters |= getattr(module, "GOLDEN", {})
    return adapters


def read_golden(path: Path) -> dict[str, list[Case]]:
    """The cases by group; anything else is refused in one line."""
    document = read_json(path, object)
    groups = document.get("metrics") if isinstance(document, dict) else None
    if not isinstance(groups, dict) or not groups:
        raise BadInput("holds no groups of cases", file=path, cure=CURE)
    found = {}
    for name, group in groups.items():
        try:
            found[name] = msgspec.convert(group, Cases).cases
        except msgspec.ValidationError as problem:
            raise BadInput(
                f"group {name}: {plain_fault(str(problem))}", file=path, cure=CURE
            ) from None
    return found


def run_group(name: str, cases: list[Case], adapter: Callable[[Any], Any] | None) -> GroupResult:
    """Every case of a group, with the function that answers it."""
    if adapter is None:
        whole = [str(case.id) for case in cases] or [""]
        failures = [
            Failure(id=case, why="no metric is registered for this group") for case in whole
        ]
        return GroupResult(name=name, cases=len(cases), passed=0, failures=tuple(failures))
    tolerance = TOLERANCES.get(name, EXACT)
    found = [(case, run_case(case, adapter, tolerance)) for case in cases]
    failures = [Failure(id=str(case.id), why=why) for case, why in found if why]
    return GroupResult(
        name=name, cases=len(cases), passed=len(cases) - len(failures), failures=tuple(failures)
    )


def run_case(case: Case, adapter: Callable[[Any], Any], tolerance: float) -> str:
    """How the answer to a case departs from what is expected; empty where it does not."""
    return difference(case.expected, settle(lambda: adapter(case.input)), tolerance)


def settle(call: Callable[[], Any]) -> Any:
    """What `call` returns; a `Refusal` where it raises, for whatever reason: so does the reference."""
    try:
        return call()
    except Exception as problem:
        return Refusal(problem)


def difference(expected: Any, found: Any, tolerance: float, at: str = "") -> str:
    """The first place where `found` is not `expected`, in words; empty where there is none."""
    if callable(found):
        found = settle(found)
    if isinstance(expected, Mapping) and not {"special", "raises"} & expected.keys():
        return _in_mapping(expected, found, tolerance, at)
    if isinstance(expected, list) and isinstance(found, list | tuple):
        return _in_list(expected, found, tolerance, at)
    if same(expected, found, tolerance):
        return ""
    return f"{at + ': ' if at else ''}expected {_shown(expected)}, found {_shown(found)}"


def _in_mapping(expected: Mapping[str, Any], found: Any, tolerance: float, at: str) -> str:
    for key, value in expected.items():
        place = f"{at}.{key}" if at else str(key)
        if isinstance(found, Mapping) and key not in found:
            return f"{place}: expected {_shown(value)}, found nothing"
        why = difference(
            value, found[key] if isinstance(found, Mapping) else found, tolerance, place
        )
        if why:
            return why
    if isinstance(found, Mapping | Refusal) and (expected or not found):
        return ""
    return f"{at + ': ' if at else ''}expected {_shown(expected)}, found {_shown(found)}"


def _in_list(
    expected: list[Any], found: list[Any] | tuple[Any, ...], tolerance: float, at: str
) -> str:
    if len(expected) != len(found):
        return f"{at + ': ' if at else ''}expected {len(expected)} values, found {len(found)}"
    whys = (
        difference(e, f, tolerance, f"{at}[{i}]")
        for i, (e, f) in enumerate(zip(expected, found, strict=True))
    )
    return next((why for why in whys if why), "")


def same(expected: Any, found: Any, tolerance: float) -> bool:
    """Whether a single value is the expected one."""
    if isinstance(expected, Mapping):
        return (
            isinstance(found, Refusal)
            if "raises" in expected
            else _is_special(expected["special"], found)
        )
    if is_number(expected) and is_number(found):
        return bool(expected == found or abs(expected - found) <= tolerance)
    return type(expected) is type(found) and bool(expected == found)


def is_number(value: Any) -> bool:
    """A real number, numpy's among them; a truth value is none."""
    return isinstance(value, Real) and not isinstance(value, bool)


def _is_special(name: Any, found: Any) -> bool:
    if not is_number(found):
        return False
    if name == "nan":
        return math.isnan(found)
    return name in ("inf", "-inf") and found == float(name)


def _shown(value: Any) -> str:
    if isinstance(value, Mapping) and "special" in value:
        return str(value["special"])
    if isinstance(value, Mapping) and "raises" in value:
        return "a refusal"
    text = repr(value)
    return text if len(text) <= SHOWN else f"{text[: SHOWN - 1]}…"
