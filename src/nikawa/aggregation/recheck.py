"""Which answers of persons deserve a second look? Those that a machine and the other workers of the item contradict.

| answers | the others contradict an answer | the machine contradicts it | doubt |
|---|---|---|---|
| labels | another label has more of their votes (or as many, if the doubt is above 1/2) | so it is among the models | 1 - p(label), p of `weighing` |
| numbers | their mean is at least `margin` away | what it lets expect is, on the same side | distance to both together |
| spans, trees, other structures | the machine is closer to them than the answer is | it is closer to them than to the answer | closeness that is missing |

Copies of a model share one vote. Of numbers the machine counts as what its answers let expect of the mean of persons (`scale_model`),
so a machine that is always one point too high contradicts no one for that. `doubt` orders the answers. Neither a machine alone nor
the other workers alone bring an answer onto the list, and nothing is changed: a person decides.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

import msgspec
import numpy as np

from nikawa.aggregation.agree_job import AgreeOptions, mix_with_machines
from nikawa.aggregation.closeness import refuse_huge_numbers
from nikawa.aggregation.judgements import build_table, open_source
from nikawa.aggregation.machines import UNITS as CLOSENESS
from nikawa.aggregation.machines import Mixed
from nikawa.aggregation.measure import MAX_CATEGORIES
from nikawa.aggregation.scale_model import ScaleModel, average_machines
from nikawa.aggregation.table import Counts, Floats, Table, sum_weights
from nikawa.aggregation.trees import freeze_answers
from nikawa.aggregation.weighing import Flags, MachineVotes, fit_workers
from nikawa.errors import BadInput, name_faulty_file
from nikawa.io.atomic import atomic_write, refuse_existing
from nikawa.io.json import encode_json
from nikawa.io.judgements import JudgementOptions, Note
from nikawa.records import Judgement, Record, find_answerer
from nikawa.tables import ShownAsTables

MARGIN = 1.5
"""Points of a scale by which an answer must differ from both."""
TIPPING = 0.5
"""Doubt from which the machine tips the balance where the others are split evenly."""
MAX_CELLS = 50_000_000
"""Items times different answers above which answers are not compared."""
UNITS = {**CLOSENESS, "equality": "probability", "neg-rmse": "points"}
"""What `doubt` is, by how answers are compared."""


@dataclass(frozen=True)
class RecheckOptions:
    """What to look through, and how the judgements are read."""

    question: str | None = None
    """The question; None where the judgements answer only one."""
    margin: float = MARGIN
    """Points of a scale by which an answer must differ from the machine and from the others."""
    how: JudgementOptions = field(default_factory=JudgementOptions)
    """How a file of judgements is read."""

    def __post_init__(self) -> None:
        if not 0 < self.margin < float("inf"):
            raise BadInput(f"margin is {self.margin}", cure="choose a number above 0")


class DoubtfulAnswer(Record, frozen=True, kw_only=True):
    """An answer that a machine and the other workers contradict."""

    example: str
    worker: str
    answer: Any
    others: dict[str, Any]
    """The answers of the other persons, by worker."""
    machines: dict[str, Any]
    """The answers of machines, by worker."""
    doubt: float
    """The larger, the sooner to look: in `unit` of the report."""


class RecheckReport(ShownAsTables, Record, frozen=True, kw_only=True):
    """The answers that deserve a second look, the most doubtful first."""

    main_table: ClassVar[str] = "doubtful"
    headline_fields: ClassVar[tuple[str, ...]] = (
        "judgements",
        "question",
        "answers",
        "by_others",
        "by_both",
    )

    judgements: str
    """The file or dataset, as it was named."""
    question: str
    items: int
    answers: int
    """Answers of persons."""
    compared: int
    """Answers to items that another person and a machine answered."""
    by_others: int
    """Answers among those compared that the other persons contradict: a list without a machine."""
    by_both: int
    """The answers in `doubtful`: the other persons and a machine contradict them."""
    items_to_check: int
    """Items with such an answer."""
    unit: str
    """What `doubt` is: `probability`, `points`, or the closeness of structures, such as `span F1`."""
    margin: float | None
    """Of numbers."""
    machine_accuracy: dict[str, float]
    """Of labels: how often each model gives the label of the persons, by the model of `weighing`."""
    doubtful: tuple[DoubtfulAnswer, ...]
    notes: tuple[Note, ...] = ()
    """Oddities of the file."""


@dataclass(frozen=True, eq=False)
class Contradictions:
    """Each answer of a person, in the order of the table of persons: who contradicts it, and how doubtful it is."""

    persons: Table
    compared: Flags
    """Whether another person and a machine answered about the item."""
    by_others: Flags
    by_machine: Flags
    doubt: Floats
    unit: str
    tipped: Flags | None = None
    """Of labels: the others are split evenly, and with the machine the label is more probably wrong than right."""
    machine_accuracy: dict[str, float] = field(default_factory=dict)

    @property
    def by_both(self) -> Flags:
        """The answers that deserve a second look."""
        others = self.by_others if self.tipped is None else self.by_others | self.tipped
        return others & self.by_machine

    @property
    def order(self) -> Counts:
        """Their places, the most doubtful first; those of equal doubt by item and worker."""
        places = np.flatnonzero(self.by_both)
        keys = (
            self.persons.worker[places],
            self.persons.item[places],
            -np.round(self.doubt[places], 9),
        )
        return places[np.lexsort(keys)]


def recheck(
    spec: str,
    data: Path | None = None,
    options: RecheckOptions | None = None,
    *,
    out: Path | None = None,
    overwrite: bool = False,
) -> RecheckReport:
    """List the answers of a file or dataset that a machine and the other workers contradict; `out` gets them as JSON lines.

    Raises `BadInput` where no machine answers the question.
    """
    options = options or RecheckOptions()
    if out is not None:
        refuse_existing(out, overwrite=overwrite)
        if out.exists() and out.resolve() == Path(spec).resolve():
            what = "has the judgements, and would be replaced by the list"
            raise BadInput(what, file=out, cure="choose another name for --out")
    source = open_source(spec, data, options.how)
    table = build_table(source, options.question)
    mixed = mix_with_machines(table, source, AgreeOptions())
    if mixed is None:
        what = "no machine answers this question"
        cure = "add judgements of kind machine: nikawa judge asks a model"
        raise BadInput(what, file=spec, cure=cure)
    with name_faulty_file(source.file):
        report = report_doubtful(mixed, spec, options.margin, source.notes)
    if out is not None:
        with atomic_write(out, overwrite=overwrite) as stream:
            for row in report.doubtful:
                stream.write(encode_json(row) + b"\n")
    return report


def recheck_judgements(
    judgements: Iterable[Judgement], question: str, margin: float = MARGIN
) -> RecheckReport | None:
    """The report of judgements in memory; None where no machine, or no person, answers the question."""
    persons: list[Judgement] = []
    machines: list[Judgement] = []
    for row in freeze_answers(judgements, question):
        if row.question != question or row.answer is None:
            continue
        answerer = find_answerer(row)
        if answerer in ("person", "machine"):
            (persons if answerer == "person" else machines).append(row)
    if not persons or not machines:
        return None
    mixed = Mixed.of(Table.from_judgements(persons, question), machines)
    if not mixed.is_machine.any():
        return None
    return report_doubtful(mixed, "judgements", margin)


def report_doubtful(
    mixed: Mixed, spec: str, margin: float = MARGIN, notes: tuple[Note, ...] = ()
) -> RecheckReport:
    """The doubtful answers of persons and machines in one table, with the counts."""
    found = find_contradictions(mixed, margin)
    rows = tuple(_list_doubtful(mixed, found))
    return RecheckReport(
        judgements=spec,
        question=mixed.table.question,
        items=len(mixed.table.items),
        answers=len(found.persons),
        compared=int(found.compared.sum()),
        by_others=int(found.by_others.sum()),
        by_both=len(rows),
        items_to_check=len({row.example for row in rows}),
        unit=found.unit,
        margin=margin if found.unit == "points" else None,
        machine_accuracy=found.machine_accuracy,
        doubtful=rows,
        notes=notes,
    )


def find_contradictions(mixed: Mixed, margin: float = MARGIN) -> Contradictions:
    """Compare each answer of a person with those of the other persons, and with the machines'."""
    table = mixed.table
    is_machine = mixed.is_machine
    persons = table.select(~is_machine[table.worker])
    answered = np.zeros(len(table.items), dtype=np.bool_)
    answered[table.item[is_machine[table.worker]]] = True
    compared = (answered & (persons.per_item() > 1))[persons.item]
    if mixed.score == "equality":
        return _contradict_labels(table, persons, is_machine, compared)
    if mixed.score == "neg-rmse":
        return _contradict_numbers(table, persons, is_machine, compared, margin)
    return _contradict_parts(mixed, persons, compared)


