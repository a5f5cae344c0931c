"""What machines do to gold, if the rule asks for it: they break ties of persons, or are weighed with persons.

`tie-break`: persons decide. Where their votes are tied, the label of the tie that most models gave is the gold; copies of a model share
one vote. `weigh`: the posterior of `weighing` (labels, rule `dawid-skene`) or the weighted mean of `scale_model` (numbers, rule `mean`).

Either way an item needs the answer of a person, machines are never counted as further persons (limits such as `min:3` or `sd<1` look at
persons alone), and every label tells what machines did to it (`MachinePart`).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from nikawa.aggregation.dawid_skene import Fit
from nikawa.aggregation.rules import Rule
from nikawa.aggregation.scale_model import ScaleModel
from nikawa.aggregation.table import Floats, Table
from nikawa.aggregation.weighing import Flags, MachineVotes, WorkerModel, fit_workers
from nikawa.errors import BadInput, suggest
from nikawa.records import Judgement, MachinePart

MachineUse = Literal["ignore", "tie-break", "weigh"]
MACHINE_USES: tuple[MachineUse, ...] = get_args(MachineUse)
NOTES: dict[MachineUse, str] = {
    "ignore": "not counted: only persons' answers are",
    "tie-break": "counted only where persons tie",
    "weigh": "weighed with the persons by what they were worth",
}
"""What a note says of the answers of machines."""


def parse_machine_use(text: str) -> MachineUse:
    """`ignore`, `tie-break` or `weigh`."""
    for use in MACHINE_USES:
        if text == use:
            return use
    raise BadInput(f"{text!r} is not a use of machines", cure=suggest(text, MACHINE_USES))


@dataclass(eq=False)
class MachineInput:
    """The answers of machines to the items of a table of persons, and what became of them."""

    use: MachineUse
    table: Table
    """Persons and machines; its items and categories are those of the persons."""
    is_machine: Flags
    unused: int = 0
    """Answers of machines about items that no person answered, or with labels that no person gave."""
    parts: dict[int, MachinePart] = field(default_factory=dict)
    """By the place of an item what machines did to its gold."""
    model: WorkerModel | None = None
    """Of labels that were weighed."""
    scale: ScaleModel | None = None
    """Of numbers that were weighed."""
    share: float = 0.0
    """Of numbers that were weighed: the mean share of machines in an item's gold."""

    @classmethod
    def join(cls, persons: Table, machines: Iterable[Judgement], use: MachineUse) -> MachineInput:
        """Add the answers of machines to the same question to the table of persons."""
        items = {name: code for code, name in enumerate(persons.items)}
        labels = {answer: code for code, answer in enumerate(persons.categories)}
        names = list(persons.workers)
        taken = set(names)
        workers: dict[str, int] = {}
        rows: list[tuple[int, int, int]] = []
        seen: set[tuple[str, str]] = set()
        unused = 0
        for row in machines:
            if row.question != persons.question or row.answer is None:
                continue
            if (row.example, row.worker) in seen:
                what = f"worker {row.worker} answers {row.question!r} twice about {row.example}"
                raise BadInput(what, cure="keep one answer per worker and item")
            seen.add((row.example, row.worker))
            if row.worker in taken:
                what = f"the worker {row.worker} is a person in some judgements and a machine in others"
                raise BadInput(what, cure="give the machine another name, such as model:NAME#1")
            answer = None if isinstance(row.answer, list | dict) else labels.get(row.answer)
            if row.example not in items or answer is None:
                unused += 1
                continue
            code = workers.setdefault(row.worker, len(names) + len(workers))
            rows.append((items[row.example], code, answer))
        columns = np.array(rows, dtype=np.int32).reshape(-1, 3).T
        item, worker, answer_codes = (
            np.concatenate([own, new]).astype(np.int32)
            for own, new in zip(
                (persons.item, persons.worker, persons.answer), columns, strict=True
            )
        )
        table = replace(
            persons,
            item=item,
            worker=worker,
            answer=answer_codes,
            workers=[*names, *workers],
            seconds=None,
        )
        is_machine = np.arange(len(table.workers)) >= len(names)
        return cls(use, table, is_machine, unused)

    @property
    def models(self) -> list[str]:
        """The models, copies under one name."""
        return self._votes.models

    @property
    def answers(self) -> int:
        """How many answers of machines count."""
        return int(self.is_machine[self.table.worker].sum())

    @property
    def _votes(self) -> MachineVotes:
        return MachineVotes(self.table, self.is_machine)

    def count_votes(self) -> Floats:
        """Items by answers: how many models gave each, the copies of a model sharing one vote."""
        votes = self._votes
        counts = np.zeros((len(self.table.items), len(self.table.categories)))
        for code in range(len(votes.models)):
            counts += votes.shares(code)
        return counts

    def weigh_labels(self) -> Fit:
        """The posterior of persons and machines, and the errors of the persons."""
        self.model = fit_workers(self.table, self.is_machine)
        alone, posterior = self.model.posterior(self.table, self.is_machine)
        changed = alone.argmax(axis=1) != posterior.argmax(axis=1)
        self._note_parts(self._votes.count_models() > 0, changed)
        persons = [
            name for name, one in zip(self.table.workers, self.is_machine, strict=True) if not one
        ]
        errors = np.stack([self.model.errors[name] for name in persons])
        skill = np.array([self.model.accuracy(name) for name in persons])
        return Fit(posterior, self.model.prior, skill, errors, (), converged=True)

    def weigh_numbers(self) -> Floats:
        """The mean of persons and machines; `parts` are noted by `note_changes` once it is rounded."""
        self.scale = ScaleModel.fit(self.table, self.is_machine)
        means, share = self.scale.weigh(self.table, self.is_machine)
        if (share > 0).any():
            self.share = float(share[share > 0].mean())
        self._note_parts(share > 0, np.zeros(len(share), dtype=np.bool_))
        return means

    def note_changes(self, alone: Floats, weighed: Floats) -> None:
        """Note where the finished number is another than that of persons alone."""
        for place in self.parts:
            if alone[place] != weighed[place]:
                self.parts[place] = "changed"

    def _note_parts(self, took_part: NDArray[np.bool_], changed: NDArray[np.bool_]) -> None:
        for place in np.flatnonzero(took_part).tolist():
            self.parts[place] = "changed" if changed[place] else "weighed"

    def choose_among(self, tied: dict[int, list[int]]) -> dict[int, int]:
        """Of each tied item the label of the tie that most models gave; items where that is tied too are missing."""
        votes = self.count_votes()
        chosen = {}
        for place, codes in tied.items():
            own = votes[place, codes]
            leaders = np.flatnonzero(own >= own.max() - 1e-9)
            if own.max() > 0 and len(leaders) == 1:
                chosen[place] = codes[int(leaders[0])]
        return chosen


