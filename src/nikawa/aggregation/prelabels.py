"""Anchoring: what it does to workers that a machine's answer is filled in before they answer.

Chance decided whether a page was filled in (`Judgement.prelabel`), so the difference between both kinds of answers is the
effect of filling in, and not of which items or workers they were. The estimates are

    agreement   mean closeness of the worker's and the machine's answer, filled in less not filled in
    persons     mean closeness of two workers' answers to an item, both filled in less neither
    time        geometric mean of the seconds, filled in over not filled in

with percentile intervals of a bootstrap over items, so they hold for these workers and for further items of the kind. A
machine that is often right also agrees with who does not see its answer: agreement alone says nothing, its difference does.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import combinations
from typing import Any, ClassVar

import msgspec
import numpy as np
from numpy.typing import NDArray

from nikawa.errors import list_names
from nikawa.records import Judgement, Record, is_person
from nikawa.stats.resample import draw_units
from nikawa.stats.results import LEAST_UNITS
from nikawa.tables import ShownAsTables

Floats = NDArray[np.float64]
CONTROL = "control"
"""The machine of a control item's wrong answer."""
RESAMPLES = 1000
MAX_PAIRS_PER_ITEM = 1000
"""Pairs of workers of an item that are compared."""


def fold_answer(answer: Any, *, is_ranking: bool = False) -> Any:
    """An answer such that two that say the same are equal: numbers by value, marks and other parts in any order, and so labels,
    unless they are a ranking.
    """
    if isinstance(answer, str | int | float):
        return answer
    plain = list_parts(msgspec.to_builtins(answer))
    is_set = _has_parts(plain) or (_is_texts(plain) and not is_ranking)
    return sorted(map(_encode, plain)) if is_set else plain


def list_parts(plain: Any) -> Any:
    """A tree as a list with place, head and relation of each word, and the states of a dialogue as one with turn and entry;
    anything else as it is.

    >>> list_parts({"heads": [2, 0], "labels": ["NP", "VP"]})
    [[1, 2, 'NP'], [2, 0, 'VP']]
    >>> list_parts([["hotel-area-east"], ["hotel-area-east", "hotel-parking-yes"]])
    [[1, 'hotel-area-east'], [2, 'hotel-area-east'], [2, 'hotel-parking-yes']]
    """
    if isinstance(plain, list | tuple) and plain and all(map(_is_texts, plain)):
        return [[turn, entry] for turn, state in enumerate(plain, start=1) for entry in state]
    if not isinstance(plain, dict) or plain.keys() != {"heads", "labels"}:
        return plain
    rows = zip(plain["heads"], plain["labels"], strict=False)
    return [[place, head, label] for place, (head, label) in enumerate(rows, start=1)]


def _is_texts(plain: Any) -> bool:
    return isinstance(plain, list | tuple) and all(isinstance(part, str) for part in plain)


def _encode(part: Any) -> str:
    return msgspec.json.encode(part, order="deterministic").decode()


def is_same_answer(one: Any, other: Any, *, is_ranking: bool = False) -> bool:
    """Whether two answers say the same, whatever the order of their labels or spans or how a number is written.

    >>> is_same_answer(4, 4.0), is_same_answer("4", 4), is_same_answer(["joy", "fear"], ["fear", "joy"])
    (True, False, True)
    """
    return bool(
        fold_answer(one, is_ranking=is_ranking) == fold_answer(other, is_ranking=is_ranking)
    )


def compare_answers(one: Any, other: Any, *, is_ranking: bool = False) -> float:
    """How close two answers are: of lists of spans or other parts the F1 of those they share, of trees the share of words
    with the same arc, else 1 for the same.

    >>> compare_answers([{"start": 0, "end": 2}], [{"end": 2, "start": 0}, {"start": 3, "end": 4}]) < 1
    True
    """
    first, second = (fold_answer(answer, is_ranking=is_ranking) for answer in (one, other))
    if first == second:
        return 1.0
    if _has_parts(one) or _has_parts(other):
        shared = sum((Counter(map(str, first)) & Counter(map(str, second))).values())
        return 2 * shared / (len(first) + len(second))
    return 0.0


