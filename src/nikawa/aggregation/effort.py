"""Adaptive effort: ask the next person only about items whose answer is not sure yet, the most telling items first.

Labels. The posterior of an item's label comes from persons and, if the rule says so, machines (`weighing`). An item is done when the
leading label has the probability `sure` and the most votes of the persons: neither a machine nor the model overrules a vote. The expected gain of one more answer is the information it gives about the label, in bits:

    gain = H(p) - sum_t post[t] H(error[., t]),  p[a] = sum_t post[t] error[a, t]

with `error` the errors of a person who is not known yet (Lindley 1956, https://doi.org/10.1214/aoms/1177728069).

Numbers. The gold of a scale is the mean of `most` persons, which `scale_model` estimates from those who answered and, if the rule says
so, machines. An item is done when the 95% interval of this mean is at most `width` wide. The gain is the information that one more
answer gives about the item's mean.

The errors of persons are learnt from answers that were bought whatever others answered: the first `least` of each item, in the order
in which they came, and those of the pilot. With `least` 1 a pilot is needed; without one, `weighing.EXPECTED_ACCURACY` stays.

An item is also done when `most` persons answered, or when the answers that may still come cannot change which label has the most votes.
Budget and order: items that are not done come by falling gain, those of equal gain in an order drawn with the seed.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import msgspec
import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray

from nikawa.aggregation.scale_model import ScaleModel
from nikawa.aggregation.table import (
    Counts,
    Floats,
    Table,
    are_numbers,
    refuse_repeats,
    several_questions,
    sort_categories,
)
from nikawa.aggregation.verdicts import entropy
from nikawa.aggregation.weighing import Flags, MachineVotes, WorkerModel, fit_workers
from nikawa.errors import BadInput
from nikawa.records import Judgement, Record, find_answerer
from nikawa.tables import ShownAsTables

Reason = Literal["too few", "not sure", "pilot", "sure", "settled", "most", "waits", "budget"]
ASK: tuple[Reason, ...] = ("too few", "not sure", "pilot")
"""Reasons to ask one more person."""


@dataclass(frozen=True)
class EffortRule:
    """When an item has enough answers."""

    sure: float = 0.95
    """Of labels: the probability of the leading label from which an item is done."""
    width: float = 1.0
    """Of numbers: the width of the 95% interval, in points of the scale, at which an item is done."""
    least: int = 2
    """Persons that every item gets, however sure it is. 1 makes sense with machines and a pilot, 0 with machines that were
    measured on this question."""
    most: int = 5
    """Persons that no item gets more of."""
    budget: int | None = None
    """Answers that may be bought in all, those given included; None: no limit."""
    pilot: int = 0
    """Items, drawn with the seed, that get `most` persons: the model learns from them how often persons and machines err."""
    machines: bool = False
    """Whether answers of machines count."""
    kind: Literal["labels", "numbers"] | None = None
    """None: numbers where all answers are numbers and more than two of them differ, else labels."""
    seed: int = 0

    def __post_init__(self) -> None:
        if not 0 < self.sure < 1:
            raise BadInput(f"sure is {self.sure}", cure="choose a probability such as 0.95")
        if not (math.isfinite(self.width) and self.width > 0):
            raise BadInput(f"width is {self.width}", cure="choose a number above 0")
        if self.most < 1 or not 0 <= self.least <= self.most:
            what = f"least is {self.least} and most is {self.most}"
            raise BadInput(what, cure="choose 0 <= least <= most, and most from 1")
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
    """The leading label; of numbers, the expected mean of `most` persons. None where no one answered."""
    sure: float | None
    """Of labels: the probability of `answer`."""
    low: float | None
    """Of numbers: the 95% interval of `answer`."""
    high: float | None
    gain: float
    """Bits of information that one more person is expected to bring."""
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
    >>> plan = plan_next(given, ["1", "2", "3"], EffortRule(sure=0.9, most=3), labels=["no", "yes"])
    >>> [(item.example, item.reason, item.more) for item in plan.items]
    [('2', 'not sure', 1), ('3', 'too few', 2), ('1', 'sure', 0)]
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
    """How sure items are: fitted to all answers, then used for all items, or for one item as its answers arrive.

    Fitting is the costlier part. A server fits again now and then, and assesses single items in between.
    """

    rule: EffortRule
    kind: Literal["labels", "numbers"]
    question: str
    categories: tuple[Any, ...]
    workers: WorkerModel | None
    """Of labels."""
    scale: ScaleModel | None
    """Of numbers."""
    pilot: frozenset[str]
    """The items that get `most` persons."""

    @classmethod
    def fit(cls, answers: EffortAnswers, rule: EffortRule) -> EffortModel:
        """Learn from the answers so far how persons and machines err, or how far their numbers scatter."""
        table = answers.table
        kind = rule.kind or find_kind(table.categories)
        if kind == "numbers" and not are_numbers(table.categories):
            odd = next(answer for answer in table.categories if not are_numbers([answer]))
            what = f"answers to {table.question!r} are not numbers (such as {odd!r})"
            raise BadInput(what, cure='use kind="labels"')
        pilot = frozenset(draw_order(table.items, rule.seed)[: rule.pilot])
        workers = scale = None
        if kind == "labels":
            learn = find_fair_answers(answers, rule.least, pilot)
            workers = fit_workers(table, answers.is_machine, learn) if table.categories else None
        else:
            scale = ScaleModel.fit(table, answers.is_machine)
        return cls(rule, kind, table.question, table.categories, workers, scale, pilot)

    def plan(self, answers: EffortAnswers, pending: Mapping[str, int] | None = None) -> EffortPlan:
        """Every item, in the order in which to ask."""
        items = self._assess(answers, pending or {})
        place = {
            name: rank for rank, name in enumerate(draw_order(answers.table.items, self.rule.seed))
        }
        items.sort(
            key=lambda item: (
                not item.more,
                item.reason != "pilot",
                -round(item.gain, 9),
                place[item.example],
            )
        )
        bought = len(answers.persons)
        if self.rule.budget is not None:
            left = self.rule.budget - bought - sum((pending or {}).values())
            items = _keep_budget(items, left)
        return EffortPlan(
            question=self.question,
            kind=self.kind,
            items=tuple(items),
            answers=bought,
            persons_accuracy=None if self.workers is None else self.workers.persons_accuracy,
            machine_accuracy={}
            if self.workers is None
            else {name: self.workers.accuracy(name) for name in self.workers.machine_errors},
        )

    def assess(self, example: str, judgements: Iterable[Judgement], pending: int = 0) -> ItemEffort:
        """One item by its own answers, without fitting again. The budget is not looked at."""
        answers = EffortAnswers.read(
            judgements, [example], self.rule, question=self.question, labels=self.categories
        )
        new = [answer for answer in answers.table.categories if answer not in self.categories]
        if new and self.kind == "labels":
            what = f"the model was fitted without the answer {new[0]!r}"
            raise BadInput(what, cure="pass the labels of the form, or fit again")
        return self._assess(answers, {example: pending})[0]

    def _assess(self, answers: EffortAnswers, pending: Mapping[str, int]) -> list[ItemEffort]:
        table = answers.table
        persons = answers.persons
        n = persons.per_item()
        machines = _count_models(answers)
        items = len(table.items)
        leader: list[Any] = [None] * items
        sure: list[float | None] = [None] * items
        low: list[float | None] = [None] * items
        high: list[float | None] = [None] * items
        settled = np.zeros(items, dtype=np.bool_)
        gain = np.ones(items)
        done = np.zeros(items, dtype=np.bool_)
        answered = (n + machines > 0).tolist()
        if self.workers is not None:
            _, posterior = self.workers.posterior(table, answers.is_machine)
            best = posterior.argmax(axis=1)
            top = posterior[np.arange(items), best]
            gain = measure_label_gain(posterior, self.workers.persons_errors)
            done = (top >= self.rule.sure) & ((n == 0) | leads_votes(persons, best))
            settled = find_settled(persons, self.rule.most)
            leader = [
                self.categories[code] if some else None
                for code, some in zip(best.tolist(), answered, strict=True)
            ]
            sure = [p if some else None for p, some in zip(top.tolist(), answered, strict=True)]
        elif self.scale is not None:
            mean, half, gain = self.scale.assess(table, answers.is_machine, self.rule.most)
            done = 2 * half <= self.rule.width
            leader = [m if some else None for m, some in zip(mean.tolist(), answered, strict=True)]
            ends = zip((mean - half).tolist(), (mean + half).tolist(), answered, strict=True)
            low, high = map(
                list, zip(*((a, b) if some else (None, None) for a, b, some in ends), strict=True)
            )
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
                    answer=leader[place],
                    sure=sure[place],
                    low=low[place],
                    high=high[place],
                    gain=float(gain[place]),
                    reason=reason,
                    more=more,
                )
            )
        return rows

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
        if done:
            return "sure", 0
        if settled:
            return "settled", 0
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


def find_fair_answers(answers: EffortAnswers, least: int, pilot: Collection[str]) -> Flags:
    """The answers of persons that were bought whatever others answered: the first `least` of each item, and those of the pilot.

    Later answers were bought where the first ones differed, so they would make persons look worse than they are.
    """
    table = answers.table
    of_person = np.flatnonzero(~answers.is_machine[table.worker])
    item = table.item[of_person]
    order = np.argsort(item, kind="stable")
    n = np.bincount(item, minlength=len(table.items))
    rank = np.empty(len(item), dtype=np.int64)
    rank[order] = np.arange(len(item)) - (np.cumsum(n) - n)[item[order]]
    in_pilot = np.array([name in pilot for name in table.items], dtype=np.bool_)
    fair = np.zeros(len(table), dtype=np.bool_)
    fair[of_person] = in_pilot[item] | (rank < least)
    return fair


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


def measure_label_gain(posterior: Floats, errors: Floats) -> Floats:
    """The information in bits that one more person is expected to give about each item's label."""
    expected = posterior @ errors.T
    noise = posterior @ entropy(errors.T)
    return np.maximum(0.0, entropy(expected) - noise)


def leads_votes(persons: Table, label: NDArray[np.int64]) -> Flags:
    """Whether a label of each item has more votes of persons than every other label."""
    counts = persons.counts()
    places = np.arange(len(counts))
    own = counts[places, label]
    others = counts.copy()
    others[places, label] = -1
    return np.asarray(own > others.max(axis=1, initial=-1))


def find_settled(persons: Table, most: int) -> Flags:
    """Items whose label with the most votes stays ahead whatever the persons answer who may still come."""
    counts = np.sort(persons.counts(), axis=1)
    ahead = counts[:, -1] - (counts[:, -2] if counts.shape[1] > 1 else 0)
    return np.asarray(ahead > most - persons.per_item())
