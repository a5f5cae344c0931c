r"""Strengths of things that were compared: Bradley-Terry with ties, and choices of the best and the worst.

Of two things (Bradley and Terry 1952, https://doi.org/10.2307/2334029; with ties Davidson 1970,
https://doi.org/10.1080/01621459.1970.10481082), up to a common factor:

.. math:: P(i) \propto e^{\theta_i}, \quad P(j) \propto e^{\theta_j}, \quad P(tie) \propto \nu e^{(\theta_i + \theta_j) / 2}

Of several, the best is chosen among all, then the worst among the rest (Marley and Louviere 2005,
https://doi.org/10.1016/j.jmp.2005.05.003):

.. math:: P(best = i) \propto e^{\theta_i}, \quad P(worst = j) \propto e^{-\theta_j}

Both are logits with utilities linear in the strengths and in :math:`\log \nu`, so the likelihood is concave; Newton's method
with halved steps finds its maximum. Strengths have mean 0.

Answers about one item depend on each other. A variance is the larger of two: that of the inverse information, and that of the
sandwich :math:`H^{-1} (\sum_c g_c g_c^T) H^{-1} C / (C - 1)` over the C items, :math:`g_c` being the gradient of item c (the
sandwich alone is too small where there are few items). Intervals are :math:`\theta \pm 1.96` standard errors.

A maximum exists only if, whichever way the things are split in two, each part won against the other (Ford 1957,
https://doi.org/10.2307/2308513); a tie is a win for both. With ties, :math:`\nu` can grow together with the strengths: there is
no maximum either if strengths exist in which every win has a gap of 1 at least, and every tie one of 1 at most (A won, A and B
tied, and B never won). Across a split without comparisons nothing can be estimated: `find_groups` finds it. Where strengths
would be infinite, each thing gets half a win and half a loss against a thing of strength 0. If all answers are ties, only
:math:`\nu` would be infinite, and nothing can be fitted.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from nikawa.stats.distributions import Z_95

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

MAX_STEPS = 100
TOLERANCE = 1e-10
"""The largest change of a strength in the last step."""
NO_PLACE = -1


@dataclass(frozen=True)
class Comparisons:
    """Items that show several things, and answers that name places of them."""

    things: int
    members: Ints
    """A row for each item: the numbers of its things, filled up with `NO_PLACE`."""
    item: Ints
    """The item of each answer."""
    best: Ints
    """The place of the best thing of each answer; `NO_PLACE` for a tie."""
    worst: Ints | None = None
    """The place of the worst thing; None where two things are compared."""

    def list_wins(self) -> tuple[Ints, Ints]:
        """Who won against whom in each answer; a tie is a win for both."""
        shown = self.members[self.item]
        winners: list[Ints] = []
        losers: list[Ints] = []
        width = shown.shape[1]
        for one in range(width):
            for other in range(width):
                if one == other:
                    continue
                if self.worst is None:
                    won = (self.best == one) | (self.best == NO_PLACE)
                else:
                    won = (self.best == one) | (self.worst == other)
                won &= (shown[:, one] >= 0) & (shown[:, other] >= 0)
                winners.append(shown[won, one])
                losers.append(shown[won, other])
        return np.concatenate(winners), np.concatenate(losers)


@dataclass(frozen=True)
class Strengths:
    """Fitted strengths."""

    values: Floats
    covariances: tuple[Floats, ...]
    """By the information, and by the sandwich where there are two items at least."""
    ties: float | None
    """Davidson's ν; None where there are no ties."""
    likelihood: float
    """Its logarithm."""
    is_held: bool
    """Whether each thing got half a win and half a loss, as there was no maximum."""

    @property
    def errors(self) -> Floats:
        """Standard errors."""
        return self._largest([np.diag(one) for one in self.covariances])

    @property
    def errors_of_differences(self) -> Floats:
        """Standard errors of the difference of each pair."""
        variances = [np.diag(one)[:, None] + np.diag(one) - 2 * one for one in self.covariances]
        return self._largest(variances)

    def _largest(self, variances: Sequence[Floats]) -> Floats:
        largest: Floats = np.sqrt(np.maximum(np.max(np.stack(variances), axis=0), 0))
        return largest

    def intervals(self) -> tuple[Floats, Floats]:
        """The ends of the 95% intervals."""
        return self.values - Z_95 * self.errors, self.values + Z_95 * self.errors

    def win_share(self) -> Floats:
        """The share of wins each thing is expected to have against all others, a tie being half a win."""
        gap = self.values[:, None] - self.values
        tie = (self.ties or 0.0) * np.exp(-np.abs(gap) / 2)
        ahead = np.where(gap >= 0, 1.0, np.exp(-np.abs(gap)))
        behind = np.where(gap >= 0, np.exp(-np.abs(gap)), 1.0)
        chance = (ahead + tie / 2) / (ahead + behind + tie)
        np.fill_diagonal(chance, 0)
        share: Floats = chance.sum(axis=1) / max(1, len(self.values) - 1)
        return share