def _has_parts(answer: Any) -> bool:
    """Whether an answer is a list of spans or other records, whose order does not matter."""
    if isinstance(answer, str | int | float):
        return False
    plain = list_parts(msgspec.to_builtins(answer))
    return isinstance(plain, list | tuple) and any(isinstance(part, dict | list) for part in plain)


def has_rankings(answers: Iterable[Any]) -> bool:
    """Whether lists of labels are rankings: two have the same labels in another order. A page of check boxes has one order.

    >>> has_rankings([["a", "b"], ["b", "a"]]), has_rankings([["a", "b"], ["b", "c"]])
    (True, False)
    """
    pairs = {pair for answer in answers if _is_texts(answer) for pair in combinations(answer, 2)}
    return any((second, first) in pairs for first, second in pairs if first != second)


class Estimate(Record, frozen=True, kw_only=True):
    """A number with its 95% interval; None where nothing can be said."""

    value: float | None
    low: float | None = None
    high: float | None = None


class PrelabelReport(ShownAsTables, Record, frozen=True, kw_only=True):
    """The answers with and without a machine's answer filled in, and what filling in changes."""

    headline_fields: ClassVar[tuple[str, ...]] = ("question", "shown", "withheld", "effect")

    question: str
    machines: tuple[str, ...]
    """Whose answers were filled in."""
    items: int
    workers: int
    shown: int
    """Answers of workers whose page was filled in."""
    withheld: int
    """Answers of workers to items that could have been filled in, and were not."""
    unit: str
    """What agreement is measured by: `equal answers`, or `F1` of spans and other parts."""
    changed: Estimate
    """The share of the answers filled in that workers changed."""
    agreement_shown: Estimate
    """Of workers with the machine, where they saw its answer."""
    agreement_withheld: Estimate
    """Of workers with the machine, where they did not."""
    effect: Estimate
    """The difference of the two: the effect of anchoring on agreement with the machine."""
    persons_shown: Estimate
    """Of two workers with each other, where both saw the machine's answer."""
    persons_withheld: Estimate
    """Of two workers with each other, where neither did."""
    persons_effect: Estimate
    seconds_shown: float | None
    """The geometric mean."""
    seconds_withheld: float | None
    time_ratio: Estimate
    """Time with the machine's answer filled in over time without."""
    control: dict[str, int] = msgspec.field(default_factory=dict)
    """Of control items: `shown` with a wrong answer, of which `accepted` as it was; `withheld`, of which `same` gave it anyway."""
    verdict: str = ""
    """A paragraph that a paper can quote."""


