r"""Does the order in which options are shown decide the answer?

Each option's place is drawn for every item and copy, so without a bias the place of the chosen option is uniform: of
:math:`n` answers among :math:`k` options, each place expects :math:`n / k`. The statistic is
:math:`\chi^2 = \sum_p (o_p - e_p)^2 / e_p`; its p-value is exact up to simulation, as places are drawn again under the
draw that was really made, whatever the answers depend on otherwise. Shares have 95% intervals by resampling items, which
keeps the copies of an item together.

Copies with opposite habits hide each other, as each reads another instruction: so each copy is tested alone too.

Of a scale, shown upwards or downwards, the difference of the mean answers in both directions is tested by drawing the
directions again.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from msgspec.structs import replace

from nikawa.records import Record
from nikawa.stats.resample import correct_holm

ROUNDS = 2000
"""Draws of the null distribution and resamples of an interval."""
BLOCK = 100
MIN_ANSWERS = 10
"""Fewest answers that are tested."""


@dataclass(frozen=True)
class ShownAnswer:
    """An answer to a closed question, and how the options were shown."""

    item: str
    order: Sequence[Any]
    """The options in the order in which they were shown."""
    chosen: Any
    is_ordered: bool = False
    """Whether the options are a scale."""
    worker: str = ""
    """The copy that answered."""


class PositionBias(Record, frozen=True, kw_only=True, omit_defaults=True):
    """The answers to a question by the place of the option."""

    question: str
    answers: int
    chosen: tuple[int, ...] = ()
    """How often the option at each place was chosen, from the first."""
    expected: tuple[float, ...] = ()
    """How often without a bias."""
    first: float | None = None
    """The share of answers that are the first option shown, over what a draw gives: 1 is no bias."""
    low: float | None = None
    high: float | None = None
    """The 95% interval of `first`; of a scale, that of `difference`."""
    difference: float | None = None
    """Of a scale: the mean answer when it is shown upwards less that when it is shown downwards."""
    chi_square: float | None = None
    p: float | None = None
    worker: str = ""
    """The copy whose answers these are; empty: all copies."""
    copies: tuple[PositionBias, ...] = ()
    """The same of each copy alone, where there are several; `p` is corrected by Holm."""


def measure_position_bias(
    question: str, answers: Sequence[ShownAnswer], seed: int = 0
) -> PositionBias | None:
    """The bias of one question; None where there are too few answers, or a single place.

    >>> shown = [ShownAnswer(str(i), ("a", "b") if i % 2 else ("b", "a"), "a" if i % 2 else "b") for i in range(40)]
    >>> measure_position_bias("label", shown).chosen
    (40, 0)
    """
    if len(answers) < MIN_ANSWERS:
        return None
    draw = np.random.default_rng(seed)
    if answers[0].is_ordered:
        return _measure_direction(question, answers, draw)
    counts = np.array([len(answer.order) for answer in answers])
    places = np.array([list(answer.order).index(answer.chosen) for answer in answers])
    size = int(counts.max())
    if size < 2:
        return None
    expected = np.array([(1 / counts[counts > place]).sum() for place in range(size)])

    def spread(drawn: np.ndarray[Any, Any]) -> Any:
        observed = np.stack([(drawn == place).sum(-1) for place in range(size)], axis=-1)
        return ((observed - expected) ** 2 / expected).sum(-1)

    drawn = [spread((draw.random((n, len(answers))) * counts).astype(int)) for n in _blocks()]
    null, seen = np.concatenate(drawn), float(spread(places))
    firsts, due = (places == 0).astype(float), 1 / counts
    sums = _resample_sums([answer.item for answer in answers], (firsts, due), draw)
    low, high = np.quantile(sums[:, 0] / sums[:, 1], (0.025, 0.975)).tolist()
    return PositionBias(
        question=question,
        answers=len(answers),
        chosen=tuple(int((places == place).sum()) for place in range(size)),
        expected=tuple(round(float(value), 3) for value in expected),
        first=float(firsts.sum() / due.sum()),
        low=low,
        high=high,
        chi_square=seen,
        p=_p_value(null, seen),
    )


def _measure_direction(
    question: str, answers: Sequence[ShownAnswer], draw: np.random.Generator
) -> PositionBias | None:
    values = np.array([float(answer.chosen) for answer in answers])
    upwards = np.array([answer.order[0] < answer.order[-1] for answer in answers])
    if upwards.all() or not upwards.any():
        return None

    def difference(up: np.ndarray[Any, Any]) -> Any:
        with np.errstate(invalid="ignore", divide="ignore"):
            return (up * values).sum(-1) / up.sum(-1) - (~up * values).sum(-1) / (~up).sum(-1)

    seen = float(difference(upwards))
    drawn = [difference(draw.random((n, len(values))) < 0.5) for n in _blocks()]
    null = np.concatenate(drawn)
    parts = (upwards * values, upwards * 1.0, ~upwards * values, ~upwards * 1.0)
    sums = _resample_sums([answer.item for answer in answers], parts, draw)
    with np.errstate(invalid="ignore", divide="ignore"):
        resampled = sums[:, 0] / sums[:, 1] - sums[:, 2] / sums[:, 3]
    low, high = np.nanquantile(resampled, (0.025, 0.975)).tolist()
    return PositionBias(
        question=question,
        answers=len(answers),
        difference=seen,
        low=low,
        high=high,
        p=_p_value(np.abs(null[np.isfinite(null)]), abs(seen)),
    )


def _p_value(null: np.ndarray[Any, Any], seen: float) -> float:
    return float((1 + (null >= seen - 1e-12).sum()) / (1 + len(null)))


def _blocks() -> Iterator[int]:
    """The rounds in parts that fit into memory."""
    yield from [BLOCK] * (ROUNDS // BLOCK)


def _resample_sums(
    items: Sequence[str], parts: Sequence[Any], draw: np.random.Generator
) -> np.ndarray[Any, Any]:
    """The sum of each part in each resample of the items."""
    names = {name: number for number, name in enumerate(dict.fromkeys(items))}
    units = np.array([names[item] for item in items])
    by_item = np.stack([np.bincount(units, weights=part) for part in parts], axis=-1)
    shares = np.full(len(names), 1 / len(names))
    sums = [draw.multinomial(len(names), shares, size=n) @ by_item for n in _blocks()]
    return np.concatenate(sums)


def measure_all(
    answers: Mapping[str, Sequence[ShownAnswer]], seed: int = 0
) -> tuple[PositionBias, ...]:
    """The bias of each question that has one."""
    measured = ((rows, measure_position_bias(name, rows, seed)) for name, rows in answers.items())
    return tuple(
        replace(bias, copies=tuple(measure_copies(bias.question, rows, seed)))
        for rows, bias in measured
        if bias is not None
    )


def measure_copies(
    question: str, answers: Sequence[ShownAnswer], seed: int = 0
) -> Iterator[PositionBias]:
    """The bias of each copy alone; nothing of a single one."""
    own: dict[str, list[ShownAnswer]] = {}
    for answer in answers:
        own.setdefault(answer.worker, []).append(answer)
    if len(own) < 2:
        return
    measured = {name: measure_position_bias(question, own[name], seed) for name in sorted(own)}
    biases = {name: bias for name, bias in measured.items() if bias is not None}
    corrected = correct_holm([bias.p if bias.p is not None else 1.0 for bias in biases.values()])
    for (name, bias), p in zip(biases.items(), corrected, strict=True):
        yield replace(bias, worker=name, p=float(p))
