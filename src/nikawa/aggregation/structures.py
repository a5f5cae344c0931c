"""Answers with parts that have measures and votes of their own: answers marked in a text, sets of labels, and states of dialogues.

Each sort of answer is one `AnswerKind`: how an answer is read, measured, voted on, decided on and written. A table holds such
an answer as a `Structured`. Spans and trees came before this and have modules of their own (`spans`, `trees`).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Literal, NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from nikawa.aggregation.measure import AnyMeasure, ratio
from nikawa.aggregation.rules import Rule, Step
from nikawa.aggregation.table import Floats, Table
from nikawa.errors import BadInput
from nikawa.records import Judgement

Flags = NDArray[np.bool_]
State = Literal["accepted", "tied", "dropped"]


class Structured(msgspec.Struct, frozen=True):
    """An answer with parts, as a table holds it."""


class Outcome(NamedTuple):
    """What the votes about one item make."""

    gold: Any
    """The gold as examples hold it; None where the votes make no gold."""
    state: State


class AnswerKind(ABC):
    """A sort of structured answers; one instance stands for all."""

    name: str
    """What the answers are called: `label sets`."""
    heading: str
    """The parts that are counted, at the head of a page."""
    score: str
    """How close two answers are, as the comparison of machines calls it."""
    remark: str
    """What a reader of the measures must know."""
    answer_type: type[Structured]
    decision_cure: str
    """How a person writes a decision into a sheet."""

    @abstractmethod
    def read(self, value: Any) -> Structured | None:
        """The answer that a value holds; None if it is of another sort. Raises `ValueError` for one that is not sound."""

    @abstractmethod
    def measures(self, table: Table) -> Iterator[AnyMeasure]:
        """The measures of agreement."""

    @abstractmethod
    def count_parts(self, answer: Any) -> Iterable[str]:
        """The names of the parts of an answer, for the distribution."""

    @abstractmethod
    def vote(self, answers: Sequence[Any], decider: Step) -> Outcome:
        """What the answers about an item make under `majority` or `votes:K`."""

    @abstractmethod
    def support(self, gold: Any, answers: Sequence[Any]) -> float:
        """The mean share of workers who are behind a gold."""

    @abstractmethod
    def closeness(self, one: Any, other: Any) -> float:
        """How close two answers are, from 0 to 1."""

    @abstractmethod
    def read_decided(self, answer: Any) -> Any:
        """The gold that a person decided on. Raises `ValueError` with what is wrong."""

    @abstractmethod
    def shares(self, answers: Sequence[Any]) -> dict[str, float]:
        """The share of workers behind each part."""

    @abstractmethod
    def format_votes(self, answers: Sequence[Any]) -> str:
        """The votes in a few words, the most first."""

    def find_table_fault(self, table: Table) -> str:
        """Why a table holds something else that has the same shape; empty: it does not."""
        return ""

    def gold_of(self, value: Any) -> Any:
        """A known gold as a table holds answers, to compare with; None where it is not one answer."""
        try:
            return self.read(value)
        except ValueError:
            return None


def all_kinds() -> tuple[AnswerKind, ...]:
    """Every sort of structured answers."""
    from nikawa.aggregation.dialogue_states import DIALOGUE_STATES
    from nikawa.aggregation.label_sets import LABEL_SETS
    from nikawa.aggregation.marked_answers import MARKED_ANSWERS

    return (MARKED_ANSWERS, LABEL_SETS, DIALOGUE_STATES)


def freeze_structures(
    judgements: Iterable[Judgement], question: str | None = None
) -> Iterator[Judgement]:
    """The judgements with structured answers as a table can hold them; others stay."""
    kinds = all_kinds()
    for judgement in judgements:
        is_asked = question is None or judgement.question == question
        if not is_asked or type(judgement.answer) not in (list, dict):
            yield judgement
            continue
        yield _freeze(judgement, kinds)


def _freeze(judgement: Judgement, kinds: Sequence[AnswerKind]) -> Judgement:
    for kind in kinds:
        try:
            answer = kind.read(judgement.answer)
        except ValueError as problem:
            what = f"{judgement.worker}'s answer about {judgement.example}: {problem}"
            raise BadInput(what, cure="correct it, or remove it") from None
        if answer is not None:
            return msgspec.structs.replace(judgement, answer=answer)
    return judgement


def find_kind(table: Table) -> AnswerKind | None:
    """The sort of the answers of a table; None for labels, numbers, spans and trees. A mixture is refused."""
    first = next((one for one in table.categories if isinstance(one, Structured)), None)
    if first is None:
        return None
    kind = next(kind for kind in all_kinds() if isinstance(first, kind.answer_type))
    others = [one for one in table.categories if not isinstance(one, kind.answer_type)]
    if others:
        what = f"some answers to {table.question!r} are {kind.name}, some are not (such as {others[0]!r})"
        raise BadInput(what, cure="ask two questions, or remove what is of another sort")
    if fault := kind.find_table_fault(table):
        cure = f"measure and aggregate {kind.name}, labels, numbers, spans or trees"
        raise BadInput(fault, cure=cure)
    return kind


def structures_by_item(table: Table) -> list[list[Any]]:
    """The answers about each item."""
    answers: list[list[Any]] = [[] for _ in table.items]
    for item, answer in zip(table.item.tolist(), table.answer.tolist(), strict=True):
        answers[item].append(table.categories[answer])
    return answers


def count_all_parts(table: Table, kind: AnswerKind) -> dict[str, int]:
    """How often each part was given, by all workers together."""
    counts: dict[str, int] = {}
    for answer, times in zip(table.categories, table.per_category().tolist(), strict=True):
        for part in kind.count_parts(answer):
            counts[part] = counts.get(part, 0) + times
    return dict(sorted(counts.items()))


def check_structure_rule(kind: AnswerKind, rule: Rule, prefers: bool) -> None:
    """Refuse a rule that makes no gold of such answers, and a tie rule that prefers a label."""
    steps = (rule.decider, *rule.steps)
    odd = [step.text for step in steps if step.name not in ("majority", "votes", "min")]
    if odd or rule.first:
        what = f"the rule {rule.text!r}: {odd[0] if odd else 'first'!r} is not for {kind.name}"
        raise BadInput(what, cure="use majority, votes:2/3 or votes:2, +min:3 if need be")
    if prefers:
        cure = "pass --ties drop or --ties adjudicate"
        raise BadInput(f"a tie between {kind.name} cannot prefer a label", cure=cure)


def votes_needed(decider: Step, answers: int) -> int:
    """How many votes a part needs."""
    return answers // 2 + 1 if decider.name == "majority" else int(decider.number)


def vote_on_structures(
    table: Table, kind: AnswerKind, decider: Step
) -> tuple[list[Any], Flags, Flags, Floats]:
    """Of each item its gold or None, whether it is dropped, whether it is tied, and the support of its gold."""
    gold: list[Any] = []
    dropped, tied, support = [], [], []
    for answers in structures_by_item(table):
        short = decider.of is not None and len(answers) != decider.of
        outcome = kind.vote(answers, decider) if answers else Outcome(None, "dropped")
        gold.append(outcome.gold if outcome.state == "accepted" else None)
        dropped.append(short or outcome.state == "dropped")
        tied.append(not short and outcome.state == "tied")
        has_gold = outcome.state == "accepted" and answers
        support.append(kind.support(outcome.gold, answers) if has_gold else 0.0)
    return gold, np.array(dropped, bool), np.array(tied, bool), np.array(support)


def closeness_to_rest(table: Table, kind: AnswerKind) -> Floats:
    """The mean closeness of each worker's answers to those of the others, every answer of theirs weighed alike."""
    total = np.zeros(len(table.workers))
    count = np.zeros(len(table.workers))
    workers: list[list[int]] = [[] for _ in table.items]
    for item, worker in zip(table.item.tolist(), table.worker.tolist(), strict=True):
        workers[item].append(worker)
    for item_workers, answers in zip(workers, structures_by_item(table), strict=True):
        for mine, (worker, answer) in enumerate(zip(item_workers, answers, strict=True)):
            others = [other for place, other in enumerate(answers) if place != mine]
            if others:
                total[worker] += sum(kind.closeness(answer, other) for other in others) / len(
                    others
                )
                count[worker] += 1
    return ratio(total, count)