def _contradict_labels(
    table: Table, persons: Table, is_machine: Flags, compared: Flags
) -> Contradictions:
    if len(table.items) * len(table.categories) > MAX_CELLS:
        what = f"answers to {table.question!r} are of {len(table.categories):,} kinds"
        raise BadInput(what, cure="recheck a question with fewer different answers")
    votes = MachineVotes(table, is_machine)
    of_models = np.zeros((len(table.items), len(table.categories)))
    for code in range(len(votes.models)):
        of_models += votes.shares(code)
    of_persons = persons.counts().astype(np.float64)
    item, answer = persons.item, persons.answer
    own = of_persons[item, answer] - 1
    lead = _lead_against(of_persons, persons)
    by_others = compared & (lead > own)
    mine = of_models[item, answer]
    by_machine = compared & (_lead_against(of_models, persons) > mine + 1e-9)
    accuracy: dict[str, float] = {}
    if len(table.categories) <= MAX_CATEGORIES:
        model = fit_workers(table, is_machine)
        _, posterior = model.posterior(table, is_machine)
        doubt = 1 - posterior[item, answer]
        accuracy = {name: model.accuracy(name) for name in model.machine_errors}
    else:  # too many kinds of answers for a table of errors: the share of votes
        total = (of_persons.sum(axis=1) + of_models.sum(axis=1))[item] - 1
        doubt = 1 - np.divide(own + mine, total, out=np.zeros(len(item)), where=total > 0)
    tipped = compared & (lead == own) & (lead > 0) & (doubt > TIPPING)
    unit = UNITS["equality"]
    return Contradictions(persons, compared, by_others, by_machine, doubt, unit, tipped, accuracy)


