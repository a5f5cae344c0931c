"""What a metric is: a pure function of gold and answers that also says how to recompute itself under weights.

Every interval and test resamples items, that is, puts whole-number weights on them. A metric therefore
returns an `Evaluation`: its value, how right each item was where it can say, and `under(weights)`, which gives the
value for many weightings at once from sufficient statistics, without running the metric again.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal, NoReturn, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from nikawa.errors import BadInput
from nikawa.records import Task, Unit
from nikawa.stats.resample import Resampleable, sum_groups

Mode = Literal["official", "documented"]
Better = Literal["higher", "lower"]
T = TypeVar("T")
Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Items:
    """The answered items of one task, side by side."""

    gold: Sequence[Any]
    answers: Sequence[Any]
    """One an item, in the shape of its kind; None where there was none that could be read."""
    inputs: Sequence[Mapping[str, Any]] = ()
    """The items' inputs, for metrics that look at the text."""
    labels: Sequence[Any] = ()
    """The task's closed set of answers, in its published order."""
    scores: Sequence[Mapping[str, float] | None] = ()
    """Scores by label, for metrics that rank."""

    def take(self, places: Sequence[int], labels: Sequence[Any] | None = None) -> Items:
        """The items at some places, in that order; with `labels`, under another closed set of answers."""

        def pick(values: Sequence[Any]) -> list[Any]:
            return [values[i] for i in places] if values else []

        return Items(
            gold=pick(self.gold),
            answers=pick(self.answers),
            inputs=pick(self.inputs),
            labels=self.labels if labels is None else labels,
            scores=pick(self.scores),
        )

    @cached_property
    def _computed(self) -> dict[Any, Any]:
        return {}

    def compute_once(self, compute: Callable[..., T], *options: Hashable) -> T:
        """`compute(self, *options)`, done once for all the metrics that need it.

        Exact match and F1 of an answer, say, compare the same normalised texts.
        """
        key = (compute, *options)
        if key not in self._computed:
            self._computed[key] = compute(self, *options)
        result: T = self._computed[key]
        return result


class Evaluation(Resampleable, Protocol):
    """A metric applied to items; its `value` is a fraction or a plain number."""

    @property
    def detail(self) -> Floats | None:
        """How right each item was, where the metric can say."""

    @property
    def itemwise(self) -> bool:
        """Whether the metric is the mean of `detail`, so that an item has a score under it; an F1 is no such mean."""


@dataclass(frozen=True)
class Additive:
    """A metric that is a function of sums over items."""

    statistics: Floats
    """Items by statistics."""
    finish: Callable[[Floats], Floats]
    """The metric from summed statistics; works on the last axis, so on many sums at once."""
    value: float
    """Computed as the reference computes it, for the last digit."""
    detail: Floats | None = None
    itemwise: bool = False

    def under(self, weights: Floats) -> Floats:
        """The metric for each row of item weights."""
        return self.finish(weights @ self.statistics)

    def grouped(self, groups: Ints) -> Additive:
        """Sum the statistics of each group first."""
        if not len(groups):
            return Additive(self.statistics, self.finish, self.value)
        return Additive(sum_groups(self.statistics, groups), self.finish, self.value)


@dataclass(frozen=True)
class Weighted:
    """A metric that must see the items anew for each weighting, such as a rank correlation."""

    weigh: Callable[[Floats], Floats]
    value: float
    detail: Floats | None = None
    groups: Ints | None = None
    itemwise: bool = False

    def under(self, weights: Floats) -> Floats:
        """The metric for each row of weights, spread from groups to items where there are groups."""
        return self.weigh(weights if self.groups is None else weights[:, self.groups])

    def grouped(self, groups: Ints) -> Weighted:
        """Keep the items, remember whose weight each takes."""
        return Weighted(self.weigh, self.value, None, groups)


@dataclass(frozen=True)
class ItemScore:
    """A score an item that stands in where a metric is no mean over items, such as the squared error of a correlation."""

    name: str
    """As tables of items call it."""
    compute: Callable[[Items], list[float | None]]
    """One number an item; None where there is no answer."""
    better: Better