def find_groups(things: int, wins: tuple[Ints, Ints]) -> list[list[int]]:
    """The things that comparisons connect, group by group.

    >>> find_groups(4, (np.array([0, 2]), np.array([1, 3])))
    [[0, 1], [2, 3]]
    """
    roots = list(range(things))

    def find_root(one: int) -> int:
        while roots[one] != one:
            roots[one] = roots[roots[one]]
            one = roots[one]
        return one

    for one, other in set(zip(wins[0].tolist(), wins[1].tolist(), strict=True)):
        roots[find_root(one)] = find_root(other)
    groups: dict[int, list[int]] = {}
    for one in range(things):
        groups.setdefault(find_root(one), []).append(one)
    return list(groups.values())


def has_maximum(things: int, wins: tuple[Ints, Ints]) -> bool:
    """Whether steps from winners to losers lead from each thing to each other.

    >>> has_maximum(2, (np.array([0, 1]), np.array([1, 0]))), has_maximum(2, (np.array([0]), np.array([1])))
    (True, False)
    """
    winners, losers = (ends.tolist() for ends in wins)
    for starts, ends in ((winners, losers), (losers, winners)):
        beaten: list[set[int]] = [set() for _ in range(things)]
        for start, end in zip(starts, ends, strict=True):
            beaten[start].add(end)
        reached, queue = {0}, [0]
        while queue:
            new = beaten[queue.pop()] - reached
            reached |= new
            queue.extend(new)
        if len(reached) < things:
            return False
    return True


def can_ties_grow(comparisons: Comparisons) -> bool:
    """Whether strengths exist in which every win has a gap of 1 at least, and every tie one of 1 at most.

    These are constraints on differences: they can be met unless a cycle of steps, -1 for a win and 1 for a tie, is negative
    (Bellman and Ford).

    >>> [
    ...     can_ties_grow(Comparisons(2, np.array([[0, 1]]), np.array([0, 0]), np.array(best)))
    ...     for best in ([0, NO_PLACE], [0, 1])
    ... ]
    [True, False]
    """
    shown = comparisons.members[comparisons.item]
    is_tie = comparisons.best == NO_PLACE
    rows, best = np.flatnonzero(~is_tie), comparisons.best[~is_tie]
    wins = np.column_stack([shown[rows, best], shown[rows, 1 - best]])
    ties = shown[is_tie]
    wins = np.unique(wins, axis=0)
    steps = np.unique(np.concatenate([wins, ties, ties[:, ::-1]]), axis=0)
    is_win = np.zeros((comparisons.things, comparisons.things), dtype=bool)
    is_win[wins[:, 0], wins[:, 1]] = True
    if (is_win & is_win.T).any():
        return False
    start, end = steps.T
    cost = np.where(is_win[start, end], -1, 1)  # a pair with a win and a tie has both steps
    level = np.zeros(comparisons.things, dtype=np.int64)
    for _ in range(comparisons.things + 1):  # no path without a cycle is longer
        new = level.copy()
        np.minimum.at(new, end, level[start] + cost)
        if (new == level).all():
            return True
        level = new
    return False


@dataclass(frozen=True)
class _Slopes:
    """What one choice of each answer adds: by answer the logarithm of the likelihood, its gradient and the information.

    Gradients are about the coordinates of the item: the places of its things, and log ν.
    """

    likelihood: Floats
    gradient: Floats
    information: Floats


def _choose(
    features: Floats, utilities: Floats, is_offered: NDArray[np.bool_], chosen: Ints
) -> _Slopes:
    """The logit of one choice: `features` has a row for each alternative, `utilities` one for each answer."""
    logits = np.where(is_offered, utilities @ features.T, -np.inf)
    logits -= logits.max(axis=1, keepdims=True)
    shares = np.exp(logits)
    total = shares.sum(axis=1, keepdims=True)
    shares /= total
    rows = np.arange(len(chosen))
    expected = shares @ features
    gradient = features[chosen] - expected
    spread = np.einsum("na,ai,aj->nij", shares, features, features, optimize=True)
    information = spread - expected[:, :, None] * expected[:, None, :]
    return _Slopes(logits[rows, chosen] - np.log(total[:, 0]), gradient, information)


