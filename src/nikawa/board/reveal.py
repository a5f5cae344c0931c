"""The only way from true scores to shown ones. Every `ShownScore` and `ShownComparison` is made here, and counted.

What is shown is chosen so that no side door leads around the ladder:

- The first metric of a task over all items is the main score. Nothing else of a submission is shown unless its main score is a new best:
  slices and further metrics are no free queries. Each of them then has a ladder of its own: it shows only what beats its own
  shown best by more than its own noise.
- Several seeds are one query: the mean climbs, and no value of a single seed is ever shown. Their standard deviation has six classes.
- The ladder belongs to the account, the task and the split. Withdrawing, renaming or deleting a system gives no try back.
- The ends of an interval come from the shown value, not from the true one, and are rounded outwards to the step. The true interval only
  chooses one of seven widths, which never becomes narrower.
- p has five classes. The difference of a comparison is that of the shown values; the true interval chooses one of six widths.
- Tie letters and the order of systems are computed from what is shown: they tell nothing more, and equal shown scores are ordered by
  date.
- Slices must be fields of the published examples, never the gold label. They have a least size, and so has the difference between
  any two of them: otherwise the items between them would have a score of their own.
- A score that is not shown has one of five fixed reasons, never a number.
- Results appear at fixed ticks, after a fixed allowance for scoring: when scoring ended tells nothing.

`leakage` explains the bits that are written into each `Disclosure`.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import ceil, isnan, log2, sqrt
from typing import Literal

import msgspec
import numpy as np

from nikawa.board.ladder import Rung, choose_step, climb, round_to_step
from nikawa.board.leakage import count_levels, ladder_bits, monotone_bits, rounded_bits
from nikawa.board.records import (
    BoardSet,
    Disclosure,
    LadderState,
    Place,
    Role,
    ShownComparison,
    ShownScore,
    TrueComparison,
    TrueScore,
    Withheld,
)
from nikawa.board.settings import BoardSettings
from nikawa.metrics import metrics
from nikawa.metrics.units import convert_unit, unit_in_table
from nikawa.records import Unit
from nikawa.stats.distributions import Z_95
from nikawa.stats.paired import tie_groups
from nikawa.stats.resample import Ints, correct_holm
from nikawa.stats.results import SIGNIFICANCE_LEVEL

Rule = Literal["ladder", "rounded", "exact"]

P_CLASSES = (0.0001, 0.001, 0.01, SIGNIFICANCE_LEVEL)
"""p is shown as below one of these, or not below the last."""
WIDTHS = (0.5, 0.71, 1.0, 1.42, 2.0, 2.83, 4.0)
"""Half-widths of a score's interval, as multiples of that of a share of as many items."""
WIDTH_TOLERANCE = 1.1
"""A true interval may be so much wider than the shown one: a bootstrap differs a little from the formula."""
PAIR_WIDTHS = (0.25, 0.5, 0.75, 1.0, 1.5, 2.0)
"""The same for a comparison, as multiples of the half-width for two unrelated systems."""
SD_CLASSES = (0.5, 1.0, 2.0, 4.0, 8.0)
"""The standard deviation over seeds is shown as the next of these multiples of the step; above the last as twice it."""
FINAL_STEP = 0.01
"""The final split is scored once, so no one can climb it: it is shown to two decimals."""
GOLD_FIELDS = ("gold", "bin", "label")
"""Slices that are made from the labels themselves."""
MIN_SEEDS_FOR_SD = 2


@dataclass(frozen=True)
class RevealRules:
    """What the settings of a board say about showing scores."""

    rule: Rule = "ladder"
    step: float = 0.0
    """In percent points; 0: from the number of items."""
    intervals: bool = True
    slices: tuple[str, ...] = ()
    min_items: int = 50
    closed_slices: frozenset[str] = frozenset()
    """Slices that would isolate a few items; see `choose_slices`."""
    published_slices: frozenset[str] | None = None
    """The slices that the published items have; any other is made of hidden fields, and is never shown. None: not known."""

    @classmethod
    def of(cls, settings: BoardSettings) -> RevealRules:
        """Those of a board.toml."""
        shown = settings.shown
        return cls(
            rule=shown.rule,
            step=settings.ladder.step,
            intervals=shown.intervals,
            slices=shown.slices,
            min_items=shown.min_items,
        )

    def step_of(self, n: int) -> float:
        """The step for a score of n items."""
        return 0.0 if self.rule == "exact" else self.step or choose_step(n)