@dataclass(frozen=True)
class Metric:
    """A metric under its name, with everything general code must know about it.

    No code outside this folder names a metric: what a caller has to treat differently is declared here.
    """

    name: str
    evaluate: Callable[[Items, Mode], Evaluation]
    about: str
    """One sentence for a person."""
    difference: str = ""
    """How the official code departs from what the paper says; empty where they agree."""
    scaled: bool = True
    """Whether the value is a share that may be printed as percent."""
    better: Better = "higher"
    undefined: str = "There is nothing to compute it from."
    """Why it may have no value."""
    kinds: tuple[str, ...] = field(default=())
    """The kinds of task it can score."""
    low: float = 0.0
    """The lowest possible value, as a fraction."""
    high: float = 1.0
    """The highest possible value, as a fraction; infinite where there is no bound."""
    slow: bool = False
    """Whether it takes long under weights, so that fewer resamples must do."""
    needs_scores: bool = False
    """Whether it ranks by the scores that answers carry; where they carry none, it is left out of a task's own metrics."""
    skips_unanswered: bool = False
    """Whether it is over the answered items alone. Otherwise an item without an answer counts as wrong."""
    balances_classes: bool = False
    """Whether a rare class counts as much as a frequent one."""
    standardise: Callable[[Sequence[float]], list[float]] | None = None
    """Answers without what the metric does not see: their scale, or all but their order. None where it sees everything.

    Two systems may only exchange answers in this form: a correlation is the same for answers of 1 to 5 and of 10 to 50,
    but not for a mixture of the two.
    """
    item_form: ItemScore | None = None
    """What stands for a score an item, where the metric is no mean over items or is the mean of just this."""

    @property
    def modes(self) -> tuple[Mode, ...]:
        """Both modes where they differ, else the official one."""
        return ("official", "documented") if self.difference else ("official",)

    def unit(self, task: Task) -> Unit:
        """What the official scorer of a task reports the metric in."""
        return task.unit if self.scaled else "fraction"

    def scale(self, task: Task) -> float:
        """What a value is multiplied by to be in `unit`: 100 for percent."""
        return 100.0 if self.unit(task) == "percent" else 1.0


def from_sums(
    statistics: Floats, finish: Callable[[Floats], Floats], detail: Floats | None = None
) -> Additive:
    """A metric that is a function of sums over items, with its value."""
    return Additive(statistics, finish, float(finish(statistics.sum(axis=0))), detail)


def mean(detail: Floats) -> Additive:
    """A metric that is the mean of a score an item."""
    return Additive(
        statistics=np.column_stack([detail, np.ones_like(detail)]),
        finish=lambda sums: ratio(sums[..., 0], sums[..., 1], np.nan),
        value=float(detail.mean()) if len(detail) else float("nan"),
        detail=detail,
        itemwise=True,
    )


def ratio(top: Floats, bottom: Floats, undefined: float = 0.0) -> Floats:
    """`top / bottom`, and `undefined` where the bottom is 0."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(bottom == 0, undefined, top / np.where(bottom == 0, 1, bottom))


def f1(hits: Floats, answered: Floats, wanted: Floats, undefined: float = 0.0) -> Floats:
    """F1 from counts; `undefined` where nothing was answered nor wanted."""
    return ratio(2 * hits, answered + wanted, undefined)


def f1_of_item(shared: int, answered: int, wanted: int) -> float:
    """F1 of one answer, from how much it shares with gold; 0 where nothing is shared.

    By way of precision and recall, as the references compute it: the last digit depends on the way.
    """
    if not shared:
        return 0.0
    precision, recall = shared / answered, shared / wanted
    return 2 * precision * recall / (precision + recall)


def encode_labels(values: Sequence[Any], labels: Sequence[Any]) -> Ints:
    """Position of each value in `labels`; -1 for what is not there, None among it."""
    place = {label: i for i, label in enumerate(labels)}
    return np.fromiter((place.get(value, -1) for value in values), np.int64, len(values))


def golden_items(case: Mapping[str, Sequence[Any]], labels: Sequence[Any] = ()) -> Items:
    """The items of a golden case of gold and predictions; what scikit-learn refuses is refused."""
    gold, answers = case["gold"], case["pred"]
    if not gold:
        refuse_no_items()
    if len(gold) != len(answers) or any(answer is None for answer in answers):
        raise BadInput("gold without an answer", cure="the official scorer needs one an item")
    return Items(gold, answers, labels=labels)


def golden_questions(case: Sequence[Mapping[str, Any]], key: str) -> Items:
    """The items of a golden case of questions, whose ids are under `key`; one without an answer is refused."""
    missing = [row[key] for row in case if row["prediction"] is None]
    if missing:
        cure = "the official scorer needs one a question"
        raise BadInput(f"no answer to {missing[0]}", cure=cure)
    return Items([row["answers"] for row in case], [row["prediction"] for row in case])


def refuse_no_items() -> NoReturn:
    """Refuse a case of no items, as scikit-learn does."""
    raise BadInput("there are no items", cure="the official scorer needs at least one")
