"""Persons and machines weighed by Dawid and Skene's model: what is the label, given everybody who answered?

    log p(t | answers of item i) = log prior[t] + sum_j log error[j, answer_j, t] + d_i sum_m mean_c log error[m, answer_c, t] + const

with j over the persons and m over the models that answered, and c over the copies of model m.

Persons are fitted first, without machines, by EM as in `dawid_skene`. A person's table of errors leans on that of all persons by
`SHARED_ANSWERS` answers, so it can be used from the first answer on, and that of all persons on an expectation. Only items that two
persons or more answered say how often persons err: where one person answered, any error rate explains the answer.

Machines do not outvote persons by their number:

- The table of errors of a model is estimated by EM with the posterior of the persons held fixed. A model therefore gains nothing by
  agreeing with other models.
- The copies of a model (`model:NAME#1`, `#2`, ...) count as one worker: the mean of their log probabilities is taken. Copies share
  their errors, and more copies bring no more evidence.
- Different models share errors too. With r the correlation of their errors (against the posterior of the persons), n models on an item
  count as many as n / (1 + (n - 1) r), the effective number of n equally correlated measurements (Kish 1965): `d_i` = 1 / (1 + (n - 1) r).

An item that no person answered has a posterior too; a caller that makes gold of it decides what that is worth.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from nikawa.aggregation.dawid_skene import JudgementSums, normalise_joint
from nikawa.aggregation.table import Floats, Table, sum_weights
from nikawa.io.coding import Codes

Flags = NDArray[np.bool_]

SHARED_ANSWERS = 10.0
"""Answers (for each true label) by which a person's table of errors leans on that of all persons."""
EXPECTED_ACCURACY = 0.8
"""How often persons are right before any judgement is seen, and a machine."""
EXPECTED_ANSWERS = 10.0
"""Answers (for each true label) that this expectation counts as."""
MAX_ITERATIONS = 50
LEAST_CHANGE = 1e-5
"""EM stops when no probability changes by more."""


@dataclass(frozen=True, eq=False)
class WorkerModel:
    """How persons and machines err: fitted once, then used for any answers with the same labels."""

    categories: tuple[object, ...]
    prior: Floats
    """How probable each label is before an answer is seen."""
    persons_errors: Floats
    """Answers by true labels: those of a person who is not known yet."""
    errors: dict[str, Floats]
    """The same of each person who was fitted."""
    machine_errors: dict[str, Floats]
    """The same of each model; copies share one."""
    correlation: float
    """How far the errors of different models go together, from 0 to 1; 1 where that is not known."""

    def accuracy(self, worker: str) -> float:
        """How often a person or a model is right, on the labels as they occur."""
        errors = self.errors.get(worker, self.machine_errors.get(worker, self.persons_errors))
        return float(np.diag(errors) @ self.prior)

    @property
    def persons_accuracy(self) -> float:
        """How often a person is right, on the labels as they occur."""
        return float(np.diag(self.persons_errors) @ self.prior)

    def posterior(self, table: Table, is_machine: Flags) -> tuple[Floats, Floats]:
        """Items by labels: the posterior of the persons alone, and that of persons and machines."""
        width = len(self.categories)
        logs = np.zeros((len(table.workers), width, width))
        for code, worker in enumerate(table.workers):
            if not is_machine[code]:
                logs[code] = np.log(self.errors.get(worker, self.persons_errors))
        persons = table.select(~is_machine[table.worker])
        sums = JudgementSums(persons)
        joint = sum_evidence(sums, logs) + np.log(self.prior)[:, None]
        alone = normalise_joint(joint.copy())[0].T
        if not is_machine.any():
            return alone, alone
        machines = MachineVotes(table, is_machine)
        evidence = np.zeros((len(table.items), width))
        for model, errors in self.machine_errors.items():
            if model in machines.models:
                shares = machines.shares(machines.models.index(model))
                evidence += shares @ np.log(errors)
        n = machines.count_models()
        evidence /= (1 + np.maximum(0, n - 1) * self.correlation)[:, None]
        return alone, normalise_joint(joint + evidence.T)[0].T


def find_model_name(worker: str) -> str:
    """The model that a machine worker is a copy of.

    >>> find_model_name("model:gemma#2")
    'model:gemma'
    """
    name, mark, number = worker.rpartition("#")
    return name if mark and number.isdecimal() else worker