def fit_strengths(comparisons: Comparisons, *, hold: bool | None = None) -> Strengths:
    """The strengths of things that are one group; `hold` adds half a win and half a loss to each, by default where needed."""
    things, width = comparisons.things, comparisons.members.shape[1]
    has_ties = comparisons.worst is None and bool((comparisons.best == NO_PLACE).any())
    if hold is None:
        hold = not has_maximum(things, comparisons.list_wins())
        hold = hold or (has_ties and can_ties_grow(comparisons))
    # coordinates of an item: its places, then log ν; a place without a thing is a coordinate that is dropped
    places = np.where(comparisons.members >= 0, comparisons.members, things + 1)
    index = np.column_stack([places, np.full(len(places), things)])[comparisons.item]
    is_shown = (comparisons.members >= 0)[comparisons.item]
    steps = _steps_of_pairs if comparisons.worst is None else _steps_of_choices

    def slopes(point: Floats) -> tuple[float, Floats, Floats, Floats]:
        utilities = np.append(point, 0.0)[index]
        parts = steps(comparisons, utilities, is_shown, width, has_ties)
        by_answer = np.sum([part.gradient for part in parts], axis=0)
        gradient = np.zeros(things + 2)
        np.add.at(gradient, index, by_answer)
        information = np.zeros((things + 2, things + 2))
        added = np.sum([part.information for part in parts], axis=0)
        np.add.at(information, (index[:, :, None], index[:, None, :]), added)
        likelihood = float(sum(part.likelihood.sum() for part in parts))
        if hold:
            win = 1 / (1 + np.exp(-point[:things]))
            likelihood += float((np.log(win) + np.log1p(-win)).sum() / 2)
            gradient[:things] += 0.5 - win
            information[np.arange(things), np.arange(things)] += win * (1 - win)
        return likelihood, gradient, information, by_answer

    size = things + has_ties  # log ν is a coordinate only where there are ties
    point, by_answer, inverse, likelihood = _climb(slopes, things, size)
    covariances = [inverse]
    items = len(comparisons.members)
    if items > 1:
        by_item = np.zeros((items, width + 1))
        np.add.at(by_item, comparisons.item, by_answer)
        slots = np.column_stack([places, np.full(len(places), things)])
        meat = np.zeros((things + 2, things + 2))
        products = by_item[:, :, None] * by_item[:, None, :]
        np.add.at(meat, (slots[:, :, None], slots[:, None, :]), products)
        covariances.append(inverse @ meat[:size, :size] @ inverse * items / (items - 1))
    centre = np.eye(things) - 1 / things
    return Strengths(
        values=point[:things] - point[:things].mean(),
        covariances=tuple(centre @ one[:things, :things] @ centre for one in covariances),
        ties=float(np.exp(point[things])) if has_ties else None,
        likelihood=likelihood,
        is_held=hold,
    )


def _steps_of_pairs(
    comparisons: Comparisons,
    utilities: Floats,
    is_shown: NDArray[np.bool_],
    width: int,
    has_ties: bool,
) -> list[_Slopes]:
    """One choice between two things and, where there are ties, a tie."""
    features = np.array([[1.0, 0, 0], [0, 1, 0], [0.5, 0.5, 1]])
    is_offered = np.tile([True, True, has_ties], (len(utilities), 1))
    chosen = np.where(comparisons.best == NO_PLACE, 2, comparisons.best)
    return [_choose(features, utilities, is_offered, chosen)]


def _steps_of_choices(
    comparisons: Comparisons,
    utilities: Floats,
    is_shown: NDArray[np.bool_],
    width: int,
    has_ties: bool,
) -> list[_Slopes]:
    """The best of all things that are shown, then the worst of the others."""
    assert comparisons.worst is not None
    features = np.column_stack([np.eye(width), np.zeros(width)])
    rest = is_shown.copy()
    rest[np.arange(len(rest)), comparisons.best] = False
    return [
        _choose(features, utilities, is_shown, comparisons.best),
        _choose(-features, utilities, rest, comparisons.worst),
    ]


def _climb(
    slopes: Callable[[Floats], tuple[float, Floats, Floats, Floats]], things: int, size: int
) -> tuple[Floats, Floats, Floats, float]:
    """Newton's method from 0: the maximum, the gradient of each answer there, the inverse information, the likelihood."""
    point: Floats = np.zeros(things + 1)
    likelihood, gradient, information, by_answer = slopes(point)
    mean = np.zeros((size, size))
    mean[:things, :things] = 1 / things  # fixes the mean, which the likelihood does not depend on
    for _ in range(MAX_STEPS):
        step = np.linalg.solve(information[:size, :size] + mean, gradient[:size])
        while True:
            new = point.copy()
            new[:size] += step
            result = slopes(new)
            if (
                result[0] >= likelihood - 1e-9 * max(1.0, abs(likelihood))
                or np.abs(step).max() < TOLERANCE
            ):
                break
            step = step / 2
        point = new
        likelihood, gradient, information, by_answer = result
        if np.abs(step).max() < TOLERANCE:
            break
    inverse = np.linalg.inv(information[:size, :size] + mean).astype(np.float64)
    return point, by_answer, inverse, likelihood
