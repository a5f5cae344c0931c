"""Rules by name: a chain of steps joined by `+`, such as `votes:6/10+only:entailment|neutral` or `mean+sd<=2+round:1`.

One step decides (majority, votes:K/N, mean, median, dawid-skene, mace), `first` may come before it, limits
and roundings after it. A chain is checked when it is read, not when it is applied.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from nikawa.errors import BadInput, suggest

FIRST = "first"
LABEL_DECIDERS = ("majority", "votes", "dawid-skene", "mace")
NUMBER_DECIDERS = ("mean", "median")
DECIDERS = (*LABEL_DECIDERS, *NUMBER_DECIDERS)
MODELS = ("dawid-skene", "mace")
"""Deciders that estimate every worker's skill, and so must know who a worker is."""
LIMITS = ("variance", "sd", "sample-variance", "sample-sd", "share")
"""Steps with a sign and a number, as in `sd<=2`."""
WHOLE_NUMBERS = ("min", "round", "up", "down", "digits")
"""Steps with a whole number, as in `min:3`."""
FINISHERS = ("round", "up", "down", "digits", "binary")
"""Steps that change the number rather than drop the item."""
FOR_LABELS = ("half", "only", "share")
FOR_NUMBERS = ("variance", "sd", "sample-variance", "sample-sd", *FINISHERS)
NAMES = (FIRST, *DECIDERS, *LIMITS, "half", *WHOLE_NUMBERS, "only", "binary")
SIGNS: dict[str, Callable[[Any, Any], Any]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
CURE = "write it as in majority, votes:7/10, mean+variance<1+round:1, first+votes:2/3 or dawid-skene+share>=0.9"
_STEP = re.compile(r"([a-z-]+)(?:(:|<=|<|>=|>)(.+))?", re.DOTALL)
_NAMED_RULE = re.compile(r"([^\W\d][\w-]*)=(.+)", re.DOTALL)


@dataclass(frozen=True)
class Step:
    """One link of the chain."""

    text: str
    """As it is written in the rule."""
    name: str
    sign: str = ""
    """`:`, or the sign of a limit; empty where the step takes no value."""
    value: str = ""
    """The text after the sign."""
    number: float = 0.0
    """The same as a number, where the step takes one."""
    of: int | None = None
    """N of `votes:K/N`."""


@dataclass(frozen=True)
class Rule:
    """The step that combines many answers into one answer, or none."""

    text: str
    """The whole chain, as it was written."""
    decider: Step
    """The step that makes one answer of many."""
    steps: tuple[Step, ...] = ()
    """Limits and roundings behind it, in order."""
    first: bool = False
    """Whether an answer is a list in order of preference, of which the first counts."""

    @property
    def numeric(self) -> bool:
        """Whether it makes a number of numbers."""
        return self.decider.name in NUMBER_DECIDERS

    @property
    def needs_persons(self) -> bool:
        """Whether it must know which answers come from the same person."""
        return self.decider.name in MODELS


def parse_rules(texts: Sequence[str]) -> dict[str, Rule]:
    """Rules by the question they answer; a single one may go without ("" stands for the question itself).

    >>> list(parse_rules(["binary=mean+binary:3", "label=majority"]))
    ['binary', 'label']
    """
    rules: dict[str, Rule] = {}
    for text in texts:
        match = _NAMED_RULE.fullmatch(text.strip())
        name = match[1] if match else ""
        if name in rules or (not name and len(texts) > 1):
            raise BadInput(
                f"the rule {text!r} needs its own name", cure="write QUESTION=RULE for each"
            )
        rules[name] = parse_rule(match[2] if match else text.strip())
    return rules


def parse_rule(text: str) -> Rule:
    """Read a rule; what cannot be understood is refused with an example.

    >>> rule = parse_rule("votes:2/3+min:2")
    >>> rule.decider.number, rule.decider.of, rule.steps[0].text
    (2.0, 3, 'min:2')
    """
    steps = [parse_step(part.strip(), text) for part in text.split("+")]
    first = steps[0].name == FIRST
    chain = steps[1:] if first else steps
    if not chain or chain[0].name not in DECIDERS:
        raise _fault(text, "the rule has no deciding step")
    rule = Rule(text, chain[0], tuple(chain[1:]), first)
    kind = "numbers" if rule.numeric else "labels"
    for step in rule.steps:
        if step.name in (FIRST, *DECIDERS):
            raise _fault(text, f"{step.text!r} cannot follow {rule.decider.text!r}")
        if step.name in (FOR_LABELS if rule.numeric else FOR_NUMBERS):
            raise _fault(text, f"{step.text!r} is not for {kind}, which {rule.decider.name} gives")
        if step.name == "binary" and step is not rule.steps[-1]:
            raise _fault(text, f"{step.text!r} must come last")
    return rule


def parse_step(part: str, rule: str) -> Step:
    """One step of a chain; `rule` is the whole text, for messages."""
    match = _STEP.fullmatch(part)
    if match is None or match[1] not in NAMES:
        known = suggest(part.partition(":")[0], NAMES)
        raise BadInput(f"the rule {rule!r} has the unknown step {part!r}", cure=known)
    name = match[1]
    sign = match[2] or ""
    value = (match[3] or "").strip()
    if name == "votes":
        votes = re.fullmatch(r"(\d+)(?:/(\d+))?", value if sign == ":" else "")
        least = int(votes[1]) if votes else 0
        of = int(votes[2]) if votes and votes[2] else None
        if not least or (of is not None and of < least):
            raise _fault(rule, f"{part!r} is not a threshold, as in votes:7 or votes:7/10")
        return Step(part, name, sign, value, float(least), of)
    if name in LIMITS:
        if sign not in SIGNS:
            raise _fault(rule, f"{part!r} lacks a limit, as in {name}<1")
        return Step(part, name, sign, value, _parse_number(value, part, rule))
    if name not in (*WHOLE_NUMBERS, "only", "binary"):
        if sign or value:
            raise _fault(rule, f"{part!r} takes no value")
        return Step(part, name)
    if sign != ":" or not value:
        raise _fault(rule, f"{part!r} lacks a value, as in {name}:1")
    if name == "only":
        return Step(part, name, sign, value)
    if name in WHOLE_NUMBERS and not value.isdecimal():
        raise _fault(rule, f"{part!r} needs a whole number")
    return Step(part, name, sign, value, _parse_number(value, part, rule))


def _parse_number(value: str, part: str, rule: str) -> float:
    try:
        return float(value)
    except ValueError:
        raise _fault(rule, f"{part!r} needs a number") from None


def _fault(rule: str, what: str) -> BadInput:
    return BadInput(f"the rule {rule!r}: {what}", cure=CURE)