def _lead_against(votes: Floats, persons: Table) -> Floats:
    """Of each answer the most votes that another answer to its item has."""
    if votes.shape[1] < 2:
        return np.zeros(len(persons))
    best = votes.argmax(axis=1)
    top = np.sort(votes, axis=1)[:, -2:]
    is_best = best[persons.item] == persons.answer
    lead: Floats = np.where(is_best, top[persons.item, 0], top[persons.item, 1])
    return lead


def _contradict_numbers(
    table: Table, persons: Table, is_machine: Flags, compared: Flags, margin: float
) -> Contradictions:
    refuse_huge_numbers(table)
    model = ScaleModel.fit(table, is_machine)
    guess = model.predict(table, is_machine)
    guess = np.where(np.isnan(guess), average_machines(table, is_machine), guess)
    item, numbers = persons.item, persons.numbers
    n = persons.per_item()[item]
    others = (persons.sum_by_item(numbers)[item] - numbers) / np.maximum(1, n - 1)
    apart, aside = numbers - others, numbers - guess[item]
    by_others = compared & (np.abs(apart) >= margin - 1e-9)
    by_machine = compared & (np.abs(aside) >= margin - 1e-9) & (apart * aside > 0)
    spread = model.between if model.unexplained is None else model.unexplained
    share = (1 / spread) / (1 / spread + np.maximum(1, n - 1) / model.within)
    doubt = np.abs(numbers - share * guess[item] - (1 - share) * others)
    doubt = np.where(compared, doubt, 0.0)
    return Contradictions(persons, compared, by_others, by_machine, doubt, UNITS["neg-rmse"])