@dataclass(frozen=True)
class Revealed:
    """What becomes visible of a submission to one task and split, and what that costs."""

    scores: tuple[ShownScore, ...]
    states: Mapping[Place, LadderState]
    """The ladders that moved or counted a try: to be stored with the scores, in one transaction."""
    disclosures: tuple[Disclosure, ...]

    @property
    def is_new_best(self) -> bool:
        """Whether the main score is shown."""
        return any(not one.where and one.value is not None for one in self.scores[:1])


@dataclass
class _Reveal:
    """The work on one submission."""

    board_set: BoardSet
    rules: RevealRules
    states: Mapping[Place, LadderState]
    noise: Mapping[Place, float]
    account: str | None
    at: float
    moved: dict[Place, LadderState] = field(default_factory=dict)
    scores: list[ShownScore] = field(default_factory=list)
    disclosures: list[Disclosure] = field(default_factory=list)


def reveal_scores(
    scores: Iterable[TrueScore],
    board_set: BoardSet,
    rules: RevealRules,
    *,
    states: Mapping[Place, LadderState],
    noise: Mapping[Place, float],
    account: str | None,
    at: float,
) -> Revealed:
    """What may be shown of the true scores of one submission to one task and split.

    `states` are the ladders of the account. `noise` is the standard error of the difference from the submission that set the shown best of
    a place (`LadderState.best`), in the unit of the true score; a place without one does not climb. Entries of the owner
    (`account` is None) and the final split are shown once each, rounded, without a ladder.
    """
    official = {
        Place(task=one.task, split=one.split, metric=one.metric, where=one.where): one
        for one in scores
        if one.mode == "official"
    }
    if board_set.role == "final" and rules.rule != "exact":
        rules = replace(rules, rule="rounded", step=FINAL_STEP)
    elif account is None and rules.rule == "ladder":
        rules = replace(rules, rule="rounded")
    work = _Reveal(board_set, rules, states, noise, account, at)
    main = Place(task=board_set.task, split=board_set.split, metric=board_set.metrics[0])
    is_open = main in official and _reveal_one(work, main, official[main])
    for place, true in sorted(official.items(), key=lambda item: _order(board_set, item[0])):
        if place == main:
            continue
        if reason := _closed_reason(board_set, rules, true):
            work.scores.append(_withhold(true, reason, work.at))
        elif is_open:
            _reveal_one(work, place, true)
        else:
            # not even a try: a ladder that is not looked at tells nothing
            why: Withheld = "no-better" if rules.rule == "ladder" else "undefined"
            work.scores.append(_withhold(true, why, work.at))
    return Revealed(tuple(work.scores), work.moved, tuple(work.disclosures))


def _order(board_set: BoardSet, place: Place) -> tuple[bool, int, str]:
    names = (*board_set.metrics, place.metric)
    return bool(place.where), names.index(place.metric), place.where


def _closed_reason(board_set: BoardSet, rules: RevealRules, true: TrueScore) -> Withheld | None:
    """Why a score is never shown, whatever its value."""
    if true.metric not in board_set.metrics or not is_showable(true.metric):
        return "hidden"
    if not true.where:
        return None
    name = true.where.split("=", 1)[0]
    if name not in {slice_key(one) for one in rules.slices} or name in GOLD_FIELDS:
        return "hidden"
    if rules.published_slices is not None and true.where not in rules.published_slices:
        return "hidden"
    if true.n < rules.min_items or true.where in rules.closed_slices:
        return "too-few"
    return None


def slice_key(name: str) -> str:
    """The key that `nikawa score --by` has for a field of the settings: `meta.source` is `source`."""
    return name.removeprefix("meta.")


def is_showable(metric: str) -> bool:
    """Whether a metric has a bounded scale, so that it can be rounded and counted: a squared error has none."""
    if metric not in metrics():
        return False
    return metrics()[metric].scaled and metrics()[metric].better == "higher"


