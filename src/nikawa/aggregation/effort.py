"""Adaptive effort: ask the next person only about items whose gold is likely to change, the most telling items first.

The gold of an item is what `most` persons would make of it: the label with the most votes, or the mean. From the answers bought so far
follows the probability `same` that the gold is already that of all `most` persons (`label_forecast` and `scale_forecast`; models of
labels are Dawid and Skene's, with persons and, if the rule says so, machines). No item's full vote is needed for it: the models learn
from the answers that were bought.

Stop. Items are done where the answers to come cannot change the gold (`settled`), where `most` persons answered, and, of the others, as
many as the share `EffortRule.same` allows: with N items, those with the least expected gain are done as long as

    sum of (1 - same) <= N (1 - EffortRule.same)

so that an item that is dear to settle may be less sure than one that is cheap. No machine overrules a vote: an item is done only if its
label has the most votes of the persons.

Order. The expected gain of one more answer is the chance of a wrong gold that each answer removes until the item is settled,

    gain = (1 - same) / persons until the item is settled

Items come by falling gain, those of equal gain in an order drawn with the seed.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import msgspec
import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray

from nikawa.aggregation.label_forecast import LabelForecast
from nikawa.aggregation.scale_forecast import ScaleForecast
from nikawa.aggregation.table import (
    Counts,
    Floats,
    Table,
    are_numbers,
    refuse_repeats,
    several_questions,
    sort_categories,
)
from nikawa.aggregation.weighing import Flags, MachineVotes
from nikawa.errors import BadInput
from nikawa.records import Judgement, Record, find_answerer
from nikawa.tables import ShownAsTables

Reason = Literal["too few", "not sure", "pilot", "sure", "settled", "most", "waits", "budget"]
ASK: tuple[Reason, ...] = ("too few", "not sure", "pilot")
"""Reasons to ask one more person."""
CERTAIN = 1e-9
"""The chance of another gold below which an item is settled."""
MAX_PERSONS = 100
"""The largest `most`: the votes to come are counted one by one."""


@dataclass(frozen=True)
class EffortRule:
    """When an item has enough answers."""

    same: float = 0.99
    """The share of the items whose gold is to be the one that `most` persons would make."""
    tolerance: float = 0.5
    """Of numbers: how far from the mean of `most` persons the gold may be, in points of the scale, to count as the same."""
    estimates: bool = False
    """Of numbers: whether the gold is the value that most likely lies so close, which uses the answers of machines too, instead of
    the mean of the persons who answered."""
    least: int = 2
    """Persons that every item gets, however sure it is. 1 asks one person alone about items that look easy; 0 makes sense with
    machines, and a pilot to measure them."""
    most: int = 5
    """Persons that no item gets more of."""
    budget: int | None = None
    """Answers that may be bought in all, those given included; None: no limit."""
    pilot: int = 0
    """Items, drawn with the seed, that get `most` persons whatever they answer."""
    machines: bool = False
    """Whether answers of machines count."""
    kind: Literal["labels", "numbers"] | None = None
    """None: numbers where all answers are numbers and more than two of them differ, else labels."""
    seed: int = 0

    def __post_init__(self) -> None:
        if not 0 < self.same < 1:
            raise BadInput(f"same is {self.same}", cure="choose a share such as 0.99")
        if not (math.isfinite(self.tolerance) and self.tolerance >= 0):
            raise BadInput(f"tolerance is {self.tolerance}", cure="choose a number from 0")
        if not 1 <= self.most <= MAX_PERSONS or not 0 <= self.least <= self.most:
            what = f"least is {self.least} and most is {self.most}"
            cure = f"choose 0 <= least <= most, and most from 1 to {MAX_PERSONS}"
            raise BadInput(what, cure=cure)
        if self.least == 0 and not self.machines:
            raise BadInput("least is 0 and machines do not count", cure="choose least from 1")
        if self.pilot < 0 or (self.budget is not None and self.budget < 0):
            raise BadInput("pilot and budget cannot be negative", cure="choose 0 or more")


class ItemEffort(Record, frozen=True, kw_only=True):
    """How sure one item is, and whether a person should be asked about it."""

    example: str
    persons: int
    """Persons who answered."""
    machines: int
    """Models that answered and count; copies of one model are one."""
    answer: Any
    """The gold of the answers so far: the leading label, or the mean (`EffortRule.estimates`: the estimate); None without any."""
    same: float | None
    """The probability that this is the gold of `most` persons; None without any answer."""
    gain: float
    """The expected gain of one more person: the chance of a wrong gold that each answer removes until the item is settled."""
    reason: Reason
    """Why to ask (`too few`, `not sure`, `pilot`), or why not (`sure`, `settled`, `most`, `waits` for answers under way, `budget`)."""
    more: int
    """Persons to ask now; 0 where the item is done, waits, or the budget is spent."""


class EffortPlan(ShownAsTables, Record, frozen=True, kw_only=True):
    """Every item in the order in which to ask: first those to ask about, by falling gain."""

    main_table: ClassVar[str] = "items"

    question: str
    kind: str
    """`labels` or `numbers`."""
    items: tuple[ItemEffort, ...]
    answers: int
    """Persons' answers so far."""
    persons_accuracy: float | None = None
    """Of labels: how often a person gives the true label, by the model."""
    machine_accuracy: dict[str, float] = msgspec.field(default_factory=dict)
    """The same of each model that counts."""

    @property
    def to_ask(self) -> tuple[ItemEffort, ...]:
        """The items to ask a person about now, the most telling first."""
        return tuple(item for item in self.items if item.more)

    @property
    def reasons(self) -> dict[str, int]:
        """How many items have each reason."""
        counts: dict[str, int] = {}
        for item in self.items:
            counts[item.reason] = counts.get(item.reason, 0) + 1
        return counts


