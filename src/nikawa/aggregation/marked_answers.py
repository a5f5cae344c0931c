"""Answers that workers marked in a text, or the answer that the text has none: agreement, votes, decisions.

An answer is `{text, start}`, without an answer in the text `{"text": "", "start": -1}`. Of each pair of workers, weighed by
1 / (m - 1) with m the answers about the item, so that every answer weighs alike:

    answer-f1        F1 of the characters of the two answers by their places: 1 where both find none, 0 where one does
    answers-equal    1 where they are the same
    f1-answerable    answer-f1 of the pairs in which both find an answer

Whether there is an answer is a label of its own: `answerable-percent` is the share of equal ones, `answerable-cohen`,
`answerable-fleiss` and `answerable-alpha` correct it for chance (see `kappa`, `alpha`). The F1 is not corrected for chance, as
places that no worker marks are not countable.

Votes come in two steps. More than half of the workers (`votes:K`: K of them) decide whether there is an answer. If there is, the answer
that overlaps those of the most workers is the centre; where these are as many as are needed among those who found an
answer, gold is the list of all answers that overlap it, those that most workers gave first. Else the item is tied.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import combinations
from typing import Any

import msgspec
import numpy as np

from nikawa.aggregation.alpha import alpha
from nikawa.aggregation.kappa import kappas
from nikawa.aggregation.measure import NOMINAL, AnyMeasure, SummedMeasure, ratio_of_sums
from nikawa.aggregation.rules import Step
from nikawa.aggregation.structures import (
    AnswerKind,
    Outcome,
    Structured,
    structures_by_item,
    votes_needed,
)
from nikawa.aggregation.table import Table
from nikawa.text.marked import NO_ANSWER, Place, find_place, is_marked, overlap_f1

ANSWERABLE, UNANSWERABLE = "answerable", "unanswerable"
NONE = "none"
"""What a person writes into a sheet where there is no answer."""
_WRITTEN = re.compile(r"(\d+):(.+)", re.DOTALL)


class Marked(Structured, frozen=True):
    """A marked answer; an empty text is no answer."""

    text: str
    start: int

    @property
    def place(self) -> Place | None:
        """Where it is; None for no answer."""
        return (self.start, self.start + len(self.text)) if self.text else None

    @property
    def state(self) -> str:
        """`answerable` or `unanswerable`."""
        return ANSWERABLE if self.text else UNANSWERABLE

    def __str__(self) -> str:
        return f"{self.start}:{self.text}" if self.text else NONE

    def to_gold(self) -> dict[str, Any]:
        """As examples hold it."""
        return {"text": self.text, "start": self.start}


def overlap(one: Marked, other: Marked) -> float:
    """F1 of the characters of two answers."""
    return overlap_f1(one.place, other.place)


class MarkedAnswers(AnswerKind):
    """Answers marked in a text."""

    name = "answers in a text"
    heading = "Answers"
    score = "answer-f1"
    remark = "answer-f1, f1-answerable and answers-equal are not corrected for chance: places that no worker marks cannot be counted."
    answer_type = Marked
    decision_cure = "write START:TEXT, such as 25:석유등, none, or a list of {text, start} as JSON"

    def read(self, value: Any) -> Marked | None:
        """The answer of `{text, start}`."""
        if isinstance(value, Marked):
            return value
        if not is_marked(value):
            return None
        if value == NO_ANSWER:
            return Marked("", -1)
        if find_place(value) is None:
            raise ValueError("it has a text without a place, or a place without a text")
        return Marked(value["text"], value["start"])

    def measures(self, table: Table) -> Iterator[AnyMeasure]:
        """F1 of characters, equal answers, and the agreement on whether there is an answer."""
        answers = structures_by_item(table)
        yield pair_measure("answer-f1", answers, overlap)
        yield pair_measure("answers-equal", answers, lambda one, other: float(one == other))
        yield pair_measure(
            "f1-answerable", answers, overlap, lambda one, other: bool(one.text and other.text)
        )
        yield from answerability_measures(table)

    def count_parts(self, answer: Marked) -> Iterable[str]:
        """Whether it finds an answer."""
        return (answer.state,)

    def vote(self, answers: Sequence[Marked], decider: Step) -> Outcome:
        """Whether there is an answer, then which."""
        needed = votes_needed(decider, len(answers))
        some = [answer for answer in answers if answer.text]
        for_some, for_none = len(some) >= needed, len(answers) - len(some) >= needed
        if for_some == for_none:
            is_short = decider.name == "votes" and not for_some
            return Outcome(None, "dropped" if is_short else "tied")
        if for_none:
            return Outcome([], "accepted")
        centre = max(some, key=lambda one: (count_near(one, some), -one.start, -len(one.text)))
        near = [answer for answer in some if overlap(centre, answer)]
        if len(near) < (len(some) // 2 + 1 if decider.name == "majority" else needed):
            return Outcome(None, "tied")
        counts = Counter(near)
        order = sorted(counts, key=lambda one: (-counts[one], one.start, one.text))
        return Outcome([answer.to_gold() for answer in order], "accepted")

    def support(self, gold: Any, answers: Sequence[Marked]) -> float:
        """The share of workers who gave one of its answers, or who found no answer where the gold is empty."""
        right = {Marked(one["text"], one["start"]) for one in gold} or {Marked("", -1)}
        return sum(answer in right for answer in answers) / len(answers)

    def closeness(self, one: Marked, other: Marked) -> float:
        """F1 of characters."""
        return overlap(one, other)

    def read_decided(self, answer: Any) -> list[dict[str, Any]]:
        """The gold answers that a person decided on: of the form, of a sheet, or a list."""
        if isinstance(answer, str):
            text = answer.strip()
            if text.casefold() == NONE:
                return []
            if text.startswith(("[", "{")):
                try:
                    answer = msgspec.json.decode(text)
                except msgspec.DecodeError:
                    raise ValueError("it is not JSON") from None
            else:
                match = _WRITTEN.fullmatch(text)
                if match is None:
                    raise ValueError("it is not START:TEXT")
                answer = {"text": match[2], "start": int(match[1])}
        rows = answer if isinstance(answer, list | tuple) else [answer]
        marks = [self.read(row) for row in rows]
        if any(mark is None for mark in marks):
            raise ValueError("it is not a list of {text, start}")
        return [mark.to_gold() for mark in marks if mark is not None and mark.text]

    def shares(self, answers: Sequence[Marked]) -> dict[str, float]:
        """The share of workers who gave each answer."""
        counts = Counter(map(str, answers))
        return {name: round(votes / len(answers), 6) for name, votes in counts.most_common()}

    def format_votes(self, answers: Sequence[Marked]) -> str:
        """`25:석유등 2, none 1, of 3`."""
        if not answers:
            return "no answers"
        votes = [f"{name} {count}" for name, count in Counter(map(str, answers)).most_common()]
        return ", ".join([*votes, f"of {len(answers)}"])

    def gold_of(self, value: Any) -> Any:
        """The first of the gold answers, or no answer."""
        if isinstance(value, list | tuple):
            return Marked("", -1) if not value else super().gold_of(value[0])
        return super().gold_of(value)


def count_near(one: Marked, answers: Sequence[Marked]) -> int:
    """How many answers share characters with one."""
    return sum(overlap(one, other) > 0 for other in answers)


def pair_measure(
    name: str,
    answers: Sequence[Sequence[Any]],
    value: Callable[[Any, Any], float],
    counts: Callable[[Any, Any], bool] = lambda one, other: True,
) -> SummedMeasure:
    """The mean of a value over the pairs of workers that count."""
    statistics = np.zeros((len(answers), 2))
    for row, item_answers in enumerate(answers):
        for one, other in combinations(item_answers, 2):
            if counts(one, other):
                statistics[row] += np.array([value(one, other), 1]) / (len(item_answers) - 1)
    return SummedMeasure(name, NOMINAL, statistics, ratio_of_sums)


def answerability_measures(table: Table) -> Iterator[AnyMeasure]:
    """The agreement on whether there is an answer, plain and corrected for chance."""
    labels = (ANSWERABLE, UNANSWERABLE)
    codes = np.array([labels.index(answer.state) for answer in table.categories], dtype=np.int32)
    states = replace(table, answer=codes[table.answer], categories=labels)
    for measure in (*kappas(states, states), alpha(states)):
        yield replace(measure, name=f"answerable-{measure.name}")


MARKED_ANSWERS = MarkedAnswers()