def _reveal_one(work: _Reveal, place: Place, true: TrueScore) -> bool:
    """Show one score or withhold it; whether it is shown."""
    unit: Unit = "fraction" if true.unit == "fraction" else "percent"
    if not is_showable(true.metric):
        work.scores.append(_withhold(true, "hidden", work.at))
        return False
    value = convert_unit(true.value, unit, "percent")
    metric = metrics()[true.metric]
    step = work.rules.step_of(true.n)
    state = work.moved.get(place) or work.states.get(place) or LadderState()
    if work.rules.rule == "ladder":
        noise = work.noise.get(place, float("nan"))
        rung = climb(state.shown, value, convert_unit(noise, unit, "percent"), step, state.bests)
    else:
        rung = Rung(round_to_step(value, step), not isnan(value))
    after = _count_try(state, true, rung, unit)
    work.moved[place] = after
    # without a step, the mean of several seeds has as many values as all their answers together
    answers = true.n if step else true.n * max(1, len(true.values))
    levels = count_levels(step, 100 * metric.low, 100 * metric.high, answers)
    bits = _count_bits(work.rules, after, levels) - _count_bits(work.rules, state, levels)
    bits = max(0.0, bits)  # a ladder that showed all its few levels is described in fewer bits
    if rung.is_new_best and true.sd is not None:
        bits += log2(len(SD_CLASSES) + 1) if step else log2(levels)
    if isnan(value):
        bits += log2(after.tries) + 1  # that it is not defined, and of which try
    work.disclosures.append(
        Disclosure(
            at=work.at,
            account=work.account,
            task=true.task,
            split=true.split,
            kind="slice" if true.where else "score",
            bits=bits,
            detail={"submission": true.submission, "metric": true.metric, "where": true.where},
        )
    )
    if not rung.is_new_best or rung.shown is None:
        reason: Withheld = "undefined" if isnan(value) else "no-better"
        work.scores.append(_withhold(true, reason, work.at))
        return False
    low = high = None
    if work.rules.intervals and true.low is not None and true.high is not None:
        if work.rules.rule == "exact":
            low, high = (convert_unit(end, unit, "percent") for end in (true.low, true.high))
        else:
            half = WIDTHS[after.width] * share_half_width(rung.shown, true.n)
            low = max(100 * metric.low, _round_down(rung.shown - half, step))
            high = min(100 * metric.high, -_round_down(-rung.shown - half, step))
    work.scores.append(
        ShownScore(
            submission=true.submission,
            task=true.task,
            split=true.split,
            metric=true.metric,
            where=true.where,
            value=rung.shown,
            low=low,
            high=high,
            sd=_shown_sd(true, step, unit),
            n=true.n,
            unit=unit_in_table(true.metric, "percent"),
            visible_at=work.at,
        )
    )
    return True


def _count_try(state: LadderState, true: TrueScore, rung: Rung, unit: Unit) -> LadderState:
    """The ladder after a submission. An identical one counts as well: the answer to it says that it is identical, no more."""
    if not rung.is_new_best or rung.shown is None:
        return msgspec.structs.replace(state, tries=state.tries + 1)
    width = state.width
    if true.low is not None and true.high is not None:
        half = convert_unit((true.high - true.low) / 2, unit, "percent")
        needed = half / share_half_width(rung.shown, true.n) / WIDTH_TOLERANCE
        width = max(width, min(bisect_left(WIDTHS, needed), len(WIDTHS) - 1))
    return LadderState(
        best=true.submission,
        shown=rung.shown,
        tries=state.tries + 1,
        bests=state.bests + 1,
        width=width,
    )


def _count_bits(rules: RevealRules, state: LadderState, levels: int) -> float:
    """The bits of everything that one ladder has shown, but for standard deviations."""
    if rules.rule == "exact":
        return (
            3 * rounded_bits(state.tries, levels)
            if rules.intervals
            else rounded_bits(state.tries, levels)
        )
    if rules.rule == "rounded":
        bits = rounded_bits(state.tries, levels)
    else:
        bits = ladder_bits(state.tries, state.bests, levels)
    return bits + (monotone_bits(state.bests, len(WIDTHS)) if rules.intervals else 0.0)


