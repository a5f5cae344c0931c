"""The interface of metrics: a pure function of gold and answers that can also recompute itself under weights.

Every interval and test resamples items, that is, puts whole-number weights on them. A metric therefore
returns an `Evaluation`: its value, the score of each item if it has one, and `under(weights)`, which gives the
value for many weightings at once from sufficient statistics, without running the metric again.

In a notebook, a metric is found by its name and called: `Metric("jsquad-f1")(answers, gold)`.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from importlib import import_module
from math import isnan
from typing import Any, ClassVar, Literal, NoReturn, Protocol, TypeVar, get_args

import msgspec
import numpy as np
from numpy.typing import NDArray

from nikawa.errors import BadInput, list_names, unknown
from nikawa.records import Prediction, Record, Span, Task, Unit
from nikawa.stats.resample import Resampleable, sum_groups
from nikawa.tables import ShownAsTables

Mode = Literal["official", "documented"]
Better = Literal["higher", "lower"]
T = TypeVar("T")
Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


Exchange = Callable[[NDArray[np.bool_]], tuple[Floats, Floats]]
"""Both systems' values for each row of items, True where the two answers are exchanged."""


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
        """The score of each item, if the metric has one."""

    @property
    def itemwise(self) -> bool:
        """Whether the metric is the mean of `detail`, so that an item has a score under it; an F1 is no such mean."""


@dataclass(frozen=True)
class Additive:
    """A metric that is a function of sums over items."""

    statistics: NDArray[Any]
    """Items by statistics; small whole numbers may take one byte each, their sums are floats."""
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
    """A metric that reads the items again for each weighting, such as a rank correlation."""

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
    """A substitute score per item for a metric that is not a mean over items, such as the squared error of a correlation."""

    name: str
    """As tables of items call it."""
    compute: Callable[[Items], list[float | None]]
    """One number per item; None where there is no answer."""
    better: Better


class ScoredItem(Record, frozen=True, kw_only=True):
    """One item under a metric."""

    id: str
    """The key of the item, or its place where gold was given as a list."""
    gold: Any
    answer: Any
    """None without an answer."""
    score: float | None
    """The score of the answer; None if the metric has no score per item."""


@dataclass(frozen=True, repr=False)
class MetricResult(ShownAsTables):
    """A metric of some answers: the value, and the score of each item."""

    metric: str
    value: float
    """A fraction or a plain number, as the metric computes it; NaN where it is not defined. `nikawa.score` reports the unit
    of the task's official scorer."""
    n: int
    """How many items there are."""
    mode: Mode
    items: tuple[ScoredItem, ...]
    unknown: tuple[str, ...] = ()
    """Ids of answers that are not in gold; they count nowhere."""

    main_table: ClassVar[str] = "items"

    @property
    def detail(self) -> list[float | None]:
        """The score of each item, in the order of gold."""
        return [item.score for item in self.items]

    def __float__(self) -> float:
        return self.value


class MetricsByName(type):
    """Lets `Metric(NAME)` find a registered metric; with a function to evaluate, it declares a new one."""

    def __call__(cls, name: str, *declared: Any, **fields: Any) -> Any:
        """The metric of that name, or a new one."""
        if not declared and not fields:
            # the package imports this file: its table can only be looked up when it is needed
            return import_module("nikawa.metrics").metrics()[name]
        if not declared and "evaluate" not in fields:
            raise TypeError(f"the metric {name!r} has no function to evaluate")
        return super().__call__(name, *declared, **fields)


def _declared_without_function(items: Items, mode: Mode) -> Evaluation:
    raise NotImplementedError  # `MetricsByName` lets no such metric be made