def plan_next(
    judgements: Iterable[Judgement],
    items: Iterable[str],
    rule: EffortRule | None = None,
    *,
    question: str | None = None,
    labels: Sequence[Any] = (),
    pending: Mapping[str, int] | None = None,
) -> EffortPlan:
    """Which items to ask the next person about, in order, and how sure each item is.

    `items` are all items of the question, also those without an answer yet; judgements about others are ignored. `labels` are
    the labels of the form. `pending` counts the answers under way for an item, such as open assignments: an item waits for them
    unless it lacks persons anyway. Decisions, reports and simulated answers do not count.

    >>> given = [Judgement(example=item, worker=name, question="label", answer=label)
    ...          for item, name, label in [("1", "aki", "yes"), ("1", "ben", "yes"), ("2", "aki", "no"), ("2", "ben", "yes")]]
    >>> plan = plan_next(given, ["1", "2", "3"], EffortRule(same=0.9, most=3), labels=["no", "yes"])
    >>> [(item.example, item.reason, item.more) for item in plan.items]
    [('2', 'not sure', 1), ('3', 'too few', 2), ('1', 'settled', 0)]
    """
    rule = rule or EffortRule()
    answers = EffortAnswers.read(judgements, items, rule, question=question, labels=labels)
    return EffortModel.fit(answers, rule).plan(answers, pending)


@dataclass(frozen=True, eq=False)
class EffortAnswers:
    """The answers to one question about known items, of persons and of the machines that count."""

    table: Table
    """Its items are all items, in the order given."""
    is_machine: Flags
    """Of each worker of the table."""

    @classmethod
    def read(
        cls,
        judgements: Iterable[Judgement],
        items: Iterable[str],
        rule: EffortRule,
        *,
        question: str | None = None,
        labels: Sequence[Any] = (),
    ) -> EffortAnswers:
        """Take the judgements that count; see `plan_next`."""
        places = {name: place for place, name in enumerate(dict.fromkeys(items))}
        workers: dict[str, int] = {}
        machines: set[str] = set()
        seen: dict[Any, int] = {label: place for place, label in enumerate(labels)}
        codes: tuple[list[int], list[int], list[int]] = ([], [], [])
        questions: set[str] = set()
        for judgement in judgements:
            answer = judgement.answer
            if answer is None or (question is not None and judgement.question != question):
                continue
            answerer = find_answerer(judgement)
            if answerer != "person" and (answerer != "machine" or not rule.machines):
                continue
            place = places.get(judgement.example)
            if place is None:
                continue
            if isinstance(answer, list | dict | tuple):
                raise _refuse_kind(judgement.question)
            questions.add(judgement.question)
            if answerer == "machine":
                machines.add(judgement.worker)
            codes[0].append(place)
            codes[1].append(workers.setdefault(judgement.worker, len(workers)))
            codes[2].append(seen.setdefault(answer, len(seen)))
        if len(questions) > 1:
            raise several_questions(questions)
        name = question or next(iter(questions), "answer")
        categories, order = sort_categories(list(seen), name)
        item, worker, answer_codes = (np.array(code, dtype=np.int32) for code in codes)
        table = Table(
            name,
            item,
            worker,
            order[answer_codes] if len(order) else answer_codes,
            list(places),
            list(workers),
            categories,
        )
        if len(table):
            refuse_repeats(table)
        flags = np.array([worker in machines for worker in workers], dtype=np.bool_)
        return cls(table, flags)

    @property
    def persons(self) -> Table:
        """The answers of persons alone."""
        return self.table.select(~self.is_machine[self.table.worker])