def _contradict_parts(mixed: Mixed, persons: Table, compared: Flags) -> Contradictions:
    """Spans and trees: the mean closeness of each answer to the others and to machines, and of machines to the others."""
    pairs, width = mixed.pairs, len(mixed.table.workers)
    keys = persons.item.astype(np.int64) * width + persons.worker
    order = np.argsort(keys)
    size = len(persons)

    def add(side: Any, keep: Flags) -> tuple[Floats, Floats]:
        """Sum and number of the pairs of each answer that is the given side of a pair."""
        wanted = pairs.item[keep].astype(np.int64) * width + side[keep]
        place = order[np.searchsorted(keys[order], wanted)]
        return sum_weights(place, pairs.value[keep], size), sum_weights(
            place, np.ones(len(place)), size
        )

    two_persons = pairs.machines == 0
    sums = [add(side, two_persons) for side in (pairs.first, pairs.second)]
    near_sum, near_n = (sums[0][part] + sums[1][part] for part in (0, 1))
    mixed_pair = pairs.machines == 1
    is_first = ~mixed.is_machine[pairs.first]
    halves = [
        add(pairs.first, mixed_pair & is_first),
        add(pairs.second, mixed_pair & ~is_first),
    ]
    theirs_sum, theirs_n = (halves[0][part] + halves[1][part] for part in (0, 1))
    items = len(mixed.table.items)
    all_sum = sum_weights(pairs.item[mixed_pair], pairs.value[mixed_pair], items)[persons.item]
    all_n = sum_weights(pairs.item[mixed_pair], np.ones(int(mixed_pair.sum())), items)[persons.item]
    to_others = near_sum / np.maximum(1, near_n)
    to_machine = theirs_sum / np.maximum(1, theirs_n)
    between = (all_sum - theirs_sum) / np.maximum(1, all_n - theirs_n)
    by_others = compared & (to_others < between - 1e-9)
    by_machine = compared & (to_machine < between - 1e-9)
    doubt = np.where(compared, between - np.maximum(to_others, to_machine), 0.0)
    return Contradictions(persons, compared, by_others, by_machine, doubt, UNITS[mixed.score])


def _list_doubtful(mixed: Mixed, found: Contradictions) -> Iterator[DoubtfulAnswer]:
    table, order = mixed.table, found.order
    items = set(found.persons.item[order].tolist())
    given: dict[int, list[tuple[int, Any]]] = defaultdict(list)
    for item, worker, answer in zip(
        table.item.tolist(), table.worker.tolist(), table.answer.tolist(), strict=True
    ):
        if item in items:
            given[item].append((worker, _show_answer(table.categories[answer])))
    for place in order.tolist():
        item, worker = int(found.persons.item[place]), int(found.persons.worker[place])
        sides: tuple[dict[str, Any], dict[str, Any]] = ({}, {})
        for other, answer in given[item]:
            if other != worker:
                sides[int(mixed.is_machine[other])][str(table.workers[other])] = answer
        yield DoubtfulAnswer(
            example=str(table.items[item]),
            worker=str(table.workers[worker]),
            answer=_show_answer(table.categories[int(found.persons.answer[place])]),
            others=sides[0],
            machines=sides[1],
            doubt=round(float(found.doubt[place]), 6),
        )


def _show_answer(category: Any) -> Any:
    """An answer as a record holds it: a label, a number, a list of spans, a tree."""
    if isinstance(category, tuple):
        return [{"start": start, "end": end, "label": label} for start, end, label in category]
    plain = msgspec.to_builtins(category, builtin_types=())
    if isinstance(plain, dict) and len(plain) == 1:  # a set of labels, the states of a dialogue
        (plain,) = plain.values()
    return list(plain) if isinstance(plain, tuple) else plain