def measure_prelabels(
    judgements: Iterable[Judgement],
    question: str | None = None,
    *,
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> PrelabelReport | None:
    """What pre-labels did to the answers to a question; None where no person's answer could have come with one.

    Without a `question` it is the first that is answered. Answers to control items are only counted apart.
    """
    rows = [one for one in judgements if one.prelabel is not None and is_person(one)]
    rows = [one for one in rows if question in (None, one.question) and one.answer is not None]
    if not rows:
        return None
    question = question or rows[0].question
    rows = [one for one in rows if one.question == question]
    control = count_control(rows)
    rows = [one for one in rows if one.prelabel is not None and one.prelabel.worker != CONTROL]
    if not rows:
        return None
    sums = sum_by_item(rows)
    draws = _Draws(sums, resamples, seed)
    shown, withheld = int(sums[:, _SHOWN].sum()), int(sums[:, _WITHHELD].sum())
    seconds = [draws.ratio(_LOG_SHOWN, _TIMED_SHOWN), draws.ratio(_LOG_WITHHELD, _TIMED_WITHHELD)]
    report = PrelabelReport(
        question=question,
        machines=tuple(sorted({one.prelabel.worker for one in rows if one.prelabel is not None})),
        items=len(sums),
        workers=len({one.worker for one in rows}),
        shown=shown,
        withheld=withheld,
        unit="F1" if any(_has_parts(one.answer) for one in rows) else "equal answers",
        changed=draws.estimate(draws.ratio(_CHANGED, _SHOWN)),
        agreement_shown=draws.estimate(draws.ratio(_CLOSE_SHOWN, _SHOWN)),
        agreement_withheld=draws.estimate(draws.ratio(_CLOSE_WITHHELD, _WITHHELD)),
        effect=draws.estimate(
            draws.ratio(_CLOSE_SHOWN, _SHOWN) - draws.ratio(_CLOSE_WITHHELD, _WITHHELD)
        ),
        persons_shown=draws.estimate(draws.ratio(_ALIKE_SHOWN, _PAIRS_SHOWN)),
        persons_withheld=draws.estimate(draws.ratio(_ALIKE_WITHHELD, _PAIRS_WITHHELD)),
        persons_effect=draws.estimate(
            draws.ratio(_ALIKE_SHOWN, _PAIRS_SHOWN) - draws.ratio(_ALIKE_WITHHELD, _PAIRS_WITHHELD)
        ),
        seconds_shown=_number(math.exp(seconds[0][0])),
        seconds_withheld=_number(math.exp(seconds[1][0])),
        time_ratio=draws.estimate(np.exp(seconds[0] - seconds[1])),
        control=control,
    )
    return msgspec.structs.replace(report, verdict=write_verdict(report))


def count_control(rows: Sequence[Judgement]) -> dict[str, int]:
    """Of control items, how often the wrong answer that was filled in was accepted, and given by who did not see it."""
    counts: Counter[str] = Counter()
    is_ranking = has_rankings(row.answer for row in rows)
    for row in rows:
        prelabel = row.prelabel
        if prelabel is None or prelabel.worker != CONTROL:
            continue
        is_same = is_same_answer(row.answer, prelabel.answer, is_ranking=is_ranking)
        counts["shown" if prelabel.shown else "withheld"] += 1
        counts["accepted" if prelabel.shown else "same"] += is_same
    names = ("shown", "accepted", "withheld", "same")
    return {name: counts[name] for name in names} if counts else {}


(
    _SHOWN, _CLOSE_SHOWN, _CHANGED, _WITHHELD, _CLOSE_WITHHELD,
    _PAIRS_SHOWN, _ALIKE_SHOWN, _PAIRS_WITHHELD, _ALIKE_WITHHELD,
    _TIMED_SHOWN, _LOG_SHOWN, _TIMED_WITHHELD, _LOG_WITHHELD, _COLUMNS,
) = range(14)  # fmt: skip


def sum_by_item(rows: Sequence[Judgement]) -> Floats:
    """A row of sums for each item: answers, closeness to the machine, pairs of workers, log seconds; by shown or not."""
    by_item: dict[str, list[Judgement]] = {}
    for row in rows:
        by_item.setdefault(row.example, []).append(row)
    sums = np.zeros((len(by_item), _COLUMNS))
    is_ranking = has_rankings(row.answer for row in rows)
    for place, answers in enumerate(by_item.values()):
        line = sums[place]
        sides: dict[bool, list[Judgement]] = {True: [], False: []}
        for row in answers:
            assert row.prelabel is not None
            shown = row.prelabel.shown
            sides[shown].append(row)
            close = compare_answers(row.answer, row.prelabel.answer, is_ranking=is_ranking)
            line[_SHOWN if shown else _WITHHELD] += 1
            line[_CLOSE_SHOWN if shown else _CLOSE_WITHHELD] += close
            if shown:
                line[_CHANGED] += (
                    close < 1 or row.prelabel.changed
                )  # the export knows what a ranking is
            if row.seconds is not None and row.seconds > 0:
                line[_TIMED_SHOWN if shown else _TIMED_WITHHELD] += 1
                line[_LOG_SHOWN if shown else _LOG_WITHHELD] += math.log(row.seconds)
        for shown, side in sides.items():
            pairs = list(combinations(side, 2))[:MAX_PAIRS_PER_ITEM]
            line[_PAIRS_SHOWN if shown else _PAIRS_WITHHELD] += len(pairs)
            line[_ALIKE_SHOWN if shown else _ALIKE_WITHHELD] += sum(
                compare_answers(one.answer, other.answer, is_ranking=is_ranking)
                for one, other in pairs
            )
    return sums


class _Draws:
    """The sums over all items, and over the items of each resample: one row each, the first of all items."""

    def __init__(self, sums: Floats, resamples: int, seed: int) -> None:
        self.has_interval = len(sums) >= LEAST_UNITS
        blocks = [sums.sum(axis=0, keepdims=True)]
        if self.has_interval:
            blocks += [sums[drawn].sum(axis=1) for drawn in draw_units(len(sums), resamples, seed)]
        self.sums: Floats = np.concatenate(blocks)

    def ratio(self, part: int, whole: int) -> Floats:
        """One sum over another; NaN where that is 0."""
        below = self.sums[:, whole]
        ratios: Floats = np.divide(
            self.sums[:, part], below, out=np.full(len(below), np.nan), where=below > 0
        )
        return ratios

    def estimate(self, values: Floats) -> Estimate:
        """The value of all items, with the interval of the resamples."""
        value = _number(float(values[0]))
        drawn = values[1:][np.isfinite(values[1:])]
        if value is None or len(drawn) < len(values[1:]) / 2 or not len(drawn):
            return Estimate(value=value)
        low, high = np.quantile(drawn, (0.025, 0.975)).tolist()
        return Estimate(value=value, low=low, high=high)


def _number(value: float) -> float | None:
    return value if math.isfinite(value) else None


def write_verdict(report: PrelabelReport) -> str:
    """What a paper can quote: the design, the effect with its interval, the agreement of workers, time."""
    total = report.shown + report.withheld
    sentences = [
        f"The answer of {list_names(report.machines)} was filled in at random in {report.shown:,} of {total:,} answers"
        f" of {report.workers:,} workers to {report.items:,} items"
        + (
            "."
            if report.changed.value is None
            else f"; workers changed {_percent(report.changed)} of them."
        )
    ]
    if report.effect.value is not None:
        sentences.append(
            f"They agreed with the machine in {_percent(report.agreement_shown)} of the answers with and"
            f" {_percent(report.agreement_withheld)} without it"
            + (" (F1)" if report.unit == "F1" else "")
            + f", so filling in changed their agreement with the machine by {_points(report.effect)}."
        )
        sentences.append(_judge_effect(report.effect))
    if report.persons_effect.value is not None:
        sentences.append(
            f"Two workers agreed with each other in {_percent(report.persons_shown)} of the pairs where both saw the"
            f" machine's answer and {_percent(report.persons_withheld)} where neither did: a difference of"
            f" {_points(report.persons_effect)}."
        )
    if report.time_ratio.value is not None:
        ratio = report.time_ratio
        interval = (
            "" if ratio.low is None else f" (95% interval {ratio.low:.2f} to {ratio.high:.2f})"
        )
        sentences.append(
            f"An answer took {report.seconds_shown:.1f} s with and {report.seconds_withheld:.1f} s without"
            f" (geometric means; ratio {ratio.value:.2f}{interval})."
        )
    if report.control.get("shown"):
        control = report.control
        sentences.append(
            f"Of {control['shown']:,} control items that were filled in with a wrong answer,"
            f" {control['accepted']:,} were accepted as they were."
        )
    return " ".join(sentences)


def _judge_effect(effect: Estimate) -> str:
    if effect.low is None or effect.high is None:
        return "There are too few items for an interval."
    if effect.low > 0:
        return "Workers lean towards what the machine says: the interval lies above zero."
    if effect.high < 0:
        return "Workers lean away from what the machine says: the interval lies below zero."
    return (
        f"No anchoring is shown, and one of up to {100 * effect.high:.1f} points is not excluded."
    )


def _percent(estimate: Estimate) -> str:
    value = 100 * (estimate.value or 0.0)
    if estimate.low is None or estimate.high is None:
        return f"{value:.1f}%"
    return f"{value:.1f}% ({100 * estimate.low:.1f} to {100 * estimate.high:.1f})"


def _points(estimate: Estimate) -> str:
    value = 100 * (estimate.value or 0.0)
    if estimate.low is None or estimate.high is None:
        return f"{value:+.1f} points"
    return f"{value:+.1f} points (95% interval {100 * estimate.low:+.1f} to {100 * estimate.high:+.1f})"