def share_half_width(value: float, n: int) -> float:
    """Half the width of the 95% interval of a share of n items, in percent points (Agresti and Coull 1998).

    It takes the shown value alone, so it tells nothing more.

    >>> round(share_half_width(80.0, 2_000), 2)
    1.75
    """
    adjusted = (min(1.0, abs(value) / 100) * n + 2) / (n + 4)
    return 100 * Z_95 * sqrt(adjusted * (1 - adjusted) / (n + 4))


def _round_down(value: float, step: float) -> float:
    rounded = round_to_step(value, step)
    return rounded if rounded <= value + 1e-9 else round_to_step(rounded - step, step)


def _shown_sd(true: TrueScore, step: float, unit: Unit) -> float | None:
    if true.sd is None or len(true.values) < MIN_SEEDS_FOR_SD:
        return None
    sd = convert_unit(true.sd, unit, "percent")
    if not step:
        return sd
    step = max(step, choose_step(true.n))  # the step of a final split is too fine for classes
    place = bisect_left(SD_CLASSES, sd / step)
    return step * (SD_CLASSES[place] if place < len(SD_CLASSES) else 2 * SD_CLASSES[-1])


def _withhold(true: TrueScore, reason: Withheld, at: float) -> ShownScore:
    return ShownScore(
        submission=true.submission,
        task=true.task,
        split=true.split,
        metric=true.metric,
        where=true.where,
        value=None,
        reason=reason,
        visible_at=at,
    )


# Slices


def choose_slices(members: Mapping[str, Ints], n: int, min_items: int) -> frozenset[str]:
    """The slices that must stay closed: small ones, and ones that differ from all items or from an open slice in few items.

    `members` has the places of the items of each slice. Two shown scores whose sets of items differ in a handful of items
    give the score of the handful. Large slices are opened first. Slices with the same items are one. The items in no open slice of a
    field are the difference between all items and the slices together: where they are a handful, the smallest slices are closed too.

    >>> places = {"a": np.arange(500), "b": np.arange(499), "c": np.arange(600, 1000), "d": np.arange(3)}
    >>> sorted(choose_slices(places, 1_000, 50))
    ['b', 'd']
    """
    everything = np.ones(n, dtype=bool)
    open_masks = [everything]
    closed = set()
    for name, places in sorted(members.items(), key=lambda item: (-len(item[1]), item[0])):
        mask = np.zeros(n, dtype=bool)
        mask[places] = True
        gaps = [int(np.count_nonzero(mask ^ other)) for other in open_masks]
        if len(places) < min_items or any(0 < gap < min_items for gap in gaps):
            closed.add(name)
        else:
            open_masks.append(mask)
    for field_name in {name.split("=", 1)[0] for name in members}:
        own = [name for name in members if name.split("=", 1)[0] == field_name]
        for name in sorted(own, key=lambda one: (len(members[one]), one)):
            covered = np.zeros(n, dtype=bool)
            for other in own:
                if other not in closed:
                    covered[members[other]] = True
            if not 0 < n - int(np.count_nonzero(covered)) < min_items:
                break
            closed.add(name)
    return frozenset(closed)


# Comparisons


def coarse_p(p: float) -> str:
    """The class of a p value.

    >>> coarse_p(0.03), coarse_p(0.0003), coarse_p(0.7), coarse_p(float("nan"))
    ('<0.05', '<0.001', '≥0.05', '')
    """
    if isnan(p):
        return ""
    for limit in P_CLASSES:
        if p < limit:
            return f"<{limit:g}" if limit >= 0.001 else "<0.0001"
    return f"≥{P_CLASSES[-1]:g}"


def largest_p(shown: str) -> float:
    """The largest p of a class: what corrections take."""
    return float(shown[1:]) if shown.startswith("<") else 1.0


