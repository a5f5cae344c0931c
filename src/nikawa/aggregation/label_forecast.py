"""Labels: will the label with the most votes stay ahead if `most` persons answer?

Every item has a latent label t. Persons err as in Dawid and Skene's model, but items differ in how hard they are: the answers of persons
who are not known yet follow a Dirichlet-multinomial distribution around the errors of all persons, with one `strength` for all items.

    log p(t | answers) = log prior[t] + log DM(counts; strength error[., t]) + sum_j log(errors_j[a_j, t] / error[a_j, t]) + machines + const

`errors_j` are those of person j, machines count as in `weighing`, and of an infinite strength this is Dawid and Skene's model. All is
fitted together by EM, the strength on a grid. The answers of all items are used: which item gets one more answer depends only on answers
that are used as well, so that a likelihood is not misled by it (Rubin 1976, https://doi.org/10.1093/biomet/63.3.581).

The votes still to come are Dirichlet-multinomial too, now with `strength error[., t] + counts`. The chance that another label draws level
or overtakes is summed over the other labels, which is an upper bound of the chance that any of them does.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from nikawa.aggregation.dawid_skene import JudgementSums, normalise_joint
from nikawa.aggregation.full_votes import (
    count_orders,
    find_posterior,
    learn_shares,
    list_full_votes,
    match_votes,
)
from nikawa.aggregation.table import Counts, Floats, Table
from nikawa.aggregation.weighing import (
    LEAST_CHANGE,
    MAX_ITERATIONS,
    SHARED_ANSWERS,
    Flags,
    MachineVotes,
    WorkerModel,
    correlate_errors,
    expect_errors,
    sum_evidence,
)

STRENGTHS = (2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0, 1024.0)
"""How alike items are; persons answer a new item of strength s as if s answers of others had shown how they err there."""
EXPECTED_STRENGTH = 16.0
"""The strength before any judgement is seen."""
STRENGTH_SPREAD = 4.0
"""How far the strength is expected from it: a factor of this is one standard deviation."""
EVIDENCE_STEPS, MAX_EVIDENCE = 4, 60
"""Steps to which the log likelihood of machines is rounded when full votes are learnt, and the most steps."""
ROUNDS_PER_STRENGTH = 5
"""Iterations of EM after which the strength is chosen again."""


@dataclass(frozen=True, eq=False)
class LabelForecast:
    """How persons and machines err, and how items differ: fitted once, then used for any answers with the same labels."""

    workers: WorkerModel
    strength: float
    most: int
    full: Counts | None
    """The full votes of `most` persons; None where they are too many to list."""
    shares: Floats
    """How often each occurs."""

    @classmethod
    def fit(cls, table: Table, is_machine: Flags, most: int) -> LabelForecast:
        """Learn from the answers of persons and machines together; `is_machine` has a flag for each worker."""
        width = len(table.categories)
        persons = table.select(~is_machine[table.worker])
        sums = JudgementSums(persons)
        n = persons.per_item()
        votes = MachineVotes(table, is_machine)
        shares = [votes.shares(code) for code in range(len(votes.models))]
        models = votes.count_models()
        answered = (n > 0) | (models > 0)
        patterns, place = find_patterns(persons.counts())
        expected = expect_errors(width)
        strength = EXPECTED_STRENGTH
        posterior = (persons.counts().T + sum(share.T for share in shares) + 1.0 / width) / (
            n + models + 1.0
        )
        correlation = 1.0
        for number in range(MAX_ITERATIONS):
            mass = np.stack([sums.per_cell(np.ascontiguousarray(row)) for row in posterior], -1)
            mass = mass.reshape((len(table.workers), width, width))
            shared = mass.sum(axis=0) + expected
            shared /= shared.sum(axis=0, keepdims=True)
            errors = mass + SHARED_ANSWERS * shared
            errors /= errors.sum(axis=1, keepdims=True)
            prior = posterior[:, answered].sum(axis=1) + 1.0
            prior /= prior.sum()
            machine_errors = [share.T @ posterior.T + expected for share in shares]
            machine_errors = [one / one.sum(axis=0, keepdims=True) for one in machine_errors]
            plain = sum_evidence(sums, np.log(errors)) + np.log(prior)[:, None]
            if shares:
                if len(shares) > 1:
                    alone = normalise_joint(plain.copy())[0].T
                    correlation = _correlate(alone, shares, n > 0)
                evidence = sum(
                    share @ np.log(one) for share, one in zip(shares, machine_errors, strict=True)
                )
                plain = (
                    plain + (evidence / (1 + np.maximum(0, models - 1) * correlation)[:, None]).T
                )
            joint = plain + _spread_evidence(patterns, shared, strength)[:, place]
            before, (posterior, _) = posterior, normalise_joint(joint)
            steady = not posterior.size or float(np.abs(posterior - before).max()) < LEAST_CHANGE
            if steady or number % ROUNDS_PER_STRENGTH == ROUNDS_PER_STRENGTH - 1:
                chosen = _choose_strength(plain[:, answered], patterns, place[answered], shared)
                if steady and chosen == strength:
                    break
                strength = chosen
        known = {
            worker: errors[code]
            for code, worker in enumerate(table.workers)
            if not is_machine[code]
        }
        named = dict(zip(votes.models, machine_errors, strict=True))
        model = WorkerModel(table.categories, prior, shared, known, named, correlation)
        full = list_full_votes(width, most)
        if full is None:
            return cls(model, strength, most, None, np.zeros(0))
        spread = _spread_evidence(full, shared, strength) + np.log(shared).T @ full.T
        logs = (spread + np.log(prior)[:, None]).T + count_orders(full)[:, None]
        of_label = np.exp(logs)
        start = cls(model, strength, most, full, of_label.sum(axis=1) / of_label.sum())
        return start._learn_shares(table, is_machine)

    def _learn_shares(self, table: Table, is_machine: Flags) -> LabelForecast:
        """Learn how often each full vote occurs; what machines say is rounded, so that items fall into few classes."""
        full = self.full
        if full is None:
            return self
        counts = table.select(~is_machine[table.worker]).counts()
        persons_only = replace(self.workers, errors={})
        evidence = _find_other_evidence(persons_only, table, is_machine, counts)
        evidence -= evidence.max(axis=1, keepdims=True)
        rounded = np.minimum(MAX_EVIDENCE, np.rint(-evidence * EVIDENCE_STEPS)).astype(np.int64)
        fits = counts.sum(axis=1) <= self.most
        states, place = find_patterns(np.column_stack([counts, rounded])[fits])
        weights = np.bincount(place, minlength=len(states)).astype(np.float64)
        width = counts.shape[1]
        matches = match_votes(states[:, :width], full)
        others = np.exp(-states[:, width:] / EVIDENCE_STEPS)
        matches += np.log(others @ self._labels_of_votes().T)
        return replace(self, shares=learn_shares(matches, weights, self.shares))

    def _labels_of_votes(self) -> Floats:
        """Full votes by labels: how probable each true label is, given a full vote."""
        assert self.full is not None
        errors, prior = self.workers.persons_errors, self.workers.prior
        logs = _spread_evidence(self.full, errors, self.strength)
        logs = logs + np.log(errors).T @ self.full.T + np.log(prior)[:, None]
        return normalise_joint(logs)[0].T

    def _forecast(self, states: Counts) -> tuple[Floats, Floats]:
        """Of states (counts and the leading label): labels' log probabilities, and how often each label sees the leader overtaken."""
        counts, leader = states[:, :-1], states[:, -1]
        errors = self.workers.persons_errors
        if self.full is None:
            logs = np.asarray(counts @ np.log(errors) + np.log(self.workers.prior))
            return logs + _spread_evidence(counts, errors, self.strength).T, measure_overtaking(
                counts, leader, errors, self.strength, self.most
            )
        bought = counts.sum(axis=1) <= self.most
        parts = np.where(bought[:, None], counts, 0)
        posterior = find_posterior(match_votes(parts, self.full), self.shares)
        labels = self._labels_of_votes()
        lost = np.empty((len(self.full), counts.shape[1]))
        for label in range(counts.shape[1]):
            rivals = self.full.copy()
            rivals[:, label] = -1
            lost[:, label] = rivals.max(axis=1) >= self.full[:, label]
        known = posterior @ labels
        overtaken = np.empty_like(known)
        for label in range(counts.shape[1]):
            here = leader == label
            overtaken[here] = (posterior[here] * lost[:, label]) @ labels
        overtaken = np.where(bought[:, None], overtaken / np.maximum(known, 1e-300), 0.0)
        return np.log(np.maximum(known, 1e-300)), overtaken

    def assess(self, table: Table, is_machine: Flags) -> tuple[NDArray[np.int64], Floats, Floats]:
        """The leading label, the probability that it is the gold of `most` persons, and the persons until that is settled.

        The leading label has the most votes; of several, and without a vote, it is the most probable one.
        """
        persons = table.select(~is_machine[table.worker])
        counts = persons.counts()
        n = persons.per_item()
        most = self.most
        others = _find_other_evidence(self.workers, table, is_machine, counts)
        first = np.where(counts == counts.max(axis=1, keepdims=True), 0.0, -np.inf)
        rough = counts @ np.log(self.workers.persons_errors) + np.log(self.workers.prior) + others
        leader = (rough + first).argmax(axis=1)
        states, place = find_patterns(np.column_stack([counts, leader]))
        logs, overtaken = self._forecast(states)
        posterior = normalise_joint((logs[place] + others).T)[0].T
        same = 1 - np.minimum(1.0, (posterior * overtaken[place]).sum(axis=1))
        places = np.arange(len(n))
        own = counts[places, leader]
        next_one = (posterior * self.workers.persons_errors[leader]).sum(axis=1)
        chance = (self.strength * next_one + own) / (self.strength + n)
        rest = np.maximum(0, most - n)
        rivals = counts.copy()
        rivals[places, leader] = -1
        ahead = own - np.maximum(0, rivals.max(axis=1, initial=0))
        needed = np.where(ahead > rest, 0, (rest - ahead) // 2 + 1)
        return leader, same, np.minimum(rest, needed / np.maximum(chance, 1e-9))


def _find_other_evidence(
    workers: WorkerModel, table: Table, is_machine: Flags, counts: Counts
) -> Floats:
    """Items by labels: what is known beyond the counts (who of the persons answered, and machines), as a log likelihood."""
    _, posterior = workers.posterior(table, is_machine)
    plain = counts @ np.log(workers.persons_errors) + np.log(workers.prior)
    return np.asarray(np.log(np.maximum(posterior, 1e-300)) - plain)


def find_patterns(rows: Counts) -> tuple[Counts, NDArray[np.int64]]:
    """The distinct rows of a table of small counts, and which of them each row is.

    >>> patterns, place = find_patterns(np.array([[2, 0], [1, 1], [2, 0]]))
    >>> patterns.tolist(), place.tolist()
    ([[1, 1], [2, 0]], [1, 0, 1])
    """
    key = np.zeros(len(rows), dtype=np.int64)
    size = 1
    for column in rows.T:
        top = int(column.max(initial=0)) + 1
        if size * top > 2**62:
            key = np.unique(key, return_inverse=True)[1].astype(np.int64)
            size = int(key.max(initial=0)) + 1
        key = key * top + column
        size *= top
    _, first, place = np.unique(key, return_index=True, return_inverse=True)
    return rows[first], place.astype(np.int64)


def measure_overtaking(
    counts: Counts, leader: NDArray[np.int64], errors: Floats, strength: float, most: int
) -> Floats:
    """Rows by true labels: the chance that after `most` votes another label has as many votes as `leader`, or more.

    >>> even = np.array([[0.5, 0.5], [0.5, 0.5]])
    >>> measure_overtaking(np.array([[2, 0]]), np.array([0]), even, 1e9, 5).round(4).tolist()
    [[0.125, 0.125]]
    """
    chance = np.zeros((len(counts), errors.shape[1]))
    n = counts.sum(axis=1)
    for given in np.unique(n[n < most]).tolist():
        here = np.flatnonzero(n == given)
        votes = counts[here]
        places = np.arange(len(here))
        total = strength + given
        own = votes[places, leader[here]]
        alpha = strength * errors[leader[here]] + own[:, None]
        left = most - given
        whole = float(np.log(total + np.arange(left)).sum())
        rise = _rise(alpha, left)
        for label in range(counts.shape[1]):
            rival = strength * errors[label] + votes[:, label, None]
            rises = _rise(rival, left), _rise(np.maximum(total - alpha - rival, 1e-12), left)
            lacks = np.where(leader[here] == label, most + 1, own - votes[:, label])
            for more in range(left + 1):
                for gained in range(left - more + 1):
                    reaches = gained - more >= lacks
                    if not reaches.any():
                        continue
                    rest = left - more - gained
                    ways = math.lgamma(left + 1) - sum(
                        math.lgamma(part + 1) for part in (more, gained, rest)
                    )
                    logs = rise[more] + rises[0][gained] + rises[1][rest] + (ways - whole)
                    chance[here] += reaches[:, None] * np.exp(logs)
    return np.minimum(1.0, chance)


def _rise(alpha: Floats, upto: int) -> list[Floats]:
    """log alpha (alpha + 1) ... (alpha + x - 1) for x from 0 to `upto`."""
    rises = [np.zeros_like(alpha)]
    for step in range(upto):
        rises.append(rises[-1] + np.log(alpha + step))
    return rises


def _spread_evidence(patterns: Counts, errors: Floats, strength: float) -> Floats:
    """True labels by patterns: log DM of the counts less their log probability if all items were alike."""
    evidence = np.zeros((errors.shape[1], len(patterns)))
    if not patterns.size:
        return evidence
    n = patterns.sum(axis=1)
    for label, column in enumerate(patterns.T):
        for step in range(int(column.max())):
            own = np.log((strength * errors[label] + step) / (strength * errors[label]))
            evidence += np.where(column > step, own[:, None], 0.0)
    for step in range(int(n.max())):
        evidence -= np.where(n > step, math.log((strength + step) / strength), 0.0)
    return evidence


def _choose_strength(
    plain: Floats, patterns: Counts, place: NDArray[np.int64], errors: Floats
) -> float:
    """The strength under which the answers are most probable, leaning on what is expected."""

    def likelihood(strength: float) -> float:
        joint = plain + _spread_evidence(patterns, errors, strength)[:, place]
        off = math.log(strength / EXPECTED_STRENGTH) / math.log(STRENGTH_SPREAD)
        return float(np.logaddexp.reduce(joint, axis=0).sum()) - off**2 / 2

    return max(STRENGTHS, key=likelihood)


def _correlate(alone: Floats, shares: list[Floats], answered: Flags) -> float:
    """How far the errors of models go together, against the posterior of the persons."""
    wrong = []
    for share in shares:
        silent = share.sum(axis=1) == 0
        missed = 1 - (alone * share).sum(axis=1)
        wrong.append(np.where(silent | ~answered, np.nan, missed))
    return correlate_errors(wrong)