@dataclass(frozen=True)
class Metric(metaclass=MetricsByName):
    """A metric under its name, with everything general code must know about it.

    `Metric("accuracy")` is the registered metric of that name, ready to be called on answers and gold;
    `Metric("mine", evaluate, "What it says.")` declares a new one. No code outside this folder names a metric: what a
    caller has to treat differently is declared here.

    >>> result = Metric("macro-f1")(["yes", "no", "no"], ["yes", "yes", "no"])
    >>> round(result.value, 4), result.detail
    (0.6667, [1.0, 0.0, 1.0])
    """

    name: str
    evaluate: Callable[[Items, Mode], Evaluation] = _declared_without_function
    about: str = ""
    """One sentence for a person."""
    difference: str = ""
    """The difference of the official code from the paper; empty if they agree."""
    scaled: bool = True
    """Whether the value is a share that may be printed as percent."""
    better: Better = "higher"
    undefined: str = "There are no items to compute it from."
    """Why it may have no value."""
    kinds: tuple[str, ...] = field(default=())
    """The kinds of task it can score."""
    low: float = 0.0
    """The lowest possible value, as a fraction."""
    high: float = 1.0
    """The highest possible value, as a fraction; infinite without a bound."""
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
    exchange: Callable[[Items, Items], Exchange] | None = None
    """The values of two systems when some of their answers are exchanged, for a metric that is no function of sums: faster than to
    evaluate both again, and equal to it in the last digit. None: both are evaluated again."""
    item_form: ItemScore | None = None
    """The substitute score per item, if the metric is not a mean over items or is the mean of this score."""
    needs_inputs: tuple[str, ...] = ()
    """The inputs of the items that it looks at, such as the text whose characters it counts."""
    names_in_tools: Mapping[str, str] = field(default_factory=dict)
    """Tool of `nikawa data export --to` to its own name of the metric, if exports to the tool cannot bring a metric."""

    def __repr__(self) -> str:
        return f"Metric({self.name!r}): {self.about}"

    def __call__(
        self,
        answers: Any,
        gold: Any,
        *,
        labels: Sequence[Any] = (),
        inputs: Sequence[Mapping[str, Any]] = (),
        scores: Sequence[Mapping[str, float] | None] = (),
        mode: Mode = "official",
    ) -> MetricResult:
        """Compute the metric of some answers, with the score of each item.

        - `answers` and `gold` are lists or columns side by side, or mappings by id; `answers` may be a list of `Prediction` where
          gold is a mapping. None or NaN means no answer: it counts as wrong, or the metric skips it.
        - `labels` is the closed set of answers in its published order, where not every label occurs.
        - `inputs` and `scores` go item by item with gold. Few metrics need them: `needs_inputs` and `needs_scores`.

        Raises `BadInput` where an id of gold has no answer, or the values have not the shape of the metric's kind of task
        (docs/records.md). Answers with other ids are listed in `unknown` and count nowhere.

        >>> result = Metric("accuracy")({"1": "yes", "2": "no"}, {"1": "yes", "2": "yes"})
        >>> print(result)
        MetricResult: metric accuracy, value 0.5, n 2, mode official
        id  gold  answer  score
        1   yes   yes         1
        2   yes   no          0
        """
        if mode not in get_args(Mode):
            raise unknown("mode", mode, get_args(Mode))
        ids, right, given, others = match_by_id(answers, gold)
        items = Items(
            gold=[
                # a single gold answer need not be in a list
                [value] if "reading" in self.kinds and isinstance(value, str) else value
                for value in (convert_answer(value, self.kinds) for value in right)
            ],
            answers=[convert_answer(value, self.kinds) for value in given],
            inputs=tuple(inputs),
            labels=tuple(labels),
            scores=tuple(scores),
        )
        self._refuse_incomplete(items, ids)
        try:
            evaluation = self.evaluate(items, mode)
            detail = self._item_scores(items, evaluation)
        except (TypeError, ValueError, LookupError, AttributeError) as problem:
            what = f"gold or answers do not have the format that {self.name} needs"
            cure = f"see docs/records.md for the formats ({', '.join(self.kinds) or 'any kind'})"
            raise BadInput(f"{what} ({type(problem).__name__}: {problem})", cure=cure) from problem
        rows = zip(ids, items.gold, items.answers, detail, strict=True)
        return MetricResult(
            metric=self.name,
            value=float(evaluation.value),
            n=len(ids),
            mode=mode,
            items=tuple(ScoredItem(id=i, gold=g, answer=a, score=s) for i, g, a, s in rows),
            unknown=others,
        )

    def _refuse_incomplete(self, items: Items, ids: Sequence[str]) -> None:
        """Refuse gold that is blank, and inputs or scores that are needed and not there."""
        if not ids:
            raise BadInput("there are no items", cure="pass gold and answers")
        for name, value in zip(ids, items.gold, strict=True):
            if value is None:
                raise BadInput(f"item {name!r} has no gold", cure="remove it")
        for what, values in (("inputs", items.inputs), ("scores", items.scores)):
            if values and len(values) != len(ids):
                raise BadInput(f"{len(ids)} items, {len(values)} {what}", cure="pass one per item")
        missing = [name for name in self.needs_inputs if any(name not in i for i in items.inputs)]
        if self.needs_inputs and (missing or not items.inputs):
            names = list_names(missing or self.needs_inputs)
            cure = f"pass inputs=[{{{(missing or self.needs_inputs)[0]!r}: …}}, …]"
            raise BadInput(f"{self.name} needs the input {names} of each item", cure=cure)
        if self.needs_scores and not items.scores:
            cure = "pass scores=[{label: score, …}, …]"
            raise BadInput(f"{self.name} needs the scores of each answer", cure=cure)

    def _item_scores(self, items: Items, evaluation: Evaluation) -> list[float | None]:
        """A score for each item, where the metric or its item form gives one."""
        if evaluation.detail is None:
            no_scores: list[float | None] = [None] * len(items.gold)
            return no_scores if self.item_form is None else self.item_form.compute(items)
        detail = evaluation.detail.tolist()
        if len(detail) == len(items.gold):
            return list(detail)
        answered = iter(detail)  # of the answered items alone
        return [None if answer is None else next(answered) for answer in items.answers]

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