def reveal_comparison(
    true: TrueComparison, first: ShownScore, second: ShownScore, rules: RevealRules, unit: Unit
) -> ShownComparison:
    """What may be shown of a paired test of two submissions, whose main scores must both be shown.

    The difference is that of the shown scores. p and the width of the interval come from the test, each as one of a few classes.
    """
    shown = ShownComparison(
        task=true.task,
        split=true.split,
        metric=true.metric,
        first=true.first,
        second=true.second,
        difference=None,
        low=None,
        high=None,
        p="",
        reason="no-better",
    )
    if first.value is None or second.value is None or isnan(true.p):
        return msgspec.structs.replace(shown, reason=first.reason or second.reason or "undefined")
    if rules.rule == "exact":
        return msgspec.structs.replace(
            shown,
            difference=convert_unit(true.difference, unit, "percent"),
            low=convert_unit(true.low, unit, "percent"),
            high=convert_unit(true.high, unit, "percent"),
            p=f"{true.p:.4f}",
            reason=None,
        )
    step = rules.step_of(true.n)
    # of two shown scores, which may be finer than the step: those of a final split are
    difference = round_to_step(second.value - first.value, min(step, FINAL_STEP))
    shown = msgspec.structs.replace(shown, difference=difference, p=coarse_p(true.p), reason=None)
    if not rules.intervals or isnan(true.low) or isnan(true.high):
        return shown
    unrelated = sqrt(sum(share_half_width(one, true.n) ** 2 for one in (first.value, second.value)))
    needed = convert_unit((true.high - true.low) / 2, unit, "percent") / unrelated
    half = PAIR_WIDTHS[min(bisect_left(PAIR_WIDTHS, needed), len(PAIR_WIDTHS) - 1)] * unrelated
    return msgspec.structs.replace(
        shown,
        low=_round_down(difference - half, step),
        high=-_round_down(-difference - half, step),
    )


def comparison_bits(rules: RevealRules) -> float:
    """The most bits that one comparison tells beyond the two shown scores."""
    if rules.rule == "exact":
        return 4 * log2(10_001)
    bits = log2(len(P_CLASSES) + 1)
    return bits + log2(len(PAIR_WIDTHS)) if rules.intervals else bits


def tie_letters(scores: Sequence[ShownScore], p_of: Mapping[tuple[str, str], str]) -> list[str]:
    """Tie letters of systems with shown scores, from shown p classes alone; `p_of` has pairs of submissions as keys.

    All pairs are corrected together (Holm), each with the largest p of its class: so a letter tells nothing that the classes do
    not, and two systems are apart only if the exact p values would say so too. A pair without a p is a tie.
    """
    pairs = list(p_of)
    corrected = correct_holm([largest_p(p_of[pair]) for pair in pairs])
    apart = {
        frozenset(pair) for pair, p in zip(pairs, corrected, strict=True) if p < SIGNIFICANCE_LEVEL
    }
    names = [one.submission for one in scores]
    values = [float("nan") if one.value is None else one.value for one in scores]
    return tie_groups(values, lambda i, j: frozenset((names[i], names[j])) in apart)


def rank_key(score: ShownScore, published_at: float | None) -> tuple[bool, float, float, str]:
    """The order of a board: the shown score, then the date, then the id. The true score of two equal ones decides nothing."""
    missing = score.value is None
    return (
        missing,
        0.0 if score.value is None else -score.value,
        published_at if published_at is not None else float("inf"),
        score.submission,
    )


# When


def next_tick(moment: float, seconds: float) -> float:
    """The first multiple of so many seconds that is not before a moment.

    >>> next_tick(301.0, 300.0), next_tick(300.0, 300.0)
    (600.0, 300.0)
    """
    return ceil(moment / seconds) * seconds


def choose_visible_at(
    settings: BoardSettings, role: Role, received: float, scored_at: float, files: int = 1
) -> float | None:
    """When a result may be seen; None: never, as the board does not close.

    The tick is chosen from the time of arrival and the limits of scoring, so that it tells nothing of how long scoring took; only a
    result that had to wait in the queue comes at a later tick.
    """
    tick = settings.scoring.release_seconds
    allowance = min(settings.scoring.seconds * files, tick)
    visible = max(next_tick(received + allowance, tick), next_tick(scored_at, tick))
    if role == "public" and settings.shown.public == "at-once":
        return visible
    closes = settings.dates.closes_at
    return None if closes is None else max(visible, next_tick(closes, tick))


def is_visible(score: ShownScore, now: float) -> bool:
    """Whether the tick of a score has come."""
    return score.visible_at <= now