class MachineVotes:
    """The answers of machines by model: copies of a model share one vote."""

    def __init__(self, table: Table, is_machine: Flags) -> None:
        chosen = is_machine[table.worker]
        names = [
            find_model_name(worker) if machine else ""
            for worker, machine in zip(table.workers, is_machine.tolist(), strict=True)
        ]
        self.models = sorted({name for name in names if name})
        place = {name: code for code, name in enumerate(self.models)}
        codes = np.array([place.get(name, -1) for name in names], dtype=np.int64)
        self._item: Codes = table.item[chosen]
        self._model = codes[table.worker[chosen]]
        self._answer = table.answer[chosen]
        self._items = len(table.items)
        self._width = len(table.categories)

    def shares(self, model: int) -> Floats:
        """Items by answers: the share of the model's copies that gave each; zeros where it did not answer."""
        mine = self._model == model
        cells = self._item[mine].astype(np.int64) * self._width + self._answer[mine]
        counts = sum_weights(cells, np.ones(len(cells)), self._items * self._width)
        counts = counts.reshape(self._items, self._width)
        total = counts.sum(axis=1, keepdims=True)
        shares: Floats = np.divide(counts, total, out=np.zeros_like(counts), where=total > 0)
        return shares

    def count_models(self) -> NDArray[np.int64]:
        """How many models answered about each item."""
        pairs = np.unique(self._item.astype(np.int64) * max(1, len(self.models)) + self._model)
        return np.bincount(pairs // max(1, len(self.models)), minlength=self._items)


def fit_workers(table: Table, is_machine: Flags | None = None) -> WorkerModel:
    """Estimate the errors of persons and machines from the judgements of a question.

    `is_machine` has one flag for each worker of the table; without it all are persons.
    """
    if is_machine is None:
        is_machine = np.zeros(len(table.workers), dtype=np.bool_)
    of_person = ~is_machine[table.worker]
    persons = table.select(of_person)
    prior, shared, errors = _fit_persons(persons)
    known = {
        worker: errors[code] for code, worker in enumerate(table.workers) if not is_machine[code]
    }
    model = WorkerModel(table.categories, prior, shared, known, {}, 1.0)
    if not is_machine.any():
        return model
    alone, _ = model.posterior(persons, np.zeros(len(table.workers), dtype=np.bool_))
    machines = MachineVotes(table, is_machine)
    answered = persons.per_item() > 0
    machine_errors = {}
    wrong: list[Floats] = []
    for code, name in enumerate(machines.models):
        shares = machines.shares(code)
        machine_errors[name] = _fit_machine(alone[answered], shares[answered])
        silent = shares.sum(axis=1) == 0
        missed = 1 - (alone * shares).sum(axis=1)
        wrong.append(np.where(silent | ~answered, np.nan, missed))
    return WorkerModel(
        table.categories, prior, shared, known, machine_errors, correlate_errors(wrong)
    )


def expect_errors(width: int) -> Floats:
    """Counts that stand for what is expected before any judgement is seen: answers by true labels."""
    if width == 1:
        return np.full((1, 1), EXPECTED_ANSWERS)
    counts = np.full((width, width), (1 - EXPECTED_ACCURACY) / (width - 1))
    np.fill_diagonal(counts, EXPECTED_ACCURACY)
    return counts * EXPECTED_ANSWERS


def sum_evidence(sums: JudgementSums, logs: Floats) -> Floats:
    """Labels by items: the sum over an item's answers of their log probabilities."""
    flat = logs.reshape(-1, sums.width)
    columns = (np.ascontiguousarray(flat[:, label]) for label in range(sums.width))
    return np.stack([sums.per_item(column) for column in columns])


def _fit_persons(persons: Table) -> tuple[Floats, Floats, Floats]:
    """The prior of labels, the errors of all persons together, and those of each worker of the table."""
    width = len(persons.categories)
    n = persons.per_item()
    compared = persons.select((n > 1)[persons.item])
    told = JudgementSums(compared)
    sums = JudgementSums(persons)
    expected = expect_errors(width)
    posterior = (persons.counts().T + 1.0 / width) / (n + 1.0)
    shape = (len(persons.workers), width, width)
    for _ in range(MAX_ITERATIONS):
        mass = np.stack([told.per_cell(np.ascontiguousarray(row)) for row in posterior], axis=-1)
        mass = mass.reshape(shape)
        shared = mass.sum(axis=0) + expected
        shared /= shared.sum(axis=0, keepdims=True)
        errors = mass + SHARED_ANSWERS * shared
        errors /= errors.sum(axis=1, keepdims=True)
        prior = posterior[:, n > 0].sum(axis=1) + 1.0
        prior /= prior.sum()
        joint = sum_evidence(sums, np.log(errors)) + np.log(prior)[:, None]
        before, (posterior, _) = posterior, normalise_joint(joint)
        if not posterior.size or float(np.abs(posterior - before).max()) < LEAST_CHANGE:
            break
    return prior, shared, errors


def _fit_machine(alone: Floats, shares: Floats) -> Floats:
    """A model's errors: answers by true labels, with the posterior of the persons held fixed."""
    answered = shares.sum(axis=1) > 0
    alone, shares = alone[answered], shares[answered]
    expected = expect_errors(alone.shape[1])
    errors: Floats = expected / expected.sum(axis=0, keepdims=True)
    for _ in range(MAX_ITERATIONS):
        joint = alone * np.exp(shares @ np.log(errors))
        posterior = joint / np.maximum(joint.sum(axis=1, keepdims=True), 1e-300)
        counts = shares.T @ posterior + expected
        before, errors = errors, counts / counts.sum(axis=0, keepdims=True)
        if float(np.abs(errors - before).max()) < LEAST_CHANGE:
            break
    return errors


def correlate_errors(wrong: Sequence[Floats]) -> float:
    """The mean correlation of the errors of two models, over the pairs of models; 1 where it cannot be measured."""
    total, weight = 0.0, 0
    for place, first in enumerate(wrong):
        for second in wrong[place + 1 :]:
            both = ~(np.isnan(first) | np.isnan(second))
            a, b = first[both], second[both]
            if len(a) > 2 and a.std() > 0 and b.std() > 0:
                total += len(a) * float(np.corrcoef(a, b)[0, 1])
                weight += len(a)
    return min(1.0, max(0.0, total / weight)) if weight else 1.0