def _refuse_kind(question: str) -> BadInput:
    what = f"answers to {question!r} are lists: no posterior is computed for spans, rankings and relations"
    return BadInput(what, cure="plan the effort of a question with labels or numbers")


@dataclass(frozen=True, eq=False)
class EffortModel:
    """What the full vote will be, fitted to all answers so far."""

    rule: EffortRule
    kind: Literal["labels", "numbers"]
    question: str
    categories: tuple[Any, ...]
    labels: LabelForecast | None
    scale: ScaleForecast | None
    pilot: frozenset[str]
    """The items that get `most` persons."""

    @classmethod
    def fit(cls, answers: EffortAnswers, rule: EffortRule) -> EffortModel:
        """Learn from the answers so far how persons and machines err, or how their numbers scatter."""
        table = answers.table
        kind = rule.kind or find_kind(table.categories)
        if kind == "numbers" and not are_numbers(table.categories):
            odd = next(answer for answer in table.categories if not are_numbers([answer]))
            what = f"answers to {table.question!r} are not numbers (such as {odd!r})"
            raise BadInput(what, cure='use kind="labels"')
        pilot = frozenset(draw_order(table.items, rule.seed)[: rule.pilot])
        labels = scale = None
        if kind == "numbers":
            scale = ScaleForecast.fit(table, answers.is_machine, rule.most)
        elif table.categories:
            labels = LabelForecast.fit(table, answers.is_machine, rule.most)
        return cls(rule, kind, table.question, table.categories, labels, scale, pilot)

    def plan(self, answers: EffortAnswers, pending: Mapping[str, int] | None = None) -> EffortPlan:
        """Every item, in the order in which to ask."""
        order = draw_order(answers.table.items, self.rule.seed)
        rank = {name: place for place, name in enumerate(order)}
        items = self._assess(answers, pending or {}, rank)
        items.sort(
            key=lambda item: (
                not item.more,
                item.reason != "pilot",
                -round(item.gain, 9),
                rank[item.example],
            )
        )
        bought = len(answers.persons)
        if self.rule.budget is not None:
            left = self.rule.budget - bought - sum((pending or {}).values())
            items = _keep_budget(items, left)
        workers = None if self.labels is None else self.labels.workers
        return EffortPlan(
            question=self.question,
            kind=self.kind,
            items=tuple(items),
            answers=bought,
            persons_accuracy=None if workers is None else workers.persons_accuracy,
            machine_accuracy={}
            if workers is None
            else {name: workers.accuracy(name) for name in workers.machine_errors},
        )

    def _assess(
        self, answers: EffortAnswers, pending: Mapping[str, int], rank: Mapping[str, int]
    ) -> list[ItemEffort]:
        table, rule = answers.table, self.rule
        persons = answers.persons
        n = persons.per_item()
        machines = _count_models(answers)
        items = len(table.items)
        gold: list[Any] = [None] * items
        same = np.zeros(items)
        needed = np.maximum(0, rule.most - n).astype(np.float64)
        may_end = (n > 0) | (machines > 0)
        answered = may_end.tolist()
        if self.labels is not None:
            leader, same, needed = self.labels.assess(table, answers.is_machine)
            may_end = may_end & ((n == 0) | leads_votes(persons, leader))
            gold = [self.categories[code] for code in leader.tolist()]
        elif self.scale is not None and table.categories:
            means, same = self.scale.assess(
                table, answers.is_machine, rule.tolerance, estimates=rule.estimates
            )
            gold = means.tolist()
        if (
            len(self.categories) < 2 and self.kind == "labels"
        ):  # which other labels there are is not known
            same = (2 * n > rule.most).astype(np.float64)
        settled = may_end & (same >= 1 - CERTAIN)
        gain = np.where(needed > 0, (1 - same) / np.maximum(needed, 1e-9), 0.0)
        wanted = np.array(
            [rule.most if name in self.pilot else rule.least for name in table.items],
            dtype=np.int64,
        )
        could_end = may_end & (n >= wanted) & (n < rule.most)
        done = self._choose_done(could_end, same, gain, [rank[name] for name in table.items])
        rows = []
        for place, name in enumerate(table.items):
            reason, more = self._decide(
                name in self.pilot,
                int(n[place]),
                pending.get(name, 0),
                bool(done[place]),
                bool(settled[place]),
            )
            rows.append(
                ItemEffort(
                    example=name,
                    persons=int(n[place]),
                    machines=int(machines[place]),
                    answer=gold[place] if answered[place] else None,
                    same=float(same[place]) if answered[place] else None,
                    gain=float(gain[place]),
                    reason=reason,
                    more=more,
                )
            )
        return rows

    def _choose_done(self, could_end: Flags, same: Floats, gain: Floats, rank: list[int]) -> Flags:
        """The items with the least gain, as many as keep the expected share of wrong golds within the rule."""
        done = np.zeros(len(same), dtype=np.bool_)
        places = np.flatnonzero(could_end)
        places = places[np.lexsort((np.array(rank)[places], np.round(gain[places], 9)))]
        wrong = np.cumsum(1 - same[places])
        done[places[wrong <= (1 - self.rule.same) * len(same) + CERTAIN]] = True
        return done

    def _decide(
        self, in_pilot: bool, persons: int, pending: int, done: bool, settled: bool
    ) -> tuple[Reason, int]:
        """Why to ask or not, and how many persons."""
        rule = self.rule
        coming = persons + pending
        wanted = rule.most if in_pilot else rule.least
        if persons >= rule.most:
            return "most", 0
        if persons < wanted:
            short: Reason = "pilot" if in_pilot else "too few"
            return (short, wanted - coming) if coming < wanted else ("waits", 0)
        if settled:
            return "settled", 0
        if done:
            return "sure", 0
        return ("waits", 0) if pending else ("not sure", 1)