def check_machine_rule(use: MachineUse, rule: Rule, *, parts: bool) -> None:
    """Refuse a rule under which machines cannot be used in this way; `parts` for answers that are spans or trees."""
    name = rule.decider.name
    if use == "ignore":
        return
    if parts:
        what = f"--machines {use} is for labels and numbers: persons alone decide other answers"
        raise BadInput(what, cure="leave it out")
    if use == "tie-break" and rule.numeric:
        what = f"--machines tie-break is for labels: the rule {name} has no ties"
        raise BadInput(what, cure="use --machines weigh with mean, or leave it out")
    if use == "weigh" and name not in ("dawid-skene", "mean"):
        cure = "use dawid-skene for labels or mean for numbers, or --machines tie-break"
        raise BadInput(f"--machines weigh does not work with the rule {name}", cure=cure)


def list_parts(inputs: MachineInput | None, kept: Iterable[int]) -> dict[int, MachinePart]:
    """What machines did, of the items at these places."""
    if inputs is None:
        return {}
    return {place: inputs.parts[place] for place in kept if place in inputs.parts}


def describe_answers(inputs: MachineInput) -> dict[int, dict[str, Any]]:
    """By the place of an item what each machine answered."""
    table = inputs.table
    given: dict[int, dict[str, Any]] = {}
    for item, worker, answer in zip(
        table.item.tolist(), table.worker.tolist(), table.answer.tolist(), strict=True
    ):
        if inputs.is_machine[worker]:
            given.setdefault(item, {})[table.workers[worker]] = table.categories[answer]
    return given