def match_by_id(answers: Any, gold: Any) -> tuple[list[str], list[Any], list[Any], tuple[str, ...]]:
    """Ids, gold and answers side by side, and the ids of answers that gold does not have.

    Without ids, items are matched by their places.
    """
    are_columns = isinstance(gold, Iterable) and isinstance(answers, Iterable)
    if not isinstance(gold, Mapping) or not are_columns:
        if isinstance(gold, str) or isinstance(answers, str | Mapping) or not are_columns:
            what = "gold and answers must be two lists, or two mappings by id"
            raise BadInput(what, cure="pass both in the same form")
        right, given = list(gold), list(answers)
        if len(right) != len(given):
            what = f"{len(right)} gold values, {len(given)} answers"
            raise BadInput(what, cure="pass one per item, and None for a missing answer")
        return [str(place) for place in range(len(right))], right, given, ()
    if not isinstance(answers, Mapping):
        rows = list(answers)
        if not all(isinstance(row, Prediction) for row in rows):
            what = "gold is a mapping by id, but the answers are not"
            raise BadInput(what, cure="pass a mapping by id, or a list of Prediction")
        if len({row.example for row in rows}) < len(rows):
            raise BadInput("an item has two answers", cure="pass one Prediction per item")
        answers = {row.example: row.answer for row in rows}
    by_id = {str(name): value for name, value in answers.items()}
    ids = [str(name) for name in gold]
    missing = [name for name in ids if name not in by_id]
    if missing:
        what = (
            f"{len(missing)} of {len(ids)} items have no answer, such as {list_names(missing[:3])}"
        )
        raise BadInput(what, cure="add them, or pass None for each missing answer")
    others = tuple(name for name in by_id if name not in set(ids))
    return ids, list(gold.values()), [by_id[name] for name in ids], others


def convert_answer(value: Any, kinds: Sequence[str]) -> Any:
    """A value in the shape that metrics take: Python's own numbers, None for a blank, spans as `Span`."""
    if isinstance(value, np.generic | np.ndarray):
        value = value.tolist()
    if value is None or (isinstance(value, float) and isnan(value)):
        return None
    if "tagging" in kinds and type(value) in (list, tuple):
        rows = (row if isinstance(row, Span) else msgspec.convert(row, Span) for row in value)
        try:
            return list(rows)
        except msgspec.ValidationError as problem:
            what = f"an answer is not a list of spans ({problem})"
            raise BadInput(what, cure="write a span as {start, end, label}") from None
    return value


def from_sums(
    statistics: NDArray[Any], finish: Callable[[Floats], Floats], detail: Floats | None = None
) -> Additive:
    """A metric that is a function of sums over items, with its value."""
    value = float(finish(statistics.sum(axis=0, dtype=np.float64)))
    return Additive(statistics, finish, value, detail)


def mean(detail: Floats) -> Additive:
    """A metric that is the mean of one score per item."""
    statistics = np.column_stack([detail, np.ones_like(detail)])
    if ((detail == 0) | (detail == 1)).all():
        statistics = statistics.astype(np.uint8)
    return Additive(
        statistics=statistics,
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
        raise BadInput("an item has no answer", cure="the official scorer needs one per item")
    return Items(gold, answers, labels=labels)


def golden_questions(case: Sequence[Mapping[str, Any]], key: str) -> Items:
    """The items of a golden case of questions, whose ids are under `key`; one without an answer is refused."""
    missing = [row[key] for row in case if row["prediction"] is None]
    if missing:
        cure = "the official scorer needs one per question"
        raise BadInput(f"there is no answer to {missing[0]}", cure=cure)
    return Items([row["answers"] for row in case], [row["prediction"] for row in case])


def refuse_no_items() -> NoReturn:
    """Refuse a case of no items, as scikit-learn does."""
    raise BadInput("there are no items", cure="the official scorer needs at least one")