def _keep_budget(items: list[ItemEffort], left: int) -> list[ItemEffort]:
    """Ask only for as many answers as the budget has left."""
    kept = []
    for item in items:
        more = max(0, min(item.more, left))
        left -= more
        cut = replace(item, more=more, reason=item.reason if more else "budget")
        kept.append(cut if more < item.more else item)
    return kept


def draw_order(items: Iterable[str], seed: int) -> list[str]:
    """The items in an order that depends on the seed and on each item's own name."""

    def key(name: str) -> bytes:
        return hashlib.blake2b(f"{seed}/{name}".encode(), digest_size=8).digest()

    return sorted(items, key=key)


def find_kind(categories: Sequence[Any]) -> Literal["labels", "numbers"]:
    """Numbers where all answers are numbers and more than two of them differ."""
    return "numbers" if len(categories) > 2 and are_numbers(categories) else "labels"


def _count_models(answers: EffortAnswers) -> Counts:
    """How many models answered about each item."""
    if not answers.is_machine.any():
        return np.zeros(len(answers.table.items), dtype=np.int64)
    return MachineVotes(answers.table, answers.is_machine).count_models()


def leads_votes(persons: Table, label: NDArray[np.int64]) -> Flags:
    """Whether a label of each item has more votes of persons than every other label."""
    counts = persons.counts()
    places = np.arange(len(counts))
    own = counts[places, label]
    others = counts.copy()
    others[places, label] = -1
    return np.asarray(own > others.max(axis=1, initial=-1))
