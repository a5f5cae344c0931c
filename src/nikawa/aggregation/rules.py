"""Rules by name: a chain of steps joined by `+`, such as `votes:6/10+only:entailment|neutral` or `mean+sd<=2+round:1`.

One step decides (majority, votes:K/N, mean, median, dawid-skene, mace), `first` may stand before it, limits
and roundings after it. A chain is checked when it is read, not when it is applied.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from nikawa.errors import BadInput, suggest

FIRST = "first"
LABELS = ("majority", "votes", "dawid-skene", "mace")
NUMBERS = ("mean", "median")
MODELS = ("dawid-skene", "mace")
"""Deciders that estimate every worker's skill, and so must know who a worker is."""
BOUNDS = ("variance", "sd", "sample-variance", "sample-sd", "share")
PLAIN = ("half",)
COUNTED = ("min", "round", "up", "down", "digits")
OTHERS = ("only", "binary")
FINISHERS = ("round", "up", "down", "digits", "binary")
"""Steps that change the number rather than drop the item."""
FOR_LABELS = ("half", "only", "share")
FOR_NUMBERS = ("variance", "sd", "sample-variance", "sample-sd", *FINISHERS)
NAMES = (FIRST, *LABELS, *NUMBERS, *BOUNDS, *PLAIN, *COUNTED, *OTHERS)
SIGNS: dict[str, Callable[[Any, Any], Any]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
CURE = "write it as in majority, votes:7/10, mean+variance<1+round:1, first+votes:2/3 or dawid-skene+share>=0.9"
_STEP = re.compile(r"([a-z-]+)(?:(:|<=|<|>=|>)(.+))?", re.DOTALL)


@dataclass(frozen=True)
class Step:
    """One link of the chain."""

    text: str
    name: str
    sign: str = ""
    given: str = ""
    number: float = 0.0
    """The number that was given, where the step takes one."""
    of: int | None = None
    """N of `votes:K/N`."""


@dataclass(frozen=True)
class Rule:
    """What makes one answer of many, or none."""

    text: str
    decider: Step
    steps: tuple[Step, ...] = ()
    first: bool = False
    """Whether an answer is a list in order of preference, of which the first counts."""

    @property
    def numeric(self) -> bool:
        """Whether it makes a number of numbers."""
        return self.decider.name in NUMBERS

    @property
    def needs_persons(self) -> bool:
        """Whether it must know which answers come from the same person."""
        return self.decider.name in MODELS


def parse_rule(text: str) -> Rule:
    """Read a rule; what cannot be understood is refused with an example."""
    steps = [_step(part.strip(), text) for part in text.split("+")]
    first = steps[0].name == FIRST
    chain = steps[1:] if first else steps
    if not chain or chain[0].name not in (*LABELS, *NUMBERS):
        raise _fault(text, "the rule does not say what decides")
    rule = Rule(text, chain[0], tuple(chain[1:]), first)
    for step in rule.steps:
        _fits(step, rule)
    return rule


def _fits(step: Step, rule: Rule) -> None:
    if step.name in (FIRST, *LABELS, *NUMBERS):
        raise _fault(rule.text, f"{step.text!r} cannot follow {rule.decider.text!r}")
    if (step.name in FOR_LABELS and rule.numeric) or (
        step.name in FOR_NUMBERS and not rule.numeric
    ):
        kind = "numbers" if rule.numeric else "labels"
        raise _fault(rule.text, f"{step.text!r} is not for {kind}, which {rule.decider.name} gives")
    if step.name == "binary" and step is not rule.steps[-1]:
        raise _fault(rule.text, f"{step.text!r} must come last")


def _step(part: str, rule: str) -> Step:
    found = _STEP.fullmatch(part)
    if found is None or found[1] not in NAMES:
        known = suggest(part.partition(":")[0], NAMES)
        raise BadInput(f"the rule {rule!r} has a step {part!r} that is not known", cure=known)
    name, sign, given = found[1], found[2] or "", (found[3] or "").strip()
    if name == "votes":
        return _votes(part, given if sign == ":" else "", rule)
    if name in BOUNDS:
        if sign not in SIGNS:
            raise _fault(rule, f"{part!r} lacks a limit, as in {name}<1")
        return Step(part, name, sign, given, _number(given, part, rule))
    wants = name in (*COUNTED, *OTHERS)
    if (sign, bool(given)) != ((":", True) if wants else ("", False)):
        raise _fault(
            rule, f"{part!r} {'lacks a value, as in ' + name + ':1' if wants else 'takes no value'}"
        )
    if name in COUNTED and not given.isdecimal():
        raise _fault(rule, f"{part!r} needs a whole number")
    return Step(
        part, name, sign, given, _number(given, part, rule) if wants and name != "only" else 0.0
    )


def _votes(part: str, given: str, rule: str) -> Step:
    found = re.fullmatch(r"(\d+)(?:/(\d+))?", given)
    if found is None or not int(found[1]) or (found[2] and int(found[2]) < int(found[1])):
        raise _fault(rule, f"{part!r} is no threshold, as in votes:7 or votes:7/10")
    return Step(part, "votes", ":", given, float(found[1]), int(found[2]) if found[2] else None)


def _number(given: str, part: str, rule: str) -> float:
    try:
        return float(given)
    except ValueError:
        raise _fault(rule, f"{part!r} needs a number") from None


def _fault(rule: str, what: str) -> BadInput:
    return BadInput(f"the rule {rule!r}: {what}", cure=CURE)
